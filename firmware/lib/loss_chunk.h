/* SPDX-License-Identifier: MIT */
/*
 * Softmax cross-entropy of a vocabulary in chunks: struct wse_loss_chunk_args; t <= 64.
 * libwse/ops/loss.h defines the order of every sum. Absent classes are the last of the last chunk:
 * the kernel computes nothing for them, and their gradients are 0.
 */
#ifndef WSE_LOSS_CHUNK_H
#define WSE_LOSS_CHUNK_H

#include "loss.h"

/* this column's classes of a chunk: the first, and how many exist */
static inline uint32_t chunk_first(const struct wse_loss_chunk_args *a)
{
	return a->first + wse_col() * a->v;
}

static inline uint32_t chunk_classes(const struct wse_loss_chunk_args *a)
{
	uint32_t first = chunk_first(a), left = a->classes > first ? a->classes - first : 0;

	return left < a->v ? left : a->v;
}

/* y -= the row of t at m */
static inline void chunk_centre(uint32_t y, uint32_t m, uint32_t t, uint32_t v)
{
	dsr_rows(D_A, y, WSE_DT_FP32, t, v);
	dsr_repeat(D_C, m, t, v);
	vv(VSUB, D_A, D_A, D_C);
}

/* tokens of which each column has at most 64: as classes of this column and chunk, others beyond */
static uint16_t chunk_own[64];

/*
 * A vocabulary above 65536 has targets of u32. The classes of a column are at most 16384, so its
 * own fit u16; 0xffff is none of them.
 */
static __attribute__((noinline)) const uint16_t *chunk_narrow(const struct wse_loss_chunk_args *a)
{
	const uint32_t *target = (const uint32_t *)a->target;
	uint32_t first = chunk_first(a), i, n;

	for (i = 0; i < a->t; i++) {
		n = target[i] - first;
		chunk_own[i] = (uint16_t)(n < 0xffff ? n : 0xffff);
	}
	return chunk_own;
}

#define CHUNK_WIDE(a)	((a)->classes > 65536)

/* the target's logit, where this column owns it in this chunk */
static inline void chunk_target(const struct wse_loss_chunk_args *a, uint32_t *zt, uint32_t v)
{
	const uint16_t *target = (const uint16_t *)a->target;
	uint32_t first = chunk_first(a), i, n;

	if (CHUNK_WIDE(a)) {
		target = chunk_narrow(a);
		first = 0;
	}
	for (i = 0; i < a->t; i++) {
		n = target[i] - first;
		if (n < v)
			zt[i] = ((const uint32_t *)a->y)[n * a->t + i];
		else if (!a->first)
			zt[i] = 0;
	}
}

static inline void loss_part_kernel(const struct wse_loss_chunk_args *a)
{
	uint32_t t = a->t, v = chunk_classes(a), m = a->state, l = m + 4 * t, zt = l + 4 * t,
		 next = zt + 4 * t;

	chunk_target(a, (uint32_t *)zt, v);
	if (!a->first) {
		loss_acc(t, 0xff800000);
		wse_dsr_mem(D_A, m, WSE_DT_FP32, t, 4);
		vv(VMOV, D_A, D_TMP, 0);
		loss_acc(t, 0);
		wse_dsr_mem(D_A, l, WSE_DT_FP32, t, 4);
		vv(VMOV, D_A, D_TMP, 0);
	}
	if (v) {
		/* the maximum so far, including earlier chunks */
		wse_dsr_mem(D_A, m, WSE_DT_FP32, t, 4);
		wse_dsr_acc(D_TMP, 0, t);
		vv(VMOV, D_TMP, D_A, 0);
		dsr_rows(D_A, a->y, WSE_DT_FP32, t, v);
		dsr_repeat_acc(D_B, 0, t, v);
		vv(VMAX, D_B, D_A, D_B);
		wse_dsr_mem(D_A, next, WSE_DT_FP32, t, 4);
		vv(VMOV, D_A, D_TMP, 0);

		/* the sum so far, scaled to it; the chunk's own */
		chunk_centre(m, next, t, 1);
		loss_exp(m, t);
		chunk_centre(a->y, next, t, v);
		loss_exp(a->y, v * t);
		loss_acc(t, 0);
		dsr_rows(D_A, a->y, WSE_DT_FP32, t, v);
		dsr_repeat_acc(D_B, 0, t, v);
		vv(VADD, D_B, D_B, D_A);
		wse_dsr_mem(D_A, l, WSE_DT_FP32, t, 4);
		wse_dsr_mem(D_C, m, WSE_DT_FP32, t, 4);
		vv(VMUL, D_A, D_A, D_C);
		vv(VADD, D_A, D_A, D_TMP);
		wse_dsr_mem(D_A, next, WSE_DT_FP32, t, 4);
		vv(VMOV, D_C, D_A, 0);
	}
	wse_wait(1);
}

static inline void loss_join_kernel(const struct wse_loss_chunk_args *a)
{
	uint32_t t = a->t, m = a->state, l = m + 4 * t, zt = l + 4 * t, row = zt + 4 * t;

	routes_ring();
	wse_dsr_mem(D_A, m, WSE_DT_FP32, t, 4);
	wse_dsr_acc(D_TMP, 0, t);
	vv(VMOV, D_TMP, D_A, 0);
	row_combine(row, t, 1);

	/* this column's sum, scaled to the maximum of all; the target's z */
	chunk_centre(m, row, t, 1);
	chunk_centre(zt, row, t, 1);
	loss_exp(m, t);
	wse_dsr_mem(D_A, l, WSE_DT_FP32, t, 4);
	wse_dsr_mem(D_C, m, WSE_DT_FP32, t, 4);
	wse_dsr_acc(D_TMP, 0, t);
	vv(VMUL, D_TMP, D_A, D_C);
	wse_dsr_mem(D_A, row, WSE_DT_FP32, t, 4);
	vv(VMOV, D_C, D_A, 0);
	row_combine(row, t, 0);
	loss_values(row, zt, a->loss, l, t);
	wse_wait(1);
}

static inline void loss_grad_kernel(const struct wse_loss_chunk_args *a)
{
	uint32_t t = a->t, v = chunk_classes(a), m = a->state, recip = m + 4 * t;

	if (v) {
		const uint16_t *target = (const uint16_t *)a->target;
		uint32_t first = chunk_first(a);

		chunk_centre(a->y, m, t, v);
		loss_exp(a->y, v * t);
		if (CHUNK_WIDE(a)) {
			target = chunk_narrow(a);
			first = 0;
		}
		loss_gradient(target, a->y, a->dy, recip, t, first, v, a->scale, a->scales);
	}
	if (v < a->v)
		loss_no_gradient(a->dy + 2 * v * t, (a->v - v) * t);
	wse_wait(1);
}

#endif /* WSE_LOSS_CHUNK_H */
