// SPDX-License-Identifier: MIT
/*
 * Stream AXPY and stream DOT over arrays of wavelets. Every sum is formed in stream order, each
 * product rounded, each addition rounded, so all variants give the same bits; wider vectors only
 * work on more accumulators at once. MXCSR as in fp.h. NaN is made canonical at the end: once a sum
 * is NaN it stays one.
 */
#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "fp.h"
#include "kernels.h"

typedef float v8f __attribute__((vector_size(32), aligned(4), may_alias));
typedef float v16f __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint32_t v8u __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint32_t v16u __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint16_t v8h __attribute__((vector_size(16), aligned(2), may_alias));
typedef uint16_t v16h __attribute__((vector_size(32), aligned(2), may_alias));

#define INLINE static inline __attribute__((always_inline))

/* bf16 at p as binary32; macros, because a vector cannot be returned where its registers may not
 * exist */
#define widen8(p) ((v8f)(__builtin_convertvector(*(const v8h *)(const void *)(p), v8u) << 16))
#define widen16(p) ((v16f)(__builtin_convertvector(*(const v16h *)(const void *)(p), v16u) << 16))

/*
 * Dense: wavelets [k][f], k ascending from that of w[0], all nb features. u vectors of tokens at a
 * time, nb * u of them live in registers.
 */
#define DENSE(name, vf, vu, lanes, widen)                                               \
	INLINE void name(float *acc, const uint8_t *x, int32_t stride, uint32_t tokens, \
			 const uint32_t *w, uint32_t nk, const unsigned int nb,         \
			 const unsigned int u)                                          \
	{                                                                               \
		vf s[4][4];                                                             \
		unsigned int f, i;                                                      \
		uint32_t k;                                                             \
                                                                                        \
		for (f = 0; f < nb; f++)                                                \
			for (i = 0; i < u; i++)                                         \
				s[f][i] = *(const vf *)(acc + f * tokens + i * lanes);  \
		for (k = 0; k < nk; k++, x += stride, w += nb) {                        \
			vf xv[4];                                                       \
                                                                                        \
			for (i = 0; i < u; i++)                                         \
				xv[i] = widen(x + i * lanes * 2);                       \
			for (f = 0; f < nb; f++) {                                      \
				vf v = (vf)(((vu){} + w[f]) & 0xffff0000u);             \
                                                                                        \
				for (i = 0; i < u; i++)                                 \
					s[f][i] = s[f][i] + v * xv[i];                  \
			}                                                               \
		}                                                                       \
		for (f = 0; f < nb; f++)                                                \
			for (i = 0; i < u; i++)                                         \
				*(vf *)(acc + f * tokens + i * lanes) = s[f][i];        \
	}

DENSE(dense8, v8f, v8u, 8, widen8)
DENSE(dense16, v16f, v16u, 16, widen16)

/* all tokens in pieces; wide: 512-bit vectors */
INLINE void dense(float *acc, const uint8_t *x, int32_t stride, uint32_t tokens, const uint32_t *w,
		  uint32_t nk, const unsigned int nb, const bool wide)
{
	uint32_t t = 0;

	if (wide) {
		for (; t + 64 <= tokens; t += 64)
			dense16(acc + t, x + t * 2, stride, tokens, w, nk, nb, 4);
		for (; t + 32 <= tokens; t += 32)
			dense16(acc + t, x + t * 2, stride, tokens, w, nk, nb, 2);
		for (; t + 16 <= tokens; t += 16)
			dense16(acc + t, x + t * 2, stride, tokens, w, nk, nb, 1);
	} else {
		for (; t + 16 <= tokens; t += 16)
			dense8(acc + t, x + t * 2, stride, tokens, w, nk, nb, 2);
	}
	for (; t < tokens; t += 8)
		dense8(acc + t, x + t * 2, stride, tokens, w, nk, nb, 1);
}

/* any order: one wavelet after the other */
INLINE void sparse(float *acc, const uint8_t *x, int32_t stride, uint32_t tokens, const uint32_t *w,
		   uint32_t n, const bool wide)
{
	uint32_t i, t;

	for (i = 0; i < n; i++) {
		const uint8_t *xk = x + (int32_t)(w[i] & 0x3fff) * stride;
		float *a = acc + (w[i] >> 14 & 3) * tokens;

		t = 0;
		if (wide) {
			v16f v = (v16f)(((v16u){} + w[i]) & 0xffff0000u);

			for (; t + 16 <= tokens; t += 16)
				*(v16f *)(a + t) = *(v16f *)(a + t) + v * widen16(xk + t * 2);
		}
		for (; t < tokens; t += 8) {
			v8f v = (v8f)(((v8u){} + w[i]) & 0xffff0000u);

			*(v8f *)(a + t) = *(v8f *)(a + t) + v * widen8(xk + t * 2);
		}
	}
}

INLINE void axpy(uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens, unsigned int nb,
		 const uint32_t *w, uint32_t n, bool is_dense, const bool wide)
{
	float *a = (float *)(void *)acc;
	uint32_t seen = 0, i, head;

	for (i = 0; i < n && seen != (1u << nb) - 1; i++)
		seen |= 1u << (w[i] >> 14 & 3);
	if (is_dense) {
		for (head = 0; head < n && (w[head] >> 14 & 3); head++)
			;
		sparse(a, x, stride, tokens, w, head, wide);
		w += head;
		n -= head;
		if (n >= nb) {
			const uint8_t *xk = x + (int32_t)(w[0] & 0x3fff) * stride;
			uint32_t nk = n / nb;

			if (nb == 4)
				dense(a, xk, stride, tokens, w, nk, 4, wide);
			else if (nb == 2)
				dense(a, xk, stride, tokens, w, nk, 2, wide);
			else
				dense(a, xk, stride, tokens, w, nk, 1, wide);
			w += nk * nb;
			n -= nk * nb;
		}
	}
	sparse(a, x, stride, tokens, w, n, wide);
	/* the sums of a feature that did not come keep their bits, NaN as it was */
	for (i = 0; i < nb * tokens; i++)
		if (seen >> (i / tokens) & 1)
			acc[i] = wse_canon(acc[i]);
}

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

static void axpy_any(uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
		     unsigned int nb, const uint32_t *w, uint32_t n, bool is_dense)
{
	axpy(acc, x, stride, tokens, nb, w, n, is_dense, false);
}

static void dot_any(const uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
		    unsigned int nb, const uint32_t *w, uint32_t n, uint32_t *out, bool is_dense)
{
	uint32_t i;

	(void)nb, (void)is_dense;
	for (i = 0; i < n; i++)
		out[i] = dot_one((const float *)(const void *)acc, x, stride, tokens, w[i]);
}

__attribute__((target("avx2"))) static void axpy_avx2(uint32_t *acc, const uint8_t *x,
						      int32_t stride, uint32_t tokens,
						      unsigned int nb, const uint32_t *w,
						      uint32_t n, bool is_dense)
{
	axpy(acc, x, stride, tokens, nb, w, n, is_dense, false);
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

__attribute__((target("avx2"))) static void dot_avx2(const uint32_t *acc, const uint8_t *x,
						     int32_t stride, uint32_t tokens,
						     unsigned int nb, const uint32_t *w, uint32_t n,
						     uint32_t *out, bool is_dense)
{
	const float *a = (const float *)(const void *)acc;
	uint32_t i;

	(void)nb, (void)is_dense;
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

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))

/*
 * Dense, pairs of features side by side in a vector: their accumulators stay in registers, x is
 * read once for all features. groups = tokens / 8; nk rows k.
 */
#define DOT_DENSE(nb, groups)                                                                    \
	do {                                                                                     \
		__m512 a_[nb / 2][groups], p_[nb / 2][4 / nb];                                   \
		uint32_t k_, i_, f_, r_;                                                         \
                                                                                                 \
		for (f_ = 0; f_ < nb / 2; f_++)                                                  \
			for (i_ = 0; i_ < groups; i_++)                                          \
				a_[f_][i_] = _mm512_insertf32x8(                                 \
					_mm512_castps256_ps512(                                  \
						_mm256_loadu_ps(a + 2 * f_ * tokens + i_ * 8)),  \
					_mm256_loadu_ps(a + (2 * f_ + 1) * tokens + i_ * 8), 1); \
		for (k_ = 0; k_ + 4 / nb <= nk; k_ += 4 / nb) {                                  \
			for (r_ = 0; r_ < 4 / nb; r_++, x += stride) {                           \
				for (f_ = 0; f_ < nb / 2; f_++)                                  \
					p_[f_][r_] = _mm512_setzero_ps();                        \
				for (i_ = 0; i_ < groups; i_++) {                                \
					__m512 x_ = _mm512_broadcast_f32x8(                      \
						(__m256)widen8(x + i_ * 16));                    \
                                                                                                 \
					for (f_ = 0; f_ < nb / 2; f_++)                          \
						p_[f_][r_] = _mm512_add_ps(                      \
							p_[f_][r_],                              \
							_mm512_mul_ps(a_[f_][i_], x_));          \
				}                                                                \
			}                                                                        \
			TREE4(_mm512_castps512_ps256(p_[0][0]),                                  \
			      _mm512_extractf32x8_ps(p_[0][0], 1),                               \
			      _mm512_castps512_ps256(p_[nb / 2 - 1][4 / nb - 1]),                \
			      _mm512_extractf32x8_ps(p_[nb / 2 - 1][4 / nb - 1], 1), out);       \
			out += 4;                                                                \
			done += 4 / nb;                                                          \
		}                                                                                \
	} while (0)

AVX512
static void dot_avx512(const uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
		       unsigned int nb, const uint32_t *w, uint32_t n, uint32_t *out, bool is_dense)
{
	const float *a = (const float *)(const void *)acc;
	const uint8_t *rows = x;
	uint32_t nk = n / nb, done = 0, shape = nb << 8 | tokens;

	if (is_dense && !(w[0] >> 14 & 3)) {
		x += (int32_t)(w[0] & 0x3fff) * stride;
		if (shape == (4 << 8 | 32))
			DOT_DENSE(4, 4);
		else if (shape == (4 << 8 | 16))
			DOT_DENSE(4, 2);
		else if (shape == (4 << 8 | 8))
			DOT_DENSE(4, 1);
		else if (shape == (2 << 8 | 64))
			DOT_DENSE(2, 8);
		else if (shape == (2 << 8 | 32))
			DOT_DENSE(2, 4);
		else if (shape == (2 << 8 | 16))
			DOT_DENSE(2, 2);
		else if (shape == (2 << 8 | 8))
			DOT_DENSE(2, 1);
	}
	dot_avx2(acc, rows, stride, tokens, nb, w + done * nb, n - done * nb, out, false);
}

AVX512
static void axpy_avx512(uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
			unsigned int nb, const uint32_t *w, uint32_t n, bool is_dense)
{
	axpy(acc, x, stride, tokens, nb, w, n, is_dense, true);
}

/* which: 0 the best that this processor has, 1 no vector extension, 2 AVX2, 3 AVX-512; false: it
 * has not */
bool wse_kernels_get(unsigned int which, struct wse_kernels *k)
{
	bool avx2 = __builtin_cpu_supports("avx2");
	bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
		      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
		      __builtin_cpu_supports("avx512vl");

	if (!which)
		which = avx512 ? 3 : avx2 ? 2 : 1;
	if ((which == 3 && !avx512) || (which == 2 && !avx2) || which > 3)
		return false;
	k->axpy = which == 3 ? axpy_avx512 : which == 2 ? axpy_avx2 : axpy_any;
	k->dot = which == 3 ? dot_avx512 : which == 2 ? dot_avx2 : dot_any;
	return true;
}
