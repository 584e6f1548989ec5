/* SPDX-License-Identifier: MIT */
/*
 * Tokens in memory: u16 of a vocabulary of at most 65536; of a larger one each takes two places of
 * the same array, as a u32. Texts, samples and targets alike.
 */
#ifndef WSE_NUM_TOKEN_H
#define WSE_NUM_TOKEN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WSE_VOCAB_NARROW 65536u
#define WSE_VOCAB_MAX (1u << 18)

static inline uint32_t wse_token_places(uint32_t vocab)
{
	return vocab > WSE_VOCAB_NARROW ? 2 : 1;
}

/* token i (which may be below 0) at `at` */
static inline uint32_t wse_token(const uint16_t *at, ptrdiff_t i, uint32_t vocab)
{
	uint32_t wide;

	if (vocab <= WSE_VOCAB_NARROW)
		return at[i];
	memcpy(&wide, at + 2 * i, sizeof(wide));
	return wide;
}

static inline void wse_token_put(uint16_t *at, size_t i, uint32_t vocab, uint32_t token)
{
	if (vocab <= WSE_VOCAB_NARROW)
		at[i] = (uint16_t)token;
	else
		memcpy(at + 2 * i, &token, sizeof(token));
}

#endif
