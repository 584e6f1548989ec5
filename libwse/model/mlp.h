/* SPDX-License-Identifier: MIT */
/*
 * The token-level MLP language model: the last `window` tokens are looked up in an embedding table,
 * concatenated, and go through linear layers to a softmax over the vocabulary.
 *
 *   x0 [window*embed] -> linear + act -> ... -> linear -> logits [vocab] -> cross-entropy
 */
#ifndef WSE_MODEL_MLP_H
#define WSE_MODEL_MLP_H

#include <stdint.h>

#include "model/family.h"

#define WSE_MLP_MAX_LINEAR 32
#define WSE_MLP_MAX_INPUT (1u << 20)	/* window x embed */


struct wse_mlp {
	uint32_t window;	/* tokens of context */
	uint32_t embed;		/* width of one embedding row */
	uint32_t vocab;		/* classes of the softmax, and embedding rows */
	uint32_t nlinear;	/* linear layers: hidden ones and the output layer */
	enum wse_activation act;	/* after every linear layer but the last */
	/* layer l maps width[l] (K) inputs to width[l + 1] (N) outputs;
	 * width[0] = window * embed, width[nlinear] = vocab */
	uint32_t width[WSE_MLP_MAX_LINEAR + 1];
};

extern const struct wse_model_family wse_family_mlp;

/* the shape in a model of this family */
static inline const struct wse_mlp *wse_mlp(const struct wse_model *m)
{
	return (const struct wse_mlp *)m->family_data;
}

/* numbers in the tensor table */
static inline uint32_t wse_mlp_weight(uint32_t layer)
{
	return 1 + 2 * layer;
}

static inline uint32_t wse_mlp_bias(uint32_t layer)
{
	return 2 + 2 * layer;
}

/*
 * -EINVAL when a size is 0 or the number of layers is out of range. Tensors: wte, then weight
 * [N][K] and bias [N] of each layer
 */
int wse_mlp_init(struct wse_model *m, uint32_t window, uint32_t embed, uint32_t vocab,
		 const uint32_t *hidden, uint32_t nhidden, enum wse_activation act);

#endif
