// SPDX-License-Identifier: MIT
/*
 * x86-64 code of vector instructions that run at their ISSUE, each for one prepared operation
 * (quick.h). It checks that the instruction, the shapes of its operands and the engines are those
 * that the operation was prepared for, counts, and jumps to the operation's function.
 *
 *   rbx  the core   edx  tcw   ecx  scalar   and others as in emit.c
 *   eax, edi, esi, r8 scratch, then rdi, rsi, rdx DST, SRC1, SRC2
 */
#include "twin/fast/quick.h"
#include "twin/jit/x86/emit_asm.h"

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
	bytes(e, 0x81, 0x80 | ext << 3 | EBX);
	e4(e, (uint32_t)off);
	e4(e, v);
}

/* L has nothing to do and may go on in this round */
static void guard_engine(struct emit *e)
{
	bytes(e, 0x80, 0xb8 | EBX); /* cmp byte [rbx + disp32], imm8 */
	e4(e, offsetof(struct twin_core, eng[WSE_ENGINE_L].n));
	e1(e, 0);
	jcc_to(e, CC_NE, e->t->miss);
	member_op(e, 7, offsetof(struct twin_core, ecyc[WSE_ENGINE_L]), TWIN_QUICK_CYCLES);
	jcc_to(e, CC_AE, e->t->miss);
}

/* al = or (op 0x8a, 0x0a) what was made of the page of which the number is a member of the lane */
static void page_flags(struct emit *e, unsigned int op, unsigned int reg, size_t off)
{
	bytes(e, 0x0f, 0xb6, 0x80 | reg << 3 | EBX); /* movzx reg, byte [rbx + disp32] */
	e4(e, (uint32_t)off);
	bytes(e, op, 0x84, reg << 3 | EBX); /* op al, [rbx + reg + disp32] */
	e4(e, offsetof(struct twin_core, code));
}

/* nothing was made of the SRAM that DST lies in: of two pages at most */
static void guard_pages(struct emit *e, const struct operand *d)
{
	if (d->s->acc)
		return;
	page_flags(e, 0x8a, EDI, LANE(d, page));
	page_flags(e, 0x0a, ESI, LANE(d, page_end));
	bytes(e, 0x84, 0xc0);
	jcc_to(e, CC_NE, e->t->miss);
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
		jcc_to(e, CC_NE, e->t->miss);
	}
	guard_engine(e);
	guard_pages(e, &o[DST]);
}

/* inc qword [rip + disp32] */
static void count(struct emit *e)
{
	bytes(e, 0x48, 0xff, 0x05);
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

/* where operands are: mov reg, [the lane's place] */
static void places(struct emit *e, const struct operand o[3])
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		if (!o[i].s)
			continue;
		bytes(e, 0x48, 0x8b, 0x80 | o[i].reg << 3 | EBX);
		e4(e, (uint32_t)LANE(&o[i], at));
	}
}

/* on to the operation's function, with the rows that lie behind the jump */
static void function(struct emit *e, const struct twin_prepared_op *w)
{
	uint8_t *rows = e->p + 10 + 10 + 2;

	rows += -(uintptr_t)rows % _Alignof(struct twin_rows);
	mov_pointer(e, 8, (uint64_t)(uintptr_t)rows);
	mov_pointer(e, EAX, (uint64_t)(uintptr_t)w->fn);
	bytes(e, 0xff, 0xe0); /* jmp rax */
	memcpy(rows, &w->s, sizeof(w->s));
	e->p = rows + sizeof(w->s);
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
	places(&e, o);
	function(&e, w);
	t->at = (here(&e) + 15) & ~15u;
	return e.start;
}
