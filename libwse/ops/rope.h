/* SPDX-License-Identifier: MIT */
/*
 * Rotary positions, exactly as the wafer does them (firmware/lib/rope.h). Features 2 i and 2 i + 1
 * of a head, a and b, turn by the angle of pair i at the token, i < pairs; the features behind them
 * stay. With c, s the angle's cosine and sine (binary32):
 *   forward   a' = bf16(((b * s) * -1) + a * c), b' = bf16((a * s) + b * c)
 *   backward  a' = bf16((b * s) + a * c),        b' = bf16(((a * s) * -1) + b * c)
 * Products are rounded, then the sum.
 */
#ifndef WSE_OPS_ROPE_H
#define WSE_OPS_ROPE_H

#include "ops/ops.h"

/*
 * x: bf16 [heads][d][tokens] of a column, which has the pairs [first, first + d / 2) of a head's
 * `all`, or none. table: [2][wse_rope_pairs()][tokens], cosines, then sines, of the column's pairs
 */
struct wse_rope {
	uint32_t tokens, d, heads, all, first;
	int back;
};

/* pairs of a column that has most of them; d: features of a head on it */
static inline uint32_t wse_rope_pairs(uint32_t all, uint32_t d)
{
	return all < d / 2 ? all : d / 2;
}

void wse_rope_oracle(const struct wse_rope *r, const float *table, uint16_t *x);

/*
 * Queries and keys of every head turn in place, forward or back: qkv is [queries, keys, values][T],
 * `heads` are those of both in a column with d features each, and a head spans `group` columns.
 * table: binary32 [2][wse_rope_pairs()][T] of a column's own pairs: shared where group is 1.
 */
struct wse_rope_op {
	uint32_t program, qkv, table;
	uint32_t d, heads, pairs, group;
	int back;
};

void wse_op_rope(struct wse_graph *g, const struct wse_rope_op *r);

#endif
