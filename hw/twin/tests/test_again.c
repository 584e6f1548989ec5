// SPDX-License-Identifier: MIT
/*
 * Loops that give idle engines the same instructions again (engine.c keeps what the checks made of
 * the last one), beside the exact twin. Transfers go from the ramp to the ramp: movers of all
 * operations, in rows and with strides, AXPY and DOTX fed by MIDX. An operand may have another
 * place in every other round, or from a round on. The core waits for engines or for the task that
 * an instruction makes ready; where its lanes are idle then, it goes on in the round of the run.
 */
#include <string.h>

#include "pair.h"
#include "rnd.h"

#define ROUNDS	 12u
#define PROGRAMS 4000
#define SRC	 0x0400u /* of the first transfer */
#define DST	 0x4000u
#define AREA	 0x1000u /* bytes of each */
#define TASKS	 8u	 /* task of the first transfer; only flags */
#define MOST	 2u	 /* transfers in a loop */
#define FARTHER	 64u	 /* bytes that an operand moves by */

enum { LEFT = 10, AWAY, PLACE = 16 /* of each transfer: 0 or FARTHER */ }; /* registers */
enum {
	D_OUT,
	D_IN,
	D_FROM,
	D_TO,
	D_WITH,
	NDSRS,
	D_DOTQ = 14,
	D_SUMS
}; /* DSRs, the last ones of all */

struct shape {
	uint32_t len, rows;
	bool bf16;
	int32_t gap;   /* bytes behind each row that are left out */
	uint32_t step; /* elements from one to the next: 1, or 2 */
};

struct transfer {
	uint32_t n, dsr, task;
	bool flag; /* the core waits for its task */
};

static struct shape shape(void)
{
	return (struct shape){1 + below(40), 1 + below(3), below(2), (int32_t)below(4) * 8,
			      1 + below(2)};
}

static void memory(struct code *c, uint32_t n, uint32_t at, const struct shape *s, bool bf16)
{
	uint32_t size = bf16 ? 2 : 4, step = size * s->step;

	dsr(c, n, WSE_SRAM_BASE + at, d1(s->len, (int32_t)step),
	    d1(s->rows, (int32_t)(s->len * step) + s->gap),
	    kind(WSE_KIND_MEM, bf16 ? WSE_DT_BF16 : WSE_DT_FP32));
}

static void fabric(struct code *c, const struct transfer *t)
{
	uint32_t color = 3 + t->n;

	route(c, color, WSE_PORT_R, 1u << WSE_PORT_R);
	/* a task gets nothing of what an engine reads */
	li(c, 5, color);
	li(c, 6, TASKS + MOST);
	put(c, WSE(WSE_F3_TASK, WSE_TASKOP_BIND, 0, 5, 6));
	dsr(c, t->dsr + D_OUT, color, 0, 0, kind(WSE_KIND_FABOUT, 0));
	dsr(c, t->dsr + D_IN, color, 0, 0, kind(WSE_KIND_FABIN, 0));
}

/* word 0 of a DSR, at another place in rounds in which the transfer's register is not 0 */
static void move_base(struct code *c, const struct transfer *t, uint32_t n, uint32_t at,
		      uint32_t d1_word)
{
	li(c, 5, WSE_SRAM_BASE + at);
	put(c, ADD(5, 5, PLACE + t->n));
	li(c, 6, d1_word);
	put(c, WSE(WSE_F3_DSR, 0, n, 5, 6));
}

static uint32_t then(const struct transfer *t)
{
	return t->flag ? WSE_TCW_ACTIVATE_MASK | t->task << WSE_TCW_TASK_SHIFT : 0;
}

/* mover 0 sends an operand, mover 1 does something with what comes */
static void moved(struct code *before, struct code *body, struct transfer *t)
{
	static const uint32_t ops[] = {WSE_TOP_MOVE, WSE_TOP_MADD, WSE_TOP_MTEE};
	uint32_t from = SRC + t->n * AREA, to = DST + t->n * AREA, op = ops[below(3)], d = t->dsr;
	struct shape s = shape();
	bool out16 = below(2);

	fabric(before, t);
	memory(before, d + D_FROM, from, &s, s.bf16);
	memory(before, d + D_TO, to, &s, out16);
	memory(before, d + D_WITH, to + AREA / 2, &s, s.bf16);
	if (!below(3))
		move_base(body, t, d + D_FROM, from,
			  d1(s.len, (int32_t)((s.bf16 ? 2 : 4) * s.step)));
	if (!below(3))
		move_base(body, t, d + D_TO, to, d1(s.len, (int32_t)((out16 ? 2 : 4) * s.step)));
	issue(body, tcw(WSE_ENGINE_M1, op, d + D_TO, d + D_IN, d + D_WITH) | then(t), 0);
	issue(body, tcw(WSE_ENGINE_M0, WSE_TOP_MOVE, d + D_OUT, d + D_FROM, 0), 0);
}

/* mover 0 sends a matrix as a block, the lanes take it; of DOTX mover 1 stores the results */
static void streamed(struct code *before, struct code *body, struct transfer *t)
{
	uint32_t from = SRC + t->n * AREA, to = DST + t->n * AREA, d = t->dsr, b = 1u << below(3),
		 k = 1 + below(24), T = 8 * (1 + below(4));
	bool dot = below(2), lanes_flag = !dot && t->flag;
	struct shape matrix = {b, k, below(2), 0, 1}, x = {T, k, true, 0, 1};
	uint32_t lanes;

	fabric(before, t);
	memory(before, d + D_FROM, from, &matrix, matrix.bf16);
	memory(before, d + D_TO, to, &matrix, false);
	memory(before, d + D_WITH, from + AREA / 2, &x, true);
	if (!below(3))
		move_base(body, t, d + D_FROM, from, d1(b, matrix.bf16 ? 2 : 4));
	if (!below(3))
		move_base(body, t, d + D_WITH, from + AREA / 2, d1(T, 2));
	lanes = tcw(WSE_ENGINE_L, dot ? WSE_TOP_DOTX : WSE_TOP_AXPY, D_SUMS, d + D_IN, d + D_WITH) |
		(lanes_flag ? then(t) : 0);
	if (!dot && below(2))
		lanes |= WSE_TCW_CLEAR_MASK;
	issue(body, lanes, b);
	if (dot)
		issue(body, tcw(WSE_ENGINE_M1, WSE_TOP_MOVE, d + D_TO, D_DOTQ, 0) | then(t), 0);
	issue(body,
	      tcw(WSE_ENGINE_M0, WSE_TOP_MIDX, d + D_OUT, d + D_FROM, 0) | WSE_TCW_SEND_END_MASK,
	      0);
}

/* after a round: operands that move are at another place, or from some round on */
static void change(struct code *c, uint32_t n)
{
	if (below(2)) {
		put(c, r_type(0x33, 0, 0x20, PLACE + n, AWAY, PLACE + n)); /* sub */
		return;
	}
	put(c, i_type(0x13, 2, PLACE + n, LEFT, (int32_t)below(ROUNDS))); /* slti, slli */
	put(c, i_type(0x13, 1, PLACE + n, PLACE + n, 6));
}

static void make_program(struct rig *r)
{
	static uint8_t loop[WSE_SRAM_BYTES];
	struct code before = rig_code(r), body = {loop, WSE_SRAM_BASE};
	uint32_t transfers = 1 + below(MOST), top, i, w;

	for (i = 0; i < CODE_AT; i += 4) {
		w = (rnd() & 0x807f807f) | (0x3c003c00 + below(8) * 0x01000100);
		memcpy(r->image + i, &w, 4);
	}
	li(&before, LEFT, ROUNDS);
	li(&before, AWAY, FARTHER);
	dsr(&before, D_DOTQ, 0, 0, 0, kind(WSE_KIND_DOTQ, 0));
	dsr(&before, D_SUMS, 0, d1(WSE_NACC, 1), 0, kind(WSE_KIND_ACC, 0));
	for (i = 0; i < transfers; i++) {
		struct transfer t = {.n = i, .dsr = i * NDSRS, .task = TASKS + i, .flag = below(2)};

		li(&before, PLACE + i, 0);
		if (below(2))
			moved(&before, &body, &t);
		else
			streamed(&before, &body, &t);
		if (t.flag)
			put(&body, WSE(WSE_F3_TNEXT, 0, 7, 0, 0));
		else if (below(4))
			wait_engines(&body, 7);
		change(&body, i);
	}
	top = before.pc;
	memcpy(r->image + (top - WSE_SRAM_BASE), loop, body.pc - WSE_SRAM_BASE);
	before.pc += body.pc - WSE_SRAM_BASE;
	put(&before, ADDI(LEFT, LEFT, -1));
	put(&before, b_type(1, LEFT, 0, (int32_t)(top - before.pc)));
	wait_engines(&before, 7);
	park(&before);
}

static uint32_t ends;

static void count_ends(const struct pair *p)
{
	ends += !p->st.x[LEFT] && p->st.run != WSE_CORE_FAULTED;
}

int main(void)
{
	static struct pair p = {.streams = true};

	if (!pair_compare(&p, PROGRAMS, make_program, count_ends))
		return tap_end();
	ok(ends == PROGRAMS, "%u of %u loops came to their end", ends, PROGRAMS);
	went(&p.ways, again, 10 * PROGRAMS);
	went(&p.ways, known, 10 * PROGRAMS);
	went(&p.ways, runs, 10 * PROGRAMS);
	went(&p.ways, values, 5 * PROGRAMS);
	went(&p.ways, kept, 4 * PROGRAMS);
	went(&p.ways, copy_rows, PROGRAMS);
	went(&p.ways, copy_cols, PROGRAMS);
	went(&p.ways, fused, PROGRAMS);
	went(&p.ways, resumed, PROGRAMS);
	return tap_end();
}
