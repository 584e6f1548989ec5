// SPDX-License-Identifier: MIT
/*
 * Maximal update parametrization (muP) by the Model Zoo's keys: factors of embeddings, scores and
 * logits, initial weights and learning rates by how many times a model is as wide as the one whose
 * hyperparameters it takes; and learning rates a tensor, by globs over the Model Zoo's names.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "num/num.h"
#include "sections.h"

static int is_null(const struct wse_yaml *y)
{
	return y && y->type == WSE_YAML_SCALAR && !strcmp(y->text, "null");
}

/* a number that may be null, which is as if it were not there */
static double real(struct sections *s, struct wse_yaml *m, const char *key, double fallback)
{
	struct wse_yaml *y = wse_yaml_peek(m, key);

	if (is_null(y)) {
		reader_want(&s->r, m, key, 0);
		return fallback;
	}
	return reader_real(&s->r, m, key, 0, fallback, 1e-9, 1e9);
}

/* ---- factors ---- */

/* 0 where it makes no difference */
static float factor(double x)
{
	return x == 1.0 ? 0.0f : (float)x;
}

static void read_scores(struct sections *s, struct wse_yaml *m, struct wse_gpt *g)
{
	double alpha = real(s, m, "attention_logits_alpha", 1.0), d = wse_gpt_head_dim(g);
	int by_d = 0;

	if (is_null(wse_yaml_peek(m, "scale_qk_dot_by_d")))
		reader_want(&s->r, m, "scale_qk_dot_by_d", 0);
	else
		by_d = reader_flag(&s->r, m, "scale_qk_dot_by_d", 0);
	if (by_d)
		g->score_scale = (float)(alpha / d);
	else if (alpha != 1.0)
		g->score_scale = (float)(alpha / wse_sqrt(d));
}

/* wider: how many times as wide as the base; 0: no muP */
static void read_logits(struct sections *s, struct wse_yaml *m, struct wse_gpt *g, double wider)
{
	struct wse_yaml *old = wse_yaml_peek(m, "output_logits_scale");
	double alpha, scale = real(s, m, "output_logits_scale",
				   g->logits_scale != 0.0f ? g->logits_scale : 1.0);

	if (wider == 0.0) {
		/* as in the Model Zoo, which says so in a warning */
		wse_config_ignore(s, m, "output_logits_alpha");
		wse_config_ignore(s, m, "scale_output_logits_by_d");
		g->logits_scale = factor(scale);
		return;
	}
	if (old && !is_null(old))
		reader_fail(&s->r, old,
			    "is of muP before the Model Zoo's 2.3: beside mup_base_hidden_size "
			    "give output_logits_alpha");
	alpha = real(s, m, "output_logits_alpha", 1.0);
	if (!reader_flag(&s->r, m, "scale_output_logits_by_d", 1))
		wider = wse_sqrt(wider);
	g->logits_scale = factor(alpha / wider);
}

/* ---- initial weights ---- */

static struct wse_initial times(const struct wse_initial *i, const struct wse_initial *fallback,
				double by)
{
	const struct wse_initial *of = i->dev != 0.0f ? i : fallback;

	return (struct wse_initial){of->mean, (float)(of->dev * by), (float)(of->low * by),
				    (float)(of->high * by)};
}

/* the Model Zoo's: the FFN's second layer does not take output_layer_initializer here */
static void scale_initials(struct wse_gpt *g, double range, double wider, double filter)
{
	const struct wse_initial cut = {0.0f, (float)range, (float)(-2 * range),
					(float)(2 * range)};
	double in = 1.0 / wse_sqrt(wider), out = 1.0 / wse_sqrt(filter);
	double less = 1.0 / wse_sqrt(2.0 * g->layers);

	g->ffn = times(&g->ffn, g->initial.dev != 0.0f ? &g->initial : &cut, in);
	g->initial = times(&g->initial, &cut, in);
	g->residual = times(&g->residual, &cut, in * less);
	g->ffn_residual = times(&g->ffn_residual, &cut, out * less);
	g->embed = times(&g->embed, &cut, 1.0);
	g->dev = (float)range; /* an output layer of its own */
}

/* ---- learning rates ---- */

enum { GROUPS = 16, GLOBS = 8 };

struct group {
	const char *name;
	const char *globs[GLOBS + 1];
	double scale;
	const struct wse_yaml *at; /* NULL: the Model Zoo's own */
};

struct groups {
	struct group g[GROUPS];
	uint32_t n;
};

static const struct group defaults[] = {
	{"embedding", {"*embedding*weight"}, 1.0, NULL},
	{"decoder_kernel", {"*decoder*dense*weight", "*decoder*linear*weight"}, 1.0, NULL},
	{"decoder_attention", {"*decoder*attn*dense*weight"}, 1.0, NULL},
	{"decoder_input_ffn", {"*decoder*ffn.ffn.[!1]*weight"}, 1.0, NULL},
	{"decoder_output_ffn", {"*decoder*ffn.ffn.[1]*weight"}, 1.0, NULL},
};

static struct group *find(struct groups *all, const char *name)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (!strcmp(all->g[i].name, name))
			return &all->g[i];
	return NULL;
}

/* {name: {param_filter_patterns: glob or list of them, scale: number}} in place of the defaults */
static void read_groups(struct sections *s, struct wse_yaml *m, struct groups *all)
{
	struct wse_yaml *map = reader_map(&s->r, m, "lr_adjustment_groups", 0);

	all->n = map ? 0 : sizeof(defaults) / sizeof(*defaults);
	memcpy(all->g, defaults, sizeof(defaults));
	for (struct wse_yaml *c = map ? map->child : NULL; c; c = c->next) {
		struct group *g = &all->g[all->n];
		struct wse_yaml *y = reader_map(&s->r, map, c->key, 0), *globs;
		uint32_t n = 0;

		globs = reader_want(&s->r, y, "param_filter_patterns", 1);
		*g = (struct group){.name = c->key, .at = c};
		g->scale = real(s, y, "scale", 1.0);
		if (!globs)
			continue;
		if (all->n == GROUPS - 1) {
			reader_fail(&s->r, c, "is one too many: %d groups are the most",
				    GROUPS - 1);
			wse_yaml_use_all(map);
			return;
		}
		if (globs->type == WSE_YAML_SCALAR)
			g->globs[n++] = globs->text;
		for (struct wse_yaml *e = globs->child; e; e = e->next) {
			if (e->type != WSE_YAML_SCALAR || n == GLOBS)
				reader_fail(&s->r, e, "must be one of up to %d globs", GLOBS);
			else
				g->globs[n++] = e->text;
		}
		wse_yaml_use_all(globs);
		all->n++;
	}
}

/* an optimizer's {name of a group: scale} */
static void read_scales(struct sections *s, struct wse_yaml *init, struct groups *all)
{
	struct wse_yaml *optim = wse_yaml_peek(init, "optimizer"), *map;

	if (!optim || optim->type != WSE_YAML_MAP || !optim->child ||
	    optim->child->type != WSE_YAML_MAP)
		return;
	map = reader_map(&s->r, optim->child, "adjust_learning_rate", 0);
	for (struct wse_yaml *c = map ? map->child : NULL; c; c = c->next) {
		double scale = reader_real(&s->r, map, c->key, 0, 1.0, 1e-9, 1e6);
		struct group *g = find(all, c->key);

		if (!g) {
			reader_fail(&s->r, c,
				    "is no group of learning rates: embedding, decoder_kernel, "
				    "decoder_attention, decoder_input_ffn and decoder_output_ffn "
				    "are, or those of model.lr_adjustment_groups");
			continue;
		}
		g->scale = scale;
		g->at = c;
	}
}

#define LAYER "transformer_decoder.layers.%u."
/* a kind's tensors as the Model Zoo names them; %u is the layer */
static const char *const kinds[WSE_GPT_RATES][3] = {
	[WSE_GPT_RATE_WTE] = {"embedding_layer.word_embeddings.weight"},
	[WSE_GPT_RATE_WPE] = {"embedding_layer.position_embeddings.embed.weight"},
	[WSE_GPT_RATE_QKV] = {LAYER "self_attn.proj_q_dense_layer.weight",
			      LAYER "self_attn.proj_k_dense_layer.weight",
			      LAYER "self_attn.proj_v_dense_layer.weight"},
	[WSE_GPT_RATE_PROJ] = {LAYER "self_attn.proj_output_dense_layer.weight"},
	[WSE_GPT_RATE_FC] = {LAYER "ffn.ffn.0.linear_layer.weight",
			     LAYER "ffn.ffn.0.linear_layer_for_glu.weight"},
	[WSE_GPT_RATE_FC2] = {LAYER "ffn.ffn.1.linear_layer.weight"},
	[WSE_GPT_RATE_HEAD] = {"lm_head.weight"},
};
static const char *const vectors[] = {
	LAYER "norm1.weight",
	LAYER "norm1.bias",
	LAYER "norm3.weight",
	LAYER "norm3.bias",
	LAYER "self_attn.proj_q_dense_layer.bias",
	LAYER "self_attn.proj_k_dense_layer.bias",
	LAYER "self_attn.proj_v_dense_layer.bias",
	LAYER "self_attn.proj_output_dense_layer.bias",
	LAYER "ffn.ffn.0.linear_layer.bias",
	LAYER "ffn.ffn.0.linear_layer_for_glu.bias",
	LAYER "ffn.ffn.1.linear_layer.bias",
	"transformer_decoder.norm.weight",
	"transformer_decoder.norm.bias",
	"lm_head.bias",
};

/* `name` is one of the literals above */
static int matches(const struct group *g, const char *name, uint32_t layer, char *full, size_t size)
{
	const char *at = strstr(name, "%u");

	if (at)
		snprintf(full, size, "%.*s%u%s", (int)(at - name), name, layer, at + 2);
	else
		snprintf(full, size, "%s", name);
	for (int i = 0; g->globs[i]; i++)
		if (!fnmatch(g->globs[i], full, 0))
			return 1;
	return 0;
}

/* of a kind's tensors in all layers: does the group have them? Some but not others is a fault */
static int has_kind(struct sections *s, const struct group *g, const struct wse_gpt *m, int kind)
{
	char yes[128] = "", no[128] = "", full[128];

	for (uint32_t l = 0; l < (strstr(kinds[kind][0], "%u") ? m->layers : 1); l++)
		for (int i = 0; i < 3 && kinds[kind][i]; i++) {
			if (kind == WSE_GPT_RATE_FC && i && !m->gated)
				continue;
			memcpy(matches(g, kinds[kind][i], l, full, sizeof(full)) ? yes : no, full,
			       sizeof(full));
		}
	if (yes[0] && no[0])
		reader_fail(&s->r, g->at,
			    "has %s and not %s: all layers, and queries, keys and values, have one "
			    "learning rate here",
			    yes, no);
	return yes[0] && !no[0];
}

/* a vector that the group has, in any layer: full is its name */
static int has_vector(const struct group *g, uint32_t layers, char *full, size_t size)
{
	for (size_t k = 0; k < sizeof(vectors) / sizeof(*vectors); k++)
		for (uint32_t l = 0; l < (strstr(vectors[k], "%u") ? layers : 1); l++)
			if (matches(g, vectors[k], l, full, size))
				return 1;
	return 0;
}

static void set_rates(struct sections *s, const struct groups *all, struct wse_gpt *m)
{
	const struct group *by[WSE_GPT_RATES] = {NULL};
	char full[128];

	for (uint32_t i = 0; i < all->n; i++) {
		const struct group *g = &all->g[i];
		uint32_t before = s->r.faults->n;
		int some = 0;

		if (g->scale == 1.0)
			continue;
		if (has_vector(g, m->layers, full, sizeof(full))) {
			reader_fail(&s->r, g->at, "has %s: vectors have the learning rate itself",
				    full);
			return;
		}
		for (int k = 0; k < WSE_GPT_RATES; k++) {
			if (!has_kind(s, g, m, k))
				continue;
			some = 1;
			if ((k == WSE_GPT_RATE_HEAD && m->tied) ||
			    (k == WSE_GPT_RATE_WPE && !m->learned))
				continue;
			if (by[k] && by[k]->scale != g->scale)
				reader_fail(&s->r, g->at ? g->at : by[k]->at,
					    "has the tensors of group %s, too, with another scale",
					    g->at ? by[k]->name : g->name);
			by[k] = g;
			m->rate[k] = (float)g->scale;
		}
		if (g->at && !some && s->r.faults->n == before) {
			matches(g, kinds[WSE_GPT_RATE_QKV][0], 0, full, sizeof(full));
			reader_fail(&s->r, g->at, "matches no matrix: their names are such as %s",
				    full);
		}
	}
}

static void set_scale(struct sections *s, struct groups *all, const struct wse_yaml *m,
		      const char *name, double scale)
{
	struct group *g = find(all, name);

	if (g)
		g->scale = scale;
	else
		reader_fail(&s->r, wse_yaml_peek(m, "lr_adjustment_groups"),
			    "lacks the group %s, whose scale muP sets", name);
}

/* ---- all of it ---- */

void wse_config_mup(struct sections *s, struct wse_yaml *init, struct wse_yaml *m, double range,
		    struct wse_gpt *g)
{
	double hidden = real(s, m, "mup_base_hidden_size", 0.0), wider = 0.0, filter = 0.0, embed;
	double base_filter = real(s, m, "mup_base_filter_size", 0.0);
	struct wse_gpt none = {.hidden = 1, .heads = 1, .filter = 1, .layers = 1};
	struct groups all;

	/* of sizes that are refused, with the sentence that they have: the keys are known */
	if (!g->heads || g->hidden < g->heads || !g->filter || !g->layers)
		g = &none;
	if ((hidden != 0.0) != (base_filter != 0.0))
		reader_fail(&s->r,
			    wse_yaml_peek(m, hidden != 0.0 ? "mup_base_hidden_size"
							   : "mup_base_filter_size"),
			    "wants %s beside it",
			    hidden != 0.0 ? "mup_base_filter_size" : "mup_base_hidden_size");
	if (hidden != 0.0 && base_filter != 0.0) {
		wider = g->hidden / hidden;
		filter = g->filter / base_filter;
	}
	/* a config.json may have set these two, and the scale of scores */
	embed = g->embed_scale != 0.0f ? g->embed_scale : 1.0;
	g->embed_scale = factor(real(s, m, "embeddings_scale", embed));
	read_scores(s, m, g);
	read_logits(s, m, g, wider);
	read_groups(s, m, &all);
	if (wider != 0.0) {
		scale_initials(g, range, wider, filter);
		set_scale(s, &all, m, "decoder_attention", 1.0 / wider);
		set_scale(s, &all, m, "decoder_input_ffn", 1.0 / wider);
		set_scale(s, &all, m, "decoder_output_ffn", 1.0 / filter);
	}
	read_scales(s, init, &all);
	set_rates(s, &all, g);
}
