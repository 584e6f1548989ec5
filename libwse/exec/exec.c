// SPDX-License-Identifier: MIT
/* Device URIs: which executor opens what. */
#include "exec.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/error.h"
#include "oracle_exec.h"

void wse_logf(const struct wse_exec_cfg *cfg, enum wse_log_level level, const char *fmt, ...)
{
	char text[512], *whole = NULL;
	va_list ap;
	int n;

	if (!cfg || !cfg->log)
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* a sample may be of any length; without memory the beginning is better than nothing */
	if (n >= (int)sizeof(text))
		whole = malloc((size_t)n + 1);
	if (whole) {
		va_start(ap, fmt);
		vsnprintf(whole, (size_t)n + 1, fmt, ap);
		va_end(ap);
	}
	cfg->log(cfg->log_ctx, level, whole ? whole : text);
	free(whole);
}

int wse_uri_number(const char *uri, const char *key, uint32_t fallback, uint32_t *value)
{
	const char *p = strpbrk(uri, ":,");
	size_t len = strlen(key);

	*value = fallback;
	for (; p; p = strchr(p, ',')) {
		uint64_t v;

		p++;
		if (strncmp(p, key, len) || p[len] != '=')
			continue;
		p += len + 1;
		if (wse_decimal(p, p + strcspn(p, ","), 1u << 20, &v) || !v)
			return -EINVAL;
		*value = (uint32_t)v;
		return 0;
	}
	return 0;
}

/* 1: the oracle's, 0: a wafer's; -EINVAL: none of both */
static int is_oracle(const char *uri)
{
	if (!strncmp(uri, "oracle:", 7))
		return 1;
	if (strncmp(uri, "accel:", 6) && strncmp(uri, "sim:", 4))
		return wse_fail(-EINVAL,
				"\"%s\" is no device; accepted: accel:N, "
				"sim:rtl,rows=R,cols=C, sim:func,rows=R,cols=C",
				uri);
	return 0;
}

int wse_exec_open(const char *uri, const struct wse_exec_cfg *cfg, struct wse_exec **exec)
{
	int ret = is_oracle(uri);

	*exec = NULL;
	if (ret < 0)
		return ret;
	return ret ? wse_oracle_open(uri, cfg, exec) : wse_exec_open_wafer(uri, cfg, exec);
}

int wse_exec_info(const char *uri, struct wse_exec_info *info)
{
	struct wse_exec *e;
	int ret = is_oracle(uri);

	if (ret < 0)
		return ret;
	if (!ret)
		return wse_exec_wafer_info(uri, info);
	ret = wse_oracle_open(uri, NULL, &e);
	if (ret)
		return ret;
	e->ops->info(e, info);
	e->ops->close(e);
	return 0;
}
