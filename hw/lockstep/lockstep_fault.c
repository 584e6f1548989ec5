// SPDX-License-Identifier: MIT
/*
 * Programs in which one core makes an error, or in which nothing can proceed: the command's status
 * and its fault record must be the same.
 */
#include "lockstep.h"
#include "lockstep_asm.h"
#include "lockstep_ops.h"

/* --- a core that faults or waits without end --- */

/* A valid instruction with one wrong field, more often than not. */
static void corrupt(struct code *c, struct rng *r)
{
	static const uint32_t wrong0[] = {0,	      0x7ffffff0, 0x8000bff0, 0x8000c000,
					  0x80008001, 0x80008002, 0x80008008, 127,
					  128,	      4,	  24,	      0xffffffff};
	static const uint32_t wrong1[] = {
		0,	     8,		  8 | 1 << 16,	8 | 3 << 16, 7 | 4 << 16, 0xffff | 4 << 16,
		8 | 2 << 16, 8 | 4 << 16, 16 | 4 << 16, 1 | 4 << 16};
	static const uint32_t ops[] = {0,  1,  2,  3,  8,  9,  10, 11,	16,	      18,
				       19, 22, 25, 31, 36, 37, 38, 127, WSE_TOP_MIDX, WSE_TOP_MIDX};
	uint32_t d[3][4] = {
		{OPS_L, 8 | 4 << 16, 0, WSE_KIND_MEM | WSE_DT_FP32 << 4},
		{OPS_L + 64, 8 | 4 << 16, 0, WSE_KIND_MEM | WSE_DT_FP32 << 4},
		{OPS_L + 128, 8 | 4 << 16, 0, WSE_KIND_MEM | WSE_DT_FP32 << 4},
	};
	uint32_t op = ops[rng_below(r, sizeof(ops) / sizeof(ops[0]))],
		 engine = op < 8 || op > 15 ? 0 : rng_range(r, 1, 2), w, flags = 0;
	static const uint32_t row[] = {0, 1, 16380, 16383, 16384, 0xffffffff};
	uint32_t n = rng_range(r, 1, 2), scalar = rng_below(r, 6);

	if (op == WSE_TOP_MIDX && rng_chance(r, 80)) { /* four wavelets find room without a route */
		d[0][0] = rng_below(r, WSE_NCOLORS);
		d[0][3] = WSE_KIND_FABOUT;
		d[1][1] = rng_range(r, 1, 4) | 4 << 16;
		scalar = row[scalar];
	}
	while (n--) {
		uint32_t i = rng_below(r, 3);

		switch (w = rng_below(r, 6)) {
		case 0:
			d[i][0] = wrong0[rng_below(r, 12)];
			break;
		case 1:
			d[i][1] = wrong1[rng_below(r, 10)];
			break;
		case 2:
			d[i][2] = rng_below(r, 3) | rng_below(r, 40) << 16;
			break;
		case 3:
			d[i][3] = rng_below(r, 8) | rng_below(r, 5) << 4;
			break;
		case 4:
			flags |= 1u << rng_range(r, 22, 24);
			break;
		default:
			engine = rng_below(r, 4);
		}
	}
	for (uint32_t i = 0; i < 3; i++)
		op_dsr(c, i, d[i]);
	op_issue(c, op | 0 << 8 | 1 << 12 | 2 << 16 | engine << 20 | flags, scalar);
}

/* A stream from the core to itself whose wavelets the reader cannot take. */
static void bad_stream(struct code *c, struct rng *r)
{
	struct op_shape s;
	uint32_t w, color = rng_below(r, WSE_NCOLORS), B = 1u << rng_below(r, 2);

	op_route(c, color, WSE_PORT_R, 1u << WSE_PORT_R);
	if (rng_chance(r, 70))
		op_axpy(c, r, color, B, 5, &s);
	else
		op_receive(c, r, color, 3, false);
	for (int i = 0; i < 3; i++) {
		bool ctrl = rng_chance(r, 20);

		w = ctrl ? rng_below(r, 4)
			 : (uint32_t)rng_next(r) << 16 | rng_below(r, 4) << 14 | rng_below(r, 6);
		li(c, 5, w);
		li(c, 6, color | (uint32_t)ctrl << 8);
		put(c, WSE(WSE_F3_SEND, 0, 0, 5, 6));
	}
}

/* true: without end, the handler traps itself and nothing retires */
static bool trap(struct code *c, struct rng *r)
{
	static const uint32_t insn[] = {
		0,
		0x00000073,
		0x00100073,
		0x0005a003 /* lw x0, 0(x11) */,
		0x00b5a023 /* sw x11, 0(x11) */,
		0x00058067 /* jalr x0, 0(x11) */,
		0x1ff00073,
	};
	static const uint32_t addr[] = {0, 2, 0x80000002, 0x8000c000, 0x7ffffffc, 0x80008001};
	bool loop = rng_chance(r, 25);

	if (loop) { /* no code is there */
		li(c, 12, rng_chance(r, 50) ? WSE_SRAM_BASE + 0x4000 : 0x90000000);
		put(c, CSRRW(0, 0x305, 12));
	}
	li(c, 11, addr[rng_below(r, 6)]);
	put(c, insn[rng_below(r, 7)]);
	return loop;
}

/* Waits for an event that never comes. */
static void block(struct code *c, struct rng *r)
{
	uint32_t color = rng_below(r, WSE_NCOLORS), n;
	struct op_shape s;

	switch (rng_below(r, 6)) {
	case 0:
		li(c, 5, color);
		put(c, WSE(WSE_F3_RECV, 0, 6, 5, 0));
		break;
	case 1: /* no route: the ramp's queue fills */
		li(c, 6, color);
		for (n = 0; n < 6; n++)
			put(c, WSE(WSE_F3_SEND, 0, 0, 5, 6));
		break;
	case 2:
		op_axpy(c, r, color, 1, 4, &s);
		if (rng_chance(r, 50))
			op_wait(c, 7);
		break;
	case 3:
		op_receive(c, r, color, 4, false);
		if (rng_chance(r, 50))
			op_wait(c, 7);
		break;
	case 4: /* no route, for a mover */
		op_send(c, r, color, 10, false, 0, 0);
		if (rng_chance(r, 30))
			op_wait(c, 7);
		break;
	default:
		break; /* and TNEXT follows */
	}
	put(c, WSE(WSE_F3_TNEXT, 0, 10, 0, 0));
}

static void done(struct code *c, uint32_t value)
{
	li(c, 5, value);
	put(c, WSE(WSE_F3_SYS, WSE_SYSOP_DONE, 0, 5, 0));
	put(c, WSE(WSE_F3_TNEXT, 0, 10, 0, 0));
}

/* A stream that no core takes or feeds: its ports wait until the budget ends. */
static struct wse_sqe stuck(const struct ls_program *p, struct rng *r)
{
	struct wse_sqe s = {
		.opcode = rng_chance(r, 50) ? WSE_OP_STREAM_IN : WSE_OP_STREAM_OUT,
		.flags = WSE_SQF_BUF_DIRECT,
		.cid = 2,
		.color = (uint8_t)rng_below(r, WSE_NCOLORS),
		.etype = (uint8_t)rng_below(r, 2),
		.budget = rng_range(r, 4000, 20000),
		.buf = LS_IOVA + LS_MEM_DATA,
		.nline = rng_range(r, 1, 3),
		.kcol = (uint16_t)rng_range(r, 10, 100),
		.nfeat = 1,
		.lstride = 512,
		.cstride = 2048,
	};

	s.col0 = (uint16_t)rng_below(r, p->cols);
	s.cols = (uint16_t)rng_range(r, 1, p->cols - s.col0);
	return s;
}

void ls_gen_fault(struct ls_program *p, struct rng *r)
{
	uint32_t bad = rng_below(r, p->rows * p->cols), kind = rng_below(r, 13);
	bool loops = false;
	struct wse_sqe_start start = {
		.opcode = WSE_OP_START,
		.flags = WSE_SQF_BOOT | WSE_SQF_CLOSED,
		.cid = 1,
		.rows = (uint16_t)p->rows,
		.cols = (uint16_t)p->cols,
		.budget = 1000000,
		.entry = WSE_SRAM_BASE,
	};

	p->kind = "fault";
	p->faults = true;
	for (uint32_t core = 0; core < p->rows * p->cols; core++) {
		struct code c = {p->image[core], WSE_SRAM_BASE};

		op_random_floats(r, p->image[core] + OPS_DATA - WSE_SRAM_BASE, OPS_DATA_BYTES);
		op_fill_acc(&c, r);
		if (core == bad) {
			if (kind < 5)
				corrupt(&c, r);
			else if (kind < 7)
				bad_stream(&c, r);
			else if (kind < 9)
				loops = trap(&c, r);
			else if (kind < 11)
				block(&c, r);
			else if (kind == 11)
				put(&c, j_type(0, 0)); /* until the budget ends */
			op_wait(&c, 7);
		}
		done(&c, core == bad && rng_chance(r, 30) ? 99 : 0);
	}
	if (kind == 11 || loops)
		start.budget = rng_range(r, 2000, 20000);
	p->cmd[0].queue = 0;
	memcpy(&p->cmd[0].sqe, &start, sizeof(start));
	p->ncmds = 1;
	if (kind == 12) {
		p->cmd[1].queue = 0;
		p->cmd[p->ncmds++].sqe = stuck(p, r);
	}
	/* stops the loop, and shows that the tile can be cleared after anything */
	p->cmd[p->ncmds].queue = 0;
	p->cmd[p->ncmds++].sqe = (struct wse_sqe){.opcode = WSE_OP_CTX_RESET, .cid = 3};
}
