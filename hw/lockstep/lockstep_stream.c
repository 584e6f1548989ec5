// SPDX-License-Identifier: MIT
/*
 * Random programs whose subject is the host's streams: offsets, page lists with gaps that nobody may
 * read, masks behind lists of their own, columns of up to 16384 elements, many blocks, every element
 * type. What goes in at the north edge is summed up by cores on the way, is passed on by a mover, or
 * runs straight through to the south edge, where a stream-out takes exactly as many elements as the
 * generator has counted: an element lost or sent twice ends in a time-out or in other memory.
 */
#include <string.h>

#include "lockstep_ops.h"
#include "lockstep_tile.h"

#define ROOM	  (LS_MEM - LS_MEM_DATA)
#define NOWHERE	  0xdead000000000000ull
#define MAX_PAGES 1024u

/* Host memory of one operand: contiguous, or pages that a list names. */
struct area {
	uint64_t buf, off;
	uint32_t shift;
	bool direct;
	uint32_t at;		  /* direct: offset of byte 0 in the program's memory */
	uint32_t page[MAX_PAGES]; /* else: of each page behind off; 0: it does not exist */
	uint64_t first;		  /* number of page[0] in the list */
};

struct streams {
	struct tile t;
	uint32_t low; /* program memory below is taken */
	uint32_t in, out;
};

static bool take(struct streams *s, uint32_t bytes, uint32_t align, uint32_t *at)
{
	uint32_t here = (s->low + align - 1) & ~(align - 1);

	if (here > LS_MEM || bytes > LS_MEM - here)
		return false;
	s->low = here + bytes;
	*at = here;
	return true;
}

static bool direct(struct streams *s, uint32_t bytes, struct area *a)
{
	uint32_t skip = 8 * rng_below(s->t.r, 100);

	a->direct = true;
	if (!take(s, bytes + skip, 8, &a->at))
		return false;
	a->at += rng_chance(s->t.r, 50) ? 0 : skip;
	a->off = 8 * rng_below(s->t.r, 100);
	if (rng_chance(s->t.r, 20)) /* an offset of more than 32 bits */
		a->off += 0x300000000ull;
	a->buf = LS_IOVA + a->at - a->off;
	return true;
}

/* Pages in any order; entries of the list before the first and behind the last are nonsense. */
static bool listed(struct streams *s, uint32_t bytes, struct area *a)
{
	struct rng *r = s->t.r;
	uint32_t shift = 12 + rng_below(r, 3), size = 1u << shift, n, list, base;
	uint32_t inside = 8 * rng_below(r, size / 8), lead = rng_below(r, 20);

	n = (inside + bytes + size - 1) >> shift;
	if (n > MAX_PAGES || !take(s, 8 * (lead + n + 2), 8, &list) ||
	    !take(s, n << shift, size, &base))
		return false;
	for (uint32_t i = 0; i < n; i++)
		a->page[i] = base + (i << shift);
	for (uint32_t i = n; i > 1; i--) {
		uint32_t k = rng_below(r, i), swap = a->page[i - 1];

		a->page[i - 1] = a->page[k];
		a->page[k] = swap;
	}
	for (uint32_t i = 0; i < lead + n + 2; i++) {
		uint64_t entry = NOWHERE | rng_next(r) >> 20;

		if (i >= lead && i < lead + n) /* bits below the page size do not count */
			entry = LS_IOVA + a->page[i - lead] + rng_below(r, size);
		memcpy(s->t.p->mem + list + 8 * i, &entry, 8);
	}
	a->direct = false;
	a->shift = shift;
	a->first = lead;
	a->off = ((uint64_t)lead << shift) + inside;
	a->buf = LS_IOVA + list;
	return true;
}

static bool new_area(struct streams *s, uint32_t bytes, struct area *a)
{
	return rng_chance(s->t.r, 40) ? direct(s, bytes, a) : listed(s, bytes, a);
}

/* A byte of the operand, counted from its offset. */
static uint8_t *byte_of(struct streams *s, const struct area *a, uint32_t at)
{
	uint64_t off = a->off + at;

	if (a->direct)
		return s->t.p->mem + a->at + at;
	return s->t.p->mem + a->page[(off >> a->shift) - a->first] + (off & ((1u << a->shift) - 1));
}

/* --- a stream's shape and its elements -----------------------------------------------------------
 */

struct shape {
	uint32_t cols, blocks, B, K, etype, es;
	uint32_t lstride, cstride, rstride, mcstride;
	bool masked;
	struct area data, mask;
};

static uint32_t round8(uint32_t n)
{
	return (n + 7) & ~7u;
}

/* Rows of a column one behind the other and columns likewise, or rows of all columns interleaved. */
static void strides(struct rng *r, uint32_t row, uint32_t rows, uint32_t cols, uint32_t *line,
		    uint32_t *col)
{
	uint32_t gap = rng_chance(r, 50) ? 0 : 8 * rng_below(r, 5);

	if (rng_chance(r, 50)) {
		*line = row + gap;
		*col = *line * rows + (rng_chance(r, 50) ? 0 : 8 * rng_below(r, 9));
	} else {
		*col = row + gap;
		*line = *col * cols + (rng_chance(r, 50) ? 0 : 8 * rng_below(r, 9));
	}
}

static uint32_t extent(const struct shape *h, uint32_t line, uint32_t col, uint32_t row)
{
	return line * (h->blocks * h->B - 1) + col * (h->cols - 1) + round8(row);
}

static bool data_area(struct streams *s, struct shape *h)
{
	uint32_t row = round8(h->K * h->es);

	strides(s->t.r, row, h->blocks * h->B, h->cols, &h->lstride, &h->cstride);
	return new_area(s, extent(h, h->lstride, h->cstride, row), &h->data);
}

static bool mask_area(struct streams *s, struct shape *h)
{
	uint32_t row = (h->K + 7) / 8;

	strides(s->t.r, round8(row), h->blocks * h->B, h->cols, &h->rstride, &h->mcstride);
	return new_area(s, extent(h, h->rstride, h->mcstride, row), &h->mask);
}

static uint8_t *element(struct streams *s, const struct shape *h, uint32_t c, uint32_t n,
			uint32_t k)
{
	return byte_of(s, &h->data, n * h->lstride + c * h->cstride + k * h->es);
}

static uint8_t *mask_byte(struct streams *s, const struct shape *h, uint32_t c, uint32_t n,
			  uint32_t k)
{
	return byte_of(s, &h->mask, n * h->rstride + c * h->mcstride + k / 8);
}

/* Mask bits at random, as dense as percent says. */
static void fill_mask(struct streams *s, const struct shape *h)
{
	static const uint8_t percent[] = {0, 3, 50, 50, 95, 100};
	uint32_t dense = percent[rng_below(s->t.r, 6)];

	for (uint32_t c = 0; c < h->cols; c++) {
		for (uint32_t n = 0; n < h->blocks * h->B; n++) {
			for (uint32_t k = 0; k < h->K; k++) {
				uint8_t *m = mask_byte(s, h, c, n, k),
					bit = (uint8_t)(1u << (k & 7));

				*m = (uint8_t)(rng_chance(s->t.r, dense) ? *m | bit : *m & ~bit);
			}
		}
	}
}

/* Exactly count bits of a column's mask, at random places. */
static void fill_mask_count(struct streams *s, const struct shape *h, uint32_t c, uint32_t count)
{
	uint32_t left = h->blocks * h->B * h->K;

	for (uint32_t n = 0; n < h->blocks * h->B; n++) {
		for (uint32_t k = 0; k < h->K; k++, left--) {
			uint8_t *m = mask_byte(s, h, c, n, k), bit = (uint8_t)(1u << (k & 7));
			bool set = rng_below(s->t.r, left) < count;

			count -= set;
			*m = (uint8_t)(set ? *m | bit : *m & ~bit);
		}
	}
}

/* Numbers that no rounding turns into zero, and zeros: how many travel can be told. */
static void fill_data(struct streams *s, const struct shape *h, uint32_t zeros)
{
	for (uint32_t c = 0; c < h->cols; c++) {
		for (uint32_t n = 0; n < h->blocks * h->B; n++) {
			for (uint32_t k = 0; k < h->K; k++) {
				uint32_t v;

				op_random_floats(s->t.r, (uint8_t *)&v, 4);
				if (!(v & 0x7f800000))
					v |= 0x3f000000;
				if (zeros && rng_chance(s->t.r, zeros))
					v &= 0x80000000;
				v = h->es == 2 ? v >> 16 : v;
				memcpy(element(s, h, c, n, k), &v, h->es);
			}
		}
	}
}

/* How many data wavelets a column gets, and how many blocks come behind the last of them. */
static uint32_t travel(struct streams *s, const struct shape *h, uint32_t c, bool drop,
		       uint32_t *empty)
{
	uint32_t count = 0, before = 0;

	*empty = 0;
	for (uint32_t n = 0; n < h->blocks * h->B; n++) {
		if (n % h->B == 0) {
			*empty = count > before ? 1 : *empty + 1;
			before = count;
		}
		for (uint32_t k = 0; k < h->K; k++) {
			uint32_t v = 0;

			if (h->masked && !(*mask_byte(s, h, c, n, k) >> (k & 7) & 1))
				continue;
			if (drop)
				memcpy(&v, element(s, h, c, n, k), h->es);
			count += !drop || (v << (h->es == 2 ? 17 : 1)) != 0;
		}
	}
	*empty = count > before ? 0 : *empty;
	return count;
}

static void random_shape(struct rng *r, struct shape *h)
{
	uint32_t most = 1500, k = rng_below(r, 10); /* elements of a column, as a rule */

	h->B = h->etype == WSE_ETYPE_RAW32 ? 1 : 1u << rng_below(r, 3);
	if (!k) {
		h->K = rng_chance(r, 25) ? 16384 - rng_below(r, 3) : rng_range(r, 1, 16384);
		most = 20000;
	} else {
		h->K = rng_range(r, 1, k < 4 ? 600 : 40);
	}
	while (h->B > 1 && h->B * h->K > 2 * most)
		h->B /= 2;
	h->blocks = most / (h->B * h->K);
	h->blocks = rng_range(r, 1, h->blocks > 40 ? 40 : h->blocks ? h->blocks : 1);
	h->es = h->etype == WSE_ETYPE_BF16 ? 2 : 4;
}

/* --- commands ------------------------------------------------------------------------------------
 */

static void put_area(struct wse_sqe *s, const struct area *a)
{
	s->buf = a->buf;
	s->off = a->off;
	if (a->direct)
		s->flags |= WSE_SQF_BUF_DIRECT;
	else
		s->pshift = (uint8_t)a->shift;
}

static struct wse_sqe stream_sqe(struct streams *s, uint8_t op, const struct shape *h,
				 uint32_t col0, uint32_t color)
{
	struct wse_sqe q = {
		.opcode = op,
		.cid = (uint16_t)(100 + s->t.p->ncmds),
		.col0 = (uint16_t)col0,
		.cols = (uint16_t)h->cols,
		.color = (uint8_t)color,
		.etype = (uint8_t)h->etype,
		.budget = 10000000,
		.nline = h->blocks,
		.kcol = (uint16_t)h->K,
		.nfeat = (uint8_t)h->B,
		.lstride = h->lstride,
		.cstride = h->cstride,
	};

	put_area(&q, &h->data);
	if (h->masked) {
		q.flags |= WSE_SQF_MASKED;
		q.mask = h->mask.buf;
		q.moff = h->mask.off;
		q.rstride = h->rstride;
		q.mcstride = h->mcstride;
		if (h->mask.direct)
			q.flags |= WSE_SQF_MASK_DIRECT;
		else
			q.mshift = (uint8_t)h->mask.shift;
	}
	return q;
}

static void add(struct streams *s, uint8_t queue, const struct wse_sqe *q)
{
	struct ls_cmd *cmd = &s->t.p->cmd[s->t.p->ncmds++];

	cmd->queue = queue;
	cmd->sqe = *q;
}

/* A stream-out of which column c takes count[c] elements. */
static bool drain(struct streams *s, const struct shape *in, const uint32_t *count, uint32_t col0,
		  uint32_t color)
{
	struct shape h = {.cols = in->cols};
	struct wse_sqe q;
	bool same = true;
	uint32_t most = 0;

	for (uint32_t c = 0; c < h.cols; c++) {
		same &= count[c] == count[0];
		most = count[c] > most ? count[c] : most;
	}
	h.etype = rng_below(s->t.r, 3);
	h.es = h.etype == WSE_ETYPE_BF16 ? 2 : 4;
	h.B = h.etype == WSE_ETYPE_RAW32 ? 1 : 1u << rng_below(s->t.r, 3);
	if (same && most && most == in->blocks * in->B * in->K && rng_chance(s->t.r, 50)) {
		h.B = h.etype == WSE_ETYPE_RAW32 ? 1 : in->B;
		h.blocks = in->blocks * in->B / h.B;
		h.K = in->K;
	} else if (same && most && most <= 16384 && rng_chance(s->t.r, 50)) {
		h.B = h.blocks = 1;
		h.K = most;
	} else { /* as many of a larger number */
		h.masked = true;
		h.K = rng_range(s->t.r, 1, rng_chance(s->t.r, 50) ? 16384 : 300);
		if (h.K > most + 100)
			h.K = most + 1 + rng_below(s->t.r, 100);
		h.blocks = (most + h.K * h.B - 1) / (h.K * h.B) + rng_below(s->t.r, 2);
		if (!h.blocks)
			h.blocks = 1;
	}
	if (!data_area(s, &h) || (h.masked && !mask_area(s, &h)))
		return false;
	for (uint32_t c = 0; h.masked && c < h.cols; c++)
		fill_mask_count(s, &h, c, count[c]);
	q = stream_sqe(s, WSE_OP_STREAM_OUT, &h, col0, color);
	add(s, 3, &q);
	return true;
}

/* --- what the cores do with a stream -------------------------------------------------------------
 */

/* AXPY of B features and K rows; rows of x are one and the same where K of them do not fit. */
static void axpy(struct code *c, struct rng *r, uint32_t color, uint32_t B, uint32_t K)
{
	uint32_t T = 8 * rng_range(r, 1, 2), row = K * T * 2 <= OPS_L_BYTES ? 2 * T : 0;
	uint32_t extra = OPS_L_BYTES - (row ? K * row : 2 * T);
	const uint32_t in[4] = {color, 0, 0, WSE_KIND_FABIN};
	const uint32_t acc[4] = {8 * rng_below(r, (64 - B * T) / 8 + 1), 0, 0, WSE_KIND_ACC};
	const uint32_t x[4] = {OPS_L + 16 * rng_below(r, extra / 16 + 1), T | 2 << 16,
			       K | row << 16, WSE_KIND_MEM | WSE_DT_BF16 << 4};

	op_dsr(c, 0, acc);
	op_dsr(c, 1, in);
	op_dsr(c, 2, x);
	op_issue(c,
		 WSE_TOP_AXPY | 1 << 12 | 2 << 16 | WSE_ENGINE_L << 20 |
			 (rng_chance(r, 50) ? WSE_TCW_CLEAR_MASK : 0),
		 B);
}

/* A mover passes a color on to another: so many elements, or so many blocks. */
static void pass_on(struct code *c, struct rng *r, uint32_t in, uint32_t out, uint32_t count,
		    bool until_end)
{
	uint32_t rows = 1, len = count;
	uint32_t engine = rng_chance(r, 50) ? WSE_ENGINE_M0 : WSE_ENGINE_M1;
	uint32_t flags = rng_chance(r, 50) ? WSE_TCW_SEND_END_MASK : 0;

	if (!count)
		return;
	while (!until_end && len % 2 == 0 && rng_chance(r, 60)) {
		len /= 2;
		rows *= 2;
	}
	if (until_end)
		flags |= WSE_TCW_UNTIL_END_MASK;
	op_dsr(c, 3, (const uint32_t[4]){out, len, rows, WSE_KIND_FABOUT});
	op_dsr(c, 4, (const uint32_t[4]){in, 0, 0, WSE_KIND_FABIN});
	op_issue(c, WSE_TOP_MOVE | 3 << 8 | 4 << 12 | engine << 20 | flags, 0);
}

/* The lowest core of a column to which the stream comes, and who on the way takes a copy. */
static void column(struct streams *s, const struct shape *h, uint32_t col, uint32_t color,
		   uint32_t last, bool through, bool taps)
{
	struct tile *t = &s->t;

	for (uint32_t row = 0; row <= last; row++) {
		struct code *c = &t->c[row * t->p->cols + col];
		bool tap = taps && rng_chance(t->r, 60);
		uint32_t tx = row < last || through ? 1u << WSE_PORT_S : 0;

		if (!tx || tap)
			tx |= 1u << WSE_PORT_R;
		op_route(c, color, WSE_PORT_N, tx);
		if (!taps || !(tx >> WSE_PORT_R & 1))
			continue;
		for (uint32_t b = 0; b < h->blocks; b++)
			axpy(c, t->r, color, h->B, h->K);
	}
}

enum mode { SUM, THROUGH, PASS };

static bool phase(struct streams *s)
{
	struct tile *t = &s->t;
	struct rng *r = t->r;
	uint32_t col0 = rng_below(r, t->p->cols), color, color2, count[TILE_CORES];
	struct shape h = {.cols = rng_range(r, 1, t->p->cols - col0), .etype = rng_below(r, 3)};
	enum mode mode = (enum mode)rng_below(r, 3);
	bool drop = rng_chance(r, 25), index_only = !drop && rng_chance(r, 15), until_end, taps;
	struct wse_sqe q;

	if (mode == SUM && h.etype == WSE_ETYPE_RAW32)
		mode = THROUGH; /* AXPY needs an END */
	random_shape(r, &h);
	h.masked = rng_chance(r, 60);
	if (!tile_color(t, &color) || !tile_color(t, &color2) || !data_area(s, &h) ||
	    (h.masked && !mask_area(s, &h)))
		return false;
	fill_data(s, &h, rng_chance(r, 60) ? 40 : 0);
	if (h.masked)
		fill_mask(s, &h);
	for (uint32_t c = 0; c < h.cols; c++) {
		uint32_t empty;

		count[c] = travel(s, &h, c, drop, &empty);
		/* the stream-out ends with the last element: the port holds only so many ENDs */
		if (mode == THROUGH && h.etype != WSE_ETYPE_RAW32 && empty >= WSE_CHAN_DEPTH)
			mode = PASS;
	}
	taps = mode == SUM || (mode == THROUGH && h.etype != WSE_ETYPE_RAW32 && rng_chance(r, 30));
	/* a mover that counts elements cannot pass an END: it takes one block */
	until_end = h.etype != WSE_ETYPE_RAW32 && (h.blocks > 1 || rng_chance(r, 60));
	if (mode != SUM && !drain(s, &h, count, col0, mode == PASS ? color2 : color))
		return false;
	q = stream_sqe(s, WSE_OP_STREAM_IN, &h, col0, color);
	if (drop)
		q.flags |= WSE_SQF_DROP_ZERO;
	if (index_only) {
		q.flags |= WSE_SQF_INDEX_ONLY;
		q.buf = NOWHERE;
	}
	add(s, 2, &q);
	for (uint32_t c = 0; c < h.cols; c++) {
		uint32_t col = col0 + c, last = t->p->rows - 1, at = rng_below(r, t->p->rows);

		if (mode != PASS) {
			column(s, &h, col, color, last, mode == THROUGH, taps);
			continue;
		}
		column(s, &h, col, color, at, false, false);
		op_route(&t->c[at * t->p->cols + col], color2, WSE_PORT_R, 1u << WSE_PORT_S);
		for (uint32_t row = at + 1; row <= last; row++)
			op_route(&t->c[row * t->p->cols + col], color2, WSE_PORT_N,
				 1u << WSE_PORT_S);
		pass_on(&t->c[at * t->p->cols + col], r, color, color2,
			until_end ? h.blocks : count[c], until_end);
		if (!until_end && h.etype != WSE_ETYPE_RAW32) { /* the END that it left */
			op_wait(&t->c[at * t->p->cols + col], 7);
			tile_recv(t, at * t->p->cols + col, color, 1);
		}
	}
	return true;
}

void ls_gen_stream(struct ls_program *p, struct rng *r)
{
	static struct streams s;
	uint32_t phases = rng_range(r, 1, 5);

	memset(&s, 0, sizeof(s));
	s.t.p = p;
	s.t.r = r;
	s.low = LS_MEM_DATA;
	p->kind = "stream";
	for (uint32_t i = 0; i < ROOM; i += 8) {
		uint64_t v = rng_next(r);

		memcpy(p->mem + LS_MEM_DATA + i, &v, 8);
	}
	for (uint32_t core = 0; core < tile_cores(&s.t); core++) {
		s.t.c[core] = (struct code){p->image[core], WSE_SRAM_BASE};
		s.t.out[core] = OPS_SCALAR;
		op_random_floats(r, p->image[core] + OPS_DATA - WSE_SRAM_BASE, OPS_DATA_BYTES);
		op_fill_acc(&s.t.c[core], r);
	}
	tile_start(p, r, WSE_SQF_BOOT, WSE_SRAM_BASE, 1);
	while (phases-- && phase(&s))
		;
	for (uint32_t core = 0; core < tile_cores(&s.t); core++) {
		struct code *c = &s.t.c[core];

		op_wait(c, 7);
		put(c, WSE(WSE_F3_SYS, WSE_SYSOP_DONE, 0, 0, 0));
		put(c, WSE(WSE_F3_TNEXT, 0, 10, 0, 0));
	}
}
