// SPDX-License-Identifier: MIT
/* The table of parameters and their initial values. */
#include "graph/tensor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/num.h"

uint32_t wse_tensor_add(struct wse_tensor_table *tab, uint32_t flags, float mean, float dev,
			uint32_t d0, uint32_t d1, const char *name, ...)
{
	struct wse_tensor *t;
	va_list ap;

	if (tab->n == tab->room) {
		uint32_t room = tab->room ? 2 * tab->room : 16;

		t = realloc(tab->t, room * sizeof(*t));
		if (!t)
			return WSE_NO_TENSOR;
		tab->t = t;
		tab->room = room;
	}
	t = &tab->t[tab->n];
	memset(t, 0, sizeof(*t));
	va_start(ap, name);
	vsnprintf(t->name, sizeof(t->name), name, ap);
	va_end(ap);
	t->off = tab->params;
	t->ndim = d1 ? 2 : 1;
	t->dim[0] = d0;
	t->dim[1] = d1 ? d1 : 1;
	t->count = (size_t)d0 * t->dim[1];
	t->flags = flags;
	t->mean = mean;
	t->dev = dev;
	t->rate = 1.0f;
	tab->params += t->count;
	return tab->n++;
}

void wse_tensor_between(struct wse_tensor_table *tab, uint32_t tensor, float low, float high)
{
	if (tensor >= tab->n)
		return;
	tab->t[tensor].low = low;
	tab->t[tensor].high = high;
}

void wse_tensor_rate(struct wse_tensor_table *tab, uint32_t tensor, float rate)
{
	if (tensor < tab->n)
		tab->t[tensor].rate = rate;
}

void wse_tensor_table_fini(struct wse_tensor_table *tab)
{
	free(tab->t);
	memset(tab, 0, sizeof(*tab));
}

/*
 * Draws anew what is not between the bounds, each time from another stream of random numbers: a
 * value depends on its own place alone, and those between the bounds stay what they are without
 * them.
 */
static void redraw(const struct wse_tensor *t, uint64_t seed, uint32_t tensor, size_t from,
		   size_t count, float *p)
{
	enum { TRIES = 1000 }; /* bounds that reach them hold next to nothing */

	for (size_t j = 0; j < count; j++) {
		for (uint64_t k = 1; k < TRIES && (p[j] < t->low || p[j] > t->high); k++)
			p[j] = t->mean + t->dev * wse_rng_normal(seed, k << 48 | tensor, from + j);
		if (p[j] < t->low || p[j] > t->high)
			p[j] = t->low;
	}
}

void wse_tensor_init_part(const struct wse_tensor_table *tab, uint64_t seed, uint32_t tensor,
			  size_t from, size_t count, float *p)
{
	const struct wse_tensor *t = &tab->t[tensor];

	if (t->dev != 0.0f)
		wse_rng_normals(seed, tensor, from, t->dev, count, p);
	for (size_t j = 0; j < count && (t->dev == 0.0f || t->mean != 0.0f); j++)
		p[j] = t->dev != 0.0f ? t->mean + p[j] : t->mean;
	if (t->low < t->high)
		redraw(t, seed, tensor, from, count, p);
}

void wse_tensor_init(const struct wse_tensor_table *tab, uint64_t seed, float *params)
{
	for (uint32_t i = 0; i < tab->n; i++)
		wse_tensor_init_part(tab, seed, i, 0, tab->t[i].count, params + tab->t[i].off);
}
