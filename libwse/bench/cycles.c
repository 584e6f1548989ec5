// SPDX-License-Identifier: MIT
/*
 * Cycles of the RTL are exact (README, "What may be concluded from it"), so the tree has them in a
 * file: a line a figure, benchmark, counter and value. A change that makes them better or worse
 * records them anew in the same commit.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "bench.h"

#define LINE 160

static const struct exact {
	const char *name;
	int takes_long; /* not for every `make test` */
} exact[] = {
	{"rtl_gemm_utilisation", 0}, {"rtl_dot_utilisation", 0}, {"linear_block_cycles", 0},
	{"gelu_cycles_element", 0},  {"norm_cycles", 0},	 {"train_utilisation", 0},
	{"gpt_step_cycles", 0},	     {"gpt_utilisation", 1},	 {"wide_linear_busy", 0},
	{"wide_wgrad_busy", 0},	     {"wide_step_cycles", 0},	 {"wide_step_useful", 0},
	{"gpt_sparse_step", 1},
};

static const struct exact *exact_of(const struct bench *b)
{
	for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
		if (!strcmp(exact[i].name, b->name))
			return &exact[i];
	return NULL;
}

/* One figure as a line; what is planned or divided by something is not measured. */
static int line_of(const struct bench *b, const struct bench_counter *c, char line[LINE])
{
	if (strcmp(c->unit, "cycles") || !strncmp(c->name, "planned", 7))
		return 0;
	snprintf(line, LINE, "%s %s %.10g\n", b->name, c->name, c->value);
	return 1;
}

/* The bench once; a message if that fails. */
static int measure(const struct bench *b, struct bench_measure *m)
{
	unsigned int before = wse_failures();
	int ret;

	memset(m, 0, sizeof(*m));
	ret = b->run(m);
	wse_fail_since(before, ret, "%s", strerror(-ret));
	if (ret)
		fprintf(stderr, "wse-bench: %s %s: %s (%s)\n", b->name,
			ret == -ENOTSUP ? "cannot run" : "failed", wse_error(), strerror(-ret));
	return ret;
}

int bench_cycles(const struct bench *const *tables, int n)
{
	struct bench_measure m;
	char line[LINE];

	puts("# SPDX-License-Identifier: MIT");
	for (int t = 0; t < n; t++) {
		for (const struct bench *b = tables[t]; b->name; b++) {
			if (!exact_of(b))
				continue;
			if (measure(b, &m))
				return 1;
			for (int i = 0; i < m.ncounters; i++)
				if (line_of(b, &m.counter[i], line))
					fputs(line, stdout);
			fflush(stdout);
		}
	}
	return 0;
}

/* Finds the figure in the file: 0 and its line, or -ENOENT. */
static int find(FILE *f, const char *line, char was[LINE])
{
	size_t key = (size_t)(strrchr(line, ' ') - line) + 1;

	rewind(f);
	while (fgets(was, LINE, f))
		if (!strncmp(was, line, key))
			return 0;
	return -ENOENT;
}

/* How many of a bench's figures in the file are not those that were measured. */
static int compare(FILE *f, const struct bench *b, const struct bench_measure *m)
{
	char line[LINE], was[LINE];
	int wrong = 0, found = 0;

	for (int i = 0; i < m->ncounters; i++) {
		if (!line_of(b, &m->counter[i], line))
			continue;
		if (find(f, line, was)) {
			printf("# not in the baseline: %s", line);
			wrong++;
		} else if (found++, strcmp(line, was)) {
			printf("# baseline: %s# measured: %s", was, line);
			wrong++;
		}
	}
	rewind(f);
	while (fgets(was, LINE, f))
		if (!strncmp(was, b->name, strlen(b->name)) && was[strlen(b->name)] == ' ')
			found--;
	if (found)
		printf("# the baseline has figures that %s does not measure\n", b->name);
	return wrong + (found != 0);
}

int bench_check_cycles(const struct bench *const *tables, int n, const char *path, const char *only)
{
	FILE *f = fopen(path, "r");
	struct bench_measure m;
	int count = 0, failed = 0;

	if (!f) {
		fprintf(stderr, "wse-bench: cannot read %s: %s\n", path, strerror(errno));
		return 2;
	}
	for (int t = 0; t < n; t++) {
		for (const struct bench *b = tables[t]; b->name; b++) {
			const struct exact *e = exact_of(b);
			int ret, wrong;

			if (!e || (only ? strcmp(only, b->name) : e->takes_long))
				continue;
			ret = measure(b, &m);
			wrong = ret ? ret != -ENOTSUP : compare(f, b, &m);
			printf("%sok %d - %s takes the cycles of the baseline%s\n",
			       wrong ? "not " : "", ++count, b->name,
			       ret == -ENOTSUP ? " # SKIP the RTL was not built" : "");
			fflush(stdout);
			failed |= wrong;
		}
	}
	if (failed)
		printf("# a change, better or worse, is recorded with it: make bench-baseline (of "
		       "wide tiles: make wide-baseline)\n");
	printf("1..%d\n", count);
	fclose(f);
	return failed != 0;
}
