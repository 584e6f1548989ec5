/* SPDX-License-Identifier: MIT */
/* Emits instructions for lockstep's programs. */
#ifndef WSE_LOCKSTEP_ASM_H
#define WSE_LOCKSTEP_ASM_H

#include <stdint.h>
#include <string.h>

#include "wse_regs.h"

struct code {
	uint8_t *image; /* a core's SRAM */
	uint32_t pc;	/* absolute, of the next instruction */
};

static inline void put_at(struct code *c, uint32_t pc, uint32_t insn)
{
	memcpy(c->image + (pc - WSE_SRAM_BASE), &insn, 4);
}

static inline void put(struct code *c, uint32_t insn)
{
	put_at(c, c->pc, insn);
	c->pc += 4;
}

static inline uint32_t r_type(uint32_t op, uint32_t f3, uint32_t f7, uint32_t rd, uint32_t rs1,
			      uint32_t rs2)
{
	return f7 << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | rd << 7 | op;
}

static inline uint32_t i_type(uint32_t op, uint32_t f3, uint32_t rd, uint32_t rs1, int32_t imm)
{
	return (uint32_t)imm << 20 | rs1 << 15 | f3 << 12 | rd << 7 | op;
}

static inline uint32_t s_type(uint32_t op, uint32_t f3, uint32_t rs1, uint32_t rs2, int32_t imm)
{
	uint32_t u = (uint32_t)imm;

	return (u >> 5 & 0x7f) << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | (u & 31) << 7 | op;
}

static inline uint32_t b_type(uint32_t f3, uint32_t rs1, uint32_t rs2, int32_t off)
{
	uint32_t u = (uint32_t)off;

	return (u >> 12 & 1) << 31 | (u >> 5 & 0x3f) << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 |
	       (u >> 1 & 15) << 8 | (u >> 11 & 1) << 7 | 0x63;
}

static inline uint32_t j_type(uint32_t rd, int32_t off)
{
	uint32_t u = (uint32_t)off;

	return (u >> 20 & 1) << 31 | (u >> 1 & 0x3ff) << 21 | (u >> 11 & 1) << 20 |
	       (u >> 12 & 0xff) << 12 | rd << 7 | 0x6f;
}

#define ADDI(rd, rs1, imm) i_type(0x13, 0, rd, rs1, imm)
#define ADD(rd, rs1, rs2) r_type(0x33, 0, 0, rd, rs1, rs2)
#define LW(rd, rs1, imm) i_type(0x03, 2, rd, rs1, imm)
#define SW(rs2, rs1, imm) s_type(0x23, 2, rs1, rs2, imm)
#define CSRRW(rd, csr, rs1) i_type(0x73, 1, rd, rs1, (int32_t)(csr))
#define CSRRS(rd, csr, rs1) i_type(0x73, 2, rd, rs1, (int32_t)(csr))
#define JALR(rd, rs1, imm) i_type(0x67, 0, rd, rs1, imm)
#define WSE(f3, f7, rd, rs1, rs2) r_type(0x0b, f3, f7, rd, rs1, rs2)

static inline void li(struct code *c, uint32_t rd, uint32_t value)
{
	uint32_t upper = (value + 0x800) & 0xfffff000;
	int32_t lower = (int32_t)(value - upper);

	if (!upper) {
		put(c, ADDI(rd, 0, lower));
		return;
	}
	put(c, upper | rd << 7 | 0x37);
	if (lower)
		put(c, ADDI(rd, rd, lower));
}

/* always two instructions: for addresses that are set later */
static inline void li2_at(uint8_t *image, uint32_t pc, uint32_t rd, uint32_t value)
{
	struct code c = {image, pc};
	uint32_t upper = (value + 0x800) & 0xfffff000;

	put(&c, upper | rd << 7 | 0x37);
	put(&c, ADDI(rd, rd, (int32_t)(value - upper)));
}

static inline uint32_t li2(struct code *c, uint32_t rd)
{
	uint32_t at = c->pc;

	c->pc += 8;
	(void)rd;
	return at;
}

#endif /* WSE_LOCKSTEP_ASM_H */
