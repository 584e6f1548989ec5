// SPDX-License-Identifier: MIT
// A mover at its ports, compared with the rules of hw/doc/core.md ("Operand rules", "Movers") and
// the twin's arithmetic: every kind of operand, elements strictly in order under any stalls; an
// instruction that is not allowed is a fault without effect.
#include <cstring>
#include <deque>
#include <vector>

#include "Vwse_mover.h"
#include "rtl/tests/block_tb.hpp"
#include "twin/exact/fp.h"
#include "wse_regs.h"

namespace {

struct Wavelet {
	uint32_t data;
	bool ctrl;

	bool operator==(const Wavelet &o) const { return data == o.data && ctrl == o.ctrl; }
};

struct Operand {
	uint32_t kind = WSE_KIND_NONE, dt = 0, base = 0, len = 1, len1 = 1;
	int32_t stride = 0, stride1 = 0;

	bool store() const { return kind == WSE_KIND_MEM || kind == WSE_KIND_ACC; }
	int32_t size() const { return kind == WSE_KIND_ACC ? 1 : dt == WSE_DT_BF16 ? 2 : 4; }
	uint32_t rows() const { return len1 ? len1 : 1; }
	int32_t at(uint32_t i, uint32_t j) const
	{
		return int32_t(kind == WSE_KIND_MEM ? base - WSE_SRAM_BASE : base) +
		       int32_t(i) * stride + int32_t(j) * stride1;
	}
	bool inside() const
	{
		int32_t limit = kind == WSE_KIND_ACC ? WSE_NACC : WSE_SRAM_BYTES;

		for (uint32_t i : {0u, len - 1})
			for (uint32_t j : {0u, rows() - 1})
				if (at(i, j) < 0 || at(i, j) + size() > limit)
					return false;
		return true;
	}
};

struct Ins {
	uint32_t cw = 0, scalar = 0;
	Operand dst, src1, src2;
};

// what the module has around it, and what the contract says of it
struct State {
	std::vector<uint8_t> mem = std::vector<uint8_t>(WSE_SRAM_BYTES);
	uint32_t acc[WSE_NACC];
	std::deque<Wavelet> rx, dq;		// dq: ctrl is an END mark
	std::vector<Wavelet> tx;

	uint32_t load(const Operand &o, uint32_t i, uint32_t j)
	{
		uint32_t v = 0;

		if (o.kind == WSE_KIND_ACC)
			return acc[o.at(i, j)];
		memcpy(&v, &mem[o.at(i, j)], o.size());
		return o.dt == WSE_DT_BF16 ? v << 16 : v;
	}
	void store(const Operand &o, uint32_t i, uint32_t j, uint32_t v)
	{
		uint32_t h = o.dt == WSE_DT_BF16 ? twin_bf16_round(v) : v;

		if (o.kind == WSE_KIND_FABOUT)
			tx.push_back({v, false});
		else if (o.kind == WSE_KIND_ACC)
			acc[o.at(i, j)] = v;
		else
			memcpy(&mem[o.at(i, j)], &h, o.size());
	}
	// 0, or the cause of a fault
	uint32_t run(const Ins &n)
	{
		unsigned op = n.cw & WSE_TCW_OP_MASK;
		const Operand &shape =
			n.dst.kind == WSE_KIND_FABOUT && n.src1.store() ? n.src1 : n.dst;
		bool madd = op == WSE_TOP_MADD, until = n.cw & WSE_TCW_UNTIL_END_MASK;
		bool dots = n.src1.kind == WSE_KIND_DOTQ || (madd && n.src2.kind == WSE_KIND_DOTQ);

		for (uint32_t i = 0, j = 0, ends = 0;;) {
			bool fabric = n.src1.kind == WSE_KIND_FABIN && !(dots && dq.front().ctrl) &&
				      rx.front().ctrl;

			if (fabric || (dots && dq.front().ctrl)) {
				if (!until ||
				    (fabric && (dots || !(rx.front().data & WSE_CTRLW_END_MASK))))
					return WSE_CAUSE_BAD_CTRL;
				(fabric ? rx : dq).pop_front();
				if (++ends == shape.len)
					break;
				continue;
			}
			uint32_t v = source(n.src1, i, j);
			if (madd)
				v = twin_fadd(v, source(n.src2, i, j));
			if (op == WSE_TOP_MIDX)
				v = uint32_t(twin_bf16_round(v)) << 16 | i << 14 | (n.scalar + j);
			store(n.dst, i, j, v);
			if (op == WSE_TOP_MTEE)
				store(n.src2, i, j, v);
			if (!until && ++i == shape.len) {
				i = 0;
				if (++j == shape.rows())
					break;
			}
		}
		if (n.cw & WSE_TCW_SEND_END_MASK)
			tx.push_back({WSE_CTRLW_END_MASK, true});
		return 0;
	}

private:
	uint32_t source(const Operand &o, uint32_t i, uint32_t j)
	{
		std::deque<Wavelet> &q = o.kind == WSE_KIND_FABIN ? rx : dq;
		uint32_t v;

		if (o.store())
			return load(o, i, j);
		v = q.front().data;
		q.pop_front();
		return v;
	}
};

struct Bench : BlockTb<Vwse_mover> {
	State s;				// as the module has left it
	std::deque<Wavelet> rx_later, dq_later;
	unsigned p = 100, credits = WSE_CHAN_DEPTH, stops = 0;
	bool hold = false;			// a debugger's hold now and then
	bool took, acted, unblocked, faulted, claimed, waited;
	uint64_t ran = 0;

	explicit Bench(uint64_t seed) : BlockTb(seed)
	{
		top.ins_valid_i = top.stop_i = top.rx_valid_i = top.dq_valid_i = top.mem_gnt_i = 0;
		top.tx_room_i = top.tx_ready_i = 0;
		top.clr_i = 1;
		run_cycles(2);
		top.clr_i = 0;
	}
	void run_cycles(unsigned n)
	{
		while (n--)
			tick();
	}
	uint32_t any()
	{
		static const uint32_t odd[] = {
			0,	    0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffffffff, 1,
			0x807fffff, 0x00800000, 0x7f7fffff, 0x7f7f8000, 0x3f800000, 0xbf800000};

		return rng.chance(15) ? rng.pick(odd) : rng.chance(50) ? uint32_t(rng.u64()) :
		       (uint32_t(rng.u64()) & 0x83ffffff) | 0x3c000000;
	}
	// one cycle; false: something at the ports is wrong
	bool step()
	{
		bool good = true;
		uint32_t row[4], ra, rb;

		if (hold && rng.below(12) == 0) {
			top.stop_i = !top.stop_i;
			stops++;
		}
		if (top.rx_pop_o) {
			if (s.rx.empty())
				return false;
			s.rx.pop_front();
		}
		if (top.dq_pop_o) {
			if (s.dq.empty())
				return false;
			s.dq.pop_front();
		}
		arrive(s.rx, rx_later);
		arrive(s.dq, dq_later);
		top.rx_valid_i = top.claim_o && !s.rx.empty();
		top.rx_ctrl_i = s.rx.empty() ? rng.chance(50) : s.rx.front().ctrl;
		top.rx_data_i = s.rx.empty() ? uint32_t(rng.u64()) : s.rx.front().data;
		top.dq_valid_i = !s.dq.empty();
		top.dq_end_i = s.dq.empty() ? rng.chance(50) : s.dq.front().ctrl;
		top.dq_data_i = s.dq.empty() ? uint32_t(rng.u64()) : s.dq.front().data;
		if (credits < WSE_CHAN_DEPTH && rng.chance(p))
			credits++;
		top.tx_room_i = top.tx_ask_o && credits > top.tx_infl_o;
		top.tx_ready_i = top.tx_valid_o && rng.chance(p);
		top.mem_gnt_i = top.mem_req_o && rng.chance(p);
		for (auto &w : row)
			w = rng.u64();
		if (top.tx_ready_i) {
			good &= credits-- > 0 && top.tx_color_o == color_out && top.tx_infl_o;
			s.tx.push_back({top.tx_data_o, bool(top.tx_ctrl_o)});
		}
		if (top.mem_gnt_i) {
			if (top.mem_row_o >= WSE_SRAM_BYTES / 16)
				return false;
			uint8_t *at = &s.mem[16 * top.mem_row_o];

			if (!top.mem_we_o)
				memcpy(row, at, 16);
			for (unsigned i = 0; i < 16; i++)
				if (top.mem_we_o >> i & 1)
					at[i] = top.mem_wd_o >> 8 * (i % 4);
		}
		if (top.acc_we_o)
			s.acc[top.acc_wa_o] = top.acc_wd_o;
		ra = top.acc_re_o ? s.acc[top.acc_ra_o] : uint32_t(rng.u64());
		rb = top.acc_re_o ? s.acc[top.acc_rb_o] : uint32_t(rng.u64());
		settle();
		edge();
		top.acc_rda_i = ra;
		top.acc_rdb_i = rb;
		top.mem_rd0_i = row[0];
		top.mem_rd1_i = row[1];
		top.mem_rd2_i = row[2];
		top.mem_rd3_i = row[3];
		took |= top.ins_take_o;
		acted |= top.act_o;
		unblocked |= top.unb_o;
		faulted |= top.fault_o;
		if (top.busy_o && claims)
			good &= top.claim_o && top.color_o == color_in;
		else
			good &= !top.claim_o;
		waited |= top.wait_fab_o;
		return good;
	}
	// The instruction with what lies in rx_later and dq_later, compared with what the contract
	// says. Nothing of it is done when must is BAD_DSR or OPERAND_ADDR.
	bool executes(const Ins &n, uint32_t must = 0)
	{
		State want = s;
		bool good = true;
		unsigned limit = 100000;
		uint32_t w[14] = {}, bad_value;

		want.rx.insert(want.rx.end(), rx_later.begin(), rx_later.end());
		want.dq.insert(want.dq.end(), dq_later.begin(), dq_later.end());
		if (!must)
			must = want.run(n);
		bad_value = want.rx.empty() ? 0 : want.rx.front().data;
		w[13] = n.cw;
		w[12] = (n.cw & WSE_TCW_OP_MASK) == WSE_TOP_MIDX ? n.scalar : uint32_t(rng.u64());
		words(w + 8, n.dst);
		words(w + 4, n.src1);
		words(w, n.src2);
		for (unsigned i = 0; i < 14; i++)
			top.ins_i[i] = w[i];
		took = acted = unblocked = faulted = waited = false;
		color_in = n.src1.base & 31;
		color_out = n.dst.base & 31;
		claims = n.src1.kind == WSE_KIND_FABIN && n.src1.base < WSE_NCOLORS;
		top.ins_valid_i = 1;
		while (!took && limit--)
			good &= step();
		good &= took;
		top.ins_valid_i = 0;
		for (auto i = 0; i < 14; i++)
			top.ins_i[i] = rng.u64();		// captured
		while (good && top.busy_o && !faulted && limit--)
			good &= step();
		good &= faulted == (must != 0) && !(faulted && top.fault_cause_o != must);
		if (faulted) {
			bool on_fabric = must == WSE_CAUSE_BAD_CTRL &&
					 n.src1.kind == WSE_KIND_FABIN && !end_in_dots;

			good &= !acted && !unblocked;
			good &= top.fault_color_o == (on_fabric ? color_in : ~0u) &&
				top.fault_value_o == (on_fabric ? bad_value : 0);
			// the core stops, what has left comes to its end, and BOOT follows
			hold = false;
			top.stop_i = 0;
			// as in the core: the fault stops it one cycle later
			good &= step();
			top.stop_i = 1;
			for (unsigned i = 0; i < 60; i++)
				good &= step();
			claims = false;
			top.clr_i = 1;
			run_cycles(2);
			top.clr_i = top.stop_i = 0;
		} else {
			good &= acted == bool(n.cw & WSE_TCW_ACTIVATE_MASK) &&
				unblocked == bool(n.cw & WSE_TCW_UNBLOCK_MASK) &&
				top.task_o == n.cw >> WSE_TCW_TASK_SHIFT && !top.tx_infl_o &&
				!top.mem_req_o && !top.tx_valid_o;
			claims = false;
			hold = false;
			top.stop_i = 0;
			good &= step() && step() && !top.act_o && !top.unb_o && !top.busy_o;
		}
		s.rx.insert(s.rx.end(), rx_later.begin(), rx_later.end());
		s.dq.insert(s.dq.end(), dq_later.begin(), dq_later.end());
		good &= s.mem == want.mem && !memcmp(s.acc, want.acc, sizeof(s.acc)) &&
			s.tx == want.tx;
		good &= s.rx == want.rx && s.dq == want.dq;
		s.rx.clear();
		s.dq.clear();
		s.tx.clear();
		rx_later.clear();
		dq_later.clear();
		ran++;
		return good;
	}
	void fill()
	{
		for (auto &a : s.acc)
			a = any();
		for (unsigned i = 0; i < WSE_SRAM_BYTES; i += 4) {
			uint32_t v = any();

			memcpy(&s.mem[i], &v, 4);
		}
	}
	bool end_in_dots = false;

private:
	unsigned color_in = 0, color_out = 0;
	bool claims = false;

	void arrive(std::deque<Wavelet> &there, std::deque<Wavelet> &later)
	{
		if (!later.empty() && there.size() < WSE_CHAN_DEPTH && rng.chance(p)) {
			there.push_back(later.front());
			later.pop_front();
		}
	}
	// word 3 of a DSR is the first of the four, in the packed instruction
	static void words(uint32_t *w, const Operand &o)
	{
		w[3] = o.base;
		w[2] = o.len | uint32_t(o.stride) << 16;
		w[1] = o.len1 | uint32_t(o.stride1) << 16;
		w[0] = o.kind | o.dt << 4;
	}
};

// a memory or accumulator operand of len x len1 inside its store, often where others are
Operand some_store(Rng &r, uint32_t len, uint32_t len1)
{
	Operand o;

	do {
		o.kind = r.chance(50) ? WSE_KIND_MEM : WSE_KIND_ACC;
		o.dt = o.kind == WSE_KIND_MEM ? r.below(3) : r.below(16);
		o.len = len;
		o.len1 = len1;
		o.stride = o.size() * (int32_t(r.below(6)) - 2);
		o.stride1 = o.size() * (int32_t(r.below(41)) - 12);
		o.base =
			o.kind == WSE_KIND_ACC
				? r.below(WSE_NACC)
				: WSE_SRAM_BASE +
					  o.size() * (r.chance(60)
							      ? 0x4000 / o.size() + r.below(16)
							      : r.below(WSE_SRAM_BYTES / o.size()));
	} while (!o.inside());
	return o;
}

Operand fabric(uint32_t kind, uint32_t color, uint32_t len, uint32_t len1)
{
	Operand o;

	o.kind = kind;
	o.base = color;
	o.len = len;
	o.len1 = len1;
	return o;
}

// any instruction that is allowed, and its wavelets
Ins some_ins(Bench &tb)
{
	Rng &r = tb.rng;
	unsigned op = WSE_TOP_MOVE + r.below(4);
	uint32_t len = 1 + r.below(9), len1 = r.below(5), n = len * (len1 ? len1 : 1), flags = 0;
	bool until = r.chance(25);
	Ins i;

	if (until && op >= WSE_TOP_MTEE)
		op = WSE_TOP_MOVE;
	bool midx = op == WSE_TOP_MIDX;
	if (midx) {
		len = 1 + r.below(4);
		n = len * (len1 ? len1 : 1);
		i.scalar = r.chance(70) ? r.below(64) : r.below((1 << 14) - 4);
	}
	i.dst = until || midx || r.chance(35) ? fabric(WSE_KIND_FABOUT, r.below(24), len, len1)
					      : some_store(r, len, len1);
	// MADD until END has its elements from fabric and DOT queue
	unsigned from = midx ? 0 : until ? (op == WSE_TOP_MADD ? 2 : 2 + r.below(2)) : r.below(4);
	i.src1 = from < 2 ? some_store(r, len, len1)
			  : fabric(from == 2 ? WSE_KIND_FABIN : WSE_KIND_DOTQ, r.below(24),
				   r.u64() & 0xffff, r.u64() & 0xffff);
	if (op == WSE_TOP_MADD && (until || (from != 3 && r.chance(30))))
		i.src2 = fabric(WSE_KIND_DOTQ, r.u64(), r.u64() & 0xffff, 1);
	else if (op == WSE_TOP_MADD || op == WSE_TOP_MTEE)
		i.src2 = some_store(r, len, len1);
	if (!until && r.chance(30) && i.dst.store() && i.src2.store())
		i.src2 = i.dst;				// in place
	if (!until && r.chance(20) && i.dst.store() && i.src1.store())
		i.src1 = i.dst;
	if (i.dst.kind == WSE_KIND_FABOUT && r.chance(40))
		flags |= WSE_TCW_SEND_END_MASK;
	if (until)
		flags |= WSE_TCW_UNTIL_END_MASK;
	i.cw = op | flags | (r.u64() & (WSE_TCW_ACTIVATE_MASK | WSE_TCW_UNBLOCK_MASK)) |
	       r.below(32) << WSE_TCW_TASK_SHIFT | (r.u64() & 0xfff00);
	bool fab = i.src1.kind == WSE_KIND_FABIN,
	     dots = i.src1.kind == WSE_KIND_DOTQ || i.src2.kind == WSE_KIND_DOTQ;
	bool marks_in_rx = until && fab && !dots;
	for (uint32_t e = 0; e < (until ? len : n); e++) {
		for (unsigned k = until ? r.below(5) : 1; k; k--) {
			if (fab)
				tb.rx_later.push_back({tb.any(), false});
			if (dots)
				tb.dq_later.push_back({tb.any(), false});
		}
		if (marks_in_rx)
			tb.rx_later.push_back({uint32_t(r.u64()) | WSE_CTRLW_END_MASK, true});
		if (until && dots)
			tb.dq_later.push_back({uint32_t(r.u64()), true});
	}
	// what comes after the instruction's share stays; fabric and DOT queue together: "no
	// control wavelets arrive"
	for (unsigned k = r.below(4); k; k--) {
		tb.rx_later.push_back({uint32_t(r.u64()), !(fab && dots) && r.chance(50)});
		tb.dq_later.push_back({uint32_t(r.u64()), r.chance(50)});
	}
	return i;
}

void test_random(Tap &tap, Bench &tb)
{
	bool good = true;
	unsigned i;

	tb.fill();
	for (i = 0; i < 20000 && good; i++) {
		tb.p = tb.rng.chance(30) ? 100 : 10 + tb.rng.below(90);
		tb.hold = i % 5 == 0;
		if (i % 100 == 0)
			tb.fill();
		Ins n = some_ins(tb);
		good &= tb.executes(n);
		if (!good)
			printf("# cw %#x kinds %u %u %u\n", n.cw, n.dst.kind, n.src1.kind,
			       n.src2.kind);
	}
	tap.ok(good && tb.stops > 1000,
	       "20000 random instructions (%u holds of a debugger, stopped at %u)", tb.stops, i);
}

void test_rate(Tap &tap, Bench &tb)
{
	Ins n;
	bool good;

	tb.p = 100;
	n.cw = WSE_TOP_MOVE;
	n.dst = fabric(WSE_KIND_FABOUT, 5, 500, 1);
	n.src1 = fabric(WSE_KIND_FABIN, 6, 0, 0);
	for (unsigned i = 0; i < 500; i++)
		tb.rx_later.push_back({tb.any(), false});
	uint64_t from = tb.cycles;
	good = tb.executes(n);
	uint64_t fab = tb.cycles - from;
	n.dst.kind = n.src1.kind = WSE_KIND_ACC;
	n.dst.base = n.src1.base = 0;
	n.dst.len = n.src1.len = 128;
	n.dst.len1 = n.src1.len1 = 1;
	n.dst.stride = n.src1.stride = 1;
	from = tb.cycles;
	good &= tb.executes(n);
	uint64_t acc = tb.cycles - from;
	tap.ok(good && fab < 520 && acc < 148,
	       "one element a cycle: 500 wavelets in %u cycles, 128 accumulators in %u",
	       unsigned(fab), unsigned(acc));
}

void test_ctrl(Tap &tap, Bench &tb)
{
	bool good = true;

	tb.fill();
	for (unsigned i = 0; i < 400; i++) {
		uint32_t len = 2 + tb.rng.below(10), at = tb.rng.below(len);
		bool dots = i % 2, until = !dots && i % 4;
		Ins n;

		tb.p = 30 + tb.rng.below(71);
		n.cw = WSE_TOP_MOVE | (until ? unsigned(WSE_TCW_UNTIL_END_MASK) : 0);
		n.dst = until ? fabric(WSE_KIND_FABOUT, 2, 3, 1) : some_store(tb.rng, len, 1);
		n.src1 = fabric(dots ? WSE_KIND_DOTQ : WSE_KIND_FABIN, 7, 0, 0);
		for (uint32_t k = 0; k < len; k++)
			(dots ? tb.dq_later : tb.rx_later)
				.push_back({k != at ? tb.any()
					    : until ? 2
						    : uint32_t(tb.rng.u64()),
					    k == at});
		tb.end_in_dots = dots;
		good &= tb.executes(n);
	}
	tb.end_in_dots = false;
	for (unsigned i = 0; i < 50; i++) {
		Ins n;

		n.cw = WSE_TOP_MADD | WSE_TCW_UNTIL_END_MASK;
		n.dst = fabric(WSE_KIND_FABOUT, 2, 1, 1);
		n.src1 = fabric(WSE_KIND_FABIN, 7, 0, 0);
		n.src2 = fabric(WSE_KIND_DOTQ, 0, 0, 0);
		for (unsigned k = i % 5; k; k--) {
			tb.rx_later.push_back({tb.any(), false});
			tb.dq_later.push_back({tb.any(), false});
		}
		tb.rx_later.push_back({WSE_CTRLW_END_MASK, true});
		tb.dq_later.push_back({tb.any(), false});
		good &= tb.executes(n);		// only the DOT queue's marks count
	}
	tap.ok(good,
	       "a control wavelet or an END mark among elements, and one without END, is BAD_CTRL with color and value");
}

void test_refused(Tap &tap, Bench &tb)
{
	bool good = true;
	uint64_t from = tb.ran;

	auto refused = [&](uint32_t cause, auto change) {
		for (unsigned op = WSE_TOP_MOVE; op <= WSE_TOP_MTEE; op++) {
			Ins n;

			n.cw = op | WSE_TCW_ACTIVATE_MASK;
			n.dst.kind = n.src1.kind = n.src2.kind = WSE_KIND_MEM;
			n.dst.dt = n.src1.dt = n.src2.dt = WSE_DT_FP32;
			n.dst.len = n.src1.len = n.src2.len = 4;
			n.dst.stride = n.src1.stride = n.src2.stride = 4;
			n.dst.base = WSE_SRAM_BASE;
			n.src1.base = WSE_SRAM_BASE + 64;
			n.src2.base = WSE_SRAM_BASE + 128;
			good &= tb.executes(n);			// as it is it runs
			change(n, op);
			tb.rx_later.push_back({0, false});	// and that nothing is taken
			tb.dq_later.push_back({0, false});
			good &= tb.executes(n, cause);
		}
	};
	auto bad = [&](auto change) { refused(WSE_CAUSE_BAD_DSR, change); };
	auto addr = [&](auto change) { refused(WSE_CAUSE_OPERAND_ADDR, change); };

	tb.p = 100;
	tb.fill();
	bad([](Ins &n, unsigned) { n.dst.len = 0; });
	bad([](Ins &n, unsigned) { n.src1.len = 0; });
	bad([](Ins &n, unsigned) {
		n.src1 = fabric(WSE_KIND_FABIN, 3, 0, 1), n.dst = fabric(WSE_KIND_FABOUT, 3, 0, 1);
	});
	bad([](Ins &n, unsigned) { n.src1.len = 3; });
	bad([](Ins &n, unsigned) { n.src1.len1 = 2; });
	bad([](Ins &n, unsigned) { n.dst.base += 2; });
	bad([](Ins &n, unsigned) { n.src1.base += 1; });
	bad([](Ins &n, unsigned) { n.src1.stride = 6; });
	bad([](Ins &n, unsigned) { n.dst.stride1 = 2; });
	bad([](Ins &n, unsigned) { n.dst.dt = WSE_DT_I16; });
	bad([](Ins &n, unsigned) { n.src1.dt = WSE_DT_FP16; });
	bad([](Ins &n, unsigned) { n.dst.kind = WSE_KIND_FABIN; });
	bad([](Ins &n, unsigned) { n.dst.kind = WSE_KIND_DOTQ; });
	bad([](Ins &n, unsigned) { n.dst.kind = WSE_KIND_NONE; });
	bad([](Ins &n, unsigned) { n.dst.kind = WSE_KIND_FIFO; });
	bad([](Ins &n, unsigned) { n.src1.kind = WSE_KIND_FABOUT; });
	bad([](Ins &n, unsigned) { n.src1.kind = WSE_KIND_CIRC; });
	bad([](Ins &n, unsigned) { n.src1.kind = WSE_KIND_FABIN, n.src1.base = 24; });
	bad([](Ins &n, unsigned) { n.dst.kind = WSE_KIND_FABOUT, n.dst.base = 24; });
	bad([](Ins &n, unsigned) { n.src1.kind = WSE_KIND_FABIN, n.src1.base = 0x100; });
	bad([](Ins &n, unsigned) { n.cw |= WSE_TCW_UNTIL_END_MASK; });
	bad([](Ins &n, unsigned) { n.cw |= WSE_TCW_SEND_END_MASK; });
	bad([](Ins &n, unsigned) {
		n.cw |= WSE_TCW_UNTIL_END_MASK;
		n.dst.kind = WSE_KIND_FABOUT;
		n.dst.base = 1;
	});
	bad([](Ins &n, unsigned) { n.cw = (n.cw & ~WSE_TCW_OP_MASK) | 0x0c; });
	bad([](Ins &n, unsigned) { n.cw = (n.cw & ~WSE_TCW_OP_MASK) | WSE_TOP_VADD; });
	bad([](Ins &n, unsigned) { n.cw = n.cw & ~WSE_TCW_OP_MASK; });
	bad([](Ins &n, unsigned op) {
		if (op == WSE_TOP_MOVE)
			n.src1.len = 0;
		else
			n.src2.len = 5;
	});
	bad([](Ins &n, unsigned op) {
		if (op == WSE_TOP_MADD)
			n.src1.kind = n.src2.kind = WSE_KIND_DOTQ;
		else
			n.dst.kind = WSE_KIND_DOTQ;
	});
	bad([](Ins &n, unsigned op) {
		if (op == WSE_TOP_MOVE)
			n.dst.dt = 7;
		else
			n.src2.kind = WSE_KIND_FABIN;
	});
	bad([](Ins &n, unsigned) {
		n.dst.len = 0;				// BAD_DSR wins
		n.src1.base = 0;
	});
	addr([](Ins &n, unsigned) { n.dst.base = WSE_SRAM_BASE + WSE_SRAM_BYTES - 12; });
	addr([](Ins &n, unsigned) { n.src1.base = WSE_SRAM_BASE - 4; });
	addr([](Ins &n, unsigned) { n.src1.base = 0; });
	addr([](Ins &n, unsigned) { n.src1.stride = -24; });
	addr([](Ins &n, unsigned) {
		n.dst.len1 = n.src1.len1 = n.src2.len1 = 2, n.src1.stride1 = -68;
	});
	addr([](Ins &n, unsigned) {
		n.dst.len1 = n.src1.len1 = n.src2.len1 = 5, n.dst.stride1 = 0x3000;
	});
	addr([](Ins &n, unsigned) {
		n.dst.kind = WSE_KIND_ACC, n.dst.base = 125, n.dst.stride = 1;
	});
	addr([](Ins &n, unsigned) {
		n.src1.kind = WSE_KIND_ACC, n.src1.base = 128, n.src1.stride = 0;
	});
	addr([](Ins &n, unsigned) {
		n.src1.kind = WSE_KIND_ACC, n.src1.base = 2, n.src1.stride = -1;
	});
	addr([](Ins &n, unsigned) { n.dst.len = n.src1.len = n.src2.len = 0xffff; });
	addr([](Ins &n, unsigned op) {
		if (op == WSE_TOP_MOVE)
			n.dst.base = 0xfffffffc;
		else
			n.src2.base = WSE_SRAM_BASE + WSE_SRAM_BYTES;
	});
	auto index = [&](uint32_t cause, auto change) {
		Ins n;

		n.cw = WSE_TOP_MIDX | WSE_TCW_ACTIVATE_MASK;
		n.dst = fabric(WSE_KIND_FABOUT, 3, 0, 0);
		n.src1.kind = WSE_KIND_MEM;
		n.src1.base = WSE_SRAM_BASE + 64;
		n.src1.dt = WSE_DT_BF16;
		n.src1.len = 4;
		n.src1.len1 = 3;
		n.src1.stride = 2;
		n.src1.stride1 = 16;
		n.scalar = 5;
		change(n);
		good &= tb.executes(n, cause);
	};
	const uint32_t dsr = WSE_CAUSE_BAD_DSR;
	index(0, [](Ins &) {});
	index(0, [](Ins &n) { n.src1.len = 1, n.src1.len1 = 0, n.scalar = 0x3fff; });
	index(0, [](Ins &n) { n.scalar = 0x3ffd; });
	index(0, [](Ins &n) { n.src1.stride = n.src1.stride1 = 0, n.src1.len1 = 0x4000 - 5; });
	index(dsr, [](Ins &n) { n.src1.len = 5; });
	index(dsr, [](Ins &n) { n.src1.len = 0; });
	index(dsr, [](Ins &n) { n.scalar = 0x3ffe; });
	index(dsr, [](Ins &n) { n.src1.len1 = 0, n.scalar = 0x4000; });
	index(dsr, [](Ins &n) { n.src1.len1 = 0, n.scalar = 0xffffffff; });
	index(dsr, [](Ins &n) { n.src1.stride = n.src1.stride1 = 0, n.src1.len1 = 0x4000 - 4; });
	index(dsr, [](Ins &n) {
		n.src1.stride = n.src1.stride1 = 0, n.scalar = 0, n.src1.len1 = 0xffff;
	});
	index(dsr, [](Ins &n) { n.dst = n.src1; });
	index(dsr, [](Ins &n) { n.dst.base = 24; });
	index(dsr, [](Ins &n) { n.cw |= WSE_TCW_UNTIL_END_MASK; });
	index(dsr, [](Ins &n) { n.src1 = fabric(WSE_KIND_DOTQ, 0, 4, 3); });
	index(dsr, [](Ins &n) { n.src1 = fabric(WSE_KIND_FABIN, 3, 4, 3); });
	index(WSE_CAUSE_OPERAND_ADDR,
	      [](Ins &n) { n.src1.base = WSE_SRAM_BASE + WSE_SRAM_BYTES - 16; });
	tap.ok(good && tb.ran - from == 2 * 3 * 41 + 17,
	       "%u instructions with a forbidden operand: BAD_DSR or OPERAND_ADDR, nothing is done",
	       3 * 41 + 13);
}

} // namespace

int main(int argc, char **argv)
{
	Bench tb(bench_seed(argc, argv));
	Tap tap;

	twin_fp_enter();
	test_rate(tap, tb);
	test_ctrl(tap, tb);
	test_refused(tap, tb);
	test_random(tap, tb);
	return tap.plan();
}
