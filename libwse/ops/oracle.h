/* SPDX-License-Identifier: MIT */
/*
 * The scalar definition of the operations: arrays of the whole tile, in the types that the wafer
 * stores.
 *
 *   WSE_SHAPE_TOKENS   [rows * COLS][T], T = tokens of the micro-batch; row r of the tile has [r t,
 *                      (r + 1) t)
 *   WSE_SHAPE_SHARED   [rows][T]
 *   WSE_SHAPE_VECTOR   [COLS][rows]
 *
 * A value's array has room for binary32, since sums lie in the place of their rounded result.
 */
#ifndef WSE_OPS_ORACLE_H
#define WSE_OPS_ORACLE_H

#include "ops/micro_batch.h"
#include "ops/ops.h"

struct wse_oracle_run {
	const struct wse_graph *g;
	const struct wse_micro_batch *job;
	void **mem;		/* [nvalues] */
	struct wse_shared_buf **grads;	/* [nunits] */
	void **spills;	/* [nspills] */
};

/* a copy of the heads' slopes, of a value with their table; NULL: there is none */
int wse_attn_slopes_of(struct wse_oracle_run *o, uint32_t value, uint32_t heads, float **to);

static inline void *wse_oracle_mem(const struct wse_oracle_run *o, uint32_t value)
{
	return value == WSE_NO_VALUE ? NULL : o->mem[value];
}

#endif
