// SPDX-License-Identifier: MIT
/* Predecoding: once for every SRAM word that is executed, until something writes to it. */
#include <string.h>

#include "twin/exact/decode.h"
#include "twin/twin.h"

static int32_t imm_i(uint32_t i)
{
	return (int32_t)i >> 20;
}

static int32_t imm_s(uint32_t i)
{
	return ((int32_t)i >> 25) * 32 + (i >> 7 & 0x1f);
}

static int32_t imm_b(uint32_t i)
{
	return ((int32_t)i >> 31) * 4096 +
	       ((i >> 7 & 1) << 11 | (i >> 25 & 0x3f) << 5 | (i >> 8 & 0xf) << 1);
}

static int32_t imm_j(uint32_t i)
{
	return ((int32_t)i >> 31) * (1 << 20) +
	       ((i >> 12 & 0xff) << 12 | (i >> 20 & 1) << 11 | (i >> 21 & 0x3ff) << 1);
}

static uint8_t decode_op(uint32_t f3, uint32_t f7)
{
	static const uint8_t base[8] = {OP_add, OP_sll, OP_slt, OP_sltu,
					OP_xor, OP_srl, OP_or,	OP_and};
	static const uint8_t mul[8] = {OP_mul, OP_mulh, OP_mulhsu, OP_mulhu,
				       OP_div, OP_divu, OP_rem,	   OP_remu};

	if (f7 == 0)
		return base[f3];
	if (f7 == 1)
		return mul[f3];
	if (f7 == 0x20 && f3 == 0)
		return OP_sub;
	if (f7 == 0x20 && f3 == 5)
		return OP_sra;
	return OP_illegal;
}

static uint8_t decode_op_imm(uint32_t f3, uint32_t f7)
{
	static const uint8_t op[8] = {OP_addi, OP_slli, OP_slti, OP_sltiu,
				      OP_xori, OP_srli, OP_ori,	 OP_andi};

	if (f3 == 1 && f7)
		return OP_illegal;
	if (f3 == 5 && f7)
		return f7 == 0x20 ? OP_srai : OP_illegal;
	return op[f3];
}

static uint8_t decode_system(uint32_t insn)
{
	switch (insn) {
	case 0x00000073:
		return OP_ecall;
	case 0x00100073:
		return OP_ebreak;
	case 0x30200073:
		return OP_mret;
	case 0x10500073: /* wfi */
		return OP_nop;
	}
	return insn >> 12 & 3 ? OP_csr : OP_illegal;
}

/* fields that an instruction does not use must be 0, as any other combination is illegal */
static uint8_t decode_custom(uint32_t insn)
{
	static const uint8_t op[8] = {0,	OP_issue, OP_route, OP_task,
				      OP_tnext, OP_send,  OP_recv,  0};
	uint32_t f3 = insn >> 12 & 7, f7 = insn >> 25, rd = insn >> 7 & 0x1f;

	if (f3 == WSE_F3_DSR)
		return rd >= WSE_NDSR || f7 > 1 ? OP_illegal : f7 ? OP_dsr1 : OP_dsr0;
	if (f3 == WSE_F3_TNEXT)
		return f7 || insn >> 15 & 0x3ff ? OP_illegal : OP_tnext;
	if (f3 == WSE_F3_RECV)
		return f7 || insn >> 20 & 0x1f ? OP_illegal : OP_recv;
	if (rd)
		return OP_illegal;
	if (f3 == WSE_F3_TASK)
		return f7 <= WSE_TASKOP_UNBLOCK ? OP_task : OP_illegal;
	if (f3 == WSE_F3_SYS)
		return f7 > WSE_SYSOP_WAIT ? OP_illegal : f7 == WSE_SYSOP_DONE ? OP_done : OP_wait;
	return f7 ? OP_illegal : op[f3];
}

void twin_decode(struct twin_dec *d, uint32_t insn)
{
	static const uint8_t branch[8] = {OP_beq, OP_bne, OP_illegal, OP_illegal,
					  OP_blt, OP_bge, OP_bltu,    OP_bgeu};
	static const uint8_t load[8] = {OP_lb,	OP_lh,	OP_lw,	    OP_illegal,
					OP_lbu, OP_lhu, OP_illegal, OP_illegal};
	uint32_t f3 = insn >> 12 & 7, f7 = insn >> 25;
	uint8_t op = OP_illegal;
	int32_t imm = (int32_t)insn;

	switch (insn & 0x7f) {
	case 0x37:
	case 0x17:
		op = insn & 0x20 ? OP_lui : OP_auipc;
		imm = (int32_t)(insn & 0xfffff000u);
		break;
	case 0x6f:
		op = OP_jal;
		imm = imm_j(insn);
		break;
	case 0x67:
		op = f3 ? OP_illegal : OP_jalr;
		imm = imm_i(insn);
		break;
	case 0x63:
		op = branch[f3];
		imm = imm_b(insn);
		break;
	case 0x03:
		op = load[f3];
		imm = imm_i(insn);
		break;
	case 0x23:
		op = f3 <= 2 ? OP_sb + f3 : OP_illegal;
		imm = imm_s(insn);
		break;
	case 0x13:
		op = decode_op_imm(f3, f7);
		imm = f3 == 1 || f3 == 5 ? (int32_t)(insn >> 20 & 0x1f) : imm_i(insn);
		break;
	case 0x33:
		op = decode_op(f3, f7);
		break;
	case 0x0f:
		op = f3 <= 1 ? OP_nop : OP_illegal;
		break;
	case 0x73:
		op = decode_system(insn);
		break;
	case 0x0b:
		op = decode_custom(insn);
		break;
	}
	if (op == OP_illegal || op == OP_csr)
		imm = (int32_t)insn;
	else if (op == OP_task)
		imm = (int32_t)f7;
	d->rd = insn >> 7 & 0x1f;
	/* rd of dsr0/1 is the number of a DSR */
	if (!d->rd && op != OP_dsr0 && op != OP_dsr1)
		d->rd = 32;
	d->rs1 = insn >> 15 & 0x1f;
	d->rs2 = insn >> 20 & 0x1f;
	d->imm = imm;
	d->op = op;
}

void twin_decode_at(struct twin_core *c, uint32_t index)
{
	uint32_t insn;

	memcpy(&insn, c->sram + index * 4, 4);
	twin_decode(&c->dec[index], insn);
	c->code[index * 4 >> TWIN_CODE_PAGE] |= TWIN_PAGE_DECODED;
}

uint32_t twin_decode_next(struct twin_dec *d, const struct twin_core *c)
{
	uint32_t off = c->pc - WSE_SRAM_BASE, insn = 0;

	if (off < WSE_SRAM_BYTES && !(off & 3))
		memcpy(&insn, c->sram + off, 4);
	twin_decode(d, insn);
	return insn;
}

void twin_code_changed(struct twin_core *c, uint32_t off, uint32_t len)
{
	uint32_t page, last = (off + len - 1) >> TWIN_CODE_PAGE, made = 0;
	uint32_t words = (1u << TWIN_CODE_PAGE) / 4;

	if (!len)
		return;
	if (unlikely(c->wait == WAIT_TRAPS))
		twin_wake(c->mesh, c);
	for (page = off >> TWIN_CODE_PAGE; page <= last; page++) {
		made |= c->code[page] & ~TWIN_PAGE_DECODED;
		if (!(c->code[page] & TWIN_PAGE_DECODED))
			continue;
		c->code[page] &= ~TWIN_PAGE_DECODED;
		memset(&c->dec[page * words], 0, words * sizeof(*c->dec));
	}
	if (made)
		c->mesh->fast->memory_written(c, off, len, made);
}
