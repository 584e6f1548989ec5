// SPDX-License-Identifier: MIT
/*
 * x86-64 code of translated blocks. Registers of a core are read once and written through, so a
 * block can be left anywhere: a load or store that would trap or that touches memory of which
 * something was made leaves before it does anything, and exec.c does that instruction; so does an
 * ISSUE that finds no room. TNEXT and WAIT that have to wait say so themselves.
 *
 *   rbx  the core (registers first)	r13  its SRAM		r15  its table of blocks
 *   rbp  the code buffer		r12d instructions run	r14d limit
 *   eax, ecx, edx scratch; the rest of the caller-saved registers hold registers of the core
 */
#include <stddef.h>
#include <string.h>

#include "twin/exact/decode.h"
#include "twin/jit/x86/emit_asm.h"

/* ---- instructions ---- */

#define COMMUTES (1u << 16)
#define SHIFT	 8u

/* rd = rs1 op rs2 */
static void alu_rr(struct emit *e, const struct twin_dec *d)
{
	unsigned int a, b, h, op = e->code & ~COMMUTES;

	if (d->rd == 32)
		return;
	a = src(e, d->rs1, ~0u);
	b = src(e, d->rs2, a);
	h = home_of(e, d->rd, b);
	if (h != b || h == a) {
		if (h != a)
			rr(e, 0x8b, h, a);
		rr(e, op, h, b);
	} else if (e->code & COMMUTES) {
		rr(e, op, h, a);
	} else {
		rr(e, 0x8b, EAX, a);
		rr(e, op, EAX, b);
		rr(e, 0x8b, h, EAX);
	}
	rx(e, 0x89, h, d->rd);
}

/* add, or, and, xor (0x81 /0 1 4 6) with 32 bits; shl, shr, sar (0xc1 /4 5 7) with 8 */
static void alu_ri(struct emit *e, const struct twin_dec *d)
{
	unsigned int op = e->code & SHIFT ? 0xc1 : 0x81, a, h;

	if (d->rd == 32)
		return;
	a = src(e, d->rs1, ~0u);
	h = home_of(e, d->rd, ~0u);
	if (h != a)
		rr(e, 0x8b, h, a);
	rr(e, op, e->code & 7, h);
	put_bytes(e, (const uint8_t *)&d->imm, op == 0xc1 ? 1 : 4);
	rx(e, 0x89, h, d->rd);
}

static void add_imm(struct emit *e, const struct twin_dec *d)
{
	if (e->constant[d->rs1])
		set_constant(e, d->rd, e->value[d->rs1] + (uint32_t)d->imm);
	else
		alu_ri(e, d);
}

/* shl, shr, sar: /4 5 7 */
static void shift_rr(struct emit *e, const struct twin_dec *d)
{
	unsigned int a = src(e, d->rs1, ~0u), b = src(e, d->rs2, a);

	rr(e, 0x8b, ECX, b);
	rr(e, 0x8b, EAX, a);
	rr(e, 0xd3, e->code, EAX);
	write_back(e, d->rd);
}

/* rd = flag: setcc al; movzx eax, al */
static void set_flag(struct emit *e, const struct twin_dec *d)
{
	rr(e, 0x0f90 | e->code, 0, EAX);
	rr(e, 0x0fb6, EAX, EAX);
	write_back(e, d->rd);
}

static void set_less(struct emit *e, const struct twin_dec *d)
{
	unsigned int a = src(e, d->rs1, ~0u);

	rr(e, 0x3b, a, src(e, d->rs2, a));
	set_flag(e, d);
}

static void set_less_imm(struct emit *e, const struct twin_dec *d)
{
	ri(e, 7, src(e, d->rs1, ~0u), (uint32_t)d->imm);
	set_flag(e, d);
}

/* eax = offset into the SRAM of rs1 + imm, or out of here */
static void address(struct emit *e, unsigned int base, int32_t imm, uint32_t size)
{
	rex(e, EAX, base);
	bytes(e, 0x8d, 0x80 | (base & 7)); /* lea eax, [base + disp32] */
	e4(e, (uint32_t)imm - WSE_SRAM_BASE);
	if (size > 1) {
		bytes(e, 0xa8, size - 1); /* test al, imm8 */
		leave_exit(e, CC_NE);
	}
	e1(e, 0x3d); /* cmp eax, imm32 */
	e4(e, WSE_SRAM_BYTES);
	leave_exit(e, CC_AE);
}

/* reg and [r13 + rax] */
static void sram_operand(struct emit *e, unsigned int reg)
{
	bytes(e, 0x44 | (reg & 7) << 3, 0x05, 0);
}

enum { QUOTIENT, REMAINDER };

/* what the host's DIV cannot do is the quotient and the remainder of a division by 0 */
static void divide(struct emit *e, const struct twin_dec *d)
{
	unsigned int a = src(e, d->rs1, ~0u), b = src(e, d->rs2, a);
	bool remainder = e->code == REMAINDER;
	uint8_t *zero, *done;

	rr(e, 0x8b, ECX, b);
	rr(e, 0x8b, EAX, a);
	rr(e, 0x85, ECX, ECX);
	zero = hop(e, JE);
	rr(e, 0x31, EDX, EDX);
	rr(e, 0xf7, 6, ECX); /* div ecx */
	if (remainder)
		rr(e, 0x8b, EAX, EDX);
	done = hop(e, JMP);
	land(e, zero);
	if (!remainder)
		mov_imm(e, EAX, ~0u);
	land(e, done);
	write_back(e, d->rd);
}

/* a CSR read alone, where reading is no more than that: 0xffff of others */
static uint32_t plain_csr(const struct twin_dec *d)
{
	uint32_t insn = (uint32_t)d->imm, csr = insn >> 20;

	if ((insn >> 12 & 7) != 2 || insn >> 15 & 0x1f)
		return 0xffff;
	return csr == WSE_CSR_WDATA || csr == WSE_CSR_WINFO || csr == WSE_CSR_ID ||
			       csr == WSE_CSR_DIM || csr == WSE_CSR_CFG
		       ? csr
		       : 0xffff;
}

_Static_assert(offsetof(struct twin_core, row) == offsetof(struct twin_core, col) + 2,
	       "CSR_ID is a word");

static void read_csr(struct emit *e, const struct twin_dec *d)
{
	uint32_t csr = plain_csr(d);

	if (csr == WSE_CSR_DIM || csr == WSE_CSR_CFG) {
		set_constant(e, d->rd, csr == WSE_CSR_DIM ? twin_csr_dim(e->m) : twin_csr_cfg());
		return;
	}
	core_member(e, 0x8b, EAX,
		    csr == WSE_CSR_WDATA   ? offsetof(struct twin_core, wdata)
		    : csr == WSE_CSR_WINFO ? offsetof(struct twin_core, winfo)
					   : offsetof(struct twin_core, col));
	write_back(e, d->rd);
}

static void load(struct emit *e, const struct twin_dec *d)
{
	unsigned int op = e->code & 0xffff, h;

	address(e, src(e, d->rs1, ~0u), d->imm, e->code >> 16);
	h = d->rd == 32 ? EAX : home_of(e, d->rd, ~0u);
	e1(e, 0x41 | (h >> 3) << 2);
	if (op > 0xff)
		e1(e, op >> 8);
	e1(e, op & 0xff);
	sram_operand(e, h);
	if (d->rd != 32)
		rx(e, 0x89, h, d->rd);
}

static void store(struct emit *e, const struct twin_dec *d)
{
	unsigned int a = src(e, d->rs1, ~0u), v = src(e, d->rs2, a);
	uint32_t size = e->code;

	address(e, a, d->imm, size);
	rr(e, 0x8b, ECX, EAX);
	rr(e, 0xc1, 5, ECX);
	e1(e, TWIN_CODE_PAGE);
	bytes(e, 0x80, 0xbc, 0x0b); /* cmp byte [rbx + rcx + disp32], 0 */
	e4(e, offsetof(struct twin_core, code));
	e1(e, 0);
	leave_exit(e, CC_NE);
	if (size == 2)
		e1(e, 0x66);
	bytes(e, 0x41 | (v >> 3) << 2, size == 1 ? 0x88 : 0x89);
	sram_operand(e, v);
}

/* on to the block at word eax, if it is there and the limit is not reached; n have run */
static void dispatch(struct emit *e, uint32_t n)
{
	bytes(e, 0x41, 0x83, 0xc4, n); /* add r12d, imm8 */
	rr(e, 0x39, 14, 12);	       /* cmp r12d, r14d */
	jcc_to(e, CC_AE, e->t->leave_index);
	bytes(e, 0x41, 0x8b, 0x14, 0x87);	 /* mov edx, [r15 + rax * 4] */
	bytes(e, 0x83, 0xfa, TWIN_NO_BLOCK + 1); /* cmp edx, imm8 */
	jcc_to(e, CC_B, e->t->leave_index);
	bytes(e, 0x48, 0x01, 0xea); /* add rdx, rbp */
	bytes(e, 0xff, 0xe2);	    /* jmp rdx */
}

/* to a known word */
static void go(struct emit *e, uint32_t n, uint32_t target)
{
	mov_imm(e, EAX, target);
	if (target != e->index) {
		dispatch(e, n);
		return;
	}
	bytes(e, 0x41, 0x83, 0xc4, n); /* a loop: add r12d, imm8 */
	rr(e, 0x39, 14, 12);
	jcc_to(e, CC_AE, e->t->leave_index);
	jump_to(e, e->start);
}

static void jump(struct emit *e, const struct twin_dec *d)
{
	mov_imm(e, EAX, pc_of(e) + 4);
	write_back(e, d->rd);
	go(e, e->n + 1, e->index + e->n + (uint32_t)(d->imm / 4));
}

static void jump_register(struct emit *e, const struct twin_dec *d)
{
	rr(e, 0x8b, ECX, src(e, d->rs1, ~0u));
	ri(e, 0, ECX, (uint32_t)d->imm);
	ri(e, 4, ECX, ~1u);
	bytes(e, 0xf6, 0xc1, 2); /* test cl, 2 */
	leave_exit(e, CC_NE);
	rr(e, 0x8b, EAX, ECX);
	ri(e, 5, EAX, WSE_SRAM_BASE);
	ri(e, 7, EAX, WSE_SRAM_BYTES);
	leave_exit(e, CC_AE);
	mov_imm(e, EAX, pc_of(e) + 4);
	write_back(e, d->rd);
	rr(e, 0x8b, EAX, ECX);
	ri(e, 5, EAX, WSE_SRAM_BASE);
	rr(e, 0xc1, 5, EAX);
	e1(e, 2);
	dispatch(e, e->n + 1);
}

static void upper_imm(struct emit *e, const struct twin_dec *d)
{
	set_constant(e, d->rd, (uint32_t)d->imm);
}

static void add_pc(struct emit *e, const struct twin_dec *d)
{
	set_constant(e, d->rd, pc_of(e) + (uint32_t)d->imm);
}

static void branch(struct emit *e, const struct twin_dec *d)
{
	unsigned int a = src(e, d->rs1, ~0u);

	rr(e, 0x3b, a, src(e, d->rs2, a));
	side_exit(e, e->code, e->n + 1, e->index + e->n + (uint32_t)(d->imm / 4), true);
}

static void nop(struct emit *e, const struct twin_dec *d)
{
	(void)e, (void)d;
}

/* a row an instruction: what emits it, and its code there */
#define LOAD(size, op) ((size) << 16 | (op))
static const struct {
	emitter *fn; /* NULL: it is exec.c's */
	uint32_t code;
} rows[] = {
	[OP_lui] = {upper_imm},
	[OP_auipc] = {add_pc},
	[OP_beq] = {branch, CC_E},
	[OP_bne] = {branch, CC_NE},
	[OP_blt] = {branch, CC_L},
	[OP_bge] = {branch, CC_GE},
	[OP_bltu] = {branch, CC_B},
	[OP_bgeu] = {branch, CC_AE},
	[OP_lb] = {load, LOAD(1, 0x0fbe)},
	[OP_lh] = {load, LOAD(2, 0x0fbf)},
	[OP_lw] = {load, LOAD(4, 0x8b)},
	[OP_lbu] = {load, LOAD(1, 0x0fb6)},
	[OP_lhu] = {load, LOAD(2, 0x0fb7)},
	[OP_sb] = {store, 1},
	[OP_sh] = {store, 2},
	[OP_sw] = {store, 4},
	[OP_addi] = {add_imm, 0},
	[OP_slti] = {set_less_imm, CC_L},
	[OP_sltiu] = {set_less_imm, CC_B},
	[OP_xori] = {alu_ri, 6},
	[OP_ori] = {alu_ri, 1},
	[OP_andi] = {alu_ri, 4},
	[OP_slli] = {alu_ri, SHIFT | 4},
	[OP_srli] = {alu_ri, SHIFT | 5},
	[OP_srai] = {alu_ri, SHIFT | 7},
	[OP_add] = {alu_rr, 0x03 | COMMUTES},
	[OP_sub] = {alu_rr, 0x2b},
	[OP_sll] = {shift_rr, 4},
	[OP_slt] = {set_less, CC_L},
	[OP_sltu] = {set_less, CC_B},
	[OP_xor] = {alu_rr, 0x33 | COMMUTES},
	[OP_srl] = {shift_rr, 5},
	[OP_sra] = {shift_rr, 7},
	[OP_or] = {alu_rr, 0x0b | COMMUTES},
	[OP_and] = {alu_rr, 0x23 | COMMUTES},
	[OP_mul] = {alu_rr, 0x0faf | COMMUTES},
	[OP_divu] = {divide, QUOTIENT},
	[OP_remu] = {divide, REMAINDER},
	[OP_csr] = {read_csr},
	[OP_nop] = {nop},
	[OP_jal] = {jump},
	[OP_jalr] = {jump_register},
	[OP_dsr0] = {twin_emit_dsr, 0},
	[OP_dsr1] = {twin_emit_dsr, 2},
	[OP_issue] = {twin_emit_issue},
	[OP_route] = {twin_emit_route},
	[OP_task] = {twin_emit_task},
	[OP_tnext] = {twin_emit_tnext},
	[OP_wait] = {twin_emit_wait},
};

bool twin_emit_ends(const struct twin_dec *d)
{
	return d->op == OP_jal || d->op == OP_jalr;
}

bool twin_emits(const struct twin_dec *d, uint32_t index)
{
	if (d->op == OP_csr)
		return plain_csr(d) != 0xffff;
	if (d->op == OP_task)
		return d->imm >= WSE_TASKOP_ACTIVATE;
	if (d->op == OP_jal || (d->op >= OP_beq && d->op <= OP_bgeu))
		return !(d->imm & 2) && index + (uint32_t)(d->imm / 4) < TWIN_NWORDS;
	return d->op < sizeof(rows) / sizeof(*rows) && rows[d->op].fn;
}

static void finish_sides(struct emit *e)
{
	uint32_t i;

	for (i = 0; i < e->nsides; i++) {
		const struct side *s = &e->side[i];
		uint32_t distance = here(e) - (s->from + 4);

		memcpy(e->t->buf + s->from, &distance, 4);
		if (s->taken) {
			go(e, s->n, s->target);
			continue;
		}
		bytes(e, 0x41, 0x83, 0xc4, s->n); /* add r12d, imm8 */
		if (s->wait) {
			bytes(e, 0xc6, 0x83); /* mov byte [rbx + disp32], imm8 */
			e4(e, offsetof(struct twin_core, wait));
			e1(e, s->wait);
		}
		mov_imm(e, EAX,
			(WSE_SRAM_BASE + s->target * 4) |
				(s->wait ? TWIN_LEFT_WAITING : TWIN_LEFT_AT));
		jump_to(e, e->t->leave);
	}
}

uint32_t twin_emit_block(struct twin_mesh *m, struct twin_code *t, const struct twin_dec *dec,
			 uint32_t index, uint32_t n)
{
	struct emit e = {.m = m, .t = t, .p = t->buf + t->at, .index = index, .start = t->at};

	memset(e.host, -1, sizeof(e.host));
	memset(e.guest, -1, sizeof(e.guest));
	e.constant[0] = true;
	for (; e.n < n; e.n++, dec++) {
		e.code = rows[dec->op].code;
		rows[dec->op].fn(&e, dec);
	}
	if (!twin_emit_ends(dec - 1)) {		/* what comes next is exec.c's */
		bytes(&e, 0x41, 0x83, 0xc4, n); /* add r12d, imm8 */
		mov_imm(&e, EAX, (WSE_SRAM_BASE + (index + n) * 4) | TWIN_LEFT_AT);
		jump_to(&e, t->leave);
	}
	finish_sides(&e);
	t->at = (here(&e) + 15) & ~15u;
	return e.start;
}

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
	/* an operation's code that is not the right one: all arguments are where they belong */
	e->t->miss = here(e);
	arguments(e, (uint64_t)(uintptr_t)twin_issue_inside);
	bytes(e, 0xff, 0xe0); /* jmp rax */
	e->t->first = e->t->at = (here(e) + 15) & ~15u;
}
