// SPDX-License-Identifier: MIT
/*
 * Runs in a tile of several parts, by any number of threads. A thread looks for what the north
 * ports of its columns feed, which changes nothing; then every thread passes all the runs through
 * the cores of its own parts, where the memory is that they worked on in their turns. Where a run
 * goes on from a part of one thread to a part of another, the latter waits for its input. All
 * threads go through the flows in the same order, so the one that is furthest behind never waits.
 *
 * With one thread the same happens in the same order for every reader.
 */
#include <stdlib.h>

#include "twin/fast/runs/runs.h"
#include "twin/parts/pace.h"
#include "twin/parts/team.h"

#define WORTH 24u /* engines of a step that are worth a hand-over to other threads */
#define CHAIN 8u  /* engines that a mover may feed */

struct job {
	struct wse_machine *m;
	struct runs_state *b;
	uint32_t threads;
	uint8_t thread[TWIN_PARTS_MAX]; /* of each part */
};

/* ---- ports: what they feed ---- */

/* what a thread needs to know of nodes of other threads */
static void link_nodes(const struct flow *s)
{
	struct flows *b = s->b;
	uint32_t i, k;

	for (i = s->node; i < s->node + s->nnodes; i++) {
		struct node *x = &b->node[i];

		b->parts[i] = (uint8_t)x->c->mesh->index;
		x->from = NULL;
		x->ends = false;
		x->done = 0;
	}
	for (i = s->node; i < s->node + s->nnodes; i++) {
		struct node *x = &b->node[i];

		for (k = x->first; x->which != WSE_ENGINE_L && k < x->first + x->sinks; k++)
			b->node[b->sink[k]].from = x;
	}
	for (i = s->sink; s->values && s->end && i < s->sink + s->nsinks; i++)
		b->node[b->sink[i]].ends = true;
}

static void find_column(struct wse_machine *m, struct runs_state *b, struct runs_worker *w,
			uint32_t col)
{
	struct column *f = &b->column[col];

	f->found = f->crosses_part = false;
	if (!m->in[col].busy || m->in[col].pos == m->in[col].n)
		return;
	twin_runs_limit(&w->ports, NULL, (int32_t)col);
	f->found = twin_runs_port(m, &w->ports, col, &f->s);
	f->crosses_part = !f->found && w->ports.crosses_part;
	if (f->found)
		link_nodes(&f->s);
}

static void find(void *arg, uint32_t thread)
{
	struct job *j = arg;
	struct runs_worker *w = j->b->w[thread];
	uint32_t col = j->m->cols * thread / j->threads;
	uint32_t end = j->m->cols * (thread + 1) / j->threads;

	twin_runs_clear(&w->ports);
	for (; col < end; col++)
		find_column(j->m, j->b, w, col);
}

/* ---- runs ---- */

static bool mine(const struct job *j, const struct flows *b, uint32_t node, uint32_t thread)
{
	return j->thread[b->parts[node]] == thread;
}

/* waits until the other threads have passed the flow whose scratch this one's results overwrite */
static void await_scratch(const struct job *j, uint32_t thread, uint32_t turn)
{
	uint32_t i;

	for (i = 0; i < j->threads && turn >= TWIN_RUNS_LAG; i++)
		if (i != thread)
			twin_team_await(&j->b->w[i]->passed, turn - TWIN_RUNS_LAG + 1);
}

static void pass_column(const struct job *j, const struct flow *s, uint32_t thread, uint32_t turn)
{
	struct flows *b = s->b;
	struct scratch *r = &j->b->w[thread]->r[turn % TWIN_RUNS_LAG];
	uint32_t i;

	if (s->stores)
		await_scratch(j, thread, turn);
	r->used = 0;
	for (i = s->order; i < s->order + s->norder; i++) {
		struct node *x = &b->node[b->order[i]];

		if (!mine(j, b, b->order[i], thread))
			continue;
		if (x->from && !mine(j, b, (uint32_t)(x->from - b->node), thread))
			twin_team_await(&x->from->done, 1);
		twin_runs_pass(r, s, x);
		if (x->sinks)
			__atomic_store_n(&x->done, 1, __ATOMIC_RELEASE);
		/* the port feeds these lanes alone: END needs no other reader */
		if (x->ends)
			twin_runs_end(x);
	}
}

/* the part's movers whose runs stay in it; those of the others */
static bool inside(struct twin_mesh *p, struct runs_worker *w)
{
	twin_runs_limit(&w->any, p, -1);
	return twin_movers_run(p, INSIDE, twin_runs_mover, w);
}

static bool outside(struct twin_mesh *p, struct runs_worker *w)
{
	twin_runs_limit(&w->any, NULL, -1);
	return twin_movers_run(p, OUTSIDE, twin_runs_mover, w);
}

static void pass(void *arg, uint32_t thread)
{
	struct job *j = arg;
	struct runs_worker *w = j->b->w[thread];
	uint32_t col, turn = 0, i;

	for (col = 0; col < j->m->cols; col++) {
		if (!j->b->column[col].found)
			continue;
		pass_column(j, &j->b->column[col].s, thread, turn++);
		__atomic_store_n(&w->passed, turn, __ATOMIC_RELEASE);
	}
	w->did = false;
	for (i = 0; i < j->m->nmesh; i++)
		if (j->thread[i] == thread)
			w->did |= inside(&j->m->mesh[i], w);
}

/* room for what all flows produce; false: no memory, nothing is passed */
static bool reserve(const struct job *j, uint32_t *engines)
{
	const struct flow *most = NULL;
	uint32_t i, k;

	*engines = 0;
	for (i = 0; i < j->m->cols; i++) {
		const struct flow *s = &j->b->column[i].s;

		if (!j->b->column[i].found)
			continue;
		*engines += s->norder;
		if (s->stores &&
		    (!most || (uint64_t)s->n * s->norder > (uint64_t)most->n * most->norder))
			most = s;
	}
	for (i = 0; i < j->threads && most; i++)
		for (k = 0; k < TWIN_RUNS_LAG; k++)
			if (!twin_runs_reserve(&j->b->w[i]->r[k], most))
				return false;
	return true;
}

/*
 * flows that leave their column, ENDs that readers have to be ready for, ports that have waited
 * long
 */
static bool rest_of_ports(struct wse_machine *m, struct runs_state *b)
{
	bool any = false, did;
	uint32_t c;

	for (c = 0; c < m->cols; c++) {
		struct twin_port_in *p = &m->in[c];
		struct column *f = &b->column[c];

		if (!p->busy)
			continue;
		did = f->found;
		if (f->found) {
			twin_runs_crossed(m, &f->s);
			if (f->s.end && f->s.values) {
				twin_runs_end_crossed(m, &f->s);
				twin_runs_ended(m, p);
			}
			twin_runs_passed(m, &f->s, p);
		} else if (f->crosses_part) {
			did = twin_runs_port_run(m, b->w[0], c);
		}
		if (p->pos == p->n && p->end_due)
			did |= twin_runs_port_end(m, b->w[0], c);
		if (did)
			p->age = 0;
		any |= did;
		f->found = did;
	}
	for (c = 0; c < m->cols; c++)
		if (m->in[c].busy && !b->column[c].found)
			any |= twin_port_impatient(m, c);
	return any;
}

bool twin_runs_parts(struct wse_machine *m, struct runs_state *b)
{
	struct job j = {.m = m, .b = b, .threads = 1};
	uint32_t threads = twin_runs_workers(m, m->threads), engines, i;
	bool any = false;

	j.threads = m->cols >= WORTH ? threads : 1;
	twin_team_run(m->team, j.threads, find, &j);
	j.threads = threads;
	if (!reserve(&j, &engines))
		for (i = 0; i < m->cols; i++)
			b->column[i].found = false;
	for (i = 0; i < m->nmesh; i++) {
		engines += m->mesh[i].nsources * CHAIN;
		m->mesh[i].ncrossing = 0;
	}
	m->pace->work += engines;
	if (engines < WORTH && !(m->cfg.flags & TWIN_MODEL_PARTS))
		j.threads = 1;
	for (i = 0; i < m->nmesh && i < TWIN_PARTS_MAX; i++)
		j.thread[i] = (uint8_t)twin_mesh_thread(m, i, j.threads);
	for (i = 0; i < j.threads; i++)
		b->w[i]->passed = 0;
	m->mesh->ways.handed += j.threads > 1;
	twin_team_run(m->team, j.threads, pass, &j);
	for (i = 0; i < j.threads; i++)
		any |= b->w[i]->did;
	any |= rest_of_ports(m, b);
	for (i = 0; i < m->nmesh; i++)
		if (m->mesh[i].ncrossing)
			any |= outside(&m->mesh[i], b->w[0]);
	return any;
}
