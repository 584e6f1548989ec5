// SPDX-License-Identifier: MIT
/* The movers, element by element with exact queue capacities. */
#include <string.h>

#include "twin/exact/operand.h"
#include "twin/exact/sources.h"

enum got { GOT, GOT_END, NOT_YET, FAULTED };

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

/*
 * What a source offers; nothing is taken. marks: END marks count, else each control wavelet is a
 * fault.
 */
static enum got peek(struct twin_mesh *m, struct twin_core *c, const struct twin_opnd *o,
		     bool marks, uint32_t *v)
{
	uint32_t color = ~0u;
	bool ctrl, end;

	if (twin_opnd_is_store(o)) {
		twin_opnd_load(c, o, v, 1);
		return GOT;
	}
	if (o->kind == WSE_KIND_DOTQ) {
		if (!c->dotq.count)
			return NOT_YET;
		*v = c->dotq.data[c->dotq.head];
		ctrl = end = c->dotq.end >> c->dotq.head & 1;
	} else {
		color = o->color;
		if (!c->recv[color].count)
			return NOT_YET;
		*v = chan_head(&c->recv[color], &ctrl);
		end = ctrl && *v & WSE_CTRLW_END_MASK;
	}
	if (!ctrl)
		return GOT;
	if (end && marks)
		return GOT_END;
	twin_tensor_fault(m, c, WSE_CAUSE_BAD_CTRL, color, *v);
	return FAULTED;
}

static void pop(struct twin_mesh *m, struct twin_core *c, const struct twin_opnd *o)
{
	if (o->kind == WSE_KIND_FABIN) {
		twin_recv_pop(m, c, o->color);
	} else if (o->kind == WSE_KIND_DOTQ) {
		c->dotq.head = (c->dotq.head + 1) % WSE_DOTQ_DEPTH;
		c->dotq.count--;
	}
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

/* an END mark that counts */
static bool take_mark(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e,
		      const struct twin_opnd *o)
{
	pop(m, c, o);
	if (!--e->outer)
		twin_mover_finish(m, c, e);
	return true;
}

/* one element or END mark; false: it waits or the core has faulted */
static bool element(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e)
{
	struct twin_opnd *d = &e->o[OPND_DST], *a = &e->o[OPND_SRC1], *b = &e->o[OPND_SRC2];
	bool madd = e->op == WSE_TOP_MADD, dot_b = madd && b->kind == WSE_KIND_DOTQ;
	enum got ga, gb = GOT;
	uint32_t v, w = 0;

	e->wait = -1;
	if (madd)
		gb = peek(m, c, b, e->until_end, &w);
	if (gb == FAULTED)
		return false;
	if (gb == GOT_END)
		return take_mark(m, c, e, b);
	ga = peek(m, c, a, e->until_end && !dot_b, &v);
	if (ga == GOT_END)
		return take_mark(m, c, e, a);
	if (ga != GOT || gb != GOT) {
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
	pop(m, c, a);
	if (madd) {
		pop(m, c, b);
		v = twin_fadd(v, w);
	}
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
	if (e->n && e->started) {
		if (e->step_singly && !any)
			twin_source_waits(m, e);
		e->step_singly = false;
	}
	return any;
}
