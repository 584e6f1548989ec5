/* SPDX-License-Identifier: MIT */
/*
 * The assembler of emit.c: bytes of x86-64 instructions, and which host registers hold which
 * registers of the core. What rbx to r15 hold is said there.
 */
#ifndef TWIN_JIT_X86_EMIT_ASM_H
#define TWIN_JIT_X86_EMIT_ASM_H

#include <stddef.h>
#include <string.h>

#include "twin/jit/translate.h"
#include "twin/jit/x86/emit.h"

#define BLOCK TWIN_BLOCK_MAX

_Static_assert(offsetof(struct twin_core, x) == 0, "registers are addressed from the core");

enum { EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI };

static const uint8_t pool[] = {ESI, EDI, 8, 9, 10, 11};
#define NPOOL (sizeof(pool))

struct side {	       /* a way out of a block */
	uint32_t from; /* where its jump's distance lies */
	uint32_t n;    /* instructions run until there */
	/* taken branches: word index; else the instruction that is left to exec.c */
	uint32_t target;
	bool taken;
	uint8_t wait; /* enum twin_wait: what it was seen to wait for */
};

struct emit {
	struct twin_mesh *m;
	struct twin_code *t;
	uint8_t *p;
	uint32_t index; /* of the block's first word */
	uint32_t start; /* its code */
	int8_t host[33];
	int8_t guest[NPOOL];
	bool constant[33]; /* its value is known: */
	uint32_t value[33];
	unsigned int next;
	struct side side[3 * BLOCK];
	uint32_t nsides;
	uint32_t n;    /* instructions of the block before the one that is emitted, */
	uint32_t code; /* and what the table of emit.c says of it */
};

/* emits an instruction */
typedef void emitter(struct emit *e, const struct twin_dec *d);

static inline void e1(struct emit *e, uint32_t b)
{
	*e->p++ = (uint8_t)b;
}

static inline void put_bytes(struct emit *e, const uint8_t *b, size_t n)
{
	memcpy(e->p, b, n);
	e->p += n;
}

/* the bytes of an instruction, or of its beginning */
#define bytes(e, ...)                                \
	put_bytes(e, (const uint8_t[]){__VA_ARGS__}, \
		  sizeof((const uint8_t[]){__VA_ARGS__}))

static inline void e4(struct emit *e, uint32_t v)
{
	memcpy(e->p, &v, 4);
	e->p += 4;
}

static inline void rex(struct emit *e, unsigned int reg, unsigned int rm)
{
	unsigned int r = (reg >> 3) << 2 | rm >> 3;

	if (r)
		e1(e, 0x40 | r);
}

/* op reg, rm with registers; op may be two bytes, 0x0f.. */
static inline void rr(struct emit *e, unsigned int op, unsigned int reg, unsigned int rm)
{
	rex(e, reg, rm);
	if (op > 0xff)
		e1(e, op >> 8);
	bytes(e, op & 0xff, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

/* op reg, x[g] */
static inline void rx(struct emit *e, unsigned int op, unsigned int reg, unsigned int g)
{
	rex(e, reg, EBX);
	bytes(e, op, 0x40 | (reg & 7) << 3 | EBX, g * 4);
}

/* add, or, and, sub, xor, cmp (/0 1 4 5 6 7) with a constant */
static inline void ri(struct emit *e, unsigned int ext, unsigned int rm, uint32_t v)
{
	rr(e, 0x81, ext, rm);
	e4(e, v);
}

static inline void mov_imm(struct emit *e, unsigned int reg, uint32_t v)
{
	rex(e, 0, reg);
	e1(e, 0xb8 | (reg & 7));
	e4(e, v);
}

static inline uint32_t here(const struct emit *e)
{
	return (uint32_t)(e->p - e->t->buf);
}

static inline void jump_to(struct emit *e, uint32_t to)
{
	e1(e, 0xe9);
	e4(e, to - (here(e) + 4));
}

static inline void jcc_to(struct emit *e, unsigned int cc, uint32_t to)
{
	bytes(e, 0x0f, 0x80 | cc);
	e4(e, to - (here(e) + 4));
}

/* a jump over a few bytes, which lands where land() is called */
static inline uint8_t *hop(struct emit *e, unsigned int op)
{
	bytes(e, op, 0);
	return e->p;
}

static inline void land(struct emit *e, uint8_t *from)
{
	from[-1] = (uint8_t)(e->p - from);
}

#define JNE 0x75
#define JE  0x74
#define JB  0x72
#define JA  0x77
#define JMP 0xeb

enum { CC_B = 2, CC_AE = 3, CC_E = 4, CC_NE = 5, CC_A = 7, CC_L = 12, CC_GE = 13 };

static inline uint32_t pc_of(const struct emit *e)
{
	return WSE_SRAM_BASE + (e->index + e->n) * 4;
}

static inline void side_exit(struct emit *e, unsigned int cc, uint32_t n, uint32_t target,
			     bool taken)
{
	jcc_to(e, cc, 0);
	e->side[e->nsides++] = (struct side){here(e) - 4, n, target, taken, WAIT_NONE};
}

/* the instruction is exec.c's */
static inline void leave_exit(struct emit *e, unsigned int cc)
{
	side_exit(e, cc, e->n, e->index + e->n, false);
}

/* it could not complete: must wait */
static inline void wait_exit(struct emit *e, unsigned int cc, enum twin_wait wait)
{
	leave_exit(e, cc);
	e->side[e->nsides - 1].wait = wait;
}

/* mov [rbx + disp32], reg; mov reg, [rbx + disp32] */
static inline void core_member(struct emit *e, unsigned int op, unsigned int reg, size_t off)
{
	rex(e, reg, EBX);
	bytes(e, op, 0x80 | (reg & 7) << 3 | EBX);
	e4(e, (uint32_t)off);
}

/* ---- registers ---- */

static inline unsigned int take(struct emit *e, unsigned int g, unsigned int avoid)
{
	unsigned int i = e->next;

	while (pool[i] == avoid)
		i = (i + 1) % NPOOL;
	e->next = (i + 1) % NPOOL;
	if (e->guest[i] >= 0)
		e->host[(int)e->guest[i]] = -1;
	e->guest[i] = (int8_t)g;
	e->host[g] = (int8_t)pool[i];
	return pool[i];
}

/* where a register's value is; avoid: a host register that stays what it is */
static inline unsigned int src(struct emit *e, unsigned int g, unsigned int avoid)
{
	unsigned int h;

	if (e->host[g] >= 0)
		return (unsigned int)e->host[g];
	h = take(e, g, avoid);
	if (e->constant[g])
		mov_imm(e, h, e->value[g]);
	else
		rx(e, 0x8b, h, g);
	return h;
}

/* reg = a register's value */
static inline void get(struct emit *e, unsigned int reg, unsigned int g, unsigned int avoid)
{
	if (e->constant[g])
		mov_imm(e, reg, e->value[g]);
	else
		rr(e, 0x8b, reg, src(e, g, avoid));
}

static inline void mov_pointer(struct emit *e, unsigned int reg, uint64_t p)
{
	bytes(e, 0x48 | reg >> 3, 0xb8 | (reg & 7));
	put_bytes(e, (const uint8_t *)&p, 8);
}

/* rdi = model, rsi = core, rax = fn */
static inline void arguments(struct emit *e, uint64_t fn)
{
	bytes(e, 0x48, 0x89, 0xde); /* mov rsi, rbx */
	mov_pointer(e, EDI, (uint64_t)(uintptr_t)e->m);
	mov_pointer(e, EAX, fn);
}

/* mov dword [rbx + disp32], imm32 */
static inline void member_imm(struct emit *e, size_t off, uint32_t v)
{
	bytes(e, 0xc7, 0x83);
	e4(e, (uint32_t)off);
	e4(e, v);
}

/* rd = v */
static inline void set_constant(struct emit *e, unsigned int rd, uint32_t v)
{
	if (rd == 32)
		return;
	if (e->host[rd] >= 0) {
		unsigned int i = 0;

		while (pool[i] != e->host[rd])
			i++;
		e->guest[i] = -1;
		e->host[rd] = -1;
	}
	e->constant[rd] = true;
	e->value[rd] = v;
	member_imm(e, rd * sizeof(uint32_t), v);
}

/* the host register in which rd comes to be; avoid: one that stays what it is until then */
static inline unsigned int home_of(struct emit *e, unsigned int rd, unsigned int avoid)
{
	e->constant[rd] = false;
	return e->host[rd] >= 0 ? (unsigned int)e->host[rd] : take(e, rd, avoid);
}

/* rd = eax */
static inline void write_back(struct emit *e, unsigned int rd)
{
	if (rd == 32)
		return;
	rr(e, 0x8b, home_of(e, rd, ~0u), EAX);
	rx(e, 0x89, EAX, rd);
}

/* emit_custom.c: instructions that are none of RISC-V's */
emitter twin_emit_dsr, twin_emit_issue, twin_emit_route, twin_emit_task, twin_emit_tnext,
	twin_emit_wait;

#endif /* TWIN_JIT_X86_EMIT_ASM_H */
