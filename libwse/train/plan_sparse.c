// SPDX-License-Identifier: MIT
/* What masks change in a plan. */
#include "train/plan_sparse.h"

#include <errno.h>
#include <stdlib.h>

#include "memx/sparsity.h"

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

int wse_plan_sparse(const struct wse_config *cfg, struct wse_plan *p)
{
	struct wse_tensor_table tab = {0};
	struct wse_graph *g = &p->graph;
	size_t *left = NULL;
	int ret;

	if (!cfg->sparsity.n)
		return 0;
	ret = cfg->model.family->tensors(&cfg->model, &tab);
	if (!ret) {
		left = calloc(tab.n + 1ul, sizeof(*left));
		ret = left ? count(&tab, &cfg->sparsity, left) : -ENOMEM;
	}
	for (uint32_t i = 0; i < g->nunits && !ret; i++) {
		struct wse_unit *u = &g->units[i];

		if (u->weight != WSE_NO_TENSOR && left[u->weight])
			u->density = 1.0 - (double)left[u->weight] / (double)tab.t[u->weight].count;
	}
	free(left);
	wse_tensor_table_fini(&tab);
	if (ret)
		return wse_fail(ret, "no memory for the plan of masks");
	wse_plan_costs(&cfg->model, p);
	return 0;
}

double wse_plan_left_out(const struct wse_plan *p)
{
	return wse_graph_left_out(&p->graph);
}
