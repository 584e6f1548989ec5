/* SPDX-License-Identifier: MIT */
/*
 * A decoder-only transformer, GPT-2's and GPT-3's form: learned positions, layer norm before each
 * half of a block, causal attention, a feed-forward layer, residuals, an output layer that may
 * share the embedding's weights. A vocabulary whose logits do not fit a core comes in chunks,
 * twice: for the loss, and again for the gradient.
 */
#ifndef WSE_MODEL_GPT_H
#define WSE_MODEL_GPT_H

#include <stdint.h>

#include "model/family.h"

/* of initial weights: normal; between low and high, unless both are 0 */
struct wse_initial {
	float mean, dev, low, high;
};

/* what the family takes at most */
enum {
	WSE_GPT_MAX_VOCAB = WSE_VOCAB_MAX,
	WSE_GPT_MAX_WIDTH = 1 << 20, /* hidden, filter */
	WSE_GPT_MAX_LAYERS = 10000,
	WSE_GPT_MAX_HEADS = 1 << 16,
	WSE_GPT_MAX_POSITIONS = 1 << 16,
};

struct wse_gpt {
	uint32_t vocab;		/* tokens; embedding rows */
	uint32_t positions;	/* rows of the position table; a sequence is not longer */
	uint32_t seq;		/* tokens of a sequence in training */
	uint32_t hidden, layers, heads, filter;
	enum wse_activation act;
	uint32_t tied;		/* output layer = embedding */
	float eps;		/* of the norms */
	/*
	 * Initial weights: of the layers; of the embeddings, dev 0: as of the layers; of what adds
	 * to the residual, dev 0: as of the layers, but smaller. An output layer of its own has
	 * `dev`, and is not bounded.
	 */
	float dev;		/* standard deviation, where initial.dev is 0 */
	struct wse_initial initial, embed, residual;
};

extern const struct wse_model_family wse_family_gpt;

static inline const struct wse_gpt *wse_gpt(const struct wse_model *m)
{
	return (const struct wse_gpt *)m->family_data;
}

/*
 * the first mode that makes again: nothing, norms and FFN, all but the second FFN layer of a block;
 * the first one where a block's input lies on the host meanwhile, too
 */
extern const uint32_t wse_gpt_mode[4];

/*
 * -EINVAL when a size is 0, heads do not divide hidden, or seq is above positions; the sentence says which.
 * Tensors: wte, wpe, those of the blocks in Hugging Face's order, ln_f, lm_head unless tied.
 */
int wse_gpt_init(struct wse_model *m, const struct wse_gpt *shape);

#endif
