// SPDX-License-Identifier: MIT
/*
 * Buses that do not answer. A port, or a copy's part, whose access has no answer yet is silent: it
 * asks again in each round. Where its command ends before the answer comes, the bus owes it: the
 * executor takes no command, and a reset does not end, until the access has been answered.
 */
#include <errno.h>

#include "twin/twin.h"

static bool *silent(struct wse_machine *m, unsigned int exec, uint32_t col)
{
	if (exec == X_COPY)
		return &twin_bus_of(m, col)->copy.silent;
	return exec == X_IN ? &m->in[col].silent : &m->out[col].silent;
}

void twin_silent_ask_again(struct wse_machine *m, unsigned int exec, uint32_t col, uint64_t at)
{
	*silent(m, exec, col) = true;
	twin_bus_of(m, col)->asked[exec] = at;
	m->moved = true; /* a slow bus is no deadlock */
}

void twin_silent_end(struct wse_machine *m, unsigned int exec)
{
	uint32_t c;

	for (c = 0; c < m->cols; c++) {
		twin_bus_of(m, c)->owed[exec] |= *silent(m, exec, c);
		*silent(m, exec, c) = false;
	}
}

bool twin_silent_owed(struct wse_machine *m, unsigned int exec)
{
	bool any = false;
	uint64_t word;
	uint32_t i;

	for (i = 0; i < m->nbus; i++) {
		struct twin_bus *b = &m->bus[i];

		if (b->owed[exec])
			b->owed[exec] = m->ops.dma_read(m->host, b->asked[exec] & ~7ull, &word,
							sizeof(word)) == -EAGAIN;
		any |= b->owed[exec];
	}
	return any;
}

bool twin_silent_groups(struct wse_machine *m, unsigned int exec, struct twin_result *r)
{
	uint32_t g = m->cols / m->nbus, c, last = UINT32_MAX;

	r->f.ncores = 0;
	for (c = 0; c < m->cols; c++) {
		if (!*silent(m, exec, c) || c / g == last)
			continue;
		last = c / g;
		if (!r->f.ncores++)
			r->f.col = last * g;
	}
	return r->f.ncores;
}
