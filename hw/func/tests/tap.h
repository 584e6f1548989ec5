/* SPDX-License-Identifier: MIT */
/* Test results in TAP; main ends with `return tap_done();`. */
#ifndef WSE_TAP_H
#define WSE_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int tap_count, tap_failed;

__attribute__((format(printf, 2, 3)))
static inline bool ok(bool good, const char *fmt, ...)
{
	va_list ap;

	tap_failed += !good;
	printf("%sok %d - ", good ? "" : "not ", ++tap_count);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	return good;
}

static inline void skip(const char *name, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_count, name, why);
}

/* a counted comparison of integers that says both values */
#define is(got, want, name) do {						\
	unsigned long long g_ = (got), w_ = (want);				\
	if (!ok(g_ == w_, "%s", name))						\
		printf("# got %llu (0x%llx), want %llu (0x%llx)\n", g_, g_, w_, w_);	\
} while (0)

static inline int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}

#endif /* WSE_TAP_H */
