/* SPDX-License-Identifier: MIT */
/* The plain fp32 reference of GPT-J, GPT-NeoX, LLaMA, BTLM and MPT, see decoder_ref.c. */
#ifndef WSE_REF_DECODER_REF_H
#define WSE_REF_DECODER_REF_H

#include <stddef.h>
#include <stdint.h>

/*
 *             GPT-J                    GPT-NeoX                     LLaMA
 * norm        layer                    layer                        RMS, without bias
 * block       x + A(n1 x) + F(n1 x)    x + A(n1 x) + F(n2 x);       y = x + A(n1 x),
 *                                      serial: as LLaMA             y + F(n2 y)
 * FFN         fc2(act(fc1 c))          as GPT-J                     down(silu(gate c) up(c))
 * rotary      neighbours: 2i, 2i + 1   halves: i, i + rotary / 2    as NeoX
 * biases      FFN, output layer        all layers but the output    none; those of the FFN
 *
 * BTLM (and Jais): layer norm, LLaMA's block and FFN, biases in all layers but the output, no
 * rotary part. MPT: layer norm without a bias, LLaMA's block, GPT-J's FFN, no biases, no rotary
 * part.
 */
enum decoder_family { DECODER_GPTJ, DECODER_NEOX, DECODER_LLAMA, DECODER_BTLM, DECODER_MPT };
enum decoder_act { DECODER_GELU, /* by erf */ DECODER_GELU_TANH, DECODER_RELU, DECODER_SILU };

struct decoder_cfg {
	enum decoder_family family;
	uint32_t vocab;	   /* V */
	uint32_t hidden;   /* H */
	uint32_t layers;   /* L */
	uint32_t heads;	   /* NH; a head is d = H / NH wide */
	uint32_t kv_heads; /* of keys and values, 0: NH; query head i reads i / (NH / kv_heads) */
	uint32_t head_dim; /* d where it is another; attention is NH d wide */
	uint32_t filter;   /* F */
	uint32_t rotary;   /* leading elements of a head that turn, even */
	float base, scale; /* pair i of token t turns by t / scale * base^(-2 i / rotary) */
	/*
	 * original 0: so it does. Else LLaMA 3's scaling: a pair that turns more than `high` times
	 * in `original` tokens has scale 1, one that turns less than `low` times has `scale`, and
	 * between them the speed is mixed, in proportion to the turns
	 */
	float low, high, original;
	/* muP, each 0 where it is not: of embeddings; of q k, not 1 / sqrt(d); of logits */
	float embed_scale, score_scale, logits_scale;
	enum decoder_act act; /* LLaMA's gate too */
	float eps;
	int serial; /* of NeoX: use_parallel_residual false */
	int tied;   /* the output layer's weight is that of the embedding */
	int embed_norm; /* a norm, as the others are, between the embeddings and the first block */
	int ffn_bias; /* of LLaMA: mlp_bias */
	int alibi;  /* scores of a head fall by its slope with each token between; no rotary part */
};

/* One parameter tensor, a range of the flat arrays of parameters and gradients. Matrices are
 * [out][in], and everything lies as in Hugging Face's files. */
struct decoder_tensor {
	char name[64]; /* as there */
	size_t off, count;
	uint32_t ndim, dim[2];
};

/* -EINVAL for a size of 0, one that does not divide, or a rotary part that is none */
int decoder_check(const struct decoder_cfg *c);
/* features of a head */
static inline uint32_t decoder_head(const struct decoder_cfg *c)
{
	return c->head_dim ? c->head_dim : c->hidden / c->heads;
}
uint32_t decoder_ntensors(const struct decoder_cfg *c);
struct decoder_tensor decoder_tensor(const struct decoder_cfg *c, uint32_t i);
size_t decoder_nparams(const struct decoder_cfg *c);
/* gains 1, biases 0, the rest normal: 0.02, what adds to the residual 1 / sqrt(2 L) of that */
void decoder_init(const struct decoder_cfg *c, uint64_t seed, float *params);

/*
 * Mean loss over the b x s tokens of `tokens` [b][s + 1]; every position predicts the next. grads
 * [nparams] is overwritten by the gradient of the mean, logits [b][s][V] by what the softmax is
 * taken of; either may be NULL. NaN without memory.
 */
double decoder_loss(const struct decoder_cfg *c, const float *params, const uint32_t *tokens,
		    uint32_t b, uint32_t s, float *grads, float *logits);

#endif
