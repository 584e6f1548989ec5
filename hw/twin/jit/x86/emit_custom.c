// SPDX-License-Identifier: MIT
/*
 * x86-64 code of the instructions that RISC-V does not have: operands and ISSUE of the tensor unit,
 * tasks, routes. Registers as in emit.c.
 */
#include <stddef.h>
#include <string.h>

#include "twin/exact/decode.h"
#include "twin/jit/x86/emit_asm.h"

/* ---- what blocks call ---- */

/* TNEXT from translated code: bit 32 and the entry, or 0: there is no task yet */
static uint64_t twin_task_inside(struct twin_mesh *m, struct twin_core *c)
{
	uint32_t entry;
	uint8_t task;

	if (!twin_task_next(m, c, &entry, &task))
		return 0;
	c->last_pick = task;
	return 1ull << 32 | entry;
}

/* ROUTE from translated code; false: it is exec.c's to refuse */
static bool twin_route_inside(struct twin_mesh *m, struct twin_core *c, uint32_t which,
			      uint32_t cfg)
{
	if (!twin_is_route(which))
		return false;
	twin_route(m, c, which & 0x1f, cfg);
	return true;
}

/* ---- the tensor unit ---- */

/* a member of a lane, from the core */
#define LANE(n, name)                                                             \
	(offsetof(struct twin_core, lane) + ((n)&15) * sizeof(struct twin_lane) + \
	 offsetof(struct twin_lane, name))

/* a register of the core that is an operand: its value, or the host register that has it */
struct given {
	bool constant;
	uint32_t value;
	unsigned int reg;
};

static struct given given(struct emit *e, unsigned int g, unsigned int avoid)
{
	if (e->constant[g])
		return (struct given){true, e->value[g], ~0u};
	return (struct given){false, 0, src(e, g, avoid)};
}

/* mov dword [rbx + disp32], v */
static void set_member(struct emit *e, size_t off, struct given v)
{
	if (v.constant)
		member_imm(e, off, v.value);
	else
		core_member(e, 0x89, v.reg, off);
}

/* cmp dword [rbx + disp32], v */
static void compare_member(struct emit *e, size_t off, struct given v)
{
	if (!v.constant) {
		core_member(e, 0x39, v.reg, off);
		return;
	}
	core_member(e, 0x81, 7, off);
	e4(e, v.value);
}

/* words 2 and 3 were written: the operand is another one where they have changed */
static void keep_shape(struct emit *e, unsigned int n, struct given word2, struct given word3)
{
	uint8_t *other, *same;

	compare_member(e, LANE(n, s.dsr[1]), word2);
	other = hop(e, JNE);
	compare_member(e, LANE(n, s.dsr[2]), word3);
	same = hop(e, JE);
	land(e, other);
	member_imm(e, LANE(n, id), 0);
	land(e, same);
}

/* words 0 and 1 were written: another operand where word 1 has changed, else it has moved */
static void keep_base(struct emit *e, unsigned int n, struct given word0, struct given word1)
{
	uint8_t *none, *other, *same;

	core_member(e, 0x83, 7, LANE(n, id)); /* cmp dword, imm8 */
	e1(e, 0);
	none = hop(e, JE);
	compare_member(e, LANE(n, s.dsr[0]), word1);
	other = hop(e, JNE);
	if (word0.constant)
		mov_imm(e, EAX, word0.value);
	else
		rr(e, 0x8b, EAX, word0.reg);
	mov_imm(e, EDX, LANE(n, s));
	e1(e, 0xe8); /* call */
	e4(e, e->t->move - (here(e) + 4));
	same = hop(e, JMP);
	land(e, other);
	member_imm(e, LANE(n, id), 0);
	land(e, same);
	land(e, none);
}

/* two words of a DSR */
void twin_emit_dsr(struct emit *e, const struct twin_dec *d)
{
	unsigned int word = e->code;
	size_t off = offsetof(struct twin_core, dsr) + ((d->rd & 15) * 4 + word) * 4;
	struct given a = given(e, d->rs1, ~0u), b = given(e, d->rs2, a.reg);

	set_member(e, off, a);
	set_member(e, off + 4, b);
	if (word)
		keep_shape(e, d->rd, a, b);
	else
		keep_base(e, d->rd, a, b);
}

/* a call fn(model, core, edx, ecx, r8d), which leaves no register that held anything */
static void call(struct emit *e, uint64_t fn)
{
	arguments(e, fn);
	bytes(e, 0xff, 0xd0); /* call rax */
	memset(e->host, -1, sizeof(e->host));
	memset(e->guest, -1, sizeof(e->guest));
}

/* the same of an ISSUE at pc that may have a prepared operation: what its site says */
static void call_site(struct emit *e, uint32_t pc)
{
	struct twin_site *site = &e->t->site[e->t->nsites++];

	*site = (struct twin_site){e->t->buf + e->t->miss, pc};
	bytes(e, 0xff, 0x15); /* call [rip + disp32] */
	e4(e, (uint32_t)((uint8_t *)site - (e->p + 4)));
	memset(e->host, -1, sizeof(e->host));
	memset(e->guest, -1, sizeof(e->guest));
}

void twin_emit_issue(struct emit *e, const struct twin_dec *d)
{
	uint32_t pc = WSE_SRAM_BASE + (e->index + e->n) * 4;

	get(e, EDX, d->rs1, ~0u);
	get(e, ECX, d->rs2, ~0u);
	if (e->constant[d->rs1] && !twin_is_quick(e->value[d->rs1])) {
		member_imm(e, offsetof(struct twin_core, pc), pc);
		call(e, (uint64_t)(uintptr_t)twin_issue_from_inside);
	} else {
		call_site(e, pc);
	}
	ri(e, 7, EAX, TWIN_INSIDE_ON);
	wait_exit(e, CC_B, WAIT_ISSUE);
	side_exit(e, CC_NE, e->n + 1, e->index + e->n + 1, false);
}

/* ---- tasks and routes ---- */

/* ACTIVATE, BLOCK, UNBLOCK: a bit of ready or blocked */
static void task_bit(struct emit *e, const struct twin_dec *d)
{
	size_t off = d->imm == WSE_TASKOP_ACTIVATE ? offsetof(struct twin_core, ready)
						   : offsetof(struct twin_core, blocked);
	bool clear = d->imm == WSE_TASKOP_UNBLOCK;

	get(e, ECX, d->rs1, ~0u);
	mov_imm(e, EAX, 1);
	rr(e, 0xd3, 4, EAX); /* shl eax, cl */
	if (clear)
		rr(e, 0xf7, 2, EAX);		       /* not eax */
	core_member(e, clear ? 0x21 : 0x09, EAX, off); /* and, or [rbx + disp32], eax */
}

void twin_emit_task(struct emit *e, const struct twin_dec *d)
{
	unsigned int a, b;

	if (d->imm == WSE_TASKOP_ACTIVATE || d->imm == WSE_TASKOP_BLOCK ||
	    d->imm == WSE_TASKOP_UNBLOCK) {
		task_bit(e, d);
		return;
	}
	a = src(e, d->rs1, ~0u);
	b = src(e, d->rs2, a);
	rr(e, 0x8b, ECX, a);
	rr(e, 0x8b, 8, b); /* as the last one: r8 may hold a */
	mov_imm(e, EDX, (uint32_t)d->imm);
	call(e, (uint64_t)(uintptr_t)twin_task_op);
	bytes(e, 0x84, 0xc0); /* test al, al */
	leave_exit(e, CC_E);
}

void twin_emit_route(struct emit *e, const struct twin_dec *d)
{
	get(e, EDX, d->rs1, ~0u);
	get(e, ECX, d->rs2, ~0u);
	call(e, (uint64_t)(uintptr_t)twin_route_inside);
	bytes(e, 0x84, 0xc0); /* test al, al */
	leave_exit(e, CC_E);
}

void twin_emit_tnext(struct emit *e, const struct twin_dec *d)
{
	call(e, (uint64_t)(uintptr_t)twin_task_inside);
	bytes(e, 0x48, 0x0f, 0xba, 0xe0, 32); /* bt rax, 32 */
	wait_exit(e, CC_AE, WAIT_TASK);
	write_back(e, d->rd);
}

/* out of here where an engine of the mask is busy */
void twin_emit_wait(struct emit *e, const struct twin_dec *d)
{
	unsigned int i;

	rr(e, 0x8b, EAX, src(e, d->rs1, ~0u));
	for (i = 0; i < 3; i++) {
		bytes(e, 0xa8, 1u << i, 0x74, 7 + 6); /* test al, imm8; jz over both */
		bytes(e, 0x80, 0xbb);		      /* cmp byte [rbx + disp32], 0 */
		e4(e, offsetof(struct twin_core, eng) + i * sizeof(struct twin_engine) +
			      offsetof(struct twin_engine, n));
		e1(e, 0);
		wait_exit(e, CC_NE, WAIT_ENGINES);
	}
}
