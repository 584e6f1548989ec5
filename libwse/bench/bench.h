/* SPDX-License-Identifier: MIT */
/* Benchmarks of wse-bench: each is a function that measures once; main repeats and reports. */
#ifndef WSE_BENCH_H
#define WSE_BENCH_H

#include <stddef.h>
#include <stdint.h>

struct bench {
	const char *name, *unit;
	const char *what; /* one line for people */
	/*
	 * One measurement. -ENOTSUP: not possible here (a model that was not built); why (len
	 * bytes) says so then, and on other errors.
	 */
	int (*run)(double *value, char *why, size_t len);
	/* keeps nothing between runs; runs are repeated for about a second, at least twice */
	int less_is_better; /* the best run is reported: the largest, or with this the smallest */
};

extern const struct bench bench_gemm[]; /* all end with a NULL name */
extern const struct bench bench_scalar[];
extern const struct bench bench_train[];
extern const struct bench bench_driver[];

/* Seconds of a clock that only runs forward. */
double bench_now(void);

#endif
