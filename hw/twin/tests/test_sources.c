// SPDX-License-Identifier: MIT
/*
 * The list of movers in a round: a mover that has ended leaves a gap, and a core that goes on may
 * begin it again in the same round, while the list is full. The sanitizer sees what is written
 * behind the list.
 */
#include "check.h"
#include "rig.h"
#include "twin/exact/engine.h"
#include "twin/twin.h"

static struct rig r;

static void begin(struct twin_mesh *p, struct twin_core *c, unsigned int which)
{
	struct twin_engine *e = &c->eng[which];

	e->n = 1;
	e->batched = true;
	e->claim = -1;
	e->op = WSE_TOP_MOVE;
	twin_engine_start(p, c, e, which);
}

/* the run of the second mover: its core goes on and begins the first one again, once */
static bool run(void *arg, struct twin_mesh *p, struct twin_core *c, unsigned int which,
		bool *crosses)
{
	uint32_t *runs = arg;

	*crosses = false;
	if (++*runs == 1)
		begin(p, c, WSE_ENGINE_M0);
	else if (which == WSE_ENGINE_M0)
		*runs += 100;
	return true;
}

int main(void)
{
	struct twin_mesh *p;
	struct twin_band *b;
	struct twin_core *c;
	uint32_t runs = 0;

	if (!ok(rig_open(&r, 0), "a core"))
		return tap_end();
	p = r.m->mesh;
	b = p->band;
	c = &r.m->core[0];
	c->run = WSE_CORE_RUNNING;
	begin(p, c, WSE_ENGINE_M0);
	begin(p, c, WSE_ENGINE_M1);
	is(b->nsources, 2 * b->ncores, "a full list");
	c->eng[WSE_ENGINE_M0].n = 0;
	ok(twin_movers_run(p, b, ANYWHERE, run, &runs), "runs pass");
	is(runs, 102, "the second mover's, and that of the first, which has begun again behind it");
	is(b->nsources, 2, "a full list again");
	is(b->source[0], WSE_ENGINE_M1, "in the order in which they began");
	is(b->source[1], WSE_ENGINE_M0, "each once");
	for (int i = 0; i < 3; i++)
		c->eng[i].n = 0;
	r.ops->destroy(r.m);
	return tap_end();
}
