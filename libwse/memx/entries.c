// SPDX-License-Identifier: MIT
/* A model's parameters as files have them. */
#include "entries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t parts_of(const struct wse_tensor *t)
{
	uint32_t n = 0;

	while (n < 3 && t->file.rows[n])
		n++;
	return n ? n : 1;
}

/* "a.{q,k,v}_proj.weight" -> "a.k_proj.weight" for part 1; a name without braces as it is */
static void name_of(const char *name, uint32_t part, char *to)
{
	const char *open = strchr(name, '{'), *close = open ? strchr(open, '}') : NULL;
	const char *from = open ? open + 1 : NULL;

	if (!close) {
		snprintf(to, WSE_TENSOR_NAME, "%s", name);
		return;
	}
	for (; part && from < close; from++)
		part -= *from == ',';
	snprintf(to, WSE_TENSOR_NAME, "%.*s%.*s%s", (int)(open - name), name,
		 (int)strcspn(from, ",}"), from, close + 1);
}

struct wse_entry *wse_entries(const struct wse_tensor_table *tab, uint32_t *n)
{
	struct wse_entry *list = calloc(3ul * tab->n + 1, sizeof(*list)), *e = list;

	for (uint32_t i = 0; list && i < tab->n; i++) {
		const struct wse_tensor *t = &tab->t[i];
		uint32_t row = 0;

		for (uint32_t part = 0; part < parts_of(t); part++, e++) {
			name_of(t->name, part, e->name);
			e->tensor = i;
			e->ndim = t->ndim;
			e->dim[0] = t->file.rows[0] ? t->file.rows[part] : t->dim[0];
			e->dim[1] = t->dim[1];
			e->row = row;
			e->heads = t->file.heads;
			e->transposed = (t->flags & WSE_TENSOR_TRANSPOSED) != 0;
			row += e->dim[0];
		}
	}
	*n = (uint32_t)(e - list);
	return list;
}

int wse_entry_each(const struct wse_entry *e, size_t from, size_t count, float *data,
		   wse_entry_run fn, void *ctx)
{
	const size_t base = (size_t)e->row * e->dim[1];
	/* rows of a head and part that stay together */
	const size_t rows = e->heads ? e->dim[0] / (3 * e->heads) : e->dim[0];
	const size_t run = rows * e->dim[1];
	int ret = 0;

	for (size_t n; count && !ret; from += n, data += n, count -= n) {
		size_t k = from / run, in = from % run;

		n = run - in < count ? run - in : count;
		if (e->heads)
			k = k % 3 * e->heads + k / 3;
		ret = fn(ctx, base + k * run + in, n, data);
	}
	return ret;
}

/* elements [a, b) of a tensor that are all an entry's, from elements behind the first asked for */
static int parts(const struct wse_entry *e, uint32_t entry, size_t a, size_t b, size_t from,
		 wse_entry_part fn, void *ctx)
{
	const size_t base = (size_t)e->row * e->dim[1];
	const size_t run = e->heads ? e->dim[0] / (3 * e->heads) * e->dim[1] : b - a;
	int ret = 0;

	if (!e->heads)
		return fn(ctx, entry, a - base, b - a, a - from);
	for (size_t n; a < b && !ret; a += n) {
		size_t k = (a - base) / run, in = (a - base) % run;

		n = run - in < b - a ? run - in : b - a;
		k = k % e->heads * 3 + k / e->heads;
		ret = fn(ctx, entry, k * run + in, n, a - from);
	}
	return ret;
}

int wse_entry_parts(const struct wse_entry *list, uint32_t n, uint32_t tensor, size_t from,
		    size_t count, wse_entry_part fn, void *ctx)
{
	int ret = 0;

	for (uint32_t i = 0; i < n && !ret; i++) {
		const struct wse_entry *e = &list[i];
		size_t a = (size_t)e->row * e->dim[1], b = a + (size_t)e->dim[0] * e->dim[1];

		if (e->tensor != tensor)
			continue;
		a = a < from ? from : a;
		b = b < from + count ? b : from + count;
		if (a < b)
			ret = parts(e, i, a, b, from, fn, ctx);
	}
	return ret;
}

void wse_entry_file_dims(const struct wse_entry *e, uint32_t *dim)
{
	dim[0] = e->dim[e->transposed];
	dim[1] = e->dim[!e->transposed];
}
