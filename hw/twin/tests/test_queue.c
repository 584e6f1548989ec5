// SPDX-License-Identifier: MIT
/* The host interface: rings, every check of a submission entry, fences, budgets, DMA errors, fault
 * ring, resets. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "dev.h"
#include "lockstep/lockstep_asm.h"

#define ENTRY  WSE_SRAM_BASE
#define NO_OFF 0xffffu

static struct dev dev;

/* firmware: DONE, then tasks without end */
static void load_loop(struct dev *d)
{
	uint8_t image[64] = {0};
	struct code c = {image, ENTRY};

	put(&c, WSE(WSE_F3_SYS, WSE_SYSOP_DONE, 0, 0, 0));
	put(&c, WSE(WSE_F3_TNEXT, 0, 5, 0, 0));
	put(&c, JALR(1, 5, 0));
	put(&c, j_type(0, -8));
	dev_load(d, image, sizeof(image));
}

/* a task at offset 0x100 of all cores */
static void load_task(struct dev *d, const uint32_t *insn, unsigned int n)
{
	uint32_t i;

	for (i = 0; i < d->rows * d->cols; i++)
		d->ops->poke(d->m, i, WSE_SRAM_BASE + 0x100, insn, n * 4);
}

static void ack_faults(void)
{
	dev.ops->mmio_write(dev.m, WSE_REG_FAULT_HEAD,
			    dev.ops->mmio_read(dev.m, WSE_REG_FAULT_TAIL));
}

static struct wse_sqe good(uint8_t op)
{
	struct wse_sqe s = {.opcode = op, .budget = 100000};

	switch (op) {
	case WSE_OP_COPY_IN:
	case WSE_OP_COPY_OUT:
		s = dev_copy(&dev, op == WSE_OP_COPY_IN, 0, 0x1000, DEV_DATA, 64);
		break;
	case WSE_OP_STREAM_IN:
	case WSE_OP_STREAM_OUT:
		s.flags = WSE_SQF_BUF_DIRECT;
		s.buf = DEV_DATA;
		s.cols = 1;
		s.nline = 1;
		s.kcol = 1;
		s.nfeat = 1;
		s.budget = 100;
		break;
	case WSE_OP_START:
		s = dev_start(&dev, ENTRY, WSE_SQF_BOOT, 100000);
		break;
	case WSE_OP_FENCE:
		s.budget = 0;
		s.queue = 0;
		break;
	case WSE_OP_SCRUB:
		s.rows = 1;
		s.cols = 1;
		break;
	}
	return s;
}

static void refused(const struct wse_sqe *s, unsigned int queue, unsigned int status,
		    unsigned int off, const char *name)
{
	const struct wse_fault *f;
	struct wse_cqe e = {0};
	unsigned int got = dev_do(&dev, queue, s, &e);

	f = dev_fault(&dev, &e);
	if (!ok(got == status && f && f->status == status && f->cid == e.cid && f->queue == queue &&
			f->color == ~0u && (off == NO_OFF || f->addr == off),
		"%s", name))
		printf("# status %u want %u, record %s offset %u want %u\n", got, status,
		       f ? "yes" : "no", f ? f->addr : 0, off);
}

#define WRONG(op, member, value, status)                                       \
	do {                                                                   \
		struct wse_sqe s_ = good(op);                                  \
		s_.member = (value);                                           \
		refused(&s_, 1, status, NO_OFF, #op " " #member " = " #value); \
	} while (0)
#define FIELD(op, member, value)                                                    \
	do {                                                                        \
		struct wse_sqe s_ = good(op);                                       \
		s_.member = (value);                                                \
		refused(&s_, 1, WSE_ST_BAD_FIELD, offsetof(struct wse_sqe, member), \
			#op " " #member " = " #value);                              \
	} while (0)

static void test_checks(void)
{
	struct wse_sqe s;
	unsigned int op;

	for (op = 0; op < 256; op++) {
		s = (struct wse_sqe){.opcode = op};
		if (op > WSE_OP_FENCE && dev_do(&dev, 1, &s, NULL) != WSE_ST_BAD_OPCODE)
			break;
	}
	ack_faults();
	is(op, 256, "every other opcode and every admin opcode is refused on an I/O queue");
	s = (struct wse_sqe){.opcode = WSE_OP_CORE_CTL};
	refused(&s, 0, WSE_ST_BAD_OPCODE, NO_OFF, "CORE_CTL is reserved");

	FIELD(WSE_OP_NOP, flags, 1);
	FIELD(WSE_OP_NOP, queue, 1);
	WRONG(WSE_OP_NOP, resv[7], 1, WSE_ST_BAD_FIELD);
	FIELD(WSE_OP_COPY_IN, flags, WSE_SQF_BUF_DIRECT | WSE_SQF_MASKED);
	FIELD(WSE_OP_COPY_IN, mask, 8);
	FIELD(WSE_OP_COPY_IN, kcol, 1);
	FIELD(WSE_OP_COPY_IN, mshift, 12);
	FIELD(WSE_OP_COPY_IN, budget, 0);
	FIELD(WSE_OP_COPY_IN, buf, DEV_DATA + 4);
	FIELD(WSE_OP_COPY_IN, off, 4);
	FIELD(WSE_OP_COPY_IN, sram, 0x1004);
	FIELD(WSE_OP_COPY_IN, len, 0);
	FIELD(WSE_OP_COPY_IN, len, 12);
	FIELD(WSE_OP_COPY_IN, nline, 0);
	FIELD(WSE_OP_COPY_IN, lstride, 4);
	FIELD(WSE_OP_COPY_IN, sstride, 4);
	FIELD(WSE_OP_COPY_IN, cstride, 4);
	FIELD(WSE_OP_COPY_IN, rstride, 4);
	s = good(WSE_OP_COPY_IN);
	s.flags |= WSE_SQF_BROADCAST;
	s.cstride = s.rstride = 8;
	refused(&s, 1, WSE_ST_BAD_FIELD, offsetof(struct wse_sqe, rstride),
		"BROADCAST with both strides");
	s = good(WSE_OP_COPY_IN);
	s.flags = 0;
	s.pshift = 11;
	refused(&s, 1, WSE_ST_BAD_FIELD, offsetof(struct wse_sqe, pshift), "page size below 4 KiB");
	s.pshift = 31;
	refused(&s, 1, WSE_ST_BAD_FIELD, offsetof(struct wse_sqe, pshift), "page size above 1 GiB");
	FIELD(WSE_OP_COPY_OUT, flags, WSE_SQF_BUF_DIRECT | WSE_SQF_BROADCAST);
	WRONG(WSE_OP_COPY_IN, rows, 0, WSE_ST_BAD_RECT);
	WRONG(WSE_OP_COPY_IN, cols, 4, WSE_ST_BAD_RECT);
	WRONG(WSE_OP_COPY_IN, row0, 2, WSE_ST_BAD_RECT);
	WRONG(WSE_OP_COPY_IN, col0, 0xffff, WSE_ST_BAD_RECT);
	WRONG(WSE_OP_COPY_IN, sram, WSE_SRAM_BYTES - 56, WSE_ST_BAD_ADDR);
	WRONG(WSE_OP_COPY_IN, len, 0xfffffff8, WSE_ST_BAD_ADDR);
	s = good(WSE_OP_COPY_IN);
	s.nline = 0xffffffff;
	s.sstride = 0xfffffff8;
	refused(&s, 1, WSE_ST_BAD_ADDR, NO_OFF, "lines that run out of the SRAM");

	FIELD(WSE_OP_STREAM_IN, row0, 1);
	FIELD(WSE_OP_STREAM_IN, rows, 1);
	FIELD(WSE_OP_STREAM_IN, sram, 8);
	FIELD(WSE_OP_STREAM_IN, color, WSE_NCOLORS);
	FIELD(WSE_OP_STREAM_IN, etype, WSE_ETYPE_FP16);
	FIELD(WSE_OP_STREAM_IN, nfeat, 3);
	FIELD(WSE_OP_STREAM_IN, nfeat, 0);
	FIELD(WSE_OP_STREAM_IN, kcol, 0);
	FIELD(WSE_OP_STREAM_IN, kcol, 16385);
	FIELD(WSE_OP_STREAM_IN, nline, 0);
	FIELD(WSE_OP_STREAM_IN, mcstride, 4);
	FIELD(WSE_OP_STREAM_IN, flags, WSE_SQF_BUF_DIRECT | WSE_SQF_INDEX_ONLY | WSE_SQF_DROP_ZERO);
	FIELD(WSE_OP_STREAM_OUT, flags, WSE_SQF_BUF_DIRECT | WSE_SQF_DROP_ZERO);
	WRONG(WSE_OP_STREAM_IN, cols, 4, WSE_ST_BAD_RECT);
	s = good(WSE_OP_STREAM_IN);
	s.etype = WSE_ETYPE_RAW32;
	s.nfeat = 2;
	refused(&s, 1, WSE_ST_BAD_FIELD, offsetof(struct wse_sqe, nfeat),
		"RAW32 with two features");
	s = good(WSE_OP_STREAM_IN);
	s.flags |= WSE_SQF_MASKED;
	refused(&s, 1, WSE_ST_BAD_FIELD, offsetof(struct wse_sqe, mshift),
		"MASKED without a page size");

	FIELD(WSE_OP_START, budget, 0);
	FIELD(WSE_OP_START, sram, ENTRY + 2);
	FIELD(WSE_OP_START, flags, WSE_SQF_BUF_DIRECT);
	FIELD(WSE_OP_START, off, 8);
	WRONG(WSE_OP_START, sram, 0, WSE_ST_BAD_ADDR);
	WRONG(WSE_OP_START, sram, WSE_SRAM_BASE + WSE_SRAM_BYTES, WSE_ST_BAD_ADDR);
	WRONG(WSE_OP_START, cols, 0, WSE_ST_BAD_RECT);
	FIELD(WSE_OP_FENCE, budget, 1);
	WRONG(WSE_OP_FENCE, queue, 200, WSE_ST_BAD_FENCE);
	s = good(WSE_OP_FENCE);
	s.queue = 1;
	s.seq = 1000000;
	refused(&s, 1, WSE_ST_BAD_FENCE, NO_OFF, "a fence on its own future");

	s = (struct wse_sqe){.opcode = WSE_OP_CREATE_QUEUE,
			     .queue = 1,
			     .buf = 0x10000,
			     .mask = 0x20000,
			     .seq = 63};
	refused(&s, 0, WSE_ST_BAD_QUEUE, NO_OFF, "a queue that exists");
	s.queue = 0;
	refused(&s, 0, WSE_ST_BAD_QUEUE, NO_OFF, "the admin queue cannot be created");
	s.queue = 255;
	refused(&s, 0, WSE_ST_BAD_QUEUE, NO_OFF, "a queue that cannot be");
	s.queue = 3;
	s.seq = 62;
	refused(&s, 0, WSE_ST_BAD_FIELD, offsetof(struct wse_sqe, seq),
		"a ring size that is no power of two");
	s.seq = 2047;
	refused(&s, 0, WSE_ST_BAD_FIELD, offsetof(struct wse_sqe, seq), "a ring that is too large");
	s.seq = 63;
	s.buf = 0x10008;
	refused(&s, 0, WSE_ST_BAD_FIELD, offsetof(struct wse_sqe, buf),
		"a ring that is not aligned");
	s = (struct wse_sqe){.opcode = WSE_OP_DELETE_QUEUE, .queue = 3};
	refused(&s, 0, WSE_ST_BAD_QUEUE, NO_OFF, "deleting what does not exist");
}

static void test_rings(void)
{
	struct wse_sqe s = {.opcode = WSE_OP_NOP};
	unsigned int i, j, bad = 0;
	struct wse_cqe e;
	uint16_t cid;

	for (i = 0; i < 50; i++) {
		cid = dev.cid;
		for (j = 0; j < 10; j++)
			dev_post(&dev, 1, &s);
		dev_ring(&dev, 1);
		for (j = 1; j <= 10; j++)
			bad += !dev_wait(&dev, 1, &e) || e.cid != (uint16_t)(cid + j) ||
			       e.status >> 1;
	}
	is(bad, 0, "500 commands over several passes of a ring, in order");
	is(e.sqhd, dev.q[1].tail, "the last completion frees the whole ring");
	/* the completion ring is full after 63: the device waits for its head */
	dev.irqs[1] = 0;
	for (i = 0; i < 3; i++) {
		for (j = 0; j < 30; j++)
			dev_post(&dev, 1, &s);
		dev_ring(&dev, 1);
		dev.ops->advance(dev.m, 100000, NULL);
	}
	is(dev.irqs[1], DEV_RING - 1, "no completion is written into a full ring");
	for (i = 0; dev_wait(&dev, 1, &e); i++)
		;
	is(i, 90, "and none is lost");
	/* masked vectors are remembered */
	dev.irqs[1] = 0;
	dev.ops->mmio_write(dev.m, WSE_REG_INTR_MASK, 2);
	is(dev_do(&dev, 1, &s, NULL), 0, "a command while its vector is masked");
	is(dev.irqs[1], 0, "no interrupt while masked");
	dev.ops->mmio_write(dev.m, WSE_REG_INTR_MASK, 0);
	is(dev.irqs[1], 1, "it comes when the mask is lifted");
}

static void test_fences(void)
{
	struct wse_sqe s = good(WSE_OP_FENCE), nop = {.opcode = WSE_OP_NOP};
	struct wse_cqe e;

	is(dev_create_queue(&dev, 2), 0, "a second queue");
	s.queue = 2;
	s.seq = 2;
	dev_post(&dev, 1, &s);
	dev_ring(&dev, 1);
	ok(!dev_wait(&dev, 1, &e), "a fence waits");
	is(dev_do(&dev, 2, &nop, NULL), 0, "one command of the other queue");
	ok(!dev_wait(&dev, 1, &e), "still waits");
	is(dev_do(&dev, 2, &nop, NULL), 0, "two commands of the other queue");
	ok(dev_wait(&dev, 1, &e) && !(e.status >> 1), "the fence is through");
	s.seq = 1000;
	dev_post(&dev, 1, &s);
	dev_ring(&dev, 1);
	dev_wait(&dev, 1, &e);
	s = (struct wse_sqe){.opcode = WSE_OP_DELETE_QUEUE, .queue = 2};
	is(dev_do(&dev, 0, &s, NULL), 0, "delete the queue waited for");
	ok(dev_wait(&dev, 1, &e) && e.status >> 1 == WSE_ST_BAD_FENCE, "its fence ends");
	dev.q[2].tail = dev.q[2].head = 0;
	dev.q[2].phase = true;
	memset(dev.mem + dev.q[2].cq, 0, 0x1000);
}

static void test_bells(void)
{
	uint32_t tail = dev.ops->mmio_read(dev.m, WSE_REG_FAULT_TAIL), i;
	uint32_t lost = dev.ops->mmio_read(dev.m, WSE_REG_FAULT_LOST);
	struct wse_sqe s = {.opcode = WSE_OP_NOP, .flags = 1};
	const struct wse_fault *f;
	struct wse_cqe e = {0};

	dev.ops->mmio_write(dev.m, WSE_REG_FAULT_HEAD, tail);
	dev.irqs[0] = 0;
	dev.ops->mmio_write(dev.m, WSE_DB_BASE + WSE_DB_STRIDE, DEV_RING);
	dev.ops->advance(dev.m, 1000, NULL);
	e.fault = tail % DEV_FAULTS;
	is(dev.ops->mmio_read(dev.m, WSE_REG_FAULT_TAIL), tail + 1,
	   "a doorbell out of range makes a record");
	f = dev_fault(&dev, &e);
	ok(f->status == WSE_ST_BAD_DOORBELL && f->queue == 1 && f->value == DEV_RING &&
		   f->seq == tail,
	   "which names queue and value");
	is(dev.irqs[0], 1, "and raises vector 0");
	s.flags = 0;
	is(dev_do(&dev, 1, &s, NULL), 0, "the queue goes on");
	s.flags = 1;
	for (i = 0; i < DEV_FAULTS + 3; i++)
		dev_do(&dev, 1, &s, &e);
	is(e.fault, 0xffff, "a full fault ring drops the record");
	is(dev.ops->mmio_read(dev.m, WSE_REG_FAULT_LOST) - lost, 3, "and counts it");
	ack_faults();
}

static void test_copy(void)
{
	struct wse_sqe s;
	struct wse_cqe e;
	uint64_t list[4] = {DEV_DATA + 0x9000, DEV_DATA + 0x3000, DEV_DATA + 0x20000,
			    DEV_DATA + 0x7000};
	uint32_t i, bad = 0, got;
	uint8_t *p = dev.mem + DEV_DATA;

	for (i = 0; i < 0x40000; i++)
		p[i] = i * 7 + (i >> 8);
	memcpy(dev.mem + 0x8800, list, sizeof(list));
	/* 2 rows x 3 columns, 3 lines each, out of scattered pages */
	s = (struct wse_sqe){
		.opcode = WSE_OP_COPY_IN,
		.rows = 2,
		.cols = 3,
		.budget = 1 << 20,
		.buf = 0x8800,
		.pshift = 12,
		.off = 0x800,
		.sram = 0x2000,
		.len = 0x88,
		.nline = 3,
		.lstride = 0x100,
		.sstride = 0x90,
		.cstride = 0x400,
		.rstride = 0x1000,
	};
	is(dev_do(&dev, 1, &s, &e), 0, "copy in from a page list");
	for (i = 0; i < 2 * 3 * 3 * 0x88; i++) {
		uint32_t b = i % 0x88, l = i / 0x88 % 3, c = i / 0x88 / 3 % 3, r = i / 0x88 / 9;
		uint64_t off = 0x800 + r * 0x1000 + c * 0x400 + l * 0x100 + b;
		uint8_t v;

		dev.ops->peek(dev.m, r * 3 + c, WSE_SRAM_BASE + 0x2000 + l * 0x90 + b, &v, 1);
		bad += v != dev.mem[list[off >> 12] + (off & 0xfff)];
	}
	is(bad, 0, "every byte is where it belongs");
	s.opcode = WSE_OP_COPY_OUT;
	s.flags = WSE_SQF_BUF_DIRECT;
	s.pshift = 0;
	s.buf = DEV_DATA + 0x100000;
	s.off = 8;
	is(dev_do(&dev, 1, &s, &e), 0, "copy out, direct");
	for (i = 0; i < 2 * 3 * 3 * 0x88; i++) {
		uint32_t b = i % 0x88, l = i / 0x88 % 3, c = i / 0x88 / 3 % 3, r = i / 0x88 / 9;
		uint64_t off = r * 0x1000 + c * 0x400 + l * 0x100 + b, in = off + 0x800;

		bad += dev.mem[DEV_DATA + 0x100008 + off] != dev.mem[list[in >> 12] + (in & 0xfff)];
	}
	is(bad, 0, "the same bytes come back");
	s = dev_copy(&dev, true, 0, 0, DEV_DATA, 4096);
	s.flags |= WSE_SQF_BROADCAST;
	s.rows = 2;
	s.cols = 3;
	is(dev_do(&dev, 1, &s, &e), 0, "broadcast");
	for (i = 0; i < 6; i++) {
		dev.ops->peek(dev.m, i, WSE_SRAM_BASE + 100, &got, 4);
		bad += memcmp(&got, p + 100, 4) != 0;
	}
	is(bad, 0, "reaches every core");
	for (i = 0; i < 2; i++) {
		uint32_t k;

		s.len = 512;
		s.cstride = i ? 512 : 0;
		s.rstride = i ? 0 : 512;
		is(dev_do(&dev, 1, &s, &e), 0, i ? "broadcast along rows" : "along columns");
		for (k = 0; k < 6; k++) {
			dev.ops->peek(dev.m, k, WSE_SRAM_BASE + 100, &got, 4);
			bad += memcmp(&got, p + 512 * (i ? k % 3 : k / 3) + 100, 4) != 0;
		}
	}
	is(bad, 0, "reaches every core of a column, and of a row");
	dev.fail_from = DEV_DATA + 0x1000;
	dev.fail_to = DEV_DATA + 0x1008;
	s = dev_copy(&dev, true, 0, 0x1000, DEV_DATA + 0x1000, 64);
	is(dev_do(&dev, 1, &s, &e), WSE_ST_DMA_ERROR, "DMA error");
	is(dev_fault(&dev, &e)->iova, DEV_DATA + 0x1000, "names the bus address");
	s.flags = 0;
	s.pshift = 12;
	s.buf = DEV_DATA + 0x1000;
	is(dev_do(&dev, 1, &s, &e), WSE_ST_DMA_ERROR, "DMA error on a page list");
	dev.fail_to = 0;
	s = (struct wse_sqe){.opcode = WSE_OP_SCRUB, .rows = 2, .cols = 3};
	is(dev_do(&dev, 0, &s, &e), 0, "scrub");
	for (i = 0; i < WSE_SRAM_BYTES; i += 4) {
		dev.ops->peek(dev.m, 5, WSE_SRAM_BASE + i, &got, 4);
		bad += got != 0;
	}
	is(bad, 0, "leaves zeros");
}

static void test_start(void)
{
	const uint32_t done[] = {ADDI(6, 0, 0), WSE(WSE_F3_SYS, WSE_SYSOP_DONE, 0, 6, 0),
				 JALR(0, 1, 0)};
	const uint32_t spin[] = {j_type(0, 0)};
	const uint32_t ill[] = {0xffffffff};
	uint32_t value[] = {ADDI(6, 0, 42), WSE(WSE_F3_SYS, WSE_SYSOP_DONE, 0, 6, 0),
			    JALR(0, 1, 0)};
	struct wse_sqe s = dev_start(&dev, ENTRY + 0x100, 0, 5000);
	const struct wse_fault *f;
	struct wse_core_state st;
	struct wse_cqe e = {0};

	is(dev_do(&dev, 1, &s, &e), WSE_ST_NOT_BOOTED, "start without boot");
	is(dev_fault(&dev, &e)->ncores, 6, "counts the cores that are held");
	load_loop(&dev);
	load_task(&dev, done, 3);
	s = dev_start(&dev, ENTRY, WSE_SQF_BOOT, 5000);
	is(dev_do(&dev, 1, &s, &e), 0, "boot");
	s = dev_start(&dev, ENTRY + 0x100, 0, 5000);
	is(dev_do(&dev, 1, &s, &e), 0, "start");
	dev.ops->get_state(dev.m, 3, &st);
	is(st.winfo, 1u << 15, "winfo says that it was a start");
	is(st.wdata, WSE_SRAM_BASE + WSE_ARGS_OFFSET, "wdata points at the arguments");
	load_task(&dev, value, 3);
	is(dev_do(&dev, 1, &s, &e), WSE_ST_KERNEL_ERROR, "a core that says 42");
	f = dev_fault(&dev, &e);
	ok(f->value == 42 && !f->row && !f->col && f->ncores == 6, "is named");
	load_task(&dev, spin, 1);
	is(dev_do(&dev, 1, &s, &e), WSE_ST_TIMEOUT, "a program that never ends");
	f = dev_fault(&dev, &e);
	ok(f->ncores == 6 && !f->cause && e.end - e.start >= 5000, "times out after its budget");
	s = (struct wse_sqe){.opcode = WSE_OP_CTX_RESET};
	is(dev_do(&dev, 0, &s, &e), 0, "context reset");
	dev.q[1].tail = dev.q[1].head = 0;
	dev.q[1].phase = true;
	memset(dev.mem + dev.q[1].cq, 0, 0x1000);
	dev.ops->get_state(dev.m, 3, &st);
	is(st.run, WSE_CORE_HELD, "holds the cores");
	load_task(&dev, ill, 1);
	s = dev_start(&dev, ENTRY, WSE_SQF_BOOT, 5000);
	is(dev_do(&dev, 1, &s, &e), 0, "the queue works again from its first entry");
	s = dev_start(&dev, ENTRY + 0x100, 0, 5000);
	s.row0 = 1;
	s.rows = 1;
	is(dev_do(&dev, 1, &s, &e), WSE_ST_CORE_FAULT, "an illegal instruction");
	f = dev_fault(&dev, &e);
	ok(f->cause == WSE_CAUSE_ILLEGAL && f->addr == 0xffffffff && f->pc == ENTRY + 0x100 &&
		   f->row == 1 && !f->col && f->ncores == 3,
	   "is named with pc and instruction");
	ok(dev.ops->mmio_read(dev.m, WSE_REG_STATUS) & WSE_STATUS_FAULT_MASK, "STATUS.FAULT");
	s = dev_start(&dev, ENTRY + 0x40, WSE_SQF_BOOT, 1ull << 60);
	s.flags |= WSE_SQF_CLOSED;
	{
		const uint32_t wait[] = {WSE(WSE_F3_TNEXT, 0, 5, 0, 0)};
		uint32_t i;

		for (i = 0; i < 6; i++)
			dev.ops->poke(dev.m, i, ENTRY + 0x40, wait, 4);
	}
	is(dev_do(&dev, 1, &s, &e), WSE_ST_DEADLOCK, "CLOSED: a silent tile is a deadlock at once");
	f = dev_fault(&dev, &e);
	ok(f->cause == WSE_CAUSE_WAIT_TASK && f->color == ~0u && f->ncores == 6,
	   "cores wait for tasks");
	s.flags = WSE_SQF_BOOT;
	s.budget = 1ull << 40;
	dev_post(&dev, 1, &s);
	dev_ring(&dev, 1);
	dev.ops->advance(dev.m, 100000, NULL);
	ok(!dev_poll(&dev, 1, &e), "without CLOSED it may be waiting for more");
	dev.ops->advance(dev.m, 1ull << 41, NULL);
	ok(dev_poll(&dev, 1, &e) && e.status >> 1 == WSE_ST_DEADLOCK, "until the budget ends");
	dev_fault(&dev, &e);
}

/* time does not leap to the next budget while a command that has none left is being ended */
static void test_budgets(void)
{
	const struct wse_sqe out = {.opcode = WSE_OP_STREAM_OUT,
				    .flags = WSE_SQF_BUF_DIRECT,
				    .cols = 3,
				    .color = 5,
				    .etype = WSE_ETYPE_RAW32,
				    .budget = 1ull << 40,
				    .buf = DEV_DATA,
				    .nline = 1,
				    .lstride = 256,
				    .cstride = 256,
				    .kcol = 64,
				    .nfeat = 1};
	const uint32_t wait[] = {WSE(WSE_F3_TNEXT, 0, 5, 0, 0)};
	struct wse_sqe s = dev_start(&dev, ENTRY, WSE_SQF_BOOT, 50000);
	const struct wse_fault *f;
	struct wse_cqe e;

	is(dev_create_queue(&dev, 2), 0, "a queue for a stream");
	dev_load(&dev, wait, sizeof(wait));
	dev_post(&dev, 2, &out);
	dev_ring(&dev, 2);
	dev_post(&dev, 1, &s);
	dev_ring(&dev, 1);
	dev.ops->advance(dev.m, 1ull << 36, NULL);
	if (!ok(dev_poll(&dev, 1, &e) && e.status >> 1 == WSE_ST_DEADLOCK, "a budget ends"))
		return;
	f = dev_fault(&dev, &e);
	ok((uint32_t)f->cycle - e.end < 1000, "its record is written at once: %u cycles later",
	   (uint32_t)f->cycle - e.end);
	ok(!dev_poll(&dev, 2, &e), "a stream with a longer one goes on");
	dev.ops->advance(dev.m, 1ull << 41, NULL);
	ok(dev_poll(&dev, 2, &e) && e.status >> 1 == WSE_ST_DEADLOCK, "until that ends");
	f = dev_fault(&dev, &e);
	ok(f->cause == WSE_CAUSE_WAIT_PORT && !f->col && f->ncores == 3, "its ports waited");
}

/* what two failures, and a command behind one, tell when advance() is called for so many cycles at
 * a time */
static bool in_pieces(uint64_t piece, struct wse_cqe e[3])
{
	const uint32_t wait[] = {WSE(WSE_F3_TNEXT, 0, 5, 0, 0)};
	struct wse_sqe s, out = good(WSE_OP_STREAM_OUT);
	uint64_t left = 100000;
	enum wse_stop why;
	struct dev d;
	bool all;

	if (dev_open(&d, "func", 2, 3) || dev_create_queue(&d, 1) || dev_create_queue(&d, 2))
		return false;
	dev_load(&d, wait, sizeof(wait));
	s = dev_start(&d, ENTRY, WSE_SQF_BOOT, 20000);
	dev_post(&d, 1, &s);
	s = good(WSE_OP_NOP);
	dev_post(&d, 1, &s);
	out.budget = 50000;
	dev_post(&d, 2, &out);
	dev_ring_more(&d, 1);
	dev_ring(&d, 2);
	do {
		uint64_t n = piece < left ? piece : left;

		why = d.ops->advance(d.m, n, NULL);
		left -= n;
	} while (left && why == WSE_STOP_CYCLES);
	all = dev_poll(&d, 1, &e[0]) && dev_poll(&d, 1, &e[1]) && dev_poll(&d, 2, &e[2]);
	dev_close(&d);
	return all;
}

static void test_pieces(void)
{
	static const uint64_t piece[] = {64, 333, 1000, 1024, 4093};
	struct wse_cqe whole[3], e[3];
	unsigned int i;

	if (!ok(in_pieces(1ull << 36, whole), "budgets that end in one long advance"))
		return;
	for (i = 0; i < sizeof(piece) / sizeof(*piece); i++)
		if (!ok(in_pieces(piece[i], e) && !memcmp(e, whole, sizeof(e)),
			"or in pieces of %u cycles, at the same cycles", (unsigned int)piece[i]))
			printf("# ends %u, %u, %u; want %u, %u, %u\n", e[0].end, e[1].end, e[2].end,
			       whole[0].end, whole[1].end, whole[2].end);
}

/* handlers that trap at their first instruction: none retires, so nothing moves */
static void test_traps(void)
{
	const uint32_t boot[] = {0x80000337 /* lui x6 */, ADDI(6, 6, 0x100), CSRRW(0, 0x305, 6),
				 0x00000073 /* ecall */};
	const uint32_t again[] = {0x00000073};
	uint32_t done[] = {WSE(WSE_F3_SYS, WSE_SYSOP_DONE, 0, 0, 0), WSE(WSE_F3_TNEXT, 0, 5, 0, 0)};
	struct wse_sqe s = dev_start(&dev, ENTRY, WSE_SQF_BOOT | WSE_SQF_CLOSED, 1ull << 60);
	const struct wse_fault *f;
	struct wse_cqe e;
	uint32_t i, bad = 0;

	dev_load(&dev, boot, sizeof(boot));
	load_task(&dev, again, 1);
	is(dev_do(&dev, 1, &s, &e), WSE_ST_DEADLOCK, "a handler that traps again is a deadlock");
	f = dev_fault(&dev, &e);
	ok(!f->cause && !f->pc && f->ncores == 6, "of cores that wait for nothing");
	s.flags = WSE_SQF_BOOT;
	s.budget = 20000;
	is(dev_do(&dev, 1, &s, &e), WSE_ST_DEADLOCK, "also when the budget ends");
	dev_fault(&dev, &e);
	s.budget = 1ull << 40;
	dev_post(&dev, 1, &s);
	dev_ring(&dev, 1);
	dev.ops->advance(dev.m, 20000, NULL);
	memcpy(dev.mem + DEV_DATA, done, sizeof(done));
	for (i = 0; i < 6; i++) {
		s = dev_copy(&dev, true, i, 0x100, DEV_DATA, sizeof(done));
		bad += dev_do(&dev, 0, &s, NULL) != WSE_ST_OK;
	}
	ok(!bad && dev_wait(&dev, 1, &e) && e.status >> 1 == WSE_ST_OK,
	   "until a copy puts another instruction there");
}

static void test_resets(void)
{
	struct wse_sqe s = {.opcode = WSE_OP_NOP};
	uint32_t got = 0;

	dev.fail_from = dev.q[1].cq;
	dev.fail_to = dev.q[1].cq + 0x1000;
	dev_post(&dev, 1, &s);
	dev_ring(&dev, 1);
	is(dev.ops->advance(dev.m, 1000, NULL), WSE_STOP_HALTED,
	   "a ring that cannot be written halts the device");
	ok(dev.ops->mmio_read(dev.m, WSE_REG_STATUS) & WSE_STATUS_HALTED_MASK, "STATUS.HALTED");
	dev.fail_to = 0;
	dev.ops->poke(dev.m, 2, WSE_SRAM_BASE, "abcd", 4);
	dev.ops->mmio_write(dev.m, WSE_REG_CTRL, 0);
	is(dev.ops->mmio_read(dev.m, WSE_REG_STATUS), 0, "EN = 0 resets");
	is(dev.ops->mmio_read(dev.m, WSE_REG_ASQ_LO), 0, "registers too");
	dev.ops->peek(dev.m, 2, WSE_SRAM_BASE, &got, 4);
	ok(!memcmp(&got, "abcd", 4), "SRAM stays");
	is(dev.ops->advance(dev.m, 1000, NULL), WSE_STOP_IDLE, "and nothing happens");
	dev.ops->mmio_write(dev.m, WSE_REG_AQ_SIZE, 62);
	dev.ops->mmio_write(dev.m, WSE_REG_CTRL, 1);
	dev.ops->advance(dev.m, 1000, NULL);
	ok(dev.ops->mmio_read(dev.m, WSE_REG_STATUS) & WSE_STATUS_HALTED_MASK,
	   "rings that cannot be halt it");
	dev.ops->reset(dev.m);
	is(dev.ops->mmio_read(dev.m, WSE_REG_STATUS), 0, "function-level reset");
	is(dev.ops->mmio_read(dev.m, WSE_REG_MAGIC), WSE_MAGIC, "MAGIC");
	is(dev.ops->mmio_read(dev.m, WSE_REG_TILE), 3u << 16 | 2, "TILE");
	is(dev.ops->mmio_read(dev.m, 0x8000), 0, "unnamed registers read 0");
}

int main(void)
{
	if (!ok(!dev_open(&dev, "func", 2, 3), "a device of 2 x 3 cores comes up"))
		return tap_end();
	is(dev_create_queue(&dev, 1), 0, "create a queue");
	test_checks();
	test_rings();
	test_fences();
	test_bells();
	test_copy();
	test_start();
	test_budgets();
	test_pieces();
	test_traps();
	test_resets();
	dev_close(&dev);
	return tap_end();
}
