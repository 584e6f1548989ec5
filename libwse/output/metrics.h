/* SPDX-License-Identifier: MIT */
/* The history of a run: metrics.csv, and the loss curve drawn from it as SVG and as text. */
#ifndef WSE_TRAIN_METRICS_H
#define WSE_TRAIN_METRICS_H

#include <stdint.h>
#include <stdio.h>

#define WSE_METRIC_SET 41 /* a name of a held-out set, with its NUL */

struct wse_metric {
	uint64_t step;
	int held_out;		/* 0: a training step, 1: an evaluation */
	char set[WSE_METRIC_SET]; /* of several held-out sets: which; else "" */
	double loss;		/* nats per token */
	double lr, norm;	/* 0 for evaluations */
	double seconds;		/* of the run so far; not reproducible */
	/* hash of the chain after a training step; not kept. NULL: none */
	const char *chain;
};

struct wse_metrics {
	struct wse_metric *m;
	uint32_t n, room;
	double seconds;		/* of the last row that was read back */
	int fd;			/* of metrics.csv, -1: none */
};

/*
 * Open path for a run that is at `step`: rows up to there are read back and kept, later ones (of a
 * run that was killed after its last checkpoint) are dropped, because their steps are made again.
 * Loss, rate and norm are there to their last bit. A file of a release without chains gets a
 * column. The file grows only; when rows are dropped it is replaced by a new one at once. A run
 * from step 0 moves an old one to path.1 (.2, ...). path NULL: keep in memory only.
 */
int wse_metrics_open(struct wse_metrics *ms, const char *path, uint64_t step);
/*
 * every row of a file that is only read, in its order; each() may end it. -errno, or what it said
 */
int wse_metrics_read(const char *path, int (*each)(void *ctx, const struct wse_metric *m),
		     void *ctx);
/* after an error (a full disk) the file is left as it is and the rest stays in memory */
int wse_metrics_add(struct wse_metrics *ms, const struct wse_metric *m);
int wse_metrics_close(struct wse_metrics *ms);

/* entropies in nats draw a dashed line each; 0: no line. path is the old file or the new one */
int wse_curve_svg(const struct wse_metrics *ms, const char *path, double unigram, double bigram);

/* cols x rows characters of braille (2 x 4 dots each), a line at a time through `line` */
void wse_curve_text(const struct wse_metrics *ms, uint32_t cols, uint32_t rows, double unigram,
		    double bigram, void (*line)(void *ctx, const char *text), void *ctx);

#endif
