// SPDX-License-Identifier: MIT
/*
 * The time that streams spend on the buses to the host's memory, one for each group of columns or
 * one for all. A round lasts at least until each bus has carried what its ports have read and
 * written by then; ports fetch ahead, and hold results back, as far as the RTL's memories do. The
 * figures are the RTL's.
 */
#include <stdlib.h>

#include "twin/twin.h"

/* all in quarters of a cycle */
#define BUS_WORD  4u		   /* 8 bytes */
#define BUS_OUT	  12u		   /* a feature of a block out, at least, with a group's bus */
#define BUS_BURST 9u		   /* a burst out, at least: 32 of them are on their way */
#define BUS_AHEAD (64u * BUS_WORD) /* of a column: 512 bytes */

int twin_bus_create(struct wse_machine *m)
{
	uint32_t g = m->cfg.group;

	m->nbus = g ? m->cols / g : 1;
	m->bus = calloc(m->nbus, sizeof(*m->bus));
	return m->bus ? 0 : -1;
}

struct twin_bus *twin_bus_of(struct wse_machine *m, uint32_t col)
{
	return &m->bus[m->cfg.group ? col / m->cfg.group : 0];
}

/* whole words; the edge asks for a row of a column each cycle, so that short ones fill the bus */
static uint32_t run(uint32_t bytes)
{
	return (bytes + 7) / 8 * BUS_WORD;
}

uint32_t twin_bus_mask_cost(const struct wse_sqe *s)
{
	return s->flags & WSE_SQF_MASKED ? s->nfeat * run((s->kcol + 7u) / 8) : 0;
}

uint32_t twin_bus_in_cost(const struct wse_sqe *s)
{
	uint32_t bytes = s->kcol * twin_element_bytes(s);
	bool none = s->flags & (WSE_SQF_INDEX_ONLY | WSE_SQF_LINEAR);
	uint32_t values = none ? 0 : s->nfeat * run(bytes);

	return values + twin_bus_mask_cost(s);
}

uint32_t twin_bus_out_cost(const struct wse_machine *m, const struct wse_sqe *s)
{
	uint32_t bytes = s->kcol * twin_element_bytes(s);
	uint32_t all = run(bytes), rest = run(bytes % 32);

	if (m->cfg.group)
		return s->nfeat * (all < BUS_OUT ? BUS_OUT : all);
	/* bursts of 32 bytes */
	rest = rest && rest < BUS_BURST ? BUS_BURST : rest;
	return s->nfeat * (bytes / 32 * 4 * BUS_WORD + rest);
}

/* whole bursts, however few elements a block has */
uint32_t twin_bus_run_cost(uint32_t bytes)
{
	return bytes * BUS_WORD / 8;
}

static uint64_t later(const struct wse_machine *m, uint64_t *free, uint64_t more)
{
	uint64_t cols = m->cfg.group ? m->cfg.group : m->cols;
	uint64_t ahead = BUS_AHEAD * cols, now = m->now * 4;
	uint64_t from = now > ahead ? now - ahead : 0;

	*free = (*free > from ? *free : from) + more;
	return *free > now ? (*free - now + 3) / 4 : 0;
}

uint64_t twin_bus_round(struct wse_machine *m, uint64_t t)
{
	uint32_t i;

	for (i = 0; i < m->nbus; i++) {
		struct twin_bus *b = &m->bus[i];
		uint64_t in = b->in ? later(m, &b->in_free, b->in) : 0;
		uint64_t out = b->out ? later(m, &b->out_free, b->out) : 0;

		t = in > t ? in : t;
		t = out > t ? out : t;
		b->in = b->out = 0;
	}
	return t;
}

void twin_bus_reset(struct wse_machine *m)
{
	uint32_t i;

	for (i = 0; i < m->nbus; i++)
		m->bus[i] = (struct twin_bus){0};
}
