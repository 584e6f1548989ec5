// SPDX-License-Identifier: MIT
// One tile behind hw/model/machine.h. Compiled once per tile that is built, with
//	VM_TRACE	0, or 1: its signals can be recorded (wave.hpp)
//	TILE_CLASS	the Verilated class
//	TILE_OPS	name of the wse_machine_ops to define
//	TILE_ROWS, TILE_COLS, TILE_GROUP
// and, in cores.inc, one line CORE(row, col) per core.
#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#define STR(x) STR1(x)
#define STR1(x) #x
#define CAT(a, b) CAT1(a, b)
#define CAT1(a, b) a##b
#include STR(TILE_CLASS.h)
#include STR(CAT(TILE_CLASS, ___024root.h))
#include STR(CAT(TILE_CLASS, __Syms.h))

#include "axi_slave.hpp"
#include "events.hpp"
#if VM_TRACE
#include "wave.hpp"
#endif
extern "C" {
#include "wse_rtl.h"
#include "wse_regs.h"
}

extern "C" const struct wse_machine_ops TILE_OPS;

namespace {

constexpr unsigned N = TILE_ROWS * TILE_COLS;
// AXI masters
constexpr unsigned Ports = TILE_GROUP ? 1 + TILE_COLS / (TILE_GROUP + !TILE_GROUP) : 1;
// cycles without a move after which nothing is under way in a core
constexpr unsigned SETTLE = 128;
// ... after which only a budget can end what executes (CLOSED looks at 1024)
constexpr unsigned STUCK = 1400;
enum { SVC_BOOT = 3 };

using Core = CAT(TILE_CLASS, _wse_core);
using Router = CAT(TILE_CLASS, _wse_router);

using Queue = std::remove_pointer_t<
	std::remove_reference_t<decltype(CAT(TILE_CLASS, ___024root)::
						 __PVT__wse_top__DOT__u_host__DOT__u_queue)>>;

struct Model : wse_machine {
	VerilatedContext ctx;
	TILE_CLASS top;
	struct wse_host_ops host_ops;
	void *host;
	std::vector<AxiSlave> axi;	// of rings and copies first
	Core *core[N];
	const Router *router[N];
	uint64_t now = 0, still = 0;	// still: cycles since something moved
	bool stop = false;
	uint32_t irqs = 0;		// requests not delivered yet, a bit per vector
	unsigned traced = 0;		// cores with a trace
	wse_retire_fn trace_fn[N] = {};
	void *trace_arg[N] = {};
	std::unique_ptr<Events<Core, Router, Queue>> events;
#if VM_TRACE
	std::unique_ptr<Wave> wave;
#endif

	Model(const struct wse_machine_cfg &cfg, const struct wse_host_ops *ops, void *h);
	// the scopes of a Verilated class sign off with the thread's context, which may be a later
	// model's
	~Model() { Verilated::threadContextp(&ctx); }
	uint64_t &cycles()
	{
		return top.rootp->vlSymsp->TOP__wse_top__DOT__u_host__DOT__u_bar.cycle;
	}
	void edge();
	void tick();
	void freeze();
	bool quiet() const;
	void trace();
	void watch();
	void deliver();
	uint64_t jump(uint64_t max);
	uint32_t read(uint32_t offset);
	void write(uint32_t offset, uint32_t value);
};

Model::Model(const struct wse_machine_cfg &cfg, const struct wse_host_ops *ops, void *h)
	: top(&ctx, "tile"), host_ops(*ops), host(h)
{
	unsigned i = 0;

#if VM_TRACE
	ctx.traceEverOn(true);
#endif
#define AT(r, c) \
  TOP__wse_top__DOT__u_wafer__DOT__g_row__BRA__##r##__KET____DOT__g_col__BRA__##c##__KET____DOT__
#define CORE(r, c)                                                \
	router[i] = &top.rootp->vlSymsp->CAT(AT(r, c), u_router); \
	core[i++] = &top.rootp->vlSymsp->CAT(AT(r, c), u_core);
#include "cores.inc"
#if TILE_COLS > 1
	using Syms = CAT(TILE_CLASS, __Syms);
	static_assert((offsetof(Syms, CAT(AT(0, 1), u_core)) -
		       offsetof(Syms, CAT(AT(0, 0), u_core))) / 64 % 2,
		      "cores lie an odd number of cache lines apart: build-tile");
#endif
#undef CORE
#undef AT
	for (unsigned p = 0; p < Ports; p++)
		axi.emplace_back(cfg, &host_ops, h, p);
	top.s_bready_i = top.s_rready_i = 1;
	freeze();
	top.rst_ni = 0;
	for (i = 0; i < 4; i++)
		edge();
	top.rst_ni = 1;
	for (i = 0; i < 40; i++)
		edge();
	now = 0;
}

void Model::edge()
{
	top.clk_i = 1;
	top.eval();
#if VM_TRACE
	if (wave)
		wave->rise(now);
#endif
	top.clk_i = 0;
	top.eval();
#if VM_TRACE
	if (wave)
		wave->fall(now);
#endif
	now++;
	still = top.moved_o ? 0 : still + 1;
	if (top.irq_o)
		irqs |= 1u << top.irq_vec_o;
	if (traced)
		trace();
	if (events)
		watch();
}

void Model::watch()
{
	for (unsigned i = 0; i < N; i++)
		events->core(i, core[i], router[i], now);
	events->commands(*top.rootp->__PVT__wse_top__DOT__u_host__DOT__u_queue, now);
}

void Model::tick()
{
	for (AxiSlave &a : axi)
		a.drive(top, now);
	edge();
}

void Model::freeze()
{
	for (AxiSlave &a : axi)
		a.freeze(top);
}

bool Model::quiet() const
{
	for (const AxiSlave &a : axi)
		if (!a.quiet())
			return false;
	return true;
}

void Model::deliver()
{
	while (irqs) {
		unsigned v = __builtin_ctz(irqs);

		irqs &= irqs - 1;
		host_ops.irq(host, v);
	}
}

void Model::trace()
{
	for (unsigned i = 0; i < N; i++) {
		const Core *c = core[i];
		struct wse_retire r = {};

		if (!c->u_rv32__DOT__tr_valid || !trace_fn[i])
			continue;
		r.core = i;
		r.pc = c->u_rv32__DOT__tr_pc;
		r.insn = c->u_rv32__DOT__tr_insn;
		r.rd = c->u_rv32__DOT__tr_rd;
		r.rd_value = c->u_rv32__DOT__tr_value;
		r.mem_addr = c->u_rv32__DOT__tr_addr;
		r.mem_data = c->u_rv32__DOT__tr_data;
		r.mem_size = c->u_rv32__DOT__tr_size;
		r.trap = c->u_rv32__DOT__tr_trap;
		r.pick = c->u_rv32__DOT__tr_pick;
		r.pick_task = c->u_rv32__DOT__tr_task;
		r.wdata = c->u_rv32__DOT__wdata;
		r.winfo = c->u_rv32__DOT__winfo;
		r.next_pc = c->u_rv32__DOT__pc;
		trace_fn[i](trace_arg[i], &r);
	}
}

// When only a budget can end what executes: on to the cycle in which the first one does.
uint64_t Model::jump(uint64_t max)
{
	const auto &q = *top.rootp->__PVT__wse_top__DOT__u_host__DOT__u_queue;
	uint64_t first = UINT64_MAX, n;

	if (!q.act || q.act & 1)
		return 0;
	for (unsigned x = 0; x < 4; x++)
		if (q.act >> x & 1)
			first = std::min<uint64_t>(first, q.deadline[x]);
	if (first == UINT64_MAX || first <= cycles() + 2)
		return 0;
	n = std::min(first - cycles() - 2, max);
	cycles() += n;
	now += n;
	return n;
}

uint32_t Model::read(uint32_t offset)
{
	uint32_t v;

	freeze();
	top.s_araddr_i = offset & 0xfffc;
	top.s_arvalid_i = 1;
	edge();
	top.s_arvalid_i = 0;
	while (!top.s_rvalid_o)
		edge();
	v = top.s_rdata_o;
	edge();
	return v;
}

void Model::write(uint32_t offset, uint32_t value)
{
	// a write that resets is answered when the bus has come to rest, so the bus must run
	bool bus = (offset & 0xfffc) == WSE_REG_CTRL;

	freeze();
	top.s_awaddr_i = offset & 0xfffc;
	top.s_wdata_i = value;
	top.s_awvalid_i = top.s_wvalid_i = 1;
	edge();
	top.s_awvalid_i = top.s_wvalid_i = 0;
	while (!top.s_bvalid_o) {
		if (bus)
			tick();
		else
			edge();
	}
	freeze();
	edge();
	edge();
	deliver();			// a vector that was unmasked
	still = 0;
}

Model *self(struct wse_machine *m) { return static_cast<Model *>(m); }

int m_create(const struct wse_machine_cfg *cfg, const struct wse_host_ops *ops, void *host,
	     struct wse_machine **m)
{
	Model *n = new (std::nothrow) Model(*cfg, ops, host);

	if (!n)
		return -ENOMEM;
	n->ops = &TILE_OPS;
	*m = n;
	return 0;
}

void m_destroy(struct wse_machine *m) { delete self(m); }
uint32_t m_mmio_read(struct wse_machine *m, uint32_t offset) { return self(m)->read(offset); }
void m_mmio_write(struct wse_machine *m, uint32_t offset, uint32_t value)
{
	self(m)->write(offset, value);
}
void m_brk(struct wse_machine *m) { self(m)->stop = true; }
void m_reset(struct wse_machine *m) { self(m)->write(WSE_REG_CTRL, WSE_CTRL_RST_MASK); }

enum wse_stop m_advance(struct wse_machine *m, uint64_t max_cycles, uint64_t *ran)
{
	Model *t = self(m);
	uint64_t done = 0;
	enum wse_stop why = WSE_STOP_CYCLES;

	t->stop = false;
	t->deliver();
	while (done < max_cycles) {
		if (t->stop) {
			why = WSE_STOP_BREAK;
			break;
		}
		t->tick();
		done++;
		if (t->irqs)
			t->deliver();
		if (t->still < SETTLE || !t->quiet())
			continue;
		if (t->top.idle_o) {
			why = WSE_STOP_IDLE;
			break;
		}
		if (t->top.halted_o) {
			why = WSE_STOP_HALTED;
			break;
		}
		if (t->still > STUCK)
			done += t->jump(max_cycles - done);
	}
	if (ran)
		*ran = done;
	return why;
}

bool range_ok(uint32_t core, uint32_t addr, size_t len)
{
	return core < N && addr >= WSE_SRAM_BASE && addr - WSE_SRAM_BASE <= WSE_SRAM_BYTES &&
	       len <= WSE_SRAM_BYTES - (addr - WSE_SRAM_BASE);
}

uint32_t *word(Core *c, uint32_t i)
{
	switch (i & 3) {
	case 0: return &c->u_memory__DOT__u_sram__DOT__m0[i >> 2];
	case 1: return &c->u_memory__DOT__u_sram__DOT__m1[i >> 2];
	case 2: return &c->u_memory__DOT__u_sram__DOT__m2[i >> 2];
	default: return &c->u_memory__DOT__u_sram__DOT__m3[i >> 2];
	}
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
	self(m)->still = 0;
	return 0;
}

int m_boot(struct wse_machine *m, uint32_t core, uint32_t pc)
{
	Model *t = self(m);
	bool ready;

	if (core >= N || pc < WSE_SRAM_BASE || pc - WSE_SRAM_BASE >= WSE_SRAM_BYTES || pc & 3)
		return -EINVAL;
	t->freeze();
	t->top.dbg_op_i = SVC_BOOT;
	t->top.dbg_addr_i = pc & 0xffff;
	t->top.dbg_row_i = core / TILE_COLS;
	t->top.dbg_col_i = core % TILE_COLS;
	t->top.dbg_valid_i = 1;
	do {
		t->top.eval();
		ready = t->top.dbg_ready_o;
		t->edge();
	} while (!ready);
	t->top.dbg_valid_i = 0;
	while (!t->core[core]->booting)		// the operation is on its way
		t->edge();
	while (t->core[core]->booting)
		t->edge();
	t->still = 0;
	return 0;
}

int m_step(struct wse_machine *m, uint32_t core, uint64_t max_cycles)
{
	if (core >= N)
		return -EINVAL;
	Model *t = self(m);

	while (max_cycles--) {
		t->tick();
		if (t->irqs)
			t->deliver();
		if (t->core[core]->u_rv32__DOT__tr_valid && !t->core[core]->u_rv32__DOT__tr_trap)
			return 0;
	}
	return -ETIME;
}

int m_trace_retire(struct wse_machine *m, uint32_t core, wse_retire_fn fn, void *arg)
{
	Model *t = self(m);

	if (core != ~0u && core >= N)
		return -EINVAL;
	for (unsigned i = 0; i < N; i++) {
		if (core != ~0u && core != i)
			continue;
		t->traced += !!fn;
		t->traced -= !!t->trace_fn[i];
		t->trace_fn[i] = fn;
		t->trace_arg[i] = arg;
	}
	return 0;
}

int m_events(struct wse_machine *m, uint32_t core, uint32_t kinds, wse_ev_fn fn, void *arg)
{
	Model *t = self(m);

	if ((core != ~0u && core >= N) || kinds >> WSE_EV_KINDS)
		return -EINVAL;
	t->events.reset();
	if (!fn || !kinds)
		return 0;
	t->events.reset(new (std::nothrow)
				Events<Core, Router, Queue>(N, core, kinds, fn, arg));
	if (!t->events)
		return -ENOMEM;
	for (unsigned i = 0; i < N; i++)
		t->events->begin(i, t->core[i]);
	t->events->begin(*t->top.rootp->__PVT__wse_top__DOT__u_host__DOT__u_queue);
	return 0;
}

int m_replay_pick(struct wse_machine *, uint32_t, uint8_t, uint32_t) { return -ENOTSUP; }

uint64_t m_cycles(struct wse_machine *m) { return self(m)->now; }

#if VM_TRACE
int m_wave_begin(struct wse_machine *m, const struct wse_wave *w)
{
	Model *t = self(m);
	int err;

	if (!w || !w->path || w->from >= w->to || (w->core != ~0u && w->core >= N))
		return -EINVAL;
	if (t->wave)
		return -EBUSY;
	t->wave.reset(new (std::nothrow) Wave(*w, TILE_ROWS, TILE_COLS, t->now));
	err = t->wave ? t->wave->open(t->top) : -ENOMEM;
	if (err)
		t->wave.reset();
	return err;
}

int m_wave_end(struct wse_machine *m, uint64_t *ran)
{
	Model *t = self(m);
	int err;

	if (!t->wave)
		return -ENOENT;
	if (ran)
		*ran = t->now - t->wave->begin();
	err = t->wave->close(t->now);
	t->wave.reset();
	return err;
}
#else
int m_wave_begin(struct wse_machine *, const struct wse_wave *) { return -ENOTSUP; }
int m_wave_end(struct wse_machine *, uint64_t *) { return -ENOENT; }
#endif

} // namespace

extern "C" const struct wse_machine_ops TILE_OPS = {
	WSE_MACHINE_API, "rtl",	       m_create,      m_destroy,   m_mmio_read,
	m_mmio_write,  m_advance,      m_brk,	      m_reset,	   m_peek,
	m_poke,	       m_get_acc,      m_get_state,   m_set_state, m_boot,
	m_step,	       m_trace_retire, m_replay_pick, m_get_units, m_cycles,
	m_wave_begin,  m_wave_end,     m_events,
};

#if VM_TRACE
extern "C" __attribute__((visibility("default"))) const struct wse_rtl_waves wse_rtl_waves = {
	WSE_MACHINE_API, sizeof(struct wse_machine_ops), &TILE_OPS};
#endif
