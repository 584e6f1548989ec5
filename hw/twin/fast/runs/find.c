// SPDX-License-Identifier: MIT
/*
 * What a source feeds: follows routes to everything that would consume a run right now. If every
 * channel on the way is empty, every consumer runs and every join has both of its inputs in the
 * flow, n elements can pass through all of it one after the other and leave every channel as empty
 * as it was. Nothing is changed here but the list of what was found.
 */
#include <stdlib.h>
#include <string.h>

#include "twin/fast/runs/runs.h"

int twin_runs_open(struct flows *b, const struct wse_machine *m)
{
	size_t cap = (size_t)m->ncores * 3 + m->cols;

	memset(b, 0, sizeof(*b));
	b->node = calloc(cap, sizeof(*b->node));
	b->order = calloc(cap, sizeof(*b->order));
	b->parts = calloc(cap, sizeof(*b->parts));
	b->sink = calloc(cap, sizeof(*b->sink));
	b->slot = calloc(cap, sizeof(*b->slot));
	b->stack = calloc((size_t)m->ncores * 5, sizeof(*b->stack));
	return b->node && b->order && b->parts && b->sink && b->slot && b->stack ? 0 : -1;
}

void twin_runs_close(struct flows *b)
{
	free(b->node);
	free(b->order);
	free(b->parts);
	free(b->sink);
	free(b->slot);
	free(b->stack);
	free(b->trail);
}

static void forget(struct flows *b, uint32_t first)
{
	uint32_t i;

	for (i = first; i < b->nnodes; i++)
		b->slot[b->node[i].slot] = 0;
	b->nnodes = first;
}

void twin_runs_clear(struct flows *b)
{
	forget(b, 0);
	b->norder = b->nsinks = b->ntrail = 0;
}

void twin_runs_limit(struct flows *b, const struct twin_mesh *part, int32_t col)
{
	b->limited = part || col >= 0;
	b->part = part;
	b->col = col;
}

void twin_runs_begin(struct flows *b, struct flow *s)
{
	*s = (struct flow){.b = b,
			   .node = b->nnodes,
			   .order = b->norder,
			   .sink = b->nsinks,
			   .trail = b->ntrail};
	b->hops = 0;
	b->crosses_part = false;
}

void twin_runs_give_up(struct flow *s)
{
	struct flows *b = s->b;

	forget(b, s->node);
	b->norder = s->order;
	b->nsinks = s->sink;
	b->ntrail = s->trail;
	s->n = 0;
	s->end = false;
}

static struct node *new_node(struct flows *b, uint32_t slot, struct twin_core *c)
{
	struct node *n = &b->node[b->nnodes++];

	b->slot[slot] = b->nnodes;
	n->slot = slot;
	n->c = c;
	n->e = NULL;
	n->port = NULL;
	n->fab = NULL;
	n->which = 0xff; /* a port's */
	n->got_fab = n->got_dot = n->need_fab = n->need_dot = false;
	n->first = n->sinks = 0;
	return n;
}

static struct node *node_of(struct flows *b, struct twin_core *c, unsigned int which)
{
	uint32_t slot = c->idx * 3 + which;
	struct node *n;

	if (b->slot[slot])
		return &b->node[b->slot[slot] - 1];
	n = new_node(b, slot, c);
	n->e = &c->eng[which];
	n->which = which;
	if (which == WSE_ENGINE_L) {
		n->need_fab = true;
	} else {
		n->need_fab = n->e->o[OPND_SRC1].kind == WSE_KIND_FABIN;
		n->need_dot = n->e->o[OPND_SRC1].kind == WSE_KIND_DOTQ ||
			      n->e->o[OPND_SRC2].kind == WSE_KIND_DOTQ;
	}
	return n;
}

/* once all its inputs are in the flow, a node's outputs are followed */
static void offer(struct flows *b, struct node *n)
{
	if (n->need_fab <= n->got_fab && n->need_dot <= n->got_dot)
		b->order[b->norder++] = n - b->node;
}

void twin_runs_source(struct flows *b, struct twin_core *c, unsigned int which)
{
	offer(b, node_of(b, c, which));
}

/* the engine that reads a color at a core's ramp */
static struct node *reader(struct flows *b, struct twin_core *c, unsigned int color)
{
	struct node *n;
	unsigned int i;

	if ((~c->claimed | c->recv_any) >> color & 1 || c->run != WSE_CORE_RUNNING)
		return NULL;
	for (i = 0; i < 3; i++) {
		if (c->eng[i].claim != (int)color || c->eng[i].end_left)
			continue;
		n = node_of(b, c, i);
		return n->got_fab ? NULL : n;
	}
	return NULL;
}

static bool south_port(struct wse_machine *m, struct flows *b, struct twin_core *c,
		       unsigned int color)
{
	struct twin_port_out *p = &m->out[c->col];
	uint32_t slot = m->ncores * 3 + c->col;
	struct node *n;

	if (!p->busy || p->color != color || p->q[color].count || p->pos == p->n || b->slot[slot])
		return false;
	n = new_node(b, slot, c);
	n->port = p;
	n->got_fab = true;
	b->sink[b->nsinks++] = n - b->node;
	offer(b, n);
	return true;
}

/* true: the search ends here, as this core is outside its limits */
static bool beyond(struct flows *b, const struct twin_core *c)
{
	if (likely(!b->limited))
		return false;
	b->crosses_part |= (b->part && c->mesh != b->part) || (b->col >= 0 && c->col != b->col);
	return b->crosses_part;
}

/* the nth router on the way; false: no memory */
static bool leave_trail(struct flows *b, uint32_t n, struct router router)
{
	if (n > b->trail_cap) {
		uint32_t cap = b->trail_cap ? 2 * b->trail_cap : 64;
		struct router *t = realloc(b->trail, cap * sizeof(*t));

		if (!t)
			return false;
		b->trail = t;
		b->trail_cap = cap;
	}
	b->trail[n - 1] = router;
	return true;
}

bool twin_runs_follow(struct wse_machine *m, struct flows *b, struct twin_core *c,
		      unsigned int port, unsigned int color)
{
	static const uint8_t opposite[4] = {WSE_PORT_S, WSE_PORT_W, WSE_PORT_N, WSE_PORT_E};
	uint32_t depth = 0, limit = m->ncores * 5, steps = 0;
	struct twin_core *next;
	struct node *n;
	unsigned int tx, p;

	b->stack[depth++] = c->idx << 3 | port;
	while (depth) {
		c = &m->core[b->stack[--depth] >> 3];
		port = b->stack[depth] & 7;
		tx = c->tx[color];
		if (++steps > limit || c->rx[color] != port || c->in[port][color].count || !tx ||
		    !leave_trail(
			    b, b->ntrail + steps,
			    (struct router){c->idx, (uint8_t)color, (uint8_t)port, (uint8_t)tx}))
			return false;
		if (tx & 1u << WSE_PORT_R) {
			n = reader(b, c, color);
			if (!n)
				return false;
			n->got_fab = true;
			b->sink[b->nsinks++] = n - b->node;
			offer(b, n);
		}
		for (p = 0; p < 4; p++) {
			if (!(tx & 1u << p))
				continue;
			next = twin_neighbour(c->mesh, c, p);
			if (next) {
				if (beyond(b, next) || depth == limit)
					return false;
				b->stack[depth++] = next->idx << 3 | opposite[p];
			} else if (p != WSE_PORT_S || !south_port(m, b, c, color)) {
				return false;
			}
		}
	}
	b->hops += steps;
	b->ntrail += steps;
	return true;
}

static bool follow_dotq(struct flows *b, struct node *dot)
{
	struct twin_core *c = dot->c;
	struct node *n;
	unsigned int i;

	if (c->dotq.count)
		return false;
	for (i = WSE_ENGINE_M0; i <= WSE_ENGINE_M1; i++) {
		struct twin_engine *e = &c->eng[i];

		if (!e->n || !e->started || e->end_left ||
		    (e->o[OPND_SRC1].kind != WSE_KIND_DOTQ &&
		     e->o[OPND_SRC2].kind != WSE_KIND_DOTQ))
			continue;
		n = node_of(b, c, i);
		if (n->got_dot)
			return false;
		n->got_dot = true;
		b->sink[b->nsinks++] = n - b->node;
		offer(b, n);
		return true;
	}
	return false;
}

/* the mover that sends what arrives at a core's ramp on a color; NULL: none does now */
static struct twin_engine *sender(struct wse_machine *m, struct flows *b, struct twin_core **at,
				  unsigned int color)
{
	struct twin_core *c = *at;
	uint32_t steps;
	unsigned int i;

	for (steps = 0; c && steps <= m->ncores && c->rx[color] <= WSE_PORT_R; steps++) {
		if (c->rx[color] != WSE_PORT_R) {
			c = twin_neighbour(c->mesh, c, c->rx[color]);
			if (c && beyond(b, c))
				return NULL;
			continue;
		}
		*at = c;
		for (i = WSE_ENGINE_M0; i <= WSE_ENGINE_M1; i++) {
			struct twin_engine *e = &c->eng[i];

			if (e->n && e->started && !e->end_left && e->out == (int)color)
				return c->run == WSE_CORE_RUNNING ? e : NULL;
		}
		return NULL;
	}
	return NULL;
}

/* a join: adds the producer of a node's second input to the flow; false if there is none */
static bool pull(struct wse_machine *m, struct flow *s)
{
	struct flows *b = s->b;
	uint32_t i, before = b->norder;

	for (i = s->node; i < b->nnodes; i++) {
		struct node *x = &b->node[i], *n;
		struct twin_core *c = x->c;
		struct twin_engine *e;

		if (x->need_dot && !x->got_dot) {
			e = &c->eng[WSE_ENGINE_L];
			if (!e->n || !e->started || !twin_is_stream(e->op) || e->op == WSE_TOP_AXPY)
				return false;
			node_of(b, c, WSE_ENGINE_L);
		}
		if (x->need_fab && !x->got_fab) {
			e = sender(m, b, &c, x->e->claim);
			if (!e)
				return false;
			if (b->slot[c->idx * 3 + (e - c->eng)])
				continue;
			n = node_of(b, c, e - c->eng);
			if (!n->need_fab && !n->need_dot)
				offer(b, n);
		}
	}
	return b->norder > before;
}

/* follows everything that the nodes found so far feed; how many elements can pass, 0: a consumer
 * is not ready */
static uint32_t expand(struct wse_machine *m, struct flow *s, uint32_t n)
{
	struct flows *b = s->b;
	uint32_t i, left, before = s->node - s->order;
	bool stores = false;

	for (i = s->order; i < b->norder || (b->norder + before < b->nnodes && pull(m, s)); i++) {
		struct node *x = &b->node[b->order[i]];

		x->first = b->nsinks;
		if (x->port) {
			left = x->port->n - x->port->pos;
			n = left < n ? left : n;
			continue;
		}
		if (x->which == WSE_ENGINE_L) {
			if (x->e->op != WSE_TOP_AXPY) {
				stores = true;
				if (!follow_dotq(b, x))
					return 0;
			}
		} else {
			stores = true;
			left = twin_runs_left(x->e);
			n = left < n ? left : n;
			if (x->e->out >= 0 && !twin_runs_follow(m, b, x->c, WSE_PORT_R, x->e->out))
				return 0;
		}
		x->sinks = b->nsinks - x->first;
	}
	s->stores = stores;
	return b->norder + before == b->nnodes ? n : 0;
}

bool twin_runs_find(struct wse_machine *m, struct flow *s, uint32_t n)
{
	struct flows *b = s->b;

	s->nsinks = b->nsinks - s->sink;
	s->hops = b->hops;
	s->n = expand(m, s, n);
	s->hops_all = b->hops;
	s->nnodes = b->nnodes - s->node;
	s->norder = b->norder - s->order;
	if (!s->n)
		twin_runs_give_up(s);
	return s->n;
}
