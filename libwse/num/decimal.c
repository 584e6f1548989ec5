// SPDX-License-Identifier: MIT
/* Numbers as text that loses no bit. */
#include "num/decimal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t wse_f64_bits(double d)
{
	uint64_t u;

	memcpy(&u, &d, sizeof(u));
	return u;
}

const char *wse_f64_text(double d, char *text)
{
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, 32, "%.*g", digits, d);
		if (wse_f64_bits(strtod(text, NULL)) == wse_f64_bits(d))
			break;
	}
	return text;
}
