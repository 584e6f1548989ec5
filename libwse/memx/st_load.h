/* SPDX-License-Identifier: MIT */
/* Tensors out of a safetensors file into memory, by pieces: checked first, then taken. */
#ifndef WSE_MEMX_ST_LOAD_H
#define WSE_MEMX_ST_LOAD_H

#include "memx/safetensors.h"

/* types of which numbers are read */
enum wse_st_type { WSE_ST_F32, WSE_ST_F16, WSE_ST_BF16, WSE_ST_U8, WSE_ST_OTHER };

enum wse_st_type wse_st_type(const struct wse_st_view *v);

struct wse_st_take {
	const struct wse_st_view *view; /* of a known type, and as many elements */
	uint32_t rows, cols;		/* in memory [rows][cols] */
	int transposed;			/* in the file [cols][rows] */
	uint32_t array, tensor;		/* whose, for put() */
};

/* elements [from, from + count) of a tensor as they lie in memory */
typedef int (*wse_st_put)(void *ctx, const struct wse_st_take *t, size_t from, size_t count,
			  const float *in);

/*
 * Two passes over the file: the first one compares all checksums and looks for numbers that are not
 * finite among what is taken (takes [n]): -EBADMSG, -ERANGE and -errno of the file system come from
 * there, before the first put(). What fails in the second one, as another program wrote to the file
 * in between or the disk lost it, is -ESTALE: part of the tensors have been put. put NULL: the
 * first pass alone.
 */
int wse_st_load(struct wse_st_file *f, const struct wse_st_take *takes, uint32_t n, wse_st_put put,
		void *ctx);

/* elements [from, from + count) of takes[take] as they lie in memory, of transposed ones lines */
typedef int (*wse_st_fetch_fn)(void *file, uint32_t take, size_t from, size_t count, float *out);

/*
 * The same, but the second pass is all()'s, who fetches every element of every take once, in an
 * order of its own.
 */
int wse_st_load_all(struct wse_st_file *f, const struct wse_st_take *takes, uint32_t n,
		    int (*all)(void *ctx, wse_st_fetch_fn fetch, void *file), void *ctx);

#endif
