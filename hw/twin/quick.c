// SPDX-License-Identifier: MIT
/*
 * Vector instructions that run at once. Where nothing else is under way in a core's engines, a short
 * vector instruction with good operands has run before the next scalar instruction could look; it
 * then needs no queue. Cores issue the same few instructions again and again: what the three last words
 * of a DSR make of it is found once (a shape), what an instruction does with operands of given shapes too
 * (a way). All else, faults included, is engine.c's.
 */
#include <stdlib.h>
#include <string.h>

#include "twin.h"
#include "vector.h"

#define MOST	256u /* elements */
#define NSHAPES 256u
#define NWAYS	512u
#define NHINTS	1024u

struct way {			   /* what an instruction does with operands of these shapes */
	uint32_t tcw;		   /* 0: nothing is known */
	uint32_t d, a, b;	   /* the shapes' ids; b may be NONE */
	uint16_t d_at, a_at, b_at; /* where in struct wse_core its lanes are */
	uint16_t cycles;
	uint32_t ready, wake; /* tasks that its completion makes ready, does not block */
	uint16_t macs, see;   /* SEE_* */
	struct wse_rows s;
	wse_vector_fn *fn; /* in groups of LANES, or two at a time */
} __attribute__((aligned(64)));
#define NONE	  UINT32_MAX /* a scalar's, as if it were a shape */
#define SEE_A	  1u	     /* this operand may overlap DST, and then */
#define SEE_B	  2u	     /* two groups at a time are not right */
#define SEE_TWICE 4u	     /* SRC1 is one row of LANES again and again: fn takes two of it */

struct wse_quick {
	struct way way[NWAYS];
	struct way *hint[NHINTS]; /* by the word of its ISSUE: what it was the last time */
	struct wse_shape shape[NSHAPES];
	uint32_t shapes; /* ids that were given */
	uint32_t scalar;
	uint32_t row[2 * WSE_LANES] __attribute__((aligned(64)));
};

int wse_quick_create(struct wse_mesh *m)
{
	m->quicks = aligned_alloc(64, sizeof(*m->quicks));
	if (m->quicks)
		memset(m->quicks, 0, sizeof(*m->quicks));
	return m->quicks ? 0 : -1;
}

/* ---- operands ---- */

/* the shape of an operand that fits where it lies; rule 0: there is none */
static void make_shape(struct wse_shape *s, const uint32_t dsr[4])
{
	struct wse_opnd o;
	int32_t span, row, way;

	memset(s, 0, sizeof(*s));
	s->rule = (uint8_t)wse_operand_rule(dsr, &o);
	if (!s->rule)
		return;
	memcpy(s->dsr, dsr + 1, sizeof(s->dsr));
	s->acc = o.kind == WSE_KIND_ACC;
	s->bf16 = !s->acc && o.dtype == WSE_DT_BF16;
	s->len = o.len;
	s->len1 = o.len1;
	s->step = s->acc ? o.stride1 * 4 : o.stride1;
	if (s->rule & WSE_RULE_LANE)
		s->align = s->acc ? WSE_LANES - 1 : 15;
	else
		s->align = s->acc ? 0 : s->bf16 ? 1 : 3;
	row = o.len * (s->acc ? 1 : s->bf16 ? 2 : 4);
	span = o.stride1 * (o.len1 - 1);
	s->least = span < 0 ? (uint32_t)-span : 0;
	s->most = (s->acc ? WSE_NACC : WSE_SRAM_BYTES) - (uint32_t)(row + (span > 0 ? span : 0));
	way = s->step * (o.len1 - 1);
	s->lo = way < 0 ? way : 0;
	s->hi = (way > 0 ? way : 0) + o.len * (s->bf16 ? 2 : 4);
}

/* word by word, as they have just been written: wider loads would have to wait for that */
static inline bool is_shape(const struct wse_shape *s, const uint32_t dsr[4])
{
	return s->rule && !((s->dsr[0] ^ dsr[1]) | (s->dsr[1] ^ dsr[2]) | (s->dsr[2] ^ dsr[3]));
}

/* finds or makes the shape of a DSR's words */
static void find_shape(struct wse_mesh *m, struct wse_shape *s, const uint32_t dsr[4])
{
	uint32_t h = (dsr[1] * 0x9e3779b1u ^ dsr[2] * 0x85ebca6bu ^ dsr[3] * 0xc2b2ae35u) >> 24;
	struct wse_shape *known = &m->quicks->shape[h & (NSHAPES - 1)];

	if (!is_shape(known, dsr)) {
		make_shape(s, dsr);
		if (m->quicks->shapes == NONE - 1)
			s->rule = 0;
		if (!s->rule)
			return;
		s->id = ++m->quicks->shapes;
		*known = *s;
	}
	*s = *known;
}

/* what its words now make of a DSR */
static void refresh(struct wse_mesh *m, struct wse_core *c, struct wse_lane *l,
		    const uint32_t dsr[4])
{
	struct wse_shape *s = &l->s;
	uint32_t off;

	if (!is_shape(s, dsr))
		find_shape(m, s, dsr);
	off = dsr[0] - (s->acc ? 0 : WSE_SRAM_BASE);
	if (!s->rule || off & s->align || off < s->least || off > s->most)
		return;
	l->id = s->id;
	l->off = off;
	l->at = s->acc ? (uint8_t *)&c->acc[off] : c->sram + off;
	l->page = s->acc ? WSE_NPAGES : (uint8_t)((off + (uint32_t)s->lo) >> WSE_CODE_PAGE);
	l->page_end = s->acc ? WSE_NPAGES : (uint8_t)((off + (uint32_t)s->hi - 1) >> WSE_CODE_PAGE);
}

static inline const struct wse_lane *lane(struct wse_mesh *m, struct wse_core *c, uint32_t n)
{
	struct wse_lane *l = &c->lane[n];

	if (!l->id)
		refresh(m, c, l, c->dsr[n]);
	return l;
}

void wse_quick_hold(struct wse_mesh *m, struct wse_core *c)
{
	struct wse_lane *none = &c->lane[WSE_NDSR];

	memset(c->lane, 0, sizeof(c->lane));
	none->id = NONE;
	none->at = (uint8_t *)&m->quicks->scalar;
}

#define FIELD(tcw, name) (((tcw)&WSE_TCW_##name##_MASK) >> WSE_TCW_##name##_SHIFT)

/* may its rows be written from here? Not where translated code lies: it may be the caller. What was
 * copied of them is forgotten. */
static bool may_write(struct wse_core *c, const struct wse_lane *d)
{
	uint32_t page, flags = 0;

	for (page = d->page; page <= d->page_end; page++)
		flags |= c->code[page];
	if (flags & WSE_PAGE_DECODED)
		return false;
	if (flags)
		wse_wide_changed(c, d->off + (uint32_t)d->s.lo, (uint32_t)(d->s.hi - d->s.lo));
	return true;
}

/* may rows of DST be written before rows of another operand that come earlier have been read? */
static inline bool apart(const struct wse_lane *d, const struct wse_lane *x)
{
	return d->at + d->s.hi <= x->at + x->s.lo || x->at + x->s.hi <= d->at + d->s.lo ||
	       (d->at == x->at && d->id == x->id);
}

/* ---- instructions ---- */

static inline void complete(struct wse_mesh *m, struct wse_core *c, const struct way *w)
{
	c->eng[WSE_ENGINE_L].busy_to = m->dev->now;
	c->ecyc[WSE_ENGINE_L] += w->cycles;
	c->ready |= w->ready;
	c->blocked &= w->wake;
	c->cnt[WSE_CNT_MAC] += w->macs;
	m->moved = true;
}

static void when_done(struct way *w, uint32_t tcw, uint32_t n)
{
	uint32_t task = 1u << (tcw >> WSE_TCW_TASK_SHIFT);

	w->ready = tcw & WSE_TCW_ACTIVATE_MASK ? task : 0;
	w->wake = tcw & WSE_TCW_UNBLOCK_MASK ? ~task : ~0u;
	w->cycles = (uint16_t)(2 + n / WSE_LANES);
	w->macs = (tcw & WSE_TCW_OP_MASK) == WSE_TOP_VMAC ? (uint16_t)n : 0;
}

static bool reduce(struct wse_mesh *m, struct wse_core *c, uint32_t tcw)
{
	const struct wse_lane *d = lane(m, c, FIELD(tcw, DST)), *a = lane(m, c, FIELD(tcw, SRC1));
	bool max = (tcw & WSE_TCW_OP_MASK) == WSE_TOP_VRMAX;
	struct wse_rows s = {.width = a->s.len, .rows = a->s.len1, .a = a->s.step};
	uint32_t part[WSE_LANES], v;
	struct way w;
	unsigned int i;

	if (!d->id || !a->id || !(d->s.rule & WSE_RULE_SINGLE) || !(a->s.rule & WSE_RULE_LANE) ||
	    d->s.bf16 || s.width * s.rows > MOST || !may_write(c, d))
		return false;
	for (i = 0; i < WSE_LANES; i++)
		part[i] = max ? 0xff800000u : 0;
	wse_reduce_avx2(max, part, a->at, a->s.bf16, &s);
	v = wse_tree(max, part);
	memcpy(d->at, &v, 4);
	when_done(&w, tcw, s.width * s.rows);
	complete(m, c, &w);
	return true;
}

static bool same_rows(const struct wse_shape *x, const struct wse_shape *y)
{
	return x->rule & y->rule & WSE_RULE_LANE && x->len == y->len && x->len1 == y->len1;
}

/* one row behind the other, without a gap */
static bool adjoins(const struct wse_shape *s)
{
	return s->step == s->len * (s->bf16 ? 2 : 4);
}

static uint16_t lane_at(uint32_t n)
{
	return (uint16_t)(offsetof(struct wse_core, lane) + n * sizeof(struct wse_lane));
}

/* how the instruction does it; false: not here */
static bool find_way(struct wse_mesh *m, struct way *w, uint32_t tcw, const struct wse_shape *d,
		     const struct wse_shape *a, const struct wse_shape *b)
{
	uint32_t op = (tcw & WSE_TCW_OP_MASK) - WSE_TOP_VADD, n = d->len * d->len1;
	enum wse_src2 src2 = !b ? WSE_SRC2_SCALAR : b->bf16 ? WSE_SRC2_BF16 : WSE_SRC2_WORDS;
	unsigned int variant = wse_vector_variant(d->bf16, a->bf16, src2);
	struct wse_rows *s = &w->s;

	w->tcw = 0;
	if (!same_rows(d, a) || (b && !same_rows(d, b)) || n > MOST ||
	    !wse_vector_avx2[op][variant])
		return false;
	w->see = 0;
	*s = (struct wse_rows){d->len, d->len1, d->step, a->step, b ? b->step : 0};
	if (adjoins(d) && adjoins(a) && (!b || adjoins(b))) {
		s->width = n;
		s->rows = 1;
	} else if (m->avx512 && d->len == WSE_LANES && !(n % (2 * WSE_LANES)) && adjoins(d) &&
		   !a->step && (!b || adjoins(b))) {
		*s = (struct wse_rows){2 * WSE_LANES, n / (2 * WSE_LANES), 2 * d->step, 0,
				       b ? 2 * b->step : 0};
		w->see = SEE_TWICE;
	}
	w->fn = wse_vector_avx2[op][variant];
	if (m->avx512 && !(s->width % (2 * WSE_LANES))) {
		w->fn = wse_vector_avx512[op][variant];
		if (FIELD(tcw, DST) != FIELD(tcw, SRC1) && d->acc == a->acc)
			w->see |= SEE_A;
		if (b && FIELD(tcw, DST) != FIELD(tcw, SRC2) && d->acc == b->acc)
			w->see |= SEE_B;
	}
	when_done(w, tcw, n);
	w->d = d->id;
	w->a = a->id;
	w->b = b ? b->id : NONE;
	w->d_at = lane_at(FIELD(tcw, DST));
	w->a_at = lane_at(FIELD(tcw, SRC1));
	w->b_at = lane_at(b ? FIELD(tcw, SRC2) : WSE_NDSR);
	w->tcw = tcw;
	return true;
}

static inline bool is_way(const struct way *w, const struct wse_lane *d, const struct wse_lane *a,
			  const struct wse_lane *b)
{
	return !((w->d ^ d->id) | (w->a ^ a->id) | (w->b ^ b->id));
}

/* where operands may overlap, or SRC1 has to be laid out */
static __attribute__((noinline)) uint32_t carefully(struct wse_quick *q, const struct way *w,
						    const struct wse_lane *d,
						    const struct wse_lane *a,
						    const struct wse_lane *b)
{
	uint32_t op = (w->tcw & WSE_TCW_OP_MASK) - WSE_TOP_VADD;
	const uint8_t *from = a->at;
	enum wse_src2 src2 = w->b == NONE ? WSE_SRC2_SCALAR
			     : b->s.bf16  ? WSE_SRC2_BF16
					  : WSE_SRC2_WORDS;
	struct wse_rows s = {d->s.len, d->s.len1, d->s.step, a->s.step, b->s.step};
	unsigned int variant = wse_vector_variant(d->s.bf16, a->s.bf16, src2);

	if ((w->see & SEE_A && !apart(d, a)) || (w->see & SEE_B && !apart(d, b)))
		return wse_vector_avx2[op][variant](d->at, from, b->at, &s);
	if (w->see & SEE_TWICE) {
		wse_twice_avx512(q->row, from, a->s.bf16);
		from = (const uint8_t *)q->row;
	}
	return w->fn(d->at, from, b->at, &w->s);
}

/* the instruction with its way, which fits */
static inline uint32_t run(struct wse_mesh *m, struct wse_core *c, const struct way *w,
			   const struct wse_lane *d, const struct wse_lane *a,
			   const struct wse_lane *b, uint32_t scalar)
{
	struct wse_quick *q = m->quicks;

	q->scalar = scalar;
	complete(m, c, w);
	if (w->see)
		return carefully(q, w, d, a, b);
	return w->fn(d->at, a->at, b->at, &w->s);
}

static bool idle(const struct wse_mesh *m, const struct wse_core *c)
{
	return !(c->eng[0].n | c->eng[1].n | c->eng[2].n) &&
	       c->ecyc[WSE_ENGINE_L] + 2 < m->equantum;
}

bool wse_issue_quick(struct wse_mesh *m, struct wse_core *c, uint32_t tcw, uint32_t scalar)
{
	uint32_t op = (tcw & WSE_TCW_OP_MASK) - WSE_TOP_VADD, h;
	const struct wse_lane *d, *a, *b = &c->lane[WSE_NDSR];
	struct way *w;

	if (op > WSE_TOP_VRMAX - WSE_TOP_VADD || tcw & WSE_TCW_ENGINE_MASK || !m->quick ||
	    !idle(m, c))
		return false;
	if (op >= WSE_VECTOR_OPS)
		return reduce(m, c, tcw);
	d = lane(m, c, FIELD(tcw, DST));
	a = lane(m, c, FIELD(tcw, SRC1));
	if (!(tcw & WSE_TCW_SCALAR_MASK) && !(WSE_VECTOR_UNARY >> op & 1)) {
		b = lane(m, c, FIELD(tcw, SRC2));
	}
	if (!d->id || !a->id || !b->id)
		return false;
	h = tcw * 0x9e3779b1u ^ (d->id * 0x85ebca6bu + a->id * 0xc2b2ae35u);
	w = &m->quicks->way[(h >> 16) & (NWAYS - 1)];
	if ((w->tcw != tcw || !is_way(w, d, a, b)) &&
	    !find_way(m, w, tcw, &d->s, &a->s, b->s.rule ? &b->s : NULL))
		return false;
	if (!may_write(c, d))
		return false;
	m->quicks->hint[c->pc / 4 % NHINTS] = w;
	return run(m, c, w, d, a, b, scalar);
}

/* operands of which words were written since the last time, or which have other shapes now */
static __attribute__((noinline)) uint32_t
renewed(struct wse_mesh *m, struct wse_core *c, const struct way *w, uint32_t tcw, uint32_t scalar)
{
	const struct wse_lane *d = lane(m, c, FIELD(tcw, DST)), *a = lane(m, c, FIELD(tcw, SRC1));
	const struct wse_lane *b = w->b == NONE ? &c->lane[WSE_NDSR] : lane(m, c, FIELD(tcw, SRC2));

	if (unlikely(!is_way(w, d, a, b) || !may_write(c, d)))
		return wse_issue_from_inside(m, c, tcw, scalar);
	return run(m, c, w, d, a, b, scalar);
}

/* the same where it goes as it did the last time */
uint32_t wse_issue_inside(struct wse_mesh *m, struct wse_core *c, uint32_t tcw, uint32_t scalar)
{
	const struct way *w = m->quicks->hint[c->pc / 4 % NHINTS];
	const struct wse_lane *d, *a, *b;

	if (unlikely(!w || w->tcw != tcw || !idle(m, c)))
		return wse_issue_from_inside(m, c, tcw, scalar);
	d = (const struct wse_lane *)((const uint8_t *)c + w->d_at);
	a = (const struct wse_lane *)((const uint8_t *)c + w->a_at);
	b = (const struct wse_lane *)((const uint8_t *)c + w->b_at);
	if (unlikely(!is_way(w, d, a, b) || d->page_end > d->page + 1 ||
		     c->code[d->page] | c->code[d->page_end]))
		return renewed(m, c, w, tcw, scalar);
	return run(m, c, w, d, a, b, scalar);
}
