// SPDX-License-Identifier: MIT
/* START and SCRUB: what goes to a rectangle of cores, and the verdict on how a start ended. */
#include <string.h>

#include "twin/twin.h"

static struct twin_core *core_at(struct wse_machine *m, const struct wse_sqe *s, uint32_t i)
{
	return &m->core[(s->row0 + i / s->cols) * m->cols + s->col0 + i % s->cols];
}

static void name_core(struct twin_result *r, const struct twin_core *c)
{
	r->f.row = c->row;
	r->f.col = c->col;
}

/* as many as a record can say */
static uint16_t ncores(uint32_t n)
{
	return n < UINT16_MAX ? n : UINT16_MAX;
}

bool twin_start_begin(struct wse_machine *m, struct twin_job *j, struct twin_result *r)
{
	const struct wse_sqe *s = &j->sqe;
	uint32_t n = (uint32_t)s->rows * s->cols, i, held = 0;
	struct wse_sqe_start st;

	memcpy(&st, s, sizeof(st));
	m->mesh->ended = true;
	if (!(s->flags & WSE_SQF_BOOT)) {
		for (i = 0; i < n; i++) {
			struct twin_core *c = core_at(m, s, i);

			if (c->run == WSE_CORE_HELD && !held++)
				name_core(r, c);
		}
		if (held) {
			r->status = WSE_ST_NOT_BOOTED;
			r->f.ncores = ncores(held);
			return true;
		}
	}
	for (i = 0; i < n; i++) {
		struct twin_core *c = core_at(m, s, i);

		memcpy(c->sram + WSE_ARGS_OFFSET, st.arg, sizeof(st.arg));
		twin_code_changed(c, WSE_ARGS_OFFSET, sizeof(st.arg));
		if (s->flags & WSE_SQF_BOOT)
			twin_core_boot(c->mesh, c, st.entry);
		else
			twin_core_start(c->mesh, c, st.entry);
	}
	return false;
}

/* has any core's part in it ended since the last look? */
static bool any_ended(struct wse_machine *m)
{
	bool any = false;
	uint32_t i;

	for (i = 0; i < m->nmesh; i++) {
		any |= m->mesh[i].ended;
		m->mesh[i].ended = false;
	}
	return any;
}

/* a fault outweighs a bad value, which outweighs a core that is not done */
enum twin_progress twin_start_run(struct wse_machine *m, struct twin_job *j, struct twin_result *r)
{
	const struct wse_sqe *s = &j->sqe;
	uint32_t n = (uint32_t)s->rows * s->cols, i, nfault = 0, nbad = 0, nopen = 0;
	struct twin_core *fault = NULL, *bad = NULL;

	if (!any_ended(m))
		return RUN_IDLE;
	for (i = 0; i < n; i++) {
		struct twin_core *c = core_at(m, s, i);

		if (c->run == WSE_CORE_FAULTED) {
			if (!nfault++)
				fault = c;
		} else if (!c->done) {
			nopen++;
		} else if (c->done_value) {
			if (!nbad++)
				bad = c;
		}
	}
	if (fault) {
		r->status = WSE_ST_CORE_FAULT;
		name_core(r, fault);
		r->f.ncores = ncores(nfault);
		r->f.cause = fault->fault_cause;
		r->f.pc = fault->fault_pc;
		r->f.addr = fault->fault_addr;
		r->f.color = fault->fault_color;
		r->f.value = fault->fault_value;
	} else if (bad) {
		r->status = WSE_ST_KERNEL_ERROR;
		name_core(r, bad);
		r->f.ncores = ncores(nbad);
		r->f.value = bad->done_value;
	} else if (nopen) {
		return RUN_IDLE;
	}
	return RUN_ENDED;
}

/* TIMEOUT or DEADLOCK: the lowest core that has not executed DONE */
void twin_start_find_waiter(struct wse_machine *m, struct twin_job *j, struct twin_result *r)
{
	const struct wse_sqe *s = &j->sqe;
	uint32_t n = (uint32_t)s->rows * s->cols, open = 0, i, cause, color;

	for (i = 0; i < n; i++) {
		struct twin_core *c = core_at(m, s, i);

		if (c->done || open++)
			continue;
		name_core(r, c);
		twin_core_find_waiter(c, &cause, &color);
		r->f.cause = cause;
		r->f.color = color;
	}
	r->f.ncores = ncores(open);
}

void twin_scrub(struct wse_machine *m, const struct wse_sqe *s)
{
	uint32_t n = (uint32_t)s->rows * s->cols, i;

	for (i = 0; i < n; i++) {
		struct twin_core *c = core_at(m, s, i);

		twin_core_hold(c->mesh, c);
		memset(c->sram, 0, WSE_SRAM_BYTES);
		twin_code_changed(c, 0, WSE_SRAM_BYTES);
	}
	if (WSE_SRAM_BYTES / 8 > m->round)
		m->round = WSE_SRAM_BYTES / 8;
}
