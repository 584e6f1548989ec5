// SPDX-License-Identifier: MIT
/*
 * The scalar core: threaded dispatch over predecoded instructions. twin_exec() runs until the
 * budget is used up, the instruction at pc has to wait (c->wait), or the core is no longer running.
 *
 * Instructions are counted where the flow changes, by how far d has come since. A budget of more
 * than one is checked there, too: instructions before the next jump may exceed it.
 */
#include <string.h>

#include "twin/exact/decode.h"
#include "twin/twin.h"

struct run {
	struct twin_mesh *m;
	struct twin_core *c;
	uint32_t synced;  /* of those done, how many minstret has */
	uint32_t trapped; /* and how many did not retire */
};

static void retire(struct twin_core *c, uint32_t n)
{
	c->minstret += n;
	c->retired += n;
	c->cnt[WSE_CNT_INSTRET] += n;
}

/* brings minstret up to date with `done` instructions */
static void sync_instret(struct run *r, uint32_t done)
{
	uint32_t n = done - r->synced - r->trapped;

	retire(r->c, n);
	r->synced += n;
}

/* true: goes on at c->pc; false: the core has halted, or c->wait says that it comes no further */
static bool trap(struct run *r, uint32_t pc, uint32_t cause, uint32_t tval)
{
	struct twin_core *c = r->c;
	uint32_t mstatus = c->mstatus & 1u << 3 ? 1u << 7 : 0;

	r->trapped++;
	c->traps++;
	c->last_cause = cause;
	if (!c->mtvec) {
		twin_core_fault(r->m, c, cause, pc, tval, ~0u, 0);
		return false;
	}
	c->pc = c->mtvec;
	/* it changes nothing, not even pc */
	if (unlikely(pc == c->mtvec) && c->mepc == pc && c->mcause == cause && c->mtval == tval &&
	    c->mstatus == mstatus) {
		c->wait = WAIT_TRAPS;
		return false;
	}
	c->mepc = pc & ~3u;
	c->mcause = cause;
	c->mtval = tval;
	c->mstatus = mstatus;
	return true;
}

/* false: illegal */
static bool task_op(struct twin_mesh *m, struct twin_core *c, uint32_t op, uint32_t a, uint32_t b)
{
	uint32_t color = a & 0x1f, task = a & 0x1f;

	switch (op) {
	case WSE_TASKOP_BIND:
	case WSE_TASKOP_CBIND:
		if (color >= WSE_NCOLORS)
			return false;
		c->bind[op == WSE_TASKOP_CBIND][color] = (b & 0xff) == 0xff ? 0xff : b & 0x1f;
		c->bound &= ~(1u << color);
		if (c->bind[0][color] != 0xff || c->bind[1][color] != 0xff)
			c->bound |= 1u << color;
		break;
	case WSE_TASKOP_ENTRY:
		c->entry[task] = b;
		break;
	case WSE_TASKOP_ACTIVATE:
		c->ready |= 1u << task;
		break;
	case WSE_TASKOP_BLOCK:
		c->blocked |= 1u << task;
		break;
	case WSE_TASKOP_UNBLOCK:
		c->blocked &= ~(1u << task);
		break;
	}
	m->moved = true;
	return true;
}

/* a store to a page of which something was made */
static void stored(struct twin_core *c, uint32_t off, uint32_t size)
{
	const struct twin_fast *fast = c->mesh->fast;
	uint32_t made = c->code[off >> TWIN_CODE_PAGE] & ~TWIN_PAGE_DECODED;

	c->dec[off >> 2].op = OP_decode;
	if (made)
		fast->memory_written(c, off, size, made);
}

#define DISPATCH() goto *dispatch[d->op]
#define NEXT()              \
	do {                \
		d++;        \
		DISPATCH(); \
	} while (0)
/* the same behind an instruction that ends translated blocks */
#define NEXT_BLOCK()                         \
	do {                                 \
		d++;                         \
		if (!fast)                   \
			DISPATCH();          \
		done = RAN();                \
		a = (uint32_t)(d - dec) * 4; \
		goto translated;             \
	} while (0)
/* instructions before the one at d; and with it, as the flow leaves d */
#define RAN()	(done + (uint32_t)(d - from))
#define LEAVE() (done += (uint32_t)(d - from) + 1)
#define PC()	((uint32_t)(WSE_SRAM_BASE + (uint32_t)(d - dec) * 4))
#define X1	x[d->rs1]
#define X2	x[d->rs2]
#define ALU(name, expr)               \
	L_##name : x[d->rd] = (expr); \
	NEXT()
#define TRAP(cause, tval)                         \
	do {                                      \
		LEAVE();                          \
		from = d;                         \
		if (!trap(&r, PC(), cause, tval)) \
			goto halted;              \
		goto enter;                       \
	} while (0)
#define BRANCH(name, cond)                                                         \
	L_##name : if (cond)                                                       \
	{                                                                          \
		if (unlikely(d->imm & 2))                                          \
			TRAP(WSE_CAUSE_FETCH_MISALIGNED, PC() + (uint32_t)d->imm); \
		target = PC() + (uint32_t)d->imm;                                  \
		LEAVE();                                                           \
		goto jump;                                                         \
	}                                                                          \
	NEXT()
#define LOAD(name, type, size)                                 \
	L_##name : a = X1 + (uint32_t)d->imm;                  \
	if (unlikely(a & (size - 1)))                          \
		TRAP(WSE_CAUSE_LOAD_MISALIGNED, a);            \
	if (unlikely(a - WSE_SRAM_BASE >= WSE_SRAM_BYTES))     \
		TRAP(WSE_CAUSE_LOAD_ACCESS, a);                \
	{                                                      \
		type v_;                                       \
		memcpy(&v_, sram + (a - WSE_SRAM_BASE), size); \
		x[d->rd] = (uint32_t)(int32_t)v_;              \
	}                                                      \
	NEXT()
#define STORE(name, type, size)                                  \
	L_##name : a = X1 + (uint32_t)d->imm;                    \
	if (unlikely(a & (size - 1)))                            \
		TRAP(WSE_CAUSE_STORE_MISALIGNED, a);             \
	a -= WSE_SRAM_BASE;                                      \
	if (unlikely(a >= WSE_SRAM_BYTES))                       \
		TRAP(WSE_CAUSE_STORE_ACCESS, a + WSE_SRAM_BASE); \
	{                                                        \
		type v_ = (type)X2;                              \
		memcpy(sram + a, &v_, size);                     \
	}                                                        \
	if (unlikely(c->code[a >> TWIN_CODE_PAGE]))              \
		stored(c, a, size);                              \
	NEXT()

/*
 * Begins at pc (left_pc is TWIN_LEFT_NONE), or goes on where translated code was left. Every
 * instruction keeps a dispatch of its own, which is what branch predictors like.
 */
__attribute__((optimize("no-gcse", "no-crossjumping"), noinline)) static void
interpret(struct twin_mesh *m, struct twin_core *c, uint32_t limit, uint64_t left_pc,
	  uint64_t left_done)
{
#define LABEL(name)  &&L_##name,
#define BUDGET(name) &&L_budget,
	static const void *const label[] = {TWIN_DEC_OPS(LABEL)};
	/* one instruction alone: look at each */
	static const void *const each[] = {TWIN_DEC_OPS(BUDGET)};
	const void *const *const dispatch = limit == 1 ? each : label;
	struct run r = {.m = m, .c = c};
	uint32_t *const x = c->x;
	uint8_t *const sram = c->sram;
	struct twin_dec *const dec = c->dec, *d = dec, *from = dec;
	uint32_t done = 0, a, b,
		 target; /* done: instructions up to the last change of flow, to from */
	const struct twin_fast *fast = limit > 1 ? m->fast : NULL;
	struct twin_left left = {left_pc, left_done};
	uint8_t task;
	bool flag;

	if (left.pc != TWIN_LEFT_NONE)
		goto left;
enter:
	target = c->pc;
jump:
	if (unlikely(done >= limit)) {
		c->pc = target;
		goto sync;
	}
	a = target - WSE_SRAM_BASE;
	if (unlikely(a > WSE_SRAM_BYTES || target & 3)) {
		done++;
		c->pc = target;
		if (!trap(&r, target,
			  target & 3 ? WSE_CAUSE_FETCH_MISALIGNED : WSE_CAUSE_FETCH_ACCESS, target))
			goto sync;
		goto enter;
	}
	if (fast) {
	translated:
		left = fast->enter_block(m, c, a >> 2, limit, done);
		if (left.pc != TWIN_LEFT_NONE) {
		left:
			done = (uint32_t)left.done;
			/* an ISSUE stopped the core, and pc names it */
			if (unlikely(c->run != WSE_CORE_RUNNING))
				goto sync;
			target = (uint32_t)left.pc & ~3u;
			if (left.pc & TWIN_LEFT_WAITING) {
				c->pc = target;
				goto sync;
			}
			if (!(left.pc & TWIN_LEFT_AT))
				goto jump;
			a = target - WSE_SRAM_BASE;
		}
	}
	d = from = dec + (a >> 2);
	DISPATCH();

L_budget:
	if (RAN() >= limit)
		goto wait;
	goto *label[d->op];
L_decode:
	if (d == dec + TWIN_NWORDS)
		goto L_fetch;
	twin_decode_at(c, (uint32_t)(d - dec));
	goto *label[d->op];
L_fetch:
	TRAP(WSE_CAUSE_FETCH_ACCESS, PC());
L_illegal:
	memcpy(&b, sram + (d - dec) * 4, 4);
	TRAP(WSE_CAUSE_ILLEGAL, b);

	ALU(lui, (uint32_t)d->imm);
	ALU(auipc, PC() + (uint32_t)d->imm);
L_jal:
	if (unlikely(d->imm & 2))
		TRAP(WSE_CAUSE_FETCH_MISALIGNED, PC() + (uint32_t)d->imm);
	x[d->rd] = PC() + 4;
	target = PC() + (uint32_t)d->imm;
	LEAVE();
	goto jump;
L_jalr:
	target = (X1 + (uint32_t)d->imm) & ~1u;
	if (unlikely(target & 2))
		TRAP(WSE_CAUSE_FETCH_MISALIGNED, target);
	x[d->rd] = PC() + 4;
	LEAVE();
	goto jump;
	BRANCH(beq, X1 == X2);
	BRANCH(bne, X1 != X2);
	BRANCH(blt, (int32_t)X1 < (int32_t)X2);
	BRANCH(bge, (int32_t)X1 >= (int32_t)X2);
	BRANCH(bltu, X1 < X2);
	BRANCH(bgeu, X1 >= X2);
	LOAD(lb, int8_t, 1);
	LOAD(lh, int16_t, 2);
	LOAD(lw, uint32_t, 4);
	LOAD(lbu, uint8_t, 1);
	LOAD(lhu, uint16_t, 2);
	STORE(sb, uint8_t, 1);
	STORE(sh, uint16_t, 2);
	STORE(sw, uint32_t, 4);
	ALU(addi, X1 + (uint32_t)d->imm);
	ALU(slti, (int32_t)X1 < d->imm);
	ALU(sltiu, X1 < (uint32_t)d->imm);
	ALU(xori, X1 ^ (uint32_t)d->imm);
	ALU(ori, X1 | (uint32_t)d->imm);
	ALU(andi, X1 & (uint32_t)d->imm);
	ALU(slli, X1 << d->imm);
	ALU(srli, X1 >> d->imm);
	ALU(srai, (uint32_t)((int32_t)X1 >> d->imm));
	ALU(add, X1 + X2);
	ALU(sub, X1 - X2);
	ALU(sll, X1 << (X2 & 31));
	ALU(slt, (int32_t)X1 < (int32_t)X2);
	ALU(sltu, X1 < X2);
	ALU(xor, X1 ^ X2);
	ALU(srl, X1 >> (X2 & 31));
	ALU(sra, (uint32_t)((int32_t)X1 >> (X2 & 31)));
	ALU(or, X1 | X2);
	ALU(and, X1 & X2);
	ALU(mul, X1 * X2);
	ALU(mulh, (uint32_t)((uint64_t)((int64_t)(int32_t)X1 * (int32_t)X2) >> 32));
	ALU(mulhsu, (uint32_t)((uint64_t)((int64_t)(int32_t)X1 * (int64_t)(uint64_t)X2) >> 32));
	ALU(mulhu, (uint32_t)((uint64_t)X1 * X2 >> 32));
	ALU(div, !X2				  ? ~0u
		 : X1 == 0x80000000u && X2 == ~0u ? X1
						  : (uint32_t)((int32_t)X1 / (int32_t)X2));
	ALU(divu, !X2 ? ~0u : X1 / X2);
	ALU(rem, !X2				  ? X1
		 : X1 == 0x80000000u && X2 == ~0u ? 0
						  : (uint32_t)((int32_t)X1 % (int32_t)X2));
	ALU(remu, !X2 ? X1 : X1 % X2);
L_nop:
	NEXT();
L_ecall:
	TRAP(WSE_CAUSE_ECALL, 0);
L_ebreak:
	TRAP(WSE_CAUSE_BREAKPOINT, PC());
L_mret:
	c->mstatus = 1u << 7 | (c->mstatus & 1u << 7 ? 1u << 3 : 0);
	target = c->mepc;
	LEAVE();
	goto jump;
L_csr:
	sync_instret(&r, RAN());
	a = (uint32_t)d->imm;
	if (!twin_csr(m, c, a, RAN(), a & 1u << 14 ? d->rs1 : X1, &flag))
		TRAP(WSE_CAUSE_ILLEGAL, a);
	if (flag) { /* minstret was written: this instruction counts for the device alone */
		c->cnt[WSE_CNT_INSTRET]++;
		c->retired++;
		r.synced++;
	}
	NEXT_BLOCK();

	/* ---- custom-0 ---- */
L_dsr0:
	c->dsr[d->rd & 15][0] = X1;
	c->dsr[d->rd & 15][1] = X2;
	NEXT();
L_dsr1:
	c->dsr[d->rd & 15][2] = X1;
	c->dsr[d->rd & 15][3] = X2;
	NEXT();
L_issue:
	c->pc = PC();
	if (!(m->fast ? m->fast->issue : twin_issue)(m, c, X1, X2)) {
		if (c->run != WSE_CORE_RUNNING) {
			r.trapped++;
			goto stopped;
		}
		c->wait = WAIT_ISSUE;
		goto wait;
	}
	/* the engine may have stopped the core at once; the ISSUE itself is done */
	if (unlikely(c->run != WSE_CORE_RUNNING))
		goto stopped;
	NEXT_BLOCK();
L_route:
	if (!twin_is_route(X1))
		goto L_illegal;
	twin_route(m, c, X1 & 0x1f, X2);
	NEXT();
L_task:
	if (!task_op(m, c, (uint32_t)d->imm, X1, X2))
		goto L_illegal;
	NEXT_BLOCK();
L_tnext:
	if (unlikely(m->events != NULL))
		twin_events_tnext(m, c, PC());
	if (!twin_task_next(m, c, &a, &task)) {
		c->wait = WAIT_TASK;
		goto wait;
	}
	x[d->rd] = a;
	c->last_pick = task;
	if (unlikely(m->events != NULL))
		twin_events_task(m, c, task, a);
	NEXT_BLOCK();
L_send:
	a = X2 & 0x1f;
	if (a >= WSE_NCOLORS)
		goto L_illegal;
	if (chan_full(&c->in[WSE_PORT_R][a])) {
		twin_fabric_drain(m);
		if (chan_full(&c->in[WSE_PORT_R][a])) {
			c->wait = WAIT_SEND;
			c->wait_color = a;
			goto wait;
		}
	}
	twin_send(m, c, a, X1, X2 >> 8 & 1);
	NEXT_BLOCK();
L_recv:
	a = X1 & 0x1f;
	if (a >= WSE_NCOLORS)
		goto L_illegal;
	if (!c->recv[a].count) {
		twin_fabric_drain(m);
		if (!c->recv[a].count) {
			c->wait = WAIT_RECV;
			c->wait_color = a;
			goto wait;
		}
	}
	c->wdata = x[d->rd] = chan_head(&c->recv[a], &flag);
	c->winfo = a | (uint32_t)flag << 8;
	twin_recv_pop(m, c, a);
	NEXT_BLOCK();
L_done:
	c->done = true;
	c->done_value = X1;
	m->moved = m->ended = true;
	NEXT();
L_wait:
	for (b = 0; b < 3; b++) {
		if (X1 >> b & 1 && c->eng[b].n) {
			c->wait = WAIT_ENGINES;
			goto wait;
		}
	}
	NEXT();

wait:
	done = RAN();
	c->pc = PC();
	goto sync;
stopped: /* behind the instruction at d */
	LEAVE();
halted:
	c->pc = PC();
sync:
	sync_instret(&r, done);
	if (done)
		m->moved = true;
	c->cyc += done;
}

void twin_exec(struct twin_mesh *m, struct twin_core *c, uint32_t limit)
{
	uint32_t a = c->pc - WSE_SRAM_BASE;
	struct twin_left left = {TWIN_LEFT_NONE, 0};

	c->wait = WAIT_NONE;
	c->wait_color = 0xff;
	if (likely(m->fast && limit > 1 && a < WSE_SRAM_BYTES && !(a & 3))) {
		left = m->fast->enter_block(m, c, a >> 2, limit, 0);
		if (left.pc == TWIN_LEFT_NONE)
			left.pc = c->pc | TWIN_LEFT_AT;
	}
	/* most turns are translated code, up to the core's next wait or the end of its share */
	if (likely(left.pc != TWIN_LEFT_NONE && c->run == WSE_CORE_RUNNING &&
		   (left.pc & TWIN_LEFT_WAITING ||
		    (!(left.pc & TWIN_LEFT_AT) && left.done >= limit)))) {
		c->pc = (uint32_t)left.pc & ~3u;
		retire(c, (uint32_t)left.done);
		c->cyc += (uint32_t)left.done;
		m->moved |= left.done != 0;
		return;
	}
	interpret(m, c, limit, left.pc, left.done);
}
