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
#define FD _mm256_castsi256_ps(get(d, pd->bf16))
#define GT _mm256_cmp_ps(FA, FB, _CMP_GT_OQ)

#define EACH(expr)                                                                           \
	do {                                                                                 \
		for (; rows; rows--, rd += pd->stride, ra += pa->stride, rb += pb->stride) { \
			uint8_t *d = rd;                                                     \
			const uint8_t *qa = ra, *qb = rb;                                    \
                                                                                             \
			for (n = width; n; n -= 8, d += dn, qa += an, qb += bn) {            \
				__m256i a = get(qa, pa->bf16), b = get(qb, pb->bf16);        \
                                                                                             \
				(void)b;                                                     \
				put(d, pd->bf16, (expr));                                    \
			}                                                                    \
		}                                                                            \
	} while (0)

void wse_vector_avx2(unsigned int op, const struct wse_place *pd, const struct wse_place *pa,
		     const struct wse_place *pb, uint32_t width, uint32_t rows)
{
	const uint32_t dn = pd->bf16 ? 16 : 32, an = pa->bf16 ? 16 : 32;
	const uint32_t bn = pb->fixed ? 0 : pb->bf16 ? 16 : 32;
	const uint8_t *ra = pa->at, *rb = pb->at;
	uint8_t *rd = pd->at;
	uint32_t n;

	switch (op) {
	case WSE_TOP_VADD:
		EACH(canon(_mm256_add_ps(FA, FB)));
		break;
	case WSE_TOP_VSUB:
		EACH(canon(_mm256_sub_ps(FA, FB)));
		break;
	case WSE_TOP_VMUL:
		EACH(canon(_mm256_mul_ps(FA, FB)));
		break;
	case WSE_TOP_VMAC:
		EACH(canon(_mm256_add_ps(FD, _mm256_mul_ps(FA, FB))));
		break;
	case WSE_TOP_VMAX:
		EACH(flush(choose(GT, FA, FB)));
		break;
	case WSE_TOP_VMIN:
		EACH(flush(choose(_mm256_cmp_ps(FA, FB, _CMP_LT_OQ), FA, FB)));
		break;
	case WSE_TOP_VMOV:
		EACH(a);
		break;
	case WSE_TOP_VGATE:
		EACH(choose(_mm256_cmp_ps(FA, _mm256_setzero_ps(), _CMP_GT_OQ), FB,
			    _mm256_setzero_ps()));
		break;
	case WSE_TOP_VCGT:
		EACH(_mm256_castps_si256(GT));
		break;
	case WSE_TOP_VIADD:
		EACH(_mm256_add_epi32(a, b));
		break;
	case WSE_TOP_VISUB:
		EACH(_mm256_sub_epi32(a, b));
		break;
	case WSE_TOP_VAND:
		EACH(_mm256_and_si256(a, b));
		break;
	case WSE_TOP_VOR:
		EACH(_mm256_or_si256(a, b));
		break;
	case WSE_TOP_VXOR:
		EACH(_mm256_xor_si256(a, b));
		break;
	case WSE_TOP_VSHL:
		EACH(_mm256_sllv_epi32(a, shift_of(b)));
		break;
	case WSE_TOP_VSHR:
		EACH(_mm256_srlv_epi32(a, shift_of(b)));
		break;
	case WSE_TOP_VSRA:
		EACH(_mm256_srav_epi32(a, shift_of(b)));
		break;
	case WSE_TOP_VF2I:
		EACH(f2i(FA));
		break;
	case WSE_TOP_VI2F:
		EACH(_mm256_castps_si256(_mm256_cvtepi32_ps(a)));
		break;
	}
}

void wse_reduce_avx2(bool max, uint32_t *part, const struct wse_place *pa, uint32_t width,
		     uint32_t rows)
{
	__m256i p = _mm256_loadu_si256((const __m256i *)(const void *)part);
	const uint32_t an = pa->bf16 ? 16 : 32;
	const uint8_t *ra = pa->at, *qa;
	uint32_t n;

	for (; rows; rows--, ra += pa->stride)
		for (n = width, qa = ra; n; n -= 8, qa += an) {
			__m256 v = _mm256_castsi256_ps(get(qa, pa->bf16));
			__m256 f = _mm256_castsi256_ps(p);

			p = max ? flush(choose(_mm256_cmp_ps(f, v, _CMP_GT_OQ), f, v))
				: canon(_mm256_add_ps(f, v));
		}
	_mm256_storeu_si256((__m256i *)(void *)part, p);
}
