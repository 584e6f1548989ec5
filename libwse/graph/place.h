/* SPDX-License-Identifier: MIT */
/*
 * Where the values of a graph lie in a core's SRAM: first fit, in one of three orders. Two values
 * may share bytes when no operation has both; while its first operation runs a value takes
 * `bytes_at_start`, later `bytes`. The time grows with n log(n) of the values where what is taken
 * leaves few gaps, as it does in models of many equal layers.
 */
#ifndef WSE_GRAPH_PLACE_H
#define WSE_GRAPH_PLACE_H

#include "graph/graph.h"

/* lifetimes are known; fills in sram and total. -E2BIG with the bytes by kind in the sentence */
int wse_graph_place(struct wse_graph *g);

/*
 * the bytes of each kind of value that are alive at operation `op`, as text: "12288 activations,
 * 512 vectors"
 */
void wse_graph_bytes(const struct wse_graph *g, uint32_t op, char *text, size_t size);
/* the operation at which most bytes are taken, and how many (live may be NULL) */
uint32_t wse_graph_peak(const struct wse_graph *g, uint64_t *live);

#endif
