// SPDX-License-Identifier: MIT
/* The store in memory. */
#include <errno.h>
#include <stdlib.h>

#include "base/pages.h"
#include "memx/store.h"

struct ram {
	struct wse_store base;
	float *array[WSE_MEMX_ARRAYS];
	size_t at[]; /* [pieces]: its first float */
};

static int ram_get(struct wse_store *s, uint32_t piece, float **array)
{
	const struct ram *r = (const struct ram *)s;

	for (int i = 0; i < WSE_MEMX_ARRAYS; i++)
		array[i] = r->array[i] ? r->array[i] + r->at[piece] : NULL;
	return 0;
}

static int ram_put(struct wse_store *s, uint32_t piece, int dirty)
{
	(void)s;
	(void)piece;
	(void)dirty;
	return 0;
}

static void ram_close(struct wse_store *s)
{
	struct ram *r = (struct ram *)s;

	for (int i = 0; i < WSE_MEMX_ARRAYS; i++)
		free(r->array[i]);
	free(r);
}

static const struct wse_store_ops ram_ops = {
	.get = ram_get,
	.put = ram_put,
	.close = ram_close,
};

int wse_store_ram(const struct wse_memx_pieces *pieces, uint32_t arrays, struct wse_store **store)
{
	struct ram *r = calloc(1, sizeof(*r) + pieces->n * sizeof(*r->at));
	size_t at = 0;

	if (!r)
		return -ENOMEM;
	r->base.ops = &ram_ops;
	for (uint32_t i = 0; i < pieces->n; i++) {
		r->at[i] = at;
		at += pieces->p[i].count;
	}
	for (uint32_t i = 0; i < arrays && i < WSE_MEMX_ARRAYS; i++) {
		r->array[i] = wse_pages_alloc(at * sizeof(float));
		if (!r->array[i]) {
			ram_close(&r->base);
			return -ENOMEM;
		}
	}
	*store = &r->base;
	return 0;
}
