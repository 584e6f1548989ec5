/* SPDX-License-Identifier: MIT */
/*
 * Device cycles of a START of attention, for the planner: what the last row of a sequence does,
 * fitted to the RTL (t 8 to 64, 1 to 4 rows a sequence, d 8 to 64: within 6 %; firmware/lib/attn.h
 * says what the parts are). At t = 8 wavelets and scalar code set the pace, not the lanes, hence a
 * line of its own.
 */
#ifndef WSE_OPS_ATTN_CYCLES_H
#define WSE_OPS_ATTN_CYCLES_H

#include "wse_kernel.h"

/* hundredths of a cycle */
struct wse_attn_cost {
	uint32_t start, head;
	uint32_t group;	     /* a multiply-add of all lanes, AXPY or DOTX */
	uint32_t block;	     /* an AXPY or DOTX */
	uint32_t own, other; /* a chunk of 64 scores, of the own row or another one */
	uint32_t exp;	     /* eight scores that are not masked */
	uint32_t round;	     /* forward: of o; backward: a source row */
	uint32_t feature;    /* eight elements of q, o ...: backward */
};

/* a chunk whose products are sums over `group` columns */
static inline uint64_t wse_attn_gather_cycles(uint32_t group)
{
	return group > 1 ? 185 + 12ull * group : 0;
}

static inline uint64_t wse_attn_cycles(uint32_t t, uint32_t s, uint32_t d, uint32_t heads,
				       uint32_t group)
{
	static const struct wse_attn_cost cost[] = {
		{.start = 45000,
		 .head = 93700,
		 .group = 168,
		 .block = 106,
		 .own = 1175,
		 .other = 43920},
		{.start = 55700,
		 .head = 77500,
		 .group = 107,
		 .block = 445,
		 .own = 16690,
		 .other = 18480,
		 .exp = 624,
		 .round = 11030},
	};
	const struct wse_attn_cost *c = &cost[t > 8];
	/* in one pass: a source row, products, a chunk, eight scores */
	static const struct wse_attn_cost pass = {
		.round = 70650, .group = 111, .other = 16760, .exp = 735};
	uint64_t keep = wse_attn_keeps(t, s), g = t / 8, keys = 64 / t, b = keys < 4 ? keys : 4,
		 fb = t <= 32 ? 4 : 2;
	uint64_t rows = s / t, wide = 128 / (fb * t) * fb, chunks = t / keys, sum;

	while (d % wide)
		wide -= fb;
	if (!keep)
		c = &pass;
	sum = c->head + c->group * g * s * d * 2 + c->block * (s / b + rows * d / fb);
	sum += (keep ? c->own : c->other) * chunks + c->other * (rows - 1) * chunks;
	sum += c->exp * ((rows - 1) * t * g + t * (g + 1) / 2);
	if (!keep)
		sum += c->round * rows;
	else if (rows > 1)
		sum += c->round * (d / wide);
	/*
	 * rows wait for those above: at t = 8 the wavelets, from 32 on the lanes are slower than
	 * that
	 */
	if (t > 8 && t < 32 && rows > 4)
		sum += 4800 * (rows - 4) * (rows - 4);
	sum += 100 * wse_attn_gather_cycles(group) * rows * chunks;
	return (cost[t > 8].start + heads * sum) / 100 + (group > 1 ? 150 : 0);
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
		{.start = 38400,
		 .head = 63730,
		 .group = 99,
		 .block = 787,
		 .other = 49900,
		 .round = 28340},
		{.start = 47370,
		 .head = 23860,
		 .group = 75,
		 .block = 3592,
		 .own = 15860,
		 .other = 8000,
		 .exp = 1948,
		 .round = 12720},
	};
	const struct wse_attn_cost *c = &cost[t > 8];
	uint64_t g = t / 8, keys = 64 / t, b = keys < 4 ? keys : 4, fb = t <= 32 ? 4 : 2;
	uint64_t rows = n + 1, wide = 128 / (fb * t) * fb, chunks = t / keys, sum;

	while (d % wide)
		wide -= fb;
	sum = c->head + c->group * g * rows * t * d * 2;
	sum += c->block * (rows * t / b + (rows > 1 ? 2 : 1) * d / fb);
	sum += c->own * chunks + c->other * (rows - 1) * chunks + c->round * (d / wide);
	sum += c->exp * ((rows - 1) * t * g + t * (g + 1) / 2);
	if (!wse_attn_keeps(t, s)) /* in one pass */
		sum += 24300 * rows;
	sum += 100 * wse_attn_gather_cycles(group) * rows * chunks;
	return (c->start + heads * sum) / 100;
}

static inline uint64_t wse_attn_back_cycles(uint32_t t, uint32_t s, uint32_t d, uint32_t heads,
					    uint32_t group)
{
	static const struct wse_attn_cost cost[] = {
		{.start = 47300,
		 .head = 28500,
		 .group = 160,
		 .block = 848,
		 .own = 57400,
		 .other = 57400,
		 .feature = 423},
		{.start = 41300,
		 .group = 104,
		 .block = 2022,
		 .own = 15710,
		 .other = 15710,
		 .round = 36770,
		 .feature = 925},
	};
	const struct wse_attn_cost *c = &cost[t > 8];
	uint64_t g = t / 8, keys = 64 / t, b = keys < 4 ? keys : 4, fb = t <= 32 ? 4 : 2,
		 rows = s / t, chunks = s / keys, sum;

	sum = c->head + c->round * rows + c->group * g * 5 * s * d + c->feature * g * d;
	sum += c->block * (2 * (s / b) + 3 * rows * d / fb) + c->own * chunks;
	sum += 100 * (wse_attn_gather_cycles(group) + (group > 1 && t <= 8 ? 20 : 0)) * 2 * chunks;
	return (c->start + heads * sum) / 100 + (group > 1 ? 280 : 0);
}

/*
 * Slopes of a sequence's scores, a chunk of 64 at a time: positions lie in memory forward, in
 * accumulators backward. Fitted to the RTL as the rest is.
 */
static inline uint64_t wse_attn_slope_cycles(uint32_t t, uint32_t s, uint32_t heads, int back)
{
	uint32_t chunk = back ? (t > 8 ? 60 : 100) : (t > 8 ? 172 : 225);

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
