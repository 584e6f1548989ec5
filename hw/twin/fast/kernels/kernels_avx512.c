// SPDX-License-Identifier: MIT
/* The kernels for AVX-512: vectors of sixteen, of eight for an odd number of lanes' groups. */
#include <immintrin.h>

#include "twin/exact/fp.h"
#include "twin/fast/kernels/kernels.h"

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma,prefer-vector-width=512")

#define REGISTERS 32
#define W	  8
#define NAME(x)	  x##_8
#include "twin/fast/kernels/kernels_impl.h"
#undef W
#undef NAME
#define W	16
#define NAME(x) x##_16
#include "twin/fast/kernels/kernels_impl.h"

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

/* one row: a LINEAR block, which has its order already */
static struct twin_range values_in_order(float *v, const uint16_t *row, uint32_t n)
{
	struct ends32 ends = {_mm512_setzero_si512(), _mm512_setzero_si512()};
	struct twin_range r;
	uint32_t k;

	for (k = 0; k + 32 <= n; k += 32, row += 32, v += 32) {
		__m512i x = _mm512_loadu_si512(row);
		__m512i low = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(x));
		__m512i high = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(x, 1));

		add32(&ends, x);
		_mm512_storeu_si512(v, _mm512_slli_epi32(low, 16));
		_mm512_storeu_si512(v + 16, _mm512_slli_epi32(high, 16));
	}
	r = range32(&ends);
	return k == n ? r : twin_range_join(r, twin_values(v, &row, n - k, 1));
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

	if (nb == 1)
		return values_in_order(v, row[0], nk);
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

const struct twin_kernels twin_kernels_avx512 = {
	.add = add_16,
	.axpy = axpy_16,
	.axpy_dense = axpy_dense_16,
	.axpy_rows = axpy_rows_16,
	.axpy_two = axpy_two_16,
	.dot_cols = dot_cols_16,
	.values = values,
	.range_of_sums = range_of_sums_16,
	.to_rows = to_rows_16,
};
