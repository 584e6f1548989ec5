// SPDX-License-Identifier: MIT
/*
 * Vector instructions that are done at once: at their ISSUE where the core's lanes are idle, as the
 * next scalar instruction cannot tell; else when they come to the head of the queue. Cores issue
 * the same few instructions again and again, on operands that move. So what an instruction does is
 * found once for its word and words 1 to 3 of its DSRs, and word 0 says where. exact/ does all
 * else, faults included.
 */
#include <stdlib.h>

#include "twin/exact/operand.h"
#include "twin/fast/opnd_copy.h"
#include "twin/fast/quick.h"
#include "twin/fast/vector/vector.h"

#define NOPS   1024u
#define PROBES 4u /* places that an operation may have */

int twin_quick_create(struct twin_mesh *m)
{
	uint32_t i;

	m->quicks = calloc(NOPS, sizeof(*m->quicks));
	for (i = 0; m->quicks && i < NOPS; i++)
		m->quicks[i].tcw = TWIN_QUICK_NONE;
	return m->quicks ? 0 : -1;
}

/* ---- what an instruction does ---- */

/* a checked operand's place; its bytes from row to row */
static int32_t find_place(struct twin_place *p, const uint32_t dsr[4], const struct twin_opnd *o)
{
	int32_t row = o->len * twin_opnd_size(o), span = o->stride1 * (o->len1 - 1);
	uint32_t least = span < 0 ? (uint32_t)-span : 0;

	p->acc = o->kind == WSE_KIND_ACC;
	memcpy(p->dsr, dsr + 1, sizeof(p->dsr));
	p->first = least + (p->acc ? 0 : WSE_SRAM_BASE);
	p->reach = (p->acc ? WSE_NACC : WSE_SRAM_BYTES) - (uint32_t)(row + (span > 0 ? span : 0)) -
		   least;
	if (o->len == 1)
		p->align = p->acc ? 0 : (uint32_t)twin_opnd_size(o) - 1;
	else
		p->align = p->acc ? WSE_LANES - 1 : 15;
	return p->acc ? o->stride1 * 4 : o->stride1;
}

/* finds the operation of a vector instruction; false: its operands are not as they must be */
static bool find_op(struct twin_quick *w, uint32_t tcw, const uint32_t *const dsr[3])
{
	uint32_t op = tcw & WSE_TCW_OP_MASK, n, i, task = 1u << (tcw >> WSE_TCW_TASK_SHIFT);
	enum twin_vop_kind kind = twin_vop_kind(op);
	bool reduces = kind == TWIN_VOP_REDUCE, one_row = true, src2;
	int32_t step[3] = {0};
	struct twin_engine e;
	const struct twin_opnd *o = e.o;

	w->tcw = TWIN_QUICK_NONE;
	w->code = NULL;
	e.q[0].tcw = tcw;
	for (i = 0; i < 3; i++)
		memcpy(e.q[0].dsr[i], dsr[i], sizeof(e.q[0].dsr[i]));
	if (twin_engine_check(&e, WSE_ENGINE_L))
		return false;
	w->src2 = src2 = o[OPND_SRC2].kind != WSE_KIND_NONE;
	for (i = 0; i < 2u + src2; i++) {
		step[i] = find_place(&w->o[i], dsr[i], &o[i]);
		one_row &= (reduces && i == OPND_DST) ||
			   o[i].stride1 == o[i].len * twin_opnd_size(&o[i]);
	}
	n = o[OPND_SRC1].len * o[OPND_SRC1].len1;
	w->fn = twin_vector[op - WSE_TOP_VADD][twin_vector_variant(
		twin_opnd_is_bf16(&o[OPND_DST]), twin_opnd_is_bf16(&o[OPND_SRC1]),
		!src2				   ? TWIN_SRC2_SCALAR
		: twin_opnd_is_bf16(&o[OPND_SRC2]) ? TWIN_SRC2_BF16
						   : TWIN_SRC2_WORDS)];
	if (n > UINT16_MAX || !w->fn)
		return false;
	w->s = (struct twin_rows){o[1].len, o[1].len1, step[0], step[1], step[2]};
	if (one_row)
		w->s = (struct twin_rows){.width = (uint16_t)n, .rows = 1};
	i = (o[OPND_DST].len1 - 1u) * (uint32_t)step[OPND_DST];
	w->lo = step[OPND_DST] < 0 ? i : 0;
	w->hi = (step[OPND_DST] > 0 ? i : 0) + o[OPND_DST].len * (uint32_t)twin_opnd_size(o);
	w->ready = tcw & WSE_TCW_ACTIVATE_MASK ? task : 0;
	w->wake = tcw & WSE_TCW_UNBLOCK_MASK ? ~task : ~0u;
	w->cycles = (uint16_t)(n / WSE_LANES);
	w->macs = kind == TWIN_VOP_MAC ? (uint16_t)n : 0;
	w->tcw = tcw;
	return true;
}

static bool is_place(const struct twin_place *p, const uint32_t dsr[4])
{
	return !((p->dsr[0] ^ dsr[1]) | (p->dsr[1] ^ dsr[2]) | (p->dsr[2] ^ dsr[3]));
}

static bool is_op(const struct twin_quick *w, uint32_t tcw, const uint32_t *const dsr[3])
{
	return w->tcw == tcw && is_place(&w->o[0], dsr[0]) && is_place(&w->o[1], dsr[1]) &&
	       (!w->src2 || is_place(&w->o[2], dsr[2]));
}

/* an instruction's operation, known or new; NULL: it is exact/'s */
static struct twin_quick *op_of(struct twin_mesh *m, uint32_t tcw, const uint32_t *const dsr[3])
{
	uint32_t h = (tcw ^ dsr[0][1] << 3 ^ dsr[0][2] ^ dsr[1][2] << 5 ^ dsr[1][3] << 11) *
			     0x9e3779b1u >>
		     16,
		 i;
	struct twin_quick *w;

	for (i = 0; i < PROBES; i++) {
		w = &m->quicks[(h + i) % NOPS];
		if (is_op(w, tcw, dsr))
			return w;
		if (w->tcw == TWIN_QUICK_NONE)
			break;
	}
	w = &m->quicks[(h + i % PROBES) % NOPS];
	return find_op(w, tcw, dsr) ? w : NULL;
}

/* ---- doing it ---- */

/* NULL: it does not fit there */
static uint8_t *at(struct twin_core *c, const struct twin_place *p, uint32_t word0)
{
	if (word0 & p->align || word0 - p->first > p->reach)
		return NULL;
	return p->acc ? (uint8_t *)&c->acc[word0] : c->sram + (word0 - WSE_SRAM_BASE);
}

/* what was made of the SRAM that the instruction writes */
static uint32_t made_of(const struct twin_core *c, const struct twin_quick *w, uint32_t word0)
{
	uint32_t off = word0 - WSE_SRAM_BASE, page, made = 0;

	if (w->o[OPND_DST].acc)
		return 0;
	for (page = (off + w->lo) >> TWIN_CODE_PAGE; page <= (off + w->hi - 1) >> TWIN_CODE_PAGE;
	     page++)
		made |= c->code[page];
	return made;
}

/*
 * Does the instruction, but for its completion. NULL: nothing was done. Where instructions were
 * decoded that it would write over, translated code may be the caller; at_issue leaves them alone.
 */
static struct twin_quick *do_now(struct twin_mesh *m, struct twin_core *c, uint32_t tcw,
				 uint32_t scalar, const uint32_t *const dsr[3], bool at_issue)
{
	struct twin_quick *w = op_of(m, tcw, dsr);
	uint8_t *d, *a, *b;
	uint32_t made;

	if (!w)
		return NULL;
	d = at(c, &w->o[OPND_DST], dsr[OPND_DST][0]);
	a = at(c, &w->o[OPND_SRC1], dsr[OPND_SRC1][0]);
	b = w->src2 ? at(c, &w->o[OPND_SRC2], dsr[OPND_SRC2][0]) : NULL;
	if (!d || !a || (w->src2 && !b))
		return NULL;
	made = made_of(c, w, dsr[OPND_DST][0]);
	if (at_issue && made & (TWIN_PAGE_DECODED | TWIN_PAGE_TEXT))
		return NULL;
	w->fn(d, a, b, scalar, &w->s);
	if (made)
		twin_code_changed(c, dsr[OPND_DST][0] - WSE_SRAM_BASE + w->lo, w->hi - w->lo);
	c->ecyc[WSE_ENGINE_L] += w->cycles;
	c->cnt[WSE_CNT_MAC] += w->macs;
	return w;
}

struct twin_quick *twin_quick_now(struct twin_mesh *m, struct twin_core *c, uint32_t tcw,
				  uint32_t scalar)
{
	const uint32_t *const dsr[3] = TWIN_DSRS(c, tcw);
	struct twin_quick *w;

	if (!m->quick || c->eng[WSE_ENGINE_L].n || c->ecyc[WSE_ENGINE_L] >= TWIN_QUICK_CYCLES)
		return NULL;
	w = do_now(m, c, tcw, scalar, dsr, true);
	if (!w)
		return NULL;
	/* L has been idle, and the caller counts instructions: busy_to and moved need no update */
	m->ways.quick++;
	c->ecyc[WSE_ENGINE_L] += 2;
	c->ready |= w->ready;
	c->blocked &= w->wake;
	return w;
}

bool twin_run_vector_at_once(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e)
{
	const struct twin_tins *t = &e->q[0];
	const uint32_t *const dsr[3] = {t->dsr[0], t->dsr[1], t->dsr[2]};

	/* another order of events may stop it anywhere */
	if (m->shuffle || !do_now(m, c, t->tcw, t->scalar, dsr, false))
		return twin_run_vector(m, c, e);
	m->ways.grouped++;
	twin_engine_complete(m, c, e);
	return true;
}

void twin_quick_forget(struct twin_mesh *m)
{
	uint32_t i;

	for (i = 0; i < NOPS; i++)
		m->quicks[i].code = NULL;
}
