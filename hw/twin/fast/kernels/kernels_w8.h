/* SPDX-License-Identifier: MIT */
/*
 * What kernels_impl.h asks for, with vectors of eight: for AVX2, and for AVX-512 where the number
 * of tokens is no multiple of sixteen.
 */
#define W	8
#define WIDEN(p)               \
	((V)_mm256_slli_epi32( \
		_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p))), 16))
#define ORDER4(to, a, b, c, d) order8(to, a, b, c, d)
#define SPLAT(x)	       ((V)_mm256_set1_ps(x))
#define CANON(s)                                                                            \
	((V)_mm256_blendv_ps((__m256)(s),                                                   \
			     _mm256_castsi256_ps(_mm256_set1_epi32((int32_t)TWIN_NAN)),      \
			     _mm256_cmp_ps((__m256)(s), (__m256)(s), _CMP_UNORD_Q)))
#define FUSED(a, b, c)	       ((V)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))

static inline void order8(uint32_t *to, const float *a, const float *b, const float *c,
			  const float *d)
{
	__m256 r0 = _mm256_loadu_ps(a), r1 = _mm256_loadu_ps(b);
	__m256 r2 = _mm256_loadu_ps(c), r3 = _mm256_loadu_ps(d);
	__m256d ab = _mm256_castps_pd(_mm256_unpacklo_ps(r0, r1));
	__m256d ab2 = _mm256_castps_pd(_mm256_unpackhi_ps(r0, r1));
	__m256d cd = _mm256_castps_pd(_mm256_unpacklo_ps(r2, r3));
	__m256d cd2 = _mm256_castps_pd(_mm256_unpackhi_ps(r2, r3));
	__m256 q[4] = {
		_mm256_castpd_ps(_mm256_unpacklo_pd(ab, cd)),
		_mm256_castpd_ps(_mm256_unpackhi_pd(ab, cd)),
		_mm256_castpd_ps(_mm256_unpacklo_pd(ab2, cd2)),
		_mm256_castpd_ps(_mm256_unpackhi_pd(ab2, cd2)),
	};
	float *f = (float *)(void *)to;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		_mm_storeu_ps(f + 4 * i, _mm256_castps256_ps128(q[i]));
		_mm_storeu_ps(f + 16 + 4 * i, _mm256_extractf128_ps(q[i], 1));
	}
}
