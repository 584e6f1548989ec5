// SPDX-License-Identifier: MIT
/* Hugging Face's GPT-2 files in and out. */
#include "hf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/num.h"
#include "base/error.h"
#include "st_load.h"

/* ---- names ---- */

#define PREFIX "transformer."

static const char *bare(const char *name)
{
	return strncmp(name, PREFIX, strlen(PREFIX)) ? name : name + strlen(PREFIX);
}

static int ends_with(const char *name, const char *tail)
{
	size_t n = strlen(name), m = strlen(tail);

	return n >= m && !strcmp(name + n - m, tail);
}

/* what files hold besides the parameters: causal masks of old releases, moments of ours */
static int is_skipped(const char *name)
{
	name = bare(name);
	return !strncmp(name, "optimizer.", 10) ||
	       (!strncmp(name, "h.", 2) &&
		(ends_with(name, ".attn.bias") || ends_with(name, ".attn.masked_bias")));
}

/* the first of the file that has this name, with or without the prefix */
static const struct wse_st_view *in_file(const struct wse_st_file *f, const char *name)
{
	const struct wse_st_view *v, *w = NULL;
	char with[WSE_ST_NAME + sizeof(PREFIX)];

	name = bare(name);
	if (is_skipped(name))
		return NULL;
	v = wse_st_view(f, name);
	/* one that is longer than a name of ours is in no table */
	if ((size_t)snprintf(with, sizeof(with), PREFIX "%s", name) < sizeof(with))
		w = wse_st_view(f, with);
	return !v || (w && w < v) ? w : v;
}

static const struct wse_hf_tensor *in_table(const struct wse_hf_tensor *table, uint32_t n,
					    const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(bare(table[i].name), bare(name)))
			return &table[i];
	return NULL;
}

/* the layer of "h.7.ln_1.weight" plus one, 0 for a name without one */
static uint32_t layers_to(const char *name)
{
	char *end;
	unsigned long l;

	name = bare(name);
	if (strncmp(name, "h.", 2) || name[2] < '0' || name[2] > '9')
		return 0;
	l = strtoul(name + 2, &end, 10);
	return *end == '.' && l < UINT32_MAX ? (uint32_t)l + 1 : 0;
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
static int check_sizes(const struct wse_st_file *f, const struct wse_hf_tensor *table, uint32_t n)
{
	static const struct {
		const char *key, *name;
		uint32_t dim; /* of the file */
	} sizes[] = {{"hidden_size", "wte.weight", 1},
		     {"vocab_size", "wte.weight", 0},
		     {"max_position_embeddings", "wpe.weight", 0},
		     {"filter_size", "h.0.mlp.c_fc.bias", 0}};
	uint32_t there = 0, here = 0;
	int ret = 0;

	if (!in_file(f, "wte.weight"))
		return wse_fail(
			-EINVAL,
			"wte.weight is not in it: no GPT-2 of Hugging Face's (it has %u tensors, "
			"the first is %.64s)",
			f->nviews, f->nviews ? f->views[0].name : "none");
	for (uint32_t i = 0; i < f->nviews; i++)
		if (!is_skipped(f->views[i].name) && layers_to(f->views[i].name) > there)
			there = layers_to(f->views[i].name);
	for (uint32_t i = 0; i < n; i++)
		here = layers_to(table[i].name) > here ? layers_to(table[i].name) : here;
	differ(&ret, "num_hidden_layers", there, here);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct wse_st_view *v = in_file(f, sizes[i].name);
		const struct wse_hf_tensor *t = in_table(table, n, sizes[i].name);

		if (v && t && v->ndim == t->ndim)
			differ(&ret, sizes[i].key, v->dim[sizes[i].dim], t->dim[sizes[i].dim]);
	}
	return ret;
}

static int check_tensor(const struct wse_st_file *f, const struct wse_hf_tensor *t)
{
	const struct wse_st_view *v = in_file(f, t->name);
	char there[64], here[64];
	uint32_t dim[2];

	file_dims(t, dim);
	if (!v && !strcmp(bare(t->name), "lm_head.weight"))
		return wse_fail(
			-EINVAL,
			"lm_head.weight is not in it: its output layer is tied to wte, this "
			"model's is not (share_embedding_weights)");
	if (!v)
		return wse_fail(-EINVAL, "%s is not in it, with or without \"" PREFIX "\"",
				t->name);
	if (v->ndim != t->ndim || v->dim[0] != dim[0] || (t->ndim == 2 && v->dim[1] != dim[1]))
		return wse_fail(-EINVAL, "%s is %s there, %s in this model%s", v->name,
				shape(v->ndim, v->dim, there), shape(t->ndim, dim, here),
				t->transposed && v->ndim == 2 && v->dim[0] == dim[1] &&
						v->dim[1] == dim[0]
					? ": it lies as [out][in], Hugging Face's as [in][out]"
					: "");
	if (wse_st_type(v) == WSE_ST_OTHER)
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

/* lm_head.weight beside a model whose output layer is wte: it must be wte */
static int check_tied(const struct wse_st_file *f, const struct wse_st_view *head)
{
	const struct wse_st_view *wte = in_file(f, "wte.weight");
	int same = head->ndim == wte->ndim && head->count == wte->count &&
		   !strcmp(head->dtype, wte->dtype);
	int ret = same ? compare(head, wte, &same) : 0;

	if (ret || same)
		return ret;
	return wse_fail(-EINVAL,
			"%s is not wte.weight there: its output layer has weights of its own, "
			"this model's is tied (share_embedding_weights)",
			head->name);
}

/* names that the model does not have, or that the file has twice */
static int check_rest(const struct wse_st_file *f, const struct wse_hf_tensor *table, uint32_t n)
{
	for (uint32_t i = 0; i < f->nviews; i++) {
		const struct wse_st_view *v = &f->views[i];
		int ret = 0;

		if (is_skipped(v->name))
			continue;
		if (in_file(f, v->name) != v)
			return wse_fail(-EINVAL, "%s is in it twice, as %s too", v->name,
					in_file(f, v->name)->name);
		if (in_table(table, n, v->name))
			continue;
		if (strcmp(bare(v->name), "lm_head.weight"))
			return wse_fail(-EINVAL, "%s is in it, and not in this model", v->name);
		ret = check_tied(f, v);
		if (ret)
			return ret;
	}
	return 0;
}

/* ---- in and out ---- */

int wse_hf_match(const struct wse_st_file *f, const struct wse_hf_tensor *table, uint32_t n,
		 struct wse_st_take *takes)
{
	int ret = check_sizes(f, table, n);

	for (uint32_t i = 0; i < n && !ret; i++) {
		const struct wse_hf_tensor *t = &table[i];

		ret = check_tensor(f, t);
		if (!ret)
			takes[i] = (struct wse_st_take){.view = in_file(f, t->name),
							.rows = t->dim[0],
							.cols = t->ndim == 2 ? t->dim[1] : 1,
							.transposed = t->transposed,
							.tensor = i};
	}
	return ret ? ret : check_rest(f, table, n);
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
