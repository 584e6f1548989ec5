// SPDX-License-Identifier: MIT
/*
 * Streams through the tile by its edge ports: every shape, page lists, masks, and those that no
 * core reads. And copies of columns that have buses of their own.
 */
#include <stdlib.h>
#include <string.h>

#include "rnd.h"
#include "softfp.h"
#include "ways.h"
#include "tile.h"

#define OUT  (DEV_DATA + 0x400000)
#define MASK (DEV_DATA + 0x800000)

/*
 * Tiles of 4 and 12 columns are those with port groups, of 2x4 and 1x12 cores. What passes through
 * does not know how many rows there are: one tile of the RTL less is 15 CPU seconds less to build.
 */
#if defined(TEST_RTL) && !defined(RTL_GROUPS)
#define COLS_MOST 3u
#else
#define COLS_MOST 12u
#endif

static uint32_t rows_of(uint32_t cols, uint32_t rows)
{
#ifdef TEST_RTL
	rows = 2;
#endif
	return cols == 12 ? 1 : cols == 4 ? 2 : rows;
}

/* ---- streams through the tile, north to south ---- */

static void emit_through(struct code *c, uint32_t core)
{
	(void)core;
	route(c, 5, WSE_PORT_N, 1u << WSE_PORT_S);
	park(c);
}

struct stream {
	uint32_t cols, k, b, nblk;
	uint8_t etype, flags;
	bool pages;
};

static uint64_t place(uint64_t base, bool pages, uint64_t off)
{
	/* pages of 4 KiB, in an order of their own */
	return pages ? base + ((off >> 12) * 7 % 64 << 12) + (off & 0xfff) : base + off;
}

static void page_list(struct dev *d, uint64_t at, uint64_t base)
{
	uint64_t i, a;

	for (i = 0; i < 64; i++) {
		a = place(base, true, i << 12);
		memcpy(d->mem + at + i * 8, &a, 8);
	}
}

static uint32_t host32(struct dev *d, uint64_t a, unsigned int size)
{
	uint32_t v = 0;

	memcpy(&v, d->mem + a, size);
	return v;
}

/* stream-in of random data, captured raw at the south edge */
static struct twin_ways ways; /* of all streams */

static void test_in(const struct stream *t, const char *name)
{
	uint32_t size = t->etype == WSE_ETYPE_BF16 ? 2 : 4, lstride, cstride,
		 mrow = (t->k + 63) / 64 * 8, n = t->nblk * t->b, at = 0;
	bool linear = t->flags & WSE_SQF_LINEAR;
	uint32_t c, k, f, blk, i, bad = 0, want, sent = 0, most = 0;
	struct wse_sqe in, out;
	struct wse_cqe e = {0};
	struct dev d;

	open_dev(&d, rows_of(t->cols, 2), t->cols);
	program_all(&d, emit_through);
	boot(&d, 0, &e);
	cstride = (t->k * size + 7) / 8 * 8;
	lstride = cstride * t->cols + 24;
	for (i = 0; i < 0x40000; i += 4) {
		uint32_t v = rnd() % 4 ? rnd() : (rnd() & 1) << 31, w = rnd();

		memcpy(d.mem + DEV_DATA + i, &v, 4);
		memcpy(d.mem + MASK + i, &w, 4);
	}
	page_list(&d, 0x8800, DEV_DATA);
	page_list(&d, 0x9000, MASK);
	in = (struct wse_sqe){
		.opcode = WSE_OP_STREAM_IN,
		.flags = t->flags,
		.cols = t->cols,
		.color = 5,
		.etype = t->etype,
		.budget = 1 << 24,
		.off = 8,
		.nline = t->nblk,
		.lstride = lstride,
		.cstride = cstride,
		.kcol = t->k,
		.nfeat = t->b,
	};
	if (t->flags & WSE_SQF_MASKED) {
		in.moff = 16;
		in.rstride = mrow * t->cols;
		in.mcstride = mrow;
		in.mask = t->pages ? 0x9000 : MASK;
		in.mshift = t->pages ? 12 : 0;
		in.flags |= t->pages ? 0 : WSE_SQF_MASK_DIRECT;
	}
	if (linear) {
		in.len = (n * t->k * size + 7) / 8 * 8;
		in.lstride = 0;
		in.cstride = in.len + 8;
	}
	in.flags |= t->pages ? 0 : WSE_SQF_BUF_DIRECT;
	in.buf = t->pages ? 0x8800 : DEV_DATA;
	in.pshift = t->pages ? 12 : 0;
	/* count what must come: all columns the same number, padded with what never comes */
	out = (struct wse_sqe){
		.opcode = WSE_OP_STREAM_OUT,
		.flags = WSE_SQF_BUF_DIRECT,
		.cols = t->cols,
		.color = 5,
		.etype = WSE_ETYPE_RAW32,
		.budget = 1000000,
		.buf = OUT,
		.nline = 1,
		.cstride = 0x8000,
		.nfeat = 1,
	};
	static uint32_t expect[12][8192];
	uint32_t count[12] = {0};

	for (c = 0; c < t->cols; c++, at = 0) {
		for (blk = 0; blk < t->nblk; blk++)
			for (k = 0; k < t->k; k++)
				for (f = 0; f < t->b; f++) {
					uint32_t row = blk * t->b + f, v;
					uint64_t a = place(DEV_DATA, t->pages,
							   8 + (uint64_t)row * lstride +
								   c * cstride + k * size);
					uint64_t ma = place(MASK, t->pages,
							    16 + (uint64_t)row * mrow * t->cols +
								    c * mrow + k / 8);

					if (t->flags & WSE_SQF_MASKED &&
					    !(d.mem[ma] >> (k & 7) & 1))
						continue;
					if (linear)
						a = place(DEV_DATA, t->pages,
							  8 + c * in.cstride + at++ * size);
					v = t->flags & WSE_SQF_INDEX_ONLY ? 0 : host32(&d, a, size);
					if (t->etype == WSE_ETYPE_BF16)
						want = v << 16;
					else if (t->etype == WSE_ETYPE_FP32)
						want = (uint32_t)soft_bf16(v) << 16;
					else
						want = v;
					if (t->flags & WSE_SQF_DROP_ZERO && !(want << 1))
						continue;
					if (t->etype != WSE_ETYPE_RAW32)
						want |= f << 14 | k;
					expect[c][count[c]++] = want;
				}
		most = count[c] > most ? count[c] : most;
		sent += count[c];
	}
	/* one stream-out per column, since columns carry different numbers */
	dev_post(&d, 1, &in);
	dev_ring(&d, 1);
	for (c = 0; c < t->cols; c++) {
		if (!count[c])
			continue;
		out.col0 = c;
		out.cols = 1;
		out.kcol = count[c];
		out.buf = OUT + c * 0x8000;
		bad += dev_do(&d, 2, &out, &e) != 0;
	}
	bad += !dev_wait(&d, 1, &e) || e.status >> 1;
	for (c = 0; c < t->cols; c++)
		for (i = 0; i < count[c]; i++)
			bad += host32(&d, OUT + c * 0x8000 + i * 4, 4) != expect[c][i];
	ok(!bad, "stream-in %s: %u wavelets, %u wrong", name, sent, bad);
	ways_add(&ways, d.m);
	dev_close(&d);
}

/* stream-out of known words; everything else in memory keeps its bytes */
static void test_out(const struct stream *t, const char *name)
{
	uint32_t size = t->etype == WSE_ETYPE_BF16 ? 2 : 4, cstride = (t->k * size + 7) / 8 * 8,
		 mrow = (t->k + 63) / 64 * 8;
	uint32_t lstride = cstride * t->cols + 16, c, k, f, blk, i, n, bad = 0;
	static uint8_t want[0x40000];
	bool linear = t->flags & WSE_SQF_LINEAR;
	struct wse_sqe in, out;
	struct wse_cqe e = {0};
	struct dev d;

	open_dev(&d, rows_of(t->cols, 3), t->cols);
	program_all(&d, emit_through);
	boot(&d, 0, &e);
	page_list(&d, 0x8800, OUT);
	page_list(&d, 0x9000, MASK);
	for (i = 0; i < 0x40000; i++) {
		d.mem[OUT + i] = rnd();
		d.mem[MASK + i] = rnd();
	}
	memcpy(want, d.mem + OUT, sizeof(want));
	out = (struct wse_sqe){
		.opcode = WSE_OP_STREAM_OUT,
		.flags = t->flags,
		.cols = t->cols,
		.color = 5,
		.etype = t->etype,
		.budget = 1 << 24,
		.buf = t->pages ? 0x8800 : OUT,
		.pshift = t->pages ? 12 : 0,
		.off = 16,
		.nline = t->nblk,
		.lstride = lstride,
		.cstride = cstride,
		.kcol = t->k,
		.nfeat = t->b,
	};
	if (linear) {
		out.len = (t->nblk * t->b * t->k * size + 7) / 8 * 8;
		out.lstride = 0;
		out.cstride = out.len + 8;
	}
	out.flags |= t->pages ? 0 : WSE_SQF_BUF_DIRECT;
	if (t->flags & WSE_SQF_MASKED) {
		out.mask = t->pages ? 0x9000 : MASK;
		out.mshift = t->pages ? 12 : 0;
		out.flags |= t->pages ? 0 : WSE_SQF_MASK_DIRECT;
		out.rstride = mrow * t->cols;
		out.mcstride = mrow;
	}
	dev_post(&d, 2, &out);
	dev_ring(&d, 2);
	for (c = 0; c < t->cols; c++) {
		n = 0;
		for (blk = 0; blk < t->nblk; blk++)
			for (k = 0; k < t->k; k++)
				for (f = 0; f < t->b; f++) {
					uint32_t row = blk * t->b + f, v = rnd();
					uint64_t ma = place(MASK, t->pages,
							    (uint64_t)row * mrow * t->cols +
								    c * mrow + k / 8);
					uint64_t a = place(0, t->pages,
							   16 + (uint64_t)row * lstride +
								   c * cstride + k * size);
					uint16_t h = soft_bf16(v);

					if (t->flags & WSE_SQF_MASKED &&
					    !(d.mem[ma] >> (k & 7) & 1))
						continue;
					if (linear)
						a = place(0, t->pages,
							  16 + c * out.cstride + n * size);
					memcpy(d.mem + DEV_DATA + n++ * 4, &v, 4);
					memcpy(want + a, size == 2 ? (void *)&h : (void *)&v, size);
				}
		if (!n)
			continue;
		in = (struct wse_sqe){
			.opcode = WSE_OP_STREAM_IN,
			.flags = WSE_SQF_BUF_DIRECT,
			.col0 = c,
			.cols = 1,
			.color = 5,
			.etype = WSE_ETYPE_RAW32,
			.budget = 1 << 24,
			.buf = DEV_DATA,
			.nline = 1,
			.kcol = n,
			.nfeat = 1,
		};
		bad += dev_do(&d, 1, &in, &e) != 0;
	}
	bad += !dev_wait(&d, 2, &e) || e.status >> 1;
	for (i = 0; i < sizeof(want); i++)
		bad += want[i] != d.mem[OUT + i];
	ok(!bad, "stream-out %s: %u wrong", name, bad);
	ways_add(&ways, d.m);
	dev_close(&d);
}

static void test_streams(void)
{
	static const struct {
		struct stream s;
		const char *name;
	} in[] =
		{
			{{3, 13, 4, 5, WSE_ETYPE_BF16, 0, false}, "bf16 dense"},
			{{3, 70, 2, 9, WSE_ETYPE_BF16, WSE_SQF_MASKED, false}, "bf16 masked"},
			{{2, 33, 1, 20, WSE_ETYPE_BF16, WSE_SQF_DROP_ZERO, true},
			 "bf16, zeros dropped, pages"},
			{{3, 21, 4, 6, WSE_ETYPE_FP32, 0, true}, "binary32, pages"},
			{{2, 100, 2, 6, WSE_ETYPE_FP32, WSE_SQF_MASKED | WSE_SQF_DROP_ZERO, true},
			 "binary32 masked, zeros dropped, pages"},
			{{3, 50, 1, 7, WSE_ETYPE_RAW32, 0, false}, "raw"},
			{{3, 50, 1, 7, WSE_ETYPE_RAW32, WSE_SQF_MASKED, true}, "raw masked, pages"},
			{{2, 40, 4, 3, WSE_ETYPE_BF16, WSE_SQF_INDEX_ONLY, false}, "indices"},
			{{2, 40, 4, 3, WSE_ETYPE_BF16, WSE_SQF_INDEX_ONLY | WSE_SQF_MASKED, true},
			 "indices masked"},
			{{4, 13, 4, 6, WSE_ETYPE_BF16, 0, true}, "bf16, 4 columns, pages"},
			{{12, 70, 2, 5, WSE_ETYPE_BF16, WSE_SQF_MASKED, false},
			 "bf16 masked, 12 columns"},
			{{12, 40, 4, 3, WSE_ETYPE_FP32, 0, true}, "binary32, 12 columns, pages"},
			{{3, 13, 4, 5, WSE_ETYPE_BF16, WSE_SQF_LINEAR, false}, "bf16 linear"},
			{{12, 37, 1, 5, WSE_ETYPE_BF16, WSE_SQF_LINEAR, true},
			 "bf16 linear, 12 columns, pages"},
			{{3, 40, 4, 5, WSE_ETYPE_FP32, WSE_SQF_LINEAR, true},
			 "binary32 linear, pages"},
			{{3, 70, 2, 9, WSE_ETYPE_BF16,
			  WSE_SQF_LINEAR | WSE_SQF_MASKED | WSE_SQF_DROP_ZERO, true},
			 "bf16 linear masked, zeros dropped, pages"},
			{{12, 70, 4, 5, WSE_ETYPE_FP32, WSE_SQF_LINEAR | WSE_SQF_MASKED, false},
			 "binary32 linear masked, 12 columns"},
			{{3, 50, 1, 7, WSE_ETYPE_RAW32, WSE_SQF_LINEAR | WSE_SQF_MASKED, true},
			 "raw linear masked, pages"},
		},
	  out[] = {
		  {{3, 13, 4, 5, WSE_ETYPE_BF16, 0, false}, "bf16"},
		  {{3, 70, 2, 5, WSE_ETYPE_BF16, WSE_SQF_MASKED, true}, "bf16 masked, pages"},
		  {{2, 30, 4, 4, WSE_ETYPE_FP32, 0, true}, "binary32, pages"},
		  {{3, 30, 4, 4, WSE_ETYPE_FP32, WSE_SQF_MASKED, false}, "binary32 masked"},
		  {{3, 30, 1, 4, WSE_ETYPE_RAW32, WSE_SQF_MASKED, true}, "raw masked, pages"},
		  {{4, 30, 4, 4, WSE_ETYPE_FP32, WSE_SQF_MASKED, true},
		   "binary32 masked, 4 columns, pages"},
		  {{12, 17, 4, 3, WSE_ETYPE_FP32, 0, false}, "binary32, 12 columns"},
		  {{12, 70, 2, 3, WSE_ETYPE_BF16, WSE_SQF_MASKED, true},
		   "bf16 masked, 12 columns, pages"},
		  {{3, 13, 4, 5, WSE_ETYPE_BF16, WSE_SQF_LINEAR | WSE_SQF_MASKED, true},
		   "bf16 linear masked, pages"},
		  {{3, 30, 4, 4, WSE_ETYPE_FP32, WSE_SQF_LINEAR, false}, "binary32 linear"},
		  {{12, 70, 2, 3, WSE_ETYPE_FP32, WSE_SQF_LINEAR | WSE_SQF_MASKED, true},
		   "binary32 linear masked, 12 columns, pages"},
	  };
	unsigned int i;

	for (i = 0; i < sizeof(in) / sizeof(*in); i++)
		if (in[i].s.cols <= COLS_MOST)
			test_in(&in[i].s, in[i].name);
	for (i = 0; i < sizeof(out) / sizeof(*out); i++)
		if (out[i].s.cols <= COLS_MOST)
			test_out(&out[i].s, out[i].name);
}

static void test_stuck_streams(void)
{
	struct wse_sqe s = {
		.opcode = WSE_OP_STREAM_IN,
		.flags = WSE_SQF_BUF_DIRECT,
		.col0 = 1,
		.cols = 2,
		.color = 9,
		.budget = 5000,
		.buf = DEV_DATA,
		.nline = 1,
		.kcol = 100,
		.nfeat = 1,
	};
	const struct wse_fault *f;
	struct wse_cqe e = {0};
	struct dev d;

	open_dev(&d, 2, 3);
	is(dev_do(&d, 1, &s, &e), WSE_ST_DEADLOCK, "a stream into a color without a route");
	f = dev_fault(&d, &e);
	ok(f->cause == WSE_CAUSE_WAIT_PORT && f->color == 9 && !f->row && f->col == 1 &&
		   f->ncores == 2 && !f->pc,
	   "the record names its lowest port");
	s.opcode = WSE_OP_STREAM_OUT;
	is(dev_do(&d, 1, &s, &e), WSE_ST_DEADLOCK, "a stream-out that no core feeds");
	f = dev_fault(&d, &e);
	ok(f->cause == WSE_CAUSE_WAIT_PORT && f->row == 1 && f->col == 1 && f->ncores == 2,
	   "the record names its lowest port");
	s.opcode = WSE_OP_STREAM_IN;
	s.kcol = 4;
	s.etype = WSE_ETYPE_RAW32;
	s.color = 10;
	is(dev_do(&d, 1, &s, &e), 0, "what the channel holds is accepted");
	d.fail_from = DEV_DATA + 6;
	d.fail_to = DEV_DATA + 7;
	s.color = 11;
	is(dev_do(&d, 1, &s, &e), WSE_ST_DMA_ERROR, "a stream whose memory fails");
	is(dev_fault(&d, &e)->iova, DEV_DATA, "names the bus address");
	dev_close(&d);
}

/* blocks of which nothing is selected: the budget ends such a stream, too, not after all of them */
static void test_empty_blocks(void)
{
	struct wse_sqe s = {
		.opcode = WSE_OP_STREAM_IN,
		.flags = WSE_SQF_BUF_DIRECT | WSE_SQF_MASK_DIRECT | WSE_SQF_MASKED,
		.cols = 1,
		.color = 5,
		.etype = WSE_ETYPE_RAW32,
		.budget = 20000,
		.buf = OUT,
		.mask = MASK,
		.nline = ~0u,
		.kcol = 8,
		.nfeat = 1,
	};
	const struct wse_fault *f;
	struct wse_cqe e;
	struct dev d;

	open_dev(&d, 2, 2);
	is(dev_do(&d, 1, &s, &e), WSE_ST_TIMEOUT, "2^32 - 1 blocks in, all masked");
	f = dev_fault(&d, &e);
	ok(f && f->cause == WSE_CAUSE_WAIT_PORT && e.end - e.start < 40000, "... after its budget");
	s.opcode = WSE_OP_STREAM_OUT;
	is(dev_do(&d, 1, &s, &e), WSE_ST_TIMEOUT, "2^32 - 1 blocks out");
	dev_fault(&d, &e);
	s.opcode = WSE_OP_STREAM_IN;
	s.flags = WSE_SQF_BUF_DIRECT | WSE_SQF_DROP_ZERO;
	is(dev_do(&d, 1, &s, &e), WSE_ST_TIMEOUT, "2^32 - 1 blocks of zeros, dropped");
	dev_fault(&d, &e);
	s.flags = WSE_SQF_BUF_DIRECT | WSE_SQF_MASK_DIRECT | WSE_SQF_MASKED;
	s.nline = 1000;
	s.budget = 1000000;
	is(dev_do(&d, 1, &s, &e), WSE_ST_OK, "a thousand of them in");
	s.opcode = WSE_OP_STREAM_OUT;
	is(dev_do(&d, 1, &s, &e), WSE_ST_OK, "... and out");
	dev_close(&d);
}

/* 2 rows of 3 cores, each of which sends on what comes: from a stream-in to a stream-out */
static void open_through(struct dev *d, struct wse_cqe *e)
{
	open_dev(d, 2, 3);
	program_all(d, emit_through);
	boot(d, 0, e);
}

/*
 * One column's memory fails while the others' works; where columns have a bus each, one bus answers
 * with errors while the others go on. hold: some columns wait beside it and do not end.
 */
static void test_error_beside(uint8_t opcode, bool hold)
{
	struct wse_sqe s = {
		.opcode = opcode,
		.flags = WSE_SQF_BUF_DIRECT,
		.cols = 3,
		.color = 5,
		.etype = WSE_ETYPE_FP32,
		.budget = 1000000,
		.buf = DEV_DATA,
		.nline = 64,
		.lstride = 0x100,
		.cstride = 0x10000,
		.kcol = 64,
		.nfeat = 1,
	};
	bool in = opcode == WSE_OP_STREAM_IN;
	struct wse_sqe copy = {.opcode = WSE_OP_COPY_OUT,
			       .flags = WSE_SQF_BUF_DIRECT,
			       .rows = 1,
			       .cols = 3,
			       .budget = 100000,
			       .buf = OUT,
			       .sram = 64,
			       .len = 64,
			       .nline = 1,
			       .cstride = 64};
	struct wse_sqe beside = s;
	struct wse_cqe e = {0};
	uint32_t c, k, bad = 0;
	struct dev d;

	open_through(&d, &e);
	/* a port that cannot send has read no more than what comes next */
	d.fail_from = DEV_DATA + 0x10000 + (hold && in ? 0x40 : 0x800);
	d.fail_to = DEV_DATA + 0x20000 - 1;
	/* the other end of the columns */
	beside.opcode = in ? WSE_OP_STREAM_OUT : WSE_OP_STREAM_IN;
	beside.buf = OUT;
	beside.etype = WSE_ETYPE_RAW32;
	beside.nline = hold ? 20 : 64;
	dev_post(&d, 2, &beside);
	dev_ring(&d, 2);
	if (hold && in)
		s.color = 9; /* which has no route: what a port has sent stays where it is */
	ok(dev_do(&d, 1, &s, &e) == WSE_ST_DMA_ERROR, "%s: one column's memory fails%s",
	   in ? "stream-in" : "stream-out", hold ? ", while others wait" : "");
	ok(dev_fault(&d, &e) && dev_fault(&d, &e)->iova >= DEV_DATA + 0x10000 &&
		   dev_fault(&d, &e)->iova <= d.fail_to,
	   "names an address of that column");
	/* no other byte than those of the stream has changed */
	for (c = 0; c < 3; c++)
		for (k = 0x4000; k < 0x10000; k++)
			bad += d.mem[DEV_DATA + c * 0x10000 + k] != 0;
	is(dev_do(&d, 3, &copy, &e), 0, "the other queues go on");
	is(bad, 0, "and nothing else was written");
	dev_close(&d);
}

/*
 * A mask that selects more than a LINEAR run has: its column waits behind the last element of the
 * run, reads and writes nothing behind it, and END does not come.
 */
static void test_short_run(void)
{
	struct wse_sqe s = {
		.opcode = WSE_OP_STREAM_IN,
		.flags = WSE_SQF_BUF_DIRECT | WSE_SQF_MASK_DIRECT | WSE_SQF_MASKED | WSE_SQF_LINEAR,
		.cols = 2,
		.color = 5,
		.etype = WSE_ETYPE_FP32,
		.budget = 20000,
		.buf = DEV_DATA,
		.mask = MASK,
		.nline = 2,
		.len = 16,
		.cstride = 64,
		.mcstride = 8,
		.rstride = 16,
		.kcol = 8,
		.nfeat = 1,
	};
	struct wse_sqe take = {.opcode = WSE_OP_STREAM_OUT,
			       .flags = WSE_SQF_BUF_DIRECT,
			       .cols = 2,
			       .color = 5,
			       .etype = WSE_ETYPE_RAW32,
			       .budget = 20000,
			       .buf = OUT,
			       .nline = 1,
			       .cstride = 64,
			       .kcol = 4,
			       .nfeat = 1};
	/* bits of the rows: column 0 has 4 elements, column 1 has 6 */
	static const uint8_t rows[2][2] = {{0x70, 0x2f}, {0x80, 0x01}};
	const struct wse_fault *f;
	struct wse_cqe e = {0};
	uint32_t i, bad = 0;
	struct dev d;

	open_through(&d, &e);
	memset(d.mem + DEV_DATA, 0x11, 256);
	memset(d.mem + OUT, 0x11, 256);
	for (i = 0; i < 4; i++)
		d.mem[MASK + i / 2 * 16 + i % 2 * 8] = rows[i / 2][i % 2];
	d.fail_from = DEV_DATA + 64 + 16;
	d.fail_to = DEV_DATA + 64 + 31;
	dev_post(&d, 2, &take);
	dev_ring(&d, 2);
	is(dev_do(&d, 1, &s, &e), WSE_ST_DEADLOCK, "stream-in: a run of 4 for 6 elements");
	f = dev_fault(&d, &e);
	ok(f->cause == WSE_CAUSE_WAIT_PORT && f->col == 1 && f->ncores == 1,
	   "the record names its port");
	ok(dev_wait(&d, 2, &e) && !(e.status >> 1),
	   "what the run has has come, and no more was read");
	dev_close(&d);

	open_through(&d, &e);
	memset(d.mem + OUT, 0x11, 256);
	for (i = 0; i < 4; i++)
		d.mem[MASK + i / 2 * 16 + i % 2 * 8] = rows[i / 2][i % 2];
	s.opcode = WSE_OP_STREAM_OUT;
	s.buf = OUT;
	take.opcode = WSE_OP_STREAM_IN;
	take.buf = DEV_DATA;
	take.kcol = 6;
	dev_post(&d, 1, &take);
	dev_ring(&d, 1);
	is(dev_do(&d, 2, &s, &e), WSE_ST_DEADLOCK, "stream-out: a run of 4 for 6 elements");
	f = dev_fault(&d, &e);
	ok(f->cause == WSE_CAUSE_WAIT_PORT && f->row == 1 && f->col == 1 && f->ncores == 1,
	   "the record names its port");
	for (i = 0; i < 256; i++)
		bad += i % 64 >= 16 && d.mem[OUT + i] != 0x11;
	is(bad, 0, "nothing behind the run is written");
	dev_close(&d);
}

#if COLS_MOST >= 12
#define COPY_BYTES 4096u

/* a copy of columns [first, end) of 1x12 cores: its cycles, 0 if it is not whole */
static uint32_t copy_columns(struct dev *d, bool in, uint32_t first, uint32_t end, uint8_t salt)
{
	struct wse_sqe s = dev_copy(d, in, first, 0x4000, OUT, COPY_BYTES);
	uint8_t line[COPY_BYTES], there[COPY_BYTES];
	struct wse_cqe e;
	bool bad = false;
	uint32_t c;

	s.cols = end - first;
	s.cstride = 2 * COPY_BYTES;
	memset(d->mem + OUT, 0xee, 2 * COPY_BYTES * 12);
	for (c = 0; c < 12; c++) {
		bool mine = c >= first && c < end;

		memset(line, salt + c, sizeof(line));
		if (in && mine)
			memcpy(d->mem + OUT + (c - first) * s.cstride, line, sizeof(line));
		memset(line, in ? 0xcc : salt + c, sizeof(line));
		bad |= d->ops->poke(d->m, c, WSE_SRAM_BASE + s.sram, line, sizeof(line)) != 0;
	}
	bad |= dev_do(d, 1, &s, &e) != 0;
	for (c = 0; c < 12; c++) {
		bool mine = c >= first && c < end;
		const uint8_t *at = d->mem + OUT + (c - first) * s.cstride;

		bad |= d->ops->peek(d->m, c, WSE_SRAM_BASE + s.sram, there, sizeof(there)) != 0;
		memset(line, in && !mine ? 0xcc : salt + c, sizeof(line));
		bad |= memcmp(there, line, sizeof(line)) ||
		       (mine && memcmp(at, line, sizeof(line)));
	}
	/* nothing between the lines */
	for (c = 0; c < s.cols; c++)
		bad |= d->mem[OUT + c * s.cstride + COPY_BYTES] != 0xee;
	return bad ? 0 : e.end - e.start;
}

/* each bus copies what its columns have, all at once */
static void test_copies(void)
{
	const struct wse_machine_cfg cfg = {.rows = 1, .cols = 12, .group = 4};
	struct dev d;
	bool bad = dev_open_cfg(&d, "func", &cfg) || dev_create_queue(&d, 1);

	for (int in = 1; in >= 0 && !bad; in--) {
		uint32_t one = copy_columns(&d, in, 4, 8, 1), all = copy_columns(&d, in, 0, 12, 2);
		uint32_t part = copy_columns(&d, in, 2, 11, 3), few = copy_columns(&d, in, 3, 5, 4);

		ok(one && all && all <= one + one / 4,
		   "copy %s: %u cycles for the columns of a bus, %u for those of three",
		   in ? "in" : "out", one, all);
		ok(part && part <= one + one / 4 && few && few <= one / 2,
		   "copy %s: %u for columns 2 to 10, %u for 3 and 4", in ? "in" : "out", part, few);
	}
	ok(!bad, "a tile of three groups");
	dev_close(&d);
}
#endif

int main(void)
{
	test_streams();
#if COLS_MOST >= 12
	test_copies();
#endif
	went(&ways, runs, 200);
	went(&ways, kept, 100);
	went(&ways, in_place, 50);
	test_stuck_streams();
	test_empty_blocks();
	test_short_run();
	test_error_beside(WSE_OP_STREAM_IN, false);
	test_error_beside(WSE_OP_STREAM_OUT, false);
	test_error_beside(WSE_OP_STREAM_IN, true);
	test_error_beside(WSE_OP_STREAM_OUT, true);
	return tap_end();
}
