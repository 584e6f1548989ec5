// SPDX-License-Identifier: MIT
/*
 * Sources of wavelets are batched: they hand out single wavelets only when nothing else moves, or
 * after they have waited for a number of rounds, so that channels stay empty while consumers get
 * ready. Until then whole runs pass (fast/runs/), in a build that has them.
 */
#include "twin/exact/sources.h"

/*
 * Rounds a source waits for its consumers while others move. What holds a consumer up comes to it
 * core by core, so on a large tile they get ready later.
 */
#define SINGLE_STEP_AFTER 32
#define ROUNDS_PER_HOP	  2

static uint32_t single_step_after(struct twin_mesh *p)
{
	uint32_t rounds = ROUNDS_PER_HOP * (p->rows + p->cols);

	if (unlikely(p->shuffle))
		return twin_shuffle_below(p, SINGLE_STEP_AFTER);
	return rounds > SINGLE_STEP_AFTER ? rounds : SINGLE_STEP_AFTER;
}

bool twin_port_impatient(struct wse_machine *m, unsigned int col)
{
	return ++m->in[col].age > single_step_after(m->mesh) && twin_in_inject(m, col);
}

void twin_source_waits(struct twin_mesh *p, struct twin_engine *e)
{
	uint32_t rounds = single_step_after(p);

	if (rounds && e->age >= rounds)
		e->age = (uint16_t)(rounds - 1);
}

void twin_sources_close_gap(struct twin_band *b)
{
	uint32_t left = b->nsources - b->at - 1;

	memmove(b->source + b->kept, b->source + b->at + 1, left * sizeof(*b->source));
	b->nsources = b->kept + left;
	b->at = b->kept - 1; /* the one that is looked at is before the gap, or it has ended */
}

bool twin_movers_run(struct twin_mesh *p, struct twin_band *b, enum reach reach, twin_mover_fn *run,
		     void *arg)
{
	bool any = false, did, crosses;

	for (b->at = b->kept = 0; b->at < b->nsources; b->at++) {
		const uint32_t source = b->source[b->at];
		struct twin_core *c = &p->core[source >> 2];
		unsigned int which = source & 3;
		struct twin_engine *e = &c->eng[which];

		if (c->run != WSE_CORE_RUNNING || !e->n || !e->started || !e->batched) {
			c->listed &= ~(1u << which);
			continue;
		}
		b->source[b->kept++] = source;
		if (reach == OUTSIDE && !e->crosses_part)
			continue;
		e->crosses_part = crosses = false;
		did = run && run(arg, p, c, which, &crosses);
		if (reach == INSIDE && !did && crosses) {
			e->crosses_part = true;
			p->ncrossing++;
			continue;
		}
		if (did)
			e->age = 0;
		else if (++e->age > single_step_after(p))
			e->step_singly = true, twin_wake(p, c);
		any |= did;
	}
	b->nsources = b->kept;
	return any;
}

bool twin_sources_alone(struct wse_machine *m)
{
	bool any = false;
	uint32_t i, k;

	for (i = 0; i < m->cols; i++) {
		struct twin_port_in *p = &m->in[i];

		if (p->busy)
			any |= twin_port_impatient(m, i);
	}
	for (i = 0; i < m->nmesh; i++)
		for (k = 0; k < m->mesh[i].nbands; k++)
			any |= twin_movers_run(&m->mesh[i], &m->mesh[i].band[k], ANYWHERE, NULL,
					       NULL);
	return any;
}

static void force_movers(const struct wse_machine *m, struct twin_mesh *p,
			 const struct twin_band *b)
{
	uint32_t i;

	for (i = 0; i < b->nsources; i++) {
		struct twin_core *c = &m->core[b->source[i] >> 2];

		c->eng[b->source[i] & 3].step_singly = true;
		twin_engines_run(p, c);
		if (m->moved || p->moved)
			twin_wake(p, c); /* the core may wait for its mover */
	}
}

/* nothing else moves: sources hand out what their channels hold */
static bool force(struct wse_machine *m)
{
	bool any = false;
	uint32_t i, k;

	for (i = 0; i < m->cols; i++)
		if (m->in[i].busy)
			any |= twin_in_inject(m, i);
	for (i = 0; i < m->nmesh; i++)
		for (k = 0; k < m->mesh[i].nbands; k++)
			force_movers(m, &m->mesh[i], &m->mesh[i].band[k]);
	twin_fabric_settle(m);
	return any;
}

bool twin_sources_run(struct wse_machine *m)
{
	const struct twin_fast *fast = m->fast;
	bool any;
	uint32_t i, k;

	if (unlikely(m->mesh->shuffle)) {
		if (twin_shuffle_below(m->mesh, 2))
			fast = NULL;
		for (i = 0; i < m->nmesh; i++)
			for (k = 0; k < m->mesh[i].nbands; k++)
				twin_shuffle_list(&m->mesh[i], m->mesh[i].band[k].source,
						  m->mesh[i].band[k].nsources);
	}
	any = fast ? fast->run_sources(m) : twin_sources_alone(m);
	twin_fabric_settle(m);
	if (!twin_mesh_gather(m) && !any && !m->moved)
		any = force(m);
	return any;
}
