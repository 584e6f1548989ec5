/* SPDX-License-Identifier: MIT */
/*
 * Dropout as scalar steps (struct wse_drop_args, firmware/lib/drop.h), and as operations. Which
 * elements are kept depends on the run's seed, the step, the micro-batch's number in it, the place
 * in the model, the element's feature and its token: on nothing that differs between devices, and
 * the same again in the backward pass and where a block is made again. Without a backward pass
 * nothing is dropped.
 */
#ifndef WSE_OPS_DROP_H
#define WSE_OPS_DROP_H

#include "ops/micro_batch.h"
#include "ops/ops.h"

struct wse_drop {
	uint32_t seed, keep; /* keep 0: nothing is dropped */
	float scale, unscale; /* 1 / (1 - rate), 1 - rate */
};

/* of a place in the model and its rate, in a micro-batch */
struct wse_drop wse_drop_of(const struct wse_micro_batch *job, uint32_t place, float rate);

/* of token t of the micro-batch and feature f */
static inline int wse_drop_keeps(const struct wse_drop *d, uint32_t t, uint32_t f)
{
	uint32_t bits = wse_drop_stir(wse_drop_hash(d->seed + t * WSE_DROP_STEP) +
				      wse_drop_hash(~d->seed + f * WSE_DROP_STEP));

	return !d->keep || ((bits >> 1) + d->keep) >> 31;
}

/*
 * y = x, dropped, + add: x and add bf16 or binary32 as the values are, add may be WSE_NO_VALUE. The
 * result goes to x's own place (over), and in bf16 to *out16, where that is not NULL. One place has
 * the same elements dropped each time, so the gradient goes through the same.
 */
struct wse_drop_op {
	uint32_t program;
	uint32_t x, add;
	uint32_t place;
	float rate;
	int over;
	const char *what; /* of *out16, for the plan */
};

void wse_op_drop(struct wse_graph *g, const struct wse_drop_op *d, uint32_t *out16);

/* a table for struct wse_attn_op: value + 1 */
uint32_t wse_op_drop_table(struct wse_graph *g, uint32_t program, uint32_t place, float rate);

#endif
