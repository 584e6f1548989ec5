// SPDX-License-Identifier: MIT
/*
 * The bus of a port group does not answer while those of the others do: its command ends, other
 * commands go on, its executor takes no other command before it answers, and a reset ends. The tile
 * has 2 x 3 cores and a bus for each column; the cores send on what comes from north.
 */
#include <stdlib.h>
#include <string.h>

#include "tile.h"

#define OUT    (DEV_DATA + 0x400000)
#define MASK   (DEV_DATA + 0x800000)
#define COLUMN 0x10000u /* bytes between what belongs to two columns */
#define COLOR  5u

/* a stream of all columns, 40 rows of 64 words */
static const struct wse_sqe stream = {
	.opcode = WSE_OP_STREAM_IN,
	.flags = WSE_SQF_BUF_DIRECT,
	.cols = 3,
	.color = COLOR,
	.etype = WSE_ETYPE_RAW32,
	.budget = 16000,
	.buf = DEV_DATA,
	.nline = 40,
	.lstride = 256,
	.cstride = COLUMN,
	.kcol = 64,
	.nfeat = 1,
};

static void open_through(struct dev *d)
{
	const struct wse_machine_cfg cfg = {.rows = 2, .cols = 3, .group = 1};
	uint8_t image[WSE_SRAM_BYTES];
	struct code c = {image, ENTRY};
	struct wse_cqe e;
	unsigned int i, bad;

	bad = dev_open_cfg(d, "func", &cfg) != 0;
	for (i = 1; i <= 3; i++)
		bad |= dev_create_queue(d, i);
	route(&c, COLOR, WSE_PORT_N, 1u << WSE_PORT_S);
	park(&c);
	for (i = 0; i < 6; i++)
		bad |= d->ops->poke(d->m, i, ENTRY, image + CODE_AT, c.pc - ENTRY) != 0;
	bad |= boot(d, 0, &e);
	ok(!bad, "a tile of three groups");
}

static void silent(struct dev *d, uint64_t from, uint64_t bytes)
{
	d->silent_from = from;
	d->silent_to = from + bytes;
}

/* dev_wait() goes on by many cycles while a bus is silent */
static bool until(struct dev *d, unsigned int queue, struct wse_cqe *e)
{
	unsigned int i;

	for (i = 0; i < 100; i++) {
		if (dev_poll(d, queue, e))
			return true;
		d->ops->advance(d->m, 1000, NULL);
	}
	return false;
}

/* a NOP of another queue, while the command of queue 1 that e becomes does not end */
static void others(struct dev *d, const struct wse_sqe *s, struct wse_cqe *e, const char *what)
{
	const struct wse_sqe nop = {.opcode = WSE_OP_NOP};
	bool good;

	dev_post(d, 1, s);
	dev_ring(d, 1);
	d->ops->advance(d->m, 3000, NULL);
	dev_post(d, 2, &nop);
	dev_ring(d, 2);
	d->ops->advance(d->m, 1000, NULL);
	good = dev_poll(d, 2, NULL);
	ok(good && !dev_poll(d, 1, e), "%s: other queues go on", what);
}

static void check_record(struct dev *d, struct wse_cqe *e, uint32_t row, uint32_t col,
			 const char *what)
{
	const struct wse_fault *f;

	ok(until(d, 1, e) && e->status >> 1 == WSE_ST_TIMEOUT, "%s: its command ends with TIMEOUT",
	   what);
	f = dev_fault(d, e);
	ok(f && f->cause == WSE_CAUSE_WAIT_PORT && f->col == col && f->row == row &&
		   f->ncores == 1 && f->color == ~0u,
	   "the record names the bus: cause %#x, column %u, %u of them", f ? f->cause : 0,
	   f ? f->col : 0, f ? f->ncores : 0);
}

/* the executor of s takes nothing until the bus answers; then what it takes is whole */
static void check_held(struct dev *d, struct wse_sqe s, const char *what)
{
	struct wse_sqe other = s;
	struct wse_cqe e;

	other.opcode = s.opcode == WSE_OP_STREAM_IN ? WSE_OP_STREAM_OUT : WSE_OP_STREAM_IN;
	other.col0 = s.col0 = 0;
	other.cols = s.cols = 1;
	s.nline = other.nline = 3;
	s.flags &= ~WSE_SQF_MASKED;
	other.flags = s.flags;
	s.budget = other.budget = 100000;
	s.buf = s.opcode == WSE_OP_STREAM_IN ? DEV_DATA + 0x200000 : OUT + 0x200000;
	other.buf = s.opcode == WSE_OP_STREAM_IN ? OUT + 0x200000 : DEV_DATA + 0x200000;
	memset(d->mem + DEV_DATA + 0x200000, 0x3b, 3 * 256);
	dev_post(d, 1, &s);
	dev_post(d, 2, &other);
	dev_ring(d, 1);
	dev_ring(d, 2);
	d->ops->advance(d->m, 10000, NULL);
	ok(!dev_poll(d, 1, &e), "%s: its executor takes no other command", what);
	silent(d, 0, 0);
	ok(until(d, 1, &e) && !(e.status >> 1) && until(d, 2, &e) && !(e.status >> 1) &&
		   !memcmp(d->mem + DEV_DATA + 0x200000, d->mem + OUT + 0x200000, 3 * 256),
	   "it answers: the next command runs, and nothing of the old one is in it");
}

static void test_in(void)
{
	const char *what = "stream-in";
	struct wse_sqe s = stream;
	struct wse_cqe e;
	struct dev d;

	open_through(&d);
	memset(d.mem + DEV_DATA, 0x11, 3 * COLUMN);
	s.opcode = WSE_OP_STREAM_OUT;
	s.buf = OUT;
	s.budget = 1000000;
	dev_post(&d, 3, &s);
	dev_ring(&d, 3);
	silent(&d, DEV_DATA + COLUMN + 512, COLUMN - 512);
	others(&d, &stream, &e, what);
	check_record(&d, &e, 0, 1, what);
	dev_close(&d);

	/* rows of which none comes: nothing is in the tile */
	open_through(&d);
	silent(&d, DEV_DATA + COLUMN, COLUMN);
	s = stream;
	s.col0 = 1;
	s.cols = 1;
	s.buf += COLUMN;
	others(&d, &s, &e, what);
	check_record(&d, &e, 0, 1, what);
	check_held(&d, s, what);
	dev_close(&d);
}

/* what is written, and masks that are read */
static void test_out(bool mask)
{
	const char *what = mask ? "stream-out, its mask" : "stream-out";
	struct wse_sqe in = stream, s = stream;
	uint32_t c, bad = 0;
	struct wse_cqe e;
	struct dev d;

	open_through(&d);
	memset(d.mem + DEV_DATA, 0x11, 3 * COLUMN);
	memset(d.mem + MASK, 0xff, 3 * COLUMN);
	in.budget = 1000000;
	dev_post(&d, 3, &in);
	dev_ring(&d, 3);
	s.opcode = WSE_OP_STREAM_OUT;
	s.buf = OUT;
	if (mask) {
		s.flags |= WSE_SQF_MASKED | WSE_SQF_MASK_DIRECT;
		s.mask = MASK;
		s.rstride = 8;
		s.mcstride = COLUMN;
	}
	silent(&d, (mask ? MASK : OUT) + COLUMN, COLUMN);
	others(&d, &s, &e, what);
	check_record(&d, &e, 1, 1, what);
	for (c = 0; c < 3; c += 2)
		bad += memcmp(d.mem + OUT + c * COLUMN, d.mem + DEV_DATA + c * COLUMN, 40 * 256) !=
		       0;
	ok(!bad && !d.mem[OUT + COLUMN], "the other columns' results have come");
	dev_close(&d);
}

#define COPY_AT	   (WSE_SRAM_BYTES - 2048u)
#define COPY_BYTES 1024u

static uint8_t *copy_host(struct dev *d, unsigned int core)
{
	return d->mem + OUT + core % 3 * COLUMN + core / 3 * (COLUMN / 2);
}

/* is what a copy of each core moved there? */
static bool copied(struct dev *d, unsigned int core)
{
	uint8_t there[COPY_BYTES], want[COPY_BYTES];

	memset(want, (int)(0x40 + core), sizeof(want));
	return !d->ops->peek(d->m, core, WSE_SRAM_BASE + COPY_AT, there, sizeof(there)) &&
	       !memcmp(there, want, sizeof(want)) &&
	       !memcmp(copy_host(d, core), want, sizeof(want));
}

/* copies of all cores, a kilobyte each */
static void test_copy(bool in)
{
	const char *what = in ? "copy in" : "copy out";
	const struct wse_sqe copy = {
		.opcode = in ? WSE_OP_COPY_IN : WSE_OP_COPY_OUT,
		.flags = WSE_SQF_BUF_DIRECT,
		.rows = 2,
		.cols = 3,
		.budget = 16000,
		.buf = OUT,
		.sram = COPY_AT,
		.nline = 1,
		.len = COPY_BYTES,
		.cstride = COLUMN,
		.rstride = COLUMN / 2,
	};
	uint8_t bytes[COPY_BYTES];
	unsigned int i, bad = 0;
	struct wse_cqe e;
	struct dev d;

	open_through(&d);
	for (i = 0; i < 6; i++) {
		memset(bytes, (int)(0x40 + i), sizeof(bytes));
		if (in)
			memcpy(copy_host(&d, i), bytes, sizeof(bytes));
		else
			bad |= d.ops->poke(d.m, i, WSE_SRAM_BASE + COPY_AT, bytes, sizeof(bytes)) !=
			       0;
	}
	silent(&d, OUT + COLUMN, COLUMN);
	others(&d, &copy, &e, what);
	check_record(&d, &e, 0, 1, what);
	for (i = 0; i < 6; i++)
		bad |= copied(&d, i) != (i % 3 != 1);
	ok(!bad, "what the other buses have is copied");
	dev_post(&d, 1, &copy);
	dev_ring(&d, 1);
	d.ops->advance(d.m, 10000, NULL);
	ok(!dev_poll(&d, 1, &e), "%s: its executor takes no other command", what);
	silent(&d, 0, 0);
	bad = !until(&d, 1, &e) || e.status >> 1;
	for (i = 0; i < 6; i++)
		bad |= !copied(&d, i);
	ok(!bad, "it answers: the next copy is whole");
	dev_close(&d);
}

/* CTX_RESET waits for the answer; a reset of the device does not */
static void test_resets(void)
{
	const struct wse_sqe reset = {.opcode = WSE_OP_CTX_RESET};
	struct wse_cqe e;
	unsigned int i;
	struct dev d;
	bool ready;

	open_through(&d);
	silent(&d, DEV_DATA + 2 * COLUMN, COLUMN);
	dev_post(&d, 1, &stream);
	dev_ring(&d, 1);
	d.ops->advance(d.m, 3000, NULL);
	dev_post(&d, 0, &reset);
	dev_ring(&d, 0);
	d.ops->advance(d.m, 30000, NULL);
	ok(!dev_poll(&d, 0, &e), "CTX_RESET is not complete before the bus has answered");
	silent(&d, 0, 0);
	ok(dev_wait(&d, 0, &e) && !(e.status >> 1), "it answers: CTX_RESET is complete");
	dev_close(&d);

	open_through(&d);
	silent(&d, DEV_DATA + 2 * COLUMN, COLUMN);
	dev_post(&d, 1, &stream);
	dev_ring(&d, 1);
	d.ops->advance(d.m, 3000, NULL);
	d.ops->mmio_write(d.m, WSE_REG_CTRL, WSE_CTRL_RST_MASK);
	ok(!(d.ops->mmio_read(d.m, WSE_REG_STATUS) & WSE_STATUS_RDY_MASK),
	   "a bus that does not answer does not hold a reset");
	memset(d.mem + DEV_DATA, 0x22, 3 * COLUMN);
	dev_enable(&d);
	d.ops->advance(d.m, 1000, NULL);
#ifdef TEST_RTL
	ok(!(d.ops->mmio_read(d.m, WSE_REG_STATUS) & WSE_STATUS_RDY_MASK),
	   "but the device is not ready before it has");
#endif
	silent(&d, 0, 0);
	for (i = 0, ready = false; i < 100 && !ready; i++) {
		d.ops->advance(d.m, 100, NULL);
		ready = d.ops->mmio_read(d.m, WSE_REG_STATUS) & WSE_STATUS_RDY_MASK;
	}
	ok(ready && !dev_create_queue(&d, 1), "it answers: the device is ready and takes commands");
	dev_close(&d);
}

int main(void)
{
	test_in();
	test_out(false);
	test_out(true);
	test_copy(true);
	test_copy(false);
	test_resets();
	return tap_end();
}
