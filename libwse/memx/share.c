// SPDX-License-Identifier: MIT
/* What the ranks of a run give each other of a step. */
#include "memx/share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pages.h"
#include "memx/optim.h"
#include "ops/micro_batch.h"
#include "num/num.h"

#define BLOCK 4096u /* as in wse_sum_squares() */

/* floats of a piece's matrix that the tensor has; the rest is padding */
static size_t real_floats(const struct wse_map *m, const struct wse_memx_piece *p)
{
	const struct wse_unit *u = p->unit == WSE_NO_UNIT ? NULL : &m->g->units[p->unit];
	size_t rows, end = (size_t)p->row + p->rows;

	if (!u)
		return p->count;
	if (u->weight == WSE_NO_TENSOR)
		return 0;
	rows = wse_unit_matrix_floats(u, &m->tab->t[u->weight]) / u->ins;
	end = end < rows ? end : rows;
	return end > p->row ? (end - p->row) * u->ins : 0;
}

/* block sums of its matrix, and one of each vector: those are short */
static size_t squares_of(const struct wse_map *m, uint32_t piece)
{
	const struct wse_memx_piece *p = &m->pieces.p[piece];
	size_t n = (real_floats(m, p) + BLOCK - 1) / BLOCK;

	return n + (p->vec ? m->g->units[p->unit].nvec : 0);
}

/* a rank's are together: one message has them */
static void place_squares(struct wse_share *s)
{
	const struct wse_map *m = s->map;
	size_t at = 0;

	for (uint32_t r = 0; r < m->ranks; r++) {
		s->first[r] = at;
		for (uint32_t k = 0; k < m->pieces.n; k++) {
			if (wse_memx_piece_owner(k, m->ranks) != r)
				continue;
			s->at[k] = at;
			at += squares_of(m, k);
		}
	}
	s->first[m->ranks] = at;
}

int wse_share_make(struct wse_share *s, const struct wse_map *map, const struct wse_image *images)
{
	const struct wse_memx_pieces *l = &map->pieces;

	*s = (struct wse_share){.map = map, .images = images, .have = UINT32_MAX};
	s->whole = calloc(map->g->nunits + 1ul, sizeof(*s->whole));
	s->at = calloc(l->n + 1ul, sizeof(*s->at));
	s->first = calloc(map->ranks + 1ul, sizeof(*s->first));
	s->parts = calloc(2ul * l->n + map->ranks, sizeof(*s->parts));
	if (!s->whole || !s->at || !s->first || !s->parts)
		return -ENOMEM;
	place_squares(s);
	s->squares = calloc(s->first[map->ranks] + 1, sizeof(*s->squares));
	return s->squares ? 0 : -ENOMEM;
}

void wse_share_fini(struct wse_share *s)
{
	for (uint32_t i = 0; s->whole && i < s->map->g->nunits; i++)
		free(s->whole[i]);
	free(s->whole);
	free(s->at);
	free(s->first);
	free(s->parts);
	free(s->packed);
	free(s->squares);
	free(s->fetched);
	memset(s, 0, sizeof(*s));
}

int wse_share_whole(struct wse_share *s, uint32_t unit)
{
	const struct wse_graph *g = s->map->g;

	if (!s->whole[unit])
		s->whole[unit] =
			wse_pages_alloc(wse_unit_grad_floats(g, &g->units[unit]) * sizeof(float));
	return s->whole[unit] ? 0 : -ENOMEM;
}

/*
 * floats of a piece, from `from` on, into the images; the transposed one is made by a refresh. An
 * image that lies packed alone is not there: it comes from its owners when all have loaded
 */
static void write_image(struct wse_share *s, uint32_t piece, size_t from, size_t n, const float *in)
{
	const struct wse_memx_piece *p = &s->map->pieces.p[piece];
	size_t matrix = p->count - p->vec, i = 0;
	const struct wse_image *img = &s->images[p->unit];
	uint16_t *fwd = matrix && img->fwd.buf ? (uint16_t *)wse_span_ptr(img->fwd) + p->at : NULL;
	float *vec = wse_span_ptr(img->vec);

	if (s->whole[p->unit])
		memcpy(s->whole[p->unit] + p->at + from, in, n * sizeof(*in));
	for (; fwd && i < n && from + i < matrix; i++)
		fwd[from + i] = wse_f32_to_bf16(in[i]);
	if (from + i < matrix)
		i = matrix - from;
	if (i < n)
		memcpy(vec + (from + i - matrix), in + i, (n - i) * sizeof(*in));
}

/* the piece that is read, from its owner, all of it: what is read next is in it, too */
static int fetch(struct wse_share *s, enum wse_memx_array which, uint32_t piece)
{
	const struct wse_memx_pieces *l = &s->map->pieces;
	int ret;

	if (s->have == piece && s->which == which)
		return 0;
	if (!s->peers.fetch)
		return wse_fail(-ENOTSUP, "the other ranks have not come yet");
	if (!s->fetched)
		s->fetched = malloc(l->longest * sizeof(*s->fetched));
	if (!s->fetched)
		return wse_fail(-ENOMEM, "no memory for a piece of the weights");
	s->have = UINT32_MAX;
	ret = s->peers.fetch(s->peers.ctx, piece, which, s->fetched, l->p[piece].count);
	if (ret)
		return ret;
	s->have = piece;
	s->which = which;
	return 0;
}

int wse_share_elsewhere(void *share, enum wse_memx_array which, uint32_t piece, size_t from,
			size_t n, float *out, const float *in)
{
	struct wse_share *s = share;
	const struct wse_memx_piece *p = &s->map->pieces.p[piece];
	int ret;

	s->have = in ? UINT32_MAX : s->have;
	if (in && which == WSE_MEMX_P && p->unit == WSE_NO_UNIT) {
		s->show(s->want_ctx, p, from, n, in);
	} else if (in && which == WSE_MEMX_P) {
		ret = s->want ? s->want(s->want_ctx, p->unit) : 0;
		if (ret)
			return ret;
		write_image(s, piece, from, n, in);
	}
	if (in)
		return 0; /* moments: their owner reads the same file */
	if (which == WSE_MEMX_P && p->unit != WSE_NO_UNIT && s->whole[p->unit]) {
		memcpy(out, s->whole[p->unit] + p->at + from, n * sizeof(*out));
		return 0;
	}
	ret = fetch(s, which, piece);
	if (!ret)
		memcpy(out, s->fetched + from, n * sizeof(*out));
	return ret;
}

/* ---- squares ---- */

/* grad [count] of the piece */
static void piece_squares(struct wse_share *s, uint32_t piece, const float *grad, float *scratch)
{
	const struct wse_map *m = s->map;
	const struct wse_memx_piece *p = &m->pieces.p[piece];
	const struct wse_unit *u = p->unit == WSE_NO_UNIT ? NULL : &m->g->units[p->unit];
	double *to = s->squares + s->at[piece];

	to += wse_square_blocks(grad, real_floats(m, p), to);
	for (uint32_t which = 1; p->vec && which <= u->nvec; which++) {
		const struct wse_tensor *t = &m->tab->t[u->vec[which - 1].tensor];
		struct wse_piece q;

		for (size_t i = 0; wse_unit_piece(m->g, u, which, t, i, &q); i++)
			memcpy(scratch + q.from, grad + (q.at - p->at), q.count * sizeof(*grad));
		*to++ = wse_sum_squares(scratch, t->count);
	}
}

int wse_share_squares(struct wse_share *s,
		      int (*grad)(void *ctx, uint32_t piece, const float **grad), void *ctx,
		      float *scratch, double *sum)
{
	const struct wse_map *m = s->map;
	const struct wse_memx_pieces *l = &m->pieces;
	int ret = 0;

	for (uint32_t k = 0; k < l->n && !ret; k++) {
		const float *g;

		if (!wse_map_has(m, k))
			continue;
		ret = grad(ctx, k, &g);
		if (!ret)
			piece_squares(s, k, g, scratch);
	}
	if (ret)
		return ret;
	for (uint32_t r = 0; r < m->ranks; r++)
		s->parts[r] = (struct wse_memx_part){r, s->squares + s->first[r],
						     (s->first[r + 1] - s->first[r]) *
							     sizeof(*s->squares)};
	ret = m->ranks > 1 ? s->peers.spread(s->peers.ctx, s->parts, m->ranks) : 0;
	for (uint32_t k = 0; k < l->n && !ret; k++) {
		const struct wse_memx_piece *p = &l->p[k];
		const struct wse_unit *u = p->unit == WSE_NO_UNIT ? NULL : &m->g->units[p->unit];
		const double *from = s->squares + s->at[k];
		size_t blocks = (real_floats(m, p) + BLOCK - 1) / BLOCK;
		uint32_t matrix = u ? u->weight : p->tensor;
		double *of = matrix == WSE_NO_TENSOR ? NULL : &sum[matrix];

		if (of && !p->row)
			*of = 0.0;
		for (size_t i = 0; i < blocks; i++)
			*of += *from++;
		for (uint32_t v = 0; p->vec && v < u->nvec; v++)
			sum[u->vec[v].tensor] = *from++;
	}
	return ret;
}

/* ---- images ---- */

/* a unit's packed weights, this rank's among them. -ENOMEM */
static int pick(struct wse_share *s, uint32_t unit, const struct wse_packed *rows)
{
	const struct wse_memx_pieces *l = &s->map->pieces;

	if (rows->n > s->room) {
		free(s->packed);
		s->packed = malloc(rows->n * sizeof(*s->packed));
		s->room = s->packed ? rows->n : 0;
	}
	if (rows->n && !s->packed)
		return wse_fail(-ENOMEM, "no memory for the weights of unit %u", unit);
	for (uint32_t k = l->first[unit]; k < l->first[unit + 1]; k++)
		if (wse_map_has(s->map, k))
			wse_packed_pick_rows(rows, l->p[k].row, l->p[k].row + l->p[k].rows,
					     wse_span_ptr(s->images[unit].fwd), s->packed);
	return 0;
}

static void spread(struct wse_share *s, uint32_t unit, const struct wse_packed *rows)
{
	const struct wse_memx_pieces *l = &s->map->pieces;

	for (uint32_t k = l->first[unit]; k < l->first[unit + 1]; k++)
		if (!wse_map_has(s->map, k))
			wse_packed_spread_rows(rows, l->p[k].row, l->p[k].row + l->p[k].rows,
					       s->packed, wse_span_ptr(s->images[unit].fwd));
}

/* the matrix of a piece, as it travels */
static struct wse_memx_part matrix_part(const struct wse_share *s, const struct wse_memx_piece *p,
					uint32_t owner, const struct wse_packed *rows)
{
	if (rows)
		return (struct wse_memx_part){
			owner, s->packed + rows->start[p->row],
			(rows->start[p->row + p->rows] - rows->start[p->row]) * sizeof(uint16_t)};
	return (struct wse_memx_part){owner,
				      (uint16_t *)wse_span_ptr(s->images[p->unit].fwd) + p->at,
				      (p->count - p->vec) * sizeof(uint16_t)};
}

int wse_share_images(struct wse_share *s, uint32_t unit, const struct wse_packed *rows)
{
	const struct wse_map *m = s->map;
	const struct wse_memx_pieces *l = &m->pieces;
	const struct wse_image *img = &s->images[unit];
	uint32_t n = 0;
	int ret;

	rows = s->whole[unit] ? NULL : rows;
	ret = rows ? pick(s, unit, rows) : 0;
	s->have = UINT32_MAX; /* it is of the step before */
	for (uint32_t k = l->first[unit]; k < l->first[unit + 1] && !ret; k++) {
		const struct wse_memx_piece *p = &l->p[k];
		uint32_t owner = wse_memx_piece_owner(k, m->ranks);

		if (s->whole[unit])
			s->parts[n++] = (struct wse_memx_part){owner, s->whole[unit] + p->at,
							       p->count * sizeof(float)};
		else if (p->count > p->vec)
			s->parts[n++] = matrix_part(s, p, owner, rows);
		if (!s->whole[unit] && p->vec)
			s->parts[n++] = (struct wse_memx_part){owner, wse_span_ptr(img->vec),
							       p->vec * sizeof(float)};
	}
	ret = ret ? ret : s->peers.spread(s->peers.ctx, s->parts, n);
	if (!ret && rows)
		spread(s, unit, rows);
	return ret;
}
