// SPDX-License-Identifier: MIT
/*
 * Vector instructions of translated loops (emit_op.c), against the queue of the engine and one
 * element after the other. Loops issue the same few instructions again and again, with operands of
 * all kinds that overlap in all ways, and rewrite bases and shapes between them, some only from a
 * round on: whatever was made of an instruction has to see it. Words of the loop itself are written
 * by a vector instruction, tasks that completion makes ready are taken at once, and some loops
 * issue more than L may work in a round. Memory, accumulators, tasks, cycles and faults must be the
 * same.
 */
#include <string.h>

#include "pair.h"
#include "rnd.h"
#include "twin/exact/vop.h"

#define TABLE	 0x8000u /* of each round: words that the body reads */
#define WORDS	 16u
#define ROUNDS	 48u
#define DATA	 0x1000u
#define PATCHES	 0x7000u /* instructions that are written into the body */
#define NPATCHES 4u
#define PROGRAMS 3000

enum {
	TOP = 10,
	LEFT = 11,
	SUM = 12,
	FIXED = 16
};					/* registers; FIXED: of words made before the loop */
enum { STREAM = 11, HOLE = 14, PATCH }; /* DSRs; those before are of random operands */

static uint32_t value(bool wild)
{
	static const uint32_t special[] = {0,	       0x80000000, 0x7f800000, 0xff800000,
					   0x7fc00000, 0x7f812345, 1,	       0x807fffff};

	if (wild && !below(24))
		return special[below(8)];
	return (rnd() & 0x807fffff) | (0x3c + below(8)) << 24;
}

struct shape {
	uint32_t len, len1;
};

static struct shape shape(void)
{
	static const struct shape often[] = {{8, 4}, {32, 1}, {16, 2}, {8, 2}, {16, 1}, {64, 1}};

	if (below(3))
		return often[below(6)];
	return (struct shape){8 * (1 + below(5)), 1 + below(4)};
}

/* word 0 of an operand in memory; seldom a bad one */
static uint32_t base(void)
{
	if (!below(2000))
		return WSE_SRAM_BASE + below(2 * WSE_SRAM_BYTES);
	return WSE_SRAM_BASE + DATA + below(below(2) ? 8 : 160) * 16;
}

static void operand(uint32_t w[4], struct shape s)
{
	uint32_t size = below(3) ? 4 : 2, row = s.len * size;
	bool acc = below(3) && s.len * s.len1 <= WSE_NACC, again = !below(5);

	if (acc) {
		w[0] = below((WSE_NACC - s.len * s.len1) / 8 + 1) * 8;
		w[0] = below(2) ? w[0] / 32 * 32 : w[0];
		w[1] = d1(s.len, 1);
		w[2] = d1(s.len1, again ? 0 : (int32_t)s.len);
		w[3] = kind(WSE_KIND_ACC, 0);
		return;
	}
	w[0] = base();
	w[1] = d1(s.len, (int32_t)size);
	w[2] = d1(s.len1, again ? 0 : below(4) ? (int32_t)row : (int32_t)((row + 47) & ~15u));
	w[3] = kind(WSE_KIND_MEM, size == 2 ? WSE_DT_BF16 : below(4) ? WSE_DT_FP32 : WSE_DT_I32);
}

#define CODE(name, value, kind, expr) value,

static uint32_t instruction(bool tasks)
{
	static const uint8_t ops[] = {WSE_VOPS_ELEMENTS(CODE)};
	uint32_t w = tcw(WSE_ENGINE_L, ops[below(below(2) ? 4 : sizeof(ops))], below(STREAM),
			 below(STREAM), below(STREAM));

	if (below(2))
		w |= WSE_TCW_SCALAR_MASK;
	if (tasks && !below(3))
		w |= (below(2) ? WSE_TCW_ACTIVATE_MASK : WSE_TCW_UNBLOCK_MASK) |
		     below(32) << WSE_TCW_TASK_SHIFT;
	return w;
}

struct program {
	struct rig *r;
	struct code c;
	struct shape s;
	uint32_t dsr[16][4];
	uint32_t words; /* of the table that are given */
	bool wild, tasks;
};

static void set(struct program *p, uint32_t word, uint32_t round, uint32_t v)
{
	memcpy(p->r->image + TABLE + (round * WORDS + word) * 4, &v, 4);
}

/* a word of the table into a register: from some round on another one, or each time */
static void varying(struct program *p, uint32_t rd, uint32_t a, uint32_t b, uint32_t from)
{
	uint32_t word = p->words++, i;

	for (i = 0; i < ROUNDS; i++)
		set(p, word, i, i < from ? a : b);
	put(&p->c, LW(rd, TOP, (int32_t)word * 4));
}

static void issue_something(struct program *p)
{
	uint32_t w = instruction(p->tasks);

	if (below(4) || p->words + 2 > WORDS)
		li(&p->c, 5, w);
	else
		varying(p, 5, w, instruction(p->tasks), below(ROUNDS));
	if (below(2) || p->words + 2 > WORDS)
		li(&p->c, 6, value(p->wild));
	else
		varying(p, 6, value(false), value(true), below(ROUNDS));
	if (w & WSE_TCW_UNBLOCK_MASK && below(2)) {
		li(&p->c, 7, w >> WSE_TCW_TASK_SHIFT);
		put(&p->c, WSE(WSE_F3_TASK, WSE_TASKOP_BLOCK, 0, 7, 0));
	}
	put(&p->c, WSE(WSE_F3_ISSUE, 0, 0, 5, 6));
	if (w & WSE_TCW_ACTIVATE_MASK && !below(4)) {
		put(&p->c, WSE(WSE_F3_TNEXT, 0, 7, 0, 0));
		put(&p->c, ADD(SUM, SUM, 7));
	}
}

/*
 * word 0 of a DSR, another one in each round, or two of its words as they are or from a round on
 * not
 */
static void rewrite(struct program *p)
{
	uint32_t n = below(STREAM), word, other[4], i, *w = p->dsr[n];
	bool upper = !below(4);

	if (p->words + 2 > WORDS)
		return;
	if (!upper && (w[3] & WSE_DSR3_KIND_MASK) == WSE_KIND_MEM && below(4)) {
		word = p->words++;
		for (i = 0; i < ROUNDS; i++)
			set(p, word, i, base());
		put(&p->c, LW(5, TOP, (int32_t)word * 4));
		li(&p->c, 6, w[1]);
	} else {
		do /* mostly of the same kind: others than the whole of them are bad */
			operand(other, p->s);
		while (other[3] != w[3] && below(16));
		varying(p, 5, w[upper * 2], below(2) ? w[upper * 2] : other[upper * 2],
			below(ROUNDS));
		varying(p, 6, w[upper * 2 + 1], below(2) ? w[upper * 2 + 1] : other[upper * 2 + 1],
			below(ROUNDS));
	}
	put(&p->c, WSE(WSE_F3_DSR, upper, n, 5, 6));
}

/* an instruction writes data, and from a round on instructions of the loop: others in each round */
static void written(struct program *p)
{
	uint32_t i, word, hole;

	if (p->words + 2 > WORDS)
		return;
	word = p->words++;
	for (i = 0; i < ROUNDS; i++)
		set(p, word, i,
		    WSE_SRAM_BASE + PATCHES + (i < ROUNDS / 2 ? 0 : below(NPATCHES)) * 32);
	put(&p->c, LW(5, TOP, (int32_t)word * 4));
	li(&p->c, 6, d1(8, 4));
	put(&p->c, WSE(WSE_F3_DSR, 0, PATCH, 5, 6));
	hole = (p->c.pc + 64 + 15) & ~15u; /* behind what comes here */
	varying(p, 5, WSE_SRAM_BASE + 0x6000, hole, 12 + below(24));
	put(&p->c, WSE(WSE_F3_DSR, 0, HOLE, 5, 6));
	li(&p->c, 5, 0);
	li(&p->c, 6, kind(WSE_KIND_MEM, WSE_DT_I32));
	put(&p->c, WSE(WSE_F3_DSR, 1, HOLE, 5, 6));
	li(&p->c, 5, tcw(WSE_ENGINE_L, WSE_TOP_VMOV, HOLE, PATCH, 0));
	put(&p->c, WSE(WSE_F3_ISSUE, 0, 0, 5, 6));
	while (p->c.pc < hole)
		put(&p->c, ADDI(0, 0, 0));
	for (i = 0; i < 8; i++)
		put(&p->c, ADDI(SUM, SUM, 0));
}

/* a stream of which no wavelet ever comes: L is not idle any more */
static void stream(struct program *p)
{
	if (p->words >= WORDS)
		return;
	varying(p, 5, tcw(WSE_ENGINE_L, WSE_TOP_VMOV, HOLE, HOLE, 0),
		tcw(WSE_ENGINE_L, WSE_TOP_AXPY, STREAM, STREAM + 1, STREAM + 2), below(ROUNDS));
	li(&p->c, 6, 1);
	put(&p->c, WSE(WSE_F3_ISSUE, 0, 0, 5, 6));
}

static void body(struct program *p)
{
	uint32_t n = 4 + below(12), i;

	for (i = 0; i < n; i++) {
		if (!below(3))
			rewrite(p);
		issue_something(p);
	}
	if (!below(4))
		written(p);
	if (!below(10))
		stream(p);
	if (!below(6)) { /* a mover, beside which nothing runs at once */
		li(&p->c, 5, tcw(WSE_ENGINE_M0, WSE_TOP_MOVE, HOLE, PATCH, 0));
		put(&p->c, WSE(WSE_F3_ISSUE, 0, 0, 5, 6));
		if (below(2))
			wait_engines(&p->c, 7);
	}
}

/* nothing but instructions from registers: L works longer than it may in a round */
static void dense(struct program *p)
{
	uint32_t i;

	for (i = 0; i < 100; i++)
		put(&p->c, WSE(WSE_F3_ISSUE, 0, 0, FIXED + below(8), FIXED + 8 + below(4)));
}

static void before(struct program *p)
{
	uint32_t i;

	for (i = 0; i < STREAM; i++) {
		operand(p->dsr[i], p->s);
		dsr(&p->c, i, p->dsr[i][0], p->dsr[i][1], p->dsr[i][2], p->dsr[i][3]);
	}
	dsr(&p->c, STREAM, 0, d1(8, 1), 0, kind(WSE_KIND_ACC, 0));
	dsr(&p->c, STREAM + 1, 3, 0, 0, kind(WSE_KIND_FABIN, 0));
	dsr(&p->c, STREAM + 2, WSE_SRAM_BASE + DATA, d1(8, 2), d1(16, 16),
	    kind(WSE_KIND_MEM, WSE_DT_BF16));
	dsr(&p->c, HOLE, WSE_SRAM_BASE + 0x6000, d1(40, 4), 0, kind(WSE_KIND_MEM, WSE_DT_I32));
	dsr(&p->c, PATCH, WSE_SRAM_BASE + PATCHES, d1(40, 4), 0, kind(WSE_KIND_MEM, WSE_DT_I32));
	for (i = 0; i < 8; i++)
		li(&p->c, FIXED + i, instruction(false));
	for (i = 8; i < 12; i++)
		li(&p->c, FIXED + i, value(true));
	for (i = 0; i < 32; i++) {
		li(&p->c, 5, i);
		li(&p->c, 6, i * i);
		put(&p->c, WSE(WSE_F3_TASK, WSE_TASKOP_ENTRY, 0, 5, 6));
	}
	if (p->tasks) {
		li(&p->c, 5, below(32));
		put(&p->c, WSE(WSE_F3_TASK, WSE_TASKOP_BLOCK, 0, 5, 0));
	}
}

static void make_program(struct rig *r)
{
	struct program p = {.r = r, .c = rig_code(r), .s = shape()};
	bool full = !below(8);
	uint32_t i, top, w;

	if (full)
		p.s = (struct shape){32, 4};
	p.wild = !below(3);
	p.tasks = below(2);
	for (i = 0; i < CODE_AT; i += 4) {
		w = value(p.wild);
		memcpy(r->image + i, &w, 4);
	}
	for (i = 0; i < NPATCHES * 8; i++) {
		w = ADDI(SUM, SUM, (int32_t)below(1000));
		memcpy(r->image + PATCHES + i * 4, &w, 4);
	}
	before(&p);
	li(&p.c, TOP, WSE_SRAM_BASE + TABLE);
	li(&p.c, LEFT, ROUNDS);
	top = p.c.pc;
	if (full)
		dense(&p);
	else
		body(&p);
	put(&p.c, ADDI(TOP, TOP, WORDS * 4));
	put(&p.c, ADDI(LEFT, LEFT, -1));
	put(&p.c, b_type(1, LEFT, 0, (int32_t)(top - p.c.pc)));
	wait_engines(&p.c, 7);
	recv(&p.c, 0, WSE_SRAM_BASE); /* without end; TNEXT would take the tasks */
}

static uint32_t ends;

static void count_ends(const struct pair *p)
{
	ends += !p->st.x[LEFT];
}

int main(void)
{
	static struct pair p;

	if (!pair_compare(&p, PROGRAMS, make_program, count_ends))
		return tap_end();
	ok(ends > PROGRAMS / 2, "%u of %u loops came to their end", ends, PROGRAMS);
	went(&p.ways, quick, 100 * PROGRAMS);
	if (can_translate())
		went(&p.ways, generated, 100 * PROGRAMS);
	return tap_end();
}
