/* SPDX-License-Identifier: MIT */
/* Random binary32, more of those at which arithmetic is hard than chance would bring. */
#ifndef WSE_TWIN_TESTS_PICK_H
#define WSE_TWIN_TESTS_PICK_H

#include "rnd.h"

/* binary32 with an exponent near the interesting ones; now and then a special value */
static inline uint32_t pick(void)
{
	static const uint32_t special[] = {
		0,	    0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
		0xffc12345, 1,		0x807fffff, 0x00800000, 0x80800000, 0x7f7fffff,
		0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001,
	};
	uint32_t r = rnd();

	switch (r & 7) {
	case 0:
		return special[rnd() % (sizeof(special) / sizeof(*special))];
	case 1: /* around the smallest normal */
		return (rnd() & 0x807fffff) | (rnd() % 30) << 23;
	case 2: /* whose products lie there */
		return (rnd() & 0x807fffff) | (64 + rnd() % 4 - 1) << 23;
	case 3: /* sums that cancel */
		return (rnd() & 0x80000007) | 127u << 23 | (rnd() & 1) << 22;
	case 4:
		return (rnd() & 0x807fffff) | (120 + rnd() % 16) << 23;
	default:
		return rnd();
	}
}

#endif /* WSE_TWIN_TESTS_PICK_H */
