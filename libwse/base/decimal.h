/* SPDX-License-Identifier: MIT */
/* Numbers of URIs. */
#ifndef WSE_BASE_DECIMAL_H
#define WSE_BASE_DECIMAL_H

#include <errno.h>
#include <stdint.h>

/* decimal digits and nothing else from p up to end, at most max: 0; else -EINVAL */
static inline int wse_decimal(const char *p, const char *end, uint64_t max, uint64_t *value)
{
	uint64_t v = 0;

	if (p == end)
		return -EINVAL;
	for (; p < end; p++) {
		if (*p < '0' || *p > '9' || v > (UINT64_MAX - 9) / 10)
			return -EINVAL;
		v = v * 10 + (uint64_t)(*p - '0');
	}
	if (v > max)
		return -EINVAL;
	*value = v;
	return 0;
}

#endif
