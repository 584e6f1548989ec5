// SPDX-License-Identifier: MIT
/*
 * Random contents of all queues at once: streams and the cores' work on them, beside copies of
 * every queue, fences between the queues, refused commands and copies that fail in the middle.
 * Queues share no memory that is written, all streams in are of one queue and all streams out of
 * another, and a fence waits only for commands generated before it: so every program ends, and its
 * result does not depend on timing.
 */
#include "lockstep_host.h"
#include "lockstep_ops.h"
#include "lockstep_stream.h"

#define PAGES	 24u
#define CODE_END 0x80002800u /* streams are added up to here, copies begin at 0x4000 */

struct mixed {
	struct streams s;
	struct host_lane lane[LS_QUEUES];
	uint8_t start; /* the queue of START: it completes last */
};

static struct host_lane lane_of(uint32_t q)
{
	return (struct host_lane){
		.sram = 0x4000 + q * 0x1000,
		.sram_room = 0xa00,
		.lists = LS_MEM_DATA + q * 0x2000,
		.pages = LS_MEM_DATA + 0x100000 + q * PAGES * 4096,
		.npages = PAGES,
		.broken = LS_MEM_DATA + 0x10000 + q * 0x4000,
		.nbroken = 4,
		.direct = LS_MEM_DATA + 0x80000 + q * 0x20000,
		.direct_room = 0x4000,
	};
}

static uint32_t count(const struct ls_program *p, uint8_t queue)
{
	uint32_t n = 0;

	for (unsigned int i = 0; i < p->ncmds; i++)
		n += p->cmd[i].queue == queue;
	return n;
}

static struct wse_sqe *add(struct ls_program *p, uint8_t queue, struct wse_sqe s)
{
	struct ls_cmd *c = &p->cmd[p->ncmds];

	s.cid = (uint16_t)(100 + p->ncmds++);
	*c = (struct ls_cmd){queue, s};
	return &c->sqe;
}

/* A command that every device refuses. */
static struct wse_sqe refused(const struct mixed *m, struct rng *r, const struct host_lane *lane)
{
	struct wse_sqe s = host_copy(m->s.t.p, r, lane);

	switch (rng_below(r, 9)) {
	case 0:
		s.len += 4;
		break;
	case 1:
		s.rows = 0;
		break;
	case 2:
		s.cols = (uint16_t)(m->s.t.p->cols + 1);
		break;
	case 3:
		s.sram = WSE_SRAM_BYTES - 8;
		s.len = 16;
		break;
	case 4:
		s.budget = 0;
		break;
	case 5:
		s.resv[rng_below(r, 8)] = 1;
		break;
	case 6:
		s.opcode = (uint8_t)rng_range(r, 7, 127);
		break;
	case 7:
		s = (struct wse_sqe){.opcode = WSE_OP_FENCE,
				     .queue = (uint8_t)rng_range(r, 4, 255)};
		break;
	default:
		s = (struct wse_sqe){.opcode = WSE_OP_STREAM_IN, .cols = 1, .budget = 1000};
		break;
	}
	return s;
}

/* A copy-in that fails leaves its lines undefined: write them again. */
static void broken_in(struct mixed *m, struct rng *r, uint8_t queue)
{
	const struct host_lane *lane = &m->lane[queue];
	struct ls_program *p = m->s.t.p;
	struct wse_sqe s = {
		.opcode = WSE_OP_COPY_IN,
		.flags = WSE_SQF_BUF_DIRECT | WSE_SQF_BROADCAST,
		.rows = (uint16_t)p->rows,
		.cols = (uint16_t)p->cols,
		.budget = 10000000,
		.buf = LS_IOVA + lane->direct,
		.sram = lane->sram,
		.nline = 1,
		.len = 0x1000,
	};

	add(p, queue, host_broken_copy(p, r, lane, true));
	add(p, queue, s);
}

static void command(struct mixed *m, struct rng *r)
{
	uint8_t queue = (uint8_t)rng_below(r, LS_QUEUES), other = (uint8_t)rng_below(r, LS_QUEUES);
	struct ls_program *p = m->s.t.p;
	uint32_t k = rng_below(r, 100);
	struct wse_sqe s;

	if (k < 50) {
		add(p, queue, host_copy(p, r, &m->lane[queue]));
	} else if (k < 65 && other != m->start) {
		/* the admin queue has made the others before */
		s = (struct wse_sqe){.opcode = WSE_OP_FENCE, .queue = other};
		s.seq = rng_below(r, count(p, other) + 1) + (other ? 0 : LS_QUEUES - 1);
		add(p, queue, s);
	} else if (k < 80) {
		add(p, queue, refused(m, r, &m->lane[queue]));
	} else if (k < 85) {
		add(p, queue, host_broken_copy(p, r, &m->lane[queue], false));
	} else if (k < 90) {
		broken_in(m, r, queue);
	} else {
		add(p, queue, (struct wse_sqe){.opcode = WSE_OP_NOP});
	}
}

void ls_gen_mixed(struct ls_program *p, struct rng *r)
{
	static struct mixed m;
	uint32_t n = rng_range(r, 10, 45);
	bool room = true;

	memset(&m, 0, sizeof(m));
	p->kind = "mixed";
	m.s.t.p = p;
	m.s.t.r = r;
	m.s.low = LS_MEM_DATA + 0x100000 + LS_QUEUES * PAGES * 4096;
	m.s.high = LS_MEM - 8 * HOST_TOP;
	m.start = rng_chance(r, 50);
	do {
		m.s.in = (uint8_t)rng_below(r, LS_QUEUES);
		m.s.out = (uint8_t)rng_below(r, LS_QUEUES);
	} while (m.s.in == m.s.out || m.s.in == m.start || m.s.out == m.start);
	op_random_floats(r, p->mem + LS_MEM_DATA, LS_MEM - LS_MEM_DATA);
	for (uint8_t q = 0; q < LS_QUEUES; q++) {
		m.lane[q] = lane_of(q);
		host_lists(p, r, &m.lane[q]);
	}
	for (uint32_t core = 0; core < tile_cores(&m.s.t); core++) {
		m.s.t.c[core] = (struct code){p->image[core], WSE_SRAM_BASE};
		m.s.t.out[core] = OPS_SCALAR;
		op_random_floats(r, p->image[core] + 0x4000, 0x4000);
		op_random_floats(r, p->image[core] + OPS_DATA - WSE_SRAM_BASE, OPS_DATA_BYTES);
		op_fill_acc(&m.s.t.c[core], r);
	}
	tile_start(p, r, WSE_SQF_BOOT, WSE_SRAM_BASE, 1);
	p->cmd[0].queue = m.start;
	while (n-- && p->ncmds < LS_MAX_CMDS - 4) {
		for (uint32_t core = 0; core < tile_cores(&m.s.t); core++)
			room &= m.s.t.c[core].pc < CODE_END;
		if (room && rng_chance(r, 15))
			room = stream_phase(&m.s);
		else
			command(&m, r);
	}
	for (uint32_t core = 0; core < tile_cores(&m.s.t); core++) {
		struct code *c = &m.s.t.c[core];

		op_wait(c, 7);
		put(c, WSE(WSE_F3_SYS, WSE_SYSOP_DONE, 0, 0, 0));
		put(c, WSE(WSE_F3_TNEXT, 0, 10, 0, 0));
	}
}
