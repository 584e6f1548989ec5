// SPDX-License-Identifier: MIT
/*
 * Tiles that are cut into parts: any number of threads does the same, event by event. Memory,
 * accumulators, scalar state, counters, completions with their cycles and fault records are
 * compared with those of one thread; what does not depend on the order of events is compared with
 * the tile in one piece.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "layer.h"
#include "prog.h"
#include "twin/exact/fp.h"
#include "twin/func.h"
#include "rnd.h"
#include "ways.h"

#define ENTRY	(WSE_SRAM_BASE + CODE_AT)
#define THREADS 4u
#define PATHS	12u
#define WEIGHTS (DEV_DATA + 0x1000u)

struct size {
	uint32_t rows, cols;
};

/* cut inside rows, between them, unevenly */
static const struct size sizes[] = {{1, 7}, {7, 1}, {3, 5}, {5, 3}, {9, 2}, {4, 13}};

static uint64_t hash(uint64_t h, const void *p, size_t n)
{
	const uint8_t *b = p;
	uint64_t w;

	for (; n >= 8; n -= 8, b += 8) {
		memcpy(&w, b, 8);
		h = (h ^ w) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 32;
	}
	for (; n; n--)
		h = (h ^ *b++) * 0x100000001b3ull;
	return h;
}

struct result {
	uint64_t all;	   /* all that can be seen, cycles too */
	uint64_t memory;   /* of the cores */
	uint64_t wavelets; /* that each core's router has passed */
	struct wse_fault f;
	unsigned int status;
};

/* all that can be seen of a device, with n bytes of host memory beside the rings */
static void look(struct dev *d, uint32_t host, size_t n, struct result *r)
{
	static const uint32_t regs[] = {WSE_REG_CYCLES_LO,	WSE_REG_CYCLES_HI,
					WSE_REG_CNT_MAC_LO,	WSE_REG_CNT_INSTRET_LO,
					WSE_REG_CNT_WAVELET_LO, WSE_REG_CNT_LWAIT_LO,
					WSE_REG_FAULT_TAIL,	WSE_REG_STATUS};
	static uint8_t sram[WSE_SRAM_BYTES];
	struct wse_core_state st;
	uint32_t acc[128], i, v, value;

	r->all = hash(hash(1, d->mem, DEV_DATA), d->mem + host, n);
	r->memory = r->wavelets = 1;
	for (i = 0; i < sizeof(regs) / sizeof(*regs); i++) {
		v = d->ops->mmio_read(d->m, regs[i]);
		r->all = hash(r->all, &v, sizeof(v));
	}
	for (i = 0; i < d->rows * d->cols; i++) {
		d->ops->peek(d->m, i, WSE_SRAM_BASE, sram, sizeof(sram));
		d->ops->get_acc(d->m, i, acc);
		d->ops->get_state(d->m, i, &st);
		for (v = 0; v < WSE_CNT_COUNT; v++) {
			d->ops->mmio_write(d->m, WSE_REG_CNT_SEL, v << WSE_CNT_SEL_ID_SHIFT | i);
			value = d->ops->mmio_read(d->m, WSE_REG_CNT_VAL_LO);
			r->all = hash(r->all, &value, sizeof(value));
			if (v == WSE_CNT_WAVELET)
				r->wavelets = hash(r->wavelets, &value, sizeof(value));
		}
		r->memory = hash(r->memory, sram, sizeof(sram));
		r->all = hash(hash(r->all, acc, sizeof(acc)), &st, sizeof(st));
	}
	r->all = hash(r->all, &r->memory, sizeof(r->memory));
}

/* ---- the firmware's layers ---- */

/* of layers: of one thread, of several, of several exact ones, which share out the turns alone */
static struct twin_ways alone, beside, exact;

static bool layer(const struct shape *s, uint32_t flags, uint32_t threads, struct result *out)
{
	struct wse_cqe e = {0};
	struct run r;
	bool good;

	layer_seed(7);
	good = !run_open(&r, s, flags, threads) && forward(&r, &e) >= 0 && wgrad(&r, &e) >= 0;
	out->status = e.status;
	look(&r.d, LAYER_G, r.n * s->cols * s->k * 4, out);
	ways_add(threads == 1 ? &alone : flags & WSE_MACHINE_EXACT ? &exact : &beside, r.d.m);
	run_close(&r);
	return good;
}

static void test_layer(const struct shape *s, uint32_t flags, const char *what)
{
	struct result whole, one, r;
	uint32_t t, bad = 0;

	ok(layer(s, flags & ~TWIN_MODEL_PARTS, 1, &whole) && layer(s, flags, 1, &one),
	   "%ux%u T %u K %u B %u%s, %s: ends well", s->rows, s->cols, s->t, s->k, s->b,
	   s->weights == MASKED ? " masked" : "", what);
	ok(flags & TWIN_MODEL_PARTS ? whole.memory == one.memory && whole.wavelets == one.wavelets
				    : true,
	   "with the memory and the wavelets of the tile in one piece");
	for (t = 2; t <= THREADS; t++)
		bad += !layer(s, flags, t, &r) || r.all != one.all;
	ok(!bad, "2, 3 and 4 threads do exactly the same, %u do not", bad);
}

/*
 * ---- movers along a path through all cores: most of them end in a deadlock, some in a fault ----
 */

static struct {
	struct size size;
	uint32_t len[64][3], how[64][3]; /* how: bit 0 MADD, bit 1 delay, bit 2 SEND_END */
	uint64_t seed;
	bool scalar; /* SEND and RECV instead */
} path;

/* the i-th core of the path: row by row, eastward and westward in turns */
static uint32_t at(uint32_t i)
{
	uint32_t row = i / path.size.cols, col = i % path.size.cols;

	return row * path.size.cols + (row & 1 ? path.size.cols - 1 - col : col);
}

static uint32_t place_of(uint32_t core)
{
	uint32_t row = core / path.size.cols, col = core % path.size.cols;

	return row * path.size.cols + (row & 1 ? path.size.cols - 1 - col : col);
}

/* the port of core a towards its neighbour b */
static uint32_t port(uint32_t a, uint32_t b)
{
	if (b == a + path.size.cols)
		return WSE_PORT_S;
	if (b + path.size.cols == a)
		return WSE_PORT_N;
	return b == a + 1 ? WSE_PORT_E : WSE_PORT_W;
}

static void emit_words(struct code *c, uint32_t i, uint32_t cores)
{
	uint32_t k, n = path.len[i][0] + 12;

	for (k = 0; k < n; k++) {
		if (i)
			recv(c, 1 + (i - 1) % 4, WSE_SRAM_BASE + 0x800 + 4 * k);
		if (i + 1 < cores)
			send(c, i * 1000 + k, 1 + i % 4, k == n - 1);
	}
	park(c);
}

static void emit_path(struct code *c, uint32_t core)
{
	uint32_t cores = path.size.rows * path.size.cols, i = place_of(core), k, n, how, op;

	if (i + 1 < cores)
		route(c, 1 + i % 4, WSE_PORT_R, 1u << port(core, at(i + 1)));
	if (i)
		route(c, 1 + (i - 1) % 4, port(core, at(i - 1)), 1u << WSE_PORT_R);
	if (path.scalar) {
		emit_words(c, i, cores);
		return;
	}
	for (k = 0; k < 3; k++) {
		n = path.len[i][k];
		how = path.how[i][k];
		if (!n)
			continue;
		if (how & 2) {
			li(c, 7, 3000);
			put(c, ADDI(7, 7, -1));
			put(c, b_type(1, 7, 0, -4));
		}
		dsr(c, 0, WSE_SRAM_BASE + 0x400 * k, d1(n, 4), 0, kind(WSE_KIND_MEM, WSE_DT_FP32));
		dsr(c, 1, 1 + (i - 1) % 4, d1(n, 0), 0, kind(WSE_KIND_FABIN, 0));
		dsr(c, 2, 1 + i % 4, d1(n, 0), 0, kind(WSE_KIND_FABOUT, 0));
		dsr(c, 3, WSE_SRAM_BASE + 0x5000 + 0x400 * k, d1(n, 4), 0,
		    kind(WSE_KIND_MEM, WSE_DT_FP32));
		op = how & 1 ? WSE_TOP_MADD : WSE_TOP_MOVE;
		if (!i)
			issue(c,
			      tcw(WSE_ENGINE_M0, op, 2, 0, 3) |
				      (how & 4 ? WSE_TCW_SEND_END_MASK : 0),
			      0);
		else
			issue(c, tcw(WSE_ENGINE_M0, op, i + 1 < cores ? 2 : 0, 1, 3), 0);
	}
	wait_engines(c, 7);
	park(c);
}

static void run_path(uint32_t flags, uint32_t threads, struct result *r)
{
	struct wse_machine_cfg cfg = {.rows = path.size.rows,
				      .cols = path.size.cols,
				      .flags = flags,
				      .seed = path.seed,
				      .threads = threads};
	const struct wse_fault *f;
	struct wse_cqe e = {0};
	struct wse_sqe s;
	struct dev d;
	uint32_t i, k;
	float x;

	dev_open_cfg(&d, "func", &cfg);
	dev_create_queue(&d, 3);
	for (i = 0; i < d.rows * d.cols; i++) {
		for (k = 0; k < 0x6000; k += 4) {
			x = (float)(k + i) / 3;
			d.ops->poke(d.m, i, WSE_SRAM_BASE + k, &x, 4);
		}
	}
	program_all(&d, emit_path);
	s = dev_start(&d, ENTRY, WSE_SQF_BOOT | WSE_SQF_CLOSED, 10000000);
	r->status = dev_do(&d, 3, &s, &e);
	f = dev_fault(&d, &e);
	memset(&r->f, 0, sizeof(r->f));
	if (f)
		r->f = *f;
	r->f.cycle = 0;
	look(&d, DEV_DATA, 0, r);
	dev_close(&d);
}

/* n paths; bad: with more threads something differs from one, wrong: from the tile in one piece */
static void test_paths(const struct size *size, uint32_t flags, uint32_t n, const char *what)
{
	uint32_t cores = size->rows * size->cols, i, k, t, bad = 0, wrong = 0, good = 0;
	struct result whole, one, r;

	path.size = *size;
	for (i = 0; i < n; i++) {
		for (k = 0; k < 3 * cores; k++) {
			path.len[k / 3][k % 3] = rnd() % 3 ? rnd() % 40 : rnd() & 1 ? 20 : 0;
			path.how[k / 3][k % 3] = rnd() & (rnd() & 3 ? 3 : 7);
			if (i % 3 == 0 && k >= 3) /* agree, so that some end well */
				path.len[k / 3][k % 3] = path.len[0][k % 3];
		}
		path.scalar = i % 8 == 6;
		path.seed = i;
		run_path(0, 1, &whole);
		run_path(flags | TWIN_MODEL_PARTS, 1, &one);
		good += one.status == WSE_ST_OK;
		wrong += whole.status != one.status;
		/* what a core had done when another one faulted is undefined */
		if (whole.status != WSE_ST_CORE_FAULT)
			wrong += whole.memory != one.memory ||
				 memcmp(&whole.f, &one.f, sizeof(one.f));
		for (t = 2; t <= THREADS; t++) {
			run_path(flags | TWIN_MODEL_PARTS, t, &r);
			bad += r.all != one.all;
		}
	}
	ok(!bad, "%ux%u, %u paths%s: the same with 1 to 4 threads, %u are not", size->rows,
	   size->cols, n, what, bad);
	ok(!wrong, "and end as in a tile in one piece, %u do not", wrong);
	ok(good && good < n, "%u of them end well", good);
}

/* ---- a stream that one column's port sends to all cores ---- */

#define K 12u
#define T 8u

static void emit_tree(struct code *c, uint32_t core)
{
	uint32_t row = core / path.size.cols, col = core % path.size.cols, tx = 1u << WSE_PORT_R;

	if (!row && col + 1 < path.size.cols)
		tx |= 1u << WSE_PORT_E;
	if (row + 1 < path.size.rows)
		tx |= 1u << WSE_PORT_S;
	route(c, 9, row || !col ? WSE_PORT_N : WSE_PORT_W, tx);
	dsr(c, 0, 0, d1(4 * T, 1), 0, kind(WSE_KIND_ACC, 0));
	dsr(c, 1, 9, 0, 0, kind(WSE_KIND_FABIN, 0));
	/* the last core has fewer rows: an index is refused there if there is no path.scalar */
	dsr(c, 2, WSE_SRAM_BASE, d1(T, 2),
	    d1(!path.scalar && core == path.size.rows * path.size.cols - 1 ? K - 1 : K, 2 * T),
	    kind(WSE_KIND_MEM, WSE_DT_BF16));
	issue(c, tcw(WSE_ENGINE_L, WSE_TOP_AXPY, 0, 1, 2) | WSE_TCW_CLEAR_MASK, 4);
	issue(c, tcw(WSE_ENGINE_L, WSE_TOP_AXPY, 0, 1, 2), 4);
	wait_engines(c, 7);
	park(c);
}

static bool run_tree(uint32_t flags, uint32_t threads, struct result *r)
{
	struct wse_machine_cfg cfg = {
		.rows = path.size.rows, .cols = path.size.cols, .flags = flags, .threads = threads};
	struct wse_sqe in = {
		.opcode = WSE_OP_STREAM_IN,
		.flags = WSE_SQF_BUF_DIRECT,
		.cols = 1,
		.budget = 100000,
		.nline = 2,
		.nfeat = 4,
		.kcol = K,
		.color = 9,
		.etype = WSE_ETYPE_BF16,
		.buf = WEIGHTS,
		.lstride = K * 2,
		.cstride = K * 2,
	};
	struct wse_cqe e = {0};
	uint32_t acc[128], i, k;
	struct wse_sqe s;
	uint16_t h;
	struct dev d;

	dev_open_cfg(&d, "func", &cfg);
	dev_create_queue(&d, 1);
	dev_create_queue(&d, 3);
	for (i = 0; i < 8 * K; i++) {
		h = twin_bf16_round(twin_u((float)i / 7 - 5));
		memcpy(d.mem + WEIGHTS + 2 * i, &h, 2);
	}
	for (i = 0; i < d.rows * d.cols; i++) {
		for (k = 0; k < K * T; k++) {
			h = twin_bf16_round(twin_u((float)(k + i) / 3));
			d.ops->poke(d.m, i, WSE_SRAM_BASE + 2 * k, &h, 2);
		}
	}
	program_all(&d, emit_tree);
	s = dev_start(&d, ENTRY, WSE_SQF_BOOT | WSE_SQF_CLOSED, 100000);
	dev_post(&d, 1, &in);
	dev_ring(&d, 1);
	r->status = dev_do(&d, 3, &s, &e);
	dev_wait(&d, 1, NULL);
	look(&d, DEV_DATA, 0, r);
	for (r->memory = 1, i = 0; i < d.rows * d.cols; i++) {
		d.ops->get_acc(d.m, i, acc);
		r->memory = hash(r->memory, acc, 4 * T * 4);
	}
	dev_close(&d);
	return r->status == (path.scalar ? WSE_ST_OK : WSE_ST_CORE_FAULT);
}

static void test_tree(const struct size *size, bool good)
{
	struct result whole, one, r;
	uint32_t t, bad = 0;

	path.size = *size;
	path.scalar = good;
	ok(run_tree(0, 1, &whole) && run_tree(TWIN_MODEL_PARTS, 1, &one),
	   "%ux%u: one column's stream goes to all%s", size->rows, size->cols,
	   good ? "" : ", one of which refuses it");
	if (good)
		ok(whole.memory == one.memory, "with the sums of the tile in one piece");
	for (t = 2; t <= THREADS; t++)
		bad += !run_tree(TWIN_MODEL_PARTS, t, &r) || r.all != one.all;
	ok(!bad, "2, 3 and 4 threads do exactly the same, %u do not", bad);
}

/* ---- how many ---- */

static void test_counts(void)
{
	static const uint32_t counts[] = {0, 1, 8, 9, 1000, ~0u};
	struct shape s = {17, 16, 8, 8, 2, 16, BY_ROWS};
	struct result one, r;
	uint32_t i;

	layer(&s, 0, 1, &one);
	for (i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		ok(layer(&s, 0, counts[i], &r) && r.all == one.all,
		   "%u threads asked for: the same", counts[i]);
}

int main(void)
{
	static const struct shape shape[] = {
		{3, 5, 8, 20, 4, 10, MASKED},  {4, 4, 16, 64, 4, 8, BY_ROWS},
		{2, 3, 24, 16, 2, 6, MASKED},  {7, 2, 8, 12, 1, 6, BY_ROWS},
		{1, 5, 8, 12, 2, 10, BY_ROWS}, {9, 8, 16, 24, 4, 16, BY_ROWS},
	};
	static const struct shape large = {16, 17, 8, 8, 2, 17, MASKED};
	unsigned int csr = twin_fp_enter();
	uint32_t i;

	if (!ok(!layer_load(),
		"the firmware's linear program is there and fits, from the top folder"))
		return tap_end();
	for (i = 0; i < sizeof(shape) / sizeof(*shape); i++)
		test_layer(&shape[i], TWIN_MODEL_PARTS, "in parts");
	test_layer(&large, 0, "cut as it is");
	test_layer(&shape[0], TWIN_MODEL_PARTS | WSE_MACHINE_SHUFFLE, "in another order");
	test_layer(&shape[1], TWIN_MODEL_PARTS | WSE_MACHINE_SHUFFLE, "in another order");
	test_layer(&shape[1], TWIN_MODEL_PARTS | WSE_MACHINE_EXACT, "one by one");
	went(&beside, threaded, 100);
	went(&beside, handed, 100);
	went(&beside, kept, 10);
	went(&beside, banded, 100);
	went(&beside, axpys, 100);
	went(&alone, banded, 100);
	went(&exact, threaded, 100);
	ok(!alone.threaded && !alone.handed, "one thread shares nothing");
	exact.threaded = 0;
	went_none(&exact);
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		test_paths(&sizes[i], 0, PATHS, "");
		test_tree(&sizes[i], true);
		test_tree(&sizes[i], false);
	}
	test_paths(&sizes[2], WSE_MACHINE_SHUFFLE, PATHS, " in another order");
	test_paths(&sizes[3], WSE_MACHINE_EXACT, PATHS, " one by one");
	test_counts();
	twin_fp_leave(csr);
	return tap_end();
}
