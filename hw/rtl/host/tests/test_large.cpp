// SPDX-License-Identifier: MIT
// START of more cores than 16 bits number, 300 x 300 as in build.mk: its rectangle, the core that
// it names, how many are like it.
#include "Vlarge.h"
#include "rtl/tests/tap.hpp"
#include "verilated.h"
#include "wse_regs.h"

namespace {

constexpr unsigned Rows = 300, Cols = 300;

struct Rect { unsigned row0, col0, rows, cols; };

struct Bench {
	VerilatedContext ctx;
	Vlarge top{&ctx};
	// cores from..to of the tile are held, by number
	unsigned from = 0, to = 0, looked = 0, highest = 0;

	Bench()
	{
		top.clk_i = top.rst_ni = top.ld_i = top.go_i = top.abort_i = top.ack_i = 0;
		top.svc_busy_i = top.st_faulted_i = top.st_done_i = 0;
		top.any_held_i = 1;
		top.any_open_i = top.any_bad_i = 0;
		tick();
		top.rst_ni = 1;
	}
	void tick()
	{
		bool en = top.st_en_o;
		unsigned core = top.st_core_o;

		top.clk_i = 1;
		top.eval();
		top.clk_i = 0;
		if (en) {
			looked++;
			highest = core > highest ? core : highest;
			top.st_held_i = core >= from && core < to;
		}
		top.eval();
	}
	void load(unsigned i, uint64_t word)
	{
		top.ld_i = 1;
		top.ld_idx_i = i;
		top.ld_word_i = word;
		tick();
		top.ld_i = 0;
	}
	// until it is done: NOT_BOOTED
	bool start(const Rect &r)
	{
		unsigned n = 0;

		looked = highest = 0;
		load(0, WSE_OP_START | uint64_t(r.row0) << 48);
		load(1, r.col0 | uint64_t(r.rows) << 16 | uint64_t(r.cols) << 32);
		top.go_i = 1;
		tick();
		top.go_i = 0;
		while (!top.done_o && n++ < 2 * Rows * Cols)
			tick();
		bool good = top.done_o && top.status_o == WSE_ST_NOT_BOOTED &&
			    mask(top.svc_rows_o, r.row0, r.rows) &&
			    mask(top.svc_cols_o, r.col0, r.cols);
		top.ack_i = 1;
		tick();
		top.ack_i = 0;
		return good;
	}
	template <std::size_t N> bool mask(const VlWide<N> &m, unsigned first, unsigned n)
	{
		bool good = true;

		for (unsigned i = 0; i < 300; i++)
			good &= (m[i / 32] >> i % 32 & 1) == (i - first < n);
		return good;
	}
};

} // namespace

int main()
{
	Tap t;
	Bench b;

	b.to = Rows * Cols;
	t.ok(b.start({0, 0, Rows, Cols}) && !b.top.f_row_o && !b.top.f_col_o &&
		     b.top.f_ncores_o == 65535 && b.highest == Rows * Cols - 1,
	     "90,000 cores are held: the first is named, and 65,535 like it");
	b.from = Rows * Cols - 1;
	t.ok(b.start({0, 0, Rows, Cols}) && b.top.f_row_o == Rows - 1 &&
		     b.top.f_col_o == Cols - 1 && b.top.f_ncores_o == 1 && b.looked >= Rows * Cols,
	     "the last one of them alone");
	b.from = 250 * Cols + 7;
	b.to = b.from + 65536;
	t.ok(b.start({200, 5, 100, 70}) && b.top.f_row_o == 250 && b.top.f_col_o == 7 &&
		     b.top.f_ncores_o == 50 * 70 - 2,
	     "a rectangle in the middle: the cores of it alone");
	return t.plan();
}
