/* SPDX-License-Identifier: MIT */
/* All of MemoryX's arrays, in the tensors' order: copies for tests. */
#ifndef WSE_TESTS_TRAIN_STATE_H
#define WSE_TESTS_TRAIN_STATE_H

#include <stdlib.h>

#include "memx/memx.h"

struct state {
	const struct wse_tensor_table *table;
	float *params, *m, *v; /* [table->params]; v is NULL for SGD */
	uint64_t step;
};

static inline float *state_array(struct wse_memx *mx, const struct wse_tensor_table *tab,
				 enum wse_memx_array which)
{
	float *p = malloc((tab->params + 1) * sizeof(*p));

	for (uint32_t i = 0; p && i < tab->n; i++) {
		const struct wse_tensor *t = &tab->t[i];

		if (!wse_memx_read(mx, which, i, 0, t->count, p + t->off))
			continue;
		free(p);
		return NULL;
	}
	return p;
}

/* as it is, also between commit and finish; free it by state_free() */
static inline struct state state_of(struct wse_memx *mx)
{
	struct wse_memx_state s;
	struct state st;

	wse_memx_state(mx, &s);
	st.table = s.table;
	st.step = *s.step;
	st.params = state_array(mx, s.table, WSE_MEMX_P);
	st.m = state_array(mx, s.table, WSE_MEMX_M);
	st.v = state_array(mx, s.table, WSE_MEMX_V);
	return st;
}

static inline void state_free(struct state *s)
{
	free(s->params);
	free(s->m);
	free(s->v);
}

/* what masks leave out of an array [table->params] is 0; how many elements were not */
static inline size_t state_mask(struct wse_memx *mx, const struct wse_tensor_table *tab, float *p)
{
	size_t n = 0;

	for (uint32_t i = 0; i < tab->n; i++) {
		const struct wse_tensor *t = &tab->t[i];
		float bit;

		for (size_t k = 0; k < t->count && wse_masks_has(wse_memx_masks(mx), i); k++) {
			wse_masks_read(wse_memx_masks(mx), i, k, 1, &bit);
			n += bit == 0.0f && p[t->off + k] != 0.0f;
			p[t->off + k] = bit == 0.0f ? 0.0f : p[t->off + k];
		}
	}
	return n;
}

/* again, after something was done to it */
static inline void state_again(struct wse_memx *mx, struct state *s)
{
	state_free(s);
	*s = state_of(mx);
}

#endif
