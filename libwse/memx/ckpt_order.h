/* SPDX-License-Identifier: MIT */
/*
 * A checkpoint's tensors in the order in which MemoryX keeps them: every piece of the state is
 * read, or written, once, whatever shape its tensors have in the file. For state that is far
 * (wse_memx_is_far()); where it is near, the file's order is as good.
 */
#ifndef WSE_MEMX_CKPT_ORDER_H
#define WSE_MEMX_CKPT_ORDER_H

#include "entries.h"
#include "memx.h"
#include "st_load.h"

#define WSE_CKPT_MASKS WSE_MEMX_ARRAYS /* masks stand behind the arrays */

/* where the entries of a file come from or go to; an array's are all there, in the table's order */
struct wse_ckpt_arrays {
	struct wse_memx *mx;
	const struct wse_tensor_table *tab;
	struct wse_entry *e;
	uint32_t n;
	/* of names, by enum wse_memx_array, NULL: no more; and of masks */
	const char *prefix[WSE_CKPT_MASKS + 1];
	struct wse_masks *masks;
	uint32_t *masked, nmasked; /* entries that have one */
	int differs;		   /* an element does, which the sentence names */
};

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
