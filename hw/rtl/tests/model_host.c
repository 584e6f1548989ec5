// SPDX-License-Identifier: MIT
/*
 * The host interface against hw/doc/host.md, for any model: model_host [func|rtl] [RxC].
 * Registers, rings, every opcode and every bad member, copies over page lists, start, budgets,
 * deadlocks, fences, faults.
 */
#include <stdlib.h>
#include <string.h>

#include "twin/tests/dev.h"
#include "tap.h"

static struct dev d;

static uint32_t rd(uint32_t off)
{
	return d.ops->mmio_read(d.m, off);
}

static void wr(uint32_t off, uint32_t v)
{
	d.ops->mmio_write(d.m, off, v);
}

static void run(uint64_t cycles)
{
	d.ops->advance(d.m, cycles, NULL);
}

static void put64(uint64_t at, uint64_t v)
{
	memcpy(d.mem + at, &v, 8);
}

static void fill(uint64_t at, uint32_t len, uint32_t seed)
{
	uint32_t i;

	for (i = 0; i < len; i++) {
		seed = seed * 1664525u + 1013904223u;
		d.mem[at + i] = seed >> 24;
	}
}

static void registers(void)
{
	ok(rd(WSE_REG_MAGIC) == WSE_MAGIC &&
		   rd(WSE_REG_ABI) == (WSE_ABI_MAJOR << 16 | WSE_ABI_MINOR),
	   "magic and ABI");
	ok(rd(WSE_REG_TILE) == (d.cols << 16 | d.rows), "shape of the tile");
	ok(rd(WSE_REG_CORE) == (WSE_NCOLORS << 24 | WSE_LANES << 16 | WSE_SRAM_BYTES >> 10),
	   "shape of a core");
	ok((rd(WSE_REG_QUEUES) & 0xff) >= 3 && rd(WSE_REG_QUEUES) >> 8 == 10, "queue capabilities");
	ok((rd(WSE_REG_STATUS) & 3) == 1, "ready, not halted");
	wr(WSE_REG_FAULT_HEAD, 5);
	ok(rd(WSE_REG_FAULT_HEAD) == 5 && rd(0x60) == 0 && rd(0x8000) == 0,
	   "rw register keeps, unnamed reads 0");
	wr(WSE_REG_FAULT_HEAD, 0);
	wr(WSE_REG_MAGIC, 0);
	ok(rd(WSE_REG_MAGIC) == WSE_MAGIC, "ro register ignores writes");
}

static void nops(void)
{
	struct wse_sqe s = {.opcode = WSE_OP_NOP};
	struct wse_cqe e;
	uint16_t cid[150];
	unsigned int i, good = 0;

	for (i = 0; i < 150; i++) { /* more than two passes of a ring of 64 */
		cid[i] = dev_post(&d, 1, &s);
		dev_ring(&d, 1);
		good += dev_wait(&d, 1, &e) && e.cid == cid[i] && e.status >> 1 == WSE_ST_OK &&
			e.fault == 0xffff && e.sqhd == (i + 1) % DEV_RING;
	}
	ok(good == 150, "150 nops, rings wrap twice: %u good", good);
	ok(rd(WSE_REG_CYCLES_LO) > 150 && !rd(WSE_REG_CYCLES_HI), "cycles run");
	for (i = 0; i < 60; i++)
		cid[i] = dev_post(&d, 1, &s);
	dev_ring(&d, 1);
	for (i = good = 0; i < 60; i++)
		good += dev_wait(&d, 1, &e) && e.cid == cid[i];
	ok(good == 60, "60 nops with one doorbell complete in order");
}

/* COPY_IN to a rectangle, over a page list with scattered pages, and back */
static void copies(void)
{
	const uint64_t list = DEV_DATA, back = DEV_DATA + 0x1000, data = DEV_DATA + 0x100000;
	uint32_t n = d.rows * d.cols, len = 200, nline = 11, line = 256, core, l, bad = 0;
	struct wse_sqe s = {
		.opcode = WSE_OP_COPY_IN,
		.pshift = 12,
		.rows = (uint16_t)d.rows,
		.cols = (uint16_t)d.cols,
		.budget = 1000000,
		.buf = list,
		.off = 4096 - 64,
		.sram = 0x1008,
		.len = len,
		.nline = nline,
		.lstride = line,
		.sstride = 208,
		.cstride = line * nline,
		.rstride = line * nline * d.cols,
	};
	uint8_t *want, got[256];
	struct wse_cqe e;
	unsigned int st, i;

	for (i = 0; i < 256; i++) { /* page i of the buffer lies somewhere else */
		put64(list + 8 * i, data + 4096ull * ((i * 37) & 255));
		put64(back + 8 * i, data + 0x200000 + 4096ull * ((i * 91) & 255));
	}
	fill(data, 0x100000, 7);
	st = dev_do(&d, 1, &s, &e);
	ok(st == WSE_ST_OK, "copy in: status %u", st);
	for (core = 0; core < n; core++) {
		for (l = 0; l < nline; l++) {
			uint64_t off = s.off + core * line * nline + l * line;

			d.ops->peek(d.m, core, WSE_SRAM_BASE + s.sram + l * s.sstride, got, len);
			for (i = 0; i < len; i++, off++)
				bad += got[i] !=
				       d.mem[data + 4096 * ((off >> 12) * 37 & 255) + (off & 4095)];
		}
	}
	ok(!bad, "copy in: every byte of %u cores x %u lines is where it belongs (%u wrong)", n,
	   nline, bad);

	s.opcode = WSE_OP_COPY_OUT;
	s.buf = back;
	memset(d.mem + data + 0x200000, 0xee, 0x100000);
	st = dev_do(&d, 1, &s, &e);
	want = malloc(0x100000);
	memset(want, 0xee, 0x100000);
	for (core = 0; core < n; core++)
		for (l = 0; l < nline; l++)
			for (i = 0; i < len; i++) {
				uint64_t off = s.off + core * line * nline + l * line + i;

				want[4096 * ((off >> 12) * 91 & 255) + (off & 4095)] =
					d.mem[data + 4096 * ((off >> 12) * 37 & 255) +
					      (off & 4095)];
			}
	ok(st == WSE_ST_OK && !memcmp(want, d.mem + data + 0x200000, 0x100000),
	   "copy out over another page list: the same bytes, nothing else touched");
	free(want);

	s = (struct wse_sqe){
		.opcode = WSE_OP_COPY_IN,
		.flags = WSE_SQF_BUF_DIRECT | WSE_SQF_BROADCAST,
		.row0 = (uint16_t)(d.rows - 1),
		.col0 = 1,
		.rows = 1,
		.cols = (uint16_t)(d.cols - 1),
		.budget = 100000,
		.buf = data,
		.off = 8,
		.sram = 0,
		.len = 12288,
		.nline = 1,
	};
	st = dev_do(&d, 1, &s, &e);
	for (core = bad = 0; core < n; core++) {
		uint8_t all[12288];
		bool in = core / d.cols == d.rows - 1 && core % d.cols;

		d.ops->peek(d.m, core, WSE_SRAM_BASE, all, sizeof(all));
		bad += in == !!memcmp(all, d.mem + data + 8, sizeof(all));
	}
	ok(st == WSE_ST_OK && !bad,
	   "broadcast of 12 KiB reaches its rectangle and no other core (%u cycles)",
	   e.end - e.start);
}

/* one member at a time is wrong: status and the offset in the fault record */
static void refused(void)
{
	const struct wse_sqe copy = {
		.opcode = WSE_OP_COPY_IN,
		.flags = WSE_SQF_BUF_DIRECT,
		.rows = 1,
		.cols = 1,
		.budget = 1000,
		.buf = DEV_DATA,
		.sram = 0,
		.len = 8,
		.nline = 1,
	};
	const struct wse_sqe stream = {
		.opcode = WSE_OP_STREAM_IN,
		.flags = WSE_SQF_BUF_DIRECT,
		.cols = 1,
		.budget = 1000,
		.buf = DEV_DATA,
		.nline = 1,
		.kcol = 8,
		.nfeat = 1,
	};
	const struct wse_sqe start = {
		.opcode = WSE_OP_START,
		.rows = 1,
		.cols = 1,
		.budget = 1000,
		.sram = WSE_SRAM_BASE,
	};
	struct wse_sqe s;
	struct wse_cqe e;
	unsigned int st;

#define REFUSE(base, change, want, at)                                                             \
	do {                                                                                       \
		const struct wse_fault *f;                                                         \
		s = base;                                                                          \
		change;                                                                            \
		st = dev_do(&d, 1, &s, &e);                                                        \
		f = dev_fault(&d, &e);                                                             \
		ok(st == (want) && f && f->status == (want) && f->addr == (at) && f->queue == 1 && \
			   f->cid == e.cid,                                                        \
		   "%s: %s gives %s (%u, offset %u)", #base, #change, #want, st,                   \
		   f ? f->addr : ~0u);                                                             \
	} while (0)

	REFUSE(copy, s.opcode = 0x07, WSE_ST_BAD_OPCODE, 0);
	REFUSE(copy, s.opcode = WSE_OP_SCRUB, WSE_ST_BAD_OPCODE, 0);
	REFUSE(copy, s.flags |= WSE_SQF_MASKED, WSE_ST_BAD_FIELD, 1);
	REFUSE(copy, s.mshift = 12, WSE_ST_BAD_FIELD, 5);
	REFUSE(copy, s.color = 1, WSE_ST_BAD_FIELD, 14);
	REFUSE(copy, s.mask = 8, WSE_ST_BAD_FIELD, 40);
	REFUSE(copy, s.kcol = 1, WSE_ST_BAD_FIELD, 84);
	REFUSE(copy, s.resv[7] = 1, WSE_ST_BAD_FIELD, 96);
	REFUSE(copy, s.rows = 0, WSE_ST_BAD_RECT, 6);
	REFUSE(copy, s.row0 = (uint16_t)d.rows, WSE_ST_BAD_RECT, 6);
	REFUSE(copy, s.cols = 0xffff, WSE_ST_BAD_RECT, 6);
	REFUSE(copy, s.sram = WSE_SRAM_BYTES, WSE_ST_BAD_ADDR, 56);
	REFUSE(copy, s.nline = 0xffffffff; s.sstride = 0xfffffff8, WSE_ST_BAD_ADDR, 56);
	REFUSE(copy, s.flags = 0; s.pshift = 11, WSE_ST_BAD_FIELD, 4);
	REFUSE(copy, s.flags = 0; s.pshift = 31, WSE_ST_BAD_FIELD, 4);
	REFUSE(copy, s.budget = 0, WSE_ST_BAD_FIELD, 16);
	REFUSE(copy, s.off = 4, WSE_ST_BAD_FIELD, 32);
	REFUSE(copy, s.sram = 4, WSE_ST_BAD_FIELD, 56);
	REFUSE(copy, s.len = 0, WSE_ST_BAD_FIELD, 60);
	REFUSE(copy, s.len = 12, WSE_ST_BAD_FIELD, 60);
	REFUSE(copy, s.nline = 0, WSE_ST_BAD_FIELD, 64);
	REFUSE(copy, s.lstride = 1, WSE_ST_BAD_FIELD, 68);
	REFUSE(copy, s.sstride = 2, WSE_ST_BAD_FIELD, 72);
	REFUSE(copy, s.flags |= WSE_SQF_BROADCAST; s.cstride = s.rstride = 8, WSE_ST_BAD_FIELD, 80);
	REFUSE(copy, s.rstride = 4, WSE_ST_BAD_FIELD, 80);
	REFUSE(stream, s.row0 = 1, WSE_ST_BAD_FIELD, 6);
	REFUSE(stream, s.rows = 1, WSE_ST_BAD_FIELD, 10);
	REFUSE(stream, s.cols = 0, WSE_ST_BAD_RECT, 6);
	REFUSE(stream, s.color = 24, WSE_ST_BAD_FIELD, 14);
	REFUSE(stream, s.etype = 3, WSE_ST_BAD_FIELD, 15);
	REFUSE(stream, s.flags |= WSE_SQF_MASKED, WSE_ST_BAD_FIELD, 5);
	REFUSE(stream, s.flags |= WSE_SQF_DROP_ZERO | WSE_SQF_INDEX_ONLY, WSE_ST_BAD_FIELD, 1);
	REFUSE(stream, s.opcode = WSE_OP_STREAM_OUT;
	       s.flags |= WSE_SQF_DROP_ZERO, WSE_ST_BAD_FIELD, 1);
	REFUSE(stream, s.kcol = 0, WSE_ST_BAD_FIELD, 84);
	REFUSE(stream, s.kcol = 16385, WSE_ST_BAD_FIELD, 84);
	REFUSE(stream, s.nfeat = 3, WSE_ST_BAD_FIELD, 86);
	REFUSE(stream, s.etype = WSE_ETYPE_RAW32; s.nfeat = 2, WSE_ST_BAD_FIELD, 86);
	REFUSE(stream, s.mcstride = 4, WSE_ST_BAD_FIELD, 92);
	REFUSE(start, s.sram = 0x1000, WSE_ST_BAD_ADDR, 56);
	REFUSE(start, s.sram = WSE_SRAM_BASE + WSE_SRAM_BYTES, WSE_ST_BAD_ADDR, 56);
	REFUSE(start, s.sram += 2, WSE_ST_BAD_FIELD, 56);
	REFUSE(start, s.flags = WSE_SQF_BROADCAST, WSE_ST_BAD_FIELD, 1);
	REFUSE(start, s.budget = 0, WSE_ST_BAD_FIELD, 16);
	REFUSE(start, (void)s, WSE_ST_NOT_BOOTED, 0);
#undef REFUSE
}

int main(int argc, char **argv)
{
	const char *model = argc > 1 ? argv[1] : "func";
	uint32_t rows = 2, cols = 2;

	if (argc > 2 && sscanf(argv[2], "%ux%u", &rows, &cols) != 2)
		return 2;
	if (dev_open(&d, model, rows, cols)) {
		printf("Bail out! no model %s of %ux%u\n", model, rows, cols);
		return 1;
	}
	registers();
	ok(!dev_create_queue(&d, 1) && !dev_create_queue(&d, 2), "two I/O queues created");
	nops();
	copies();
	refused();
	run(100);
	dev_close(&d);
	return tap_end();
}
