// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "lockstep.h"

static const char *alu(uint32_t insn)
{
	static const char *const base[8] = {"add", "sll", "slt", "sltu", "xor", "srl", "or", "and"};
	static const char *const mul[8] = {"mul", "mulh", "mulhsu", "mulhu",
					   "div", "divu", "rem",    "remu"};
	uint32_t f3 = insn >> 12 & 7, f7 = insn >> 25;

	if (f7 == 1)
		return mul[f3];
	if (f3 == 0 && f7 == 0x20)
		return "sub";
	if (f3 == 5 && f7 == 0x20)
		return "sra";
	return base[f3];
}

static const char *immediate(uint32_t insn)
{
	static const char *const names[8] = {"addi", "slli", "slti", "sltiu",
					     "xori", "srli", "ori",  "andi"};
	uint32_t f3 = insn >> 12 & 7;

	return f3 == 5 && insn >> 30 & 1 ? "srai" : names[f3];
}

static void tensor(uint32_t insn, char *text, size_t size)
{
	static const char *const names[8] = {
		"wse.dsr",   "wse.issue", "wse.route", "wse.task",
		"wse.tnext", "wse.send",  "wse.recv",  "wse.sys",
	};
	static const char *const task[8] = {"bind",  "cbind",	"entry", "activate",
					    "block", "unblock", "?",	 "?"};
	uint32_t f3 = insn >> 12 & 7, f7 = insn >> 25;
	const char *sub = f3 == WSE_F3_TASK  ? task[f7 & 7]
			  : f3 != WSE_F3_SYS ? ""
			  : f7		     ? "wait"
					     : "done";

	snprintf(text, size, "%s%s%s x%u, x%u, x%u", names[f3], *sub ? "." : "", sub,
		 insn >> 7 & 31, insn >> 15 & 31, insn >> 20 & 31);
}

void ls_disassemble(uint32_t insn, char *text, size_t size)
{
	static const char *const loads[8] = {"lb", "lh", "lw", "l?", "lbu", "lhu", "l?", "l?"};
	static const char *const stores[8] = {"sb", "sh", "sw", "s?", "s?", "s?", "s?", "s?"};
	static const char *const branches[8] = {"beq", "bne", "b?",   "b?",
						"blt", "bge", "bltu", "bgeu"};
	static const char *const csrs[8] = {"",	 "csrrw",  "csrrs",  "csrrc",
					    "?", "csrrwi", "csrrsi", "csrrci"};
	uint32_t rd = insn >> 7 & 31, rs1 = insn >> 15 & 31, rs2 = insn >> 20 & 31,
		 f3 = insn >> 12 & 7;
	int32_t imm = (int32_t)insn >> 20;

	switch (insn & 0x7f) {
	case 0x37:
		snprintf(text, size, "lui x%u, 0x%x", rd, insn >> 12);
		break;
	case 0x17:
		snprintf(text, size, "auipc x%u, 0x%x", rd, insn >> 12);
		break;
	case 0x6f:
		snprintf(text, size, "jal x%u", rd);
		break;
	case 0x67:
		snprintf(text, size, "jalr x%u, %d(x%u)", rd, imm, rs1);
		break;
	case 0x63:
		snprintf(text, size, "%s x%u, x%u", branches[f3], rs1, rs2);
		break;
	case 0x03:
		snprintf(text, size, "%s x%u, %d(x%u)", loads[f3], rd, imm, rs1);
		break;
	case 0x23:
		snprintf(text, size, "%s x%u, %d(x%u)", stores[f3], rs2, (imm & ~31) | (int32_t)rd,
			 rs1);
		break;
	case 0x13:
		snprintf(text, size, "%s x%u, x%u, %d", immediate(insn), rd, rs1, imm);
		break;
	case 0x33:
		snprintf(text, size, "%s x%u, x%u, x%u", alu(insn), rd, rs1, rs2);
		break;
	case 0x0f:
		snprintf(text, size, "fence");
		break;
	case 0x73:
		if (f3)
			snprintf(text, size, "%s x%u, 0x%03x, %u", csrs[f3], rd, insn >> 20, rs1);
		else
			snprintf(text, size, "%s",
				 insn == 0x73	      ? "ecall"
				 : insn == 0x100073   ? "ebreak"
				 : insn == 0x30200073 ? "mret"
				 : insn == 0x10500073 ? "wfi"
						      : "system");
		break;
	case 0x0b:
		tensor(insn, text, size);
		break;
	default:
		snprintf(text, size, ".word");
	}
}
