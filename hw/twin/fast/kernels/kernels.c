// SPDX-License-Identifier: MIT
/* What the kernels of all vector widths have in common, and the choice among them. */
#include <immintrin.h>
#include <string.h>

#include "cpu.h"
#include "twin/exact/fp.h"
#include "twin/fast/kernels/kernels.h"

#pragma GCC target("avx2,fma")

/* eight rows of eight bf16 to eight columns */
static void to_cols8(uint16_t *c, const uint8_t *x, int32_t stride)
{
	__m128i r[8], s[8];
	unsigned int i;

	for (i = 0; i < 8; i++)
		r[i] = _mm_loadu_si128((const __m128i *)(const void *)(x + (int32_t)i * stride));
	for (i = 0; i < 4; i++) {
		s[2 * i] = _mm_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
		s[2 * i + 1] = _mm_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
	}
	for (i = 0; i < 2; i++) {
		r[4 * i] = _mm_unpacklo_epi32(s[4 * i], s[4 * i + 2]);
		r[4 * i + 1] = _mm_unpackhi_epi32(s[4 * i], s[4 * i + 2]);
		r[4 * i + 2] = _mm_unpacklo_epi32(s[4 * i + 1], s[4 * i + 3]);
		r[4 * i + 3] = _mm_unpackhi_epi32(s[4 * i + 1], s[4 * i + 3]);
	}
	for (i = 0; i < 4; i++) {
		s[2 * i] = _mm_unpacklo_epi64(r[i], r[4 + i]);
		s[2 * i + 1] = _mm_unpackhi_epi64(r[i], r[4 + i]);
	}
	for (i = 0; i < 8; i++, c += TWIN_PANEL)
		_mm_storeu_si128((__m128i *)(void *)c, s[i]);
}

void twin_to_cols(uint16_t *c, const uint8_t *x, int32_t stride, uint32_t tokens, uint32_t rows)
{
	uint32_t k, t;

	for (k = 0; k < rows; k += 8, x += 8 * stride) {
		uint16_t *to = c + (size_t)(k / TWIN_PANEL) * tokens * TWIN_PANEL + k % TWIN_PANEL;
		uint32_t n = rows - k < 8 ? rows - k : 8, i;

		if (n == 8) {
			for (t = 0; t < tokens; t += 8)
				to_cols8(to + t * TWIN_PANEL, x + t * 2, stride);
			continue;
		}
		for (t = 0; t < tokens; t++)
			for (i = 0; i < n; i++)
				memcpy(&to[t * TWIN_PANEL + i], x + (int32_t)i * stride + t * 2, 2);
	}
}

/* ---- ranges and values ---- */

static void add_row(struct twin_ends *ends, const int16_t *x, uint32_t n)
{
	int16_t last = ends->last, least = ends->least;
	uint32_t i;

	for (i = 0; i < n; i++) {
		int16_t e = x[i] & TWIN_EXP_BF16, left = e ? (int16_t)(TWIN_EXP_BF16 - e) : 0;

		last = e > last ? e : last;
		least = left > least ? left : least;
	}
	*ends = (struct twin_ends){last, least};
}

struct twin_range twin_range_of(const void *x, int32_t stride, uint32_t tokens, uint32_t rows)
{
	struct twin_ends ends = {0, 0};
	const uint8_t *from = x;

	if (stride == (int32_t)tokens * 2) { /* one row behind the other */
		tokens *= rows;
		rows = 1;
	}
	for (; rows; rows--, from += stride)
		add_row(&ends, (const int16_t *)(const void *)from, tokens);
	return twin_range_between(ends);
}

/* four rows at a time are interleaved as words, then widened */
static void widen4(float *v, const uint16_t *const *row, uint32_t n)
{
	const __m128i zero = _mm_setzero_si128();
	uint32_t k, i;

	for (k = 0; k + 8 <= n; k += 8, v += 32) {
		__m128i a = _mm_loadu_si128((const __m128i *)(const void *)(row[0] + k));
		__m128i b = _mm_loadu_si128((const __m128i *)(const void *)(row[1] + k));
		__m128i c = _mm_loadu_si128((const __m128i *)(const void *)(row[2] + k));
		__m128i d = _mm_loadu_si128((const __m128i *)(const void *)(row[3] + k));
		__m128i ab[2] = {_mm_unpacklo_epi16(a, b), _mm_unpackhi_epi16(a, b)};
		__m128i cd[2] = {_mm_unpacklo_epi16(c, d), _mm_unpackhi_epi16(c, d)};
		__m128i *to = (__m128i *)(void *)v;

		for (i = 0; i < 2; i++) {
			__m128i lo = _mm_unpacklo_epi32(ab[i], cd[i]);
			__m128i hi = _mm_unpackhi_epi32(ab[i], cd[i]);

			_mm_storeu_si128(to + 4 * i, _mm_unpacklo_epi16(zero, lo));
			_mm_storeu_si128(to + 4 * i + 1, _mm_unpackhi_epi16(zero, lo));
			_mm_storeu_si128(to + 4 * i + 2, _mm_unpacklo_epi16(zero, hi));
			_mm_storeu_si128(to + 4 * i + 3, _mm_unpackhi_epi16(zero, hi));
		}
	}
	for (; k < n; k++)
		for (i = 0; i < 4; i++)
			*v++ = twin_f(twin_bf16_widen(row[i][k]));
}

struct twin_range twin_values(float *v, const uint16_t *const *row, uint32_t nk, unsigned int nb)
{
	struct twin_ends ends = {0, 0};
	unsigned int f;
	uint32_t k;

	for (f = 0; f < nb; f++)
		add_row(&ends, (const int16_t *)(const void *)row[f], nk);
	if (nb == 4)
		widen4(v, row, nk);
	for (k = 0; nb == 1 && k < nk; k++)
		v[k] = twin_f(twin_bf16_widen(row[0][k]));
	for (k = 0; nb == 2 && k < nk; k++)
		for (f = 0; f < nb; f++)
			*v++ = twin_f(twin_bf16_widen(row[f][k]));
	return twin_range_between(ends);
}

const struct twin_kernels *twin_kernels_get(unsigned int which)
{
	bool avx512 = wse_cpu_avx512();

	if (!which)
		which = avx512 ? 2 : 1;
	if (which == 2)
		return avx512 ? &twin_kernels_avx512 : NULL;
	return wse_cpu_avx2() ? &twin_kernels_avx2 : NULL;
}
