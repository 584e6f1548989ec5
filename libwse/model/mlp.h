/* SPDX-License-Identifier: MIT */
/*
 * The byte-level MLP language model: the last `window` bytes are looked up in an embedding table,
 * concatenated, and go through linear layers to a softmax over the vocabulary.
 *
 *   x0 [window*embed] -> linear + act -> ... -> linear -> logits [vocab] -> cross-entropy
 */
#ifndef WSE_TRAIN_MODEL_H
#define WSE_TRAIN_MODEL_H

#include <stddef.h>
#include <stdint.h>

#define WSE_MLP_MAX_LINEAR 32
#define WSE_MLP_MAX_TENSORS (1 + 2 * WSE_MLP_MAX_LINEAR)

enum wse_act { WSE_ACT_RELU, WSE_ACT_GELU };

struct wse_mlp {
	uint32_t window;	/* bytes of context */
	uint32_t embed;		/* width of one embedding row */
	uint32_t vocab;		/* classes of the softmax, and embedding rows */
	uint32_t nlinear;	/* linear layers: hidden ones and the output layer */
	enum wse_act act;	/* after every linear layer but the last */
	/* layer l maps width[l] (K) inputs to width[l + 1] (N) outputs;
	 * width[0] = window * embed, width[nlinear] = vocab */
	uint32_t width[WSE_MLP_MAX_LINEAR + 1];
};

/* One parameter tensor, a range of the flat arrays of parameters, gradients and moments. */
struct wse_tensor {
	char name[64];		/* as Hugging Face names it */
	size_t off, count;	/* in floats */
	uint32_t ndim, dim[2];	/* row-major */
	int layer;		/* linear layer, -1 for the embedding */
	int is_bias;		/* biases take no weight decay */
};

struct wse_tensor_table {
	uint32_t n;
	size_t params;		/* floats in all */
	struct wse_tensor t[WSE_MLP_MAX_TENSORS];
};

/* -EINVAL when a size is 0 or the number of layers is out of range */
int wse_mlp_init(struct wse_mlp *m, uint32_t window, uint32_t embed, uint32_t vocab,
		 const uint32_t *hidden, uint32_t nhidden, enum wse_act act);

/* order: wte, then weight [N][K] and bias [N] of each layer */
void wse_mlp_tensors(const struct wse_mlp *m, struct wse_tensor_table *tab);

/* index in the table */
static inline uint32_t wse_mlp_weight(uint32_t layer)
{
	return 1 + 2 * layer;
}

static inline uint32_t wse_mlp_bias(uint32_t layer)
{
	return 2 + 2 * layer;
}

/* params [tab->params]; normal weights by (seed, tensor, element), zero biases */
void wse_mlp_init_params(const struct wse_mlp *m, uint64_t seed, float *params);

/* multiply-adds of the forward pass for one token; a training step does 3 x as many */
uint64_t wse_mlp_macs(const struct wse_mlp *m);

/*
 * Where did a NaN come from? Plain fp32 forward of one token (x0 [width[0]]), on the host, for the
 * error message only. Returns the first layer whose output is not finite, -1 for the embedding,
 * nlinear when all are finite. scratch [2 * wse_mlp_widest()].
 */
int wse_mlp_find_nonfinite(const struct wse_mlp *m, const float *params, const float *x0,
			   float *scratch);
uint32_t wse_mlp_widest(const struct wse_mlp *m);

#endif
