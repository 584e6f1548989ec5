// SPDX-License-Identifier: MIT
/* The reference's parameters: which there are, their names and their order in files. */
#include "decoder_ref.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "num/num.h"

int decoder_check(const struct decoder_cfg *c)
{
	const uint32_t kv = c->kv_heads ? c->kv_heads : c->heads;

	if (!c->vocab || !c->hidden || !c->layers || !c->heads || !c->filter)
		return -EINVAL;
	if ((!c->head_dim && c->hidden % c->heads) || c->heads % kv || c->rotary % 2 ||
	    c->rotary > decoder_head(c) || (c->alibi && c->rotary))
		return -EINVAL;
	if ((c->family == DECODER_BTLM || c->family == DECODER_MPT) && c->rotary)
		return -EINVAL;
	/* whose queries, keys and values are one matrix of three equal parts */
	if (c->family == DECODER_NEOX || c->family == DECODER_BTLM || c->family == DECODER_MPT)
		return kv != c->heads ? -EINVAL : 0;
	return 0;
}

/* ---- the list, as it is in a file ---- */

/* names of a layer's parts; '#' stands for the layer. Rows and columns: V, H, F, K: keys' width, A: queries' */
struct line {
	const char *name;
	char rows, cols; /* cols 0: a vector */
};

static const struct line gptj[] = {{"transformer.h.#.ln_1.weight", 'H', 0},
				   {"transformer.h.#.ln_1.bias", 'H', 0},
				   {"transformer.h.#.attn.q_proj.weight", 'A', 'H'},
				   {"transformer.h.#.attn.k_proj.weight", 'K', 'H'},
				   {"transformer.h.#.attn.v_proj.weight", 'K', 'H'},
				   {"transformer.h.#.attn.out_proj.weight", 'H', 'A'},
				   {"transformer.h.#.mlp.fc_in.weight", 'F', 'H'},
				   {"transformer.h.#.mlp.fc_in.bias", 'F', 0},
				   {"transformer.h.#.mlp.fc_out.weight", 'H', 'F'},
				   {"transformer.h.#.mlp.fc_out.bias", 'H', 0},
				   {NULL, 0, 0}};
static const struct line neox[] = {{"gpt_neox.layers.#.input_layernorm.weight", 'H', 0},
				   {"gpt_neox.layers.#.input_layernorm.bias", 'H', 0},
				   {"gpt_neox.layers.#.post_attention_layernorm.weight", 'H', 0},
				   {"gpt_neox.layers.#.post_attention_layernorm.bias", 'H', 0},
				   {"gpt_neox.layers.#.attention.query_key_value.weight", '3', 'H'},
				   {"gpt_neox.layers.#.attention.query_key_value.bias", '3', 0},
				   {"gpt_neox.layers.#.attention.dense.weight", 'H', 'A'},
				   {"gpt_neox.layers.#.attention.dense.bias", 'H', 0},
				   {"gpt_neox.layers.#.mlp.dense_h_to_4h.weight", 'F', 'H'},
				   {"gpt_neox.layers.#.mlp.dense_h_to_4h.bias", 'F', 0},
				   {"gpt_neox.layers.#.mlp.dense_4h_to_h.weight", 'H', 'F'},
				   {"gpt_neox.layers.#.mlp.dense_4h_to_h.bias", 'H', 0},
				   {NULL, 0, 0}};
static const struct line llama[] = {{"model.layers.#.input_layernorm.weight", 'H', 0},
				    {"model.layers.#.self_attn.q_proj.weight", 'A', 'H'},
				    {"model.layers.#.self_attn.k_proj.weight", 'K', 'H'},
				    {"model.layers.#.self_attn.v_proj.weight", 'K', 'H'},
				    {"model.layers.#.self_attn.o_proj.weight", 'H', 'A'},
				    {"model.layers.#.post_attention_layernorm.weight", 'H', 0},
				    {"model.layers.#.mlp.gate_proj.weight", 'F', 'H'},
				    {"model.layers.#.mlp.up_proj.weight", 'F', 'H'},
				    {"model.layers.#.mlp.down_proj.weight", 'H', 'F'},
				    {NULL, 0, 0}};
/* the same with mlp_bias: gate's and up's lie one behind the other, as their matrices do */
static const struct line llama_bias[] = {{"model.layers.#.input_layernorm.weight", 'H', 0},
					 {"model.layers.#.self_attn.q_proj.weight", 'A', 'H'},
					 {"model.layers.#.self_attn.k_proj.weight", 'K', 'H'},
					 {"model.layers.#.self_attn.v_proj.weight", 'K', 'H'},
					 {"model.layers.#.self_attn.o_proj.weight", 'H', 'A'},
					 {"model.layers.#.post_attention_layernorm.weight", 'H', 0},
					 {"model.layers.#.mlp.gate_proj.weight", 'F', 'H'},
					 {"model.layers.#.mlp.up_proj.weight", 'F', 'H'},
					 {"model.layers.#.mlp.gate_proj.bias", 'F', 0},
					 {"model.layers.#.mlp.up_proj.bias", 'F', 0},
					 {"model.layers.#.mlp.down_proj.weight", 'H', 'F'},
					 {"model.layers.#.mlp.down_proj.bias", 'H', 0},
					 {NULL, 0, 0}};
/* c_fc2 is the gate, c_fc its factor */
static const struct line btlm[] = {{"transformer.h.#.ln_1.weight", 'H', 0},
				   {"transformer.h.#.ln_1.bias", 'H', 0},
				   {"transformer.h.#.attn.c_attn.weight", '3', 'H'},
				   {"transformer.h.#.attn.c_attn.bias", '3', 0},
				   {"transformer.h.#.attn.c_proj.weight", 'H', 'A'},
				   {"transformer.h.#.attn.c_proj.bias", 'H', 0},
				   {"transformer.h.#.ln_2.weight", 'H', 0},
				   {"transformer.h.#.ln_2.bias", 'H', 0},
				   {"transformer.h.#.mlp.c_fc2.weight", 'F', 'H'},
				   {"transformer.h.#.mlp.c_fc.weight", 'F', 'H'},
				   {"transformer.h.#.mlp.c_fc2.bias", 'F', 0},
				   {"transformer.h.#.mlp.c_fc.bias", 'F', 0},
				   {"transformer.h.#.mlp.c_proj.weight", 'H', 'F'},
				   {"transformer.h.#.mlp.c_proj.bias", 'H', 0},
				   {NULL, 0, 0}};
static const struct line mpt[] = {{"transformer.blocks.#.norm_1.weight", 'H', 0},
				  {"transformer.blocks.#.attn.Wqkv.weight", '3', 'H'},
				  {"transformer.blocks.#.attn.out_proj.weight", 'H', 'A'},
				  {"transformer.blocks.#.norm_2.weight", 'H', 0},
				  {"transformer.blocks.#.ffn.up_proj.weight", 'F', 'H'},
				  {"transformer.blocks.#.ffn.down_proj.weight", 'H', 'F'},
				  {NULL, 0, 0}};
/* before the layers one, behind them the rest; the output layer last */
static const struct {
	struct line first, rest[4];
	const struct line *layer;
} families[] = {
	[DECODER_GPTJ] = {{"transformer.wte.weight", 'V', 'H'},
			  {{"transformer.ln_f.weight", 'H', 0},
			   {"transformer.ln_f.bias", 'H', 0},
			   {"lm_head.bias", 'V', 0},
			   {"lm_head.weight", 'V', 'H'}},
			  gptj},
	[DECODER_NEOX] = {{"gpt_neox.embed_in.weight", 'V', 'H'},
			  {{"gpt_neox.final_layer_norm.weight", 'H', 0},
			   {"gpt_neox.final_layer_norm.bias", 'H', 0},
			   {"embed_out.weight", 'V', 'H'}},
			  neox},
	[DECODER_LLAMA] = {{"model.embed_tokens.weight", 'V', 'H'},
			   {{"model.norm.weight", 'H', 0}, {"lm_head.weight", 'V', 'H'}},
			   llama},
	[DECODER_BTLM] = {{"transformer.wte.weight", 'V', 'H'},
			  {{"transformer.ln_f.weight", 'H', 0},
			   {"transformer.ln_f.bias", 'H', 0},
			   {"lm_head.weight", 'V', 'H'}},
			  btlm},
	[DECODER_MPT] = {{"transformer.wte.weight", 'V', 'H'},
			 {{"transformer.norm_f.weight", 'H', 0}, {"lm_head.weight", 'V', 'H'}},
			 mpt},
};

/* behind the first one, where there is a norm of the embeddings */
static const struct line embed_norm[][2] = {
	[DECODER_GPTJ] = {{"transformer.word_embeddings_layernorm.weight", 'H', 0},
			  {"transformer.word_embeddings_layernorm.bias", 'H', 0}},
	[DECODER_NEOX] = {{"gpt_neox.word_embeddings_layernorm.weight", 'H', 0},
			  {"gpt_neox.word_embeddings_layernorm.bias", 'H', 0}},
	[DECODER_LLAMA] = {{"model.word_embeddings_layernorm.weight", 'H', 0}, {NULL, 0, 0}},
	[DECODER_BTLM] = {{"transformer.word_embeddings_layernorm.weight", 'H', 0},
			  {"transformer.word_embeddings_layernorm.bias", 'H', 0}},
	[DECODER_MPT] = {{"transformer.word_embeddings_layernorm.weight", 'H', 0}, {NULL, 0, 0}},
};

static const struct line *layer_lines(const struct decoder_cfg *c)
{
	return c->family == DECODER_LLAMA && c->ffn_bias ? llama_bias : families[c->family].layer;
}

static uint32_t embed_lines(const struct decoder_cfg *c)
{
	return !c->embed_norm ? 0 : embed_norm[c->family][1].name ? 2 : 1;
}

static uint32_t size_of(const struct decoder_cfg *c, char what)
{
	switch (what) {
	case 'V':
		return c->vocab;
	case 'F':
		return c->filter;
	case '3':
		return 3 * c->heads * decoder_head(c);
	case 'A':
		return c->heads * decoder_head(c);
	case 'K':
		return decoder_head(c) * (c->kv_heads ? c->kv_heads : c->heads);
	default:
		return what ? c->hidden : 1;
	}
}

static uint32_t lines_of(const struct decoder_cfg *c)
{
	uint32_t n = 0;

	while (layer_lines(c)[n].name)
		n++;
	return n;
}

/* the i-th line of the file, and its layer */
static const struct line *line_of(const struct decoder_cfg *c, uint32_t i, uint32_t *layer)
{
	const uint32_t n = lines_of(c), more = embed_lines(c);

	*layer = 0;
	if (!i)
		return &families[c->family].first;
	if (i <= more)
		return &embed_norm[c->family][i - 1];
	i -= more;
	*layer = (i - 1) / n;
	return *layer < c->layers ? &layer_lines(c)[(i - 1) % n]
				  : &families[c->family].rest[i - 1 - n * c->layers];
}

uint32_t decoder_ntensors(const struct decoder_cfg *c)
{
	uint32_t n = 1 + embed_lines(c) + lines_of(c) * c->layers, rest = 0;

	while (rest < 4 && families[c->family].rest[rest].name)
		rest++;
	return n + rest - !!c->tied;
}

struct decoder_tensor decoder_tensor(const struct decoder_cfg *c, uint32_t i)
{
	struct decoder_tensor t = {.off = 0};
	const struct line *line;
	uint32_t layer;
	char *to = t.name;

	for (uint32_t k = 0; k <= i; k++) {
		t.off += t.count;
		line = line_of(c, k, &layer);
		t.ndim = line->cols ? 2 : 1;
		t.dim[0] = size_of(c, line->rows);
		t.dim[1] = size_of(c, line->cols);
		t.count = (size_t)t.dim[0] * t.dim[1];
	}
	for (const char *p = line->name; *p; p++)
		to += *p == '#' ? sprintf(to, "%u", layer) : sprintf(to, "%c", *p);
	return t;
}

size_t decoder_nparams(const struct decoder_cfg *c)
{
	struct decoder_tensor t = decoder_tensor(c, decoder_ntensors(c) - 1);

	return t.off + t.count;
}

static int ends(const char *name, const char *tail)
{
	const size_t n = strlen(name), m = strlen(tail);

	return n >= m && !strcmp(name + n - m, tail);
}

void decoder_init(const struct decoder_cfg *c, uint64_t seed, float *params)
{
	static const char *const adding[] = {"out_proj.weight", "fc_out.weight", "dense.weight",
					     "4h_to_h.weight",	"o_proj.weight", "down_proj.weight",
					     "c_proj.weight"};

	for (uint32_t i = 0; i < decoder_ntensors(c); i++) {
		struct decoder_tensor t = decoder_tensor(c, i);
		double dev = t.ndim == 2 ? 0.02 : 0.0;

		for (size_t k = 0; k < sizeof(adding) / sizeof(*adding); k++)
			if (ends(t.name, adding[k]))
				dev = 0.02 / sqrt(2.0 * c->layers);
		for (size_t j = 0; j < t.count; j++)
			params[t.off + j] = (float)(dev * wse_rng_normal(seed, i, j)) +
					    (t.ndim == 1 && ends(t.name, "weight") ? 1.0f : 0.0f);
	}
}
