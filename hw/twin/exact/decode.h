/* SPDX-License-Identifier: MIT */
/* Predecoded instructions: their operations, in the order of exec.c's dispatch table. */
#ifndef TWIN_EXACT_DECODE_H
#define TWIN_EXACT_DECODE_H

#include "twin/twin.h"

#define TWIN_DEC_OPS(OP)                                                                \
	OP(decode) OP(fetch) OP(illegal)                                                \
	OP(lui) OP(auipc) OP(jal) OP(jalr)                                              \
	OP(beq) OP(bne) OP(blt) OP(bge) OP(bltu) OP(bgeu)                               \
	OP(lb) OP(lh) OP(lw) OP(lbu) OP(lhu)                                            \
	OP(sb) OP(sh) OP(sw)                                                            \
	OP(addi) OP(slti) OP(sltiu) OP(xori) OP(ori) OP(andi)                           \
	OP(slli) OP(srli) OP(srai)                                                      \
	OP(add) OP(sub) OP(sll) OP(slt) OP(sltu) OP(xor) OP(srl) OP(sra) OP(or) OP(and) \
	OP(mul) OP(mulh) OP(mulhsu) OP(mulhu) OP(div) OP(divu) OP(rem) OP(remu)         \
	OP(nop) OP(ecall) OP(ebreak) OP(mret) OP(csr)                                   \
	OP(dsr0) OP(dsr1) OP(issue) OP(route) OP(task)                                  \
	OP(tnext) OP(send) OP(recv) OP(done) OP(wait)

#define TWIN_DEC_OP(name) OP_##name,
enum twin_dec_op { TWIN_DEC_OPS(TWIN_DEC_OP) };

/* the instruction at pc, for debuggers; the word: 0 where there is none */
uint32_t twin_decode_next(struct twin_dec *d, const struct twin_core *c);

#endif /* TWIN_EXACT_DECODE_H */
