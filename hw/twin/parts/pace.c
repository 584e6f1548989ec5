// SPDX-License-Identifier: MIT
/*
 * Whether more than one thread pays. Short rounds cost more to hand over than they take, and on a
 * busy machine the others come late; so a few rounds are timed with one thread and with all, and
 * the rest goes to the faster. They are timed in turns, as what a program's rounds have to do
 * changes; the worst turn of each kind does not count, as another process may have had the
 * processor. Nothing but time depends on it.
 */
#include <string.h>
#include <time.h>

#include "twin/func.h"
#include "twin/parts/pace.h"
#include "twin/twin.h"

#define SETTLE	   2u	       /* rounds after a change, in which caches fill */
#define PROBE	   8u	       /* rounds of a turn */
#define TURNS	   8u	       /* of each kind */
#define STAY_MANY  2000000000u /* nanoseconds with all threads until the next look */
#define STAY_ONE   250000000u  /* and with one, which is dear if it was by mistake */
#define STAY_LEAST 2000u       /* rounds */
#define STAY_MOST  100000u

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void begin(struct twin_pace *p, uint32_t rounds)
{
	p->left = rounds;
	p->work = 0;
	p->since = now_ns();
}

/* a turn is over */
static void count(struct twin_paced *k, uint64_t ns, uint64_t work)
{
	work += !work;
	k->ns += ns;
	k->work += work;
	if (!k->worst_work ||
	    (double)ns * (double)k->worst_work > (double)k->worst * (double)work) {
		k->worst = ns;
		k->worst_work = work;
	}
}

/* nanoseconds for a unit of work, the worst turn left out */
static double cost(const struct twin_paced *k)
{
	return (double)(k->ns - k->worst) / (double)(k->work - k->worst_work);
}

static void decide(struct twin_pace *p)
{
	uint64_t rounds;

	p->many = cost(&p->of[1]) < cost(&p->of[0]);
	rounds = (uint64_t)(p->many ? STAY_MANY : STAY_ONE) * TURNS * PROBE /
		 (p->of[p->many].ns + 1);
	p->turn = 0;
	begin(p, rounds < STAY_LEAST  ? STAY_LEAST
		 : rounds > STAY_MOST ? STAY_MOST
				      : (uint32_t)rounds);
}

static void turn(struct twin_pace *p)
{
	if (p->turn && !p->timed) {
		p->timed = true;
		begin(p, PROBE);
		return;
	}
	if (p->timed)
		count(&p->of[p->many], now_ns() - p->since, p->work);
	else
		memset(p->of, 0, sizeof(p->of));
	p->timed = false;
	if (p->turn == 2 * TURNS) {
		decide(p);
		return;
	}
	p->many = p->turn++ & 1;
	begin(p, SETTLE);
}

uint32_t twin_pace(struct wse_machine *m, uint32_t threads)
{
	struct twin_pace *p = m->pace;

	if (threads == 1 || m->cfg.flags & TWIN_MODEL_PARTS)
		return threads;
	if (!p->left)
		turn(p);
	p->left--;
	return p->many ? threads : 1;
}
