/* SPDX-License-Identifier: MIT */
/*
 * MemoryX keeps its state in the order of the images; this is the way from a tensor's own order to
 * there. Checkpoints, initial values and the calls that show a tensor take it, a step does not.
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
	struct wse_home *home; /* [tab.n] */
	uint32_t *alone;       /* [tab.n]: the first piece of a tensor that is in no unit */
	struct wse_memx_pieces pieces;
	uint32_t rank, ranks;	     /* of a run: a rank keeps its part of the pieces */
	struct wse_memx_pieces kept; /* which */
	uint32_t *slot;		     /* [pieces.n + 1]: their number in `kept` */
	struct wse_store *store;     /* of what is kept; the caller's */
	/* the piece that was copied last: it stays, as what is copied next is often in it, too */
	struct {
		uint32_t piece; /* UINT32_MAX: there is none */
		int dirty;
		float *array[WSE_MEMX_ARRAYS];
	} held;
	/*
	 * floats [from, from + n) of a piece that another rank keeps; the caller's. out or in is
	 * NULL
	 */
	int (*elsewhere)(void *ctx, enum wse_memx_array which, uint32_t piece, size_t from,
			 size_t n, float *out, const float *in);
	void *ctx;
};

/*
 * graph and table stay until fini; ranks 1: all pieces are kept. -EINVAL when a tensor of a unit
 * has another home, -ENOMEM
 */
int wse_map_make(struct wse_map *m, const struct wse_graph *g, const struct wse_tensor_table *tab,
		 uint32_t rank, uint32_t ranks);
void wse_map_fini(struct wse_map *m);

/* does this rank keep the piece? */
int wse_map_has(const struct wse_map *m, uint32_t piece);
/* of a piece that is kept: as the store does */
int wse_map_get(struct wse_map *m, uint32_t piece, float **array);
int wse_map_put(const struct wse_map *m, uint32_t piece, int dirty);
/* what is kept of pieces [first, end) will be got next */
void wse_map_ahead(const struct wse_map *m, uint32_t first, uint32_t end);

/*
 * elements [from, from + count) of a tensor, in its own order: to `out`, or from `in`; one is NULL
 */
int wse_map_copy(struct wse_map *m, enum wse_memx_array which, uint32_t tensor, size_t from,
		 size_t count, float *out, const float *in);

/* elements [from, from + count) of a tensor, whole rows of a matrix, are in the piece at hand */
typedef int (*wse_map_run)(void *ctx, enum wse_memx_array which, uint32_t tensor, size_t from,
			   size_t count);

/*
 * The first `arrays` arrays of all tensors, all elements once, in the order in which they are kept:
 * who copies each run when it is told of it gets every piece once, whatever the tensors' shapes.
 * What fn() said first that is not 0.
 */
int wse_map_runs(struct wse_map *m, uint32_t arrays, wse_map_run fn, void *ctx);

/*
 * parameters of the pieces [0, end) as wse_tensor_init() has them; moments are 0 where nothing was
 * written before
 */
int wse_map_init(struct wse_map *m, uint64_t seed, uint32_t end);
/* of one, w [count], and 0 where there is no tensor. -ENOMEM */
int wse_map_init_piece(const struct wse_map *m, uint64_t seed, uint32_t piece, float *w);

/* does a unit's matrix lie in its image as in its tensor, row by row? Rows may have padding */
int wse_map_is_plain(const struct wse_unit *u);

#endif
