// SPDX-License-Identifier: MIT
/* What masks change in a plan, and the order of images. */
#include "train/plan_sparse.h"

#include <errno.h>
#include <stdlib.h>

#include "graph/mask.h"
#include "memx/sparsity.h"
#include "ops/kinds.h"
#include "ops/spill.h"

/* weights of each tensor that are left out: left [tab.n] */
static int count(const struct wse_tensor_table *tab, const struct wse_sparsity *s, size_t *left)
{
	uint32_t n;
	struct wse_sparse_part *p = wse_sparse_parts(tab, s, &n);

	for (uint32_t i = 0; p && i < n; i++)
		left[p[i].tensor] += p[i].count - p[i].keep;
	free(p);
	return p ? 0 : -ENOMEM;
}

int wse_plan_images(const struct wse_config *cfg, struct wse_plan *p)
{
	struct wse_tensor_table tab = {0};
	struct wse_graph *g = &p->graph;
	size_t *left = NULL;
	int ret;

	if (!cfg->sparsity.n && !cfg->linear)
		return 0;
	ret = cfg->model.family->tensors(&cfg->model, &tab);
	if (!ret) {
		left = calloc(tab.n + 1ul, sizeof(*left));
		ret = left ? 0 : -ENOMEM;
	}
	if (!ret && cfg->sparsity.n)
		ret = count(&tab, &cfg->sparsity, left);
	for (uint32_t i = 0; i < g->nunits && !ret; i++) {
		struct wse_unit *u = &g->units[i];

		if (u->weight == WSE_NO_TENSOR)
			continue;
		if (left[u->weight])
			u->density = 1.0 - (double)left[u->weight] / (double)tab.t[u->weight].count;
		else
			u->linear = cfg->linear && !cfg->forward && !g->forward &&
				    !g->tile.no_linear &&
				    !(tab.t[u->weight].flags & WSE_TENSOR_INPUT);
	}
	free(left);
	wse_tensor_table_fini(&tab);
	if (ret)
		return wse_fail(ret, "no memory for the plan of masks");
	wse_plan_costs(&cfg->model, p);
	return 0;
}

/* the least number that both divide, or one above `most` */
static uint64_t common(uint64_t a, uint64_t b, uint64_t most)
{
	uint64_t x = a, y = b;

	while (y) {
		uint64_t rest = x % y;

		x = y;
		y = rest;
	}
	return a / x > most / b ? most + 1 : a / x * b;
}

/*
 * Of the steps 1 to `steps` the part in which one of these groups, or more, is due: each step of
 * one, less those that two have, and so on
 */
static double part_due(const struct wse_sparsity *s, uint32_t groups, uint64_t steps)
{
	double sum = 0.0;

	for (uint32_t some = groups; some; some = (some - 1) & groups) {
		uint64_t every = 1, last = steps;

		for (uint32_t i = 0; i < s->n; i++) {
			const struct wse_sparse_group *g = &s->g[i];

			if (!(some & 1u << i))
				continue;
			every = common(every, g->freq, steps);
			if (g->stop && g->stop - 1 < last)
				last = g->stop - 1;
		}
		sum += (__builtin_popcount(some) & 1 ? 1.0 : -1.0) * (double)(last / every);
	}
	return steps ? sum / (double)steps : 0.0;
}

/* of each unit a bit for each group that updates a part of it by gradients */
static int groups_of(const struct wse_config *cfg, const struct wse_graph *g, uint32_t *groups)
{
	struct wse_tensor_table tab = {0};
	struct wse_sparse_part *p = NULL;
	uint32_t n = 0;
	int ret = cfg->model.family->tensors(&cfg->model, &tab);

	if (!ret)
		p = wse_sparse_parts(&tab, &cfg->sparsity, &n);
	for (uint32_t i = 0; p && i < n; i++) {
		const struct wse_sparse_group *of =
			&cfg->sparsity.g[p[i].group % WSE_SPARSE_GROUPS];

		if (p[i].group >= cfg->sparsity.n || of->algorithm != WSE_SPARSE_RIGL || !of->freq)
			continue;
		for (uint32_t u = 0; u < g->nunits; u++)
			if (g->units[u].weight == p[i].tensor && g->units[u].density > 0.0)
				groups[u] |= 1u << p[i].group;
	}
	ret = ret ? ret : p ? 0 : -ENOMEM;
	free(p);
	wse_tensor_table_fini(&tab);
	return ret;
}

int wse_plan_dense_grads(const struct wse_config *cfg, const struct wse_graph *g,
			 enum wse_plan_steps steps, double *dense, double *any)
{
	uint32_t *groups = calloc(g->nunits + 1ul, sizeof(*groups)), all = 0;
	int ret = groups ? cfg->sparsity.n ? groups_of(cfg, g, groups) : 0 : -ENOMEM;

	for (uint32_t u = 0; u < g->nunits && !ret; u++) {
		double part = part_due(&cfg->sparsity, groups[u], cfg->max_steps);

		all |= groups[u];
		dense[u] = steps == WSE_PLAN_USUAL  ? 0.0
			   : steps == WSE_PLAN_MEAN ? part
						    : groups[u] != 0;
	}
	if (any)
		*any = part_due(&cfg->sparsity, all, cfg->max_steps);
	free(groups);
	return ret ? wse_fail(ret, "no memory for the plan of masks") : 0;
}

/*
 * Cores make products for all weights, then, which all come back, and no mask is read for their
 * indices and places.
 */
struct wse_plan_step wse_plan_dense_step(struct wse_plan *p, const double *dense)
{
	struct wse_plan_step step = {(double)p->cycles, (double)p->streamed_in,
				     (double)p->streamed_out};
	struct wse_graph *g = &p->graph;
	struct wse_beside some = {0}, all = {0};

	for (uint32_t i = 0; i < g->nops; i++) {
		const struct wse_op *op = &g->ops[i];
		double was, less = (double)wse_op_cycles(&some, g, op);
		struct wse_unit *u;

		if (wse_op_type(op->kind) != &wse_type_linear_wgrad || dense[op->unit] <= 0.0) {
			wse_op_cycles(&all, g, op);
			continue;
		}
		u = &g->units[op->unit];
		was = u->density;
		u->density = 0.0;
		step.cycles += dense[op->unit] * ((double)wse_op_cycles(&all, g, op) - less);
		u->density = was;
	}
	for (uint32_t i = 0; i < g->nunits; i++) {
		const struct wse_unit *u = &g->units[i];
		struct wse_mask_shape fwd;

		if (dense[i] <= 0.0)
			continue;
		fwd = wse_mask_shape(g, u, 0);
		step.in -= dense[i] * 2.0 * (double)wse_mask_bytes(&fwd);
		step.out += dense[i] * 4.0 * (1.0 - u->density) * (double)u->outs * u->ins;
	}
	return step;
}

double wse_plan_left_out(const struct wse_plan *p)
{
	return wse_graph_left_out(&p->graph);
}
