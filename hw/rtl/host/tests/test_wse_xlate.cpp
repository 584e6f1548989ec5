// SPDX-License-Identifier: MIT
// Offsets of a buffer to bus addresses, compared with a page list kept here: every page size,
// contiguous pieces, lists that change; a page that was not read since is never a hit.
#include <map>

#include "Vwse_xlate.h"
#include "rtl/tests/block_tb.hpp"

namespace {

constexpr unsigned Cols = 3;			// as in build.mk

struct Bench : BlockTb<Vwse_xlate> {
	std::map<uint64_t, uint64_t> list;	// the host's: entry i; made up as it is asked for
	std::map<uint64_t, bool> read;		// entries read since the last clear
	unsigned hits = 0, misses = 0;

	explicit Bench(uint64_t seed) : BlockTb(seed)
	{
		top.fill_i = 0;
		ring(0, false);
		another(false, 0, 12);
	}
	void another(bool direct, uint64_t base, unsigned shift)
	{
		top.direct_i = direct;
		top.base_i = base;
		top.shift_i = shift;
		top.clear_i = 1;
		tick();
		top.clear_i = 0;
		list.clear();
		read.clear();
	}
	// {column, feature} whose offsets come from now on, and whether its column has a run alone
	void ring(unsigned i, bool own, uint32_t pitch = 1 << 30)
	{
		top.ring_i = i;
		top.own_i = own;
		top.pitch_i = pitch;
	}
	uint64_t entry(uint64_t page)
	{
		auto e = list.find(page);

		// low bits, too, which do not count
		return e != list.end() ? e->second : list[page] = rng.u64();
	}
	bool hit(uint64_t off)
	{
		top.off_i = off;
		settle();
		return top.hit_o;
	}
	void fill(uint64_t off)
	{
		top.off_i = off;
		top.fill_i = 1;
		top.fill_data_i = entry(off >> top.shift_i);
		tick();
		top.fill_i = 0;
		top.fill_data_i = rng.u64();
		read[off >> top.shift_i] = true;
	}
	// what a user does: ask, read the entry if need be, ask again
	bool access(uint64_t off)
	{
		uint64_t page = off >> top.shift_i, low = (1ull << top.shift_i) - 1;
		bool good = true;

		if (!hit(off)) {
			misses++;
			good &= !top.direct_i && top.entry_addr_o == top.base_i + 8 * page;
			fill(off);
			good &= hit(off);
		} else {
			hits++;
			good &= top.direct_i || read.count(page);
		}
		return good && top.addr_o == (top.direct_i ? top.base_i + off
							   : (entry(page) & ~low) | (off & low));
	}
};

} // namespace

int main(int argc, char **argv)
{
	Bench tb(bench_seed(argc, argv));
	bool good = true;
	Tap tap;

	for (int i = 0; i < 2000; i++) {
		uint64_t base = tb.rng.u64() & ~7ull;

		tb.another(true, base, tb.rng.below(32));
		for (int j = 0; j < 4; j++)
			good &= tb.access(tb.rng.u64() >> tb.rng.below(64));
	}
	tap.ok(good && !tb.misses,
	       "a contiguous piece: base and offset, no list, whatever the page size says");

	good = true;
	for (unsigned shift = 12; shift <= 30; shift++) {
		uint64_t size = 1ull << shift;

		tb.another(false, 0x123456000, shift);
		for (uint64_t page = 0; page < 9; page++)
			good &= tb.access(page * size) && tb.access(page * size + size - 1) &&
				tb.access(page * size + size / 2);
		good &= tb.access(0) && tb.access((1ull << 63) + 5) && tb.access(~0ull);
	}
	tap.ok(good, "page sizes 4 KiB to 1 GiB: first, middle and last byte of pages");

	good = true;
	tb.another(false, 0x1000, 12);
	for (uint64_t page = 5; page < 9; page++)
		good &= !tb.hit(page << 12) && tb.access(page << 12);
	for (uint64_t page = 5; page < 9; page++)
		good &= tb.hit(page << 12);
	for (unsigned bit = 2; bit < 52; bit++)
		good &= !tb.hit((6ull ^ 1ull << bit) << 12);
	tap.ok(good,
	       "four neighbouring pages are remembered, and none that differs in one bit is taken for them");

	good = true;
	tb.another(false, 0x4000, 12);
	for (unsigned turn = 0; turn < 2; turn++)
		for (unsigned f = 0; f < 4; f++)
			for (unsigned c = 0; c < Cols; c++) {
				tb.ring(4 * c + f, false);
				good &= tb.hit((1024 * f + c) << 12) == (turn == 1);
				good &= tb.access((1024 * f + c) << 12);
			}
	tap.ok(good, "each feature has as many neighbouring pages as there are columns");

	good = true;
	tb.another(false, 0x4000, 13);
	for (unsigned page = 0; page < 4 * Cols; page++)
		for (unsigned f = 0; f < 4; f++) {
			tb.ring(f, false, 8191);
			good &= tb.hit(page << 13) == (f != 0) && tb.access(page << 13);
		}
	tb.ring(0, false, 8192);
	tap.ok(good && !tb.hit(3 << 13), "rows less than a page apart have their pages in common");

	good = true;
	tb.another(false, 0x4000, 12);
	for (unsigned turn = 0; turn < 2; turn++)
		for (unsigned i = 0; i < 4 * Cols; i++) {
			tb.ring(i, true);	// a column's rings read one run
			good &= tb.hit((1024 * (i / 4)) << 12) == (turn || i % 4);
			good &= tb.access((1024 * (i / 4)) << 12);
		}
	tap.ok(good, "a column with a run alone has a page alone");
	tb.ring(0, false);

	good = true;
	tb.another(false, 0x2000, 12);
	for (uint64_t page = 0; page < 16; page++)
		good &= !tb.hit(page << 12);
	tap.ok(good, "another list: nothing is remembered of the old one");

	tb.top.off_i = 0;
	tb.top.fill_i = tb.top.clear_i = 1;
	tb.tick();
	tb.top.fill_i = tb.top.clear_i = 0;
	tap.ok(!tb.hit(0), "an entry of the old list that comes with the change is not kept");

	good = true;
	tb.hits = tb.misses = 0;
	for (int i = 0; i < 3000 && good; i++) {
		unsigned shift = 12 + tb.rng.below(19);
		uint64_t at = tb.rng.u64() >> tb.rng.below(40);

		tb.another(tb.rng.chance(10), tb.rng.u64() & ~7ull, shift);
		for (int j = 0; j < 60 && good; j++) {
			good &= tb.access(at);
			if (tb.rng.below(4) == 0)
				tb.ring(tb.rng.below(4 * Cols), tb.rng.below(2),
					tb.rng.u64() >> tb.rng.below(64));
			switch (tb.rng.below(8)) {
			case 0: at ^= 1ull << tb.rng.below(64); break;
			case 1: at += tb.rng.below(5) << shift; break;
			case 2: at = tb.rng.u64(); break;
			case 3: tb.run(tb.rng.below(3)); break;
			default: at += 8 * tb.rng.below(1 << (shift - 3)); break;
			}
		}
	}
	tap.ok(good && tb.hits > 10000 && tb.misses > 10000,
	       "random lists and walks (%u hits, %u misses)", tb.hits, tb.misses);
	return tap.plan();
}
