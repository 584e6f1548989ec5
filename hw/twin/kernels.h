/* SPDX-License-Identifier: MIT */
/* Stream AXPY and DOT over arrays of checked data wavelets; the variants give the same bits. */
#ifndef WSE_FUNC_KERNELS_H
#define WSE_FUNC_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * acc: [nb][tokens], x: row 0 of the operand (dense: the first row wanted), stride bytes to the
 * next. Dense means k ascending without holes, all nb features of each k in order.
 */
struct wse_kernels {
	/* acc[f] += value * x[k] for n wavelets in order */
	void (*axpy)(uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
		     const uint32_t *w, uint32_t n);
	/* the same for values v[nk][nb] */
	void (*axpy_dense)(uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
			   unsigned int nb, const float *v, uint32_t nk);
	/* out[i] = lane tree of acc[f] * x[k] for wavelet i */
	void (*dot)(const uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
		    const uint32_t *w, uint32_t n, uint32_t *out);
	void (*dot_dense)(const uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
			  unsigned int nb, uint32_t nk, uint32_t *out);
};

bool wse_kernels_get(unsigned int which, struct wse_kernels *k);

#endif /* WSE_FUNC_KERNELS_H */
