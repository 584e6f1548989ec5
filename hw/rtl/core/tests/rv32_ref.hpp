// SPDX-License-Identifier: MIT
// The scalar side of hw/doc/core.md one instruction at a time, for the bench of wse_rv32:
// RV32IM_Zicsr, machine mode, and the scalar core's part of custom-0 (its outputs are Events).
#ifndef WSE_RV32_REF_HPP
#define WSE_RV32_REF_HPP
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "wse_regs.h"

struct Event {
	enum { Iq, Task, Route, Send, Done } kind;
	uint32_t op, idx, a, b;

	bool operator==(const Event &o) const
	{
		return kind == o.kind && op == o.op && idx == o.idx && a == o.a && b == o.b;
	}
};

// what the outside says: of TNEXT and RECV, and of the cycle counter
struct Outside {
	uint32_t entry = 0, wdata = 0, winfo = 0;
	uint64_t mcycle = 0;
};

struct Step {
	// rd 0: none; trap: cause in value, mtval in tval
	uint32_t pc, insn, rd = 0, value = 0;
	uint32_t addr = 0, data = 0, size = 0;		// store
	bool trap = false, halts = false, custom = false;
	uint32_t tval = 0;
	std::optional<Event> event;
	std::optional<uint64_t> mcycle;			// written
};

struct Rv32Ref {
	uint32_t x[32] = {}, pc, mstatus = 0, mtvec = 0, mepc = 0, mcause = 0, mtval = 0,
		 mscratch = 0, wdata = 0, winfo = 0;
	uint64_t minstret = 0;
	uint32_t row, col, rows, cols;
	std::vector<uint8_t> mem;

	explicit Rv32Ref(uint32_t start) : pc(start), mem(WSE_SRAM_BYTES) {}

	static bool inside(uint32_t addr) { return addr - WSE_SRAM_BASE < WSE_SRAM_BYTES; }
	uint32_t get(uint32_t addr, unsigned n) const
	{
		uint32_t v = 0;

		memcpy(&v, &mem[addr - WSE_SRAM_BASE], n);
		return v;
	}
	Step step(const Outside &out)
	{
		Step s = {};
		bool own = true;		// minstret counts this one

		s.pc = pc;
		cause = -1;
		npc = pc + 4;
		if (!inside(pc))
			fault(WSE_CAUSE_FETCH_ACCESS, pc);
		else if (pc & 3)
			fault(WSE_CAUSE_FETCH_MISALIGNED, pc);
		else {
			s.insn = get(pc, 4);
			execute(s, out, own);
		}
		if (cause >= 0) {
			s.trap = true;
			s.value = uint32_t(cause);
			s.tval = tval;
			s.rd = s.size = 0;
			s.event.reset();
			s.mcycle.reset();
			if (!mtvec) {
				s.halts = true;
				return s;
			}
			mepc = pc & ~3u;
			mcause = uint32_t(cause);
			mtval = tval;
			mstatus = (mstatus & 8) << 4;
			pc = mtvec;
			return s;
		}
		if (s.rd)
			x[s.rd] = s.value;
		if (s.size)
			memcpy(&mem[s.addr - WSE_SRAM_BASE], &s.data, s.size);
		minstret += own;
		pc = npc;
		return s;
	}

private:
	int64_t cause;
	uint32_t tval, npc;

	void fault(uint32_t c, uint32_t v)
	{
		cause = c;
		tval = v;
	}
	void jump(uint32_t target)
	{
		if (target & 3)
			fault(WSE_CAUSE_FETCH_MISALIGNED, target);
		npc = target;
	}
	static uint32_t muldiv(unsigned f3, uint32_t a, uint32_t b)
	{
		int64_t sa = int32_t(a), sb = int32_t(b);

		switch (f3) {
		case 0: return a * b;
		case 1: return uint64_t(sa * sb) >> 32;
		case 2: return uint64_t(sa * int64_t(uint64_t(b))) >> 32;
		case 3: return uint64_t(a) * b >> 32;
		// 64 bits: -2^31 / -1 wraps to itself
		case 4: return b ? uint32_t(sa / sb) : ~0u;
		case 5: return b ? a / b : ~0u;
		case 6: return b ? uint32_t(sa % sb) : a;
		default: return b ? a % b : a;
		}
	}
	static uint32_t alu(unsigned f3, bool alt, uint32_t a, uint32_t b)
	{
		switch (f3) {
		case 0: return alt ? a - b : a + b;
		case 1: return a << (b & 31);
		case 2: return int32_t(a) < int32_t(b);
		case 3: return a < b;
		case 4: return a ^ b;
		case 5: return alt ? uint32_t(int32_t(a) >> (b & 31)) : a >> (b & 31);
		case 6: return a | b;
		default: return a & b;
		}
	}
	bool csr_read(unsigned n, const Outside &out, uint32_t &v) const
	{
		switch (n) {
		case 0x300: v = mstatus | 0x1800; return true;
		case 0x301: v = 1u << 30 | 1 << 8 | 1 << 12; return true;
		case 0x304: case 0x344: case 0xf11: case 0xf12: case 0xf13: v = 0; return true;
		case 0x305: v = mtvec; return true;
		case 0x340: v = mscratch; return true;
		case 0x341: v = mepc; return true;
		case 0x342: v = mcause; return true;
		case 0x343: v = mtval; return true;
		case 0xf14: v = row * cols + col; return true;
		case 0xb00: case 0xc00: v = uint32_t(out.mcycle); return true;
		case 0xb80: case 0xc80: v = uint32_t(out.mcycle >> 32); return true;
		case 0xb02: case 0xc02: v = uint32_t(minstret); return true;
		case 0xb82: case 0xc82: v = uint32_t(minstret >> 32); return true;
		case WSE_CSR_WDATA: v = wdata; return true;
		case WSE_CSR_WINFO: v = winfo; return true;
		case WSE_CSR_ID: v = row << 16 | col; return true;
		case WSE_CSR_DIM: v = rows << 16 | cols; return true;
		case WSE_CSR_CFG:
			v = WSE_SRAM_BYTES / 1024 << 16 | WSE_NCOLORS << 8 | WSE_LANES;
			return true;
		}
		return false;
	}
	void csr_write(unsigned n, uint32_t v, const Outside &out, Step &s, bool &own)
	{
		switch (n) {
		case 0x300: mstatus = v & 0x88; break;
		case 0x305: mtvec = v & ~3u; break;
		case 0x340: mscratch = v; break;
		case 0x341: mepc = v & ~3u; break;
		case 0x342: mcause = v; break;
		case 0x343: mtval = v; break;
		case 0xb00: s.mcycle = (out.mcycle & ~0xffffffffull) | v; break;
		case 0xb80: s.mcycle = uint64_t(v) << 32 | uint32_t(out.mcycle); break;
		case 0xb02: minstret = (minstret & ~0xffffffffull) | v; own = false; break;
		case 0xb82: minstret = uint64_t(v) << 32 | uint32_t(minstret); own = false; break;
		case WSE_CSR_WDATA: wdata = v; break;
		case WSE_CSR_WINFO: winfo = v; break;
		}
	}
	void custom(Step &s, const Outside &out, unsigned rd, unsigned f3, unsigned rs1,
		    unsigned rs2, unsigned f7)
	{
		uint32_t a = x[rs1], b = x[rs2];
		bool ok = !rd || f3 == WSE_F3_DSR || f3 == WSE_F3_TNEXT || f3 == WSE_F3_RECV;

		s.custom = true;
		switch (f3) {
		case WSE_F3_DSR:
			ok &= f7 <= 1 && rd < WSE_NDSR;
			s.event = Event{Event::Iq, f7, rd, a, b};
			break;
		case WSE_F3_ISSUE:
			ok &= !f7;
			s.event = Event{Event::Iq, 2, 0, a, b};
			if (ok && (a >> WSE_TCW_ENGINE_SHIFT & 3) == 3) {
				s.event.reset();
				s.halts = true;		// BAD_DSR, and the ISSUE retires
			}
			break;
		case WSE_F3_ROUTE:
			ok &= !f7 && (a & 31) < WSE_NCOLORS && !(a >> 8 & 3);
			s.event = Event{Event::Route, 0, 0, a & 31, b & 0xff};
			break;
		case WSE_F3_TASK:
			ok &= f7 <= WSE_TASKOP_UNBLOCK &&
			      (f7 > WSE_TASKOP_CBIND || (a & 31) < WSE_NCOLORS);
			s.event = Event{Event::Task, f7, 0, a, b};
			break;
		case WSE_F3_SEND:
			ok &= !f7 && (b & 31) < WSE_NCOLORS;
			s.event = Event{Event::Send, b >> 8 & 1, b & 31, a, 0};
			break;
		case WSE_F3_TNEXT:
		case WSE_F3_RECV:
			ok &= !f7 && !rs2 && (f3 == WSE_F3_TNEXT ? !rs1 : (a & 31) < WSE_NCOLORS);
			if (!ok)
				break;
			s.rd = rd;
			s.value = f3 == WSE_F3_TNEXT ? out.entry : out.wdata;
			wdata = out.wdata;
			winfo = out.winfo;
			break;
		default:
			ok &= f7 <= WSE_SYSOP_WAIT;
			if (f7 == WSE_SYSOP_DONE)
				s.event = Event{Event::Done, 0, 0, a, 0};
		}
		if (!ok) {
			s.halts = false;
			fault(WSE_CAUSE_ILLEGAL, s.insn);
		}
	}
	void execute(Step &s, const Outside &out, bool &own)
	{
		uint32_t i = s.insn, a, b, addr, old;
		unsigned rd = i >> 7 & 31, f3 = i >> 12 & 7, rs1 = i >> 15 & 31, rs2 = i >> 20 & 31,
			 f7 = i >> 25;
		int32_t imm = int32_t(i) >> 20;
		static const unsigned size[] = {1, 2, 4, 0, 1, 2};

		a = x[rs1];
		b = x[rs2];
		switch (i & 0x7f) {
		case 0x37:
			s.value = i & ~0xfffu;
			s.rd = rd;
			return;
		case 0x17:
			s.value = pc + (i & ~0xfffu);
			s.rd = rd;
			return;
		case 0x6f:
			s.value = pc + 4;
			s.rd = rd;
			jump(pc + (uint32_t(int32_t(i) >> 31 & ~0xfffff) | (i & 0xff000) |
				   (i >> 9 & 0x800) | (i >> 20 & 0x7fe)));
			return;
		case 0x67:
			if (f3)
				break;
			s.value = pc + 4;
			s.rd = rd;
			jump((a + imm) & ~1u);
			return;
		case 0x63:
			if (f3 == 2 || f3 == 3)
				break;
			if ((f3 < 4   ? a == b
			     : f3 < 6 ? int32_t(a) < int32_t(b)
				      : a < b) != (f3 & 1))
				jump(pc + (uint32_t(int32_t(i) >> 31 & ~0xfff) | (i << 4 & 0x800) |
					   (i >> 20 & 0x7e0) | (i >> 7 & 0x1e)));
			return;
		case 0x03:
			if (f3 == 3 || f3 > 5)
				break;
			addr = a + imm;
			if (addr & (size[f3] - 1))
				return fault(WSE_CAUSE_LOAD_MISALIGNED, addr);
			if (!inside(addr))
				return fault(WSE_CAUSE_LOAD_ACCESS, addr);
			s.value = get(addr, size[f3]);
			s.value = f3 == 0 ? int8_t(s.value) : f3 == 1 ? int16_t(s.value) : s.value;
			s.rd = rd;
			return;
		case 0x23:
			if (f3 > 2)
				break;
			addr = a + uint32_t((imm & ~31) | int32_t(rd));
			if (addr & (size[f3] - 1))
				return fault(WSE_CAUSE_STORE_MISALIGNED, addr);
			if (!inside(addr))
				return fault(WSE_CAUSE_STORE_ACCESS, addr);
			s.addr = addr;
			s.size = size[f3];
			s.data = f3 == 0 ? b & 0xff : f3 == 1 ? b & 0xffff : b;
			return;
		case 0x13:
			if ((f3 == 1 && f7) || (f3 == 5 && f7 & ~0x20u))
				break;
			s.value = alu(f3, f3 == 5 && f7, a, imm);
			s.rd = rd;
			return;
		case 0x33:
			if (f7 == 1)
				s.value = muldiv(f3, a, b);
			else if (!f7 || (f7 == 0x20 && (f3 == 0 || f3 == 5)))
				s.value = alu(f3, f7, a, b);
			else
				break;
			s.rd = rd;
			return;
		case 0x0f:
			if (f3 > 1)
				break;
			return;
		case 0x73:
			if (i == 0x00000073)
				return fault(WSE_CAUSE_ECALL, 0);
			if (i == 0x00100073)
				return fault(WSE_CAUSE_BREAKPOINT, pc);
			if (i == 0x10500073)
				return;
			if (i == 0x30200073) {
				mstatus = 0x80 | (mstatus >> 4 & 8);
				npc = mepc;
				return;
			}
			if (!(f3 & 3) || !csr_read(i >> 20, out, old))
				break;
			if ((f3 & 3) == 1 || rs1) {
				uint32_t v = f3 & 4 ? rs1 : a;

				if (i >> 30 == 3)
					break;
				csr_write(i >> 20,
					  (f3 & 3) == 1	  ? v
					  : (f3 & 3) == 2 ? old | v
							  : old & ~v,
					  out, s, own);
			}
			s.value = old;
			s.rd = rd;
			return;
		case 0x0b:
			custom(s, out, rd, f3, rs1, rs2, f7);
			return;
		}
		fault(WSE_CAUSE_ILLEGAL, i);
	}
};
#endif
