// SPDX-License-Identifier: MIT
/*
 * Images in tiles of 32 x 32 values: whole cache lines are read, and written in both images,
 * however far the rows of a power of two lie apart. A tile is converted into the first-level cache
 * and turned there, in squares of 8 x 8, since a line goes out at once. Those of a large image pass
 * the caches by, which could not keep it until it is read, and memory need not be read to be
 * written.
 */
#include "image.h"

#include <immintrin.h>
#include <stdbool.h>

#include "cpu.h"
#include "num.h"

#define TILE   WSE_IMAGE_TILE
#define LARGE  (1u << 17) /* values; small models lie in a cache and stay there */
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

INLINE void convert_sse2(const float *w, uint16_t to[8])
{
	__m128i h = _mm_packs_epi32(round4(_mm_castps_si128(_mm_loadu_ps(w))),
				    round4(_mm_castps_si128(_mm_loadu_ps(w + 4))));

	memcpy(to, &h, sizeof(h));
}

__attribute__((target("avx2"))) INLINE __m256i round8(__m256i u)
{
	__m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
	__m256i r = _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7fff)), odd);
	__m256i size = _mm256_and_si256(u, _mm256_set1_epi32(0x7fffffff));
	__m256i nan = _mm256_cmpgt_epi32(size, _mm256_set1_epi32(0x7f800000));

	return _mm256_srai_epi32(_mm256_blendv_epi8(r, _mm256_set1_epi32(0x7fc00000), nan), 16);
}

__attribute__((target("avx2"))) INLINE void convert_avx2(const float *w, uint16_t to[16])
{
	__m256i h = _mm256_packs_epi32(round8(_mm256_castps_si256(_mm256_loadu_ps(w))),
				       round8(_mm256_castps_si256(_mm256_loadu_ps(w + 8))));

	h = _mm256_permute4x64_epi64(h, 0xd8); /* packed by halves */
	memcpy(to, &h, sizeof(h));
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
	const float *w;	       /* NULL: plain is there */
	size_t n, k;	       /* of the whole */
	size_t n0, n1, k0, k1; /* the part that is wanted */
	uint16_t *plain, *turned;
	bool near; /* what is written is read at once */
};

struct tile {
	_Alignas(64) uint16_t plain[TILE][TILE], turned[TILE][TILE];
};

INLINE void stream_sse2(uint16_t *to, const uint16_t from[TILE])
{
	for (size_t i = 0; i < TILE; i += 8)
		_mm_stream_si128((__m128i *)(void *)(to + i),
				 _mm_load_si128((const __m128i *)(const void *)(from + i)));
}

__attribute__((target("avx2"))) INLINE void stream_avx2(uint16_t *to, const uint16_t from[TILE])
{
	for (size_t i = 0; i < TILE; i += 16)
		_mm256_stream_si256((__m256i *)(void *)(to + i),
				    _mm256_load_si256((const __m256i *)(const void *)(from + i)));
}

INLINE void turn_tile(struct tile *t)
{
	for (size_t i = 0; i < TILE; i += 8)
		for (size_t j = 0; j < TILE; j += 8) {
			__m128i r[8];

			for (size_t q = 0; q < 8; q++)
				memcpy(&r[q], &t->plain[i + q][j], sizeof(r[q]));
			turn(r);
			for (size_t q = 0; q < 8; q++)
				memcpy(&t->turned[j + q][i], &r[q], sizeof(r[q]));
		}
}

/* convert_NAME() takes `wide` values, stream_NAME() writes a whole line past the caches */
#define VARIANT(attr, name, wide)                                                               \
	attr INLINE void put_##name(uint16_t *to, const uint16_t *from, size_t n, bool large)   \
	{                                                                                       \
		if (large && n == TILE && (uintptr_t)to % 64 == 0)                              \
			stream_##name(to, from);                                                \
		else                                                                            \
			memcpy(to, from, n * sizeof(*to));                                      \
	}                                                                                       \
                                                                                                \
	attr INLINE void tile_##name(const struct image *m, size_t n0, size_t k0, size_t rows,  \
				     size_t cols)                                               \
	{                                                                                       \
		bool large = !m->near && m->n * m->k >= LARGE;                                  \
		struct tile t;                                                                  \
                                                                                                \
		if (rows < TILE || cols < TILE)                                                 \
			memset(&t, 0, sizeof(t));                                               \
		for (size_t i = 0; i < rows; i++) {                                             \
			const float *w;                                                         \
			size_t j = 0;                                                           \
                                                                                                \
			if (!m->w) {                                                            \
				memcpy(t.plain[i], m->plain + (n0 + i) * m->k + k0, 2 * cols);  \
				continue;                                                       \
			}                                                                       \
			w = m->w + (n0 + i) * m->k + k0;                                        \
			for (; j + wide <= cols; j += wide)                                     \
				convert_##name(w + j, &t.plain[i][j]);                          \
			for (; j < cols; j++)                                                   \
				t.plain[i][j] = wse_f32_to_bf16(w[j]);                          \
			if (m->plain)                                                           \
				put_##name(m->plain + (n0 + i) * m->k + k0, t.plain[i], cols,   \
					   large);                                              \
		}                                                                               \
		if (!m->turned)                                                                 \
			return;                                                                 \
		turn_tile(&t);                                                                  \
		for (size_t j = 0; j < cols; j++)                                               \
			put_##name(m->turned + (k0 + j) * m->n + n0, t.turned[j], rows, large); \
	}                                                                                       \
                                                                                                \
	attr static void image_##name(const struct image *m)                                    \
	{                                                                                       \
		for (size_t n0 = m->n0, n1; n0 < m->n1; n0 = n1) {                              \
			n1 = wse_image_tile_end(n0, m->n1);                                     \
			for (size_t k0 = m->k0, k1; k0 < m->k1; k0 = k1) {                      \
				k1 = wse_image_tile_end(k0, m->k1);                             \
				if (n1 - n0 == TILE && k1 - k0 == TILE)                         \
					tile_##name(m, n0, k0, TILE, TILE);                     \
				else                                                            \
					tile_##name(m, n0, k0, n1 - n0, k1 - k0);               \
			}                                                                       \
		}                                                                               \
		_mm_sfence(); /* before another thread learns of it */                          \
	}

VARIANT(, sse2, 8)
VARIANT(__attribute__((target("avx2"))), avx2, 16)

int wse_bf16_image_by(int variant, const float *w, size_t n, size_t k, uint16_t *plain,
		      uint16_t *turned)
{
	struct image m = {w, n, k, 0, n, 0, k, plain, turned, false};

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
	struct image m = {w, n, k, n0, n1, k0, k1, plain, turned, false};

	if (wse_cpu_avx2())
		image_avx2(&m);
	else
		image_sse2(&m);
}

void wse_bf16_turn_part(const uint16_t *plain, size_t n, size_t k, size_t n0, size_t n1, size_t k0,
			size_t k1, uint16_t *turned)
{
	struct image m = {NULL, n, k, n0, n1, k0, k1, (uint16_t *)(uintptr_t)plain, turned, true};

	if (wse_cpu_avx2())
		image_avx2(&m);
	else
		image_sse2(&m);
}

void wse_bf16_image(const float *w, size_t n, size_t k, uint16_t *plain, uint16_t *turned)
{
	wse_bf16_image_part(w, n, k, 0, n, 0, k, plain, turned);
}

/* eight elements of four rows */
INLINE void weave8(const uint16_t *from, size_t stride, uint16_t *to)
{
	__m128i r[4], ab, cd;

	for (size_t f = 0; f < 4; f++)
		memcpy(&r[f], from + f * stride, sizeof(r[f]));
	for (int high = 0; high < 2; high++, to += 16) {
		ab = high ? _mm_unpackhi_epi16(r[0], r[1]) : _mm_unpacklo_epi16(r[0], r[1]);
		cd = high ? _mm_unpackhi_epi16(r[2], r[3]) : _mm_unpacklo_epi16(r[2], r[3]);
		_mm_storeu_si128((__m128i *)(void *)to, _mm_unpacklo_epi32(ab, cd));
		_mm_storeu_si128((__m128i *)(void *)(to + 8), _mm_unpackhi_epi32(ab, cd));
	}
}

void wse_bf16_weave(const uint16_t *from, size_t stride, size_t rows, size_t n, uint16_t *to)
{
	size_t k = 0;

	for (; rows == 4 && k + 8 <= n; k += 8, to += 32)
		weave8(from + k, stride, to);
	for (; k < n; k++)
		for (size_t f = 0; f < rows; f++)
			*to++ = from[f * stride + k];
}

void wse_bf16_unweave(const uint16_t *from, size_t stride, size_t rows, size_t n, uint16_t *to)
{
	for (size_t k = 0; k < n; k++)
		for (size_t f = 0; f < rows; f++)
			to[f * stride + k] = *from++;
}
