/* SPDX-License-Identifier: MIT */
/*
 * Softmax cross-entropy of a token's logits y[n], in the exact order of a wafer's sums
 * (firmware/lib/loss.h). Column c owns the features n with n / (width / cols) == c; those from
 * `classes` on are padding and take no part.
 *
 *   m = max_n y from -inf, NaN skipped (then neither order nor the sign of zero matters)
 *   z = y - m; e = ew_exp(z)
 *   column c:  s[c] = +0.0; for its features ascending: s[c] = s[c] + e
 *   the row:   S = s[1]; S = S + s[2] ... + s[cols-1]; S = S + s[0] (cols = 1: S = s[0])
 *   loss = ew_log(S) - z[target]; dy = bf16((e * ew_recip(S) - onehot) * scale), of padding +0
 * scale is one of all tokens, or has one a token: 0 for those that do not count
 *
 * The same of a vocabulary in chunks (firmware/lib/loss_chunk.h): chunk j has the classes from j v
 * cols on, and column c owns v of them from there + c v on. Of each column c, chunks ascending,
 * from m[c] = -inf, l[c] = +0.0:
 *   m' = max(m[c], its y of the chunk); s = +0.0, s = s + ew_exp(y - m') for its classes ascending
 *   l[c] = l[c] * ew_exp(m[c] - m') + s; m[c] = m'; nothing happens where none of its classes
 *   exists
 * After the last one:
 *   M = max_c m[c]; p[c] = l[c] * ew_exp(m[c] - M); S = sum of p along the row as above
 *   loss = ew_log(S) - (y[target] - M); dy = bf16((ew_exp(y - M) * ew_recip(S) - onehot) * scale),
 *   of padding +0
 */
#ifndef WSE_OPS_LOSS_H
#define WSE_OPS_LOSS_H

#include <stdint.h>

#include "graph/tile.h"

struct wse_loss_scale {
	float all;
	const float *each; /* [tokens]; NULL: all */
};

static inline float wse_loss_scale(const struct wse_loss_scale *s, uint32_t t)
{
	return s->each ? s->each[t] : s->all;
}

/*
 * y: logits [width][tokens]; target: [tokens], below classes; loss: [tokens]; dy: bf16
 * [width][tokens] or NULL
 */
void wse_loss_oracle(const struct wse_tile *tile, uint32_t width, uint32_t classes, uint32_t tokens,
		     const float *y, const uint16_t *target, const struct wse_loss_scale *scale,
		     float *loss, uint16_t *dy);

/*
 * the parts of a chunk's operations on a token; m, l, z of the state lie at [cols][4][tokens] + t
 */
struct wse_loss_chunk {
	struct wse_tile tile;
	uint32_t v;		/* classes of a column and chunk */
	uint32_t first;		/* class of the chunk */
	uint32_t classes;	/* that exist */
	uint32_t tokens;
	const uint16_t *target;	/* by wse_token() */
	float *state;
};

/* y: logits of the chunk [v * cols][tokens]; dy: bf16, alike; loss: [tokens] */
void wse_loss_part_oracle(const struct wse_loss_chunk *k, const float *y);
void wse_loss_join_oracle(const struct wse_loss_chunk *k, float *loss);
void wse_loss_grad_oracle(const struct wse_loss_chunk *k, const float *y,
			  const struct wse_loss_scale *scale, uint16_t *dy);

#endif
