/* SPDX-License-Identifier: MIT */
/*
 * The element-wise functions of the wafer, as sequences of the primitives of its tensor unit. This
 * file is their only definition: the oracle runs it, firmware does the same steps with vector
 * instructions, and both give the same bits because every step has one result:
 *
 *   ew_mul ew_add ew_sub   VMUL VADD VSUB: binary32, nearest even, subnormals flushed, one NaN
 *   ew_max(a, b)           VMAX: a > b ? a : b, flushed and canonicalised
 *   ew_min(a, b)           VMIN: a < b ? a : b, flushed and canonicalised
 *   ew_gate(a, b)          VGATE: a > 0 ? b : +0, b's bits as they are
 *   ew_iadd ew_isub        VIADD VISUB: 32-bit integers on the bit pattern, wrapping
 *   ew_shl ew_shr          VSHL VSHR: logical shifts by a constant
 *
 * A comparison with NaN is false, so the order of max's and min's operands decides whether a NaN
 * gets through: the constant always comes first (a repeated row in SRAM, STRIDE1 = 0), the data
 * second. A NaN then reaches the loss, where the trainer stops. Where a constant is the first
 * operand of ew_sub, firmware may as well multiply the other by -1 and add: the same bits.
 *
 * No float <-> integer convert is used: adding 1.5 * 2^23 rounds to the nearest even integer and
 * leaves it in the low mantissa bits. Run between wse_ftz_enter() and wse_ftz_leave().
 */
#ifndef WSE_TRAIN_ELEMENTWISE_H
#define WSE_TRAIN_ELEMENTWISE_H

#include "num.h"

static inline float ew_mul(float a, float b)
{
	return wse_canon(a * b);
}

static inline float ew_add(float a, float b)
{
	return wse_canon(a + b);
}

static inline float ew_sub(float a, float b)
{
	return wse_canon(a - b);
}

/* subnormal to zero of the same sign: what DAZ does to an operand */
static inline float ew_daz(float a)
{
	return wse_f2u(a) & 0x7f800000u ? a : wse_u2f(wse_f2u(a) & 0x80000000u);
}

static inline float ew_max(float a, float b)
{
	a = ew_daz(a);
	b = ew_daz(b);
	return wse_canon(a > b ? a : b);
}

static inline float ew_min(float a, float b)
{
	a = ew_daz(a);
	b = ew_daz(b);
	return wse_canon(a < b ? a : b);
}

static inline float ew_gate(float a, float b)
{
	return ew_daz(a) > 0.0f ? b : 0.0f;
}

static inline uint32_t ew_iadd(uint32_t a, uint32_t b)
{
	return a + b;
}

static inline uint32_t ew_isub(uint32_t a, uint32_t b)
{
	return a - b;
}

static inline uint32_t ew_shl(uint32_t a, unsigned int n)
{
	return a << n;
}

static inline uint32_t ew_shr(uint32_t a, unsigned int n)
{
	return a >> n;
}

#define EW_MAGIC 12582912.0f		/* 1.5 * 2^23 = 0x4b400000 */
#define EW_MAGIC_BITS 0x4b400000u

/*
 * exp(x) for x <= 88, clamped below at -87; relative error < 2e-7.
 *   n = nearest integer to x log2 e; f = x - n ln 2 in two parts; exp f by Horner; times 2^n.
 * 2^n is a multiply, not an add to the exponent, so that a NaN stays a NaN. The low 9 bits of
 * EW_MAGIC_BITS are 0, so shifting by 23 leaves n alone in the exponent field.
 */
static inline float ew_exp(float x)
{
	float t, n, f, p;

	x = ew_max(-87.0f, x);
	t = ew_add(ew_mul(x, 0x1.715476p+0f), EW_MAGIC);
	n = ew_sub(t, EW_MAGIC);
	f = ew_add(x, ew_mul(n, -0x1.62e400p-1f));
	f = ew_add(f, ew_mul(n, -0x1.7f7d1cp-20f));
	p = 0x1.6c16c2p-10f;				/* 1/720 */
	p = ew_add(ew_mul(p, f), 0x1.111112p-7f);	/* 1/120 */
	p = ew_add(ew_mul(p, f), 0x1.555556p-5f);	/* 1/24 */
	p = ew_add(ew_mul(p, f), 0x1.555556p-3f);	/* 1/6 */
	p = ew_add(ew_mul(p, f), 0.5f);
	p = ew_add(ew_mul(p, f), 1.0f);
	p = ew_add(ew_mul(p, f), 1.0f);
	return ew_mul(p, wse_u2f(ew_iadd(ew_shl(wse_f2u(t), 23), 0x3f800000u)));
}

/*
 * EW_SOFT_SCALE exp(x) for x <= 0, for terms of a sum that they are divided by later, stored as
 * bf16: relative error < 4.4e-4. With f = x log2 e - n, 2^f is (2^(f/2))^2, and a parabola, ((f +
 * h)^2 + c) / sqrt(scale), stands for the inner one: two registers do. 127 in the magic number
 * makes its low bits the exponent of 2^n, from -126 on.
 */
#define EW_SOFT_MAGIC 12583039.0f	/* EW_MAGIC + 127 */
#define EW_SOFT_SCALE 278.297f

static inline float ew_soft_exp(float x)
{
	float y = ew_mul(x, 0x1.715476p+0f), f, p, t;

	f = ew_sub(y, ew_sub(ew_add(y, EW_SOFT_MAGIC), EW_SOFT_MAGIC));
	p = ew_add(f, 0x1.7368c0p+1f);
	p = ew_add(ew_mul(p, p), 0x1.086c50p+3f);
	p = ew_mul(p, p);
	t = ew_max(ew_add(y, EW_SOFT_MAGIC), EW_SOFT_MAGIC - 126.0f);
	return ew_mul(p, wse_u2f(ew_shl(wse_f2u(t), 23)));
}

/* 1/s for normal s in [2^-120, 2^120]: integer seed (error < 13 %), three Newton steps */
static inline float ew_recip(float s)
{
	float r = wse_u2f(ew_isub(0x7ef311c7u, wse_f2u(s)));

	for (int i = 0; i < 3; i++)
		r = ew_mul(r, ew_sub(2.0f, ew_mul(s, r)));
	return r;
}

/*
 * 1/sqrt(s) for positive normal s; relative error < 2e-7. Integer seed (error < 3.5 %), three
 * Newton steps r (1.5 - s/2 r r). Any NaN gives a NaN.
 */
static inline float ew_rsqrt(float s)
{
	float r = wse_u2f(ew_isub(0x5f3759dfu, ew_shr(wse_f2u(s), 1)));
	float half = ew_mul(s, -0.5f);

	for (int i = 0; i < 3; i++)
		r = ew_mul(r, ew_add(ew_mul(ew_mul(half, r), r), 1.5f));
	return r;
}

/*
 * log(s) for positive normal s; absolute error < 2e-7 + 1e-7 |log s|.
 *   s = m 2^e, m in [sqrt 1/2, sqrt 2); f = m - 1; log(1 + f) = f - f^2/2 + f^3 P(f) (the
 *   coefficients of Cephes logf). s * 0 at the end turns an infinite or NaN s into a NaN.
 */
static inline float ew_log(float s)
{
	uint32_t t = ew_iadd(wse_f2u(s), 0x3f800000u - 0x3f3504f3u);
	float e, f, z, p;

	e = ew_sub(wse_u2f(ew_iadd(ew_shr(t, 23), EW_MAGIC_BITS)), EW_MAGIC + 127.0f);
	f = ew_sub(wse_u2f(ew_iadd(ew_shr(ew_shl(t, 9), 9), 0x3f3504f3u)), 1.0f);
	z = ew_mul(f, f);
	p = 7.0376836292e-2f;
	p = ew_add(ew_mul(p, f), -1.1514610310e-1f);
	p = ew_add(ew_mul(p, f), 1.1676998740e-1f);
	p = ew_add(ew_mul(p, f), -1.2420140846e-1f);
	p = ew_add(ew_mul(p, f), 1.4249322787e-1f);
	p = ew_add(ew_mul(p, f), -1.6668057665e-1f);
	p = ew_add(ew_mul(p, f), 2.0000714765e-1f);
	p = ew_add(ew_mul(p, f), -2.4999993993e-1f);
	p = ew_add(ew_mul(p, f), 3.3333331174e-1f);
	p = ew_mul(ew_mul(p, f), z);
	p = ew_add(p, ew_mul(z, -0.5f));
	p = ew_add(p, f);
	p = ew_add(p, ew_mul(e, 0x1.62e430p-1f));
	return ew_add(p, ew_mul(s, 0.0f));
}

/*
 * SwiGLU: silu(g) u, silu(g) = g s, s = 1 / (1 + w), w = exp(-g), its argument clamped to 80; dg,
 * du are the derivatives: (s (1 + g (1 - s))) u with w s for 1 - s, and silu(g).
 */
static inline float ew_swiglu(float g, float u, float *dg, float *du)
{
	float w = ew_exp(ew_min(80.0f, ew_mul(g, -1.0f)));
	float s = ew_recip(ew_add(w, 1.0f));

	*du = ew_mul(g, s);
	*dg = ew_mul(ew_mul(ew_add(ew_mul(ew_mul(w, s), g), 1.0f), s), u);
	return ew_mul(*du, u);
}

/* forward: the fp32 sum with bias; what is stored is its bf16. -0 stays -0 */
static inline float ew_relu(float y)
{
	return ew_max(0.0f, y);
}

/* backward: dx where the stored activation is above zero, else +0 */
static inline float ew_relu_back(float act, float dx)
{
	return ew_gate(act, dx);
}

/*
 * GELU: y s, s = 1 / (1 + w), w = exp(-m), m an odd function of y. y is clamped to [-10, 10]
 * inside (s is 0 or 1 to the last bit beyond), and exp's argument to 80, so that nothing
 * overflows. `deriv` is d gelu / dy = s + y s (w s) m' (w s is 1 - s without the cancellation);
 * the core stores it as bf16 beside the activation, backward is then one multiply.
 *
 * m = c p, m' = d; c: the clamped y, p and d polynomials in its square.
 */
static inline float ew_gelu_of(float y, float c, float p, float d, float *deriv)
{
	float w = ew_exp(ew_min(80.0f, ew_mul(c, p)));
	float s = ew_recip(ew_add(w, 1.0f));

	*deriv = ew_add(s, ew_mul(ew_mul(ew_mul(c, s), ew_mul(w, s)), d));
	return ew_mul(y, s);
}

/*
 * The tanh form, 0.5 y (1 + tanh u), u = sqrt(2/pi) (y + 0.044715 y^3): "gelu_new" of Hugging Face,
 * approximate="tanh" of PyTorch. m = 2u.
 */
static inline float ew_gelu_new(float y, float *deriv)
{
	float c = ew_max(-10.0f, ew_min(10.0f, y)), q = ew_mul(c, c);
	/* -2u = c (-2a - 2ab q), 2u' = 2a + 6ab q, a = sqrt(2/pi), b = 0.044715 */
	float p = ew_add(ew_mul(q, -0.0713548162726f), -1.5957691216057f);
	float d = ew_add(ew_mul(q, 0.2140644488178f), 1.5957691216057f);

	return ew_gelu_of(y, c, p, d, deriv);
}

/*
 * The exact form, y Phi(y) = 0.5 y (1 + erf(y / sqrt 2)): "gelu" of PyTorch and Hugging Face.
 *
 * m = log(Phi / (1 - Phi)) is odd; c (a + b q + e q^2) is the polynomial of this form that is
 * nearest to it on [-3.75, 3.75], 1.1e-3 off at most. So gelu is within 1.1e-3 of itself there
 * (bf16 rounds by up to 3.9e-3), and within 1.0e-4. Beyond, q stays 3.75^2 and m goes on in a line:
 * gelu is 7e-5 off at most, below -10 by less than 1.6e-11 |y|. The derivative is within 2.3e-4 of
 * Phi(y) + y phi(y). tests/train/test-num.c measures all of that.
 */
static inline float ew_gelu(float y, float *deriv)
{
	float c = ew_max(-10.0f, ew_min(10.0f, y)), q = ew_min(ew_mul(c, c), 14.0625f);
	float p = ew_add(ew_mul(q, 7.689957497456e-4f), -7.434680070528e-2f);
	float d = ew_add(ew_mul(q, -3.844978748728e-3f), 2.230404021159e-1f);

	p = ew_add(ew_mul(p, q), -1.595168772983f);
	d = ew_add(ew_mul(d, q), 1.595168772983f);
	return ew_gelu_of(y, c, p, d, deriv);
}

#endif
