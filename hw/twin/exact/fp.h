/* SPDX-License-Identifier: MIT */
/*
 * The primitives of hw/doc/core.md "Arithmetic" on bit patterns. They lean on the host's SSE: MXCSR
 * must have FTZ and DAZ set and round to nearest (twin_fp_enter), and the file must be compiled with
 * -ffp-contract=off.
 */
#ifndef TWIN_EXACT_FP_H
#define TWIN_EXACT_FP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <xmmintrin.h>

#define TWIN_NAN 0x7fc00000u
#define TWIN_MXCSR 0x9fc0u /* FTZ, DAZ, all exceptions masked, nearest even */

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

static inline uint32_t twin_fadd(uint32_t a, uint32_t b)
{
	return twin_canon(twin_u(twin_f(a) + twin_f(b)));
}

static inline uint32_t twin_fmul(uint32_t a, uint32_t b)
{
	return twin_canon(twin_u(twin_f(a) * twin_f(b)));
}

static inline bool twin_fgt(uint32_t a, uint32_t b)
{
	return twin_f(a) > twin_f(b);
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
	return (uint32_t)_mm_cvtss_si32(_mm_set_ss(twin_f(u)));
}

static inline uint32_t twin_i2f(uint32_t i)
{
	return twin_u((float)(int32_t)i);
}

#endif /* TWIN_EXACT_FP_H */
