/* SPDX-License-Identifier: MIT */
/*
 * Floats as those that are not +0, in their order, and a bit for each place: how a sparse run keeps
 * parameters and moments. Any values come back bit for bit: -0 and NaN are not +0.
 */
#ifndef WSE_MEMX_NONZERO_H
#define WSE_MEMX_NONZERO_H

#include <stddef.h>
#include <stdint.h>

/* words of bits for so many floats */
static inline size_t wse_nonzero_words(size_t floats)
{
	return (floats + 63) / 64;
}

/* bits [wse_nonzero_words(floats)]; how many are set */
size_t wse_nonzero_look(const float *from, size_t floats, uint64_t *bits);
/* those of from [floats] whose bits are set, to x */
void wse_nonzero_pick(const float *from, size_t floats, const uint64_t *bits, float *x);
/* and back, to [floats]; bits NULL: all are 0. Behind the last one in x */
const float *wse_nonzero_spread(const float *x, size_t floats, const uint64_t *bits, float *to);

#endif
