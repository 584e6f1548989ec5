// SPDX-License-Identifier: MIT
/* The history of a run, and the curve drawn from it, for numbers good and bad. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include <wse/train.h>
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
	ok(strstr(text, "viewBox=\"0 0 760 620\""), "the picture scales");
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

#define OLD    "step,split,loss,learning_rate,gradient_norm,seconds"
#define HEADER OLD ",chain\n"
#define HASH   "0123456789012345678901234567890123456789012345678901234567890123"

/* a run from `first` steps on to `last`, on what is in metrics.csv */
static int run(uint64_t first, uint64_t last, struct wse_metrics *ms)
{
	int ret = wse_metrics_open(ms, file("metrics.csv"), first);

	for (uint64_t i = first + 1; i <= last && !ret; i++) {
		struct wse_metric m = {.step = i, .loss = 4.0 / (double)i, .seconds = (double)i};

		ret = wse_metrics_add(ms, &m);
		m.held_out = 1;
		if (i % 2 == 0)
			ret = ret ? ret : wse_metrics_add(ms, &m);
	}
	return ret;
}

static ino_t inode(const char *name)
{
	struct stat sb;

	return stat(file(name), &sb) ? 0 : sb.st_ino;
}

static void resumed(void)
{
	static char once[1 << 16];
	struct wse_metrics ms;
	FILE *f;
	ino_t was;
	int ret = run(0, 10, &ms);

	ok(!ret && ms.n == 15, "ten steps %s", ret ? wse_error() : "");
	wse_metrics_close(&ms);
	strcpy(once, content("metrics.csv"));
	was = inode("metrics.csv");
	ret = run(10, 10, &ms);
	ok(!ret && ms.n == 15 && ms.seconds == 10.0 && inode("metrics.csv") == was &&
		   !strcmp(content("metrics.csv"), once),
	   "a resume leaves the file as it is, and knows it %s", ret ? wse_error() : "");
	wse_metrics_close(&ms);
	ret = run(6, 10, &ms);
	ok(!ret && ms.n == 15 && inode("metrics.csv") != was &&
		   !strcmp(content("metrics.csv"), once),
	   "rows of steps that are made again are replaced, in a file of its own %s",
	   ret ? wse_error() : "");
	wse_metrics_close(&ms);
	f = fopen(file("metrics.csv"), "a");
	fputs("11,train,0.3", f);
	fclose(f);
	ret = run(10, 10, &ms);
	ok(!ret && ms.n == 15 && !strcmp(content("metrics.csv"), once),
	   "a row that was cut short is dropped %s", ret ? wse_error() : "");
	wse_metrics_close(&ms);
	ret = run(0, 0, &ms);
	ok(!ret && !ms.n && !strcmp(content("metrics.csv"), HEADER) &&
		   !strcmp(content("metrics.csv.1"), once),
	   "a new run keeps the old history beside its own %s", ret ? wse_error() : "");
	wse_metrics_close(&ms);
	truncate(file("metrics.csv"), 20);
	ret = run(3, 3, &ms);
	ok(!ret && !ms.n && !strcmp(content("metrics.csv"), HEADER),
	   "a header that was cut short %s", ret ? wse_error() : "");
	wse_metrics_close(&ms);
	unlink(file("metrics.csv"));
}

static int row(void *ctx, const struct wse_metric *m)
{
	struct wse_metric *all = ctx;

	all[m->step] = *m;
	return m->chain && strcmp(m->chain, HASH) ? -1 : 0;
}

/* the chain's column, in a file that has it and in one of an earlier release */
static void chains(void)
{
	struct wse_metric m = {
		.step = 3, .loss = 0.1 + 0.2, .lr = 1.0 / 3, .norm = 7, .chain = HASH};
	struct wse_metric all[4] = {{0}};
	struct wse_metrics ms;
	FILE *f = fopen(file("metrics.csv"), "w");
	int ret;

	fputs(OLD "\n1,train,4.5,0.001,1.5,0.010\n2,train,4.25,0.001,1.25,0.020\n", f);
	fclose(f);
	ret = wse_metrics_open(&ms, file("metrics.csv"), 2);
	ret = ret ? ret : wse_metrics_add(&ms, &m);
	wse_metrics_close(&ms);
	ok(!ret && !strcmp(content("metrics.csv"), HEADER
			   "1,train,4.5,0.001,1.5,0.010,\n2,train,4.25,0.001,1.25,0.020,\n"
			   "3,train,0.30000000000000004,0.3333333333333333,7,0.000," HASH "\n"),
	   "a file of an earlier release gets the column %s", ret ? wse_error() : "");
	ret = wse_metrics_read(file("metrics.csv"), row, all);
	ok(!ret && !all[2].chain && all[2].loss == 4.25 && all[3].chain && all[3].loss == m.loss &&
		   all[3].lr == m.lr,
	   "every bit is read back: %d", ret);
	ok(wse_metrics_read(file("none"), row, all) == -ENOENT, "no file");
	unlink(file("metrics.csv"));
}

static void refused(const char *want)
{
	struct wse_metrics ms;
	int ret;

	alarm(10); /* a FIFO blocked for ever */
	ret = run(1, 2, &ms);
	alarm(0);
	ok(ret == -EINVAL && strstr(wse_error(), want), "%s", wse_error());
	unlink(file("metrics.csv"));
}

static void not_ours(void)
{
	FILE *f;

	mkfifo(file("metrics.csv"), 0600);
	refused("metrics.csv is no regular file");
	symlink("/dev/null", file("metrics.csv"));
	refused("metrics.csv is no regular file");
	f = fopen(file("metrics.csv"), "w");
	fputs("name,marks\n", f);
	fclose(f);
	refused("no history of a run: move it away");
}

static void json(void)
{
	struct wse_event e = {.kind = WSE_EVENT_TRAIN,
			      .step = 7,
			      .loss = 2.5,
			      .lr = 1e-3,
			      .norm = NAN,
			      .ms = 12.5,
			      .rate = INFINITY,
			      .devices = 2};
	char line[400];

	ok(!wse_json_event(&e, line, sizeof(line)) &&
		   !strcmp(line, "{\"event\":\"train\",\"step\":7,\"loss\":2.5,"
				 "\"learning_rate\":0.001,\"gradient_norm\":null,\"ms\":12.5,"
				 "\"samples_per_second\":null,\"devices\":2,\"seconds\":0}\n"),
	   "a step as JSON; what is not finite is null");
	ok(wse_json_event(&e, line, 40) == -ENOSPC, "no room for it");
	ok(!wse_json_text("error", "a \"b\" \\ \n\xc3\xa9\xe2\x82\xac", line, sizeof(line)) &&
		   !strcmp(line, "{\"event\":\"error\",\"text\":\"a \\\"b\\\" \\\\ "
				 "\\u000a\xc3\xa9\xe2\x82\xac\"}\n"),
	   "quotes, backslashes, UTF-8");
	ok(!wse_json_text("w", "\xc3 \xed\xa0\x80 \xc0\x80 \xff", line, sizeof(line)) &&
		   !strcmp(line, "{\"event\":\"w\",\"text\":\"\\u00c3 \\u00ed\\u00a0\\u0080 "
				 "\\u00c0\\u0080 \\u00ff\"}\n"),
	   "bytes that are not UTF-8");
}

/* seconds of CPU time in which a run of so many steps goes on, and is drawn; -1: it fails */
static double long_run(int steps)
{
	struct wse_metrics ms;
	clock_t begin;
	FILE *f = fopen(file("long.csv"), "w");
	int bad;

	fputs("step,split,loss,learning_rate,gradient_norm,seconds,chain\n", f);
	for (int i = 1; i <= steps; i++)
		fprintf(f, "%d,train,3.27082,0.003,0.9578,%d.000,%064d\n", i, i, i);
	fclose(f);
	begin = clock();
	bad = wse_metrics_open(&ms, file("long.csv"), (uint64_t)steps - 1) ||
	      ms.n != (uint32_t)steps - 1 || wse_curve_svg(&ms, file("long.svg"), 3.86, 2.76);
	wse_metrics_close(&ms);
	return bad ? -1.0 : (double)(clock() - begin) / CLOCKS_PER_SEC;
}

static void long_runs(void)
{
	double some = long_run(8000), many = long_run(64000);

	ok(some >= 0.0 && many >= 0.0, "64,000 steps are read back, and drawn");
	/* as the steps, not as their square: 64 */
	ok(many < 24.0 * some + 0.1, "8 times the steps: %.3f s, %.3f s", some, many);
}

/* what a killed run has left under the temporary names, or worse: opening a FIFO never ends */
static void odd_names(void)
{
	struct wse_metric m = {.step = 1, .loss = 1.0};
	struct wse_metrics ms;
	int ret;

	ret = wse_metrics_open(&ms, file("odd.csv"), 0) || wse_metrics_add(&ms, &m);
	m.step = 2;
	ret = ret || wse_metrics_add(&ms, &m);
	wse_metrics_close(&ms);
	ret = ret || mkfifo(file("odd.csv.tmp"), 0600) || mkfifo(file("odd.svg.tmp"), 0600);
	alarm(20);
	ok(!ret && !wse_metrics_open(&ms, file("odd.csv"), 1) && ms.n == 1,
	   "a FIFO in the place of the new history");
	ok(!wse_curve_svg(&ms, file("odd.svg"), 3.86, 2.76), "and of the new picture");
	alarm(0);
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
	resumed();
	chains();
	not_ours();
	json();
	long_runs();
	odd_names();
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd) ? 1 : tap_end();
}
