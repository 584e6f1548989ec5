// SPDX-License-Identifier: MIT
// wse_bar on the bench: masters of AXI4-Lite, and a model of the registers that checks every cycle.
#ifndef WSE_BAR_TB_HPP
#define WSE_BAR_TB_HPP
#include <algorithm>
#include <vector>

#include "Vwse_bar.h"
#include "Vwse_bar___024root.h"
#include "Vwse_bar_wse_bar.h"
#include "rtl/tests/block_tb.hpp"
#include "rtl/tests/counters.hpp"
#include "wse_regs.h"

namespace {

constexpr unsigned Rows = 3, Cols = 5, Queues = 3;	// as in build.mk, HOSTFP is 1, GROUP 5
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

} // namespace

#endif // WSE_BAR_TB_HPP
