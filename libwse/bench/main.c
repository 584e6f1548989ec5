// SPDX-License-Identifier: MIT
/*
 * wse-bench: all benchmarks, as a table or as one JSON object a line. A value is the best of its
 * runs, since on a shared machine everything else is another program's work; the median stands
 * beside it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <wse/wse.h>

#include "base/error.h"
#include "bench.h"
#include "profile.h"
#include "wse_release.h"
#include "wse_said.h"

#define RUNS_MIN 3
#define RUNS_MAX 20
#define SECONDS	 1.5 /* a benchmark, unless RUNS_MIN need longer */

struct options {
	const char *only;
	int json, raw;
};

double bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double bench_cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void bench_count(struct bench_measure *m, const char *name, const char *unit, double value)
{
	int i;

	for (i = 0; i < m->ncounters && strcmp(m->counter[i].name, name); i++)
		;
	if (i == (int)(sizeof(m->counter) / sizeof(m->counter[0])))
		return;
	m->counter[i] = (struct bench_counter){name, unit, value};
	m->ncounters += i == m->ncounters;
}

void bench_counters(struct bench_measure *m, const uint64_t *count)
{
	const struct wse_counter *k;
	uint32_t i;

	for (i = 0; (k = wse_counter(DRM_WSE_SCOPE_TILE, i)); i++)
		bench_count(m, k->name, k->unit, (double)count[i]);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void report_raw(const struct bench *b, const struct options *o, int run,
		       const struct bench_measure *m)
{
	const char *line = o->json ? "{\"name\":\"%s\",\"run\":%d,\"counter\":\"%s\",\"value\":"
				     "%.9g,\"unit\":\"%s\"}\n"
				   : "%-24s run %-3d %-22s %14.9g %s\n";

	for (int i = 0; i < m->ncounters; i++)
		printf(line, b->name, run, m->counter[i].name, m->counter[i].value,
		       m->counter[i].unit);
	printf(line, b->name, run, "value", m->value, b->unit);
}

static void report(const struct bench *b, const struct options *o, double *v, int n)
{
	int best = b->less_is_better ? 0 : n - 1;

	qsort(v, (size_t)n, sizeof(*v), by_value);
	if (o->json)
		printf("{\"name\":\"%s\",\"value\":%.6g,\"unit\":\"%s\",\"median\":%.6g,\"worst\":%"
		       ".6g,\"runs\":%d}\n",
		       b->name, v[best], b->unit, v[n / 2], v[n - 1 - best], n);
	else
		printf("%-24s %10.4g %-10s median %.4g of %d   %s\n", b->name, v[best], b->unit,
		       v[n / 2], n, b->what);
	fflush(stdout);
}

/* 0, 1 when it failed */
static int run(const struct bench *b, const struct options *o)
{
	double v[RUNS_MAX], begin = bench_now();
	int n, ret, most = bench_profiled() ? 1 : RUNS_MAX;

	for (n = 0; n < most && (n < RUNS_MIN || bench_now() - begin < SECONDS); n++) {
		struct bench_measure m = {0};
		unsigned int before = wse_failures();

		ret = bench_profile_begin(b->name);
		ret = ret ? ret : b->run(&m);
		if (bench_profile_end() && !ret)
			ret = -EIO;
		wse_fail_since(before, ret, "%s", strerror(-ret));
		v[n] = m.value;
		if (!ret && o->raw)
			report_raw(b, o, n, &m);
		if (!ret)
			continue;
		if (ret == -ENOTSUP && o->json)
			printf("{\"name\":\"%s\",\"value\":null,\"unit\":\"%s\",\"skipped\":true}"
			       "\n",
			       b->name, b->unit);
		else if (ret == -ENOTSUP)
			printf("%-24s          - %-10s skipped: %s\n", b->name, b->unit,
			       wse_error());
		else
			fprintf(stderr, "wse-bench: %s failed: %s (%s)\n", b->name, wse_error(),
				strerror(-ret));
		return ret != -ENOTSUP;
	}
	report(b, o, v, n);
	return 0;
}

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

static const struct bench *const tables[] = {bench_gemm, bench_kernels, bench_scalar, bench_train,
					     bench_gpt,	 bench_ranks,	bench_host,   bench_driver};
static const struct bench *const wide[] = {bench_wide};

static int usage(FILE *f)
{
	const struct bench *b;
	int i;

	fprintf(f,
		"usage: wse-bench [options]\n"
		"  --only NAME   one of those below (default: all)\n"
		"  --json        one object a line (default: a table)\n"
		"  --raw         every run, too, with its counters (default: the best and the "
		"median)\n"
		"  --profile DIR once each, and where the cycles go: timelines, tables, heat maps\n"
		"                (default: none)\n"
		"  --cycles      the figures in device cycles of the RTL alone, each once: the same "
		"every time\n"
		"  --check-cycles FILE  those that take seconds against FILE, TAP\n"
		"  --wide        those of wide tiles instead of all others\n"
		"  --rank        one of the two ranks of mpi_overhead, which starts them by mpirun\n"
		"  --version, --help\n"
		"benchmarks:\n");
	for (i = 0; i < COUNT(tables); i++)
		for (b = tables[i]; b->name; b++)
			fprintf(f, "  %-24s %s\n", b->name, b->what);
	fprintf(f, "with --wide, on tiles that `make wide` builds:\n");
	for (b = bench_wide; b->name; b++)
		fprintf(f, "  %-24s %s\n", b->name, b->what);
	return f == stdout ? 0 : 2;
}

static int bad_option(const char *arg)
{
	int named = !strcmp(arg, "--only") || !strcmp(arg, "--check-cycles") ||
		    !strcmp(arg, "--profile");

	fprintf(stderr, "wse-bench: \"%s\" %s: wse-bench --help lists the options\n", arg,
		named ? "needs a name" : "is no option");
	return 2;
}

static int as_rank(void)
{
	int ret = bench_rank();

	if (ret)
		fprintf(stderr, "wse-bench: %s\n", wse_error());
	return ret != 0;
}

int main(int argc, char **argv)
{
	const struct bench *b;
	const struct bench *const *of = tables;
	const char *check = NULL;
	struct options o = {0};
	int n = 0, failed = 0, cycles = 0, count = COUNT(tables);
	int i, t;

	wse_std_open();
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json"))
			o.json = 1;
		else if (!strcmp(argv[i], "--raw"))
			o.raw = 1;
		else if (!strcmp(argv[i], "--only") && i + 1 < argc)
			o.only = argv[++i];
		else if (!strcmp(argv[i], "--profile") && i + 1 < argc)
			bench_profile_to(argv[++i]);
		else if (!strcmp(argv[i], "--cycles"))
			cycles = 1;
		else if (!strcmp(argv[i], "--check-cycles") && i + 1 < argc)
			check = argv[++i];
		else if (!strcmp(argv[i], "--wide"))
			of = wide, count = COUNT(wide);
		else if (!strcmp(argv[i], "--rank"))
			return as_rank();
		else if (!strcmp(argv[i], "--version"))
			return printf("wse-bench " WSE_RELEASE "\n"), wse_said("wse-bench", 1);
		else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return usage(stdout), wse_said("wse-bench", 1);
		else
			return bad_option(argv[i]);
	}
	if (bench_profiled() && (cycles || check)) {
		fprintf(stderr, "wse-bench: --profile is of runs: not with --cycles and "
				"--check-cycles\n");
		return 2;
	}
	if (cycles)
		return bench_cycles(of, count);
	if (check)
		return bench_check_cycles(of, count, check, o.only);
	for (t = 0; t < count; t++)
		for (b = of[t]; b->name; b++) {
			if (o.only && strcmp(o.only, b->name))
				continue;
			failed |= run(b, &o);
			n++;
		}
	if (!n) {
		fprintf(stderr,
			"wse-bench: there is no benchmark \"%s\": wse-bench --help lists them\n",
			o.only);
		return 2;
	}
	return wse_said("wse-bench", 1) || failed;
}
