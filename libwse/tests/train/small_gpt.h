/* SPDX-License-Identifier: MIT */
/* Small models of the families that Hugging Face has, and the tensors of their files. */
#ifndef WSE_TEST_SMALL_GPT_H
#define WSE_TEST_SMALL_GPT_H

#include "model/gpt.h"

/* one layer of each: 16 wide, 4 heads of 4, 2 of keys in LLaMA */
#define SMALL .vocab = 24, .hidden = 16, .layers = 1, .heads = 4, .filter = 40, .seq = 8

#define MPT_SMALL                                                                               \
	.vocab = 24, .hidden = 16, .layers = 1, .heads = 4, .filter = 64, .seq = 8, .alibi = 1, \
	.tied = 1, .norm = WSE_GPT_NORM_BIASLESS, .no_qkv_bias = 1, .no_proj_bias = 1,          \
	.no_ffn_bias = 1

/* what the index of a published model of that family lists, in the order of our files */
static const struct {
	const char *name;
	struct wse_gpt shape;
	const char *want;
} small[] = {
	{"GPT-2",
	 {SMALL, .positions = 8, .learned = 1, .tied = 1},
	 "transformer.wte.weight 24 16\ntransformer.wpe.weight 8 16\n"
	 "transformer.h.0.ln_1.weight 16\ntransformer.h.0.ln_1.bias 16\n"
	 "transformer.h.0.attn.c_attn.weight 16 48\ntransformer.h.0.attn.c_attn.bias 48\n"
	 "transformer.h.0.attn.c_proj.weight 16 16\ntransformer.h.0.attn.c_proj.bias 16\n"
	 "transformer.h.0.ln_2.weight 16\ntransformer.h.0.ln_2.bias 16\n"
	 "transformer.h.0.mlp.c_fc.weight 16 40\ntransformer.h.0.mlp.c_fc.bias 40\n"
	 "transformer.h.0.mlp.c_proj.weight 40 16\ntransformer.h.0.mlp.c_proj.bias 16\n"
	 "transformer.ln_f.weight 16\ntransformer.ln_f.bias 16\n"},
	{"GPT-J",
	 {SMALL, .block = WSE_GPT_PARALLEL_ONE, .rotary = 2, .no_qkv_bias = 1, .no_proj_bias = 1,
	  .head_bias = 1},
	 "transformer.wte.weight 24 16\n"
	 "transformer.h.0.ln_1.weight 16\ntransformer.h.0.ln_1.bias 16\n"
	 "transformer.h.0.attn.q_proj.weight 16 16\ntransformer.h.0.attn.k_proj.weight 16 16\n"
	 "transformer.h.0.attn.v_proj.weight 16 16\ntransformer.h.0.attn.out_proj.weight 16 16\n"
	 "transformer.h.0.mlp.fc_in.weight 40 16\ntransformer.h.0.mlp.fc_in.bias 40\n"
	 "transformer.h.0.mlp.fc_out.weight 16 40\ntransformer.h.0.mlp.fc_out.bias 16\n"
	 "transformer.ln_f.weight 16\ntransformer.ln_f.bias 16\n"
	 "lm_head.weight 24 16\nlm_head.bias 24\n"},
	{"GPT-NeoX",
	 {SMALL, .block = WSE_GPT_PARALLEL_TWO, .rotary = 2, .rotary_halves = 1},
	 "gpt_neox.embed_in.weight 24 16\n"
	 "gpt_neox.layers.0.input_layernorm.weight 16\n"
	 "gpt_neox.layers.0.input_layernorm.bias 16\n"
	 "gpt_neox.layers.0.attention.query_key_value.weight 48 16\n"
	 "gpt_neox.layers.0.attention.query_key_value.bias 48\n"
	 "gpt_neox.layers.0.attention.dense.weight 16 16\n"
	 "gpt_neox.layers.0.attention.dense.bias 16\n"
	 "gpt_neox.layers.0.post_attention_layernorm.weight 16\n"
	 "gpt_neox.layers.0.post_attention_layernorm.bias 16\n"
	 "gpt_neox.layers.0.mlp.dense_h_to_4h.weight 40 16\n"
	 "gpt_neox.layers.0.mlp.dense_h_to_4h.bias 40\n"
	 "gpt_neox.layers.0.mlp.dense_4h_to_h.weight 16 40\n"
	 "gpt_neox.layers.0.mlp.dense_4h_to_h.bias 16\n"
	 "gpt_neox.final_layer_norm.weight 16\ngpt_neox.final_layer_norm.bias 16\n"
	 "embed_out.weight 24 16\n"},
	{"LLaMA",
	 {SMALL, .norm = WSE_GPT_NORM_RMS, .rotary = 4, .rotary_halves = 1, .gated = 1,
	  .no_qkv_bias = 1, .no_proj_bias = 1, .no_ffn_bias = 1, .kv_heads = 2},
	 "model.embed_tokens.weight 24 16\n"
	 "model.layers.0.input_layernorm.weight 16\n"
	 "model.layers.0.self_attn.q_proj.weight 16 16\n"
	 "model.layers.0.self_attn.k_proj.weight 8 16\n"
	 "model.layers.0.self_attn.v_proj.weight 8 16\n"
	 "model.layers.0.self_attn.o_proj.weight 16 16\n"
	 "model.layers.0.post_attention_layernorm.weight 16\n"
	 "model.layers.0.mlp.gate_proj.weight 40 16\nmodel.layers.0.mlp.up_proj.weight 40 16\n"
	 "model.layers.0.mlp.down_proj.weight 16 40\n"
	 "model.norm.weight 16\nlm_head.weight 24 16\n"},
	{"MPT",
	 {MPT_SMALL},
	 "transformer.wte.weight 24 16\n"
	 "transformer.blocks.0.norm_1.weight 16\ntransformer.blocks.0.attn.Wqkv.weight 48 16\n"
	 "transformer.blocks.0.attn.out_proj.weight 16 16\n"
	 "transformer.blocks.0.norm_2.weight 16\ntransformer.blocks.0.ffn.up_proj.weight 64 16\n"
	 "transformer.blocks.0.ffn.down_proj.weight 16 64\ntransformer.norm_f.weight 16\n"},
};

enum { SMALLS = sizeof(small) / sizeof(*small) };

#endif
