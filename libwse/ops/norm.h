/* SPDX-License-Identifier: MIT */
/*
 * Layer norm and RMS norm over the width and their backward pass, in the exact order of a wafer's
 * sums (firmware/lib/norm.h).
 * inv = 1 / width in binary32. A sum over features f of a token:
 *   column c:  s[c] = +0.0; for its features ascending: s[c] = s[c] + value
 *   the row:   S = s[1]; S = S + s[2] ... + s[cols-1]; S = S + s[0] (cols = 1: S = s[0])
 *
 * Forward, of a token:
 *   mean = (sum of x) * inv;  d = x - mean;  rstd = ew_rsqrt((sum of d * d) * inv + eps)
 *   out = bf16((((x - mean) * rstd) * gain) + bias)
 *
 * Backward, xhat = (x - mean) * rstd:
 *   g = dy * gain;  a = (sum of g) * inv;  b = (sum of (xhat * dy) * gain) * inv
 *   c = (b * rstd) * rstd;  dx = ((g - a) * rstd) - ((x - mean) * c); dres = dres + dx, or dx;
 *                           dres16 = bf16(dres)
 *   dgain = sum over tokens of xhat * dy, dbias = sum over tokens of dy:
 *     row r:   lane l = +0.0, + value[Lj+l] for j ascending over the row's tokens, L lanes;
 *              d[r] = ((l0+l1)+(l2+l3)) + ((l4+l5)+(l6+l7)), with four lanes (l0+l1)+(l2+l3)
 *     the column: north to south, ((d[0] + d[1]) + d[2]) + ...
 *
 * RMS norm has no mean: x stands for x - mean, and dx = (g * rstd) - (x * c). Without a bias
 * nothing is added.
 *
 * Of the width only the first `there` features may be there: inv is 1 / there, the others are not
 * among the squares d * d, and their dres and dres16 are 0. Their x, dy, gain and bias are 0.
 */
#ifndef WSE_OPS_NORM_H
#define WSE_OPS_NORM_H

#include <stdint.h>

#include "graph/tile.h"

/*
 * x: bf16 [width][tokens]; gain, bias: [width]; out: bf16 [width][tokens]; mean, rstd: [tokens].
 * bias NULL: none; mean NULL: RMS norm
 */
void wse_norm_oracle(const struct wse_tile *tile, uint32_t width, uint32_t there, uint32_t tokens,
		     const uint16_t *x, const float *gain, const float *bias, float inv_width,
		     float eps, uint16_t *out, float *mean, float *rstd);

struct wse_norm_back {
	const float *dy;	  /* [width][tokens] */
	const uint16_t *x;	  /* bf16 [width][tokens] */
	const float *gain;	  /* [width] */
	const float *mean, *rstd; /* [tokens]; mean NULL: RMS norm */
	float inv_width;
	int add;
	float *dres;	      /* [width][tokens] */
	uint16_t *dres16;     /* bf16 [width][tokens] */
	float *dgain, *dbias; /* [width], not gain; dbias NULL: none */
};

void wse_norm_back_oracle(const struct wse_tile *tile, uint32_t width, uint32_t there,
			  uint32_t tokens, const struct wse_norm_back *b);

#endif
