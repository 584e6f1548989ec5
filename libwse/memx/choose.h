/* SPDX-License-Identifier: MIT */
/*
 * Which weights a mask has: by generator, by magnitude, by gradient. Always so many of a part, and
 * of equals those with the smaller index come first, so that a mask depends on the part's numbers
 * alone: not on the tile, the order of images, devices or ranks.
 */
#ifndef WSE_MEMX_CHOOSE_H
#define WSE_MEMX_CHOOSE_H

#include "memx/mask.h"
#include "memx/share.h"

/* of a part of the weights what each rank sends each other one for a choice among them: counts */
#define WSE_CHOOSE_BYTES (8ull * 256 * sizeof(uint64_t))

/* streams of the generator, above those of initial values; | tensor */
#define WSE_CHOOSE_RANDOM ((uint64_t)0x6d61736b << 32)
/* and of what grows after a step; | tensor, and the step is in the seed */
#define WSE_CHOOSE_GROW	  ((uint64_t)0x67726f77 << 32)

/*
 * Masks of a group's init at the model's initial weights: random, those with the smallest
 * wse_rng_u64(seed, WSE_CHOOSE_RANDOM | tensor, element of the tensor) are left out; topk, those of
 * the smallest magnitude. None where a file has the masks. -ENOMEM
 */
int wse_choose_first(struct wse_masks *m, uint64_t seed);

/* how what this rank keeps is looked at; one piece at a time */
struct wse_choose_source {
	/* parameters of a piece, and (grad not NULL) the sum of its gradient */
	int (*get)(void *ctx, uint32_t piece, const float **p, const float **grad);
	int (*put)(void *ctx, uint32_t piece);
	void *ctx;
	const struct wse_memx_peers *peers; /* of several ranks; spread NULL: alone */
};

/* masks of groups that are topk have all weights, until wse_choose_largest() */
void wse_choose_all(struct wse_masks *m);
/* next masks of groups that are topk: those of the largest magnitudes that MemoryX has now */
int wse_choose_largest(struct wse_masks *m, const struct wse_choose_source *from);
/*
 * Next masks of the groups that are due after this step, whose gradient is there: of the weights
 * that are there the smallest go, and as many that are not, or have just gone, come: by generator
 * (SET), or by the magnitude of their gradient (RigL). *any: is one due?
 */
int wse_choose_step(struct wse_masks *m, const struct wse_choose_source *from, uint64_t seed,
		    uint64_t step, int *any);
/*
 * Units whose gradient is of all weights, not of those in the mask: those with a part that
 * is due after this step and takes weights by their gradient (RigL); dense_grad of their images
 */
void wse_choose_dense_grads(const struct wse_masks *m, uint64_t step, struct wse_image *images);

#endif
