// SPDX-License-Identifier: MIT
/*
 * Whole runs of wavelets at once. Starting from a source (a north port, or a mover that sends from
 * memory or accumulators) this follows the routes to everything that would consume a run right now:
 * engines that read the color, the engines that their results feed in turn, south ports. If every
 * channel on the way is empty, every consumer runs and every join has both of its inputs in the
 * set, n elements can pass through all of it one after the other and leave every channel as empty
 * as it was: a legal order of events, so it is done node by node with arrays. In all other cases
 * wavelets move one by one through the exact queues (fabric.c), which is where capacities, and
 * hence deadlocks, are decided.
 *
 * Sources are lazy: they hand out single wavelets only when nothing else moves, or when they have
 * waited for a while, so that channels stay empty while consumers get ready.
 */
#include <stdlib.h>
#include <string.h>

#include "bulk.h"
#include "lanes.h"

#define PATIENCE 32    /* rounds a source waits for its consumers while others move */
#define RUN_MAX	 8192u /* wavelets of one run: bounds the work of a round */

static struct bulk *get(struct wse_model *m)
{
	struct bulk *b = m->bulk;

	if (b)
		return b;
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->cap = m->ncores * 3 + m->cols;
	b->node = calloc(b->cap, sizeof(*b->node));
	b->order = calloc(b->cap, sizeof(*b->order));
	b->sink = calloc(b->cap, sizeof(*b->sink));
	b->slot = calloc(b->cap, sizeof(*b->slot));
	b->stack = calloc((size_t)m->ncores * 5, sizeof(*b->stack));
	if (!b->node || !b->order || !b->sink || !b->slot || !b->stack ||
	    !wse_kernels_get(0, &b->k)) {
		m->bulk = b;
		wse_bulk_free(m);
		return NULL;
	}
	m->bulk = b;
	return b;
}

void wse_bulk_free(struct wse_model *m)
{
	struct bulk *b = m->bulk;

	if (!b)
		return;
	free(b->node);
	free(b->order);
	free(b->sink);
	free(b->slot);
	free(b->stack);
	free(b->arena);
	free(b);
	m->bulk = NULL;
}

static void clear(struct bulk *b)
{
	uint32_t i;

	for (i = 0; i < b->nnodes; i++)
		b->slot[b->node[i].slot] = 0;
	b->nnodes = b->norder = b->nsinks = 0;
	b->hops = 0;
}

static struct node *node_of(struct wse_model *m, struct bulk *b, struct wse_core *c,
			    unsigned int which)
{
	uint32_t slot = c->idx * 3 + which;
	struct node *n;

	(void)m;
	if (b->slot[slot])
		return &b->node[b->slot[slot] - 1];
	n = &b->node[b->nnodes++];
	b->slot[slot] = b->nnodes;
	n->slot = slot;
	n->c = c;
	n->e = &c->eng[which];
	n->port = NULL;
	n->which = which;
	n->got_fab = n->got_dot = n->need_dot = false;
	n->first = n->sinks = 0;
	if (which == WSE_ENGINE_L) {
		n->need_fab = true;
	} else {
		n->need_fab = n->e->o[OPND_SRC1].kind == WSE_KIND_FABIN;
		n->need_dot = n->e->o[OPND_SRC1].kind == WSE_KIND_DOTQ ||
			      n->e->o[OPND_SRC2].kind == WSE_KIND_DOTQ;
	}
	return n;
}

/* once all its inputs are in the set, a node's outputs are followed */
static void offer(struct bulk *b, struct node *n)
{
	if (n->need_fab <= n->got_fab && n->need_dot <= n->got_dot)
		b->order[b->norder++] = n - b->node;
}

/* the engine that reads a color at a core's ramp */
static struct node *reader(struct wse_model *m, struct bulk *b, struct wse_core *c,
			   unsigned int color)
{
	struct node *n;
	unsigned int i;

	if (c->recv[color].count || c->run != WSE_CORE_RUNNING)
		return NULL;
	for (i = 0; i < 3; i++) {
		struct wse_engine *e = &c->eng[i];

		if (!e->n || !e->started || e->end_left || e->claim != (int)color)
			continue;
		if (i == WSE_ENGINE_L && !wse_is_stream(e->op))
			continue;
		n = node_of(m, b, c, i);
		return n->got_fab ? NULL : n;
	}
	return NULL;
}

static bool south_port(struct wse_model *m, struct bulk *b, unsigned int col, unsigned int color)
{
	struct wse_port_out *p = &m->out[col];
	uint32_t slot = m->ncores * 3 + col;
	struct node *n;

	if (!p->busy || p->color != color || p->q[color].count || p->pos == p->n || b->slot[slot])
		return false;
	n = &b->node[b->nnodes++];
	memset(n, 0, sizeof(*n));
	b->slot[slot] = b->nnodes;
	n->slot = slot;
	n->port = p;
	n->col = col;
	n->got_fab = true;
	b->sink[b->nsinks++] = n - b->node;
	offer(b, n);
	return true;
}

/* follows a color from an input port of a core to all its readers; false: something on the way is
 * not ready */
static bool follow(struct wse_model *m, struct bulk *b, struct wse_core *c, unsigned int port,
		   unsigned int color)
{
	static const uint8_t opposite[4] = {WSE_PORT_S, WSE_PORT_W, WSE_PORT_N, WSE_PORT_E};
	uint32_t depth = 0, limit = m->ncores * 5, steps = 0;
	struct wse_core *next;
	struct node *n;
	unsigned int tx, p;

	b->stack[depth++] = c->idx << 3 | port;
	while (depth) {
		c = &m->core[b->stack[--depth] >> 3];
		port = b->stack[depth] & 7;
		tx = c->tx[color];
		if (++steps > limit || c->rx[color] != port || c->in[port][color].count || !tx)
			return false;
		if (tx & 1u << WSE_PORT_R) {
			n = reader(m, b, c, color);
			if (!n)
				return false;
			n->got_fab = true;
			b->sink[b->nsinks++] = n - b->node;
			offer(b, n);
		}
		for (p = 0; p < 4; p++) {
			if (!(tx & 1u << p))
				continue;
			next = wse_neighbour(m, c, p);
			if (next) {
				if (depth == limit)
					return false;
				b->stack[depth++] = next->idx << 3 | opposite[p];
			} else if (p != WSE_PORT_S || !south_port(m, b, c->col, color)) {
				return false;
			}
		}
	}
	b->hops += steps;
	return true;
}

static bool follow_dotq(struct wse_model *m, struct bulk *b, struct node *dot)
{
	struct wse_core *c = dot->c;
	struct node *n;
	unsigned int i;

	if (c->dotq.count)
		return false;
	for (i = WSE_ENGINE_M0; i <= WSE_ENGINE_M1; i++) {
		struct wse_engine *e = &c->eng[i];

		if (!e->n || !e->started || e->end_left ||
		    (e->o[OPND_SRC1].kind != WSE_KIND_DOTQ &&
		     e->o[OPND_SRC2].kind != WSE_KIND_DOTQ))
			continue;
		n = node_of(m, b, c, i);
		if (n->got_dot)
			return false;
		n->got_dot = true;
		b->sink[b->nsinks++] = n - b->node;
		offer(b, n);
		return true;
	}
	return false;
}

uint32_t wse_bulk_left(const struct wse_engine *e)
{
	uint64_t left = e->inner + (uint64_t)(e->outer - 1) * e->width;

	if (e->until_end)
		return RUN_MAX;
	return left < RUN_MAX ? left : RUN_MAX;
}

/* the mover that sends what arrives at a core's ramp on a color; NULL: none does now */
static struct wse_engine *sender(struct wse_model *m, struct wse_core **at, unsigned int color)
{
	struct wse_core *c = *at;
	uint32_t steps;
	unsigned int i;

	for (steps = 0; c && steps <= m->ncores && c->rx[color] <= WSE_PORT_R; steps++) {
		if (c->rx[color] != WSE_PORT_R) {
			c = wse_neighbour(m, c, c->rx[color]);
			continue;
		}
		*at = c;
		for (i = WSE_ENGINE_M0; i <= WSE_ENGINE_M1; i++) {
			struct wse_engine *e = &c->eng[i];

			if (e->n && e->started && !e->end_left && e->out == (int)color)
				return c->run == WSE_CORE_RUNNING ? e : NULL;
		}
		return NULL;
	}
	return NULL;
}

/* a join of two sources: brings who gives a node its other input into the set; false: nobody does */
static bool pull(struct wse_model *m, struct bulk *b)
{
	uint32_t i, before = b->norder;

	for (i = 0; i < b->nnodes; i++) {
		struct node *x = &b->node[i], *n;
		struct wse_core *c = x->c;
		struct wse_engine *e;

		if (x->need_dot && !x->got_dot) {
			e = &c->eng[WSE_ENGINE_L];
			if (!e->n || !e->started || !wse_is_stream(e->op) || e->op == WSE_TOP_AXPY)
				return false;
			node_of(m, b, c, WSE_ENGINE_L);
		}
		if (x->need_fab && !x->got_fab) {
			e = sender(m, &c, x->e->claim);
			if (!e)
				return false;
			if (b->slot[c->idx * 3 + (e - c->eng)])
				continue;
			n = node_of(m, b, c, e - c->eng);
			if (!n->need_fab && !n->need_dot)
				offer(b, n);
		}
	}
	return b->norder > before;
}

/* follows everything that the nodes found so far feed; how many elements can pass, 0: not everybody
 * is ready */
static uint32_t expand(struct wse_model *m, struct bulk *b, uint32_t n)
{
	uint32_t i, left;

	for (i = 0; i < b->norder || (b->norder < b->nnodes && pull(m, b)); i++) {
		struct node *x = &b->node[b->order[i]];

		x->first = b->nsinks;
		if (x->port) {
			left = x->port->n - x->port->pos;
			n = left < n ? left : n;
			continue;
		}
		if (x->which == WSE_ENGINE_L) {
			if (x->e->op != WSE_TOP_AXPY && !follow_dotq(m, b, x))
				return 0;
		} else {
			left = wse_bulk_left(x->e);
			n = left < n ? left : n;
			if (x->e->out >= 0 && !follow(m, b, x->c, WSE_PORT_R, x->e->out))
				return 0;
		}
		x->sinks = b->nsinks - x->first;
	}
	return b->norder == b->nnodes ? n : 0;
}

/* all that a north port feeds are lanes that can do without wavelets: no index is refused */
static bool takes_values(const struct bulk *b, uint32_t sinks, const struct wse_port_in *p)
{
	uint32_t i;

	for (i = 0; i < sinks && p->dense; i++) {
		const struct node *x = &b->node[b->sink[i]];

		if (x->port || x->which != WSE_ENGINE_L || x->e->nfeat != p->dense ||
		    x->e->o[OPND_SRC2].len1 < p->n / p->dense)
			return false;
	}
	return p->dense;
}

/*
 * The END of a block, once all its readers (the sinks) are lanes that wait for it. It goes to them
 * at once when it would only pass through; false: it has to go by the queues.
 */
static bool pass_end(struct wse_model *m, struct bulk *b, uint32_t sinks, uint32_t hops,
		     struct wse_port_in *p)
{
	uint32_t i;

	for (i = 0; i < sinks; i++) {
		const struct node *x = &b->node[b->sink[i]];

		if (x->port || x->which != WSE_ENGINE_L || x->c->run != WSE_CORE_RUNNING ||
		    (x->e->op == WSE_TOP_DOT && x->c->dotq.count == WSE_DOTQ_DEPTH))
			return false;
	}
	for (i = 0; i < sinks; i++) {
		struct node *x = &b->node[b->sink[i]];

		if (x->e->op == WSE_TOP_DOT)
			wse_dotq_push(x->c, 0, true);
		wse_engine_complete(m, x->c, x->e);
		wse_wake(m, x->c);
	}
	p->end_due = false;
	m->cnt_wavelet += hops;
	if (!m->round)
		m->round = 1;
	return true;
}

/* a run from a north port */
static bool port_run(struct wse_model *m, struct bulk *b, unsigned int col)
{
	struct wse_port_in *p = &m->in[col];
	uint32_t n = p->n - p->pos, sinks, hops;
	bool good;

	if (n > RUN_MAX)
		n = RUN_MAX;
	good = follow(m, b, &m->core[col], WSE_PORT_N, p->color);
	sinks = b->nsinks;
	hops = b->hops;
	n = good ? expand(m, b, n) : 0;
	if (n && wse_bulk_reserve(b, n)) {
		struct run r = {0};

		if (takes_values(b, sinks, p))
			r = (struct run){.v = p->v, .at = p->pos, .dense = p->dense};
		else
			r.w = wse_in_words(p) + p->pos;
		wse_bulk_deliver(b, 0, sinks, &r);
		wse_bulk_run(m, b, n);
		p->pos += n;
		/* nothing on the way has changed: whoever took the block takes its END */
		if (p->pos == p->n && p->end_due)
			pass_end(m, b, sinks, hops, p);
	} else {
		n = 0;
	}
	clear(b);
	return n;
}

/* the END of a block goes out when all its readers are engines that wait for it */
static bool port_end(struct wse_model *m, struct bulk *b, unsigned int col)
{
	struct wse_port_in *p = &m->in[col];
	bool good = follow(m, b, &m->core[col], WSE_PORT_N, p->color);
	bool passed = good && pass_end(m, b, b->nsinks, b->hops, p);

	clear(b);
	return passed || (good && wse_in_inject(m, col));
}

/* a run from a mover */
static bool mover_run(struct wse_model *m, struct bulk *b, struct wse_core *c, unsigned int which)
{
	uint32_t n;

	offer(b, node_of(m, b, c, which));
	n = expand(m, b, RUN_MAX);
	if (n && wse_bulk_reserve(b, n))
		wse_bulk_run(m, b, n);
	else
		n = 0;
	clear(b);
	return n;
}

static uint32_t patience(struct wse_model *m)
{
	return likely(!m->shuffle) ? PATIENCE : wse_shuffle_below(m, PATIENCE);
}

static bool run_ports(struct wse_model *m, struct bulk *b)
{
	bool any = false, did;
	uint32_t c;

	for (c = 0; c < m->cols; c++) {
		struct wse_port_in *p = &m->in[c];

		if (!p->busy)
			continue;
		did = false;
		if (p->pos < p->n)
			did = b && port_run(m, b, c);
		if (b && p->pos == p->n && p->end_due)
			did |= port_end(m, b, c);
		if (did)
			p->age = 0;
		else if (++p->age > patience(m))
			did = wse_in_inject(m, c);
		any |= did;
	}
	return any;
}

static bool run_movers(struct wse_model *m, struct bulk *b)
{
	uint32_t i, kept = 0;
	bool any = false, did;

	for (i = 0; i < m->nsources; i++) {
		struct wse_core *c = &m->core[m->source[i] >> 2];
		unsigned int which = m->source[i] & 3;
		struct wse_engine *e = &c->eng[which];

		if (c->run != WSE_CORE_RUNNING || !e->n || !e->started || !e->lazy) {
			c->listed &= ~(1u << which);
			continue;
		}
		m->source[kept++] = m->source[i];
		did = b && !e->end_left && mover_run(m, b, c, which);
		if (did)
			e->age = 0;
		else if (++e->age > patience(m))
			e->hurry = true, wse_wake(m, c);
		any |= did;
	}
	m->nsources = kept;
	return any;
}

/* nothing else moves: sources hand out what their channels hold */
static bool force(struct wse_model *m)
{
	bool any = false;
	uint32_t i;

	for (i = 0; i < m->cols; i++)
		if (m->in[i].busy)
			any |= wse_in_inject(m, i);
	for (i = 0; i < m->nsources; i++) {
		struct wse_core *c = &m->core[m->source[i] >> 2];

		c->eng[m->source[i] & 3].hurry = true;
		wse_engines_run(m, c);
		if (m->moved)
			wse_wake(m, c); /* whoever waits for the mover */
	}
	wse_fabric_drain(m);
	return any;
}

bool wse_bulk(struct wse_model *m)
{
	struct bulk *b = m->cfg.flags & WSE_MODEL_FUNC_EXACT ? NULL : get(m);
	bool any;

	if (unlikely(m->shuffle)) {
		if (wse_shuffle_below(m, 2))
			b = NULL;
		wse_shuffle_list(m, m->source, m->nsources);
	}

	any = run_ports(m, b);
	any |= run_movers(m, b);
	wse_fabric_drain(m);
	if (!any && !m->moved && !m->nrun && !m->nwork)
		any = force(m);
	return any;
}
