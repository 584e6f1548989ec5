// SPDX-License-Identifier: MIT
/*
 * Whole runs of wavelets at once. Starting from a source (a north port, or a mover that sends from
 * memory or accumulators) find.c follows the routes to everything that would consume a run right
 * now: engines that read the color, the engines that their results feed in turn, south ports. What it
 * finds can pass n elements on one after the other: a legal order of events, so it is done node by
 * node with arrays (pass.c). In all other cases wavelets move one by one through the exact queues
 * (fabric.c), which is where capacities, and hence deadlocks, are decided.
 *
 * In a tile of several parts those ports come first that feed nothing outside their columns, then
 * movers that feed nothing outside their parts, then the rest: the first two in any number of threads
 * (columns.c), as such sets do not touch each other.
 */
#include <stdlib.h>
#include <string.h>

#include "twin/fast/runs/runs.h"

static struct bulk_worker *new_worker(const struct wse_model *m)
{
	struct bulk_worker *w = aligned_alloc(64, sizeof(*w));
	uint32_t i;

	if (!w)
		return NULL;
	memset(w, 0, sizeof(*w));
	w->one.k = m->k;
	for (i = 0; i < WSE_BULK_LAG; i++)
		w->r[i].k = m->k;
	if (!wse_bulk_open(&w->ports, m) && !wse_bulk_open(&w->any, m))
		return w;
	wse_bulk_close(&w->ports);
	wse_bulk_close(&w->any);
	free(w);
	return NULL;
}

static void free_worker(struct bulk_worker *w)
{
	uint32_t i;

	if (!w)
		return;
	wse_bulk_close(&w->ports);
	wse_bulk_close(&w->any);
	free(w->one.v);
	for (i = 0; i < WSE_BULK_LAG; i++)
		free(w->r[i].v);
	free(w);
}

static struct bulks *get(struct wse_model *m)
{
	struct bulks *b = m->bulk;

	if (b)
		return b;
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	m->bulk = b;
	b->set = calloc(m->cols, sizeof(*b->set));
	b->port = calloc(m->cols, sizeof(*b->port));
	b->mover = calloc(2 * (size_t)m->ncores, sizeof(*b->mover));
	if (b->set && b->port && b->mover && wse_bulk_workers(m, 1))
		return b;
	wse_bulk_free(m);
	return NULL;
}

uint32_t wse_bulk_workers(struct wse_model *m, uint32_t n)
{
	struct bulks *b = m->bulk;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (!b->w[i])
			b->w[i] = new_worker(m);
		if (!b->w[i])
			return i;
	}
	return n;
}

void wse_bulk_free(struct wse_model *m)
{
	struct bulks *b = m->bulk;
	uint32_t i;

	if (!b)
		return;
	for (i = 0; i < WSE_PARTS_MAX; i++)
		free_worker(b->w[i]);
	for (i = 0; b->port && i < m->cols; i++)
		wse_bulk_forget(&b->port[i]);
	for (i = 0; b->mover && i < 2 * m->ncores; i++)
		wse_bulk_forget(&b->mover[i]);
	free(b->port);
	free(b->mover);
	free(b->set);
	free(b);
	m->bulk = NULL;
}

void wse_bulk_settle(struct wse_model *m)
{
	struct bulks *b = m->bulk;
	uint32_t i;

	for (i = 0; b && i < m->cols; i++)
		wse_bulk_settle_set(m, &b->port[i]);
	for (i = 0; b && i < 2 * m->ncores; i++)
		wse_bulk_settle_set(m, &b->mover[i]);
}

/* all that a north port feeds are lanes that can do without wavelets: no index is refused */
static bool takes_values(const struct set *s, const struct wse_port_in *p)
{
	uint32_t i;

	for (i = s->sink; i < s->sink + s->nsinks && p->dense; i++) {
		const struct node *x = &s->b->node[s->b->sink[i]];

		if (x->port || x->which != WSE_ENGINE_L || x->e->nfeat != p->dense ||
		    x->e->o[OPND_SRC2].len1 < p->n / p->dense)
			return false;
	}
	return p->dense;
}

/* the set of one source of several, where it is looked for as it was: in a tile of parts those are the sets within
 * them, and those of ports within their columns */
static struct found *last_set(const struct wse_model *m, const struct bulk *b, struct found *f,
			      uint32_t i)
{
	return b->limited == (m->nmesh > 1) && likely(!m->mesh->shuffle) ? &f[i] : NULL;
}

bool wse_bulk_port(struct wse_model *m, struct bulk *b, unsigned int col, struct set *s)
{
	struct wse_port_in *p = &m->in[col];
	uint32_t n = p->n - p->pos < WSE_RUN_MAX ? p->n - p->pos : WSE_RUN_MAX;
	struct found *again = last_set(m, b, ((struct bulks *)m->bulk)->port, col);

	if (!again || !wse_bulk_again(m, again, p->color, n, s)) {
		wse_bulk_begin(b, s);
		if (!n)
			return false;
		if (!wse_bulk_follow(m, b, &m->core[col], WSE_PORT_N, p->color)) {
			wse_bulk_give_up(s);
			return false;
		}
		if (!wse_bulk_find(m, s, n))
			return false;
		if (again)
			wse_bulk_keep(m, again, s);
	}
	s->values = takes_values(s, p);
	s->end = p->end_due && p->pos + s->n == p->n;
	if (s->values)
		wse_bulk_values(&s->run, p->v + p->pos, p->pos, p->dense, p->range);
	else
		s->run = (struct run){.w = wse_in_words(p) + p->pos};
	wse_bulk_deliver(s, s->sink, s->nsinks, &s->run);
	return true;
}

/*
 * The END of a block, once all its readers (the sinks) are lanes that wait for it. It goes to them
 * at once when it would only pass through; false: it has to go by the queues.
 */
static bool pass_end(struct wse_model *m, const struct set *s, struct wse_port_in *p)
{
	uint32_t i;

	for (i = s->sink; i < s->sink + s->nsinks; i++) {
		const struct node *x = &s->b->node[s->b->sink[i]];

		if (x->port || x->which != WSE_ENGINE_L || x->c->run != WSE_CORE_RUNNING ||
		    (x->e->op == WSE_TOP_DOT && x->c->dotq.count == WSE_DOTQ_DEPTH))
			return false;
	}
	for (i = s->sink; i < s->sink + s->nsinks; i++)
		wse_bulk_end(&s->b->node[s->b->sink[i]]);
	wse_bulk_end_crossed(m, s);
	wse_bulk_ended(m, p);
	return true;
}

void wse_bulk_passed(struct wse_model *m, const struct set *s, struct wse_port_in *p)
{
	wse_bulk_went(m->mesh, s);
	m->mesh->ways.values += s->values;
	m->moved = true;
	p->pos += s->n;
	p->age = 0;
	/* nothing on the way has changed: whoever took the block takes its END */
	if (s->end && p->end_due)
		pass_end(m, s, p);
}

/* a run to AXPYs alone that were fed the last time, too: most of a kernel's blocks */
static void run_axpy(struct wse_model *m, struct bulk_worker *w, struct found *f,
		     struct wse_port_in *p)
{
	uint32_t n = p->n - p->pos < WSE_RUN_MAX ? p->n - p->pos : WSE_RUN_MAX;
	bool end = p->end_due && p->pos + n == p->n;
	struct run run;

	wse_bulk_values(&run, p->v + p->pos, p->pos, p->dense, p->range);
	wse_bulk_run_axpy(w->one.k, f, &run, n, end);
	f->crossed += n;
	m->moved = true;
	p->pos += n;
	p->age = 0;
	if (end) {
		f->ended++;
		wse_bulk_ended(m, p);
	}
}

/* a run from a north port */
bool wse_bulk_port_run(struct wse_model *m, struct bulk_worker *w, unsigned int col)
{
	struct wse_port_in *p = &m->in[col];
	struct bulk *b = &w->any;
	struct found *f;
	struct set s;
	bool any;

	wse_bulk_limit(b, NULL, -1);
	f = last_set(m, b, ((struct bulks *)m->bulk)->port, col);
	if (f && f->axpy && p->pos < p->n && wse_bulk_again_axpy(m, f, p)) {
		m->mesh->ways.axpys++;
		run_axpy(m, w, f, p);
		return true;
	}
	any = wse_bulk_port(m, b, col, &s) && wse_bulk_reserve(&w->one, &s);
	if (any) {
		wse_bulk_run(&w->one, &s);
		wse_bulk_crossed(m, &s);
		wse_bulk_passed(m, &s, p);
	}
	wse_bulk_clear(b);
	return any;
}

/* the END of a block goes out when all its readers are engines that wait for it */
bool wse_bulk_port_end(struct wse_model *m, struct bulk_worker *w, unsigned int col)
{
	struct wse_port_in *p = &m->in[col];
	struct bulk *b = &w->any;
	struct set s;
	bool good, passed;

	wse_bulk_limit(b, NULL, -1);
	wse_bulk_begin(b, &s);
	good = wse_bulk_follow(m, b, &m->core[col], WSE_PORT_N, p->color);
	s.nsinks = b->nsinks;
	s.hops = b->hops;
	passed = good && pass_end(m, &s, p);
	wse_bulk_clear(b);
	return passed || (good && wse_in_inject(m, col));
}

/* a run from a mover */
static bool mover_run(struct bulk_worker *w, struct wse_mesh *p, struct wse_core *c,
		      unsigned int which)
{
	struct found *again = last_set(p->dev, &w->any, ((struct bulks *)p->dev->bulk)->mover,
				       2 * c->idx + which - WSE_ENGINE_M0);
	struct bulk *b = &w->any;
	struct set s;
	bool any;

	if (!again ||
	    !wse_bulk_again(p->dev, again, (unsigned int)c->eng[which].out, WSE_RUN_MAX, &s)) {
		wse_bulk_begin(b, &s);
		wse_bulk_source(b, c, which);
		if (!wse_bulk_find(p->dev, &s, WSE_RUN_MAX))
			return false;
		if (again)
			wse_bulk_keep(p->dev, again, &s);
	}
	any = wse_bulk_reserve(&w->one, &s);
	if (any) {
		wse_bulk_run(&w->one, &s);
		wse_bulk_crossed(p->dev, &s);
		wse_bulk_went(p, &s);
	}
	wse_bulk_clear(b);
	return any;
}

/* cores that a run has let go on do so, while the caches still have their sums and state */
static bool go_on(struct wse_mesh *p)
{
	uint32_t n = p->nnow, i;

	for (i = 0; i < n; i++) {
		struct wse_core *c = &p->core[p->now[i]];

		c->queued = false;
		wse_core_go_on(p, c);
	}
	p->nnow = 0;
	p->ways.resumed += n;
	return n;
}

/* *then: cores have gone on, so that what they have sent comes after these runs */
static bool run_ports(struct wse_model *m, struct bulk_worker *w, bool *then)
{
	bool any = false, did;
	uint32_t c;

	for (c = 0; c < m->cols; c++) {
		struct wse_port_in *p = &m->in[c];

		if (!p->busy)
			continue;
		did = wse_bulk_port_run(m, w, c);
		if (p->pos == p->n && p->end_due)
			did |= wse_bulk_port_end(m, w, c);
		*then |= go_on(m->mesh);
		if (did)
			p->age = 0;
		else
			did = wse_port_impatient(m, c);
		any |= did;
	}
	return any;
}

bool wse_bulk_mover(void *worker, struct wse_mesh *p, struct wse_core *c, unsigned int which,
		    bool *crosses)
{
	struct bulk_worker *w = worker;
	bool did = !c->eng[which].end_left && mover_run(w, p, c, which);

	go_on(p);
	*crosses = w->any.far;
	return did;
}

bool wse_bulk(struct wse_model *m)
{
	struct bulks *b = get(m);
	struct bulk_worker *w;
	bool any, then = false;

	if (!b)
		return wse_sources_alone(m);
	if (m->nmesh > 1)
		return wse_bulk_parts(m, b);
	w = b->w[0];
	any = run_ports(m, w, &then);
	if (then) {
		wse_mesh_gather(m);
		m->spent += m->round;
		m->round = m->mesh->round = 0;
	}
	wse_bulk_limit(&w->any, NULL, -1);
	return wse_movers_run(m->mesh, ANYWHERE, wse_bulk_mover, w) | any;
}
