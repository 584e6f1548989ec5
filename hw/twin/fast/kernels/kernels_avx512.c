// SPDX-License-Identifier: MIT
/* The kernels for AVX-512: vectors of sixteen, of eight for an odd number of lanes' groups. */
#include <immintrin.h>

#include "twin/exact/fp.h"
#include "twin/fast/kernels/kernels.h"

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma,prefer-vector-width=512")

#define CELLS	8
#define TWO	2
#define PAIR	0
#define NAME(x) x##_8
#include "twin/fast/kernels/kernels_w8.h"
#include "twin/fast/kernels/kernels_impl.h"
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
			       _mm512_castsi512_ps(_mm512_set1_epi32((int)TWIN_NAN))))
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

#include "twin/fast/kernels/kernels_impl.h"

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

/* ---- values and ranges: 32 exponents at once, in halves of words ---- */

struct ends32 {
	__m512i last, least;
};

static inline void add32(struct ends32 *e, __m512i x)
{
	const __m512i all = _mm512_set1_epi16(TWIN_EXP_BF16);
	__m512i left;

	x = _mm512_and_si512(x, all);
	left = _mm512_maskz_sub_epi16(_mm512_test_epi16_mask(x, x), all, x);
	e->last = _mm512_max_epi16(e->last, x);
	e->least = _mm512_max_epi16(e->least, left);
}

/* the greatest of 32, none of which is negative */
static inline int16_t greatest(__m512i x)
{
	__m256i h = _mm256_max_epi16(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
	__m128i q = _mm_max_epi16(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));

	q = _mm_minpos_epu16(_mm_xor_si128(q, _mm_set1_epi16(0x7fff)));
	return (int16_t)((_mm_cvtsi128_si32(q) ^ 0x7fff) & 0x7fff);
}

static inline struct twin_range range32(const struct ends32 *e)
{
	return twin_range_between((struct twin_ends){greatest(e->last), greatest(e->least)});
}

/* eight of each */
static inline __m512i halves(const uint16_t *a, const uint16_t *b, const uint16_t *c,
			     const uint16_t *d)
{
	__m512i x = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)a));

	x = _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(const void *)b), 1);
	x = _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(const void *)c), 2);
	return _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(const void *)d), 3);
}

static struct twin_range values(float *v, const uint16_t *const *row, uint32_t nk, unsigned int nb)
{
	/*
	 * word 4 k + f gets half 8 f + k of four rows of eight, as its upper one; the same 4 k on
	 */
	const __m512i at = _mm512_slli_epi32(
		_mm512_setr_epi32(0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27), 16);
	const __m512i next = _mm512_add_epi32(at, _mm512_set1_epi32(4 << 16));
	struct ends32 ends = {_mm512_setzero_si512(), _mm512_setzero_si512()};
	const uint16_t *rest[4];
	struct twin_range r;
	uint32_t k, f;

	if (nb != 4)
		return twin_values(v, row, nk, nb);
	for (k = 0; k + 8 <= nk; k += 8, v += 32) {
		__m512i x = halves(row[0] + k, row[1] + k, row[2] + k, row[3] + k);

		add32(&ends, x);
		_mm512_storeu_si512(v, _mm512_maskz_permutexvar_epi16(0xaaaaaaaa, at, x));
		_mm512_storeu_si512(v + 16, _mm512_maskz_permutexvar_epi16(0xaaaaaaaa, next, x));
	}
	r = range32(&ends);
	if (k == nk)
		return r;
	for (f = 0; f < 4; f++)
		rest[f] = row[f] + k;
	return twin_range_join(r, twin_values(v, rest, nk - k, 4));
}

static struct twin_range range_of_sums(const uint32_t *v, uint32_t n)
{
	struct ends32 ends = {_mm512_setzero_si512(), _mm512_setzero_si512()};
	__m512i low = _mm512_setzero_si512();
	uint32_t i;

	for (i = 0; i < n; i += 16) {
		__mmask16 in = (__mmask16)(n - i < 16 ? (1u << (n - i)) - 1 : 0xffff);
		__m512i x = _mm512_maskz_loadu_epi32(in, v + i);

		low = _mm512_or_si512(low, x);
		/* the lower halves are 0, or else all of this is for nothing */
		add32(&ends, x);
	}
	if (_mm512_test_epi32_mask(low, _mm512_set1_epi32(0xffff)))
		return TWIN_RANGE_ANY;
	return range32(&ends);
}

const struct twin_kernels twin_kernels_avx512 = {
	.add = add,
	.axpy = axpy,
	.axpy_dense = axpy_dense,
	.axpy_rows = axpy_rows,
	.axpy_two = axpy_two,
	.dot_cols = dot_cols,
	.values = values,
	.range_of_sums = range_of_sums,
	.to_rows = to_rows,
};
