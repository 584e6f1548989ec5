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
	bool turns; /* cores have their turns here, behind the runs of their bands */
	uint8_t thread[TWIN_PARTS_MAX]; /* of each part */
};

/* ---- ports: what they feed ---- */

/* what a thread needs to know of nodes of other threads; of a kept flow they stay */
static void link_nodes(const struct flow *s)
{
	struct flows *b = s->b;
	uint32_t i, k;

	if (s->kept && s->kept->linked)
		return;
	for (i = s->node; i < s->node + s->nnodes; i++) {
		struct node *x = &b->node[i];

		b->parts[i] = (uint8_t)x->c->mesh->index;
		x->from = NULL;
		x->done = 0;
	}
	for (i = s->node; i < s->node + s->nnodes; i++) {
		struct node *x = &b->node[i];

		for (k = x->first; x->which != WSE_ENGINE_L && k < x->first + x->sinks; k++)
			b->node[b->sink[k]].from = x;
	}
	if (s->kept)
		s->kept->linked = true;
}

static void find_column(struct wse_machine *m, struct runs_state *b, struct runs_worker *w,
			uint32_t col)
{
	struct column *f = &b->column[col];

	f->found = f->crosses_part = false;
	f->rows = 0;
	if (!m->in[col].busy || m->in[col].pos == m->in[col].n)
		return;
	twin_runs_limit(&w->ports, NULL, (int32_t)col);
	f->found = twin_runs_port_axpy(m, &w->ports, col, &f->s);
	if (f->found) {
		f->rows = f->s.kept->rows;
		return;
	}
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
			twin_team_await(&x->from->done, j->b->round);
		twin_runs_pass(r, s, x);
		if (x->sinks)
			__atomic_store_n(&x->done, j->b->round, __ATOMIC_RELEASE);
		/* the port feeds these lanes alone: END needs no other reader */
		if (s->values && s->end && x->which == WSE_ENGINE_L && x->fab == &s->run)
			twin_runs_end(x);
	}
}

/* to a band's lanes, of columns whose flows are AXPY in rows */
static void pass_band(const struct job *j, const struct twin_band *band, struct twin_mesh *p,
		      const struct twin_kernels *k)
{
	uint32_t cols = j->m->cols, row = band->first / cols, col = band->first % cols, i;

	for (i = band->first; i < band->first + band->ncores; i++) {
		const struct column *f = &j->b->column[col];

		if (row < f->rows)
			twin_runs_run_lanes(k, &p->core[i], &f->s.run, f->s.n, f->s.end);
		if (++col == cols) {
			col = 0;
			row++;
		}
	}
}

/*
 * Band by band: what the ports feed there, movers whose runs stay in the part, and the cores that
 * both have let go on, while the caches still have all three.
 */
static bool inside(const struct job *j, struct twin_mesh *p, struct runs_worker *w)
{
	bool any = false;
	uint32_t i;

	twin_runs_limit(&w->any, p, -1);
	for (i = 0; i < p->nbands; i++) {
		pass_band(j, &p->band[i], p, w->one.k);
		any |= twin_movers_run(p, &p->band[i], INSIDE, twin_runs_mover, w);
		if (j->turns)
			twin_band_run(p, &p->band[i]);
	}
	if (j->turns)
		twin_fabric_drain(p);
	return any;
}

/* movers whose runs leave the part */

static bool outside(struct twin_mesh *p, struct runs_worker *w)
{
	bool any = false;
	uint32_t i;

	twin_runs_limit(&w->any, NULL, -1);
	for (i = 0; i < p->nbands; i++)
		any |= twin_movers_run(p, &p->band[i], OUTSIDE, twin_runs_mover, w);
	return any;
}

static void pass(void *arg, uint32_t thread)
{
	struct job *j = arg;
	struct runs_worker *w = j->b->w[thread];
	uint32_t col, turn = 0, i;

	for (col = 0; col < j->m->cols; col++) {
		if (!j->b->column[col].found || j->b->column[col].rows)
			continue;
		pass_column(j, &j->b->column[col].s, thread, turn++);
		__atomic_store_n(&w->passed, turn, __ATOMIC_RELEASE);
	}
	w->did = false;
	for (i = 0; i < j->m->nmesh; i++)
		if (j->thread[i] == thread)
			w->did |= inside(j, &j->m->mesh[i], w);
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
		if (f->rows) {
			twin_runs_axpy_passed(m, &f->s, p);
		} else if (f->found) {
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

/*
 * May cores have their turns before the round's runs have ended? Not if an END is still to come
 * whose readers were found before.
 */
static bool may_turn(const struct wse_machine *m, const struct runs_state *b)
{
	uint32_t i;

	for (i = 0; i < m->cols; i++)
		if (b->column[i].found && b->column[i].s.end && !b->column[i].s.values)
			return false;
	return m->mesh->limit > 1 && likely(!m->mesh->shuffle);
}

bool twin_runs_parts(struct wse_machine *m, struct runs_state *b)
{
	struct job j = {.m = m, .b = b, .threads = 1};
	uint32_t threads = twin_runs_workers(m, m->threads), engines, i;
	bool any = false;

	b->round++;
	j.threads = m->cols >= WORTH ? threads : 1;
	twin_team_run(m->team, j.threads, find, &j);
	j.threads = threads;
	if (!reserve(&j, &engines))
		for (i = 0; i < m->cols; i++)
			b->column[i].found = false, b->column[i].rows = 0;
	for (i = 0; i < m->nmesh; i++) {
		engines += twin_mesh_nsources(&m->mesh[i]) * CHAIN;
		m->mesh[i].ncrossing = 0;
	}
	m->pace->work += engines;
	if (engines < WORTH && !(m->cfg.flags & TWIN_MODEL_PARTS))
		j.threads = 1;
	for (i = 0; i < m->nmesh && i < TWIN_PARTS_MAX; i++)
		j.thread[i] = (uint8_t)twin_mesh_thread(m, i, j.threads);
	for (i = 0; i < j.threads; i++)
		b->w[i]->passed = 0;
	j.turns = may_turn(m, b);
	m->mesh->ways.banded += j.turns;
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
