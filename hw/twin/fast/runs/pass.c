// SPDX-License-Identifier: MIT
/* Passes a run of n elements through the nodes of a flow. */
#include <stdlib.h>
#include <string.h>

#include "twin/exact/operand.h"
#include "twin/fast/opnd_copy.h"
#include "twin/fast/runs/runs.h"

/* a node of a small tile takes a few hundred instructions in all */
#define INLINE static inline __attribute__((always_inline))

bool twin_runs_reserve(struct scratch *r, const struct flow *s)
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
void twin_runs_deliver(const struct flow *s, uint32_t first, uint32_t sinks, const struct run *r)
{
	struct flows *b = s->b;
	uint32_t i;

	for (i = first; i < first + sinks; i++)
		b->node[b->sink[i]].fab = r;
}

/* wavelets before the first with an index outside the operand */
static uint32_t good_prefix(const struct twin_engine *e, const struct run *r, uint32_t n)
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
		*w++ = twin_wavelet(r->v[at - r->at], at, r->shift);
}

/* whole ks of a dense run, from its element at on; w: the copy of the lanes' operand, or NULL */
static void axpy_ks(const struct twin_kernels *k, struct node *x, const struct twin_opnd_copy *w,
		    uint32_t at, uint32_t nk)
{
	const struct twin_opnd *s = &x->e->o[OPND_SRC2];
	uint32_t *acc = &x->c->acc[x->e->o[OPND_DST].base], nb = x->e->nfeat, t = x->e->tokens;
	uint32_t row = at >> x->fab->shift;
	const float *v = x->fab->v + (at - x->fab->at);
	bool fused = w && twin_products_exact(w->range, x->fab->range);
	struct twin_ways *ways = &x->c->mesh->ways;

	ways->fused += fused;
	ways->copy_rows += w && w->copy;
	if (w && w->copy)
		k->axpy_rows(acc, (const float *)w->copy + (size_t)row * t, t, nb, v, nk, fused);
	else
		k->axpy_dense(acc, x->c->sram + s->base + (int32_t)row * s->stride1, s->stride1, t,
			      nb, v, nk, fused);
}

static void dot_ks(const struct twin_kernels *k, struct node *x, uint32_t at, uint32_t nk,
		   uint32_t *out)
{
	const struct twin_opnd *s = &x->e->o[OPND_SRC2];
	uint32_t *acc = &x->c->acc[x->e->o[OPND_DST].base], nb = x->e->nfeat, t = x->e->tokens;
	const struct twin_opnd_copy *wide = twin_opnd_copy_cols(x->c, s);
	uint32_t w[64], n;

	if (wide) {
		bool fused = twin_products_exact(wide->range, k->range_of_sums(acc, nb * t));

		x->c->mesh->ways.copy_cols++;
		x->c->mesh->ways.fused += fused;
		k->dot_cols(acc, wide->copy, at >> x->fab->shift, t, nb, nk, out, fused);
		return;
	}
	for (nk *= nb; nk; nk -= n, at += n, out += n) {
		n = nk < 64 ? nk : 64;
		words_of(x->fab, at, n, w);
		twin_dot(acc, x->c->sram + s->base, s->stride1, t, w, n, out);
	}
}

/* a dense run: what is left of a k, whole ks, the beginning of one. out: DOT's results */
INLINE void run_dense(const struct twin_kernels *k, struct node *x, uint32_t n, uint32_t *out)
{
	const struct twin_opnd *s = &x->e->o[OPND_SRC2];
	uint32_t *acc = &x->c->acc[x->e->o[OPND_DST].base], nb = x->e->nfeat, t = x->e->tokens;
	uint32_t at = x->fab->at, end = at + n, w[4], in;

	for (; at < end; at += n) {
		in = at & (nb - 1);
		n = end - at;
		if (!in && n >= nb) {
			n &= ~(nb - 1);
			if (out)
				dot_ks(k, x, at, n >> x->fab->shift, out);
			else
				axpy_ks(k, x, twin_opnd_copy_rows(x->c, k, s), at,
					n >> x->fab->shift);
		} else {
			n = n < nb - in ? n : nb - in;
			words_of(x->fab, at, n, w);
			if (out)
				twin_dot(acc, x->c->sram + s->base, s->stride1, t, w, n, out);
			else
				k->axpy(acc, x->c->sram + s->base, s->stride1, t, w, n);
		}
		if (out)
			out += n;
	}
}

/* the lanes have taken n wavelets, of which the first good ones have good indices */
INLINE void lanes_took(struct twin_mesh *m, struct node *x, uint32_t n, uint32_t good)
{
	uint32_t cycles = n * (x->e->tokens / WSE_LANES);

	twin_lane_work(m, x->c, x->e, cycles);
	x->c->cnt[WSE_CNT_MAC] += (uint64_t)good * x->e->tokens;
	if (cycles > m->round)
		m->round = cycles;
}

INLINE void run_lanes(struct twin_mesh *m, struct scratch *r, const struct flow *flow,
		      struct node *x, uint32_t n)
{
	const struct twin_opnd *s = &x->e->o[OPND_SRC2];
	uint32_t *acc = &x->c->acc[x->e->o[OPND_DST].base];
	const struct run *in = x->fab;
	uint32_t good = in->dense ? n : good_prefix(x->e, in, n);
	const uint8_t *rows = x->c->sram + s->base;
	uint32_t *v = x->e->op != WSE_TOP_AXPY ? take(r, n) : NULL;

	if (in->dense)
		run_dense(r->k, x, n, v);
	else if (v)
		twin_dot(acc, rows, s->stride1, x->e->tokens, in->w, good, v);
	else
		r->k->axpy(acc, rows, s->stride1, x->e->tokens, in->w, good);
	if (v) {
		if (good < n)
			memset(v + good, 0, (n - good) * sizeof(*v));
		x->out.w = v;
		x->out.dense = 0;
		flow->b->node[flow->b->sink[x->first]].dot = &x->out;
	}
	lanes_took(m, x, n, good);
	if (good < n)
		twin_tensor_fault(m, x->c, WSE_CAUSE_STREAM_INDEX, x->e->o[OPND_SRC1].color,
				  in->w[good]);
}

/* do both take the same whole ks into as few sums each? */
INLINE bool are_two(const struct node *x, const struct node *y, uint32_t n)
{
	return x->which == WSE_ENGINE_L && y->which == WSE_ENGINE_L && x->fab == y->fab &&
	       x->e->op == WSE_TOP_AXPY && y->e->op == WSE_TOP_AXPY &&
	       x->e->tokens == y->e->tokens && x->fab->dense &&
	       !((x->fab->at | n) & (x->e->nfeat - 1));
}

static void run_two(const struct twin_kernels *k, struct node *x, struct node *y, uint32_t n)
{
	const struct twin_opnd_copy *wx = twin_opnd_copy_rows(x->c, k, &x->e->o[OPND_SRC2]);
	const struct twin_opnd_copy *wy = twin_opnd_copy_rows(y->c, k, &y->e->o[OPND_SRC2]);
	const struct run *in = x->fab;
	uint32_t nk = n >> in->shift, nb = x->e->nfeat, t = x->e->tokens;
	size_t row = in->at >> in->shift;

	if (wx && wy && wx->copy && wy->copy) {
		uint32_t *const acc[2] = {&x->c->acc[x->e->o[OPND_DST].base],
					  &y->c->acc[y->e->o[OPND_DST].base]};
		const float *const rows[2] = {(const float *)wx->copy + row * t,
					      (const float *)wy->copy + row * t};
		bool fused = twin_products_exact(twin_range_join(wx->range, wy->range), in->range);

		x->c->mesh->ways.pairs++;
		x->c->mesh->ways.copy_rows += 2;
		x->c->mesh->ways.fused += fused;
		k->axpy_two(acc, rows, t, nb, in->v, nk, fused);
	} else {
		axpy_ks(k, x, wx, in->at, nk);
		axpy_ks(k, y, wy, in->at, nk);
	}
	lanes_took(x->c->mesh, x, n, n);
	lanes_took(y->c->mesh, y, n, n);
	x->c->mesh->moved = y->c->mesh->moved = true;
}

/* ---- movers ---- */

/* of n elements of a row, how many are loaded or stored at once */
INLINE uint32_t piece(const struct twin_opnd *o, uint32_t n)
{
	if (o->stride != twin_opnd_size(o))
		return 1;
	return n > TWIN_OPND_MOST && twin_opnd_is_bf16(o) ? TWIN_OPND_MOST : n;
}

static void load(const struct twin_core *c, struct twin_opnd o, uint32_t n, uint32_t *v)
{
	uint32_t k;

	for (; n; n -= k, v += k, o.pos += o.stride * (int32_t)k) {
		k = piece(&o, n);
		if (k == 1)
			twin_opnd_load(c, &o, v, 1);
		else
			twin_opnd_load(c, &o, v, k);
	}
}

static void store(struct twin_core *c, struct twin_opnd o, uint32_t n, const uint32_t *v)
{
	uint32_t k;

	for (; n; n -= k, v += k, o.pos += o.stride * (int32_t)k) {
		k = piece(&o, n);
		if (k == 1)
			twin_opnd_store(c, &o, v, 1);
		else
			twin_opnd_store(c, &o, v, k);
	}
}

/* n elements of an operand: where they lie if those are words in a row, else in room */
INLINE const uint32_t *words_at(const struct twin_core *c, const struct twin_opnd *o, uint32_t n,
				uint32_t *room)
{
	if (o->kind == WSE_KIND_ACC && o->stride == 1)
		return &c->acc[o->pos];
	load(c, *o, n, room);
	return room;
}

/* no two elements of an operand share a place */
static bool lies_apart(const struct twin_opnd *o)
{
	int32_t row = abs(o->stride) * (o->len - 1) + twin_opnd_size(o);

	return o->stride && (o->len1 == 1 || abs(o->stride1) >= row);
}

/* the places of an operand: from the first to the one behind the last */
static void find_extent(const struct twin_opnd *o, int32_t *lo, int32_t *hi)
{
	int32_t in_row = o->stride * (o->len - 1), rows = o->stride1 * (o->len1 - 1);

	*lo = o->base + (in_row < 0 ? in_row : 0) + (rows < 0 ? rows : 0);
	*hi = o->base + (in_row > 0 ? in_row : 0) + (rows > 0 ? rows : 0) + twin_opnd_size(o);
}

/* may an element of one be a later element of the other, in the same memory? */
static __attribute__((noinline)) bool meet_in(const struct twin_opnd *a, const struct twin_opnd *b)
{
	int32_t alo, ahi, blo, bhi;

	if (a->base == b->base && a->stride == b->stride && a->stride1 == b->stride1 &&
	    twin_opnd_size(a) == twin_opnd_size(b) && lies_apart(a))
		return false;
	find_extent(a, &alo, &ahi);
	find_extent(b, &blo, &bhi);
	return alo < bhi && blo < ahi;
}

/* most movers have no two operands of a kind */
INLINE bool meet(const struct twin_opnd *a, const struct twin_opnd *b)
{
	return unlikely(a->kind == b->kind) && twin_opnd_is_store(a) && meet_in(a, b);
}

/* what an element writes may be another one's source, or place: no two may go at once */
INLINE bool goes_singly(const struct twin_engine *e)
{
	const struct twin_opnd *d = &e->o[OPND_DST], *s1 = &e->o[OPND_SRC1];
	const struct twin_opnd *s2 = &e->o[OPND_SRC2];

	return meet(d, s1) || meet(d, s2) || (e->op == WSE_TOP_MTEE && meet(s1, s2));
}

/* moves an operand n elements on, all in one row; new_row: the row is through */
static void skip(struct twin_opnd *o, uint32_t n, bool new_row)
{
	if (!twin_opnd_is_store(o))
		return;
	if (new_row)
		o->pos = o->row += o->stride1;
	else
		o->pos += o->stride * (int32_t)n;
}

/* MIDX to lanes that refuse none of its indices: they can do without wavelets */
INLINE bool indexes_values(const struct flow *flow, const struct node *x)
{
	const struct twin_engine *e = x->e;
	uint32_t i;

	if (likely(e->op != WSE_TOP_MIDX))
		return false;
	for (i = x->first; i < x->first + x->sinks; i++) {
		const struct node *l = &flow->b->node[flow->b->sink[i]];

		if (l->port || l->which != WSE_ENGINE_L || l->e->nfeat != e->width ||
		    l->e->o[OPND_SRC2].len1 < e->q[0].scalar + e->o[OPND_SRC1].len1)
			return false;
	}
	return true;
}

/* values as MIDX sends them, and their range */
static struct twin_range to_values(uint32_t *v, uint32_t n)
{
	struct twin_range range = {255, 0};
	uint16_t h[64];
	uint32_t i, k;

	for (; n; n -= k, v += k) {
		k = n < 64 ? n : 64;
		twin_bf16_round_n(h, v, k);
		range = twin_range_join(range, twin_range_of(h, 0, k, 1));
		for (i = 0; i < k; i++)
			v[i] = (uint32_t)h[i] << 16;
	}
	return range;
}

INLINE void run_mover(struct twin_mesh *m, struct scratch *r, const struct flow *flow,
		      struct node *x, uint32_t n)
{
	struct twin_engine *e = x->e;
	struct twin_opnd *d = &e->o[OPND_DST], *s1 = &e->o[OPND_SRC1], *s2 = &e->o[OPND_SRC2];
	const uint32_t *from = s1->kind == WSE_KIND_FABIN  ? x->fab->w
			       : s1->kind == WSE_KIND_DOTQ ? x->dot->w
							   : NULL;
	uint32_t *v = take(r, n), *t = take(r, n), at = 0, i, k;
	bool row, last = false, values = indexes_values(flow, x);
	bool words = !values && e->op == WSE_TOP_MIDX, singly = goes_singly(e);
	const uint32_t *in, *res;

	/* what arrives and goes on as it is stays where it is */
	x->out.w = from && e->op != WSE_TOP_MADD ? from : v;
	x->out.dense = 0;
	if (values)
		twin_runs_values(&x->out, (const float *)(const void *)v,
				 (e->q[0].scalar + s1->len1 - e->outer + 1) * e->width - e->inner,
				 e->width, (struct twin_range){0, 0}); /* it is found in the end */
	while (at < n) {
		k = n - at;
		if (!e->until_end && k > e->inner)
			k = e->inner;
		if (unlikely(singly))
			k = 1;
		in = from ? from + at : words_at(x->c, s1, k, v + at);
		res = in;
		if (e->op == WSE_TOP_MADD) {
			r->k->add(v + at, in,
				  s2->kind == WSE_KIND_DOTQ ? x->dot->w + at
							    : words_at(x->c, s2, k, t),
				  k);
			res = v + at;
		} else if (!from && e->out >= 0) {
			if (in != v + at)
				memcpy(v + at, in, k * 4);
			res = v + at;
		}
		for (i = 0; words && i < k; i++)
			v[at + i] = twin_midx(e, v[at + i], e->width - e->inner + i, e->outer);
		if (d->kind != WSE_KIND_FABOUT)
			store(x->c, *d, k, res);
		if (e->op == WSE_TOP_MTEE)
			store(x->c, *s2, k, res);
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
	if (values) {
		m->ways.values++;
		x->out.range = to_values(v, n);
	}
	if (e->out >= 0)
		twin_runs_deliver(flow, x->first, x->sinks, &x->out);
	if (last) {
		twin_mover_finish(m, x->c, e);
		twin_runs_wake(m, x->c);
	}
}

INLINE void pass(struct scratch *r, const struct flow *s, struct node *x)
{
	struct twin_mesh *m = x->c->mesh;

	m->moved = true;
	if (x->port) {
		twin_out_take(m->dev, x->c->col, x->fab->w, s->n);
		if (s->n > m->round)
			m->round = s->n;
	} else if (x->which == WSE_ENGINE_L) {
		run_lanes(m, r, s, x, s->n);
	} else {
		run_mover(m, r, s, x, s->n);
	}
}

void twin_runs_pass(struct scratch *r, const struct flow *s, struct node *x)
{
	pass(r, s, x);
}

void twin_runs_run(struct scratch *r, const struct flow *s)
{
	uint32_t i;

	for (i = s->order; i < s->order + s->norder; i++) {
		struct node *x = &s->b->node[s->b->order[i]];
		struct node *y = i + 1 < s->order + s->norder ? &s->b->node[s->b->order[i + 1]] : x;

		if (y != x && !x->port && !y->port && are_two(x, y, s->n)) {
			run_two(r->k, x, y, s->n);
			i++;
		} else {
			pass(r, s, x);
		}
	}
}

void twin_runs_run_lanes(const struct twin_kernels *k, struct twin_core *c, const struct run *in,
			 uint32_t n, bool end)
{
	struct node x = {.c = c, .e = &c->eng[WSE_ENGINE_L], .fab = in};

	run_dense(k, &x, n, NULL);
	lanes_took(c->mesh, &x, n, n);
	c->mesh->moved = true;
	if (end)
		twin_runs_end(&x);
}

void twin_runs_run_axpy(const struct twin_kernels *k, struct kept_set *f, const struct run *in,
			uint32_t n, bool end)
{
	struct node *x = f->b.node, *last = x + f->s.nnodes;

	for (; x < last; x++) {
		struct node *y = x + 1 < last ? x + 1 : x;

		x->fab = y->fab = in;
		if (y != x && are_two(x, y, n)) {
			run_two(k, x, y, n);
			if (end) {
				twin_runs_end(x);
				twin_runs_end(y);
			}
			x = y;
		} else {
			twin_runs_run_lanes(k, x->c, in, n, end);
		}
	}
}

void twin_runs_count(struct wse_machine *m, const struct flow *s, uint32_t hops, uint64_t n)
{
	const struct router *r = s->b->trail + s->trail, *end = r + hops;
	uint32_t p;

	for (; r < end; r++) {
		struct twin_core *c = &m->core[r->core];

		c->cnt[WSE_CNT_WAVELET] += n;
		for (p = r->tx & 15u; p; p &= p - 1)
			c->link[__builtin_ctz(p)] += n;
	}
}

void twin_runs_ended(struct wse_machine *m, struct twin_port_in *p)
{
	p->end_due = false;
	if (!m->round)
		m->round = 1;
}
