// SPDX-License-Identifier: MIT
/* Hugging Face's config.json against the model of a parameter file. */
#include "hf_config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "hf_json.h"
#include "json_file.h"
#include "model/gpt_tensors.h"

/* the types that there are here, and what their files call things */
static const struct type {
	const char *name, *prose;
	enum wse_gpt_names names;
} types[] = {{"gpt2", "GPT-2", WSE_GPT_NAMES_GPT2},
	     {"gptj", "GPT-J", WSE_GPT_NAMES_GPTJ},
	     {"gpt_neox", "GPT-NeoX", WSE_GPT_NAMES_NEOX},
	     {"llama", "LLaMA", WSE_GPT_NAMES_LLAMA},
	     {"bloom", "BLOOM", WSE_GPT_NAMES_BLOOM},
	     {"mistral", "LLaMA", WSE_GPT_NAMES_LLAMA},
	     {"mpt", "MPT", WSE_GPT_NAMES_MPT},
	     {"btlm", "BTLM", WSE_GPT_NAMES_GPT2},
	     {"jais", "Jais", WSE_GPT_NAMES_GPT2}};

enum { TYPES = sizeof(types) / sizeof(*types) };

static const char *prose(enum wse_gpt_names names)
{
	for (int i = 0; i < TYPES; i++)
		if (types[i].names == names)
			return types[i].prose;
	return "";
}

/* ---- beside the model ---- */

struct compare {
	int ret;
};

/* what stands before the next difference */
static void differ_begin(struct compare *c)
{
	if (!c->ret)
		c->ret = wse_fail(-EINVAL, "config.json: ");
	else
		wse_fail_more("; ");
}

static void differ(struct compare *c, const char *key, double there, double here)
{
	/* numbers of a file, and what binary32 keeps of them */
	if (fabs(there - here) <= 1e-6 * fabs(here))
		return;
	differ_begin(c);
	wse_fail_more("%s is %g there, %g in this model", key, there, here);
}

static void differ_in_words(struct compare *c, const char *key, const char *there, const char *here)
{
	differ_begin(c);
	wse_fail_more("%s is %.40s there, %s in this model", key, there, here);
}

static void check_sizes(struct compare *c, json_object *j, const struct wse_gpt *m)
{
	const double heads = hf_either(j, "num_attention_heads", "n_head", m->heads);

	differ(c, "hidden_size", hf_either(j, "hidden_size", "n_embd", m->hidden), m->hidden);
	differ(c, "num_hidden_layers", hf_either(j, "num_hidden_layers", "n_layer", m->layers),
	       m->layers);
	differ(c, "num_heads", heads, m->heads);
	differ(c, "num_kv_groups", hf_number(j, "num_key_value_heads", heads),
	       m->kv_heads ? m->kv_heads : m->heads);
	differ(c, "filter_size", hf_either(j, "intermediate_size", "n_inner", m->filter),
	       m->filter);
	differ(c, "vocab_size", hf_number(j, "vocab_size", m->vocab), m->vocab);
}

/* no family that is read has muP's factors there */
static void check_factors(struct compare *c, const struct wse_gpt *m)
{
	const double d = wse_gpt_head_dim(m), scores = m->score_scale;

	if (m->embed_scale != 0.0f)
		differ(c, "embeddings_scale", 1.0, m->embed_scale);
	if (scores != 0.0)
		differ(c, "the scale of scores", 1.0 / sqrt(d), scores);
	if (m->logits_scale != 0.0f)
		differ(c, "the scale of logits", 1.0, m->logits_scale);
}

static int check_rotary(struct compare *c, json_object *j, const struct wse_gpt *m,
			enum wse_gpt_names names)
{
	const double d = wse_gpt_head_dim(m);
	struct hf_scaling scaling;
	double rotary = 0;
	int ret = hf_scaling(j, &scaling);

	if (names == WSE_GPT_NAMES_GPTJ)
		rotary = hf_number(j, "rotary_dim", 64);
	else if (names == WSE_GPT_NAMES_NEOX)
		rotary = floor(hf_number(j, "rotary_pct", 0.25) * d);
	else if (names == WSE_GPT_NAMES_LLAMA)
		rotary = d;
	if (m->alibi && names != WSE_GPT_NAMES_BLOOM)
		differ_in_words(c, "position_embedding_type", rotary ? "rotary" : "learned",
				"alibi");
	if (ret || !rotary)
		return ret;
	differ(c, "head_dim", hf_number(j, "head_dim", (double)m->hidden / m->heads), d);
	differ(c, "rotary_dim", rotary, m->rotary);
	differ(c, "rope_theta", hf_theta(j), m->rotary_base != 0.0f ? m->rotary_base : 10000.0);
	differ(c, "pos_scaling_factor", scaling.factor,
	       m->rotary_scale != 0.0f ? m->rotary_scale : 1.0);
	if ((scaling.original != 0.0) != (m->rotary_original != 0.0f)) {
		differ_in_words(c, "pos_scaling_type",
				scaling.original != 0.0 ? "llama3" : "linear",
				m->rotary_original != 0.0f ? "llama3" : "linear");
		return 0;
	}
	differ(c, "low_freq_factor", scaling.low, m->rotary_low);
	differ(c, "high_freq_factor", scaling.high, m->rotary_high);
	differ(c, "original_max_position_embeddings", scaling.original, m->rotary_original);
	return 0;
}

static void check_form(struct compare *c, json_object *j, const struct wse_gpt *m,
		       enum wse_gpt_names names)
{
	const double eps = names == WSE_GPT_NAMES_LLAMA	 ? hf_number(j, "rms_norm_eps", 1e-6)
			   : names == WSE_GPT_NAMES_NEOX ? hf_number(j, "layer_norm_eps", 1e-5)
							 : hf_number(j, "layer_norm_epsilon", 1e-5);

	differ(c, "layer_norm_epsilon", eps, m->eps);
	differ(c, "embedding_layer_norm", names == WSE_GPT_NAMES_BLOOM, m->embed_norm != 0);
	if (names == WSE_GPT_NAMES_BLOOM) {
		differ(c, "filter_size", 4.0 * m->hidden, m->filter);
		differ(c, "apply_residual_connection_post_layernorm",
		       hf_flag(j, "apply_residual_connection_post_layernorm", 0), 0);
	}
	if (names == WSE_GPT_NAMES_LLAMA) {
		differ(c, "use_projection_bias_in_attention", hf_flag(j, "attention_bias", 0),
		       !m->no_qkv_bias);
		differ(c, "use_ffn_bias", hf_flag(j, "mlp_bias", 0), !m->no_ffn_bias);
	}
	if (names == WSE_GPT_NAMES_NEOX)
		differ(c, "use_parallel_residual", hf_flag(j, "use_parallel_residual", 1),
		       m->block != WSE_GPT_SERIAL);
	differ(c, "share_embedding_weights",
	       hf_flag(j, "tie_word_embeddings",
		       names == WSE_GPT_NAMES_GPT2 || names == WSE_GPT_NAMES_BLOOM),
	       m->tied != 0);
}

static void check_act(struct compare *c, json_object *j, const struct wse_gpt *m,
		      enum wse_gpt_names names)
{
	const char *there = hf_word(j, "hidden_act"), *here = "squared_relu";
	int act = -1;

	there = there ? there : hf_word(j, "activation_function");
	if (names == WSE_GPT_NAMES_BLOOM) /* it has that one, and no key for it */
		there = "gelu_new";
	if (!there)
		return;
	for (size_t i = sizeof(hf_acts) / sizeof(*hf_acts); i-- > 0;) {
		if (!strcmp(hf_acts[i].name, there))
			act = hf_acts[i].act;
		if (hf_acts[i].act == (int)m->act)
			here = hf_acts[i].name;
	}
	if (act != (int)m->act)
		differ_in_words(c, "the activation", there, here);
}

/* windows that sequences of this run are longer than */
static int check_window(json_object *j, const struct wse_gpt *m)
{
	double window = hf_number(j, "sliding_window", 0);

	if (!hf_flag(j, "use_sliding_window", 1) || window <= 0 || window >= m->seq)
		return 0;
	return wse_fail(-EINVAL,
			"config.json: sliding_window is %g, which is not there: with sequences of "
			"up to that many tokens (max_sequence_length) it would be none",
			window);
}

static const char *positions(const struct wse_gpt *m)
{
	return m->alibi ? "alibi" : m->rotary ? "rotary" : "learned";
}

static const char *activation(const struct wse_gpt *m)
{
	for (size_t i = 0; i < sizeof(hf_acts) / sizeof(*hf_acts) && !m->gated; i++)
		if (hf_acts[i].act == (int)m->act)
			return hf_acts[i].name;
	return m->gated ? "swiglu" : "squared_relu";
}

static double factor(float x, double none)
{
	return x != 0.0f ? x : none;
}

/* MPT, BTLM and Jais: the model that the file describes beside this one */
static int check_model(struct compare *c, json_object *j, const struct wse_gpt *m)
{
	const double d = 1.0 / sqrt(wse_gpt_head_dim(m));
	struct wse_gpt there = {0};
	int ret = hf_model_read(j, &there);

	if (ret)
		return ret;
	differ(c, "hidden_size", there.hidden, m->hidden);
	differ(c, "num_hidden_layers", there.layers, m->layers);
	differ(c, "num_heads", there.heads, m->heads);
	differ(c, "filter_size", there.filter, m->filter);
	differ(c, "vocab_size", there.vocab, m->vocab);
	differ(c, "layer_norm_epsilon", there.eps, m->eps);
	differ(c, "share_embedding_weights", there.tied != 0, m->tied != 0);
	differ(c, "embeddings_scale", factor(there.embed_scale, 1.0), factor(m->embed_scale, 1.0));
	differ(c, "the scale of scores", factor(there.score_scale, d), factor(m->score_scale, d));
	differ(c, "the scale of logits", factor(there.logits_scale, 1.0),
	       factor(m->logits_scale, 1.0));
	if (strcmp(positions(&there), positions(m)))
		differ_in_words(c, "position_embedding_type", positions(&there), positions(m));
	if (there.act != m->act)
		differ_in_words(c, "the activation", activation(&there), activation(m));
	return c->ret;
}

static int check(json_object *j, const struct wse_gpt *m)
{
	const enum wse_gpt_names names = wse_gpt_names_of(m);
	const char *type = hf_word(j, "model_type");
	struct compare c = {0};
	int i = 0, ret;

	if (!type)
		return wse_fail(-EINVAL,
				"config.json has no model_type: no model of Hugging Face's");
	while (i < TYPES && strcmp(types[i].name, type))
		i++;
	if (i == TYPES)
		return hf_not_read(type);
	if (types[i].names != names)
		return wse_fail(-EINVAL, "config.json: it is a %s, this model is a %s",
				types[i].prose, prose(names));
	if (names == WSE_GPT_NAMES_MPT || (names == WSE_GPT_NAMES_GPT2 && strcmp(type, "gpt2")))
		return check_model(&c, j, m);
	ret = check_window(j, m);
	if (ret)
		return ret;
	check_sizes(&c, j, m);
	check_factors(&c, m);
	ret = check_rotary(&c, j, m, names);
	if (ret)
		return ret;
	check_form(&c, j, m, names);
	check_act(&c, j, m, names);
	return c.ret;
}

int wse_hf_config_check(const char *path, const struct wse_model *model)
{
	json_object *root;
	char file[4096];
	struct stat st;
	int ret;

	if (model->family != &wse_family_gpt || stat(path, &st) || !S_ISDIR(st.st_mode) ||
	    (size_t)snprintf(file, sizeof(file), "%s/config.json", path) >= sizeof(file) ||
	    stat(file, &st))
		return 0;
	ret = wse_json_read(file, "config.json", &root);
	if (ret)
		return ret;
	ret = check(root, wse_gpt(model));
	json_object_put(root);
	return ret;
}
