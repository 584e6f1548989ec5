/* SPDX-License-Identifier: MIT */
/*
 * The parameters of a model, one row per tensor: a range of the flat arrays of masters and moments.
 * MemoryX updates every row of this table.
 */
#ifndef WSE_GRAPH_TENSOR_H
#define WSE_GRAPH_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include <wse/model.h>

#define WSE_TENSOR_NAME 64

/* How a file stores a tensor's rows; all 0: in the order of the table. */
struct wse_tensor_file {
	/* as several tensors of so many rows, whose names the braces list: "attn.{q,k,v}_proj" */
	uint32_t rows[3];
	/* or as [heads][3][...]; the table has [3][heads][...] */
	uint32_t heads;
};

struct wse_tensor {
	char name[WSE_TENSOR_NAME]; /* as Hugging Face names it */
	size_t off, count;	/* in floats */
	uint32_t ndim, dim[2];	/* row-major */
	/* rows of queries before those of keys and of values; 0: as many as there are columns */
	uint32_t queries;
	uint32_t flags;
	float mean, dev;	/* initial values: mean + dev * normal(seed, tensor, element) */
	float low, high;	/* a value outside is drawn again; 0, 0: no bounds */
	float rate;		/* factor of the learning rate */
	struct wse_tensor_file file;
};

struct wse_tensor_table {
	uint32_t n, room;
	size_t params;		/* floats in all */
	struct wse_tensor *t;
	/* of Hugging Face's names, as "model."; NULL: a model of the caller's own */
	const char *prefix;
};

/* the tensor's number, WSE_NO_TENSOR without memory; d1 = 0: a vector */
uint32_t wse_tensor_add(struct wse_tensor_table *tab, uint32_t flags, float mean, float dev,
			uint32_t d0, uint32_t d1, const char *name, ...)
	__attribute__((format(printf, 7, 8)));
/*
 * initial values outside of low ... high are drawn again, so this range must hold a good part of
 * the normal distribution
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
