/* SPDX-License-Identifier: MIT */
/*
 * Device cycles of the START of a linear layer and of a weight gradient, for the planner: fitted to
 * the RTL (t 8 to 64, k 4 to 64, tiles of 1x48, 2x2, 2x8, 4x4 and 16x2; tests/train/test-cycles.c
 * holds them against it). k, outs: features of a column. A block takes as long as the slowest of
 * those that work on it: the lanes, the trip of its sums round the row and down the columns, the
 * bus with the weights or their gradients.
 */
#ifndef WSE_OPS_LINEAR_CYCLES_H
#define WSE_OPS_LINEAR_CYCLES_H

#include "graph/graph.h"
#include "num/num.h"
#include "ops/kinds.h"
#include "wse_kernel.h"

static inline uint64_t wse_most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* hundredths of a cycle that an element of the pass over the sums takes */
static inline uint64_t wse_post_cost(uint32_t post, int copy)
{
	switch (post) {
	case WSE_POST_NONE:
		return 0;
	case WSE_POST_BF16:
		return 60;
	case WSE_POST_GELU_NEW:
		return 860;
	case WSE_POST_SWIGLU: /* of both halves */
		return 380;
	case WSE_POST_MUL2:
		return 144;
	case WSE_POST_GELU:
		return 985;
	case WSE_POST_ADD16:
	case WSE_POST_ADD32:
		return copy ? 155 : 100;
	default:
		return 72;
	}
}

enum { WSE_BIAS_COST = 74 };

/* the first block comes later to rows below the fourth: each takes so many cycles more */
static inline uint64_t wse_deep(const struct wse_graph *g, uint64_t row)
{
	return g->tile.rows > 4 ? (g->tile.rows - 4) * row : 0;
}

/* what a block waits for, in hundredths of a cycle */
struct wse_block_cost {
	uint64_t lanes, trip, port;
};

/*
 * n blocks, behind what comes before the first: the bus begins earlier, as there is room for what
 * it brings or takes
 */
static inline uint64_t wse_blocks_cycles(const struct wse_block_cost *c, uint64_t first, uint64_t n)
{
	return wse_most(first + n * wse_most(c->lanes, c->trip) / 100, 350 + n * c->port / 100);
}

static inline enum wse_bound wse_block_bound(const struct wse_block_cost *c)
{
	if (c->port > wse_most(c->lanes, c->trip))
		return WSE_BOUND_PORT;
	return c->trip > c->lanes ? WSE_BOUND_TRIP : WSE_BOUND_LANES;
}

/* a part of `of`, rounded */
static inline uint64_t wse_part(double part, uint64_t of)
{
	return (uint64_t)(part * (double)of + 0.5);
}

/*
 * of n weights of a block and column those that there are in a column that others wait for; how
 * many differs from block to block, and a column that is behind catches up
 */
static inline uint64_t wse_sent(double density, uint64_t n)
{
	return (uint64_t)(0.5 + density * (double)n +
			  0.25 * wse_sqrt(density * (1.0 - density) * (double)n));
}

/* of n weights one at least is there, each with this density */
static inline double wse_any_of(double density, uint32_t n)
{
	double none = 1.0;

	while (n--)
		none *= 1.0 - density;
	return 1.0 - none;
}

/* a run of k weights on the bus: whole words, in requests of up to four, one each cycle */
static inline uint64_t wse_run_words(uint64_t k)
{
	return (k + 3) / 4 * 100;
}

/*
 * A block's sums go round the row while the next one's products are made: a cycle a sum, and what
 * begins and ends it. Of masked weights the lanes know those that are there. The bus brings them,
 * LINEAR, or else whole rows, and the words of their masks.
 */
static inline struct wse_block_cost wse_linear_block(const struct wse_graph *g, uint64_t k,
						     double density)
{
	uint64_t b = g->nfeat, t = g->t, cols = wse_bus_columns(g);
	uint64_t run = wse_run_words(k);
	uint64_t some = 156 + (g->tile.no_linear ? run : wse_part(density, k * 25));

	return (struct wse_block_cost){
		.lanes = 100 * (wse_sent(density, b * k) * (t / g->tile.lanes) + 5),
		.trip = 100 * (b * t + 18),
		.port = b * cols * (density < 1.0 ? some : run),
	};
}

static inline uint64_t wse_linear_cycles(const struct wse_graph *g, uint64_t k, uint64_t outs,
					 double density, uint64_t post)
{
	uint64_t cols = g->tile.cols;
	struct wse_block_cost block = wse_linear_block(g, k, density);

	return wse_blocks_cycles(&block, 420 + 14 * cols + wse_deep(g, 3), outs * cols / g->nfeat) +
	       outs * g->t * post / 100;
}

/* a run of k gradients in bursts of up to 32 bytes; more than 32 bursts are not on their way */
static inline uint64_t wse_bursts(uint64_t k)
{
	return k / 8 * 406 + (k % 8 ? wse_most(213, (k % 8 + 1) / 2 * 100) : 0);
}

/* hundredths of a cycle of a burst of 8 masked gradients: from the first word that has one on */
static inline double wse_burst(double density)
{
	double most = 200 + 290 * density;

	return wse_any_of(density, 8) * (most < 406 ? most : 406);
}

/*
 * The links to the south carry the stream and the sums, two wavelets an element; those of a single
 * row carry the sums alone. A trip shares the core's link to the router with the block's sums, a
 * wavelet a cycle. A masked gradient comes back LINEAR, or else in the bursts of 8 elements that
 * have one.
 */
static inline struct wse_block_cost wse_wgrad_block(const struct wse_graph *g, uint64_t k,
						    double density)
{
	uint64_t b = g->nfeat, t = g->t, element = g->tile.rows == 1 ? 124 : 200;
	uint64_t link = b * (density < 1.0 ? wse_part(density, k * element) : k * element) + 400;
	struct wse_block_cost c = {
		/* behind the last feature, the lane tree's last result */
		.lanes = 100 * (wse_sent(density, b * k) * (t / g->tile.lanes) + 8),
		.trip = wse_most(100 * (b * t + 17) + wse_part(density, 100 * b * k), link),
		/* bursts of up to 32 bytes, or of 64 without a pause */
		.port = b * wse_bus_columns(g) *
			(g->tile.group ? wse_most(300, k * 50) : wse_bursts(k)),
	};

	if (density < 1.0 && g->tile.no_linear)
		c.port = b * wse_bus_columns(g) * wse_part(wse_burst(density), (k + 7) / 8);
	else if (density < 1.0)
		c.port = b * wse_bus_columns(g) * wse_part(density, k * 51);
	return c;
}

static inline uint64_t wse_wgrad_cycles(const struct wse_graph *g, uint64_t k, uint64_t outs,
					double density, int bias)
{
	struct wse_block_cost block = wse_wgrad_block(g, k, density);
	uint64_t cols = g->tile.cols;

	uint64_t first = (g->t <= 8 ? 570 + 16 * cols : 470 + 18 * cols) + wse_deep(g, 13);

	return wse_blocks_cycles(&block, first, outs * cols / g->nfeat) +
	       (bias ? outs * (48 + g->t) / 4 : 0);
}

#endif
