/* SPDX-License-Identifier: MIT */
/* Runs of wavelets: bulk.c finds what can pass, bulk_run.c passes it. */
#ifndef WSE_FUNC_BULK_H
#define WSE_FUNC_BULK_H

#include "kernels.h"
#include "twin.h"

struct run { /* an array of data wavelets */
	const uint32_t *w;
	/* or, dense, all features of each k in order: elements from place at of a block's values */
	const float *v;
	uint32_t at;
	uint8_t dense;
};

struct node { /* an engine with its running instruction, or a south port */
	struct wse_core *c;
	struct wse_engine *e;
	struct wse_port_out *port;
	uint32_t slot, col;
	uint8_t which;
	bool need_fab, need_dot, got_fab, got_dot;
	uint32_t first, sinks; /* whom it feeds: bulk.sink[first ...] */
	struct run fab, dot;   /* inputs */
};

struct bulk {
	struct wse_kernels k;
	struct node *node;
	uint32_t *order; /* nodes, every one after those that feed it */
	uint32_t *sink;
	uint32_t *slot; /* [3 * core + engine] or [3 * cores + column] -> node + 1 */
	uint32_t *stack;
	uint32_t nnodes, norder, nsinks, cap, hops;
	uint32_t *arena; /* arrays that engines produce */
	size_t arena_cap, arena_used;
};

uint32_t wse_bulk_left(const struct wse_engine *e);
bool wse_bulk_reserve(struct bulk *b,
		      uint32_t n); /* room for every node's output; false: no memory */
void wse_bulk_deliver(struct bulk *b, uint32_t first, uint32_t sinks, const struct run *r);
void wse_bulk_run(struct wse_model *m, struct bulk *b, uint32_t n);

#endif /* WSE_FUNC_BULK_H */
