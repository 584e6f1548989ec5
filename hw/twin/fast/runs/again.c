// SPDX-License-Identifier: MIT
/*
 * The flow that a source fed the last time. Kernels send block after block to the same engines by
 * the same routes, so the flow is kept. What find.c checks on its way is checked in a row: the
 * routes, the channels, the readers and what their instructions do. Where all of it is unchanged
 * find.c would find the same flow; where anything has changed, find.c searches.
 */
#include <stdlib.h>
#include <string.h>

#include "twin/exact/engine.h"
#include "twin/fast/runs/runs.h"

#define MOST_NODES   256u /* of a flow that is kept */
#define MOST_ROUTERS 512u

static bool same_routers(const struct wse_machine *m, const struct kept_set *f)
{
	const struct router *r = f->b.trail, *end = r + f->b.ntrail;
	uint32_t bad = 0;

	for (; r < end; r++) {
		const struct twin_core *c = &m->core[r->core];

		bad |= (uint32_t)(c->rx[r->color] ^ r->port) | (uint32_t)(c->tx[r->color] ^ r->tx) |
		       c->in[r->port][r->color].count;
	}
	return !bad;
}

/* routes that were written in the parts that the flow lies in, and wavelets on the way there */
static uint32_t routes_of(const struct wse_machine *m, const struct kept_set *f, uint32_t *inside)
{
	const struct twin_mesh *p = f->b.part ? f->b.part : m->mesh;
	const struct twin_mesh *end = f->b.part ? p + 1 : p + m->nmesh;
	uint32_t routes = 0;

	for (*inside = 0; p < end; p++) {
		routes += p->routes;
		*inside += p->inside;
	}
	return routes;
}

/*
 * are the routes as they were, with nothing on them? Mostly the counts of writes and wavelets tell.
 */
static bool same_way(const struct wse_machine *m, struct kept_set *f)
{
	uint32_t inside, routes = routes_of(m, f, &inside);

	if (routes == f->routes && !inside)
		return true;
	if (!same_routers(m, f))
		return false;
	f->routes = routes;
	return true;
}

/*
 * what has to be the same of an engine's running instruction: members end_left to src2, as a word
 */
static uint64_t state_of(const struct twin_engine *e)
{
	uint64_t v;

	_Static_assert(
		offsetof(struct twin_engine, src2) - offsetof(struct twin_engine, end_left) == 7,
		"a word");
	memcpy(&v, &e->end_left, sizeof(v));
	return v;
}

/* would a reader of the DOT queue that is asked first take it? */
static bool takes_dot(const struct twin_engine *e)
{
	return e->n && e->started && !e->end_left &&
	       (e->o[OPND_SRC1].kind == WSE_KIND_DOTQ || e->o[OPND_SRC2].kind == WSE_KIND_DOTQ);
}

static bool same_engine(const struct node *x, uint64_t state)
{
	const struct twin_engine *e = x->e;
	const struct twin_core *c = x->c;
	unsigned int i;

	if (!e->started || state_of(e) != state || c->run != WSE_CORE_RUNNING)
		return false;
	if (x->need_fab) {
		if (c->recv_any >> e->claim & 1)
			return false;
		for (i = 0; i < x->which; i++) /* readers that are asked first */
			if (c->eng[i].claim == e->claim)
				return false;
	}
	return !x->need_dot || (!c->dotq.count &&
				(x->which == WSE_ENGINE_M0 || !takes_dot(&c->eng[WSE_ENGINE_M0])));
}

bool twin_runs_again(struct wse_machine *m, struct kept_set *f, unsigned int color, uint32_t n,
		     struct flow *s)
{
	uint32_t i, left;

	/* what is sent enters the first router: a port may send another color now */
	if (!f->s.b || !n || f->b.trail[0].color != color || !same_way(m, f))
		return false;
	for (i = 0; i < f->s.nnodes; i++) {
		struct node *x = &f->b.node[i];

		if (x->port) {
			const struct twin_port_out *p = x->port;
			uint64_t color = f->state[i];

			if (!p->busy || p->color != color || p->q[color].count)
				return false;
			left = p->n - p->pos;
		} else {
			if (!same_engine(x, f->state[i]))
				return false;
			left = x->which == WSE_ENGINE_L ? n : twin_runs_left(x->e);
		}
		n = left < n ? left : n;
	}
	if (!n)
		return false;
	*s = f->s;
	s->n = n;
	return true;
}

bool twin_runs_again_axpy(struct wse_machine *m, struct kept_set *f, const struct twin_port_in *p)
{
	const uint32_t *takes = &m->takes[(p - m->in) * m->rows];
	uint32_t rows = p->dense ? p->n / p->dense : 0, bad = 0, want, i;

	if (!rows || !f->rows || f->b.trail[0].color != p->color || !same_way(m, f))
		return false;
	want = twin_takes(p->color, p->dense, 0);
	for (i = 0; i < f->rows; i++)
		bad |= (uint32_t)(uint16_t)(takes[i] ^ want) | (takes[i] >> 16 < rows);
	return !bad;
}

void twin_runs_settle_set(struct wse_machine *m, struct kept_set *f)
{
	if (f->crossed)
		twin_runs_count(m, &f->s, f->s.hops_all, f->crossed);
	if (f->ended)
		twin_runs_count(m, &f->s, f->s.hops, f->ended);
	f->crossed = f->ended = 0;
}

/* how many, if the nodes are lanes with an AXPY, of a column's rows from its first one; else 0 */
static uint32_t rows_of(const struct flow *s)
{
	uint32_t i;

	for (i = 0; i < s->nnodes; i++) {
		const struct node *x = &s->b->node[s->node + i];

		if (x->port || x->which != WSE_ENGINE_L || x->e->op != WSE_TOP_AXPY ||
		    x->c->row != i || x->c->col != s->b->node[s->node].c->col)
			return 0;
	}
	return s->nnodes == s->nsinks ? i : 0;
}

static void *put(uint8_t **room, const void *from, size_t bytes)
{
	uint8_t *at = *room;

	*room += bytes;
	return from ? memcpy(at, from, bytes) : at;
}

void twin_runs_keep(struct wse_machine *m, struct kept_set *f, const struct flow *s)
{
	const struct flows *b = s->b;
	uint32_t nsinks = b->nsinks - s->sink, routers = b->ntrail - s->trail, i, inside;
	size_t bytes = s->nnodes * (sizeof(*b->node) + sizeof(*f->state) + sizeof(*b->parts)) +
		       routers * sizeof(*b->trail) + nsinks * sizeof(*b->sink) +
		       s->norder * sizeof(*b->order);
	uint8_t *room = (uint8_t *)f->b.node;

	twin_runs_settle_set(m, f);
	f->s.b = NULL;
	f->rows = 0;
	f->linked = f->crosses_part = false;
	if (s->nnodes > MOST_NODES || routers > MOST_ROUTERS)
		return;
	if (bytes > f->room) {
		free(room);
		f->room = (uint32_t)(bytes + 63) & ~63u;
		room = aligned_alloc(64, f->room);
		if (!room) {
			memset(f, 0, sizeof(*f));
			return;
		}
	}
	/* all in one piece, as a core's flow is a few cache lines, which have left the cache */
	f->b.node = put(&room, b->node + s->node, s->nnodes * sizeof(*b->node));
	f->state = put(&room, NULL, s->nnodes * sizeof(*f->state));
	f->b.trail = put(&room, b->trail + s->trail, routers * sizeof(*b->trail));
	f->b.sink = put(&room, b->sink + s->sink, nsinks * sizeof(*b->sink));
	f->b.order = put(&room, b->order + s->order, s->norder * sizeof(*b->order));
	f->b.parts = put(&room, b->parts + s->node, s->nnodes * sizeof(*b->parts));
	f->rows = rows_of(s);
	for (i = 0; i < s->nnodes; i++) {
		struct node *x = &f->b.node[i];

		x->first -= s->sink;
		f->state[i] = x->port ? x->port->color : state_of(x->e);
	}
	for (i = 0; i < s->norder; i++)
		f->b.order[i] -= s->node;
	for (i = 0; i < nsinks; i++)
		f->b.sink[i] -= s->node;
	f->b.ntrail = routers;
	f->b.nsinks = nsinks;
	f->b.part = b->part;
	f->s = *s;
	f->s.b = &f->b;
	f->s.kept = f;
	f->s.node = f->s.order = f->s.sink = f->s.trail = 0;
	f->routes = routes_of(m, f, &inside);
}

bool twin_runs_leaves(struct kept_set *f, const struct twin_mesh *p)
{
	uint32_t i, inside;

	for (i = 0; i < f->b.ntrail; i++)
		if (f->b.trail[i].core - p->first >= p->ncores)
			return true;
	f->b.part = p->dev->nmesh > 1 ? p : NULL;
	f->routes = routes_of(p->dev, f, &inside);
	return false;
}

void twin_runs_forget(struct kept_set *f)
{
	free(f->b.node);
	memset(f, 0, sizeof(*f));
}
