// SPDX-License-Identifier: MIT
// BAR0: every offset of the register map, counter pairs, doorbells, interrupts and resets, over
// AXI4-Lite with random stalls. A model of the registers runs beside the module and checks every
// cycle.
#include <algorithm>
#include <vector>

#include "Vwse_bar.h"
#include "Vwse_bar___024root.h"
#include "Vwse_bar_wse_bar.h"
#include "rtl/tests/block_tb.hpp"
#include "rtl/tests/counters.hpp"
#include "wse_regs.h"

namespace {

constexpr unsigned Rows = 3, Cols = 5, Queues = 3;	// as in blocks.mk, HOSTFP is 1, GROUP 5
constexpr unsigned NCnt = WSE_CNT_COUNT;
constexpr unsigned Rest = 16384;	// cycles that a reset gives the bus

// registers that the host writes and the device sees
const uint16_t Plain[] = {WSE_REG_AQ_SIZE,  WSE_REG_ASQ_LO,	WSE_REG_ASQ_HI,
			  WSE_REG_ACQ_LO,   WSE_REG_ACQ_HI,	WSE_REG_FAULT_LO,
			  WSE_REG_FAULT_HI, WSE_REG_FAULT_SIZE, WSE_REG_FAULT_HEAD,
			  WSE_REG_CNT_SEL};
const struct { uint16_t off; uint32_t value;
} Fixed[] = {
	{WSE_REG_MAGIC, WSE_MAGIC},	    {WSE_REG_ABI, WSE_ABI_MAJOR << 16 | WSE_ABI_MINOR},
	{WSE_REG_TILE, Cols << 16 | Rows},  {WSE_REG_CORE, 24u << 24 | 8 << 16 | 48},
	{WSE_REG_QUEUES, 10 << 8 | Queues}, {WSE_REG_FEATURES, 5 << 16 | 7 << 3},
};

// a 64-bit counter before and after an edge: a read at that edge may give either
struct Pair { uint64_t a, b; };

struct Access {
	bool write;
	uint16_t off;
	uint32_t data;
};

struct Bench : BlockTb<Vwse_bar> {
	// model
	uint32_t reg[0x100] = {}, mask = 0, irq_pending = 0;
	bool en = false, was_reset = false;
	unsigned in_reset = 0;		// cycles since a reset began; 0: none
	unsigned since_quiet = 0;
	bool owed = false;		// the bus did not rest in the reset
	uint64_t clock = 0, cnt[NCnt] = {};
	Pair latch[NCnt + 1] = {};	// the last is the cycle counter
	uint64_t queue_cnt[8] = {};
	// what CNT_VAL may have been in the last cycles; what it is by what was read
	std::vector<uint64_t> shown, val = {0};
	unsigned irq_age = 0, irqs = 0, bells = 0, resets = 0;
	// masters
	bool w_busy = false, w_sent = false, r_busy = false, r_sent = false;
	Access w = {}, r = {};
	uint32_t r_data = 0, r_old = 0, r_new = 0;
	Pair r_pair = {};
	int r_cnt = -1;
	bool r_hi = false, r_checked = false, r_reset = false;
	unsigned r_wait = 0, w_wait = 0;
	unsigned stall = 0, events = 0, quiet_percent = 100;
	const char *wrong = nullptr;
	uint16_t wrong_off = 0;

	explicit Bench(uint64_t seed) : BlockTb(seed)
	{
		top.awvalid_i = top.wvalid_i = top.arvalid_i = top.bready_i = top.rready_i = 0;
		top.irq_set_i = 0;
		top.quiet_i = 1;
		count_nothing();
		top.cnt_which_i = 0;
		top.cnt_val_i = 0;
		top.fault_tail_i = top.fault_lost_i = top.rdy_i = top.halted_i = top.busy_i =
			top.any_fault_i = 0;
		reset();
		in_reset = 1;
	}
	void count_nothing()
	{
		each_lane([](unsigned) { return 0; });
		top.cnt_tile_i = top.cnt_queue_i = 0;
	}
	// what cores and links have counted in a cycle: value(n) for the nth counter of both
	template <class F> void each_lane(F value)
	{
		unsigned n = 0;

		for (unsigned i = 0; i < WSE_CNT_CORE_COUNT; i++)
			counter_put(top.cnt_core_i, i, value(n++));
		for (unsigned i = 0; i < WSE_CNT_LINK_COUNT; i++)
			counter_put(top.cnt_link_i, i, value(n++));
	}
	void check(bool good, const char *what, uint16_t off = 0)
	{
		if (!good && !wrong) {
			wrong = what;
			wrong_off = off;
		}
	}
	bool verdict(Tap &tap, bool good, const char *what)
	{
		if (wrong)
			printf("# cycle %llu: %s (0x%x)\n", (unsigned long long)cycles, wrong,
			       wrong_off);
		return tap.ok(good && !wrong, "%s", what);
	}

	// ---- model ----
	static bool is_plain(uint16_t off)
	{
		for (uint16_t p : Plain)
			if (p == off)
				return true;
		return false;
	}
	uint32_t value(uint16_t off) const
	{
		for (const auto &f : Fixed)
			if (f.off == off)
				return f.value;
		switch (off) {
		case WSE_REG_CTRL: return en;
		case WSE_REG_STATUS:
			return top.any_fault_i << 3 | top.busy_i << 2 | top.halted_i << 1 |
			       top.rdy_i;
		case WSE_REG_INTR_MASK: return mask;
		case WSE_REG_FAULT_TAIL: return top.fault_tail_i;
		case WSE_REG_FAULT_LOST: return top.fault_lost_i;
		}
		return is_plain(off) ? reg[off / 4] : 0;
	}
	static int counter(uint16_t off)	// -1: none
	{
		if (off == WSE_REG_CYCLES_LO || off == WSE_REG_CYCLES_HI)
			return NCnt;
		return off >= WSE_CNT_BASE && off < WSE_CNT_BASE + 8 * NCnt
			       ? (off - WSE_CNT_BASE) / 8
			       : -1;
	}
	static bool is_val(uint16_t off)
	{
		return off == WSE_REG_CNT_VAL_LO || off == WSE_REG_CNT_VAL_HI;
	}
	// the wafer's answer to a CNT_SEL: any number, 0 of 0
	static uint64_t of_wafer(uint32_t sel) { return sel * 0x9e3779b97f4a7c15ull; }
	uint64_t selected() const
	{
		uint32_t sel = reg[WSE_REG_CNT_SEL / 4], obj = sel & WSE_CNT_SEL_OBJECT_MASK;

		if (sel >> WSE_CNT_SEL_ID_SHIFT == WSE_CNT_CMDS && obj < Queues)
			return queue_cnt[obj];
		return of_wafer(sel);
	}
	// what a cycle adds to the total of a counter
	uint64_t added(unsigned id) const
	{
		if (id < NCnt && counter_scope[id] == WSE_SCOPE_CORE)
			return counter_get(top.cnt_core_i, counter_lane(id));
		if (id < NCnt && counter_scope[id] == WSE_SCOPE_LINK)
			return counter_get(top.cnt_link_i, counter_lane(id));
		switch (id) {
		case WSE_CNT_DMA_RD: return top.cnt_tile_i & 0xfff;
		case WSE_CNT_DMA_WR: return top.cnt_tile_i >> 12;
		case WSE_CNT_CMDS: return top.cnt_queue_i;
		}
		return 1;	// the cycle counter
	}
	void start_reset()
	{
		in_reset = 1;
		since_quiet = 0;
		en = false;
		mask = irq_pending = 0;
		for (uint32_t &v : reg)
			v = 0;
		for (uint64_t &c : cnt)
			c = 0;
		for (Pair &l : latch)
			l = {};
		for (uint64_t &c : queue_cnt)
			c = 0;
		shown.clear();
		val = {0};
		clock = 0;
		irq_age = 0;
		resets++;
	}
	bool take_write()		// true: a doorbell
	{
		if (w.off == WSE_REG_CTRL) {
			if (w.data & WSE_CTRL_RST_MASK || (en && !(w.data & WSE_CTRL_EN_MASK)))
				start_reset();
			else
				en = w.data & WSE_CTRL_EN_MASK;
		} else if (w.off == WSE_REG_INTR_MASK) {
			mask = w.data;
		} else if (is_plain(w.off)) {
			reg[w.off / 4] = w.data;
		}
		return w.off >= WSE_DB_BASE && w.off < WSE_DB_BASE + WSE_MAX_QUEUES * WSE_DB_STRIDE;
	}

	// ---- one cycle ----
	void start(const Access &a)
	{
		if (a.write) {
			w = a;
			w_busy = true;
			w_sent = false;
			w_wait = 0;
		} else {
			r = a;
			r_busy = true;
			r_sent = r_checked = false;
			r_wait = 0;
		}
	}
	void drive()
	{
		// address and data in any order; what is valid stays
		if (w_busy && !w_sent) {
			if (!top.awvalid_i)
				top.awvalid_i = !rng.chance(stall);
			if (!top.wvalid_i)
				top.wvalid_i = !rng.chance(stall);
		}
		if (r_busy && !r_sent && !top.arvalid_i)
			top.arvalid_i = !rng.chance(stall);
		top.awaddr_i = top.awvalid_i ? w.off : rng.u64();
		top.wdata_i = top.wvalid_i ? w.data : rng.u64();
		top.araddr_i = top.arvalid_i ? r.off : rng.u64();
		top.bready_i = !rng.chance(stall);
		top.rready_i = !rng.chance(stall);
		// a device in reset does nothing
		top.irq_set_i = !in_reset && rng.chance(events);
		top.irq_set_vec_i = rng.below(32);
		if (in_reset) {
			count_nothing();
		} else if (events) {
			each_lane([&](unsigned) { return rng.chance(80) ? rng.u64() : 0; });
			top.cnt_tile_i = rng.u64() & 0xffffff;
			top.cnt_queue_i = rng.chance(30);
			top.cnt_which_i = rng.below(Queues);
			top.fault_tail_i = rng.u64();
			top.fault_lost_i = rng.u64();
			top.rdy_i = rng.chance(50);
			top.halted_i = rng.chance(50);
			top.busy_i = rng.chance(50);
			top.any_fault_i = rng.chance(50);
		}
		top.quiet_i = rng.chance(quiet_percent);
		top.cnt_val_i = of_wafer(top.cnt_sel_o);
	}
	void step()
	{
		bool took_w, took_r, ended_b, ended_r, bell = false;
		uint32_t irq_could = irq_pending, mask_old = mask;

		drive();
		settle();
		check(top.awready_o == top.wready_o &&
			      (!top.awready_o || (top.awvalid_i && top.wvalid_i)),
		      "address and data are taken together");
		took_w = top.awready_o;
		took_r = top.arvalid_i && top.arready_o;
		ended_b = top.bvalid_o && top.bready_i;
		ended_r = top.rvalid_o && top.rready_i;
		if (took_r) {
			r_old = value(r.off);
			r_cnt = counter(r.off);
			r_hi = r.off & 4;
		}
		// the edge, in the model
		Pair now[NCnt + 1];
		for (unsigned i = 0; i <= NCnt; i++) {
			uint64_t &c = i < NCnt ? cnt[i] : clock;
			uint64_t was = c;

			if (!in_reset)
				c += added(i);
			now[i] = {was, c};
		}
		shown.push_back(selected());
		if (shown.size() > 4)
			shown.erase(shown.begin());
		if (!in_reset)
			queue_cnt[top.cnt_which_i] += top.cnt_queue_i;
		if (top.irq_set_i && !in_reset)
			irq_pending |= 1u << top.irq_set_vec_i;
		irq_could |= irq_pending;
		was_reset = in_reset;
		if (in_reset) {
			in_reset++;
			since_quiet += since_quiet || top.quiet_i;
		}
		if (took_w)
			bell = take_write();
		if (took_r) {
			r_new = value(r.off);
			r_reset = in_reset;
			if (r_cnt >= 0 && !r_hi)
				latch[r_cnt] = in_reset ? Pair{0, 0} : now[r_cnt];
			r_pair = r_cnt >= 0 ? latch[r_cnt] : Pair{};
			if (r.off == WSE_REG_CNT_VAL_LO)
				val = in_reset ? std::vector<uint64_t>{0} : shown;
		}
		edge();
		after(took_w, took_r, ended_b, ended_r, bell, irq_could, mask_old);
	}
	void after(bool took_w, bool took_r, bool ended_b, bool ended_r, bool bell,
		   uint32_t irq_could, uint32_t mask_old)
	{
		// reset: held until the bus is quiet, then for 16 cycles; the write that asked for
		// it is answered afterwards
		if (in_reset) {
			check(since_quiet > 16 || in_reset > Rest ||
				      (!top.dev_rst_no && top.flush_o),
			      "reset too short");
			check(!top.en_o, "EN in a reset");
			if (top.dev_rst_no) {
				owed = !since_quiet;
				in_reset = 0;
				clock = top.cycle_o;
				check(clock <= 1, "the cycle counter after a reset");
			} else {
				check(since_quiet < 40 && in_reset < Rest + 40,
				      "reset without end");
			}
		} else {
			owed = owed && !top.quiet_i;
			check(top.dev_rst_no && top.flush_o == owed, "reset without reason");
			check(!owed || !top.en_o, "EN before the bus rests");
		}
		// writes
		if (took_w) {
			w_sent = true;
			top.awvalid_i = top.wvalid_i = 0;
		}
		if (ended_b) {
			check(w_busy && w_sent && !top.bvalid_o, "an answer to no write");
			w_busy = false;
		} else if (top.bvalid_o) {
			check(w_busy && w_sent && !in_reset, "a write answered too early");
		}
		if (w_busy && !in_reset && !was_reset &&
		    (w_sent ? !top.bvalid_o : top.awvalid_i && top.wvalid_i))
			check(w_wait++ < 4, "a write without answer");
		check(top.db_valid_o == bell, "doorbell");
		if (bell) {
			check(top.db_index_o == (w.off - WSE_DB_BASE) / 4 &&
				      top.db_value_o == w.data,
			      "doorbell's index or value");
			bells++;
		}
		// reads: answered in any state, and only once
		if (took_r) {
			r_sent = true;
			top.arvalid_i = 0;
		}
		if (ended_r) {
			check(r_checked && !top.rvalid_o, "data of no read");
			r_busy = false;
		} else if (top.rvalid_o) {
			check(r_busy && r_sent, "data of no read");
			if (!r_checked)
				see_read();
			check(top.rdata_o == r_data, "data changed while it waited");
		}
		if (r_busy && (r_sent ? !top.rvalid_o : top.arvalid_i))
			check(r_wait++ < 4, "a read without answer");
		see_registers();
		see_irq(irq_could, mask_old);
	}
	void see_read()
	{
		r_checked = true;
		r_data = top.rdata_o;
		if (r_reset) {			// capabilities only; the rest is about to be reset
			for (const auto &f : Fixed)
				check(f.off != r.off || f.value == r_data,
				      "a capability in a reset", r.off);
		} else if (is_val(r.off)) {
			bool met = false;

			if (!r_hi)	// of those that it may have been, those that it was
				val.erase(std::remove_if(val.begin(), val.end(),
							 [&](uint64_t v) {
								 return uint32_t(v) != r_data;
							 }),
					  val.end());
			for (uint64_t v : val)
				met |= !r_hi || v >> 32 == r_data;
			check(met, "a selected counter", r.off);
		} else if (r_cnt < 0) {
			check(r_data == r_old || r_data == r_new, "value of a register", r.off);
		} else if (!r_hi) {
			// which of the two it was also decides the upper half
			Pair &l = latch[r_cnt];

			check(r_data == uint32_t(l.a) || r_data == uint32_t(l.b),
			      "lower half of a counter", r.off);
			if (r_data != uint32_t(l.a))
				l.a = l.b;
			else if (r_data != uint32_t(l.b))
				l.b = l.a;
		} else {
			check(r_data == r_pair.a >> 32 || r_data == r_pair.b >> 32,
			      "latched half of a counter", r.off);
		}
	}
	void see_registers()
	{
		if (in_reset || was_reset)
			return;
		check(top.en_o == (en && !owed) && top.aq_size_o == reg[WSE_REG_AQ_SIZE / 4] &&
			      top.asq_o == (reg[WSE_REG_ASQ_LO / 4] |
					    uint64_t(reg[WSE_REG_ASQ_HI / 4]) << 32) &&
			      top.acq_o == (reg[WSE_REG_ACQ_LO / 4] |
					    uint64_t(reg[WSE_REG_ACQ_HI / 4]) << 32) &&
			      top.fault_base_o == (reg[WSE_REG_FAULT_LO / 4] |
						   uint64_t(reg[WSE_REG_FAULT_HI / 4]) << 32) &&
			      top.fault_size_o == reg[WSE_REG_FAULT_SIZE / 4] &&
			      top.fault_head_o == reg[WSE_REG_FAULT_HEAD / 4],
		      "what the device sees of the registers");
		check(top.cycle_o == clock, "the cycle counter");
		check(top.cnt_sel_o == reg[WSE_REG_CNT_SEL / 4], "what the wafer sees of CNT_SEL");
	}
	void see_irq(uint32_t could, uint32_t mask_old)
	{
		if (top.irq_o) {
			uint32_t bit = 1u << top.irq_vec_o;

			check(could & bit, "a vector without an event", top.irq_vec_o);
			check(!(bit & mask & mask_old), "a masked vector", top.irq_vec_o);
			check(!in_reset, "a vector in a reset");
			irq_pending &= ~bit;
			irqs++;
		}
		irq_age = irq_pending & ~mask ? irq_age + 1 : 0;
		if (irq_age && !events)
			check(irq_age < 34, "a vector that does not come");
	}

	// ---- for tests ----
	void steps(unsigned n)
	{
		while (n-- && !wrong)
			step();
	}
	void finish()
	{
		while ((w_busy || r_busy || in_reset) && !wrong)
			step();
	}
	void write(uint16_t off, uint32_t data)
	{
		start({true, off, data});
		finish();
	}
	uint32_t read(uint16_t off)
	{
		start({false, off, 0});
		finish();
		return r_data;
	}
};

void test_map(Tap &tap, uint64_t seed)
{
	Bench tb(seed);
	bool good = true;
	unsigned n = 0;

	tb.finish();
	for (unsigned off = 0; off < WSE_BAR0_SIZE && !tb.wrong; off += 4) {
		uint32_t v = tb.read(off);

		n += v != 0;
		// the cycle counter's halves and the capabilities are all that is not 0
		good &= !v || tb.value(off) == v || Bench::counter(off) == int(NCnt) ||
			off == WSE_REG_CNT_CYCLES_LO;
	}
	tb.verdict(tap, good && n == sizeof(Fixed) / sizeof(*Fixed) + 2,
		   "after reset: capabilities, the cycle counter, else 0");

	for (unsigned off = 0; off < WSE_BAR0_SIZE && !tb.wrong; off += 4)
		if (off != WSE_REG_CTRL)
			tb.write(off, ~0u);
	good = tb.bells == 2 * WSE_MAX_QUEUES;
	for (unsigned off = 0; off < WSE_BAR0_SIZE && !tb.wrong; off += 4)
		tb.read(off);
	tb.verdict(tap, good,
		   "ones written to every offset: only what is rw keeps them, only doorbells ring");
	for (uint16_t p : Plain)
		for (unsigned bit = 0; bit < 32; bit++) {
			tb.write(p, 1u << bit);
			good &= tb.read(p) == 1u << bit;
		}
	tb.write(WSE_REG_CTRL, ~3u);
	tb.verdict(tap, good && tb.read(WSE_REG_CTRL) == 0 && tb.resets == 0,
		   "every bit of every rw register by itself; CTRL has two bits");
}

void test_counters(Tap &tap, uint64_t seed)
{
	Bench tb(seed);
	bool good = true;
	uint32_t lo, hi;

	tb.finish();
	// each overflows its lower half at another time
	tb.each_lane([](unsigned n) { return 0xffff - 3 * n; });
	tb.top.cnt_tile_i = 0x3008;
	tb.top.cnt_queue_i = 1;
	tb.top.cnt_which_i = 1;
	tb.steps(70000);
	for (unsigned i = 0; i < NCnt; i++)
		tb.read(WSE_CNT_BASE + 8 * i);
	tb.steps(100);
	for (unsigned i = 0; i < NCnt; i++) {
		hi = tb.read(WSE_CNT_BASE + 8 * i + 4);		// each pair has its own latch
		good &= (hi != 0) == (tb.added(i) > 0xff);
	}
	tb.verdict(tap, good, "counters of 64 bits: LO latches its own HI, other pairs' stay");

	tb.count_nothing();
	tb.write(WSE_REG_CNT_SEL, WSE_CNT_CMDS << WSE_CNT_SEL_ID_SHIFT | 1);
	lo = tb.read(WSE_REG_CNT_VAL_LO);
	good = lo > 70000 && lo == tb.read(WSE_REG_CNT_CMDS_LO) && tb.read(WSE_REG_CNT_VAL_HI) == 0;
	for (uint32_t sel : {WSE_CNT_CMDS << 24, WSE_CNT_CMDS << 24 | int(Queues),
			     WSE_CNT_MAC << 24 | 7, WSE_CNT_LINK << 24 | 3}) {
		uint64_t is;

		tb.write(WSE_REG_CNT_SEL, sel);
		is = tb.read(WSE_REG_CNT_VAL_LO);
		is |= uint64_t(tb.read(WSE_REG_CNT_VAL_HI)) << 32;
		good &= is == (sel == WSE_CNT_CMDS << 24 ? 0 : Bench::of_wafer(sel));
	}
	tb.verdict(tap, good, "a queue's own counter, and one of a core or link");

	tb.top.rootp->__PVT__wse_bar->cycle = tb.clock = 0x1fffffff0ull;
	lo = tb.read(WSE_REG_CYCLES_LO);
	tb.steps(64);
	hi = tb.read(WSE_REG_CYCLES_HI);
	good = lo >= 0xfffffff0 && hi == 1;
	lo = tb.read(WSE_REG_CYCLES_LO);
	hi = tb.read(WSE_REG_CYCLES_HI);
	tb.verdict(tap, good && lo < 0x1000 && hi == 2,
		   "the cycle counter over 2^33: halves that belong together");
	tb.read(WSE_REG_CYCLES_LO);
	tb.write(WSE_REG_CTRL, WSE_CTRL_RST_MASK);
	good = true;
	for (unsigned i = 0; i < NCnt; i++)
		good &= tb.read(WSE_CNT_BASE + 8 * i + 4) == 0;
	good &= tb.read(WSE_REG_CYCLES_HI) == 0;
	good &= tb.read(WSE_REG_CYCLES_LO) < 1000;
	tb.verdict(tap, good, "a reset clears counters and what LO had latched");
}

void test_irq(Tap &tap, uint64_t seed)
{
	Bench tb(seed);
	auto raise = [&](unsigned v) {
		tb.drive();
		tb.top.irq_set_i = 1;
		tb.top.irq_set_vec_i = v;
		tb.settle();
		tb.irq_pending |= 1u << v;
		tb.clock++;
		tb.edge();
		tb.after(false, false, false, false, false, tb.irq_pending, tb.mask);
		tb.top.irq_set_i = 0;
	};
	bool good;

	tb.finish();
	for (unsigned v = 0; v < 32; v++)
		raise(v);
	tb.steps(40);
	tb.verdict(tap, tb.irqs == 32 && !tb.irq_pending,
		   "32 vectors raised in a row: 32 requests");

	tb.write(WSE_REG_INTR_MASK, 0x80000081);
	for (unsigned v : {0, 7, 31, 5})
		for (int i = 0; i < 3; i++)
			raise(v);
	tb.steps(40);
	good = tb.irqs == 35 && tb.irq_pending == 0x80000081;
	tb.write(WSE_REG_INTR_MASK, 0x80);
	tb.steps(40);
	good &= tb.irqs == 37;
	tb.write(WSE_REG_INTR_MASK, 0);
	tb.steps(40);
	tb.verdict(tap, good && tb.irqs == 38,
		   "masked vectors are remembered, once, and come when they are unmasked");

	tb.write(WSE_REG_INTR_MASK, ~0u);
	raise(3);
	tb.steps(5);
	tb.write(WSE_REG_CTRL, WSE_CTRL_RST_MASK);
	tb.steps(60);
	tb.verdict(tap, tb.irqs == 38 && tb.read(WSE_REG_INTR_MASK) == 0,
		   "a reset forgets mask and vectors");
}

void test_reset(Tap &tap, uint64_t seed)
{
	bool good = true;

	for (unsigned first = 0; first < 30; first++) {
		Bench tb(seed + first);

		tb.top.quiet_i = 1;
		tb.steps(first);
		tb.write(WSE_REG_ASQ_LO, 0x12345000);
		good &= tb.top.asq_o == 0x12345000 && !tb.wrong;
		tb.write(WSE_REG_INTR_MASK, 0x55);
		tb.write(WSE_REG_CTRL, WSE_CTRL_EN_MASK);
		good &= tb.read(WSE_REG_CTRL) == 1 && tb.read(WSE_REG_INTR_MASK) == 0x55;
	}
	tap.ok(good, "a write in any cycle after power-on counts, whatever is still being reset");

	Bench tb(seed);

	good = true;
	tb.finish();
	for (uint32_t how : {2u, 3u, 0u}) {	// RST, RST with EN, EN 1 -> 0
		for (uint16_t p : Plain)
			tb.write(p, tb.rng.u64() | 1);
		tb.write(WSE_REG_CTRL, WSE_CTRL_EN_MASK);
		tb.write(WSE_REG_CTRL, WSE_CTRL_EN_MASK);	// changes nothing
		good &= tb.top.en_o;
		// a bus that was quiet takes one last request while the write that resets is taken
		tb.start({true, WSE_REG_CTRL, how});
		tb.step();
		good &= tb.w_sent;
		tb.quiet_percent = 0;
		tb.steps(300);
		good &= tb.w_busy && !tb.top.bvalid_o && tb.top.flush_o && !tb.top.dev_rst_no;
		for (const auto &f : Fixed) {			// reads are answered meanwhile
			tb.start({false, f.off, 0});
			while (tb.r_busy && !tb.wrong)
				tb.step();
		}
		tb.quiet_percent = 100;
		tb.finish();
		for (uint16_t p : Plain)
			good &= tb.read(p) == 0;
		good &= tb.read(WSE_REG_CTRL) == 0;
	}
	tb.write(WSE_REG_CTRL, 0);
	tb.verdict(
		tap, good && tb.resets == 3,
		"CTRL.RST, EN 1 -> 0: the bus comes to rest, all is reset, then the write is answered");
}

// The bus never answers: the reset ends, and EN counts when the bus rests.
void test_silent_bus(Tap &tap, uint64_t seed)
{
	Bench tb(seed);
	unsigned resets;
	bool good = true;

	tb.finish();
	resets = tb.resets;
	tb.quiet_percent = 0;
	tb.start({true, WSE_REG_CTRL, WSE_CTRL_RST_MASK});
	tb.steps(Rest - 1);
	good &= tb.w_busy;
	tb.steps(60);
	good &= !tb.w_busy && tb.top.dev_rst_no && tb.top.flush_o;
	tb.write(WSE_REG_ASQ_LO, 0x5000);
	tb.write(WSE_REG_CTRL, WSE_CTRL_EN_MASK);
	tb.steps(100);
	good &= tb.read(WSE_REG_CTRL) == 1 && !tb.top.en_o && tb.top.flush_o;
	// again, while the bus still owes answers
	tb.start({true, WSE_REG_CTRL, WSE_CTRL_RST_MASK});
	tb.steps(Rest + 60);
	good &= !tb.w_busy && tb.read(WSE_REG_CTRL) == 0;
	tb.write(WSE_REG_CTRL, WSE_CTRL_EN_MASK);
	tb.quiet_percent = 100;
	tb.steps(3);
	good &= tb.top.en_o && !tb.top.flush_o && tb.resets == resets + 2;
	tb.verdict(tap, good, "a bus that does not answer: a reset ends, EN waits for the bus");
}

// A master that asks for the next word before it takes the last one.
void test_pipelined(Tap &tap, uint64_t seed)
{
	Bench tb(seed);
	std::vector<uint32_t> got;
	unsigned next = 0, i;
	bool good = true;

	tb.finish();
	tb.drive();
	for (i = 0; i < 500 && got.size() < 60; i++) {
		bool took, taken;

		tb.top.arvalid_i = 1;
		tb.top.araddr_i = Fixed[next % 6].off;
		tb.top.rready_i = tb.rng.chance(30);
		tb.settle();
		took = tb.top.arready_o;
		taken = tb.top.rvalid_o && tb.top.rready_i;
		if (taken)
			got.push_back(tb.top.rdata_o);
		tb.edge();
		next += took;
	}
	for (i = 0; i < got.size(); i++)
		good &= got[i] == Fixed[i % 6].value;
	tap.ok(good && got.size() == 60, "reads asked for back to back: each word once, in order");
}

void test_random(Tap &tap, uint64_t seed)
{
	Bench tb(seed);
	unsigned accesses = 0;

	auto offset = [&]() -> uint16_t {
		switch (tb.rng.below(8)) {
		case 0: return tb.rng.u64() & 0xfffc;
		case 1: case 2: return WSE_DB_BASE + 4 * tb.rng.below(2 * WSE_MAX_QUEUES + 2);
		case 3: return WSE_CNT_BASE + 4 * tb.rng.below(2 * NCnt + 1);
		default: return 4 * tb.rng.below(0x70 / 4);
		}
	};
	for (unsigned round = 0; round < 200 && !tb.wrong; round++) {
		tb.stall = tb.rng.chance(40) ? 0 : tb.rng.below(95);
		tb.events = tb.rng.chance(50) ? 0 : tb.rng.below(100);
		tb.quiet_percent = 1 + tb.rng.below(100);
		for (unsigned i = 0; i < 1000 && !tb.wrong; i++) {
			if (!tb.w_busy && tb.rng.chance(60)) {
				uint16_t off = offset();

				if (off == WSE_REG_CTRL && !tb.rng.chance(10))
					off = WSE_REG_INTR_MASK;
				tb.start({true, off, uint32_t(tb.rng.u64())});
				accesses++;
			}
			if (!tb.r_busy && tb.rng.chance(60)) {
				tb.start({false, offset(), 0});
				accesses++;
			}
			tb.step();
		}
		tb.finish();
		tb.events = 0;
		tb.steps(40);
	}
	printf("# %u accesses, %u doorbells, %u vectors, %u resets\n", accesses, tb.bells, tb.irqs,
	       tb.resets);
	tb.verdict(tap, accesses > 30000 && tb.bells > 3000 && tb.irqs > 3000 && tb.resets > 25,
		   "random reads and writes at the same time, with stalls, events and resets");
}

} // namespace

int main(int argc, char **argv)
{
	uint64_t seed = bench_seed(argc, argv);
	Tap tap;

	test_map(tap, seed);
	test_counters(tap, seed);
	test_irq(tap, seed);
	test_reset(tap, seed);
	test_silent_bus(tap, seed);
	test_pipelined(tap, seed);
	test_random(tap, seed);
	return tap.plan();
}
