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

/* ---- the tensor unit ---- */

/* two words of a DSR */
void twin_emit_dsr(struct emit *e, const struct twin_dec *d)
{
	size_t off = offsetof(struct twin_core, dsr) + ((d->rd & 15) * 4 + e->code) * 4;
	unsigned int a = src(e, d->rs1, ~0u);

	core_member(e, 0x89, a, off);
	core_member(e, 0x89, src(e, d->rs2, a), off + 4);
}

/* behind a call no register holds anything */
static void forget_hosts(struct emit *e)
{
	memset(e->host, -1, sizeof(e->host));
	memset(e->guest, -1, sizeof(e->guest));
}

/* a call fn(model, core, edx, ecx) */
static void call(struct emit *e, uint64_t fn)
{
	arguments(e, fn);
	bytes(e, 0xff, 0xd0); /* call rax */
	forget_hosts(e);
}

void twin_emit_issue(struct emit *e, const struct twin_dec *d)
{
	const void **site = &e->t->site[e->t->nsites++];

	*site = e->t->buf + e->t->miss;
	get(e, EDX, d->rs1, ~0u);
	get(e, ECX, d->rs2, ~0u);
	member_imm(e, offsetof(struct twin_core, pc), pc_of(e));
	bytes(e, 0x4c, 0x8d, 0x05); /* lea r8, [rip + disp32] */
	e4(e, (uint32_t)((uint8_t *)site - (e->p + 4)));
	bytes(e, 0x41, 0xff, 0x10); /* call [r8] */
	forget_hosts(e);
	ri(e, 7, EAX, TWIN_INSIDE_ON);
	wait_exit(e, CC_B, WAIT_ISSUE);
	side_exit(e, CC_NE, e->n + 1, e->index + e->n + 1, false);
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

/* ---- tasks and routes ---- */

void twin_emit_route(struct emit *e, const struct twin_dec *d)
{
	get(e, EDX, d->rs1, ~0u);
	get(e, ECX, d->rs2, ~0u);
	call(e, (uint64_t)(uintptr_t)twin_route_inside);
	bytes(e, 0x84, 0xc0); /* test al, al */
	leave_exit(e, CC_E);
}

/* ACTIVATE, BLOCK, UNBLOCK: a bit of ready or blocked */
void twin_emit_task(struct emit *e, const struct twin_dec *d)
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
