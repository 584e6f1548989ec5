/* SPDX-License-Identifier: MIT */
/* TAP output of a test program: ok() per check, tap_end() at the end of main. */
#ifndef WSE_HW_TAP_H
#define WSE_HW_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static unsigned int tap_count, tap_failed;

__attribute__((format(printf, 2, 3), unused)) static bool ok(bool good, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %u - ", good ? "" : "not ", ++tap_count);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	tap_failed += !good;
	return good;
}

__attribute__((unused)) static int tap_end(void)
{
	printf("1..%u\n", tap_count);
	return tap_failed ? 1 : 0;
}

#endif /* WSE_HW_TAP_H */
