// SPDX-License-Identifier: MIT
/*
 * Vector instructions that are done at once (quick.c), at their ISSUE or behind a stream in the
 * queue of their engine, against one element after the other: a loop sets three DSRs and issues, as
 * lists of random instructions in memory say. Operands overlap in all ways, lie beside the loop's
 * own code, are sometimes bad, and sometimes a mover is under way. Memory, accumulators, tasks,
 * cycles and faults must be the same.
 */
#include <string.h>

#include "pair.h"
#include "rnd.h"
#include "twin/exact/vop.h"

#define RECORDS	 0x8000u
#define RECORD	 64u
#define NRECORDS 120u
#define BESIDE	 (CODE_AT + 0x100u) /* data in a page that holds code, too */
#define WAVELETS 0x7000u
#define PROGRAMS 4000

static bool streams; /* some instructions wait behind an AXPY */

static uint32_t value(void)
{
	static const uint32_t special[] = {0,	       0x80000000, 0x7f800000, 0xff800000,
					   0x7fc00000, 0x7f812345, 1,	       0x807fffff};

	if (!below(24))
		return special[below(8)];
	return below(2) ? (rnd() & 0x80ffffff) | 0x3f000000 : rnd();
}

/* a lane operand of that shape: memory that others use, too, or accumulators */
static void operand(uint32_t dsr[4], uint32_t len, uint32_t len1, bool bad)
{
	uint32_t size = below(2) ? 2 : 4, kind_;
	int32_t stride = 1, stride1 = ((int32_t)below(9) - 4) * 8;

	if (below(2) && len * len1 <= WSE_NACC) {
		kind_ = kind(WSE_KIND_ACC, 0);
		stride1 = below(4) ? (int32_t)len : 0;
		dsr[0] = below((WSE_NACC - len * len1) / 8 + 1) * 8;
	} else {
		kind_ = kind(WSE_KIND_MEM, size == 2  ? WSE_DT_BF16
					   : below(4) ? WSE_DT_FP32
						      : WSE_DT_I32);
		stride = (int32_t)size;
		stride1 = below(2) ? (int32_t)(len * size + 15) & ~15 : stride1 * 2;
		dsr[0] = WSE_SRAM_BASE + 0x1000 + below(64) * 16;
		if (!below(8) && len1 == 1 && len <= 16)
			dsr[0] = WSE_SRAM_BASE + BESIDE + below(4) * 16;
	}
	dsr[1] = d1(len, stride);
	dsr[2] = d1(len1 == 1 && below(2) ? 0 : len1, stride1);
	dsr[3] = kind_;
	if (bad)
		dsr[below(4)] ^= 1u << below(32);
}

static uint32_t completion(void)
{
	return (below(2) ? WSE_TCW_ACTIVATE_MASK : 0) | (below(2) ? WSE_TCW_UNBLOCK_MASK : 0) |
	       below(32) << WSE_TCW_TASK_SHIFT;
}

#define CODE(name, value, kind, expr) value,

static void record(uint32_t *w)
{
	static const uint8_t ops[] = {WSE_VOPS(CODE)};
	uint32_t op = ops[below(sizeof(ops))], len = 8 * (1 + below(5)), len1 = 1;
	bool bad = !below(400);

	if (!below(3))
		len1 = 1 + below(4);
	else if (!below(20))
		len = 8 * (1 + below(60));
	operand(w, len, len1, bad && !below(3));
	operand(w + 4, len, len1, bad && !below(3));
	operand(w + 8, len, len1, bad && !below(3));
	if (twin_vop_kind(op) == TWIN_VOP_REDUCE && !bad) {
		w[0] = below(2) ? WSE_SRAM_BASE + 0x1000 + below(300) * 4 : below(WSE_NACC);
		w[1] = d1(1, 0);
		w[2] = 0;
		w[3] = w[0] < WSE_NACC ? kind(WSE_KIND_ACC, 0) : kind(WSE_KIND_MEM, below(3));
	}
	w[12] = tcw(WSE_ENGINE_L, op, 1, 2, 3) | completion();
	if (below(2))
		w[12] |= WSE_TCW_SCALAR_MASK;
	w[13] = value();
	if (!below(6)) { /* a mover between places of its own */
		w[0] = WSE_SRAM_BASE + 0x6000 + below(64) * 4;
		w[4] = WSE_SRAM_BASE + 0x6000 + below(64) * 4;
		w[1] = w[5] = d1(1 + below(40), 4);
		w[2] = w[6] = 0;
		w[3] = w[7] = kind(WSE_KIND_MEM, WSE_DT_I32);
		w[12] = tcw(WSE_ENGINE_M0, WSE_TOP_MOVE, 1, 2, 3) | completion();
	}
}

/* the lanes wait for wavelets, which another record's mover sends */
static void wait_record(uint32_t *w)
{
	uint32_t acc = below(15) * 8;

	w[0] = acc;
	w[3] = kind(WSE_KIND_ACC, 0);
	w[7] = kind(WSE_KIND_FABIN, 0);
	w[8] = WSE_SRAM_BASE + 0x1000 + below(64) * 16;
	w[9] = d1(8, 2);
	w[10] = d1(8, 16);
	w[11] = kind(WSE_KIND_MEM, WSE_DT_BF16);
	w[12] = tcw(WSE_ENGINE_L, WSE_TOP_AXPY, 1, 2, 3) | completion();
	w[13] = 1;
}

static void send_record(uint32_t *w)
{
	uint32_t n = 1 + below(16);

	w[1] = d1(n, 0);
	w[3] = kind(WSE_KIND_FABOUT, 0);
	w[4] = WSE_SRAM_BASE + WAVELETS;
	w[5] = d1(n, 4);
	w[7] = kind(WSE_KIND_MEM, WSE_DT_I32);
	w[12] = tcw(WSE_ENGINE_M1, WSE_TOP_MOVE, 1, 2, 3) | WSE_TCW_SEND_END_MASK | completion();
}

/* a record before the i-th that is no stream's */
static uint32_t same_as(uint32_t i)
{
	uint32_t n;

	do
		n = below(i);
	while (streams && n % 8 >= 5);
	return n;
}

static void load(struct code *c, uint32_t rd, uint32_t off)
{
	put(c, i_type(0x03, 2, rd, 10, (int32_t)off));
}

static void make_program(struct rig *r)
{
	struct code c = rig_code(r);
	uint32_t i, top, w;

	for (i = 0; i < CODE_AT; i += 4) {
		w = value();
		memcpy(r->image + i, &w, 4);
	}
	for (i = 0; i < 16; i++) {
		w = (value() & 0xffff0000) | below(8);
		memcpy(r->image + WAVELETS + i * 4, &w, 4);
	}
	for (i = 0; i < NRECORDS; i++) {
		uint32_t words[RECORD / 4] = {0};

		/* often the same again, as kernels do */
		if (streams && i % 8 == 5)
			wait_record(words);
		else if (streams && i % 8 == 7)
			send_record(words);
		else if (i && below(2))
			memcpy(words, r->image + RECORDS + same_as(i) * RECORD, RECORD);
		else
			record(words);
		memcpy(r->image + RECORDS + i * RECORD, words, RECORD);
	}
	route(&c, 0, WSE_PORT_R, 1u << WSE_PORT_R);
	li(&c, 10, WSE_SRAM_BASE + RECORDS);
	li(&c, 11, NRECORDS);
	top = c.pc;
	for (i = 0; i < 6; i++) {
		load(&c, 5, i * 8);
		load(&c, 6, i * 8 + 4);
		put(&c, WSE(WSE_F3_DSR, i & 1, 1 + i / 2, 5, 6));
	}
	load(&c, 5, 48);
	load(&c, 6, 52);
	put(&c, WSE(WSE_F3_ISSUE, 0, 0, 5, 6));
	put(&c, i_type(0x13, 0, 10, 10, RECORD));
	put(&c, i_type(0x13, 0, 11, 11, -1));
	put(&c, b_type(1, 11, 0, (int32_t)(top - c.pc)));
	wait_engines(&c, 7);
	recv(&c, 0, WSE_SRAM_BASE); /* without end; TNEXT would take the tasks */
	memset(r->image + BESIDE, 0, 0x100);
}

int main(void)
{
	static struct pair p, q = {.streams = true};

	if (!pair_compare(&p, PROGRAMS, make_program, NULL))
		return tap_end();
	ok(p.faults > PROGRAMS / 50 && p.faults < PROGRAMS / 2, "%u faults of %u", p.faults,
	   PROGRAMS);
	went(&p.ways, quick, 50 * PROGRAMS);
	went(&p.ways, again, PROGRAMS);
	went(&p.ways, known, PROGRAMS);
	streams = true;
	pair_compare(&q, PROGRAMS / 8, make_program, NULL);
	went(&q.ways, grouped, PROGRAMS / 2);
	return tap_end();
}
