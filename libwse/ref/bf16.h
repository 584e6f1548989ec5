/* SPDX-License-Identifier: MIT */
/* bf16 storage of the references: written for them, so that they judge that of num/. */
#ifndef WSE_REF_BF16_H
#define WSE_REF_BF16_H

#include <stdint.h>
#include <string.h>

/* nearest even; a number, not NaN, below the largest bf16 */
static inline float ref_bf16(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000;
	memcpy(&f, &u, sizeof(f));
	return f;
}

#endif
