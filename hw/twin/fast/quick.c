// SPDX-License-Identifier: MIT
/*
 * Vector instructions that run at their ISSUE. Where a core's engines are idle, a vector
 * instruction whose operands pass the checks completes before the next scalar instruction can
 * observe it; it needs no queue. Cores issue the same few instructions again and again. The last
 * three words of a DSR describe an operand's shape, which is found once; so is what an instruction
 * does with operands of given shapes (a prepared operation). engine.c does all else, faults
 * included.
 */
#include <stdlib.h>
#include <string.h>

#include "twin/fast/f32_copy.h"
#include "twin/fast/quick.h"

#define NSHAPES 1024u
#define NOPS	1024u
#define PROBES	4u /* places that an operation or a shape may have */
#define HOT	8u /* ISSUEs of translated code until an operation gets code of its own */

struct twin_quick {
	struct twin_prepared_op op[NOPS];
	struct twin_shape shape[NSHAPES];
	uint32_t shapes; /* ids that were given */
};

int twin_quick_create(struct twin_mesh *m)
{
	m->quicks = calloc(1, sizeof(*m->quicks));
	return m->quicks ? 0 : -1;
}

/* ---- operands ---- */

/* the shape of an operand that fits where it lies; rule 0: there is none */
static void make_shape(struct twin_shape *s, const uint32_t dsr[4])
{
	struct twin_opnd o;
	int32_t span, row, reach;

	memset(s, 0, sizeof(*s));
	s->rule = (uint8_t)twin_operand_rule(dsr, &o);
	if (!s->rule)
		return;
	memcpy(s->dsr, dsr + 1, sizeof(s->dsr));
	s->acc = o.kind == WSE_KIND_ACC;
	s->bf16 = !s->acc && o.dtype == WSE_DT_BF16;
	s->len = o.len;
	s->len1 = o.len1;
	s->step = s->acc ? o.stride1 * 4 : o.stride1;
	if (s->rule & TWIN_RULE_LANE)
		s->align = s->acc ? WSE_LANES - 1 : 15;
	else
		s->align = s->acc ? 0 : s->bf16 ? 1 : 3;
	row = o.len * (s->acc ? 1 : s->bf16 ? 2 : 4);
	span = o.stride1 * (o.len1 - 1);
	s->least = span < 0 ? (uint32_t)-span : 0;
	s->most = (s->acc ? WSE_NACC : WSE_SRAM_BYTES) - (uint32_t)(row + (span > 0 ? span : 0));
	reach = s->step * (o.len1 - 1);
	s->lo = reach < 0 ? reach : 0;
	s->hi = (reach > 0 ? reach : 0) + o.len * (s->bf16 ? 2 : 4);
}

/* word by word, as they have just been written: wider loads would have to wait for that */
static inline bool is_shape(const struct twin_shape *s, const uint32_t dsr[4])
{
	return s->rule && !((s->dsr[0] ^ dsr[1]) | (s->dsr[1] ^ dsr[2]) | (s->dsr[2] ^ dsr[3]));
}

/* the place of a shape, known or new; one of four, as a shape that is made again gets a new id */
static struct twin_shape *known_shape(struct twin_mesh *m, const uint32_t dsr[4])
{
	uint32_t h = dsr[1] * 0x9e3779b1u ^ dsr[2] * 0x85ebca6bu ^ dsr[3] * 0xc2b2ae35u;
	struct twin_shape *known;
	uint32_t i;

	h ^= h >> 15;
	for (i = 0; i < PROBES; i++) {
		known = &m->quicks->shape[(h + i) % NSHAPES];
		if (is_shape(known, dsr) || !known->rule)
			return known;
	}
	return &m->quicks->shape[h % NSHAPES];
}

/* finds or makes the shape of a DSR's words */
static void find_shape(struct twin_mesh *m, struct twin_shape *s, const uint32_t dsr[4])
{
	struct twin_shape *known = known_shape(m, dsr);

	if (!is_shape(known, dsr)) {
		make_shape(s, dsr);
		if (m->quicks->shapes == TWIN_NO_SHAPE - 1)
			s->rule = 0;
		if (!s->rule)
			return;
		s->id = ++m->quicks->shapes;
		*known = *s;
	}
	*s = *known;
}

/* takes a DSR's words again: the lane gets an id if they are an operand that fits */
static void refresh(struct twin_mesh *m, struct twin_core *c, struct twin_lane *l,
		    const uint32_t dsr[4])
{
	struct twin_shape *s = &l->s;
	uint32_t off;

	if (!is_shape(s, dsr))
		find_shape(m, s, dsr);
	off = dsr[0] - (s->acc ? 0 : WSE_SRAM_BASE);
	if (!s->rule || off & s->align || off < s->least || off > s->most)
		return;
	l->id = s->id;
	l->off = off;
	l->at = s->acc ? (uint8_t *)&c->acc[off] : c->sram + off;
	l->page = s->acc ? TWIN_NPAGES : (uint8_t)((off + (uint32_t)s->lo) >> TWIN_CODE_PAGE);
	l->page_end =
		s->acc ? TWIN_NPAGES : (uint8_t)((off + (uint32_t)s->hi - 1) >> TWIN_CODE_PAGE);
}

static inline struct twin_lane *lane(struct twin_mesh *m, struct twin_core *c, uint32_t n)
{
	struct twin_lane *l = &c->lane[n];

	if (!l->id)
		refresh(m, c, l, c->dsr[n]);
	return l;
}

void twin_quick_hold(struct twin_core *c)
{
	memset(c->lane, 0, sizeof(c->lane));
	c->lane[WSE_NDSR].id = TWIN_NO_SHAPE;
}

/*
 * may its rows be written from here? Not where translated code lies, which may be the caller.
 * Copies of them end.
 */
static bool may_write(struct twin_core *c, const struct twin_lane *d)
{
	uint32_t page, flags = 0;

	for (page = d->page; page <= d->page_end; page++)
		flags |= c->code[page];
	if (flags & TWIN_PAGE_DECODED)
		return false;
	if (flags)
		twin_f32_changed(c, d->off + (uint32_t)d->s.lo, (uint32_t)(d->s.hi - d->s.lo));
	return true;
}

/* ---- instructions ---- */

struct operands {
	const struct twin_lane *d, *a, *b;
};

static struct operands operands_of(const struct twin_core *c, uint32_t tcw)
{
	return (struct operands){
		&c->lane[TWIN_TCW_FIELD(tcw, DST)],
		&c->lane[TWIN_TCW_FIELD(tcw, SRC1)],
		&c->lane[twin_has_src2(tcw) ? TWIN_TCW_FIELD(tcw, SRC2) : WSE_NDSR],
	};
}

/* one row behind the other, without a gap */
static bool adjoins(const struct twin_shape *s)
{
	return s->step == s->len * (s->bf16 ? 2 : 4);
}

static bool same_rows(const struct twin_shape *x, const struct twin_shape *y)
{
	return x->rule & y->rule & TWIN_RULE_LANE && x->len == y->len && x->len1 == y->len1;
}

/* rows as they can be done at once; false: the operands do not fit together. b may be NULL */
static bool rows_of(struct twin_rows *rows, bool reduces, const struct twin_shape *d,
		    const struct twin_shape *a, const struct twin_shape *b)
{
	if (reduces ? !(d->rule & TWIN_RULE_SINGLE && a->rule & TWIN_RULE_LANE)
		    : !same_rows(d, a) || (b && !same_rows(d, b)))
		return false;
	if (adjoins(a) && (!b || adjoins(b)) && (reduces || adjoins(d)))
		*rows = (struct twin_rows){.width = a->len * a->len1, .rows = 1};
	else
		*rows = (struct twin_rows){a->len, a->len1, d->step, a->step, b ? b->step : 0};
	return true;
}

/* prepares the operation; false: quick.c does not do it */
static bool find_op(struct twin_prepared_op *w, uint32_t tcw, const struct twin_shape *d,
		    const struct twin_shape *a, const struct twin_shape *b)
{
	uint32_t op = tcw & WSE_TCW_OP_MASK, n = a->len * a->len1;
	uint32_t task = 1u << (tcw >> WSE_TCW_TASK_SHIFT);
	enum twin_src2 src2 = !b ? TWIN_SRC2_SCALAR : b->bf16 ? TWIN_SRC2_BF16 : TWIN_SRC2_WORDS;

	memset(w, 0, sizeof(*w));
	if (n > UINT16_MAX || !rows_of(&w->s, twin_vop_kind(op) == TWIN_VOP_REDUCE, d, a, b))
		return false;
	w->fn = twin_vector[op - WSE_TOP_VADD]
			   [twin_vector_variant(d->bf16, (enum twin_src1)a->bf16, src2)];
	if (!w->fn)
		return false;
	w->ready = tcw & WSE_TCW_ACTIVATE_MASK ? task : 0;
	w->wake = tcw & WSE_TCW_UNBLOCK_MASK ? ~task : ~0u;
	w->cycles = (uint16_t)(2 + n / WSE_LANES);
	w->macs = twin_vop_kind(op) == TWIN_VOP_MAC ? (uint16_t)n : 0;
	w->id[0] = d->id;
	w->id[1] = a->id;
	w->id[2] = b ? b->id : TWIN_NO_SHAPE;
	w->tcw = tcw;
	return true;
}

/*
 * runs the instruction by the operation that was prepared for it. L has been idle since, and the
 * caller counts instructions: busy_to and moved need no update
 */
static inline uint32_t run(struct twin_mesh *m, struct twin_core *c,
			   const struct twin_prepared_op *w, const struct operands *o,
			   uint32_t scalar)
{
	m->ways.quick++;
	c->ecyc[WSE_ENGINE_L] += w->cycles;
	c->ready |= w->ready;
	c->blocked &= w->wake;
	c->cnt[WSE_CNT_MAC] += w->macs;
	return w->fn(o->d->at, o->a->at, o->b->at, scalar, &w->s);
}

static bool idle(const struct twin_core *c)
{
	return !c->eng[WSE_ENGINE_L].n && c->ecyc[WSE_ENGINE_L] < TWIN_QUICK_CYCLES;
}

static inline bool is_op(const struct twin_prepared_op *w, uint32_t tcw, const struct operands *o)
{
	return !((w->tcw ^ tcw) | (w->id[0] ^ o->d->id) | (w->id[1] ^ o->a->id) |
		 (w->id[2] ^ o->b->id));
}

/* the place of a prepared operation, known or new */
static struct twin_prepared_op *place_of(struct twin_mesh *m, uint32_t tcw,
					 const struct operands *o)
{
	uint32_t h = tcw * 0x9e3779b1u ^ (o->d->id * 0x85ebca6bu + o->a->id * 0xc2b2ae35u), i;
	struct twin_prepared_op *w, *first = &m->quicks->op[(h >> 16) % NOPS];

	for (i = 0; i < PROBES; i++) {
		w = &m->quicks->op[((h >> 16) + i) % NOPS];
		if (is_op(w, tcw, o) || !w->tcw)
			return w;
	}
	return first;
}

/* an instruction's prepared operation and operands; NULL: it may not run now */
static struct twin_prepared_op *op_of(struct twin_mesh *m, struct twin_core *c, uint32_t tcw,
				      struct operands *o)
{
	struct twin_prepared_op *w;

	*o = operands_of(c, tcw);
	lane(m, c, TWIN_TCW_FIELD(tcw, DST));
	lane(m, c, TWIN_TCW_FIELD(tcw, SRC1));
	lane(m, c, twin_has_src2(tcw) ? TWIN_TCW_FIELD(tcw, SRC2) : WSE_NDSR);
	if (!o->d->id || !o->a->id || !o->b->id)
		return NULL;
	w = place_of(m, tcw, o);
	if (!is_op(w, tcw, o) &&
	    !find_op(w, tcw, &o->d->s, &o->a->s, o->b->s.rule ? &o->b->s : NULL))
		return NULL;
	return may_write(c, o->d) ? w : NULL;
}

bool twin_issue_quick(struct twin_mesh *m, struct twin_core *c, uint32_t tcw, uint32_t scalar)
{
	struct operands o;
	struct twin_prepared_op *w;

	if (!twin_is_quick(tcw) || !m->quick || !idle(c))
		return false;
	w = op_of(m, c, tcw, &o);
	return w && run(m, c, w, &o, scalar);
}

static __attribute__((noinline)) uint32_t issue_quick(struct twin_mesh *m, struct twin_core *c,
						      uint32_t tcw, uint32_t scalar,
						      struct twin_site *site)
{
	struct operands o;
	struct twin_prepared_op *w = op_of(m, c, tcw, &o);

	if (!w)
		return twin_issue_from_inside(m, c, tcw, scalar);
	if (!w->code && w->uses < HOT && ++w->uses == HOT)
		w->code = twin_translate_op(m, w, &o.d->s, &o.a->s, o.b->s.rule ? &o.b->s : NULL);
	if (w->code)
		site->code = w->code;
	return run(m, c, w, &o, scalar);
}

uint32_t twin_issue_inside(struct twin_mesh *m, struct twin_core *c, uint32_t tcw, uint32_t scalar,
			   struct twin_site *site)
{
	c->pc = site->pc;
	return twin_is_quick(tcw) && m->quick && idle(c)
		       ? issue_quick(m, c, tcw, scalar, site)
		       : twin_issue_from_inside(m, c, tcw, scalar);
}

void twin_quick_forget(struct twin_mesh *m)
{
	uint32_t i;

	for (i = 0; i < NOPS; i++) {
		m->quicks->op[i].code = NULL;
		m->quicks->op[i].uses = 0;
	}
}
