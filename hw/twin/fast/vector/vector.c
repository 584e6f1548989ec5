// SPDX-License-Identifier: MIT
/* Vector operations: a group of LANES is one vector. */
#include <immintrin.h>
#include <string.h>

#include "twin/exact/fp.h"
#include "twin/fast/vector/vector.h"
#include "wse_regs.h"

#pragma GCC target("avx2")

#define FORCED static inline __attribute__((always_inline))

FORCED __m256i get(const uint8_t *p, bool bf16)
{
	if (bf16)
		return _mm256_slli_epi32(
			_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)),
			16);
	return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

FORCED __m256i is_nan(__m256i v)
{
	__m256 f = _mm256_castsi256_ps(v);

	return _mm256_castps_si256(_mm256_cmp_ps(f, f, _CMP_UNORD_Q));
}

FORCED __m256i is_tiny(__m256i v)
{
	return _mm256_cmpeq_epi32(_mm256_and_si256(v, _mm256_set1_epi32(0x7f800000)),
				  _mm256_setzero_si256());
}

/* eight results; bf16 ones as twin_bf16_round() has them */
FORCED void put(uint8_t *p, bool bf16, __m256i v)
{
	__m256i r, nan, tiny;

	if (!bf16) {
		_mm256_storeu_si256((__m256i *)(void *)p, v);
		return;
	}
	nan = is_nan(v);
	tiny = is_tiny(v);
	r = _mm256_and_si256(_mm256_srli_epi32(v, 16), _mm256_set1_epi32(1));
	r = _mm256_add_epi32(_mm256_add_epi32(v, _mm256_set1_epi32(0x7fff)), r);
	r = _mm256_blendv_epi8(r, _mm256_and_si256(v, _mm256_set1_epi32((int32_t)0x80000000)),
			       tiny);
	r = _mm256_blendv_epi8(r, _mm256_set1_epi32((int32_t)TWIN_NAN), nan);
	r = _mm256_srli_epi32(r, 16);
	_mm_storeu_si128((__m128i *)(void *)p, _mm_packus_epi32(_mm256_castsi256_si128(r),
								_mm256_extracti128_si256(r, 1)));
}

FORCED __m256i canon(__m256 f)
{
	return _mm256_castps_si256(
		_mm256_blendv_ps(f, _mm256_castsi256_ps(_mm256_set1_epi32((int32_t)TWIN_NAN)),
				 _mm256_cmp_ps(f, f, _CMP_UNORD_Q)));
}

FORCED __m256i flush(__m256i v)
{
	__m256i zero = _mm256_and_si256(v, _mm256_set1_epi32((int32_t)0x80000000));

	v = _mm256_blendv_epi8(v, _mm256_set1_epi32((int32_t)TWIN_NAN), is_nan(v));
	return _mm256_blendv_epi8(v, zero, is_tiny(v));
}

FORCED __m256i choose(__m256 mask, __m256i yes, __m256i no)
{
	return _mm256_blendv_epi8(no, yes, _mm256_castps_si256(mask));
}

/* conversion gives 2^31 for whatever does not fit */
FORCED __m256i f2i(__m256 f)
{
	__m256 big = _mm256_cmp_ps(f, _mm256_set1_ps(0x1p31f), _CMP_GE_OQ);

	return choose(big, _mm256_set1_epi32(0x7fffffff), _mm256_cvtps_epi32(f));
}

/* ---- element by element: wse.regs has a row of each operation ---- */

/* The terms of the rows' expressions: vop.h has them for one element. */
#define as_i(v)	      _mm256_castps_si256(v)
#define as_f(v)	      _mm256_castsi256_ps(v)
#define and_i(x, y)   _mm256_and_si256(x, y)
#define or_i(x, y)    _mm256_or_si256(x, y)
#define xor_i(x, y)   _mm256_xor_si256(x, y)
#define add_f(x, y)   canon(_mm256_add_ps(as_f(x), as_f(y)))
#define sub_f(x, y)   canon(_mm256_sub_ps(as_f(x), as_f(y)))
#define mul_f(x, y)   canon(_mm256_mul_ps(as_f(x), as_f(y)))
#define gt_f(x, y)    _mm256_cmp_ps(as_f(x), as_f(y), _CMP_GT_OQ)
#define pick(c, x, y) choose(c, x, y)
#define flush_f(x)    flush(x)
#define f_to_i(x)     f2i(as_f(x))
#define i_to_f(x)     as_i(_mm256_cvtepi32_ps(x))
#define add_i(x, y)   _mm256_add_epi32(x, y)
#define sub_i(x, y)   _mm256_sub_epi32(x, y)
#define shl_i(x, n)   _mm256_sllv_epi32(x, and_i(n, word(31)))
#define shr_i(x, n)   _mm256_srlv_epi32(x, and_i(n, word(31)))
#define sra_i(x, n)   _mm256_srav_epi32(x, and_i(n, word(31)))
#define word(n)	      _mm256_set1_epi32((int32_t)(n))

/*
 * One operation on rows of vectors. dh, ah: DST and SRC1 are bf16. Each kind of each operand makes
 * a function of its own, so that the loops ask for nothing.
 */
#define LOOPS(name, value, kind, expr)                                                     \
	FORCED void name(uint8_t *rd, const uint8_t *ra, const uint8_t *rb, uint32_t one,  \
			 const struct twin_rows *s, const bool dh, const bool ah,          \
			 const enum twin_src2 src2)                                        \
	{                                                                                  \
		const bool bh = src2 == TWIN_SRC2_BF16, scalar = src2 == TWIN_SRC2_SCALAR; \
		const uint32_t dn = dh ? 16 : 32, an = ah ? 16 : 32, bn = bh ? 16 : 32;    \
		uint32_t rows, n;                                                          \
		__m256i d, a, b;                                                           \
                                                                                           \
		b = _mm256_set1_epi32(scalar ? (int32_t)one : 0);                          \
		for (rows = s->rows; rows; rows--) {                                       \
			const uint8_t *pa = ra, *pb = rb;                                  \
			uint8_t *pd = rd;                                                  \
                                                                                           \
			for (n = s->width; n; n -= 8, pd += dn, pa += an, pb += bn) {      \
				a = get(pa, ah);                                           \
				if (!scalar)                                               \
					b = get(pb, bh);                                   \
				d = get(pd, dh);                                           \
				(void)b, (void)d;                                          \
				put(pd, dh, (expr));                                       \
			}                                                                  \
			rd += s->d;                                                        \
			ra += s->a;                                                        \
			if (!scalar)                                                       \
				rb += s->b;                                                \
		}                                                                          \
	}

#define VARIANT(name, dh, ah, src2)                                                           \
	static uint32_t name##_##dh##ah##src2(uint8_t *d, const uint8_t *a, const uint8_t *b, \
					      uint32_t one, const struct twin_rows *s)        \
	{                                                                                     \
		name(d, a, b, one, s, dh, ah, (enum twin_src2)src2);                          \
		return 1;                                                                     \
	}
#define EACH_SRC1(name, src2)     \
	VARIANT(name, 0, 0, src2) \
	VARIANT(name, 1, 0, src2) \
	VARIANT(name, 0, 1, src2) \
	VARIANT(name, 1, 1, src2)
#define VARIANTS(name, value, kind, expr) \
	LOOPS(name, value, kind, expr)    \
	EACH_SRC1(name, 0)                \
	EACH_SRC1(name, 1)                \
	EACH_SRC1(name, 2)
WSE_VOPS_ELEMENTS(VARIANTS)

/* ---- reductions ---- */

/* the sum or the maximum of two; final() then makes NaN canonical and flushes, once for all */
FORCED __m256 either(bool max, __m256 a, __m256 b)
{
	return max ? _mm256_blendv_ps(b, a, _mm256_cmp_ps(a, b, _CMP_GT_OQ)) : _mm256_add_ps(a, b);
}

FORCED uint32_t final(bool max, __m256 v)
{
	return (uint32_t)_mm256_cvtsi256_si32(max ? flush(_mm256_castps_si256(v)) : canon(v));
}

/* neighbours, in each half: 0 with 1 and 2 with 3 */
FORCED __m256 pairs(bool max, __m256 p)
{
	return either(max, _mm256_shuffle_ps(p, p, 0x88), _mm256_shuffle_ps(p, p, 0xdd));
}

/* one group after the other with the lane partials, then the lane tree */
FORCED void reduce(uint8_t *d, const uint8_t *at, const struct twin_rows *s, bool max, bool bf16)
{
	__m256 p = max ? _mm256_castsi256_ps(_mm256_set1_epi32((int32_t)0xff800000))
		       : _mm256_setzero_ps();
	const uint32_t an = bf16 ? 16 : 32;
	const uint8_t *from;
	uint32_t n, rows, v;

	for (rows = s->rows; rows; rows--, at += s->a)
		for (n = s->width, from = at; n; n -= 8, from += an)
			p = either(max, p, _mm256_castsi256_ps(get(from, bf16)));
	p = pairs(max, pairs(max, p));
	v = final(max, either(max, p, _mm256_castps128_ps256(_mm256_extractf128_ps(p, 1))));
	memcpy(d, &v, sizeof(v));
}

#define REDUCTION(name, max, bf16)                                                         \
	static uint32_t name(uint8_t *d, const uint8_t *a, const uint8_t *b, uint32_t one, \
			     const struct twin_rows *s)                                    \
	{                                                                                  \
		(void)b, (void)one;                                                        \
		reduce(d, a, s, max, bf16);                                                \
		return 1;                                                                  \
	}
REDUCTION(sum_words, false, false)
REDUCTION(sum_bf16, false, true)
REDUCTION(max_words, true, false)
REDUCTION(max_bf16, true, true)

/* ---- the table ---- */

#define ROW_OF(name, src2) name##_00##src2, name##_10##src2, name##_01##src2, name##_11##src2
#define ROW(name, value, kind, expr) \
	[(value)-WSE_TOP_VADD] = {ROW_OF(name, 0), ROW_OF(name, 1), ROW_OF(name, 2)},
/* variants with a scalar for SRC2 and a DST of words */
#define REDUCE_ROW(value, words, bf16)                             \
	[(value)-WSE_TOP_VADD] = {[TWIN_SRC2_SCALAR << 2] = words, \
				  [TWIN_SRC2_SCALAR << 2 | 2] = bf16},
twin_vector_fn *const twin_vector[TWIN_VECTOR_OPS][TWIN_VECTOR_VARIANTS] = {
	WSE_VOPS_ELEMENTS(ROW) REDUCE_ROW(WSE_TOP_VRSUM, sum_words, sum_bf16)
		REDUCE_ROW(WSE_TOP_VRMAX, max_words, max_bf16)};
