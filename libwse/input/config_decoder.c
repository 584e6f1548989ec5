// SPDX-License-Identifier: MIT
/* The form of a decoder, by the Model Zoo's keys: positions, norms, blocks, heads, biases. */
#include <string.h>

#include "sections.h"

/* what a family's form is where the file does not say */
static const struct {
	enum wse_gpt_norm norm;
	enum wse_gpt_block block;
	uint32_t rotary, whole, halves, tied;
	uint32_t no_qkv_bias, no_proj_bias, no_ffn_bias, head_bias;
} forms[] = {
	[WSE_DECODER_GPT2] = {.tied = 1},
	[WSE_DECODER_GPTJ] = {.block = WSE_GPT_PARALLEL_ONE,
			      .rotary = 1,
			      .no_qkv_bias = 1,
			      .no_proj_bias = 1,
			      .head_bias = 1},
	[WSE_DECODER_NEOX] = {.block = WSE_GPT_PARALLEL_TWO, .rotary = 1, .halves = 1},
	[WSE_DECODER_LLAMA] = {.norm = WSE_GPT_NORM_RMS,
			       .rotary = 1,
			       .whole = 1,
			       .halves = 1,
			       .no_qkv_bias = 1,
			       .no_proj_bias = 1,
			       .no_ffn_bias = 1},
};

static int is_word(const struct wse_yaml *y, const char *word)
{
	return y && y->type == WSE_YAML_SCALAR && !strcmp(y->text, word);
}

/* LLaMA 3's numbers; the Model Zoo's and Hugging Face's names for them are the same */
static void read_llama3(struct sections *s, struct wse_yaml *m, struct wse_gpt *g)
{
	struct wse_yaml *extra = reader_map(&s->r, m, "pos_scaling_extra_args", 0);
	struct wse_yaml *high = wse_yaml_peek(extra, "high_freq_factor");
	uint32_t before = s->r.faults->n;

	g->rotary_low = (float)reader_real(&s->r, extra, "low_freq_factor", 0, 1.0, 1e-3, 1e6);
	g->rotary_high = (float)reader_real(&s->r, extra, "high_freq_factor", 0, 4.0, 1e-3, 1e6);
	g->rotary_original = (float)reader_u64(&s->r, extra, "original_max_position_embeddings", 0,
					       8192, 1, 1u << 24);
	if (s->r.faults->n == before && !(g->rotary_low < g->rotary_high)) {
		reader_fail(&s->r, high ? high : extra,
			    "%s%g must be more than low_freq_factor %g: the published "
			    "ones are 4 and 1",
			    high ? "" : "high_freq_factor ", g->rotary_high, g->rotary_low);
		g->rotary_original = 0.0f;
	}
}

/* a position is divided by a factor, for all features alike or for slow ones */
static void read_scaling(struct sections *s, struct wse_yaml *m, struct wse_gpt *g)
{
	struct wse_yaml *type = reader_want(&s->r, m, "pos_scaling_type", 0);
	struct wse_yaml *extra = wse_yaml_peek(m, "pos_scaling_extra_args");

	g->rotary_scale = (float)reader_real(&s->r, m, "pos_scaling_factor", 0, 1.0, 1e-3, 1e6);
	if (is_word(type, "llama3"))
		read_llama3(s, m, g);
	if (!type || is_word(type, "llama3"))
		return;
	/* without a type extra arguments are an unknown key: they would be another type's */
	if (is_word(type, "linear") && (!extra || is_word(extra, "null"))) {
		reader_want(&s->r, m, "pos_scaling_extra_args", 0);
		return;
	}
	if (extra)
		wse_yaml_use_all(extra);
	reader_want(&s->r, m, "pos_scaling_extra_args", 0);
	if (is_word(type, "linear"))
		reader_fail(&s->r, extra, "is of another scaling than linear: take it away");
	else if (type->type == WSE_YAML_SCALAR)
		reader_fail(&s->r, type,
			    "\"%s\" is a scaling of rotary positions that is not there: give "
			    "linear or llama3, or take the pos_scaling keys away and train "
			    "sequences of the length before it",
			    type->text);
	else
		reader_fail(&s->r, type, "must be linear or llama3");
}

static void read_positions(struct sections *s, struct wse_yaml *m, enum wse_decoder of,
			   struct wse_gpt *g)
{
	static const char *const types[] = {"learned", "rotary", "alibi", NULL};
	struct wse_yaml *type = wse_yaml_peek(m, "position_embedding_type");
	int is = type ? reader_choice(&s->r, m, "position_embedding_type", 0, types)
		      : (int)forms[of].rotary;
	uint32_t d = g->heads ? wse_gpt_head_dim(g) : 0;

	g->learned = is <= 0;
	g->alibi = is == 2;
	if (g->alibi) {
		g->rotary_halves = forms[of].halves; /* whose names it has */
		if (reader_flag(&s->r, m, "alibi_trainable_slopes", 0))
			reader_fail(&s->r, wse_yaml_peek(m, "alibi_trainable_slopes"),
				    "must be false: slopes are those of the number of heads");
	}
	if (is != 1)
		return;
	/* the Model Zoo: a quarter of a head */
	g->rotary = (uint32_t)reader_u64(&s->r, m, "rotary_dim", 0, forms[of].whole ? d : d / 4, 2,
					 WSE_GPT_MAX_WIDTH);
	g->rotary_halves = forms[of].halves;
	g->rotary_base = (float)reader_real(&s->r, m, "rope_theta", 0, 10000.0, 1.0, 1e12);
	wse_config_ignore(s, m, "fold_rope_consts");
	read_scaling(s, m, g);
}

/* heads of keys and values, of which some heads of queries have one in common */
static void read_groups(struct sections *s, struct wse_yaml *m, struct wse_gpt *g)
{
	static const char *const modules[] = {"aiayn_attention", "multiquery_attention", NULL};
	struct wse_yaml *extra = reader_map(&s->r, m, "extra_attention_params", 0);
	struct wse_yaml *at = wse_yaml_peek(extra, "num_kv_groups");
	int module = reader_choice(&s->r, m, "attention_module", 0, modules);
	uint32_t n;

	n = (uint32_t)reader_u64(&s->r, extra, "num_kv_groups", 0, 0, 1, WSE_GPT_MAX_HEADS);
	if (!at) {
		at = wse_yaml_peek(m, "attention_num_kv_heads");
		n = (uint32_t)reader_u64(&s->r, m, "attention_num_kv_heads", 0, 0, 1,
					 WSE_GPT_MAX_HEADS);
	}
	if (module == 1 && !at)
		reader_fail(&s->r, wse_yaml_peek(m, "attention_module"),
			    "wants extra_attention_params: {num_kv_groups: N}, the heads of keys");
	if (module == 0 && wse_yaml_peek(m, "attention_module") && at)
		reader_fail(&s->r, at, "is for attention_module: multiquery_attention");
	g->kv_heads = n == g->heads ? 0 : n;
	g->named_kv = n != 0;
	if (n && g->heads % n) {
		while (g->heads % n)
			n--;
		reader_fail(&s->r, at, "%u heads of keys do not divide num_heads %u: choose %u",
			    g->kv_heads, g->heads, n);
		g->kv_heads = 0;
	}
}

/* a window that no sequence is longer than is none */
void wse_config_window(struct sections *s, struct wse_yaml *m, const struct wse_gpt *g)
{
	struct wse_yaml *at = wse_yaml_peek(m, "attention_sliding_window_length");
	uint32_t before = s->r.faults->n, window;

	if (is_word(at, "null")) {
		reader_want(&s->r, m, "attention_sliding_window_length", 0);
		return;
	}
	window = (uint32_t)reader_u64(&s->r, m, "attention_sliding_window_length", 0, g->seq, 1,
				      1u << 30);
	wse_config_ignore(s, m, "attention_sink_tokens");
	if (s->r.faults->n == before && window < g->seq)
		reader_fail(&s->r, at,
			    "%u is a sliding window, which is not there: with sequences of up to "
			    "that many tokens (max_sequence_length %u) it would be none",
			    window, window);
}

/* queries of all heads, which may be wider or narrower than hidden_size */
static void read_inner(struct sections *s, struct wse_yaml *m, struct wse_gpt *g)
{
	struct wse_yaml *at = wse_yaml_peek(m, "attention_inner_dim");
	uint32_t inner;

	if (is_word(at, "null")) {
		reader_want(&s->r, m, "attention_inner_dim", 0);
		return;
	}
	inner = (uint32_t)reader_u64(&s->r, m, "attention_inner_dim", 0, g->hidden, 1,
				     WSE_GPT_MAX_WIDTH);
	g->named_inner = !!at;
	if (!g->heads || inner == g->hidden)
		return;
	if (inner % g->heads)
		reader_fail(&s->r, at, "%u is not a multiple of num_heads %u: choose %u", inner,
			    g->heads, (inner / g->heads + 1) * g->heads);
	else
		g->head_dim = inner / g->heads;
}

/* attention and FFN side by side, with one norm or two; GPT-NeoX may have them in series */
static void read_block(struct sections *s, struct wse_yaml *m, enum wse_decoder of,
		       struct wse_gpt *g)
{
	g->block = forms[of].block;
	if (of == WSE_DECODER_GPTJ && reader_flag(&s->r, m, "use_untied_layer_norm", 0)) {
		g->block = WSE_GPT_PARALLEL_TWO;
		g->rotary_halves = 1; /* GPT-NeoX, which the Model Zoo calls gptj */
	}
	if (of == WSE_DECODER_NEOX && !reader_flag(&s->r, m, "use_parallel_residual", 1))
		g->block = WSE_GPT_SERIAL;
}

uint32_t wse_config_form(struct sections *s, struct wse_yaml *m, enum wse_decoder of,
			 struct wse_gpt *g)
{
	static const char *const norms[] = {"layernorm", "rmsnorm", "biasless-layernorm", NULL};
	static const char *const no[] = {"scale_qk_dot_by_layer_idx", "norm_first_sandwich",
					 "use_qk_norm", NULL};
	static const char *const ignored[] = {"attention_softmax_fp32", "attention_kernel",
					      "boundary_casting", NULL};
	int norm = wse_yaml_peek(m, "norm_type") ? reader_choice(&s->r, m, "norm_type", 0, norms)
						 : (int)forms[of].norm;

	g->norm = norm == 1   ? WSE_GPT_NORM_RMS
		  : norm == 2 ? WSE_GPT_NORM_BIASLESS
			      : WSE_GPT_NORM_LAYER;
	read_inner(s, m, g);
	read_positions(s, m, of, g);
	read_block(s, m, of, g);
	read_groups(s, m, g);
	g->no_qkv_bias =
		!reader_flag(&s->r, m, "use_projection_bias_in_attention", !forms[of].no_qkv_bias);
	g->no_proj_bias =
		!reader_flag(&s->r, m, "use_ffn_bias_in_attention", !forms[of].no_proj_bias);
	g->no_ffn_bias = !reader_flag(&s->r, m, "use_ffn_bias", !forms[of].no_ffn_bias);
	g->head_bias =
		(uint32_t)reader_flag(&s->r, m, "use_bias_in_output", (int)forms[of].head_bias);
	g->tied = (uint32_t)reader_flag(&s->r, m, "share_embedding_weights", (int)forms[of].tied);
	g->embed_norm = (uint32_t)reader_flag(&s->r, m, "embedding_layer_norm", 0);
	for (int i = 0; no[i]; i++)
		if (reader_flag(&s->r, m, no[i], 0))
			reader_fail(&s->r, wse_yaml_peek(m, no[i]), "must be false");
	for (int i = 0; ignored[i]; i++)
		wse_config_ignore(s, m, ignored[i]);
	return g->learned ? WSE_GPT_MAX_POSITIONS : 1u << 24;
}
