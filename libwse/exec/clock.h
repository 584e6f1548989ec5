/* SPDX-License-Identifier: MIT */
/*
 * A device's clock: fences say its low 32 bits alone, and a micro-batch of a large model takes more
 * than 2^32 cycles.
 */
#ifndef WSE_EXEC_CLOCK_H
#define WSE_EXEC_CLOCK_H

#include <stdint.h>

/* a submit begins while those before it run: so long before they end, or less */
#define WSE_CLOCK_BACK (3u << 30)

/*
 * The time whose low 32 bits are `low`, by one that is known: at most WSE_CLOCK_BACK cycles before
 * it, and less than 2^32 - WSE_CLOCK_BACK after it.
 */
static inline uint64_t wse_clock_at(uint64_t known, uint32_t low)
{
	return known - WSE_CLOCK_BACK + (uint32_t)(low - (uint32_t)known + WSE_CLOCK_BACK);
}

#endif
