// SPDX-License-Identifier: MIT
/*
 * The families of decoders: their parameters by number and by name, in the table that MemoryX
 * keeps.
 */
#include <stdio.h>
#include <string.h>

#include "model/gpt_tensors.h"
#include "tap.h"

/* LLaMA has no bias anywhere, GPT-J one in the FFN and at the output layer */
#define LLAMA                                                                                      \
	.norm = WSE_GPT_NORM_RMS, .rotary = 128, .rotary_halves = 1, .gated = 1, .no_qkv_bias = 1, \
	.no_proj_bias = 1, .no_ffn_bias = 1, .act = WSE_SILU, .seq = 2048

/* sizes as published, and the number of elements in the published files */
static const struct {
	const char *name;
	struct wse_gpt shape;
	size_t params;
	const char *tensors[4]; /* the table's second, third, one further on, last one */
} models[] = {
	{"GPT-2 small",
	 {.vocab = 50257,
	  .positions = 1024,
	  .hidden = 768,
	  .layers = 12,
	  .heads = 12,
	  .filter = 3072,
	  .tied = 1,
	  .learned = 1},
	 124439808,
	 {"transformer.wpe.weight", "transformer.h.0.ln_1.weight",
	  "transformer.h.0.attn.c_attn.weight", "transformer.ln_f.bias"}},
	{"GPT-J 6B",
	 {.vocab = 50400,
	  .hidden = 4096,
	  .layers = 28,
	  .heads = 16,
	  .filter = 16384,
	  .block = WSE_GPT_PARALLEL_ONE,
	  .rotary = 64,
	  .no_qkv_bias = 1,
	  .no_proj_bias = 1,
	  .head_bias = 1},
	 6050882784,
	 {"transformer.h.0.ln_1.weight", "transformer.h.0.ln_1.bias",
	  "transformer.h.27.attn.{q,k,v}_proj.weight", "lm_head.bias"}},
	{"GPT-NeoX 20B",
	 {.vocab = 50432,
	  .hidden = 6144,
	  .layers = 44,
	  .heads = 64,
	  .filter = 24576,
	  .block = WSE_GPT_PARALLEL_TWO,
	  .rotary = 24,
	  .rotary_halves = 1},
	 20554567680,
	 {"gpt_neox.layers.0.input_layernorm.weight", "gpt_neox.layers.0.input_layernorm.bias",
	  "gpt_neox.layers.43.attention.query_key_value.bias", "embed_out.weight"}},
	{"LLaMA 2 7B",
	 {.vocab = 32000, .hidden = 4096, .layers = 32, .heads = 32, .filter = 11008, LLAMA},
	 6738415616,
	 {"model.layers.0.input_layernorm.weight", "model.layers.0.self_attn.{q,k,v}_proj.weight",
	  "model.layers.31.mlp.{gate,up}_proj.weight", "lm_head.weight"}},
	{"LLaMA 3 8B",
	 {.vocab = 128256,
	  .hidden = 4096,
	  .layers = 32,
	  .heads = 32,
	  .kv_heads = 8,
	  .filter = 14336,
	  LLAMA},
	 8030261248,
	 {"model.layers.0.input_layernorm.weight", "model.layers.0.self_attn.{q,k,v}_proj.weight",
	  "model.layers.9.self_attn.o_proj.weight", "lm_head.weight"}},
	{"Mistral 7B",
	 {.vocab = 32000,
	  .hidden = 4096,
	  .layers = 32,
	  .heads = 32,
	  .kv_heads = 8,
	  .filter = 14336,
	  LLAMA},
	 7241732096,
	 {"model.layers.0.input_layernorm.weight", "model.layers.0.self_attn.{q,k,v}_proj.weight",
	  "model.layers.9.post_attention_layernorm.weight", "lm_head.weight"}},
};

static int has(const struct wse_tensor_table *tab, const char *name)
{
	for (uint32_t i = 0; i < tab->n; i++)
		if (!strcmp(tab->t[i].name, name))
			return 1;
	return 0;
}

/* every number that the builder gets is that of a row with this in its name */
static int numbers_fit(const struct wse_gpt *m, const struct wse_tensor_table *tab)
{
	const size_t h = m->hidden, kv = wse_gpt_kv_width(m);
	struct wse_gpt_block_tensors k;
	struct wse_gpt_tensors all;
	int good = 1;

	good &= wse_gpt_tensors_of(m, &all) == tab->n;
	good &= tab->t[all.wte].count == m->vocab * h && tab->t[all.ln_f_g].count == h;
	good &= tab->t[all.head_w].count == m->vocab * h;
	good &= all.head_b == WSE_NO_TENSOR ? !m->head_bias : tab->t[all.head_b].count == m->vocab;
	for (uint32_t l = 0; l < m->layers; l++) {
		wse_gpt_block_tensors_of(m, l, &k);
		good &= tab->t[k.qkv_w].count == (h + 2 * kv) * h;
		good &= tab->t[k.proj_w].count == h * h && tab->t[k.fc2_w].count == h * m->filter;
		good &= tab->t[k.fc_w].count == (1 + !!m->gated) * h * m->filter;
		good &= (k.qkv_b == WSE_NO_TENSOR) == !!m->no_qkv_bias;
		good &= (k.fc2_b == WSE_NO_TENSOR) == !!m->no_ffn_bias;
		good &= k.fc2_b == WSE_NO_TENSOR || tab->t[k.fc2_b].count == h;
		good &= (k.ln2_g == WSE_NO_TENSOR) == (m->block == WSE_GPT_PARALLEL_ONE);
	}
	return good;
}

static void published(void)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++) {
		const struct wse_gpt *m = &models[i].shape;
		struct wse_tensor_table tab = {0};
		int good = !wse_gpt_make_tensors(m, &tab);

		ok(good && tab.params == models[i].params, "%s has %zu parameters", models[i].name,
		   tab.params);
		good = good && !strcmp(tab.t[1].name, models[i].tensors[0]) &&
		       !strcmp(tab.t[2].name, models[i].tensors[1]) &&
		       has(&tab, models[i].tensors[2]) &&
		       !strcmp(tab.t[tab.n - 1].name, models[i].tensors[3]);
		ok(good && numbers_fit(m, &tab), "%s: its tensors, by name and by number",
		   models[i].name);
		wse_tensor_table_fini(&tab);
	}
}

/* what a checkpoint says of the form: nothing of GPT-2's, and as little as tells two apart */
static void described(void)
{
	static const char *const want[] = {"gpt",
					   "gpt rotary=64/pairs parallel=1 bias=fh",
					   "gpt rotary=24/halves parallel=2",
					   "gpt rotary=128/halves rms gated bias=none",
					   "gpt kv_heads=8 rotary=128/halves rms gated bias=none",
					   "gpt kv_heads=8 rotary=128/halves rms gated bias=none"};
	struct wse_gpt m = models[4].shape;
	char text[256];

	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++) {
		strcpy(text, "gpt");
		wse_gpt_describe_form(&models[i].shape, text, sizeof(text));
		ok(!strcmp(text, want[i]), "%s: %s", models[i].name, text);
	}
	m.rotary_base = 500000.0f;
	m.rotary_scale = 2.5f;
	strcpy(text, "gpt");
	wse_gpt_describe_form(&m, text, sizeof(text));
	ok(strstr(text, " base=5e+05 scale=2.5") != NULL, "a base and a scale: %s", text);
	strcpy(text, "gpt");
	wse_gpt_describe_form(&m, text, 20);
	ok(strlen(text) < 20, "no more than there is room for: %s", text);
}

int main(void)
{
	published();
	described();
	return tap_end();
}
