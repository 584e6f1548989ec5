// SPDX-License-Identifier: MIT
/* The tensors of a checkpoint: their names, and their elements out of MemoryX and into it. */
#include "ckpt_arrays.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "num/num.h"
#include "safetensors.h"

/* tensors of the optimizer: prefix and array, NULL ends */
static const char *moment_prefix(const struct wse_optim_cfg *optim, int which)
{
	if (optim->kind == WSE_OPTIM_SGD)
		return which == 0 ? "optimizer.momentum_buffer." : NULL;
	if (which == 0)
		return "optimizer.exp_avg.";
	return which == 1 && optim->kind != WSE_OPTIM_LION ? "optimizer.exp_avg_sq." : NULL;
}

/* is it a model that Hugging Face has, too? Then a checkpoint is a file that both read */
int wse_ckpt_is_hf(const struct wse_tensor_table *tab)
{
	if (tab->prefix)
		return 1;
	for (uint32_t i = 0; i < tab->n; i++)
		if (tab->t[i].flags & WSE_TENSOR_TRANSPOSED)
			return 1;
	return 0;
}

int wse_ckpt_open_arrays(struct wse_ckpt_arrays *a, struct wse_memx *mx,
			 const struct wse_optim_cfg *optim)
{
	struct wse_memx_state s;

	wse_memx_state(mx, &s);
	*a = (struct wse_ckpt_arrays){
		.mx = mx,
		.tab = s.table,
		.masks = wse_memx_masks(mx),
		.prefix = {"", moment_prefix(optim, 0), moment_prefix(optim, 1), "mask."}};
	a->e = wse_entries(s.table, &a->n);
	a->masked = calloc(a->n + 1ul, sizeof(*a->masked));
	if (!a->e || !a->masked)
		return wse_fail(-ENOMEM, "no memory for the list of tensors");
	for (uint32_t i = 0; i < a->n; i++)
		if (wse_masks_has(a->masks, a->e[i].tensor))
			a->masked[a->nmasked++] = i;
	return 0;
}

void wse_ckpt_close_arrays(struct wse_ckpt_arrays *a)
{
	free(a->e);
	free(a->masked);
}

/* "" if that is too long: no file has it */
void wse_ckpt_name(const struct wse_ckpt_arrays *a, uint32_t array, uint32_t entry, char *name)
{
	if ((size_t)snprintf(name, WSE_ST_NAME, "%s%s", a->prefix[array], a->e[entry].name) >=
	    WSE_ST_NAME)
		name[0] = 0;
}

uint32_t wse_ckpt_count_arrays(const struct wse_ckpt_arrays *a)
{
	uint32_t n = 0;

	while (n < WSE_MEMX_ARRAYS && a->prefix[n])
		n++;
	return n;
}

/* ---- elements ---- */

/* a run of an entry's elements */
struct move {
	const struct wse_ckpt_arrays *a;
	enum wse_memx_array array;
	uint32_t tensor;
};

static int read_run(void *ctx, size_t at, size_t count, float *data)
{
	const struct move *m = ctx;

	if (m->array == (enum wse_memx_array)WSE_CKPT_MASKS) {
		wse_masks_read(m->a->masks, m->tensor, at, count, data);
		return 0;
	}
	return wse_memx_read(m->a->mx, m->array, m->tensor, at, count, data);
}

static int write_run(void *ctx, size_t at, size_t count, float *data)
{
	const struct move *m = ctx;

	if (m->array == (enum wse_memx_array)WSE_CKPT_MASKS) {
		wse_masks_write(m->a->masks, m->tensor, at, count, data);
		return 0;
	}
	return wse_memx_write(m->a->mx, m->array, m->tensor, at, count, data);
}

static int move(const struct wse_ckpt_arrays *a, uint32_t array, uint32_t entry, wse_entry_run fn,
		size_t from, size_t count, float *data)
{
	struct move m = {a, (enum wse_memx_array)array, a->e[entry].tensor};

	return wse_entry_each(&a->e[entry], from, count, data, fn, &m);
}

int wse_ckpt_read(const struct wse_ckpt_arrays *a, uint32_t array, uint32_t entry, size_t from,
		  size_t count, float *out)
{
	return move(a, array, entry, read_run, from, count, out);
}

int wse_ckpt_write(const struct wse_ckpt_arrays *a, uint32_t array, uint32_t entry, size_t from,
		   size_t count, const float *in)
{
	/* what write_run() gets is read alone */
	return move(a, array, entry, write_run, from, count, (float *)(uintptr_t)in);
}

int wse_ckpt_check_finite(const struct wse_ckpt_arrays *a, uint32_t array, uint32_t entry,
			  size_t from, size_t count, const float *data)
{
	uint32_t bad = 0;

	for (size_t i = 0; i < count; i++) /* without a way out: several at a time */
		bad |= (uint32_t)wse_f32_isbad(data[i]);
	for (size_t i = 0; i < count && bad; i++)
		if (wse_f32_isbad(data[i]))
			return wse_fail(-ERANGE, "%s%s[%zu] is not finite", a->prefix[array],
					a->e[entry].name, from + i);
	return 0;
}
