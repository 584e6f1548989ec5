// SPDX-License-Identifier: MIT
/*
 * Routes, capacities, deadlocks, readers of a port that change, and tasks. Streams: test_streams.c.
 */
#include <string.h>

#include "tile.h"
#include "ways.h"

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

/*
 * core 0 sends four words east, and four more once core 1 has told it that they now go on to core 2
 */
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

/* ---- movers whose operands overlap ---- */

#define N    40u
#define FROM 0x400u /* 1.0, 2.0, ... */
#define SUMS 0x800u /* each element's sum is the next one's addend */
#define PAIR 0xa00u /* each is written twice: as its second destination, then as DST */
#define SUM  0xc00u /* of all */

static void emit_overlap(struct code *c, uint32_t core)
{
	const uint32_t fp32 = kind(WSE_KIND_MEM, WSE_DT_FP32), acc = kind(WSE_KIND_ACC, 0);
	static const uint32_t at[] = {SUMS + 4, PAIR, 5};
	static const uint32_t second[] = {SUMS, PAIR + 4, 5};
	uint32_t i;

	route(c, 5, WSE_PORT_R, 1u << WSE_PORT_R);
	dsr(c, 0, 5, 0, 0, kind(WSE_KIND_FABOUT, 0));
	dsr(c, 1, WSE_SRAM_BASE + FROM, d1(N, 4), 0, fp32);
	dsr(c, 2, 5, 0, 0, kind(WSE_KIND_FABIN, 0));
	for (i = 0; i < 3 && !core; i++) {
		dsr(c, 3, i < 2 ? WSE_SRAM_BASE + at[i] : at[i], d1(N, i < 2 ? 4 : 0), 0,
		    i < 2 ? fp32 : acc);
		dsr(c, 4, i < 2 ? WSE_SRAM_BASE + second[i] : second[i], d1(N, i < 2 ? 4 : 0), 0,
		    i < 2 ? fp32 : acc);
		issue(c, tcw(WSE_ENGINE_M1, i == 1 ? WSE_TOP_MTEE : WSE_TOP_MADD, 3, 2, 4), 0);
		issue(c, tcw(WSE_ENGINE_M0, WSE_TOP_MOVE, 0, 1, 0), 0);
		wait_engines(c, 7);
	}
	dsr(c, 3, 5, d1(1, 0), 0, acc);
	dsr(c, 4, WSE_SRAM_BASE + SUM, d1(1, 4), 0, fp32);
	issue(c, tcw(WSE_ENGINE_M1, WSE_TOP_MOVE, 4, 3, 0), 0);
	wait_engines(c, 7);
	park(c);
}

static uint32_t bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

/* element by element, also where a run of wavelets comes at once */
static void test_overlap(void)
{
	uint32_t sums = 0, pair = 0, v[N], i;
	struct twin_ways ways = {0};
	struct wse_cqe e;
	struct dev d;

	open_dev(&d, 1, 3);
	program_all(&d, emit_overlap);
	for (i = 0; i < N; i++)
		v[i] = bits((float)(i + 1));
	d.ops->poke(d.m, 0, WSE_SRAM_BASE + FROM, v, sizeof(v));
	is(boot(&d, WSE_SQF_CLOSED, &e), 0, "movers whose operands overlap");
	for (i = 0; i <= N; i++) {
		sums += word(&d, 0, SUMS + 4 * i) != bits((float)(i * (i + 1) / 2));
		pair += word(&d, 0, PAIR + 4 * i) != bits((float)(i < N ? i + 1 : N));
	}
	is(sums, 0, "a sum is there for the next element");
	is(pair, 0, "both destinations of an element come before those of the next");
	is(word(&d, 0, SUM), bits((float)(N * (N + 1) / 2)), "one accumulator takes all");
	ways_add(&ways, d.m);
	went(&ways, runs, 3);
	dev_close(&d);
}

/* ---- what an engine claims, what it counts ---- */

/* a mover sends on a color to the core itself; a task is bound to it */
static void emit_claims(struct code *c, uint32_t core)
{
	uint32_t at, loop, i;

	route(c, 5, 5, 1u << WSE_PORT_R); /* no port: it waits */
	route(c, 6, WSE_PORT_R, 0);	  /* leads nowhere */
	for (i = 0; i < 2 * WSE_CHAN_DEPTH + 1; i++)
		send(c, i, 6, false);
	at = li2(c, 6);
	li(c, 5, 1);
	put(c, WSE(WSE_F3_TASK, WSE_TASKOP_ENTRY, 0, 5, 6));
	li(c, 5, 5);
	li(c, 6, 1);
	put(c, WSE(WSE_F3_TASK, WSE_TASKOP_BIND, 0, 5, 6));
	dsr(c, 0, 5, 0, 0, kind(WSE_KIND_FABOUT, 0));
	dsr(c, 1, WSE_SRAM_BASE + FROM, d1(N, 4), 0, kind(WSE_KIND_MEM, WSE_DT_FP32));
	issue(c, tcw(WSE_ENGINE_M0, WSE_TOP_MOVE, 0, 1, 0), 0);
	route(c, 5, WSE_PORT_R, 1u << WSE_PORT_R);
	li(c, 20, N);
	li(c, 21, WSE_SRAM_BASE + SUMS);
	loop = c->pc;
	put(c, WSE(WSE_F3_TNEXT, 0, 10, 0, 0));
	put(c, JALR(1, 10, 0));
	put(c, ADDI(20, 20, -1));
	put(c, b_type(1, 20, 0, (int32_t)(loop - c->pc)));
	wait_engines(c, 7);
	if (!core) { /* until END: another control wavelet is none */
		route(c, 7, WSE_PORT_R, 1u << WSE_PORT_R);
		dsr(c, 2, 7, 0, 0, kind(WSE_KIND_FABIN, 0));
		dsr(c, 3, 8, d1(1, 0), 0, kind(WSE_KIND_FABOUT, 0));
		send(c, 0x200, 7, true);
		issue(c, tcw(WSE_ENGINE_M1, WSE_TOP_MOVE, 3, 2, 0) | WSE_TCW_UNTIL_END_MASK, 0);
		wait_engines(c, 7);
	}
	park(c);
	li2_at(c->image, at, 6, c->pc);
	put(c, CSRRS(11, WSE_CSR_WDATA, 0));
	put(c, SW(11, 21, 0));
	put(c, ADDI(21, 21, 4));
	put(c, JALR(0, 1, 0));
}

static void test_claims(void)
{
	uint32_t v[N], wrong = 0, i;
	const struct wse_fault *f;
	struct wse_cqe e;
	struct dev d;

	open_dev(&d, 1, 3);
	program_all(&d, emit_claims);
	for (i = 0; i < N; i++)
		v[i] = 100 + i;
	for (i = 0; i < 3; i++)
		d.ops->poke(d.m, i, WSE_SRAM_BASE + FROM, v, sizeof(v));
	is(boot(&d, WSE_SQF_CLOSED, &e), WSE_ST_CORE_FAULT, "a control wavelet without END");
	f = dev_fault(&d, &e);
	ok(f && f->cause == WSE_CAUSE_BAD_CTRL && f->color == 7 && f->value == 0x200 && !f->col,
	   "... is BAD_CTRL also for a mover that counts them");
	for (i = 0; i < N; i++)
		wrong += word(&d, 0, SUMS + 4 * i) != v[i];
	is(wrong, 0, "a bound task sees the wavelets that a mover of its core sends");
	dev_close(&d);
}

int main(void)
{
	test_capacity();
	test_another_color();
	test_another_route();
	test_tasks();
	test_overlap();
	test_claims();
	return tap_end();
}
