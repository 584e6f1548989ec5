// SPDX-License-Identifier: MIT
#include "base/point.h"

#include <langinfo.h>
#include <locale.h>
#include <string.h>

static _Thread_local struct {
	const void *owner; /* NULL: the thread has its own locale */
	locale_t before, ours;
} point;

void wse_point_begin(const void *owner)
{
	locale_t now;

	if (point.owner || !strcmp(nl_langinfo(RADIXCHAR), "."))
		return;
	now = duplocale(uselocale((locale_t)0));
	if (now == (locale_t)0)
		return;
	point.ours = newlocale(LC_NUMERIC_MASK, "C", now); /* now is in it, or stays */
	if (point.ours == (locale_t)0) {
		freelocale(now);
		return;
	}
	point.before = uselocale(point.ours);
	point.owner = owner;
}

void wse_point_end(const void *owner)
{
	if (!point.owner || point.owner != owner)
		return;
	uselocale(point.before);
	freelocale(point.ours);
	point.owner = NULL;
}
