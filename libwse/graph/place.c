// SPDX-License-Identifier: MIT
/* First fit of values into SRAM. */
#include "graph/place.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static uint32_t most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t room(const struct wse_value *v)
{
	return most(v->bytes_at_start, v->bytes);
}

/* what is placed in some order */
struct item {
	struct wse_value *v;
	uint64_t tight; /* bytes that are live at the fullest of its operations */
};

/*
 * by the beginning of their live ranges; of two that begin together the one that shrinks comes
 * last, so that what it gives back is not enclosed
 */
static int by_begin(const void *a, const void *b)
{
	const struct wse_value *x = ((const struct item *)a)->v, *y = ((const struct item *)b)->v;
	uint32_t shrinks_x = x->bytes_at_start > x->bytes, shrinks_y = y->bytes_at_start > y->bytes;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	if (shrinks_x != shrinks_y)
		return shrinks_x ? 1 : -1;
	return x < y ? -1 : 1;
}

/* the largest first */
static int by_size(const void *a, const void *b)
{
	const struct wse_value *x = ((const struct item *)a)->v, *y = ((const struct item *)b)->v;

	return room(x) != room(y) ? (room(x) > room(y) ? -1 : 1) : by_begin(a, b);
}

static uint32_t range(const struct wse_value *v)
{
	return v->last - v->first;
}

/* the longest live range first */
static int by_range(const void *a, const void *b)
{
	uint32_t x = range(((const struct item *)a)->v), y = range(((const struct item *)b)->v);

	return x != y ? (x > y ? -1 : 1) : by_size(a, b);
}

/* what is live where it is fullest first */
static int by_tightness(const void *a, const void *b)
{
	uint64_t x = ((const struct item *)a)->tight, y = ((const struct item *)b)->tight;

	return x != y ? (x > y ? -1 : 1) : by_range(a, b);
}

/* ---- what is taken when ---- */

/* bytes of SRAM; of a list of them all lie apart, in ascending order */
struct span {
	uint32_t begin, end;
};

struct taken {
	struct span *span;
	uint32_t n, room;
};

/*
 * A binary tree over the operations. Node 1 stands for all of them, 2 i and 2 i + 1 for the halves
 * of node i's. What lies side by side is one span, so that thousands of values that are kept are
 * few of them.
 */
struct node {
	struct taken all;  /* taken at each of its operations, and not at each of the node above */
	struct taken some; /* taken at any of them, and not at each of the node above */
};

struct tree {
	struct node *node; /* [2 leaves] */
	uint32_t leaves;   /* a power of two, at least the graph's operations */
	int failed;
};

/* operations, both included, at which `bytes` are taken */
struct part {
	uint32_t first, last, bytes;
};

/* a value takes more at its first operation than later; the number of its parts */
static int parts_of(const struct wse_value *v, struct part *p)
{
	p[0] = (struct part){v->first, v->last, v->bytes};
	if (room(v) == v->bytes)
		return 1;
	p[0] = (struct part){v->first, v->first, room(v)};
	p[1] = (struct part){v->first + 1, v->last, v->bytes};
	return v->last > v->first ? 2 : 1;
}

/* the first span that ends at `at` or later */
static uint32_t find(const struct taken *t, uint32_t at)
{
	uint32_t lo = 0, hi = t->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->span[mid].end < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void add_span(struct tree *tree, struct taken *t, struct span s)
{
	uint32_t i = find(t, s.begin), j = i;

	for (; j < t->n && t->span[j].begin <= s.end; j++) {
		s.begin = t->span[j].begin < s.begin ? t->span[j].begin : s.begin;
		s.end = most(t->span[j].end, s.end);
	}
	if (i == j && t->n == t->room) {
		uint32_t more = t->room ? 2 * t->room : 2;
		struct span *p = realloc(t->span, more * sizeof(*p));

		if (!p) {
			tree->failed = -ENOMEM;
			return;
		}
		t->span = p;
		t->room = more;
	}
	memmove(t->span + i + 1, t->span + j, (t->n - j) * sizeof(*t->span));
	t->span[i] = s;
	t->n += 1 + i - j;
}

/* node i stands for the operations lo to hi */
static void take(struct tree *tree, uint32_t i, uint32_t lo, uint32_t hi, const struct part *p,
		 struct span s)
{
	uint32_t mid = lo + (hi - lo) / 2;

	if (p->last < lo || hi < p->first)
		return;
	add_span(tree, &tree->node[i].some, s);
	if (p->first <= lo && hi <= p->last) {
		if (lo < hi) /* else nothing is below */
			add_span(tree, &tree->node[i].all, s);
		return;
	}
	take(tree, 2 * i, lo, mid, p, s);
	take(tree, 2 * i + 1, mid + 1, hi, p, s);
}

/* what a value must keep clear of: two parts of it look at four nodes of each level of the tree */
struct search {
	const struct taken *list[2 * 4 * 32];
	uint32_t bytes[2 * 4 * 32];
	uint32_t n;
};

static void look_at(struct search *s, const struct taken *t, uint32_t bytes)
{
	if (!t->n)
		return;
	s->list[s->n] = t;
	s->bytes[s->n++] = bytes;
}

static void look(const struct tree *tree, uint32_t i, uint32_t lo, uint32_t hi,
		 const struct part *p, struct search *s)
{
	uint32_t mid = lo + (hi - lo) / 2;

	if (p->last < lo || hi < p->first || !tree->node[i].some.n)
		return;
	if (p->first <= lo && hi <= p->last) {
		look_at(s, &tree->node[i].some, p->bytes);
		return;
	}
	look_at(s, &tree->node[i].all, p->bytes);
	look(tree, 2 * i, lo, mid, p, s);
	look(tree, 2 * i + 1, mid + 1, hi, p, s);
}

/* the lowest place from `at` on that has so many bytes free */
static uint64_t gap(const struct taken *t, uint64_t at, uint32_t bytes)
{
	if (at >= UINT32_MAX)
		return at;
	for (uint32_t i = find(t, (uint32_t)at + 1); i < t->n && t->span[i].begin < at + bytes; i++)
		at = t->span[i].end;
	return at;
}

/* ---- first fit ---- */

/* the lowest place for v beside those that have theirs; -E2BIG beyond 4 GiB */
static int place(struct wse_graph *g, struct tree *tree, struct wse_value *v)
{
	struct search s = {.n = 0};
	uint64_t at = g->base, before;
	struct part p[2];
	int n = parts_of(v, p);

	for (int i = 0; i < n; i++)
		look(tree, 1, 0, tree->leaves - 1, &p[i], &s);
	do {
		before = at;
		for (uint32_t i = 0; i < s.n; i++)
			at = gap(s.list[i], at, s.bytes[i]);
	} while (at != before);
	if (at + room(v) + WSE_GRAPH_TOP > UINT32_MAX)
		return -E2BIG;
	v->sram = (uint32_t)at;
	g->total = most(g->total, v->sram + room(v) + WSE_GRAPH_TOP);
	for (int i = 0; i < n; i++)
		take(tree, 1, 0, tree->leaves - 1, &p[i],
		     (struct span){v->sram, v->sram + p[i].bytes});
	return tree->failed;
}

static int place_all(struct wse_graph *g, struct tree *tree, const struct item *order)
{
	int ret = 0;

	for (uint32_t i = 0; i < 2 * tree->leaves; i++)
		tree->node[i].all.n = tree->node[i].some.n = 0;
	g->total = g->base + WSE_GRAPH_TOP;
	for (uint32_t i = 0; i < g->nvalues && !ret; i++)
		ret = place(g, tree, order[i].v);
	if (ret == -E2BIG)
		g->total = UINT32_MAX;
	return ret == -E2BIG ? 0 : ret;
}

static int tree_init(struct tree *tree, uint32_t ops)
{
	tree->failed = 0;
	for (tree->leaves = 1; tree->leaves < ops;)
		tree->leaves *= 2;
	tree->node = calloc(2ul * tree->leaves, sizeof(*tree->node));
	return tree->node ? 0 : -ENOMEM;
}

static void tree_fini(struct tree *tree)
{
	for (uint32_t i = 0; tree->node && i < 2 * tree->leaves; i++) {
		free(tree->node[i].all.span);
		free(tree->node[i].some.span);
	}
	free(tree->node);
}

/* ---- in words ---- */

static uint32_t size_at(const struct wse_value *v, uint32_t op)
{
	if (op < v->first || op > v->last)
		return 0;
	return op == v->first ? room(v) : v->bytes;
}

/* bytes that are live at each operation; NULL: no memory */
static uint64_t *live_bytes(const struct wse_graph *g)
{
	/* first, how many more than at the operation before: the sums never wrap below 0 */
	uint64_t *live = calloc(g->nops + 2ul, sizeof(*live));

	for (uint32_t i = 0; live && i < g->nvalues; i++) {
		const struct wse_value *v = &g->values[i];

		live[v->first] += room(v);
		live[v->first + 1] -= room(v) - v->bytes;
		live[v->last + 1] -= v->bytes;
	}
	for (uint32_t op = 1; live && op < g->nops; op++)
		live[op] += live[op - 1];
	return live;
}

uint32_t wse_graph_peak(const struct wse_graph *g, uint64_t *live)
{
	uint64_t *at = live_bytes(g), best = 0;
	uint32_t peak = 0;

	for (uint32_t op = 0; at && op < g->nops; op++)
		if (at[op] > best) {
			best = at[op];
			peak = op;
		}
	free(at);
	if (live)
		*live = best;
	return peak;
}

void wse_graph_bytes(const struct wse_graph *g, uint32_t op, char *text, size_t size)
{
	enum { KINDS = 64 }; /* more are no text that is read */
	struct {
		const char *what;
		uint64_t bytes;
	} kind[KINDS];
	uint32_t n = 0, k;
	size_t len = 0;

	for (uint32_t i = 0; i < g->nvalues; i++) {
		const struct wse_value *v = &g->values[i];

		if (!size_at(v, op))
			continue;
		for (k = 0; k < n && strcmp(kind[k].what, v->what);)
			k++;
		if (k == KINDS)
			continue;
		if (k == n) {
			kind[n].what = v->what;
			kind[n++].bytes = 0;
		}
		kind[k].bytes += size_at(v, op);
	}
	text[0] = 0;
	for (k = 0; k < n && len < size; k++)
		len += (size_t)snprintf(text + len, size - len, "%s%" PRIu64 " %s", len ? ", " : "",
					kind[k].bytes, kind[k].what);
}

/* of another block, mostly */
static int alike(const struct wse_value *a, const struct wse_value *b)
{
	return a->bytes == b->bytes && a->bytes_at_start == b->bytes_at_start &&
	       range(a) == range(b);
}

/* those like item i come first; behind the n items is room for as many */
static void promote(struct item *order, uint32_t n, uint32_t i)
{
	const struct wse_value *v = order[i].v;
	uint32_t first = n, rest = 0;

	for (uint32_t k = 0; k < n; k++)
		if (alike(order[k].v, v))
			order[first++] = order[k];
		else
			order[rest++] = order[k];
	memmove(order + first - n, order, rest * sizeof(*order));
	memcpy(order, order + n, (first - n) * sizeof(*order));
}

/* how often what found no place in an order is placed first */
#define PROMOTED_MOST 6

/* 0 also where it does not fit: g->total says so. order: place for twice the values */
static int place_ordered(struct wse_graph *g, struct tree *tree, struct item *order,
			 uint32_t promotions)
{
	int ret = place_all(g, tree, order);

	while (g->total > g->tile.sram && promotions-- && !ret) {
		uint32_t i = 0;

		while (order[i].v->sram + room(order[i].v) + WSE_GRAPH_TOP <= g->tile.sram)
			i++;
		promote(order, g->nvalues, i);
		ret = place_all(g, tree, order);
	}
	return ret;
}

static int (*const orders[])(const void *, const void *) = {by_begin, by_size, by_range,
							    by_tightness};

enum { ORDERS = sizeof(orders) / sizeof(*orders), SIMPLE = ORDERS - 1 };

/* its live ranges are short: spills are for that */
static int find_tightness(const struct wse_graph *g, struct item *order)
{
	uint64_t *live = live_bytes(g);

	for (uint32_t i = 0; i < g->nvalues && live; i++) {
		const struct wse_value *v = order[i].v;

		for (uint32_t op = v->first; op <= v->last; op++)
			order[i].tight = live[op] > order[i].tight ? live[op] : order[i].tight;
	}
	free(live);
	return live ? 0 : -ENOMEM;
}

/*
 * In one order after the other until all fit, since no order is best for all graphs. A graph that
 * spills is a last resort, so more is tried: what is live where it is fullest first, then each
 * order with promotions. 0 also where nothing helps: g->total is that of the least, then.
 */
static int place_in_orders(struct wse_graph *g)
{
	struct item *order = calloc(2ul * g->nvalues + 1, sizeof(*order));
	uint32_t best = 0, least = UINT32_MAX, tries = g->nspills ? 2 * ORDERS : SIMPLE;
	struct tree tree;
	int ret = tree_init(&tree, g->nops);

	if (!order)
		ret = -ENOMEM;
	for (uint32_t i = 0; i < g->nvalues && !ret; i++)
		order[i].v = &g->values[i];
	for (uint32_t i = 0; i < tries && least > g->tile.sram && !ret; i++) {
		ret = i == SIMPLE ? find_tightness(g, order) : 0;
		qsort(order, g->nvalues, sizeof(*order), orders[i % ORDERS]);
		ret = ret ? ret : place_ordered(g, &tree, order, i < ORDERS ? 0 : PROMOTED_MOST);
		if (g->total < least) {
			least = g->total;
			best = i;
		}
	}
	if (!ret && g->total != least) {
		qsort(order, g->nvalues, sizeof(*order), orders[best % ORDERS]);
		ret = place_ordered(g, &tree, order, best < ORDERS ? 0 : PROMOTED_MOST);
	}
	free(order);
	tree_fini(&tree);
	return ret;
}

int wse_graph_place(struct wse_graph *g)
{
	char bytes[300];
	uint64_t live;
	uint32_t peak = wse_graph_peak(g, &live);
	int ret = 0;

	/* most graphs that the planner tries hold more at one operation than a core has */
	live += g->base + WSE_GRAPH_TOP;
	if (live > g->tile.sram)
		g->total = live < UINT32_MAX ? (uint32_t)live : UINT32_MAX;
	else
		ret = place_in_orders(g);
	if (ret)
		return wse_fail(ret, "no memory for the places of %u values", g->nvalues);
	if (g->total <= g->tile.sram)
		return 0;
	wse_graph_bytes(g, peak, bytes, sizeof(bytes));
	return wse_fail(
		-E2BIG,
		"the model does not fit: %u bytes per core (%u fixed; at the peak %.230s) of %u "
		"with %u tokens per core",
		g->total, g->base + WSE_GRAPH_TOP, bytes, g->tile.sram, g->t);
}
