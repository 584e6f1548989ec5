// SPDX-License-Identifier: MIT
/* A model as Hugging Face's config.json describes it, with transformers' defaults. */
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "hf_config.h"
#include "hf_json.h"
#include "model/gpt.h"

/* a size; what is none, or too large for its type, becomes 0, which the model refuses */
static uint32_t size(json_object *j, const char *one, const char *two, double fallback)
{
	double x = two ? hf_either(j, one, two, fallback) : hf_number(j, one, fallback);

	return x >= 1.0 && x <= 4294967295.0 && x == floor(x) ? (uint32_t)x : 0;
}

/* -EINVAL unless the flag says what is there */
static int only(json_object *j, const char *key, int is)
{
	return hf_flag(j, key, is) == is
		       ? 0
		       : wse_fail(-EINVAL, "config.json: %s is %s, which is not there", key,
				  is ? "false" : "true");
}

static int read_act(json_object *j, const char *fallback, struct wse_gpt *g)
{
	const char *name = hf_word(j, "hidden_act");

	name = name ? name : hf_word(j, "activation_function");
	name = name ? name : fallback;
	for (size_t i = 0; i < sizeof(hf_acts) / sizeof(*hf_acts); i++)
		if (!strcmp(hf_acts[i].name, name)) {
			g->act = (enum wse_activation)hf_acts[i].act;
			return 0;
		}
	return wse_fail(-EINVAL, "config.json: the activation \"%.40s\" is not there", name);
}

static int read_rotary(json_object *j, struct wse_gpt *g)
{
	struct hf_scaling scaling;
	int ret = hf_scaling(j, &scaling);

	g->rotary_base = (float)hf_theta(j);
	g->rotary_scale = (float)scaling.factor;
	g->rotary_low = (float)scaling.low;
	g->rotary_high = (float)scaling.high;
	g->rotary_original = (float)scaling.original;
	if (!ret && g->rotary_base == 0.0f) /* to the model that is none */
		return wse_fail(-EINVAL, "config.json: rope_theta is 0");
	return ret;
}

static int read_gpt2(json_object *j, struct wse_gpt *g)
{
	int ret = only(j, "scale_attn_weights", 1);

	ret = ret ? ret : only(j, "scale_attn_by_inverse_layer_idx", 0);
	g->learned = 1;
	g->positions = size(j, "n_positions", "n_ctx", 1024);
	g->eps = (float)hf_number(j, "layer_norm_epsilon", 1e-5);
	return ret ? ret : read_act(j, "gelu_new", g);
}

static int read_gptj(json_object *j, struct wse_gpt *g)
{
	g->block = WSE_GPT_PARALLEL_ONE;
	g->no_qkv_bias = g->no_proj_bias = g->head_bias = 1;
	g->positions = size(j, "n_positions", "n_ctx", 2048);
	g->rotary = size(j, "rotary_dim", NULL, 64);
	g->rotary_base = 10000.0f;
	g->rotary_scale = 1.0f;
	g->eps = (float)hf_number(j, "layer_norm_epsilon", 1e-5);
	return read_act(j, "gelu_new", g);
}

static int read_neox(json_object *j, struct wse_gpt *g)
{
	const double part = hf_number(j, "rotary_pct", 0.25);
	int ret = only(j, "attention_bias", 1);

	if (!ret && !(part >= 0.0 && part <= 1.0))
		ret = wse_fail(-EINVAL,
			       "config.json: rotary_pct is %g, which is no part of a head's "
			       "features: 0 to 1",
			       part);
	if (ret)
		return ret;
	g->block = hf_flag(j, "use_parallel_residual", 1) ? WSE_GPT_PARALLEL_TWO : WSE_GPT_SERIAL;
	g->positions = size(j, "max_position_embeddings", NULL, 2048);
	g->rotary = (uint32_t)(part * (g->hidden / g->heads));
	g->rotary_halves = 1;
	g->eps = (float)hf_number(j, "layer_norm_eps", 1e-5);
	ret = ret ? ret : read_rotary(j, g);
	return ret ? ret : read_act(j, "gelu", g);
}

/* mistral: another default of the heads of keys, and no biases */
static int read_llama(json_object *j, struct wse_gpt *g, int mistral)
{
	const uint32_t d = size(j, "head_dim", NULL, g->heads ? g->hidden / g->heads : 0);
	uint32_t kv = size(j, "num_key_value_heads", NULL, mistral ? 8 : g->heads);
	int ret = mistral ? only(j, "attention_bias", 0) : 0;

	if (!ret && !d)
		ret = wse_fail(-EINVAL, "config.json: head_dim is %g, which is no size",
			       hf_number(j, "head_dim", 0));
	if (d != g->hidden / g->heads || g->hidden % g->heads)
		g->head_dim = d;
	g->norm = WSE_GPT_NORM_RMS;
	g->gated = 1;
	g->no_qkv_bias = g->no_proj_bias = (uint32_t)!hf_flag(j, "attention_bias", 0);
	g->no_ffn_bias = (uint32_t)(mistral || !hf_flag(j, "mlp_bias", 0));
	g->kv_heads = kv == g->heads ? 0 : kv;
	g->positions = size(j, "max_position_embeddings", NULL, mistral ? 131072 : 2048);
	g->rotary = d;
	g->rotary_halves = 1;
	g->eps = (float)hf_number(j, "rms_norm_eps", 1e-6);
	ret = ret ? ret : read_rotary(j, g);
	ret = ret ? ret : read_act(j, "silu", g);
	return ret || g->act == WSE_SILU
		       ? ret
		       : wse_fail(-EINVAL, "config.json: a gate of another activation than silu");
}

static int read_bloom(json_object *j, struct wse_gpt *g)
{
	int ret = only(j, "apply_residual_connection_post_layernorm", 0);

	g->alibi = g->embed_norm = 1;
	g->filter = 4 * g->hidden;
	g->positions = size(j, "seq_length", NULL, 2048);
	g->eps = (float)hf_number(j, "layer_norm_epsilon", 1e-5);
	return ret ? ret : read_act(j, "gelu_new", g);
}

/* -EINVAL if one of the keys has a value */
static int none(json_object *j, const char *const *keys)
{
	for (; *keys; keys++)
		if (hf_entry(j, *keys))
			return wse_fail(-EINVAL, "config.json: %s is %.40s, which is not there",
					*keys, json_object_to_json_string(hf_entry(j, *keys)));
	return 0;
}

/* MosaicML's files, and transformers' */
static int read_mpt(json_object *j, struct wse_gpt *g)
{
	static const char *const scales[] = {"logit_scale", NULL};
	static const char *const clips[] = {"clip_qkv", "softmax_scale", NULL};
	json_object *attn = hf_entry(j, "attn_config");
	const char *norm = hf_word(j, "norm_type"), *type = hf_word(attn, "attn_type");
	const double fraction = hf_number(j, "embedding_fraction", 1.0);
	const double bias = hf_number(attn, "alibi_bias_max", 8.0);
	int ret = only(j, "no_bias", 1);

	ret = ret ? ret : only(attn, "alibi", 1);
	ret = ret ? ret : only(attn, "qk_ln", 0);
	ret = ret ? ret : only(attn, "prefix_lm", 0);
	ret = ret ? ret : only(attn, "attn_uses_sequence_id", 0);
	ret = ret ? ret : none(j, scales);
	ret = ret ? ret : none(attn, clips);
	if (!ret && norm && strcmp(norm, "layernorm") && strcmp(norm, "low_precision_layernorm"))
		ret = wse_fail(-EINVAL, "config.json: the norm \"%.40s\" is not there", norm);
	if (!ret && type && strcmp(type, "multihead_attention"))
		ret = wse_fail(-EINVAL, "config.json: attn_type \"%.40s\" is not there", type);
	if (!ret && (bias != 8.0 || fraction != 1.0))
		ret = wse_fail(-EINVAL,
			       "config.json: %s is %g, which is not there: the published one is %g",
			       bias != 8.0 ? "alibi_bias_max" : "embedding_fraction",
			       bias != 8.0 ? bias : fraction, bias != 8.0 ? 8.0 : 1.0);
	g->alibi = g->no_qkv_bias = g->no_proj_bias = g->no_ffn_bias = 1;
	g->norm = WSE_GPT_NORM_BIASLESS;
	g->filter = g->hidden * size(j, "expansion_ratio", NULL, 4);
	g->positions = size(j, "max_seq_len", NULL, 2048);
	g->eps = (float)hf_number(j, "layer_norm_epsilon", 1e-5);
	g->act = WSE_GELU;
	return ret;
}

/* 0: none */
static float factor(double x)
{
	return x == 1.0 ? 0.0f : (float)x;
}

/* BTLM and Jais: GPT-2 with slopes, SwiGLU and muP's factors, under two names in Jais' files */
static int read_btlm(json_object *j, struct wse_gpt *g)
{
	static const char *const scaling[] = {"alibi_scaling", NULL};
	const char *act = hf_word(j, "activation_function");
	const char *positions = hf_word(j, "position_embedding_type");
	const double width = hf_number(j, "mup_width_scale", 1.0);
	int ret = only(j, "scale_attn_weights", 1);

	ret = ret ? ret : only(j, "scale_attn_by_inverse_layer_idx", 0);
	ret = ret ? ret : none(j, scaling);
	g->alibi = positions && !strcmp(positions, "alibi");
	g->learned = !g->alibi;
	if (!ret && positions && !g->alibi && strcmp(positions, "learned"))
		ret = wse_fail(-EINVAL,
			       "config.json: position_embedding_type is \"%.40s\"; learned and "
			       "alibi are there",
			       positions);
	g->positions = size(j, "n_positions", "n_ctx", 1024);
	g->eps = (float)hf_number(j, "layer_norm_epsilon", 1e-5);
	g->embed_scale = factor(hf_either(j, "embeddings_scale", "mup_embeddings_scale", 1.0));
	g->logits_scale =
		factor(hf_number(j, "width_scale", width * hf_number(j, "mup_output_alpha", 1.0)));
	if (hf_flag(j, "scale_qk_dot_by_d", hf_flag(j, "mup_scale_qk_dot_by_d", 0)))
		g->score_scale = (float)(1.0 / (g->hidden / g->heads));
	/* as the Model Zoo's converter has it: the rate of the blocks' matrices */
	for (int i = WSE_GPT_RATE_QKV; i <= WSE_GPT_RATE_FC2; i++)
		g->rate[i] = factor(width);
	g->gated = act && !strcmp(act, "swiglu");
	g->act = WSE_SILU;
	return ret || g->gated ? ret : read_act(j, "gelu_new", g);
}

int hf_not_read(const char *type)
{
	return wse_fail(-EINVAL,
			"config.json: model_type is \"%.60s\"; gpt2, gptj, gpt_neox, bloom, mpt, "
			"btlm, jais, llama and mistral are read",
			type);
}

int hf_model_read(json_object *j, struct wse_gpt *g)
{
	const char *type = hf_word(j, "model_type");
	const int gpt2 = type && !strcmp(type, "gpt2"), bloom = type && !strcmp(type, "bloom");
	const int mpt = type && !strcmp(type, "mpt");
	const int btlm = type && (!strcmp(type, "btlm") || !strcmp(type, "jais"));

	if (!type)
		return wse_fail(-EINVAL,
				"config.json has no model_type: no model of Hugging Face's");
	g->hidden = size(j, "hidden_size", mpt ? "d_model" : "n_embd", 0);
	g->layers = size(j, "num_hidden_layers", mpt ? "n_layers" : "n_layer", 0);
	g->heads = size(j, "num_attention_heads", mpt ? "n_heads" : "n_head", 0);
	g->filter = size(j, "intermediate_size", "n_inner", 4.0 * g->hidden);
	g->vocab = size(j, "vocab_size", NULL, 0);
	g->tied = (uint32_t)hf_flag(j, "tie_word_embeddings", gpt2 || bloom || mpt || btlm);
	g->dev = (float)hf_number(j, "initializer_range", 0.02);
	if (!g->hidden || !g->layers || !g->heads || !g->vocab)
		return wse_fail(-EINVAL, "config.json: %s is missing, or no size",
				!g->hidden   ? "hidden_size (n_embd)"
				: !g->layers ? "num_hidden_layers (n_layer)"
				: !g->heads  ? "num_attention_heads (n_head)"
					     : "vocab_size");
	if (gpt2)
		return read_gpt2(j, g);
	if (!strcmp(type, "gptj"))
		return read_gptj(j, g);
	if (bloom)
		return read_bloom(j, g);
	if (mpt)
		return read_mpt(j, g);
	if (btlm)
		return read_btlm(j, g);
	if (!strcmp(type, "gpt_neox"))
		return read_neox(j, g);
	if (!strcmp(type, "llama") || !strcmp(type, "mistral"))
		return read_llama(j, g, !strcmp(type, "mistral"));
	return hf_not_read(type);
}

int wse_hf_config_read(const char *path, struct wse_gpt *g, uint32_t *window, int *dropout)
{
	static const char *const drops[] = {"attn_pdrop",	 "embd_pdrop",	   "resid_pdrop",
					    "attention_dropout", "hidden_dropout", "emb_pdrop"};
	json_object *j;
	char file[4096];
	struct stat st;
	int ret, folder = !stat(path, &st) && S_ISDIR(st.st_mode);

	memset(g, 0, sizeof(*g));
	if ((size_t)snprintf(file, sizeof(file), "%s%s", path, folder ? "/config.json" : "") >=
	    sizeof(file))
		return wse_fail(-ENAMETOOLONG, "%.100s...: the path is too long", path);
	ret = wse_json_read(file, "config.json", &j);
	if (ret)
		return ret;
	ret = hf_model_read(j, g);
	if (!ret && !(g->eps >= 1e-12f && g->eps <= 1.0f && g->dev >= 1e-6f && g->dev <= 10.0f))
		ret = wse_fail(
			-EINVAL,
			"config.json: a norm's epsilon of %g, or initializer_range of %g, is "
			"no number that is of use",
			g->eps, g->dev);
	*window = hf_flag(j, "use_sliding_window", 1) ? size(j, "sliding_window", NULL, 0) : 0;
	*dropout = 0;
	for (size_t i = 0; i < sizeof(drops) / sizeof(*drops); i++)
		*dropout |= hf_number(j, drops[i], 0.0) != 0.0;
	json_object_put(j);
	return ret;
}
