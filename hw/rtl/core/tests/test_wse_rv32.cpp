// SPDX-License-Identifier: MIT
// The scalar side at its ports, compared with rv32_ref.hpp: random programs with memory that
// answers at random times; the bench compares every retired instruction (its trace), every command
// to another unit, and the memory in the end.
#include <deque>
#include <vector>

#include "Vwse_rv32.h"
#include "Vwse_rv32___024root.h"
#include "rtl/tests/block_tb.hpp"
#include "rv32_ref.hpp"

namespace {

constexpr uint32_t Base = WSE_SRAM_BASE, Code = 0x4000, Handler = Code, Prologue = Code + 0x100,
		   Data = 0x8000;
// registers that random instructions leave alone: bases of data, of the end of SRAM, of code,
// control words of three engines
enum { RData = 8, REdge, RLow, RVec, RCode, RIssue, RKept = RIssue + 3 };

uint32_t itype(uint32_t imm, unsigned rs1, unsigned f3, unsigned rd, unsigned opc)
{
	return imm << 20 | rs1 << 15 | f3 << 12 | rd << 7 | opc;
}
uint32_t rtype(unsigned f7, unsigned rs2, unsigned rs1, unsigned f3, unsigned rd, unsigned opc)
{
	return f7 << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | rd << 7 | opc;
}
uint32_t stype(uint32_t imm, unsigned rs2, unsigned rs1, unsigned f3)
{
	return rtype(imm >> 5 & 0x7f, rs2, rs1, f3, imm & 31, 0x23);
}
uint32_t branch(int32_t off, unsigned rs2, unsigned rs1, unsigned f3)
{
	return (off >> 12 & 1) << 31 | (off >> 5 & 0x3f) << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 |
	       (off >> 1 & 15) << 8 | (off >> 11 & 1) << 7 | 0x63;
}
uint32_t jal(int32_t off, unsigned rd)
{
	return (off >> 20 & 1) << 31 | (off >> 1 & 0x3ff) << 21 | (off >> 11 & 1) << 20 |
	       (off >> 12 & 0xff) << 12 | rd << 7 | 0x6f;
}
constexpr unsigned Ecall = 0x73, Mret = 0x30200073, FenceI = 0x100f;
uint32_t csrrw(unsigned n, unsigned rs1, unsigned rd) { return itype(n, rs1, 1, rd, 0x73); }
uint32_t custom(unsigned f3, unsigned f7, unsigned rd, unsigned rs1, unsigned rs2)
{
	return rtype(f7, rs2, rs1, f3, rd, 0x0b);
}

struct Bench : BlockTb<Vwse_rv32> {
	std::vector<uint8_t> mem = std::vector<uint8_t>(WSE_SRAM_BYTES);
	Rv32Ref ref{Base};
	unsigned p_grant = 100, p_busy = 50;	// percentages
	bool compares = true;
	bool holds = false;			// a debugger holds the core now and then
	std::deque<Event> events;
	Outside out;
	uint64_t retired = 0, traps = 0, held = 0, faults = 0;
	const char *what = "";			// what differed

	explicit Bench(uint64_t seed) : BlockTb(seed)
	{
		top.row_i = ref.row = 3;
		top.col_i = ref.col = 2;
		top.rows_i = ref.rows = 6;
		top.cols_i = ref.cols = 5;
		top.ans_i = top.flush_i = top.stop_i = top.if_gnt_i = top.ls_gnt_i =
			top.tx_ready_i = 0;
	}
	void put(uint32_t off, uint32_t word) { memcpy(&mem[off], &word, 4); }
	void put(uint32_t off, std::initializer_list<uint32_t> words)
	{
		for (uint32_t w : words) {
			put(off, w);
			off += 4;
		}
	}
	void boot(uint32_t pc)
	{
		Rv32Ref fresh(pc);

		fresh.row = ref.row;
		fresh.col = ref.col;
		fresh.rows = ref.rows;
		fresh.cols = ref.cols;
		fresh.mem = mem;
		ref = fresh;
		top.clr_i = 1;
		top.init_i = 1;
		top.stop_i = 0;
		top.ans_i = 0;
		top.boot_pc_i = pc;
		for (unsigned i = 0; i < 32; i++) {
			top.init_idx_i = i;
			tick();
		}
		top.clr_i = top.init_i = 0;
		events.clear();
		read_row = answer = -1;
		stopped = false;
		cycle_base = 0;
		cycle_at = cycles;
	}
	// one cycle; in that of a write the service plane has the memory; false: something differs
	bool step(bool write = false)
	{
		auto &r = *top.rootp;

		if (holds && rng.below(40) == 0) {
			top.stop_i = !top.stop_i;
			r.wse_rv32__DOT__redo = 1;
			held++;
		}
		top.flush_i = write;
		top.iq_full_i = rng.chance(p_busy) ? rng.below(8) : 0;
		top.eng_idle_i = rng.chance(p_busy) ? rng.below(8) : 7;
		top.tx_ready_i = top.tx_valid_o && !rng.chance(p_busy);
		top.ls_gnt_i = !write && top.ls_req_o && rng.chance(p_grant);
		top.if_gnt_i = !write && top.if_req_o && !top.ls_gnt_i && rng.chance(p_grant);
		rows();
		answers();
		if (top.tx_ready_i)
			events.push_back(
				{Event::Send, top.tx_ctrl_o, top.tx_color_o, top.tx_data_o, 0});
		if (top.ls_gnt_i && !port(top.ls_we_o, top.ls_row_o, top.ls_wd_o))
			return differs("a store's strobes");
		if (top.if_gnt_i && top.if_row_o >= WSE_SRAM_BYTES / 16)
			return differs("a fetch outside the SRAM");
		if (top.if_gnt_i)
			read_row = top.if_row_o;
		uint64_t before = cycles;
		settle();
		edge();
		if (top.iq_valid_o)
			events.push_back({Event::Iq, top.iq_op_o,
					  top.iq_op_o < 2 ? top.iq_idx_o : 0u, top.cmd_a_o,
					  top.cmd_b_o});
		if (top.tk_valid_o)
			events.push_back({Event::Task, top.tk_op_o, 0, top.cmd_a_o, top.cmd_b_o});
		if (top.rt_we_o)
			events.push_back({Event::Route, 0, 0, top.rt_color_o, top.rt_cfg_o});
		if (top.done_o)
			events.push_back({Event::Done, 0, 0, top.done_value_o, 0});
		if (!compares)
			return true;
		if (!r.wse_rv32__DOT__tr_valid)
			return (!top.retire_o && events.empty() && !top.fault_o) ||
			       differs("a command of no instruction");
		return retires(before);
	}
	// until n instructions more have retired or trapped, or one halts the core
	bool run(unsigned n)
	{
		uint64_t until = retired + traps + n, limit = cycles + 2000ull * n;

		while (retired + traps < until && !stopped)
			if (!step(rng.below(200) == 0))
				return false;
			else if (cycles > limit)
				return differs("nothing retires");
		return true;
	}
	// stores that are under way land; then memories and registers are the same
	bool same_state()
	{
		auto &r = *top.rootp;
		bool good = true;

		top.stop_i = 1;
		holds = false;
		for (unsigned i = 0; i < 100; i++)
			good &= step();
		for (unsigned i = 0; i < 32; i++)
			good &= r.wse_rv32__DOT__x[i] == ref.x[i];
		good &= r.wse_rv32__DOT__minstret == ref.minstret && mem == ref.mem &&
			!top.ls_req_o;
		return good || differs("state in the end");
	}
	bool halted() const { return stopped; }

private:
	int read_row = -1, answer = -1;
	bool stopped = false;
	uint64_t cycle_base, cycle_at;		// mcycle was cycle_base after cycle_at edges

	bool differs(const char *s)
	{
		what = s;
		return false;
	}
	// the row of the cycle before, and noise otherwise
	void rows()
	{
		uint32_t w[4];

		for (auto &v : w)
			v = rng.u64();
		if (read_row >= 0)
			memcpy(w, &mem[16 * read_row], 16);
		read_row = -1;
		top.rd0_i = w[0];
		top.rd1_i = w[1];
		top.rd2_i = w[2];
		top.rd3_i = w[3];
	}
	bool port(uint16_t we, unsigned row, uint32_t wd)
	{
		if (row >= WSE_SRAM_BYTES / 16)
			return false;
		if (!we)
			read_row = row;
		for (unsigned i = 0; i < 16; i++)
			if (we >> i & 1)
				mem[16 * row + i] = wd >> 8 * (i % 4);
		return true;
	}
	// the task unit: decides while the request is up, answers one or two cycles later
	void answers()
	{
		top.ans_i = 0;
		if (answer < 0 && (top.tnext_o || top.recv_o) && !rng.chance(p_busy))
			answer = rng.below(2);
		else if (answer > 0)
			answer--;
		else if (answer == 0) {
			answer = -1;
			top.ans_i = 1;
			out.entry = rng.chance(50) ? Base + (rng.u64() & (Code - 4)) : rng.u64();
			out.wdata = rng.u64();
			out.winfo = rng.u64();
		}
		top.ans_task_i = rng.u64();
		top.ans_entry_i = top.ans_i ? out.entry : uint32_t(rng.u64());
		top.ans_wdata_i = top.ans_i ? out.wdata : uint32_t(rng.u64());
		top.ans_winfo_i = top.ans_i ? out.winfo : uint32_t(rng.u64());
	}
	// ISSUE has room and WAIT's engines are idle at the edge at which they retire
	bool allowed(uint32_t insn)
	{
		uint32_t f3 = insn >> 12 & 7, a = ref.x[insn >> 15 & 31];

		if (f3 == WSE_F3_ISSUE)
			return !(top.iq_full_i >> (a >> WSE_TCW_ENGINE_SHIFT & 3) & 1);
		return f3 != WSE_F3_SYS || insn >> 25 != WSE_SYSOP_WAIT ||
		       !(a & 7 & ~top.eng_idle_i);
	}
	bool retires(uint64_t before)
	{
		auto &r = *top.rootp;
		uint32_t value = r.wse_rv32__DOT__tr_value, insn = r.wse_rv32__DOT__tr_insn;
		unsigned csr = insn >> 20;
		Step s;

		if (stopped)
			return differs("an instruction after the one that halts");
		out.mcycle = cycle_base + (before - cycle_at);
		// a debugger's hold is not counted: then the trace says what was read
		if (held && (insn & 0x7f) == 0x73 && r.wse_rv32__DOT__tr_rd) {
			if (csr == 0xb00 || csr == 0xc00)
				out.mcycle = value;
			if (csr == 0xb80 || csr == 0xc80)
				out.mcycle = uint64_t(value) << 32;
		}
		s = ref.step(out);
		if (s.mcycle) {
			cycle_base = *s.mcycle;
			cycle_at = cycles;
		}
		retired += !s.trap;
		traps += s.trap;
		if (r.wse_rv32__DOT__tr_pc != s.pc || insn != s.insn)
			return differs("pc or instruction");
		if (bool(r.wse_rv32__DOT__tr_trap) != s.trap || bool(top.retire_o) == s.trap)
			return differs("trap or not");
		if ((s.rd || s.trap) && value != s.value)
			return differs(s.trap ? "cause" : "result");
		if (r.wse_rv32__DOT__tr_rd != s.rd || r.wse_rv32__DOT__tr_size != s.size)
			return differs("register or size of a store");
		if (s.size &&
		    (r.wse_rv32__DOT__tr_addr != s.addr || r.wse_rv32__DOT__tr_data != s.data))
			return differs("store");
		if (events.size() != s.event.has_value() ||
		    (s.event && !(events.front() == *s.event)))
			return differs("command");
		events.clear();
		if (s.custom && !s.trap && !allowed(insn))
			return differs("a command that had to wait");
		if (s.custom && top.ls_req_o)
			return differs("a store that waits behind a command");
		if (s.halts != bool(top.fault_o))
			return differs("fault or not");
		if (s.halts) {
			faults++;
			stopped = true;
			if (top.fault_cause_o != (s.trap ? s.value : unsigned(WSE_CAUSE_BAD_DSR)) ||
			    top.fault_addr_o != (s.trap ? s.tval : 0))
				return differs("fault record");
		}
		if (top.pc_o != ref.pc)
			return differs("the pc that is shown");
		return true;
	}
};

// ---- random programs ----
unsigned some_rd(Rng &r)
{
	unsigned rd;

	do
		rd = r.below(32);
	while (rd >= RData && rd < RKept);
	return rd;
}

uint32_t some_csr(Rng &r)
{
	static const unsigned csrs[] = {
		0x300,	     0x301, 0x304,	   0x340,	  0x341,      0x342,
		0x343,	     0x344, 0xb00,	   0xb80,	  0xb02,      0xb82,
		0xc00,	     0xc80, 0xc02,	   0xc82,	  0xf11,      0xf12,
		0xf13,	     0xf14, WSE_CSR_WDATA, WSE_CSR_WINFO, WSE_CSR_ID, WSE_CSR_DIM,
		WSE_CSR_CFG, 0x306, 0xc01,	   0x7c2,	  0xfc3,      0x000};

	if (r.chance(5))
		return itype(0x305, RVec, 1, some_rd(r), 0x73);		// mtvec: low two bits are 0
	if (r.chance(5))
		return itype(0x305, 0, 2, some_rd(r), 0x73);
	return itype(r.pick(csrs), r.below(32),
		     r.chance(90) ? 1 + r.below(3) + 4 * r.below(2) : r.below(8), some_rd(r), 0x73);
}

uint32_t some_custom(Rng &r)
{
	unsigned f3 = r.below(8), f7 = 0, rd = 0, rs1 = r.below(32), rs2 = r.below(32);

	if (f3 == WSE_F3_DSR) {
		rd = r.below(18);
		f7 = r.below(2);
	}
	if (f3 == WSE_F3_ISSUE)
		rs1 = RIssue + r.below(3);
	if (f3 == WSE_F3_TASK)
		f7 = r.below(6);
	if (f3 == WSE_F3_SYS)
		f7 = r.below(2);
	if (f3 == WSE_F3_TNEXT || f3 == WSE_F3_RECV) {
		rd = some_rd(r);
		rs2 = 0;
		rs1 = f3 == WSE_F3_TNEXT ? 0 : rs1;
	}
	uint32_t i = custom(f3, f7, rd, rs1, rs2);

	// a bit in a field that must be zero, mostly; not one that makes another register the
	// destination or engine 3
	if (r.chance(10))
		i ^= 1u << (f3 == WSE_F3_ISSUE ? 25 + r.below(7)
			    : r.chance(50)     ? 20 + r.below(12)
					       : 25 + r.below(7));
	return i;
}

uint32_t some_insn(Rng &r)
{
	static const unsigned bases[] = {RData, RData, RData, REdge, 0}, loads[] = {0, 1, 2, 4, 5},
			      branches[] = {0, 1, 4, 5, 6, 7};
	unsigned rd = some_rd(r), rs1 = r.below(32), rs2 = r.below(32), base = r.pick(bases),
		 what = r.below(100);
	uint32_t imm = base == REdge  ? r.below(128) - 64
		       : r.chance(50) ? 4 * r.below(32)
				      : r.below(4096);
	int32_t off = 4 * int32_t(r.chance(80) ? 1 + r.below(60) : r.below(40) - 39u);

	if (what < 18)
		return rtype(r.below(8) ? 0 : 1, rs2, rs1, r.below(8), rd, 0x33);
	if (what < 22)
		return rtype(0x20, rs2, rs1, r.pick({0u, 5u}), rd, 0x33);
	if (what < 32)
		return rtype(1, rs2, rs1, r.below(8), rd, 0x33);
	if (what < 44) {
		unsigned f3 = r.below(8);

		return f3 == 1 || f3 == 5
			       ? rtype(f3 == 5 ? r.below(2) << 5 : 0, rs2, rs1, f3, rd, 0x13)
			       : itype(r.below(4096), rs1, f3, rd, 0x13);
	}
	if (what < 50)
		return (uint32_t(r.u64()) & ~0xfffu) | rd << 7 | (r.chance(50) ? 0x37 : 0x17);
	if (what < 62)
		return itype(imm,
			     r.chance(5)    ? rs1
			     : r.chance(10) ? unsigned(RLow)
					    : base,
			     r.pick(loads), rd, 0x03);
	if (what < 74)
		return stype(imm, rs2, base, r.below(3));
	if (what < 82)
		return branch(off + (r.chance(3) ? 2 : 0), r.chance(30) ? rs1 : rs2, rs1,
			      r.pick(branches));
	if (what < 84)
		return jal(off + (r.chance(10) ? 2 : 0), rd);
	if (what < 86)
		return itype(r.chance(80) ? 4 * r.below(512) : r.below(4096),
			     r.chance(90) ? unsigned(RCode) : rs1, 0, rd, 0x67);
	if (what < 91)
		return some_csr(r);
	if (what < 97)
		return some_custom(r);
	if (what < 98)
		return r.pick({Ecall, 0x00100073u, 0x10500073u, Mret, 0x0ff0000fu, FenceI, FenceI});
	if (what < 99)
		return rtype(r.below(128), rs2, rs1, r.below(8), rd,
			     r.pick({0x13u, 0x33u, 0x73u, 0x0fu, 0x67u}));
	return (uint32_t(r.u64()) & ~0x7fu) |
	       r.pick({0x2bu, 0x5bu, 0x3bu, 0x07u, 0x00u, 0x01u, 0x7fu});
}

// the instruction words that may not be random: destinations that are kept
bool spoils(uint32_t i)
{
	unsigned opc = i & 0x7f, rd = i >> 7 & 31;

	if (opc == 0x0b && (i >> 12 & 7) != WSE_F3_TNEXT && (i >> 12 & 7) != WSE_F3_RECV)
		return false;
	return opc != 0x23 && opc != 0x63 && rd >= RData && rd < RKept;
}

void li(Bench &tb, uint32_t &at, unsigned rd, uint32_t v)
{
	uint32_t hi = (v + 0x800) & ~0xfffu;

	tb.put(at, hi | rd << 7 | 0x37);
	tb.put(at + 4, itype(v - hi, rd, 0, rd, 0x13));
	at += 8;
}

// Code of random instructions, and a trap handler that goes on behind the one that trapped, or,
// when that was none of them, somewhere among them.
void program(Bench &tb)
{
	uint32_t at = Prologue;

	for (uint32_t off = 0; off < Code; off += 4) {
		uint32_t i;

		do
			i = some_insn(tb.rng);
		while (spoils(i));
		tb.put(off, i);
	}
	for (uint32_t off = Data - 0x1000; off < WSE_SRAM_BYTES; off += 4)
		tb.put(off, tb.rng.u64());
	// mstatus; x5 = mepc
	tb.put(Handler,
	       {itype(0x300, 0, 2, 5, 0x73), itype(0x341, 0, 2, 5, 0x73),
		0x80000000u | 6 << 7 | 0x37, rtype(0x20, 6, 5, 0, 5, 0x33), Code | 7 << 7 | 0x37,
		branch(12, 7, 5, 6), // in the code?
		itype(0xb02, 0, 2, 5, 0x73), rtype(0, 5, 5, 0, 5, 0x33), itype(4, 5, 0, 5, 0x13),
		itype(0xffc, 7, 0, 7, 0x13), rtype(0, 7, 5, 7, 5, 0x33), rtype(0, 6, 5, 0, 5, 0x33),
		csrrw(0x341, 5, 0), Mret});
	li(tb, at, RData, Base + Data);
	li(tb, at, REdge, Base + WSE_SRAM_BYTES);
	li(tb, at, RLow, Base);
	li(tb, at, RVec, Base + Handler + 3);
	li(tb, at, RCode, Base + 4 * tb.rng.below(512));
	for (unsigned e = 0; e < 3; e++)
		li(tb, at, RIssue + e,
		   (uint32_t(tb.rng.u64()) & ~(3u << WSE_TCW_ENGINE_SHIFT)) |
			   e << WSE_TCW_ENGINE_SHIFT);
	tb.put(at, {csrrw(0x305, RVec, 0), itype(0, RCode, 0, 0, 0x67)});
	tb.boot(Base + Prologue);
}

void test_random(Tap &tap, Bench &tb, unsigned programs, bool holds, const char *name)
{
	bool good = true;
	unsigned i;

	tb.retired = tb.traps = tb.held = 0;
	for (i = 0; i < programs && good; i++) {
		program(tb);
		tb.holds = holds;
		tb.p_grant = tb.rng.chance(30) ? 100 : 10 + tb.rng.below(90);
		tb.p_busy = tb.rng.chance(30) ? 0 : tb.rng.below(80);
		good &= tb.run(1500) && !tb.halted() && tb.same_state();
	}
	tap.ok(good && tb.retired > 1000 * programs && tb.traps > 50 * programs &&
		       (!holds || tb.held > programs),
	       "%s: %llu instructions, %llu traps%s%s", name, (unsigned long long)tb.retired,
	       (unsigned long long)tb.traps, good ? "" : "; differs: ", good ? "" : tb.what);
	if (!good)
		printf("# program %u, pc %#x, instruction %#x\n", i,
		       tb.top.rootp->wse_rv32__DOT__tr_pc, tb.top.rootp->wse_rv32__DOT__tr_insn);
	tb.held = 0;
	tb.holds = false;
	tb.p_grant = 100;
	tb.p_busy = 0;
}

// mtvec is 0 after BOOT: whatever traps halts the core
bool halts(Bench &tb, std::initializer_list<uint32_t> code, uint32_t cause, uint32_t addr,
	   uint32_t at = 0)
{
	tb.put(0, code);
	tb.boot(Base + at);
	bool good = tb.run(20) && tb.halted() && tb.top.fault_cause_o == cause &&
		    tb.top.fault_addr_o == addr;

	for (unsigned i = 0; i < 30; i++)		// nothing more retires
		good &= tb.step();
	return good && tb.same_state();
}

void test_faults(Tap &tap, Bench &tb)
{
	uint32_t lui = 0x80000000u | 1 << 7 | 0x37;	// x1 = Base
	bool good = halts(tb, {Ecall}, WSE_CAUSE_ECALL, 0);

	good &= halts(tb, {itype(1, 0, 0, 3, 0x13), 0x00100073}, WSE_CAUSE_BREAKPOINT, Base + 4);
	good &= halts(tb, {0}, WSE_CAUSE_ILLEGAL, 0);
	good &= halts(tb, {lui, itype(2, 1, 2, 3, 0x03)}, WSE_CAUSE_LOAD_MISALIGNED, Base + 2);
	good &= halts(tb, {itype(4, 0, 2, 3, 0x03)}, WSE_CAUSE_LOAD_ACCESS, 4);
	good &= halts(tb, {lui, stype(1, 3, 1, 1)}, WSE_CAUSE_STORE_MISALIGNED, Base + 1);
	good &= halts(tb, {lui, stype(uint32_t(-4), 3, 1, 2)}, WSE_CAUSE_STORE_ACCESS, Base - 4);
	good &= halts(tb, {jal(6, 0)}, WSE_CAUSE_FETCH_MISALIGNED, Base + 6);
	good &= halts(tb, {itype(16, 0, 0, 0, 0x67)}, WSE_CAUSE_FETCH_ACCESS, 16);
	good &= halts(tb, {0}, WSE_CAUSE_FETCH_MISALIGNED, Base + 2, 2);
	good &= halts(tb, {0}, WSE_CAUSE_FETCH_ACCESS, Base + WSE_SRAM_BYTES, WSE_SRAM_BYTES);
	tap.ok(good,
	       "a trap with mtvec = 0 halts: cause and address of each kind, nothing runs afterwards");

	// x1 = 24, no color; x2 = 0x100, a switch position
	static const uint32_t illegal[] = {stype(0, 0, 0, 3),
					   stype(0, 0, 0, 4),
					   stype(0, 0, 0, 7),
					   itype(0, 0, 3, 3, 0x03),
					   itype(0, 0, 6, 3, 0x03),
					   itype(0, 0, 7, 3, 0x03),
					   branch(8, 0, 0, 2),
					   branch(8, 0, 0, 3),
					   itype(0, 0, 1, 3, 0x67),
					   itype(0, 0, 2, 0, 0x0f),
					   itype(0x020, 0, 1, 3, 0x13),
					   itype(0x400, 0, 1, 3, 0x13),
					   itype(0x200, 0, 5, 3, 0x13),
					   rtype(2, 0, 0, 0, 3, 0x33),
					   rtype(0x20, 0, 0, 1, 3, 0x33),
					   rtype(0x21, 0, 0, 0, 3, 0x33),
					   itype(0x10, 0, 0, 0, 0x73),
					   itype(0x102, 0, 0, 0, 0x73),
					   itype(0, 0, 0, 3, 0x73),
					   itype(0x105, 0, 0, 3, 0x73),
					   itype(0x340, 0, 4, 3, 0x73),
					   itype(0x7c2, 0, 2, 3, 0x73),
					   itype(0xc01, 0, 2, 3, 0x73),
					   itype(0xf14, 0, 1, 3, 0x73),
					   itype(0xf14, 2, 2, 3, 0x73),
					   itype(0xc00, 1, 6, 3, 0x73),
					   0x0000002b,
					   0x00000001,
					   0x0000007f,
					   custom(WSE_F3_DSR, 0, 16, 0, 0),
					   custom(WSE_F3_DSR, 2, 0, 0, 0),
					   custom(WSE_F3_ISSUE, 1, 0, 0, 0),
					   custom(WSE_F3_ISSUE, 0, 3, 0, 0),
					   custom(WSE_F3_ROUTE, 0, 0, 1, 0),
					   custom(WSE_F3_ROUTE, 0, 0, 2, 0),
					   custom(WSE_F3_ROUTE, 1, 0, 0, 0),
					   custom(WSE_F3_ROUTE, 0, 1, 0, 0),
					   custom(WSE_F3_TASK, 6, 0, 0, 0),
					   custom(WSE_F3_TASK, WSE_TASKOP_BIND, 0, 1, 0),
					   custom(WSE_F3_TASK, WSE_TASKOP_CBIND, 0, 1, 0),
					   custom(WSE_F3_TASK, WSE_TASKOP_BLOCK, 1, 0, 0),
					   custom(WSE_F3_TNEXT, 1, 3, 0, 0),
					   custom(WSE_F3_TNEXT, 0, 3, 4, 0),
					   custom(WSE_F3_TNEXT, 0, 3, 0, 4),
					   custom(WSE_F3_SEND, 0, 0, 0, 1),
					   custom(WSE_F3_SEND, 0, 1, 0, 0),
					   custom(WSE_F3_SEND, 1, 0, 0, 0),
					   custom(WSE_F3_RECV, 0, 3, 1, 0),
					   custom(WSE_F3_RECV, 0, 3, 0, 4),
					   custom(WSE_F3_RECV, 1, 3, 0, 0),
					   custom(WSE_F3_SYS, 2, 0, 0, 0),
					   custom(WSE_F3_SYS, 0, 1, 0, 0),
					   custom(WSE_F3_SYS, 1, 1, 0, 0)};
	good = true;
	for (uint32_t i : illegal) {
		bool ok = halts(tb, {itype(24, 0, 0, 1, 0x13), itype(0x100, 0, 0, 2, 0x13), i},
				WSE_CAUSE_ILLEGAL, i);

		if (!ok)
			printf("# %08x\n", i);
		good &= ok;
	}
	tap.ok(good, "%zu words that are no instruction, or have a bit in a field that is not used",
	       sizeof(illegal) / 4);

	good = halts(tb,
		     {3u << WSE_TCW_ENGINE_SHIFT | 1 << 7 | 0x37, custom(WSE_F3_ISSUE, 0, 0, 1, 0),
		      itype(1, 0, 0, 2, 0x13)},
		     WSE_CAUSE_BAD_DSR, 0);
	tap.ok(good && tb.ref.minstret == 2, "ISSUE to engine 3 is a fault; the ISSUE retires");

	// the last words of SRAM run, and the fetch ahead does not leave it
	tb.put(WSE_SRAM_BYTES - 8, {itype(1, 0, 0, 2, 0x13), jal(0, 0)});
	tb.boot(Base + WSE_SRAM_BYTES - 8);
	tap.ok(tb.run(10) && tb.same_state(), "the last instructions of SRAM");
}

void test_code(Tap &tap, Bench &tb)
{
	uint32_t at = 0;
	bool good = true;

	// x5: 16 times, store the next instruction, fence.i, run it
	li(tb, at, 1, Base + 0x100);
	li(tb, at, 2, itype(1, 5, 0, 5, 0x13));
	li(tb, at, 6, 1 << 20);
	uint32_t loop = at;
	tb.put(at, {stype(0, 2, 1, 2), FenceI, jal(int32_t(0x100 - at - 8), 0)});
	tb.put(0x100, {itype(0, 0, 0, 0, 0x13), rtype(0, 6, 2, 0, 2, 0x33),
		       jal(int32_t(loop - 0x108), 0)});
	tb.p_grant = 60;
	tb.boot(Base);
	good = tb.run(100) && tb.same_state();
	tap.ok(good && tb.ref.x[5] > 16, "a store and fence.i: the new instruction runs");

	// the service plane writes where the core runs
	auto &r = *tb.top.rootp;
	tb.compares = false;
	for (unsigned i = 0; i < 200 && good; i++) {
		unsigned runs = 0;

		tb.put(0, {itype(1, 1, 0, 1, 0x13), itype(1, 2, 0, 2, 0x13), jal(-8, 0)});
		tb.p_grant = 30 + tb.rng.below(71);
		tb.boot(Base);
		// what ran before BOOT is forgotten, too
		for (unsigned n = 20 + tb.rng.below(20); n; n--) {
			tb.step();
			if (r.wse_rv32__DOT__tr_valid && r.wse_rv32__DOT__tr_pc == Base)
				good &= r.wse_rv32__DOT__tr_insn == itype(1, 1, 0, 1, 0x13);
		}
		tb.put(0, itype(2, 1, 0, 1, 0x13));
		tb.step(true);
		for (unsigned n = 0; n < 40; n++) {
			tb.step();
			if (r.wse_rv32__DOT__tr_valid && r.wse_rv32__DOT__tr_pc == Base) {
				good &= r.wse_rv32__DOT__tr_insn == itype(2, 1, 0, 1, 0x13);
				runs++;
			}
		}
		good &= runs > 2;
	}
	tb.compares = true;
	tap.ok(good, "a row that the service plane writes is fetched anew");
}

} // namespace

int main(int argc, char **argv)
{
	Bench tb(bench_seed(argc, argv));
	Tap tap;

	test_faults(tap, tb);
	test_code(tap, tb);
	test_random(tap, tb, 100, false, "random programs");
	test_random(tap, tb, 40, true, "the same under a debugger's holds");
	return tap.plan();
}
