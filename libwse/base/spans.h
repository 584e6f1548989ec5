/* SPDX-License-Identifier: MIT */
/* What a part did, and when, for a profile; where none is made that costs a test of a pointer. */
#ifndef WSE_BASE_SPANS_H
#define WSE_BASE_SPANS_H

#include <stdint.h>
#include <time.h>

struct wse_spans {
	/*
	 * what (a unit) was done from begin to end, nanoseconds of CLOCK_MONOTONIC, by part who
	 * (a device), whose calls follow each other. NULL: there is no profile
	 */
	void (*fn)(void *ctx, uint32_t who, uint32_t what, uint64_t begin, uint64_t end);
	void *ctx;
};

/* 0 without a profile */
static inline uint64_t wse_spans_now(const struct wse_spans *s)
{
	struct timespec t;

	if (!s->fn)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void wse_spans_end(const struct wse_spans *s, uint32_t who, uint32_t what,
				 uint64_t begin)
{
	if (s->fn)
		s->fn(s->ctx, who, what, begin, wse_spans_now(s));
}

#endif
