// SPDX-License-Identifier: MIT
/*
 * Whether more than one thread pays. Short rounds cost more to hand over than they take, and on a busy
 * machine the others come late; so a few rounds are timed with one thread and with all, and the rest
 * goes to the faster. Nothing but time depends on it.
 */
#include <time.h>

#include "func.h"
#include "twin.h"

#define SETTLE 8u    /* rounds after a change, in which caches fill */
#define PROBE  32u   /* rounds that are timed */
#define STAY   2000u /* rounds until the next look */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void begin(struct wse_pace *p, enum wse_pace_step step, uint32_t rounds)
{
	p->step = step;
	p->left = rounds;
	p->work = 0;
	p->since = now_ns();
}

/* the timed rounds are over: nanoseconds for a unit of work */
static double cost(const struct wse_pace *p)
{
	return (double)(now_ns() - p->since) / (double)(p->work ? p->work : 1);
}

static void turn(struct wse_pace *p)
{
	switch (p->step) {
	case WSE_PACE_STAY:
		p->many = false;
		begin(p, WSE_PACE_SETTLE_ONE, SETTLE);
		break;
	case WSE_PACE_SETTLE_ONE:
		begin(p, WSE_PACE_ONE, PROBE);
		break;
	case WSE_PACE_ONE:
		p->one = cost(p);
		p->many = true;
		begin(p, WSE_PACE_SETTLE_MANY, SETTLE);
		break;
	case WSE_PACE_SETTLE_MANY:
		begin(p, WSE_PACE_MANY, PROBE);
		break;
	case WSE_PACE_MANY:
		p->many = cost(p) < p->one;
		begin(p, WSE_PACE_STAY, STAY);
		break;
	}
}

uint32_t wse_pace(struct wse_model *m, uint32_t threads)
{
	struct wse_pace *p = &m->pace;

	if (threads == 1 || m->cfg.flags & WSE_MODEL_FUNC_PARTS)
		return threads;
	if (!p->left)
		turn(p);
	p->left--;
	return p->many ? threads : 1;
}
