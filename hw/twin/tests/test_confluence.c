// SPDX-License-Identifier: MIT
/*
 * What a program's result may depend on: races are found, and whether wavelets travel in runs or
 * one by one makes no difference, least of all to where a tile gets stuck.
 */
#include <string.h>

#include "check.h"
#include "dev.h"
#include "prog.h"
#include "rnd.h"
#include "ways.h"

#define ENTRY (WSE_SRAM_BASE + CODE_AT)

/* mover 0 writes 0x900; the program reads it, with or without waiting */
static void emit_race(struct code *c, uint32_t core)
{
	dsr(c, 0, WSE_SRAM_BASE + 0x900, d1(8, 4), 0, kind(WSE_KIND_MEM, WSE_DT_I32));
	dsr(c, 1, WSE_SRAM_BASE + 0x800, d1(8, 4), 0, kind(WSE_KIND_MEM, WSE_DT_I32));
	issue(c, tcw(WSE_ENGINE_M0, WSE_TOP_MOVE, 0, 1, 0), 0);
	if (core)
		wait_engines(c, 2);
	li(c, 7, WSE_SRAM_BASE + 0x91c);
	put(c, LW(6, 7, 0));
	park(c);
}

static void test_races(void)
{
	const char *text;
	struct dev d;

	if (!ok(!dev_open_flags(&d, "func", 1, 2, WSE_MACHINE_CHECK_RACES),
		"a device that looks for races"))
		return;
	program_all(&d, emit_race);
	d.ops->boot(d.m, 1, ENTRY);
	d.ops->advance(d.m, 10000, NULL);
	is(twin_race_count(d.m, &text), 0, "a program that waits for its engine has none");
	d.ops->boot(d.m, 0, ENTRY);
	d.ops->advance(d.m, 10000, NULL);
	is(twin_race_count(d.m, &text), 1, "one that does not is found");
	ok(strstr(text, "core 0,0") && strstr(text, "0x8000091c"), "and named: %s", text);
	dev_close(&d);
}

/* ---- a channel takes CHAN_DEPTH wavelets, whether they travel on or not ---- */

static void emit_fill(struct code *c, uint32_t core)
{
	dsr(c, 0, 5, 0, 0, kind(WSE_KIND_FABOUT, 0));
	dsr(c, 1, WSE_SRAM_BASE + 0x800, d1(WSE_CHAN_DEPTH + core, 4), 0,
	    kind(WSE_KIND_MEM, WSE_DT_I32));
	issue(c, tcw(WSE_ENGINE_M0, WSE_TOP_MOVE, 0, 1, 0), 0);
	wait_engines(c, 2);
	park(c);
}

static void test_no_route(void)
{
	struct wse_cqe e = {0};
	struct wse_sqe s;
	struct dev d;

	dev_open(&d, "func", 1, 2);
	dev_create_queue(&d, 3);
	program_all(&d, emit_fill);
	s = dev_start(&d, ENTRY, WSE_SQF_BOOT | WSE_SQF_CLOSED, 1000000);
	s.cols = 1;
	is(dev_do(&d, 3, &s, &e), WSE_ST_OK,
	   "a mover fills the ramp's queue of a color without route");
	s.col0 = 1;
	is(dev_do(&d, 3, &s, &e), WSE_ST_DEADLOCK, "one wavelet more has no room");
	dev_close(&d);
}

/* ---- runs against single wavelets ---- */

/*
 * A chain of cores with movers whose lengths rarely agree, so that most of the tiles end in a
 * deadlock. len[core][i]: a core's i-th instruction; how: bit 0 MADD, bit 1 two engines' worth of
 * scalar delay, bit 2 SEND_END
 */
static struct {
	uint32_t len[4][3], how[4][3], seed;
} chain;

static void emit_chain(struct code *c, uint32_t core)
{
	uint32_t i, n, how, op;

	if (core < 3)
		route(c, 1 + core, WSE_PORT_R, 1u << WSE_PORT_E);
	if (core)
		route(c, core, WSE_PORT_W, 1u << WSE_PORT_R);
	for (i = 0; i < 3; i++) {
		n = chain.len[core][i];
		how = chain.how[core][i];
		if (!n)
			continue;
		if (how & 2) {
			li(c, 7, 3000);
			put(c, ADDI(7, 7, -1));
			put(c, b_type(1, 7, 0, -4));
		}
		/* 0: memory, 1: from the west, 2: to the east, 3: another place in memory */
		dsr(c, 0, WSE_SRAM_BASE + 0x1000 * core + 0x400 * i, d1(n, 4), 0,
		    kind(WSE_KIND_MEM, WSE_DT_FP32));
		dsr(c, 1, core, d1(n, 0), 0, kind(WSE_KIND_FABIN, 0));
		dsr(c, 2, 1 + core, d1(n, 0), 0, kind(WSE_KIND_FABOUT, 0));
		dsr(c, 3, WSE_SRAM_BASE + 0x5000 + 0x400 * i, d1(n, 4), 0,
		    kind(WSE_KIND_MEM, WSE_DT_FP32));
		op = how & 1 ? WSE_TOP_MADD : WSE_TOP_MOVE;
		if (core == 0)
			issue(c,
			      tcw(WSE_ENGINE_M0, op, 2, 0, 3) |
				      (how & 4 ? WSE_TCW_SEND_END_MASK : 0),
			      0);
		else if (core == 3)
			issue(c, tcw(WSE_ENGINE_M0, op, 0, 1, 3), 0);
		else
			issue(c, tcw(WSE_ENGINE_M0, op, 2, 1, 3), 0);
	}
	wait_engines(c, 7);
	park(c);
}

static void chain_case(uint32_t flags, struct wse_fault *f, uint8_t *sram, unsigned int *status,
		       struct twin_ways *ways)
{
	struct wse_sqe s;
	struct wse_cqe e = {0};
	const struct wse_fault *got;
	struct dev d;
	uint32_t i, k;
	float x;

	dev_open_seed(&d, "func", 1, 4, flags, chain.seed);
	dev_create_queue(&d, 3);
	for (i = 0; i < 4; i++) {
		for (k = 0; k < 0x6000; k += 4) {
			x = (float)(k + i) / 3;
			d.ops->poke(d.m, i, WSE_SRAM_BASE + k, &x, 4);
		}
	}
	program_all(&d, emit_chain);
	s = dev_start(&d, ENTRY, WSE_SQF_BOOT | WSE_SQF_CLOSED, 10000000);
	*status = dev_do(&d, 3, &s, &e);
	got = dev_fault(&d, &e);
	memset(f, 0, sizeof(*f));
	if (got)
		*f = *got;
	f->cycle = 0;
	for (i = 0; i < 4; i++)
		d.ops->peek(d.m, i, WSE_SRAM_BASE, sram + i * 0x6000, 0x6000);
	ways_add(ways, d.m);
	dev_close(&d);
}

/* what: of the second run of each chain, with flags */
static struct twin_ways fast, other; /* of the first runs of the chains, of the second ones */

static void test_same_end(uint32_t flags, const char *what)
{
	static uint8_t a[4 * 0x6000], b[4 * 0x6000];
	uint32_t i, c, k, diff = 0, status = 0, memory = 0, dead = 0;
	struct wse_fault fa, fb;
	unsigned int sa, sb;

	for (i = 0; i < 150; i++) {
		for (c = 0; c < 4; c++)
			for (k = 0; k < 3; k++) {
				chain.len[c][k] = rnd() % 3 ? rnd() % 40 : rnd() & 1 ? 20 : 0;
				chain.how[c][k] = rnd() & 7;
				if (chain.how[c][k] & 4)
					chain.how[c][k] &= rnd() & 3 ? 3 : 7;
			}
		if (!(i % 3)) /* agree, so that some end well */
			for (c = 1; c < 4; c++)
				memcpy(chain.len[c], chain.len[0], sizeof(chain.len[0]));
		chain_case(0, &fa, a, &sa, &fast);
		chain.seed = i;
		chain_case(flags, &fb, b, &sb, &other);
		status += sa != sb;
		dead += sa == WSE_ST_DEADLOCK;
		/* what a core had done when another one faulted is undefined */
		if (sa == WSE_ST_CORE_FAULT)
			continue;
		diff += memcmp(&fa, &fb, sizeof(fa)) != 0;
		memory += memcmp(a, b, sizeof(a)) != 0;
	}
	ok(!status, "150 chains end with the same status %s, %u do not", what, status);
	ok(!diff, "and the same fault record, %u do not", diff);
	ok(!memory, "and the same memory, %u do not", memory);
	ok(dead > 20 && dead < 130, "%u of them are deadlocks", dead);
}

int main(void)
{
	test_races();
	test_no_route();
	test_same_end(WSE_MACHINE_EXACT, "wavelet by wavelet");
	went(&fast, runs, 100);
	went(&fast, kept, 10);
	went(&fast, resumed, 100);
	went_none(&other);
	test_same_end(WSE_MACHINE_SHUFFLE, "in another order of events");
	return tap_end();
}
