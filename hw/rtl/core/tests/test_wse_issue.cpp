// SPDX-License-Identifier: MIT
// DSRs and waiting instructions, compared with hw/doc/core.md: ISSUE captures control word, scalar
// and the DSRs that it names, so that a program may change them immediately; ENGINE_DEPTH
// instructions wait per engine and leave in order.
#include <array>
#include <deque>

#include "Vwse_issue.h"
#include "rtl/tests/block_tb.hpp"
#include "wse_regs.h"

namespace {

using Dsr = std::array<uint32_t, 4>;

struct Ins {
	uint32_t cw, scalar;
	Dsr dst, src1, src2;
};

struct Bench : BlockTb<Vwse_issue> {
	Dsr dsr[WSE_NDSR];
	std::deque<Ins> queue[3];	// waiting; one that is being taken is no longer in it
	unsigned issued = 0, refused = 0, taken = 0;

	explicit Bench(uint64_t seed) : BlockTb(seed)
	{
		top.take_i = 0;
		boot();
	}
	// held, then booted: queues empty, DSRs zero
	void boot()
	{
		top.clr_i = 1;
		top.cmd_valid_i = 0;
		top.init_i = 0;
		tick();
		top.take_i = 0;
		top.init_i = 1;
		for (unsigned i = 0; i < 32; i++) {
			top.init_idx_i = i % 16;
			tick();
		}
		top.clr_i = top.init_i = 0;
		full = 0;
		for (auto &d : dsr)
			d = {};
		for (auto &q : queue)
			q.clear();
	}
	// One cycle with a command (op < 0: none; an ISSUE only where there was room at the edge
	// before) and engines of the mask want that take what they see. False: something is not as
	// it must be.
	bool step(int op, unsigned idx, uint32_t a, uint32_t b, unsigned want)
	{
		unsigned e = a >> WSE_TCW_ENGINE_SHIFT & 3, taking = top.take_i, take = 0;
		bool go = op >= 0 && (op < 2 || (e < 3 && !(full >> e & 1))), good = true;

		refused += op == 2 && !go;
		top.cmd_valid_i = go;
		top.cmd_op_i = op < 0 ? rng.below(4) : op;
		top.cmd_idx_i = idx;
		top.cmd_a_i = a;
		top.cmd_b_i = b;
		top.init_idx_i = rng.below(16);
		settle();
		for (unsigned i = 0; i < 3; i++) {
			bool coming = go && op == 2 && e == i;
			// from the edge on, until one is taken; what is just being taken is not
			// seen twice
			good &= (top.valid_o >> i & 1) == (!queue[i].empty() && !(taking >> i & 1));
			if (top.valid_o >> i & 1)
				good &= !queue[i].empty() && same(i, queue[i].front());
			if (!(taking >> i & 1))
				good &= (top.pending_o >> i & 1) == (!queue[i].empty() || coming);
			else if (!queue[i].empty() || coming)
				good &= top.pending_o >> i & 1;
			// a slot that becomes free in this cycle may count as taken
			if (queue[i].size() + coming < WSE_ENGINE_DEPTH && !(taking >> i & 1))
				good &= !(top.full_o >> i & 1);
			if (queue[i].size() + coming >= WSE_ENGINE_DEPTH)
				good &= top.full_o >> i & 1;
			if ((want >> i & 1) && (top.valid_o >> i & 1) && !queue[i].empty()) {
				take |= 1u << i;
				queue[i].pop_front();
				taken++;
			}
		}
		full = top.full_o;
		edge();
		if (go && op == 2) {
			queue[e].push_back({a, b, dsr[a >> WSE_TCW_DST_SHIFT & 15],
					    dsr[a >> WSE_TCW_SRC1_SHIFT & 15],
					    dsr[a >> WSE_TCW_SRC2_SHIFT & 15]});
			issued++;
		} else if (go) {
			dsr[idx][2 * op] = a;
			dsr[idx][2 * op + 1] = b;
		}
		top.take_i = take;
		return good;
	}
	bool issue(unsigned engine, unsigned want = 0)
	{
		uint32_t cw = (rng.u64() & ~(3u << WSE_TCW_ENGINE_SHIFT)) |
			      engine << WSE_TCW_ENGINE_SHIFT;

		return step(2, rng.below(16), cw, rng.u64(), want);
	}
	bool idle(unsigned want = 0) { return step(-1, rng.below(16), rng.u64(), rng.u64(), want); }
	bool set(unsigned d)
	{
		return step(0, d, rng.u64(), rng.u64(), 0) && step(1, d, rng.u64(), rng.u64(), 0);
	}

private:
	unsigned full = 0;

	bool same(unsigned engine, const Ins &i)
	{
		// ins_t: word 13 is the first
		const auto &w = engine == 0 ? top.l_o : engine == 1 ? top.m0_o : top.m1_o;
		const Dsr *d[3] = {&i.dst, &i.src1, &i.src2};
		bool good = w[13] == i.cw && w[12] == i.scalar;

		for (unsigned n = 0; n < 3; n++)
			for (unsigned k = 0; k < 4; k++) {
				uint32_t got = w[11 - 4 * n - k], must = (*d[n])[k];

				// of word 3 only KIND and DTYPE are defined
				good &= k < 3 ? got == must : (got & 0xff) == (must & 0xff);
			}
		return good;
	}
};

bool drain(Bench &tb)
{
	bool good = true;

	for (unsigned i = 0; i < 10; i++)
		good &= tb.idle(7);
	for (auto &q : tb.queue)
		good &= q.empty();
	return good && !tb.top.valid_o && !tb.top.pending_o;
}

} // namespace

int main(int argc, char **argv)
{
	Bench tb(bench_seed(argc, argv));
	bool good = true;
	unsigned i;
	Tap tap;

	for (unsigned d = 0; d < WSE_NDSR; d++)
		good &= tb.step(2, 0,
				d << WSE_TCW_DST_SHIFT | (d ^ 5) << WSE_TCW_SRC1_SHIFT |
					(d ^ 10) << WSE_TCW_SRC2_SHIFT,
				0, 0) &&
			tb.idle(1) && tb.idle();
	tap.ok(good && tb.taken == WSE_NDSR, "after BOOT every DSR is zero");

	good = true;
	for (i = 0; i < 200; i++) {
		for (unsigned d = 0; d < WSE_NDSR; d++)
			good &= tb.set(d);
		for (unsigned e = 0; e < 3; e++)
			good &= tb.issue(e);
		for (unsigned d = 0; d < WSE_NDSR; d++)
			good &= tb.set(d);		// "DSRs may be changed at once"
		good &= drain(tb);
	}
	tap.ok(good,
	       "an instruction has its control word, its scalar and the DSRs as they were when it was issued");

	good = true;
	for (unsigned e = 0; e < 3; e++) {
		tb.issued = tb.refused = 0;
		for (i = 0; i < 10; i++)
			good &= tb.issue(e);
		good &= tb.issued == WSE_ENGINE_DEPTH && tb.refused == 10 - WSE_ENGINE_DEPTH;
	}
	good &= tb.top.full_o == 7 && tb.top.pending_o == 7;
	tap.ok(good && drain(tb),
	       "ENGINE_DEPTH = %u instructions wait in front of each engine, whatever the others have",
	       WSE_ENGINE_DEPTH);

	good = tb.issue(1) && tb.issue(1) && tb.idle(2);
	tb.issued = 0;
	good &= tb.idle() && tb.issue(1) && tb.issue(1) && tb.idle();
	tap.ok(good && tb.issued == 1 && tb.queue[1].size() == 2 && drain(tb),
	       "one that is taken makes room for one");

	tb.issued = tb.taken = 0;
	good = true;
	for (i = 0; i < 300; i++)
		good &= tb.issue(i % 3, 7);
	tap.ok(good && drain(tb) && tb.issued == 300 && tb.taken == 300,
	       "three engines that are free get an instruction each cycle");

	for (i = 0; i < 9; i++)
		tb.issue(i % 3);
	good = tb.idle(5);
	tb.boot();			// while two are being taken
	good &= !tb.top.valid_o && !tb.top.pending_o && !tb.top.full_o && tb.idle(7) &&
		tb.issue(0) && tb.idle(1) && tb.idle();
	tap.ok(good && drain(tb), "BOOT empties the queues");

	tb.issued = tb.refused = tb.taken = 0;
	good = true;
	for (i = 0; i < 300000 && good; i++) {
		unsigned lazy = i / 1000 % 4, what = tb.rng.below(8),
			 want = tb.rng.u64() & (lazy ? tb.rng.u64() : 7);

		if (tb.rng.below(3000) == 0)
			tb.boot();
		good &= what < 2 ? tb.step(what, tb.rng.below(16), tb.rng.u64(), tb.rng.u64(), want)
			: what < 7 ? tb.issue(tb.rng.below(3), want)
				   : tb.idle(want);
	}
	tap.ok(good && tb.issued > 50000 && tb.refused > 20000 && tb.taken > 50000,
	       "random commands and engines (%u issued, %u had to wait, stopped at %u)", tb.issued, tb.refused, i);
	return tap.plan();
}
