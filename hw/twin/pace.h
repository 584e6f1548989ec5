/* SPDX-License-Identifier: MIT */
/* How many threads the next round should have. */
#ifndef WSE_FUNC_PACE_H
#define WSE_FUNC_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct wse_model;

enum wse_pace_step {
	WSE_PACE_STAY,
	WSE_PACE_SETTLE_ONE,
	WSE_PACE_ONE,
	WSE_PACE_SETTLE_MANY,
	WSE_PACE_MANY,
};

struct wse_pace {
	enum wse_pace_step step;
	uint32_t left; /* rounds of it */
	bool many;     /* threads, not one */
	uint64_t since, work;
	double one; /* what a unit of work took with one thread */
};

/* of at most that many, before each round */
uint32_t wse_pace(struct wse_model *m, uint32_t threads);

#endif /* WSE_FUNC_PACE_H */
