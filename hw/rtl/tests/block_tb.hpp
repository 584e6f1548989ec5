// SPDX-License-Identifier: MIT
// One module on the bench (hw/rtl/build.mk): clock, reset, random numbers; TAP comes with it.
//
//	BlockTb<Vwse_bar> tb(seed);	// state and inputs begin at random values: set every input
//	tb.top.x_i = 1;
//	tb.settle();			// outputs that depend on inputs at once, e.g. a ready
//	tb.edge();			// the clock edge; tick() is both
//
// A bench takes the seed of its random tests as argument, so that they can be repeated with others.
#ifndef WSE_RTL_BLOCK_TB_HPP
#define WSE_RTL_BLOCK_TB_HPP
#include <cstdint>
#include <cstdlib>
#include <new>

#include "tap.hpp"
#include "verilated.h"

struct Rng {
	uint64_t s;

	explicit Rng(uint64_t seed = 1) : s(seed * 0x9e3779b97f4a7c15ull | 1) {}
	uint64_t u64()
	{
		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		return s * 0x2545f4914f6cdd1dull;
	}
	uint32_t below(uint32_t n) { return uint32_t((u64() >> 32) * n >> 32); }
	bool chance(unsigned percent) { return below(100) < percent; }
	template <class T, size_t N> T pick(const T (&from)[N]) { return from[below(N)]; }
};

template <class Top> struct BlockTb {
	VerilatedContext ctx;
	Top top;
	Rng rng;
	uint64_t cycles = 0;

	explicit BlockTb(uint64_t seed = 1) : top((randomize(ctx, seed), &ctx), "block"), rng(seed)
	{
		top.clk_i = 0;
	}
	// several in one scope: a model's destructor looks for its scopes in the context used last
	~BlockTb() { Verilated::threadContextp(&ctx); }
	void settle()
	{
		top.clk_i = 0;
		top.eval();
	}
	void edge()
	{
		top.clk_i = 1;
		top.eval();
		cycles++;
	}
	void tick()
	{
		settle();
		edge();
	}
	void run(unsigned n)
	{
		while (n--)
			tick();
	}
	// with the inputs as they are
	void reset(unsigned n = 3)
	{
		top.rst_ni = 0;
		run(n);
		top.rst_ni = 1;
	}

private:
	static void randomize(VerilatedContext &c, uint64_t seed)
	{
		c.randReset(2);
		c.randSeed(int(seed & 0x7fffffff) | 1);
	}
};

// n times, until one is not good: then the bench begins anew, so that the next test stands alone
template <class Bench, class F> bool many(Bench &b, unsigned n, F f)
{
	while (n--)
		if (!f(b)) {
			uint64_t seed = b.rng.u64();

			b.~Bench();
			new (&b) Bench(seed);
			return false;
		}
	return true;
}

static inline uint64_t bench_seed(int argc, char **argv)
{
	return argc > 1 ? strtoull(argv[1], nullptr, 0) : 1;
}
#endif
