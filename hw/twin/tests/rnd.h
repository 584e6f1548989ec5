/* SPDX-License-Identifier: MIT */
/* Random numbers of the twin's tests, the same in every run (xorshift, 64 bits). */
#ifndef WSE_TWIN_TESTS_RND_H
#define WSE_TWIN_TESTS_RND_H

#include <stdint.h>

static uint64_t rnd_state = 0x2545f4914f6cdd1dull;

static inline uint32_t rnd(void)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 7;
	rnd_state ^= rnd_state << 17;
	return (uint32_t)(rnd_state >> 16);
}

/* 0 ... n - 1 */
static inline uint32_t below(uint32_t n)
{
	return rnd() % n;
}

#endif /* WSE_TWIN_TESTS_RND_H */
