// SPDX-License-Identifier: MIT
/*
 * Many normal random numbers: the steps of wse_rng_normal(), wse_log() and wse_cos_turns() for
 * several at a time, branches by masks. IEEE arithmetic in the same order, hence the same bits.
 */
#include <immintrin.h>

#include "cpu.h"
#include "num.h"

#define INLINE static inline __attribute__((always_inline))
#define LANES  8

typedef double vd __attribute__((vector_size(8 * LANES)));
typedef int64_t vi __attribute__((vector_size(8 * LANES)));
typedef uint64_t vu __attribute__((vector_size(8 * LANES)));

/* mask ? a : b; macros, as such vectors are no arguments where their registers may not exist */
#define PICK(mask, a, b) ((vd)(((vi)(a) & (mask)) | ((vi)(b) & ~(mask))))
#define ALL(c)		 ((vd){0} + (c))

/* as wse_rng_u64(); key: what of it does not depend on the index */
INLINE uint64_t mixed(uint64_t key, uint64_t index)
{
	uint64_t z = key + (index + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

INLINE void log_of(vd *x)
{
	const double ln2 = 0.69314718055994530942;
	vu u = (vu)*x + (0x3ff0000000000000ull - 0x3fe6a09e667f3bcdull);
	vd m = (vd)((u & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
	vd e, s = (m - 1.0) / (m + 1.0), z = s * s, p = {0};

	for (int i = 0; i < LANES; i++)
		e[i] = (double)((int)(u[i] >> 52) - 1023);
	p = p * z + 1.0 / 21;
	p = p * z + 1.0 / 19;
	p = p * z + 1.0 / 17;
	p = p * z + 1.0 / 15;
	p = p * z + 1.0 / 13;
	p = p * z + 1.0 / 11;
	p = p * z + 1.0 / 9;
	p = p * z + 1.0 / 7;
	p = p * z + 1.0 / 5;
	p = p * z + 1.0 / 3;
	p = p * z + 1.0 / 1;
	*x = e * ln2 + 2.0 * s * p;
}

INLINE void cos_of(vd *turns)
{
	const double two_pi = 6.28318530717958647693;
	vd t = PICK(*turns > 0.5, 1.0 - *turns, *turns), sign, a, z, p = ALL(1.0);
	vi far = t > 0.25, even;

	t = PICK(far, 0.5 - t, t);
	sign = PICK(far, ALL(-1.0), ALL(1.0));
	even = t <= 0.125;
	a = PICK(even, t, 0.25 - t) * two_pi;
	z = a * a;
	for (int i = 16; i >= 2; i -= 2)
		p = 1.0 -
		    p * z / PICK(even, ALL((double)(i * (i - 1))), ALL((double)((i + 1) * i)));
	*turns = PICK(even, sign, sign * a) * p;
}

#define VARIANT(attr, name, root)                                                              \
	attr static void normals_##name(uint64_t key, uint64_t index, float scale, float *out) \
	{                                                                                      \
		vd u, v;                                                                       \
                                                                                               \
		for (int i = 0; i < LANES; i++) {                                              \
			uint64_t at = 2 * (index + (uint64_t)i);                               \
                                                                                               \
			u[i] = (double)(int64_t)(mixed(key, at) >> 11);                        \
			v[i] = (double)(int64_t)(mixed(key, at + 1) >> 11);                    \
		}                                                                              \
		u = 1.0 - u * 0x1p-53;                                                         \
		v = v * 0x1p-53;                                                               \
		log_of(&u);                                                                    \
		cos_of(&v);                                                                    \
		u = -2.0 * u;                                                                  \
		root(&u);                                                                      \
		u = u * v;                                                                     \
		for (int i = 0; i < LANES; i++)                                                \
			out[i] = scale * (float)u[i];                                          \
	}

INLINE void root2(vd *x)
{
	double *p = (double *)x;

	for (int i = 0; i < LANES; i += 2)
		_mm_storeu_pd(p + i, _mm_sqrt_pd(_mm_loadu_pd(p + i)));
}

__attribute__((target("avx2"))) INLINE void root4(vd *x)
{
	double *p = (double *)x;

	for (int i = 0; i < LANES; i += 4)
		_mm256_storeu_pd(p + i, _mm256_sqrt_pd(_mm256_loadu_pd(p + i)));
}

__attribute__((target("avx512f,avx512dq"))) INLINE void root8(vd *x)
{
	double *p = (double *)x;

	_mm512_storeu_pd(p, _mm512_sqrt_pd(_mm512_loadu_pd(p)));
}

VARIANT(, sse2, root2)
VARIANT(__attribute__((target("avx2"))), avx2, root4)
/* also multiplies 64-bit integers, which takes AVX2 most of its time */
VARIANT(__attribute__((target("avx512f,avx512dq"))), avx512, root8)

void wse_rng_normals(uint64_t seed, uint64_t stream, uint64_t index, float scale, size_t n,
		     float *out)
{
	uint64_t key = wse_rng_key(seed, stream);
	bool avx2 = wse_cpu_avx2(), avx512 = wse_cpu_avx512();

	for (; n >= LANES; n -= LANES, index += LANES, out += LANES) {
		if (avx512)
			normals_avx512(key, index, scale, out);
		else if (avx2)
			normals_avx2(key, index, scale, out);
		else
			normals_sse2(key, index, scale, out);
	}
	for (; n; n--)
		*out++ = scale * wse_rng_normal(seed, stream, index++);
}
