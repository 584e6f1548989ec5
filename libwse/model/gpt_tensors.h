/* SPDX-License-Identifier: MIT */
/*
 * The parameters of a GPT, under the names that Hugging Face gives its family: GPT-2, GPT-J,
 * GPT-NeoX, LLaMA, BLOOM or MPT, whichever the form is. Private to the family.
 */
#ifndef WSE_MODEL_GPT_TENSORS_H
#define WSE_MODEL_GPT_TENSORS_H

#include "model/gpt.h"

enum wse_gpt_names {
	WSE_GPT_NAMES_GPT2,
	WSE_GPT_NAMES_GPTJ,
	WSE_GPT_NAMES_NEOX,
	WSE_GPT_NAMES_LLAMA,
	WSE_GPT_NAMES_BLOOM,
	WSE_GPT_NAMES_MPT
};

/*
 * RMS norm is LLaMA's, slopes behind a norm of the embeddings BLOOM's, slopes without a bias
 * anywhere MPT's, one norm of a parallel block GPT-J's, halves that turn NeoX's
 */
enum wse_gpt_names wse_gpt_names_of(const struct wse_gpt *m);

/* numbers of the table's rows; WSE_NO_TENSOR: the form has none */
struct wse_gpt_tensors {
	uint32_t wte, wpe, ln_e_g, ln_e_b, ln_f_g, ln_f_b;
	uint32_t head_w, head_b; /* head_w: wte if it is tied */
};

/*
 * qkv: queries of all heads, keys of all heads of keys, values; gated: fc is all of the gate, then
 * what it multiplies. Features of a head lie as Hugging Face has them
 */
struct wse_gpt_block_tensors {
	uint32_t ln1_g, ln1_b, qkv_w, qkv_b, proj_w, proj_b, ln2_g, ln2_b, fc_w, fc_b, fc2_w, fc2_b;
};

/* rows of the table in all */
uint32_t wse_gpt_tensors_of(const struct wse_gpt *m, struct wse_gpt_tensors *to);
void wse_gpt_block_tensors_of(const struct wse_gpt *m, uint32_t layer,
			      struct wse_gpt_block_tensors *to);
/* features of keys, or of values */
static inline uint32_t wse_gpt_kv_width(const struct wse_gpt *m)
{
	return wse_gpt_head_dim(m) * (m->kv_heads ? m->kv_heads : m->heads);
}

/* the table; -ENOMEM */
int wse_gpt_make_tensors(const struct wse_gpt *m, struct wse_tensor_table *tab);
/* "qkv 0.5, fc 0.5": which matrices have a part of the learning rate */
void wse_gpt_describe_rates(const struct wse_model *model, char *text, size_t size);
/* "embedding 0.1, residual 0.1, attention 0.1", those that are not 0 */
void wse_gpt_describe_dropout(const struct wse_model *model, char *text, size_t size);
/* appends to text [size] in what the form differs from GPT-2's, for checkpoints */
void wse_gpt_describe_form(const struct wse_gpt *m, char *text, size_t size);

#endif
