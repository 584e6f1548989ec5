// SPDX-License-Identifier: MIT
/*
 * Lists of commands, good and bad, for the host interface: one queue's, in its order.
 */
#include "lockstep_host.h"
#include "lockstep_asm.h"
#include "lockstep_ops.h"

static uint32_t random8(struct rng *r, uint32_t max)
{
	return 8 * rng_below(r, max / 8 + 1);
}

struct wse_sqe host_copy(const struct ls_program *p, struct rng *r, const struct host_lane *lane)
{
	bool in = rng_chance(r, 50);
	struct wse_sqe s = {
		.opcode = in ? WSE_OP_COPY_IN : WSE_OP_COPY_OUT,
		.budget = 10000000,
		.row0 = (uint16_t)rng_below(r, p->rows),
		.col0 = (uint16_t)rng_below(r, p->cols),
		.nline = rng_range(r, 1, 4),
		.len = 8 + random8(r, 248),
		.sram = lane->sram + random8(r, lane->sram_room),
	};

	s.rows = (uint16_t)rng_range(r, 1, p->rows - s.row0);
	s.cols = (uint16_t)rng_range(r, 1, p->cols - s.col0);
	while (s.rows * s.cols > HOST_CORES && s.rows > 1)
		s.rows /= 2;
	s.sstride = s.len + random8(r, 64);
	s.lstride = s.len + random8(r, 64);
	s.cstride = s.lstride * s.nline + random8(r, 64);
	s.rstride = s.cstride * s.cols;
	if (in && rng_chance(r, 25)) {
		/* along the rows, along both, along the columns; with both strides it is refused */
		uint32_t k = rng_below(r, 10);

		s.flags |= WSE_SQF_BROADCAST;
		s.cstride = k && k <= 6 ? 0 : s.cstride;
		s.rstride = k >= 4 ? 0 : s.rstride;
	}
	s.off = random8(r, 8000);
	if (rng_chance(r, 4)) { /* all of it is missing, so that nothing moves before the error */
		s.flags |= WSE_SQF_BUF_DIRECT;
		s.buf = 0x1000;
	} else if (rng_chance(r, 40)) {
		s.flags |= WSE_SQF_BUF_DIRECT;
		s.buf = LS_IOVA + lane->direct + random8(r, lane->direct_room);
	} else {
		s.pshift = 12;
		s.buf = LS_IOVA + lane->lists + (rng_below(r, 2) ? HOST_LIST : 0);
	}
	return s;
}

struct wse_sqe host_broken_copy(const struct ls_program *p, struct rng *r,
				const struct host_lane *lane, bool in)
{
	struct wse_sqe s;

	do
		s = host_copy(p, r, lane);
	while ((s.opcode == WSE_OP_COPY_IN) != in || s.flags & WSE_SQF_BUF_DIRECT);
	s.buf = LS_IOVA + lane->lists + (in ? HOST_LIST_IN : HOST_LIST_OUT);
	if (rng_chance(r, 30)) /* a list that ends with the memory, before the copy does */
		s.buf = LS_IOVA + LS_MEM - 8 * rng_below(r, HOST_TOP);
	return s;
}

void host_lists(struct ls_program *p, struct rng *r, const struct host_lane *lane)
{
	uint64_t page[HOST_LIST / 8];
	uint32_t broken_in = lane->broken, broken_out = broken_in + HOST_BROKEN_OUT, at;

	/* two lists: their pages lie in any order, no page twice in a list */
	for (uint32_t l = 0; l < 2; l++) {
		for (uint32_t i = 0; i < lane->npages; i++)
			page[i] = LS_IOVA + lane->pages + i * 4096ull;
		for (uint32_t i = lane->npages - 1; i; i--) {
			uint32_t k = rng_below(r, i + 1);
			uint64_t swap = page[i];

			page[i] = page[k];
			page[k] = swap;
		}
		memcpy(p->mem + lane->lists + l * HOST_LIST, page, 8 * lane->npages);
	}
	for (uint32_t i = 0; i < lane->npages; i++) {
		uint64_t in = LS_IOVA + broken_in + i % lane->nbroken * 4096;
		uint64_t out = LS_IOVA + broken_out + i % lane->nbroken * 4096;

		in = rng_chance(r, 30) ? 0x1000 : in;
		out = rng_chance(r, 30) ? 0x1000 : out;
		memcpy(p->mem + lane->lists + HOST_LIST_IN + 8 * i, &in, 8);
		memcpy(p->mem + lane->lists + HOST_LIST_OUT + 8 * i, &out, 8);
	}
	/* a copy that fails leaves its destination undefined */
	ls_open(p, broken_out, broken_out + lane->nbroken * 4096);
	at = LS_MEM - 8 * HOST_TOP;
	for (uint32_t i = 0; i < HOST_TOP; i++) {
		uint64_t out = LS_IOVA + broken_out + i % lane->nbroken * 4096;

		memcpy(p->mem + at + 8 * i, &out, 8);
	}
}

/* A queue that is alone has all the memory. */
static const struct host_lane whole = {
	.sram_room = 0x8000,
	.lists = LS_MEM_DATA,
	.pages = LS_MEM_DATA + 0x100000,
	.npages = 190,
	.broken = LS_MEM_DATA + 0x10000,
	.nbroken = 16,
	.direct = LS_MEM_DATA + 0x80000,
	.direct_room = 0x10000,
};

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
		return host_copy(p, r, &whole);
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

/* Makes one member invalid. */
static void spoil(struct wse_sqe *s, struct rng *r)
{
	static const uint8_t at[] = {1,	 1,  4,	 5,  6,	 8,  10, 12, 14, 15,  16,
				     32, 33, 48, 56, 57, 58, 60, 61, 63, 64,  68,
				     72, 76, 80, 84, 86, 87, 88, 92, 96, 127, 40};
	static const uint8_t v[] = {0, 1, 2, 4, 8, 0x10, 0x80, 0xff};

	((uint8_t *)s)[at[rng_below(r, sizeof(at))]] = v[rng_below(r, sizeof(v))];
}

/* do pieces of different columns overlap in the host's memory? */
static bool columns_meet(const struct wse_sqe *s)
{
	uint64_t span = (s->nline ? s->nline - 1ull : 0) * s->lstride + s->len;
	uint32_t cores = (uint32_t)s->rows * s->cols;

	for (uint32_t i = 0; i < cores; i++)
		for (uint32_t k = 0; k < i; k++) {
			uint64_t a = (uint64_t)(i / s->cols) * s->rstride +
				     (uint64_t)(i % s->cols) * s->cstride;
			uint64_t b = (uint64_t)(k / s->cols) * s->rstride +
				     (uint64_t)(k % s->cols) * s->cstride;

			if (i % s->cols != k % s->cols && a < b + span && b < a + span)
				return true;
		}
	return false;
}

/* what is spoiled, and no error: of pieces of different buses that overlap either may remain */
static void keep_defined(const struct ls_program *p, struct wse_sqe *s)
{
	bool lies = s->col0 + s->cols <= p->cols && s->row0 + s->rows <= p->rows;

	if (p->group && s->opcode == WSE_OP_COPY_OUT && lies && columns_meet(s))
		s->cols = 1;
}

void ls_gen_host(struct ls_program *p, struct rng *r)
{
	uint32_t n = rng_range(r, 10, 40);
	uint8_t queue = rng_chance(r, 50);

	p->kind = "host";
	for (uint32_t core = 0; core < p->rows * p->cols; core++)
		op_random_floats(r, p->image[core], WSE_SRAM_BYTES);
	op_random_floats(r, p->mem + LS_MEM_DATA, LS_MEM - LS_MEM_DATA);
	host_lists(p, r, &whole);
	for (uint32_t i = 0; i < n; i++) {
		bool broken = rng_chance(r, 8), in = !queue && i + 1 < n && rng_chance(r, 50);
		struct wse_sqe s = broken ? host_broken_copy(p, r, &whole, in) : command(p, r);

		if (!broken && rng_chance(r, 25))
			spoil(&s, r);
		keep_defined(p, &s);
		/* the effect of an invalid copy must not depend on time */
		if ((s.opcode == WSE_OP_COPY_IN || s.opcode == WSE_OP_COPY_OUT) && s.budget < 1000)
			s.budget = 0;
		if (s.opcode == WSE_OP_FENCE && s.queue < LS_QUEUES)
			s.seq = 0; /* no other queue submits: it would wait without end */
		s.cid = (uint16_t)(i + 1);
		p->cmd[i].queue = queue;
		p->cmd[i].sqe = s;
		if (broken && in) { /* the contents of the cores are undefined */
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
