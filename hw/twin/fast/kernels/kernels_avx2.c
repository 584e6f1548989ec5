// SPDX-License-Identifier: MIT
/*
 * The kernels for AVX2: vectors of eight, sixteen registers. They use FMA only when they are asked
 * to.
 */
#include <immintrin.h>

#include "twin/exact/fp.h"
#include "twin/fast/kernels/kernels.h"

#pragma GCC target("avx2,fma")

#define NAME(x)	  x##_avx2
#define W	  8
#define REGISTERS 16
#include "twin/fast/kernels/kernels_impl.h"

/* eight lane partials of one wavelet */
static inline __m256 lanes(const float *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
			   uint32_t w)
{
	const uint8_t *xk = x + (int32_t)(w & 0x3fff) * stride;
	const float *a = acc + (w >> 14 & 3) * tokens;
	__m256 p = _mm256_setzero_ps();
	uint32_t t;

	for (t = 0; t < tokens; t += 8) {
		__m128i h = _mm_loadu_si128((const __m128i *)(const void *)(xk + t * 2));
		__m256 v = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));

		p = _mm256_add_ps(p, _mm256_mul_ps(_mm256_loadu_ps(a + t), v));
	}
	return p;
}

/* four wavelets share the lane tree: a horizontal addition is one of its levels */
void twin_dot(const uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
	      const uint32_t *w, uint32_t n, uint32_t *out)
{
	const float *a = (const float *)(const void *)acc;
	uint32_t i, j, last[4], r[4];

	for (i = 0; i < n; i += 4) {
		const uint32_t *from = w + i;
		uint32_t *to = out + i;
		__m256 p[4], q;
		__m128 s, nan;

		if (n - i < 4) { /* the last ones: some of them more than once */
			for (j = 0; j < 4; j++)
				last[j] = w[i + j < n ? i + j : n - 1];
			from = last;
			to = r;
		}
		for (j = 0; j < 4; j++)
			p[j] = lanes(a, x, stride, tokens, from[j]);
		q = _mm256_hadd_ps(_mm256_hadd_ps(p[0], p[1]), _mm256_hadd_ps(p[2], p[3]));
		s = _mm_add_ps(_mm256_castps256_ps128(q), _mm256_extractf128_ps(q, 1));
		nan = _mm_cmpunord_ps(s, s);
		s = _mm_blendv_ps(s, _mm_castsi128_ps(_mm_set1_epi32(TWIN_NAN)), nan);
		_mm_storeu_ps((float *)(void *)to, s);
		if (to == r)
			memcpy(out + i, r, (n - i) * sizeof(*r));
	}
}

const struct twin_kernels twin_kernels_avx2 = {
	.add = add_avx2,
	.axpy = axpy_avx2,
	.axpy_dense = axpy_dense_avx2,
	.axpy_rows = axpy_rows_avx2,
	.axpy_two = axpy_two_avx2,
	.dot_cols = dot_cols_avx2,
	.values = twin_values,
	.range_of_sums = range_of_sums_avx2,
	.to_rows = to_rows_avx2,
};
