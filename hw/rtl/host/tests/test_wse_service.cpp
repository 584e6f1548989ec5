// SPDX-License-Identifier: MIT
// The service plane's driver, with a model of the wafer: a word returns 4 cycles after its read was
// on the bus (wse_wafer's promise), from the core that the read named.
#include <deque>
#include <optional>

#include "Vwse_service.h"
#include "rtl/tests/block_tb.hpp"

namespace {

constexpr unsigned Rows = 3, Cols = 5;		// as in build.mk
constexpr unsigned OpRead = 2;

struct Op {
	unsigned op, addr, rows, cols;
	uint64_t data;
	bool has_data, has_core;
	unsigned core;
};

struct Bench : BlockTb<Vwse_service> {
	// cores of the reads on their way; front: due now
	std::deque<std::optional<uint16_t>> flight;
	std::optional<uint16_t> due;
	unsigned reads = 0;

	explicit Bench(uint64_t seed) : BlockTb(seed)
	{
		none();
		reset();
		flight.assign(4, std::nullopt);
	}
	void none() { top.a_valid_i = top.b_valid_i = top.d_valid_i = 0; }
	void noise()		// whatever is not valid must not matter
	{
		top.a_op_i = rng.below(16);
		top.a_addr_i = rng.u64();
		top.a_wdata_i = rng.u64();
		top.a_rows_i = rng.below(1 << Rows);
		top.a_cols_i = rng.below(1 << Cols);
		top.b_op_i = rng.below(16);
		top.b_addr_i = rng.u64();
		top.b_wdata_i = rng.u64();
		top.b_rows_i = rng.below(1 << Rows);
		top.b_cols_i = rng.below(1 << Cols);
		top.b_core_i = rng.below(Rows * Cols);
		top.d_op_i = rng.below(16);
		top.d_addr_i = rng.u64();
		top.d_row_i = rng.below(Rows);
		top.d_col_i = rng.below(Cols);
	}
	// The operation that must be on the bus after the next edge: start, then debugger, then
	// copy.
	Op granted() const
	{
		if (top.a_valid_i)
			return {top.a_op_i,    top.a_addr_i, top.a_rows_i, top.a_cols_i,
				top.a_wdata_i, true,	     false,	   0};
		if (top.d_valid_i)
			return {top.d_op_i,
				top.d_addr_i,
				1u << top.d_row_i,
				1u << top.d_col_i,
				0,
				false,
				false,
				0};
		if (top.b_valid_i)
			return {top.b_op_i,    top.b_addr_i, top.b_rows_i, top.b_cols_i,
				top.b_wdata_i, true,	     true,	   top.b_core_i};
		return {};
	}
	// one cycle; false: something on the bus or in the answers is not as it must be
	bool step()
	{
		bool good, mine = top.b_valid_i && !top.a_valid_i && !top.d_valid_i;
		Op op = granted();

		settle();
		good = top.d_ready_o == !top.a_valid_i &&
		       top.b_ready_o == (!top.a_valid_i && !top.d_valid_i);
		edge();
		good &= top.svc_op_o == op.op;
		if (op.op) {
			good &= top.svc_addr_o == op.addr && top.svc_rows_o == op.rows &&
				top.svc_cols_o == op.cols;
			if (op.has_data)
				good &= (top.svc_wdata_lo_o | uint64_t(top.svc_wdata_hi_o) << 32) ==
					op.data;
			if (op.has_core)
				good &= top.svc_rd_core_o == op.core;
		}
		// the wafer: this cycle's read comes back in four
		due = flight.front();
		flight.pop_front();
		good &= top.rd_valid_o == due.has_value();
		reads += due.has_value();
		flight.push_back(mine && op.op == OpRead ? std::optional<uint16_t>(op.core)
							 : std::nullopt);
		return good;
	}
};

void test_operations(Tap &tap, uint64_t seed)
{
	Bench tb(seed);
	bool good = true;

	for (unsigned from = 0; from < 3; from++)
		for (unsigned op = 1; op < 16; op++) {
			tb.none();
			tb.noise();
			(from == 0   ? tb.top.a_op_i
			 : from == 1 ? tb.top.b_op_i
				     : tb.top.d_op_i) = op;
			(from == 0   ? tb.top.a_valid_i
			 : from == 1 ? tb.top.b_valid_i
				     : tb.top.d_valid_i) = 1;
			good &= tb.step();
			tb.none();
			good &= tb.step();		// one cycle long
		}
	tap.ok(good,
	       "every operation of each requester is on the bus for one cycle, with its address, data, rectangle");

	good = true;
	for (unsigned row = 0; row < Rows; row++)
		for (unsigned col = 0; col < Cols; col++) {
			tb.noise();
			tb.top.d_valid_i = 1;
			tb.top.d_row_i = row;
			tb.top.d_col_i = col;
			good &= tb.step() && tb.top.svc_rows_o == 1u << row &&
				tb.top.svc_cols_o == 1u << col;
		}
	tb.none();
	tap.ok(good, "the debugger's operation reaches exactly its core");
}

void test_reads(Tap &tap, uint64_t seed)
{
	Bench tb(seed);
	bool good = true;

	for (int i = 0; i < 6; i++)
		good &= tb.step();
	tb.noise();
	tb.top.b_op_i = OpRead;
	tb.top.b_valid_i = 1;
	good &= tb.step();
	tb.none();
	for (int i = 0; i < 8; i++)
		good &= tb.step();
	tap.ok(good && tb.reads == 1, "the word of a read is announced when it is there, once");

	tb.top.b_valid_i = 1;
	for (int i = 0; i < 100; i++) {
		tb.noise();
		tb.top.b_op_i = OpRead;
		good &= tb.step();
	}
	tb.none();
	for (int i = 0; i < 8; i++)
		good &= tb.step();
	tap.ok(good && tb.reads == 101, "a read every cycle, a word every cycle");

	tb.noise();
	tb.top.d_valid_i = 1;
	tb.top.d_op_i = OpRead;
	good &= tb.step();
	tb.none();
	tb.noise();
	tb.top.a_valid_i = 1;
	tb.top.a_op_i = OpRead;
	tb.top.b_valid_i = 1;		// waits
	tb.top.b_op_i = OpRead;
	good &= tb.step();
	tb.none();
	for (int i = 0; i < 8; i++)
		good &= tb.step();
	tap.ok(good && tb.reads == 101,
	       "reads that are not the copy executor's, or that waited, announce no word");
}

void test_random(Tap &tap, uint64_t seed)
{
	Bench tb(seed);
	bool good = true;
	int i;

	for (i = 0; i < 100000 && good; i++) {
		// a requester that waits holds its request
		bool b_waits = tb.top.b_valid_i && (tb.top.a_valid_i || tb.top.d_valid_i);
		Op held = {tb.top.b_op_i,
			   tb.top.b_addr_i,
			   tb.top.b_rows_i,
			   tb.top.b_cols_i,
			   tb.top.b_wdata_i,
			   true,
			   true,
			   tb.top.b_core_i};

		tb.noise();
		tb.top.a_valid_i = tb.rng.chance(20);
		tb.top.d_valid_i = tb.rng.chance(20);
		if (b_waits) {
			tb.top.b_op_i = held.op;
			tb.top.b_addr_i = held.addr;
			tb.top.b_rows_i = held.rows;
			tb.top.b_cols_i = held.cols;
			tb.top.b_wdata_i = held.data;
			tb.top.b_core_i = held.core;
		} else {
			tb.top.b_valid_i = tb.rng.chance(60);
			if (tb.rng.chance(50))
				tb.top.b_op_i = OpRead;
		}
		good &= tb.step();
	}
	tap.ok(good && tb.reads > 10000,
	       "100000 random cycles of three requesters (%u reads, stopped at %d)", tb.reads, i);

	tb.none();
	tb.top.b_valid_i = 1;
	tb.top.b_op_i = OpRead;
	tb.step();
	tb.step();
	tb.reset(1);
	tb.none();
	good = tb.top.svc_op_o == 0 && tb.top.svc_rows_o == 0 && tb.top.svc_cols_o == 0 &&
	       !tb.top.rd_valid_o;
	for (i = 0; i < 8; i++) {
		tb.tick();
		good &= tb.top.svc_op_o == 0 && !tb.top.rd_valid_o;
	}
	tap.ok(good, "a reset in mid-flight: nothing on the bus, no word announced");
}

} // namespace

int main(int argc, char **argv)
{
	uint64_t seed = bench_seed(argc, argv);
	Tap tap;

	test_operations(tap, seed);
	test_reads(tap, seed);
	test_random(tap, seed);
	return tap.plan();
}
