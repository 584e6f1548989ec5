// SPDX-License-Identifier: MIT
/* The slopes of ALiBi, in IEEE + - * / alone, so that they are the same everywhere. */
#include "model/alibi.h"

#include "num/num.h"

float wse_alibi_slope(uint32_t head, uint32_t heads)
{
	const double ln2 = 0.69314718055994530942;
	uint32_t n = 1;

	while (n <= heads / 2)
		n *= 2;
	return (float)wse_exp(-8.0 * ln2 * (head < n ? head + 1.0 : head - n + 0.5) / n);
}
