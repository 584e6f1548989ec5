/* SPDX-License-Identifier: MIT */
/*
 * Softmax cross-entropy over the columns: struct wse_loss_args; t <= 64. libwse/ops/loss.h defines
 * the order of every sum. Absent classes are the last features of the last columns; the kernel
 * computes nothing for them, and their gradients are 0.
 */
#ifndef WSE_LOSS_H
#define WSE_LOSS_H

#include "kernel.h"
#include "row.h"

/* linkage of shared parts: a program with several losses has them once */
#ifndef LOSS_FN
#define LOSS_FN	static inline
#endif

static uint32_t loss_onehot[64] __attribute__((aligned(16))); /* 8 x 8 identity, binary32 */

/*
 * dy of v classes from `first` on = (e / S - onehot) * scale, or * scales [t] unless these are 0; S
 * by its reciprocal [t], e at y.
 * Subtracting 0 changes nothing, so the loop processes only groups with a 1.
 */
LOSS_FN void loss_gradient(const uint16_t *target, uint32_t y, uint32_t dy, uint32_t recip,
			   uint32_t t, uint32_t first, uint32_t v, uint32_t scale, uint32_t scales)
{
	uint32_t i, n;

	dsr_rows(D_A, y, WSE_DT_FP32, t, v);
	dsr_repeat(D_C, recip, t, v);
	vv(VMUL, D_A, D_A, D_C);
	for (i = 0; i < 8; i++)
		loss_onehot[9 * i] = 0x3f800000;
	for (i = 0; i < t; i++) {
		n = target[i] - first;
		if (n >= v)
			continue;
		wse_dsr_mem(D_B, y + 4 * (n * t + (i & ~7u)), WSE_DT_FP32, 8, 4);
		wse_dsr_mem(D_C, &loss_onehot[8 * (i & 7)], WSE_DT_FP32, 8, 4);
		vv(VSUB, D_B, D_B, D_C);
	}
	dsr_rows(D_B, dy, WSE_DT_BF16, t, v);
	if (!scales) {
		vs(VMUL, D_B, D_A, scale);
		return;
	}
	dsr_repeat(D_C, scales, t, v);
	vv(VMUL, D_B, D_A, D_C);
}

/* n elements at dy of absent classes */
static inline void loss_no_gradient(uint32_t dy, uint32_t n)
{
	vec_mem(D_B, dy, WSE_DT_BF16, n);
	vec_const(D_K, vec_zero, n);
	vv(VMOV, D_B, D_K, 0);
}

/* exp of n elements at y, a multiple of 8, in place */
LOSS_FN void loss_exp(uint32_t y, uint32_t n)
{
	uint32_t shaped = 0, m;

	for (; n; n -= m, y += 4 * m) {
		m = n < 32 ? n : 32;
		if (m != shaped) {
			vexp_setup(m);
			vec_mem(D_A, y, WSE_DT_FP32, m);
			shaped = m;
		}
		wse_dsr_base(D_A, y, 8, 4);
		vexp(D_A, D_A);
	}
}

/* loss = log S - z of the target; 1 / S; all [t] */
LOSS_FN void loss_values(uint32_t sum, uint32_t zt, uint32_t loss, uint32_t recip, uint32_t t)
{
	uint32_t i, n;

	for (i = 0; i < t; i += n) {
		n = t - i < 16 ? t - i : 16;
		vec_regs8(n);
		vec_mem(D_A, sum + 4 * i, WSE_DT_FP32, n);
		vv(VMOV, V4, D_A, 0);
		vlog();
		vec_mem(D_A, zt + 4 * i, WSE_DT_FP32, n);
		vec_mem(D_C, loss + 4 * i, WSE_DT_FP32, n);
		vv(VSUB, D_C, V5, D_A);
		vv(VMOV, V0, V4, 0);
		vrecip();
		vec_mem(D_A, recip + 4 * i, WSE_DT_FP32, n);
		vv(VMOV, D_A, V1, 0);
	}
}

/* accumulators 0 ... t - 1 = x, the bits of a constant */
static inline void loss_acc(uint32_t t, uint32_t x)
{
	wse_dsr_acc(D_TMP, 0, t);
	vs(VAND, D_TMP, D_TMP, 0);
	if (x)
		vs(VOR, D_TMP, D_TMP, x);
}

static inline void loss_kernel(const struct wse_loss_args *a)
{
	uint32_t t = a->t, first = wse_col() * a->v,
		 left = a->classes > first ? a->classes - first : 0;
	uint32_t v = left < a->v ? left : a->v, i, n;
	uint32_t row = a->work, zt = row + 4 * t, recip = zt + 4 * t;
	const uint16_t *target = (const uint16_t *)a->target;

	routes_ring();

	/* m[t] = max over all classes, from -inf */
	loss_acc(t, 0xff800000);
	dsr_repeat_acc(D_B, 0, t, v);
	if (v) {
		dsr_rows(D_A, a->y, WSE_DT_FP32, t, v);
		vv(VMAX, D_B, D_A, D_B);
	}
	row_combine(row, t, 1);

	/* z = y - m; z of the target, for the loss */
	if (v) {
		dsr_repeat(D_C, row, t, v);
		vv(VSUB, D_A, D_A, D_C);
		wse_wait(1);
	}
	for (i = 0; i < t; i++) {
		n = target[i] - first;
		((uint32_t *)zt)[i] = n < v ? ((const uint32_t *)a->y)[n * t + i] : 0;
	}

	/* e = exp(z), S[t] = sum over all classes */
	loss_exp(a->y, v * t);
	loss_acc(t, 0);
	if (v) {
		dsr_rows(D_A, a->y, WSE_DT_FP32, t, v);
		vv(VADD, D_B, D_B, D_A);
	}
	row_combine(row, t, 0);
	loss_values(row, zt, a->loss, recip, t);

	if (a->backward && v)
		loss_gradient(target, a->y, a->dy, recip, t, first, v, a->scale,
			      a->scales);
	if (a->backward && v < a->v)
		loss_no_gradient(a->dy + 2 * v * t, (a->v - v) * t);
	wse_wait(1);
}

#endif /* WSE_LOSS_H */
