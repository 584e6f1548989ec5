/* SPDX-License-Identifier: MIT */
/*
 * The mask of a unit's image: a bit for each weight, 1 where it is there. Bits lie as masked
 * streams read them (hw/doc/fabric.md, edges): for each row of the image, for each run of elements
 * that one column gets, as many bytes as the run needs, rounded up to 8. The transposed image has a
 * mask of its own.
 */
#ifndef WSE_GRAPH_MASK_H
#define WSE_GRAPH_MASK_H

#include "graph/graph.h"

struct wse_mask_shape {
	uint32_t rows, width; /* of the image */
	uint32_t run;	      /* elements of a row that lie together in a column */
	uint32_t mcstride;    /* bytes of a run's bits */
	uint32_t rstride;     /* bytes of a row's bits */
};

static inline struct wse_mask_shape wse_mask_shape(const struct wse_graph *g,
						   const struct wse_unit *u, int back)
{
	struct wse_slice s = wse_unit_slice(u, 0);
	struct wse_mask_shape m = {.rows = back ? u->ins : u->outs,
				   .width = back ? u->outs : u->ins,
				   .run = (back ? s.outs : s.ins) / g->tile.cols};

	m.mcstride = (m.run + 63) / 64 * 8;
	m.rstride = m.width / m.run * m.mcstride;
	return m;
}

static inline size_t wse_mask_bytes(const struct wse_mask_shape *m)
{
	return (size_t)m->rows * m->rstride;
}

/* the byte with the bit of an element; it is bit `j % run % 8` there */
static inline size_t wse_mask_byte(const struct wse_mask_shape *m, size_t row, size_t j)
{
	return row * m->rstride + j / m->run * m->mcstride + j % m->run / 8;
}

static inline int wse_mask_get(const struct wse_mask_shape *m, const unsigned char *bits,
			       size_t row, size_t j)
{
	return bits[wse_mask_byte(m, row, j)] >> (j % m->run % 8) & 1;
}

static inline void wse_mask_set(const struct wse_mask_shape *m, unsigned char *bits, size_t row,
				size_t j, int value)
{
	unsigned char bit = (unsigned char)(1u << j % m->run % 8);
	unsigned char *b = &bits[wse_mask_byte(m, row, j)];

	*b = value ? *b | bit : *b & (unsigned char)~bit;
}

#endif
