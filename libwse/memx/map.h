/* SPDX-License-Identifier: MIT */
/*
 * MemoryX keeps its state in the order of the images; this is the way from a tensor's own order to there. Checkpoints,
 * initial values and the calls that show a tensor take it, a step does not.
 */
#ifndef WSE_MEMX_MAP_H
#define WSE_MEMX_MAP_H

#include "memx/store.h"

/* where a tensor is: the matrix (0) or a vector (1 ...) of a unit; WSE_NO_UNIT: in none */
struct wse_home {
	uint32_t unit, which;
};

struct wse_map {
	const struct wse_graph *g;
	const struct wse_tensor_table *tab;
	struct wse_home *home;	      /* [tab.n] */
	uint32_t *alone;	      /* [tab.n]: the first piece of a tensor that is in no unit */
	struct wse_memx_pieces pieces;
	struct wse_store *store;      /* the caller's */
};

/* graph and table stay until fini. -EINVAL when a tensor of a unit has another home, -ENOMEM */
int wse_map_make(struct wse_map *m, const struct wse_graph *g, const struct wse_tensor_table *tab);
void wse_map_fini(struct wse_map *m);

/* elements [from, from + count) of a tensor, in its own order: to `out`, or from `in`; one is NULL */
int wse_map_copy(const struct wse_map *m, enum wse_memx_array which, uint32_t tensor, size_t from,
		 size_t count, float *out, const float *in);

/* all parameters as wse_tensor_init() has them, all moments 0 */
int wse_map_init(const struct wse_map *m, uint64_t seed);

/* is a unit's matrix in its image what it is in its tensor, row by row? */
int wse_map_is_plain(const struct wse_unit *u);

#endif
