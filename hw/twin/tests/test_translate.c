// SPDX-License-Identifier: MIT
/*
 * Translated scalar code against the interpreter: random loops, with branches, calls, loads and
 * stores, routes and flags of tasks, traps and code that writes itself, once on a twin that
 * translates and once on one that does not. Registers, memory, counters, routes, flags and fault
 * records must be the same. Some cores of a row run the same words, one has a word of its own, one
 * another program: they share what was translated, until one of them writes itself.
 */
#include <string.h>

#include "check.h"
#include "rig.h"
#include "twin/jit/translate.h"
#include "rnd.h"
#include "ways.h"

#define DATA	 0x4000u
#define BODY	 60u
#define PROGRAMS 1000
#define CORES	 4u

static uint32_t r_op(uint32_t f7, uint32_t f3, uint32_t rd, uint32_t rs1, uint32_t rs2)
{
	return r_type(0x33, f3, f7, rd, rs1, rs2);
}

static uint32_t i_op(uint32_t op, uint32_t f3, uint32_t rd, uint32_t rs1, uint32_t imm)
{
	return imm << 20 | rs1 << 15 | f3 << 12 | rd << 7 | op;
}

/* any register as a source; x26 ... x29 are no destinations */
static uint32_t any(void)
{
	return below(32);
}

static uint32_t dst(void)
{
	return below(26);
}

static uint32_t branch(uint32_t f3, uint32_t rs1, uint32_t rs2, int32_t words)
{
	uint32_t o = (uint32_t)words * 4;

	return (o >> 12 & 1) << 31 | (o >> 5 & 0x3f) << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 |
	       (o >> 1 & 0xf) << 8 | (o >> 11 & 1) << 7 | 0x63;
}

static uint32_t jal(uint32_t rd, int32_t words)
{
	uint32_t o = (uint32_t)words * 4;

	return (o >> 20 & 1) << 31 | (o >> 1 & 0x3ff) << 21 | (o >> 11 & 1) << 20 |
	       (o >> 12 & 0xff) << 12 | rd << 7 | 0x6f;
}

static uint32_t arithmetic(void)
{
	static const uint8_t f3_imm[] = {0, 2, 3, 4, 6, 7};
	uint32_t f3 = below(8);

	switch (below(8)) {
	case 0:
		return below(2) ? below(1 << 20) << 12 | dst() << 7 | 0x37
				: below(1 << 20) << 12 | dst() << 7 | 0x17;
	case 1:
		f3 = below(3);
		return i_op(0x13, f3 ? 5 : 1, dst(), any(), below(32) | (f3 == 2) << 10);
	case 2:
	case 3:
		return i_op(0x13, f3_imm[below(6)], dst(), any(), below(4096));
	case 4:
		return r_op(1, f3, dst(), any(), any()); /* multiply, divide */
	}
	return r_op((f3 == 0 || f3 == 5) && below(2) ? 0x20 : 0, f3, dst(), any(), any());
}

/* mostly inside the data and aligned; sometimes at code, seldom at what traps */
static uint32_t memory(bool writes_code)
{
	static const uint8_t loads[] = {0, 1, 2, 4, 5};
	bool load = below(2);
	uint32_t f3 = load ? loads[below(5)] : below(3), imm = below(1024);
	uint32_t base = writes_code && !below(32) ? 29 : 28;

	if (below(400))
		imm &= ~((1u << (f3 & 3)) - 1);
	if (!below(600))
		base = any();
	if (load)
		return i_op(0x03, f3, dst(), base, imm);
	return (imm >> 5) << 25 | any() << 20 | base << 15 | f3 << 12 | (imm & 0x1f) << 7 | 0x23;
}

/* copies an instruction to another place in the body, to which x29 points, in the round of x30 */
static void copy_word(struct code *c)
{
	uint32_t from = below(BODY) * 4, to = below(BODY) * 4;

	put(c, branch(1, 26, 30, 3));
	put(c, i_op(0x03, 2, 5, 29, from));
	put(c, (to >> 5) << 25 | 5u << 20 | 29u << 15 | 2u << 12 | (to & 0x1f) << 7 | 0x23);
}

static void body(struct code *c, bool writes_code)
{
	static const uint16_t plain_csr[] = {WSE_CSR_WDATA, WSE_CSR_WINFO, WSE_CSR_ID, WSE_CSR_DIM,
					     WSE_CSR_CFG};
	uint32_t i, kind;

	for (i = 0; i < BODY; i++) {
		kind = below(32);
		if (kind < 5)
			put(c, branch((uint8_t[]){0, 1, 4, 5, 6, 7}[below(6)], any(), any(),
				      1 + (int32_t)below(6)));
		else if (kind < 11)
			put(c, memory(writes_code));
		else if (kind == 11)
			put(c, jal(below(2) ? 0 : dst(), 1 + (int32_t)below(4)));
		else if (kind == 12)
			put(c, i_op(0x73, 2, dst(), 0, 0xb02)); /* minstret */
		else if (kind == 13)
			put(c, i_op(0x67, 0, 1, 27, 0)); /* a call */
		else if (kind == 15)
			put(c, i_op(0x73, 2, dst(), 0, plain_csr[below(5)]));
		else if (kind == 16)
			put(c,
			    i_op(0x73, 1, dst(), any(), below(2) ? WSE_CSR_WDATA : WSE_CSR_WINFO));
		else if (kind == 17)
			put(c, WSE(WSE_F3_DSR, below(2), below(16), any(), any()));
		else if (kind == 18)
			put(c,
			    WSE(WSE_F3_TASK, below(2) ? WSE_TASKOP_ACTIVATE + below(3) : below(6),
				0, below(8) ? 31 : any(), any()));
		else if (kind == 19)
			put(c, WSE(WSE_F3_ROUTE, 0, 0, below(16) ? 31 : any(), any()));
		else if (kind == 14 && writes_code && i + 3 < BODY)
			copy_word(c), i += 2;
		else
			put(c, arithmetic());
	}
}

/* rounds of the body, then the end; a function behind it */
static void make_program(struct rig *r, bool writes_code)
{
	struct code c = rig_code(r);
	uint32_t top, i, at_body, at_call;

	memset(r->image, 0, sizeof(r->image));
	for (i = 0; i < 2048; i++)
		r->image[DATA + i] = (uint8_t)below(256);
	for (i = 1; i < 26; i++)
		li(&c, i, below(4) ? rnd() : below(8) - 4);
	li(&c, 26, 40);
	li(&c, 28, WSE_SRAM_BASE + DATA);
	li(&c, 30, 1 + below(30));
	li(&c, 31, 32 * below(2) + below(WSE_NCOLORS)); /* a color, a task */
	at_call = li2(&c, 27);
	at_body = li2(&c, 29);
	top = c.pc;
	li2_at(r->image, at_body, 29, top);
	body(&c, writes_code);
	put(&c, i_op(0x13, 0, 26, 26, 0xfff));
	put(&c, branch(1, 26, 0, ((int32_t)top - (int32_t)c.pc) / 4));
	park(&c);
	li2_at(r->image, at_call, 27, c.pc);
	put(&c, i_op(0x13, 0, 24, 24, 1));
	put(&c, r_op(0, 4, 25, 25, 24));
	put(&c, i_op(0x67, 0, 0, 1, 0)); /* ret */
}

static uint32_t total, faults;

static bool same_core(struct rig *a, struct rig *b, uint32_t core)
{
	const struct twin_core *ca = &a->m->core[core], *cb = &b->m->core[core];
	struct wse_core_state sa, sb;

	a->ops->get_state(a->m, core, &sa);
	b->ops->get_state(b->m, core, &sb);
	faults += sa.run == WSE_CORE_FAULTED;
	sa.mcycle = sb.mcycle = 0;
	a->ops->peek(a->m, core, WSE_SRAM_BASE, a->got, sizeof(a->got));
	b->ops->peek(b->m, core, WSE_SRAM_BASE, b->got, sizeof(b->got));
	return !memcmp(ca->dsr, cb->dsr, sizeof(ca->dsr)) &&
	       !memcmp(ca->rx, cb->rx, sizeof(ca->rx)) && !memcmp(ca->tx, cb->tx, sizeof(ca->tx)) &&
	       ca->ready == cb->ready && ca->blocked == cb->blocked &&
	       !memcmp(&sa, &sb, sizeof(sa)) && !memcmp(a->got, b->got, sizeof(a->got));
}

static bool same(struct rig *a, struct rig *b, bool writes_code)
{
	struct rig *const both[] = {a, b};
	struct wse_core_state s;
	struct code c;
	uint32_t i, r;

	make_program(a, writes_code);
	for (i = 0; i < CORES; i++) {
		if (i == CORES - 1 && below(2))
			make_program(a, writes_code);
		if (i == CORES - 2 && below(2)) { /* the body, and when it is written, differ */
			c = rig_code(a);
			c.pc += 4 * (30 + below(60));
			put(&c, arithmetic());
		}
		for (r = 0; r < 2; r++) {
			both[r]->ops->poke(both[r]->m, i, WSE_SRAM_BASE, a->image,
					   sizeof(a->image));
			both[r]->ops->boot(both[r]->m, i, WSE_SRAM_BASE + CODE_AT);
		}
	}
	a->ops->advance(a->m, 100000, NULL);
	b->ops->advance(b->m, 100000, NULL);
	for (i = 0; i < CORES; i++) {
		a->ops->get_state(a->m, i, &s);
		if (s.run == WSE_CORE_RUNNING && !a->m->core[i].done)
			return true; /* a loop without end: the two stop anywhere */
	}
	total++;
	for (i = 0; i < CORES; i++)
		if (!same_core(a, b, i))
			return false;
	return true;
}

int main(void)
{
	static struct twin_ways fast, none;
	static struct rig a, b;

	if (!ok(rig_open_row(&a, 0, CORES) && rig_open_row(&b, WSE_MACHINE_EXACT, CORES),
		"two rows of cores"))
		return tap_end();
	if (!can_translate()) {
		ok(true, "translation # SKIP no memory may be executed here");
		return tap_end();
	}
	for (int writes = 0; writes < 2; writes++) {
		uint32_t bad = 0, first = 0;
		struct twin_ways before, after;

		total = faults = 0;
		twin_ways(a.m, &before);
		for (uint32_t i = 0; i < PROGRAMS; i++) {
			if (same(&a, &b, writes))
				continue;
			if (!bad++)
				first = i;
		}
		ok(!bad, "%s: %u of %u rows differ (first %u), %u cores ended in a fault",
		   writes ? "code that writes itself" : "plain code", bad, total, first, faults);
		twin_ways(a.m, &after);
		after.translated -= before.translated;
		ok(total > PROGRAMS / 2 && (after.translated > total * 1000 || !twin_has_ways()),
		   "%u rows came to an end, and did %llu translated instructions", total,
		   (unsigned long long)after.translated);
	}
	ways_add(&fast, a.m);
	ways_add(&none, b.m);
	went(&fast, translated, 1000000);
	went_none(&none);
	a.ops->destroy(a.m);
	b.ops->destroy(b.m);
	return tap_end();
}
