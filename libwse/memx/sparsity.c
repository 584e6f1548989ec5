// SPDX-License-Identifier: MIT
/* The sparsity section and the tensors that it is about. */
#include "memx/sparsity.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "num/num.h"

/* ---- the Model Zoo's names ---- */

/* the end of a name in a block, and what the Model Zoo has there, part by part */
static const struct {
	const char *ours, *zoo[3];
} names[] = {
#define QKV                                                                     \
	{                                                                       \
		"self_attn.proj_q_dense_layer", "self_attn.proj_k_dense_layer", \
			"self_attn.proj_v_dense_layer"                          \
	}
	{"attn.c_attn", QKV},
	{"attn.{q,k,v}_proj", QKV},
	{"attention.query_key_value", QKV},
	{"self_attn.{q,k,v}_proj", QKV},
	{"self_attention.query_key_value", QKV},
	{"attn.Wqkv", QKV},
#undef QKV
	{"attn.c_proj", {"self_attn.proj_output_dense_layer"}},
	{"attn.out_proj", {"self_attn.proj_output_dense_layer"}},
	{"attention.dense", {"self_attn.proj_output_dense_layer"}},
	{"self_attention.dense", {"self_attn.proj_output_dense_layer"}},
	{"self_attn.o_proj", {"self_attn.proj_output_dense_layer"}},
	{"mlp.c_fc", {"ffn.ffn.0.linear_layer"}},
	{"mlp.fc_in", {"ffn.ffn.0.linear_layer"}},
	{"mlp.dense_h_to_4h", {"ffn.ffn.0.linear_layer"}},
	{"mlp.up_proj", {"ffn.ffn.0.linear_layer"}},
	{"ffn.up_proj", {"ffn.ffn.0.linear_layer"}},
	{"mlp.{c_fc2,c_fc}", {"ffn.ffn.0.linear_layer_for_glu", "ffn.ffn.0.linear_layer"}},
	{"mlp.{fc_gate,fc_in}", {"ffn.ffn.0.linear_layer_for_glu", "ffn.ffn.0.linear_layer"}},
	{"mlp.{dense_gate,dense_h_to_4h}",
	 {"ffn.ffn.0.linear_layer_for_glu", "ffn.ffn.0.linear_layer"}},
	{"mlp.{gate,up}_proj", {"ffn.ffn.0.linear_layer_for_glu", "ffn.ffn.0.linear_layer"}},
	{"mlp.c_proj", {"ffn.ffn.1.linear_layer"}},
	{"mlp.fc_out", {"ffn.ffn.1.linear_layer"}},
	{"mlp.dense_4h_to_h", {"ffn.ffn.1.linear_layer"}},
	{"mlp.down_proj", {"ffn.ffn.1.linear_layer"}},
	{"ffn.down_proj", {"ffn.ffn.1.linear_layer"}},
};

/* "transformer.h.3.attn.c_proj.weight": 3, and what stands behind it; NULL: in no block */
static const char *in_block(const char *name, unsigned int *layer)
{
	const char *p = name;
	char *end;

	while ((p = strchr(p, '.'))) {
		if (isdigit((unsigned char)*++p)) {
			*layer = (unsigned int)strtoul(p, &end, 10);
			return *end == '.' ? end + 1 : NULL;
		}
	}
	return NULL;
}

/* the Model Zoo's parts of a tensor; NULL: it has it under our name */
static const char *const *zoo_parts(const char *rest)
{
	size_t n = rest ? strlen(rest) : 0, tail = strlen(".weight");

	if (n <= tail || strcmp(rest + n - tail, ".weight"))
		return NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i].ours) == n - tail && !strncmp(names[i].ours, rest, n - tail))
			return names[i].zoo;
	return NULL;
}

/* is it a matrix that streams as one, and that the host does not gather from? */
static int may_be_sparse(const struct wse_tensor *t)
{
	return t->ndim == 2 && !(t->flags & WSE_TENSOR_INPUT);
}

/* ---- filters ---- */

/* as the Model Zoo's default: no embedding, no norm, no output layer */
static int by_default(const struct wse_sparse_part *p, const char *ours)
{
	return !strstr(p->name, "embedding") && !strstr(p->name, "norm") &&
	       !strstr(p->name, "lm_head") && !strstr(p->name, "pe_helper") &&
	       strncmp(ours, "embed_out", 9);
}

static int glob(const char *pattern, const char *name)
{
	return !fnmatch(pattern, name, 0) ||
	       (!strncmp(pattern, "model.", 6) && !fnmatch(pattern + 6, name, 0));
}

/* the pattern of a group's list behind `at`, NULL: no more; text [WSE_SPARSE_FILTER] */
static const char *next_pattern(const char *at, char *text)
{
	size_t n;

	if (!*at)
		return NULL;
	n = strcspn(++at, "\n");
	snprintf(text, WSE_SPARSE_FILTER, "%.*s", (int)n, at);
	return at + n;
}

static int takes(const struct wse_sparse_group *g, const struct wse_sparse_part *p,
		 const char *ours)
{
	char pattern[WSE_SPARSE_FILTER];
	const char *at = g->filter;

	if (!*at)
		return by_default(p, ours);
	while ((at = next_pattern(at, pattern)))
		if (glob(pattern, p->name) || glob(pattern, ours))
			return 1;
	return 0;
}

static void take(const struct wse_sparsity *s, struct wse_sparse_part *p, const char *ours)
{
	p->group = UINT32_MAX;
	p->keep = p->count;
	for (uint32_t i = 0; s && i < s->n && p->group == UINT32_MAX; i++)
		if (takes(&s->g[i], p, ours))
			p->group = i;
	if (p->group == UINT32_MAX)
		return;
	p->keep = p->count - (size_t)(s->g[p->group].level * (double)p->count + 0.5);
	if (p->keep == p->count && !s->file[0])
		p->group = UINT32_MAX;
}

struct wse_sparse_part *wse_sparse_parts(const struct wse_tensor_table *tab,
					 const struct wse_sparsity *s, uint32_t *n)
{
	struct wse_sparse_part *list = calloc(3ul * tab->n + 1, sizeof(*list)), *p = list;

	for (uint32_t i = 0; list && i < tab->n; i++) {
		const struct wse_tensor *t = &tab->t[i];
		unsigned int layer = 0;
		const char *const *zoo = zoo_parts(in_block(t->name, &layer));
		uint32_t parts = !zoo ? 1 : zoo[2] ? 3 : zoo[1] ? 2 : 1, row = 0;
		uint32_t queries = t->queries ? t->queries : t->dim[1];

		for (uint32_t k = 0; k < parts && may_be_sparse(t); k++, p++) {
			p->tensor = i;
			p->row = row;
			/* keys and values share what the queries leave */
			p->rows = parts == 3 ? (k ? (t->dim[0] - queries) / 2 : queries)
					     : t->dim[0] / parts;
			p->from = (size_t)row * t->dim[1];
			p->count = (size_t)p->rows * t->dim[1];
			row += p->rows;
			if (zoo)
				snprintf(p->name, sizeof(p->name),
					 "transformer_decoder.layers.%u.%s.weight", layer, zoo[k]);
			else
				snprintf(p->name, sizeof(p->name), "%s", t->name);
			take(s, p, t->name);
		}
	}
	*n = (uint32_t)(p - list);
	return list;
}

/* ---- the section as a whole ---- */

/* names that a filter could have had: those of one block, and what stands in none */
static int no_match(const struct wse_sparse_part *p, uint32_t n, const char *pattern)
{
	const char *rest;
	unsigned int layer;

	wse_fail(-EINVAL,
		 "param_filter \"%.80s\" is the name of no matrix that can be sparse; there are",
		 pattern);
	for (uint32_t i = 0; i < n; i++) {
		layer = 0;
		rest = in_block(p[i].name, &layer);
		if (!layer)
			wse_fail_more("%s %s%s", i ? "," : "", rest ? "*" : "",
				      rest ? rest : p[i].name);
	}
	return -EINVAL;
}

static int check_filter(const struct wse_tensor_table *tab, const struct wse_sparse_group *g,
			const struct wse_sparse_part *p, uint32_t n)
{
	char pattern[WSE_SPARSE_FILTER];
	const char *at = g->filter;

	while ((at = next_pattern(at, pattern))) {
		uint32_t i = 0;

		while (i < n && !glob(pattern, p[i].name) &&
		       !glob(pattern, tab->t[p[i].tensor].name))
			i++;
		if (i == n)
			return no_match(p, n, pattern);
	}
	return 0;
}

int wse_sparse_check(const struct wse_tensor_table *tab, const struct wse_sparsity *s,
		     uint32_t *group)
{
	uint32_t n;
	struct wse_sparse_part *p = wse_sparse_parts(tab, s, &n);
	int ret = p ? 0 : wse_fail(-ENOMEM, "no memory for the list of matrices");

	*group = 0;
	for (uint32_t i = 0; i < s->n && !ret; i++) {
		*group = i;
		ret = check_filter(tab, &s->g[i], p, n);
	}
	for (uint32_t i = 0; i < n && !ret; i++) {
		if (p[i].group == UINT32_MAX || p[i].keep)
			continue;
		*group = p[i].group;
		ret = wse_fail(-EINVAL,
			       "%g leaves no weight of %s, which has %zu: choose %.6g or "
			       "less",
			       s->g[p[i].group].level, p[i].name, p[i].count,
			       1.0 - 1.0 / (double)p[i].count);
	}
	free(p);
	return ret;
}

void wse_sparse_count(const struct wse_tensor_table *tab, const struct wse_sparsity *s,
		      uint64_t *all, uint64_t *there)
{
	uint32_t n;
	struct wse_sparse_part *p = wse_sparse_parts(tab, s, &n);

	*all = *there = 0;
	for (uint32_t i = 0; p && i < n; i++) {
		*all += p[i].count;
		*there += p[i].keep;
	}
	free(p);
}

/* ---- when weights change places ---- */

int wse_sparse_is_due(const struct wse_sparse_group *g, uint64_t step)
{
	return g->algorithm != WSE_SPARSE_STATIC && g->freq && step % g->freq == 0 &&
	       (!g->stop || step < g->stop);
}

/* the Model Zoo's cosine: down to the least in half a period, and up again */
size_t wse_sparse_drops(const struct wse_sparse_group *g, uint64_t step, size_t there)
{
	double fraction = g->drop, turns;

	if (g->half_period) {
		turns = (double)(step % (2 * g->half_period)) / (2.0 * (double)g->half_period);
		fraction = 0.5 * (g->drop + g->drop_least) +
			   0.5 * (g->drop - g->drop_least) * wse_cos_turns(turns);
	}
	/* what stays is rounded down, as in the Model Zoo */
	return there - (size_t)((1.0 - fraction) * (double)there);
}
