// SPDX-License-Identifier: MIT
/*
 * Whole runs of wavelets at once. Starting from a source (a north port, or a mover that sends from
 * memory or accumulators) find.c follows the routes to everything that would consume a run right
 * now: engines that read the color, the engines that their results feed in turn, south ports. What
 * it finds can pass n elements on one after the other: a legal order of events, so it is done node
 * by node with arrays (pass.c). In all other cases wavelets move one by one through the exact
 * queues (fabric.c), which is where capacities, and hence deadlocks, are decided.
 *
 * In a tile of several parts those ports come first that feed nothing outside their columns, then
 * movers that feed nothing outside their parts, then the rest: the first two in any number of
 * threads (columns.c), as such flows do not touch each other.
 */
#include <stdlib.h>
#include <string.h>

#include "twin/fast/runs/runs.h"

static struct runs_worker *new_worker(const struct wse_machine *m)
{
	struct runs_worker *w = aligned_alloc(64, sizeof(*w));
	uint32_t i;

	if (!w)
		return NULL;
	memset(w, 0, sizeof(*w));
	w->one.k = m->k;
	for (i = 0; i < TWIN_RUNS_LAG; i++)
		w->r[i].k = m->k;
	if (!twin_runs_open(&w->ports, m) && !twin_runs_open(&w->any, m))
		return w;
	twin_runs_close(&w->ports);
	twin_runs_close(&w->any);
	free(w);
	return NULL;
}

static void free_worker(struct runs_worker *w)
{
	uint32_t i;

	if (!w)
		return;
	twin_runs_close(&w->ports);
	twin_runs_close(&w->any);
	free(w->one.v);
	for (i = 0; i < TWIN_RUNS_LAG; i++)
		free(w->r[i].v);
	free(w);
}

static struct kept_set *new_sets(size_t n)
{
	struct kept_set *f = aligned_alloc(64, n * sizeof(*f));

	return f ? memset(f, 0, n * sizeof(*f)) : NULL;
}

static struct runs_state *get(struct wse_machine *m)
{
	struct runs_state *b = m->runs;

	if (b)
		return b;
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	m->runs = b;
	b->column = calloc(m->cols, sizeof(*b->column));
	b->port = new_sets(m->cols);
	b->mover = new_sets(2 * (size_t)m->ncores);
	if (b->column && b->port && b->mover && twin_runs_workers(m, 1))
		return b;
	twin_runs_free(m);
	return NULL;
}

uint32_t twin_runs_workers(struct wse_machine *m, uint32_t n)
{
	struct runs_state *b = m->runs;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (!b->w[i])
			b->w[i] = new_worker(m);
		if (!b->w[i])
			return i;
	}
	return n;
}

void twin_runs_free(struct wse_machine *m)
{
	struct runs_state *b = m->runs;
	uint32_t i;

	if (!b)
		return;
	for (i = 0; i < TWIN_PARTS_MAX; i++)
		free_worker(b->w[i]);
	for (i = 0; b->port && i < m->cols; i++)
		twin_runs_forget(&b->port[i]);
	for (i = 0; b->mover && i < 2 * m->ncores; i++)
		twin_runs_forget(&b->mover[i]);
	free(b->port);
	free(b->mover);
	free(b->column);
	free(b);
	m->runs = NULL;
}

void twin_runs_settle(struct wse_machine *m)
{
	struct runs_state *b = m->runs;
	uint32_t i;

	for (i = 0; b && i < m->cols; i++)
		twin_runs_settle_set(m, &b->port[i]);
	for (i = 0; b && i < 2 * m->ncores; i++)
		twin_runs_settle_set(m, &b->mover[i]);
}

/* all that a north port feeds are lanes that can do without wavelets: no index is refused */
static bool takes_values(const struct flow *s, const struct twin_port_in *p)
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

/*
 * The flow that a port fed the last time; NULL where the search has other limits now: in a tile of
 * parts those within columns are kept.
 */
static struct kept_set *last_set(const struct wse_machine *m, const struct flows *b, uint32_t col)
{
	struct runs_state *r = m->runs;

	return b->limited == (m->nmesh > 1) && likely(!m->mesh->shuffle) ? &r->port[col] : NULL;
}

bool twin_runs_port(struct wse_machine *m, struct flows *b, unsigned int col, struct flow *s)
{
	struct twin_port_in *p = &m->in[col];
	uint32_t n = p->n - p->pos < TWIN_RUN_MAX ? p->n - p->pos : TWIN_RUN_MAX;
	struct kept_set *again = last_set(m, b, col);

	if (!again || !twin_runs_again(m, again, p->color, n, s)) {
		twin_runs_begin(b, s);
		if (!n)
			return false;
		if (!twin_runs_follow(m, b, &m->core[col], WSE_PORT_N, p->color)) {
			twin_runs_give_up(s);
			return false;
		}
		if (!twin_runs_find(m, s, n))
			return false;
		if (again)
			twin_runs_keep(m, again, s);
	}
	s->values = takes_values(s, p);
	s->end = p->end_due && p->pos + s->n == p->n;
	if (s->values)
		twin_runs_values(&s->run, p->v + p->pos, p->pos, p->dense, p->range);
	else
		s->run = (struct run){.w = twin_in_words(p) + p->pos};
	twin_runs_deliver(s, s->sink, s->nsinks, &s->run);
	return true;
}

/*
 * The END of a block, once all its readers (the sinks) are lanes that wait for it. It goes to them
 * at once when it would only pass through; false: it has to go by the queues.
 */
static bool pass_end(struct wse_machine *m, const struct flow *s, struct twin_port_in *p)
{
	uint32_t i;

	for (i = s->sink; i < s->sink + s->nsinks; i++) {
		const struct node *x = &s->b->node[s->b->sink[i]];

		if (x->port || x->which != WSE_ENGINE_L || x->c->run != WSE_CORE_RUNNING ||
		    (x->e->op == WSE_TOP_DOT && x->c->dotq.count == WSE_DOTQ_DEPTH))
			return false;
	}
	for (i = s->sink; i < s->sink + s->nsinks; i++)
		twin_runs_end(&s->b->node[s->b->sink[i]]);
	twin_runs_end_crossed(m, s);
	twin_runs_ended(m, p);
	return true;
}

void twin_runs_passed(struct wse_machine *m, const struct flow *s, struct twin_port_in *p)
{
	twin_runs_went(m->mesh, s);
	m->mesh->ways.values += s->values;
	m->moved = true;
	p->pos += s->n;
	p->age = 0;
	/* nothing on the way has changed: the readers of the block read its END */
	if (s->end && p->end_due)
		pass_end(m, s, p);
}

bool twin_runs_port_axpy(struct wse_machine *m, struct flows *b, unsigned int col, struct flow *s)
{
	struct kept_set *f = last_set(m, b, col);
	struct twin_port_in *p = &m->in[col];
	uint32_t n = p->n - p->pos < TWIN_RUN_MAX ? p->n - p->pos : TWIN_RUN_MAX;

	if (!f || !n || !twin_runs_again_axpy(m, f, p))
		return false;
	*s = f->s;
	s->n = n;
	s->values = true;
	s->end = p->end_due && p->pos + n == p->n;
	twin_runs_values(&s->run, p->v + p->pos, p->pos, p->dense, p->range);
	return true;
}

void twin_runs_axpy_passed(struct wse_machine *m, const struct flow *s, struct twin_port_in *p)
{
	m->mesh->ways.axpys++;
	m->moved = true;
	s->kept->crossed += s->n;
	p->pos += s->n;
	p->age = 0;
	if (s->end) {
		s->kept->ended++;
		twin_runs_ended(m, p);
	}
}

/* a run from a north port */
bool twin_runs_port_run(struct wse_machine *m, struct runs_worker *w, unsigned int col)
{
	struct twin_port_in *p = &m->in[col];
	struct flows *b = &w->any;
	struct flow s;
	bool any;

	twin_runs_limit(b, NULL, -1);
	if (twin_runs_port_axpy(m, b, col, &s)) {
		twin_runs_run_axpy(w->one.k, s.kept, &s.run, s.n, s.end);
		twin_runs_axpy_passed(m, &s, p);
		return true;
	}
	any = twin_runs_port(m, b, col, &s) && twin_runs_reserve(&w->one, &s);
	if (any) {
		twin_runs_run(&w->one, &s);
		twin_runs_crossed(m, &s);
		twin_runs_passed(m, &s, p);
	}
	twin_runs_clear(b);
	return any;
}

/* the END of a block goes out when all its readers are engines that wait for it */
bool twin_runs_port_end(struct wse_machine *m, struct runs_worker *w, unsigned int col)
{
	struct twin_port_in *p = &m->in[col];
	struct flows *b = &w->any;
	struct flow s;
	bool good, passed;

	twin_runs_limit(b, NULL, -1);
	twin_runs_begin(b, &s);
	good = twin_runs_follow(m, b, &m->core[col], WSE_PORT_N, p->color);
	s.nsinks = b->nsinks;
	s.hops = b->hops;
	passed = good && pass_end(m, &s, p);
	twin_runs_clear(b);
	return passed || (good && twin_in_inject(m, col));
}

/* a run from a mover */
static bool mover_run(struct runs_worker *w, struct twin_mesh *p, struct twin_core *c,
		      unsigned int which)
{
	struct runs_state *r = p->dev->runs;
	struct kept_set *f = &r->mover[2 * c->idx + which - WSE_ENGINE_M0];
	unsigned int color = (unsigned int)c->eng[which].out;
	struct flows *b = &w->any;
	struct flow s;
	bool any;

	/* a flow that left its part the last time is none that the part's thread may look at */
	b->crosses_part = b->limited && f->crosses_part;
	if (b->crosses_part)
		return false;
	if (unlikely(p->shuffle) || !twin_runs_again(p->dev, f, color, TWIN_RUN_MAX, &s)) {
		twin_runs_begin(b, &s);
		twin_runs_source(b, c, which);
		if (!twin_runs_find(p->dev, &s, TWIN_RUN_MAX))
			return false;
		if (likely(!p->shuffle)) {
			twin_runs_keep(p->dev, f, &s);
			f->crosses_part = f->s.b && !b->limited && twin_runs_leaves(f, p);
		}
	}
	any = twin_runs_reserve(&w->one, &s);
	if (any) {
		twin_runs_run(&w->one, &s);
		twin_runs_crossed(p->dev, &s);
		twin_runs_went(p, &s);
	}
	twin_runs_clear(b);
	return any;
}

/* cores that a run has let go on do so, while the caches still have their sums and state */
static bool go_on(struct twin_mesh *p)
{
	uint32_t n = p->nresume, i;

	for (i = 0; i < n; i++) {
		struct twin_core *c = &p->core[p->resume_list[i]];

		c->queued = false;
		twin_core_run(p, c, p->limit);
	}
	p->nresume = 0;
	p->ways.resumed += n;
	return n;
}

/* *then: cores have gone on, so that what they have sent comes after these runs */
static bool run_ports(struct wse_machine *m, struct runs_worker *w, bool *then)
{
	bool any = false, did;
	uint32_t c;

	for (c = 0; c < m->cols; c++) {
		struct twin_port_in *p = &m->in[c];

		if (!p->busy)
			continue;
		did = twin_runs_port_run(m, w, c);
		if (p->pos == p->n && p->end_due)
			did |= twin_runs_port_end(m, w, c);
		*then |= go_on(m->mesh);
		if (did)
			p->age = 0;
		else
			did = twin_port_impatient(m, c);
		any |= did;
	}
	return any;
}

static const struct kept_set *set_of(const struct twin_mesh *p, uint32_t source)
{
	const struct runs_state *r = p->dev->runs;

	return &r->mover[2 * (source >> 2) + (source & 3) - WSE_ENGINE_M0];
}

static void prefetch(const void *p, uint32_t lines)
{
	uint32_t i;

	for (i = 0; i < lines; i++)
		__builtin_prefetch((const char *)p + i * 64);
}

/* what the band's next movers look at first: on a large tile it has left the caches */
static void prefetch_movers(const struct twin_mesh *p, const struct twin_band *b)
{
	const uint32_t *next = b->source + b->at, left = b->nsources - b->at;

	if (left > 3) {
		prefetch(set_of(p, next[3]), 3);
		prefetch(&p->core[next[3] >> 2].eng[next[3] & 3], 2);
	}
	if (left > 1)
		prefetch(set_of(p, next[1])->b.node, 2);
}

bool twin_runs_mover(void *worker, struct twin_mesh *p, struct twin_core *c, unsigned int which,
		     bool *crosses)
{
	struct runs_worker *w = worker;
	bool did;

	if (p->dev->nmesh > 1)
		prefetch_movers(p, &p->band[c->band]);
	w->any.crosses_part = false;
	did = !c->eng[which].end_left && mover_run(w, p, c, which);
	go_on(p);
	*crosses = w->any.crosses_part;
	return did;
}

bool twin_runs(struct wse_machine *m)
{
	struct runs_state *b = get(m);
	struct runs_worker *w;
	bool any, then = false;

	if (!b)
		return twin_sources_alone(m);
	if (m->nmesh > 1)
		return twin_runs_parts(m, b);
	w = b->w[0];
	any = run_ports(m, w, &then);
	if (then) {
		twin_mesh_gather(m);
		m->spent += m->round;
		m->round = m->mesh->round = 0;
	}
	twin_runs_limit(&w->any, NULL, -1);
	return twin_movers_run(m->mesh, m->mesh->band, ANYWHERE, twin_runs_mover, w) | any;
}
