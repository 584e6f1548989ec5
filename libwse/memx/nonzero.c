// SPDX-License-Identifier: MIT
/* Floats that are not +0. */
#include "memx/nonzero.h"

#include <string.h>

#define WORD 64u

/* -0 is not +0: by their bits */
static uint64_t word_of(const float *from, size_t n)
{
	uint64_t w = 0;
	uint32_t u;

	for (size_t k = 0; k < n; k++) {
		memcpy(&u, from + k, sizeof(u));
		w |= (uint64_t)(u != 0) << k;
	}
	return w;
}

size_t wse_nonzero_look(const float *from, size_t floats, uint64_t *bits)
{
	size_t n = 0;

	for (size_t i = 0; i < wse_nonzero_words(floats); i++) {
		size_t left = floats - i * WORD;

		bits[i] = word_of(from + i * WORD, left < WORD ? left : WORD);
		n += (size_t)__builtin_popcountll(bits[i]);
	}
	return n;
}

void wse_nonzero_pick(const float *from, size_t floats, const uint64_t *bits, float *x)
{
	for (size_t i = 0; i < wse_nonzero_words(floats); i++)
		for (uint64_t w = bits[i]; w; w &= w - 1)
			*x++ = from[i * WORD + (size_t)__builtin_ctzll(w)];
}

const float *wse_nonzero_spread(const float *x, size_t floats, const uint64_t *bits, float *to)
{
	memset(to, 0, floats * sizeof(*to));
	for (size_t i = 0; bits && i < wse_nonzero_words(floats); i++)
		for (uint64_t w = bits[i]; w; w &= w - 1)
			to[i * WORD + (size_t)__builtin_ctzll(w)] = *x++;
	return x;
}
