// SPDX-License-Identifier: MIT
// One tile behind hw/model/machine.h. Compiled once per tile that is built, with
//	VM_TRACE	0, or 1: its signals can be recorded (wave.hpp)
//	TILE_CLASS	the Verilated class
//	TILE_OPS	name of the wse_machine_ops to define
//	TILE_ROWS, TILE_COLS, TILE_GROUP
// and, in cores.inc, one line CORE(row, col) per core. What a debugger asks for is in peek.hpp.
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

// Verilator's: what follows from registers without a clock
void CAT(TILE_CLASS, ___024root___eval_settle)(CAT(TILE_CLASS, ___024root) * root);

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

// When only a budget can end what executes: on to the cycle in which the first one does. Not while
// a command is being ended: its record tells the cycle, and the other budgets go on meanwhile.
uint64_t Model::jump(uint64_t max)
{
	const auto &q = *top.rootp->__PVT__wse_top__DOT__u_host__DOT__u_queue;
	uint64_t first = UINT64_MAX, n;

	if (!q.rests || !q.act || q.act & (1 | q.expired))
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
		// before the cycle, not behind it: where an advance ends in the middle of a jump
		// the next one goes on with it, so the queue's rounds are where they would be
		if (t->still > STUCK && t->quiet()) {
			done += t->jump(max_cycles - done);
			if (done == max_cycles)
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
	}
	if (ran)
		*ran = done;
	return why;
}

#include "peek.hpp"

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
