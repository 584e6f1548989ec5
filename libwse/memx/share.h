/* SPDX-License-Identifier: MIT */
/*
 * What the ranks of a run give each other of a step. The owner of a piece (pieces.h) has its
 * parameters and moments and the sum of its gradient; the others get its streaming image, as bf16,
 * of masked weights those that are there, and all get the squares of all gradients, so that each
 * knows the norm.
 */
#ifndef WSE_MEMX_SHARE_H
#define WSE_MEMX_SHARE_H

#include "graph/packed.h"
#include "memx/map.h"

/* bytes that one rank has and all others get into the same place */
struct wse_memx_part {
	uint32_t rank;
	void *at;
	size_t bytes;
};

/* the way to the other ranks; every rank makes the same calls, but of fetch */
struct wse_memx_peers {
	int (*spread)(void *ctx, const struct wse_memx_part *part, uint32_t n);
	/* an array of a piece, from its owner, who waits to be asked */
	int (*fetch)(void *ctx, uint32_t piece, enum wse_memx_array which, float *to, size_t count);
	void *ctx;
};

struct wse_share {
	const struct wse_map *map;
	const struct wse_image *images; /* [nunits], of every rank */
	struct wse_memx_peers peers;	/* spread NULL: there are none yet */
	/* [nunits]: parameters that every rank has, as the unit's images lie; or NULL */
	float **whole;
	/* before a unit's image is written, where images come and go; or NULL */
	int (*want)(void *ctx, uint32_t unit);
	/* what is written into a piece of another rank's that is in no unit */
	void (*show)(void *ctx, const struct wse_memx_piece *p, size_t from, size_t n,
		     const float *in);
	void *want_ctx; /* of both */
	double *squares; /* sums of blocks, of rank 0's pieces, of rank 1's, ... */
	size_t *at;	 /* [pieces.n]: the first of a piece */
	size_t *first;	 /* [ranks + 1] */
	struct wse_memx_part *parts;
	/* masked weights of a unit that are there, in the image's order [room] */
	uint16_t *packed;
	size_t room;
	/* the last piece that was fetched, UINT32_MAX: none; [pieces.longest] */
	uint32_t have;
	enum wse_memx_array which;
	float *fetched;
};

/* map and images stay until fini. -ENOMEM */
int wse_share_make(struct wse_share *s, const struct wse_map *map, const struct wse_image *images);
void wse_share_fini(struct wse_share *s);
/* every rank has the parameters of this unit in fp32, too. -ENOMEM */
int wse_share_whole(struct wse_share *s, uint32_t unit);

/* map.elsewhere: what is written goes into the image, what is read is fetched */
int wse_share_elsewhere(void *share, enum wse_memx_array which, uint32_t piece, size_t from,
			size_t n, float *out, const float *in);

/*
 * The sum of squares of every tensor's gradient, sum [tab.n], as wse_sum_squares() has it. grad()
 * gives the gradient of one of this rank's pieces; scratch: the longest vector of a unit. Every
 * rank gets all of them.
 */
int wse_share_squares(struct wse_share *s,
		      int (*grad)(void *ctx, uint32_t piece, const float **grad), void *ctx,
		      float *scratch, double *sum);

/*
 * After an update: images of a unit from the owners of its pieces, this rank's to the others. rows:
 * of its weights those that are there alone, the others are 0; NULL: all of them
 */
int wse_share_images(struct wse_share *s, uint32_t unit, const struct wse_packed *rows);

#endif
