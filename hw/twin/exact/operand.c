// SPDX-License-Identifier: MIT
/* The rules of operands (hw/doc/core.md), checked when a tensor instruction starts to run. */
#include <string.h>

#include "twin/exact/operand.h"
#include "twin/exact/vop.h"

enum rule { R_MOVER, R_LANE, R_SINGLE };

static void unpack(struct twin_opnd *o, const uint32_t d[4])
{
	o->kind = d[3] & WSE_DSR3_KIND_MASK;
	o->dtype = (d[3] & WSE_DSR3_DTYPE_MASK) >> WSE_DSR3_DTYPE_SHIFT;
	o->len = d[1] & 0xffff;
	o->stride = (int16_t)(d[1] >> 16);
	o->len1 = d[2] & 0xffff ? d[2] & 0xffff : 1;
	o->stride1 = (int16_t)(d[2] >> 16);
	o->color = 0xff;
	if (o->kind == WSE_KIND_FABIN || o->kind == WSE_KIND_FABOUT)
		o->color = d[0] < WSE_NCOLORS ? d[0] : 0xff;
	o->base = o->kind == WSE_KIND_MEM ? (int32_t)(d[0] - WSE_SRAM_BASE) : (int32_t)d[0];
	o->row = o->pos = o->base;
}

/* whole range inside [0, limit), in units of the strides; size: units of one element */
static bool inside(const struct twin_opnd *o, int64_t size, int64_t limit)
{
	int64_t a = (int64_t)(o->len - 1) * o->stride, b = (int64_t)(o->len1 - 1) * o->stride1;
	int64_t lo = (uint32_t)o->base, hi = (uint32_t)o->base;

	lo += (a < 0 ? a : 0) + (b < 0 ? b : 0);
	hi += (a > 0 ? a : 0) + (b > 0 ? b : 0) + size;
	return lo >= 0 && hi <= limit && (uint32_t)o->base < limit;
}

/* memory or accumulator operand; *range is set when it leaves its store */
static bool store_ok(const struct twin_opnd *o, uint32_t base, enum rule rule, bool *range)
{
	bool acc = o->kind == WSE_KIND_ACC;
	uint32_t size = (uint32_t)twin_opnd_size(o);

	if (!twin_opnd_is_store(o) || !o->len || (!acc && o->dtype > WSE_DT_I32))
		return false;
	if (rule == R_SINGLE) {
		if (o->len != 1 || o->len1 != 1 || (!acc && base & (size - 1)))
			return false;
	} else if (acc) {
		if (rule == R_LANE && (o->stride != 1 || base % WSE_LANES ||
				       o->stride1 % (int)WSE_LANES || o->len % WSE_LANES))
			return false;
	} else if (rule == R_LANE) {
		if (o->stride != (int32_t)size || base & 15 || o->stride1 & 15 ||
		    o->len % WSE_LANES)
			return false;
	} else if ((base | (uint32_t)o->stride | (uint32_t)o->stride1) & (size - 1)) {
		return false;
	}
	if (!(acc ? inside(o, 1, WSE_NACC) : inside(o, size, WSE_SRAM_BYTES)))
		*range = true;
	return true;
}

static bool same_shape(const struct twin_opnd *a, const struct twin_opnd *b)
{
	return a->len == b->len && a->len1 == b->len1;
}

static bool check_stream(struct twin_engine *e, bool *range)
{
	const struct twin_tins *t = &e->q[0];
	struct twin_opnd *acc = &e->o[OPND_DST], *in = &e->o[OPND_SRC1], *x = &e->o[OPND_SRC2];
	uint32_t b = t->scalar & 7;

	if (in->kind != WSE_KIND_FABIN || in->color == 0xff || acc->kind != WSE_KIND_ACC ||
	    x->kind != WSE_KIND_MEM || x->dtype != WSE_DT_BF16 || (b != 1 && b != 2 && b != 4))
		return false;
	if (!store_ok(x, t->dsr[2][0], R_LANE, range) || t->dsr[0][0] % WSE_LANES)
		return false;
	if ((uint64_t)t->dsr[0][0] + (uint64_t)b * x->len > WSE_NACC)
		*range = true;
	e->nfeat = b;
	e->tokens = x->len;
	e->claim = in->color;
	return true;
}

static bool check_vector(struct twin_engine *e, bool *range)
{
	const struct twin_tins *t = &e->q[0];
	struct twin_opnd *d = &e->o[OPND_DST], *a = &e->o[OPND_SRC1], *b = &e->o[OPND_SRC2];
	bool reduce = twin_vop_kind(e->op) == TWIN_VOP_REDUCE;
	bool unary = reduce || twin_vop_kind(e->op) == TWIN_VOP_UNARY;
	const struct twin_opnd *shape = reduce ? a : d;

	if (unary || t->tcw & WSE_TCW_SCALAR_MASK)
		b->kind = WSE_KIND_NONE;
	if (!store_ok(d, t->dsr[0][0], reduce ? R_SINGLE : R_LANE, range) ||
	    !store_ok(a, t->dsr[1][0], R_LANE, range) || !same_shape(a, shape))
		return false;
	if (b->kind != WSE_KIND_NONE &&
	    (!store_ok(b, t->dsr[2][0], R_LANE, range) || !same_shape(b, shape)))
		return false;
	if (!unary && !(t->tcw & WSE_TCW_SCALAR_MASK) && b->kind == WSE_KIND_NONE)
		return false;
	e->width = shape->len;
	e->inner = shape->len;
	e->outer = shape->len1;
	return true;
}

static bool check_mover(struct twin_engine *e, bool *range)
{
	const struct twin_tins *t = &e->q[0];
	struct twin_opnd *d = &e->o[OPND_DST], *a = &e->o[OPND_SRC1], *b = &e->o[OPND_SRC2];
	bool tee = e->op == WSE_TOP_MTEE, madd = e->op == WSE_TOP_MADD;
	bool midx = e->op == WSE_TOP_MIDX;
	const struct twin_opnd *shape;

	if (!tee && !madd)
		b->kind = WSE_KIND_NONE;
	e->until_end = t->tcw & WSE_TCW_UNTIL_END_MASK;
	/* kinds */
	if (d->kind == WSE_KIND_FABOUT ? d->color == 0xff : !twin_opnd_is_store(d))
		return false;
	if (a->kind == WSE_KIND_FABIN ? a->color == 0xff
				      : !twin_opnd_is_store(a) && a->kind != WSE_KIND_DOTQ)
		return false;
	if (madd && !twin_opnd_is_store(b) &&
	    (b->kind != WSE_KIND_DOTQ || a->kind == WSE_KIND_DOTQ))
		return false;
	if (tee && !twin_opnd_is_store(b))
		return false;
	if (t->tcw & WSE_TCW_SEND_END_MASK && d->kind != WSE_KIND_FABOUT)
		return false;
	if (e->until_end &&
	    (d->kind != WSE_KIND_FABOUT || twin_opnd_is_store(a) || twin_opnd_is_store(b)))
		return false;
	if (midx && (d->kind != WSE_KIND_FABOUT || !twin_opnd_is_store(a) || a->len > 4 ||
		     (uint64_t)t->scalar + a->len1 > 1u << 14))
		return false;
	/* shape */
	shape = d->kind == WSE_KIND_FABOUT && twin_opnd_is_store(a) ? a : d;
	if (!shape->len)
		return false;
	if ((twin_opnd_is_store(d) && !store_ok(d, t->dsr[0][0], R_MOVER, range)) ||
	    (twin_opnd_is_store(a) &&
	     (!store_ok(a, t->dsr[1][0], R_MOVER, range) || !same_shape(a, shape))) ||
	    (twin_opnd_is_store(b) &&
	     (!store_ok(b, t->dsr[2][0], R_MOVER, range) || !same_shape(b, shape))))
		return false;
	e->width = shape->len;
	e->inner = shape->len;
	e->outer = e->until_end ? shape->len : shape->len1;
	e->claim = a->kind == WSE_KIND_FABIN ? (int8_t)a->color : -1;
	e->out = d->kind == WSE_KIND_FABOUT ? (int8_t)d->color : -1;
	return true;
}

uint32_t twin_engine_check(struct twin_engine *e, unsigned int which)
{
	bool range = false, ok = false;
	unsigned int i;

	e->op = e->q[0].tcw & WSE_TCW_OP_MASK;
	e->claim = e->out = e->wait = -1;
	e->until_end = e->end_left = e->batched = false;
	for (i = 0; i < 3; i++)
		unpack(&e->o[i], e->q[0].dsr[i]);
	if (which == WSE_ENGINE_L) {
		if (twin_is_stream(e->op))
			ok = check_stream(e, &range);
		else if (twin_vop_kind(e->op) != TWIN_VOP_NONE)
			ok = check_vector(e, &range);
	} else if (e->op >= WSE_TOP_MOVE && e->op <= WSE_TOP_MIDX) {
		ok = check_mover(e, &range);
	}
	/* what only sends is a source: runs.c may hand out whole runs */
	e->batched = ok && which != WSE_ENGINE_L && e->out >= 0 && e->claim < 0 &&
		     e->o[OPND_SRC1].kind != WSE_KIND_DOTQ && e->o[OPND_SRC2].kind != WSE_KIND_DOTQ;
	e->src1 = e->o[OPND_SRC1].kind;
	e->src2 = e->o[OPND_SRC2].kind;
	e->rows = e->outer;
	if (ok && !range)
		return 0;
	e->claim = e->out = -1;
	if (ok)
		return WSE_CAUSE_OPERAND_ADDR;
	return WSE_CAUSE_BAD_DSR;
}
