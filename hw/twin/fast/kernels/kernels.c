// SPDX-License-Identifier: MIT
/* The kernels for any x86-64, what all have in common, and the choice among them. */
#include <immintrin.h>
#include <string.h>

#include "cpu.h"
#include "twin/exact/fp.h"
#include "twin/fast/kernels/kernels.h"

#define W		       4
#define NAME(x)		       x##_any
#define CELLS		       8
#define TWO		       1
#define PAIR		       0
#define WIDEN(p)	       ((V)words4(p))
#define ORDER4(to, a, b, c, d) order4(to, a, b, c, d)
#define SPLAT(x)	       ((V)_mm_set1_ps(x))
#define FUSED(a, b, c)	       ((a) * (b) + (c)) /* never: these do not ask for FMA */

static inline __m128i words4(const void *bf16)
{
	return _mm_unpacklo_epi16(_mm_setzero_si128(), _mm_loadl_epi64(bf16));
}

static inline void order4(uint32_t *to, const float *a, const float *b, const float *c,
			  const float *d)
{
	__m128 r0 = _mm_loadu_ps(a), r1 = _mm_loadu_ps(b);
	__m128 r2 = _mm_loadu_ps(c), r3 = _mm_loadu_ps(d);
	float *f = (float *)(void *)to;

	_MM_TRANSPOSE4_PS(r0, r1, r2, r3);
	_mm_storeu_ps(f, r0);
	_mm_storeu_ps(f + 4, r1);
	_mm_storeu_ps(f + 8, r2);
	_mm_storeu_ps(f + 12, r3);
}

#include "twin/fast/kernels/kernels_impl.h"

static float lane_tree(const float *p)
{
	return ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]));
}

static void dot(const uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
		const uint32_t *w, uint32_t n, uint32_t *out)
{
	uint32_t i, t, l;

	for (i = 0; i < n; i++) {
		const uint8_t *xk = x + (int32_t)(w[i] & 0x3fff) * stride;
		const uint32_t *a = acc + (w[i] >> 14 & 3) * tokens;
		float p[8] = {0};
		uint16_t h[8];

		for (t = 0; t < tokens; t += 8) {
			memcpy(h, xk + t * 2, sizeof(h));
			for (l = 0; l < 8; l++)
				p[l] = p[l] + twin_f(a[t + l]) * twin_f((uint32_t)h[l] << 16);
		}
		out[i] = twin_canon(twin_u(lane_tree(p)));
	}
}

/* eight rows of eight bf16 to eight columns of eight binary32 */
static void to_cols8(float *c, const uint8_t *x, int32_t stride)
{
	const __m128i zero = _mm_setzero_si128();
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
	for (i = 0; i < 8; i++, c += TWIN_PANEL) {
		_mm_storeu_si128((__m128i *)(void *)c, _mm_unpacklo_epi16(zero, s[i]));
		_mm_storeu_si128((__m128i *)(void *)(c + 4), _mm_unpackhi_epi16(zero, s[i]));
	}
}

static void to_cols(float *c, const uint8_t *x, int32_t stride, uint32_t tokens, uint32_t rows)
{
	uint32_t k, t;
	uint16_t h;

	for (k = 0; k < rows; k += 8, x += 8 * stride) {
		float *to = c + (size_t)(k / TWIN_PANEL) * tokens * TWIN_PANEL + k % TWIN_PANEL;
		uint32_t n = rows - k < 8 ? rows - k : 8, i;

		if (n == 8) {
			for (t = 0; t < tokens; t += 8)
				to_cols8(to + t * TWIN_PANEL, x + t * 2, stride);
			continue;
		}
		for (t = 0; t < tokens; t++)
			for (i = 0; i < n; i++) {
				memcpy(&h, x + (int32_t)i * stride + t * 2, 2);
				to[t * TWIN_PANEL + i] = twin_f(twin_bf16_widen(h));
			}
	}
}

/* ---- ranges and values ---- */

__attribute__((target_clones("avx2", "default"))) static void add_row(struct twin_ends *ends,
								      const int16_t *x, uint32_t n)
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

__attribute__((target_clones("avx2", "default"))) static struct twin_range
range_of_sums(const uint32_t *v, uint32_t n)
{
	int32_t last = 0, least = 0;
	uint32_t low = 0, i;

	for (i = 0; i < n; i++) {
		int32_t e = (int32_t)(v[i] >> 16 & TWIN_EXP_BF16), left = e ? TWIN_EXP_BF16 - e : 0;

		low |= v[i];
		last = e > last ? e : last;
		least = left > least ? left : least;
	}
	if (low & 0xffff)
		return TWIN_RANGE_ANY;
	return twin_range_between((struct twin_ends){(int16_t)last, (int16_t)least});
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
	for (k = 0; nb != 4 && k < nk; k++)
		for (f = 0; f < nb; f++)
			*v++ = twin_f(twin_bf16_widen(row[f][k]));
	return twin_range_between(ends);
}

const struct twin_kernels twin_kernels_any = {
	.add = add_any,
	.axpy = axpy_any,
	.axpy_dense = axpy_dense_any,
	.axpy_rows = axpy_rows_any,
	.axpy_two = axpy_two_any,
	.dot = dot,
	.dot_cols = dot_cols_any,
	.values = twin_values,
	.range_of_sums = range_of_sums,
	.to_rows = to_rows_any,
	.to_cols = to_cols,
};

bool twin_kernels_get(unsigned int which, struct twin_kernels *k)
{
	bool avx2 = wse_cpu_avx2(), avx512 = wse_cpu_avx512();

	if (!which)
		which = avx512 ? 3 : avx2 ? 2 : 1;
	if ((which == 3 && !avx512) || (which == 2 && !avx2) || which > 3)
		return false;
	*k = which == 3 ? twin_kernels_avx512 : which == 2 ? twin_kernels_avx2 : twin_kernels_any;
	k->fma = which > 1 && wse_cpu_fma();
	if (!k->dot)
		k->dot = twin_kernels_avx2.dot;
	if (!k->values)
		k->values = twin_values;
	if (!k->range_of_sums)
		k->range_of_sums = range_of_sums;
	if (!k->to_cols)
		k->to_cols = to_cols;
	return true;
}
