// SPDX-License-Identifier: MIT
/* Engines: the queues in front of them, start and completion of their instructions. */
#include <string.h>

#include "twin/exact/engine.h"
#include "twin/twin.h"

void twin_tensor_fault(struct twin_mesh *m, struct twin_core *c, uint32_t cause, uint32_t color,
		       uint32_t value)
{
	twin_core_fault(m, c, cause, c->pc, 0, color, value);
}

void twin_engine_next(struct twin_engine *e)
{
	uint32_t i;

	for (i = 0; i < e->n; i++)
		e->q[i] = e->q[i + 1];
}

static bool begin(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e,
		  unsigned int which)
{
	uint32_t cause = m->fast ? m->fast->check(m, e, which) : twin_engine_check(e, which);

	if (unlikely(m->events != NULL))
		twin_events_engine(m, c, e, false);
	if (unlikely(cause)) {
		twin_tensor_fault(m, c, cause, ~0u, 0);
		return false;
	}
	twin_engine_start(m, c, e, which);
	return true;
}

bool twin_engine_run(struct twin_mesh *m, struct twin_core *c, unsigned int which)
{
	struct twin_engine *e = &c->eng[which];
	bool any = false, did;

	while (e->n && c->run == WSE_CORE_RUNNING) {
		if (c->ecyc[which] >= m->equantum) {
			twin_wake(m, c);
			break;
		}
		if (!e->started) {
			m->moved = true;
			if (!begin(m, c, e, which))
				return true;
			if (c->ecyc[which] >= m->equantum)
				continue;
		}
		if (twin_engine_waits(c, e, which == WSE_ENGINE_L))
			break;
		if (which != WSE_ENGINE_L)
			did = twin_run_mover(m, c, e, which);
		else if (twin_is_stream(e->op))
			did = twin_run_stream(m, c, e);
		else
			did = m->fast ? m->fast->run_vector(m, c, e) : twin_run_vector(m, c, e);
		any |= did;
		if (!did)
			break;
	}
	return any;
}

static inline bool engine_once(struct twin_mesh *m, struct twin_core *c, unsigned int which)
{
	struct twin_engine *e = &c->eng[which];

	return e->n && !twin_engine_waits(c, e, which == WSE_ENGINE_L) &&
	       twin_engine_run(m, c, which);
}

static inline bool engines_once(struct twin_mesh *m, struct twin_core *c)
{
	unsigned int first, i;
	bool any;

	if (unlikely(m->shuffle)) {
		first = twin_shuffle_below(m, 3);
		for (any = false, i = 0; i < 3; i++)
			any |= engine_once(m, c, (first + i) % 3);
		return any;
	}
	any = engine_once(m, c, WSE_ENGINE_L);
	any |= engine_once(m, c, WSE_ENGINE_M0);
	any |= engine_once(m, c, WSE_ENGINE_M1);
	return any;
}

void twin_engines_run(struct twin_mesh *m, struct twin_core *c)
{
	bool any;

	do {
		any = engines_once(m, c);
		if (m->nwork)
			twin_fabric_drain(m);
		m->moved |= any;
	} while (any && c->run == WSE_CORE_RUNNING);
}

bool twin_issue(struct twin_mesh *m, struct twin_core *c, uint32_t tcw, uint32_t scalar)
{
	const uint32_t *const dsr[3] = TWIN_DSRS(c, tcw);
	unsigned int which = TWIN_TCW_FIELD(tcw, ENGINE), i;
	struct twin_engine *e;
	struct twin_tins *t;

	if (which > WSE_ENGINE_M1) {
		twin_tensor_fault(m, c, WSE_CAUSE_BAD_DSR, ~0u, 0);
		return true; /* as any ISSUE whose instruction is refused later */
	}
	e = &c->eng[which];
	if (e->n == 1 + WSE_ENGINE_DEPTH) {
		twin_engines_run(m, c);
		if (c->run != WSE_CORE_RUNNING || e->n == 1 + WSE_ENGINE_DEPTH)
			return false;
	}
	t = &e->q[e->n++];
	t->tcw = tcw;
	t->scalar = scalar;
	for (i = 0; i < 3; i++)
		memcpy(t->dsr[i], dsr[i], sizeof(t->dsr[i]));
	m->moved = true;
	if (unlikely(m->races != NULL))
		twin_races_issue(m, c, which, t);
	if (e->n != 1)
		return true;
	/* the others have nothing new to do unless this one does something */
	if (unlikely(m->shuffle) || twin_engine_run(m, c, which) || m->nwork)
		twin_engines_run(m, c);
	return true;
}
