// SPDX-License-Identifier: MIT
/*
 * Copies of bf16 operands that the lanes read again and again, with the range of their values: that
 * of a stream AXPY by rows in binary32, that of a DOT by columns, as bf16. A copy ends when
 * something writes to the memory that it was made of. The first use of an operand makes no copy by
 * rows, as it may be the only use; nor is there one when the copies of all cores would fill more
 * than half of the second cache, where bf16 is half as much to fetch.
 */
#include <stdlib.h>
#include <unistd.h>

#include "twin/fast/opnd_copy.h"

/* says, or no longer says, of the pages of its operand that something was made of them */
static void mark(struct twin_core *c, const struct twin_opnd_copy *w, bool made)
{
	uint32_t page;

	for (page = w->lo >> TWIN_CODE_PAGE; page <= (w->hi - 1) >> TWIN_CODE_PAGE; page++)
		c->code[page] = (c->code[page] & ~TWIN_PAGE_COPIED) | (made ? TWIN_PAGE_COPIED : 0);
}

void twin_opnd_copy_changed(struct twin_core *c, uint32_t off, uint32_t len)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct twin_opnd_copy *w = &c->opnd_copy[i];

		if (!w->full || off >= w->hi || off + len <= w->lo)
			continue;
		w->full = w->uses = false;
		mark(c, w, false);
		any = true;
	}
	for (i = 0; i < 2 && any; i++)
		if (c->opnd_copy[i].full)
			mark(c, &c->opnd_copy[i], true);
}

void twin_opnd_copy_free(struct twin_core *c)
{
	free(c->opnd_copy[0].room);
	free(c->opnd_copy[1].room);
}

/* how many values a copy by rows may have: all cores' together half of the second cache */
uint32_t twin_opnd_copy_most(uint32_t ncores)
{
	long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);

	if (cache <= 0)
		cache = 512 << 10;
	return (uint32_t)((size_t)cache / 2 / sizeof(float) / ncores);
}

static bool same(const struct twin_opnd_copy *w, const struct twin_opnd *x)
{
	return w->base == x->base && w->stride1 == x->stride1 && w->tokens == x->len &&
	       w->rows == x->len1;
}

/* room for n bytes; false: no memory */
static bool reserve(struct twin_opnd_copy *w, size_t n)
{
	if (w->cap >= n)
		return true;
	free(w->room);
	w->room = aligned_alloc(64, (n + 63) & ~(size_t)63);
	w->cap = w->room ? n : 0;
	return w->room;
}

/* another operand takes the place of the copy's */
static void take(struct twin_core *c, struct twin_opnd_copy *w, const struct twin_opnd *x)
{
	int32_t span = x->stride1 * (int32_t)(x->len1 - 1);

	if (w->full)
		twin_opnd_copy_changed(c, w->lo, w->hi - w->lo);
	w->base = x->base;
	w->stride1 = x->stride1;
	w->tokens = x->len;
	w->rows = x->len1;
	w->lo = (uint32_t)(x->base + (span < 0 ? span : 0));
	w->hi = (uint32_t)(x->base + (span > 0 ? span : 0)) + x->len * 2u;
}

static void filled(struct twin_core *c, struct twin_opnd_copy *w, const void *copy)
{
	w->range = twin_range_of(c->sram + w->base, w->stride1, w->tokens, w->rows);
	w->copy = copy;
	w->full = true;
	mark(c, w, true);
}

const struct twin_opnd_copy *twin_opnd_copy_rows(struct twin_core *c, const struct twin_kernels *k,
						 const struct twin_opnd *x)
{
	struct twin_opnd_copy *w = &c->opnd_copy[0];
	size_t n = (size_t)x->len * x->len1;
	bool copy = n <= c->opnd_copy_most;

	if (same(w, x) && w->full)
		return w;
	if (!same(w, x) || !w->uses) {
		take(c, w, x);
		w->uses = true;
		return NULL;
	}
	if (copy && !reserve(w, n * sizeof(float)))
		return NULL;
	if (copy)
		k->to_rows(w->room, c->sram + x->base, x->stride1, x->len, x->len1);
	filled(c, w, copy ? w->room : NULL);
	return w;
}

const struct twin_opnd_copy *twin_opnd_copy_cols(struct twin_core *c, const struct twin_opnd *x)
{
	struct twin_opnd_copy *w = &c->opnd_copy[1];
	size_t rows = (x->len1 + TWIN_PANEL - 1) & ~(TWIN_PANEL - 1);

	if (same(w, x) && w->full)
		return w;
	take(c, w, x);
	if (!reserve(w, x->len * rows * sizeof(uint16_t)))
		return NULL;
	twin_to_cols(w->room, c->sram + x->base, x->stride1, x->len, x->len1);
	filled(c, w, w->room);
	return w;
}
