/* SPDX-License-Identifier: MIT */
/* Tiles of as many cores and another shape, micro-batches of other sizes: would one be faster? */
#ifndef WSE_TRAIN_PLAN_SHAPES_H
#define WSE_TRAIN_PLAN_SHAPES_H

#include "input/config.h"
#include "model/plan.h"

/*
 * Of the shapes with an eighth to eight times the columns, the one with the fewest cycles a step. A
 * gain within the planner's error does not count.
 */
struct wse_plan_shape {
	uint32_t rows, cols; /* 0: none of them has a plan with so many fewer cycles */
	uint32_t tried;	     /* shapes that have a plan */
	uint64_t cycles;     /* of a step */
	double useful;
};

/*
 * `of`: the plan of the tile; one that does not fit is slower than any that does. The bus groups of
 * another shape are the default for its columns, or those of the tile where the tile has none.
 */
void wse_plan_shape_find(const struct wse_model *m, const struct wse_tile *tile,
			 const struct wse_config *cfg, const struct wse_plan *of, int fits,
			 struct wse_plan_shape *to);
/* a line for --plan */
void wse_plan_shape_print(const struct wse_plan *of, int fits, const struct wse_plan_shape *best,
			  const struct wse_exec_cfg *log);

/*
 * Of the micro-batches that divide the batch, the one with which a step on so many systems takes
 * the fewest cycles.
 */
struct wse_plan_micro {
	uint64_t samples; /* 0: none takes so many fewer cycles than the plan's */
	uint64_t cycles;  /* of a step */
	double useful;
};
void wse_plan_micro_find(const struct wse_model *m, const struct wse_tile *tile,
			 const struct wse_config *cfg, const struct wse_plan *of, uint32_t systems,
			 struct wse_plan_micro *to);
/* a line for --plan, where there is one */
void wse_plan_micro_print(const struct wse_plan *of, uint32_t systems,
			  const struct wse_plan_micro *best, const struct wse_exec_cfg *log);

#endif
