// SPDX-License-Identifier: MIT
/*
 * MIDX and DOTX as attention uses them: a tile of one column, a core's keys and values are [D][T],
 * its mover sends them to its own lanes and to all rows below in one multicast. The five products
 * of hw/doc/core.md ("Attention's products"), bit for bit; delays of the scalar side differ from
 * core to core. RTL and twin are judged by this test.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "dev.h"
#include "prog.h"
#include "rnd.h"
#include "softfp.h"
#include "ways.h"

#define ENTRY (WSE_SRAM_BASE + CODE_AT)
#define D     8u
#define RMAX  3u
#define TMAX  32u

/* SRAM: bf16 but for the results */
#define X_AT	 0x0000u /* [D][T]: queries */
#define KEYS_AT	 0x0400u /* [D][T] */
#define P_AT	 0x0800u /* [R T][T] */
#define SCORE_AT 0x2000u /* binary32 [R T][T] */
#define OUT_AT	 0x5000u /* binary32 [D][T] */
#define DV_AT	 0x6000u /* binary32 [D][T] */

#define SOUTH	 4u /* color of source row 0; that of row s is SOUTH + s */
#define INDEX	 9u /* ramp to ramp */

enum { D_X, D_KEYS, D_P, D_IN, D_ACC, D_OUT, D_RES, D_DOTS };

static uint32_t rows, cols, tokens, feats; /* of the case that runs */

static void delay(struct code *c)
{
	if (rnd() % 3)
		return;
	li(c, 7, 1 + rnd() % 100);
	put(c, ADDI(7, 7, -1));
	put(c, b_type(1, 7, 0, -4));
}

static void dsr_mem(struct code *c, unsigned int n, uint32_t at, uint32_t type, uint32_t len,
		    uint32_t stride, uint32_t len1, uint32_t stride1)
{
	dsr(c, n, WSE_SRAM_BASE + at, d1(len, (int32_t)stride), d1(len1, (int32_t)stride1),
	    kind(WSE_KIND_MEM, type));
}

/* one block: the own row sends it, the lanes of this row and of those below take it */
static void block(struct code *c, uint32_t row, uint32_t s, uint32_t k0, uint32_t x, uint32_t acc,
		  bool clear)
{
	dsr(c, D_IN, SOUTH + s, 0, 0, kind(WSE_KIND_FABIN, 0));
	dsr(c, D_ACC, acc, 0, 0, kind(WSE_KIND_ACC, 0));
	if (s == row) {
		dsr(c, D_OUT, SOUTH + s, 0, 0, kind(WSE_KIND_FABOUT, 0));
		issue(c, tcw(WSE_ENGINE_M0, WSE_TOP_MIDX, D_OUT, D_KEYS, 0) | WSE_TCW_SEND_END_MASK,
		      k0);
	}
	delay(c);
	issue(c, tcw(WSE_ENGINE_L, WSE_TOP_AXPY, D_ACC, D_IN, x) | (clear ? WSE_TCW_CLEAR_MASK : 0),
	      feats);
}

/* s[t'][t], sources in order: f = t' within a block, k = d */
static void scores(struct code *c, uint32_t row)
{
	uint32_t s, b;

	dsr_mem(c, D_X, X_AT, WSE_DT_BF16, tokens, 2, D, tokens * 2);
	for (s = 0; s <= row; s++) {
		for (b = 0; b < tokens; b += feats) {
			dsr_mem(c, D_KEYS, KEYS_AT + 2 * b, WSE_DT_BF16, feats, 2, D, tokens * 2);
			block(c, row, s, 0, D_X, 0, true);
			dsr_mem(c, D_RES, SCORE_AT + 4 * (s * tokens + b) * tokens, WSE_DT_FP32,
				feats * tokens, 4, 1, 0);
			dsr(c, D_ACC, 0, d1(feats * tokens, 1), 0, kind(WSE_KIND_ACC, 0));
			issue(c, tcw(WSE_ENGINE_L, WSE_TOP_VMOV, D_RES, D_ACC, 0), 0);
		}
	}
}

/* O[d][t] over the keys of all rows up to this one: f = d within a block, k = t' of all rows */
static void products(struct code *c, uint32_t row)
{
	uint32_t s, b;

	dsr_mem(c, D_P, P_AT, WSE_DT_BF16, tokens, 2, rows * tokens, tokens * 2);
	for (b = 0; b < D; b += feats) {
		dsr_mem(c, D_KEYS, KEYS_AT + 2 * b * tokens, WSE_DT_BF16, feats, tokens * 2, tokens,
			2);
		for (s = 0; s <= row; s++)
			block(c, row, s, s * tokens, D_P, 0, !s);
		dsr_mem(c, D_RES, OUT_AT + 4 * b * tokens, WSE_DT_FP32, feats * tokens, 4, 1, 0);
		dsr(c, D_ACC, 0, d1(feats * tokens, 1), 0, kind(WSE_KIND_ACC, 0));
		issue(c, tcw(WSE_ENGINE_L, WSE_TOP_VMOV, D_RES, D_ACC, 0), 0);
	}
}

/*
 * dV[d][t'] = sum over t of X[d][t] P[t'][t] of the own keys: an index, the results by count into
 * memory
 */
static void gradient(struct code *c, uint32_t row)
{
	uint32_t b;

	route(c, INDEX, WSE_PORT_R, 1u << WSE_PORT_R);
	dsr(c, D_IN, INDEX, 0, 0, kind(WSE_KIND_FABIN, 0));
	dsr(c, D_OUT, INDEX, 0, 0, kind(WSE_KIND_FABOUT, 0));
	dsr(c, D_DOTS, 0, 0, 0, kind(WSE_KIND_DOTQ, 0));
	/* any element, again and again: the values do not count */
	dsr_mem(c, D_KEYS, KEYS_AT, WSE_DT_BF16, feats, 0, tokens, 0);
	dsr_mem(c, D_P, P_AT + 2 * row * tokens * tokens, WSE_DT_BF16, tokens, 2, tokens,
		tokens * 2);
	for (b = 0; b < D; b += feats) {
		dsr_mem(c, D_X, X_AT + 2 * b * tokens, WSE_DT_BF16, feats * tokens, 2, 1, 0);
		dsr(c, D_ACC, 0, d1(feats * tokens, 1), 0, kind(WSE_KIND_ACC, 0));
		issue(c, tcw(WSE_ENGINE_L, WSE_TOP_VMOV, D_ACC, D_X, 0), 0);
		issue(c, tcw(WSE_ENGINE_L, WSE_TOP_DOTX, D_ACC, D_IN, D_P), feats);
		issue(c, tcw(WSE_ENGINE_M0, WSE_TOP_MIDX, D_OUT, D_KEYS, 0) | WSE_TCW_SEND_END_MASK,
		      0);
		delay(c);
		dsr_mem(c, D_RES, DV_AT + 4 * b * tokens, WSE_DT_FP32, feats, tokens * 4, tokens,
			4);
		issue(c, tcw(WSE_ENGINE_M1, WSE_TOP_MOVE, D_RES, D_DOTS, 0), 0);
	}
}

static void emit(struct code *c, uint32_t core)
{
	uint32_t s, row = core / cols;

	for (s = 0; s <= row; s++)
		route(c, SOUTH + s, s == row ? WSE_PORT_R : WSE_PORT_N,
		      1u << WSE_PORT_R | (row + 1 < rows ? 1u << WSE_PORT_S : 0));
	scores(c, row);
	products(c, row);
	gradient(c, row);
	wait_engines(c, 7);
	park(c);
}

/* ---- the reference: one element after the other ---- */

static uint16_t mem[RMAX][0x1000]; /* bf16 from SRAM offset 0 on */

static uint32_t bf16(uint32_t row, uint32_t at, uint32_t i)
{
	return (uint32_t)mem[row][at / 2 + i] << 16;
}

static uint32_t score(uint32_t row, uint32_t s, uint32_t key, uint32_t t)
{
	uint32_t d, sum = 0;

	for (d = 0; d < D; d++)
		sum = soft_add(sum, soft_mul(bf16(s, KEYS_AT, d * tokens + key),
					     bf16(row, X_AT, d * tokens + t)));
	return sum;
}

static uint32_t product(uint32_t row, uint32_t d, uint32_t t)
{
	uint32_t k, sum = 0;

	for (k = 0; k < (row + 1) * tokens; k++)
		sum = soft_add(sum, soft_mul(bf16(k / tokens, KEYS_AT, d * tokens + k % tokens),
					     bf16(row, P_AT, k * tokens + t)));
	return sum;
}

static uint32_t dot(uint32_t row, uint32_t d, uint32_t key)
{
	uint32_t p[WSE_LANES] = {0}, t, n;

	for (t = 0; t < tokens; t++)
		p[t % WSE_LANES] =
			soft_add(p[t % WSE_LANES],
				 soft_mul(bf16(row, X_AT, d * tokens + t),
					  bf16(row, P_AT, (row * tokens + key) * tokens + t)));
	for (n = WSE_LANES / 2; n; n /= 2)
		for (t = 0; t < n; t++)
			p[t] = soft_add(p[2 * t], p[2 * t + 1]);
	return p[0];
}

static uint32_t word(struct dev *d, uint32_t core, uint32_t at)
{
	uint32_t v;

	d->ops->peek(d->m, core, WSE_SRAM_BASE + at, &v, 4);
	return v;
}

static struct twin_ways ways; /* of all cases */

static void run_case(uint32_t r, uint32_t t, uint32_t b)
{
	uint32_t row, s, i, k, bad[3] = {0};
	struct wse_cqe e = {0};
	struct wse_sqe q;
	struct dev d;

	rows = r;
	cols = r == 2 ? 2 : 1; /* programs run in column 0 alone */
	tokens = t;
	feats = b;
	if (dev_open(&d, "func", rows, cols) || dev_create_queue(&d, 3)) {
		ok(false, "open");
		return;
	}
	for (row = 0; row < r; row++) {
		for (i = 0; i < sizeof(mem[0]) / 2; i++)
			mem[row][i] =
				rnd() % 50 ? (rnd() & 0x807f) | (0x3e80 + (rnd() & 0x180)) : rnd();
		d.ops->poke(d.m, row * cols, WSE_SRAM_BASE, mem[row], sizeof(mem[row]));
		program(&d, row * cols, emit);
	}
	q = dev_start(&d, ENTRY, WSE_SQF_BOOT | WSE_SQF_CLOSED, 10000000);
	q.cols = 1;
	ok(dev_do(&d, 3, &q, &e) == WSE_ST_OK, "%u rows, %u tokens, blocks of %u", r, t, b);
	for (row = 0; row < r; row++) {
		for (s = 0; s <= row; s++)
			for (k = 0; k < t; k++)
				for (i = 0; i < t; i++)
					bad[0] += word(&d, row * cols,
						       SCORE_AT + 4 * ((s * t + k) * t + i)) !=
						  score(row, s, k, i);
		for (k = 0; k < D; k++)
			for (i = 0; i < t; i++) {
				bad[1] += word(&d, row * cols, OUT_AT + 4 * (k * t + i)) !=
					  product(row, k, i);
				bad[2] += word(&d, row * cols, DV_AT + 4 * (k * t + i)) !=
					  dot(row, k, i);
			}
	}
	ok(!bad[0], "  scores, %u wrong", bad[0]);
	ok(!bad[1], "  products with the values, %u wrong", bad[1]);
	ok(!bad[2], "  gradients by count, %u wrong", bad[2]);
	ways_add(&ways, d.m);
	dev_close(&d);
}

int main(void)
{
	uint32_t i;

	run_case(1, 8, 4);
	run_case(2, 16, 4);
	for (i = 0; i < 4; i++) {
		run_case(2, 8, 1);
		run_case(3, 8, 2);
		run_case(3, 8, 4);
	}
	run_case(3, 16, 4);
	run_case(3, 32, 4);
	went(&ways, values, 200);
	went(&ways, kept, 100);
	went(&ways, pairs, 50);
	went(&ways, copy_rows, 200);
	went(&ways, copy_cols, 50);
	return tap_end();
}
