// SPDX-License-Identifier: MIT
/*
 * The store of a session that trains nothing: the images are what it keeps. A piece is made
 * binary32 of its unit's image when it is got, and rounded into it when it is put; vectors are
 * binary32 in the image as well. bf16 made wider and rounded again is what it was, so nothing is
 * lost on the way.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "memx/store.h"
#include "num/num.h"

struct image_store {
	struct wse_store base;
	const struct wse_memx_pieces *pieces;
	const struct wse_image *images;
	uint16_t *alone; /* the tensors in no unit */
	size_t *at;	 /* [pieces.first[0]]: where such a piece begins */
	float *scratch;	 /* [pieces.longest] */
};

static void widen(const uint16_t *from, size_t n, float *to)
{
	for (size_t i = 0; i < n; i++)
		to[i] = wse_bf16_to_f32(from[i]);
}

static void narrow(const float *from, size_t n, uint16_t *to)
{
	for (size_t i = 0; i < n; i++)
		to[i] = wse_f32_to_bf16(from[i]);
}

/* floats of a piece that are kept as bf16, the first ones, and where; *vec: where the others are */
static size_t rounded(const struct image_store *s, uint32_t piece, uint16_t **to, float **vec)
{
	const struct wse_memx_piece *p = &s->pieces->p[piece];
	const struct wse_image *img;

	*vec = NULL;
	if (p->unit == WSE_NO_UNIT) {
		*to = s->alone + s->at[piece];
		return p->count;
	}
	img = &s->images[p->unit];
	*to = p->rows ? (uint16_t *)wse_span_ptr(img->fwd) + p->at : NULL;
	*vec = wse_span_ptr(img->vec);
	return p->count - p->vec;
}

static int image_copy(struct wse_store *base, uint32_t piece, size_t from, size_t count, float *out,
		      const float *in)
{
	const struct image_store *s = (const struct image_store *)base;
	uint16_t *to;
	float *vec;
	size_t n = rounded(s, piece, &to, &vec);
	size_t some = from >= n ? 0 : n - from < count ? n - from : count;

	if (some && out)
		widen(to + from, some, out);
	else if (some)
		narrow(in, some, to + from);
	if (some == count)
		return 0;
	vec += from + some - n;
	if (out)
		memcpy(out + some, vec, (count - some) * sizeof(*vec));
	else
		memcpy(vec, in + some, (count - some) * sizeof(*vec));
	return 0;
}

static int image_get(struct wse_store *base, uint32_t piece, float **array)
{
	const struct image_store *s = (const struct image_store *)base;

	for (int i = 0; i < WSE_MEMX_ARRAYS; i++)
		array[i] = i == WSE_MEMX_P ? s->scratch : NULL;
	return image_copy(base, piece, 0, s->pieces->p[piece].count, s->scratch, NULL);
}

static int image_put(struct wse_store *base, uint32_t piece, int dirty)
{
	const struct image_store *s = (const struct image_store *)base;

	return dirty ? image_copy(base, piece, 0, s->pieces->p[piece].count, NULL, s->scratch) : 0;
}

static void image_close(struct wse_store *base)
{
	struct image_store *s = (struct image_store *)base;

	free(s->alone);
	free(s->at);
	free(s->scratch);
	free(s);
}

static const struct wse_store_ops image_ops = {
	.get = image_get,
	.put = image_put,
	.copy = image_copy,
	.close = image_close,
};

static size_t alone_floats(const struct wse_memx_pieces *pieces)
{
	size_t n = 0;

	for (uint32_t i = 0; i < pieces->first[0]; i++)
		n += pieces->p[i].count;
	return n;
}

int wse_store_image(const struct wse_memx_pieces *pieces, const struct wse_graph *g,
		    const struct wse_image *images, struct wse_store **store)
{
	struct image_store *s = calloc(1, sizeof(*s));
	uint32_t n = pieces->first[0];
	size_t at = 0;

	if (!s)
		return -ENOMEM;
	s->base.ops = &image_ops;
	s->pieces = pieces;
	s->images = images;
	s->alone = wse_pages_alloc(alone_floats(pieces) * sizeof(*s->alone) + 1);
	s->at = calloc(n + 1ul, sizeof(*s->at));
	s->scratch = malloc((pieces->longest + 1) * sizeof(*s->scratch));
	if (!s->alone || !s->at || !s->scratch) {
		image_close(&s->base);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		s->at[i] = at;
		at += pieces->p[i].count;
	}
	/* as the other stores: cleared, and rows beyond a tensor stay so */
	for (uint32_t i = 0; i < g->nunits; i++)
		memset(images[i].vec.buf->ptr, 0, wse_unit_image_bytes(g, &g->units[i]));
	*store = &s->base;
	return 0;
}

const uint16_t *wse_store_image_rows(const struct wse_store *base, uint32_t piece)
{
	const struct image_store *s = (const struct image_store *)base;

	return base->ops == &image_ops && piece < s->pieces->first[0] ? s->alone + s->at[piece]
								      : NULL;
}

uint64_t wse_store_image_memory(const struct wse_memx_pieces *pieces)
{
	return alone_floats(pieces) * sizeof(uint16_t);
}
