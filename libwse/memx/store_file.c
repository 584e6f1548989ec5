// SPDX-License-Identifier: MIT
/* The store in a file: a record a piece, of its arrays. Tensors in no unit stay in memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pages.h"
#include "memx/disk.h"
#include "memx/records.h"
#include "memx/store.h"

struct file {
	struct wse_store base;
	uint32_t arrays, host; /* pieces below host are in memory */
	struct wse_records *records;
	struct wse_record *list; /* [pieces - host] */
	uint32_t ahead_end;
	size_t *at; /* [host]: where such a piece begins */
	float *ram[WSE_MEMX_ARRAYS];
};

/* of a piece in the file; arrays begin at blocks */
static size_t array_bytes(const struct wse_memx_piece *p)
{
	return (p->count * sizeof(float) + WSE_DISK_BLOCK - 1) / WSE_DISK_BLOCK * WSE_DISK_BLOCK;
}

/* [pieces - host]; NULL: no memory */
static struct wse_record *make_list(const struct wse_memx_pieces *l, uint32_t arrays)
{
	uint32_t host = l->first[0];
	struct wse_record *list = calloc(l->n - host + 1ul, sizeof(*list));

	for (uint32_t i = host; i < l->n && list; i++) {
		const struct wse_memx_piece *p = &l->p[i];

		list[i - host] = (struct wse_record){
			.bytes = arrays * array_bytes(p),
			.unit = p->unit,
			.piece = p->no,
			.pieces = p->of,
		};
	}
	return list;
}

static int file_get(struct wse_store *base, uint32_t piece, float **array)
{
	struct file *f = (struct file *)base;
	size_t bytes;
	void *mem;
	int ret;

	memset(array, 0, WSE_MEMX_ARRAYS * sizeof(*array));
	if (piece < f->host) {
		for (uint32_t i = 0; i < f->arrays; i++)
			array[i] = f->ram[i] + f->at[piece];
		return 0;
	}
	piece -= f->host;
	ret = wse_records_get(f->records, piece, f->ahead_end, &mem);
	bytes = f->list[piece].bytes / f->arrays;
	for (uint32_t i = 0; i < f->arrays && !ret; i++)
		array[i] = (float *)(void *)((char *)mem + i * bytes);
	return ret;
}

static int file_put(struct wse_store *base, uint32_t piece, int dirty)
{
	struct file *f = (struct file *)base;

	if (piece < f->host)
		return 0;
	return wse_records_put(f->records, piece - f->host, dirty, base->step);
}

static void file_ahead(struct wse_store *base, uint32_t first, uint32_t end)
{
	struct file *f = (struct file *)base;

	(void)first;
	f->ahead_end = end > f->host ? end - f->host : 0;
}

static void file_close(struct wse_store *base)
{
	struct file *f = (struct file *)base;

	wse_records_close(f->records);
	for (int i = 0; i < WSE_MEMX_ARRAYS; i++)
		free(f->ram[i]);
	free(f->list);
	free(f->at);
	free(f);
}

static const struct wse_store_ops file_ops = {
	.get = file_get,
	.put = file_put,
	.ahead = file_ahead,
	.close = file_close,
};

uint64_t wse_store_file_memory(const struct wse_memx_pieces *pieces, uint32_t arrays,
			       uint64_t *file)
{
	struct wse_record *list = make_list(pieces, arrays);
	uint64_t host = 0, slots = 0;

	*file = 0;
	for (uint32_t i = 0; i < pieces->first[0]; i++)
		host += pieces->p[i].count;
	if (list)
		slots = wse_records_memory(list, pieces->n - pieces->first[0], file);
	free(list);
	return arrays * host * sizeof(float) + slots;
}

static int alloc(struct file *f, const struct wse_memx_pieces *l)
{
	size_t host = 0;

	f->list = make_list(l, f->arrays);
	f->at = calloc(f->host + 1ul, sizeof(*f->at));
	if (!f->list || !f->at)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->host; i++) {
		f->at[i] = host;
		host += l->p[i].count;
	}
	for (uint32_t i = 0; i < f->arrays; i++) {
		f->ram[i] = wse_pages_alloc((host + 1) * sizeof(float));
		if (!f->ram[i])
			return -ENOMEM;
	}
	return 0;
}

int wse_store_file(const struct wse_memx_pieces *pieces, uint32_t arrays, const char *dir,
		   struct wse_store **store)
{
	struct file *f = calloc(1, sizeof(*f));
	int ret;

	if (!f)
		return wse_fail(-ENOMEM, "no memory");
	f->base.ops = &file_ops;
	f->arrays = arrays;
	f->host = pieces->first[0];
	ret = alloc(f, pieces);
	if (ret)
		wse_fail(ret, "no memory for weights that stay there");
	else
		ret = wse_records_open(dir, "weights", f->list, pieces->n - f->host, &f->records);
	if (ret) {
		file_close(&f->base);
		return ret;
	}
	*store = &f->base;
	return 0;
}

int wse_store_file_way(const struct wse_store *s, int *direct)
{
	return s->ops == &file_ops ? wse_records_way(((const struct file *)s)->records, direct)
				   : -1;
}

void wse_store_file_moved(const struct wse_store *s, uint64_t *in, uint64_t *out)
{
	*in = *out = 0;
	if (s->ops == &file_ops)
		wse_records_moved(((const struct file *)s)->records, in, out);
}
