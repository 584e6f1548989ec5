// SPDX-License-Identifier: MIT
/*
 * Vector instructions that run at once. Where nothing else is under way in a core's engines, a short
 * vector instruction with good operands has run before the next scalar instruction could look; it
 * then needs no queue, and what its operands are is kept with their DSRs from one use to the next.
 * All else, faults included, is engine.c's.
 */
#include <string.h>

#include "twin.h"
#include "vector.h"

#define MOST 256u /* elements */

static void place(struct wse_core *c, struct wse_lane *l, uint32_t off)
{
	l->off = off;
	l->at = l->acc ? (uint8_t *)&c->acc[off] : c->sram + off;
}

/* the same rows elsewhere, as a loop takes them */
static bool moved(struct wse_core *c, struct wse_lane *l, const uint32_t dsr[4])
{
	uint32_t off = dsr[0] - (l->acc ? 0 : WSE_SRAM_BASE);

	if (!(l->rule & WSE_RULE_LANE) || l->dsr[1] != dsr[1] || l->dsr[2] != dsr[2] ||
	    l->dsr[3] != dsr[3] || off & (l->acc ? WSE_LANES - 1 : 15) || off < l->least ||
	    off > l->most)
		return false;
	l->dsr[0] = dsr[0];
	place(c, l, off);
	return true;
}

/* what its words now make of a DSR */
static void refresh(struct wse_core *c, struct wse_lane *l, const uint32_t dsr[4])
{
	struct wse_opnd o;
	int32_t span, row;

	l->known = true;
	if (moved(c, l, dsr))
		return;
	memcpy(l->dsr, dsr, sizeof(l->dsr));
	l->rule = wse_operand_rule(dsr, &o);
	if (!l->rule)
		return;
	l->acc = o.kind == WSE_KIND_ACC;
	l->bf16 = !l->acc && o.dtype == WSE_DT_BF16;
	l->len = o.len;
	l->len1 = o.len1;
	l->step = l->acc ? o.stride1 * 4 : o.stride1;
	row = o.len * (l->acc ? 1 : l->bf16 ? 2 : 4);
	span = o.stride1 * (o.len1 - 1);
	l->least = span < 0 ? (uint32_t)-span : 0;
	l->most = (l->acc ? WSE_NACC : WSE_SRAM_BYTES) - (uint32_t)(row + (span > 0 ? span : 0));
	place(c, l, (uint32_t)o.base);
}

static inline const struct wse_lane *lane(struct wse_core *c, uint32_t n)
{
	struct wse_lane *l = &c->lane[n];

	if (!l->known)
		refresh(c, l, c->dsr[n]);
	return l;
}

/* may rows of SRAM be written from here? Not where translated code lies: it may be the caller. What
 * was copied of them is forgotten. */
static inline bool may_write(struct wse_core *c, const struct wse_lane *d, uint32_t bytes)
{
	uint32_t lo = d->off, hi, page, flags = 0;
	int32_t span = d->step * (int32_t)(d->len1 - 1);

	if (d->acc)
		return true;
	hi = lo + bytes - 1;
	if (span < 0)
		lo -= (uint32_t)-span;
	else
		hi += (uint32_t)span;
	for (page = lo >> WSE_CODE_PAGE; page <= hi >> WSE_CODE_PAGE; page++)
		flags |= c->code[page];
	if (likely(!flags))
		return true;
	if (flags & WSE_PAGE_DECODED)
		return false;
	wse_wide_changed(c, lo, hi - lo + 1);
	return true;
}

static void complete(struct wse_mesh *m, struct wse_core *c, uint32_t tcw, uint32_t n)
{
	uint32_t task = tcw >> WSE_TCW_TASK_SHIFT;

	c->eng[WSE_ENGINE_L].busy_to = m->dev->now;
	c->ecyc[WSE_ENGINE_L] += 2 + n / WSE_LANES;
	if (tcw & WSE_TCW_ACTIVATE_MASK)
		c->ready |= 1u << task;
	if (tcw & WSE_TCW_UNBLOCK_MASK)
		c->blocked &= ~(1u << task);
	m->moved = true;
}

static bool reduce(struct wse_mesh *m, struct wse_core *c, uint32_t tcw)
{
	const struct wse_lane *d = lane(c, (tcw & WSE_TCW_DST_MASK) >> WSE_TCW_DST_SHIFT);
	const struct wse_lane *a = lane(c, (tcw & WSE_TCW_SRC1_MASK) >> WSE_TCW_SRC1_SHIFT);
	bool max = (tcw & WSE_TCW_OP_MASK) == WSE_TOP_VRMAX;
	struct wse_rows s = {.width = a->len, .rows = a->len1, .a = a->step};
	uint32_t part[WSE_LANES], v;
	unsigned int i;

	if (!(d->rule & WSE_RULE_SINGLE) || !(a->rule & WSE_RULE_LANE) || d->bf16 ||
	    s.width * s.rows > MOST || !may_write(c, d, 4))
		return false;
	for (i = 0; i < WSE_LANES; i++)
		part[i] = max ? 0xff800000u : 0;
	wse_reduce_avx2(max, part, a->at, a->bf16, &s);
	v = wse_tree(max, part);
	memcpy(d->at, &v, 4);
	complete(m, c, tcw, s.width * s.rows);
	return true;
}

bool wse_issue_quick(struct wse_mesh *m, struct wse_core *c, uint32_t tcw, uint32_t scalar)
{
	uint32_t op = (tcw & WSE_TCW_OP_MASK) - WSE_TOP_VADD, n;
	const struct wse_lane *d, *a, *b;
	enum wse_src2 src2 = WSE_SRC2_SCALAR;
	wse_vector_fn *fn;
	struct wse_rows s;

	if (op > WSE_TOP_VRMAX - WSE_TOP_VADD || tcw & WSE_TCW_ENGINE_MASK || !m->quick ||
	    c->eng[0].n | c->eng[1].n | c->eng[2].n || c->ecyc[WSE_ENGINE_L] + 2 >= m->equantum)
		return false;
	if (op >= WSE_VECTOR_OPS)
		return reduce(m, c, tcw);
	d = lane(c, (tcw & WSE_TCW_DST_MASK) >> WSE_TCW_DST_SHIFT);
	a = lane(c, (tcw & WSE_TCW_SRC1_MASK) >> WSE_TCW_SRC1_SHIFT);
	n = d->len * d->len1;
	s = (struct wse_rows){.width = d->len, .rows = d->len1, .d = d->step, .a = a->step};
	if (!(d->rule & a->rule & WSE_RULE_LANE) || d->len != a->len || d->len1 != a->len1 ||
	    n > MOST)
		return false;
	b = (const struct wse_lane *)NULL;
	if (!(tcw & WSE_TCW_SCALAR_MASK) && !(WSE_VECTOR_UNARY >> op & 1)) {
		b = lane(c, (tcw & WSE_TCW_SRC2_MASK) >> WSE_TCW_SRC2_SHIFT);
		if (!(b->rule & WSE_RULE_LANE) || d->len != b->len || d->len1 != b->len1)
			return false;
		s.b = b->step;
		src2 = b->bf16 ? WSE_SRC2_BF16 : WSE_SRC2_WORDS;
	}
	fn = wse_vector_avx2[op][wse_vector_variant(d->bf16, a->bf16, src2)];
	if (!fn || !may_write(c, d, d->len << (d->bf16 ? 1 : 2)))
		return false;
	fn(d->at, a->at, b ? b->at : (const uint8_t *)&scalar, &s);
	if (op == WSE_TOP_VMAC - WSE_TOP_VADD)
		c->cnt[WSE_CNT_MAC] += n;
	complete(m, c, tcw, n);
	return true;
}
