/* SPDX-License-Identifier: MIT */
/* How many threads the next round should have. */
#ifndef WSE_FUNC_PACE_H
#define WSE_FUNC_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct wse_model;

/* the timed turns of one kind */
struct wse_paced {
	uint64_t ns, work;	    /* of all */
	uint64_t worst, worst_work; /* the same of the one that took longest for its work */
};

struct wse_pace {
	uint32_t left; /* rounds until the next turn */
	uint32_t turn; /* of those that are timed, from 1 on; 0: none, it has been decided */
	bool timed;    /* its rounds are timed now; before that, caches fill */
	bool many;     /* threads, not one */
	uint64_t since, work;
	struct wse_paced of[2]; /* rounds with one thread, with all */
};

/* of at most that many, before each round */
uint32_t wse_pace(struct wse_model *m, uint32_t threads);

#endif /* WSE_FUNC_PACE_H */
