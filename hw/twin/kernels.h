/* SPDX-License-Identifier: MIT */
/* Stream AXPY and DOT over arrays of checked data wavelets; the variants give the same bits. */
#ifndef WSE_FUNC_KERNELS_H
#define WSE_FUNC_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#define WSE_PANEL 16u /* rows that a copy by columns has side by side */

/*
 * acc: [nb][tokens], x: row 0 of the operand (dense: the first row wanted), stride bytes to the
 * next. Dense means k ascending without holes, all nb features of each k in order.
 *
 * An operand that is used again and again is copied to binary32 first: by rows, r[k][tokens], or by
 * columns, c[(k + 15) / 16][tokens][16]: a token's values of neighbouring k side by side.
 */
struct wse_kernels {
	/* v = a + b, n sums; v may be one of them */
	void (*add)(uint32_t *v, const uint32_t *a, const uint32_t *b, uint32_t n);
	/* acc[f] += value * x[k] for n wavelets in order */
	void (*axpy)(uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
		     const uint32_t *w, uint32_t n);
	/* the same for values v[nk][nb] */
	void (*axpy_dense)(uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
			   unsigned int nb, const float *v, uint32_t nk);
	void (*axpy_rows)(uint32_t *acc, const float *r, uint32_t tokens, unsigned int nb,
			  const float *v, uint32_t nk);
	/* out[i] = lane tree of acc[f] * x[k] for wavelet i */
	void (*dot)(const uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
		    const uint32_t *w, uint32_t n, uint32_t *out);
	/* out[nk][nb] of rows k ... k + nk - 1 */
	void (*dot_cols)(const uint32_t *acc, const float *c, uint32_t k, uint32_t tokens,
			 unsigned int nb, uint32_t nk, uint32_t *out);
	/* the copies, of rows rows */
	void (*to_rows)(float *r, const uint8_t *x, int32_t stride, uint32_t tokens, uint32_t rows);
	void (*to_cols)(float *c, const uint8_t *x, int32_t stride, uint32_t tokens, uint32_t rows);
};

/* which: 0 the best that this processor has, 1 no vector extension, 2 AVX2, 3 AVX-512; false: it
 * has not */
bool wse_kernels_get(unsigned int which, struct wse_kernels *k);

extern const struct wse_kernels wse_kernels_any, wse_kernels_avx2, wse_kernels_avx512;

#endif /* WSE_FUNC_KERNELS_H */
