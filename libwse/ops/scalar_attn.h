/* SPDX-License-Identifier: MIT */
/*
 * Causal attention, exactly as the wafer does it (firmware/lib/attn.h, attn_back.h): pure functions
 * on flat arrays [width][tokens of the micro-batch], token index fastest, with the order of every
 * sum.
 *
 * Column c owns `heads` heads of d features: h = d * heads. qkv has 3 h cols rows; row c * 3 h + p
 * * h + a * d + f is feature f of head a of the column's queries (p = 0, scaled by 1 / sqrt(d)
 * already), keys (1) or values (2). o has h cols rows, max and recip heads * cols. Heads of queries
 * may share keys and values, heads / kv of them one: keys and values then have kv heads, and in
 * dqkv stand the sums of their gradients, of queries' heads ascending:
 *   dk = bf16(bf16(dk of the first) + bf16(dk of the next) + ...)
 * A row of cores holds T = tokens / rows tokens, a sequence lies in
 * s / T rows of them. u16 is bf16. A head may span a group of columns, each with d of its features;
 * then max and recip are the same for all of them, and the sums over f below are those of the
 * columns, added west to east.
 *
 * For the token t of row i of its sequence, keys t' = 0 ... (i + 1) T - 1 counted from the
 * sequence's start, those behind t masked:
 *   s[t']  = +0, + k[f][t'] * q[f][t] for f ascending (product rounded, then the sum, here and
 *          below)
 * of a head with a slope (ALiBi) then
 *   s[t']  = s[t'] + slope * t'
 *   m      = max from -inf over t' ascending of s, masked ones as -inf; a NaN is skipped
 *   P[t']  = bf16(ew_soft_exp(s - m)), +0 where masked
 *   l      = +0, + P for t' ascending;	r = ew_recip(l)
 *   o[f]   = bf16((+0, + v[f][t'] * P[t'] for t' ascending) * r)
 * Unless wse_attn_keeps(), forward takes the rows of keys in one pass, north to south:
 *   n      = m / ln 2 rounded to a whole number, m as above over the keys so far; m = n * ln 2
 *   c      = 2^(n of the row before - n), at least 2^-126
 *   l      = l * c, + P of this row's keys;  the sum of o[f] likewise
 * with P made with this m. max is that of all keys, and backward makes its P with it.
 * backward, with g[f] = bf16(do[f] * r) and D = +0, + g[f] * o[f] for f ascending:
 *   dP[t'] = +0, + v[f][t'] * g[f] for f ascending
 *   dS[t'] = bf16((dP - D) * P)
 *   dq[f]  = bf16((+0, + k[f][t'] * dS[t'] for t' ascending) * scale)
 * where rows share this work (wse_attn_back_halves()), for rows i from rho / 2 on, with T / 16 * 8
 * late keys of row rho / 2, E keys before these (in rows before, E is not reached):
 *   dq[f]  = bf16(((+0, + k[f][t'] * dS[t'] for t' < E ascending) + late) * scale)
 *   late   = +0, + k[f][t'] * dS[t'] for t' >= E, of rows i, i - 1 ... rho / 2, ascending in each
 * and s and dP are the sums of a head's G columns in an order by 64 / T keys of a row (the late
 * ones counted anew): of the n-th of these chunks, those of columns n + 1, n + 2 ..., n, modulo G
 * With dropout (drop.h: feature head * s + t', token t of the micro-batch) P is +0 behind l where
 * it is dropped or not above 0, r is 1 / l times 1 / (1 - rate), D is multiplied by 1 - rate, and
 *   dP[t'] = +0 where P is
 * and dS has P as it was before.
 * For a key t' of row j of its sequence, over the rows i of the sequence from the last one
 * north to j:
 *   part   = lanes and tree as in linear.h over row i's tokens of g[f][t] * P[t'][t] (dv), of
 *          q[f][t] * dS[t'][t] (dk)
 *   dv, dk = bf16(part of the last row, + part of the row before ... + part of row j)
 */
#ifndef WSE_OPS_SCALAR_ATTN_H
#define WSE_OPS_SCALAR_ATTN_H

#include "graph/tile.h"

struct wse_drop;

struct wse_attn_shape {
	uint32_t tokens; /* of the micro-batch: rows * T, T a multiple of 8 */
	uint32_t s;	 /* tokens of a sequence: a multiple of T that divides tokens */
	uint32_t d;	 /* features of a head, of those that a column has */
	uint32_t heads;	 /* of a column */
	uint32_t group;	 /* columns of a head */
	uint32_t kv;	 /* heads of keys and values, a divisor of heads; 0: heads */
	/* of a sequence that goes on: its tokens at most, which decide on the order; 0: s */
	uint32_t longest;
	/* of all heads, the first column's first: heads * cols / group; NULL: there are none */
	const float *slopes;
	const struct wse_drop *drop; /* of P; NULL: there is none */
	uint32_t halves;	     /* backward: rows share their work */
};

/* -EINVAL: the shape does not fit the tile; -ENOMEM */
int wse_attn_oracle(const struct wse_tile *tile, const struct wse_attn_shape *shape,
		    const uint16_t *qkv, uint16_t *o, float *max, float *recip);

/* dqkv as qkv; it may be qkv. */
int wse_attn_back_oracle(const struct wse_tile *tile, const struct wse_attn_shape *shape,
		  const uint16_t *qkv, const uint16_t *o, const uint16_t *dout, const float *max,
		  const float *recip, float scale, uint16_t *dqkv);

#endif
