// SPDX-License-Identifier: MIT
/* Vector operations for AVX2: a group of LANES is one vector. */
#include <immintrin.h>

#include "fp.h"
#include "vector.h"
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

/* eight results; bf16 ones as wse_bf16_round() has them */
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
	r = _mm256_blendv_epi8(r, _mm256_set1_epi32((int32_t)WSE_NAN), nan);
	r = _mm256_srli_epi32(r, 16);
	_mm_storeu_si128((__m128i *)(void *)p, _mm_packus_epi32(_mm256_castsi256_si128(r),
								_mm256_extracti128_si256(r, 1)));
}

FORCED __m256i canon(__m256 f)
{
	return _mm256_castps_si256(
		_mm256_blendv_ps(f, _mm256_castsi256_ps(_mm256_set1_epi32((int32_t)WSE_NAN)),
				 _mm256_cmp_ps(f, f, _CMP_UNORD_Q)));
}

FORCED __m256i flush(__m256i v)
{
	__m256i zero = _mm256_and_si256(v, _mm256_set1_epi32((int32_t)0x80000000));

	v = _mm256_blendv_epi8(v, _mm256_set1_epi32((int32_t)WSE_NAN), is_nan(v));
	return _mm256_blendv_epi8(v, zero, is_tiny(v));
}

FORCED __m256i choose(__m256 mask, __m256 yes, __m256 no)
{
	return _mm256_castps_si256(_mm256_blendv_ps(no, yes, mask));
}

/* conversion gives 2^31 for whatever does not fit */
FORCED __m256i f2i(__m256 f)
{
	__m256 big = _mm256_cmp_ps(f, _mm256_set1_ps(0x1p31f), _CMP_GE_OQ);

	return choose(big, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff)),
		      _mm256_castsi256_ps(_mm256_cvtps_epi32(f)));
}

FORCED __m256i shift_of(__m256i v)
{
	return _mm256_and_si256(v, _mm256_set1_epi32(31));
}

#define FA _mm256_castsi256_ps(a)
#define FB _mm256_castsi256_ps(b)
#define FD _mm256_castsi256_ps(get(d, dh))
#define GT _mm256_cmp_ps(FA, FB, _CMP_GT_OQ)

// clang-format off
#define OPERATIONS(each)                                                                         \
	each(VADD, canon(_mm256_add_ps(FA, FB)))                                                 \
	each(VSUB, canon(_mm256_sub_ps(FA, FB)))                                                 \
	each(VMUL, canon(_mm256_mul_ps(FA, FB)))                                                 \
	each(VMAC, canon(_mm256_add_ps(FD, _mm256_mul_ps(FA, FB))))                              \
	each(VMAX, flush(choose(GT, FA, FB)))                                                    \
	each(VMIN, flush(choose(_mm256_cmp_ps(FA, FB, _CMP_LT_OQ), FA, FB)))                     \
	each(VMOV, a)                                                                            \
	each(VGATE, choose(_mm256_cmp_ps(FA, _mm256_setzero_ps(), _CMP_GT_OQ), FB,               \
			   _mm256_setzero_ps()))                                                 \
	each(VCGT, _mm256_castps_si256(GT))                                                      \
	each(VIADD, _mm256_add_epi32(a, b))                                                      \
	each(VISUB, _mm256_sub_epi32(a, b))                                                      \
	each(VAND, _mm256_and_si256(a, b))                                                       \
	each(VOR, _mm256_or_si256(a, b))                                                         \
	each(VXOR, _mm256_xor_si256(a, b))                                                       \
	each(VSHL, _mm256_sllv_epi32(a, shift_of(b)))                                            \
	each(VSHR, _mm256_srlv_epi32(a, shift_of(b)))                                            \
	each(VSRA, _mm256_srav_epi32(a, shift_of(b)))                                            \
	each(VF2I, f2i(FA))                                                                      \
	each(VI2F, _mm256_castps_si256(_mm256_cvtepi32_ps(a)))
// clang-format on

/* One operation on rows of groups. dh, ah: DST, SRC1 are bf16. Each of them and each kind of SRC2
 * is made a function of its own, so that the loops ask for nothing. */
#define LOOPS(name, expr)                                                                \
	FORCED void name(uint8_t *rd, const uint8_t *ra, const uint8_t *rb,              \
			 const struct wse_rows *s, bool dh, bool ah, enum wse_src2 src2) \
	{                                                                                \
		const uint32_t dn = dh ? 16 : 32, an = ah ? 16 : 32;                     \
		const uint32_t bn = src2 == WSE_SRC2_BF16 ? 16 : 32;                     \
		const bool scalar = src2 == WSE_SRC2_SCALAR;                             \
		uint32_t rows, n;                                                        \
		__m256i a, b;                                                            \
                                                                                         \
		b = _mm256_set1_epi32(scalar ? *(const int32_t *)(const void *)rb : 0);  \
		for (rows = s->rows; rows; rows--) {                                     \
			const uint8_t *pa = ra, *pb = rb;                                \
			uint8_t *d = rd;                                                 \
                                                                                         \
			for (n = s->width; n; n -= 8, d += dn, pa += an, pb += bn) {     \
				a = get(pa, ah);                                         \
				if (!scalar)                                             \
					b = get(pb, src2 == WSE_SRC2_BF16);              \
				(void)b;                                                 \
				put(d, dh, (expr));                                      \
			}                                                                \
			rd += s->d;                                                      \
			ra += s->a;                                                      \
			if (!scalar)                                                     \
				rb += s->b;                                              \
		}                                                                        \
	}

#define VARIANT(name, dh, ah, src2)                                                       \
	static void name##_##dh##ah##src2(uint8_t *d, const uint8_t *a, const uint8_t *b, \
					  const struct wse_rows *s)                       \
	{                                                                                 \
		name(d, a, b, s, dh, ah, (enum wse_src2)src2);                            \
	}
#define VARIANTS(name, expr)   \
	LOOPS(name, expr)      \
	VARIANT(name, 0, 0, 0) \
	VARIANT(name, 1, 0, 0) \
	VARIANT(name, 0, 1, 0) \
	VARIANT(name, 1, 1, 0) \
	VARIANT(name, 0, 0, 1) \
	VARIANT(name, 1, 0, 1) \
	VARIANT(name, 0, 1, 1) \
	VARIANT(name, 1, 1, 1) \
	VARIANT(name, 0, 0, 2) \
	VARIANT(name, 1, 0, 2) \
	VARIANT(name, 0, 1, 2) \
	VARIANT(name, 1, 1, 2)
OPERATIONS(VARIANTS)

#define ROW(name, expr)                                                                    \
	[WSE_TOP_##name - WSE_TOP_VADD] = {name##_000, name##_100, name##_010, name##_110, \
					   name##_001, name##_101, name##_011, name##_111, \
					   name##_002, name##_102, name##_012, name##_112},
wse_vector_fn *const wse_vector_avx2[WSE_VECTOR_OPS][WSE_VECTOR_VARIANTS] = {OPERATIONS(ROW)};

void wse_reduce_avx2(bool max, uint32_t *part, const uint8_t *at, bool bf16,
		     const struct wse_rows *s)
{
	__m256i p = _mm256_loadu_si256((const __m256i *)(const void *)part);
	const uint32_t an = bf16 ? 16 : 32;
	const uint8_t *qa;
	uint32_t n, rows;

	for (rows = s->rows; rows; rows--, at += s->a)
		for (n = s->width, qa = at; n; n -= 8, qa += an) {
			__m256 v = _mm256_castsi256_ps(get(qa, bf16));
			__m256 f = _mm256_castsi256_ps(p);

			p = max ? flush(choose(_mm256_cmp_ps(f, v, _CMP_GT_OQ), f, v))
				: canon(_mm256_add_ps(f, v));
		}
	_mm256_storeu_si256((__m256i *)(void *)part, p);
}
