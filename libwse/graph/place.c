// SPDX-License-Identifier: MIT
/* First fit of values into SRAM. */
#include "graph/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/why.h"

static uint32_t most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t room(const struct wse_value *v)
{
	return most(v->birth, v->bytes);
}

/* by birth; where two are born together, the one that shrinks comes last, so that what it gives back is not enclosed */
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

/* the largest first */
static int by_size(const void *a, const void *b)
{
	const struct wse_value *const *x = a, *const *y = b;

	return room(*x) != room(*y) ? (room(*x) > room(*y) ? -1 : 1) : by_birth(a, b);
}

/* the one that lives longest first */
static int by_life(const void *a, const void *b)
{
	const struct wse_value *const *x = a, *const *y = b;
	uint32_t lx = (*x)->last - (*x)->first, ly = (*y)->last - (*y)->first;

	return lx != ly ? (lx > ly ? -1 : 1) : by_size(a, b);
}

/* bytes of v while u is there too: its sums are only there when it is born */
static uint32_t beside(const struct wse_value *v, const struct wse_value *u)
{
	return u->first <= v->first ? room(v) : v->bytes;
}

/* the lowest place for v beside the n values that have theirs */
static void place(struct wse_graph *g, struct wse_value **order, uint32_t n)
{
	struct wse_value *v = order[n];
	int moved = 1;

	v->sram = g->base;
	while (moved) {
		moved = 0;
		for (uint32_t i = 0; i < n; i++) {
			const struct wse_value *u = order[i];
			uint32_t end = u->sram + beside(u, v);

			if (u->last < v->first || v->last < u->first || v->sram >= end ||
			    u->sram >= v->sram + beside(v, u))
				continue;
			v->sram = end;
			moved = 1;
		}
	}
	g->total = most(g->total, v->sram + room(v) + WSE_GRAPH_TOP);
}

static void place_all(struct wse_graph *g, struct wse_value **order,
		      int (*by)(const void *a, const void *b))
{
	qsort(order, g->nvalues, sizeof(*order), by);
	g->total = g->base + WSE_GRAPH_TOP;
	for (uint32_t i = 0; i < g->nvalues; i++)
		place(g, order, i);
}

static uint32_t size_at(const struct wse_value *v, uint32_t op)
{
	if (op < v->first || op > v->last)
		return 0;
	return op == v->first ? room(v) : v->bytes;
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
	static int (*const orders[])(const void *, const void *) = {by_birth, by_size, by_life};
	struct wse_value **order = calloc(g->nvalues + 1, sizeof(struct wse_value *));
	uint32_t best = 0, least = UINT32_MAX, n = sizeof(orders) / sizeof(*orders);
	char bytes[300];

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->nvalues; i++)
		order[i] = &g->values[i];
	/* no order is best for all graphs; the first that fits, or else the one that takes least */
	for (uint32_t i = 0; i < n && least > g->tile.sram; i++) {
		place_all(g, order, orders[i]);
		if (g->total < least) {
			least = g->total;
			best = i;
		}
	}
	if (g->total != least)
		place_all(g, order, orders[best]);
	free(order);
	if (g->total <= g->tile.sram)
		return 0;
	wse_graph_bytes(g, wse_graph_peak(g), bytes, sizeof(bytes));
	return wse_why(why, -E2BIG,
		       "the model does not fit: %u bytes per core (%u fixed; at the peak %s) of %u "
		       "with %u tokens per core; use narrower layers, more columns, or a smaller "
		       "micro_batch_size",
		       g->total, g->base + WSE_GRAPH_TOP, bytes, g->tile.sram, g->t);
}
