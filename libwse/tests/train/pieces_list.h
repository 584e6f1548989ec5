/* SPDX-License-Identifier: MIT */
/* A graph of units, and the pieces that MemoryX cuts it into. */
#ifndef TEST_PIECES_LIST_H
#define TEST_PIECES_LIST_H

#include <stdlib.h>
#include <string.h>

#include "memx/pieces.h"

struct list {
	struct wse_graph g;
	struct wse_tensor_table tab;
	struct wse_memx_pieces l;
};

/* units of [outs][96] and a bias, the one that is `large` of two pieces */
static void make_list(struct list *t, uint32_t units, uint32_t outs, uint32_t large)
{
	const struct wse_tile tile = {.rows = 1, .cols = 4, .lanes = 8, .sram = 1u << 20};

	memset(t, 0, sizeof(*t));
	wse_graph_init(&t->g, &tile, 8);
	wse_tensor_add(&t->tab, 0, 0, 1.0f, 50, 7, "in no unit");
	for (uint32_t i = 0; i < units; i++) {
		uint32_t n = i == large ? 12000 : outs;

		wse_tensor_add(&t->tab, 0, 0, 1.0f, n, 96, "matrix");
		wse_tensor_add(&t->tab, 0, 0, 1.0f, n, 0, "bias");
		wse_graph_unit(&t->g, 1 + 2 * i, n, 96, 1);
		wse_graph_vec(&t->g, i, 2 + 2 * i, n, 1);
	}
	if (wse_memx_pieces_make(&t->g, &t->tab, &t->l))
		abort();
}

static void free_list(struct list *t)
{
	wse_memx_pieces_fini(&t->l);
	wse_graph_fini(&t->g);
	wse_tensor_table_fini(&t->tab);
}

#endif
