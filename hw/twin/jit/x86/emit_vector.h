/* SPDX-License-Identifier: MIT */
/*
 * The assembler of emit_op.c: instructions on vectors of 64 bytes where the processor has AVX-512,
 * else of 32. Of registers the first 16 are used. Where places are in memory, a register below r8
 * and a distance say which.
 */
#ifndef TWIN_JIT_X86_EMIT_VECTOR_H
#define TWIN_JIT_X86_EMIT_VECTOR_H

#include "twin/jit/x86/emit_asm.h"

struct vector_op {
	uint8_t map;	/* 1, 2, 3: 0f, 0f 38, 0f 3a */
	uint8_t prefix; /* 0, 1: none, 66 */
	uint8_t op;
};

/* words of a vector */
static inline uint32_t vector_words(const struct twin_mesh *m)
{
	return m->avx512 ? 16 : 8;
}

static inline void vex(struct emit *e, struct vector_op op, unsigned int reg, unsigned int v,
		       unsigned int rm, bool long_)
{
	e1(e, 0xc4);
	e1(e, (~reg >> 3 & 1) << 7 | 1 << 6 | (~rm >> 3 & 1) << 5 | op.map);
	e1(e, (~v & 15) << 3 | (uint32_t)long_ << 2 | op.prefix);
	e1(e, op.op);
}

static inline void evex(struct emit *e, struct vector_op op, unsigned int reg, unsigned int v,
			unsigned int rm)
{
	e1(e, 0x62);
	e1(e, (~reg >> 3 & 1) << 7 | 1 << 6 | (~rm >> 3 & 1) << 5 | 1 << 4 | op.map);
	e1(e, (~v & 15) << 3 | 1 << 2 | op.prefix);
	e1(e, 2 << 5 | 1 << 3);
	e1(e, op.op);
}

static inline void vector_op(struct emit *e, struct vector_op op, unsigned int reg, unsigned int v,
			     unsigned int rm)
{
	if (e->m->avx512)
		evex(e, op, reg, v, rm);
	else
		vex(e, op, reg, v, rm, true);
}

/* reg = v op rm; instructions with one source have no v, which is 0 then */
static inline void vrr(struct emit *e, struct vector_op op, unsigned int reg, unsigned int v,
		       unsigned int rm)
{
	vector_op(e, op, reg, v, rm);
	e1(e, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

struct place {
	unsigned int base;
	size_t at;
};

static inline void vrm(struct emit *e, struct vector_op op, unsigned int reg, unsigned int v,
		       struct place p)
{
	vector_op(e, op, reg, v, p.base);
	e1(e, 0x80 | (reg & 7) << 3 | p.base);
	e4(e, (uint32_t)p.at);
}

/* reg = words, or bf16 ones made words */
static inline void vector_load(struct emit *e, unsigned int reg, struct place p, bool bf16)
{
	if (!bf16) {
		vrm(e, (struct vector_op){1, 0, 0x10}, reg, 0, p); /* vmovups */
		return;
	}
	vrm(e, (struct vector_op){2, 1, 0x33}, reg, 0, p);	/* vpmovzxwd */
	vrr(e, (struct vector_op){1, 1, 0x72}, 6, reg, reg);	/* vpslld reg, reg, imm8 */
	e1(e, 16);
}

static inline void vector_store(struct emit *e, unsigned int reg, struct place p)
{
	vrm(e, (struct vector_op){1, 0, 0x11}, reg, 0, p);
}

/* all words of reg = ecx */
static inline void vector_broadcast(struct emit *e, unsigned int reg)
{
	if (e->m->avx512) {
		vrr(e, (struct vector_op){2, 1, 0x7c}, reg, 0, ECX); /* vpbroadcastd reg, ecx */
		return;
	}
	vex(e, (struct vector_op){1, 1, 0x6e}, reg, 0, ECX, false); /* vmovd */
	e1(e, 0xc0 | (reg & 7) << 3 | ECX);
	vrr(e, (struct vector_op){2, 1, 0x58}, reg, 0, reg); /* vpbroadcastd */
}

/* reg = which words of a or b are NaN; with AVX-512 mask register reg & 7 */
static inline void vector_unordered(struct emit *e, unsigned int reg, unsigned int a, unsigned int b)
{
	vrr(e, (struct vector_op){1, 0, 0xc2}, e->m->avx512 ? reg & 7 : reg, a, b);
	e1(e, 3);
}

/* what vector_unordered() has found: reg |= also */
static inline void vector_either(struct emit *e, unsigned int reg, unsigned int also)
{
	if (e->m->avx512) {
		vex(e, (struct vector_op){1, 0, 0x45}, reg & 7, reg & 7, also & 7, true); /* korw */
		e1(e, 0xc0 | (reg & 7) << 3 | (also & 7));
	} else {
		vrr(e, (struct vector_op){1, 0, 0x56}, reg, reg, also); /* vorps */
	}
}

/* sets the flags: NE where vector_unordered() has found any */
static inline void vector_any(struct emit *e, unsigned int reg)
{
	if (e->m->avx512) {
		vex(e, (struct vector_op){1, 0, 0x98}, reg & 7, 0, reg & 7, false); /* kortestw */
		e1(e, 0xc0 | (reg & 7) << 3 | (reg & 7));
	} else {
		vrr(e, (struct vector_op){1, 0, 0x50}, EAX, 0, reg); /* vmovmskps */
		rr(e, 0x85, EAX, EAX);
	}
}

static inline void vector_end(struct emit *e)
{
	e1(e, 0xc5); /* vzeroupper */
	e1(e, 0xf8);
	e1(e, 0x77);
}

#endif /* TWIN_JIT_X86_EMIT_VECTOR_H */
