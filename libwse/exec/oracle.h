/* SPDX-License-Identifier: MIT */
/*
 * The exact order of every sum that a wafer does, as scalar loops. Tests compare the wafer with it
 * bit for bit; it is no device to train on. Tile rows x cols, L = 8 lanes, micro-batch of T tokens.
 *
 * Linear forward, y[n][t] = bias[n] + sum_k w[n][k] x[k][t], K inputs, N outputs:
 *   column c:  p[c] = +0.0; for k in [c K/cols, (c+1) K/cols) ascending: p[c] = p[c] + w * x
 *              (the product is rounded, then the sum)
 *   the row:   owner o = n / (N/cols); s = p[o+1]; s = s + p[o+2] ... + p[cols-1] + p[0] + ...
 *              + p[o-1]; s = s + p[o] (owner last; cols = 1: s = p[0]); y = s + bias[n]
 * Hidden layers: a = act(y) stored as bf16 (and for GELU its derivative, bf16).
 *
 * Softmax cross-entropy on fp32 logits y[n][t], column c owns the features n / (V/cols) == c:
 *   m = max_n y from -inf, NaN skipped (then neither order nor the sign of zero matters)
 *   z = y - m; e = ew_exp(z)
 *   s[c] = +0.0, + e over its features ascending; S = along the row, owner column 0 last
 *   loss = ew_log(S) - z[target]; dy = bf16((e * ew_recip(S) - onehot) * scale)
 *
 * Linear backward to the data, dx[k][t] = sum_n wT[k][n] dy[n][t]: as forward with the transposed
 * image and without bias. Under ReLU dy' = bf16(ew_gate(act, dx)), under GELU bf16(dx * deriv).
 * Layer 0's dx leaves as fp32.
 *
 * Linear backward to the weights, dw[n][k] = sum_t dy[n][t] x[k][t], both bf16:
 *   row r:     lane l = +0.0, + dy[8j+l] * x[8j+l] for j ascending over the row's T/rows tokens;
 *              d[r] = ((l0+l1)+(l2+l3)) + ((l4+l5)+(l6+l7))
 *   the column: north to south, ((d[0] + d[1]) + d[2]) + ...
 * db[n]: the same with a row of ones for x.
 */
#ifndef WSE_TRAIN_ORACLE_H
#define WSE_TRAIN_ORACLE_H

#include "exec.h"

/*
 * "oracle:rows=R,cols=C" (default 4x4). For tests, ",die_at=N" fails with -ENODEV in the N-th
 * micro-batch that it runs and ever after, half way through its gradients.
 */
int wse_oracle_open(const char *uri, const struct wse_exec_cfg *cfg, struct wse_exec **exec);

#endif
