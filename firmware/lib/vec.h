/* SPDX-License-Identifier: MIT */
/*
 * exp, log, 1/x and GELU as sequences of vector instructions. libwse/num/elementwise.h defines them
 * step by step; the bits are the same because every step has one result.
 *
 * The accumulator file serves as vector registers V0 ... V7, each a DSR over n accumulators seen as
 * rows of 8, so that a constant needs a row of 8 only. A constant that must be the first operand (a
 * comparison with NaN is false, and NaN must pass through) lies in memory; others are scalar
 * operands.
 */
#ifndef WSE_VEC_H
#define WSE_VEC_H

#include "wse_core.h"

enum { V0, V1, V2, V3, V4, V5, V6, V7, D_A = 8, D_B, D_C, D_K, D_K2, D_K3, D_K4 };

/* rows of constants, in bf16 */
#define VEC_ROW(x)	{ x, x, x, x, x, x, x, x }
#define VEC_CONST	static const uint16_t __attribute__((aligned(16), unused))
VEC_CONST vec_zero[8] = VEC_ROW(0);
VEC_CONST vec_m87[8] = VEC_ROW(0xc2ae);
VEC_CONST vec_80[8] = VEC_ROW(0x42a0);
VEC_CONST vec_10[8] = VEC_ROW(0x4120);
VEC_CONST vec_m10[8] = VEC_ROW(0xc120);

/* an instruction of the lanes on DSRs d, a, b; vs: on DSR a and the 32 bits of scalar */
#define vv(op, d, a, b)	wse_issue(WSE_TCW(WSE_ENGINE_L, WSE_TOP_##op, d, a, b), 0)
#define vs(op, d, a, scalar) \
	wse_issue(WSE_TCW(WSE_ENGINE_L, WSE_TOP_##op, d, a, 0) + WSE_SCALAR, scalar)

/*
 * n elements (a multiple of 8) as rows of 8: contiguous memory, accumulators, a repeated row of 8
 */
#define vec_mem(d, addr, type, n)                                              \
	wse_dsr_mem2(d, addr, type, 8, (type) == WSE_DT_BF16 ? 2 : 4, (n) / 8, \
		     (type) == WSE_DT_BF16 ? 16 : 32)
#define vec_acc(d, base, n)	wse_dsr_acc2(d, base, 8, (n) / 8, 8)
#define vec_const(d, row, n)	wse_dsr_mem2(d, row, WSE_DT_BF16, 8, 2, (n) / 8, 0)

/* V0 ... V(count-1), n accumulators each */
#define vec_regs4(n)                     \
	do {                             \
		vec_acc(V0, 0, n);       \
		vec_acc(V1, n, n);       \
		vec_acc(V2, 2 * (n), n); \
		vec_acc(V3, 3 * (n), n); \
	} while (0)
#define vec_regs8(n) do { \
	vec_regs4(n); vec_acc(V4, 4 * (n), n); vec_acc(V5, 5 * (n), n); \
	vec_acc(V6, 6 * (n), n); vec_acc(V7, 7 * (n), n); } while (0)

#define VEC_MAGIC	WSE_F32(12582912.0f)	/* 1.5 * 2^23 */

/*
 * Functions that several kernels share. They work in fixed registers, V0 ... V3 of 32 elements at
 * most, so that four of them fill the accumulators.
 */
#define VEC_FN	static __attribute__((noinline, unused))

/* V0 at least -87: exp(V0) = V2 * V1; uses V3 */
VEC_FN void vexp_parts(void)
{
	vs(VMUL, V1, V0, WSE_F32(0x1.715476p+0f));
	vs(VADD, V1, V1, VEC_MAGIC);
	vs(VADD, V2, V1, WSE_F32(-12582912.0f));
	vs(VMUL, V3, V2, WSE_F32(-0x1.62e400p-1f));
	vv(VADD, V0, V0, V3);
	vs(VMUL, V3, V2, WSE_F32(-0x1.7f7d1cp-20f));
	vv(VADD, V0, V0, V3);
	vs(VMUL, V2, V0, WSE_F32(0x1.6c16c2p-10f));
	vs(VADD, V2, V2, WSE_F32(0x1.111112p-7f));
	vv(VMUL, V2, V2, V0);
	vs(VADD, V2, V2, WSE_F32(0x1.555556p-5f));
	vv(VMUL, V2, V2, V0);
	vs(VADD, V2, V2, WSE_F32(0x1.555556p-3f));
	vv(VMUL, V2, V2, V0);
	vs(VADD, V2, V2, WSE_F32(0.5f));
	vv(VMUL, V2, V2, V0);
	vs(VADD, V2, V2, WSE_F32(1.0f));
	vv(VMUL, V2, V2, V0);
	vs(VADD, V2, V2, WSE_F32(1.0f));
	vs(VSHL, V1, V1, 23);
	vs(VIADD, V1, V1, 0x3f800000);
}

/* before vexp(): V0 ... V3 of n elements */
static inline void vexp_setup(uint32_t n)
{
	vec_regs4(n);
	vec_const(D_K, vec_m87, n);
}

/* dst = exp(src); uses V0 ... V3 and D_K (dst may be one of V0 ... V3, or memory) */
static inline void vexp(uint32_t dst, uint32_t src)
{
	vv(VMAX, V0, D_K, src);
	vexp_parts();
	vv(VMUL, dst, V2, V1);
}

/* dst = ew_soft_exp(V0); uses V0 and V1, of the shape of dst */
static inline void vsoft_exp(uint32_t dst)
{
	vs(VMUL, V0, V0, WSE_F32(0x1.715476p+0f));
	vs(VADD, V1, V0, WSE_F32(12583039.0f));
	vs(VADD, V1, V1, WSE_F32(-12583039.0f));
	vv(VSUB, V1, V0, V1);
	vs(VADD, V1, V1, WSE_F32(0x1.7368c0p+1f));
	vv(VMUL, V1, V1, V1);
	vs(VADD, V1, V1, WSE_F32(0x1.086c50p+3f));
	vv(VMUL, V1, V1, V1);
	vs(VADD, V0, V0, WSE_F32(12583039.0f));
	vs(VMAX, V0, V0, WSE_F32(12582913.0f));
	vs(VSHL, V0, V0, 23);
	vv(VMUL, dst, V1, V0);
}

/* V1 = 1 / V0; V0 becomes -V0; uses V3 */
VEC_FN void vrecip(void)
{
	int i;

	vs(VXOR, V1, V0, ~0u);				/* magic - x = ~x + magic + 1 */
	vs(VIADD, V1, V1, 0x7ef311c7 + 1);
	vs(VMUL, V0, V0, WSE_F32(-1.0f));		/* 2 - s r = (-s) r + 2 */
	for (i = 0; i < 3; i++) {
		vv(VMUL, V3, V0, V1);
		vs(VADD, V3, V3, WSE_F32(2.0f));
		vv(VMUL, V1, V1, V3);
	}
}

/* dst = 1 / sqrt(src), of positive values; src is destroyed, t is scratch */
static inline void vrsqrt(uint32_t dst, uint32_t src, uint32_t t)
{
	int i;

	vs(VSHR, dst, src, 1);
	vs(VXOR, dst, dst, ~0u);			/* magic - x = ~x + magic + 1 */
	vs(VIADD, dst, dst, 0x5f3759df + 1);
	vs(VMUL, src, src, WSE_F32(-0.5f));
	for (i = 0; i < 3; i++) {
		vv(VMUL, t, src, dst);
		vv(VMUL, t, t, dst);
		vs(VADD, t, t, WSE_F32(1.5f));
		vv(VMUL, dst, dst, t);
	}
}

/* V5 = log(V4); uses V0 ... V3, V5, V6 */
static inline void vlog(void)
{
	vs(VIADD, V0, V4, 0x3f800000 - 0x3f3504f3);
	vs(VSHR, V1, V0, 23);
	vs(VIADD, V1, V1, 0x4b400000);
	vs(VADD, V1, V1, WSE_F32(-12583039.0f));	/* e */
	vs(VSHL, V0, V0, 9);
	vs(VSHR, V0, V0, 9);
	vs(VIADD, V0, V0, 0x3f3504f3);
	vs(VADD, V2, V0, WSE_F32(-1.0f));		/* f */
	vv(VMUL, V3, V2, V2);				/* z */
	vs(VMUL, V5, V2, WSE_F32(7.0376836292e-2f));
	vs(VADD, V5, V5, WSE_F32(-1.1514610310e-1f));
	vv(VMUL, V5, V5, V2);
	vs(VADD, V5, V5, WSE_F32(1.1676998740e-1f));
	vv(VMUL, V5, V5, V2);
	vs(VADD, V5, V5, WSE_F32(-1.2420140846e-1f));
	vv(VMUL, V5, V5, V2);
	vs(VADD, V5, V5, WSE_F32(1.4249322787e-1f));
	vv(VMUL, V5, V5, V2);
	vs(VADD, V5, V5, WSE_F32(-1.6668057665e-1f));
	vv(VMUL, V5, V5, V2);
	vs(VADD, V5, V5, WSE_F32(2.0000714765e-1f));
	vv(VMUL, V5, V5, V2);
	vs(VADD, V5, V5, WSE_F32(-2.4999993993e-1f));
	vv(VMUL, V5, V5, V2);
	vs(VADD, V5, V5, WSE_F32(3.3333331174e-1f));
	vv(VMUL, V5, V5, V2);
	vv(VMUL, V5, V5, V3);
	vs(VMUL, V6, V3, WSE_F32(-0.5f));
	vv(VADD, V5, V5, V6);
	vv(VADD, V5, V5, V2);
	vs(VMUL, V6, V1, WSE_F32(0x1.62e430p-1f));
	vv(VADD, V5, V5, V6);
	vs(VMUL, V6, V4, 0);
	vv(VADD, V5, V5, V6);
}

/* before vgelu(): V0 ... V3 and constants, of n elements */
static inline void vgelu_setup(uint32_t n)
{
	vexp_setup(n);
	vec_const(D_K2, vec_10, n);
	vec_const(D_K3, vec_m10, n);
	vec_const(D_K4, vec_80, n);
}

/* ew_gelu()'s polynomials: of the exponent, of its derivative */
union vgelu_coef {
	float f;
	uint32_t u;
};
static const union vgelu_coef vgelu_coef[6] __attribute__((unused)) = {
	{7.689957497456e-4f},  {-7.434680070528e-2f}, {-1.595168772983f},
	{-3.844978748728e-3f}, {2.230404021159e-1f},  {1.595168772983f},
};

/* V3 = the polynomial of V3 with coefficients k [3] at an argument of at most 3.75^2; uses V2 */
VEC_FN void vgelu_erf(const union vgelu_coef *k)
{
	vs(VMIN, V3, V3, WSE_F32(14.0625f));
	vs(VMUL, V2, V3, k[0].u);
	vs(VADD, V2, V2, k[1].u);
	vv(VMUL, V3, V2, V3);
	vs(VADD, V3, V3, k[2].u);
}

/*
 * out = gelu(y), deriv = d gelu / dy; y, out, deriv are memory DSRs, out may lie at y; erf:
 * ew_gelu(), else ew_gelu_new(). Uses V0 ... V3 alone, so that 32 elements fit: it computes again
 * what exp overwrites (the clamped y, its square).
 */
static inline void vgelu(uint32_t out, uint32_t deriv, uint32_t y, uint32_t erf)
{
	vv(VMIN, V0, D_K2, y);
	vv(VMAX, V0, D_K3, V0);				/* c */
	vv(VMUL, V3, V0, V0);				/* q */
	if (__builtin_expect(erf, 0)) { /* the tanh form has the way without a jump */
		vgelu_erf(vgelu_coef);
	} else {
		vs(VMUL, V3, V3, WSE_F32(-0.0713548162726f));
		vs(VADD, V3, V3, WSE_F32(-1.5957691216057f));
	}
	vv(VMUL, V0, V0, V3);				/* m */
	vv(VMIN, V0, D_K4, V0);
	vexp(V2, V0);					/* w */
	vs(VADD, V0, V2, WSE_F32(1.0f));
	vrecip();					/* V1 = s */
	vv(VMUL, V2, V2, V1);				/* w s */
	vv(VMIN, V0, D_K2, y);
	vv(VMAX, V0, D_K3, V0);
	vv(VMUL, V3, V0, V0);
	vv(VMUL, V0, V0, V1);				/* c s */
	vv(VMUL, V0, V0, V2);
	if (__builtin_expect(erf, 0)) {
		vgelu_erf(vgelu_coef + 3);
	} else {
		vs(VMUL, V3, V3, WSE_F32(0.2140644488178f));
		vs(VADD, V3, V3, WSE_F32(1.5957691216057f));
	}
	vv(VMUL, V0, V0, V3);
	vv(VADD, deriv, V1, V0);
	vv(VMUL, out, y, V1);
}

#endif /* WSE_VEC_H */
