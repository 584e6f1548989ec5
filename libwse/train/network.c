// SPDX-License-Identifier: MIT
/* What the network carries for a training step of several ranks. */
#include "train/network.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pages.h"
#include "memx/choose.h"
#include "memx/map.h"
#include "swarmx/reduce.h"

static void at_least(struct wse_carried *most, struct wse_carried c)
{
	if (wse_carried_sum(&c) > wse_carried_sum(most))
		*most = c;
}

/* is its matrix gathered from as fp32? Then it comes so, and not as bf16 */
static int is_whole(const struct wse_config *cfg, const struct wse_tensor_table *tab,
		    const struct wse_unit *u)
{
	int whole = 0;

	if (u->weight != WSE_NO_TENSOR && tab->t[u->weight].flags & WSE_TENSOR_INPUT)
		whole = !cfg->model.family->leaf || !wse_map_is_plain(u);
	for (uint32_t i = 0; i < u->nvec; i++)
		whole |= (tab->t[u->vec[i].tensor].flags & WSE_TENSOR_INPUT) != 0;
	return whole;
}

/* do its gradients lie packed, but for a step after which RigL changes masks? */
static int packs_grads(const struct wse_graph *g, const struct wse_tensor_table *tab,
		       const struct wse_unit *u)
{
	return u->density > 0.0 && !g->tile.no_linear &&
	       !(u->weight != WSE_NO_TENSOR && tab->t[u->weight].flags & WSE_TENSOR_INPUT);
}

/* its micro-batches, and the sums that they leave */
static uint32_t nodes_of(const struct wse_plan *plan, uint32_t rank, uint32_t ranks, uint32_t *n)
{
	struct wse_part parts[WSE_REDUCE_PARTS];
	uint64_t m = plan->micro_batches;
	uint32_t first = (uint32_t)(rank * m / ranks), end = (uint32_t)((rank + 1) * m / ranks);

	*n = end - first;
	return wse_reduce_parts(plan->micro_batches, first, end, parts);
}

static void one_rank(const struct wse_config *cfg, const struct wse_plan *plan,
		     const struct wse_tensor_table *tab, const struct wse_memx_pieces *pieces,
		     uint32_t rank, uint32_t ranks, uint32_t all, const double *dense,
		     uint64_t counts, struct wse_network *n)
{
	const struct wse_graph *g = &plan->graph;
	uint64_t floats = 0, images = 0, mine = 0, image = 0, host = 0, own = 0, grads = 0,
		 my_grads = 0, bits = 0, io = 4ull * plan->tokens, out;
	uint64_t others = ranks - 1;
	uint32_t jobs, nodes = nodes_of(plan, rank, ranks, &jobs);

	for (uint32_t k = pieces->first[0]; k < pieces->n; k++) {
		const struct wse_memx_piece *p = &pieces->p[k];
		int owns = wse_memx_piece_owner(k, ranks) == rank;
		uint64_t bytes = 2 * (p->count - p->vec) + 4 * p->vec, sent = p->count;
		double density = g->units[p->unit].density;
		uint64_t there = (uint64_t)(density * (double)(p->count - p->vec));

		if (density > 0.0)
			bytes = 2 * there + 4 * p->vec;
		if (is_whole(cfg, tab, &g->units[p->unit]))
			bytes = 4 * p->count;
		if (packs_grads(g, tab, &g->units[p->unit])) {
			sent = there + p->vec;
			if (dense)
				sent += (uint64_t)(dense[p->unit] * (double)(p->count - sent));
		}
		if (dense && owns) /* masks without what goes, then with what comes */
			bits += (uint64_t)(dense[p->unit] * 2.0 * (double)(p->count - p->vec) /
					   8.0);
		floats += p->count;
		grads += sent;
		images += bytes;
		mine += owns ? p->count : 0;
		my_grads += owns ? sent : 0;
		image += owns ? bytes : 0;
	}
	for (uint32_t k = 0; k < pieces->first[0]; k++) {
		const struct wse_memx_piece *p = &pieces->p[k];
		uint64_t bytes = p->count * (cfg->model.family->leaf ? 2 : 4);

		host += p->count;
		own += wse_memx_piece_owner(k, ranks) == rank ? p->count : 0;
		if (!(tab->t[p->tensor].flags & WSE_TENSOR_INPUT))
			continue;
		images += bytes;
		image += wse_memx_piece_owner(k, ranks) == rank ? bytes : 0;
	}
	out = (mine + own) / 4096 * 8;
	at_least(&n->out,
		 (struct wse_carried){4 * nodes * (grads - my_grads), others * image,
				      others * jobs * io, others * out, others * (counts + bits)});
	at_least(&n->in,
		 (struct wse_carried){4 * (all - nodes) * my_grads, images - image,
				      (plan->micro_batches - jobs) * io,
				      (floats + host) / 4096 * 8 - out, others * (counts + bits)});
	n->nodes = nodes > n->nodes ? nodes : n->nodes;
}

/*
 * what a rank sends each other one where masks change by gradients: a choice of what goes and one
 * of what comes
 */
static int count_choices(const struct wse_config *cfg, const struct wse_graph *g,
			 const struct wse_tensor_table *tab, const double *dense, uint64_t *bytes)
{
	struct wse_sparse_part *p;
	double sum = 0.0;
	uint32_t n;

	*bytes = 0;
	if (!dense || !cfg->sparsity.n)
		return 0;
	p = wse_sparse_parts(tab, &cfg->sparsity, &n);
	if (!p)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t u = 0; u < g->nunits && p[i].group != UINT32_MAX; u++)
			if (g->units[u].weight == p[i].tensor)
				sum += 2.0 * dense[u] * (double)WSE_CHOOSE_BYTES;
	free(p);
	*bytes = (uint64_t)sum;
	return 0;
}

int wse_network_of(const struct wse_config *cfg, const struct wse_plan *plan, uint32_t ranks,
		   const double *dense, struct wse_network *n)
{
	struct wse_memx_pieces pieces = {0};
	struct wse_tensor_table tab = {0};
	uint32_t all = 0, jobs;
	uint64_t counts = 0;
	int ret = cfg->model.family->tensors(&cfg->model, &tab);

	memset(n, 0, sizeof(*n));
	ret = ret ? ret : wse_memx_pieces_make(&plan->graph, &tab, &pieces);
	ret = ret ? ret : count_choices(cfg, &plan->graph, &tab, dense, &counts);
	for (uint32_t r = 0; r < ranks && !ret; r++)
		all += nodes_of(plan, r, ranks, &jobs);
	for (uint32_t r = 0; r < ranks && !ret; r++)
		one_rank(cfg, plan, &tab, &pieces, r, ranks, all, dense, counts, n);
	wse_memx_pieces_fini(&pieces);
	wse_tensor_table_fini(&tab);
	return ret ? wse_fail(ret, "%s", strerror(-ret)) : 0;
}
