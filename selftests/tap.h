/* SPDX-License-Identifier: MIT */
/*
 * TAP output of a test program: ok() per check, tap_skip() for one that cannot run here, tap_end()
 * at the end of main. The exit status tells the truth.
 */
#ifndef WSE_TAP_H
#define WSE_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static unsigned int tap_count, tap_failed;

/* in the flavour with sanitizers, which runs beside the plain one, a test may take fewer cases */
#ifdef __SANITIZE_ADDRESS__
enum { TAP_SANITIZED = 1 };
#else
enum { TAP_SANITIZED = 0 };
#endif

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

__attribute__((format(printf, 2, 3), unused)) static void tap_skip(const char *reason,
								   const char *fmt, ...)
{
	va_list ap;

	printf("ok %u - ", ++tap_count);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf(" # SKIP %s\n", reason);
	fflush(stdout);
}

__attribute__((unused)) static int tap_end(void)
{
	printf("1..%u\n", tap_count);
	return tap_failed ? 1 : 0;
}

#endif /* WSE_TAP_H */
