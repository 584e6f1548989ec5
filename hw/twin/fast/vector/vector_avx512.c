// SPDX-License-Identifier: MIT
/* Vector operations for AVX-512: a vector is two groups of LANES. */
#include <immintrin.h>
#include <stdbool.h>

#include "twin/exact/fp.h"
#include "twin/fast/vector/vector.h"
#include "wse_regs.h"

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")

#define FORCED static inline __attribute__((always_inline))

FORCED __m512i get(const uint8_t *p, bool bf16)
{
	if (bf16)
		return _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)p)),
					 16);
	return _mm512_loadu_si512((const void *)p);
}

/* a row of LANES, and once more behind it */
FORCED __m512i get_row(const uint8_t *p, bool bf16)
{
	if (bf16)
		return _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_broadcastsi128_si256(
						 _mm_loadu_si128((const void *)p))),
					 16);
	return _mm512_broadcast_i64x4(_mm256_loadu_si256((const void *)p));
}

FORCED __mmask16 is_nan(__m512i v)
{
	__m512 f = _mm512_castsi512_ps(v);

	return _mm512_cmp_ps_mask(f, f, _CMP_UNORD_Q);
}

FORCED __mmask16 is_tiny(__m512i v)
{
	return _mm512_testn_epi32_mask(v, _mm512_set1_epi32(0x7f800000));
}

/* sixteen results; bf16 ones as twin_bf16_round() has them */
FORCED void put(uint8_t *p, bool bf16, __m512i v)
{
	__m512i r;

	if (!bf16) {
		_mm512_storeu_si512((void *)p, v);
		return;
	}
	r = _mm512_and_si512(_mm512_srli_epi32(v, 16), _mm512_set1_epi32(1));
	r = _mm512_add_epi32(_mm512_add_epi32(v, _mm512_set1_epi32(0x7fff)), r);
	r = _mm512_mask_and_epi32(r, is_tiny(v), v, _mm512_set1_epi32((int32_t)0x80000000));
	r = _mm512_mask_mov_epi32(r, is_nan(v), _mm512_set1_epi32((int32_t)TWIN_NAN));
	_mm256_storeu_si256((void *)p, _mm512_cvtepi32_epi16(_mm512_srli_epi32(r, 16)));
}

FORCED __m512i canon(__m512 f)
{
	__m512i v = _mm512_castps_si512(f);

	return _mm512_mask_mov_epi32(v, is_nan(v), _mm512_set1_epi32((int32_t)TWIN_NAN));
}

FORCED __m512i flush(__m512i v)
{
	__mmask16 nan = is_nan(v);

	v = _mm512_mask_and_epi32(v, is_tiny(v), v, _mm512_set1_epi32((int32_t)0x80000000));
	return _mm512_mask_mov_epi32(v, nan, _mm512_set1_epi32((int32_t)TWIN_NAN));
}

FORCED __m512i choose(__mmask16 mask, __m512i yes, __m512i no)
{
	return _mm512_mask_mov_epi32(no, mask, yes);
}

/* conversion gives 2^31 for whatever does not fit */
FORCED __m512i f2i(__m512 f)
{
	__mmask16 big = _mm512_cmp_ps_mask(f, _mm512_set1_ps(0x1p31f), _CMP_GE_OQ);

	return choose(big, _mm512_set1_epi32(0x7fffffff), _mm512_cvtps_epi32(f));
}

#define TABLE		 twin_vector_avx512
#define VW		 16
#define I		 __m512i
#define V(x)		 _mm512_##x
#define as_i(v)		 _mm512_castps_si512(v)
#define as_f(v)		 _mm512_castsi512_ps(v)
#define and_i(a, b)	 _mm512_and_si512(a, b)
#define or_i(a, b)	 _mm512_or_si512(a, b)
#define xor_i(a, b)	 _mm512_xor_si512(a, b)
#define compare(a, b, p) _mm512_cmp_ps_mask(a, b, p)
#include "twin/fast/vector/vector_impl.h"
