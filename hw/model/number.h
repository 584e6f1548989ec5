/* SPDX-License-Identifier: MIT */
/* Numbers on the command line of a tool of hw/. */
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
	/* strtoull() passes over blanks and takes -1 for 2^64 - 1 */
	if (errno || *text < '0' || *text > '9' || *end || *out < min || *out > max) {
		fprintf(stderr, "%s needs a number from %" PRIu64 " to %" PRIu64 ", not '%s'\n", of,
			min, max, text);
		return -EINVAL;
	}
	return 0;
}

/* "X,Y" or, with another sign between, "X.Y": a column and a row, digits alone; 0, or -EINVAL */
static inline int wse_number_pair(const char *text, char between, uint32_t *x, uint32_t *y)
{
	uint64_t v[2] = {0, 0};

	for (int i = 0; i < 2; i++, text++) {
		const char *begin = text;

		for (; *text >= '0' && *text <= '9' && v[i] <= 65535; text++)
			v[i] = 10 * v[i] + (uint64_t)(*text - '0');
		if (text == begin || v[i] > 65535 || *text != (i ? 0 : between))
			return -EINVAL;
	}
	*x = (uint32_t)v[0];
	*y = (uint32_t)v[1];
	return 0;
}

/*
 * After getopt_long() with opterr 0 has refused an option: one line, which names the option as it
 * was given. getopt()'s own begins with the path of the tool, and says nothing of --help.
 */
static inline void wse_bad_option(const char *tool, int at, char **argv)
{
	const char *option = argv[at - 1];

	/* of "-xy" getopt() has not gone on to the next word */
	if (*option != '-' && argv[at])
		option = argv[at];
	fprintf(stderr,
		"%s: '%s' is no option, or lacks its value, or has one too many: %s --help lists "
		"them\n",
		tool, option, tool);
}

#endif /* WSE_NUMBER_H */
