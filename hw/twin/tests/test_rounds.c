// SPDX-License-Identifier: MIT
/*
 * The rule of two colors (hw/doc/fabric.md, "Routes that change at run time"): in each round every
 * row of a column sends a block southward, north to south, over a color whose route changes at its
 * turn. With two colors the results are the same whatever the order of events, on RTL and twin;
 * with one, WSE_MACHINE_SHUFFLE and the race checker see what is wrong.
 */
#include <string.h>

#include "check.h"
#include "dev.h"
#include "prog.h"
#include "rnd.h"
#include "softfp.h"
#include "ways.h"

#define ENTRY  (WSE_SRAM_BASE + CODE_AT)
#define ROWS   3u
#define ROUNDS 5u
#define B      4u
#define K      3u /* B * K wavelets: more than 2 CHAN_DEPTH */
#define T      8u

#define X_AT   0x0000u /* bf16 [K][T] */
#define W_AT   0x0100u /* bf16 [ROUNDS][K][B] */
#define OUT_AT 0x0400u /* binary32 [ROUNDS][ROWS][B][T]: the sums after each block */
#define BLOCK  (B * T * 4)

enum { D_X, D_W, D_IN, D_OUT, D_ACC, D_RES };

static uint32_t ncolors; /* of the program: 2 as it must be, 1 */

static uint32_t south(uint32_t row)
{
	return 1u << WSE_PORT_R | (row + 1 < ROWS ? 1u << WSE_PORT_S : 0);
}

/* the lanes take a block; the sums so far are kept */
static void take(struct code *c, uint32_t round, uint32_t s, uint32_t color)
{
	dsr(c, D_IN, color, 0, 0, kind(WSE_KIND_FABIN, 0));
	issue(c, tcw(WSE_ENGINE_L, WSE_TOP_AXPY, D_ACC, D_IN, D_X), B);
	dsr(c, D_RES, WSE_SRAM_BASE + OUT_AT + (round * ROWS + s) * BLOCK, d1(B * T, 4), 0,
	    kind(WSE_KIND_MEM, WSE_DT_FP32));
	issue(c, tcw(WSE_ENGINE_L, WSE_TOP_VMOV, D_RES, D_ACC, 0), 0);
}

static void emit(struct code *c, uint32_t row)
{
	uint32_t n, s, color, was;

	dsr(c, D_X, WSE_SRAM_BASE + X_AT, d1(T, 2), d1(K, T * 2), kind(WSE_KIND_MEM, WSE_DT_BF16));
	dsr(c, D_ACC, 0, d1(B * T, 1), 0, kind(WSE_KIND_ACC, 0));
	for (n = 0; n < ncolors; n++)
		route(c, 7 + n, row ? WSE_PORT_N : WSE_PORT_R, south(row));
	for (n = 0; n < ROUNDS; n++) {
		color = 7 + n % ncolors;
		was = 7 + (n + 1) % ncolors;
		for (s = 0; s < row; s++)
			take(c, n, s, color);
		wait_engines(c, 1);
		/*
		 * the own turn: what came from the north has passed; the other color goes back to
		 * the north
		 */
		if (row) {
			route(c, color, WSE_PORT_R, south(row));
			if (was != color)
				route(c, was, WSE_PORT_N, south(row));
		}
		dsr(c, D_W, WSE_SRAM_BASE + W_AT + n * B * K * 2, d1(B, 2), d1(K, B * 2),
		    kind(WSE_KIND_MEM, WSE_DT_BF16));
		dsr(c, D_OUT, color, 0, 0, kind(WSE_KIND_FABOUT, 0));
		issue(c, tcw(WSE_ENGINE_M0, WSE_TOP_MIDX, D_OUT, D_W, 0) | WSE_TCW_SEND_END_MASK,
		      0);
		take(c, n, row, color);
		if (ncolors == 1 && row) {
			wait_engines(c, 7);
			route(c, color, WSE_PORT_N, south(row));
		}
	}
	wait_engines(c, 7);
	park(c);
}

static uint16_t mem[ROWS][OUT_AT / 2];
static uint32_t want[ROWS][ROUNDS][ROWS][B][T], got[ROWS][ROUNDS][ROWS][B][T];

/* all rows up to the own one add to the sums, round after round */
static void reference(void)
{
	uint32_t row, n, s, f, t, k, sum;

	for (row = 0; row < ROWS; row++) {
		for (f = 0; f < B; f++) {
			for (t = 0; t < T; t++) {
				for (sum = n = 0; n < ROUNDS; n++) {
					for (s = 0; s <= row; s++) {
						for (k = 0; k < K; k++)
							sum = soft_add(
								sum,
								soft_mul((uint32_t)mem[s][W_AT / 2 +
											  (n * K +
											   k) * B +
											  f]
										 << 16,
									 (uint32_t)mem[row]
										      [X_AT / 2 +
										       k * T + t]
										 << 16));
						want[row][n][s][f][t] = sum;
					}
				}
			}
		}
	}
}

static struct twin_ways ways; /* of the runs so far */

static unsigned int run(uint32_t colors, uint32_t flags, uint64_t seed, uint64_t *races)
{
	struct wse_cqe e = {0};
	unsigned int status;
	struct wse_sqe q;
	struct dev d;
	uint32_t row;

	ncolors = colors;
	if (dev_open_seed(&d, "func", ROWS, 1, flags, seed) || dev_create_queue(&d, 3))
		return ~0u;
	for (row = 0; row < ROWS; row++) {
		d.ops->poke(d.m, row, WSE_SRAM_BASE, mem[row], sizeof(mem[row]));
		program(&d, row, emit);
	}
	q = dev_start(&d, ENTRY, WSE_SQF_BOOT | WSE_SQF_CLOSED, 1000000);
	q.cols = 1;
	status = dev_do(&d, 3, &q, &e);
	memset(got, 0, sizeof(got));
	for (row = 0; row < ROWS; row++)
		d.ops->peek(d.m, row, WSE_SRAM_BASE + OUT_AT, got[row], sizeof(got[row]));
	ways_add(&ways, d.m);
	*races = flags & WSE_MACHINE_CHECK_RACES ? twin_race_count(d.m, NULL) : 0;
	dev_close(&d);
	return status;
}

static bool right(void)
{
	return !memcmp(got, want, sizeof(got));
}

#ifndef TEST_RTL
#define SEEDS 200u

static void test_shuffle(uint32_t colors)
{
	uint32_t good = 0, seen = 0, both = 0, i;
	uint64_t races;
	bool same;

	for (i = 0; i < SEEDS; i++) {
		same = run(colors, WSE_MACHINE_SHUFFLE | WSE_MACHINE_CHECK_RACES, i, &races) ==
			       WSE_ST_OK &&
		       right();
		good += same;
		seen += races != 0;
		both += !same && races;
	}
	if (colors == 2) {
		ok(good == SEEDS, "two colors: right in all of %u orders of events, in %u", SEEDS,
		   good);
		ok(!seen, "and no race, %u", seen);
	} else {
		ok(good < SEEDS, "one color: wrong in some of %u orders of events, in %u", SEEDS,
		   SEEDS - good);
		ok(seen > 0, "the race checker sees it in %u, %u of them wrong", seen, both);
	}
}
#endif

int main(void)
{
	uint64_t races;
	uint32_t i, k;

	for (i = 0; i < ROWS; i++)
		for (k = 0; k < OUT_AT / 2; k++)
			mem[i][k] = (rnd() & 0x807f) | (0x3f00 + (rnd() & 0x80));
	reference();
	ok(run(2, 0, 0, &races) == WSE_ST_OK && right(), "two colors");
	went(&ways, runs, 6);
	went(&ways, values, 6);
	went(&ways, pairs, 2);
	went(&ways, copy_rows, 6);
#ifndef TEST_RTL
	memset(&ways, 0, sizeof(ways));
	ok(run(2, WSE_MACHINE_EXACT, 0, &races) == WSE_ST_OK && right(), "wavelet by wavelet");
	went_none(&ways);
	test_shuffle(2);
	test_shuffle(1);
#endif
	return tap_end();
}
