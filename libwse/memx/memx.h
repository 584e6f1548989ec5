/* SPDX-License-Identifier: MIT */
/*
 * MemoryX: where the weights live. fp32 masters and optimizer state; per step a set of bf16
 * streaming images that all devices read from the same memory. Nothing of a step is written before
 * its commit, so a step that lost a device is simply run again.
 *
 * One thread (the loop's) calls it; only wse_memx_layer_ready() is for the devices' threads.
 */
#ifndef WSE_TRAIN_MEMX_H
#define WSE_TRAIN_MEMX_H

#include "exec/exec.h"
#include "optim.h"

/* memory that devices read and write: made once, shared by all (see swarmx.h) */
struct wse_buf_pool {
	int (*alloc)(void *ctx, size_t size, struct wse_buf *buf);
	void (*free)(void *ctx, struct wse_buf *buf);
	void *ctx;
};

struct wse_memx;

struct wse_memx_cfg {
	struct wse_mlp mlp;
	struct wse_optim_cfg optim;
	struct wse_sched_list sched;
	double max_norm;	/* global gradient norm; 0: no clipping */
	uint64_t seed;		/* of the initial weights */
};

int wse_memx_open(const struct wse_memx_cfg *cfg, const struct wse_buf_pool *pool,
		  struct wse_memx **memx);
void wse_memx_close(struct wse_memx *mx);

/* The state that a checkpoint keeps. Arrays are [table.params] floats, one range per tensor. */
struct wse_memx_state {
	const struct wse_tensor_table *table;
	float *params, *m, *v;	/* v is NULL for SGD */
	uint64_t *step;		/* committed steps */
	double *beta1_pow, *beta2_pow;
};
void wse_memx_state(struct wse_memx *mx, struct wse_memx_state *state);
/* after the state was loaded or changed by hand: rebuild the images */
void wse_memx_refresh(struct wse_memx *mx);

/* images of the current step [nlinear]; valid until the commit after the next */
const struct wse_image *wse_memx_images(struct wse_memx *mx);
/* blocks until the layer's image of the current step is written; 0 */
int wse_memx_layer_ready(struct wse_memx *mx, uint32_t layer);

/*
 * The end of a step. grads [params] are the sums over all micro-batches and must stay as they are
 * until wse_memx_finish() has returned. *norm is their global norm (tensors in table order, see
 * wse_sum_squares). -ERANGE, and nothing changed, when it is not finite.
 * The embedding is updated at once (the host gathers the next inputs from it), the layers by
 * wse_memx_finish(): the next step's forward may be submitted between the two, its first layer
 * runs while later ones are updated.
 */
int wse_memx_commit(struct wse_memx *mx, const float *grads, double *norm, double *lr);
void wse_memx_finish(struct wse_memx *mx);

#endif
