/* SPDX-License-Identifier: MIT */
/* Stream AXPY and DOT over arrays of checked data wavelets; the variants give the same bits. */
#ifndef TWIN_FAST_KERNELS_KERNELS_H
#define TWIN_FAST_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "twin/exact/fast.h"

#define TWIN_PANEL 16u /* rows that a copy by columns has side by side */

/*
 * acc: [nb][tokens], x: row 0 of the operand (dense: the first row wanted), stride bytes to the
 * next. Dense means k ascending without holes, all nb features of each k in order.
 *
 * An operand that is used again and again is copied first: to binary32 by rows, r[k][tokens], or as
 * it is by columns, c[(k + 15) / 16][tokens][16]: a token's values of neighbouring k side by side.
 */
struct twin_kernels {
	/* v = a + b, n sums; v may be one of them */
	void (*add)(uint32_t *v, const uint32_t *a, const uint32_t *b, uint32_t n);
	/* acc[f] += value * x[k] for n wavelets in order */
	void (*axpy)(uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
		     const uint32_t *w, uint32_t n);
	/* the same for values v[nk][nb] */
	void (*axpy_dense)(uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
			   unsigned int nb, const float *v, uint32_t nk, bool fused);
	void (*axpy_rows)(uint32_t *acc, const float *r, uint32_t tokens, unsigned int nb,
			  const float *v, uint32_t nk, bool fused);
	/* the same values into the sums of two cores */
	void (*axpy_two)(uint32_t *const acc[2], const float *const r[2], uint32_t tokens,
			 unsigned int nb, const float *v, uint32_t nk, bool fused);
	/* out[nk][nb] of rows k ... k + nk - 1 */
	void (*dot_cols)(const uint32_t *acc, const uint16_t *c, uint32_t k, uint32_t tokens,
			 unsigned int nb, uint32_t nk, uint32_t *out, bool fused);
	/* bf16 row[nb][nk] as values v[nk][nb], and their range; nb is 1, 2 or 4 */
	struct twin_range (*values)(float *v, const uint16_t *const *row, uint32_t nk,
				    unsigned int nb);
	/* of n binary32 that may not be bf16: then they count as too large */
	struct twin_range (*range_of_sums)(const uint32_t *v, uint32_t n);
	/* the copy by rows, of rows rows */
	void (*to_rows)(float *r, const uint8_t *x, int32_t stride, uint32_t tokens, uint32_t rows);
};

/* the copy by columns */
void twin_to_cols(uint16_t *c, const uint8_t *x, int32_t stride, uint32_t tokens, uint32_t rows);
/* out[i] = lane tree of acc[f] * x[k] for wavelet i */
void twin_dot(const uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
	      const uint32_t *w, uint32_t n, uint32_t *out);

/* of what lies in either */
static inline struct twin_range twin_range_join(struct twin_range a, struct twin_range b)
{
	return (struct twin_range){a.first < b.first ? a.first : b.first,
				  a.last > b.last ? a.last : b.last};
}

/*
 * Is every product of two values of these ranges exact? A product of two bf16 has 16 significant
 * bits, so binary32 holds it as it is unless it is too small or too large: then, and only then,
 * does it matter that a MAC rounds its product (hw/doc/core.md), and a fused one gives other bits.
 * NaN and infinity count as too large.
 */
static inline bool twin_products_exact(struct twin_range a, struct twin_range b)
{
	/* 2^(first - 127) of each, and less than 2^(last - 126): from 2^-126 on, below 2^128 */
	return a.first + b.first >= 128 && a.last + b.last <= 380 && a.last < 255 && b.last < 255;
}

#define TWIN_RANGE_ANY ((struct twin_range){0, 255}) /* nothing is known of them */
#define TWIN_EXP_BF16  0x7f80

/* of exponents, << 7 as in bf16: the greatest, and TWIN_EXP_BF16 less the least that is not 0 */
struct twin_ends {
	int16_t last, least;
};

/* infinity and NaN, too: their exponent is the last one, and less it nothing is left */
static inline struct twin_range twin_range_between(struct twin_ends e)
{
	return (struct twin_range){(int16_t)((TWIN_EXP_BF16 - e.least) >> 7),
				   (int16_t)(e.last >> 7)};
}

/* of bf16 in rows rows, tokens in each, stride bytes apart */
struct twin_range twin_range_of(const void *x, int32_t stride, uint32_t tokens, uint32_t rows);

/* twin_kernels.values with AVX2 */
struct twin_range twin_values(float *v, const uint16_t *const *row, uint32_t nk, unsigned int nb);

/* which: 0 the best that this processor has, 1 AVX2, 2 AVX-512; NULL: it has not */
const struct twin_kernels *twin_kernels_get(unsigned int which);

extern const struct twin_kernels twin_kernels_avx2, twin_kernels_avx512;

#endif /* TWIN_FAST_KERNELS_KERNELS_H */
