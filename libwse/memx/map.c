// SPDX-License-Identifier: MIT
/* From a tensor's own order to the order of the images. */
#include "memx/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int wse_map_make(struct wse_map *m, const struct wse_graph *g, const struct wse_tensor_table *tab,
		 uint32_t rank, uint32_t ranks)
{
	int ret;

	*m = (struct wse_map){.g = g, .tab = tab, .rank = rank, .ranks = ranks};
	m->held.piece = UINT32_MAX;
	ret = wse_memx_pieces_make(g, tab, &m->pieces);
	if (ret)
		return ret;
	m->slot = calloc(m->pieces.n + 1ul, sizeof(*m->slot));
	ret = m->slot ? wse_memx_pieces_deal(&m->pieces, g->nunits, rank, ranks, &m->kept, m->slot)
		      : -ENOMEM;
	if (ret) {
		wse_map_fini(m);
		return ret;
	}
	m->home = malloc((tab->n + 1ul) * sizeof(*m->home));
	m->alone = calloc(tab->n + 1ul, sizeof(*m->alone));
	if (!m->home || !m->alone) {
		wse_map_fini(m);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < tab->n; i++)
		m->home[i] = (struct wse_home){WSE_NO_UNIT, 0};
	for (uint32_t i = 0; i < g->nunits; i++) {
		const struct wse_unit *u = &g->units[i];

		if (u->weight != WSE_NO_TENSOR)
			m->home[u->weight] = (struct wse_home){i, 0};
		for (uint32_t which = 1; which <= u->nvec; which++)
			m->home[u->vec[which - 1].tensor] = (struct wse_home){i, which};
	}
	for (uint32_t k = m->pieces.n; k-- > 0;)
		if (m->pieces.p[k].unit == WSE_NO_UNIT)
			m->alone[m->pieces.p[k].tensor] = k;
	return 0;
}

void wse_map_fini(struct wse_map *m)
{
	wse_memx_pieces_fini(&m->pieces);
	wse_memx_pieces_fini(&m->kept);
	free(m->home);
	free(m->alone);
	free(m->slot);
	m->home = NULL;
	m->alone = NULL;
	m->slot = NULL;
}

int wse_map_has(const struct wse_map *m, uint32_t piece)
{
	return m->slot[piece] != m->slot[piece + 1];
}

static int let_go(struct wse_map *m)
{
	uint32_t held = m->held.piece;

	m->held.piece = UINT32_MAX;
	return held == UINT32_MAX ? 0 : wse_map_put(m, held, m->held.dirty);
}

/* for a copy: until another one is got */
static int hold(struct wse_map *m, uint32_t piece)
{
	int ret = 0;

	if (m->held.piece == piece)
		return 0;
	ret = wse_map_get(m, piece, m->held.array);
	if (!ret) {
		m->held.piece = piece;
		m->held.dirty = 0;
	}
	return ret;
}

int wse_map_get(struct wse_map *m, uint32_t piece, float **array)
{
	int ret = let_go(m);

	return ret ? ret : m->store->ops->get(m->store, m->slot[piece], array);
}

int wse_map_put(const struct wse_map *m, uint32_t piece, int dirty)
{
	return m->store->ops->put(m->store, m->slot[piece], dirty);
}

void wse_map_ahead(const struct wse_map *m, uint32_t first, uint32_t end)
{
	if (m->store->ops->ahead)
		m->store->ops->ahead(m->store, m->slot[first], m->slot[end]);
}

int wse_map_is_plain(const struct wse_unit *u)
{
	return u->parts == 1 && (u->chunks_out <= 1 || u->in_order) && u->chunks_in <= 1 &&
	       !u->heads.heads && !u->in_heads.heads;
}

/* the piece of the state that float `at` of a unit's buffer, or of a tensor in none, lies in */
static uint32_t piece_at(const struct wse_map *m, uint32_t first, uint32_t end, size_t at)
{
	size_t k = first + at / m->pieces.p[first].count; /* all but the last are equal */

	return k < end ? (uint32_t)k : end - 1;
}

struct copy {
	struct wse_map *m;
	enum wse_memx_array which;
	float *out;
	const float *in;
};

/* n floats from `in` on of the piece that is held */
static void copy_held(struct copy *c, size_t in, size_t n)
{
	float *there = c->m->held.array[c->which] + in;

	if (c->out) {
		memcpy(c->out, there, n * sizeof(float));
		return;
	}
	memcpy(there, c->in, n * sizeof(float));
	c->m->held.dirty = 1;
}

/* n floats that lie at `at` ...; pieces [first, end) are those of their unit or tensor */
static int copy_run(struct copy *c, uint32_t first, uint32_t end, size_t at, size_t n)
{
	while (n) {
		uint32_t k = piece_at(c->m, first, end, at);
		const struct wse_memx_piece *p = &c->m->pieces.p[k];
		size_t in = at - p->at, some = p->count - in < n ? p->count - in : n;
		struct wse_store *s = c->m->store;
		int here = wse_map_has(c->m, k), ret;

		if (!here)
			ret = c->m->elsewhere(c->m->ctx, c->which, k, in, some, c->out, c->in);
		else if (s->ops->copy)
			ret = s->ops->copy(s, c->m->slot[k], in, some, c->out, c->in);
		else
			ret = hold(c->m, k);
		if (ret)
			return ret;
		if (here && !s->ops->copy)
			copy_held(c, in, some);
		if (c->out)
			c->out += some;
		else
			c->in += some;
		at += some;
		n -= some;
	}
	return 0;
}

int wse_map_copy(struct wse_map *m, enum wse_memx_array which, uint32_t tensor, size_t from,
		 size_t count, float *out, const float *in)
{
	const struct wse_tensor *t = &m->tab->t[tensor];
	const struct wse_home *h = &m->home[tensor];
	struct copy c = {m, which, out, in};
	const struct wse_unit *u;
	int ret = 0;

	if (h->unit == WSE_NO_UNIT) {
		uint32_t k = m->alone[tensor], last = k + 1;

		while (last < m->pieces.n && m->pieces.p[last].unit == WSE_NO_UNIT &&
		       m->pieces.p[last].tensor == tensor)
			last++;
		return copy_run(&c, k, last, from, count);
	}
	u = &m->g->units[h->unit];
	while (count && !ret) {
		size_t i = wse_unit_piece_of(m->g, u, h->which, from), n;
		struct wse_piece p;

		if (!wse_unit_piece(m->g, u, h->which, t, i, &p))
			return -EINVAL;
		n = p.from + p.count - from;
		n = n < count ? n : count;
		ret = copy_run(&c, m->pieces.first[h->unit], m->pieces.first[h->unit + 1],
			       p.at + (from - p.from), n);
		from += n;
		count -= n;
	}
	return ret;
}

/* ---- in the order in which they are kept ---- */

/* row `row` of an image whose rows come in `per` pieces, as one of the tensor's */
static struct wse_piece row_of(const struct wse_map *m, const struct wse_unit *u,
			       const struct wse_tensor *t, size_t row, size_t per)
{
	size_t ins = wse_unit_tensor_ins(u);
	struct wse_piece q = {0};

	wse_unit_piece(m->g, u, 0, t, row * per, &q); /* its first elements are no padding */
	return (struct wse_piece){q.from, row * u->ins, q.count ? ins : 0, u->ins};
}

/* rows of a matrix that lie in a piece, as runs that follow each other in the tensor, too */
static int matrix_runs(const struct wse_map *m, const struct wse_memx_piece *p,
		       enum wse_memx_array which, wse_map_run fn, void *ctx)
{
	const struct wse_unit *u = &m->g->units[p->unit];
	const struct wse_tensor *t = &m->tab->t[u->weight];
	size_t per = wse_unit_row_pieces(m->g, u), end = p->at + p->count - p->vec, at = p->at, n;
	size_t from = 0, count = 0, ins = wse_unit_tensor_ins(u);
	int in_order = !u->heads.heads && u->parts == 1 && (u->chunks_out <= 1 || u->in_order);
	struct wse_piece q = {0, 0, u->ins, u->ins};
	int ret = 0;

	if (!per && !wse_unit_piece(m->g, u, 0, t, 0, &q))
		return -EINVAL;
	for (size_t next, real; at < end && !ret; at += n) {
		if (per && in_order) { /* inputs in another order: rows lie as they are */
			q = (struct wse_piece){at / u->ins * ins, at, (end - at) / u->ins * ins,
					       end - at};
			if (q.from >= t->count)
				break;
		} else if (per) {
			q = row_of(m, u, t, at / u->ins, per);
		} else if (!wse_unit_piece(m->g, u, 0, t, at / q.room, &q)) {
			break; /* rows beyond the tensor */
		}
		next = q.from + (at - q.at);
		n = q.at + q.room < end ? q.at + q.room - at : end - at;
		real = at - q.at < q.count ? q.count - (at - q.at) : 0; /* the rest is padding */
		real = real < n ? real : n;
		if (!real || next >= t->count)
			continue;
		real = t->count - next < real ? t->count - next : real;
		if (count && next != from + count) {
			ret = fn(ctx, which, u->weight, from, count);
			count = 0;
		}
		from = count ? from : next;
		count += real;
	}
	return ret || !count ? ret : fn(ctx, which, u->weight, from, count);
}

int wse_map_runs(struct wse_map *m, uint32_t arrays, wse_map_run fn, void *ctx)
{
	int ret = 0;

	wse_map_ahead(m, 0, m->pieces.n);
	for (uint32_t i = 0; i < m->pieces.n * arrays && !ret; i++) {
		const struct wse_memx_piece *p = &m->pieces.p[i / arrays];
		enum wse_memx_array which = (enum wse_memx_array)(i % arrays);
		const struct wse_unit *u;

		if (p->unit == WSE_NO_UNIT) {
			ret = fn(ctx, which, p->tensor, p->at, p->count);
			continue;
		}
		u = &m->g->units[p->unit];
		ret = p->rows ? matrix_runs(m, p, which, fn, ctx) : 0;
		for (uint32_t v = 0; v < u->nvec && p->vec && !ret; v++)
			ret = fn(ctx, which, u->vec[v].tensor, 0,
				 m->tab->t[u->vec[v].tensor].count);
	}
	return ret;
}
