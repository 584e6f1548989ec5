/* SPDX-License-Identifier: MIT */
/* A number on the command line of a tool of hw/. */
#ifndef WSE_NUMBER_H
#define WSE_NUMBER_H

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* of: "TOOL: OPTION". 0, or -EINVAL with a line on stderr. */
static inline int wse_number(const char *of, const char *text, uint64_t min, uint64_t max,
			     uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-' || *out < min || *out > max) {
		fprintf(stderr, "%s needs a number from %" PRIu64 " to %" PRIu64 ", not '%s'\n", of,
			min, max, text);
		return -EINVAL;
	}
	return 0;
}

#endif /* WSE_NUMBER_H */
