/* SPDX-License-Identifier: MIT */
/*
 * The primitives of hw/doc/core.md "Arithmetic" on bit patterns; files that use them are compiled
 * with -ffp-contract=off. On x86-64 they are operations of SSE: MXCSR must have FTZ and DAZ set and
 * round to nearest (twin_fp_enter). Other hosts compute in binary64, which needs no mode; so does
 * x86-64 with TWIN_FP_PORTABLE, for a test.
 */
#ifndef TWIN_EXACT_FP_H
#define TWIN_EXACT_FP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) && !defined(TWIN_FP_PORTABLE)
#include <xmmintrin.h>
#define TWIN_FP_SSE 1
#else
#include <math.h>
#define TWIN_FP_SSE 0
#endif

#define TWIN_NAN 0x7fc00000u
#define TWIN_MXCSR 0x9fc0u /* FTZ, DAZ, all exceptions masked, nearest even */

static inline float twin_f(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static inline uint32_t twin_u(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static inline bool twin_isnan(uint32_t u)
{
	return (u & 0x7fffffffu) > 0x7f800000u;
}

static inline uint32_t twin_canon(uint32_t u)
{
	return twin_isnan(u) ? TWIN_NAN : u;
}

/* subnormals become zero of the same sign, NaN the canonical one */
static inline uint32_t twin_flush(uint32_t u)
{
	if (!(u & 0x7f800000u))
		return u & 0x80000000u;
	return twin_canon(u);
}

#if TWIN_FP_SSE

static inline unsigned int twin_fp_enter(void)
{
	unsigned int old = _mm_getcsr();

	_mm_setcsr(TWIN_MXCSR);
	return old;
}

static inline void twin_fp_leave(unsigned int old)
{
	_mm_setcsr(old);
}

/* an operand and a result of the operations below */
static inline float twin_in(uint32_t u)
{
	return twin_f(u);
}

static inline uint32_t twin_out(float f)
{
	return twin_canon(twin_u(f));
}

/* to the nearest integer; of what fits */
static inline int32_t twin_nearest(float f)
{
	return _mm_cvtss_si32(_mm_set_ss(f));
}

#else

static inline unsigned int twin_fp_enter(void)
{
	return 0;
}

static inline void twin_fp_leave(unsigned int old)
{
	(void)old;
}

static inline double twin_in(uint32_t u)
{
	return (double)twin_f(twin_flush(u));
}

/*
 * A sum or product of two binary32, rounded to binary64 and then to binary32, is what one rounding
 * gives (53 bits >= 2 * 24 + 2). Tininess is judged after rounding to 24 bits: from
 * 2^-126 (1 - 2^-25) on that gives 2^-126.
 */
static inline uint32_t twin_out(double d)
{
	double size = fabs(d);

	if (size < 0x1.ffffffp-127)
		return signbit(d) ? 0x80000000u : 0;
	if (size < 0x1p-126)
		return signbit(d) ? 0x80800000u : 0x00800000u;
	return twin_canon(twin_u((float)d));
}

static inline int32_t twin_nearest(float f)
{
	return (int32_t)rintf(f);
}

#endif /* TWIN_FP_SSE */

static inline uint32_t twin_fadd(uint32_t a, uint32_t b)
{
	return twin_out(twin_in(a) + twin_in(b));
}

static inline uint32_t twin_fsub(uint32_t a, uint32_t b)
{
	return twin_out(twin_in(a) - twin_in(b));
}

static inline uint32_t twin_fmul(uint32_t a, uint32_t b)
{
	return twin_out(twin_in(a) * twin_in(b));
}

static inline bool twin_fgt(uint32_t a, uint32_t b)
{
	return twin_in(a) > twin_in(b);
}

static inline uint32_t twin_bf16_widen(uint16_t h)
{
	return (uint32_t)h << 16;
}

static inline uint16_t twin_bf16_round(uint32_t u)
{
	if (twin_isnan(u))
		return 0x7fc0;
	if (!(u & 0x7f800000u))
		return u >> 16 & 0x8000;
	return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}

static inline void twin_bf16_round_n(uint16_t *__restrict h, const uint32_t *__restrict v,
				     uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		uint32_t u = v[i], r = (u + 0x7fff + (u >> 16 & 1)) >> 16;

		r = u & 0x7f800000u ? r : u >> 16 & 0x8000;
		h[i] = (uint16_t)(twin_isnan(u) ? 0x7fc0 : r);
	}
}

static inline uint32_t twin_f2i(uint32_t u)
{
	if (twin_isnan(u))
		return 0x80000000u;
	if ((u & 0x7fffffffu) >= 0x4f000000u) /* 2^31 and above */
		return u >> 31 ? 0x80000000u : 0x7fffffffu;
	return (uint32_t)twin_nearest(twin_f(u));
}

static inline uint32_t twin_i2f(uint32_t i)
{
	return twin_u((float)(int32_t)i);
}

#endif /* TWIN_EXACT_FP_H */
