// SPDX-License-Identifier: MIT
// Events (hw/doc/events.md) of a Verilated tile, read behind each clock edge from the registers
// between the units. Nothing of the design is for them, so a tile costs the same without.
#ifndef EVENTS_HPP
#define EVENTS_HPP

#include <cstdint>
#include <vector>

extern "C" {
#include "machine.h"
#include "wse_regs.h"
}

// Core, Router, Queue: the Verilated classes, which are others in each tile
template <class Core, class Router, class Queue> class Events {
public:
	Events(uint32_t cores, uint32_t only, uint32_t kinds, wse_ev_fn fn, void *arg)
		: only(only), kinds(kinds), fn(fn), arg(arg), state(cores)
	{
	}

	// what is so when the events are asked for has been told before
	void begin(uint32_t i, const Core *c)
	{
		State &s = state[i];

		s.open = c->__PVT__busy;
		for (unsigned u = 0; u < 3; u++)
			keep(s, u, c);
		s.tnext = c->__PVT__rv_tnext;
		s.faulted = c->faulted;
		s.cause = 0;
		s.color = ~0u;
	}

	void begin(const Queue &q)
	{
		for (unsigned i = 0; i < NQ; i++)
			at[i] = q.__PVT__qs[i];
	}

	void core(uint32_t i, const Core *c, const Router *r, uint64_t now)
	{
		if (only != ~0u && only != i)
			return;
		cycle = now;
		index = i;
		scalar(state[i], c);
		engines(state[i], c);
		ramp(c);
		router(r);
		fault(state[i], c);
		stall(state[i], c);
	}

	// a queue's command is there, and has its status, where its state says so
	void commands(const Queue &q, uint64_t now)
	{
		cycle = now;
		for (unsigned i = 0; i < NQ; i++) {
			const unsigned was = at[i], is = q.__PVT__qs[i];

			if (was == is)
				continue;
			at[i] = is;
			if (was == Empty)
				command(q, i, WSE_EV_COMMAND);
			if (is == Done)
				command(q, i, WSE_EV_COMMAND_END);
		}
	}

private:
	enum { NQ = 5, Empty = 0, Done = 4 };
	struct State {
		uint32_t open = 0;	// engines whose instruction has begun ...
		uint32_t word[3] = {}, scalar[3] = {};	// ... and which that is
		bool tnext = false, faulted = false;
		uint32_t cause = 0, color = ~0u;	// of the last STALL
	};
	const uint32_t only, kinds;
	const wse_ev_fn fn;
	void *const arg;
	std::vector<State> state;
	uint8_t at[NQ] = {};
	uint64_t cycle = 0;
	uint32_t index = 0;

	wse_ev event(enum wse_ev_kind kind) const
	{
		wse_ev e = {};

		e.cycle = cycle;
		e.core = index;
		e.kind = kind;
		e.unit = WSE_EV_UNIT_SCALAR;
		e.color = WSE_EV_NO_COLOR;
		return e;
	}

	void tell(const wse_ev &e) const
	{
		if (kinds >> e.kind & 1)
			fn(arg, &e);
	}

	void command(const Queue &q, unsigned i, enum wse_ev_kind kind) const
	{
		wse_ev e = event(kind);

		e.core = i;
		e.data = uint32_t(q.__PVT__sqe[i << 4] & 0xff) | uint32_t(q.__PVT__cid[i]) << 16;
		e.info = kind == WSE_EV_COMMAND_END ? q.__PVT__res[i] : 0;
		tell(e);
	}

	void scalar(State &s, const Core *c) const
	{
		if (c->__PVT__rv_tnext && !s.tnext) {
			wse_ev e = event(WSE_EV_TASK_END);

			e.pc = c->u_rv32__DOT__pc;
			tell(e);
		}
		s.tnext = c->__PVT__rv_tnext;
		if (c->u_rv32__DOT__tr_valid && c->u_rv32__DOT__tr_pick &&
		    !c->u_rv32__DOT__tr_trap) {
			wse_ev e = event(WSE_EV_TASK);

			e.task = c->u_rv32__DOT__tr_task;
			e.pc = c->__PVT__ans_entry;
			e.data = c->u_rv32__DOT__wdata;
			e.info = c->u_rv32__DOT__winfo;
			tell(e);
		}
	}

	static void keep(State &s, unsigned u, const Core *c)
	{
		const auto &ins = u == 0   ? c->__PVT__u_lanes__DOT__ins
				  : u == 1 ? c->__PVT__u_m0__DOT__ins
					   : c->__PVT__u_m1__DOT__ins;

		s.word[u] = ins[13];
		s.scalar[u] = ins[12];
	}

	void engine(const State &s, unsigned u, enum wse_ev_kind kind) const
	{
		wse_ev e = event(kind);

		e.unit = u;
		e.data = s.word[u];
		e.info = s.scalar[u];
		tell(e);
	}

	void engines(State &s, const Core *c) const
	{
		const uint32_t failed = c->__PVT__l_fault | c->__PVT__m0_fault << 1 |
					c->__PVT__m1_fault << 2;
		const uint32_t take = c->__PVT__iq_take, busy = c->__PVT__busy;

		if (!c->run || c->faulted)
			s.open = 0;	// BOOT and faults end instructions without a word
		for (unsigned u = 0; u < 3; u++) {
			// of the one before, which ended in the cycle in which the next was taken
			if (s.open >> u & 1 && (take >> u & 1 || !(busy >> u & 1)) &&
			    !(failed >> u & 1))
				engine(s, u, WSE_EV_ENGINE_END);
			s.open &= ~(1u << u) | (busy & ~take & ~failed);
			if (take >> u & 1 && c->run) {
				keep(s, u, c);
				engine(s, u, WSE_EV_ENGINE);
				s.open |= 1u << u;
			}
		}
	}

	void in(const Core *c, unsigned unit, unsigned color) const
	{
		const unsigned slot = (c->__PVT__u_ramp__DOT__r0 >> color & 1) |
				      (c->__PVT__u_ramp__DOT__r1 >> color & 1) << 1;
		wse_ev e = event(WSE_EV_IN);

		e.unit = unit;
		e.color = color;
		e.ctrl = c->__PVT__u_ramp__DOT__k[slot] >> color & 1;
		e.data = c->__PVT__u_ramp__DOT__o[slot] >> color & 1
				 ? c->__PVT__u_ramp__DOT__data_n[color << 2 | slot]
				 : c->__PVT__u_ramp__DOT__data[color << 2 | slot];
		tell(e);
	}

	// a queue's head leaves at the next edge
	void ramp(const Core *c) const
	{
		if (!c->__PVT__flush) {
			if (c->__PVT__l_pop)
				in(c, 0, c->__PVT__l_color);
			if (c->__PVT__m0_pop)
				in(c, 1, c->__PVT__m0_color);
			if (c->__PVT__m1_pop)
				in(c, 2, c->__PVT__m1_color);
			if (c->__PVT__s_pop)
				in(c, WSE_EV_UNIT_SCALAR, c->__PVT__s_color);
		}
		if (c->tx_valid_o) {
			wse_ev e = event(WSE_EV_OUT);

			e.color = c->tx_color_o;
			e.ctrl = c->tx_ctrl_o;
			e.data = c->tx_data_o;
			tell(e);
		}
	}

	// a credit goes back where a wavelet has left an input queue; outputs have the same color
	void router(const Router *r) const
	{
		const uint8_t credit[5] = {r->rx_n_cr_o, r->rx_e_cr_o, r->rx_s_cr_o, r->rx_w_cr_o,
					   r->rx_r_cr_o};
		uint8_t head[5] = {r->tx_n_head_o, r->tx_e_head_o, r->tx_s_head_o, r->tx_w_head_o,
				   0};

		if (!(kinds >> WSE_EV_HOP & 1) || !r->popped_o)
			return;
		for (unsigned p = 0; p < 5; p++) {
			const unsigned color = credit[p] & 31;
			wse_ev e = event(WSE_EV_HOP);

			if (!(credit[p] & 32))
				continue;
			const unsigned slot = ((r->__PVT__rp0[p] >> color & 1) |
					       (r->__PVT__rp1[p] >> color & 1) << 1) +
					      3;

			e.color = color;
			e.from = p;
			head[4] = p ? r->tx_r_head_o : r->tx_rn_head_o;
			for (unsigned o = 0; o < 5; o++)
				e.to |= (head[o] >> 6 && (head[o] & 31) == color) << o;
			e.ctrl = r->__PVT__qctl[p << 2 | (slot & 3)] >> color & 1;
			e.data = stored(r, p, color << 2 | (slot & 3));
			tell(e);
		}
	}

	static uint32_t stored(const Router *r, unsigned port, unsigned i)
	{
		return port == 0   ? r->__PVT__q_n[i]
		       : port == 1 ? r->__PVT__q_e[i]
		       : port == 2 ? r->__PVT__q_s[i]
		       : port == 3 ? r->__PVT__q_w[i]
				   : r->__PVT__q_r[i];
	}

	void fault(State &s, const Core *c) const
	{
		if (c->faulted && !s.faulted) {
			wse_ev e = event(WSE_EV_FAULT);

			e.pc = c->fault_pc_o;
			e.data = c->fault_cause_o;
			e.info = c->fault_addr_o;
			tell(e);
		}
		s.faulted = c->faulted;
	}

	void stall(State &s, const Core *c) const
	{
		if (c->wait_cause_o == s.cause && c->wait_color_o == s.color)
			return;
		s.cause = c->wait_cause_o;
		s.color = c->wait_color_o;
		wse_ev e = event(WSE_EV_STALL);

		e.data = s.cause;
		e.color = s.color;
		e.pc = c->u_rv32__DOT__pc;
		tell(e);
	}
};

#endif
