/* SPDX-License-Identifier: MIT */
/* Checks of the twin's tests: the TAP of all tests, and comparisons that say both values. */
#ifndef TWIN_TESTS_CHECK_H
#define TWIN_TESTS_CHECK_H

#include "tap.h"

#define is(got, want, name)                                                                  \
	do {                                                                                 \
		unsigned long long g_ = (got), w_ = (want);                                  \
		if (!ok(g_ == w_, "%s", name))                                               \
			printf("# got %llu (0x%llx), want %llu (0x%llx)\n", g_, g_, w_, w_); \
	} while (0)

#endif /* TWIN_TESTS_CHECK_H */
