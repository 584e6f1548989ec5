/* SPDX-License-Identifier: MIT */
/*
 * Passes over a linear layer's sums that know two halves of a column's features: SwiGLU, and the
 * way back through it. libwse/num/elementwise.h defines the steps.
 */
#ifndef WSE_SWIGLU_H
#define WSE_SWIGLU_H

#include "vec.h"

enum { G_GATE = D_A, G_OUT, G_DGATE, G_UP = D_K2, G_DUP = D_K3 };

/*
 * y: n sums of the gate, then n of its factor; out [n], which may be y; deriv [2][n]: by the gate,
 * by the factor. V0 ... V3 of 32 elements, as in vgelu()
 */
static inline void post_swiglu(uint32_t y, uint32_t out, uint32_t deriv, uint32_t n)
{
	uint32_t up = y + 4 * n, dup = deriv + 2 * n, shaped = 0, m;

	for (; n; n -= m, y += 4 * m, up += 4 * m, out += 2 * m, deriv += 2 * m, dup += 2 * m) {
		m = n < 32 ? n : 32;
		if (m != shaped) {
			vexp_setup(m);
			vec_const(D_K4, vec_80, m);
			vec_mem(G_GATE, y, WSE_DT_FP32, m);
			vec_mem(G_UP, up, WSE_DT_FP32, m);
			vec_mem(G_OUT, out, WSE_DT_BF16, m);
			vec_mem(G_DGATE, deriv, WSE_DT_BF16, m);
			vec_mem(G_DUP, dup, WSE_DT_BF16, m);
			shaped = m;
		}
		wse_dsr_base(G_GATE, y, 8, 4);
		wse_dsr_base(G_UP, up, 8, 4);
		wse_dsr_base(G_OUT, out, 8, 2);
		wse_dsr_base(G_DGATE, deriv, 8, 2);
		wse_dsr_base(G_DUP, dup, 8, 2);
		vs(VMUL, V0, G_GATE, WSE_F32(-1.0f));
		vv(VMIN, V0, D_K4, V0);
		vexp(V2, V0);				/* w */
		vs(VADD, V0, V2, WSE_F32(1.0f));
		vrecip();				/* V1 = s */
		vv(VMUL, V0, G_GATE, V1);		/* silu */
		vv(VMUL, V2, V2, V1);			/* 1 - s */
		vv(VMUL, V2, V2, G_GATE);
		vs(VADD, V2, V2, WSE_F32(1.0f));
		vv(VMUL, V2, V2, V1);			/* its derivative */
		vv(VMUL, G_DGATE, V2, G_UP);
		vv(VMOV, G_DUP, V0, 0);
		vv(VMUL, G_OUT, V0, G_UP);
	}
}

/* out [2][n] = bf16(y [n] * aux [2][n]) */
static inline void post_mul2(uint32_t y, uint32_t out, uint32_t aux, uint32_t n)
{
	uint32_t half;

	vec_mem(D_A, y, WSE_DT_FP32, n);
	for (half = 0; half < 2; half++, out += 2 * n, aux += 2 * n) {
		vec_mem(D_B, out, WSE_DT_BF16, n);
		vec_mem(D_C, aux, WSE_DT_BF16, n);
		vv(VMUL, D_B, D_C, D_A);
	}
}

#endif /* WSE_SWIGLU_H */
