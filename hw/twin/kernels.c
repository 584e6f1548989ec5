// SPDX-License-Identifier: MIT
/*
 * Stream AXPY and stream DOT over arrays of wavelets. Every sum is formed in stream order, each
 * product rounded, each addition rounded, so all variants give the same bits; wider vectors only
 * work on more accumulators at once. MXCSR as in fp.h. Once a sum is NaN it stays one, so the dense
 * variants make it canonical at the end.
 */
#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "fp.h"
#include "kernels.h"

typedef float v8f __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint32_t v8u __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t v8i __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint16_t v8h __attribute__((vector_size(16), aligned(2), may_alias));

#define INLINE static inline __attribute__((always_inline))
#define AVX2   __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))

/* bf16 at p as binary32; macros, because a vector cannot be returned where its registers may not
 * exist */
#define widen8(p) ((v8f)(__builtin_convertvector(*(const v8h *)(const void *)(p), v8u) << 16))
#define widen16(p)                                                                             \
	_mm512_castsi512_ps(_mm512_slli_epi32(                                                 \
		_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(p))), \
		16))
/* NaN becomes canonical */
#define canon8(s) ((v8f)(((v8u)(s) & (v8u)((s) == (s))) | (WSE_NAN & (v8u)((s) != (s)))))
#define canon16(s)                                                    \
	_mm512_mask_mov_ps(s, _mm512_cmp_ps_mask(s, s, _CMP_UNORD_Q), \
			   _mm512_castsi512_ps(_mm512_set1_epi32(WSE_NAN)))

/* ---- AXPY ---- */

/*
 * Values [k][f] of nk rows from x on, all nb features. u vectors of tokens at a time, nb * u of
 * them live in registers.
 */
INLINE void dense8(float *acc, const uint8_t *x, int32_t stride, uint32_t tokens, const float *v,
		   uint32_t nk, const unsigned int nb, const unsigned int u)
{
	unsigned int f, i;
	v8f s[4][2];
	uint32_t k;

	for (f = 0; f < nb; f++)
		for (i = 0; i < u; i++)
			s[f][i] = *(const v8f *)(acc + f * tokens + i * 8);
	for (k = 0; k < nk; k++, x += stride, v += nb) {
		v8f xv[2];

		for (i = 0; i < u; i++)
			xv[i] = widen8(x + i * 16);
		for (f = 0; f < nb; f++)
			for (i = 0; i < u; i++)
				s[f][i] = s[f][i] + v[f] * xv[i];
	}
	for (f = 0; f < nb; f++)
		for (i = 0; i < u; i++)
			*(v8f *)(acc + f * tokens + i * 8) = canon8(s[f][i]);
}

AVX512 INLINE void dense16(float *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
			   const float *v, uint32_t nk, const unsigned int nb, const unsigned int u)
{
	unsigned int f, i;
	__m512 s[4][4];
	uint32_t k;

	for (f = 0; f < nb; f++)
		for (i = 0; i < u; i++)
			s[f][i] = _mm512_loadu_ps(acc + f * tokens + i * 16);
	for (k = 0; k < nk; k++, x += stride, v += nb) {
		__m512 xv[4];

		for (i = 0; i < u; i++)
			xv[i] = widen16(x + i * 32);
		for (f = 0; f < nb; f++)
			for (i = 0; i < u; i++)
				s[f][i] = _mm512_add_ps(s[f][i],
							_mm512_mul_ps(_mm512_set1_ps(v[f]), xv[i]));
	}
	for (f = 0; f < nb; f++)
		for (i = 0; i < u; i++)
			_mm512_storeu_ps(acc + f * tokens + i * 16, canon16(s[f][i]));
}

/* all tokens in pieces */
INLINE void dense(float *acc, const uint8_t *x, int32_t stride, uint32_t tokens, const float *v,
		  uint32_t nk, const unsigned int nb)
{
	uint32_t t = 0;

	for (; t + 16 <= tokens; t += 16)
		dense8(acc + t, x + t * 2, stride, tokens, v, nk, nb, 2);
	for (; t < tokens; t += 8)
		dense8(acc + t, x + t * 2, stride, tokens, v, nk, nb, 1);
}

AVX512 INLINE void dense_wide(float *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
			      const float *v, uint32_t nk, const unsigned int nb)
{
	uint32_t t = 0;

	for (; t + 64 <= tokens; t += 64)
		dense16(acc + t, x + t * 2, stride, tokens, v, nk, nb, 4);
	for (; t + 32 <= tokens; t += 32)
		dense16(acc + t, x + t * 2, stride, tokens, v, nk, nb, 2);
	for (; t + 16 <= tokens; t += 16)
		dense16(acc + t, x + t * 2, stride, tokens, v, nk, nb, 1);
	for (; t < tokens; t += 8)
		dense8(acc + t, x + t * 2, stride, tokens, v, nk, nb, 1);
}

/* any order: one wavelet after the other */
INLINE void sparse(uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
		   const uint32_t *w, uint32_t n)
{
	uint32_t i, t;

	for (i = 0; i < n; i++) {
		const uint8_t *xk = x + (int32_t)(w[i] & 0x3fff) * stride;
		float *a = (float *)(void *)acc + (w[i] >> 14 & 3) * tokens;
		float v = wse_f(w[i] & 0xffff0000u);

		for (t = 0; t < tokens; t += 8) {
			v8f s = *(v8f *)(a + t) + v * widen8(xk + t * 2);

			*(v8f *)(a + t) = canon8(s);
		}
	}
}

/* ---- DOT ---- */

/* eight lane partials of one wavelet */
INLINE void dot_lanes(const float *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
		      uint32_t w, v8f *out)
{
	const uint8_t *xk = x + (int32_t)(w & 0x3fff) * stride;
	const float *a = acc + (w >> 14 & 3) * tokens;
	v8f p = {0};
	uint32_t t;

	for (t = 0; t < tokens; t += 8)
		p = p + *(const v8f *)(a + t) * widen8(xk + t * 2);
	*out = p;
}

INLINE uint32_t dot_one(const float *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
			uint32_t w)
{
	v8f p;

	dot_lanes(acc, x, stride, tokens, w, &p);
	return wse_canon(wse_u(((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]))));
}

/* ---- variants ---- */

#define BY_NB(fn)                                            \
	do {                                                 \
		float *a_ = (float *)(void *)acc;            \
                                                             \
		if (nb == 4)                                 \
			fn(a_, x, stride, tokens, v, nk, 4); \
		else if (nb == 2)                            \
			fn(a_, x, stride, tokens, v, nk, 2); \
		else                                         \
			fn(a_, x, stride, tokens, v, nk, 1); \
	} while (0)

#define VARIANT(attr, name, fn)                                                              \
	attr static void axpy_##name(uint32_t *acc, const uint8_t *x, int32_t stride,        \
				     uint32_t tokens, const uint32_t *w, uint32_t n)         \
	{                                                                                    \
		sparse(acc, x, stride, tokens, w, n);                                        \
	}                                                                                    \
	attr static void axpy_dense_##name(uint32_t *acc, const uint8_t *x, int32_t stride,  \
					   uint32_t tokens, unsigned int nb, const float *v, \
					   uint32_t nk)                                      \
	{                                                                                    \
		BY_NB(fn);                                                                   \
	}

VARIANT(, any, dense)
VARIANT(AVX2, avx2, dense)
VARIANT(AVX512, avx512, dense_wide)

static void dot_any(const uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
		    const uint32_t *w, uint32_t n, uint32_t *out)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		out[i] = dot_one((const float *)(const void *)acc, x, stride, tokens, w[i]);
}

/* four wavelets share the lane tree: a horizontal addition is one of its levels */
#define TREE4(p0, p1, p2, p3, out)                                                                \
	do {                                                                                      \
		__m256 q_ = _mm256_hadd_ps(_mm256_hadd_ps(p0, p1), _mm256_hadd_ps(p2, p3));       \
		__m128 s_ = _mm_add_ps(_mm256_castps256_ps128(q_), _mm256_extractf128_ps(q_, 1)); \
		__m128 nan_ = _mm_cmpunord_ps(s_, s_);                                            \
                                                                                                  \
		s_ = _mm_blendv_ps(s_, _mm_castsi128_ps(_mm_set1_epi32(WSE_NAN)), nan_);          \
		_mm_storeu_ps((float *)(void *)(out), s_);                                        \
	} while (0)

AVX2 static void dot_avx2(const uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
			  const uint32_t *w, uint32_t n, uint32_t *out)
{
	const float *a = (const float *)(const void *)acc;
	uint32_t i;

	for (i = 0; i + 4 <= n; i += 4) {
		v8f p[4];

		dot_lanes(a, x, stride, tokens, w[i], &p[0]);
		dot_lanes(a, x, stride, tokens, w[i + 1], &p[1]);
		dot_lanes(a, x, stride, tokens, w[i + 2], &p[2]);
		dot_lanes(a, x, stride, tokens, w[i + 3], &p[3]);
		TREE4((__m256)p[0], (__m256)p[1], (__m256)p[2], (__m256)p[3], out + i);
	}
	for (; i < n; i++)
		out[i] = dot_one(a, x, stride, tokens, w[i]);
}

/* rows k from x on, all nb features of each */
#define DOT_ROWS(fn)                                                              \
	do {                                                                      \
		uint32_t i_, w_[64], n_, at_;                                     \
                                                                                  \
		for (at_ = 0; at_ < nk * nb; at_ += n_) {                         \
			n_ = nk * nb - at_ < 64 ? nk * nb - at_ : 64;             \
			for (i_ = 0; i_ < n_; i_++)                               \
				w_[i_] = (at_ + i_) % nb << 14 | (at_ + i_) / nb; \
			fn(acc, x, stride, tokens, w_, n_, out + at_);            \
		}                                                                 \
	} while (0)

static void dot_dense_any(const uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
			  unsigned int nb, uint32_t nk, uint32_t *out)
{
	DOT_ROWS(dot_any);
}

AVX2 static void dot_dense_avx2(const uint32_t *acc, const uint8_t *x, int32_t stride,
				uint32_t tokens, unsigned int nb, uint32_t nk, uint32_t *out)
{
	DOT_ROWS(dot_avx2);
}

/* neighbours added: in each quarter two sums of p, then two of q */
#define HADD(p, q) _mm512_add_ps(_mm512_shuffle_ps(p, q, 0x88), _mm512_shuffle_ps(p, q, 0xdd))

/*
 * Sixteen sums at a time: eight vectors hold the partials of two features each (features f and
 * f + 1 of row k in the halves), the accumulators stay in registers, x is read once for all
 * features. groups = tokens / 8. The first two levels of the lane tree are in the quarters, the
 * third adds quarters, then the sums are put in stream order.
 */
AVX512 INLINE uint32_t dot_rows(const float *a, const uint8_t *x, int32_t stride, uint32_t nk,
				uint32_t *out, const unsigned int nb, const unsigned int groups)
{
	const uint32_t tokens = groups * 8;
	const __m512i order =
		_mm512_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
	__m512 av[2][8], p[8], e;
	unsigned int f, i, r;
	uint32_t k;

	for (f = 0; f < nb / 2; f++)
		for (i = 0; i < groups; i++)
			av[f][i] = _mm512_insertf32x8(
				_mm512_castps256_ps512(_mm256_loadu_ps(a + 2 * f * tokens + i * 8)),
				_mm256_loadu_ps(a + (2 * f + 1) * tokens + i * 8), 1);
	for (k = 0; k + 16 / nb <= nk; k += 16 / nb, out += 16) {
		for (r = 0; r < 16 / nb; r++, x += stride) {
			for (f = 0; f < nb / 2; f++)
				p[r * nb / 2 + f] = _mm512_setzero_ps();
			for (i = 0; i < groups; i++) {
				__m512 xv = _mm512_castsi512_ps(_mm512_slli_epi32(
					_mm512_cvtepu16_epi32(
						_mm256_broadcastsi128_si256(_mm_loadu_si128(
							(const __m128i *)(const void *)(x +
											i * 16)))),
					16));

				for (f = 0; f < nb / 2; f++)
					p[r * nb / 2 + f] = _mm512_add_ps(
						p[r * nb / 2 + f], _mm512_mul_ps(av[f][i], xv));
			}
		}
		for (i = 0; i < 4; i++)
			p[i] = HADD(p[2 * i], p[2 * i + 1]);
		p[0] = HADD(p[0], p[1]);
		p[1] = HADD(p[2], p[3]);
		e = _mm512_add_ps(_mm512_shuffle_f32x4(p[0], p[1], 0x88),
				  _mm512_shuffle_f32x4(p[0], p[1], 0xdd));
		_mm512_storeu_ps(out, _mm512_permutexvar_ps(order, canon16(e)));
	}
	return k;
}

AVX512 static void dot_dense_avx512(const uint32_t *acc, const uint8_t *x, int32_t stride,
				    uint32_t tokens, unsigned int nb, uint32_t nk, uint32_t *out)
{
	const float *a = (const float *)(const void *)acc;
	uint32_t done = 0;

	switch (nb << 8 | tokens) {
	case 4 << 8 | 32:
		done = dot_rows(a, x, stride, nk, out, 4, 4);
		break;
	case 4 << 8 | 16:
		done = dot_rows(a, x, stride, nk, out, 4, 2);
		break;
	case 4 << 8 | 8:
		done = dot_rows(a, x, stride, nk, out, 4, 1);
		break;
	case 2 << 8 | 64:
		done = dot_rows(a, x, stride, nk, out, 2, 8);
		break;
	case 2 << 8 | 32:
		done = dot_rows(a, x, stride, nk, out, 2, 4);
		break;
	case 2 << 8 | 16:
		done = dot_rows(a, x, stride, nk, out, 2, 2);
		break;
	case 2 << 8 | 8:
		done = dot_rows(a, x, stride, nk, out, 2, 1);
		break;
	}
	dot_dense_avx2(acc, x + (int32_t)done * stride, stride, tokens, nb, nk - done,
		       out + done * nb);
}

/* which: 0 the best that this processor has, 1 no vector extension, 2 AVX2, 3 AVX-512; false: it
 * has not */
bool wse_kernels_get(unsigned int which, struct wse_kernels *k)
{
	static const struct wse_kernels variant[] = {
		{axpy_any, axpy_dense_any, dot_any, dot_dense_any},
		{axpy_avx2, axpy_dense_avx2, dot_avx2, dot_dense_avx2},
		{axpy_avx512, axpy_dense_avx512, dot_avx2, dot_dense_avx512},
	};
	bool avx2 = __builtin_cpu_supports("avx2");
	bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
		      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
		      __builtin_cpu_supports("avx512vl");

	if (!which)
		which = avx512 ? 3 : avx2 ? 2 : 1;
	if ((which == 3 && !avx512) || (which == 2 && !avx2) || which > 3)
		return false;
	*k = variant[which - 1];
	return true;
}
