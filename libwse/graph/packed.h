/* SPDX-License-Identifier: MIT */
/*
 * A masked image without the weights that are not there: what LINEAR streams read and write
 * (hw/doc/fabric.md, edges). Each command of a chunk has an area of its own, in it a run for each
 * column, as long as the longest of them: element for element in the order in which the port sends.
 * Gradients come back in the same order, each of 4 bytes. The layout follows from the mask alone.
 * A dense image may lie so as well, without a mask; its gradients do not.
 */
#ifndef WSE_GRAPH_PACKED_H
#define WSE_GRAPH_PACKED_H

#include "graph/mask.h"

struct wse_shared_buf;

/* Streams of images that lie so are LINEAR where the device has them; 0: rows, for tests. */
extern int wse_linear_streams;

/* of one command: rows [row, end) of the image, elements from `first` on, a run for each column */
struct wse_packed_run {
	size_t at2, at4; /* bytes before it of bf16 and of binary32 */
	uint32_t most;	 /* elements of the column that has most, at least 1 */
	uint32_t row, end, first;
};

/*
 * The elements that are there have another order on the host: that of the image, row by row. There
 * is no table of where an element of the one lies in the other: the bits say it.
 */
struct wse_packed {
	struct wse_shared_buf *buf; /* the image's values; NULL: there are none */
	uint32_t pieces, blocks;    /* commands of a chunk, blocks of each but the last */
	uint32_t nruns, cols;	    /* chunks * pieces */
	struct wse_packed_run *run; /* [nruns] */
	uint32_t *start;	    /* [rows + 1] elements that are there before a row */
	const unsigned char *bits;  /* the caller's; NULL: all are there */
	struct wse_mask_shape shape;
	uint32_t nfeat;
	size_t n, bytes2, bytes4; /* elements; bytes of all areas */
};

/* bytes of a column's run: a multiple of 8, the distance of two columns as well */
static inline uint32_t wse_packed_stride(const struct wse_packed_run *r, uint32_t size)
{
	return (r->most * size + 7) / 8 * 8;
}

/* bytes that a command's stream may span, of a row of so many elements: blocks of it, at least 1 */
static inline uint32_t wse_packed_blocks(uint64_t most, uint32_t width, uint32_t nfeat)
{
	uint64_t n = most / ((uint64_t)width * 4 * nfeat);

	return n > UINT32_MAX ? UINT32_MAX : n ? (uint32_t)n : 1;
}

/*
 * The layout of a unit's image, back: of the transposed one, with these bits, which stay, or NULL
 * of a dense one; most: bytes that a command may span in the dense image. -ENOMEM: p is empty.
 * wse_packed_fini() leaves buf alone.
 */
int wse_packed_init(struct wse_packed *p, const struct wse_graph *g, const struct wse_unit *u,
		    int back, const unsigned char *bits, uint64_t most);
void wse_packed_fini(struct wse_packed *p);

/* bytes2 of the layout that takes most of all masks; most: as wse_packed_init() has it */
size_t wse_packed_most(const struct wse_graph *g, const struct wse_unit *u, int back,
		       uint64_t most);

/* dense [rows][width] to what streams read, and back: what is not there is 0. -ENOMEM */
int wse_packed_image(const struct wse_packed *p, const uint16_t *dense, uint16_t *packed);
/*
 * likewise, where the dense image is not there: rows of it come when they are needed, at most
 * WSE_PACKED_STRIP, into strip [rows][width]: of rows [row, end) elements [from, to). -ENOMEM
 */
#define WSE_PACKED_STRIP 32u
typedef void (*wse_packed_fill)(const void *ctx, uint32_t row, uint32_t end, uint32_t from,
				uint32_t to, uint16_t *strip);
int wse_packed_strips(const struct wse_packed *p, wse_packed_fill fill, const void *ctx,
		      uint16_t *packed);
int wse_packed_dense(const struct wse_packed *p, const uint16_t *packed, uint16_t *dense);

/*
 * What follows is of layouts with bits.
 *
 * A unit's gradients have come back, bytes4 bytes, and behind them those of its vectors: into the
 * image's order [n], and the vectors behind them; or to their places in [rows][width]. -ENOMEM
 */
int wse_packed_rows(const struct wse_packed *p, size_t vec, float *grads);
int wse_packed_places(const struct wse_packed *p, float *grads);
/* gradients [rows][width] into the image's order [n]; to may be from */
void wse_packed_pick(const struct wse_packed *p, const float *from, float *to);
/*
 * rows [row, end) of a dense image [rows][width] into the image's order [n], and back, where what
 * is not there is 0: how images travel
 */
void wse_packed_pick_rows(const struct wse_packed *p, uint32_t row, uint32_t end,
			  const uint16_t *dense, uint16_t *own);
void wse_packed_spread_rows(const struct wse_packed *p, uint32_t row, uint32_t end,
			    const uint16_t *own, uint16_t *dense);
/*
 * elements [at, at + count) of the image out of those in its order; bits: those of the layout,
 * where its own have changed
 */
void wse_packed_spread(const struct wse_packed *p, const unsigned char *bits, const float *grads,
		       size_t at, size_t count, float *out);

#endif
