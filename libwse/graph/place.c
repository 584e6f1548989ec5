// SPDX-License-Identifier: MIT
/* First fit of values into SRAM. */
#include "graph/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/why.h"

struct range {
	uint32_t from, to;
};

static uint32_t most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* order of placing: by birth; where two are born together, the one that shrinks comes last, so that what it gives
 * back is not enclosed */
static int by_birth(const void *a, const void *b)
{
	const struct wse_value *const *x = a, *const *y = b;
	uint32_t shrinks_x = (*x)->birth > (*x)->bytes, shrinks_y = (*y)->birth > (*y)->bytes;

	if ((*x)->first != (*y)->first)
		return (*x)->first < (*y)->first ? -1 : 1;
	if (shrinks_x != shrinks_y)
		return shrinks_x ? 1 : -1;
	return *x < *y ? -1 : 1;
}

static int by_address(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* v is placed after n others; taken [n] is scratch */
static void place(struct wse_graph *g, struct wse_value **order, uint32_t n, struct range *taken)
{
	struct wse_value *v = order[n];
	uint32_t size = most(v->birth, v->bytes), at = g->base, k = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct wse_value *u = order[i];

		if (u->last >= v->first)
			taken[k++] = (struct range){
				u->sram, u->sram + (u->first == v->first ? most(u->birth, u->bytes)
									 : u->bytes)};
	}
	qsort(taken, k, sizeof(*taken), by_address);
	for (uint32_t i = 0; i < k && taken[i].from < at + size; i++)
		at = most(at, taken[i].to);
	v->sram = at;
	g->total = most(g->total, at + size + WSE_GRAPH_TOP);
}

static uint32_t size_at(const struct wse_value *v, uint32_t op)
{
	if (op < v->first || op > v->last)
		return 0;
	return op == v->first ? most(v->birth, v->bytes) : v->bytes;
}

uint32_t wse_graph_peak(const struct wse_graph *g)
{
	uint64_t best = 0;
	uint32_t peak = 0;

	for (uint32_t op = 0; op < g->nops; op++) {
		uint64_t sum = 0;

		for (uint32_t i = 0; i < g->nvalues; i++)
			sum += size_at(&g->values[i], op);
		if (sum > best) {
			best = sum;
			peak = op;
		}
	}
	return peak;
}

void wse_graph_bytes(const struct wse_graph *g, uint32_t op, char *text, size_t size)
{
	size_t len = 0;

	text[0] = 0;
	for (uint32_t i = 0; i < g->nvalues; i++) {
		uint32_t sum = 0, seen = 0;

		for (uint32_t j = 0; j < i; j++)
			seen |= !strcmp(g->values[j].what, g->values[i].what) &&
				size_at(&g->values[j], op);
		if (seen || !size_at(&g->values[i], op))
			continue;
		for (uint32_t j = i; j < g->nvalues; j++)
			if (!strcmp(g->values[j].what, g->values[i].what))
				sum += size_at(&g->values[j], op);
		if (len < size)
			len += (size_t)snprintf(text + len, size - len, "%s%u %s", len ? ", " : "",
						sum, g->values[i].what);
	}
}

int wse_graph_place(struct wse_graph *g, char *why)
{
	struct wse_value **order = calloc(g->nvalues + 1, sizeof(struct wse_value *));
	struct range *taken = calloc(g->nvalues + 1, sizeof(*taken));
	char bytes[300];
	int ret = order && taken ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < g->nvalues && !ret; i++)
		order[i] = &g->values[i];
	if (!ret) {
		qsort(order, g->nvalues, sizeof(*order), by_birth);
		g->total = g->base + WSE_GRAPH_TOP;
		for (uint32_t i = 0; i < g->nvalues; i++)
			place(g, order, i, taken);
	}
	free(order);
	free(taken);
	if (ret || g->total <= g->tile.sram)
		return ret;
	wse_graph_bytes(g, wse_graph_peak(g), bytes, sizeof(bytes));
	return wse_why(why, -E2BIG,
		       "the model does not fit: %u bytes per core (%u fixed; at the peak %s) of %u "
		       "with %u tokens per core; use narrower layers, more columns, or a smaller "
		       "micro_batch_size",
		       g->total, g->base + WSE_GRAPH_TOP, bytes, g->tile.sram, g->t);
}
