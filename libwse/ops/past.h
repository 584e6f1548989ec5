/* SPDX-License-Identifier: MIT */
/*
 * The graph that makes text with the keys and values of what came before, made of a model's own: a
 * row of cores has the newest tokens of a text and nothing else, so a token costs a row's work, not
 * a window's. Units, images and the order of every sum stay what they are, and so do the bits.
 */
#ifndef WSE_OPS_PAST_H
#define WSE_OPS_PAST_H

#include "ops/ops.h"

struct wse_past {
	struct wse_graph g;	/* wse_graph_fini() */
	uint32_t layers;	/* operations of attention */
	uint32_t rows;		/* bf16 of a core's q, k and v: [rows][T] */
	uint32_t keys;		/* and of k, or v, alone */
	uint32_t chunks;	/* rows of cores that a whole window has */
	/*
	 * Inputs of the graph: from[i] of the model's own is input i, for i below nfrom; then
	 * `past`, bf16 [layers][COLS][2][keys][chunks][tokens], and `count`, u16 [tokens].
	 * Outputs: g.logits, and `made`, bf16 [layers][COLS][rows][tokens]: q, k, v.
	 */
	uint32_t nfrom, from[WSE_GRAPH_IO];
	uint32_t element[WSE_GRAPH_IO]; /* bytes, of input i */
	uint32_t past, count, made;
	/* a text's earlier tokens need no operation from here on: nforward may be this, or nops */
	uint32_t last_made;
};

/*
 * Of a finished graph, for texts in the first `texts` rows of its tile. -ENOTSUP for one that has
 * no attention over several rows, or an operation that text has no kernel for; -E2BIG where
 * the past does not fit the cores; -ENOMEM
 */
int wse_past_make(const struct wse_graph *of, uint32_t texts, struct wse_past *p);
/*
 * predicted, of a token in a row whose keys and values were made, with a past of n rows; the
 * longest is chunks - 1
 */
uint64_t wse_past_cycles(const struct wse_past *p, uint32_t n);

#endif
