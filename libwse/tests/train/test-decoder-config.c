// SPDX-License-Identifier: MIT
/*
 * Parameter files of decoders, by the Model Zoo's keys: which form each of them gives, and what is
 * refused by its line.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "input/config.h"
#include "model/gpt.h"
#include "tap.h"

static int read_model(const char *model, struct wse_config *c)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 "trainer:\n"
		 "  init:\n"
		 "    model: {%s}\n"
		 "    optimizer: {AdamW: {}}\n"
		 "    schedulers: [{ConstantLR: {learning_rate: 1.0e-3}}]\n"
		 "    loop: {max_steps: 1}\n"
		 "    sampling: {bytes: 0}\n"
		 "  fit:\n"
		 "    train_dataloader: {batch_size: 1, data_dir: nowhere}\n"
		 "    val_dataloader: {held_out_bytes: 64}\n",
		 model);
	return wse_config_parse("f.yaml", text, strlen(text), NULL, 0, c);
}

#define SIZES                                                                                 \
	"vocab_size: 256, hidden_size: 64, num_hidden_layers: 2, num_heads: 8, filter_size: " \
	"96, max_position_embeddings: 32, "

static const struct wse_gpt sizes = {.vocab = 256,
				     .positions = 32,
				     .seq = 32,
				     .hidden = 64,
				     .layers = 2,
				     .heads = 8,
				     .filter = 96,
				     .act = WSE_GELU,
				     .eps = 1e-5f,
				     .dev = 0.02f};

static int same_form(const struct wse_gpt *a, const struct wse_gpt *b)
{
	return a->norm == b->norm && a->block == b->block && a->kv_heads == b->kv_heads &&
	       a->rotary == b->rotary && a->rotary_halves == b->rotary_halves &&
	       a->rotary_base == b->rotary_base && a->rotary_scale == b->rotary_scale &&
	       a->rotary_low == b->rotary_low && a->rotary_high == b->rotary_high &&
	       a->rotary_original == b->rotary_original && a->learned == b->learned &&
	       a->alibi == b->alibi && a->embed_norm == b->embed_norm && a->gated == b->gated &&
	       a->no_qkv_bias == b->no_qkv_bias && a->no_proj_bias == b->no_proj_bias &&
	       a->no_ffn_bias == b->no_ffn_bias && a->head_bias == b->head_bias &&
	       a->tied == b->tied && a->act == b->act && a->hidden == b->hidden &&
	       a->heads == b->heads && a->filter == b->filter && a->seq == b->seq &&
	       a->drop_embed == b->drop_embed && a->drop_residual == b->drop_residual &&
	       a->drop_attention == b->drop_attention;
}

static void gives(const char *what, const char *model, struct wse_gpt want)
{
	struct wse_config c;
	int ret = read_model(model, &c);

	ok(!ret && same_form(wse_gpt(&c.model), &want), "%s%s%s", what, ret ? ": " : "",
	   ret ? wse_error() : "");
}

static void refused(const char *model, const char *says)
{
	struct wse_config c;
	int ret = read_model(model, &c);

	ok(ret == -EINVAL && strstr(wse_error(), "line 3") && strstr(wse_error(), says), "%s",
	   ret ? wse_error() : model);
}

static void forms(void)
{
	struct wse_gpt m = sizes;

	m.learned = m.tied = 1;
	gives("gpt3 is what it was", "name: gpt3, " SIZES, m);

	m = sizes;
	m.block = WSE_GPT_PARALLEL_ONE;
	m.no_qkv_bias = m.no_proj_bias = m.head_bias = 1;
	m.rotary = 2;
	m.rotary_base = 10000.0f;
	m.rotary_scale = 1.0f;
	gives("gptj as the family is", "name: gptj, " SIZES, m);
	m.rotary = 6;
	gives("gptj in the words of the published file",
	      "name: gptj, " SIZES "position_embedding_type: rotary, rotary_dim: 6, "
	      "share_embedding_weights: false, use_projection_bias_in_attention: false, "
	      "use_ffn_bias_in_attention: false, use_ffn_bias: true, use_bias_in_output: true, "
	      "nonlinearity: gelu, attention_type: scaled_dot_product, "
	      "attention_dropout_rate: 0.0, residual_dropout_rate: 0.0, "
	      "embedding_dropout_rate: 0.0, layer_norm_epsilon: 1.0e-05, loss_scaling: "
	      "num_tokens, loss_weight: 1.0",
	      m);
	m.drop_residual = m.drop_embed = 0.1f;
	m.drop_attention = 0.2f;
	gives("gptj with dropout, of the embeddings the same",
	      "name: gptj, rotary_dim: 6, " SIZES "residual_dropout_rate: 0.1, "
	      "embedding_dropout_rate: null, attention_dropout_rate: 0.2",
	      m);
	m.drop_embed = 0.0f;
	gives("gptj with dropout, of the embeddings none",
	      "name: gptj, rotary_dim: 6, " SIZES "dropout_rate: 0.1, embd_pdrop: 0, "
	      "attention_dropout_rate: 0.2",
	      m);
	m.drop_residual = m.drop_attention = 0.0f;
	m.block = WSE_GPT_PARALLEL_TWO;
	m.rotary_halves = 1;
	m.no_qkv_bias = m.no_proj_bias = m.head_bias = 0;
	gives("GPT-NeoX as the Model Zoo calls it: gptj with two norms",
	      "name: gptj, " SIZES "rotary_dim: 6, use_untied_layer_norm: true, "
	      "use_projection_bias_in_attention: true, use_ffn_bias_in_attention: true, "
	      "use_bias_in_output: false",
	      m);
	m.rotary = 2;
	gives("gpt_neox", "name: gpt_neox, " SIZES, m);
	m.block = WSE_GPT_SERIAL;
	gives("gpt_neox in series", "name: gpt_neox, " SIZES "use_parallel_residual: false", m);
	m.rotary = 0;
	m.rotary_base = m.rotary_scale = 0.0f;
	m.alibi = 1;
	m.embed_norm = 1;
	gives("gpt_neox with slopes and a norm behind the embeddings",
	      "name: gpt_neox, " SIZES "use_parallel_residual: false, "
	      "position_embedding_type: alibi, alibi_trainable_slopes: false, "
	      "embedding_layer_norm: true",
	      m);

	m = sizes;
	m.norm = WSE_GPT_NORM_RMS;
	m.gated = m.no_qkv_bias = m.no_proj_bias = m.no_ffn_bias = 1;
	m.act = WSE_SILU;
	m.rotary = 8;
	m.rotary_halves = 1;
	m.rotary_base = 10000.0f;
	m.rotary_scale = 1.0f;
	gives("llama as the family is", "name: llama, " SIZES, m);
	gives("with attention as wide as hidden_size",
	      "name: llama, " SIZES "attention_inner_dim: 64", m);
	m.head_dim = m.rotary = 4;
	gives("mistral with narrower heads, all of which turn",
	      "name: mistral, " SIZES "attention_inner_dim: 32", m);
	m.head_dim = 0;
	m.rotary = 8;
	m.tied = 1;
	m.rotary_base = 500000.0f;
	m.rotary_scale = 4.0f;
	gives("llama in the words of the published files",
	      "name: llama, " SIZES "position_embedding_type: rotary, rotary_dim: 8, "
	      "rope_theta: 500000.0, pos_scaling_factor: 4.0, pos_scaling_type: linear, "
	      "share_embedding_weights: true, norm_type: rmsnorm, nonlinearity: swiglu, "
	      "use_ffn_bias: false, use_projection_bias_in_attention: false, "
	      "use_ffn_bias_in_attention: false, use_bias_in_output: false, "
	      "embedding_layer_norm: false, attention_module: aiayn_attention",
	      m);
	m.rotary_scale = 8.0f;
	m.rotary_low = 1.0f;
	m.rotary_high = 4.0f;
	m.rotary_original = 8192.0f;
	gives("llama3 scaling in the words of the published files",
	      "name: llama, " SIZES "rope_theta: 500000.0, pos_scaling_type: llama3, "
	      "pos_scaling_factor: 8.0, pos_scaling_extra_args: {high_freq_factor: 4.0, "
	      "low_freq_factor: 1.0, original_max_position_embeddings: 8192}, "
	      "share_embedding_weights: true",
	      m);
	gives("and without its numbers, which have the same defaults",
	      "name: llama, " SIZES "rope_theta: 500000.0, pos_scaling_type: llama3, "
	      "pos_scaling_factor: 8.0, share_embedding_weights: true",
	      m);
}

static void mpt(void)
{
	struct wse_gpt m = sizes;

	m.norm = WSE_GPT_NORM_BIASLESS;
	m.alibi = m.tied = m.no_qkv_bias = m.no_proj_bias = m.no_ffn_bias = 1;
	gives("mpt in the words of the published files",
	      "name: mpt, " SIZES "position_embedding_type: alibi, share_embedding_weights: true, "
	      "embedding_dropout_rate: 0, embedding_layer_norm: false, dropout_rate: 0, "
	      "layer_norm_epsilon: 1.0e-5, norm_type: biasless-layernorm, attention_module: "
	      "aiayn_attention, attention_type: scaled_dot_product, attention_dropout_rate: 0, "
	      "use_projection_bias_in_attention: false, use_ffn_bias_in_attention: false, "
	      "nonlinearity: gelu, use_ffn_bias: false, use_bias_in_output: false, "
	      "loss_weight: 0.00048828125, mixed_precision: true",
	      m);
	m.alibi = m.no_qkv_bias = m.no_proj_bias = m.no_ffn_bias = 0;
	m.learned = 1;
	gives("norms alone without a bias", "name: gpt3, " SIZES "norm_type: biasless-layernorm",
	      m);
}

static void faults(void)
{
	refused("name: gptj, " SIZES "rotary_dim: 5", "rotary_dim 5 is odd");
	refused("name: gptj, " SIZES "rotary_dim: 10",
		"rotary_dim 10 is more than the 8 features of a head: choose 8");
	refused("name: llama, " SIZES "extra_attention_params: {num_kv_groups: 3}",
		"num_kv_groups 3 heads of keys do not divide num_heads 8: choose 2");
	refused("name: llama, " SIZES "attention_num_kv_heads: 5",
		"5 heads of keys do not divide num_heads 8: choose 4");
	refused("name: llama, " SIZES "attention_module: multiquery_attention",
		"wants extra_attention_params");
	refused("name: llama, " SIZES "attention_module: aiayn_attention, "
		"extra_attention_params: {num_kv_groups: 4}",
		"is for attention_module: multiquery_attention");
	refused("name: llama, " SIZES "pos_scaling_type: llama3, pos_scaling_factor: 8.0, "
		"pos_scaling_extra_args: {low_freq_factor: 4.0}",
		"pos_scaling_extra_args high_freq_factor 4 must be more than low_freq_factor 4");
	refused("name: llama, " SIZES "pos_scaling_type: llama3, "
		"pos_scaling_extra_args: {low_freq: 4.0}",
		"pos_scaling_extra_args.low_freq is unknown; accepted there: low_freq_factor");
	refused("name: llama, " SIZES "pos_scaling_type: linear, "
		"pos_scaling_extra_args: {low_freq_factor: 4.0}",
		"pos_scaling_extra_args is of another scaling than linear");
	refused("name: llama, " SIZES "pos_scaling_type: yarn", "\"yarn\" is a scaling");
	refused("name: llama, " SIZES "pos_scaling_extra_args: {low_freq_factor: 1.0}",
		"pos_scaling_extra_args is unknown");
	refused("name: mistral, " SIZES "attention_sliding_window_length: 16",
		"16 is a sliding window, which is not there: with sequences of up to that many "
		"tokens (max_sequence_length 16)");
	refused("name: mistral, " SIZES "attention_inner_dim: 30",
		"attention_inner_dim 30 is not a multiple of num_heads");
	refused("name: mistral, " SIZES "attention_inner_dim: 32, rotary_dim: 66",
		"rotary_dim 66 is more than");
	refused("name: gptj, " SIZES "position_embedding_type: sine",
		"accepted: learned or rotary or alibi");
	refused("name: gptj, " SIZES "position_embedding_type: alibi, rotary_dim: 4",
		"rotary_dim is unknown");
	refused("name: gptj, " SIZES "position_embedding_type: alibi, alibi_trainable_slopes: true",
		"alibi_trainable_slopes must be false");
	refused("name: llama, " SIZES "norm_type: batchnorm",
		"accepted: layernorm or rmsnorm or biasless-layernorm");
	refused("name: llama, " SIZES "rotary_dims: 8", "(did you mean rotary_dim?)");
	refused("name: gpt3, " SIZES "rotary_dim: 8", "rotary_dim is unknown");
	refused("name: llama, " SIZES "use_qk_norm: true", "must be false");
	refused("name: opt, " SIZES, "accepted: mlp or gpt2 or gpt3 or gptj or gpt_neox");
}

static int near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * fabs(b);
}

#define MUP                                                                          \
	"mup_base_hidden_size: 16, mup_base_filter_size: 24, embeddings_scale: 10, " \
	"scale_qk_dot_by_d: true, output_logits_alpha: 2.0"
#define CUT(std) "{name: truncated_normal, mean: 0.0, std: " #std "}"

/* 4 times as wide as the base, 2 layers, heads of 8 features */
static void mup(void)
{
	struct wse_config c;
	int ret = read_model("name: gpt3, " SIZES MUP
			     ", initializer: " CUT(0.08) ", output_layer_initializer: " CUT(0.16),
			     &c);
	const struct wse_gpt *g = wse_gpt(&c.model);

	ok(!ret && near(g->embed_scale, 10) && near(g->score_scale, 0.125) &&
		   near(g->logits_scale, 0.5) && near(c.model.logits_scale, 0.5),
	   "muP: factors of embeddings, scores and logits%s%s", ret ? ": " : "",
	   ret ? wse_error() : "");
	ok(!ret && near(g->initial.dev, 0.04) && near(g->initial.low, -0.08) &&
		   near(g->ffn.dev, 0.04) && near(g->residual.dev, 0.04) &&
		   near(g->ffn_residual.dev, 0.005) && near(g->ffn_residual.high, 0.01) &&
		   near(g->embed.dev, 0.02) && near(g->embed.low, -0.04),
	   "initial weights: %g, FFN %g; into the residual %g, FFN %g; embeddings %g",
	   g->initial.dev, g->ffn.dev, g->residual.dev, g->ffn_residual.dev, g->embed.dev);
	ok(!ret && near(g->rate[WSE_GPT_RATE_QKV], 0.25) &&
		   near(g->rate[WSE_GPT_RATE_PROJ], 0.25) && near(g->rate[WSE_GPT_RATE_FC], 0.25) &&
		   near(g->rate[WSE_GPT_RATE_FC2], 0.25) && g->rate[WSE_GPT_RATE_WTE] == 0 &&
		   g->rate[WSE_GPT_RATE_WPE] == 0,
	   "learning rates of the blocks' matrices");
	ret = read_model("name: gptj, " SIZES MUP ", attention_logits_alpha: 4.0, "
			 "scale_output_logits_by_d: false",
			 &c);
	ok(!ret && near(g->score_scale, 0.5) && g->logits_scale == 0,
	   "a factor of scores; logits by the root, 2 / 2: none%s%s", ret ? ": " : "",
	   ret ? wse_error() : "");
	ret = read_model("name: gpt3, " SIZES "attention_logits_alpha: 3.0, output_logits_alpha: 2",
			 &c);
	ok(!ret && near(g->score_scale, 3 / sqrt(8)) && g->logits_scale == 0 &&
		   strstr(c.ignored, "output_logits_alpha"),
	   "without a base output_logits_alpha is ignored by name%s%s", ret ? ": " : "",
	   ret ? wse_error() : "");
	ret = read_model("name: gpt3, " SIZES "lr_adjustment_groups: {fast: {scale: 3, "
			 "param_filter_patterns: '*ffn*linear*weight'}, all: {scale: 0.5, "
			 "param_filter_patterns: ['*embedding*weight', '*proj_?_dense*.weight']}}",
			 &c);
	ok(!ret && near(g->rate[WSE_GPT_RATE_FC], 3) && near(g->rate[WSE_GPT_RATE_FC2], 3) &&
		   near(g->rate[WSE_GPT_RATE_WTE], 0.5) && near(g->rate[WSE_GPT_RATE_WPE], 0.5) &&
		   near(g->rate[WSE_GPT_RATE_QKV], 0.5) && g->rate[WSE_GPT_RATE_PROJ] == 0,
	   "groups of learning rates by globs%s%s", ret ? ": " : "", ret ? wse_error() : "");
	refused("name: gpt3, " SIZES "mup_base_hidden_size: 16",
		"mup_base_hidden_size wants mup_base_filter_size beside it");
	refused("name: gpt3, " SIZES MUP ", output_logits_scale: 0.3",
		"beside mup_base_hidden_size give output_logits_alpha");
	refused("name: gpt3, " SIZES "lr_adjustment_groups: {a: {scale: 3, "
		"param_filter_patterns: '*layers.1.ffn*weight'}}",
		"lr_adjustment_groups.a has transformer_decoder.layers.1.ffn.ffn.0.linear_layer.weight "
		"and not transformer_decoder.layers.0.ffn.ffn.0.linear_layer.weight");
	refused("name: gpt3, " SIZES "lr_adjustment_groups: {a: {scale: 3, "
		"param_filter_patterns: '*'}}",
		"vectors have the learning rate itself");
	refused("name: gpt3, " SIZES "lr_adjustment_groups: {a: {scale: 3, "
		"param_filter_patterns: ['*layers.1.norm1.weight', '*embedding*weight']}}",
		"a has transformer_decoder.layers.1.norm1.weight: vectors have the learning rate");
	refused("name: gpt3, " SIZES "lr_adjustment_groups: {a: {scale: 3, "
		"param_filter_patterns: '*proj_[kv]*.bias'}}",
		"a has transformer_decoder.layers.0.self_attn.proj_k_dense_layer.bias: vectors");
	refused("name: gpt3, " SIZES "lr_adjustment_groups: {a: {scale: 3, "
		"param_filter_patterns: '*c_attn*'}}",
		"a matches no matrix: their names are such as transformer_decoder.layers.0.self_attn.");
	refused("name: gpt3, " SIZES "lr_adjustment_groups: {a: {scale: 3, param_filter_patterns: "
		"'*ffn*linear*weight'}, b: {scale: 2, param_filter_patterns: '*linear*weight'}}",
		"b has the tensors of group a, too, with another scale");
	refused("name: gpt3, " SIZES MUP ", lr_adjustment_groups: {decoder_attention: "
		"{param_filter_patterns: '*attn*dense*weight'}, decoder_input_ffn: "
		"{param_filter_patterns: '*ffn.ffn.0*weight'}}",
		"lacks the group decoder_output_ffn, whose scale muP sets");
}

static char json[] = "/tmp/wse-config-XXXXXX";

static void put(const char *text)
{
	FILE *f = fopen(json, "w");

	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

static void refused_json(const char *text, const char *says)
{
	char model[128];

	put(text);
	snprintf(model, sizeof(model), "config: %s", json);
	refused(model, says);
}

/* what transformers leaves out has its default, and is not what the Model Zoo's families have */
static void config_json(void)
{
	struct wse_gpt m = sizes;
	struct wse_config c;
	char model[128], gone[192];
	int fd = mkstemp(json), ret;

	if (fd < 0)
		abort();
	close(fd);
	snprintf(model, sizeof(model), "config: %s, loss_scaling: num_tokens", json);
	m.learned = m.tied = 1;
	m.act = WSE_GELU_NEW;
	put("{\"model_type\": \"gpt2\", \"n_embd\": 64, \"n_layer\": 2, \"n_head\": 8, "
	    "\"n_inner\": 96, "
	    "\"vocab_size\": 256, \"n_positions\": 32, \"attn_pdrop\": 0.1}");
	gives("config.json of a GPT-2", model, m);
	ret = read_model(model, &c);
	ok(!ret && strstr(c.ignored, "dropout of config.json"), "whose dropout is ignored by name");
	m = sizes;
	m.norm = WSE_GPT_NORM_RMS;
	m.gated = m.no_qkv_bias = m.no_proj_bias = m.no_ffn_bias = m.rotary_halves = 1;
	m.act = WSE_SILU;
	m.rotary = 8;
	m.kv_heads = 2;
	m.rotary_base = 500000.0f;
	m.rotary_scale = 8.0f;
	m.rotary_low = 1.0f;
	m.rotary_high = 4.0f;
	m.rotary_original = 8192.0f;
#define LLAMA                                                                         \
	"\"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 8, " \
	"\"vocab_size\": 256, \"intermediate_size\": 96, \"max_position_embeddings\": 32, "
	put("{\"model_type\": \"llama\", " LLAMA
	    "\"num_key_value_heads\": 2, \"rope_theta\": 500000.0, \"rope_scaling\": "
	    "{\"factor\": 8.0, "
	    "\"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, \"rope_type\": \"llama3\", "
	    "\"original_max_position_embeddings\": 8192}}");
	gives("of a LLaMA 3.1", model, m);
	put("{\"model_type\": \"mistral\", " LLAMA
	    "\"num_key_value_heads\": 2, \"head_dim\": 16, \"rms_norm_eps\": 1e-05}");
	m.rotary = m.head_dim = 16;
	m.rotary_base = 10000.0f;
	m.rotary_scale = 1.0f;
	m.rotary_low = m.rotary_high = m.rotary_original = 0.0f;
	m.eps = 1e-5f;
	gives("of a Mistral whose heads are twice as wide", model, m);
	refused_json(
		"{\"model_type\": \"bert\", " LLAMA "\"x\": 1}",
		"model_type is \"bert\"; gpt2, gptj, gpt_neox, bloom, mpt, btlm, jais, llama and "
		"mistral are read");
	refused_json("{\"model_type\": \"llama\"}", "hidden_size (n_embd) is missing");
	refused_json("{\"hidden_size\": 3}", "has no model_type");
	refused_json("{\"model_type\": \"mistral\", " LLAMA "\"attention_bias\": true}",
		     "attention_bias is true, which is not there");
	refused_json("{\"model_type\": \"mistral\", " LLAMA "\"sliding_window\": 16}",
		     "sliding_window is 16, which is not there");
	refused_json("{\"model_type\": \"llama\", " LLAMA "\"head_dim\": 0}",
		     "head_dim is 0, which is no size");
	refused_json("{\"model_type\": \"llama\", " LLAMA "\"rope_theta\": 0}", "rope_theta is 0");
	refused_json("{\"model_type\": \"llama\", " LLAMA
		     "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 0}}",
		     "the factor of rope_scaling is 0");
	refused_json("{\"model_type\": \"llama\", " LLAMA
		     "\"rope_scaling\": {\"rope_type\": \"llama3\", "
		     "\"original_max_position_embeddings\": 0}}",
		     "original_max_position_embeddings of rope_scaling is 0");
	refused_json("{\"model_type\": \"gpt_neox\", " LLAMA "\"rotary_pct\": 1e60}",
		     "rotary_pct is 1e+60, which is no part of a head's features");
	refused_json("{\"model_type\": \"gpt_neox\", " LLAMA "\"rotary_pct\": NaN}",
		     "rotary_pct is nan, which is no part");
	m.head_dim = 0;
	m.rotary = 8;
	m.eps = 1e-6f;
	m.kv_heads = 0;
	m.no_ffn_bias = m.no_qkv_bias = m.no_proj_bias = 0;
	put("{\"model_type\": \"llama\", " LLAMA "\"attention_bias\": true, \"mlp_bias\": true}");
	gives("of a LLaMA with biases", model, m);
	m = sizes;
	m.alibi = m.tied = m.gated = 1;
	m.act = WSE_SILU;
	put("{\"model_type\": \"btlm\", \"n_embd\": 64, \"n_layer\": 2, \"n_head\": 8, "
	    "\"n_inner\": 96, \"vocab_size\": 256, \"n_positions\": 32, "
	    "\"activation_function\": \"swiglu\", \"position_embedding_type\": \"alibi\", "
	    "\"mup_embeddings_scale\": 14.6, \"mup_output_alpha\": 2.22, "
	    "\"mup_scale_qk_dot_by_d\": true, \"mup_width_scale\": 0.1}");
	gives("of a BTLM", model, m);
	ret = read_model(model, &c);
	ok(!ret && near(wse_gpt(&c.model)->embed_scale, 14.6) &&
		   near(wse_gpt(&c.model)->score_scale, 0.125) &&
		   near(wse_gpt(&c.model)->logits_scale, 0.222) &&
		   near(wse_gpt(&c.model)->rate[WSE_GPT_RATE_FC2], 0.1) &&
		   near(c.model.logits_scale, 0.222),
	   "whose factors and learning rates stay%s%s", ret ? ": " : "", ret ? wse_error() : "");
	refused_json("{\"model_type\": \"llama\", " LLAMA "\"hidden_act\": \"gelu\"}",
		     "a gate of another activation");
	refused_json("{\"model_type\": ", "config.json");
	snprintf(gone, sizeof(gone), "%s, hidden_size: 64", model);
	put("{\"model_type\": \"llama\", " LLAMA "\"x\": 1}");
	refused(gone, "hidden_size is unknown");
	unlink(json);
	refused(model, "No such file");
}

/* a window that no sequence is longer than makes no difference */
static void windows(void)
{
	struct wse_config c;
	int ret = read_model("name: mistral, " SIZES "attention_sliding_window_length: 32", &c);

	ok(!ret, "a window as long as the sequences is none%s%s", ret ? ": " : "",
	   ret ? wse_error() : "");
	ret = read_model("name: mistral, " SIZES "attention_sliding_window_length: null", &c);
	ok(!ret, "null is no window%s%s", ret ? ": " : "", ret ? wse_error() : "");
}

int main(void)
{
	forms();
	mpt();
	faults();
	windows();
	mup();
	config_json();
	return tap_end();
}
