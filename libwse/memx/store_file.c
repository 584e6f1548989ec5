// SPDX-License-Identifier: MIT
/*
 * The store in a file: a record a piece, of its arrays; of a masked matrix the bits of each array
 * (nonzero.h), then what is not 0 of all. Tensors in no unit stay in memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pages.h"
#include "memx/disk.h"
#include "memx/nonzero.h"
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
	const struct wse_memx_pieces *pieces;
	unsigned char *is_packed;	 /* [pieces] */
	size_t *floats;			 /* [pieces]: of a packed one, that are not 0 */
	float *scratch[WSE_MEMX_ARRAYS]; /* of the packed piece at hand */
	void *mem;			 /* and its record */
};

/* of a piece in the file; arrays begin at blocks */
static size_t array_bytes(const struct wse_memx_piece *p)
{
	return (p->count * sizeof(float) + WSE_DISK_BLOCK - 1) / WSE_DISK_BLOCK * WSE_DISK_BLOCK;
}

/* bytes of a packed piece's bits */
static size_t bits_bytes(const struct wse_memx_piece *p)
{
	return wse_nonzero_words(p->count) * sizeof(uint64_t);
}

/* of what is there, with room for all of it: what is read first are its bits */
static void pack_record(struct wse_record *r, const struct wse_memx_piece *p, uint32_t arrays)
{
	r->head = arrays * bits_bytes(p);
	r->bytes = r->head + arrays * p->count * sizeof(float);
}

/* [pieces - host]; NULL: no memory */
static struct wse_record *make_list(const struct wse_memx_pieces *l, uint32_t arrays,
				    const unsigned char *masked)
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
		if (wse_store_packs(p, masked))
			pack_record(&list[i - host], p, arrays);
	}
	return list;
}

/* of a packed piece: bits of each array, then the floats of all; what an empty record has is 0 */
static void unpack(struct file *f, uint32_t piece, float **array)
{
	const struct wse_memx_piece *p = &f->pieces->p[piece];
	const float *x = (float *)(void *)((char *)f->mem + f->arrays * bits_bytes(p));

	for (uint32_t i = 0; i < f->arrays; i++) {
		const uint64_t *bits = (uint64_t *)f->mem + i * wse_nonzero_words(p->count);

		array[i] = f->scratch[i];
		x = wse_nonzero_spread(x, p->count, bits, array[i]);
	}
}

/* bytes of it */
static size_t pack(struct file *f, uint32_t piece)
{
	const struct wse_memx_piece *p = &f->pieces->p[piece];
	float *x = (float *)(void *)((char *)f->mem + f->arrays * bits_bytes(p));

	f->floats[piece] = 0;
	for (uint32_t i = 0; i < f->arrays; i++) {
		uint64_t *bits = (uint64_t *)f->mem + i * wse_nonzero_words(p->count);
		size_t n = wse_nonzero_look(f->scratch[i], p->count, bits);

		wse_nonzero_pick(f->scratch[i], p->count, bits, x + f->floats[piece]);
		f->floats[piece] += n;
	}
	return f->arrays * bits_bytes(p) + f->floats[piece] * sizeof(float);
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
	ret = wse_records_get(f->records, piece - f->host, f->ahead_end, &mem);
	if (!ret && f->is_packed[piece]) {
		f->mem = mem;
		unpack(f, piece, array);
		return 0;
	}
	piece -= f->host;
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
	if (dirty && f->is_packed[piece])
		return wse_records_put_some(f->records, piece - f->host, pack(f, piece),
					    base->step);
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
	for (int i = 0; i < WSE_MEMX_ARRAYS; i++)
		free(f->scratch[i]);
	free(f->is_packed);
	free(f->floats);
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

/* floats of the longest piece that is packed */
static size_t longest_packed(const struct wse_memx_pieces *l, const unsigned char *masked)
{
	size_t n = 0;

	for (uint32_t k = l->first[0]; k < l->n; k++)
		if (wse_store_packs(&l->p[k], masked) && l->p[k].count > n)
			n = l->p[k].count;
	return n;
}

uint64_t wse_store_file_memory(const struct wse_memx_pieces *pieces, uint32_t arrays,
			       const double *density, uint64_t *file)
{
	const uint32_t host = pieces->first[0];
	uint64_t floats = 0, longest = 0, slots = 0;
	struct wse_record *list = make_list(pieces, arrays, NULL);

	*file = 0;
	for (uint32_t i = 0; i < host; i++)
		floats += pieces->p[i].count;
	for (uint32_t k = host; k < pieces->n && list; k++) {
		const struct wse_memx_piece *p = &pieces->p[k];

		if (!p->rows || density[p->unit] <= 0.0)
			continue;
		pack_record(&list[k - host], p, arrays);
		list[k - host].usual =
			arrays *
			(bits_bytes(p) +
			 (size_t)(density[p->unit] * (double)(p->count - p->vec) + (double)p->vec) *
				 sizeof(float));
		longest = p->count > longest ? p->count : longest;
	}
	if (list)
		slots = wse_records_memory(list, pieces->n - host, file);
	free(list);
	return arrays * (floats + longest) * sizeof(float) + slots;
}

static int alloc(struct file *f, const struct wse_memx_pieces *l, const unsigned char *masked)
{
	size_t host = 0, longest = longest_packed(l, masked);

	f->pieces = l;
	f->list = make_list(l, f->arrays, masked);
	f->at = calloc(f->host + 1ul, sizeof(*f->at));
	f->is_packed = calloc(l->n + 1ul, 1);
	f->floats = calloc(l->n + 1ul, sizeof(*f->floats));
	if (!f->list || !f->at || !f->is_packed || !f->floats)
		return -ENOMEM;
	for (uint32_t k = 0; k < l->n; k++)
		f->is_packed[k] = (unsigned char)wse_store_packs(&l->p[k], masked);
	for (uint32_t i = 0; i < f->arrays && longest; i++) {
		f->scratch[i] = wse_pages_alloc(longest * sizeof(float));
		if (!f->scratch[i])
			return -ENOMEM;
	}
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

int wse_store_file(const struct wse_memx_pieces *pieces, uint32_t arrays,
		   const unsigned char *masked, const char *dir, struct wse_store **store)
{
	struct file *f = calloc(1, sizeof(*f));
	int ret;

	if (!f)
		return wse_fail(-ENOMEM, "no memory");
	f->base.ops = &file_ops;
	f->arrays = arrays;
	f->host = pieces->first[0];
	ret = alloc(f, pieces, masked);
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

size_t wse_store_file_packed_floats(const struct wse_store *s)
{
	const struct file *f = (const struct file *)s;
	size_t n = 0;

	for (uint32_t k = 0; s->ops == &file_ops && k < f->pieces->n; k++)
		n += f->floats[k];
	return n;
}

void wse_store_file_moved(const struct wse_store *s, uint64_t *in, uint64_t *out)
{
	*in = *out = 0;
	if (s->ops == &file_ops)
		wse_records_moved(((const struct file *)s)->records, in, out);
}
