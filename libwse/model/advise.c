// SPDX-License-Identifier: MIT
/* Looking for a tile, or for narrower layers, that have a plan. */
#include "model/advise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/plan.h"
#include "base/error.h"

enum {
	SIDE = 1024, /* tiles are looked for up to so many rows and columns */
	SCALES = 9,  /* with as many rows, twice as many, half, ... 2^4 and 2^-4 as many */
};

/* an end to it for deep models: operations of all graphs that are built, about a second */
#define WORK (250 * 1000)

struct search {
	const struct wse_model *m;
	uint64_t batch, micro;
	uint64_t ops; /* of the graphs so far */
};

struct candidate {
	struct wse_tile tile;
	/*
	 * cores more or less; other rows count as half of all cores: other columns are a smaller
	 * change
	 */
	uint64_t off;
	uint32_t rank; /* of tiles that are as far off: the first */
};

/* in the fewest bytes of all: what fails here is not planned */
static int may_fit(struct search *s, const struct wse_model *m, const struct wse_tile *tile)
{
	const struct wse_model_family *f = m->family;
	struct wse_failure before;
	struct wse_model few = *m;

	if (s->ops > WORK || f->sizes(m, tile, 0))
		return 0;
	if (f->shallow)
		f->shallow(m, &few);
	wse_failure_keep(&before, 0);
	for (uint32_t t = tile->lanes; t <= WSE_TOKENS_MAX; t += tile->lanes) {
		struct wse_graph g = {0};
		int ret = f->graph(&few, tile, t, f->modes - 1, &g);

		s->ops += g.nops;
		wse_graph_fini(&g);
		wse_failure_undo(&before);
		if (ret != -EINVAL)
			return !ret;
	}
	return 0;
}

static int plans(struct search *s, const struct wse_model *m, const struct wse_tile *tile)
{
	return may_fit(s, m, tile) && wse_plan_fits(m, tile, s->batch, s->micro, &s->ops, NULL);
}

static int by_off(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->rank < y->rank ? -1 : 1;
}

static uint32_t candidates(const struct wse_tile *at, int larger, struct candidate *c)
{
	uint64_t cores = (uint64_t)at->rows * at->cols;
	uint32_t n = 0;

	for (uint32_t i = 0; i < SCALES; i++) {
		uint64_t rows = i % 2 ? (uint64_t)at->rows << (i + 1) / 2 : at->rows >> i / 2;

		if (!rows || rows > SIDE)
			continue;
		for (uint32_t cols = 1; cols <= SIDE; cols++) {
			uint64_t has = rows * cols, other = i ? cores / 2 : 0;

			if ((rows == at->rows && cols == at->cols) || (larger && has <= cores))
				continue;
			c[n] = (struct candidate){
				*at, (has > cores ? has - cores : cores - has) + other, n};
			c[n].tile.rows = (uint32_t)rows;
			c[n++].tile.cols = cols;
		}
	}
	qsort(c, n, sizeof(*c), by_off);
	return n;
}

static int find_tile(struct search *s, const struct wse_tile *at, int larger, struct wse_tile *tile)
{
	struct candidate *c = malloc(SCALES * SIDE * sizeof(*c));
	uint32_t n = c ? candidates(at, larger, c) : 0, i = 0;

	while (i < n && !plans(s, s->m, &c[i].tile))
		i++;
	if (i < n)
		*tile = c[i].tile;
	free(c);
	return i < n;
}

/* the widest that has a plan, and its sizes in words */
static int find_narrower(struct search *s, const struct wse_tile *tile, char *what, size_t size)
{
	const struct wse_model_family *f = s->m->family;
	uint32_t fits = 0, wide = 1;
	struct wse_model m;

	while (!f->resize(s->m, tile, wide, &m, what, size))
		wide *= 2;
	while (wide - fits > 1) {
		uint32_t mid = fits + (wide - fits) / 2;

		if (!f->resize(s->m, tile, mid, &m, what, size) && plans(s, &m, tile))
			fits = mid;
		else
			wide = mid;
	}
	return fits && !f->resize(s->m, tile, fits, &m, what, size);
}

/* with more columns or rows, each by powers of two, and sizes that go with them */
static int find_other(struct search *s, const struct wse_tile *at, struct wse_tile *tile,
		      char *what, size_t size)
{
	struct wse_model m;

	for (uint32_t all = 1; all <= 2 * SCALES; all++)
		for (uint32_t i = 0; i <= all; i++) {
			*tile = *at;
			tile->cols = at->cols << (all - i);
			tile->rows = at->rows << i;
			if (all - i > SCALES || i > SCALES || tile->cols > SIDE ||
			    tile->rows > SIDE)
				continue;
			if (s->m->family->resize(s->m, tile, SIDE * SIDE, &m, what, size) !=
				    -EINVAL &&
			    plans(s, &m, tile))
				return 1;
		}
	return 0;
}

void wse_advise_tile(const struct wse_model *m, const struct wse_tile *tile, uint64_t batch,
		     uint64_t micro_batch, int big)
{
	struct search s = {m, batch, micro_batch, 0};
	const char *before = strstr(wse_error(), ": choose ") ? ", or" : ": choose";
	struct wse_tile other;
	char what[300];

	/* a model of one's own is not asked for tiles that are not there */
	if (!m->family->sizes) {
		if (big)
			wse_fail_more("; narrower layers or more columns take less");
		return;
	}
	if (find_tile(&s, tile, big, &other)) {
		wse_fail_more("%s a tile of %u x %u cores", before, other.rows, other.cols);
		before = ", or";
	}
	if (!big)
		return;
	s.ops = 0;
	if (find_narrower(&s, tile, what, sizeof(what)))
		wse_fail_more("%s %s", before, what);
	else if (*before == ':' && find_other(&s, tile, &other, what, sizeof(what)))
		wse_fail_more(": choose a tile of %u x %u cores and %s", other.rows, other.cols,
			      what);
}
