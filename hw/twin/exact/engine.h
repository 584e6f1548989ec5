/* SPDX-License-Identifier: MIT */
/*
 * How an engine begins an instruction and goes on: for engine.c, and for what begins one without
 * its queue.
 */
#ifndef TWIN_EXACT_ENGINE_H
#define TWIN_EXACT_ENGINE_H

#include <string.h>

#include "twin/exact/sources.h"
#include "twin/twin.h"

/* what a stream AXPY takes, and of how many rows: never 0 */
static inline uint32_t twin_takes(uint32_t color, uint32_t features, uint32_t rows)
{
	return rows << 16 | features << 8 | 1u << 7 | color;
}

/* an instruction that passed its checks begins */
static inline void twin_engine_start(struct twin_mesh *m, struct twin_core *c,
				     struct twin_engine *e, unsigned int which)
{
	const struct twin_tins *t = &e->q[0];

	e->started = e->checked = true;
	e->busy_to = m->dev->now;
	if (e->claim >= 0) {
		if (unlikely(m->races != NULL))
			twin_races_claim(m, c, e->claim);
		c->claimed |= 1u << e->claim;
	}
	if (e->op == WSE_TOP_AXPY) {
		if (t->tcw & WSE_TCW_CLEAR_MASK)
			memset(&c->acc[t->dsr[0][0]], 0, (size_t)e->nfeat * e->tokens * 4);
		if (!(c->recv_any >> e->claim & 1))
			*c->takes = twin_takes((uint32_t)e->claim, e->nfeat, e->o[OPND_SRC2].len1);
	}
	if (e->batched) {
		e->step_singly = false;
		e->age = 0;
		if (!(c->listed >> which & 1)) {
			struct twin_band *b = &m->band[c->band];

			c->listed |= 1u << which;
			if (unlikely(b->nsources == 2 * b->ncores))
				twin_sources_close_gap(b);
			b->source[b->nsources++] = c->idx << 2 | which;
		}
	}
	c->ecyc[which] += 2;
}

/* true, as for most calls: the running instruction makes no progress before wavelets arrive */
static inline bool twin_engine_waits(const struct twin_core *c, struct twin_engine *e, bool lanes)
{
	if (!e->started || e->end_left)
		return false;
	if (e->batched)
		return !e->step_singly;
	if (e->claim < 0) {
		if (e->o[OPND_SRC1].kind != WSE_KIND_DOTQ || c->dotq.count)
			return false;
		e->wait = -1;
		return true;
	}
	if (c->recv_any >> e->claim & 1 || (e->o[OPND_SRC2].kind == WSE_KIND_DOTQ && c->dotq.count))
		return false;
	e->wait = lanes ? -1 : e->claim;
	return true;
}

/* true: something was done that others in the core may have waited for */
bool twin_engine_run(struct twin_mesh *m, struct twin_core *c, unsigned int which);

#endif /* TWIN_EXACT_ENGINE_H */
