// SPDX-License-Identifier: MIT
/*
 * WSE_MACHINE_CHECK_RACES: finds programs whose result depends on timing. The twin runs engines
 * eagerly, so what counts is not when an instruction really ran but when the program could know
 * that it had: from ISSUE until a WAIT for its engine, or until TNEXT picks the task that its
 * completion (or a later one's of the same engine) activates or unblocks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "twin/exact/decode.h"
#include "twin/twin.h"

#define OPEN_MAX 16 /* instructions of an engine that the program may not know to be complete */

struct span {
	int32_t from, to; /* SRAM offsets; from == to: none */
	bool write;
};

struct open_ins {
	struct span s[3];
	uint32_t tcw;
};

struct open_core {
	struct open_ins ins[3][OPEN_MAX];
	uint8_t n[3];
};

struct twin_races {
	uint64_t count;
	char text[160];
	struct open_core core[];
};

int twin_races_create(struct wse_machine *m)
{
	m->races = calloc(1, sizeof(*m->races) + m->ncores * sizeof(struct open_core));
	return m->races ? 0 : -1;
}

static void report(struct twin_mesh *m, const struct twin_core *c, const char *what, uint32_t at)
{
	struct twin_races *r = m->races;

	if (!r->count++)
		snprintf(r->text, sizeof(r->text), "core %u,%u pc 0x%x: %s 0x%x", c->col, c->row,
			 c->pc, what, at);
}

uint64_t twin_race_count(struct wse_machine *m, const char **text)
{
	if (text)
		*text = m->races ? m->races->text : "";
	return m->races ? m->races->count : 0;
}

static struct span span_of(const uint32_t d[4], bool write)
{
	int32_t base = (int32_t)(d[0] - WSE_SRAM_BASE), len = d[1] & 0xffff, len1 = d[2] & 0xffff;
	int32_t a, b;

	if ((d[3] & WSE_DSR3_KIND_MASK) != WSE_KIND_MEM || !len)
		return (struct span){0};
	a = (len - 1) * (int16_t)(d[1] >> 16);
	b = len1 ? (len1 - 1) * (int16_t)(d[2] >> 16) : 0;
	return (struct span){
		.from = base + (a < 0 ? a : 0) + (b < 0 ? b : 0),
		.to = base + (a > 0 ? a : 0) + (b > 0 ? b : 0) +
		      ((d[3] & WSE_DSR3_DTYPE_MASK) ? 4 : 2),
		.write = write,
	};
}

static void forget(struct open_core *o, unsigned int which, unsigned int n)
{
	memmove(&o->ins[which][0], &o->ins[which][n], (o->n[which] - n) * sizeof(o->ins[0][0]));
	o->n[which] -= n;
}

void twin_races_issue(struct twin_mesh *m, struct twin_core *c, unsigned int which,
		      const struct twin_tins *t)
{
	struct open_core *o = &m->races->core[c->idx];
	struct open_ins *i;

	if (o->n[which] == OPEN_MAX)
		forget(o, which, 1);
	i = &o->ins[which][o->n[which]++];
	i->tcw = t->tcw;
	i->s[0] = span_of(t->dsr[0], true);
	i->s[1] = span_of(t->dsr[1], false);
	i->s[2] = span_of(t->dsr[2], (t->tcw & WSE_TCW_OP_MASK) == WSE_TOP_MTEE);
}

/* an engine's instruction starts to read a color */
void twin_races_claim(struct twin_mesh *m, struct twin_core *c, unsigned int color)
{
	if (c->claimed >> color & 1)
		report(m, c, "two engines read color", color);
}

/* the color's route changes, while wavelets are where it took them from */
void twin_races_route(struct twin_mesh *m, struct twin_core *c, unsigned int color, uint32_t rx,
		      uint32_t tx)
{
	if ((rx != c->rx[color] || tx != c->tx[color]) && c->rx[color] <= WSE_PORT_R &&
	    c->in[c->rx[color]][color].count)
		report(m, c, "ROUTE while wavelets wait for the old route of color", color);
}

void twin_races_reset(struct twin_mesh *m, const struct twin_core *c)
{
	memset(m->races->core[c->idx].n, 0, sizeof(m->races->core[c->idx].n));
}

static void touch(struct twin_mesh *m, struct twin_core *c, uint32_t addr, uint32_t size,
		  bool write)
{
	const struct open_core *o = &m->races->core[c->idx];
	int32_t off = (int32_t)(addr - WSE_SRAM_BASE);
	unsigned int w, i, k;

	for (w = 0; w < 3; w++)
		for (i = 0; i < o->n[w]; i++)
			for (k = 0; k < 3; k++) {
				const struct span *s = &o->ins[w][i].s[k];

				if ((write || s->write) && off < s->to &&
				    off + (int32_t)size > s->from) {
					report(m, c,
					       write ? "store to an operand of a running engine, at"
						     : "load from a destination of a running "
						       "engine, at",
					       addr);
					return;
				}
			}
}

/* TNEXT took a flag: the oldest instruction that sets it is complete, and all before it */
static void picked(struct open_core *o, unsigned int task)
{
	unsigned int w, i;

	for (w = 0; w < 3; w++) {
		for (i = 0; i < o->n[w]; i++) {
			uint32_t tcw = o->ins[w][i].tcw;

			if (tcw & (WSE_TCW_ACTIVATE_MASK | WSE_TCW_UNBLOCK_MASK) &&
			    tcw >> WSE_TCW_TASK_SHIFT == task) {
				forget(o, w, i + 1);
				break;
			}
		}
	}
}

/* the instruction at pc, before it runs */
static void before(struct twin_mesh *m, struct twin_core *c, const struct twin_dec *d)
{
	static const uint8_t size[] = {1, 2, 4, 1, 2}; /* lb lh lw lbu lhu, sb sh sw */
	uint32_t rs1 = c->x[d->rs1];

	if (d->op >= OP_lb && d->op <= OP_lhu)
		touch(m, c, rs1 + (uint32_t)d->imm, size[d->op - OP_lb], false);
	else if (d->op >= OP_sb && d->op <= OP_sw)
		touch(m, c, rs1 + (uint32_t)d->imm, size[d->op - OP_sb], true);
	else if (d->op == OP_recv && (rs1 & 0x1f) < WSE_NCOLORS && c->claimed >> (rs1 & 0x1f) & 1)
		report(m, c, "RECV of a color that an engine reads,", rs1 & 0x1f);
}

static void after(struct twin_mesh *m, struct twin_core *c, const struct twin_dec *d, uint32_t rs1)
{
	struct open_core *o = &m->races->core[c->idx];
	uint32_t w;

	if (d->op == OP_tnext && c->winfo >> 14 & 1)
		picked(o, c->last_pick);
	for (w = 0; d->op == OP_wait && w < 3; w++)
		if (rs1 >> w & 1)
			o->n[w] = 0;
}

/* as twin_exec(), looking at every instruction */
void twin_races_exec(struct twin_mesh *m, struct twin_core *c, uint32_t limit)
{
	while (limit-- && c->run == WSE_CORE_RUNNING) {
		uint64_t retired = c->retired;
		struct twin_dec d;
		uint32_t rs1;

		twin_decode_next(&d, c);
		rs1 = c->x[d.rs1];
		before(m, c, &d);
		if (c->trace)
			twin_trace_exec(m, c, 1);
		else
			twin_exec(m, c, 1);
		if (c->wait != WAIT_NONE)
			return;
		if (c->retired != retired)
			after(m, c, &d, rs1);
	}
}
