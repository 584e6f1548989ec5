// SPDX-License-Identifier: MIT
// The DOT queue between a producer that keeps to count_o and two movers, against a list: depth,
// order, END marks.
#include <deque>

#include "Vwse_dotq.h"
#include "rtl/tests/block_tb.hpp"
#include "wse_regs.h"

namespace {

struct Entry {
	uint32_t data;
	bool end;
};

struct Bench : BlockTb<Vwse_dotq> {
	std::deque<Entry> queue;	// not yet taken
	unsigned popping = 0;		// taken, and said so in this cycle
	unsigned pushed = 0, taken = 0, full = 0, most = 0;

	explicit Bench(uint64_t seed) : BlockTb(seed)
	{
		top.m0_pop_i = top.m1_pop_i = top.push_i = 0;
		top.clr_i = 1;
		tick();
		top.clr_i = 0;
	}
	// one cycle: what stands at the ports is right; take: mover that takes the head if there is
	// one
	bool step(bool push, int take)
	{
		Entry e = {uint32_t(rng.u64()), rng.chance(25)};
		unsigned count = queue.size() + popping;
		bool good, took = false;

		top.push_i = push && count < WSE_DOTQ_DEPTH;
		top.data_i = e.data;
		top.end_i = e.end;
		settle();
		good = top.count_o == count && top.valid_o == !queue.empty();
		if (!queue.empty())
			good &= top.end_o == queue.front().end && top.data_o == queue.front().data;
		if (take >= 0 && top.valid_o && !queue.empty()) {
			queue.pop_front();
			taken++;
			took = true;
		}
		edge();
		if (top.push_i) {
			queue.push_back(e);
			pushed++;
		}
		full += push && count == WSE_DOTQ_DEPTH;
		most = count > most ? count : most;
		popping = took;
		top.m0_pop_i = took && take == 0;
		top.m1_pop_i = took && take == 1;
		return good;
	}
	void clear()
	{
		top.clr_i = 1;
		top.push_i = 0;
		tick();
		top.clr_i = top.m0_pop_i = top.m1_pop_i = 0;
		queue.clear();
		popping = 0;
	}
};

} // namespace

int main(int argc, char **argv)
{
	Bench tb(bench_seed(argc, argv));
	bool good = true;
	unsigned i;
	Tap tap;

	for (i = 0; i < 20; i++)
		good &= tb.step(true, -1);
	tap.ok(good && tb.pushed == WSE_DOTQ_DEPTH && tb.most == WSE_DOTQ_DEPTH,
	       "DOTQ_DEPTH = %u entries and no more", WSE_DOTQ_DEPTH);
	for (i = 0; i < 20; i++)
		good &= tb.step(false, 0);
	tap.ok(good && tb.taken == WSE_DOTQ_DEPTH && !tb.top.valid_o,
	       "they come in order, END marks in their places");

	good = tb.step(true, -1) && tb.step(true, -1);
	tb.pushed = tb.taken = 0;
	for (i = 0; i < 1000; i++)
		good &= tb.step(true, i / 100 % 2);
	tap.ok(good && tb.pushed == 1000 && tb.taken == 1000,
	       "an entry in and one out in every cycle");

	for (i = 0; i < 5; i++)
		tb.step(true, -1);
	tb.step(false, 0);		// and one that is taken in the cycle of the clear
	tb.clear();
	good = tb.step(false, -1) && tb.step(true, -1) && tb.step(false, 1) && tb.step(false, 1);
	tap.ok(good, "a clear empties it, and what comes then is first");

	tb.full = tb.taken = 0;
	good = true;
	for (i = 0; i < 300000 && good; i++) {
		unsigned phase = i / 500 % 3;		// filling, draining, both

		if (tb.rng.below(2000) == 0)
			tb.clear();
		good &= tb.step(tb.rng.chance(phase == 1 ? 30 : 80),
				tb.rng.chance(phase ? 80 : 30) ? int(tb.rng.below(2)) : -1);
	}
	tap.ok(good && tb.full > 10000 && tb.taken > 100000,
	       "random producers and movers (%u taken, %u times full, stopped at %u)", tb.taken,
	       tb.full, i);
	return tap.plan();
}
