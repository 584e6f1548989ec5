// SPDX-License-Identifier: MIT
/* The masks of a checkpoint: are they those of this run's tensors, and of its sparsity? */
#include "ckpt_load.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"

static int mask_bytes(void *ctx, const struct wse_st_view *v, uint64_t from, const void *data,
		      size_t bytes)
{
	const unsigned char *p = data;
	uint64_t *ones = ctx;

	for (size_t i = 0; i < bytes; i++) {
		if (p[i] > 1)
			return wse_fail(-EBADMSG, "%s[%" PRIu64 "] is %u: a mask has 0 and 1",
					v->name, from + i, p[i]);
		*ones += p[i];
	}
	return 0;
}

/* how many weights of an entry are there, as the section says */
static uint64_t wanted(const struct wse_ckpt_arrays *a, const struct wse_entry *e)
{
	uint64_t n = (uint64_t)e->dim[0] * e->dim[1];

	for (uint32_t i = 0; i < a->masks->nparts; i++) {
		const struct wse_sparse_part *p = &a->masks->part[i];

		if (p->tensor == e->tensor && p->row >= e->row && p->row < e->row + e->dim[0])
			n -= p->count - p->keep;
	}
	return n;
}

/* a mask as it is in the file: its shape, its bytes, how many ones */
static int check_mask(const struct wse_ckpt_arrays *a, const struct wse_entry *e,
		      const struct wse_st_view *v, enum wse_ckpt_load what)
{
	char piece[4096];
	uint64_t ones = 0, left;
	uint32_t dim[2];
	int ret = 0;

	wse_entry_file_dims(e, dim);
	if (wse_st_type(v) != WSE_ST_U8 || v->ndim != 2)
		return wse_fail(-EBADMSG, "%s is no matrix of U8", v->name);
	if (v->dim[0] != dim[0] || v->dim[1] != dim[1])
		return wse_fail(-EINVAL, "%s is %u x %u there, %u x %u in this model", v->name,
				v->dim[0], v->dim[1], dim[0], dim[1]);
	for (uint64_t at = 0; at < v->bytes && !ret; at += sizeof(piece)) {
		left = v->bytes - at < sizeof(piece) ? v->bytes - at : sizeof(piece);
		ret = wse_st_pread(v, at, left, piece);
		ret = ret ? ret : mask_bytes(&ones, v, at, piece, left);
	}
	if (!ret && !ones)
		return wse_fail(-EINVAL, "%s leaves no weight", v->name);
	if (!ret && what != WSE_CKPT_EVAL && !a->masks->cfg->file[0] && ones != wanted(a, e))
		return wse_fail(-EINVAL,
				"%s has %" PRIu64 " weights, the sparsity of this run leaves "
				"%" PRIu64 ": give it the level of the file, or the file as "
				"sparsity.mask_file",
				v->name, ones, wanted(a, e));
	return ret;
}

/* -EINVAL when a mask is of a tensor that has none here */
static int check_others(const struct wse_st_file *file, const struct wse_ckpt_arrays *a)
{
	const size_t n = strlen(a->prefix[WSE_CKPT_MASKS]);

	for (uint32_t i = 0; i < file->nviews; i++) {
		const char *name = file->views[i].name;
		uint32_t k = 0;

		if (strncmp(name, a->prefix[WSE_CKPT_MASKS], n))
			continue;
		while (k < a->nmasked && strcmp(a->e[a->masked[k]].name, name + n))
			k++;
		if (k < a->nmasked)
			continue;
		for (k = 0; k < a->n && strcmp(a->e[k].name, name + n); k++)
			;
		return k < a->n ? wse_fail(-EINVAL,
					   "%s is there, and in this run %s has no mask: give a "
					   "sparsity.param_filter that it matches",
					   name, name + n)
				: wse_fail(-EINVAL, "%s is there, and this model has no %s", name,
					   name + n);
	}
	return 0;
}

/* takes [*n ...]: those of the masks, if there are any; to a dense run none matters */
int wse_ckpt_find_masks(const struct wse_st_file *file, const struct wse_ckpt_arrays *a,
			enum wse_ckpt_load what, struct wse_st_take *takes, uint32_t *n)
{
	int any = what == WSE_CKPT_ALL || what == WSE_CKPT_RATES_NEW;
	int ret = 0;
	char name[WSE_ST_NAME];

	/* a run that begins with these weights has its masks of mask_file */
	if (what == WSE_CKPT_MODEL && a->nmasked && a->masks->cfg->file[0])
		return 0;
	if (a->nmasked)
		ret = check_others(file, a);
	/* weights alone may come without: without all of them */
	for (uint32_t i = 0; i < a->nmasked && !any; i++) {
		wse_ckpt_name(a, WSE_CKPT_MASKS, a->masked[i], name);
		any = wse_st_view(file, name) != NULL;
	}
	for (uint32_t i = 0; i < a->nmasked && any && !ret; i++) {
		const struct wse_entry *e = &a->e[a->masked[i]];
		const struct wse_st_view *v;

		wse_ckpt_name(a, WSE_CKPT_MASKS, a->masked[i], name);
		v = wse_st_view(file, name);
		if (!v)
			return wse_fail(-EINVAL, "%s is not in it", name);
		ret = check_mask(a, e, v, what);
		takes[(*n)++] = (struct wse_st_take){
			v, e->dim[0], e->dim[1], e->transposed, WSE_CKPT_MASKS, a->masked[i]};
	}
	return ret;
}
