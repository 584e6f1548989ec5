// SPDX-License-Identifier: MIT
/* metrics.csv of a run that is looked at, and of one that goes on, with its curve. */
#include <errno.h>

#include "fuzz.h"
#include "output/metrics.h"

static int each(void *ctx, const struct wse_metric *m)
{
	struct wse_metrics *ms = ctx;

	return m->chain && strlen(m->chain) > 10000 ? -E2BIG : wse_metrics_add(ms, m);
}

static void line(void *ctx, const char *text)
{
	(void)ctx;
	if (strlen(text) > 4000)
		fuzz_found("a line of %zu bytes", strlen(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct wse_metrics ms = {.fd = -1};

	wse_metrics_open(&ms, NULL, 0);
	if (!wse_metrics_read(fuzz_file(bytes, size), each, &ms))
		wse_curve_text(&ms, 60, 12, 3.0, 0.0, line, NULL);
	wse_metrics_close(&ms);
	return 0;
}
