// SPDX-License-Identifier: MIT
/* Hugging Face's files of decoders in and out. */
#include "hf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/num.h"
#include "base/error.h"
#include "st_load.h"

/* ---- names ---- */

/* a size of the model in a tensor's shape: names without the prefix */
struct size {
	const char *key, *name;
	uint32_t dim; /* of the file */
};

enum { GPT2, GPTJ, NEOX, LLAMA, BLOOM, MPT, FAMILIES };

static const struct family {
	const char *name, *prefix, *layers;
	const char *embed, *head; /* the output layer's has no prefix */
	struct size sizes[5];
	const char *skipped[4]; /* ends of names in a layer: masks and angles of old releases */
} families[] = {
	[GPT2] = {"GPT-2",
		  "transformer.",
		  "h.",
		  "wte.weight",
		  "lm_head.weight",
		  {{"hidden_size", "wte.weight", 1},
		   {"vocab_size", "wte.weight", 0},
		   {"max_position_embeddings", "wpe.weight", 0},
		   {"filter_size", "h.0.mlp.c_fc.bias", 0}},
		  {".attn.bias", ".attn.masked_bias"}},
	[GPTJ] = {"GPT-J",
		  "transformer.",
		  "h.",
		  "wte.weight",
		  "lm_head.weight",
		  {{"hidden_size", "wte.weight", 1},
		   {"vocab_size", "wte.weight", 0},
		   {"filter_size", "h.0.mlp.fc_in.bias", 0}},
		  {".attn.bias", ".attn.masked_bias"}},
	[NEOX] = {"GPT-NeoX",
		  "gpt_neox.",
		  "layers.",
		  "embed_in.weight",
		  "embed_out.weight",
		  {{"hidden_size", "embed_in.weight", 1},
		   {"vocab_size", "embed_in.weight", 0},
		   {"filter_size", "layers.0.mlp.dense_h_to_4h.bias", 0}},
		  {".attention.bias", ".attention.masked_bias", ".attention.rotary_emb.inv_freq"}},
	[LLAMA] = {"LLaMA",
		   "model.",
		   "layers.",
		   "embed_tokens.weight",
		   "lm_head.weight",
		   {{"hidden_size", "embed_tokens.weight", 1},
		    {"vocab_size", "embed_tokens.weight", 0},
		    {"the width of keys (num_kv_groups)", "layers.0.self_attn.k_proj.weight", 0},
		    {"filter_size", "layers.0.mlp.gate_proj.weight", 0}},
		   {".self_attn.rotary_emb.inv_freq"}},
	[BLOOM] = {"BLOOM",
		   "transformer.",
		   "h.",
		   "word_embeddings.weight",
		   "lm_head.weight",
		   {{"hidden_size", "word_embeddings.weight", 1},
		    {"vocab_size", "word_embeddings.weight", 0},
		    {"filter_size", "h.0.mlp.dense_h_to_4h.bias", 0}},
		   {".self_attention.attention_mask"}},
	[MPT] = {"MPT",
		 "transformer.",
		 "blocks.",
		 "wte.weight",
		 "lm_head.weight",
		 {{"hidden_size", "wte.weight", 1},
		  {"vocab_size", "wte.weight", 0},
		  {"filter_size", "blocks.0.ffn.up_proj.weight", 0}},
		 {NULL}},
};

static const char *bare(const struct family *fam, const char *name)
{
	const size_t n = strlen(fam->prefix);

	return strncmp(name, fam->prefix, n) ? name : name + n;
}

static int ends_with(const char *name, const char *tail)
{
	size_t n = strlen(name), m = strlen(tail);

	return n >= m && !strcmp(name + n - m, tail);
}

/*
 * what files hold besides the parameters: causal masks and angles of old releases, slopes, moments
 * of ours
 */
static int is_skipped(const struct family *fam, const char *name)
{
	int skipped = 0;

	name = bare(fam, name);
	/* BTLM's and Jais', which follow from the number of heads */
	if (!strcmp(name, "relative_pe.slopes"))
		return 1;
	for (int i = 0; i < 4 && fam->skipped[i]; i++)
		skipped |= ends_with(name, fam->skipped[i]);
	return !strncmp(name, "optimizer.", 10) ||
	       (!strncmp(name, fam->layers, strlen(fam->layers)) && skipped);
}

/* the first of the file that has this name, with or without the prefix */
static const struct wse_st_view *in_file(const struct family *fam, const struct wse_st_file *f,
					 const char *name)
{
	const struct wse_st_view *v, *w = NULL;
	char with[WSE_ST_NAME + 16];

	name = bare(fam, name);
	if (is_skipped(fam, name))
		return NULL;
	v = wse_st_view(f, name);
	/* one that is longer than a name of ours is in no table */
	if ((size_t)snprintf(with, sizeof(with), "%s%s", fam->prefix, name) < sizeof(with))
		w = wse_st_view(f, with);
	return !v || (w && w < v) ? w : v;
}

static const struct wse_hf_tensor *
in_table(const struct family *fam, const struct wse_hf_tensor *table, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(bare(fam, table[i].name), bare(fam, name)))
			return &table[i];
	return NULL;
}

/* the layer of "h.7.ln_1.weight" plus one, 0 for a name without one */
static uint32_t layers_to(const struct family *fam, const char *name)
{
	const size_t n = strlen(fam->layers);
	char *end;
	unsigned long l;

	name = bare(fam, name);
	if (strncmp(name, fam->layers, n) || name[n] < '0' || name[n] > '9')
		return 0;
	l = strtoul(name + n, &end, 10);
	return *end == '.' && l < UINT32_MAX ? (uint32_t)l + 1 : 0;
}

/* GPT-2's, GPT-J's and MPT's differ within the layers */
static const struct family *of_names(const char *(*name)(const void *from, uint32_t i),
				     const void *from, uint32_t n)
{
	const struct family *found = NULL;

	for (uint32_t i = 0; i < n; i++) {
		const char *s = name(from, i);

		for (uint32_t k = GPT2; k < FAMILIES && !found; k++)
			if (!strcmp(bare(&families[k], s), families[k].embed))
				found = &families[k];
		if (ends_with(s, ".attn.q_proj.weight"))
			return &families[GPTJ];
		if (ends_with(s, ".attn.Wqkv.weight"))
			return &families[MPT];
	}
	return found;
}

static const char *table_name(const void *from, uint32_t i)
{
	return ((const struct wse_hf_tensor *)from)[i].name;
}

static const char *file_name(const void *from, uint32_t i)
{
	return ((const struct wse_st_file *)from)->views[i].name;
}

/* ---- does the file fit? ---- */

/* "50257 x 768" of up to four dimensions; text [64] */
static const char *shape(uint32_t ndim, const uint32_t *dim, char *text)
{
	size_t n = 0;

	snprintf(text, 64, "a scalar");
	for (uint32_t i = 0; i < ndim && i < 4; i++)
		n += (size_t)snprintf(text + n, 64 - n, "%s%u", i ? " x " : "", dim[i]);
	return text;
}

/* the tensor's shape in a file */
static void file_dims(const struct wse_hf_tensor *t, uint32_t *dim)
{
	dim[0] = t->dim[t->transposed];
	dim[1] = t->dim[!t->transposed];
}

/* one entry of the list of differences, in the words of parameter files */
static void differ(int *ret, const char *key, uint32_t there, uint32_t here)
{
	if (there == here)
		return;
	if (*ret)
		wse_fail_more("; ");
	else
		*ret = wse_fail(-EINVAL, "%s", "");
	wse_fail_more("%s is %u there, %u in this model", key, there, here);
}

/* the sizes of the model, all that differ: they tell more than the first misfitting tensor */
static int check_sizes(const struct family *fam, const struct wse_st_file *f,
		       const struct wse_hf_tensor *table, uint32_t n)
{
	const struct family *other = of_names(file_name, f, f->nviews);
	uint32_t there = 0, here = 0;
	int ret = 0;

	if (other && other != fam)
		return wse_fail(-EINVAL, "it is a %s of Hugging Face's, this model is a %s",
				other->name, fam->name);
	if (!in_file(fam, f, fam->embed))
		return wse_fail(-EINVAL,
				"%s is not in it: no %s of Hugging Face's (it has %u tensors, "
				"the first is %.64s)",
				fam->embed, fam->name, f->nviews,
				f->nviews ? f->views[0].name : "none");
	for (uint32_t i = 0; i < f->nviews; i++)
		if (!is_skipped(fam, f->views[i].name) && layers_to(fam, f->views[i].name) > there)
			there = layers_to(fam, f->views[i].name);
	for (uint32_t i = 0; i < n; i++)
		here = layers_to(fam, table[i].name) > here ? layers_to(fam, table[i].name) : here;
	differ(&ret, "num_hidden_layers", there, here);
	for (const struct size *s = fam->sizes; s->key; s++) {
		const struct wse_st_view *v = in_file(fam, f, s->name);
		const struct wse_hf_tensor *t = in_table(fam, table, n, s->name);

		if (v && t && v->ndim == t->ndim)
			differ(&ret, s->key, v->dim[s->dim], t->dim[s->dim]);
	}
	return ret;
}

static int check_tensor(const struct family *fam, const struct wse_st_file *f,
			const struct wse_hf_tensor *t)
{
	const struct wse_st_view *v = in_file(fam, f, t->name);
	char there[64], here[64];
	uint32_t dim[2];

	file_dims(t, dim);
	if (!v && !strcmp(bare(fam, t->name), fam->head))
		return wse_fail(-EINVAL,
				"%s is not in it: its output layer is tied to %.*s, this "
				"model's is not (share_embedding_weights)",
				fam->head, (int)strcspn(fam->embed, "."), fam->embed);
	if (!v)
		return wse_fail(-EINVAL, "%s is not in it, with or without \"%s\"", t->name,
				fam->prefix);
	if (v->ndim != t->ndim || v->dim[0] != dim[0] || (t->ndim == 2 && v->dim[1] != dim[1]))
		return wse_fail(-EINVAL, "%s is %s there, %s in this model%s", v->name,
				shape(v->ndim, v->dim, there), shape(t->ndim, dim, here),
				t->transposed && v->ndim == 2 && v->dim[0] == dim[1] &&
						v->dim[1] == dim[0]
					? ": it lies as [out][in], Hugging Face's as [in][out]"
					: "");
	if (wse_st_type(v) >= WSE_ST_U8)
		return wse_fail(-EINVAL, "%s is of type %s there; F32, F16 and BF16 are read",
				v->name, v->dtype);
	return 0;
}

/* *same: do both have these bytes? */
static int compare(const struct wse_st_view *a, const struct wse_st_view *b, int *same)
{
	char *x = malloc(2 * WSE_ST_PIECE), *y = x + WSE_ST_PIECE;
	int ret = x ? 0 : wse_fail(-ENOMEM, "no memory to read it");

	*same = a->bytes == b->bytes;
	for (uint64_t at = 0; !ret && *same && at < a->bytes; at += WSE_ST_PIECE) {
		size_t n = a->bytes - at < WSE_ST_PIECE ? (size_t)(a->bytes - at) : WSE_ST_PIECE;

		ret = wse_st_pread(a, at, n, x);
		ret = ret ? ret : wse_st_pread(b, at, n, y);
		*same = !ret && !memcmp(x, y, n);
	}
	free(x);
	return ret;
}

/* an output layer beside a model whose output layer is wte: it must be wte */
static int check_tied(const struct family *fam, const struct wse_st_file *f,
		      const struct wse_st_view *head)
{
	const struct wse_st_view *wte = in_file(fam, f, fam->embed);
	int same = head->ndim == wte->ndim && head->count == wte->count &&
		   !strcmp(head->dtype, wte->dtype);
	int ret = same ? compare(head, wte, &same) : 0;

	if (ret || same)
		return ret;
	return wse_fail(-EINVAL,
			"%s is not %s there: its output layer has weights of its own, "
			"this model's is tied (share_embedding_weights)",
			head->name, fam->embed);
}

/* names that the model does not have, or that the file has twice */
static int check_rest(const struct family *fam, const struct wse_st_file *f,
		      const struct wse_hf_tensor *table, uint32_t n)
{
	for (uint32_t i = 0; i < f->nviews; i++) {
		const struct wse_st_view *v = &f->views[i];
		int ret = 0;

		if (is_skipped(fam, v->name))
			continue;
		if (in_file(fam, f, v->name) != v)
			return wse_fail(-EINVAL, "%s is in it twice, as %s too", v->name,
					in_file(fam, f, v->name)->name);
		if (in_table(fam, table, n, v->name))
			continue;
		if (strcmp(bare(fam, v->name), fam->head))
			return wse_fail(-EINVAL, "%s is in it, and not in this model", v->name);
		ret = check_tied(fam, f, v);
		if (ret)
			return ret;
	}
	return 0;
}

/* ---- in and out ---- */

int wse_hf_match(const struct wse_st_file *f, const struct wse_hf_tensor *table, uint32_t n,
		 struct wse_st_take *takes)
{
	const struct family *fam = of_names(table_name, table, n);
	int ret;

	fam = fam ? fam : &families[GPT2];
	ret = check_sizes(fam, f, table, n);

	for (uint32_t i = 0; i < n && !ret; i++) {
		const struct wse_hf_tensor *t = &table[i];

		ret = check_tensor(fam, f, t);
		if (!ret)
			takes[i] = (struct wse_st_take){.view = in_file(fam, f, t->name),
							.rows = t->dim[0],
							.cols = t->ndim == 2 ? t->dim[1] : 1,
							.transposed = t->transposed,
							.tensor = i};
	}
	return ret ? ret : check_rest(fam, f, table, n);
}

static int put(void *ctx, const struct wse_st_take *t, size_t from, size_t count, const float *in)
{
	const struct wse_hf_tensor *table = ctx;

	memcpy(table[t->tensor].data + from, in, count * sizeof(*in));
	return 0;
}

int wse_hf_read(const char *path, const struct wse_hf_tensor *table, uint32_t n)
{
	struct wse_st_take *takes = calloc(n + 1ul, sizeof(*takes));
	struct wse_st_file f;
	int ret = takes ? wse_st_open(path, &f) : wse_fail(-ENOMEM, "no memory");

	if (!ret) {
		ret = wse_hf_match(&f, table, n, takes);
		ret = ret ? ret : wse_st_load(&f, takes, n, put, (void *)(uintptr_t)table);
		wse_st_close(&f);
	}
	free(takes);
	return ret;
}

int wse_hf_write(const char *path, const struct wse_hf_tensor *table, uint32_t n)
{
	struct wse_st_meta format = {"format", "pt"};
	struct wse_st st = {.nmeta = 1, .meta = &format};
	int ret = 0;

	st.tensors = calloc(n + 1, sizeof(*st.tensors));
	if (!st.tensors)
		return wse_fail(-ENOMEM, "no memory for its header");
	for (uint32_t i = 0; i < n && !ret; i++) {
		struct wse_st_tensor *t = &st.tensors[st.ntensors++];

		snprintf(t->name, sizeof(t->name), "%s", table[i].name);
		t->ndim = table[i].ndim;
		file_dims(&table[i], t->dim);
		t->count = (size_t)table[i].dim[0] * table[i].dim[1];
		t->data = table[i].data;
		t->transposed = table[i].transposed;
		for (size_t j = 0; j < t->count && !ret; j++)
			if (wse_f32_isbad(t->data[j]))
				ret = wse_fail(-ERANGE, "%s[%zu] is not finite", t->name, j);
	}
	if (!ret) {
		ret = wse_st_write(path, &st);
		if (ret)
			wse_fail(ret, "%s", strerror(-ret));
	}
	free(st.tensors);
	return ret;
}
