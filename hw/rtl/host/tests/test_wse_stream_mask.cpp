// SPDX-License-Identifier: MIT
// The mask words of a stream against hw/doc/fabric.md: the bit of (n, c, k) is bit k & 7 of byte
// MOFF + n * RSTRIDE + c * MCSTRIDE + k / 8. Ports take their words at random times; other answers
// pass on the same bus.
#include <vector>

#include "Vwse_stream_mask.h"
#include "rtl/tests/block_tb.hpp"
#include "host_mem.hpp"

namespace {

constexpr unsigned Cols = 3, N = 4 * Cols;	// as in build.mk

struct Bench : BlockTb<Vwse_stream_mask> {
	HostBus bus;
	HostBuf buf;
	// percent of the cycles in which a port takes a word that is there
	unsigned eager = 50;
	// a port takes a word every so many cycles, 0: at random
	unsigned every = 0;
	// the command
	uint64_t moff = 0;
	unsigned c0 = 0, rstride = 0, mcstride = 0, nblk = 0, kcol = 0, nfeat = 1, col0 = 0,
		 cols = 1;
	// the ports
	unsigned taken[N] = {};			// words of {column, feature}
	uint64_t took[N] = {};			// cycle of the last one
	unsigned pop = 0;			// decided, seen by the module in the next cycle
	unsigned waited = 0;			// times that a port of `every` found no word
	bool stopping = true, was_valid = false, error = false;

	explicit Bench(uint64_t seed) : BlockTb(seed), bus(seed + 1)
	{
		top.go_i = top.pop_i = top.rd_valid_i = top.rreq_ready_i = 0;
		top.stop_i = 1;
		reset();
	}
	unsigned words() const { return (kcol + 63) / 64; }
	bool used(unsigned i) const
	{
		return i / 4 >= col0 && i / 4 < col0 + cols && i % 4 < nfeat;
	}
	bool all_taken() const
	{
		for (unsigned i = 0; i < N; i++)
			if (used(i) && taken[i] != nblk * words())
				return false;
		return true;
	}
	// does the word that the module shows to port i hold the bits that are due?
	bool right(unsigned i)
	{
		uint64_t blk = taken[i] / words(), w = taken[i] % words();
		uint64_t off =
			moff + (blk * nfeat + i % 4) * rstride + uint64_t(i / 4 - col0) * mcstride;
		const auto &word = top.second_o >> i & 1 ? top.word1_o : top.word0_o;
		uint64_t shown = word[2 * i] | uint64_t(word[2 * i + 1]) << 32;

		for (unsigned k = 64 * w; k < kcol && k < 64 * w + 64; k++) {
			uint8_t byte;

			bus.mem.get(buf, off + k / 8, &byte, 1);
			if ((byte >> (k & 7) & 1) != (shown >> (k & 63) & 1))
				return false;
		}
		return true;
	}
	void step()
	{
		bool old_request = was_valid;

		top.stop_i = stopping;
		top.pop_i = pop;
		bus.reads(top);
		error |= top.rd_valid_i && top.rd_err_i;
		if (!top.rd_valid_i && rng.chance(30)) {	// of another client
			top.rd_valid_i = 1;
			top.rd_tag_i = (top.rd_tag_i & ~3u) | rng.below(2);
		}
		was_valid = top.rreq_valid_o && !top.rreq_ready_i;
		pop = 0;
		for (unsigned i = 0; i < N && !stopping; i++) {
			bool there = (top.valid_o & ~top.pop_i) >> i & 1;

			if (there && (!used(i) || taken[i] >= nblk * words() || !right(i))) {
				bus.broken("column %u feature %u word %u", i / 4, i % 4, taken[i]);
				continue;
			}
			bool due =
				every ? !taken[i] || cycles >= took[i] + every : rng.chance(eager);

			if (every && due && taken[i] && !there && used(i) &&
			    taken[i] < nblk * words())
				waited++;
			if (!there || !due)
				continue;
			pop |= 1u << i;
			taken[i]++;
			took[i] = cycles;
		}
		tick();
		// a request stays until it is granted; stopped, no new one begins
		if (old_request && was_valid && !top.rreq_valid_o)
			bus.broken("a request was withdrawn");
		if (stopping && top.rreq_valid_o && !was_valid && !top.go_i)
			bus.broken("a request after the stop");
	}
	void begin()
	{
		top.direct_i = buf.b.direct;
		top.shift_i = buf.b.pshift;
		top.base_i = buf.b.addr;
		top.moff_i = moff;
		top.rstride_i = rstride;
		top.mcstride_i = mcstride;
		top.nblk_i = nblk;
		top.kcol_i = kcol;
		top.nfeat_i = nfeat;
		top.c0_i = c0;
		top.col0_i = c0 + col0;
		top.cols_i = cols;
		for (unsigned i = 0; i < N; i++)
			taken[i] = 0;
		error = false;
		top.go_i = 1;
		step();
		top.go_i = 0;
		stopping = false;
		pop = 0;
	}
	void stop()
	{
		stopping = true;
		pop = 0;
		while (bus.outstanding || top.rreq_valid_o)
			step();
		for (unsigned n = rng.below(6); n--; )
			step();
	}
	void shape()
	{
		unsigned density = rng.pick({0u, 5u, 50u, 95u, 100u});

		bus.pace();
		eager = rng.pick({100u, 50u, 3u});
		every = 0;
		nfeat = rng.pick({1u, 2u, 4u});
		c0 = rng.pick({0u, 3u, 65000u});
		col0 = rng.below(Cols);
		cols = 1 + rng.below(Cols - col0);
		kcol = 1 + rng.below(rng.pick({1u, 8u, 64u, 65u, 300u, 300u, 1500u}));
		nblk = 1 + rng.below(rng.pick({1u, 3u, 20u}));
		moff = 8 * rng.below(rng.pick({1u, 600u, 5000u}));
		rstride = 8 * rng.below(rng.pick({1u, 40u, 600u}));
		mcstride = 8 * rng.below(rng.pick({1u, 40u, 600u}));
		lay(density, random_pshift(rng));
	}
	void lay(unsigned density, unsigned pshift)
	{
		uint64_t size = moff + uint64_t(nblk * nfeat - 1) * rstride +
				(cols - 1) * mcstride + 8 * words();

		bus.mem = HostMem();
		buf = bus.mem.alloc(rng, size, pshift);
		for (uint64_t off = 0; off < size; off++) {
			uint8_t byte = 0;

			for (int i = 0; i < 8; i++)
				byte |= rng.chance(density) << i;
			bus.mem.put(buf, off, &byte, 1);
		}
	}
};

bool run(Bench &b, unsigned max)
{
	while (!b.all_taken() && max-- && b.bus.good)
		b.step();
	for (int i = 0; i < 50; i++)		// a word too many would show now
		b.step();
	return b.all_taken() && b.bus.good;
}

bool whole(Bench &b)
{
	b.shape();
	b.begin();
	bool good = run(b, 2000000);

	b.stop();
	return good;
}

bool stopped(Bench &b)
{
	b.shape();
	b.begin();
	for (unsigned n = b.rng.below(b.rng.pick({3u, 30u, 500u})); n--; )
		b.step();
	b.stop();
	return b.bus.good && whole(b);
}

// The stream stops when an access is refused: no word of that answer may be taken for a mask
// before.
bool refused(Bench &b)
{
	b.shape();
	uint64_t off = b.moff + uint64_t(b.rng.below(b.nblk * b.nfeat)) * b.rstride +
		       b.rng.below(b.cols) * b.mcstride + 8 * b.rng.below(b.words());
	bool entry = !b.buf.b.direct && b.rng.below(2);

	b.bus.mem.refuse(entry ? b.buf.b.addr + 8 * (off >> b.buf.b.pshift) : b.buf.bus(off), 8);
	b.begin();
	for (unsigned max = 2000000; !b.error && max--; )
		b.step();
	b.stop();
	b.bus.mem.refuse_nothing();
	return b.error && b.bus.good && whole(b);
}

// A port needs a word every 64 cycles: read ahead, it waits for the first one only.
bool ahead(Bench &b)
{
	b.shape();
	b.bus.latency = 70;
	b.bus.jitter = 1;
	b.bus.grant = b.bus.flow = 100;
	b.every = 64;
	b.nfeat = 1;
	b.col0 = 0;
	b.cols = Cols;
	b.kcol = 1024;
	b.nblk = 2;
	b.rstride = 128;
	b.mcstride = 256;
	b.lay(50, 0);
	b.waited = 0;
	b.begin();
	bool good = run(b, 5000);

	b.stop();
	return good && !b.waited;
}

} // namespace

int main(int argc, char **argv)
{
	Tap t;
	Bench b(bench_seed(argc, argv));

	t.ok(many(b, 400, whole),
	     "every word of every column and feature once and in order: shapes, densities, offsets, page lists");
	t.ok(many(b, 300, stopped),
	     "stopped at any cycle: no request begins after; the next stream is clean");
	t.ok(many(b, 200, refused),
	     "a refused word or page entry is no mask; the next stream is clean");
	t.ok(many(b, 1, ahead),
	     "words are read ahead: a port at full rate never waits behind 70 cycles of latency");
	return t.plan();
}
