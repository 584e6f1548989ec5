/* SPDX-License-Identifier: MIT */
/* The plain fp32 reference of a GPT-2 or GPT-3 style decoder, see gpt_ref.c. */
#ifndef WSE_REF_GPT_REF_H
#define WSE_REF_GPT_REF_H

#include <stddef.h>
#include <stdint.h>

/* of its own: the reference shares nothing with what it judges */
enum gpt_ref_act {
	GPT_REF_GELU_NEW,	/* tanh form, GPT-2's "gelu_new" */
	GPT_REF_RELU,
	GPT_REF_RELU2,	/* relu(y)^2 */
	GPT_REF_GELU,	/* y Phi(y), by erf */
};

struct gpt_ref_cfg {
	uint32_t vocab;		/* V */
	uint32_t positions;	/* P, at least S */
	uint32_t hidden;	/* H */
	uint32_t layers;	/* L */
	uint32_t heads;		/* NH; a head is d = H / NH wide */
	uint32_t filter;	/* F, 4 H as a rule */
	enum gpt_ref_act act;
	float eps;		/* of the norms */
	int tied;		/* the output layer's weight is wte */
	/*
	 * What a wafer stores in bf16 passes through bf16: weights and embeddings and their sum,
	 * what a norm reads of the residual and its output, q, k, v, exp of the scores, the heads'
	 * outputs, the activation and its derivative, gradients where they enter a product. Sums,
	 * the residual and its gradient, vectors (biases, gains), the norms' mean and deviation,
	 * logits and the gradients of the parameters stay fp32.
	 */
	int bf16_storage;
};

/* One parameter tensor, a range of the flat arrays of parameters, gradients and moments. Matrices
 * are [out][in], embeddings [row][H]. */
struct gpt_ref_tensor {
	char name[64];		/* as Hugging Face names it */
	size_t off, count;	/* in floats */
	uint32_t ndim, dim[2];
	int transposed;		/* Hugging Face's files have it as [in][out] */
};

/* which tensor is which: WTE, WPE, then BLOCK tensors a layer, then the rest */
enum { GPT_WTE, GPT_WPE, GPT_BLOCKS };
enum { GPT_LN1_G, GPT_LN1_B, GPT_QKV_W, GPT_QKV_B, GPT_PROJ_W, GPT_PROJ_B,
       GPT_LN2_G, GPT_LN2_B, GPT_FC1_W, GPT_FC1_B, GPT_FC2_W, GPT_FC2_B, GPT_BLOCK };
enum { GPT_LNF_G, GPT_LNF_B, GPT_HEAD };	/* HEAD only if not tied */

static inline uint32_t gpt_ref_in_block(uint32_t layer, uint32_t k)
{
	return GPT_BLOCKS + layer * GPT_BLOCK + k;
}

static inline uint32_t gpt_ref_behind(const struct gpt_ref_cfg *c, uint32_t k)
{
	return gpt_ref_in_block(c->layers, k);
}

/* -EINVAL for a size of 0 or one that does not divide */
int gpt_ref_check(const struct gpt_ref_cfg *c);
uint32_t gpt_ref_ntensors(const struct gpt_ref_cfg *c);
/* tensor 0, 1, ... in the order of Hugging Face's files */
struct gpt_ref_tensor gpt_ref_tensor(const struct gpt_ref_cfg *c, uint32_t i);
size_t gpt_ref_offset(const struct gpt_ref_cfg *c, uint32_t i);	/* of tensor i */
size_t gpt_ref_nparams(const struct gpt_ref_cfg *c);

/* params [nparams] as GPT-2 begins: gains 1, biases 0, the rest normal with a deviation of 0.02,
 * what a block adds to the residual 1 / sqrt(2 L) of that */
void gpt_ref_init(const struct gpt_ref_cfg *c, uint64_t seed, float *params);

struct gpt_ref;

/* Workspace for up to `batch` sequences of `seq` tokens. `threads` are ours; OpenBLAS has its own
 * number. No result depends on it. 0, -EINVAL or -ENOMEM. */
int gpt_ref_open(struct gpt_ref **r, const struct gpt_ref_cfg *c, uint32_t batch, uint32_t seq,
		 uint32_t threads);
void gpt_ref_close(struct gpt_ref *r);

/*
 * Mean loss over the b x S tokens of `tokens` [b][S + 1]; every position predicts the next. grads
 * [nparams] is overwritten by the gradient of the mean, losses [b][S] by each token's loss; either
 * may be NULL. Tokens are below V, b is between 1 and `batch`.
 */
double gpt_ref_loss(struct gpt_ref *r, const float *params, const uint16_t *tokens, uint32_t b,
		    float *grads, float *losses);

struct gpt_ref_adamw {
	float beta1, beta2, eps;
	float decay;		/* decoupled; matrices and embeddings, not vectors */
	float clip;		/* largest norm of the whole gradient; 0: any */
};

/* Step 1, 2, ... in place on params, m, v [nparams]; returns the norm of grads before clipping. */
double gpt_ref_step(const struct gpt_ref_cfg *c, const struct gpt_ref_adamw *a, uint64_t step,
		    float lr, float *params, float *m, float *v, const float *grads);

#endif
