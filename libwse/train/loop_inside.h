/* SPDX-License-Identifier: MIT */
/* A run: loop.c decides what comes next, loop_ckpt.c has its checkpoints, loop_say.c its words. */
#ifndef WSE_TRAIN_LOOP_INSIDE_H
#define WSE_TRAIN_LOOP_INSIDE_H

#include <time.h>

#include "loop.h"
#include "output/metrics.h"
#include "output/tensorboard.h"
#include "session.h"

struct loop {
	const struct wse_run *run;
	const struct wse_run_ops *ops;
	struct wse_run_result *res;
	struct wse_exec_cfg log;
	struct wse_session *s;
	struct wse_metrics metrics;
	int board;	       /* TensorBoard's file, -1: none */
	int lock;	       /* of model_dir, -1: none */
	double begin;	       /* seconds */
	uint64_t first;	       /* step at which this process began */
	uint64_t line_step;    /* of the last log line */
	double line_seconds;   /* that its steps took, evaluations and checkpoints not counted */
	double line_exposed;   /* in which devices waited for the end of the step before */
	uint64_t line_gaps;    /* of so many of the steps */
	struct wse_event last; /* of the last step */
	double params;	       /* ComputeNorm: of the parameters that it began with */
	uint64_t saved;	       /* step of the last checkpoint, UINT64_MAX if none */
	uint64_t due;	       /* step whose checkpoint waits for proof, likewise */
	int saved_before;      /* in the last step, before its commit */
	char path[WSE_PATH + 64];
};

static inline double wse_loop_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* loop.c */
void wse_loop_tell(struct loop *l, struct wse_event e);
/* of a file in model_dir, in l->path */
const char *wse_loop_in_dir(struct loop *l, const char *name);

/* loop_ckpt.c */
/* that of l->res->checkpoint */
int wse_loop_load(struct loop *l, enum wse_ckpt_load what);
/* the checkpoint that is named, or the last one; 0 without any, but -ENOENT of an evaluation */
int wse_loop_resume(struct loop *l, enum wse_ckpt_load what);
/*
 * A checkpoint is written when it is known that training can go on from it. That of a step in the
 * middle waits for losses and gradients of the next step, which are the proof, and is written
 * before they are committed. -ERANGE only: a disk that is full now may have room later.
 */
int wse_loop_save_due(struct loop *l);
/* the last one: no next step will prove it, so a forward of it is done for that alone */
int wse_loop_save_last(struct loop *l);
/* the weights of the end, for transformers */
int wse_loop_export(struct loop *l);

/* loop_say.c; what cannot be written is said, and stops no run */
void wse_loop_record(struct loop *l, const struct wse_metric *m);
void wse_loop_board(struct loop *l, uint64_t step, const struct wse_scalar *s, uint32_t n);
int wse_loop_open_board(struct loop *l);
/* does a step have a line of progress? */
int wse_loop_has_line(const struct loop *l, uint64_t step);
void wse_loop_report(struct loop *l);
void wse_loop_say_sparsity(struct loop *l);
/* samples that no step of an epoch takes, where the run comes to the end of one */
void wse_loop_say_rest(struct loop *l);
void wse_loop_show_curve(struct loop *l);

#endif
