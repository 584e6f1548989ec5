// SPDX-License-Identifier: MIT
/* A checkpoint's tensors in the order in which MemoryX keeps them. */
#include "ckpt_order.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

/* ---- out of MemoryX ---- */

/* through a buffer */
struct placing {
	const struct wse_ckpt_arrays *a;
	enum wse_memx_array array;
	float *data;
	wse_st_place_fn place;
	void *places;
};

static int place_part(void *ctx, uint32_t entry, size_t from, size_t count, size_t at)
{
	const struct placing *p = ctx;
	int ret = wse_ckpt_check_finite(p->a, p->array, entry, from, count, p->data + at);

	return ret ? ret
		   : p->place(p->places, p->array * p->a->n + entry, from, count, p->data + at);
}

static int place_run(void *ctx, enum wse_memx_array which, uint32_t tensor, size_t from,
		     size_t count)
{
	struct placing *p = ctx;
	int ret = wse_memx_read(p->a->mx, which, tensor, from, count, p->data);

	p->array = which;
	return ret ? ret : wse_entry_parts(p->a->e, p->a->n, tensor, from, count, place_part, p);
}

int wse_ckpt_place_all(void *arrays, wse_st_place_fn place, void *places)
{
	const struct wse_ckpt_arrays *a = arrays;
	struct placing p = {.a = a, .place = place, .places = places};
	int ret;

	p.data = malloc(wse_memx_longest(a->mx) * sizeof(*p.data));
	if (!p.data)
		return -ENOMEM;
	ret = wse_memx_runs(a->mx, wse_ckpt_count_arrays(a), place_run, &p);
	free(p.data);
	return ret;
}

/* ---- into it ---- */

struct fetching {
	struct wse_ckpt_arrays *a;
	const struct wse_st_take *takes; /* [n] */
	uint32_t n;
	wse_st_put put;
	const uint32_t *take; /* [3 * a->n]: which of them is an entry's; n: none */
	uint32_t array;
	float *data;
	wse_st_fetch_fn fetch;
	void *file;
};

static int fetch_part(void *ctx, uint32_t entry, size_t from, size_t count, size_t at)
{
	const struct fetching *k = ctx;
	uint32_t i = k->take[k->array * k->a->n + entry];
	int ret;

	if (i == k->n)
		return 0;
	ret = k->fetch(k->file, i, from, count, k->data + at);
	return ret ? ret : k->put(k->a, &k->takes[i], from, count, k->data + at);
}

static int fetch_run(void *ctx, enum wse_memx_array which, uint32_t tensor, size_t from,
		     size_t count)
{
	struct fetching *k = ctx;

	k->array = which;
	return wse_entry_parts(k->a->e, k->a->n, tensor, from, count, fetch_part, k);
}

/* masks are in memory: in the order of the file, by whole lines */
static int fetch_mask(const struct fetching *k, uint32_t i)
{
	const struct wse_st_take *t = &k->takes[i];
	const size_t lines = WSE_ST_PIECE / t->cols ? WSE_ST_PIECE / t->cols : 1;
	float *data = malloc(lines * t->cols * sizeof(*data));
	int ret = data ? 0 : wse_fail(-ENOMEM, "no memory to read it");

	for (size_t at = 0, n; at < t->rows && !ret; at += n) {
		n = t->rows - at < lines ? t->rows - at : lines;
		ret = k->fetch(k->file, i, at * t->cols, n * t->cols, data);
		ret = ret ? ret : k->put(k->a, t, at * t->cols, n * t->cols, data);
	}
	free(data);
	return ret;
}

static int fetch_all(void *ctx, wse_st_fetch_fn fetch, void *file)
{
	struct fetching *k = ctx;
	uint32_t arrays = 0;
	int ret;

	k->fetch = fetch;
	k->file = file;
	for (uint32_t i = 0; i < k->n; i++)
		if (k->takes[i].array >= arrays && k->takes[i].array < WSE_CKPT_MASKS)
			arrays = k->takes[i].array + 1;
	ret = wse_memx_runs(k->a->mx, arrays, fetch_run, k);
	for (uint32_t i = 0; i < k->n && !ret; i++)
		if (k->takes[i].array == WSE_CKPT_MASKS)
			ret = fetch_mask(k, i);
	return ret;
}

int wse_ckpt_fetch_all(struct wse_st_file *f, struct wse_ckpt_arrays *a,
		       const struct wse_st_take *takes, uint32_t n, wse_st_put put)
{
	struct fetching k = {.a = a, .takes = takes, .n = n, .put = put};
	uint32_t *take = malloc((3ul * a->n + 1) * sizeof(*take));
	int ret;

	k.data = malloc(wse_memx_longest(a->mx) * sizeof(*k.data));
	for (uint32_t i = 0; i < 3 * a->n && take; i++)
		take[i] = n;
	for (uint32_t i = 0; i < n && take; i++)
		if (takes[i].array < WSE_CKPT_MASKS)
			take[takes[i].array * a->n + takes[i].tensor] = i;
	k.take = take;
	ret = take && k.data ? wse_st_load_all(f, takes, n, fetch_all, &k)
			     : wse_fail(-ENOMEM, "no memory to read it");
	free(k.data);
	free(take);
	return ret;
}
