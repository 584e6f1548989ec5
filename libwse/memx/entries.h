/* SPDX-License-Identifier: MIT */
/*
 * A model's parameters as files have them. Most tensors of the table are one entry; queries, keys
 * and values, or the two parts of a gated FFN, may be one tensor of several, and rows may lie head
 * by head: struct wse_tensor_file.
 */
#ifndef WSE_MEMX_ENTRIES_H
#define WSE_MEMX_ENTRIES_H

#include "graph/tensor.h"

struct wse_entry {
	char name[WSE_TENSOR_NAME];
	uint32_t tensor;       /* of the table */
	uint32_t ndim, dim[2]; /* as memory has them: rows, columns */
	uint32_t row;	       /* the tensor's row that is its first */
	uint32_t heads;	       /* its rows are [heads][3][...] of the tensor's [3][heads][...] */
	int transposed;	       /* the file has it as [dim[1]][dim[0]] */
};

/* *n of them, in the table's order; NULL without memory; to be freed */
struct wse_entry *wse_entries(const struct wse_tensor_table *tab, uint32_t *n);

/* elements of a tensor from `at` on are those of its entry behind what fn() had before */
typedef int (*wse_entry_run)(void *ctx, size_t at, size_t count, float *data);

/*
 * elements [from, from + count) of an entry, data [count], as runs of elements that lie one after
 * the other in the tensor; what fn() said first that is not 0
 */
int wse_entry_each(const struct wse_entry *e, size_t from, size_t count, float *data,
		   wse_entry_run fn, void *ctx);

/* elements [from, from + count) of an entry, `at` elements behind the first that was asked for */
typedef int (*wse_entry_part)(void *ctx, uint32_t entry, size_t from, size_t count, size_t at);

/*
 * the other way round: elements [from, from + count) of a tensor as runs of elements of its
 * entries; list [n] is what wse_entries() made
 */
int wse_entry_parts(const struct wse_entry *list, uint32_t n, uint32_t tensor, size_t from,
		    size_t count, wse_entry_part fn, void *ctx);
/* its shape in the file, dim [2] */
void wse_entry_file_dims(const struct wse_entry *e, uint32_t *dim);

#endif
