// SPDX-License-Identifier: MIT
// The lanes at their ports (test_wse_lanes): an instruction, its result by hw/doc/core.md with the
// twin's arithmetic, and the bench: SRAM, ramp and DOT queue are behavioural, movers work on other
// accumulators meanwhile, a debugger holds the core.
#ifndef WSE_RTL_LANES_TB_HPP
#define WSE_RTL_LANES_TB_HPP
#include <bitset>
#include <cstring>
#include <deque>
#include <vector>

#include "Vwse_lanes.h"
#include "rtl/tests/block_tb.hpp"
#include "twin/exact/fp.h"
#include "lanes_ref.hpp"
#include "wse_regs.h"

struct Wavelet {
	uint32_t data;
	bool ctrl;

	bool operator==(const Wavelet &o) const { return data == o.data && ctrl == o.ctrl; }
};
using Wavelets = std::deque<Wavelet>;

struct Operand {
	uint32_t kind = WSE_KIND_NONE, dt = 0, base = 0, len = 8, len1 = 1;
	int32_t stride = 0, stride1 = 0;

	bool mem() const { return kind == WSE_KIND_MEM; }
	bool acc() const { return kind == WSE_KIND_ACC; }
	int32_t size() const { return acc() ? 1 : dt == WSE_DT_BF16 ? 2 : 4; }
	uint32_t rows() const { return len1 ? len1 : 1; }
	int64_t at(uint32_t i, uint32_t j) const
	{
		return int64_t(base) - (mem() ? WSE_SRAM_BASE : 0) + int64_t(i) * stride +
		       int64_t(j) * stride1;
	}
	bool inside() const
	{
		int64_t limit = acc() ? WSE_NACC : WSE_SRAM_BYTES;

		for (uint32_t i : {0u, len - 1})
			for (uint32_t j : {0u, rows() - 1})
				if (at(i, j) < 0 || at(i, j) + size() > limit)
					return false;
		return true;
	}
	// the rules, but for the range
	bool element_ok() const { return (mem() && dt <= WSE_DT_I32) || acc(); }
	bool lane_ok() const
	{
		unsigned align = acc() ? WSE_LANES : 16;

		return element_ok() && len && len % WSE_LANES == 0 && stride == size() &&
		       base % align == 0 && stride1 % int(align) == 0;
	}
	bool single_ok() const
	{
		return element_ok() && len == 1 && rows() == 1 && base % size() == 0;
	}
	bool same_shape(const Operand &o) const { return len == o.len && rows() == o.rows(); }
};

struct Ins {
	uint32_t cw = 0, scalar = 0;
	Operand dst, src1, src2;

	unsigned op() const { return cw & WSE_TCW_OP_MASK; }
	bool dot() const { return op() == WSE_TOP_DOT || op() == WSE_TOP_DOTX; }
	bool stream() const { return op() == WSE_TOP_AXPY || dot(); }
	bool reduce() const { return twin_vop_kind(op()) == TWIN_VOP_REDUCE; }
	bool unary() const { return reduce() || twin_vop_kind(op()) == TWIN_VOP_UNARY; }
	bool two() const { return !unary() && !(cw & WSE_TCW_SCALAR_MASK); }
	unsigned feats() const { return scalar & 7; }
	// 0, BAD_DSR or OPERAND_ADDR
	uint32_t refused() const
	{
		bool bad, in = src2.inside();

		if (stream()) {
			bad = src1.kind != WSE_KIND_FABIN || src1.base >= WSE_NCOLORS ||
			      !dst.acc() || dst.base % WSE_LANES || !src2.mem() ||
			      src2.dt != WSE_DT_BF16 || !src2.lane_ok() ||
			      (feats() != 1 && feats() != 2 && feats() != 4);
			in = in && uint64_t(dst.base) + feats() * src2.len <= WSE_NACC;
		} else {
			bad = twin_vop_kind(op()) == TWIN_VOP_NONE || !src1.lane_ok() ||
			      !(reduce() ? dst.single_ok()
					 : dst.lane_ok() && dst.same_shape(src1)) ||
			      (two() && !(src2.lane_ok() && src2.same_shape(src1)));
			in = src1.inside() && dst.inside() && (!two() || in);
		}
		return bad  ? unsigned(WSE_CAUSE_BAD_DSR)
		       : in ? 0u
			    : unsigned(WSE_CAUSE_OPERAND_ADDR);
	}
};

// what the module works on, and what the contract says of it
struct State {
	std::vector<uint8_t> mem = std::vector<uint8_t>(WSE_SRAM_BYTES);
	uint32_t acc[WSE_NACC] = {};
	Wavelets rx, dots;			// dots: ctrl is an END mark
	uint64_t macs = 0;

	uint32_t load(const Operand &o, uint32_t i, uint32_t j) const
	{
		uint32_t v = 0;

		if (o.acc())
			return acc[o.at(i, j)];
		memcpy(&v, &mem[o.at(i, j)], o.size());
		return o.dt == WSE_DT_BF16 ? v << 16 : v;
	}
	void store(const Operand &o, uint32_t i, uint32_t j, uint32_t v)
	{
		uint32_t h = o.dt == WSE_DT_BF16 ? twin_bf16_round(v) : v;

		if (o.acc())
			acc[o.at(i, j)] = v;
		else
			memcpy(&mem[o.at(i, j)], &h, o.size());
	}
	// an instruction that is not refused: 0, or the cause of a fault
	uint32_t run(const Ins &n)
	{
		return n.stream() ? run_stream(n) : run_vector(n);
	}

private:
	template <class F> static uint32_t tree(uint32_t *p, F f)
	{
		for (unsigned k = WSE_LANES / 2; k; k /= 2)
			for (unsigned l = 0; l < k; l++)
				p[l] = f(p[2 * l], p[2 * l + 1]);
		return p[0];
	}
	uint32_t run_vector(const Ins &n)
	{
		uint32_t part[WSE_LANES], r[WSE_LANES];
		bool max = n.op() == WSE_TOP_VRMAX;
		auto join = [&](uint32_t a, uint32_t b) { return lane_element(n.op(), a, b, 0); };

		for (auto &p : part)
			p = max ? 0xff800000 : 0;
		for (uint32_t j = 0; j < n.src1.rows(); j++) {
			for (uint32_t g = 0; g < n.src1.len; g += WSE_LANES) {
				for (uint32_t l = 0; l < WSE_LANES; l++) {
					uint32_t a = load(n.src1, g + l, j);

					if (n.reduce())
						part[l] = join(part[l], a);
					else
						r[l] = lane_element(n.op(), a,
								    n.two() ? load(n.src2, g + l, j)
									    : n.scalar,
								    load(n.dst, g + l, j));
				}
				for (uint32_t l = 0; l < WSE_LANES && !n.reduce(); l++)
					store(n.dst, g + l, j, r[l]);
			}
		}
		if (n.reduce())
			store(n.dst, 0, 0, tree(part, join));
		if (twin_vop_kind(n.op()) == TWIN_VOP_MAC)
			macs += n.dst.len * n.dst.rows();
		return 0;
	}
	uint32_t run_stream(const Ins &n)
	{
		uint32_t tokens = n.src2.len, part[WSE_LANES];
		bool dot = n.dot();

		if (!dot && n.cw & WSE_TCW_CLEAR_MASK)
			for (uint32_t i = 0; i < n.feats() * tokens; i++)
				acc[n.dst.base + i] = 0;
		for (;; rx.pop_front()) {
			Wavelet w = rx.front();
			uint32_t f = w.data >> 14 & 3, k = w.data & 0x3fff;

			if (w.ctrl && !(w.data & WSE_CTRLW_END_MASK))
				return WSE_CAUSE_BAD_CTRL;
			if (w.ctrl) {
				if (n.op() == WSE_TOP_DOT)
					dots.push_back({0, true});
				rx.pop_front();
				return 0;
			}
			if (f >= n.feats() || k >= n.src2.rows())
				return WSE_CAUSE_STREAM_INDEX;
			memset(part, 0, sizeof(part));
			for (uint32_t t = 0; t < tokens; t++) {
				uint32_t *a = &acc[n.dst.base + f * tokens + t],
					 *p = &part[t % WSE_LANES];
				uint32_t x = load(n.src2, t, k);

				if (dot)
					*p = twin_fadd(*p, twin_fmul(*a, x));
				else
					*a = twin_fadd(*a, twin_fmul(w.data & 0xffff0000, x));
			}
			if (dot)
				dots.push_back({tree(part, twin_fadd), false});
			macs += tokens;
		}
	}
};

struct Bench : BlockTb<Vwse_lanes> {
	State s, want;				// as the module has left it; as it must be
	Wavelets rx_later;
	unsigned p = 100, p_dots = 100, stops = 0, starve = 0, busy_cycles = 0, waits = 0;
	bool hold = false;			// a debugger's hold now and then
	// movers work on accumulators that are not the instruction's
	bool others = true;
	uint64_t ran = 0, faults[3] = {};	// stream index, control, operands
	uint64_t chained_faults = 0;

	explicit Bench(uint64_t seed) : BlockTb(seed)
	{
		top.ins_valid_i = top.stop_i = top.rx_valid_i = top.dq_count_i = 0;
		top.m0_re_i = top.m1_re_i = top.m0_we_i = top.m1_we_i = 0;
		top.clr_i = 1;
		run(2);
		top.clr_i = 0;
	}
	uint32_t any()
	{
		static const uint32_t odd[] = {0,	   0x80000000, 0x7f800000, 0xff800000,
					       0x7fc00000, 0xffffffff, 1,	   0x807fffff,
					       0x00800000, 0x80800000, 0x7f7fffff, 0xff7f8000,
					       0x3f800000, 0xbf800000, 0x4f000000, 0xcf000000,
					       0x4effffff, 0x3f000000, 0x7fffffff};

		return rng.chance(wild) ? (rng.chance(50) ? rng.pick(odd) : uint32_t(rng.u64())) :
		       (uint32_t(rng.u64()) & 0x83ffffff) | 0x3c000000;
	}
	// one cycle; false: something at the ports is wrong
	bool step()
	{
		bool good = true, read = false;
		uint32_t row[4], ra[2] = {}, rb[2] = {};

		if (hold && rng.below(12) == 0) {
			top.stop_i = !top.stop_i;
			stops++;
		}
		if (top.rx_pop_o) {
			if (s.rx.empty() || !claims)
				return false;
			s.rx.pop_front();
			taken++;
		}
		if (starve)
			starve--;
		else if (!rx_later.empty() && s.rx.size() < WSE_CHAN_DEPTH && rng.chance(p)) {
			s.rx.push_back(rx_later.front());
			rx_later.pop_front();
		}
		top.rx_valid_i = top.claim_o && !s.rx.empty();
		top.rx_ctrl_i = s.rx.empty() ? rng.chance(50) : s.rx.front().ctrl;
		top.rx_data_i = s.rx.empty() ? uint32_t(rng.u64()) : s.rx.front().data;
		top.dq_count_i = queued;
		bool stands = top.stop_i,
		     may_wait = claims && !stands &&
				(s.rx.empty() || (dot && queued + on_way() >= WSE_DOTQ_DEPTH));

		for (auto &w : row)
			w = rng.u64();
		if (top.a_en_o && !stands) {
			if (top.a_row_o >= WSE_SRAM_BYTES / 16)
				return false;
			uint8_t *at = &s.mem[16 * top.a_row_o];
			uint32_t wd[4] = {top.a_wd0_o, top.a_wd1_o, top.a_wd2_o, top.a_wd3_o};

			read = !top.a_we_o;
			if (read)
				memcpy(row, at, 16);
			for (unsigned i = 0; i < 16; i++)
				if (top.a_we_o >> i & 1)
					at[i] = wd[i / 4] >> 8 * (i % 4);
		}
		movers(ra, rb);
		// one push at most, and there is room; movers take
		bool push = top.dq_push_o, pop = queued && rng.chance(p_dots);
		if (push) {
			good &= queued < WSE_DOTQ_DEPTH && dot;
			s.dots.push_back({top.dq_data_o, bool(top.dq_end_o)});
			pushed++;
		}
		settle();
		edge();
		queued += push - pop;
		// else the port stands, and what it has read
		if (!stands) {
			top.a_rd0_i = row[0];
			top.a_rd1_i = row[1];
			top.a_rd2_i = row[2];
			top.a_rd3_i = row[3];
		}
		good &= !top.m0_re_i || (top.m0_rda_o == ra[0] && top.m0_rdb_o == rb[0]);
		good &= !top.m1_re_i || (top.m1_rda_o == ra[1] && top.m1_rdb_o == rb[1]);
		top.m0_re_i = top.m0_we_i = top.m1_re_i = top.m1_we_i = 0;
		takes += top.ins_take_o;
		acts += top.act_o;
		unblocks += top.unb_o;
		faulted += top.fault_o;
		s.macs += top.mac_o;
		busy_cycles += top.busy_o;
		waits += top.lwait_o;
		// of a stream the claim lasts as long as it runs
		if (top.busy_o && claims)
			good &= top.claim_o && top.color_o == color;
		else
			good &= !top.claim_o;
		good &= !top.lwait_o || may_wait || (held_lately && dot);
		held_lately = stands || (held_lately && dot);
		return good;
	}
	// the instruction with the wavelets in rx_later, compared with what the contract says
	bool executes(const Ins &n)
	{
		bool good = begin(n);
		uint32_t must = n.refused(), value = 0;
		unsigned limit = 500000;

		want.rx = rx_later;
		if (!must) {
			must = want.run(n);
			value = want.rx.empty() ? 0 : want.rx.front().data;
		}
		bool in_stream = must == WSE_CAUSE_STREAM_INDEX || must == WSE_CAUSE_BAD_CTRL;
		uint32_t fault_color = in_stream ? color : ~0u;

		if (!in_stream)
			value = 0;
		while (!takes && limit--)
			good &= step();
		good &= takes == 1;
		for (unsigned i = 0; i < 14; i++)
			top.ins_i[i] = rng.u64();		// captured
		top.ins_valid_i = 0;
		while (good && top.busy_o && !faulted && limit--)
			good &= step();
		hold = false;
		top.stop_i = 0;
		if (faulted) {
			faults[in_stream ? must - WSE_CAUSE_STREAM_INDEX > 0 : 2]++;
			good &= must && top.fault_cause_o == must &&
				top.fault_color_o == fault_color && top.fault_value_o == value &&
				!acts && !unblocks;
			// as in the core: the fault stops it one cycle later
			good &= step();
			top.stop_i = 1;
			top.ins_valid_i = 0;
			for (unsigned i = 0; i < 8; i++)
				good &= step();
			good &= faulted == 1;
		} else {
			top.ins_valid_i = 0;
			good &= !must && top.act_o == !!(n.cw & WSE_TCW_ACTIVATE_MASK) &&
				top.unb_o == !!(n.cw & WSE_TCW_UNBLOCK_MASK) &&
				top.task_o == n.cw >> WSE_TCW_TASK_SHIFT;
			good &= step() && !top.act_o && !top.unb_o && step() && !top.busy_o &&
				!top.a_en_o;
		}
		good &= takes == 1 && acts == (!must && n.cw & WSE_TCW_ACTIVATE_MASK) &&
			unblocks == (!must && n.cw & WSE_TCW_UNBLOCK_MASK);
		s.rx.insert(s.rx.end(), rx_later.begin(), rx_later.end());
		good &= s.mem == want.mem && s.rx == want.rx && s.dots == want.dots &&
			s.macs == want.macs;
		good &= accumulators();
		if (faulted)
			good &= boot();
		claims = dot = false;
		s.rx.clear();
		rx_later.clear();
		ran++;
		return good;
	}
	// vector operations behind each other, as wse_issue offers them; *took: cycles. One that is
	// refused is the last
	bool chain(const std::vector<Ins> &list, unsigned *took)
	{
		unsigned limit = 100000, flags = 0;
		bool good = begin(list[0]);
		uint32_t must = 0;
		size_t at = 0, runs = 0;

		want.macs = 0;
		for (; runs < list.size() && !must; runs++) {
			must = list[runs].refused();
			if (!must) {
				want.run(list[runs]);
				flags += !!(list[runs].cw & WSE_TCW_ACTIVATE_MASK);
			}
		}
		busy.set();
		for (*took = 0; (at < list.size() || top.busy_o) && !faulted && limit--; ++*took) {
			top.ins_valid_i = at < list.size() && !top.ins_take_o;
			good &= step();
			if (top.ins_take_o && ++at < list.size())
				offer(list[at]);
		}
		hold = false;
		top.stop_i = 0;
		top.ins_valid_i = 0;
		good &= takes == runs && acts == flags && faulted == !!must &&
			(!must || top.fault_cause_o == must);
		good &= step();
		if (faulted) {
			top.stop_i = 1;
			for (unsigned i = 0; i < 8; i++)
				good &= step();
		}
		good &= s.mem == want.mem && s.macs == want.macs && accumulators();
		ran++;
		chained_faults += !!faulted;
		return good && (!faulted || boot());
	}
	bool fill()
	{
		wild = rng.chance(50) ? 3 : 30;
		for (unsigned i = 0; i < WSE_SRAM_BYTES; i += 4) {
			uint32_t v = any();

			memcpy(&s.mem[i], &v, 4);
		}
		want.mem = s.mem;
		busy.reset();
		for (unsigned i = 0; i < WSE_NACC; i += 2) {
			write(i, any(), i + 1, any());
			if (!step())
				return false;
		}
		return true;
	}

private:
	unsigned wild = 3, color = 0, queued = 0, taken = 0, pushed = 0;
	unsigned takes = 0, acts = 0, unblocks = 0, faulted = 0;
	bool claims = false, dot = false, held_lately = false;
	std::bitset<WSE_NACC> busy;		// accumulators of the instruction

	unsigned on_way() const { return taken - pushed; }
	void touch(const Operand &o)
	{
		for (uint32_t j = 0; j < o.rows(); j++)
			for (uint32_t i = 0; i < o.len; i++)
				busy.set(o.at(i, j));
	}
	void offer(const Ins &n)
	{
		uint32_t w[14];

		words(w + 8, n.dst);
		words(w + 4, n.src1);
		words(w, n.src2);
		w[13] = n.cw;
		w[12] = n.scalar;
		for (unsigned i = 0; i < 14; i++)
			top.ins_i[i] = w[i];
	}
	bool begin(const Ins &n)
	{
		offer(n);
		busy.reset();
		if (n.refused()) {
			;					// all of them are the movers'
		} else if (n.stream()) {
			for (uint32_t i = 0; i < n.feats() * n.src2.len; i++)
				busy.set(n.dst.base + i);
		} else {
			if (n.dst.acc())
				touch(n.dst);
			if (n.src1.acc())
				touch(n.src1);
			if (n.two() && n.src2.acc())
				touch(n.src2);
		}
		takes = acts = unblocks = faulted = taken = pushed = busy_cycles = waits = 0;
		s.macs = want.macs = 0;
		s.dots.clear();
		want.dots.clear();
		color = n.src1.base & 31;
		claims = n.stream() && n.src1.kind == WSE_KIND_FABIN && n.src1.base < WSE_NCOLORS;
		dot = n.dot();
		held_lately = false;
		top.ins_valid_i = 1;
		return !top.busy_o;
	}
	void write(unsigned a, uint32_t u, unsigned b, uint32_t v)
	{
		top.m0_we_i = top.m1_we_i = 1;
		top.m0_wa_i = a;
		top.m0_wd_i = want.acc[a] = u;
		top.m1_wa_i = b;
		top.m1_wd_i = want.acc[b] = v;
	}
	// a mover reads or writes accumulators beside the instruction's, not the same ones in one
	// cycle
	void movers(uint32_t *ra, uint32_t *rb)
	{
		unsigned a = rng.below(WSE_NACC), b = rng.below(WSE_NACC);

		// of accumulators() or fill()
		if (top.m0_re_i || top.m0_we_i || top.m1_we_i) {
			ra[0] = want.acc[top.m0_ra_i];
			rb[0] = want.acc[top.m0_rb_i];
			ra[1] = want.acc[top.m1_ra_i];
			rb[1] = want.acc[top.m1_rb_i];
			return;
		}
		if (!others || a == b || busy[a] || busy[b])
			return;
		ra[0] = rb[1] = want.acc[a];
		rb[0] = ra[1] = want.acc[b];
		top.m0_ra_i = top.m1_rb_i = a;
		top.m0_rb_i = top.m1_ra_i = b;
		switch (rng.below(8)) {
		case 0:
			top.m0_re_i = 1;
			top.m1_re_i = 1;
			break;
		case 1:
			write(a, any(), b, any());
			break;
		case 2:
			top.m0_we_i = 1;
			top.m0_wa_i = a;
			top.m0_wd_i = want.acc[a] = any();
			break;
		case 3:
			top.m1_we_i = 1;
			top.m1_wa_i = b;
			top.m1_wd_i = want.acc[b] = any();
			break;
		}
	}
	// all of them, two a mover and cycle
	bool accumulators()
	{
		bool good = true;

		for (unsigned i = 0; i < WSE_NACC && good; i += 4) {
			top.m0_re_i = top.m1_re_i = 1;
			top.m0_ra_i = i;
			top.m0_rb_i = i + 3;
			top.m1_ra_i = i + 1;
			top.m1_rb_i = i + 2;
			good = step();
		}
		return good;
	}
	// held, then booted: accumulators are 0, the queues empty
	bool boot()
	{
		claims = dot = false;
		busy.set();
		s.rx.clear();
		rx_later.clear();
		queued = 0;
		top.clr_i = 1;
		run(1 + rng.below(3));
		top.clr_i = top.stop_i = 0;
		memset(want.acc, 0, sizeof(want.acc));
		return !top.busy_o && !top.claim_o && accumulators();
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
#endif
