// SPDX-License-Identifier: MIT
/* Device URIs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/error.h"
#include "device.h"
#include "machine.h"

static int bad(const char *text, const char *what)
{
	return wse_fail(
		-EINVAL,
		"device \"%s\": %s; accel:0, sim:func,rows=4,cols=4 or sim:rtl,rows=4,cols=4 are "
		"right",
		text, what);
}

static int parse_accel(const char *text, const char *p, struct wse_uri *uri)
{
	const char *end = p + strcspn(p, ",");
	uint64_t n;

	uri->wait = *end;
	if (uri->wait && strcmp(end, ",wait"))
		return bad(text, "after accel:N comes nothing, or \",wait\"");
	if (*p == '/') {
		if ((size_t)(end - p) >= sizeof(uri->node))
			return bad(text, "the path is too long");
		memcpy(uri->node, p, (size_t)(end - p));
		return 0;
	}
	if (wse_decimal(p, end, 9999, &n))
		return bad(text, "after accel: comes a number or the path of a node");
	snprintf(uri->node, sizeof(uri->node), "/dev/accel/accel%u", (unsigned int)n);
	return 0;
}

/* a TCP port or the path of a socket */
static int parse_gdb(const char *p, const char *end, struct wse_uri *uri)
{
	size_t n = (size_t)(end - p);
	uint64_t port;

	if (!n || n >= sizeof(uri->gdb))
		return -EINVAL;
	if (strspn(p, "0123456789") >= n && (wse_decimal(p, end, 65535, &port) || !port))
		return -EINVAL;
	memcpy(uri->gdb, p, n);
	return 0;
}

static int parse_option(const char *p, const char *end, struct wse_uri *uri)
{
	const struct {
		const char *key;
		uint32_t *value;
		uint64_t min, max;
	} keys[] = {
		{"rows", &uri->rows, 1, 65535},	     {"cols", &uri->cols, 1, 65535},
		{"threads", &uri->threads, 0, 1024}, {"hostfp", &uri->hostfp, 0, 1},
		{"races", &uri->races, 0, 1},	     {"shuffle", &uri->shuffle, 0, 1},
		{"exact", &uri->exact, 0, 1},	     {"latency", &uri->latency, 1, 1000000},
		{"pages", &uri->pages, 12, 30},	     {"group", &uri->group, 0, 65535},
		{"waves", &uri->waves, 0, 1},
	};
	const char *eq = memchr(p, '=', (size_t)(end - p));
	uint64_t v;
	size_t i;

	if (!eq)
		return -EINVAL;
	if (eq - p == 4 && !memcmp(p, "seed", 4))
		return wse_decimal(eq + 1, end, UINT64_MAX, &uri->seed);
	if (eq - p == 3 && !memcmp(p, "gdb", 3))
		return parse_gdb(eq + 1, end, uri);
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strlen(keys[i].key) != (size_t)(eq - p) ||
		    memcmp(p, keys[i].key, (size_t)(eq - p)))
			continue;
		if (wse_decimal(eq + 1, end, keys[i].max, &v) || v < keys[i].min)
			return -EINVAL;
		*keys[i].value = (uint32_t)v;
		return 0;
	}
	return -EINVAL;
}

int wse_uri_parse(const char *text, struct wse_uri *uri)
{
	const char *p, *end;
	char what[96];

	memset(uri, 0, sizeof(*uri));
	if (!text)
		return bad("", "it is NULL");
	if (!strncmp(text, "accel:", 6))
		return parse_accel(text, text + 6, uri);
	if (strncmp(text, "sim:", 4))
		return bad(text, "it starts with neither accel: nor sim:");
	uri->sim = true;
	uri->group = UINT32_MAX;
	p = text + 4;
	end = p + strcspn(p, ",");
	if (end == p || (size_t)(end - p) >= sizeof(uri->model))
		return bad(text, "after sim: comes func or rtl");
	memcpy(uri->model, p, (size_t)(end - p));
	while (*end == ',') {
		p = end + 1;
		end = p + strcspn(p, ",");
		if (parse_option(p, end, uri)) {
			snprintf(what, sizeof(what), "\"%.*s\" is no option, or out of range",
				 (int)(end - p), p);
			return bad(text, what);
		}
	}
	if (!uri->rows || !uri->cols)
		return bad(text, "rows= and cols= are missing");
	if (uri->group == UINT32_MAX)
		uri->group = wse_machine_group(uri->cols);
	if (uri->group && uri->cols % uri->group) {
		snprintf(what, sizeof(what), "port groups of %u columns do not divide %u columns",
			 uri->group, uri->cols);
		return bad(text, what);
	}
	return 0;
}
