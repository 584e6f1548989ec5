// SPDX-License-Identifier: MIT
/*
 * x86-64 code of vector instructions that run at their ISSUE: of one way of quick.c each. It looks whether
 * the instruction, its operands' shapes and the engines are still what the way is for, counts, and does the
 * operation: the commonest ones with vectors of its own, the others by their function.
 *
 *   rbx  the core   edx  tcw   ecx  scalar   and others as in emit.c
 *   eax, edi, esi, r8 scratch, then rdi, rsi, rdx DST, SRC1, SRC2
 *
 * All results are made before the first is stored. So a NaN among them, which has to become the canonical
 * one, leaves the work to the operation's function, as if nothing had been done.
 */
#include "twin/fast/quick.h"
#include "twin/jit/x86/emit_asm.h"
#include "twin/jit/x86/emit_vector.h"

#define OP(tcw) ((tcw)&WSE_TCW_OP_MASK)

struct operand {
	const struct twin_shape *s; /* NULL: there is none */
	uint32_t dsr;
	unsigned int reg; /* where its place is */
};

enum { DST, SRC1, SRC2 };

static size_t lane_member(const struct operand *o, size_t off)
{
	return offsetof(struct twin_core, lane) + o->dsr * sizeof(struct twin_lane) + off;
}

#define LANE(o, name) lane_member(o, offsetof(struct twin_lane, name))

/* add, or, and, cmp (/0 1 4 7) dword [rbx + disp32], imm32 */
static void member_op(struct emit *e, unsigned int ext, size_t off, uint32_t v)
{
	e1(e, 0x81);
	e1(e, 0x80 | ext << 3 | EBX);
	e4(e, (uint32_t)off);
	e4(e, v);
}

/* mov, or (0x8a, 0x0a) al, [rbx + disp32] */
static void member_byte(struct emit *e, unsigned int op, size_t off)
{
	e1(e, op);
	e1(e, 0x80 | EBX);
	e4(e, (uint32_t)off);
}

/* the engines have nothing to do, and L may go on in this round */
static void guard_engines(struct emit *e)
{
	unsigned int i;

	for (i = 0; i < 3; i++)
		member_byte(e, i ? 0x0a : 0x8a,
			    offsetof(struct twin_core, eng) + i * sizeof(struct twin_engine) +
				    offsetof(struct twin_engine, n));
	e1(e, 0x84); /* test al, al */
	e1(e, 0xc0);
	jcc_to(e, CC_NE, e->t->miss);
	member_op(e, 7, offsetof(struct twin_core, ecyc[WSE_ENGINE_L]), TWIN_QUICK_CYCLES);
	jcc_to(e, CC_AE, e->t->miss);
}

/* al = or (op 0x8a, 0x0a) what was made of the page of which the number is a member of the lane */
static void page_flags(struct emit *e, unsigned int op, unsigned int reg, size_t off)
{
	e1(e, 0x0f); /* movzx reg, byte [rbx + disp32] */
	e1(e, 0xb6);
	e1(e, 0x80 | reg << 3 | EBX);
	e4(e, (uint32_t)off);
	e1(e, op); /* op al, [rbx + reg + disp32] */
	e1(e, 0x84);
	e1(e, reg << 3 | EBX);
	e4(e, offsetof(struct twin_core, code));
}

/* nothing was made of the SRAM that DST lies in: of two pages at most */
static void guard_pages(struct emit *e, const struct operand *d)
{
	if (d->s->acc)
		return;
	page_flags(e, 0x8a, EDI, LANE(d, page));
	page_flags(e, 0x0a, ESI, LANE(d, page_end));
	e1(e, 0x84);
	e1(e, 0xc0);
	jcc_to(e, CC_NE, e->t->miss);
}

/* DST and x, both in the SRAM, have no byte in common */
static void guard_disjoint(struct emit *e, const struct operand *d, const struct operand *x)
{
	const struct twin_shape *ds = d->s, *xs = x->s;

	e1(e, 0x8b); /* mov eax, [rbx + disp32] */
	e1(e, 0x80 | EAX << 3 | EBX);
	e4(e, (uint32_t)LANE(x, off));
	e1(e, 0x2b); /* sub eax, [rbx + disp32] */
	e1(e, 0x80 | EAX << 3 | EBX);
	e4(e, (uint32_t)LANE(d, off));
	ri(e, 5, EAX, (uint32_t)(ds->lo - xs->hi + 1));
	ri(e, 7, EAX, (uint32_t)(ds->hi - ds->lo + xs->hi - xs->lo - 1));
	jcc_to(e, CC_B, e->t->miss);
}

static void guard(struct emit *e, const struct twin_prepared_op *w, const struct operand o[3])
{
	unsigned int i;

	ri(e, 7, EDX, w->tcw);
	jcc_to(e, CC_NE, e->t->miss);
	for (i = 0; i < 3; i++) {
		if (!o[i].s || (i && o[i].dsr == o[0].dsr) || (i == SRC2 && o[2].dsr == o[1].dsr))
			continue;
		member_op(e, 7, LANE(&o[i], id), w->id[i]);
		jcc_to(e, CC_NE, e->t->renew);
	}
	guard_engines(e);
	guard_pages(e, &o[DST]);
	for (i = 1; i < 3 && w->overlap == TWIN_OVERLAP_PERHAPS; i++)
		if (o[i].s && !o[i].s->acc && o[i].dsr != o[DST].dsr)
			guard_disjoint(e, &o[DST], &o[i]);
}

/* inc qword [rip + disp32] */
static void count(struct emit *e)
{
	e1(e, 0x48);
	e1(e, 0xff);
	e1(e, 0x05);
	e4(e, (uint32_t)((uint8_t *)e->t->generated - (e->p + 4)));
}

static void complete(struct emit *e, const struct twin_prepared_op *w)
{
	member_op(e, 0, offsetof(struct twin_core, ecyc[WSE_ENGINE_L]), w->cycles);
	if (w->ready)
		member_op(e, 1, offsetof(struct twin_core, ready), w->ready);
	if (w->wake != ~0u)
		member_op(e, 4, offsetof(struct twin_core, blocked), w->wake);
	if (w->macs) {
		e1(e, 0x48); /* all 64 bits */
		member_op(e, 0, offsetof(struct twin_core, cnt[WSE_CNT_MAC]), w->macs);
	}
}

static size_t acc_at(const struct twin_shape *s)
{
	return offsetof(struct twin_core, acc) + s->base * sizeof(uint32_t);
}

/* where operands in accumulators, or those in the SRAM, are: lea reg, [core + disp32] or
 * mov reg, [the lane's place] */
static void places(struct emit *e, const struct operand o[3], bool acc)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		if (!o[i].s || o[i].s->acc != acc)
			continue;
		e1(e, 0x48);
		e1(e, acc ? 0x8d : 0x8b);
		e1(e, 0x80 | o[i].reg << 3 | EBX);
		e4(e, (uint32_t)(acc ? acc_at(o[i].s) : LANE(&o[i], at)));
	}
}

/* on to the operation's function, with the rows that lie behind the jump */
static void function(struct emit *e, const struct twin_prepared_op *w, const struct operand o[3])
{
	uint8_t *rows;

	places(e, o, true);
	rows = e->p + 10 + 10 + 2;
	rows += -(uintptr_t)rows % _Alignof(struct twin_rows);
	mov_pointer(e, 8, (uint64_t)(uintptr_t)rows);
	mov_pointer(e, EAX, (uint64_t)(uintptr_t)w->fn);
	e1(e, 0xff); /* jmp rax */
	e1(e, 0xe0);
	memcpy(rows, &w->s, sizeof(w->s));
	e->p = rows + sizeof(w->s);
}

/* ---- with vectors of its own ---- */

#define TEMP	8u /* behind the results */
#define CHECKED 9u

/* an operation r = a op b, from VADD on; 0: not here */
static const struct {
	uint8_t map, prefix, op;
	bool real;  /* results may be NaN */
	bool shift; /* only with a scalar */
} how[TWIN_VECTOR_OPS] = {
	[WSE_TOP_VADD - WSE_TOP_VADD] = {1, 0, 0x58, .real = true},
	[WSE_TOP_VSUB - WSE_TOP_VADD] = {1, 0, 0x5c, .real = true},
	[WSE_TOP_VMUL - WSE_TOP_VADD] = {1, 0, 0x59, .real = true},
	[WSE_TOP_VMAC - WSE_TOP_VADD] = {1, 0, 0x59, .real = true},
	[WSE_TOP_VIADD - WSE_TOP_VADD] = {1, 1, 0xfe},
	[WSE_TOP_VISUB - WSE_TOP_VADD] = {1, 1, 0xfa},
	[WSE_TOP_VAND - WSE_TOP_VADD] = {1, 1, 0xdb},
	[WSE_TOP_VOR - WSE_TOP_VADD] = {1, 1, 0xeb},
	[WSE_TOP_VXOR - WSE_TOP_VADD] = {1, 1, 0xef},
	[WSE_TOP_VSHL - WSE_TOP_VADD] = {2, 1, 0x47, .shift = true},
	[WSE_TOP_VSHR - WSE_TOP_VADD] = {2, 1, 0x45, .shift = true},
	[WSE_TOP_VSRA - WSE_TOP_VADD] = {2, 1, 0x46, .shift = true},
};

/* one row of vectors, for whose results there are registers, without rounding to bf16 */
static bool is_inline(const struct twin_mesh *m, const struct twin_prepared_op *w,
		      const struct operand o[3])
{
	uint32_t op = OP(w->tcw) - WSE_TOP_VADD, words = vector_words(m);

	return how[op].op && w->overlap != TWIN_OVERLAP_SURELY && w->s.rows == 1 &&
	       !(w->src1 & TWIN_SRC1_ROW) && !(w->s.width % words) && w->s.width / words <= TEMP &&
	       !o[DST].s->bf16 && !(how[op].shift && o[SRC2].s);
}

/* vector i of an operand */
static struct place place(const struct emit *e, const struct operand *o, uint32_t i)
{
	uint32_t at = i * vector_words(e->m) * (o->s->bf16 ? 2 : 4);

	return o->s->acc ? (struct place){EBX, acc_at(o->s) + at} : (struct place){o->reg, at};
}

/* result i, in register i */
static void result(struct emit *e, const struct twin_prepared_op *w, const struct operand o[3],
		   uint32_t i)
{
	uint32_t n = OP(w->tcw) - WSE_TOP_VADD;
	struct vector_op op = {how[n].map, how[n].prefix, how[n].op};

	vector_load(e, i, place(e, &o[SRC1], i), o[SRC1].s->bf16);
	if (o[SRC2].s && !o[SRC2].s->bf16) {
		vrm(e, op, i, i, place(e, &o[SRC2], i));
	} else {
		if (o[SRC2].s)
			vector_load(e, TEMP, place(e, &o[SRC2], i), true);
		vrr(e, op, i, i, TEMP);
	}
	if (OP(w->tcw) == WSE_TOP_VMAC)
		vrm(e, (struct vector_op){1, 0, 0x58}, i, i, place(e, &o[DST], i));
}

/* a jump that is taken where one of n results is a NaN; where its distance lies */
static uint8_t *check_results(struct emit *e, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i += 2) {
		vector_unordered(e, i ? TEMP : CHECKED, i, i + 1 < n ? i + 1 : i);
		if (i)
			vector_either(e, CHECKED, TEMP);
	}
	vector_any(e, CHECKED);
	jcc_to(e, CC_NE, 0);
	return e->p - 4;
}

static void operation(struct emit *e, const struct twin_prepared_op *w, const struct operand o[3])
{
	uint32_t op = OP(w->tcw) - WSE_TOP_VADD, n = w->s.width / vector_words(e->m), i;
	uint8_t *nan = NULL;

	if (how[op].shift) {
		e1(e, 0x83); /* and ecx, 31 */
		e1(e, 0xe1);
		e1(e, 31);
	}
	if (!o[SRC2].s)
		vector_broadcast(e, TEMP);
	for (i = 0; i < n; i++)
		result(e, w, o, i);
	if (how[op].real)
		nan = check_results(e, n);
	for (i = 0; i < n; i++)
		vector_store(e, i, place(e, &o[DST], i));
	vector_end(e);
	mov_imm(e, EAX, TWIN_INSIDE_ON);
	e1(e, 0xc3); /* ret */
	if (!nan)
		return;
	i = (uint32_t)(e->p - (nan + 4));
	memcpy(nan, &i, 4);
	function(e, w, o);
}

/* ---- the whole ---- */

uint32_t twin_emit_op(struct twin_mesh *m, struct twin_code *t, const struct twin_prepared_op *w,
		      const struct twin_shape *d, const struct twin_shape *a,
		      const struct twin_shape *b)
{
	struct emit e = {.m = m, .t = t, .p = t->buf + t->at, .start = t->at};
	const struct operand o[3] = {
		{d, TWIN_TCW_FIELD(w->tcw, DST), EDI},
		{a, TWIN_TCW_FIELD(w->tcw, SRC1), ESI},
		{b, TWIN_TCW_FIELD(w->tcw, SRC2), EDX},
	};

	if (!d->acc && d->hi - d->lo > 1 << TWIN_CODE_PAGE)
		return 0;
	guard(&e, w, o);
	count(&e);
	complete(&e, w);
	places(&e, o, false);
	if (is_inline(m, w, o))
		operation(&e, w, o);
	else
		function(&e, w, o);
	t->at = (here(&e) + 15) & ~15u;
	return e.start;
}
