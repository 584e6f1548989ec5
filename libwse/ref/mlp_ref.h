/* SPDX-License-Identifier: MIT */
/* The plain fp32 reference of the MLP language model, see mlp_ref.c. */
#ifndef WSE_REF_MLP_REF_H
#define WSE_REF_MLP_REF_H

#include <stdint.h>

#include "model/mlp.h"

struct mlp_ref {
	struct wse_mlp m;
	struct wse_tensor_table tab;
	uint32_t batch;				/* B tokens */
	/*
	 * Set after open: weights, embeddings and activations pass through bf16 where a wafer
	 * stores them; sums, biases and gradients stay fp32. A ReLU net needs this to be the same
	 * function: rounding puts a share p of the units on the other side of the kink, and
	 * gradients of two such nets differ by about sqrt(p), whatever device computes them.
	 */
	int bf16_storage;
	float *params, *grads, *m1, *m2;	/* [tab.params] each; AdamW's moments */
	float *rounded;				/* [tab.params]; for bf16_storage */
	const float *w;				/* [tab.params]; what the products take */
	float *act[WSE_MLP_MAX_LINEAR];		/* input of layer l: [B][width[l]] */
	float *pre[WSE_MLP_MAX_LINEAR];		/* output of layer l before act: [B][width[l+1]] */
	float *d0, *d1;				/* [B][widest] */
	float *loss;				/* [B] */
	uint64_t step;
};

/* 0 or -ENOMEM; parameters as wse_tensor_init() makes them */
int mlp_ref_open(struct mlp_ref *r, const struct wse_model *model, uint32_t batch, uint64_t seed);
void mlp_ref_close(struct mlp_ref *r);

/* context [B][window], target [B] -> mean loss; fills act, pre and d0 = dlogits */
double mlp_ref_forward(struct mlp_ref *r, const uint16_t *context, const uint16_t *target);
/* after a forward: all gradients of the mean loss in grads */
void mlp_ref_backward(struct mlp_ref *r, const uint16_t *context);
/* decoupled weight decay, not on biases */
void mlp_ref_adamw(struct mlp_ref *r, float lr, float beta1, float beta2, float eps, float decay);

/* `steps` steps on random windows of text [len]; the CPU peer of the benchmarks. Returns the mean
 * loss of the last tenth of the steps; tokens per second in *rate. */
double mlp_ref_train(struct mlp_ref *r, const uint8_t *text, uint64_t len, uint32_t steps, float lr,
		     double *rate);

#endif
