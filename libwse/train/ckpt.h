/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints: parameters, optimizer state and everything else that decides the next step's bits,
 * in one safetensors file. It holds no device names, counts or times, so equal training gives equal
 * files.
 */
#ifndef WSE_TRAIN_CKPT_H
#define WSE_TRAIN_CKPT_H

#include "memx.h"

/* what decides a step's bits besides the tensors */
struct wse_train_state {
	uint64_t shuffle_seed, epoch, position;	/* data loader */
	uint64_t batch, micro_batch;		/* tokens */
	uint32_t rows, cols, lanes;		/* tile shape: decides the order of sums */
};

int wse_ckpt_save(const char *path, struct wse_memx *mx, const struct wse_mlp *m,
		  const struct wse_optim_cfg *optim, const struct wse_train_state *ts);

/*
 * Resume: everything is restored, and must fit the model, optimizer, batch and tile of this run
 * (-EINVAL, with what differs in why [WSE_WHY]). With params_only (evaluation, generation) only the
 * parameters must fit. -EBADMSG for a damaged file. Nothing is changed on error.
 */
int wse_ckpt_load(const char *path, struct wse_memx *mx, const struct wse_mlp *m,
		  const struct wse_optim_cfg *optim, int params_only, struct wse_train_state *ts,
		  char *why);

/* SHA-256 over tensors and training state, hex [65] */
int wse_ckpt_hash(const char *path, char *hex, char *why);

#endif
