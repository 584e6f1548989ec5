// SPDX-License-Identifier: MIT
/* Passes a run of n elements through the nodes that bulk.c has found. */
#include <stdlib.h>
#include <string.h>

#include "bulk.h"
#include "fp.h"

/* a node of a small tile takes a few hundred instructions in all */
#define INLINE static inline __attribute__((always_inline))

bool wse_bulk_reserve(struct scratch *r, const struct set *s)
{
	size_t need = s->stores ? (size_t)s->n * s->norder * 2 : 0; /* a second array of operands */
	uint32_t *p;

	r->used = 0;
	if (need <= r->cap)
		return true;
	p = malloc(need * sizeof(*p));
	if (!p)
		return false;
	free(r->v);
	r->v = p;
	r->cap = need;
	return true;
}

static uint32_t *take(struct scratch *r, uint32_t n)
{
	uint32_t *p = r->v + r->used;

	r->used += n;
	return p;
}

/* a DOT node feeds its mover's dot input; all other outputs arrive as fabric input */
void wse_bulk_deliver(const struct set *s, uint32_t first, uint32_t sinks, const struct run *r)
{
	struct bulk *b = s->b;
	uint32_t i;

	for (i = first; i < first + sinks; i++)
		b->node[b->sink[i]].fab = r;
}

/* wavelets before the first with an index outside the operand */
static uint32_t good_prefix(const struct wse_engine *e, const struct run *r, uint32_t n)
{
	uint32_t rows = e->o[OPND_SRC2].len1, bad = 0, i;
	const uint32_t *w = r->w;

	for (i = 0; i < n; i++)
		bad |= ((w[i] >> 14 & 3) >= e->nfeat) | ((w[i] & 0x3fff) >= rows);
	if (!bad)
		return n;
	for (i = 0; (w[i] >> 14 & 3) < e->nfeat && (w[i] & 0x3fff) < rows; i++)
		;
	return i;
}

/* n elements of a dense run from its element at on, as wavelets: less than a k */
static void words_of(const struct run *r, uint32_t at, uint32_t n, uint32_t *w)
{
	for (; n; n--, at++)
		*w++ = wse_u(r->v[at - r->at]) | (at & (r->dense - 1u)) << 14 | at >> r->shift;
}

/* whole ks of a dense run, from its element at on */
static void run_ks(const struct wse_kernels *k, struct node *x, uint32_t at, uint32_t nk,
		   uint32_t *out)
{
	const struct wse_opnd *s = &x->e->o[OPND_SRC2];
	uint32_t *acc = &x->c->acc[x->e->o[OPND_DST].base], nb = x->e->nfeat, t = x->e->tokens;
	const uint8_t *rows = x->c->sram + s->base;
	uint32_t row = at >> x->fab->shift, w[64], n;
	const float *wide, *v = x->fab->v + (at - x->fab->at);

	if (!out) {
		wide = wse_wide_rows(x->c, k, s);
		if (wide)
			k->axpy_rows(acc, wide + (size_t)row * t, t, nb, v, nk);
		else
			k->axpy_dense(acc, rows + (int32_t)row * s->stride1, s->stride1, t, nb, v,
				      nk);
		return;
	}
	wide = wse_wide_cols(x->c, k, s);
	if (wide) {
		k->dot_cols(acc, wide, row, t, nb, nk, out);
		return;
	}
	for (nk *= nb; nk; nk -= n, at += n, out += n) {
		n = nk < 64 ? nk : 64;
		words_of(x->fab, at, n, w);
		k->dot(acc, rows, s->stride1, t, w, n, out);
	}
}

/* a dense run: what is left of a k, whole ks, the beginning of one. out: DOT's results */
INLINE void run_dense(const struct wse_kernels *k, struct node *x, uint32_t n, uint32_t *out)
{
	const struct wse_opnd *s = &x->e->o[OPND_SRC2];
	uint32_t *acc = &x->c->acc[x->e->o[OPND_DST].base], nb = x->e->nfeat, t = x->e->tokens;
	uint32_t at = x->fab->at, end = at + n, w[4], in;

	for (; at < end; at += n) {
		in = at & (nb - 1);
		n = end - at;
		if (!in && n >= nb) {
			n &= ~(nb - 1);
			run_ks(k, x, at, n >> x->fab->shift, out);
		} else {
			n = n < nb - in ? n : nb - in;
			words_of(x->fab, at, n, w);
			if (out)
				k->dot(acc, x->c->sram + s->base, s->stride1, t, w, n, out);
			else
				k->axpy(acc, x->c->sram + s->base, s->stride1, t, w, n);
		}
		if (out)
			out += n;
	}
}

INLINE void run_lanes(struct wse_mesh *m, struct scratch *r, const struct set *set, struct node *x,
		      uint32_t n)
{
	const struct wse_opnd *s = &x->e->o[OPND_SRC2];
	uint32_t *acc = &x->c->acc[x->e->o[OPND_DST].base];
	const struct run *in = x->fab;
	uint32_t good = in->dense ? n : good_prefix(x->e, in, n);
	const uint8_t *rows = x->c->sram + s->base;
	uint32_t *v = x->e->op != WSE_TOP_AXPY ? take(r, n) : NULL;

	if (in->dense)
		run_dense(r->k, x, n, v);
	else if (v)
		r->k->dot(acc, rows, s->stride1, x->e->tokens, in->w, good, v);
	else
		r->k->axpy(acc, rows, s->stride1, x->e->tokens, in->w, good);
	if (v) {
		if (good < n)
			memset(v + good, 0, (n - good) * sizeof(*v));
		x->out.w = v;
		x->out.dense = 0;
		set->b->node[set->b->sink[x->first]].dot = &x->out;
	}
	wse_lane_work(m, x->c, x->e, n * (x->e->tokens / WSE_LANES));
	x->c->cnt[WSE_CNT_MAC] += (uint64_t)good * x->e->tokens;
	if (n * (x->e->tokens / WSE_LANES) > m->round)
		m->round = n * (x->e->tokens / WSE_LANES);
	if (good < n)
		wse_tensor_fault(m, x->c, WSE_CAUSE_STREAM_INDEX, x->e->o[OPND_SRC1].color,
				 in->w[good]);
}

/* ---- movers ---- */

static void load(const struct wse_core *c, const struct wse_opnd *o, uint32_t n, uint32_t *v)
{
	int32_t at = o->pos;
	uint32_t i;
	uint16_t h;

	if (o->kind == WSE_KIND_ACC && o->stride == 1) {
		memcpy(v, &c->acc[at], n * 4);
	} else if (o->kind == WSE_KIND_ACC) {
		for (i = 0; i < n; i++, at += o->stride)
			v[i] = c->acc[at];
	} else if (o->dtype == WSE_DT_BF16) {
		for (i = 0; i < n; i++, at += o->stride) {
			memcpy(&h, c->sram + at, 2);
			v[i] = wse_bf16_widen(h);
		}
	} else {
		for (i = 0; i < n; i++, at += o->stride)
			memcpy(&v[i], c->sram + at, 4);
	}
}

static void store(struct wse_core *c, const struct wse_opnd *o, uint32_t n, const uint32_t *v)
{
	int32_t at = o->pos, step = o->stride;
	uint16_t h[64];
	uint32_t i, k;

	if (o->kind == WSE_KIND_ACC) {
		if (step == 1)
			memcpy(&c->acc[at], v, n * 4);
		for (i = 0; step != 1 && i < n; i++, at += step)
			c->acc[at] = v[i];
		return;
	}
	if (o->dtype != WSE_DT_BF16) {
		if (step == 4) {
			memcpy(c->sram + at, v, n * 4);
			wse_code_changed(c, at, n * 4);
			return;
		}
		for (i = 0; i < n; i++, at += step) {
			memcpy(c->sram + at, &v[i], 4);
			wse_code_changed(c, at, 4);
		}
		return;
	}
	for (; n; n -= k, v += k) {
		k = n < 64 ? n : 64;
		wse_bf16_round_n(h, v, k);
		if (step == 2) {
			memcpy(c->sram + at, h, k * 2);
			wse_code_changed(c, at, k * 2);
			at += (int32_t)k * 2;
			continue;
		}
		for (i = 0; i < k; i++, at += step) {
			memcpy(c->sram + at, &h[i], 2);
			wse_code_changed(c, at, 2);
		}
	}
}

/* moves an operand n elements on, all in one row; new_row: the row is through */
static void skip(struct wse_opnd *o, uint32_t n, bool new_row)
{
	if (o->kind != WSE_KIND_MEM && o->kind != WSE_KIND_ACC)
		return;
	if (new_row)
		o->pos = o->row += o->stride1;
	else
		o->pos += o->stride * (int32_t)n;
}

/* MIDX to lanes that refuse none of its indices: they can do without wavelets */
static bool indexes_values(const struct set *set, const struct node *x)
{
	const struct wse_engine *e = x->e;
	uint32_t i;

	for (i = x->first; e->op == WSE_TOP_MIDX && i < x->first + x->sinks; i++) {
		const struct node *l = &set->b->node[set->b->sink[i]];

		if (l->port || l->which != WSE_ENGINE_L || l->e->nfeat != e->width ||
		    l->e->o[OPND_SRC2].len1 < e->q[0].scalar + e->o[OPND_SRC1].len1)
			return false;
	}
	return e->op == WSE_TOP_MIDX;
}

/* values as MIDX sends them */
static void to_values(uint32_t *v, uint32_t n)
{
	uint16_t h[64];
	uint32_t i, k;

	for (; n; n -= k, v += k) {
		k = n < 64 ? n : 64;
		wse_bf16_round_n(h, v, k);
		for (i = 0; i < k; i++)
			v[i] = (uint32_t)h[i] << 16;
	}
}

INLINE void run_mover(struct wse_mesh *m, struct scratch *r, const struct set *set, struct node *x,
		      uint32_t n)
{
	struct wse_engine *e = x->e;
	struct wse_opnd *d = &e->o[OPND_DST], *s1 = &e->o[OPND_SRC1], *s2 = &e->o[OPND_SRC2];
	uint32_t *v = take(r, n), *t = take(r, n), at = 0, i, k;
	const uint32_t *in, *in2;
	bool row, last = false, values = indexes_values(set, x);

	x->out.w = v;
	x->out.dense = 0;
	if (values)
		wse_bulk_values(&x->out, (const float *)(const void *)v,
				(e->q[0].scalar + s1->len1 - e->outer + 1) * e->width - e->inner,
				e->width);
	while (at < n) {
		k = n - at;
		if (!e->until_end && k > e->inner)
			k = e->inner;
		if (s1->kind == WSE_KIND_FABIN) {
			in = x->fab->w + at;
		} else if (s1->kind == WSE_KIND_DOTQ) {
			in = x->dot->w + at;
		} else {
			load(x->c, s1, k, v + at);
			in = v + at;
		}
		if (e->op == WSE_TOP_MADD) {
			if (s2->kind == WSE_KIND_DOTQ) {
				in2 = x->dot->w + at;
			} else {
				load(x->c, s2, k, t);
				in2 = t;
			}
			r->k->add(v + at, in, in2, k);
		} else if (in != v + at) {
			memcpy(v + at, in, k * 4);
		}
		for (i = 0; e->op == WSE_TOP_MIDX && !values && i < k; i++)
			v[at + i] = wse_midx(e, v[at + i], e->width - e->inner + i, e->outer);
		if (d->kind != WSE_KIND_FABOUT)
			store(x->c, d, k, v + at);
		if (e->op == WSE_TOP_MTEE)
			store(x->c, s2, k, v + at);
		at += k;
		if (e->until_end)
			continue;
		e->inner -= k;
		row = !e->inner;
		if (row) {
			e->inner = e->width;
			last = !--e->outer;
		}
		if (!last) {
			skip(d, k, row);
			skip(s1, k, row);
			skip(s2, k, row);
		}
	}
	if (n > m->round)
		m->round = n;
	if (values)
		to_values(v, n);
	if (e->out >= 0)
		wse_bulk_deliver(set, x->first, x->sinks, &x->out);
	if (last) {
		wse_mover_finish(m, x->c, e);
		wse_wake(m, x->c);
	}
}

INLINE void pass(struct scratch *r, const struct set *s, struct node *x)
{
	struct wse_mesh *m = x->c->mesh;

	m->moved = true;
	if (x->port) {
		wse_out_take(m->dev, x->c->col, x->fab->w, s->n);
		if (s->n > m->round)
			m->round = s->n;
	} else if (x->which == WSE_ENGINE_L) {
		run_lanes(m, r, s, x, s->n);
	} else {
		run_mover(m, r, s, x, s->n);
	}
}

void wse_bulk_pass(struct scratch *r, const struct set *s, struct node *x)
{
	pass(r, s, x);
}

void wse_bulk_run(struct scratch *r, const struct set *s)
{
	uint32_t i;

	for (i = s->order; i < s->order + s->norder; i++)
		pass(r, s, &s->b->node[s->b->order[i]]);
}

void wse_bulk_count(struct wse_model *m, const struct set *s, uint32_t hops, uint32_t n,
		    uint32_t parts)
{
	const struct router *r = s->b->trail + s->trail, *end = r + hops;
	uint32_t p;

	for (; r < end; r++) {
		struct wse_core *c = &m->core[r->core];

		if (!(parts >> r->part & 1))
			continue;
		c->cnt[WSE_CNT_WAVELET] += n;
		for (p = r->tx & 15u; p; p &= p - 1)
			c->link[__builtin_ctz(p)] += n;
	}
}

void wse_bulk_ended(struct wse_model *m, struct wse_port_in *p)
{
	p->end_due = false;
	if (!m->round)
		m->round = 1;
}
