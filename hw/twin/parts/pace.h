/* SPDX-License-Identifier: MIT */
/* How many threads the next round should have. */
#ifndef TWIN_PARTS_PACE_H
#define TWIN_PARTS_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct wse_machine;

/* the timed turns of one kind */
struct twin_paced {
	uint64_t ns, work;	    /* of all */
	uint64_t worst, worst_work; /* the same of the one that took longest for its work */
};

struct twin_pace {
	uint32_t left; /* rounds until the next turn */
	uint32_t turn; /* of those that are timed, from 1 on; 0: none, it has been decided */
	bool timed;    /* its rounds are timed now; before that, caches fill */
	bool many;     /* threads, not one */
	uint64_t since, work;
	struct twin_paced of[2]; /* rounds with one thread, with all */
};

/* of at most that many, before each round */
uint32_t twin_pace(struct wse_machine *m, uint32_t threads);

#endif /* TWIN_PARTS_PACE_H */
