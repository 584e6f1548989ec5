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
