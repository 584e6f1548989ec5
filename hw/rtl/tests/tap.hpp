// SPDX-License-Identifier: MIT
// TAP for the C++ benches of hw/rtl: ok() counts, plan() closes and gives the exit status.
#ifndef WSE_RTL_TAP_HPP
#define WSE_RTL_TAP_HPP
#include <cstdarg>
#include <cstdio>

struct Tap {
	int n = 0, bad = 0;

	bool ok(bool good, const char *fmt, ...) __attribute__((format(printf, 3, 4)))
	{
		va_list ap;

		printf("%sok %d - ", good ? "" : "not ", ++n);
		va_start(ap, fmt);
		vprintf(fmt, ap);
		va_end(ap);
		printf("\n");
		fflush(stdout);
		bad += !good;
		return good;
	}
	int plan()
	{
		printf("1..%d\n", n);
		return bad != 0;
	}
};
#endif
