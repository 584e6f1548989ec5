// SPDX-License-Identifier: MIT
/*
 * x86-64 code of vector instructions that are done at their ISSUE, each for one operation
 * (quick.h): the checks that quick.c makes, with the operation's numbers in them. It counts, and
 * jumps to the operation's function.
 *
 *   rbx  the core	   edx  tcw   ecx  scalar   r8  the site   and others as in emit.c
 *   eax, r10 scratch   rdi, rsi, r9 where DST, SRC1, SRC2 lie from the first place that they may
 *			   have, then rdi, rsi, rdx pointers to them
 */
#include "twin/jit/x86/emit_asm.h"

#define PAGES_MOST 16u /* that DST may have: each takes three instructions */

static const uint8_t reg_of[] = {EDI, ESI, 9}, argument[] = {EDI, ESI, EDX};

static void miss(struct emit *e, unsigned int cc)
{
	jcc_to(e, cc, e->t->miss);
}

/* add, or, and, cmp (/0 1 4 7) dword [rbx + disp32], imm32 */
static void member_op(struct emit *e, unsigned int ext, size_t off, uint32_t v)
{
	core_member(e, 0x81, ext, off);
	e4(e, v);
}

/* is operand k the one that it was, and does it fit where it lies? */
static void guard_place(struct emit *e, const struct twin_quick *w, unsigned int k)
{
	const uint32_t n[] = {TWIN_TCW_FIELD(w->tcw, DST), TWIN_TCW_FIELD(w->tcw, SRC1),
			      TWIN_TCW_FIELD(w->tcw, SRC2)};
	size_t dsr = offsetof(struct twin_core, dsr) + n[k] * sizeof(uint32_t[4]);
	const struct twin_place *p = &w->o[k];
	unsigned int i;

	for (i = 0; i < k; i++)
		if (n[i] == n[k] && w->o[i].align == p->align) { /* one and the same */
			rr(e, 0x8b, reg_of[k], reg_of[i]);
			return;
		}

	for (i = 0; i < 3; i++) {
		member_op(e, 7, dsr + (i + 1) * 4, p->dsr[i]);
		miss(e, CC_NE);
	}
	core_member(e, 0x8b, EAX, dsr);
	bytes(e, 0xa8, p->align); /* test al, imm8 */
	miss(e, CC_NE);
	ri(e, 5, EAX, p->first);
	ri(e, 7, EAX, p->reach);
	miss(e, CC_A);
	rr(e, 0x8b, reg_of[k], EAX);
}

/* al = or (op 0x8a, 0x0a) what was made of the page of a byte of DST */
static void page_flags(struct emit *e, unsigned int op, uint32_t off)
{
	bytes(e, 0x44, 0x8d, 0x97); /* lea r10d, [rdi + disp32] */
	e4(e, off);
	rr(e, 0xc1, 5, 10); /* shr r10d, imm8 */
	e1(e, TWIN_CODE_PAGE);
	bytes(e, 0x42, op, 0x84, 0x13); /* op al, [rbx + r10 + disp32] */
	e4(e, offsetof(struct twin_core, code));
}

/* was anything made of the SRAM that DST lies in? */
static void guard_pages(struct emit *e, const struct twin_quick *w)
{
	uint32_t first = w->o[OPND_DST].first - WSE_SRAM_BASE, n = w->hi - w->lo, i;

	if (w->o[OPND_DST].acc)
		return;
	page_flags(e, 0x8a, first + w->hi - 1);
	for (i = 0; i < n; i += 1u << TWIN_CODE_PAGE)
		page_flags(e, 0x0a, first + w->lo + i);
	bytes(e, 0x84, 0xc0); /* test al, al */
	miss(e, CC_NE);
}

static void guard(struct emit *e, const struct twin_quick *w)
{
	ri(e, 7, EDX, w->tcw);
	miss(e, CC_NE);
	/* L has nothing to do and may go on in this round */
	core_member(e, 0x80, 7, offsetof(struct twin_core, eng[WSE_ENGINE_L].n));
	e1(e, 0);
	miss(e, CC_NE);
	member_op(e, 7, offsetof(struct twin_core, ecyc[WSE_ENGINE_L]), TWIN_QUICK_CYCLES);
	miss(e, CC_AE);
	guard_place(e, w, OPND_DST);
	guard_pages(e, w);
	guard_place(e, w, OPND_SRC1);
	if (w->src2)
		guard_place(e, w, OPND_SRC2);
}

static void complete(struct emit *e, const struct twin_quick *w)
{
	mov_pointer(e, EAX, (uint64_t)(uintptr_t)&e->m->ways.generated);
	bytes(e, 0x48, 0xff, 0x00); /* inc qword [rax] */
	member_op(e, 0, offsetof(struct twin_core, ecyc[WSE_ENGINE_L]), w->cycles + 2u);
	if (w->ready)
		member_op(e, 1, offsetof(struct twin_core, ready), w->ready);
	if (w->wake != ~0u)
		member_op(e, 4, offsetof(struct twin_core, blocked), w->wake);
	if (w->macs) {
		e1(e, 0x48); /* all 64 bits */
		member_op(e, 0, offsetof(struct twin_core, cnt[WSE_CNT_MAC]), w->macs);
	}
}

/* the pointers to operands: lea reg, [rbx + from * 4 + disp32] or [r13 + from + disp32] */
static void pointers(struct emit *e, const struct twin_quick *w)
{
	unsigned int i, from;

	for (i = 0; i < 2u + w->src2; i++) {
		const struct twin_place *p = &w->o[i];

		from = reg_of[i];
		bytes(e, 0x48 | (from >> 3) << 1 | !p->acc, 0x8d, 0x84 | argument[i] << 3,
		      (p->acc ? 0x80 | EBX : 0x05) | (from & 7) << 3);
		e4(e, p->acc ? (uint32_t)offsetof(struct twin_core, acc) + p->first * 4
			     : p->first - WSE_SRAM_BASE);
	}
}

/* on to the operation's function, with the rows that lie behind the jump */
static void function(struct emit *e, const struct twin_quick *w)
{
	uint8_t *rows = e->p + 10 + 10 + 2;

	rows += -(uintptr_t)rows % _Alignof(struct twin_rows);
	mov_pointer(e, 8, (uint64_t)(uintptr_t)rows);
	mov_pointer(e, EAX, (uint64_t)(uintptr_t)w->fn);
	bytes(e, 0xff, 0xe0); /* jmp rax */
	memcpy(rows, &w->s, sizeof(w->s));
	e->p = rows + sizeof(w->s);
}

uint32_t twin_emit_op(struct twin_mesh *m, struct twin_code *t, const struct twin_quick *w)
{
	struct emit e = {.m = m, .t = t, .p = t->buf + t->at, .start = t->at};

	if (!w->o[OPND_DST].acc && w->hi - w->lo > PAGES_MOST << TWIN_CODE_PAGE)
		return 0;
	guard(&e, w);
	complete(&e, w);
	pointers(&e, w);
	function(&e, w);
	t->at = (here(&e) + 15) & ~15u;
	return e.start;
}
