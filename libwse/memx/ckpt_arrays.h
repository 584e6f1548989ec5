/* SPDX-License-Identifier: MIT */
/*
 * The tensors of a checkpoint: entries of the table for parameters and each array of moments, and
 * masks; their names and shapes in the file, and their elements out of MemoryX and into it.
 */
#ifndef WSE_MEMX_CKPT_ARRAYS_H
#define WSE_MEMX_CKPT_ARRAYS_H

#include "entries.h"
#include "memx.h"

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

/* of mx, after wse_memx_finish(). -ENOMEM: close it then, too */
int wse_ckpt_open_arrays(struct wse_ckpt_arrays *a, struct wse_memx *mx,
			 const struct wse_optim_cfg *optim);
void wse_ckpt_close_arrays(struct wse_ckpt_arrays *a);
/* of parameters and moments */
uint32_t wse_ckpt_count_arrays(const struct wse_ckpt_arrays *a);
/* is it a model that Hugging Face has, too? Then a checkpoint is a file that both read */
int wse_ckpt_is_hf(const struct wse_tensor_table *tab);
/* name [WSE_ST_NAME] of an entry in the file; "" if that is too long: no file has it */
void wse_ckpt_name(const struct wse_ckpt_arrays *a, uint32_t array, uint32_t entry, char *name);
/*
 * elements [from, from + count) of an entry, in the file's order, as wse_memx_read() and
 * wse_memx_write() have them; array WSE_CKPT_MASKS: 1 or 0 each
 */
int wse_ckpt_read(const struct wse_ckpt_arrays *a, uint32_t array, uint32_t entry, size_t from,
		  size_t count, float *out);
int wse_ckpt_write(const struct wse_ckpt_arrays *a, uint32_t array, uint32_t entry, size_t from,
		   size_t count, const float *in);
/* data [count], which are these elements: -ERANGE at one that is not finite */
int wse_ckpt_check_finite(const struct wse_ckpt_arrays *a, uint32_t array, uint32_t entry,
			  size_t from, size_t count, const float *data);

#endif
