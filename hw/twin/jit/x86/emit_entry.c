// SPDX-License-Identifier: MIT
/*
 * The beginning of the code buffer: the way into translated blocks and out of them, and what blocks
 * and the code of operations have in common. Registers are as emit.c says.
 */
#include "twin/jit/x86/emit_asm.h"

/* ---- operands ---- */

/* op reg, a member of the lane at rbx + rdx */
static void lane_op(struct emit *e, unsigned int op, unsigned int reg, size_t off)
{
	bytes(e, op, 0x84 | reg << 3, 0x13);
	e4(e, (uint32_t)off);
}

#define OF_LANE(name) offsetof(struct twin_lane, name)

/* page of [offset eax + a member - less] into another member */
static void lane_page(struct emit *e, size_t end, uint32_t less, size_t page)
{
	rr(e, 0x8b, ECX, EAX);
	lane_op(e, 0x03, ECX, end);
	ri(e, 5, ECX, less);
	rr(e, 0xc1, 5, ECX);
	e1(e, TWIN_CODE_PAGE);
	lane_op(e, 0x88, ECX, page);
}

/*
 * What refresh() in quick.c does where only word 0 of an operand's DSR was written: eax is that
 * word, the lane is at rbx + rdx. Accumulators that have moved are left to refresh(). All registers
 * but eax, ecx, edx stay.
 */
static void emit_move(struct emit *e)
{
	uint8_t *acc, *out[3], *same;
	unsigned int i;

	e->t->move = here(e);
	lane_op(e, 0x80, 7, OF_LANE(s.acc)); /* cmp byte, imm8 */
	e1(e, 0);
	acc = hop(e, JNE);
	ri(e, 5, EAX, WSE_SRAM_BASE);
	lane_op(e, 0x84, EAX, OF_LANE(s.align)); /* test byte, al */
	out[0] = hop(e, JNE);
	lane_op(e, 0x3b, EAX, OF_LANE(s.least));
	out[1] = hop(e, JB);
	lane_op(e, 0x3b, EAX, OF_LANE(s.most));
	out[2] = hop(e, JA);
	lane_op(e, 0x89, EAX, OF_LANE(off));
	lane_page(e, OF_LANE(s.lo), 0, OF_LANE(page));
	lane_page(e, OF_LANE(s.hi), 1, OF_LANE(page_end));
	bytes(e, 0x4c, 0x01, 0xe8); /* add rax, r13 */
	e1(e, 0x48);		    /* mov [rbx + rdx + disp32], rax */
	lane_op(e, 0x89, EAX, OF_LANE(at));
	e1(e, 0xc3);
	land(e, acc);
	lane_op(e, 0x3b, EAX, OF_LANE(off));
	same = hop(e, JE);
	for (i = 0; i < 3; i++)
		land(e, out[i]);
	lane_op(e, 0xc7, 0, OF_LANE(id)); /* mov dword, imm32 */
	e4(e, 0);
	land(e, same);
	e1(e, 0xc3);
}

/* ---- ways that do not fit ---- */

/*
 * Where the code of an operation that does not fit jumps to: twin_issue_inside(), with edx and ecx
 * as they are, and r8 the site, which the call names that returns to [rsp].
 */
static void emit_miss(struct emit *e)
{
	e->t->miss = here(e);
	bytes(e, 0x4c, 0x8b, 0x04, 0x24); /* mov r8, [rsp] */
	bytes(e, 0x49, 0x63, 0x40, 0xfc); /* movsxd rax, dword [r8 - 4] */
	bytes(e, 0x49, 0x01, 0xc0);	  /* add r8, rax */
	arguments(e, (uint64_t)(uintptr_t)twin_issue_inside);
	bytes(e, 0xff, 0xe0); /* jmp rax */
}

/* ---- in and out ---- */

/* struct twin_left (*)(core, sram, table, code, limit, done) */
void twin_emit_entry(struct twin_mesh *m, struct twin_code *t)
{
	struct emit entry = {.m = m, .t = t, .p = t->buf}, *e = &entry;

	bytes(e, 0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57); /* push rbx ... r15 */
	bytes(e, 0x48, 0x89, 0xfb);					      /* mov rbx, rdi */
	bytes(e, 0x48, 0x83, 0xec, 0x08); /* sub rsp, 8: aligned for calls */
	bytes(e, 0x49, 0x89, 0xf5);	  /* mov r13, rsi */
	bytes(e, 0x49, 0x89, 0xd7);	  /* mov r15, rdx */
	bytes(e, 0x45, 0x89, 0xc6);	  /* mov r14d, r8d */
	bytes(e, 0x45, 0x89, 0xcc);	  /* mov r12d, r9d */
	mov_pointer(e, EBP, (uint64_t)(uintptr_t)e->t->buf);
	bytes(e, 0xff, 0xe1); /* jmp rcx */
	e->t->leave_index = here(e);
	rr(e, 0xc1, 4, EAX);
	e1(e, 2);
	ri(e, 0, EAX, WSE_SRAM_BASE);
	e->t->leave = here(e);
	bytes(e, 0x44, 0x89, 0xe2);					      /* mov edx, r12d */
	bytes(e, 0x48, 0x83, 0xc4, 0x08);				      /* add rsp, 8 */
	bytes(e, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b); /* pop r15 ... rbx */
	e1(e, 0xc3);
	emit_miss(e);
	emit_move(e);
	e->t->first = e->t->at = (here(e) + 15) & ~15u;
}
