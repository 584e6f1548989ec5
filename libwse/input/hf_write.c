// SPDX-License-Identifier: MIT
/* Hugging Face's config.json, made from a model. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hf_config.h"
#include "hf_json.h"
#include "model/gpt_tensors.h"

static const char *act_name(const struct wse_gpt *m)
{
	for (size_t i = 0; i < sizeof(hf_acts) / sizeof(*hf_acts); i++)
		if (hf_acts[i].act == (int)m->act)
			return hf_acts[i].name;
	return NULL;
}

static int has_factors(const struct wse_gpt *m)
{
	return m->embed_scale != 0.0f || m->score_scale != 0.0f || m->logits_scale != 0.0f;
}

/* GPT-2's names, and a part that BTLM and Jais alone have there: they are the same model */
static int is_btlm(const struct wse_gpt *m, enum wse_gpt_names names)
{
	return names == WSE_GPT_NAMES_GPT2 && (m->gated || m->alibi || has_factors(m));
}

/* is this form one that the family has there? */
static int is_theirs(const struct wse_gpt *m, enum wse_gpt_names names)
{
	const uint32_t d = wse_gpt_head_dim(m), biases = !m->no_qkv_bias + !m->no_proj_bias;
	const int scaled = m->rotary_scale != 0.0f && m->rotary_scale != 1.0f;
	const int based = m->rotary_base != 0.0f && m->rotary_base != 10000.0f;
	/* heads of keys, or a width of heads, that LLaMA alone has there */
	const int shared = wse_gpt_kv_width(m) != m->hidden || m->head_dim;

	if (!act_name(m) || m->embed_norm != (names == WSE_GPT_NAMES_BLOOM) ||
	    m->gated != (m->act == WSE_SILU))
		return 0;
	if (!is_btlm(m, names) && (has_factors(m) || m->learned != (names == WSE_GPT_NAMES_GPT2)))
		return 0;
	switch (names) {
	case WSE_GPT_NAMES_GPT2:
		return !shared && m->norm == WSE_GPT_NORM_LAYER && biases == 2 && !m->no_ffn_bias &&
		       !m->head_bias && m->learned != m->alibi &&
		       (m->score_scale == 0.0f || m->score_scale == (float)(1.0 / d));
	case WSE_GPT_NAMES_GPTJ:
		return !shared && !m->gated && !biases && !m->no_ffn_bias && m->head_bias &&
		       m->block == WSE_GPT_PARALLEL_ONE && m->rotary && !m->rotary_halves &&
		       !scaled && !based;
	case WSE_GPT_NAMES_NEOX:
		return !shared && !m->gated && biases == 2 && !m->no_ffn_bias && !m->head_bias &&
		       m->block != WSE_GPT_PARALLEL_ONE && m->rotary;
	case WSE_GPT_NAMES_BLOOM:
		return !shared && biases == 2 && !m->no_ffn_bias && !m->head_bias && m->tied &&
		       m->filter == 4 * m->hidden && !strcmp(act_name(m), "gelu_new");
	case WSE_GPT_NAMES_MPT:
		/* transformers' own knows one width of the FFN, and GELU by erf */
		return !shared && m->filter == 4 * m->hidden && !strcmp(act_name(m), "gelu");
	default: /* one flag for queries, keys, values and what follows, one for the FFN */
		return m->gated && biases != 1 && !m->head_bias && m->block == WSE_GPT_SERIAL &&
		       m->rotary == d && m->rotary_halves;
	}
}

/* the shortest decimal that is this number */
static const char *decimal(float x, char *text)
{
	for (int digits = 1; digits <= 9; digits++) {
		snprintf(text, 32, "%.*g", digits, (double)x);
		if (strtof(text, NULL) == x)
			break;
	}
	return text;
}

/* the same, and no integer: transformers wants it so */
static const char *real(float x, char *text)
{
	decimal(x, text);
	return strpbrk(text, ".en") ? text : strcat(text, ".0");
}

static void put_rotary(FILE *f, const struct wse_gpt *m, const char *base)
{
	char text[32];

	fprintf(f, "  \"%s\": %s,\n", base,
		decimal(m->rotary_base != 0.0f ? m->rotary_base : 10000.0f, text));
	if (m->rotary_original != 0.0f) {
		fprintf(f, "  \"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": %s, ",
			real(m->rotary_scale != 0.0f ? m->rotary_scale : 1.0f, text));
		fprintf(f, "\"low_freq_factor\": %s, ", real(m->rotary_low, text));
		fprintf(f, "\"high_freq_factor\": %s, ", real(m->rotary_high, text));
		fprintf(f, "\"original_max_position_embeddings\": %.0f},\n",
			(double)m->rotary_original);
	} else if (m->rotary_scale != 0.0f && m->rotary_scale != 1.0f) {
		fprintf(f, "  \"rope_scaling\": {\"type\": \"linear\", \"factor\": %s},\n",
			decimal(m->rotary_scale, text));
	}
}

/* MPT's: what transformers has no key for is said for the code that its files come with */
static void put_mpt(FILE *f)
{
	fputs("  \"no_bias\": true,\n  \"norm_type\": \"low_precision_layernorm\",\n"
	      "  \"attn_config\": {\"attn_type\": \"multihead_attention\", \"alibi\": true, "
	      "\"alibi_bias_max\": 8},\n",
	      f);
}

/* the matrices of blocks have one part of the learning rate: that, or 1 */
static float width_scale(const struct wse_gpt *m)
{
	const float all = m->rate[WSE_GPT_RATE_QKV];
	const int one = all == m->rate[WSE_GPT_RATE_PROJ] && all == m->rate[WSE_GPT_RATE_FC] &&
			all == m->rate[WSE_GPT_RATE_FC2];

	return one && all != 0.0f ? all : 1.0f;
}

/* scores are scaled by 1 / d, or by its root; logits by the product of two, one is the rates' */
static void put_btlm(FILE *f, const struct wse_gpt *m)
{
	const double logits = m->logits_scale != 0.0f ? m->logits_scale : 1.0;
	static const char code[] = "cerebras/btlm-3b-8k-base--";
	char text[32];

	fprintf(f, "  \"auto_map\": {\"AutoConfig\": \"%sconfiguration_btlm.BTLMConfig\", ", code);
	fprintf(f, "\"AutoModel\": \"%smodeling_btlm.BTLMModel\", ", code);
	fprintf(f, "\"AutoModelForCausalLM\": \"%smodeling_btlm.BTLMLMHeadModel\"},\n", code);
	fprintf(f, "  \"position_embedding_type\": \"%s\",\n", m->alibi ? "alibi" : "learned");
	fprintf(f, "  \"mup_embeddings_scale\": %s,\n",
		real(m->embed_scale != 0.0f ? m->embed_scale : 1.0f, text));
	fprintf(f, "  \"mup_output_alpha\": %.17g,\n", logits / width_scale(m));
	fprintf(f, "  \"mup_width_scale\": %s,\n", real(width_scale(m), text));
	fprintf(f, "  \"mup_scale_qk_dot_by_d\": %s,\n", m->score_scale != 0.0f ? "true" : "false");
}

static void put_llama(FILE *f, const struct wse_gpt *m)
{
	fprintf(f, "  \"num_key_value_heads\": %u,\n", m->kv_heads ? m->kv_heads : m->heads);
	if (m->head_dim)
		fprintf(f, "  \"head_dim\": %u,\n", m->head_dim);
	if (!m->no_qkv_bias)
		fputs("  \"attention_bias\": true,\n", f);
	if (!m->no_ffn_bias)
		fputs("  \"mlp_bias\": true,\n", f);
	put_rotary(f, m, "rope_theta");
}

enum { BTLM = WSE_GPT_NAMES_MPT + 1, MODELS };
enum { HIDDEN, LAYERS, HEADS, FILTER, POSITIONS, ACT, EPS, WORDS };

/* what a file calls a model, and what is in it; ACT NULL: it knows one */
static const struct kind {
	const char *model, *type, *words[WORDS];
} kinds[MODELS] = {
	[WSE_GPT_NAMES_GPT2] = {"GPT2LMHeadModel",
				"gpt2",
				{"n_embd", "n_layer", "n_head", "n_inner", "n_positions",
				 "activation_function", "layer_norm_epsilon"}},
	[WSE_GPT_NAMES_GPTJ] = {"GPTJForCausalLM",
				"gptj",
				{"n_embd", "n_layer", "n_head", "n_inner", "n_positions",
				 "activation_function", "layer_norm_epsilon"}},
	[WSE_GPT_NAMES_NEOX] = {"GPTNeoXForCausalLM",
				"gpt_neox",
				{"hidden_size", "num_hidden_layers", "num_attention_heads",
				 "intermediate_size", "max_position_embeddings", "hidden_act",
				 "layer_norm_eps"}},
	[WSE_GPT_NAMES_LLAMA] = {"LlamaForCausalLM",
				 "llama",
				 {"hidden_size", "num_hidden_layers", "num_attention_heads",
				  "intermediate_size", "max_position_embeddings", "hidden_act",
				  "rms_norm_eps"}},
	[WSE_GPT_NAMES_BLOOM] = {"BloomForCausalLM",
				 "bloom",
				 {"hidden_size", "n_layer", "n_head", "intermediate_size",
				  "seq_length", "hidden_act", "layer_norm_epsilon"}},
	[WSE_GPT_NAMES_MPT] = {"MptForCausalLM",
			       "mpt",
			       {"d_model", "n_layers", "n_heads", "expansion_ratio", "max_seq_len",
				NULL, "layer_norm_epsilon"}},
	[BTLM] = {"BTLMLMHeadModel",
		  "btlm",
		  {"n_embd", "n_layer", "n_head", "n_inner", "n_positions", "activation_function",
		   "layer_norm_epsilon"}},
};

static void put(FILE *f, const struct wse_gpt *m, enum wse_gpt_names names)
{
	const struct kind *kind = &kinds[is_btlm(m, names) ? BTLM : (int)names];
	const char *const *w = kind->words;
	char number[32];

	fprintf(f, "{\n  \"architectures\": [\"%s\"],\n  \"model_type\": \"%s\",\n", kind->model,
		kind->type);
	fprintf(f, "  \"%s\": %u,\n  \"%s\": %u,\n  \"%s\": %u,\n  \"%s\": %u,\n  \"%s\": %u,\n",
		w[HIDDEN], m->hidden, w[LAYERS], m->layers, w[HEADS], m->heads, w[FILTER],
		names == WSE_GPT_NAMES_MPT ? m->filter / m->hidden : m->filter, w[POSITIONS],
		m->positions);
	if (w[ACT])
		fprintf(f, "  \"%s\": \"%s\",\n", w[ACT],
			kind == &kinds[BTLM] && m->gated ? "swiglu" : act_name(m));
	fprintf(f, "  \"%s\": %s,\n", w[EPS], decimal(m->eps, number));
	if (names == WSE_GPT_NAMES_GPTJ)
		fprintf(f, "  \"rotary_dim\": %u,\n", m->rotary);
	if (names == WSE_GPT_NAMES_NEOX) {
		fprintf(f, "  \"rotary_pct\": %.9g,\n", (double)m->rotary / wse_gpt_head_dim(m));
		fprintf(f, "  \"use_parallel_residual\": %s,\n",
			m->block == WSE_GPT_SERIAL ? "false" : "true");
		put_rotary(f, m, "rotary_emb_base");
	}
	if (names == WSE_GPT_NAMES_LLAMA)
		put_llama(f, m);
	if (names == WSE_GPT_NAMES_MPT)
		put_mpt(f);
	if (kind == &kinds[BTLM])
		put_btlm(f, m);
	fprintf(f, "  \"vocab_size\": %u,\n  \"tie_word_embeddings\": %s,\n", m->vocab,
		m->tied ? "true" : "false");
	fputs("  \"torch_dtype\": \"float32\"\n}\n", f);
}

int wse_hf_config_has(const struct wse_model *model)
{
	const struct wse_gpt *m = wse_gpt(model);

	return model->family == &wse_family_gpt && is_theirs(m, wse_gpt_names_of(m));
}

int wse_hf_config_write(const char *dir, const struct wse_model *model)
{
	const struct wse_gpt *m = wse_gpt(model);
	char file[4096];
	int fd, ret = 0;
	FILE *f;

	if (!wse_hf_config_has(model))
		return 0;
	if ((size_t)snprintf(file, sizeof(file), "%s/config.json", dir) >= sizeof(file))
		return -ENAMETOOLONG;
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	f = fdopen(fd, "w");
	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	put(f, m, wse_gpt_names_of(m));
	ret = ferror(f) ? -EIO : 0;
	if (fclose(f) && !ret)
		ret = -errno;
	if (ret)
		unlink(file);
	return ret;
}
