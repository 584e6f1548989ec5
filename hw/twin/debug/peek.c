// SPDX-License-Identifier: MIT
/* The debugger's side of hw/model/machine.h: memory, state, traces, replay. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "twin/exact/decode.h"
#include "twin/twin.h"

static bool outside(const struct wse_machine *m, uint32_t core, uint32_t addr, size_t len)
{
	uint32_t off = addr - WSE_SRAM_BASE;

	return core >= m->ncores || off > WSE_SRAM_BYTES || len > WSE_SRAM_BYTES - off;
}

int twin_peek(struct wse_machine *m, uint32_t core, uint32_t addr, void *buf, size_t len)
{
	if (outside(m, core, addr, len))
		return -EINVAL;
	memcpy(buf, m->core[core].sram + (addr - WSE_SRAM_BASE), len);
	return 0;
}

int twin_poke(struct wse_machine *m, uint32_t core, uint32_t addr, const void *buf, size_t len)
{
	if (outside(m, core, addr, len))
		return -EINVAL;
	memcpy(m->core[core].sram + (addr - WSE_SRAM_BASE), buf, len);
	twin_code_changed(&m->core[core], addr - WSE_SRAM_BASE, len);
	return 0;
}

int twin_get_acc(struct wse_machine *m, uint32_t core, uint32_t acc[128])
{
	if (core >= m->ncores)
		return -EINVAL;
	memcpy(acc, m->core[core].acc, sizeof(m->core[core].acc));
	return 0;
}

/* members that a core and its state have alike, and the bits that may be set */
/* clang-format off */
#define STATE(X)                                                                               \
	X(pc, ~0u) X(mstatus, 1u << 3 | 1u << 7) X(mtvec, ~3u) X(mepc, ~3u) X(mcause, ~0u)     \
	X(mtval, ~0u) X(mscratch, ~0u) X(minstret, ~0ull) X(run, ~0u) X(fault_cause, ~0u)      \
	X(fault_addr, ~0u) X(wdata, ~0u) X(winfo, ~0u)
/* clang-format on */

int twin_get_state(struct wse_machine *m, uint32_t core, struct wse_core_state *st)
{
	const struct twin_core *c;

	if (core >= m->ncores)
		return -EINVAL;
	c = &m->core[core];
	memset(st, 0, sizeof(*st));
	memcpy(st->x, c->x, sizeof(st->x));
#define GET(name, mask) st->name = c->name;
	STATE(GET)
	st->mstatus |= 3u << 11;
	st->mcycle = m->now + c->mcycle_off;
	return 0;
}

int twin_set_state(struct wse_machine *m, uint32_t core, const struct wse_core_state *st)
{
	struct twin_core *c;

	if (core >= m->ncores || st->run > WSE_CORE_FAULTED)
		return -EINVAL;
	c = &m->core[core];
	memcpy(c->x, st->x, sizeof(st->x));
	c->x[0] = 0;
#define SET(name, mask) c->name = st->name & (mask);
	STATE(SET)
	c->mcycle_off = st->mcycle - m->now;
	*c->takes = 0;
	c->wait = WAIT_NONE;
	c->mesh->ended = true;
	twin_wake(c->mesh, c);
	return 0;
}

/* n DSRs, with the bits that they have */
static void copy_dsrs(uint32_t (*to)[4], const uint32_t (*from)[4], unsigned int n)
{
	for (; n--; to++, from++) {
		memcpy(*to, *from, sizeof(*to));
		(*to)[3] &= WSE_DSR3_KIND_MASK | WSE_DSR3_DTYPE_MASK;
	}
}

int twin_get_units(struct wse_machine *m, uint32_t core, struct wse_core_units *u)
{
	const struct twin_core *c;
	unsigned int i, p;

	if (core >= m->ncores)
		return -EINVAL;
	c = &m->core[core];
	memset(u, 0, sizeof(*u));
	copy_dsrs(u->dsr, c->dsr, WSE_NDSR);
	for (i = 0; i < 3; i++) {
		const struct twin_engine *e = &c->eng[i];

		u->busy |= (uint32_t)e->started << i;
		u->waiting[i] = e->n - e->started;
		if (!e->started)
			continue;
		u->running[i].tcw = e->q[0].tcw;
		u->running[i].scalar = e->q[0].scalar;
		copy_dsrs(&u->running[i].dst, &e->q[0].dsr[OPND_DST], 1);
		copy_dsrs(&u->running[i].src1, &e->q[0].dsr[OPND_SRC1], 1);
		copy_dsrs(&u->running[i].src2, &e->q[0].dsr[OPND_SRC2], 1);
	}
	u->dotq = c->dotq.count;
	u->start = c->start;
	u->done = c->done;
	memcpy(u->entry, c->entry, sizeof(u->entry));
	u->ready = c->ready;
	u->blocked = c->blocked;
	memcpy(u->bind, c->bind, sizeof(u->bind));
	memcpy(u->tx, c->tx, sizeof(u->tx));
	for (i = 0; i < WSE_NCOLORS; i++) {
		u->rx[i] = c->rx[i] < 5 ? c->rx[i] : 7;
		for (p = 0; p < 5; p++)
			u->queue[p][i] = c->in[p][i].count;
		u->recv[i] = c->recv[i].count;
	}
	twin_core_find_waiter(c, &u->wait_cause, &u->wait_color);
	return 0;
}

int twin_trace_retire(struct wse_machine *m, uint32_t core, wse_retire_fn fn, void *arg)
{
	uint32_t i;

	if (core != ~0u && core >= m->ncores)
		return -EINVAL;
	m->traced = 0;
	for (i = 0; i < m->ncores; i++) {
		if (core == ~0u || core == i) {
			m->core[i].trace = fn;
			m->core[i].trace_arg = arg;
		}
		m->traced += m->core[i].trace != NULL;
	}
	return 0;
}

int twin_replay_pick(struct wse_machine *m, uint32_t core, uint8_t task, uint32_t winfo)
{
	struct twin_core *c;
	struct twin_pick *p;

	if (core >= m->ncores || (task >= WSE_NTASKS && task != 0xff))
		return -EINVAL;
	c = &m->core[core];
	if (c->pick_at && c->pick_at == c->npicks)
		c->pick_at = c->npicks = 0;
	p = realloc(c->picks, (c->npicks + 1) * sizeof(*p));
	if (!p)
		return -ENOMEM;
	c->picks = p;
	p[c->npicks].task = task;
	p[c->npicks++].winfo = winfo;
	c->replay = true;
	twin_wake(c->mesh, c);
	return 0;
}

/* does the instruction write rd? */
static bool has_rd(const struct twin_dec *d)
{
	return (d->op >= OP_lui && d->op <= OP_jalr) || (d->op >= OP_lb && d->op <= OP_lhu) ||
	       (d->op >= OP_addi && d->op <= OP_remu) || d->op == OP_csr || d->op == OP_tnext ||
	       d->op == OP_recv;
}

static void fill_store(const struct twin_core *c, const struct twin_dec *d, struct wse_retire *r)
{
	if (d->op < OP_sb || d->op > OP_sw)
		return;
	r->mem_size = 1u << (d->op - OP_sb);
	r->mem_addr = c->x[d->rs1] + (uint32_t)d->imm;
	r->mem_data = c->x[d->rs2];
	if (r->mem_size < 4)
		r->mem_data &= (1u << 8 * r->mem_size) - 1;
}

/* as twin_exec(), one instruction at a time with a record of each */
void twin_trace_exec(struct twin_mesh *m, struct twin_core *c, uint32_t limit)
{
	while (limit--) {
		struct wse_retire r = {.core = c->idx, .pc = c->pc};
		uint64_t retired = c->retired, traps = c->traps;
		struct twin_dec d;

		r.insn = twin_decode_next(&d, c);
		fill_store(c, &d, &r);
		twin_exec(m, c, 1);
		if (c->traps != traps) {
			r.trap = 1;
			r.mem_size = 0;
			r.rd_value = c->last_cause;
		} else if (c->retired == retired) {
			return; /* it waits, or is not running */
		} else if (has_rd(&d)) {
			r.rd = r.insn >> 7 & 0x1f;
			r.rd_value = c->x[r.rd];
		}
		if (!r.trap && (d.op == OP_tnext || d.op == OP_recv)) {
			r.wdata = c->wdata;
			r.winfo = c->winfo;
			r.pick = d.op == OP_tnext;
			r.pick_task = r.pick ? c->last_pick : 0;
		}
		r.next_pc = c->pc;
		c->trace(c->trace_arg, &r);
		if (c->run != WSE_CORE_RUNNING || m->dev->brk)
			return;
	}
}
