// SPDX-License-Identifier: MIT
// The SRAM of a core at its two ports, compared with an array of bytes: every strobe, every row,
// both ports at once.
#include <cstring>
#include <vector>

#include "Vwse_sram.h"
#include "rtl/tests/block_tb.hpp"
#include "wse_regs.h"

namespace {

constexpr unsigned Rows = WSE_SRAM_BYTES / 16;

struct Row {
	uint8_t byte[16];

	bool operator==(const Row &o) const { return !memcmp(byte, o.byte, 16); }
};

struct Access {
	bool en = false;
	uint16_t we = 0;
	unsigned row = 0;
	Row data = {};
};

struct Bench : BlockTb<Vwse_sram> {
	std::vector<Row> mem = std::vector<Row>(Rows);
	Row out[2];			// what each port must show: the row of its last read
	bool known[2] = {};

	explicit Bench(uint64_t seed) : BlockTb(seed)
	{
		for (unsigned r = 0; r < Rows; r++)
			step({true, 0xffff, r, noise()}, {});
	}
	Row noise()
	{
		uint64_t v[2] = {rng.u64(), rng.u64()};
		Row row;

		memcpy(row.byte, v, 16);
		return row;
	}
	// one cycle; what is not enabled carries noise; false: a port shows something else than it
	// must
	bool step(Access a, Access b)
	{
		Access *port[2] = {&a, &b};
		uint32_t w[2][4];

		for (unsigned p = 0; p < 2; p++) {
			if (!port[p]->en)
				*port[p] = {false, uint16_t(rng.u64()), rng.below(Rows), noise()};
			else if (!port[p]->we)
				port[p]->data = noise();
			memcpy(w[p], port[p]->data.byte, 16);
			if (port[p]->en && !port[p]->we) {
				// of the cycle before: what is written now is not seen
				out[p] = mem[port[p]->row];
				known[p] = true;
			}
		}
		for (auto p : port)
			for (unsigned i = 0; p->en && i < 16; i++)
				if (p->we >> i & 1)
					mem[p->row].byte[i] = p->data.byte[i];
		top.a_en_i = a.en;
		top.a_we_i = a.we;
		top.a_row_i = a.row;
		top.a_wd0_i = w[0][0];
		top.a_wd1_i = w[0][1];
		top.a_wd2_i = w[0][2];
		top.a_wd3_i = w[0][3];
		top.b_en_i = b.en;
		top.b_we_i = b.we;
		top.b_row_i = b.row;
		top.b_wd0_i = w[1][0];
		top.b_wd1_i = w[1][1];
		top.b_wd2_i = w[1][2];
		top.b_wd3_i = w[1][3];
		settle();
		if (!shows())			// not before the edge
			return false;
		edge();
		past[0] = out[0];
		past[1] = out[1];
		pknown[0] = known[0];
		pknown[1] = known[1];
		return shows();
	}

private:
	Row past[2];
	bool pknown[2] = {};

	bool shows()
	{
		uint32_t got[2][4] = {{top.a_rd0_o, top.a_rd1_o, top.a_rd2_o, top.a_rd3_o},
				      {top.b_rd0_o, top.b_rd1_o, top.b_rd2_o, top.b_rd3_o}};

		return (!pknown[0] || !memcmp(got[0], past[0].byte, 16)) &&
		       (!pknown[1] || !memcmp(got[1], past[1].byte, 16));
	}
};

} // namespace

int main(int argc, char **argv)
{
	Bench tb(bench_seed(argc, argv));
	bool good = true;
	unsigned i, same = 0;
	Tap tap;

	for (i = 0; i < Rows; i++)
		good &= tb.step({true, 0, i, {}}, {true, 0, Rows - 1 - i, {}});
	tap.ok(good, "all %u rows, written through port A, read through both", Rows);

	good = true;
	for (i = 0; i < Rows; i++)
		good &= tb.step({}, {true, 0xffff, i, tb.noise()});
	for (i = 0; i < Rows; i++)
		good &= tb.step({true, 0, i, {}}, {true, 0, i ^ 1, {}});
	tap.ok(good, "the same through port B");

	good = true;
	for (i = 0; i < 65536; i += 7) {
		unsigned row = tb.rng.below(Rows);
		Access w = {true, uint16_t(i), row, tb.noise()}, r = {true, 0, row, {}};

		good &= i % 2 ? tb.step(w, {}) && tb.step({}, r) : tb.step({}, w) && tb.step(r, {});
	}
	tap.ok(good, "byte strobes of each port: these bytes and no other");

	good = tb.step({true, 0, 5, {}}, {true, 0, 6, {}});
	for (i = 0; i < 50; i++)
		good &= tb.step({}, {}) &&
			tb.step({true, 0xffff, 5, tb.noise()}, {true, 0xffff, 6, tb.noise()});
	tap.ok(good, "a row that was read stays on its port until the next read");

	good = true;
	for (i = 0; i < 2000; i++) {
		unsigned row = tb.rng.below(Rows);
		uint16_t we = tb.rng.u64();

		good &= tb.step({true, we, row, tb.noise()},
				{true, uint16_t(~we), row, tb.noise()});
		good &= tb.step({true, 0, row, {}}, {true, 0, row, {}});
	}
	tap.ok(good, "both ports write other bytes of one row: all of them land");

	good = true;
	for (i = 0; i < 2000; i++) {
		unsigned row = tb.rng.below(Rows);
		Access w = {true, uint16_t(tb.rng.u64() | 1), row, tb.noise()},
		       r = {true, 0, row, {}};

		good &= i % 2 ? tb.step(w, r) : tb.step(r, w);
	}
	tap.ok(good, "a row read and written at once: the read has the old row, the write lands");

	good = true;
	for (i = 0; i < 300000 && good; i++) {
		Access p[2];

		for (auto &q : p) {
			q.en = tb.rng.chance(80);
			q.we = tb.rng.chance(50) ? tb.rng.u64() & tb.rng.u64() : 0;
			q.row = tb.rng.chance(50) ? tb.rng.below(4) : tb.rng.below(Rows);
			q.data = tb.noise();
		}
		if (p[0].row == p[1].row) {
			p[1].we &= ~p[0].we;		// one byte written by both: undefined
			same += p[0].en && p[1].en;
		}
		good &= tb.step(p[0], p[1]);
	}
	tap.ok(good && same > 1000,
	       "random accesses of both ports (%u to one row at once, stopped at %u)", same, i);

	good = true;
	for (i = 0; i < Rows; i++)
		good &= tb.step({true, 0, i, {}}, {});
	tap.ok(good, "and every row in the end");
	return tap.plan();
}
