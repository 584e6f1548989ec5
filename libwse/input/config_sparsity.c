// SPDX-License-Identifier: MIT
/* trainer.init.sparsity of a parameter file, by the Model Zoo's keys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sections.h"

static int is_word(const struct wse_yaml *y, const char *word)
{
	return y && y->type == WSE_YAML_SCALAR && !strcmp(y->text, word);
}

/* "a", or a list of such: each behind a newline */
static void read_filter(struct sections *s, struct wse_yaml *y, char *to)
{
	const struct wse_yaml *list = reader_want(&s->r, y, "param_filter", 0);
	const struct wse_yaml *c = list && list->type == WSE_YAML_LIST ? list->child : list;
	size_t n = 0;

	if (!list || is_word(list, "null"))
		return;
	for (; c; c = list == c ? NULL : c->next) {
		if (c->type != WSE_YAML_SCALAR || !c->text[0] || strchr(c->text, '\n')) {
			reader_fail(&s->r, c, "must be a name with wildcards, or a list of such");
			return;
		}
		n += (size_t)snprintf(to + n, n < WSE_SPARSE_FILTER ? WSE_SPARSE_FILTER - n : 0,
				      "\n%s", c->text);
		if (n >= WSE_SPARSE_FILTER) {
			reader_fail(&s->r, list, "has more than %d characters in all",
				    WSE_SPARSE_FILTER - 1);
			return;
		}
	}
	if (!n)
		reader_fail(&s->r, list, "must be a name with wildcards, or a list of such");
	else
		wse_yaml_use_all(wse_yaml_get(y, "param_filter"));
}

/* a number, or {type: constant, value} or {type: cosine, init, half_period, minimum} */
static void read_drop(struct sections *s, struct wse_yaml *y, struct wse_sparse_group *g)
{
	static const char *const types[] = {"constant", "cosine", NULL};
	struct wse_yaml *d = reader_want(&s->r, y, "drop_fraction", 0);
	int type;

	g->drop = 0.3;
	if (!d || d->type != WSE_YAML_MAP) {
		g->drop = reader_real(&s->r, y, "drop_fraction", 0, g->drop, 0.0, 1.0);
		return;
	}
	type = reader_choice(&s->r, d, "type", 1, types);
	if (type <= 0) {
		g->drop = reader_real(&s->r, d, "value", type == 0, g->drop, 0.0, 1.0);
		return;
	}
	g->drop = reader_real(&s->r, d, "init", 1, 0.0, 0.0, 1.0);
	g->drop_least = reader_real(&s->r, d, "minimum", 0, 0.0, 0.0, 1.0);
	g->half_period = reader_u64(&s->r, d, "half_period", 1, 0, 1, UINT32_MAX);
}

static void read_update(struct sections *s, struct wse_yaml *y, struct wse_sparse_group *g)
{
	struct wse_yaml *u = reader_map(&s->r, y, "update", 0);

	g->freq = reader_u64(&s->r, u, "freq", 0, 1, 0, UINT32_MAX);
	if (!g->freq)
		reader_fail(
			&s->r, wse_yaml_peek(u, "freq"),
			"must be the number of steps from one change of the masks to the next: 1 "
			"or more, or algorithm static");
	if (reader_u64(&s->r, u, "start", 0, 0, 0, UINT32_MAX))
		reader_fail(&s->r, wse_yaml_peek(u, "start"),
			    "must be 0: a run is sparse from its first step on");
	g->stop = reader_u64(&s->r, u, "stop", 0, 0, 1, UINT32_MAX);
	if (u && wse_yaml_peek(u, "steps"))
		reader_fail(&s->r, reader_want(&s->r, u, "steps", 0),
			    "is a list of steps: give freq and stop");
}

/* the run has one file, whichever groups name it */
static void read_file(struct sections *s, struct wse_yaml *y)
{
	struct wse_sparsity *sp = &s->cfg->sparsity;
	char before[WSE_SPARSE_FILE];

	memcpy(before, sp->file, sizeof(before));
	reader_word(&s->r, y, "mask_file", 0, sp->file, sizeof(sp->file));
	if (before[0] && wse_yaml_peek(y, "mask_file") && strcmp(before, sp->file))
		reader_fail(&s->r, wse_yaml_peek(y, "mask_file"),
			    "is another file than that of a group before, \"%.80s\": all masks "
			    "come from one",
			    before);
}

static void read_group(struct sections *s, struct wse_yaml *y)
{
	static const char *const inits[] = {"random", "topk", NULL};
	static const char *const algorithms[] = {"static", "set", "rigl", NULL};
	struct wse_sparsity *sp = &s->cfg->sparsity;
	struct wse_sparse_group *g = &sp->g[sp->n];
	const char *level = wse_yaml_peek(y, "schedule") ? "schedule" : "sparsity";
	const char *algorithm = wse_yaml_peek(y, "algorithm") ? "algorithm" : "type";
	const struct wse_yaml *l = wse_yaml_peek(y, level);
	int k;

	if (sp->n == WSE_SPARSE_GROUPS) {
		reader_fail(&s->r, y, "is one group too many: %d are the most", WSE_SPARSE_GROUPS);
		return;
	}
	memset(g, 0, sizeof(*g));
	if (l && l->type != WSE_YAML_SCALAR) {
		reader_fail(
			&s->r, reader_want(&s->r, y, level, 0),
			"must be a number: the part of the weights that is left out in all steps");
		wse_yaml_use_all(wse_yaml_get(y, level));
	} else {
		g->level =
			reader_real(&s->r, y, level, !wse_yaml_peek(y, "mask_file"), 0.0, 0.0, 1.0);
	}
	k = reader_choice(&s->r, y, "init_method", 0, inits);
	g->init = (enum wse_sparse_init)(k < 0 ? 0 : k);
	k = reader_choice(&s->r, y, algorithm, 0, algorithms);
	g->algorithm = (enum wse_sparse_algorithm)(k < 0 ? 0 : k);
	read_filter(s, y, g->filter);
	read_file(s, y);
	if (g->algorithm != WSE_SPARSE_STATIC) {
		read_drop(s, y, g);
		read_update(s, y, g);
	}
	sp->n++;
}

/* the level alone, a group, or a list of groups */
static void read_any(struct sections *s, struct wse_yaml *init, struct wse_yaml *y)
{
	struct wse_sparsity *sp = &s->cfg->sparsity;

	if (y->type == WSE_YAML_SCALAR) {
		sp->g[0].level = reader_real(&s->r, init, "sparsity", 0, 0.0, 0.0, 1.0);
		sp->n = 1;
	} else if (y->type == WSE_YAML_MAP && wse_yaml_peek(y, "groups")) {
		read_any(s, y, reader_want(&s->r, y, "groups", 0));
	} else if (y->type == WSE_YAML_MAP) {
		read_group(s, y);
	} else {
		for (struct wse_yaml *c = y->child; c; c = c->next) {
			if (c->type == WSE_YAML_MAP)
				read_group(s, c);
			else
				reader_fail(&s->r, c, "must be a map with sparsity: LEVEL");
		}
	}
}

/* the node that a sentence is about: of a list the group's */
static const struct wse_yaml *group_node(const struct wse_yaml *y, uint32_t group)
{
	const struct wse_yaml *groups = y->type == WSE_YAML_MAP ? wse_yaml_peek(y, "groups") : NULL;
	const struct wse_yaml *c;

	y = groups ? groups : y;
	if (y->type != WSE_YAML_LIST)
		return y;
	for (c = y->child; c && group; c = c->next)
		group--;
	return c ? c : y;
}

void wse_config_sparsity(struct sections *s, struct wse_yaml *init)
{
	struct wse_yaml *y = reader_want(&s->r, init, "sparsity", 0);
	struct wse_sparsity *sp = &s->cfg->sparsity;
	const struct wse_model *m = &s->cfg->model;
	struct wse_tensor_table tab = {0};
	uint32_t before = s->r.faults->n, missing = s->r.nmissing, group = 0;
	uint64_t all, there;

	if (!y || is_word(y, "null") || is_word(y, ""))
		return;
	read_any(s, init, y);
	if (s->r.faults->n != before || s->r.nmissing != missing || !m->family)
		return;
	if (m->family->tensors(m, &tab)) {
		reader_fail(&s->r, y, "there is no memory for the list of tensors");
	} else if (wse_sparse_check(&tab, sp, &group)) {
		reader_fail(&s->r, group_node(y, group), "%s", wse_error());
	} else {
		/* level 0 is the dense run, whatever else the section says */
		wse_sparse_count(&tab, sp, &all, &there);
		if (all == there && !sp->file[0])
			memset(sp, 0, sizeof(*sp));
	}
	wse_tensor_table_fini(&tab);
}
