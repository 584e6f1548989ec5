// SPDX-License-Identifier: MIT
/* The movers, element by element with exact queue capacities. Whole runs between cores are
 * runs.c's. */
#include <string.h>

#include "twin/exact/operand.h"

enum got { GOT, GOT_END, NOT_YET, FAULTED };

static uint32_t load(const struct twin_core *c, const struct twin_opnd *o)
{
	uint32_t v;

	twin_opnd_load(c, o, &v, 1);
	return v;
}

static void step(struct twin_opnd *o, bool new_row)
{
	if (!twin_opnd_is_store(o))
		return;
	if (new_row)
		o->pos = o->row += o->stride1;
	else
		o->pos += o->stride;
}

/* one element further; true: it was the last */
static bool advance(struct twin_engine *e)
{
	bool row;

	if (e->until_end)
		return false;
	row = !--e->inner;
	if (row) {
		e->inner = e->width;
		if (!--e->outer)
			return true;
	}
	step(&e->o[OPND_DST], row);
	step(&e->o[OPND_SRC1], row);
	step(&e->o[OPND_SRC2], row);
	return false;
}

static enum got bad_ctrl(struct twin_mesh *m, struct twin_core *c, int color, uint32_t value)
{
	twin_tensor_fault(m, c, WSE_CAUSE_BAD_CTRL, color < 0 ? ~0u : (uint32_t)color, value);
	return FAULTED;
}

/* what the DOT queue offers; nothing is taken but an END mark that counts */
static enum got peek_dotq(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e,
			  uint32_t *v)
{
	if (!c->dotq.count)
		return NOT_YET;
	if (c->dotq.end >> c->dotq.head & 1)
		return e->until_end ? GOT_END : bad_ctrl(m, c, -1, 0);
	*v = c->dotq.data[c->dotq.head];
	return GOT;
}

static void pop_dotq(struct twin_core *c)
{
	c->dotq.head = (c->dotq.head + 1) % WSE_DOTQ_DEPTH;
	c->dotq.count--;
}

static enum got peek_fabric(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e,
			    bool marks, uint32_t *v)
{
	unsigned int color = e->o[OPND_SRC1].color;
	bool ctrl;

	if (!c->recv[color].count)
		return NOT_YET;
	*v = chan_head(&c->recv[color], &ctrl);
	if (!ctrl)
		return GOT;
	return marks && *v & WSE_CTRLW_END_MASK ? GOT_END : bad_ctrl(m, c, color, *v);
}

void twin_mover_finish(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e)
{
	if (e->q[0].tcw & WSE_TCW_SEND_END_MASK)
		e->end_left = true;
	else
		twin_engine_complete(m, c, e);
}

uint32_t twin_midx(const struct twin_engine *e, uint32_t v, uint32_t f, uint32_t left)
{
	return (uint32_t)twin_bf16_round(v) << 16 | f << 14 |
	       (e->q[0].scalar + e->o[OPND_SRC1].len1 - left);
}

/* one element or END mark; false: it waits or the core has faulted */
static bool element(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e)
{
	struct twin_opnd *d = &e->o[OPND_DST], *a = &e->o[OPND_SRC1], *b = &e->o[OPND_SRC2];
	bool dot_b = e->op == WSE_TOP_MADD && b->kind == WSE_KIND_DOTQ;
	enum got ga = GOT, gb = GOT;
	uint32_t v = 0, w = 0;

	e->wait = -1;
	if (dot_b) {
		gb = peek_dotq(m, c, e, &w);
		if (gb == FAULTED)
			return false;
		if (gb == GOT_END) {
			pop_dotq(c);
			if (!--e->outer)
				twin_mover_finish(m, c, e);
			return true;
		}
	}
	if (a->kind == WSE_KIND_FABIN)
		ga = peek_fabric(m, c, e, e->until_end && !dot_b, &v);
	else if (a->kind == WSE_KIND_DOTQ)
		ga = peek_dotq(m, c, e, &v);
	else
		v = load(c, a);
	if (ga == FAULTED)
		return false;
	if (ga == GOT_END) {
		if (a->kind == WSE_KIND_DOTQ)
			pop_dotq(c);
		else
			twin_recv_pop(m, c, a->color);
		if (!--e->outer)
			twin_mover_finish(m, c, e);
		return true;
	}
	if (ga == NOT_YET || gb == NOT_YET) {
		if (a->kind == WSE_KIND_FABIN && ga == NOT_YET)
			e->wait = a->color;
		return false;
	}
	if (d->kind == WSE_KIND_FABOUT && chan_full(&c->in[WSE_PORT_R][d->color])) {
		twin_fabric_drain(m);
		if (chan_full(&c->in[WSE_PORT_R][d->color])) {
			e->wait = d->color;
			return false;
		}
	}
	if (a->kind == WSE_KIND_FABIN)
		twin_recv_pop(m, c, a->color);
	else if (a->kind == WSE_KIND_DOTQ)
		pop_dotq(c);
	if (dot_b)
		pop_dotq(c);
	else if (e->op == WSE_TOP_MADD)
		w = load(c, b);
	if (e->op == WSE_TOP_MADD)
		v = twin_fadd(v, w);
	if (e->op == WSE_TOP_MIDX)
		v = twin_midx(e, v, e->width - e->inner, e->outer);
	if (d->kind == WSE_KIND_FABOUT)
		twin_send(m, c, d->color, v, false);
	else
		twin_opnd_store(c, d, &v, 1);
	if (e->op == WSE_TOP_MTEE)
		twin_opnd_store(c, b, &v, 1);
	if (advance(e))
		twin_mover_finish(m, c, e);
	return true;
}

bool twin_run_mover(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e,
		    unsigned int which)
{
	bool any = false;

	while (e->n && e->started && c->ecyc[which] < m->equantum) {
		if (e->end_left) {
			if (chan_full(&c->in[WSE_PORT_R][e->out])) {
				e->wait = e->out;
				break;
			}
			twin_send(m, c, e->out, WSE_CTRLW_END_MASK, true);
			twin_engine_complete(m, c, e);
		} else if ((e->batched && !e->step_singly) || !element(m, c, e)) {
			break;
		}
		any = true;
		c->ecyc[which]++;
	}
	if (e->n && e->started)
		e->step_singly = false;
	return any;
}
