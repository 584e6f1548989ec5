/* SPDX-License-Identifier: MIT */
/*
 * The nearest value that a rule takes, for messages: what they advise is what the rule was asked.
 */
#ifndef WSE_NUM_NEAREST_H
#define WSE_NUM_NEAREST_H

#include <stdint.h>

#include "base/error.h"

/* of a value that is not taken; 0: there is none */
struct wse_near {
	uint64_t below, above;
};

/* multiples of `of` in [1, max] */
static inline struct wse_near wse_near_multiple(uint64_t n, uint64_t of, uint64_t max)
{
	uint64_t up = (n / of + 1) * of;

	return (struct wse_near){.below = (n < max ? n : max) / of * of,
				 .above = up <= max ? up : 0};
}

/* the nearer one; where both are as far, the one above */
static inline uint64_t wse_nearest(struct wse_near near, uint64_t n)
{
	if (!near.below || !near.above)
		return near.below | near.above;
	return n - near.below < near.above - n ? near.below : near.above;
}

/*
 * ": choose KEY 48 or 64"; nothing where there is no such value. key "": the one that the sentence
 * begins with
 */
static inline void wse_near_say(const char *key, struct wse_near near)
{
	if (near.below || near.above)
		wse_fail_more(": choose %s%llu", key,
			    (unsigned long long)(near.below ? near.below : near.above));
	if (near.below && near.above)
		wse_fail_more(" or %llu", (unsigned long long)near.above);
}

/*
 * "KEY 48", behind what is there and " and "; nothing for a value that is the old one. text [size]
 */
static inline void wse_say_size(char *text, size_t size, const char *key, uint64_t n, uint64_t old)
{
	size_t len = strlen(text);

	if (n != old)
		snprintf(text + len, size - len, "%s%s %llu", len ? " and " : "", key,
			 (unsigned long long)n);
}

#endif
