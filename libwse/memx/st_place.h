/* SPDX-License-Identifier: MIT */
/*
 * The tensors of a file that is written in another order than the file's: in that in which they are
 * kept, so that every part of the state is read once. A transposed tensor is written twice: its
 * lines come one by one, and go into the place of the stripe of the file that has a part of each,
 * as [columns][rows of the stripe]; with the last line each stripe is turned where it is, which is
 * still in the page cache: the disk writes most of it once.
 */
#ifndef WSE_MEMX_ST_PLACE_H
#define WSE_MEMX_ST_PLACE_H

#include "memx/safetensors.h"
#include "num/num.h"

struct wse_st_places {
	int fd;
	const struct wse_st *st;
	uint64_t *at; /* [ntensors]: a tensor's first byte in the file */
	size_t *left; /* [ntensors]: elements that were not placed yet */
	float *room, *stripe;
	uint64_t placed; /* bytes */
	uint64_t stay;	 /* of those, bytes that are not written again */
};

/* begin: where the first tensor is in the file. st stays until close. -ENOMEM */
int wse_st_places_open(struct wse_st_places *p, int fd, const struct wse_st *st, uint64_t begin);
void wse_st_places_close(struct wse_st_places *p);

/* a wse_st_place_fn (safetensors.h); places: the struct */
int wse_st_place(void *places, uint32_t i, size_t from, size_t count, const float *data);

/*
 * All of tensor i was placed: its bytes as the file has them, in their order, to each(); what that
 * said first that is not 0. -EIO where the file was cut
 */
int wse_st_places_finish(struct wse_st_places *p, uint32_t i,
			 int (*each)(void *ctx, const void *data, size_t bytes), void *ctx);

/* bytes of memory that it takes at most */
size_t wse_st_places_memory(const struct wse_st *st);

#endif
