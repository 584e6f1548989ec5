/* SPDX-License-Identifier: MIT */
/*
 * Dropout (entry drop, struct wse_drop_args): y = x / (1 - rate) or 0, and a sum with it; and the
 * table by which attention drops. libwse/ops/drop.h has it element by element.
 */
#ifndef WSE_DROP_H
#define WSE_DROP_H

#include "kernel.h"
#include "vec.h"

#define DROP_SUMS (WSE_NACC / 2) /* elements of a chunk */

/* accumulators 0 ... n t - 1: bits of features first ... first + n - 1; uses V1 ... V3 */
VEC_FN void drop_bits(uint32_t table, uint32_t t, uint32_t first, uint32_t n)
{
	uint32_t i, x = ((const volatile uint32_t *)table)[t] + first * WSE_DROP_STEP;

	wse_dsr_mem2(V2, table, WSE_DT_I32, t, 4, 1, 0);
	wse_dsr_acc2(V3, 0, t, 1, 0);
	for (i = 0; i < n; i++) {
		WSE_DSR_HALF(V3, 0, i * t, t + (1 << 16));
		vs(VIADD, V3, V2, wse_drop_hash(x));
		x += WSE_DROP_STEP;
	}
	wse_dsr_acc2(V0, 0, t, n, t);
	wse_dsr_acc2(V1, DROP_SUMS, t, n, t);
	vs(VSHR, V1, V0, 15);
	vv(VXOR, V0, V0, V1);
	vs(VSHL, V1, V0, 10);
	vv(VIADD, V0, V0, V1);
	vs(VSHR, V1, V0, 6);
	vv(VXOR, V0, V0, V1);
	vs(VSHL, V1, V0, 3);
	vv(VIADD, V0, V0, V1);
	vs(VSHR, V1, V0, 11);
	vv(VXOR, V0, V0, V1);
	vs(VSHL, V1, V0, 15);
	vv(VIADD, V0, V0, V1);
	vs(VSHR, V1, V0, 13);
	vv(VXOR, V0, V0, V1);
	vs(VSHR, V0, V0, 1);
}

/* n rows of t elements of an array; the size of an element by its type */
static inline void drop_rows(uint32_t d, uint32_t at, uint32_t is32, uint32_t first, uint32_t t,
			     uint32_t n)
{
	uint32_t size = is32 ? 4 : 2;

	wse_dsr_mem2(d, at + size * first * t, is32 ? WSE_DT_FP32 : WSE_DT_BF16, t, size, n,
		     size * t);
}

static inline void drop_kernel(const struct wse_drop_args *a)
{
	volatile uint32_t *table = (volatile uint32_t *)a->table;
	uint32_t t = a->t, first = wse_row() * t, left, f, n;

	for (f = 0; f < t; f++)
		table[f] = wse_drop_hash(a->seed + (first + f) * WSE_DROP_STEP);
	table[t] = ~a->seed;
	table[t + 1] = a->keep;
	table[t + 2] = a->scale;
	table[t + 3] = a->unscale;
	first = wse_col() * a->h;
	for (f = 0; f < a->h; f += n) {
		left = a->h - f;
		n = DROP_SUMS / t;
		n = left < n ? left : n;
		drop_rows(D_A, a->x, a->x32, f, t, n);
		if (a->keep) {
			drop_bits(a->table, t, first + f, n);
			vs(VIADD, V0, V0, a->keep); /* the sign of what is kept */
			vs(VSRA, V0, V0, 31);
			vv(VAND, V0, V0, D_A);
			vs(VMUL, V0, V0, a->scale);
		} else {
			wse_dsr_acc2(V0, 0, t, n, t);
			vv(VMOV, V0, D_A, 0);
		}
		if (a->add) {
			drop_rows(D_B, a->add, a->add32, f, t, n);
			vv(VADD, V0, V0, D_B);
		}
		if (a->out) {
			drop_rows(D_C, a->out, a->out32, f, t, n);
			vv(VMOV, D_C, V0, 0);
		}
		if (a->out16) {
			drop_rows(D_C, a->out16, 0, f, t, n);
			vv(VMOV, D_C, V0, 0);
		}
	}
	wse_wait(1);
}

#endif /* WSE_DROP_H */
