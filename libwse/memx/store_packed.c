// SPDX-License-Identifier: MIT
/*
 * The store in memory of a sparse run: of the pieces of masked matrices it keeps what is not +0,
 * and a bit for each element that says so (nonzero.h). Which masks there are it does not know: any
 * values come back as they were put, bit for bit, and a weight that is left out costs its bits
 * alone. Each array has bits of its own, as moments are 0 at first where parameters are not.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pages.h"
#include "memx/nonzero.h"
#include "memx/store.h"

/* room is a multiple of so many floats */
#define STEP 1024u

/* an array of a piece: elements whose bit is set, in their order */
struct part {
	uint64_t *bits; /* [words]; NULL: all are 0 */
	float *x;
	size_t n, room;
};

struct packed {
	struct wse_store base;
	struct wse_store *dense; /* of all other pieces; those here have no floats in it */
	const struct wse_memx_pieces *pieces;
	uint32_t arrays;
	struct part (*part)[WSE_MEMX_ARRAYS]; /* [pieces.n] */
	unsigned char *is_packed;	      /* [pieces.n] */
	float *scratch[WSE_MEMX_ARRAYS];      /* of the piece at hand */
};

/*
 * Memory for n floats, none of which is there. What is taken stays where a mask has changed, and
 * some of the weights that came are 0 until the next update.
 */
static int make_room(struct part *p, size_t n)
{
	if (n <= p->room && n >= p->room / 8 * 5)
		return 0;
	free(p->x);
	p->room = (n + STEP - 1) / STEP * STEP;
	p->x = p->room ? malloc(p->room * sizeof(*p->x)) : NULL;
	if (p->room && !p->x) {
		p->room = 0;
		return -ENOMEM;
	}
	return 0;
}

static int pack(struct part *p, size_t floats, const float *from)
{
	if (!p->bits)
		p->bits = malloc(wse_nonzero_words(floats) * sizeof(*p->bits) + 1);
	if (!p->bits)
		return -ENOMEM;
	p->n = wse_nonzero_look(from, floats, p->bits);
	if (make_room(p, p->n))
		return -ENOMEM;
	wse_nonzero_pick(from, floats, p->bits, p->x);
	return 0;
}

static int packed_get(struct wse_store *base, uint32_t piece, float **array)
{
	const struct packed *s = (const struct packed *)base;

	if (!s->is_packed[piece])
		return s->dense->ops->get(s->dense, piece, array);
	for (uint32_t i = 0; i < WSE_MEMX_ARRAYS; i++) {
		const struct part *p = &s->part[piece][i];

		array[i] = s->scratch[i];
		if (array[i])
			wse_nonzero_spread(p->x, s->pieces->p[piece].count, p->bits, array[i]);
	}
	return 0;
}

static int packed_put(struct wse_store *base, uint32_t piece, int dirty)
{
	struct packed *s = (struct packed *)base;
	int ret = 0;

	if (!s->is_packed[piece])
		return s->dense->ops->put(s->dense, piece, dirty);
	for (uint32_t i = 0; i < s->arrays && dirty && !ret; i++)
		ret = pack(&s->part[piece][i], s->pieces->p[piece].count, s->scratch[i]);
	if (ret) /* what was there is lost: the next reader gets zeros, after the error */
		for (uint32_t i = 0; i < s->arrays; i++) {
			struct part *p = &s->part[piece][i];

			free(p->bits);
			free(p->x);
			*p = (struct part){0};
		}
	return ret ? wse_fail(ret, "no memory for the weights of unit %u", s->pieces->p[piece].unit)
		   : 0;
}

static void packed_close(struct wse_store *base)
{
	struct packed *s = (struct packed *)base;

	for (uint32_t k = 0; s->part && k < s->pieces->n; k++)
		for (uint32_t i = 0; i < WSE_MEMX_ARRAYS; i++) {
			free(s->part[k][i].bits);
			free(s->part[k][i].x);
		}
	for (uint32_t i = 0; i < WSE_MEMX_ARRAYS; i++)
		free(s->scratch[i]);
	if (s->dense)
		s->dense->ops->close(s->dense);
	free(s->part);
	free(s->is_packed);
	free(s);
}

static const struct wse_store_ops packed_ops = {
	.get = packed_get,
	.put = packed_put,
	.close = packed_close,
};

int wse_store_packs(const struct wse_memx_piece *p, const unsigned char *masked)
{
	return masked && p->unit != WSE_NO_UNIT && p->rows && masked[p->unit];
}

static int open_dense(struct packed *s, uint32_t arrays)
{
	struct wse_memx_pieces rest = *s->pieces;
	int ret;

	rest.p = malloc((rest.n + 1ul) * sizeof(*rest.p));
	if (!rest.p)
		return -ENOMEM;
	for (uint32_t k = 0; k < rest.n; k++) {
		rest.p[k] = s->pieces->p[k];
		rest.p[k].count = s->is_packed[k] ? 0 : rest.p[k].count;
	}
	ret = wse_store_ram(&rest, arrays, &s->dense);
	free(rest.p);
	return ret;
}

int wse_store_packed(const struct wse_memx_pieces *pieces, uint32_t arrays,
		     const unsigned char *masked, struct wse_store **store)
{
	struct packed *s = calloc(1, sizeof(*s));
	size_t longest = 0;
	int ret;

	if (!s)
		return -ENOMEM;
	s->base.ops = &packed_ops;
	s->pieces = pieces;
	s->arrays = arrays < WSE_MEMX_ARRAYS ? arrays : WSE_MEMX_ARRAYS;
	s->part = calloc(pieces->n + 1ul, sizeof(*s->part));
	s->is_packed = calloc(pieces->n + 1ul, 1);
	ret = s->part && s->is_packed ? 0 : -ENOMEM;
	for (uint32_t k = 0; k < pieces->n && !ret; k++)
		if (wse_store_packs(&pieces->p[k], masked)) {
			s->is_packed[k] = 1;
			longest = pieces->p[k].count > longest ? pieces->p[k].count : longest;
		}
	for (uint32_t i = 0; i < s->arrays && !ret; i++) {
		s->scratch[i] = wse_pages_alloc(longest * sizeof(float) + 1);
		ret = s->scratch[i] ? 0 : -ENOMEM;
	}
	ret = ret ? ret : open_dense(s, arrays);
	if (ret) {
		packed_close(&s->base);
		return ret;
	}
	*store = &s->base;
	return 0;
}

uint64_t wse_store_packed_memory(const struct wse_memx_pieces *pieces, uint32_t arrays,
				 const double *density)
{
	uint64_t bytes = 0, longest = 0;

	for (uint32_t k = 0; k < pieces->n; k++) {
		const struct wse_memx_piece *p = &pieces->p[k];
		double d = p->unit != WSE_NO_UNIT && p->rows ? density[p->unit] : 0.0;

		bytes += p->count * sizeof(float);
		if (d <= 0.0)
			continue;
		bytes -= (uint64_t)((1.0 - d) * (double)(p->count - p->vec)) * sizeof(float);
		bytes += wse_nonzero_words(p->count) * sizeof(uint64_t);
		longest = p->count > longest ? p->count : longest;
	}
	return arrays * (bytes + longest * sizeof(float));
}

size_t wse_store_packed_floats(const struct wse_store *base)
{
	const struct packed *s = (const struct packed *)base;
	size_t n = wse_store_file_packed_floats(base);

	for (uint32_t k = 0; base->ops == &packed_ops && k < s->pieces->n; k++)
		for (uint32_t i = 0; i < s->arrays; i++)
			n += s->part[k][i].n;
	return n;
}
