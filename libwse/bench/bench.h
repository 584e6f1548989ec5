/* SPDX-License-Identifier: MIT */
/* Benchmarks of wse-bench: each is a function that measures once; main repeats and reports. */
#ifndef WSE_BENCH_H
#define WSE_BENCH_H

#include <stddef.h>
#include <stdint.h>

struct wse_device;

/* One measurement: its value, and for --raw the counters that it was made of. */
struct bench_measure {
	double value;
	struct bench_counter {
		const char *name, *unit;
		double value;
	} counter[64];
	int ncounters;
};

struct bench {
	const char *name, *unit;
	const char *what; /* one line for people */
	/*
	 * One measurement, m zeroed. -ENOTSUP: not possible here (a model that was not built). On
	 * error the sentence is set.
	 */
	int (*run)(struct bench_measure *m);
	/* keeps nothing between runs; runs are repeated for about a second, at least three times */
	int less_is_better; /* the best run is reported: the largest, or with this the smallest */
};

extern const struct bench bench_gemm[]; /* all end with a NULL name */
extern const struct bench bench_scalar[];
extern const struct bench bench_train[];
extern const struct bench bench_host[];
extern const struct bench bench_driver[];
extern const struct bench bench_kernels[];
extern const struct bench bench_gpt[];
extern const struct bench bench_wide[];
extern const struct bench bench_ranks[];

/* this process is one of mpirun's: steps for the figure mpi_overhead */
int bench_rank(void);

/* A counter that is there already gets the new value. */
void bench_count(struct bench_measure *m, const char *name, const char *unit, double value);

/* All counters of a device, or what they grew by: count[WSE_CNT_COUNT]. */
void bench_counters(struct bench_measure *m, const uint64_t *count);

/* Runs what is exact once each and prints its cycles, as the file of the baseline has them. */
int bench_cycles(const struct bench *const *tables, int n);
/* The same against such a file, TAP; not what takes long; only: one of them,
 * or NULL. 0, 1: they differ, 2: no such file. */
int bench_check_cycles(const struct bench *const *tables, int n, const char *path,
		       const char *only);

/* The ways that the device's twin has taken so far; of other devices nothing. */
void bench_ways(struct bench_measure *m, struct wse_device *dev);

/* Seconds of a clock that only runs forward. */
double bench_now(void);
/* of all threads of the process: what other programs do is not in it */
double bench_cpu_now(void);

#endif
