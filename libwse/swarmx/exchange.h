/* SPDX-License-Identifier: MIT */
/*
 * The sums of a step over ranks. The gradient of each unit is cut into pieces (memx/pieces.h); the
 * subtrees that a rank is left with go, piece by piece, to the piece's owner, who finishes the
 * tree. So each value crosses the network once, and every rank adds up as much as another.
 */
#ifndef WSE_SWARMX_EXCHANGE_H
#define WSE_SWARMX_EXCHANGE_H

#include "memx/share.h"
#include "swarmx/hosts.h"
#include "swarmx/reduce.h"
#include "swarmx/row_sum.h"

struct wse_exchange;

/* pieces: those of all ranks; they stay until close */
int wse_exchange_open(struct wse_hosts *hosts, const struct wse_memx_pieces *pieces,
		      struct wse_exchange **x);
void wse_exchange_close(struct wse_exchange *x);
/* bytes of memory that it takes, for a step whose ranks leave so many subtrees of a unit in all */
uint64_t wse_exchange_memory(const struct wse_memx_pieces *pieces, uint32_t parts);
/* and besides, where gradients are in a file: pieces of this rank's subtrees on their way */
uint64_t wse_exchange_file_memory(const struct wse_memx_pieces *pieces, uint32_t ranks,
				  uint32_t parts);

/*
 * how gradients lie in a step is what the images say (wse_image_grad_rows()); they stay. Without
 * them all have the places of all weights
 */
void wse_exchange_images(struct wse_exchange *x, const struct wse_graph *g,
			 const struct wse_image *images);

/* a step: rank r has the micro-batches [cut[r], cut[r + 1]) of `leaves` */
void wse_exchange_begin(struct wse_exchange *x, uint32_t leaves, const uint32_t *cut);

/*
 * This rank has put its micro-batches into the unit's reduce; on return that has the sum of all in
 * the pieces that are this rank's, and nothing of use in the others. Every rank calls it for the
 * same units in the same order, those without a micro-batch, too. -EPROTO: a micro-batch of this
 * rank is missing.
 */
int wse_exchange_unit(struct wse_exchange *x, struct wse_reduce *reduce, uint32_t unit);
/*
 * after that: rank 0 gets all pieces of it, sum [floats of the unit], or NULL: it is in the file
 */
int wse_exchange_collect(struct wse_exchange *x, uint32_t unit, float *sum,
			 struct wse_grad_file *file);

/* gradients of few rows, sums [n]: every rank gets all parts and finishes the trees */
int wse_exchange_rows(struct wse_exchange *x, struct wse_row_sum *sums, uint32_t n);

/* rank r has elements [cut[r], cut[r + 1]) of `size` bytes; on return every rank has all of them */
int wse_exchange_all(struct wse_exchange *x, void *elements, size_t size, const uint32_t *cut);

/* each part from the rank that has it to all others: wse_memx_peers */
int wse_exchange_spread(struct wse_exchange *x, const struct wse_memx_part *part, uint32_t n);

#endif
