/* SPDX-License-Identifier: MIT */
/* Test Anything Protocol: one line a check, a plan at the end, the exit status tells the truth. */
#ifndef WSE_TESTS_TRAIN_TAP_H
#define WSE_TESTS_TRAIN_TAP_H

#include <stdarg.h>
#include <stdio.h>

struct tap {
	int n, failed;
};

__attribute__((format(printf, 3, 4)))
static inline int tap_ok(struct tap *t, int ok, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %d - ", ok ? "" : "not ", ++t->n);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	t->failed += !ok;
	return ok;
}

static inline int tap_done(struct tap *t)
{
	printf("1..%d\n", t->n);
	return t->failed ? 1 : 0;
}

#endif
