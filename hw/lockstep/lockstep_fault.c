// SPDX-License-Identifier: MIT
/*
 * Programs in which one core does something wrong, or in which nothing can go on: the command's
 * status and its fault record must be the same. And lists of commands, good and bad, for the host
 * interface.
 */
#include "lockstep.h"
#include "lockstep_asm.h"
#include "lockstep_ops.h"

/* --- a core that faults or waits for ever
 * --------------------------------------------------------- */

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

static void trap(struct code *c, struct rng *r)
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

	li(c, 11, addr[rng_below(r, 6)]);
	put(c, insn[rng_below(r, 7)]);
}

/* Waits for what never comes. */
static void block(struct code *c, struct rng *r)
{
	uint32_t color = rng_below(r, WSE_NCOLORS), n;
	struct op_shape s;

	switch (rng_below(r, 5)) {
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
		op_wait(c, 7);
		break;
	case 3:
		op_receive(c, r, color, 4, false);
		if (rng_chance(r, 50))
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

void ls_gen_fault(struct ls_program *p, struct rng *r)
{
	uint32_t bad = rng_below(r, p->rows * p->cols), kind = rng_below(r, 12);
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
				trap(&c, r);
			else if (kind < 11)
				block(&c, r);
			else
				put(&c, j_type(0, 0)); /* until the budget ends */
			op_wait(&c, 7);
		}
		done(&c, core == bad && rng_chance(r, 30) ? 99 : 0);
	}
	if (kind == 11)
		start.budget = rng_range(r, 2000, 20000);
	p->cmd[0].queue = 0;
	memcpy(&p->cmd[0].sqe, &start, sizeof(start));
	/* stops the loop, and shows that the tile can be cleared after anything */
	p->cmd[1].queue = 0;
	p->cmd[1].sqe = (struct wse_sqe){.opcode = WSE_OP_CTX_RESET, .cid = 2};
	p->ncmds = 2;
}

/* --- the host interface
 * --------------------------------------------------------------------------- */

#define PAGES 192u
/* offsets in the program's memory */
#define LIST_IN	   0x1000u
#define LIST_OUT   0x1800u
#define BROKEN_IN  0x10000u
#define BROKEN_OUT 0x20000u

static uint32_t random8(struct rng *r, uint32_t max)
{
	return 8 * rng_below(r, max / 8 + 1);
}

/* A copy that is allowed: lines of a rectangle, buffer direct or through a list of scattered pages.
 */
static struct wse_sqe copy(struct ls_program *p, struct rng *r)
{
	bool in = rng_chance(r, 50);
	struct wse_sqe s = {
		.opcode = in ? WSE_OP_COPY_IN : WSE_OP_COPY_OUT,
		.budget = 10000000,
		.row0 = (uint16_t)rng_below(r, p->rows),
		.col0 = (uint16_t)rng_below(r, p->cols),
		.nline = rng_range(r, 1, 4),
		.len = 8 + random8(r, 248),
		.sram = random8(r, 0x8000),
	};

	s.rows = (uint16_t)rng_range(r, 1, p->rows - s.row0);
	s.cols = (uint16_t)rng_range(r, 1, p->cols - s.col0);
	s.sstride = s.len + random8(r, 64);
	s.lstride = s.len + random8(r, 64);
	s.cstride = s.lstride * s.nline + random8(r, 64);
	s.rstride = s.cstride * s.cols;
	if (in && rng_chance(r, 25)) {
		s.flags |= WSE_SQF_BROADCAST;
		s.cstride = s.rstride = 0;
	}
	s.off = random8(r, 8000);
	if (rng_chance(r, 4)) { /* nothing of it is there, so that nothing moves before the error */
		s.flags |= WSE_SQF_BUF_DIRECT;
		s.buf = 0x1000;
	} else if (rng_chance(r, 40)) {
		s.flags |= WSE_SQF_BUF_DIRECT;
		s.buf = LS_IOVA + LS_MEM_DATA + 0x80000 + random8(r, 0x10000);
	} else {
		s.pshift = 12;
		s.buf = LS_IOVA + LS_MEM_DATA + (rng_below(r, 2) ? 0x800 : 0);
	}
	return s;
}

/* A copy through a list in which every third page or so is not there: it ends in the middle. */
static struct wse_sqe broken_copy(struct ls_program *p, struct rng *r, bool in)
{
	struct wse_sqe s;

	do
		s = copy(p, r);
	while ((s.opcode == WSE_OP_COPY_IN) != in || s.flags & WSE_SQF_BUF_DIRECT);
	s.buf = LS_IOVA + LS_MEM_DATA + (in ? LIST_IN : LIST_OUT);
	return s;
}

static void broken_lists(struct ls_program *p, struct rng *r)
{
	for (uint32_t i = 0; i < PAGES; i++) {
		uint64_t in = LS_IOVA + LS_MEM_DATA + BROKEN_IN + i % 16 * 4096;
		uint64_t out = LS_IOVA + LS_MEM_DATA + BROKEN_OUT + i % 16 * 4096;

		in = rng_chance(r, 30) ? 0x1000 : in;
		out = rng_chance(r, 30) ? 0x1000 : out;
		memcpy(p->mem + LS_MEM_DATA + LIST_IN + 8 * i, &in, 8);
		memcpy(p->mem + LS_MEM_DATA + LIST_OUT + 8 * i, &out, 8);
	}
	/* how much of a copy that fails has been written is not defined */
	p->open_from = LS_MEM_DATA + BROKEN_OUT;
	p->open_to = p->open_from + 0x10000;
}

static struct wse_sqe command(struct ls_program *p, struct rng *r)
{
	static const uint8_t ops[] = {WSE_OP_NOP,
				      WSE_OP_FENCE,
				      WSE_OP_START,
				      WSE_OP_SCRUB,
				      WSE_OP_CREATE_QUEUE,
				      WSE_OP_DELETE_QUEUE,
				      WSE_OP_CORE_CTL,
				      0x07,
				      0x7f,
				      0xff};
	struct wse_sqe s = {.opcode = ops[rng_below(r, sizeof(ops))]};

	if (rng_chance(r, 60))
		return copy(p, r);
	switch (s.opcode) {
	case WSE_OP_FENCE: /* of a queue that is empty, or of none */
		s.queue = (uint8_t)rng_below(r, 12);
		break;
	case WSE_OP_START: /* of cores that are held */
		s.rows = s.cols = 1;
		s.budget = 1000;
		s.sram = WSE_SRAM_BASE + rng_below(r, 64);
		break;
	case WSE_OP_SCRUB:
		s.rows = (uint16_t)rng_range(r, 1, p->rows);
		s.cols = (uint16_t)rng_range(r, 1, p->cols + 1);
		s.budget = rng_chance(r, 50) ? 1000000 : 0;
		break;
	case WSE_OP_CREATE_QUEUE: /* bad ones only */
		s.queue = (uint8_t)rng_below(r, 4);
		s.seq = 15;
		s.buf = LS_IOVA;
		s.mask = LS_IOVA;
		break;
	case WSE_OP_DELETE_QUEUE:
		s.queue = rng_chance(r, 50) ? 0 : (uint8_t)rng_range(r, 9, 255);
		break;
	default:
		break;
	}
	return s;
}

/* One member goes wrong. */
static void spoil(struct wse_sqe *s, struct rng *r)
{
	static const uint8_t at[] = {1,	 1,  4,	 5,  6,	 8,  10, 12, 14, 15,  16,
				     32, 33, 48, 56, 57, 58, 60, 61, 63, 64,  68,
				     72, 76, 80, 84, 86, 87, 88, 92, 96, 127, 40};
	static const uint8_t v[] = {0, 1, 2, 4, 8, 0x10, 0x80, 0xff};

	((uint8_t *)s)[at[rng_below(r, sizeof(at))]] = v[rng_below(r, sizeof(v))];
}

void ls_gen_host(struct ls_program *p, struct rng *r)
{
	uint32_t n = rng_range(r, 10, 40);
	uint8_t queue = rng_chance(r, 50);
	uint64_t page[PAGES];

	p->kind = "host";
	for (uint32_t core = 0; core < p->rows * p->cols; core++)
		op_random_floats(r, p->image[core], WSE_SRAM_BYTES);
	op_random_floats(r, p->mem + LS_MEM_DATA, LS_MEM - LS_MEM_DATA);
	/* two page lists: their pages lie in any order, no page twice in a list */
	for (uint32_t l = 0; l < 2; l++) {
		for (uint32_t i = 0; i < PAGES; i++)
			page[i] = LS_IOVA + LS_MEM_DATA + 0x100000 + i * 4096ull;
		for (uint32_t i = PAGES - 1; i; i--) {
			uint32_t k = rng_below(r, i + 1);
			uint64_t swap = page[i];

			page[i] = page[k];
			page[k] = swap;
		}
		memcpy(p->mem + LS_MEM_DATA + l * 0x800, page, sizeof(page));
	}
	broken_lists(p, r);
	for (uint32_t i = 0; i < n; i++) {
		bool broken = rng_chance(r, 8), in = !queue && i + 1 < n && rng_chance(r, 50);
		struct wse_sqe s = broken ? broken_copy(p, r, in) : command(p, r);

		if (!broken && rng_chance(r, 25))
			spoil(&s, r);
		/* what a spoilt copy may do must not depend on time */
		if ((s.opcode == WSE_OP_COPY_IN || s.opcode == WSE_OP_COPY_OUT) && s.budget < 1000)
			s.budget = 0;
		if (s.opcode == WSE_OP_FENCE && s.queue < LS_QUEUES)
			s.seq = 0; /* nobody else submits: it would wait for ever */
		s.cid = (uint16_t)(i + 1);
		p->cmd[i].queue = queue;
		p->cmd[i].sqe = s;
		if (broken && in) { /* what is in the cores is not defined */
			i++;
			p->cmd[i].queue = queue;
			p->cmd[i].sqe = (struct wse_sqe){
				.opcode = WSE_OP_SCRUB,
				.cid = (uint16_t)(i + 1),
				.rows = (uint16_t)p->rows,
				.cols = (uint16_t)p->cols,
				.budget = 1000000,
			};
		}
	}
	p->ncmds = n;
}
