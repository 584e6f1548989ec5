// SPDX-License-Identifier: MIT
/*
 * Hugging Face's config.json: one that lies beside weights against a model, and those that are made
 * of models, which are read back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "input/hf_config.h"
#include "model/gpt_tensors.h"
#include "small_gpt.h"
#include "tap.h"

static char dir[] = "/tmp/wse-hf-config-XXXXXX";

static void config(const char *what, const struct wse_gpt *shape, const char *json,
		   const char *says)
{
	struct wse_model m = {.family = &wse_family_gpt};
	char file[64];
	FILE *f;
	int ret;

	snprintf(file, sizeof(file), "%s/config.json", dir);
	f = fopen(file, "w");
	if (!f)
		abort();
	fputs(json, f);
	fclose(f);
	memcpy(m.family_data, shape, sizeof(*shape));
	ret = wse_hf_config_check(dir, &m);
	ok(says ? ret == -EINVAL && strstr(wse_error(), says) : !ret, "%s: %s", what,
	   ret ? wse_error() : "as the file has it");
	unlink(file);
}

#define LLAMA_JSON                                                                            \
	"\"model_type\": \"llama\", \"hidden_size\": 16, \"num_hidden_layers\": 1, "          \
	"\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"intermediate_size\": 40, " \
	"\"vocab_size\": 24, \"hidden_act\": \"silu\", \"tie_word_embeddings\": false, "      \
	"\"rms_norm_eps\": 1e-05"

#define MPT_JSON                                                                                 \
	"\"model_type\": \"mpt\", \"d_model\": 16, \"n_layers\": 1, \"n_heads\": 4, "            \
	"\"vocab_size\": 24, \"no_bias\": true, \"logit_scale\": null, \"expansion_ratio\": 4, " \
	"\"norm_type\": \"low_precision_layernorm\", "
#define JAIS_JSON                                                                                 \
	"{\"model_type\": \"jais\", \"n_embd\": 16, \"n_layer\": 1, \"n_head\": 4, \"n_inner\": " \
	"40, \"vocab_size\": 24, \"activation_function\": \"swiglu\", "                           \
	"\"embeddings_scale\": 14.6, \"width_scale\": 0.111, "

/* MPT, Jais, LLaMA with biases */
static void others_configs(void)
{
	struct wse_gpt mpt = small[4].shape, llama = small[3].shape;
	struct wse_gpt jais = {SMALL,
			       .alibi = 1,
			       .tied = 1,
			       .gated = 1,
			       .act = WSE_SILU,
			       .eps = 1e-5f,
			       .embed_scale = 14.6f,
			       .score_scale = 0.25f,
			       .logits_scale = 0.111f};

	mpt.act = WSE_GELU;
	mpt.eps = llama.eps = 1e-5f;
	llama.act = WSE_SILU;
	config("MPT as MosaicML has it", &mpt,
	       "{" MPT_JSON "\"attn_config\": {\"alibi\": true, \"alibi_bias_max\": 8, "
	       "\"attn_type\": \"multihead_attention\", \"clip_qkv\": null, \"qk_ln\": false}}",
	       NULL);
	config("a longer clip", &mpt, "{" MPT_JSON "\"attn_config\": {\"clip_qkv\": 6}}",
	       "config.json: clip_qkv is 6, which is not there");
	config("learned positions", &mpt, "{" MPT_JSON "\"attn_config\": {\"alibi\": false}}",
	       "config.json: alibi is false, which is not there");
	config("other slopes", &mpt, "{" MPT_JSON "\"attn_config\": {\"alibi_bias_max\": 16}}",
	       "config.json: alibi_bias_max is 16, which is not there: the published one is 8");
	config("groups of queries", &mpt,
	       "{" MPT_JSON "\"attn_config\": {\"attn_type\": \"grouped_query_attention\"}}",
	       "config.json: attn_type \"grouped_query_attention\" is not there");
	config("an output layer of its own", &mpt, "{" MPT_JSON "\"tie_word_embeddings\": false}",
	       "config.json: share_embedding_weights is 0 there, 1 in this model");
	config("Jais", &jais,
	       JAIS_JSON "\"scale_qk_dot_by_d\": true, \"position_embedding_type\": \"alibi\"}",
	       NULL);
	config("what no tensor of a Jais tells", &jais, JAIS_JSON "\"n_positions\": 8}",
	       "config.json: the scale of scores is 0.5 there, 0.25 in this model; "
	       "position_embedding_type is learned there, alibi in this model");
	config("scaled slopes", &jais, JAIS_JSON "\"alibi_scaling\": {\"factor\": 2}}",
	       "config.json: alibi_scaling is { \"factor\": 2 }, which is not there");
	config("biases that this model has not", &llama,
	       "{" LLAMA_JSON ", \"attention_bias\": true, \"mlp_bias\": true}",
	       "use_projection_bias_in_attention is 1 there, 0 in this model; use_ffn_bias is 1 "
	       "there, 0 in this model");
}

static void configs(void)
{
	struct wse_gpt llama = small[3].shape, neox = small[2].shape, j = small[1].shape;

	if (!mkdtemp(dir))
		abort();
	llama.act = WSE_SILU;
	llama.eps = neox.eps = j.eps = 1e-5f;
	neox.act = j.act = (enum wse_activation)3; /* GELU by erf */
	config("LLaMA", &llama, "{" LLAMA_JSON ", \"rope_theta\": 10000.0, \"rope_scaling\": null}",
	       NULL);
	config("another base", &llama, "{" LLAMA_JSON ", \"rope_theta\": 500000.0}",
	       "config.json: rope_theta is 500000 there, 10000 in this model");
	llama.heads = 2;
	llama.rotary = 8;
	config("heads, which no tensor tells", &llama, "{" LLAMA_JSON "}",
	       "config.json: num_heads is 4 there, 2 in this model");
	config("a head of another width", &llama, "{" LLAMA_JSON ", \"head_dim\": 4}",
	       "head_dim is 4 there, 8 in this model");
	llama = small[3].shape;
	llama.act = WSE_SILU;
	llama.eps = 1e-5f;
	llama.head_dim = llama.rotary = 6;
	config("heads of a width of their own", &llama, "{" LLAMA_JSON ", \"head_dim\": 6}", NULL);
	config("heads that the file has as hidden_size says", &llama, "{" LLAMA_JSON "}",
	       "head_dim is 4 there, 6 in this model");
	llama = small[3].shape;
	llama.act = WSE_SILU;
	llama.eps = 1e-5f;
	config("scaling", &llama,
	       "{" LLAMA_JSON ", \"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8}}",
	       "pos_scaling_factor is 8 there, 1 in this model; pos_scaling_type is llama3 there, "
	       "linear in this model");
	config("a scaling of another kind", &llama,
	       "{" LLAMA_JSON ", \"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 8}}",
	       "rope_scaling is \"yarn\", a scaling of rotary positions that is not there: linear "
	       "and llama3 are");
	llama.rotary_base = 500000.0f;
	llama.rotary_scale = 8.0f;
	llama.rotary_low = 1.0f;
	llama.rotary_high = 4.0f;
	llama.rotary_original = 8192.0f;
	config("LLaMA 3.1", &llama,
	       "{" LLAMA_JSON ", \"rope_theta\": 500000.0, \"rope_scaling\": {\"factor\": 8.0, "
	       "\"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, "
	       "\"original_max_position_embeddings\": 8192, \"rope_type\": \"llama3\"}}",
	       NULL);
	config("LLaMA 3.1, in one map", &llama,
	       "{" LLAMA_JSON ", \"rope_parameters\": {\"rope_theta\": 500000.0, \"factor\": 8.0, "
	       "\"original_max_position_embeddings\": 8192, \"rope_type\": \"llama3\"}}",
	       NULL);
	config("other factors", &llama,
	       "{" LLAMA_JSON ", \"rope_theta\": 500000.0, \"rope_scaling\": {\"factor\": 8.0, "
	       "\"low_freq_factor\": 2.0, \"high_freq_factor\": 8.0, "
	       "\"original_max_position_embeddings\": 4096, \"rope_type\": \"llama3\"}}",
	       "low_freq_factor is 2 there, 1 in this model; high_freq_factor is 8 there, 4 in this "
	       "model; original_max_position_embeddings is 4096 there, 8192 in this model");
	llama = small[3].shape;
	llama.act = WSE_SILU;
	llama.eps = 1e-5f;
	config("linear scaling", &llama,
	       "{" LLAMA_JSON ", \"rope_scaling\": {\"type\": \"linear\", \"factor\": 4}}",
	       "pos_scaling_factor is 4 there, 1 in this model");
	config("a window", &llama,
	       "{" LLAMA_JSON ", \"sliding_window\": 4, \"use_sliding_window\": true}",
	       "sliding_window is 4, which is not there");
	config("a window that is long enough", &llama, "{" LLAMA_JSON ", \"sliding_window\": 8}",
	       NULL);
	config("another family", &neox, "{" LLAMA_JSON "}",
	       "it is a LLaMA, this model is a GPT-NeoX");
	config("a model that is not here", &neox, "{\"model_type\": \"opt\"}",
	       "model_type is \"opt\"; gpt2, gptj, gpt_neox, bloom, mpt, btlm, jais, llama and "
	       "mistral are read");
	config("no model", &neox, "{}", "no model_type");
	config("no JSON", &neox, "{\"model_type\": ", "config.json: line 1");
	neox.rotary = 4; /* all of a head */
	config("GPT-NeoX", &neox,
	       "{\"model_type\": \"gpt_neox\", \"hidden_size\": 16, \"rotary_pct\": 1.0, "
	       "\"num_attention_heads\": 4, \"hidden_act\": \"gelu\", "
	       "\"rotary_emb_base\": 10000, \"tie_word_embeddings\": false}",
	       NULL);
	config("another activation", &neox,
	       "{\"model_type\": \"gpt_neox\", \"rotary_pct\": 1.0, \"hidden_act\": \"gelu_new\", "
	       "\"use_parallel_residual\": false}",
	       "use_parallel_residual is 0 there, 1 in this model; the activation is gelu_new there, "
	       "gelu in this model");
	config("GPT-J", &j,
	       "{\"model_type\": \"gptj\", \"n_embd\": 16, \"n_head\": 4, \"n_layer\": 1, "
	       "\"n_inner\": null, \"rotary_dim\": 2, \"vocab_size\": 24, "
	       "\"tie_word_embeddings\": false, \"layer_norm_epsilon\": 1e-05}",
	       NULL);
	others_configs();
	config("an odd rotary dimension", &j, "{\"model_type\": \"gptj\", \"rotary_dim\": 3}",
	       "rotary_dim is 3 there, 2 in this model");
}

/* the model of the config.json in dir is the one of which it was made */
static void read_back(const char *name, const struct wse_gpt *m)
{
	char want[256] = "", got[256] = "";
	struct wse_gpt g;
	uint32_t window;
	int dropout, ret = wse_hf_config_read(dir, &g, &window, &dropout);

	wse_gpt_describe_form(m, want, sizeof(want));
	wse_gpt_describe_form(&g, got, sizeof(got));
	ok(!ret && !strcmp(want, got) && g.vocab == m->vocab && g.hidden == m->hidden &&
		   g.layers == m->layers && g.heads == m->heads && g.filter == m->filter &&
		   g.positions == m->positions && g.act == m->act && g.eps == m->eps &&
		   g.tied == m->tied && g.kv_heads == m->kv_heads && !window && !dropout,
	   "%s: read as it was written:%s%s%s", name, got, ret ? ": " : "", ret ? wse_error() : "");
}

static void written_llama3(const char *file)
{
	static const char want[] =
		"\n  \"rope_theta\": 5e+05,\n  \"rope_scaling\": {\"rope_type\": \"llama3\", "
		"\"factor\": 32.0, \"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, "
		"\"original_max_position_embeddings\": 8192},\n";
	struct wse_model m = {.family = &wse_family_gpt};
	struct wse_gpt g = small[3].shape;
	char text[1024] = "";
	FILE *f;
	int ret;

	g.positions = 8;
	g.eps = 1e-5f;
	g.act = WSE_SILU;
	g.rotary_base = 500000.0f;
	g.rotary_scale = 32.0f;
	g.rotary_low = 1.0f;
	g.rotary_high = 4.0f;
	g.rotary_original = 8192.0f;
	memcpy(m.family_data, &g, sizeof(g));
	ret = wse_hf_config_write(dir, &m);
	f = fopen(file, "r");
	if (!f || !fread(text, 1, sizeof(text) - 1, f))
		abort();
	fclose(f);
	ok(!ret && strstr(text, want) && !wse_hf_config_check(dir, &m), "LLaMA 3.2's scaling:%s",
	   strstr(text, want) ? want : text);
	read_back("LLaMA 3.2", &g);
	unlink(file);
	g.head_dim = g.rotary = 6;
	memcpy(m.family_data, &g, sizeof(g));
	ok(!wse_hf_config_write(dir, &m) && !wse_hf_config_check(dir, &m),
	   "LLaMA with heads of 6, 24 of 16 features in all");
	read_back("heads of 6", &g);
	unlink(file);
}

/* a file of this form, whose text has the words; read back, it is the model */
static void written_as(const char *name, const char *file, const struct wse_gpt *g,
		       const char *words)
{
	struct wse_model m = {.family = &wse_family_gpt};
	char text[2048] = "";
	FILE *f;
	int ret;

	memcpy(m.family_data, g, sizeof(*g));
	ret = wse_hf_config_write(dir, &m);
	f = fopen(file, "r");
	if (f && !fread(text, 1, sizeof(text) - 1, f))
		abort();
	if (f)
		fclose(f);
	ok(!ret && strstr(text, words), "%s: %s", name, strstr(text, words) ? words : text);
	ret = wse_hf_config_check(dir, &m);
	ok(!ret, "%s: it is this model's%s%s", name, ret ? ": " : "", ret ? wse_error() : "");
	read_back(name, g);
	unlink(file);
}

/* BTLM with its published factors, which GPT-2's names lie behind; LLaMA with biases */
static void written_forms(const char *file)
{
	struct wse_gpt g = {SMALL,
			    .positions = 8,
			    .alibi = 1,
			    .tied = 1,
			    .gated = 1,
			    .act = WSE_SILU,
			    .eps = 1e-5f,
			    .embed_scale = 14.6f,
			    .score_scale = 0.25f,
			    .logits_scale = 0.222f};

	for (int i = WSE_GPT_RATE_QKV; i <= WSE_GPT_RATE_FC2; i++)
		g.rate[i] = 0.1f;
	written_as("BTLM", file, &g, "\n  \"activation_function\": \"swiglu\",\n");
	written_as("BTLM's slopes", file, &g, "\n  \"position_embedding_type\": \"alibi\",\n");
	written_as("BTLM's factors", file, &g,
		   "\n  \"mup_width_scale\": 0.1,\n  \"mup_scale_qk_dot_by_d\": true,\n");
	g.gated = 0;
	g.act = WSE_GELU;
	g.alibi = 0;
	g.learned = 1;
	written_as("BTLM with GELU and learned positions", file, &g,
		   "\n  \"model_type\": \"btlm\",\n");
	g = small[3].shape;
	g.act = WSE_SILU;
	g.eps = 1e-5f;
	g.positions = 8;
	g.no_ffn_bias = 0;
	written_as("LLaMA, biases of the FFN", file, &g, "\n  \"mlp_bias\": true,\n");
	g.no_qkv_bias = g.no_proj_bias = 0;
	written_as("LLaMA with all biases", file, &g, "\n  \"attention_bias\": true,\n");
}

/* what is written beside checkpoints: what transformers asks for, and what we take back */
static void written(void)
{
	static const char want[] = "{\n  \"architectures\": [\"LlamaForCausalLM\"],\n"
				   "  \"model_type\": \"llama\",\n  \"hidden_size\": 16,\n"
				   "  \"num_hidden_layers\": 1,\n  \"num_attention_heads\": 4,\n"
				   "  \"intermediate_size\": 40,\n"
				   "  \"max_position_embeddings\": 8,\n"
				   "  \"hidden_act\": \"silu\",\n  \"rms_norm_eps\": 1e-05,\n"
				   "  \"num_key_value_heads\": 2,\n  \"rope_theta\": 5e+05,\n"
				   "  \"rope_scaling\": {\"type\": \"linear\", \"factor\": 4},\n"
				   "  \"vocab_size\": 24,\n  \"tie_word_embeddings\": false,\n"
				   "  \"torch_dtype\": \"float32\"\n}\n";
	char file[64], text[1024] = "";

	snprintf(file, sizeof(file), "%s/config.json", dir);
	for (uint32_t i = 0; i < SMALLS; i++) {
		struct wse_model m = {.family = &wse_family_gpt};
		struct wse_gpt g = small[i].shape;
		FILE *f;
		int ret;

		g.positions = 8;
		g.eps = 1e-5f;
		/* GELU by tanh, but MPT's by erf */
		g.act = i == 3 ? WSE_SILU : (enum wse_activation)(i == 4 ? 3 : 1);
		if (i == 3) {
			g.rotary_base = 500000.0f;
			g.rotary_scale = 4.0f;
		}
		memcpy(m.family_data, &g, sizeof(g));
		ret = wse_hf_config_write(dir, &m);
		f = fopen(file, "r");
		ok(!ret && f, "%s: a config.json", small[i].name);
		if (f && i == 3)
			ret = !fread(text, 1, sizeof(text) - 1, f);
		if (f)
			fclose(f);
		ret = wse_hf_config_check(dir, &m);
		ok(!ret, "%s: it is this model's%s%s", small[i].name, ret ? ": " : "",
		   ret ? wse_error() : "");
		read_back(small[i].name, &g);
		g.heads = 8;
		memcpy(m.family_data, &g, sizeof(g));
		ok(!wse_hf_config_write(dir, &m) && wse_hf_config_check(dir, &m) == -EINVAL,
		   "%s: one that is there stays: %s", small[i].name, wse_error());
		unlink(file);
		g = small[i].shape;
		g.gated = !g.gated;
		memcpy(m.family_data, &g, sizeof(g));
		ok(!wse_hf_config_write(dir, &m) && access(file, F_OK),
		   "%s with another FFN: no family of theirs, no file", small[i].name);
	}
	ok(!strcmp(text, want), "LLaMA's, word by word");
	written_llama3(file);
	written_forms(file);
	rmdir(dir);
}

int main(void)
{
	configs();
	written();
	return tap_end();
}
