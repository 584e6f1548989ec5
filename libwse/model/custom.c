// SPDX-License-Identifier: MIT
/*
 * A model of the user's own. What a builder of ours does right by itself is checked here: nothing
 * of it is trusted.
 */
#include "model/custom.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ops/ops.h"

#define MAX_PARAMS 16384

struct custom {
	atomic_uint refs;
	struct wse_builder ops;
	void *ctx;
	char name[96];
	uint64_t macs;
	uint32_t nparams;
	struct wse_param *params; /* [nparams], names copied behind them */
};

static struct custom *custom(const struct wse_model *m)
{
	return *(struct custom *const *)(const void *)m->family_data;
}

void wse_custom_get(const struct wse_model *m)
{
	atomic_fetch_add(&custom(m)->refs, 1);
}

void wse_custom_put(const struct wse_model *m)
{
	struct custom *c = custom(m);

	if (atomic_fetch_sub(&c->refs, 1) != 1)
		return;
	for (uint32_t i = 0; i < c->nparams; i++)
		free((char *)c->params[i].name);
	free(c->params);
	free(c);
}

static int check_param(const struct wse_model_shape *s, uint32_t i)
{
	const struct wse_param *p = &s->params[i];
	uint64_t n = (uint64_t)p->rows * (p->cols ? p->cols : 1);

	if (!p->name || !p->name[0] || strlen(p->name) > 63)
		return wse_fail(-EINVAL, "parameter %u: its name has 1 to 63 characters", i);
	for (uint32_t j = 0; j < i; j++)
		if (!strcmp(s->params[j].name, p->name))
			return wse_fail(-EINVAL, "parameters %u and %u are both called %s", j, i,
					p->name);
	if (!n || n > 1ull << 32)
		return wse_fail(-EINVAL, "parameter %s: %u x %u elements", p->name, p->rows,
				p->cols);
	if (p->flags & ~(WSE_TENSOR_DECAY | WSE_TENSOR_TRANSPOSED | WSE_TENSOR_INPUT))
		return wse_fail(-EINVAL, "parameter %s: unknown flags %#x", p->name, p->flags);
	return 0;
}

int wse_custom_init(struct wse_model *m, const struct wse_model_shape *s,
		    const struct wse_builder *ops, void *ctx)
{
	struct custom *c;
	int ret = 0;

	if (!s->name || !s->name[0] || strlen(s->name) >= sizeof(c->name))
		return wse_fail(-EINVAL, "a model needs a name of 1 to %zu characters",
				sizeof(c->name) - 1);
	if (!s->vocab || s->vocab > 65536 || !s->span || s->span > 1u << 20 || s->window > 1u << 20)
		return wse_fail(
			-EINVAL,
			"vocab %u, span %u, window %u: 1 to 65536, 1 to 1048576, up to 1048576",
			s->vocab, s->span, s->window);
	if (!ops->graph || !ops->gather)
		return wse_fail(-EINVAL, "a model needs graph() and gather()");
	if (!s->nparams || !s->params || s->nparams > MAX_PARAMS)
		return wse_fail(-EINVAL, "a model has 1 to %d parameters", MAX_PARAMS);
	for (uint32_t i = 0; i < s->nparams && !ret; i++)
		ret = check_param(s, i);
	if (ret)
		return ret;
	c = calloc(1, sizeof(*c));
	if (!c)
		return wse_fail(-ENOMEM, "no memory");
	*m = (struct wse_model){.family = &wse_family_custom,
				.vocab = s->vocab,
				.window = s->window,
				.span = s->span};
	memcpy(m->family_data, &c, sizeof(c));
	atomic_init(&c->refs, 1);
	c->ops = *ops;
	c->ctx = ctx;
	c->macs = s->macs;
	snprintf(c->name, sizeof(c->name), "%s", s->name);
	c->params = calloc(s->nparams, sizeof(*c->params));
	for (uint32_t i = 0; c->params && i < s->nparams && !ret; i++) {
		c->params[i] = s->params[i];
		c->params[i].name = strdup(s->params[i].name);
		c->nparams = i + 1;
		ret = c->params[i].name ? 0 : -ENOMEM;
	}
	if (!c->params || ret) {
		wse_custom_put(m);
		return wse_fail(-ENOMEM, "no memory");
	}
	return 0;
}

static int tensors(const struct wse_model *m, struct wse_tensor_table *tab)
{
	const struct custom *c = custom(m);

	for (uint32_t i = 0; i < c->nparams; i++) {
		const struct wse_param *p = &c->params[i];

		if (wse_tensor_add(tab, p->flags, p->mean, p->dev, p->rows, p->cols, "%s",
				   p->name) == WSE_NO_TENSOR)
			return -ENOMEM;
	}
	return 0;
}

/* MemoryX copies by these sizes without looking again */
static int check_matrix(const struct custom *c, const struct wse_unit *u, uint32_t unit)
{
	int whole = u->parts != 1 || u->chunks_out != 1 || u->chunks_in != 1;
	const struct wse_param *p;

	if (u->weight == WSE_NO_TENSOR)
		return 0;
	if (u->weight >= c->nparams)
		return wse_fail(-EINVAL, "unit %u: there is no parameter %u of %u", unit, u->weight,
				c->nparams);
	p = &c->params[u->weight];
	if (!p->cols || p->cols != u->ins || p->rows > u->outs || (whole && p->rows != u->outs))
		return wse_fail(-EINVAL, "unit %u: %s is %u x %u, the unit %u x %u in %u parts",
				unit, p->name, p->rows, p->cols, u->outs, u->ins, u->parts);
	if (whole && p->flags & WSE_TENSOR_INPUT)
		return wse_fail(-EINVAL, "unit %u: %s is gathered, and in parts or chunks", unit,
				p->name);
	return 0;
}

static int check_units(const struct custom *c, const struct wse_graph *g)
{
	unsigned char *seen = calloc(c->nparams, 1);
	int ret = seen ? 0 : wse_fail(-ENOMEM, "no memory");

	for (uint32_t i = 0; i < g->nunits && !ret; i++) {
		const struct wse_unit *u = &g->units[i];

		ret = check_matrix(c, u, i);
		for (uint32_t v = 0; v <= u->nvec && !ret; v++) {
			uint32_t t = v ? u->vec[v - 1].tensor : u->weight;

			if (t == WSE_NO_TENSOR && !v)
				continue;
			if (t >= c->nparams)
				ret = wse_fail(-EINVAL, "unit %u: there is no parameter %u of %u",
					       i, t, c->nparams);
			else if (seen[t]++)
				ret = wse_fail(-EINVAL, "unit %u: %s is in two places", i,
					       c->params[t].name);
			else if (v && (c->params[t].cols ||
				       c->params[t].rows != u->vec[v - 1].rows * g->tile.cols))
				ret = wse_fail(
					-EINVAL, "unit %u: %s is %u x %u, not a vector of %u", i,
					c->params[t].name, c->params[t].rows, c->params[t].cols,
					u->vec[v - 1].rows * g->tile.cols);
		}
	}
	free(seen);
	return ret;
}

/* what training and text need of every graph */
static int check_ends(const struct custom *c, const struct wse_graph *g)
{
	uint32_t losses = 0, logits = 0;

	for (uint32_t i = 0; i < g->nops; i++) {
		losses += g->ops[i].kind == WSE_OP_LOSS;
		logits += g->ops[i].kind == WSE_OP_OUT && g->ops[i].arg[0] == g->logits;
	}
	if (losses != 1)
		return wse_fail(-EINVAL, "%s: %u wse_op_loss(): a model has one", c->name, losses);
	if (logits != 1)
		return wse_fail(-EINVAL, "%s: %u wse_op_out() of the logits: a model has one",
				c->name, logits);
	return 0;
}

static int graph(const struct wse_model *m, const struct wse_tile *tile, uint32_t t, uint32_t mode,
		 struct wse_graph *g)
{
	const struct custom *c = custom(m);
	int ret;

	(void)mode;
	wse_graph_init(g, tile, t);
	g->forward = m->forward;
	g->classes = m->vocab;
	g->target = g->loss = g->logits = UINT32_MAX;
	ret = c->ops.graph(c->ctx, g);
	if (ret)
		return wse_fail(ret < 0 ? ret : -EINVAL, "%s: its graph() returned %d", c->name,
				ret);
	if (g->target == UINT32_MAX)
		return wse_fail(-EINVAL, "%s: its graph() has no wse_graph_classes()", c->name);
	if ((uint64_t)g->vocab_rows * tile->cols < m->vocab)
		return wse_fail(-EINVAL, "%s: %u logits for a vocabulary of %u", c->name,
				g->vocab_rows * tile->cols, m->vocab);
	for (uint32_t i = 0; i < g->nunits; i++)
		if (!g->units[i].parts || g->units[i].outs % (g->units[i].parts * tile->cols))
			return wse_fail(-EINVAL,
					"unit %u: %u outputs are no %u parts of %u columns", i,
					g->units[i].outs, g->units[i].parts, tile->cols);
	ret = check_ends(c, g);
	ret = ret ? ret : wse_ops_finish(g);
	if (!ret || ret == -E2BIG) {
		int bad = check_units(c, g);

		ret = bad ? bad : ret;
	}
	return ret;
}

static void describe(const struct wse_model *m, char *text, size_t size)
{
	const struct custom *c = custom(m);
	uint64_t n = 0;

	for (uint32_t i = 0; i < c->nparams; i++)
		n += (uint64_t)c->params[i].rows * (c->params[i].cols ? c->params[i].cols : 1);
	snprintf(text, size, "%s vocab=%u window=%u span=%u parameters=%llu", c->name, m->vocab,
		 m->window, m->span, (unsigned long long)n);
}

/* b's arrays are the caller's: [nparams], [nin], [nout] */
static void batch(const struct wse_model *m, const struct wse_graph *g,
		  const uint16_t *const *samples, struct wse_batch *b)
{
	*b = (struct wse_batch){
		.tokens = wse_graph_tokens(g),
		.nsamples = wse_graph_tokens(g) / m->span,
		.samples = samples,
	};
}

static void gather(const struct wse_model *m, const struct wse_graph *g,
		   const struct wse_input *input, const uint16_t *const *samples,
		   struct wse_micro_batch *job)
{
	const struct custom *c = custom(m);
	const float *param[c->nparams];
	void *in[WSE_GRAPH_IO];
	struct wse_batch b;

	for (uint32_t i = 0; i < c->nparams; i++)
		param[i] = input[i].f32;
	for (uint32_t i = 0; i < g->nin; i++)
		in[i] = wse_span_ptr(job->in[i]);
	batch(m, g, samples, &b);
	b.param = param;
	b.in = in;
	c->ops.gather(c->ctx, &b);
}

static void scatter(const struct wse_model *m, const struct wse_graph *g,
		    const struct wse_micro_batch *job, const uint16_t *const *samples,
		    float *const *grad)
{
	const struct custom *c = custom(m);
	void *in[WSE_GRAPH_IO];
	const void *out[WSE_GRAPH_IO];
	struct wse_batch b;

	if (!c->ops.scatter)
		return;
	for (uint32_t i = 0; i < g->nin; i++)
		in[i] = wse_span_ptr(job->in[i]);
	for (uint32_t i = 0; i < g->nout; i++)
		out[i] = job->out[i].buf ? wse_span_ptr(job->out[i]) : NULL;
	batch(m, g, samples, &b);
	b.in = in;
	b.out = out;
	b.grad = grad;
	c->ops.scatter(c->ctx, &b);
}

static uint64_t macs(const struct wse_model *m)
{
	return custom(m)->macs;
}

const struct wse_model_family wse_family_custom = {
	.name = "custom",
	.tensors = tensors,
	.graph = graph,
	.describe = describe,
	.gather = gather,
	.scatter = scatter,
	.macs = macs,
	.modes = 1,
};
