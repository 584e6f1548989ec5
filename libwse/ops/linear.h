/* SPDX-License-Identifier: MIT */
/*
 * Streamed linear layers as scalar loops, in the exact order of a wafer's sums
 * (firmware/lib/linear.h).
 *
 * Forward, y[n][t] = sum_k w[n][k] x[k][t], K inputs, N outputs; to the data the same with the
 * transposed image:
 *   column c:  p[c] = +0.0; for k in [c K/cols, (c+1) K/cols) ascending: p[c] = p[c] + w * x
 *              (the product is rounded, then the sum)
 *   the row:   owner o = n / (N/cols); s = p[o+1]; s = s + p[o+2] ... + p[cols-1] + p[0] + ...
 *              + p[o-1]; s = s + p[o] (owner last; cols = 1: s = p[0])
 *
 * To the weights, dw[n][k] = sum_t dy[n][t] x[k][t]:
 *   row r:     lane l = +0.0, + dy[Lj+l] * x[Lj+l] for j ascending over the row's tokens, L lanes;
 *              d[r] = ((l0+l1)+(l2+l3)) + ((l4+l5)+(l6+l7)), with four lanes (l0+l1)+(l2+l3)
 *   the column: north to south, ((d[0] + d[1]) + d[2]) + ...
 * db[n]: the same with a row of ones for x.
 */
#ifndef WSE_OPS_LINEAR_H
#define WSE_OPS_LINEAR_H

#include <stdint.h>

#include "graph/tile.h"
#include "wse_kernel.h"

/* w: bf16 [outs][ins]; x: bf16 [ins][tokens]; y: [outs][tokens], the sums without bias */
void wse_linear_oracle(const struct wse_tile *tile, uint32_t ins, uint32_t outs, uint32_t tokens,
		       const uint16_t *w, const uint16_t *x, float *y);
/* the same of the weights that are there alone: keep [outs][ins], 0: it is not sent; NULL: all */
void wse_linear_oracle_some(const struct wse_tile *tile, uint32_t ins, uint32_t outs,
			    uint32_t tokens, const uint16_t *w, const unsigned char *keep,
			    const uint16_t *x, float *y);

/*
 * the pass over the sums: members as in struct wse_linear_args, arrays [outs][tokens], bias [outs]
 * or NULL
 */
struct wse_linear_post {
	enum wse_post post;
	const float *bias;
	const void *aux;
	uint16_t *out, *out2;
	float scale;
	uint32_t nscale; /* features of each column */
};

/* how many times as many rows a pass makes, or reads beside the sums, as there are sums: halves */
enum { WSE_POST_SAME = 2 };
static inline uint32_t wse_post_out(uint32_t post)
{
	return post == WSE_POST_SWIGLU ? 1 : post == WSE_POST_MUL2 ? 4 : WSE_POST_SAME;
}

static inline uint32_t wse_post_aux(uint32_t post)
{
	return post == WSE_POST_MUL2 ? 4 : WSE_POST_SAME;
}

/* y: the sums; afterwards what a kernel leaves there if out is not y */
void wse_linear_post_oracle(const struct wse_tile *tile, uint32_t outs, uint32_t tokens,
			    const struct wse_linear_post *p, float *y);

/* dy: bf16 [outs][tokens]; x: bf16 [ins][tokens]; dw: [outs][ins] */
void wse_linear_wgrad_oracle(const struct wse_tile *tile, uint32_t ins, uint32_t outs,
			     uint32_t tokens, const uint16_t *x, const uint16_t *dy, float *dw);

/* dy: bf16 [outs][tokens]; db: [outs] */
void wse_linear_bgrad_oracle(const struct wse_tile *tile, uint32_t outs, uint32_t tokens,
			     const uint16_t *dy, float *db);

#endif
