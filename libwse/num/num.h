/* SPDX-License-Identifier: MIT */
/*
 * Host arithmetic that reaches a bit of a result: IEEE + - * / and sqrt only. No libm, no BLAS, no
 * FMA (the whole tree is built with -ffp-contract=off), FTZ and DAZ off. glibc's cos, exp and pow
 * change with the CPU they find; ours do not.
 */
#ifndef WSE_TRAIN_NUM_H
#define WSE_TRAIN_NUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WSE_F32_NAN 0x7fc00000u	/* the one NaN that a wafer produces */
#define WSE_BF16_NAN 0x7fc0u

static inline uint32_t wse_f2u(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static inline float wse_u2f(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static inline int wse_f32_isnan(float f)
{
	return (wse_f2u(f) & 0x7fffffffu) > 0x7f800000u;
}

/* NaN or infinity */
static inline int wse_f32_isbad(float f)
{
	return (wse_f2u(f) & 0x7f800000u) == 0x7f800000u;
}

/* any NaN becomes the canonical one (SSE would give 0xffc00000, or keep a payload) */
static inline float wse_canon(float f)
{
	return wse_f32_isnan(f) ? wse_u2f(WSE_F32_NAN) : f;
}

/* round to nearest even; subnormals stay what they are (the wafer flushes them when it reads) */
static inline uint16_t wse_f32_to_bf16(float f)
{
	uint32_t u = wse_f2u(f);

	if ((u & 0x7fffffffu) > 0x7f800000u)
		return WSE_BF16_NAN;
	return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
}

static inline float wse_bf16_to_f32(uint16_t h)
{
	return wse_u2f((uint32_t)h << 16);
}

/*
 * The wafer's rule for subnormals: inputs and results flushed to zero of the same sign, tininess
 * judged after rounding. That is what SSE does with DAZ|FTZ set, so the oracle sets the two bits
 * around its loops and puts the caller's MXCSR back.
 */
uint32_t wse_ftz_enter(void);
void wse_ftz_leave(uint32_t saved);

/* the convert that a wafer does when it stores bf16: as above, subnormals flushed to zero */
static inline uint16_t wse_f32_to_bf16_ftz(float f)
{
	uint32_t u = wse_f2u(f);

	if (!(u & 0x7f800000u))
		return (uint16_t)((u >> 16) & 0x8000u);
	return wse_f32_to_bf16(f);
}

double wse_sqrt(double x);
float wse_sqrtf(float x);

double wse_log(double x);		/* x > 0 and normal */
double wse_exp(double x);		/* -700 <= x <= 700 */
double wse_cos_turns(double turns);	/* cos(2 pi turns), turns in [0, 1) */

/* counter-based random numbers: a pure function of (seed, stream, index), no state to keep */
uint64_t wse_rng_u64(uint64_t seed, uint64_t stream, uint64_t index);
double wse_rng_uniform(uint64_t seed, uint64_t stream, uint64_t index);	/* [0, 1) */
float wse_rng_normal(uint64_t seed, uint64_t stream, uint64_t index);	/* mean 0, deviation 1 */

/* out[i] = scale * wse_rng_normal(seed, stream, index + i), n of them, several at a time */
void wse_rng_normals(uint64_t seed, uint64_t stream, uint64_t index, float scale, size_t n,
		     float *out);
/* the part of wse_rng_u64() that does not depend on the index */
uint64_t wse_rng_key(uint64_t seed, uint64_t stream);

/* a keyed permutation of [0, n): where a shuffled epoch finds its i-th sample, in O(1) memory */
uint64_t wse_rng_permute(uint64_t seed, uint64_t epoch, uint64_t n, uint64_t i);

/* 64-bit checksum against corruption (not against malice), several GB/s */
uint64_t wse_checksum64(const void *data, size_t bytes);

/* the same in parts: all but the last are multiples of 32 bytes */
struct wse_sum64 {
	uint64_t lane[4], bytes;
	unsigned char rest[32];
	uint32_t nrest;
};

void wse_sum64_begin(struct wse_sum64 *s);
void wse_sum64_add(struct wse_sum64 *s, const void *data, size_t bytes);
uint64_t wse_sum64_end(const struct wse_sum64 *s);

#endif
