// SPDX-License-Identifier: MIT
/*
 * A core that comes late to a stream, as the last row of a causal attention does: its column's port
 * waits for a number of rounds and hands out single wavelets then. Once the core is there, whole
 * blocks pass again: the port waits anew at each block, so that channels become empty.
 */
#include <string.h>

#include "check.h"
#include "dev.h"
#include "prog.h"
#include "ways.h"

#define ENTRY  (WSE_SRAM_BASE + CODE_AT)
#define B      4u
#define K      4u /* fewer wavelets a block than the column's channels hold */
#define T      8u
#define BLOCKS 40u
#define LATE   400000u /* turns of a loop, in many more rounds than a port waits */
#define ROWS   8u
#define X_AT   0x0000u /* bf16 [K][T] */
#define SUM_AT 0x1000u /* binary32 [B][T] */

enum { D_X, D_IN, D_ACC, D_SUM };

static void emit(struct code *c, uint32_t core)
{
	uint32_t top;

	route(c, 0, WSE_PORT_N, 1u << WSE_PORT_R | (core < ROWS - 1 ? 1u << WSE_PORT_S : 0));
	dsr(c, D_X, WSE_SRAM_BASE + X_AT, d1(T, 2), d1(K, T * 2), kind(WSE_KIND_MEM, WSE_DT_BF16));
	dsr(c, D_IN, 0, 0, 0, kind(WSE_KIND_FABIN, 0));
	dsr(c, D_ACC, 0, d1(B * T, 1), 0, kind(WSE_KIND_ACC, 0));
	dsr(c, D_SUM, WSE_SRAM_BASE + SUM_AT, d1(B * T, 4), 0, kind(WSE_KIND_MEM, WSE_DT_FP32));
	if (core == ROWS - 1) {
		li(c, 10, LATE);
		top = c->pc;
		put(c, ADDI(10, 10, -1));
		put(c, b_type(1, 10, 0, (int32_t)(top - c->pc)));
	}
	li(c, 10, BLOCKS);
	top = c->pc;
	issue(c, tcw(WSE_ENGINE_L, WSE_TOP_AXPY, D_ACC, D_IN, D_X), B);
	wait_engines(c, 7);
	put(c, ADDI(10, 10, -1));
	put(c, b_type(1, 10, 0, (int32_t)(top - c->pc)));
	issue(c, tcw(WSE_ENGINE_L, WSE_TOP_VMOV, D_SUM, D_ACC, 0), 0);
	wait_engines(c, 7);
	park(c);
}

/* the sums of both cores after all blocks; false: a command failed */
static bool run(uint32_t flags, uint32_t sum[ROWS][B * T], struct twin_ways *ways)
{
	struct wse_sqe in = {
		.opcode = WSE_OP_STREAM_IN,
		.flags = WSE_SQF_BUF_DIRECT,
		.cols = 1,
		.budget = 1ull << 40,
		.nline = BLOCKS,
		.nfeat = B,
		.kcol = K,
		.etype = WSE_ETYPE_BF16,
		.buf = DEV_DATA,
		.lstride = K * 2,
		.cstride = K * 2,
	};
	struct wse_sqe start;
	struct wse_cqe e = {0};
	uint16_t x[K * T];
	struct dev d;
	uint32_t i;
	bool good;

	if (dev_open_flags(&d, "func", ROWS, 1, flags) || dev_create_queue(&d, 1) ||
	    dev_create_queue(&d, 3))
		return false;
	for (i = 0; i < BLOCKS * B * K; i++) {
		uint16_t w = (uint16_t)(0x3f80 + i % 61);

		memcpy(d.mem + DEV_DATA + 2 * i, &w, 2);
	}
	for (i = 0; i < K * T; i++)
		x[i] = (uint16_t)(0x3f80 + i % 13);
	for (i = 0; i < ROWS; i++)
		d.ops->poke(d.m, i, WSE_SRAM_BASE + X_AT, x, sizeof(x));
	program_all(&d, emit);
	start = dev_start(&d, ENTRY, WSE_SQF_BOOT | WSE_SQF_CLOSED, 1ull << 40);
	dev_post(&d, 1, &in);
	dev_post(&d, 3, &start);
	dev_ring_more(&d, 1);
	dev_ring(&d, 3);
	good = dev_wait(&d, 3, &e) && e.status >> 1 == WSE_ST_OK && dev_wait(&d, 1, &e) &&
	       e.status >> 1 == WSE_ST_OK;
	for (i = 0; i < ROWS; i++)
		d.ops->peek(d.m, i, WSE_SRAM_BASE + SUM_AT, sum[i], sizeof(sum[i]));
	ways_add(ways, d.m);
	dev_close(&d);
	return good;
}

int main(void)
{
	uint32_t fast[ROWS][B * T] = {0}, exact[ROWS][B * T] = {0};
	struct twin_ways ways = {0}, none = {0};

	ok(run(0, fast, &ways), "%u blocks to a core that comes late", BLOCKS);
	ok(run(WSE_MACHINE_EXACT, exact, &none), "the same, wavelet by wavelet");
	ok(fast[0][0] && !memcmp(fast, exact, sizeof(fast)), "the same sums");
	went_none(&none);
	ways.runs += ways.axpys;
	went(&ways, runs, BLOCKS / 2);
	return tap_end();
}
