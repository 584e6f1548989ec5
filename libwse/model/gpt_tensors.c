// SPDX-License-Identifier: MIT
/* The parameters of a GPT: which there are, their names, their initial values. */
#include "model/gpt_tensors.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/num.h"

/* ---- names ---- */

static const struct names {
	const char *prefix, *wte, *wpe, *layer, *ln_f, *head;
	const char *ln1, *qkv, *proj, *ln2, *fc, *gated, *fc2;
	uint32_t flags;	 /* of the matrices of a block */
	int interleaved; /* files have queries, keys and values head by head */
} families[] = {
	[WSE_GPT_NAMES_GPT2] = {"transformer.", "wte", "wpe", "h", "ln_f", "lm_head", "ln_1",
				"attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc",
				"mlp.{c_fc2,c_fc}", "mlp.c_proj", WSE_TENSOR_TRANSPOSED, 0},
	[WSE_GPT_NAMES_GPTJ] = {"transformer.", "wte", "wpe", "h", "ln_f", "lm_head", "ln_1",
				"attn.{q,k,v}_proj", "attn.out_proj", "ln_2", "mlp.fc_in",
				"mlp.{fc_gate,fc_in}", "mlp.fc_out", 0, 0},
	[WSE_GPT_NAMES_NEOX] = {"gpt_neox.", "embed_in", "embed_positions", "layers",
				"final_layer_norm", "embed_out", "input_layernorm",
				"attention.query_key_value", "attention.dense",
				"post_attention_layernorm", "mlp.dense_h_to_4h",
				"mlp.{dense_gate,dense_h_to_4h}", "mlp.dense_4h_to_h", 0, 1},
	[WSE_GPT_NAMES_LLAMA] = {"model.", "embed_tokens", "embed_positions", "layers", "norm",
				 "lm_head", "input_layernorm", "self_attn.{q,k,v}_proj",
				 "self_attn.o_proj", "post_attention_layernorm", "mlp.up_proj",
				 "mlp.{gate,up}_proj", "mlp.down_proj", 0, 0},
	[WSE_GPT_NAMES_BLOOM] = {"transformer.", "word_embeddings", "embed_positions", "h", "ln_f",
				 "lm_head", "input_layernorm", "self_attention.query_key_value",
				 "self_attention.dense", "post_attention_layernorm",
				 "mlp.dense_h_to_4h", "mlp.{dense_gate,dense_h_to_4h}",
				 "mlp.dense_4h_to_h", 0, 1},
	[WSE_GPT_NAMES_MPT] = {"transformer.", "wte", "wpe", "blocks", "norm_f", "lm_head",
			       "norm_1", "attn.Wqkv", "attn.out_proj", "norm_2", "ffn.up_proj",
			       "ffn.{gate_proj,up_proj}", "ffn.down_proj", 0, 0},
};

enum wse_gpt_names wse_gpt_names_of(const struct wse_gpt *m)
{
	if (m->norm == WSE_GPT_NORM_RMS)
		return WSE_GPT_NAMES_LLAMA;
	if (m->norm == WSE_GPT_NORM_LAYER && m->alibi && m->embed_norm &&
	    m->block == WSE_GPT_SERIAL && !m->gated)
		return WSE_GPT_NAMES_BLOOM;
	if (m->norm == WSE_GPT_NORM_BIASLESS && m->alibi && !m->embed_norm && !m->gated &&
	    m->block == WSE_GPT_SERIAL && m->no_qkv_bias && m->no_proj_bias && m->no_ffn_bias &&
	    !m->head_bias)
		return WSE_GPT_NAMES_MPT;
	if (m->block == WSE_GPT_PARALLEL_TWO || ((m->rotary || m->alibi) && m->rotary_halves))
		return WSE_GPT_NAMES_NEOX;
	return m->block == WSE_GPT_PARALLEL_ONE || m->rotary ? WSE_GPT_NAMES_GPTJ
							     : WSE_GPT_NAMES_GPT2;
}

/* ---- numbers ---- */

/* of a thing that the form has, or not */
static uint32_t next(uint32_t *n, int has)
{
	return has ? (*n)++ : WSE_NO_TENSOR;
}

/* of a block whose first tensor is n; their number */
static uint32_t block_from(const struct wse_gpt *m, uint32_t n, struct wse_gpt_block_tensors *to)
{
	const int two = m->block != WSE_GPT_PARALLEL_ONE, layer = m->norm == WSE_GPT_NORM_LAYER;
	const uint32_t first = n;

	to->ln1_g = next(&n, 1);
	to->ln1_b = next(&n, layer);
	to->qkv_w = next(&n, 1);
	to->qkv_b = next(&n, !m->no_qkv_bias);
	to->proj_w = next(&n, 1);
	to->proj_b = next(&n, !m->no_proj_bias);
	to->ln2_g = next(&n, two);
	to->ln2_b = next(&n, two && layer);
	to->fc_w = next(&n, 1);
	to->fc_b = next(&n, !m->no_ffn_bias);
	to->fc2_w = next(&n, 1);
	to->fc2_b = next(&n, !m->no_ffn_bias);
	return n - first;
}

/* of the embeddings and their norm, from n = 0 on */
static void before_blocks(const struct wse_gpt *m, uint32_t *n, struct wse_gpt_tensors *to)
{
	to->wte = next(n, 1);
	to->wpe = next(n, m->learned != 0);
	to->ln_e_g = next(n, m->embed_norm != 0);
	to->ln_e_b = next(n, m->embed_norm && m->norm == WSE_GPT_NORM_LAYER);
}

void wse_gpt_block_tensors_of(const struct wse_gpt *m, uint32_t layer,
			      struct wse_gpt_block_tensors *to)
{
	struct wse_gpt_tensors all;
	uint32_t first = 0;

	before_blocks(m, &first, &all);
	block_from(m, first + layer * block_from(m, first, to), to);
}

uint32_t wse_gpt_tensors_of(const struct wse_gpt *m, struct wse_gpt_tensors *to)
{
	struct wse_gpt_block_tensors k;
	uint32_t n = 0;

	before_blocks(m, &n, to);
	n += m->layers * block_from(m, n, &k);
	to->ln_f_g = next(&n, 1);
	to->ln_f_b = next(&n, m->norm == WSE_GPT_NORM_LAYER);
	to->head_w = m->tied ? to->wte : next(&n, 1);
	to->head_b = next(&n, m->head_bias != 0);
	return n;
}

/* ---- the table ---- */

/* what a matrix begins with, and how fast it changes */
struct course {
	struct wse_initial initial;
	float rate;
};

static uint32_t matrix(struct wse_tensor_table *tab, uint32_t flags, const struct course *course,
		       uint32_t rows, uint32_t cols, const char *name)
{
	const struct wse_initial *initial = &course->initial;
	uint32_t t = wse_tensor_add(tab, WSE_TENSOR_DECAY | flags, initial->mean, initial->dev,
				    rows, cols, "%s.weight", name);

	wse_tensor_between(tab, t, initial->low, initial->high);
	wse_tensor_rate(tab, t, course->rate != 0.0f ? course->rate : 1.0f);
	return t;
}

static uint32_t vector(struct wse_tensor_table *tab, int has, float mean, uint32_t n,
		       const char *name, const char *what)
{
	return has ? wse_tensor_add(tab, 0, mean, 0.0f, n, 0, "%s.%s", name, what) : WSE_NO_TENSOR;
}

static void norm(const struct wse_gpt *m, struct wse_tensor_table *tab, const char *name)
{
	vector(tab, 1, 1.0f, m->hidden, name, "weight");
	vector(tab, m->norm == WSE_GPT_NORM_LAYER, 0.0f, m->hidden, name, "bias");
}

static void in_file(struct wse_tensor_table *tab, uint32_t t, const struct wse_tensor_file *as)
{
	if (t < tab->n)
		tab->t[t].file = *as;
}

/* a layer of outs rows, and its bias, which files may have in other ways; the matrix's number */
static uint32_t linear(struct wse_tensor_table *tab, const struct names *f,
		       const struct course *course, uint32_t outs, uint32_t ins, int no_bias,
		       const char *name, const struct wse_tensor_file *as)
{
	uint32_t t = matrix(tab, f->flags, course, outs, ins, name);

	in_file(tab, t, as);
	in_file(tab, vector(tab, !no_bias, 0.0f, outs, name, "bias"), as);
	return t;
}

/* GPT-2: what adds to the residual is smaller the more layers add to it */
static struct wse_initial smaller(const struct wse_gpt *m, const struct wse_initial *i)
{
	double less = wse_sqrt(2.0 * m->layers);

	return (struct wse_initial){(float)(i->mean / less), (float)(i->dev / less),
				    (float)(i->low / less), (float)(i->high / less)};
}

/* of all matrices [WSE_GPT_RATES]: initial weights that are not given come from those that are */
static void courses(const struct wse_gpt *m, struct course *to)
{
	const struct wse_initial layers =
		m->initial.dev != 0.0f ? m->initial : (struct wse_initial){.dev = m->dev};
	const struct wse_initial residual =
		m->residual.dev != 0.0f ? m->residual : smaller(m, &layers);

	to[WSE_GPT_RATE_WTE].initial = m->embed.dev != 0.0f ? m->embed : layers;
	to[WSE_GPT_RATE_WPE].initial = to[WSE_GPT_RATE_WTE].initial;
	to[WSE_GPT_RATE_QKV].initial = layers;
	to[WSE_GPT_RATE_PROJ].initial = residual;
	to[WSE_GPT_RATE_FC].initial = m->ffn.dev != 0.0f ? m->ffn : layers;
	to[WSE_GPT_RATE_FC2].initial = m->ffn_residual.dev != 0.0f ? m->ffn_residual : residual;
	to[WSE_GPT_RATE_HEAD].initial = (struct wse_initial){.dev = m->dev};
	for (int i = 0; i < WSE_GPT_RATES; i++)
		to[i].rate = m->rate[i];
}

static const char *in_block(const struct names *f, uint32_t layer, const char *what, char *name)
{
	snprintf(name, WSE_TENSOR_NAME, "%s%s.%u.%s", f->prefix, f->layer, layer, what);
	return name;
}

static void block(const struct wse_gpt *m, struct wse_tensor_table *tab, const struct names *f,
		  const struct course *of, uint32_t l)
{
	const uint32_t h = m->hidden, kv = wse_gpt_kv_width(m), n = m->filter;
	const uint32_t inner = wse_gpt_inner(m);
	const struct wse_tensor_file one = {0}, gated = {.rows = {n, n}};
	struct wse_tensor_file qkv = {0};
	char name[WSE_TENSOR_NAME];
	uint32_t t;

	/* a name with braces has its parts apart */
	if (strchr(f->qkv, '{'))
		qkv = (struct wse_tensor_file){.rows = {inner, kv, kv}};
	else if (f->interleaved && kv == inner)
		qkv.heads = m->heads;
	norm(m, tab, in_block(f, l, f->ln1, name));
	t = linear(tab, f, &of[WSE_GPT_RATE_QKV], inner + 2 * kv, h, m->no_qkv_bias,
		   in_block(f, l, f->qkv, name), &qkv);
	if (t < tab->n)
		tab->t[t].queries = inner;
	linear(tab, f, &of[WSE_GPT_RATE_PROJ], h, inner, m->no_proj_bias,
	       in_block(f, l, f->proj, name), &one);
	if (m->block != WSE_GPT_PARALLEL_ONE)
		norm(m, tab, in_block(f, l, f->ln2, name));
	linear(tab, f, &of[WSE_GPT_RATE_FC], m->gated ? 2 * n : n, h, m->no_ffn_bias,
	       in_block(f, l, m->gated ? f->gated : f->fc, name), m->gated ? &gated : &one);
	linear(tab, f, &of[WSE_GPT_RATE_FC2], h, n, m->no_ffn_bias, in_block(f, l, f->fc2, name),
	       &one);
}

int wse_gpt_make_tensors(const struct wse_gpt *m, struct wse_tensor_table *tab)
{
	const struct names *f = &families[wse_gpt_names_of(m)];
	/* an output layer stands beside what the prefix is of */
	struct course of[WSE_GPT_RATES];
	struct wse_gpt_tensors all;
	char name[WSE_TENSOR_NAME];

	courses(m, of);
	tab->prefix = f->prefix;
	snprintf(name, sizeof(name), "%s%s", f->prefix, f->wte);
	matrix(tab, WSE_TENSOR_INPUT, &of[WSE_GPT_RATE_WTE], m->vocab, m->hidden, name);
	snprintf(name, sizeof(name), "%s%s", f->prefix, f->wpe);
	if (m->learned)
		matrix(tab, WSE_TENSOR_INPUT, &of[WSE_GPT_RATE_WPE], m->positions, m->hidden, name);
	snprintf(name, sizeof(name), "%sword_embeddings_layernorm", f->prefix);
	if (m->embed_norm)
		norm(m, tab, name);
	for (uint32_t l = 0; l < m->layers; l++)
		block(m, tab, f, of, l);
	snprintf(name, sizeof(name), "%s%s", f->prefix, f->ln_f);
	norm(m, tab, name);
	if (!m->tied)
		matrix(tab, 0, &of[WSE_GPT_RATE_HEAD], m->vocab, m->hidden, f->head);
	vector(tab, m->head_bias != 0, 0.0f, m->vocab, f->head, "bias");
	/* a table that ran out of memory is shorter than it should be */
	return tab->n == wse_gpt_tensors_of(m, &all) ? 0 : -ENOMEM;
}

/* ---- in words ---- */

/* the shortest decimal that is this number */
static const char *decimal(float x, char *text, size_t size)
{
	for (int digits = 1; digits <= 9; digits++) {
		snprintf(text, size, "%.*g", digits, (double)x);
		if (strtof(text, NULL) == x)
			break;
	}
	return text;
}

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size,
							 const char *format, ...)
{
	const size_t at = strlen(text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(text + at, size - at, format, ap);
	va_end(ap);
}

void wse_gpt_describe_rates(const struct wse_model *model, char *text, size_t size)
{
	static const char *const names[] = {
		[WSE_GPT_RATE_WTE] = "wte",  [WSE_GPT_RATE_WPE] = "wpe",
		[WSE_GPT_RATE_QKV] = "qkv",  [WSE_GPT_RATE_PROJ] = "proj",
		[WSE_GPT_RATE_FC] = "fc",    [WSE_GPT_RATE_FC2] = "fc2",
		[WSE_GPT_RATE_HEAD] = "head"};
	const float *rate = wse_gpt(model)->rate;
	char number[32];

	text[0] = 0;
	for (int i = 0; i < WSE_GPT_RATES; i++)
		if (rate[i] != 0.0f)
			append(text, size, "%s%s %s", text[0] ? ", " : "", names[i],
			       decimal(rate[i], number, sizeof(number)));
}

void wse_gpt_describe_dropout(const struct wse_model *model, char *text, size_t size)
{
	const struct wse_gpt *m = wse_gpt(model);
	const struct {
		const char *name;
		float rate;
	} all[] = {{"embedding", m->drop_embed},
		   {"residual", m->drop_residual},
		   {"attention", m->drop_attention}};
	char number[32];

	text[0] = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].rate != 0.0f)
			append(text, size, "%s%s %s", text[0] ? ", " : "", all[i].name,
			       decimal(all[i].rate, number, sizeof(number)));
}

void wse_gpt_describe_form(const struct wse_gpt *m, char *text, size_t size)
{
	static const char *const blocks[] = {"", " parallel=1", " parallel=2"};
	const struct {
		int is;
		const char *word;
	} words[] = {{m->norm == WSE_GPT_NORM_RMS, " rms"},
		     {m->norm == WSE_GPT_NORM_BIASLESS, " biasless"},
		     {m->gated != 0, " gated"},
		     {m->learned && m->rotary, " learned"},
		     {m->alibi != 0, " alibi"},
		     {m->embed_norm != 0, " embed_norm"},
		     {m->learned && m->alibi, " learned"},
		     {!m->learned && !m->rotary && !m->alibi, " no_positions"}};
	char number[32];

	if (wse_gpt_kv_width(m) != wse_gpt_inner(m))
		append(text, size, " kv_heads=%u", m->kv_heads);
	if (wse_gpt_inner(m) != m->hidden)
		append(text, size, " head=%u", wse_gpt_head_dim(m));
	if (m->rotary)
		append(text, size, " rotary=%u%s", m->rotary,
		       m->rotary_halves ? "/halves" : "/pairs");
	if (m->rotary && m->rotary_base != 0.0f && m->rotary_base != 10000.0f)
		append(text, size, " base=%s", decimal(m->rotary_base, number, sizeof(number)));
	if (m->rotary && m->rotary_scale != 0.0f && m->rotary_scale != 1.0f)
		append(text, size, " scale=%s", decimal(m->rotary_scale, number, sizeof(number)));
	if (m->rotary && m->rotary_original != 0.0f) {
		append(text, size, " llama3=%s", decimal(m->rotary_low, number, sizeof(number)));
		append(text, size, "-%s", decimal(m->rotary_high, number, sizeof(number)));
		append(text, size, "/%s", decimal(m->rotary_original, number, sizeof(number)));
	}
	if (m->embed_scale != 0.0f)
		append(text, size, " embed=%s", decimal(m->embed_scale, number, sizeof(number)));
	if (m->score_scale != 0.0f)
		append(text, size, " scores=%s", decimal(m->score_scale, number, sizeof(number)));
	if (m->logits_scale != 0.0f)
		append(text, size, " logits=%s", decimal(m->logits_scale, number, sizeof(number)));
	append(text, size, "%s", blocks[m->block]);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (words[i].is)
			append(text, size, "%s", words[i].word);
	if (!m->no_qkv_bias && !m->no_proj_bias && !m->no_ffn_bias && !m->head_bias)
		return;
	append(text, size, " bias=%s%s%s%s%s", m->no_qkv_bias ? "" : "q",
	       m->no_proj_bias ? "" : "p", m->no_ffn_bias ? "" : "f", m->head_bias ? "h" : "",
	       m->no_qkv_bias && m->no_proj_bias && m->no_ffn_bias && !m->head_bias ? "none" : "");
}
