// SPDX-License-Identifier: MIT
/* The history of a run, and the curve drawn from it, for numbers good and bad. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/metrics.h"
#include "tap.h"

static char dir[] = "/tmp/wse-test-XXXXXX";
static char path[128], text[1 << 16];

static const char *file(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static const char *content(const char *name)
{
	FILE *f = fopen(file(name), "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = 0;
	return text;
}

struct drawn {
	uint32_t lines, longest;
	char all[8192];
};

static void line(void *ctx, const char *text)
{
	struct drawn *d = ctx;

	d->lines++;
	if (strlen(text) > d->longest)
		d->longest = (uint32_t)strlen(text);
	strncat(d->all, text, sizeof(d->all) - strlen(d->all) - 1);
}

static void history(struct wse_metrics *ms, uint64_t steps, double first, double factor)
{
	wse_metrics_open(ms, NULL, 0);
	for (uint64_t i = 1; i <= steps; i++, first *= factor) {
		struct wse_metric m = {.step = i, .loss = first, .held_out = i % 10 == 0};

		wse_metrics_add(ms, &m);
	}
}

/* the sanitizers watch for what a long number overwrites */
static void diverging(double first, double factor)
{
	struct drawn d = {0};
	struct wse_metrics ms;

	history(&ms, 40, first, factor);
	wse_curve_text(&ms, 64, 12, 3.86, 2.76, line, &d);
	ok(d.lines == 12 && d.longest <= 8 + 3 * 64 + 40, "losses from %g, x %g: longest line %u",
	   first, factor, d.longest);
	ok(!wse_curve_svg(&ms, file("d.svg"), 3.86, 2.76) && !strstr(content("d.svg"), "nan") &&
		   !strstr(text, "inf") && strstr(text, "</svg>"),
	   "and as SVG");
	wse_metrics_close(&ms);
}

static void ticks(void)
{
	struct drawn d = {0};
	struct wse_metrics ms;

	history(&ms, 150, 5.5, 0.9955);
	wse_curve_svg(&ms, file("t.svg"), 3.86, 2.76);
	content("t.svg");
	ok(strstr(text, ">0</text>") && strstr(text, ">20</text>") && strstr(text, ">140</text>") &&
		   !strstr(text, ">38<"),
	   "ticks of 150 steps are multiples of 20");
	ok(strstr(text, ">3.0</text>") && strstr(text, ">5.5</text>"), "ticks of the loss");
	ok(strstr(text, "viewBox=\"0 0 760 420\""), "the picture scales");
	ok(strstr(text, "x=\"636\"") && strstr(text, ">unigram 3.860<"),
	   "entropies are named beside the plot, not in it");
	wse_curve_svg(&ms, file("t.svg"), 3.0001, 3.0);
	ok(strstr(content("t.svg"), ">unigram 3.000<") && strstr(text, ">bigram 3.000<"),
	   "two that are nearly the same");
	wse_curve_text(&ms, 40, 8, 3.86, 2.76, line, &d);
	ok(strstr(d.all, " unigram 3.86") && strstr(d.all, " bigram 2.76"), "named in text, too");
	wse_metrics_close(&ms);
	history(&ms, 3, 2.0, 1.0);
	wse_curve_svg(&ms, file("t.svg"), 0, 0);
	ok(strstr(content("t.svg"), ">1</text>") && strstr(text, ">3</text>") &&
		   !strstr(text, "entropy 0"),
	   "three equal steps");
	wse_metrics_close(&ms);
	history(&ms, 0, 0, 0);
	ok(!wse_curve_svg(&ms, file("t.svg"), 0, 0), "none at all");
	wse_metrics_close(&ms);
}

int main(void)
{
	char cmd[64];

	if (!mkdtemp(dir))
		return 1;
	diverging(5.0, 10.0); /* 1e36 and more */
	diverging(1e300, 2.0);
	diverging(-1e36, 1.5);
	diverging(1e-300, 0.5);
	ticks();
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd) ? 1 : tap_end();
}
