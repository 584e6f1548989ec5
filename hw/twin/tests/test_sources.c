// SPDX-License-Identifier: MIT
/*
 * The list of movers in a round: a mover that has ended leaves a gap, and a core that goes on may
 * begin it again in the same round, while the list is full. The sanitizer sees what is written
 * behind the list.
 *
 * And a mover that nothing takes from: however long others go on, it keeps no tile busy in the end.
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

/* core 0 has a mover to a color without a route; core 1 counts for 200 rounds */
static void test_stuck(uint32_t flags)
{
	enum wse_stop why;

	if (!ok(rig_open_row(&r, flags, 2), "two cores"))
		return;
	for (uint32_t core = 0; core < 2; core++) {
		struct code c = rig_code(&r);

		dsr(&c, 0, 0, d1(10, 1), d1(1, 0), kind(WSE_KIND_FABOUT, WSE_DT_FP32));
		dsr(&c, 1, WSE_SRAM_BASE + 0x4000, d1(10, 4), d1(1, 0),
		    kind(WSE_KIND_MEM, WSE_DT_FP32));
		if (!core)
			issue(&c, tcw(WSE_ENGINE_M0, WSE_TOP_MOVE, 0, 1, 0), 0);
		li(&c, 7, 200 * TWIN_QUANTUM / 2);
		put(&c, 7u << 15 | 0xfffu << 20 | 7u << 7 | 0x13); /* addi x7, x7, -1 */
		if (core)
			put(&c, 0xfe039ee3); /* bne x7, x0, -4 */
		park(&c);
		r.ops->poke(r.m, core, WSE_SRAM_BASE, r.image, sizeof(r.image));
		r.ops->boot(r.m, core, WSE_SRAM_BASE + CODE_AT);
	}
	why = r.ops->advance(r.m, 210000, NULL);
	is(r.m->core[1].done, true, "the other core has ended");
	is(r.m->core[0].eng[WSE_ENGINE_M0].n, 1, "the mover waits");
	ok(why == WSE_STOP_IDLE, "the tile is idle then");
	r.ops->destroy(r.m);
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
	test_stuck(0);
	test_stuck(WSE_MACHINE_EXACT);
	return tap_end();
}
