// SPDX-License-Identifier: MIT
/* Routes, capacities, deadlocks, edge ports and tasks. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "dev.h"
#include "prog.h"
#include "softfp.h"

#define ENTRY (WSE_SRAM_BASE + CODE_AT)
#define OUT   (DEV_DATA + 0x400000)
#define MASK  (DEV_DATA + 0x800000)

static uint64_t state = 0x123456789abcdefull;

static uint32_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 16;
}

/* a fresh device with queues 1 ... 3; programs are added core by core */
static void open_dev(struct dev *d, uint32_t rows, uint32_t cols)
{
	unsigned int i;

	if (dev_open(d, "func", rows, cols))
		ok(false, "open");
	for (i = 1; i <= 3; i++)
		if (dev_create_queue(d, i))
			ok(false, "create queue");
}

static unsigned int boot(struct dev *d, uint8_t flags, struct wse_cqe *e)
{
	struct wse_sqe s = dev_start(d, ENTRY, WSE_SQF_BOOT | flags, 100000);

	return dev_do(d, 3, &s, e);
}

static uint32_t word(struct dev *d, uint32_t core, uint32_t off)
{
	uint32_t v;

	d->ops->peek(d->m, core, WSE_SRAM_BASE + off, &v, 4);
	return v;
}

/* ---- capacities ---- */

#define HOLD(c) put(c, WSE(WSE_F3_TNEXT, 0, 5, 0, 0))

/* counts its sends at 0x100 */
static void send_for_ever(struct code *c, uint32_t color)
{
	uint32_t loop;

	li(c, 7, 0);
	li(c, 8, WSE_SRAM_BASE + 0x100);
	li(c, 6, color);
	loop = c->pc;
	put(c, WSE(WSE_F3_SEND, 0, 0, 7, 6));
	put(c, ADDI(7, 7, 1));
	put(c, SW(7, 8, 0));
	put(c, j_type(0, (int32_t)(loop - c->pc)));
}

static void emit_no_route(struct code *c, uint32_t core)
{
	if (!core)
		send_for_ever(c, 7);
	HOLD(c);
}

static void emit_east(struct code *c, uint32_t core)
{
	if (core == 0) {
		route(c, 7, WSE_PORT_R, 1u << WSE_PORT_E);
		send_for_ever(c, 7);
	} else {
		route(c, 7, WSE_PORT_W, 1u << WSE_PORT_R);
	}
	HOLD(c);
}

/* core 0 to cores 1 and 2; core 1 reads three wavelets only, core 2 all */
static void emit_multicast(struct code *c, uint32_t core)
{
	uint32_t i;

	if (core == 0) {
		route(c, 7, WSE_PORT_R, 1u << WSE_PORT_E);
		send_for_ever(c, 7);
	} else if (core == 1) {
		route(c, 7, WSE_PORT_W, 1u << WSE_PORT_R | 1u << WSE_PORT_E);
		for (i = 0; i < 3; i++)
			recv(c, 7, WSE_SRAM_BASE + 0x200 + i * 4);
	} else {
		route(c, 7, WSE_PORT_W, 1u << WSE_PORT_R);
		for (i = 0; i < 30; i++)
			recv(c, 7, WSE_SRAM_BASE + 0x200 + i * 4);
	}
	HOLD(c);
}

static void emit_west(struct code *c, uint32_t core)
{
	if (!core) {
		route(c, 7, WSE_PORT_R, 1u << WSE_PORT_W);
		send_for_ever(c, 7);
	}
	HOLD(c);
}

static void test_capacity(void)
{
	const struct wse_fault *f;
	struct wse_cqe e = {0};
	struct dev d;
	uint32_t i, bad = 0;

	open_dev(&d, 1, 3);
	program_all(&d, emit_no_route);
	is(boot(&d, WSE_SQF_CLOSED, &e), WSE_ST_DEADLOCK, "sends without a route stop");
	is(word(&d, 0, 0x100), WSE_CHAN_DEPTH, "after the capacity of one channel");
	f = dev_fault(&d, &e);
	ok(f->cause == WSE_CAUSE_WAIT_SEND && f->color == 7 && !f->row && !f->col && f->ncores == 3,
	   "the record names core, color and how many");
	is(dev_do(&d, 0, &(struct wse_sqe){.opcode = WSE_OP_CTX_RESET}, NULL), 0, "context reset");
	d.q[3].tail = d.q[3].head = 0;
	d.q[3].phase = true;
	memset(d.mem + d.q[3].cq, 0, 0x1000);
	program_all(&d, emit_east);
	is(boot(&d, WSE_SQF_CLOSED, &e), WSE_ST_DEADLOCK, "a neighbour that does not read");
	is(word(&d, 0, 0x100), 3 * WSE_CHAN_DEPTH, "ramp, link and receive queue");
	dev_fault(&d, &e);
	dev_close(&d);

	open_dev(&d, 1, 3);
	program_all(&d, emit_multicast);
	is(boot(&d, WSE_SQF_CLOSED, &e), WSE_ST_DEADLOCK, "multicast to one who stops reading");
	/* 3 taken and 4 held at the ramp of core 1, 4 in its west port, 4 in the sender's ramp */
	is(word(&d, 0, 0x100), 3 + 3 * WSE_CHAN_DEPTH, "stops the sender");
	for (i = 0; i < 7; i++)
		bad += word(&d, 2, 0x200 + i * 4) != i;
	is(bad, 0, "the other one gets what the first has room for");
	is(word(&d, 2, 0x200 + 28), 0, "and no more");
	f = dev_fault(&d, &e);
	ok(f->cause == WSE_CAUSE_WAIT_SEND && f->ncores == 3, "core 0 waits");
	dev_close(&d);

	open_dev(&d, 1, 3);
	program_all(&d, emit_west);
	is(boot(&d, WSE_SQF_CLOSED, &e), WSE_ST_DEADLOCK, "out of the west edge");
	is(word(&d, 0, 0x100), WSE_CHAN_DEPTH, "nothing leaves");
	dev_close(&d);
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
static void test_in(const struct stream *t, const char *name)
{
	uint32_t size = t->etype == WSE_ETYPE_BF16 ? 2 : 4, lstride, cstride,
		 mrow = (t->k + 63) / 64 * 8, n = t->nblk * t->b;
	uint32_t c, k, f, blk, i, bad = 0, want, sent = 0, most = 0;
	struct wse_sqe in, out;
	struct wse_cqe e = {0};
	struct dev d;

	open_dev(&d, 2, t->cols);
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
	static uint32_t expect[8][8192];
	uint32_t count[8] = {0};

	for (c = 0; c < t->cols; c++) {
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
	(void)n;
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
	dev_close(&d);
}

/* stream-out of known words; everything else in memory keeps its bytes */
static void test_out(const struct stream *t, const char *name)
{
	uint32_t size = t->etype == WSE_ETYPE_BF16 ? 2 : 4, cstride = (t->k * size + 7) / 8 * 8,
		 mrow = (t->k + 63) / 64 * 8;
	uint32_t lstride = cstride * t->cols + 16, c, k, f, blk, i, n, bad = 0;
	static uint8_t want[0x40000];
	struct wse_sqe in, out;
	struct wse_cqe e = {0};
	struct dev d;

	open_dev(&d, 3, t->cols);
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
		},
	  out[] = {
		  {{3, 13, 4, 5, WSE_ETYPE_BF16, 0, false}, "bf16"},
		  {{3, 70, 2, 5, WSE_ETYPE_BF16, WSE_SQF_MASKED, true}, "bf16 masked, pages"},
		  {{2, 30, 4, 4, WSE_ETYPE_FP32, 0, true}, "binary32, pages"},
		  {{3, 30, 4, 4, WSE_ETYPE_FP32, WSE_SQF_MASKED, false}, "binary32 masked"},
		  {{3, 30, 1, 4, WSE_ETYPE_RAW32, WSE_SQF_MASKED, true}, "raw masked, pages"},
	  };
	unsigned int i;

	for (i = 0; i < sizeof(in) / sizeof(*in); i++)
		test_in(&in[i].s, in[i].name);
	for (i = 0; i < sizeof(out) / sizeof(*out); i++)
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
	is(dev_do(&d, 1, &s, &e), WSE_ST_DEADLOCK, "a stream-out that nobody feeds");
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

/* ---- tasks ---- */

#define TASK_AT(n) (WSE_SRAM_BASE + 0x9000 + (n)*32)

/* tasks append what they see to a log at 0x200; x20 is its end */
static void emit_tasks(struct code *c, uint32_t core)
{
	uint32_t i, main;
	struct code t = *c;

	(void)core;
	for (i = 1; i <= 5; i++) {
		t.pc = TASK_AT(i);
		put(&t, CSRRS(6, WSE_CSR_WDATA, 0));
		put(&t, CSRRS(7, WSE_CSR_WINFO, 0));
		put(&t, SW(6, 20, 0));
		put(&t, SW(7, 20, 4));
		put(&t, ADDI(20, 20, 8));
		put(&t, JALR(0, 1, 0));
	}
	li(c, 20, WSE_SRAM_BASE + 0x200);
	for (i = 1; i <= 5; i++) {
		li(c, 5, i);
		li(c, 6, TASK_AT(i));
		put(c, WSE(WSE_F3_TASK, WSE_TASKOP_ENTRY, 0, 5, 6));
	}
	/* color 8 loops back: data makes task 3 ready, control task 2 */
	route(c, 8, WSE_PORT_R, 1u << WSE_PORT_R);
	li(c, 5, 8);
	li(c, 6, 3);
	put(c, WSE(WSE_F3_TASK, WSE_TASKOP_BIND, 0, 5, 6));
	li(c, 6, 2);
	put(c, WSE(WSE_F3_TASK, WSE_TASKOP_CBIND, 0, 5, 6));
	send(c, 0x11, 8, false);
	send(c, 0x22, 8, true);
	send(c, 0x33, 8, false);
	li(c, 5, 4);
	put(c, WSE(WSE_F3_TASK, WSE_TASKOP_ACTIVATE, 0, 5, 0));
	li(c, 5, 1);
	put(c, WSE(WSE_F3_TASK, WSE_TASKOP_BLOCK, 0, 5, 0));
	put(c, WSE(WSE_F3_TASK, WSE_TASKOP_ACTIVATE, 0, 5, 0));
	/* mover 0 unblocks task 1 and makes task 5 ready when it is through */
	dsr(c, 0, WSE_SRAM_BASE + 0x800, d1(8, 4), 0, kind(WSE_KIND_MEM, WSE_DT_I32));
	dsr(c, 1, WSE_SRAM_BASE + 0x900, d1(8, 4), 0, kind(WSE_KIND_MEM, WSE_DT_I32));
	issue(c,
	      tcw(WSE_ENGINE_M0, WSE_TOP_MOVE, 0, 1, 0) | WSE_TCW_ACTIVATE_MASK |
		      5u << WSE_TCW_TASK_SHIFT,
	      0);
	wait_engines(c, 2);
	main = c->pc;
	put(c, WSE(WSE_F3_TNEXT, 0, 5, 0, 0));
	put(c, JALR(1, 5, 0));
	/* after four tasks the blocked one is let go */
	li(c, 6, WSE_SRAM_BASE + 0x200 + 4 * 8);
	put(c, b_type(1, 20, 6, 12));
	li(c, 5, 1);
	put(c, WSE(WSE_F3_TASK, WSE_TASKOP_UNBLOCK, 0, 5, 0));
	put(c, j_type(0, (int32_t)(main - c->pc)));
}

static void test_tasks(void)
{
	/* 3 (0x11) first: lower than 4; then its color shows control: 2; then 3, 4; 1 when
	 * unblocked, 5 */
	static const uint32_t want[6][2] = {
		{0x11, 8}, {0x22, 0x108}, {0x33, 8}, {0, 1 << 14}, {0, 1 << 14}, {0, 1 << 14},
	};
	static uint8_t image[WSE_SRAM_BYTES];
	struct code c = {image, ENTRY};
	struct wse_core_state st;
	uint32_t i, bad = 0;
	struct dev d;

	open_dev(&d, 1, 1);
	emit_tasks(&c, 0);
	d.ops->poke(d.m, 0, WSE_SRAM_BASE, image, sizeof(image));
	d.ops->boot(d.m, 0, ENTRY);
	is(d.ops->advance(d.m, 1000000, NULL), WSE_STOP_IDLE, "tasks run until none is ready");
	for (i = 0; i < 6; i++)
		bad += word(&d, 0, 0x200 + i * 8) != want[i][0] ||
		       word(&d, 0, 0x204 + i * 8) != want[i][1];
	d.ops->get_state(d.m, 0, &st);
	if (!ok(!bad && st.x[20] == WSE_SRAM_BASE + 0x200 + 48,
		"in the order of their numbers, flags and wavelets"))
		for (i = 0; i < 7; i++)
			printf("# %x %x\n", word(&d, 0, 0x200 + i * 8), word(&d, 0, 0x204 + i * 8));
	dev_close(&d);
}

/* color 5 to the lanes, two blocks of it; color 9 to a mover */
static void emit_two_readers(struct code *c, uint32_t core)
{
	(void)core;
	route(c, 5, WSE_PORT_N, 1u << WSE_PORT_R);
	route(c, 9, WSE_PORT_N, 1u << WSE_PORT_R);
	dsr(c, 0, 5, 0, 0, kind(WSE_KIND_FABIN, 0));
	dsr(c, 1, 0, d1(8, 1), 0, kind(WSE_KIND_ACC, 0));
	dsr(c, 2, WSE_SRAM_BASE + 0x400, d1(8, 2), d1(8, 16), kind(WSE_KIND_MEM, WSE_DT_BF16));
	dsr(c, 3, 9, 0, 0, kind(WSE_KIND_FABIN, 0));
	dsr(c, 4, WSE_SRAM_BASE + 0x800, d1(8, 4), 0, kind(WSE_KIND_MEM, WSE_DT_I32));
	issue(c, tcw(WSE_ENGINE_L, WSE_TOP_AXPY, 1, 0, 2), 1);
	issue(c, tcw(WSE_ENGINE_L, WSE_TOP_AXPY, 1, 0, 2), 1);
	issue(c, tcw(WSE_ENGINE_M1, WSE_TOP_MOVE, 4, 3, 0), 0);
	park(c);
}

/* a north port sends one color, then another, while the first one's reader waits for more */
static void test_another_color(void)
{
	static uint8_t image[WSE_SRAM_BYTES];
	struct code c = {image, ENTRY};
	struct wse_sqe s = {
		.opcode = WSE_OP_STREAM_IN,
		.flags = WSE_SQF_BUF_DIRECT,
		.cols = 1,
		.color = 5,
		.budget = 5000,
		.buf = DEV_DATA,
		.nline = 1,
		.kcol = 8,
		.nfeat = 1,
	};
	uint32_t i, acc[128], wrong = 0;
	struct wse_cqe e = {0};
	struct dev d;
	uint16_t one = 0x3f80;

	open_dev(&d, 1, 1);
	for (i = 0; i < 64; i++)
		memcpy(image + 0x400 + i * 2, &one, 2);
	for (i = 0; i < 8; i++)
		memcpy(d.mem + DEV_DATA + i * 2, &one, 2);
	emit_two_readers(&c, 0);
	d.ops->poke(d.m, 0, WSE_SRAM_BASE, image, sizeof(image));
	d.ops->boot(d.m, 0, ENTRY);
	d.ops->advance(d.m, 1000, NULL);
	is(dev_do(&d, 1, &s, &e), WSE_ST_OK, "a block for the lanes");
	s.color = 9;
	is(dev_do(&d, 1, &s, &e), WSE_ST_OK, "another color for the mover");
	d.ops->advance(d.m, 1000, NULL);
	for (i = 0; i < 8; i++)
		wrong += word(&d, 0, 0x800 + i * 4) != (0x3f800000 | i);
	d.ops->get_acc(d.m, 0, acc);
	for (i = 0; i < 8; i++)
		wrong += acc[i] != 0x41000000;
	ok(!wrong, "each has got its own, %u wrong", wrong);
	dev_close(&d);
}

/* core 0 sends four words east, and four more once core 1 has told it that they now go on to core 2 */
static void emit_rerouted(struct code *c, uint32_t core)
{
	uint32_t i;

	route(c, 5, core ? WSE_PORT_W : WSE_PORT_R, 1u << (core ? WSE_PORT_R : WSE_PORT_E));
	if (core) {
		dsr(c, 0, 5, 0, 0, kind(WSE_KIND_FABIN, 0));
		dsr(c, 1, WSE_SRAM_BASE + 0x800, d1(8, 4), 0, kind(WSE_KIND_MEM, WSE_DT_I32));
		issue(c, tcw(WSE_ENGINE_M1, WSE_TOP_MOVE, 1, 0, 0), 0);
	}
	if (core == 1) {
		route(c, 6, WSE_PORT_R, 1u << WSE_PORT_W);
		route(c, 7, WSE_PORT_W, 1u << WSE_PORT_R);
		recv(c, 7, WSE_SRAM_BASE + 0x200);
		route(c, 5, WSE_PORT_W, 1u << WSE_PORT_E);
		send(c, 1, 6, false);
	}
	if (!core) {
		route(c, 6, WSE_PORT_E, 1u << WSE_PORT_R);
		route(c, 7, WSE_PORT_R, 1u << WSE_PORT_E);
		dsr(c, 0, 5, d1(4, 0), 0, kind(WSE_KIND_FABOUT, 0));
		for (i = 0; i < 2; i++) {
			dsr(c, 1, WSE_SRAM_BASE + 0x400 + i * 16, d1(4, 4), 0,
			    kind(WSE_KIND_MEM, WSE_DT_I32));
			issue(c, tcw(WSE_ENGINE_M0, WSE_TOP_MOVE, 0, 1, 0), 0);
			wait_engines(c, 1u << WSE_ENGINE_M0);
			send(c, 1, 7, false);
			if (!i)
				recv(c, 6, WSE_SRAM_BASE + 0x200);
		}
	}
	park(c);
}

/* the reader on the way waits for more when the route goes past it */
static void test_another_route(void)
{
	static uint8_t image[WSE_SRAM_BYTES];
	uint32_t core, i, wrong = 0;
	struct dev d;

	open_dev(&d, 1, 3);
	for (core = 0; core < 3; core++) {
		struct code c = {image, ENTRY};

		memset(image, 0, sizeof(image));
		emit_rerouted(&c, core);
		for (i = 0; i < 8; i++)
			memcpy(image + 0x400 + i * 4, (uint32_t[]){100 + i}, 4);
		d.ops->poke(d.m, core, WSE_SRAM_BASE, image, sizeof(image));
	}
	for (core = 3; core; core--)
		d.ops->boot(d.m, core - 1, ENTRY);
	d.ops->advance(d.m, 10000, NULL);
	for (i = 0; i < 8; i++) {
		wrong += word(&d, 1, 0x800 + i * 4) != (i < 4 ? 100 + i : 0);
		wrong += word(&d, 2, 0x800 + i * 4) != (i < 4 ? 104 + i : 0);
	}
	ok(!wrong, "what is sent takes the route of its time, %u wrong", wrong);
	dev_close(&d);
}

int main(void)
{
	test_capacity();
	test_streams();
	test_stuck_streams();
	test_another_color();
	test_another_route();
	test_tasks();
	return tap_end();
}
