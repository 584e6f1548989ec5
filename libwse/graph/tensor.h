/* SPDX-License-Identifier: MIT */
/*
 * The parameters of a model: one row a tensor, ranges of the flat arrays of masters and moments.
 * MemoryX updates every row of this table, whatever else is known of it.
 */
#ifndef WSE_GRAPH_TENSOR_H
#define WSE_GRAPH_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include <wse/model.h>

#define WSE_TENSOR_NAME 64

/* How files have a tensor's rows; all 0: as they are. */
struct wse_tensor_file {
	/*
	 * as several tensors, one after the other, whose names are in braces: "attn.{q,k,v}_proj"
	 */
	uint32_t rows[3];
	/* or as [heads][3][...], of which the table has [3][heads][...] */
	uint32_t heads;
};

struct wse_tensor {
	char name[WSE_TENSOR_NAME]; /* as Hugging Face names it */
	size_t off, count;	/* in floats */
	uint32_t ndim, dim[2];	/* row-major */
	uint32_t flags;
	float mean, dev;	/* initial values: mean + dev * normal(seed, tensor, element) */
	float low, high;	/* unless 0, 0: one that is not between them is drawn again */
	float rate;		/* of the learning rate, 1: all of it */
	struct wse_tensor_file file;
};

struct wse_tensor_table {
	uint32_t n, room;
	size_t params;		/* floats in all */
	struct wse_tensor *t;
	/* of Hugging Face's names, "model."; NULL: a model of one's own */
	const char *prefix;
};

/* the tensor's number, WSE_NO_TENSOR without memory; d1 = 0: a vector */
uint32_t wse_tensor_add(struct wse_tensor_table *tab, uint32_t flags, float mean, float dev,
			uint32_t d0, uint32_t d1, const char *name, ...)
	__attribute__((format(printf, 7, 8)));
/*
 * initial values from low to high alone, which hold a part of the normal ones that is worth drawing
 * for
 */
void wse_tensor_between(struct wse_tensor_table *tab, uint32_t tensor, float low, float high);
/* updates take `rate` times the learning rate */
void wse_tensor_rate(struct wse_tensor_table *tab, uint32_t tensor, float rate);
void wse_tensor_table_fini(struct wse_tensor_table *tab);
/* params [tab->params]; a pure function of (seed, tensor, element) */
void wse_tensor_init(const struct wse_tensor_table *tab, uint64_t seed, float *params);
/* elements [from, from + count) of one of them */
void wse_tensor_init_part(const struct wse_tensor_table *tab, uint64_t seed, uint32_t tensor,
			  size_t from, size_t count, float *p);

#endif
