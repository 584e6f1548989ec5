// SPDX-License-Identifier: MIT
// Five groups as one executor: done with the last of them, the lowest port, the number of ports, a
// DMA error before all else; one that fails stops the others. One that does not come to rest is
// left behind, and the executor is held until it does.
#include "Vwse_io_join.h"
#include "rtl/tests/block_tb.hpp"
#include "wse_regs.h"

namespace {

// as in build.mk
constexpr unsigned N = 5, Cols = 3, Grace = 90;

struct Group {
	unsigned ends = 0;		// cycles until it is done by itself
	unsigned fails = ~0u;		// cycles until it has a DMA error
	unsigned status = 0, port = 0, nports = 0, rest = 0;
	uint64_t iova = 0;
	bool run = false, done = false, stopped = false;
};

struct Bench : BlockTb<Vwse_io_join> {
	Group g[N];
	// aborts that a group without a command, or of a later one, saw
	unsigned spurious = 0;

	explicit Bench(uint64_t seed) : BlockTb(seed)
	{
		top.go_i = top.abort_i = top.ack_i = 0;
		top.done_i = top.status_i = 0;
		reset();
	}
	void show()
	{
		top.done_i = 0;
		top.status_i = 0;
		for (unsigned i = 0; i < N; i++) {
			top.done_i |= g[i].done << i;
			top.status_i |= g[i].status << 4 * i;
			top.iova_i[2 * i] = uint32_t(g[i].iova);
			top.iova_i[2 * i + 1] = uint32_t(g[i].iova >> 32);
			top.port_i[i / 2] = (top.port_i[i / 2] & ~(0xffffu << 16 * (i % 2))) |
					    g[i].port << 16 * (i % 2);
			top.nports_i[i / 2] = (top.nports_i[i / 2] & ~(0xffffu << 16 * (i % 2))) |
					      g[i].nports << 16 * (i % 2);
		}
	}
	void step()
	{
		show();
		settle();
		for (Group &x : g) {
			if (top.ack_o)
				x.done = false;
			if (!x.run) {
				continue;
			} else if (top.abort_o && !x.stopped) {
				x.stopped = true;
				x.status = top.abort_status_o;
				x.ends = x.rest;
			} else if (!x.stopped && !x.fails--) {
				x.stopped = true;
				x.status = WSE_ST_DMA_ERROR;
				x.ends = x.rest;
			}
			if (!x.ends--) {
				x.run = false;
				x.done = true;
				if (!x.stopped)
					x.nports = 0;
			}
		}
		if (top.go_i) {
			spurious += top.abort_o;
			for (Group &x : g) {
				x.run = true;
				x.stopped = false;
				x.status = 0;
			}
		}
		edge();
	}
	// a command in which so many groups never rest by themselves; one of them has a DMA error,
	// or the queue aborts all
	bool silent(unsigned groups, bool dma)
	{
		unsigned first = N, n = 0, t, i;
		uint64_t iova = 0;
		bool good = true;

		for (Group &x : g) {
			x = Group();
			x.ends = rng.below(60);
			x.rest = rng.below(9);
			x.port = rng.below(65536);
			x.nports = 1 + rng.below(4);
		}
		while (groups--)
			g[rng.below(N)].ends = g[rng.below(N)].rest = ~0u;
		for (i = N; i--; ) {
			Group &x = g[i];

			if (x.ends == ~0u || x.rest == ~0u) {
				x.ends = x.rest = ~0u;
				first = i;
				n++;
			}
		}
		if (dma) {
			g[first].fails = rng.below(60);
			iova = g[first].iova = rng.u64();
		}
		top.go_i = 1;
		step();
		top.go_i = 0;
		for (t = 0; !top.done_o && t < 400; t++) {
			top.abort_i = !dma && t == 61;
			top.abort_status_i = WSE_ST_TIMEOUT;
			step();
		}
		top.abort_i = 0;
		good &= top.done_o && t > Grace && t < Grace + 70;
		good &= top.status_o == (dma ? WSE_ST_DMA_ERROR : WSE_ST_TIMEOUT);
		good &= top.bus_o && top.nports_o == n && top.port_o == first * Cols &&
			(!dma || top.iova_o == iova);
		top.ack_i = 1;
		step();
		top.ack_i = 0;
		for (t = rng.below(200); t--; ) {
			step();
			good &= top.held_o && !top.done_o && !top.abort_o;
		}
		for (Group &x : g) {
			if (x.run)
				x.ends = rng.below(50);
		}
		for (t = 0; top.held_o && t < 100; t++)
			step();
		for (const Group &x : g)
			good &= !x.run && !x.done;
		return good && !top.held_o && !top.done_o;
	}
	// a command in which so many groups fail, aborted after some cycles or not; true: the join
	// says what it should
	bool command(unsigned failing, unsigned abort_after, unsigned status)
	{
		unsigned lowest = ~0u, all = 0, want = WSE_ST_OK, t = 0, longest = 0;
		uint64_t iova = 0;
		bool aborted = false;

		for (Group &x : g) {
			x.ends = rng.below(60);
			x.rest = rng.below(9);
			x.fails = ~0u;
			x.port = rng.below(65536);
			x.nports = 1 + rng.below(4);
			x.iova = rng.u64();
			longest = x.ends > longest ? x.ends : longest;
		}
		for (unsigned i = 0; i < failing; i++)
			g[rng.below(N)].fails = rng.below(60);
		top.go_i = 1;
		step();
		top.go_i = 0;
		for (; !top.done_o && t < 200; t++) {
			top.abort_i = t == abort_after;
			top.abort_status_i = top.abort_i ? status : rng.below(16);
			aborted |= top.abort_i;
			step();
		}
		top.abort_i = 0;
		for (unsigned i = N; i--; ) {
			all += g[i].nports;
			lowest = g[i].nports ? g[i].port : lowest;
			if (g[i].status == WSE_ST_DMA_ERROR ||
			    (want != WSE_ST_DMA_ERROR && g[i].status)) {
				want = g[i].status;
				iova = g[i].iova;
			}
		}
		// all have ended, and who had not failed before the first failure was stopped
		bool good = top.done_o && top.status_o == want && top.nports_o == all &&
			    (!all || top.port_o == lowest) && (!want || top.iova_o == iova) &&
			    (aborted || failing || !want) &&
			    t <= longest + (failing || aborted ? 12 : 3);

		for (const Group &x : g)
			good &= x.done && !x.run;
		for (unsigned n = rng.below(4); n--; ) {
			step();
			good &= top.done_o && top.status_o == want;
		}
		top.ack_i = 1;
		step();
		top.ack_i = 0;
		return good && !top.done_o && !top.held_o && (!want || !top.bus_o);
	}
};

} // namespace

int main(int argc, char **argv)
{
	Tap t;
	Bench b(bench_seed(argc, argv));

	t.ok(many(b, 500, [](Bench &x) { return x.command(0, ~0u, 0); }),
	     "done with the last group, status OK");
	t.ok(many(b, 2000, [](Bench &x) { return x.command(1 + x.rng.below(3), ~0u, 0); }),
	     "a group with a DMA error ends the others; the lowest one's address counts");
	t.ok(many(b, 1000, [](Bench &x) { return x.command(0, x.rng.below(60), WSE_ST_TIMEOUT); }),
	     "an abort reaches all: the lowest port that waits, and how many");
	t.ok(many(b, 1000,
		  [](Bench &x) {
			  return x.command(x.rng.below(3), x.rng.below(60), WSE_ST_DEADLOCK);
		  }),
	     "both at any cycles: a DMA error goes before");
	t.ok(many(b, 500,
		  [](Bench &x) {
			  return x.silent(1 + x.rng.below(2), x.rng.chance(50)) &&
				 x.command(0, ~0u, 0);
		  }),
	     "a group that does not rest is named and left behind; the executor is held until then");
	t.ok(!b.spurious, "no group is stopped by the command before");
	return t.plan();
}
