/* SPDX-License-Identifier: MIT */
/*
 * A checkpoint's tensors in the order in which MemoryX keeps them: every piece of the state is
 * read, or written, once, whatever shape its tensors have in the file. For state that is far
 * (wse_memx_is_far()); where it is near, the file's order is as good.
 */
#ifndef WSE_MEMX_CKPT_ORDER_H
#define WSE_MEMX_CKPT_ORDER_H

#include "ckpt_arrays.h"
#include "st_load.h"

/*
 * struct wse_st's `all`, of tensors that are the entries of array 0, of 1, ...; arrays: the struct.
 * -ERANGE at a number that is not finite
 */
int wse_ckpt_place_all(void *arrays, wse_st_place_fn place, void *places);

/*
 * wse_st_load(), but for the order; array and tensor of a take are an array's, or WSE_CKPT_MASKS,
 * and an entry's
 */
int wse_ckpt_fetch_all(struct wse_st_file *f, struct wse_ckpt_arrays *a,
		       const struct wse_st_take *takes, uint32_t n, wse_st_put put);

#endif
