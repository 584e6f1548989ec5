/* SPDX-License-Identifier: MIT */
/*
 * A decoder-only transformer, GPT-2's and GPT-3's form: learned positions, layer norm before each
 * half of a block, causal attention, a feed-forward layer, residuals, an output layer that may
 * share the embedding's weights. A vocabulary whose logits do not fit a core comes in chunks,
 * twice: for the loss, and again for the gradient. Where filter is no multiple of 4 x columns, the
 * wafer has more features, up to the next multiple, with weights of 0; it pads heads in this way,
 * and hidden beside them (gpt_sizes.h). The members from `norm` on say in what GPT-J, GPT-NeoX and
 * LLaMA differ from that.
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

/* beside the activations that a program may ask for: that of a gate */
#define WSE_SILU ((enum wse_activation)4)

/* biasless: layer norm, and nothing is added behind its gains (MPT) */
enum wse_gpt_norm { WSE_GPT_NORM_LAYER, WSE_GPT_NORM_RMS, WSE_GPT_NORM_BIASLESS };

/* attention, then the FFN on its sum; or both read the block's input, through one norm or two */
enum wse_gpt_block { WSE_GPT_SERIAL, WSE_GPT_PARALLEL_ONE, WSE_GPT_PARALLEL_TWO };

/* matrices that may have learning rates of their own */
enum wse_gpt_rate {
	WSE_GPT_RATE_WTE,
	WSE_GPT_RATE_WPE,
	WSE_GPT_RATE_QKV,
	WSE_GPT_RATE_PROJ,
	WSE_GPT_RATE_FC,
	WSE_GPT_RATE_FC2,
	WSE_GPT_RATE_HEAD,
	WSE_GPT_RATES
};

struct wse_gpt {
	uint32_t vocab;	    /* tokens; embedding rows */
	uint32_t positions; /* rows of the position table; a sequence is not longer */
	uint32_t seq;	    /* tokens of a sequence in training */
	uint32_t hidden, layers, heads, filter;
	enum wse_activation act;
	uint32_t tied; /* output layer = embedding */
	float eps;     /* of the norms */
	/*
	 * Initial weights: of the layers; of the embeddings, dev 0: as of the layers; of what adds
	 * to the residual, dev 0: as of the layers, but smaller. An output layer of its own has
	 * `dev`, and is not bounded.
	 */
	float dev; /* standard deviation, where initial.dev is 0 */
	struct wse_initial initial, embed, residual;
	/* the FFN's, where they are others: its first layer, its second */
	struct wse_initial ffn, ffn_residual;
	/* GPT-2 and GPT-3: all 0 but learned */
	enum wse_gpt_norm norm;
	enum wse_gpt_block block;
	uint32_t kv_heads; /* 0: as many as heads */
	uint32_t head_dim; /* features of a head; 0: hidden / heads */
	/* the file has these two, even where they are 0 here: advice of other sizes names them */
	uint8_t named_kv, named_inner;
	uint32_t rotary;   /* leading elements of a head that turn, even; 0: none */
	/* element i turns with i + rotary / 2 (NeoX, LLaMA), not with its neighbour (GPT-J) */
	uint32_t rotary_halves;
	float rotary_base;  /* 0: 10000 */
	float rotary_scale; /* positions are divided by it; 0: 1 */
	/* LLaMA 3's scaling of slow pairs alone: struct wse_rotary; original 0: all alike */
	float rotary_low, rotary_high, rotary_original;
	uint32_t learned;    /* a table of positions */
	uint32_t alibi;	     /* positions by slopes, which no rotary ones are beside */
	uint32_t embed_norm; /* a norm between the embeddings' sum and the first block (BLOOM) */
	uint32_t gated;	     /* SwiGLU: act(gate) x up */
	uint32_t no_qkv_bias, no_proj_bias, no_ffn_bias, head_bias;
	/*
	 * Maximal update parametrization (muP), each 0 where it is not: the embeddings' sum, scores
	 * of attention (0: 1 / sqrt(d)) and logits are multiplied by these
	 */
	float embed_scale, score_scale, logits_scale;
	float rate[WSE_GPT_RATES]; /* of the learning rate; 0: 1 */
	/*
	 * Dropout in training: of the embeddings' sum, of what attention and FFN add to the
	 * residual, of attention's probabilities; 0 to below 1
	 */
	float drop_embed, drop_residual, drop_attention;
};

extern const struct wse_model_family wse_family_gpt;

static inline const struct wse_gpt *wse_gpt(const struct wse_model *m)
{
	return (const struct wse_gpt *)m->family_data;
}

/* features of a head; of all heads of queries, which are attention's output */
static inline uint32_t wse_gpt_head_dim(const struct wse_gpt *m)
{
	return m->head_dim ? m->head_dim : m->hidden / m->heads;
}

static inline uint32_t wse_gpt_inner(const struct wse_gpt *m)
{
	return m->head_dim ? m->head_dim * m->heads : m->hidden;
}

/*
 * the first mode that makes again: nothing, norms and FFN, all but the second FFN layer of a block;
 * blocks between those whose input is kept, too; the first one where a block's input lies on the
 * host meanwhile
 */
extern const uint32_t wse_gpt_mode[5];

/*
 * -EINVAL when a size is 0, heads of no width of their own do not divide hidden, or seq is above
 * positions; the sentence says which. Tensors: wte, wpe, those of the blocks in Hugging Face's
 * order, ln_f, lm_head unless tied.
 */
int wse_gpt_init(struct wse_model *m, const struct wse_gpt *shape);

#endif
