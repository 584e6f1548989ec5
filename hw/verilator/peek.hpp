// SPDX-License-Identifier: MIT
// The debugger's side of hw/model/machine.h for a Verilated tile: memory, accumulators, state and
// units of a core, read from its registers and written to them. A part of tile.cpp, which includes
// it behind Model.
bool range_ok(uint32_t core, uint32_t addr, size_t len)
{
	return core < N && addr >= WSE_SRAM_BASE && addr - WSE_SRAM_BASE <= WSE_SRAM_BYTES &&
	       len <= WSE_SRAM_BYTES - (addr - WSE_SRAM_BASE);
}

uint32_t *word(Core *c, uint32_t i)
{
	return &c->u_memory__DOT__u_sram__DOT__m[i >> 2][i & 3];
}

// the bytes that a store which has retired will still write: its enables are of a row of 16
bool to_come(const Core *c, uint32_t at, uint8_t *byte)
{
	if (!c->__PVT__ls_req || c->__PVT__ls_row != at >> 4 || !(c->__PVT__ls_we >> (at & 15) & 1))
		return false;
	*byte = c->__PVT__ls_wd >> 8 * (at & 3);
	return true;
}

int m_peek(struct wse_machine *m, uint32_t core, uint32_t addr, void *buf, size_t len)
{
	uint8_t *p = static_cast<uint8_t *>(buf);

	if (!range_ok(core, addr, len))
		return -EINVAL;
	for (uint32_t a = addr - WSE_SRAM_BASE; len--; a++, p++)
		if (!to_come(self(m)->core[core], a, p))
			*p = *word(self(m)->core[core], a / 4) >> 8 * (a & 3);
	return 0;
}

int m_poke(struct wse_machine *m, uint32_t core, uint32_t addr, const void *buf, size_t len)
{
	const uint8_t *p = static_cast<const uint8_t *>(buf);

	if (!range_ok(core, addr, len))
		return -EINVAL;
	for (uint32_t a = addr - WSE_SRAM_BASE; len--; a++) {
		uint32_t *w = word(self(m)->core[core], a / 4), sh = 8 * (a & 3);

		*w = (*w & ~(0xffu << sh)) | uint32_t(*p++) << sh;
	}
	self(m)->core[core]->u_rv32__DOT__ib_ok = 0;	// fetched rows
	self(m)->core[core]->u_rv32__DOT__f_in = 0;
	return 0;
}

int m_get_acc(struct wse_machine *m, uint32_t core, uint32_t acc[128])
{
	if (core >= N)
		return -EINVAL;
	for (unsigned i = 0; i < 128; i++) {
		const Core *c = self(m)->core[core];

		acc[i] = c->u_lanes__DOT__clean >> i / 8 & 1 ? 0
							     : c->u_lanes__DOT__acc[i / 8][i % 8];
	}
	return 0;
}

int m_get_state(struct wse_machine *m, uint32_t core, struct wse_core_state *st)
{
	if (core >= N)
		return -EINVAL;
	const Core *c = self(m)->core[core];

	for (unsigned i = 0; i < 32; i++)
		st->x[i] = c->u_rv32__DOT__x[i];
	st->pc = c->u_rv32__DOT__pc;
	st->mstatus = c->u_rv32__DOT__mstatus | 3u << 11;
	st->mtvec = c->u_rv32__DOT__mtvec;
	st->mepc = c->u_rv32__DOT__mepc;
	st->mcause = c->u_rv32__DOT__mcause;
	st->mtval = c->u_rv32__DOT__mtval;
	st->mscratch = c->u_rv32__DOT__mscratch;
	st->minstret = c->u_rv32__DOT__minstret;
	st->mcycle = c->u_rv32__DOT__mcycle;
	st->run = c->faulted			    ? WSE_CORE_FAULTED
		  : (c->run || c->goes) && !c->halt ? WSE_CORE_RUNNING
						    : WSE_CORE_HELD;
	st->fault_cause = c->faulted ? c->fault_cause_o : 0;
	st->fault_addr = c->faulted ? c->fault_addr_o : 0;
	st->wdata = c->u_rv32__DOT__wdata;
	st->winfo = c->u_rv32__DOT__winfo;
	return 0;
}

void get_ins(const VlWide<14> &from, struct wse_tensor_ins *to)
{
	to->tcw = from[13];
	to->scalar = from[12];
	for (unsigned i = 0; i < 4; i++) {
		to->dst[i] = from[11 - i];
		to->src1[i] = from[7 - i];
		to->src2[i] = from[3 - i];
	}
}

// what the scalar side has retired and the other units take at the next clock edge
void in_flight(const Core *c, struct wse_core_units *u)
{
	const uint32_t a = c->__PVT__cmd_a, b = c->__PVT__cmd_b, task = 1u << (a & 31);

	if (c->__PVT__iq_valid && c->__PVT__iq_op < 2) {
		u->dsr[c->__PVT__iq_idx][2 * c->__PVT__iq_op] = a;
		u->dsr[c->__PVT__iq_idx][2 * c->__PVT__iq_op + 1] = c->__PVT__iq_op ? b & 0xff : b;
	}
	if (c->__PVT__iq_valid && c->__PVT__iq_op == 2)
		u->waiting[a >> 20 & 3]++;
	if (c->rt_we_o) {
		u->rx[c->rt_color_o] = (c->rt_cfg_o & 7) < 5 ? c->rt_cfg_o & 7 : 7;
		u->tx[c->rt_color_o] = c->rt_cfg_o >> 3 & 31;
	}
	if (!c->__PVT__tk_valid)
		return;
	switch (c->__PVT__tk_op) {
	case WSE_TASKOP_BIND:
	case WSE_TASKOP_CBIND:
		u->bind[c->__PVT__tk_op == WSE_TASKOP_CBIND][a & 31] =
			(b & 0xff) == 0xff ? 0xff : b & 31;
		break;
	case WSE_TASKOP_ENTRY:
		u->entry[a & 31] = b;
		break;
	case WSE_TASKOP_ACTIVATE:
		u->ready |= task;
		break;
	case WSE_TASKOP_BLOCK:
		u->blocked |= task;
		break;
	case WSE_TASKOP_UNBLOCK:
		u->blocked &= ~task;
		break;
	}
}

int m_get_units(struct wse_machine *m, uint32_t core, struct wse_core_units *u)
{
	if (core >= N)
		return -EINVAL;
	const Core *c = self(m)->core[core];
	const Router *r = self(m)->router[core];

	*u = {};
	for (unsigned i = 0; i < 16; i++) {
		u->dsr[i][0] = c->__PVT__u_issue__DOT__w0[i];
		u->dsr[i][1] = c->__PVT__u_issue__DOT__w1[i];
		u->dsr[i][2] = c->__PVT__u_issue__DOT__w2[i];
		u->dsr[i][3] = c->__PVT__u_issue__DOT__w3[i];
	}
	u->busy = c->__PVT__busy;
	get_ins(c->__PVT__u_lanes__DOT__ins, &u->running[0]);
	get_ins(c->__PVT__u_m0__DOT__ins, &u->running[1]);
	get_ins(c->__PVT__u_m1__DOT__ins, &u->running[2]);
	for (unsigned i = 0; i < 3; i++) {
		u->waiting[i] = (c->__PVT__u_issue__DOT__v0 >> i & 1) +
				(c->__PVT__u_issue__DOT__v1 >> i & 1);
		if (!(u->busy >> i & 1))
			u->running[i] = {};
	}
	u->dotq = c->__PVT__u_dotq__DOT__count;
	u->start = c->__PVT__start || c->__PVT__u_tasks__DOT__start;
	u->done = c->done_o;
	for (unsigned i = 0; i < 32; i++)
		u->entry[i] = c->__PVT__u_tasks__DOT__entry[i];
	u->ready = c->__PVT__u_tasks__DOT__ready;
	u->blocked = c->__PVT__u_tasks__DOT__blocked;
	for (unsigned i = 0; i < 24; i++) {
		u->bind[0][i] = c->__PVT__u_tasks__DOT__dbound >> i & 1
					? c->__PVT__u_tasks__DOT__dtask[i]
					: 0xff;
		u->bind[1][i] = c->__PVT__u_tasks__DOT__cbound >> i & 1
					? c->__PVT__u_tasks__DOT__ctask[i]
					: 0xff;
		u->recv[i] = (c->__PVT__u_ramp__DOT__n0 >> i & 1) |
			     (c->__PVT__u_ramp__DOT__n1 >> i & 1) << 1 |
			     (c->__PVT__u_ramp__DOT__n2 >> i & 1) << 2;
		u->rx[i] = 7;
		for (unsigned p = 0; p < 5; p++) {
			unsigned from = (r->__PVT__rp0[p] >> i & 1) | (r->__PVT__rp1[p] >> i & 1)
									      << 1;
			unsigned to = (r->__PVT__wp0[p] >> i & 1) | (r->__PVT__wp1[p] >> i & 1)
									    << 1;

			if (r->__PVT__nonempty[p] >> i & 1)
				u->queue[p][i] = to == from ? 4 : (to - from) & 3;
			if (r->__PVT__rxmask[p] >> i & 1)
				u->rx[i] = p;
			u->tx[i] |= (r->__PVT__txmask[p] >> i & 1) << p;
		}
	}
	in_flight(c, u);
	u->wait_cause = c->wait_cause_o;
	u->wait_color = c->wait_color_o;
	// the status is late by two cycles: an instruction that has just retired no longer waits
	if (c->u_rv32__DOT__tr_valid && u->wait_cause >= WSE_CAUSE_WAIT_TASK &&
	    u->wait_cause <= WSE_CAUSE_WAIT_ENGINE) {
		u->wait_cause = u->busy ? WSE_CAUSE_WAIT_L + __builtin_ctz(u->busy) : 0;
		u->wait_color = ~0u;
	}
	return 0;
}

int m_set_state(struct wse_machine *m, uint32_t core, const struct wse_core_state *st)
{
	if (core >= N || st->run > WSE_CORE_FAULTED)
		return -EINVAL;
	Core *c = self(m)->core[core];

	for (unsigned i = 1; i < 32; i++)
		c->u_rv32__DOT__x[i] = st->x[i];
	c->u_rv32__DOT__pc = st->pc;
	c->u_rv32__DOT__mstatus = st->mstatus & (1u << 3 | 1u << 7);
	c->u_rv32__DOT__mtvec = st->mtvec & ~3u;
	c->u_rv32__DOT__mepc = st->mepc & ~3u;
	c->u_rv32__DOT__mcause = st->mcause;
	c->u_rv32__DOT__mtval = st->mtval;
	c->u_rv32__DOT__mscratch = st->mscratch;
	c->u_rv32__DOT__minstret = st->minstret;
	c->u_rv32__DOT__mcycle = st->mcycle;
	c->halt = st->run == WSE_CORE_HELD;
	c->goes |= c->booting && st->run != WSE_CORE_HELD;
	c->run |= !c->booting && st->run != WSE_CORE_HELD;
	c->faulted = st->run == WSE_CORE_FAULTED;
	c->fault_cause_o = st->fault_cause;
	c->fault_addr_o = st->fault_addr;
	c->u_rv32__DOT__wdata = st->wdata;
	c->u_rv32__DOT__winfo = st->winfo;
	c->u_rv32__DOT__redo = 1;
	CAT(TILE_CLASS, ___024root___eval_settle)(self(m)->top.rootp);
	self(m)->still = 0;
	return 0;
}
