// SPDX-License-Identifier: MIT
// BAR0: every offset of the register map, counter pairs, doorbells, interrupts and resets, over
// AXI4-Lite with random stalls. The model of bar_tb.hpp checks every cycle.
#include "bar_tb.hpp"

namespace {

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
