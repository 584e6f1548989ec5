// SPDX-License-Identifier: MIT
/*
 * Images in tiles of 32 x 32 values: whole cache lines are read, and written in both images,
 * however far the rows of a power of two lie apart. A tile is made of squares of 8 x 8, which are
 * turned in registers.
 */
#include "image.h"

#include <immintrin.h>

#include "cpu.h"
#include "num.h"

#define TILE   32u
#define INLINE static inline __attribute__((always_inline))

INLINE __m128i round4(__m128i u)
{
	__m128i odd = _mm_and_si128(_mm_srli_epi32(u, 16), _mm_set1_epi32(1));
	__m128i r = _mm_add_epi32(_mm_add_epi32(u, _mm_set1_epi32(0x7fff)), odd);
	__m128i size = _mm_and_si128(u, _mm_set1_epi32(0x7fffffff));
	__m128i nan = _mm_cmpgt_epi32(size, _mm_set1_epi32(0x7f800000));

	r = _mm_or_si128(_mm_andnot_si128(nan, r), _mm_and_si128(nan, _mm_set1_epi32(0x7fc00000)));
	return _mm_srai_epi32(r, 16); /* sign-extended, so that a signed pack keeps it */
}

INLINE __m128i cvt8_sse2(const float *w)
{
	return _mm_packs_epi32(round4(_mm_castps_si128(_mm_loadu_ps(w))),
			       round4(_mm_castps_si128(_mm_loadu_ps(w + 4))));
}

__attribute__((target("avx2"))) INLINE __m128i cvt8_avx2(const float *w)
{
	__m256i u = _mm256_castps_si256(_mm256_loadu_ps(w));
	__m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
	__m256i r = _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7fff)), odd);
	__m256i size = _mm256_and_si256(u, _mm256_set1_epi32(0x7fffffff));
	__m256i nan = _mm256_cmpgt_epi32(size, _mm256_set1_epi32(0x7f800000));

	r = _mm256_srai_epi32(_mm256_blendv_epi8(r, _mm256_set1_epi32(0x7fc00000), nan), 16);
	return _mm_packs_epi32(_mm256_castsi256_si128(r), _mm256_extracti128_si256(r, 1));
}

/* columns of eight rows */
INLINE void turn(__m128i *r)
{
	__m128i s[8];

	for (int i = 0; i < 4; i++) {
		s[2 * i] = _mm_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
		s[2 * i + 1] = _mm_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
	}
	for (int i = 0; i < 2; i++) {
		r[4 * i] = _mm_unpacklo_epi32(s[4 * i], s[4 * i + 2]);
		r[4 * i + 1] = _mm_unpackhi_epi32(s[4 * i], s[4 * i + 2]);
		r[4 * i + 2] = _mm_unpacklo_epi32(s[4 * i + 1], s[4 * i + 3]);
		r[4 * i + 3] = _mm_unpackhi_epi32(s[4 * i + 1], s[4 * i + 3]);
	}
	for (int i = 0; i < 4; i++) {
		s[2 * i] = _mm_unpacklo_epi64(r[i], r[4 + i]);
		s[2 * i + 1] = _mm_unpackhi_epi64(r[i], r[4 + i]);
	}
	for (int i = 0; i < 8; i++)
		r[i] = s[i];
}

struct image {
	const float *w;
	size_t n, k;	       /* of the whole */
	size_t n0, n1, k0, k1; /* the part that is wanted */
	uint16_t *plain, *turned;
};

/* what no square covers */
static void edge(const struct image *m, size_t n0, size_t n1, size_t k0, size_t k1)
{
	for (size_t n = n0; n < n1; n++)
		for (size_t k = k0; k < k1; k++) {
			uint16_t h = wse_f32_to_bf16(m->w[n * m->k + k]);

			if (m->plain)
				m->plain[n * m->k + k] = h;
			if (m->turned)
				m->turned[k * m->n + n] = h;
		}
}

#define VARIANT(attr, name)                                                                    \
	attr INLINE void square_##name(const struct image *m, size_t n0, size_t k0)            \
	{                                                                                      \
		__m128i r[8];                                                                  \
                                                                                               \
		for (int i = 0; i < 8; i++) {                                                  \
			size_t at = (n0 + (size_t)i) * m->k + k0;                              \
                                                                                               \
			r[i] = cvt8_##name(m->w + at);                                         \
			if (m->plain)                                                          \
				_mm_storeu_si128((__m128i *)(void *)(m->plain + at), r[i]);    \
		}                                                                              \
		if (!m->turned)                                                                \
			return;                                                                \
		turn(r);                                                                       \
		for (int i = 0; i < 8; i++)                                                    \
			_mm_storeu_si128(                                                      \
				(__m128i *)(void *)(m->turned + (k0 + (size_t)i) * m->n + n0), \
				r[i]);                                                         \
	}                                                                                      \
                                                                                               \
	attr static void image_##name(const struct image *m)                                   \
	{                                                                                      \
		size_t n8 = m->n0 + ((m->n1 - m->n0) & ~(size_t)7);                            \
		size_t k8 = m->k0 + ((m->k1 - m->k0) & ~(size_t)7);                            \
                                                                                               \
		for (size_t n0 = m->n0; n0 < n8; n0 += TILE)                                   \
			for (size_t k0 = m->k0; k0 < k8; k0 += TILE)                           \
				for (size_t k = k0; k < k8 && k < k0 + TILE; k += 8)           \
					for (size_t n = n0; n < n8 && n < n0 + TILE; n += 8)   \
						square_##name(m, n, k);                        \
		edge(m, m->n0, n8, k8, m->k1);                                                 \
		edge(m, n8, m->n1, m->k0, m->k1);                                              \
	}

VARIANT(, sse2)
VARIANT(__attribute__((target("avx2"))), avx2)

int wse_bf16_image_by(int variant, const float *w, size_t n, size_t k, uint16_t *plain,
		      uint16_t *turned)
{
	struct image m = {w, n, k, 0, n, 0, k, plain, turned};

	if (variant == 2 && !wse_cpu_avx2())
		return -1;
	if (variant == 2)
		image_avx2(&m);
	else
		image_sse2(&m);
	return 0;
}

void wse_bf16_image_part(const float *w, size_t n, size_t k, size_t n0, size_t n1, size_t k0,
			 size_t k1, uint16_t *plain, uint16_t *turned)
{
	struct image m = {w, n, k, n0, n1, k0, k1, plain, turned};

	if (wse_cpu_avx2())
		image_avx2(&m);
	else
		image_sse2(&m);
}

void wse_bf16_image(const float *w, size_t n, size_t k, uint16_t *plain, uint16_t *turned)
{
	wse_bf16_image_part(w, n, k, 0, n, 0, k, plain, turned);
}
