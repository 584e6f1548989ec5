// SPDX-License-Identifier: MIT
// One wse_core on the bench: service plane, a router's end of the ramp modelled in C++, a small
// assembler.
#ifndef WSE_CORE_TB_HPP
#define WSE_CORE_TB_HPP
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "Vwse_core.h"
#include "Vwse_core___024root.h"
#include "verilated.h"
#include "wse_regs.h"

struct Wavelet {
	uint32_t data;
	bool ctrl;
};

class CoreTb {
public:
	VerilatedContext ctx;
	Vwse_core top;
	uint64_t cycles = 0, macs = 0, retired = 0, lwaits = 0;
	std::deque<Wavelet> in[24];		// on their way to the core
	std::deque<Wavelet> out[24];		// what the core has sent
	int in_credit[24];			// room in the core's receive queue
	std::deque<unsigned> owed;		// credits that the core will get back
	// color that wavelets of this color come back on, -1: none
	int loop[24];
	bool stall_out[24];			// keep the credits of a color
	bool holds = false;			// a debugger holds the core now and then
	// of 16 cycles, so many without a wavelet or a credit (random)
	unsigned busy_in = 0, busy_out = 0;
	unsigned max_owed = 4;
	uint32_t seed = 1;

	CoreTb() : top(&ctx, "core")
	{
		for (int c = 0; c < 24; c++) {
			in_credit[c] = WSE_CHAN_DEPTH;
			loop[c] = -1;
			stall_out[c] = false;
			held[c] = 0;
		}
		top.rows_i = 4;
		top.cols_i = 4;
		top.row_i = 1;
		top.col_i = 2;
		top.rst_ni = 0;
		for (int i = 0; i < 4; i++)
			tick();
		top.rst_ni = 1;
		tick();
	}

	uint32_t rnd()
	{
		seed = seed * 1664525u + 1013904223u;
		return seed >> 8;
	}

	// the next wavelet, not of the color that the other link has
	template <class Color, class Ctrl, class Data>
	bool offer(Color &color, Ctrl &ctrl, Data &data, int other)
	{
		for (int i = 1; i <= 24; i++) {
			int c = (last_in + i) % 24;

			if (in[c].empty() || !in_credit[c] || c == other)
				continue;
			color = c;
			ctrl = in[c].front().ctrl;
			data = in[c].front().data;
			in[c].pop_front();
			in_credit[c]--;
			pending--;
			last_in = c;
			return true;
		}
		return false;
	}

	void tick()
	{
		// wavelets to the core: any colors that have one and a credit, round robin, on
		// either link or on both
		top.rx_valid_i = top.rn_valid_i = 0;
		if (pending && !(busy_in && rnd() % 16 < busy_in)) {
			unsigned links = 1 + rnd() % 3;

			if (links & 1)
				top.rx_valid_i = offer(top.rx_color_i, top.rx_ctrl_i,
						       top.rx_data_i, -1);
			if (links & 2)
				top.rn_valid_i = offer(top.rn_color_i, top.rn_ctrl_i,
						       top.rn_data_i,
						       top.rx_valid_i ? top.rx_color_i : -1);
		}
		top.tx_cr_valid_i = 0;
		if (!owed.empty() && !(busy_out && rnd() % 16 < busy_out)) {
			top.tx_cr_valid_i = 1;
			top.tx_cr_color_i = owed.front();
			owed.pop_front();
		}
		if (holds && top.rootp->wse_core__DOT__run && rnd() % 32 == 0) {
			top.rootp->wse_core__DOT__halt = !top.rootp->wse_core__DOT__halt;
			top.rootp->wse_core__DOT__u_rv32__DOT__redo = 1;
		}
		top.clk_i = 0;
		top.eval();
		top.clk_i = 1;
		top.eval();
		cycles++;
		if (top.tx_valid_o) {
			unsigned c = top.tx_color_o;
			Wavelet w = { top.tx_data_o, bool(top.tx_ctrl_o) };

			sent++;
			if (loop[c] >= 0)
				feed(loop[c], w.data, w.ctrl);
			else
				out[c].push_back(w);
			if (stall_out[c])
				held[c]++;
			else
				owed.push_back(c);
		}
		if (top.rx_cr_valid_o)
			in_credit[top.rx_cr_color_o]++;
		if (top.rn_cr_valid_o)
			in_credit[top.rn_cr_color_o]++;
		macs += counted(WSE_CNT_CORE_MAC_MASK, WSE_CNT_CORE_MAC_SHIFT);
		retired += counted(WSE_CNT_CORE_INSTRET_MASK, WSE_CNT_CORE_INSTRET_SHIFT);
		lwaits += counted(WSE_CNT_CORE_LWAIT_MASK, WSE_CNT_CORE_LWAIT_SHIFT);
	}
	unsigned counted(unsigned mask, unsigned shift) const
	{
		return (top.cnt_o & mask) >> shift;
	}
	void release(int c)
	{
		stall_out[c] = false;
		for (; held[c]; held[c]--)
			owed.push_back(c);
	}
	void feed(int color, uint32_t data, bool ctrl = false)
	{
		in[color].push_back({ data, ctrl });
		pending++;
	}
	void run(unsigned n)
	{
		while (n--)
			tick();
	}

	// ---- service plane ----
	void svc(unsigned op, uint32_t addr = 0, uint64_t data = 0)
	{
		top.svc_sel_i = 1;
		top.svc_op_i = op;
		top.svc_addr_i = addr & 0xffff;
		top.svc_wdata_lo_i = uint32_t(data);
		top.svc_wdata_hi_i = uint32_t(data >> 32);
		tick();
		top.svc_sel_i = 0;
		top.svc_op_i = 0;
	}
	void write(uint32_t addr, const void *buf, size_t len)
	{
		for (size_t i = 0; i < len; i += 8) {
			uint64_t v = 0;

			memcpy(&v, (const char *)buf + i, len - i < 8 ? len - i : 8);
			svc(1, addr + i, v);
		}
		tick();
	}
	void read(uint32_t addr, void *buf, size_t len)
	{
		for (size_t i = 0; i < len; i += 8) {
			uint64_t v;

			svc(2, addr + i);
			tick();
			tick();
			v = top.svc_rdata_lo_o | uint64_t(top.svc_rdata_hi_o) << 32;
			memcpy((char *)buf + i, &v, len - i < 8 ? len - i : 8);
		}
	}
	void boot(uint32_t pc = 0)
	{
		svc(3, pc);
		run(3);			// until the old done and fault are gone
	}
	// until DONE or a fault; false: neither within max cycles
	bool finish(unsigned max = 100000)
	{
		while (max-- && !top.done_o && !top.faulted_o)
			tick();
		return top.done_o || top.faulted_o;
	}

private:
	unsigned pending = 0, last_in = 0, sent = 0;
	unsigned held[24];
};

// ---- assembler ----
enum { X0, RA, SP, GP, TP, T0, T1, T2, S0, S1, A0, A1, A2, A3, A4, A5, A6, A7 };

struct Asm {
	std::vector<uint32_t> w;

	uint32_t pc() const { return WSE_SRAM_BASE + 4 * uint32_t(w.size()); }
	void op(uint32_t v) { w.push_back(v); }
	void li(unsigned rd, uint32_t v)
	{
		uint32_t hi = (v + 0x800) & 0xfffff000;

		op(hi | rd << 7 | 0x37);
		op((v - hi) << 20 | rd << 15 | rd << 7 | 0x13);
	}
	void r(unsigned f3, unsigned f7, unsigned rd, unsigned rs1, unsigned rs2)
	{
		op(f7 << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | rd << 7 | 0x0b);
	}
	void dsr(unsigned d, uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3)
	{
		li(A0, w0);
		li(A1, w1);
		r(WSE_F3_DSR, 0, d, A0, A1);
		li(A0, w2);
		li(A1, w3);
		r(WSE_F3_DSR, 1, d, A0, A1);
	}
	void issue(uint32_t cw, uint32_t scalar = 0)
	{
		li(A0, cw);
		li(A1, scalar);
		r(WSE_F3_ISSUE, 0, 0, A0, A1);
	}
	void task(unsigned f7, uint32_t a, uint32_t b = 0)
	{
		li(A0, a);
		li(A1, b);
		r(WSE_F3_TASK, f7, 0, A0, A1);
	}
	void wait(uint32_t mask)
	{
		li(A0, mask);
		r(WSE_F3_SYS, WSE_SYSOP_WAIT, 0, A0, 0);
	}
	void send(uint32_t color, uint32_t data, bool ctrl = false)
	{
		li(A0, data);
		li(A1, color | uint32_t(ctrl) << 8);
		r(WSE_F3_SEND, 0, 0, A0, A1);
	}
	void tnext(unsigned rd) { r(WSE_F3_TNEXT, 0, rd, 0, 0); }
	void recv(unsigned rd, uint32_t color)
	{
		li(A0, color);
		r(WSE_F3_RECV, 0, rd, A0, 0);
	}
	void done(uint32_t v = 0)
	{
		li(A0, v);
		r(WSE_F3_SYS, WSE_SYSOP_DONE, 0, A0, 0);
	}
	void sw(unsigned rs2, uint32_t addr)
	{
		li(T0, addr);
		op(rs2 << 20 | T0 << 15 | 2 << 12 | 0x23);
	}
	void spin() { op(0x6f); }
};

static inline uint32_t tcw(unsigned engine, unsigned op, unsigned d, unsigned a, unsigned b,
			   uint32_t flags = 0)
{
	return op | d << WSE_TCW_DST_SHIFT | a << WSE_TCW_SRC1_SHIFT | b << WSE_TCW_SRC2_SHIFT |
	       engine << WSE_TCW_ENGINE_SHIFT | flags;
}
#endif
