/* SPDX-License-Identifier: MIT */
/*
 * Device cycles of a START of attention, for the planner: what the last row of a sequence does,
 * fitted to the RTL (t 8 to 64, 1 to 8 rows a sequence, d 4 to 64: forward within 4 %, backward
 * within 7 %; firmware/lib/attn.h says what the parts are). At t = 8 wavelets and scalar code set
 * the pace, not the lanes, hence a line of its own.
 */
#ifndef WSE_OPS_ATTN_CYCLES_H
#define WSE_OPS_ATTN_CYCLES_H

#include "wse_kernel.h"

/* hundredths of a cycle */
struct wse_attn_cost {
	uint32_t start, head;
	uint32_t group;	  /* a multiply-add of all lanes, AXPY or DOTX */
	uint32_t block;	  /* an AXPY or DOTX */
	uint32_t chunk;	  /* 64 scores */
	uint32_t exp;	  /* eight scores that are not masked */
	uint32_t row;	  /* a source row */
	uint32_t round;	  /* with a past: of o */
	uint32_t pass;	  /* with a past: a source row of one pass */
	uint32_t feature; /* backward: eight elements of q, o ... */
};

/*
 * Sums over `group` columns, hundredths of a cycle: of n scores; backward, of the 64 of a chunk,
 * the products of whose d features hide a part
 */
static inline uint64_t wse_attn_gather_cycles(uint32_t t, uint32_t group, uint32_t n)
{
	if (t <= 8)
		return group == 2 ? 16300 : 23700 + 1200 * group;
	return (group == 2 ? 8000 : 17100 + 1200 * group) + 85 * n;
}

static inline uint64_t wse_attn_gather_back_cycles(uint32_t t, uint32_t d, uint32_t group)
{
	if (t <= 8)
		return group == 2 ? 17000 : 24336 + 1200 * group;
	return group == 2 ? (d < 8 ? 16506 : 13600) : 18793 + 1200 * group;
}

/* what forward passes have in common: `rows` source rows of t keys, features of o `sums` times */
static inline uint64_t wse_attn_row_cycles(const struct wse_attn_cost *c, uint32_t t, uint64_t rows,
					   uint32_t d, uint64_t sums, uint32_t group)
{
	uint64_t g = t / 8, keys = wse_attn_wide_keys(t), b = keys < 4 ? keys : 4,
		 fb = t <= 32 ? 4 : 2, sum;

	sum = c->head + c->group * g * rows * t * d * 2 + c->block * (rows * t / b + sums * d / fb);
	sum += c->chunk * rows * (t / wse_attn_keys(t)) + c->row * rows;
	sum += c->exp * ((rows - 1) * t * g + t * (g + 1) / 2);
	if (group > 1)
		sum += rows * (t / keys) * wse_attn_gather_cycles(t, group, (uint32_t)keys * t);
	return sum;
}

static inline uint64_t wse_attn_cycles(uint32_t t, uint32_t s, uint32_t d, uint32_t heads,
				       uint32_t group)
{
	/* at t = 8; of more; in one pass */
	static const struct wse_attn_cost cost[] = {
		{.start = 43694, .head = 61500, .group = 82, .block = 3600, .row = 38690},
		{.start = 53853,
		 .head = 41207,
		 .group = 106,
		 .block = 2223,
		 .chunk = 9492,
		 .exp = 1050,
		 .row = 20339},
		{.group = 112, .chunk = 7865, .exp = 1086, .row = 98184},
	};
	const struct wse_attn_cost *c = &cost[!wse_attn_keeps(t, s) ? 2 : t > 8];
	uint64_t rows = s / t;

	return (c->start + heads * wse_attn_row_cycles(c, t, rows, d, rows, group)) / 100;
}

/*
 * Where mirrored rows share their work: s / t + 1 slots of half a row's tokens, and two exchanges,
 * a word of which takes a cycle. Fitted to the RTL (t 32, 4 rows, d 4 to 16: within 6 %)
 */
static inline uint64_t wse_attn_halves_cycles(uint32_t t, uint32_t s, uint32_t d, uint32_t heads,
					      uint32_t group)
{
	uint64_t rho = s / t, half = t / 2, keys = wse_attn_wide_keys(t / 2);
	uint64_t slot = 81900 + t * half * (220 + 59 * (uint64_t)d / 2);

	if (group > 1)
		slot += t / keys * /* 50 cycles of which pass while the movers are busy anyway */
			(wse_attn_gather_cycles(t / 2, group, (uint32_t)(keys * half)) - 5000);
	return (70000 + heads * (60000 + (rho + 1) * slot +
				 105 * (rho / 2) * (half / 2) * (2 * (uint64_t)d + 4))) /
	       100;
}

/*
 * With a past of n rows, of a sequence of at most s tokens: all of a sequence's keys are the row's
 * own, and all scores are kept where those of s are. Fitted to the RTL (t 8 to 64, n 0 to 15, d 4
 * to 64: within 10 %)
 */
static inline uint64_t wse_attn_past_cycles(uint32_t t, uint32_t s, uint32_t n, uint32_t d,
					    uint32_t heads, uint32_t group)
{
	static const struct wse_attn_cost cost[] = {
		{.start = 37436, .head = 53244, .group = 110, .block = 315, .row = 47611},
		{.start = 50709,
		 .head = 55960,
		 .group = 94,
		 .block = 3650,
		 .chunk = 8069,
		 .exp = 1110,
		 .row = 8210,
		 .round = 2539,
		 .pass = 21695},
	};
	const struct wse_attn_cost *c = &cost[t > 8];
	uint64_t fb = t <= 32 ? 4 : 2, rows = n + 1, wide = 128 / (fb * t) * fb, sum;

	while (d % wide)
		wide -= fb;
	sum = wse_attn_row_cycles(c, t, rows, d, rows > 1 ? 2 : 1, group) + c->round * (d / wide);
	if (!wse_attn_keeps(t, s))
		sum += c->pass * rows;
	return (c->start + heads * sum) / 100;
}

static inline uint64_t wse_attn_back_cycles(uint32_t t, uint32_t s, uint32_t d, uint32_t heads,
					    uint32_t group)
{
	static const struct wse_attn_cost cost[] = {
		{.start = 42736,
		 .head = 36224,
		 .group = 91,
		 .block = 3289,
		 .row = 50400,
		 .feature = 1210},
		{.start = 22404,
		 .group = 99,
		 .block = 1866,
		 .chunk = 12441,
		 .row = 54875,
		 .feature = 1422},
	};
	const struct wse_attn_cost *c = &cost[t > 8];
	uint64_t g = t / 8, keys = 64 / t, b = keys < 4 ? keys : 4, fb = t <= 32 ? 4 : 2,
		 rows = s / t, chunks = s / keys, sum;

	sum = c->head + c->row * rows + c->group * g * 5 * s * d + c->feature * g * d;
	sum += c->block * (2 * (s / b) + 3 * rows * d / fb) + c->chunk * chunks;
	if (group > 1)
		sum += 2 * chunks * wse_attn_gather_back_cycles(t, d, group);
	return (c->start + heads * sum) / 100;
}

/*
 * Where mirrored rows share it: s / t / 2 + 1 source rows of the last row's, sums of dq over the
 * others, and what messages hold up. Fitted to the RTL (t 16 to 32, 4 and 8 rows, d 4 to 16: within
 * 4 %; t 24 within 7 %)
 */
static inline uint64_t wse_attn_back_halves_cycles(uint32_t t, uint32_t s, uint32_t d,
						   uint32_t heads, uint32_t group)
{
	uint64_t rho = s / t, rows = rho / 2 + 1, sums = (uint64_t)t / 8 * t * d + 600;

	return wse_attn_back_cycles(t, (uint32_t)rows * t, d, heads, group) +
	       heads * (330 * rows + (rho - rows) * sums);
}

/*
 * Slopes of a sequence's scores, a chunk of 64 at a time: positions lie in memory forward, in
 * accumulators backward. Fitted to the RTL as the rest is.
 */
static inline uint64_t wse_attn_slope_cycles(uint32_t t, uint32_t s, uint32_t heads, int back)
{
	uint32_t chunk = back ? (t > 8 ? 60 : 100) : (t > 8 ? 87 : 100);

	return heads * (uint64_t)(s / wse_attn_keys(t)) * chunk;
}

/* dropout: bits of a row's keys, 64 at a time, a key has scalar steps of its own */
static inline uint64_t wse_attn_drop_cycles(uint32_t t, uint32_t s, uint32_t heads, int back)
{
	return heads * (uint64_t)(s * 30 + s / wse_attn_keys(t) * (back ? 250 : 195));
}

/* adding up the gradients of keys and values that heads share */
static inline uint64_t wse_attn_share_cycles(uint32_t t, uint32_t d, uint32_t heads)
{
	return heads * (100 + 2ull * t * d);
}

#endif
