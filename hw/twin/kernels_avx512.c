// SPDX-License-Identifier: MIT
/* The kernels for AVX-512: vectors of sixteen, of eight for an odd number of lanes' groups. */
#include <immintrin.h>

#include "fp.h"
#include "kernels.h"

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma,prefer-vector-width=512")

#define CELLS	8
#define TWO	2
#define PAIR	0
#define NAME(x) x##_8
#include "kernels_w8.h"
#include "kernels_impl.h"
#undef W
#undef NAME
#undef WIDEN
#undef ORDER4
#undef SPLAT
#undef FUSED
#undef CANON
#define SPLAT(x)       ((V)_mm512_set1_ps(x))
#define FUSED(a, b, c) ((V)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define CANON(s)                                                                           \
	((V)_mm512_mask_mov_ps((__m512)(s),                                                \
			       _mm512_cmp_ps_mask((__m512)(s), (__m512)(s), _CMP_UNORD_Q), \
			       _mm512_castsi512_ps(_mm512_set1_epi32((int)WSE_NAN))))
#define W	16
#define NAME(x) x##_16
#define WIDEN(p)                                                                               \
	((V)_mm512_slli_epi32(                                                                 \
		_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(p))), \
		16))
#define ORDER4(to, a, b, c, d) order16(to, a, b, c, d)

static inline void order16(uint32_t *to, const float *a, const float *b, const float *c,
			   const float *d)
{
	__m512 r0 = _mm512_loadu_ps(a), r1 = _mm512_loadu_ps(b);
	__m512 r2 = _mm512_loadu_ps(c), r3 = _mm512_loadu_ps(d);
	__m512d ab = _mm512_castps_pd(_mm512_unpacklo_ps(r0, r1));
	__m512d ab2 = _mm512_castps_pd(_mm512_unpackhi_ps(r0, r1));
	__m512d cd = _mm512_castps_pd(_mm512_unpacklo_ps(r2, r3));
	__m512d cd2 = _mm512_castps_pd(_mm512_unpackhi_ps(r2, r3));
	/* quarter i of q[j]: the four values of k = 4 i + j */
	__m512 q0 = _mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd));
	__m512 q1 = _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd));
	__m512 q2 = _mm512_castpd_ps(_mm512_unpacklo_pd(ab2, cd2));
	__m512 q3 = _mm512_castpd_ps(_mm512_unpackhi_pd(ab2, cd2));
	__m512 lo01 = _mm512_shuffle_f32x4(q0, q1, 0x44), hi01 = _mm512_shuffle_f32x4(q0, q1, 0xee);
	__m512 lo23 = _mm512_shuffle_f32x4(q2, q3, 0x44), hi23 = _mm512_shuffle_f32x4(q2, q3, 0xee);

	_mm512_storeu_ps(to, _mm512_shuffle_f32x4(lo01, lo23, 0x88));
	_mm512_storeu_ps(to + 16, _mm512_shuffle_f32x4(lo01, lo23, 0xdd));
	_mm512_storeu_ps(to + 32, _mm512_shuffle_f32x4(hi01, hi23, 0x88));
	_mm512_storeu_ps(to + 48, _mm512_shuffle_f32x4(hi01, hi23, 0xdd));
}

#include "kernels_impl.h"

static void add(uint32_t *v, const uint32_t *a, const uint32_t *b, uint32_t n)
{
	(n % 16 ? add_8 : add_16)(v, a, b, n);
}

static void axpy(uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
		 const uint32_t *w, uint32_t n)
{
	(tokens % 16 ? axpy_8 : axpy_16)(acc, x, stride, tokens, w, n);
}

static void axpy_dense(uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
		       unsigned int nb, const float *v, uint32_t nk, bool fused)
{
	(tokens % 16 ? axpy_dense_8 : axpy_dense_16)(acc, x, stride, tokens, nb, v, nk, fused);
}

static void axpy_rows(uint32_t *acc, const float *r, uint32_t tokens, unsigned int nb,
		      const float *v, uint32_t nk, bool fused)
{
	(tokens % 16 ? axpy_rows_8 : axpy_rows_16)(acc, r, tokens, nb, v, nk, fused);
}

static void axpy_two(uint32_t *const acc[2], const float *const r[2], uint32_t tokens,
		     unsigned int nb, const float *v, uint32_t nk, bool fused)
{
	(tokens % 16 ? axpy_two_8 : axpy_two_16)(acc, r, tokens, nb, v, nk, fused);
}

static void dot_cols(const uint32_t *acc, const float *c, uint32_t k, uint32_t tokens,
		     unsigned int nb, uint32_t nk, uint32_t *out, bool fused)
{
	/* what fits half a vector */
	(nk <= 8 ? dot_cols_8 : dot_cols_16)(acc, c, k, tokens, nb, nk, out, fused);
}

static void to_rows(float *r, const uint8_t *x, int32_t stride, uint32_t tokens, uint32_t rows)
{
	(tokens % 16 ? to_rows_8 : to_rows_16)(r, x, stride, tokens, rows);
}

const struct wse_kernels wse_kernels_avx512 = {
	.add = add,
	.axpy = axpy,
	.axpy_dense = axpy_dense,
	.axpy_rows = axpy_rows,
	.axpy_two = axpy_two,
	.dot_cols = dot_cols,
	.to_rows = to_rows,
};
