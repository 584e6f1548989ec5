// SPDX-License-Identifier: MIT
/* Engines: the queues in front of them, start and completion of their instructions. */
#include <string.h>

#include "twin/exact/engine.h"
#include "twin/twin.h"

void wse_tensor_fault(struct wse_mesh *m, struct wse_core *c, uint32_t cause, uint32_t color,
		      uint32_t value)
{
	wse_core_fault(m, c, cause, c->pc, 0, color, value);
}

void wse_engine_next(struct wse_engine *e)
{
	uint32_t i;

	for (i = 0; i < e->n; i++)
		e->q[i] = e->q[i + 1];
}

static bool begin(struct wse_mesh *m, struct wse_core *c, struct wse_engine *e, unsigned int which)
{
	uint32_t cause = m->fast ? m->fast->check(m, e, which) : wse_engine_check(e, which);

	if (unlikely(cause)) {
		wse_tensor_fault(m, c, cause, ~0u, 0);
		return false;
	}
	wse_engine_start(m, c, e, which);
	return true;
}

bool wse_engine_run(struct wse_mesh *m, struct wse_core *c, unsigned int which)
{
	struct wse_engine *e = &c->eng[which];
	bool any = false, did;

	while (e->n && c->run == WSE_CORE_RUNNING) {
		if (c->ecyc[which] >= m->equantum) {
			wse_wake(m, c);
			break;
		}
		if (!e->started) {
			m->moved = true;
			if (!begin(m, c, e, which))
				return true;
			if (c->ecyc[which] >= m->equantum)
				continue;
		}
		if (wse_engine_waits(c, e, which == WSE_ENGINE_L))
			break;
		if (which != WSE_ENGINE_L)
			did = wse_run_mover(m, c, e, which);
		else if (wse_is_stream(e->op))
			did = wse_run_stream(m, c, e);
		else
			did = m->fast ? m->fast->run_vector(m, c, e) : wse_run_vector(m, c, e);
		any |= did;
		if (!did)
			break;
	}
	return any;
}

static inline bool engine_once(struct wse_mesh *m, struct wse_core *c, unsigned int which)
{
	struct wse_engine *e = &c->eng[which];

	return e->n && !wse_engine_waits(c, e, which == WSE_ENGINE_L) && wse_engine_run(m, c, which);
}

static inline bool engines_once(struct wse_mesh *m, struct wse_core *c)
{
	unsigned int first, i;
	bool any;

	if (unlikely(m->shuffle)) {
		first = wse_shuffle_below(m, 3);
		for (any = false, i = 0; i < 3; i++)
			any |= engine_once(m, c, (first + i) % 3);
		return any;
	}
	any = engine_once(m, c, WSE_ENGINE_L);
	any |= engine_once(m, c, WSE_ENGINE_M0);
	any |= engine_once(m, c, WSE_ENGINE_M1);
	return any;
}

void wse_engines_run(struct wse_mesh *m, struct wse_core *c)
{
	bool any;

	do {
		any = engines_once(m, c);
		if (m->nwork)
			wse_fabric_drain(m);
		m->moved |= any;
	} while (any && c->run == WSE_CORE_RUNNING);
}

bool wse_issue(struct wse_mesh *m, struct wse_core *c, uint32_t tcw, uint32_t scalar)
{
	unsigned int which = (tcw & WSE_TCW_ENGINE_MASK) >> WSE_TCW_ENGINE_SHIFT;
	struct wse_engine *e;
	struct wse_tins *t;

	if (which > WSE_ENGINE_M1) {
		wse_tensor_fault(m, c, WSE_CAUSE_BAD_DSR, ~0u, 0);
		return true; /* as any ISSUE whose instruction is refused later */
	}
	e = &c->eng[which];
	if (e->n == 1 + WSE_ENGINE_DEPTH) {
		wse_engines_run(m, c);
		if (c->run != WSE_CORE_RUNNING || e->n == 1 + WSE_ENGINE_DEPTH)
			return false;
	}
	t = &e->q[e->n++];
	t->tcw = tcw;
	t->scalar = scalar;
	memcpy(t->dsr[0], c->dsr[(tcw & WSE_TCW_DST_MASK) >> WSE_TCW_DST_SHIFT], sizeof(t->dsr[0]));
	memcpy(t->dsr[1], c->dsr[(tcw & WSE_TCW_SRC1_MASK) >> WSE_TCW_SRC1_SHIFT],
	       sizeof(t->dsr[0]));
	memcpy(t->dsr[2], c->dsr[(tcw & WSE_TCW_SRC2_MASK) >> WSE_TCW_SRC2_SHIFT],
	       sizeof(t->dsr[0]));
	m->moved = true;
	if (unlikely(m->races != NULL))
		wse_races_issue(m, c, which, t);
	if (e->n != 1)
		return true;
	/* the others have nothing new to do unless this one does something */
	if (unlikely(m->shuffle) || wse_engine_run(m, c, which) || m->nwork)
		wse_engines_run(m, c);
	return true;
}
