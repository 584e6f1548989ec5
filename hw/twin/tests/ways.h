/* SPDX-License-Identifier: MIT */
/*
 * What a test claims of the ways through the twin (twin/func.h): that they were taken, without
 * which it would compare the exact way with itself, or that none was. Models of the RTL and the
 * build of the exact machine alone have none.
 */
#ifndef WSE_TEST_WAYS_H
#define WSE_TEST_WAYS_H

#include <stdbool.h>
#include <sys/mman.h>

#include "check.h"
#include "twin/func.h"

/* may the host's memory be written and executed? Else the twin has no translator. */
static inline bool can_translate(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	return p != MAP_FAILED && !munmap(p, 4096);
}

/* those that a model has gone so far come to the sum */
static inline void ways_add(struct twin_ways *sum, const struct wse_machine *m)
{
#ifndef TEST_RTL
	struct twin_ways w;

	twin_ways(m, &w);
#define WAY_ADD(name, what) sum->name += w.name;
	TWIN_WAYS(WAY_ADD)
#undef WAY_ADD
#else
	(void)sum, (void)m;
#endif
}

/* a floor: the way was taken that often at least */
#ifndef TEST_RTL
#define went(w, way, least)                                                               \
	ok((w)->way >= (least) || !twin_has_ways(),                                       \
	   "the way \"%s\" was taken %llu times, %u at least", #way,                      \
	   (unsigned long long)(w)->way, (unsigned int)(least))
#else
#define went(w, way, least) ((void)(w))
#endif

/* the exact twin's */
static inline void went_none(const struct twin_ways *w)
{
	const char *first = NULL;

#define WAY_NONE(name, what) first = first || !w->name ? first : #name;
	TWIN_WAYS(WAY_NONE)
#undef WAY_NONE
	ok(!first, "the exact twin took no way but its own%s%s", first ? ", but " : "",
	   first ? first : "");
}

#endif /* WSE_TEST_WAYS_H */
