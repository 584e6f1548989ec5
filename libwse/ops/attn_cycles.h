/* SPDX-License-Identifier: MIT */
/*
 * Device cycles of a START of attention, for the planner: what the last row of a sequence does, by
 * the loops of firmware/lib/attn.h and attn_back.h, each loop with a cost of its own. Fitted to the
 * RTL (t 8 to 64, 1 to 16 rows a sequence, d 4 to 64, heads on up to 8 columns): forward off by
 * 1.0 % in the mean of 205 figures and by 4.1 % at most, backward by 6.7 % at most;
 * tests/device/test-attn.c holds some of them. At t = 8 wavelets and scalar code set the pace, not
 * the lanes, hence formulas of their own.
 */
#ifndef WSE_OPS_ATTN_CYCLES_H
#define WSE_OPS_ATTN_CYCLES_H

#include "wse_kernel.h"

/* hundredths of a cycle */
struct wse_attn_cost {
	uint32_t start, head;
	uint32_t row;	/* a source row */
	uint32_t group; /* a multiply-add of all lanes */
	uint32_t block; /* an AXPY of scores: of up to four keys */
	uint32_t sums;	/* an AXPY of sums: of features */
	uint32_t chunk; /* scores that the lanes make at a time */
	uint32_t exp;	/* eight scores that are not masked */
	uint32_t recip; /* eight tokens of a head: what comes once, as 1 / l */
	uint32_t round; /* with a past: of o */
	uint32_t pass;	/* with a past: a source row of one pass */
};

static inline uint64_t wse_attn_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Sums over `group` columns of n scores, hundredths of a cycle: two columns swap theirs, more pass
 * them east, adding, and the sums back west
 */
static inline uint64_t wse_attn_gather_cycles(uint32_t t, uint32_t group, uint32_t n)
{
	if (t <= 8)
		return group == 2 ? 16512 : 21893 + 910 * group;
	return group == 2 ? 6220 + 100 * n : 5730 + 180 * n + 830 * group;
}

/*
 * what forward passes have in common: `rows` source rows of so many keys for t tokens, which see
 * `seen` eights of them; features of o `sums` times
 */
static inline uint64_t wse_attn_row_cycles(const struct wse_attn_cost *c, uint32_t t, uint32_t of,
					   uint64_t rows, uint32_t d, uint64_t sums, uint64_t seen,
					   uint32_t group)
{
	uint64_t most = 2 * (uint64_t)wse_attn_keys(t), keys = most < of ? most : of;
	uint64_t b = keys < 4 ? keys : 4, fb = t <= 32 ? 4 : 2, chunks = rows * of / keys, sum;

	sum = c->head + c->row * rows + c->group * rows * of * t / 8 * d * 2 + c->exp * seen;
	sum += c->block * (rows * of / b) + c->sums * (sums * d / fb) + c->chunk * chunks;
	if (group > 1)
		sum += chunks * wse_attn_gather_cycles(t, group, (uint32_t)keys * t);
	return sum;
}

/* eights of scores that the last of these rows' tokens see */
static inline uint64_t wse_attn_seen(uint32_t t, uint64_t rows)
{
	return (rows - 1) * t * (t / 8) + t * (t / 8 + 1) / 2;
}

/*
 * At t = 8. A source row: either the lanes set the pace or, where features are few, scalar code,
 * and then other code of a head does not hide behind the lanes, either
 */
static inline uint64_t wse_attn_few_cycles(uint64_t rows, uint32_t d, uint32_t group)
{
	uint64_t row = wse_attn_max(49214 + 2506 * (uint64_t)d, 56257 + 1880 * (uint64_t)d);

	if (group > 1)
		row += wse_attn_gather_cycles(8, group, 64);
	return 29755 + (d < 16 ? (16 - d) * 1157 : 0) + (rows == 1 ? 5514 : 0) + rows * row;
}

/* of keys that come in one pass */
static const struct wse_attn_cost wse_attn_one_pass = {.start = 43850,
						       .row = 39646,
						       .group = 102,
						       .block = 6509,
						       .sums = 5702,
						       .chunk = 357,
						       .exp = 1691,
						       .recip = 34026};

static inline uint64_t wse_attn_cycles(uint32_t t, uint32_t s, uint32_t d, uint32_t heads,
				       uint32_t group)
{
	static const struct wse_attn_cost kept = {.start = 54649,
						  .row = 13512,
						  .group = 103,
						  .block = 7087,
						  .sums = 2298,
						  .chunk = 4568,
						  .exp = 1571,
						  .recip = 21459};
	const struct wse_attn_cost *c = wse_attn_keeps(t, s) ? &kept : &wse_attn_one_pass;
	uint64_t rows = s / t;

	if (t <= 8 && c == &kept)
		return (56133 + heads * wse_attn_few_cycles(rows, d, group)) / 100;
	return (c->start +
		heads * (c->recip * (t / 8) + wse_attn_row_cycles(c, t, t, rows, d, rows,
								  wse_attn_seen(t, rows), group))) /
	       100;
}

/*
 * Where mirrored rows share their work: s / t + 1 slots of half a row's tokens, each as a source
 * row of one pass without masks, some of whose code runs while the movers do; and two exchanges,
 * whose words pass the rows between
 */
static inline uint64_t wse_attn_halves_cycles(uint32_t t, uint32_t s, uint32_t d, uint32_t heads,
					      uint32_t group)
{
	static const struct wse_attn_cost slot = {.row = 71500,
						  .group = 102,
						  .sums = 3638,
						  .chunk = 8559,
						  .exp = 1468};
	uint64_t rho = s / t, slots = rho + 1, words = rho / 2 * (t / 4) * (2 * (uint64_t)d + 4);

	return (114450 +
		heads * (21936 + 179 * words +
			 wse_attn_row_cycles(&slot, t / 2, t, slots, d, slots,
					     slots * t * (t / 16), group))) /
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
		{.start = 37436,
		 .head = 53244,
		 .group = 110,
		 .block = 315,
		 .sums = 315,
		 .row = 47611},
		{.start = 50709,
		 .head = 55960,
		 .group = 94,
		 .block = 3650,
		 .sums = 3650,
		 .chunk = 16138,
		 .exp = 1110,
		 .row = 8210,
		 .round = 2539,
		 .pass = 21695},
	};
	const struct wse_attn_cost *c = &cost[t > 8];
	uint64_t fb = t <= 32 ? 4 : 2, rows = n + 1, wide = 128 / (fb * t) * fb, sum;

	while (d % wide)
		wide -= fb;
	sum = c->round * (d / wide) + wse_attn_row_cycles(c, t, t, rows, d, rows > 1 ? 2 : 1,
							  wse_attn_seen(t, rows), group);
	if (!wse_attn_keeps(t, s))
		sum += c->pass * rows;
	return (c->start + heads * sum) / 100;
}

/*
 * Backward, `rows` source rows. P and dS come a chunk at a time, of 64 products or as many as keys
 * are whole: the lanes make d features of it, or wait for 40 cycles of scalar code, or for the sums
 * over the columns of a head, behind which the next chunk's products come. ring: each of these adds
 * its chunks while the lanes go on, makes P and dS of them, and these go around
 * (firmware/lib/attn_ring.h).
 */
static inline uint64_t wse_attn_back_rounds(uint32_t t, uint64_t rows, uint32_t d, uint32_t group,
					    int keeps, int ring)
{
	uint64_t g = t / 8, keys = 64 / t, b = keys < 4 ? keys : 4, fb = t <= 32 ? 4 : 2;
	uint64_t n = keys * t, chunks = 2 * rows * ((t + keys - 1) / keys), of = d, chunk, row;

	if (t <= 8) {
		row = wse_attn_max(61554 + 7196 * of, 82000 + 5342 * of);
		if (group > 1)
			row += 2 * (group == 2 ? 16181 : 18904 + 1204 * group);
		return 14845 + (rows > 1 ? 0 : group > 1 ? 16972 : 5362) + rows * row;
	}
	chunk = 113 * n / 8 * of;
	row = 52998 + (keeps ? 0 : 2907) + 1239 * t * g + 101 * 3 * g * t * of + 1464 * 3 * of / fb;
	if (ring) {
		chunk = wse_attn_max(3500 + 100 * n + 200 * n * of / 64, chunk);
		row += 100000 + 200 * t * t * (group - 1) / group;
		row -= 1239 * t * g * (group - 1) / group;
	} else if (group > 2)
		chunk = 150 * n + 738 * group + wse_attn_max(16140, chunk + 9057);
	else if (group == 2)
		chunk = 90 * n + wse_attn_max(15550, chunk + 7618);
	else
		chunk = wse_attn_max(4619, chunk);
	return (rows == 1 ? 4500 : 0) + rows * row + chunks * (chunk + 1773 * keys / b) +
	       540 * g * of;
}

static inline uint64_t wse_attn_back_cycles(uint32_t t, uint32_t s, uint32_t d, uint32_t heads,
					    uint32_t group)
{
	return ((t > 8 ? 53634 : 58670) +
		heads * wse_attn_back_rounds(t, s / t, d, group, wse_attn_keeps_ds(t, s, d), 0)) /
	       100;
}

/*
 * Where mirrored rows share it: s / t / 2 source rows and the early keys of the next; answers, of
 * which half of the rows' pass the middle of the sequence; and sums of dk and dv, with which the
 * last row to add is late by the rows before it. Fitted to the RTL (t 16 to 64, 4 to 64 rows a
 * sequence, d 4 to 32, up to 4 columns a head): off by 1.5 % in the mean of 115 figures, 5.3 % at
 * most.
 */
static inline uint64_t wse_attn_back_halves_cycles(uint32_t t, uint32_t s, uint32_t d,
						   uint32_t heads, uint32_t group)
{
	uint64_t half = s / t / 2, late = wse_attn_late_keys(t), narrow = d < 32 ? 32 - d : 0;
	int ring = group > 1;
	uint64_t rounds = wse_attn_back_rounds(t, half, d, group, 0, ring);
	uint64_t slot = wse_attn_back_rounds(t, half + 1, d, group, 0, ring) - rounds;
	uint64_t early = slot * (t - late) / t, chunks = 2 * (half * t + t - late) / (64 / t);
	uint64_t sum = rounds + early + 200 * half * t * d;

	if (ring)
		sum += 124000 + 39300 * half + 1970 * half * half;
	else
		sum += 83800 + 25600 * half + 1900 * half * half + 48 * chunks * narrow;
	return (53634 + heads * sum) / 100;
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
