// SPDX-License-Identifier: MIT
/*
 * Random programs whose streams end at missing memory: a page of the data or of the mask, an entry
 * of a page list, the rest of a contiguous buffer. Cores execute DONE, then take or send wavelets
 * in an endless loop; the data that they have taken must be the beginning of the stream on both
 * models.
 *
 * An access that a model may make but need not (hw/doc/host.md, "What a stream reads") must not
 * decide: the missing part holds an element that is sent.
 */
#include "lockstep_ops.h"
#include "lockstep_stream.h"

struct broken {
	struct streams s;
	bool top;		/* the end of the memory is taken */
	bool taken[TILE_CORES]; /* cores whose program has its endless loop */
};

/* Whether any element between byte from and byte to of the operand is sent. */
static bool needed(struct broken *b, const struct shape *h, bool mask, uint32_t from, uint32_t to)
{
	for (uint32_t c = 0, i; c < h->cols; c++) {
		i = 0; /* LINEAR: element of the run */
		for (uint32_t n = 0; n < h->blocks * h->B; n++) {
			uint32_t row = mask ? n * h->rstride + c * h->mcstride
					    : n * h->lstride + c * h->cstride;

			for (uint32_t k = 0; k < h->K; k++) {
				uint32_t at = row + (mask ? k / 8 : k * h->es);
				uint8_t bits = mask || !h->masked
						       ? 0xff
						       : *stream_mask_byte(&b->s, h, c, n, k);

				if (!(bits >> (k & 7) & 1))
					continue;
				if (!mask && h->len)
					at = c * h->cstride + i++ * h->es;
				if (at >= from && at < to)
					return true;
			}
		}
	}
	return false;
}

/* A page without memory, according to the list. */
static bool break_page(struct broken *b, const struct shape *h, struct area *a, bool mask,
		       uint32_t bytes)
{
	uint32_t size = 1u << a->shift, inside = (uint32_t)a->off & (size - 1);
	uint32_t n = (inside + bytes + size - 1) >> a->shift, i = rng_below(b->s.t.r, n);
	uint64_t entry = (mask ? STREAM_NO_MASK : STREAM_NOWHERE) | rng_next(b->s.t.r) >> 20;

	if (!needed(b, h, mask, i ? (i << a->shift) - inside : 0, ((i + 1) << a->shift) - inside))
		return false;
	memcpy(b->s.t.p->mem + a->list + 8 * i, &entry, 8);
	return true;
}

/* The list, or the contiguous buffer, moves to the end of the memory and ends too early. */
static bool break_end(struct broken *b, const struct shape *h, struct area *a, bool mask,
		      uint32_t bytes)
{
	uint32_t size = 1u << a->shift, inside = (uint32_t)a->off & (size - 1), have, from;
	uint8_t *mem = b->s.t.p->mem;

	if (b->top)
		return false;
	if (a->direct) {
		have = from = 8 * rng_below(b->s.t.r, bytes / 8);
	} else {
		uint32_t n = (inside + bytes + size - 1) >> a->shift;

		have = 8 * rng_below(b->s.t.r, n);
		from = have ? (have / 8 << a->shift) - inside : 0;
	}
	if (have > LS_MEM - b->s.low || !needed(b, h, mask, from, UINT32_MAX))
		return false;
	b->top = true;
	b->s.high = LS_MEM - have;
	memcpy(mem + LS_MEM - have, mem + (a->direct ? a->at : a->list), have);
	if (a->direct)
		ls_open(b->s.t.p, LS_MEM - have, LS_MEM);
	a->buf = LS_IOVA + LS_MEM - have - (a->direct ? a->off : 8 * a->first);
	return true;
}

/* Breaks one part of the stream; false: the stream does not need that part. */
static bool break_stream(struct broken *b, struct shape *h, bool index_only)
{
	bool mask = h->masked && (index_only || rng_chance(b->s.t.r, 40));
	struct area *a = mask ? &h->mask : &h->data;
	uint32_t bytes = mask ? stream_mask_extent(h) : stream_data_extent(h);

	if (index_only && !mask)
		return false;
	if (!a->direct && rng_chance(b->s.t.r, 60))
		return break_page(b, h, a, mask, bytes);
	return break_end(b, h, a, mask, bytes);
}

/* After DONE: RECV or SEND of the color in an endless loop. */
static void endless(struct code *c, uint32_t color, bool send)
{
	li(c, 5, color);
	li(c, 6, 0x3f800000);
	put(c, WSE(WSE_F3_SYS, WSE_SYSOP_DONE, 0, 0, 0));
	if (send) {
		put(c, WSE(WSE_F3_SEND, 0, 0, 6, 5));
		put(c, ADDI(6, 6, 1));
		put(c, j_type(0, -8));
	} else {
		put(c, WSE(WSE_F3_RECV, 0, 6, 5, 0));
		put(c, j_type(0, -4));
	}
}

/* The core that takes or sends in each column, which does no other work yet. */
static bool choose(struct broken *b, const struct shape *h, uint32_t col0, uint32_t *row)
{
	const struct ls_program *p = b->s.t.p;

	for (uint32_t c = 0; c < h->cols; c++) {
		row[c] = rng_below(b->s.t.r, p->rows);
		if (b->taken[row[c] * p->cols + col0 + c])
			return false;
	}
	return true;
}

static void stream_broken(struct broken *b, bool in)
{
	struct tile *t = &b->s.t;
	struct ls_program *p = t->p;
	uint32_t col0 = rng_below(t->r, p->cols), color, row[TILE_CORES], low = b->s.low;
	struct shape h = {.cols = rng_range(t->r, 1, p->cols - col0), .etype = rng_below(t->r, 3)};
	bool index_only = in && rng_chance(t->r, 15);
	struct wse_sqe q;

	stream_shape(t->r, &h);
	h.masked = rng_chance(t->r, 60);
	if (!choose(b, &h, col0, row) || !tile_color(t, &color) || !stream_data_area(&b->s, &h) ||
	    (h.masked && !stream_mask_area(&b->s, &h)))
		return;
	stream_fill_data(&b->s, &h, 0);
	if (h.masked)
		stream_fill_mask(&b->s, &h);
	if (!break_stream(b, &h, index_only))
		return;
	if (!in)
		ls_open(p, low, b->s.low);
	q = stream_sqe(&b->s, in ? WSE_OP_STREAM_IN : WSE_OP_STREAM_OUT, &h, col0, color);
	if (in && index_only) {
		q.flags |= WSE_SQF_INDEX_ONLY;
		q.flags &= (uint8_t)~WSE_SQF_LINEAR;
		q.len = 0;
	} else if (in && rng_chance(t->r, 20)) {
		q.flags |= WSE_SQF_DROP_ZERO;
	}
	p->cmd[p->ncmds].queue = in ? 2 : 3;
	p->cmd[p->ncmds++].sqe = q;
	for (uint32_t c = 0; c < h.cols; c++) {
		uint32_t from = in ? 0 : row[c], to = in ? row[c] : p->rows - 1;

		for (uint32_t i = from; i <= to; i++) {
			uint32_t rx = !in && i == from ? WSE_PORT_R : WSE_PORT_N;
			uint32_t tx = in && i == to ? WSE_PORT_R : WSE_PORT_S;

			op_route(&t->c[i * p->cols + col0 + c], color, rx, 1u << tx);
		}
		b->taken[row[c] * p->cols + col0 + c] = true;
		t->out[row[c] * p->cols + col0 + c] = color << 1 | !in;
	}
}

void ls_gen_broken(struct ls_program *p, struct rng *r)
{
	static struct broken b;
	bool in = rng_chance(r, 70);

	memset(&b, 0, sizeof(b));
	b.s.t.p = p;
	b.s.t.r = r;
	b.s.low = LS_MEM_DATA;
	b.s.high = LS_MEM;
	p->kind = "broken";
	p->faults = true;
	for (uint32_t core = 0; core < tile_cores(&b.s.t); core++)
		b.s.t.c[core] = (struct code){p->image[core], WSE_SRAM_BASE};
	tile_start(p, r, WSE_SQF_BOOT, WSE_SRAM_BASE, 1);
	stream_broken(&b, in);
	if (rng_chance(r, 50))
		stream_broken(&b, !in);
	for (uint32_t core = 0; core < tile_cores(&b.s.t); core++) {
		struct code *c = &b.s.t.c[core];

		if (b.taken[core]) {
			endless(c, b.s.t.out[core] >> 1, b.s.t.out[core] & 1);
			continue;
		}
		put(c, WSE(WSE_F3_SYS, WSE_SYSOP_DONE, 0, 0, 0));
		put(c, WSE(WSE_F3_TNEXT, 0, 10, 0, 0));
	}
	/* the queues continue */
	for (uint8_t q = 2; q < LS_QUEUES; q++) {
		p->cmd[p->ncmds].queue = q;
		p->cmd[p->ncmds].sqe =
			(struct wse_sqe){.opcode = WSE_OP_NOP, .cid = (uint16_t)(100 + p->ncmds)};
		p->ncmds++;
	}
}
