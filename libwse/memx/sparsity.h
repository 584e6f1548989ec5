/* SPDX-License-Identifier: MIT */
/*
 * Which weights are left out: the `sparsity` section of a parameter file, and the tensors that it
 * is about.
 *
 * A part is a matrix as the Model Zoo has it: queries, keys and values apart, the two halves of a
 * gated FFN apart, whatever tensor of the table they are rows of. Every part has the Model Zoo's
 * name beside that of the table: transformer_decoder.layers.0.self_attn.proj_q_dense_layer.weight.
 */
#ifndef WSE_MEMX_SPARSITY_H
#define WSE_MEMX_SPARSITY_H

#include "graph/tensor.h"

#define WSE_SPARSE_GROUPS 8
#define WSE_SPARSE_FILTER 512
#define WSE_SPARSE_FILE	  1024

enum wse_sparse_init { WSE_SPARSE_RANDOM, WSE_SPARSE_TOPK };
enum wse_sparse_algorithm { WSE_SPARSE_STATIC, WSE_SPARSE_SET, WSE_SPARSE_RIGL };

struct wse_sparse_group {
	double level; /* of a part's weights so many are left out, to the nearest number */
	enum wse_sparse_init init;
	enum wse_sparse_algorithm algorithm;
	/* of the weights that are there so many change places; half_period 0: always `drop` */
	double drop, drop_least;
	uint64_t half_period;
	uint64_t freq, stop; /* after step freq, 2 freq, ... below stop (0: none) */
	char filter[WSE_SPARSE_FILTER]; /* globs, each behind a newline; "": the Model Zoo's */
};

struct wse_sparsity {
	uint32_t n; /* 0: all weights are there */
	struct wse_sparse_group g[WSE_SPARSE_GROUPS];
	char file[WSE_SPARSE_FILE]; /* masks come from there; "": they are made */
};

struct wse_sparse_part {
	uint32_t tensor;
	uint32_t row, rows; /* of the tensor */
	size_t from, count; /* elements of the tensor */
	uint32_t group;	    /* UINT32_MAX: none */
	size_t keep;	    /* weights that are there */
	char name[96];	    /* the Model Zoo's, else the table's */
};

/*
 * All matrices that may be sparse, in the table's order, and which group takes each: the first one
 * with a filter that its name has. *n of them; to be freed. NULL: no memory
 */
struct wse_sparse_part *wse_sparse_parts(const struct wse_tensor_table *tab,
					 const struct wse_sparsity *s, uint32_t *n);
/*
 * Does the section go with the model? -EINVAL: the sentence says which group, filter or level does
 * not, and *group is its number
 */
int wse_sparse_check(const struct wse_tensor_table *tab, const struct wse_sparsity *s,
		     uint32_t *group);

/* is this the group's step, after which weights change places? step 1 ... */
int wse_sparse_is_due(const struct wse_sparse_group *g, uint64_t step);
/* of `there` weights so many change places then */
size_t wse_sparse_drops(const struct wse_sparse_group *g, uint64_t step, size_t there);

/* weights of all parts, and how many of them are there */
void wse_sparse_count(const struct wse_tensor_table *tab, const struct wse_sparsity *s,
		      uint64_t *all, uint64_t *there);

#endif
