/* SPDX-License-Identifier: MIT */
/*
 * Layer norm over the width and its backward pass: struct wse_norm_args, struct wse_norm_back_args; t <= 64. The order
 * of every sum and rounding is libwse/ops/norm.h.
 *
 * Features go in chunks that fit the accumulators beside what is summed; what belongs to a token (mean, rstd, the two
 * means of the backward pass) is a row in memory that counts for every feature, what belongs to a feature (gain, bias)
 * a scalar operand.
 */
#ifndef WSE_NORM_H
#define WSE_NORM_H

#include "row.h"

enum { N_ROW = 6, N_SUM = 7 }; /* beside D_A ... D_K of vec.h */

/* accumulators base ... base + t - 1 are 0 */
static inline void acc_zero(uint32_t base, uint32_t t)
{
	wse_dsr_acc(N_ROW, base, t);
	vs(VAND, N_ROW, N_ROW, 0);
}

/* N_ROW, `features` rows of accumulators at base: x - mean */
static inline void norm_centre(uint32_t base, uint32_t x, uint32_t mean, uint32_t t, uint32_t features)
{
	dsr_rows(D_A, x, WSE_DT_BF16, t, features);
	dsr_repeat(D_B, mean, t, features);
	wse_dsr_acc2(N_ROW, base, t, features, t);
	vv(VSUB, N_ROW, D_A, D_B);
}

/* N_ROW *= a row of t at addr, for every feature */
static inline void norm_by_row(uint32_t addr, uint32_t t, uint32_t features)
{
	dsr_repeat(D_B, addr, t, features);
	vv(VMUL, N_ROW, N_ROW, D_B);
}

/* [t] at addr: 1 / sqrt(value * inv_width + eps) */
static inline void norm_rstd(uint32_t addr, uint32_t t, uint32_t inv_width, uint32_t eps)
{
	uint32_t n;

	for (; t; t -= n) {
		n = t < 32 ? t : 32;
		vec_regs4(n);
		vec_mem(D_A, addr, WSE_DT_FP32, n);
		vs(VMUL, V0, D_A, inv_width);
		vs(VADD, V0, V0, eps);
		vrsqrt(V1, V0, V2);
		vv(VMOV, D_A, V1, 0);
		addr += 4 * n;
	}
}

WSE_ENTRY void norm(uint32_t args, uint32_t info)
{
	const struct wse_norm_args *a = (const struct wse_norm_args *)args;
	const uint32_t *gain = (const uint32_t *)a->gain, *bias = (const uint32_t *)a->bias;
	uint32_t t = a->t, h = a->h, x = a->x, out = a->out, chunk, n, i, acc;

	(void)info;
	routes_ring();

	/* mean */
	acc_zero(0, t);
	dsr_repeat_acc(N_SUM, 0, t, h);
	dsr_rows(D_A, x, WSE_DT_BF16, t, h);
	vv(VADD, N_SUM, N_SUM, D_A);
	row_combine(a->mean, t, 0);
	wse_dsr_mem(D_A, a->mean, WSE_DT_FP32, t, 4);
	vs(VMUL, D_A, D_A, a->inv_width);

	/* centred squares: sums at 0, features behind them */
	acc_zero(0, t);
	chunk = WSE_NACC / t - 1;
	for (i = 0; i < h; i += n) {
		n = h - i < chunk ? h - i : chunk;
		norm_centre(t, x + 2 * i * t, a->mean, t, n);
		dsr_repeat_acc(N_SUM, 0, t, n);
		vv(VMAC, N_SUM, N_ROW, N_ROW);
	}
	row_combine(a->rstd, t, 0);
	norm_rstd(a->rstd, t, a->inv_width, a->eps);

	/* out */
	chunk = WSE_NACC / t;
	wse_dsr_mem(D_C, out, WSE_DT_BF16, t, 2);
	while (h) {
		n = h < chunk ? h : chunk;
		norm_centre(0, x, a->mean, t, n);
		norm_by_row(a->rstd, t, n);
		wse_dsr_acc(N_SUM, 0, t);
		for (i = n, acc = 0; i; i--, acc += t, out += 2 * t) {
			wse_dsr_base(N_SUM, acc, t, 1);
			vs(VMUL, N_SUM, N_SUM, *gain++);
			wse_dsr_base(D_C, out, t, 2);
			vs(VADD, D_C, N_SUM, *bias++);
		}
		x += 2 * n * t;
		h -= n;
	}
	wse_wait(1);
	wse_done(0);
}

/*
 * First pass over the features: dy * xhat for the gain's gradient and its sum with the gain, dy for the bias's; then dy
 * becomes dy * gain. A gain is read before its gradient takes its place.
 */
static inline void norm_back_sums(const struct wse_norm_back_args *a, uint32_t sums)
{
	uint32_t t = a->t, h = a->h, x = a->x, dy = a->dy, dgain = a->dgain, dbias = a->dbias, gain, acc, n, i;
	uint32_t first = t <= WSE_NACC / 4 ? 2 * t : 0, chunk = (WSE_NACC - first) / t;

	wse_dsr_mem(V0, dy, WSE_DT_FP32, t, 4);
	wse_dsr_mem(V1, dgain, WSE_DT_FP32, 1, 4);
	wse_dsr_mem(V2, dbias, WSE_DT_FP32, 1, 4);
	wse_dsr_acc(V3, 0, t);
	while (h) {
		n = h < chunk ? h : chunk;
		norm_centre(first, x, a->mean, t, n);
		norm_by_row(a->rstd, t, n);
		dsr_rows(D_B, dy, WSE_DT_FP32, t, n);
		vv(VMUL, N_ROW, N_ROW, D_B);
		for (i = n, acc = first; i; i--, acc += t) {
			gain = *(const uint32_t *)(a->gain + (dgain - a->dgain));
			wse_dsr_base(V0, dy, t, 4);
			wse_dsr_base(V1, dgain, 1, 4);
			wse_dsr_base(V2, dbias, 1, 4);
			wse_dsr_base(V3, acc, t, 1);
			vv(VRSUM, V2, V0, 0);
			vv(VRSUM, V1, V3, 0);
			vs(VMAC, sums, V3, gain);
			vs(VMUL, V0, V0, gain);
			dy += 4 * t;
			dgain += 4;
			dbias += 4;
		}
		x += 2 * n * t;
		h -= n;
	}
}

/* second pass: dx, with the means of dy * gain and of that times xhat in rows at mean_g and behind it */
static inline void norm_back_dx(const struct wse_norm_back_args *a, uint32_t mean_g)
{
	uint32_t t = a->t, h = a->h, x = a->x, dy = a->dy, dres = a->dres, dres16 = a->dres16, n;
	uint32_t chunk = WSE_NACC / 2 / t;

	while (h) {
		n = h < chunk ? h : chunk;
		norm_centre(0, x, a->mean, t, n);
		norm_by_row(a->rstd, t, n);
		norm_by_row(mean_g + 4 * t, t, n);
		wse_dsr_acc2(N_SUM, WSE_NACC / 2, t, n, t);
		dsr_rows(D_A, dy, WSE_DT_FP32, t, n);
		dsr_repeat(D_B, mean_g, t, n);
		vv(VSUB, N_SUM, D_A, D_B);
		vv(VSUB, N_ROW, N_SUM, N_ROW);
		norm_by_row(a->rstd, t, n);
		dsr_rows(D_C, dres, WSE_DT_FP32, t, n);
		if (a->add)
			vv(VADD, N_ROW, D_C, N_ROW);
		vv(VMOV, D_C, N_ROW, 0);
		dsr_rows(D_C, dres16, WSE_DT_BF16, t, n);
		vv(VMOV, D_C, N_ROW, 0);
		x += 2 * n * t;
		dy += 4 * n * t;
		dres += 4 * n * t;
		dres16 += 2 * n * t;
		h -= n;
	}
}

WSE_ENTRY void norm_back(uint32_t args, uint32_t info)
{
	const struct wse_norm_back_args *a = (const struct wse_norm_back_args *)args;
	uint32_t t = a->t, h = a->h;

	(void)info;
	routes_ring();
	routes_column();

	/* sums of dy * gain at accumulator 0, of dy * gain * xhat behind it; those in memory while there is no room */
	if (t <= WSE_NACC / 4) {
		acc_zero(0, 2 * t);
		wse_dsr_acc(N_SUM, t, t);
	} else {
		acc_zero(0, t);
		wse_dsr_mem(N_SUM, a->work, WSE_DT_FP32, t, 4);
		vv(VMOV, N_SUM, N_ROW, 0);
	}
	norm_back_sums(a, N_SUM);
	wse_wait(1);
	column_sum(a->dgain, h);
	column_sum(a->dbias, h);
	if (t > WSE_NACC / 4) {
		acc_zero(0, t);
		wse_dsr_acc(N_ROW, t, t);
		vv(VMOV, N_ROW, N_SUM, 0);
	}
	dsr_repeat_acc(N_SUM, 0, t, h);
	dsr_rows(D_A, a->dy, WSE_DT_FP32, t, h);
	vv(VADD, N_SUM, N_SUM, D_A);
	row_combine(a->work, 2 * t, 0);
	wse_dsr_mem(D_A, a->work, WSE_DT_FP32, 2 * t, 4);
	vs(VMUL, D_A, D_A, a->inv_width);

	norm_back_dx(a, a->work);
	wse_wait(1 | 4);
	wse_done(0);
}

#endif /* WSE_NORM_H */
