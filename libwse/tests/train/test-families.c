// SPDX-License-Identifier: MIT
/*
 * The families of decoders: their parameters by number and by name, in the table that MemoryX
 * keeps and in Hugging Face's files: names, shapes and order as in published files, there and back
 * bit for bit.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "memx/entries.h"
#include "memx/hf.h"
#include "memx/st_load.h"
#include "model/gpt_tensors.h"
#include "num/num.h"
#include "small_gpt.h"
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

/* ---- files ---- */

/* a model of random parameters, and what files have of it */
struct model {
	struct wse_tensor_table tab;
	struct wse_entry *e;
	uint32_t n;
	float *p;
	const struct wse_tensor *now; /* whose entry is moved */
	int in;
};

static void make(struct model *m, const struct wse_gpt *shape, uint64_t seed)
{
	*m = (struct model){.n = 0};
	if (wse_gpt_make_tensors(shape, &m->tab))
		abort();
	m->e = wse_entries(&m->tab, &m->n);
	m->p = malloc(m->tab.params * sizeof(*m->p));
	if (!m->e || !m->p)
		abort();
	for (size_t i = 0; i < m->tab.params; i++)
		m->p[i] = wse_rng_normal(seed, 0, i);
}

static void drop(struct model *m)
{
	wse_tensor_table_fini(&m->tab);
	free(m->e);
	free(m->p);
}

static int run(void *ctx, size_t at, size_t count, float *data)
{
	const struct model *m = ctx;
	float *here = m->p + m->now->off + at;

	if (at + count > m->now->count)
		abort();
	memcpy(m->in ? here : data, m->in ? data : here, count * sizeof(*data));
	return 0;
}

static int out_of(void *ctx, uint32_t i, size_t from, size_t count, float *data)
{
	struct model *m = ctx;

	m->now = &m->tab.t[m->e[i].tensor];
	m->in = 0;
	return wse_entry_each(&m->e[i], from, count, data, run, m);
}

static int into(void *ctx, const struct wse_st_take *t, size_t from, size_t count, const float *in)
{
	struct model *m = ctx;

	m->now = &m->tab.t[m->e[t->tensor].tensor];
	m->in = 1;
	return wse_entry_each(&m->e[t->tensor], from, count, (float *)(uintptr_t)in, run, m);
}

static int save(struct model *m, const char *path)
{
	struct wse_st_meta format = {"format", "pt"};
	struct wse_st st = {.nmeta = 1, .meta = &format, .floats = out_of, .floats_ctx = m};
	int ret;

	st.tensors = calloc(m->n, sizeof(*st.tensors));
	st.ntensors = m->n;
	for (uint32_t i = 0; i < m->n; i++) {
		const struct wse_entry *e = &m->e[i];
		struct wse_st_tensor *t = &st.tensors[i];

		snprintf(t->name, sizeof(t->name), "%s", e->name);
		t->ndim = e->ndim;
		t->dim[0] = e->dim[e->transposed];
		t->dim[1] = e->dim[!e->transposed];
		t->count = (size_t)e->dim[0] * e->dim[1];
		t->transposed = e->transposed;
	}
	ret = wse_st_write(path, &st);
	free(st.tensors);
	return ret;
}

static int load(struct model *m, const char *path)
{
	struct wse_hf_tensor *table = calloc(m->n, sizeof(*table));
	struct wse_st_take *takes = calloc(m->n, sizeof(*takes));
	struct wse_st_file f;
	int ret = wse_st_open(path, &f);

	for (uint32_t i = 0; i < m->n; i++)
		table[i] = (struct wse_hf_tensor){m->e[i].name,
						  m->e[i].ndim,
						  {m->e[i].dim[0], m->e[i].dim[1]},
						  m->e[i].transposed,
						  NULL};
	if (!ret) {
		ret = wse_hf_match(&f, table, m->n, takes);
		ret = ret ? ret : wse_st_load(&f, takes, m->n, into, m);
		wse_st_close(&f);
	}
	free(table);
	free(takes);
	return ret;
}

/* what is in the file, a line a tensor; dtype and metadata are what transformers asks for */
static int listed(const char *path, const char *want)
{
	char text[4096] = "";
	struct wse_st_file f;
	size_t n = 0;
	int good = !wse_st_open(path, &f);

	if (!good)
		return 0;
	good = !strcmp(wse_st_get(f.meta, f.nmeta, "format"), "pt");
	for (uint32_t i = 0; i < f.nviews; i++) {
		const struct wse_st_view *v = &f.views[i];

		good &= !strcmp(v->dtype, "F32");
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s %u", v->name, v->dim[0]);
		n += (size_t)snprintf(text + n, sizeof(text) - n, v->ndim == 2 ? " %u\n" : "\n",
				      v->dim[1]);
	}
	wse_st_close(&f);
	if (strcmp(text, want))
		printf("# %s", text);
	return good && !strcmp(text, want);
}

/* element [row][col] of a matrix in the file */
static float element(const char *path, const char *name, uint32_t row, uint32_t col)
{
	const struct wse_st_view *v;
	struct wse_st_file f;
	float x = 0;

	if (wse_st_open(path, &f))
		abort();
	v = wse_st_view(&f, name);
	if (!v || wse_st_pread(v, ((uint64_t)row * v->dim[1] + col) * sizeof(x), sizeof(x), &x))
		abort();
	wse_st_close(&f);
	return x;
}

static char path[] = "/tmp/wse-families-XXXXXX";

static void files(void)
{
	for (uint32_t i = 0; i < SMALLS; i++) {
		struct model m, back;
		int ret;

		make(&m, &small[i].shape, 5);
		make(&back, &small[i].shape, 6);
		ret = save(&m, path);
		ok(!ret && listed(path, small[i].want),
		   "%s: %u tensors as published files list them", small[i].name, m.n);
		ret = load(&back, path);
		ok(!ret && !memcmp(m.p, back.p, m.tab.params * sizeof(*m.p)),
		   "%s: there and back bit for bit%s%s", small[i].name, ret ? ": " : "",
		   ret ? wse_error() : "");
		drop(&m);
		drop(&back);
	}
}

/* where queries, keys and values are: in memory all queries, all keys, all values */
static void orders(void)
{
	const uint32_t h = 16, d = 4;
	int same = 1, apart = 1;
	struct model m;
	float *qkv;

	make(&m, &small[2].shape, 7);
	save(&m, path);
	qkv = m.p + m.tab.t[3].off;
	for (uint32_t head = 0; head < 4; head++)
		for (uint32_t part = 0; part < 3; part++)
			for (uint32_t j = 0; j < d; j++)
				same &= element(path,
						"gpt_neox.layers.0.attention.query_key_value.weight",
						(3 * head + part) * d + j,
						5) == qkv[(part * h + head * d + j) * h + 5];
	ok(same, "GPT-NeoX: a head's queries, keys and values lie side by side in the file");
	drop(&m);
	make(&m, &small[3].shape, 8);
	save(&m, path);
	qkv = m.p + m.tab.t[2].off;
	apart &= element(path, "model.layers.0.self_attn.q_proj.weight", 15, 3) == qkv[15 * h + 3];
	apart &= element(path, "model.layers.0.self_attn.k_proj.weight", 1, 3) == qkv[17 * h + 3];
	apart &= element(path, "model.layers.0.self_attn.v_proj.weight", 7, 3) == qkv[31 * h + 3];
	qkv = m.p + m.tab.t[5].off;
	apart &= element(path, "model.layers.0.mlp.up_proj.weight", 1, 9) == qkv[41 * h + 9];
	ok(apart, "LLaMA: they are three tensors, gate and up two");
	drop(&m);
}

static void refused(const char *what, const struct wse_gpt *there, const struct wse_gpt *here,
		    const char *says)
{
	struct model m, other;
	int ret;

	make(&m, there, 9);
	make(&other, here, 9);
	save(&m, path);
	ret = load(&other, path);
	ok(ret == -EINVAL && strstr(wse_error(), says), "%s: %s", what, wse_error());
	drop(&m);
	drop(&other);
}

static void others(void)
{
	struct wse_gpt m = small[3].shape;

	refused("another family", &small[0].shape, &small[1].shape,
		"it is a GPT-2 of Hugging Face's, this model is a GPT-J");
	refused("another family", &small[2].shape, &small[3].shape,
		"it is a GPT-NeoX of Hugging Face's, this model is a LLaMA");
	m.kv_heads = 1;
	refused("other heads of keys", &m, &small[3].shape,
		"the width of keys (num_kv_groups) is 4 there, 8 in this model");
	m = small[3].shape;
	m.filter = 48;
	refused("another filter", &m, &small[3].shape, "filter_size is 48 there, 40 in this model");
	m = small[3].shape;
	m.tied = 1;
	refused("a tied one", &m, &small[3].shape,
		"lm_head.weight is not in it: its output layer is tied to embed_tokens");
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	published();
	described();
	files();
	orders();
	others();
	unlink(path);
	return tap_end();
}
