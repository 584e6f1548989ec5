/* SPDX-License-Identifier: MIT */
/*
 * The planner: does a model fit a tile, how is a batch cut into micro-batches, what will a step
 * cost. A function of model, batch and tile shape only, so that every machine plans the same.
 */
#ifndef WSE_TRAIN_PLAN_H
#define WSE_TRAIN_PLAN_H

#include "exec/exec.h"
#include "layout.h"

struct wse_plan {
	uint32_t tokens;		/* per micro-batch */
	uint32_t tokens_core;		/* per core */
	uint32_t micro_batches;		/* per step */
	struct wse_layout layout;	/* of every core */
	uint32_t sram;			/* bytes of a core */
	uint64_t streamed_in;		/* bytes of a micro-batch: weights forward and transposed */
	uint64_t streamed_out;		/* bytes of a micro-batch: gradients, dx, losses */
	uint64_t cycles;		/* predicted, of a micro-batch */
	double useful;			/* multiply-adds / (cycles x lanes x cores) */
};

/*
 * micro_batch 0: choose. -E2BIG when it cannot fit, with the numbers and what to change in why;
 * -EINVAL when widths or batch do not divide.
 */
int wse_plan_make(const struct wse_mlp *m, const struct wse_exec_info *tile, uint64_t batch,
		  uint64_t micro_batch, struct wse_plan *plan, char *why);

/* the table that --plan prints; lines go to the log callback */
void wse_plan_print(const struct wse_plan *p, const struct wse_mlp *m,
		    const struct wse_exec_info *tile, const struct wse_exec_cfg *log);

#endif
