/* SPDX-License-Identifier: MIT */
/* Stream AXPY and DOT over arrays of checked data wavelets; the variants give the same bits. */
#ifndef WSE_FUNC_KERNELS_H
#define WSE_FUNC_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

struct wse_kernels {
	/*
	 * acc[nb][tokens] += value * x[k][0..tokens) for n wavelets in order; x: row 0, stride
	 * bytes to the next. dense: k ascending, all nb features of each k in order (the first k
	 * may have begun before).
	 */
	void (*axpy)(uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
		     unsigned int nb, const uint32_t *w, uint32_t n, bool dense);
	/* out[i] = lane tree of acc[f][] * x[k][] for wavelet i */
	void (*dot)(const uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
		    unsigned int nb, const uint32_t *w, uint32_t n, uint32_t *out, bool dense);
};

bool wse_kernels_get(unsigned int which, struct wse_kernels *k);

#endif /* WSE_FUNC_KERNELS_H */
