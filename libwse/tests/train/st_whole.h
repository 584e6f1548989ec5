/* SPDX-License-Identifier: MIT */
/* A safetensors file of F32 in memory as a whole, as the writer takes it: for small ones. */
#ifndef TEST_ST_WHOLE_H
#define TEST_ST_WHOLE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memx/safetensors.h"

struct st_whole {
	struct wse_st st;
	struct wse_st_file f; /* names and metadata */
};

static inline void st_whole_free(struct st_whole *w)
{
	for (uint32_t i = 0; w->st.tensors && i < w->f.nviews; i++)
		free(w->st.tensors[i].data);
	free(w->st.tensors);
	memset(&w->st, 0, sizeof(w->st));
	wse_st_close(&w->f);
}

/* the same errors as wse_st_open() and wse_st_check() */
static inline int st_whole_read(const char *path, struct st_whole *w)
{
	int ret = wse_st_open(path, &w->f);

	memset(&w->st, 0, sizeof(w->st));
	if (ret)
		return ret;
	ret = wse_st_check(&w->f, NULL, NULL);
	w->st = (struct wse_st){.ntensors = w->f.nviews,
				.nmeta = w->f.nmeta,
				.tensors = calloc(w->f.nviews + 1ul, sizeof(*w->st.tensors)),
				.meta = w->f.meta};
	for (uint32_t i = 0; i < w->f.nviews && !ret; i++) {
		const struct wse_st_view *v = &w->f.views[i];
		struct wse_st_tensor *t = &w->st.tensors[i];

		snprintf(t->name, sizeof(t->name), "%s", v->name);
		t->ndim = v->ndim;
		t->dim[0] = v->dim[0];
		t->dim[1] = v->ndim == 2 ? v->dim[1] : 1;
		t->count = v->count;
		t->data = malloc(v->bytes + 1);
		ret = wse_st_pread(v, 0, v->bytes, t->data);
	}
	if (ret)
		st_whole_free(w);
	return ret;
}

static inline const struct wse_st_tensor *st_whole_find(const struct st_whole *w, const char *name)
{
	for (uint32_t i = 0; i < w->st.ntensors; i++)
		if (!strcmp(w->st.tensors[i].name, name))
			return &w->st.tensors[i];
	return NULL;
}

#endif
