/* SPDX-License-Identifier: MIT */
/*
 * Device cycles of the START of a linear layer and of a weight gradient, for the planner: fitted to
 * the RTL (t 8 to 64, k 4 to 192, tiles of 2x2 and 4x4; tests/train/test-cycles.c holds them
 * against it). k, outs: features of a column. A block takes as long as the slowest of those that
 * work on it: the lanes, the trip of its sums round the row, the links down the column, the host's
 * memory with the weights or their gradients.
 */
#ifndef WSE_OPS_LINEAR_CYCLES_H
#define WSE_OPS_LINEAR_CYCLES_H

#include "graph/graph.h"
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

static inline uint64_t wse_linear_cycles(const struct wse_graph *g, uint64_t k, uint64_t outs,
					 uint64_t post)
{
	uint64_t b = g->nfeat, cols = g->tile.cols, feature = k * (g->t / g->tile.lanes);
	/* short features cost the lanes more of what they do between two */
	uint64_t lanes = b * (feature + (feature < 48 ? 3 : 0)) + 4, trip = b * g->t + 36;
	uint64_t host = b * cols * (260 + 24 * k) / 100;

	return 310 + 41 * cols + outs * cols / b * wse_most(lanes, wse_most(trip, host)) +
	       outs * g->t * post / 100;
}

static inline uint64_t wse_wgrad_cycles(const struct wse_graph *g, uint64_t k, uint64_t outs,
					int bias)
{
	uint64_t b = g->nfeat, cols = g->tile.cols, feature = k * (g->t / g->tile.lanes);
	uint64_t trip = b * g->t + 48, host = cols * k / 2, link = g->tile.rows > 1 ? k * 260 / 100 : 0;

	/*
	 * the links to the south carry the stream and the sums, a wavelet of each an element: two
	 * cycles at best, and half a one more where the two meet
	 */
	host = wse_most(host, link);
	/* the lane tree of a feature's last result, hidden the better the longer a feature is */
	feature += feature <= 32 ? 20 : feature < 80 ? 30 - feature * 5 / 16 : 4;
	return 350 + 48 * cols + outs * cols / b * wse_most(b * wse_most(feature, host), trip) +
	       (bias ? outs * (48 + g->t) / 4 : 0);
}

#endif
