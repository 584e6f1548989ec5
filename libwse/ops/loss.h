/* SPDX-License-Identifier: MIT */
/*
 * Softmax cross-entropy of a token's logits y[n], in the exact order of a wafer's sums (firmware/lib/loss.h). Column c
 * owns the features n with n / (width / cols) == c; those from `classes` on are padding and take no part.
 *
 *   m = max_n y from -inf, NaN skipped (then neither order nor the sign of zero matters)
 *   z = y - m; e = ew_exp(z)
 *   column c:  s[c] = +0.0; for its features ascending: s[c] = s[c] + e
 *   the row:   S = s[1]; S = S + s[2] ... + s[cols-1]; S = S + s[0] (cols = 1: S = s[0])
 *   loss = ew_log(S) - z[target]; dy = bf16((e * ew_recip(S) - onehot) * scale), of padding +0
 */
#ifndef WSE_OPS_LOSS_H
#define WSE_OPS_LOSS_H

#include <stdint.h>

#include "graph/tile.h"

/* y: logits [width][tokens]; target: [tokens], below classes; loss: [tokens]; dy: bf16 [width][tokens] or NULL */
void wse_loss_oracle(const struct wse_tile *tile, uint32_t width, uint32_t classes, uint32_t tokens, const float *y,
		     const uint16_t *target, float scale, float *loss, uint16_t *dy);

#endif
