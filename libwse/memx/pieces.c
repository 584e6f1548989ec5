// SPDX-License-Identifier: MIT
/* The pieces of a model's state. */
#include "memx/pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "num/image.h"

#define BLOCK 4096u /* of the gradient's norm: wse_sum_squares() */

static uint32_t gcd(uint32_t a, uint32_t b)
{
	return b ? gcd(b, a % b) : a;
}

uint32_t wse_memx_piece_rows(uint32_t width)
{
	/* both are powers of two: their least common multiple is the larger one */
	uint32_t block = BLOCK / gcd(width, BLOCK);
	uint32_t step = block > WSE_IMAGE_TILE ? block : WSE_IMAGE_TILE;
	uint32_t most = WSE_PIECE_FLOATS / width / step * step;

	return most ? most : step;
}

/* without room in the list: their number alone */
static void add(struct wse_memx_pieces *list, const struct wse_memx_piece *p)
{
	if (list->p)
		list->p[list->n] = *p;
	list->n++;
	list->floats += p->count;
	if (p->count > list->longest)
		list->longest = p->count;
}

static void add_rows(struct wse_memx_pieces *list, uint32_t unit, uint32_t tensor, uint32_t rows,
		     uint32_t width, size_t vec)
{
	uint32_t most = tensor == WSE_NO_TENSOR ? 0 : wse_memx_piece_rows(width);
	struct wse_memx_piece p = {
		.unit = unit, .tensor = tensor, .of = most ? (rows + most - 1) / most : 1};

	do {
		p.no++;
		p.rows = rows - p.row < most ? rows - p.row : most;
		p.vec = p.row + p.rows == rows ? vec : 0;
		p.count = (size_t)p.rows * width + p.vec;
		add(list, &p);
		p.row += p.rows;
		p.at += p.count;
	} while (p.row < rows);
}

static void walk(const struct wse_graph *g, const struct wse_tensor_table *tab,
		 const unsigned char *housed, struct wse_memx_pieces *list)
{
	list->n = 0;
	list->floats = list->longest = 0;
	for (uint32_t i = 0; i < tab->n; i++)
		if (!housed[i])
			add_rows(list, WSE_NO_UNIT, i, tab->t[i].dim[0], tab->t[i].dim[1], 0);
	for (uint32_t i = 0; i < g->nunits; i++) {
		const struct wse_unit *u = &g->units[i];
		int matrix = u->weight != WSE_NO_TENSOR;

		list->first[i] = list->n;
		add_rows(list, i, u->weight, matrix ? u->outs : 0, matrix ? u->ins : 0,
			 (size_t)u->vec_rows * g->tile.cols);
	}
	list->first[g->nunits] = list->n;
}

int wse_memx_pieces_make(const struct wse_graph *g, const struct wse_tensor_table *tab,
			 struct wse_memx_pieces *list)
{
	unsigned char *housed = calloc(tab->n + 1ul, 1);
	int ret = 0;

	memset(list, 0, sizeof(*list));
	list->first = calloc(g->nunits + 1ul, sizeof(*list->first));
	if (!housed || !list->first)
		ret = -ENOMEM;
	for (uint32_t i = 0; i < g->nunits && !ret; i++) {
		const struct wse_unit *u = &g->units[i];

		for (uint32_t which = 0; which <= u->nvec && !ret; which++) {
			uint32_t t = which ? u->vec[which - 1].tensor : u->weight;

			if (t == WSE_NO_TENSOR && !which)
				continue;
			if (t >= tab->n || housed[t])
				ret = -EINVAL; /* every tensor has one home */
			else
				housed[t] = 1;
		}
	}
	if (!ret) {
		walk(g, tab, housed, list); /* counts */
		list->p = calloc(list->n + 1ul, sizeof(*list->p));
		if (list->p)
			walk(g, tab, housed, list);
		else
			ret = -ENOMEM;
	}
	free(housed);
	if (ret)
		wse_memx_pieces_fini(list);
	return ret;
}

int wse_memx_pieces_deal(const struct wse_memx_pieces *whole, uint32_t nunits, uint32_t rank,
			 uint32_t ranks, struct wse_memx_pieces *kept, uint32_t *slot)
{
	memset(kept, 0, sizeof(*kept));
	kept->p = calloc(whole->n + 1ul, sizeof(*kept->p));
	kept->first = calloc(nunits + 1ul, sizeof(*kept->first));
	if (!kept->p || !kept->first) {
		wse_memx_pieces_fini(kept);
		return -ENOMEM;
	}
	for (uint32_t k = 0; k < whole->n; k++) {
		slot[k] = kept->n;
		if (wse_memx_piece_owner(k, ranks) == rank)
			add(kept, &whole->p[k]);
	}
	slot[whole->n] = kept->n;
	for (uint32_t i = 0; i <= nunits; i++)
		kept->first[i] = slot[whole->first[i]];
	return 0;
}

void wse_memx_pieces_fini(struct wse_memx_pieces *list)
{
	free(list->p);
	free(list->first);
	memset(list, 0, sizeof(*list));
}
