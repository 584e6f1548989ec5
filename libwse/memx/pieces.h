/* SPDX-License-Identifier: MIT */
/*
 * The pieces of a model's state: what MemoryX reads, updates and writes at once, and what hosts
 * share out. A pure function of graph and tensor table.
 *
 * A piece is some rows of one unit's matrix, in the order of its image: float i of the piece
 * belongs to float at + i of the unit's gradient buffer (wse_unit_grad_floats()). Rows are whole,
 * and begin at a multiple of 32 (tiles of images) and of 4096 floats (blocks of the gradient's
 * norm). The vectors of a unit are at the end of its last piece. A tensor that is in no unit has
 * pieces of its own rows.
 */
#ifndef WSE_MEMX_PIECES_H
#define WSE_MEMX_PIECES_H

#include "graph/graph.h"

#define WSE_PIECE_FLOATS (1u << 20)

struct wse_memx_piece {
	uint32_t unit;	 /* WSE_NO_UNIT: rows of a tensor that is in none */
	uint32_t tensor; /* the matrix, or that tensor; WSE_NO_TENSOR: vectors alone */
	size_t at, count;
	uint32_t row, rows; /* of the matrix, or of that tensor, padding included */
	uint32_t no, of;    /* 1 ... of: which of its unit's, or tensor's; for people */
	/* floats of vectors, the last ones of count; 0 but in a unit's last piece */
	size_t vec;
};

struct wse_memx_pieces {
	uint32_t n;
	struct wse_memx_piece *p; /* tensors in no unit, then units, each ascending */
	uint32_t *first;	  /* [nunits + 1]: the first piece of a unit; the end */
	size_t floats;		  /* of all pieces */
	size_t longest;		  /* floats of the longest piece */
};

/* rows of a piece: at most WSE_PIECE_FLOATS, unless the fewest that are possible are more */
uint32_t wse_memx_piece_rows(uint32_t width);

/* -EINVAL when a unit's tensor is not in the table, -ENOMEM */
int wse_memx_pieces_make(const struct wse_graph *g, const struct wse_tensor_table *tab,
			 struct wse_memx_pieces *list);
void wse_memx_pieces_fini(struct wse_memx_pieces *list);

/* which of so many ranks has a piece */
static inline uint32_t wse_memx_piece_owner(uint32_t piece, uint32_t ranks)
{
	return piece % ranks;
}

/*
 * What a rank has, as a list: kept. slot [n + 1]: of each piece of the whole the number in it, of
 * one that it has not got that of the next that it has. -ENOMEM
 */
int wse_memx_pieces_deal(const struct wse_memx_pieces *whole, uint32_t nunits, uint32_t rank,
			 uint32_t ranks, struct wse_memx_pieces *kept, uint32_t *slot);

#endif
