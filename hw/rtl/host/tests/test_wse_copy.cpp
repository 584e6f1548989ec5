// SPDX-License-Identifier: MIT
// COPY_IN and COPY_OUT between a model of host memory and one of the cores' SRAM: rectangles,
// broadcast, strides, page lists, refused accesses, and aborts at any cycle, each followed by a
// command that they must not affect. The module's columns are some of a tile's: of a command's
// rectangle it has those, or none.
#include <deque>
#include <vector>

#include "Vwse_copy.h"
#include "exec_tb.hpp"
#include "host_mem.hpp"

namespace {

constexpr unsigned Rows = 3, Cols = 4, N = Rows * Cols;		// as in build.mk
constexpr unsigned Limit = 1000000;				// cycles that no command here needs
// of the service plane, as in wse_core
enum { OpWrite = 1, OpRead = 2 };
constexpr unsigned Tile = 3 * Cols;				// columns
const wse_geom Geom = {Rows, Tile, WSE_SRAM_BYTES, WSE_NCOLORS, 4, true, true};

using Sram = std::vector<std::vector<uint8_t>>;			// [N][WSE_SRAM_BYTES]

struct Bench : ExecTb<Vwse_copy> {
	HostBus bus;
	Sram sram;
	// percent of the cycles in which the service plane is free
	unsigned ready = 70;
	bool running = false;
	struct Op { unsigned op, addr, rows, cols, core; uint64_t data; };
	std::deque<Op> plane;			// cycles from a grant to the cores
	struct Word { bool valid; uint64_t data; };
	// and from a read to its word: wse_service's promise
	std::deque<Word> back;

	explicit Bench(uint64_t seed) : ExecTb(seed), bus(seed + 1)
	{
		for (auto &s : sram = Sram(N, std::vector<uint8_t>(WSE_SRAM_BYTES)))
			for (auto &byte : s)
				byte = uint8_t(rng.u64() >> 40);
		plane.assign(2, Op{});
		back.assign(3, Word{});
		top.rd_valid_i = top.wrsp_valid_i = top.svc_rd_valid_i = 0;
		reset();
	}
	void drive() override
	{
		bus.reads(top);
		bus.writes(top);
		if (!running && (top.rreq_valid_o || top.wreq_valid_o || top.svc_valid_o))
			bus.broken("a request without a command");
		Op o = plane.front();
		Word w = {false, rng.u64()};

		plane.pop_front();
		for (unsigned i = 0; i < N && o.op == OpWrite; i++)
			if (o.rows >> i / Cols & 1 && o.cols >> i % Cols & 1)
				memcpy(&sram[i][o.addr % WSE_SRAM_BYTES], &o.data, 8);
		if (o.op == OpRead) {
			w.valid = true;
			memcpy(&w.data, &sram[o.core % N][o.addr % WSE_SRAM_BYTES], 8);
		}
		back.push_back(w);
		top.svc_rd_valid_i = back.front().valid;
		top.svc_rdata_i = back.front().data;
		back.pop_front();
		top.svc_ready_i = rng.chance(ready);
		plane.push_back(Op{});
		if (top.svc_valid_o && top.svc_ready_i) {
			plane.back() = {top.svc_op_o,	top.svc_addr_o, top.svc_rows_o,
					top.svc_cols_o, top.svc_core_o, top.svc_wdata_o};
			if (top.svc_addr_o & 7 || top.svc_addr_o >= WSE_SRAM_BYTES)
				bus.broken("SRAM address %x", top.svc_addr_o);
			if (top.svc_op_o == OpRead &&
			    (top.svc_rows_o != 1u << top.svc_core_o / Cols ||
			     top.svc_cols_o != 1u << top.svc_core_o % Cols))
				bus.broken("a read that is not one core's");
		}
	}
	void pace()
	{
		bus.pace();
		ready = rng.pick({100u, 70u, 20u});
	}
};

struct Job {
	Bench &b;
	drm_wse_cmd cmd = {};
	wse_sqe sqe;
	HostBuf buf;
	unsigned c0 = 0;			// the tile's column that is the module's first

	// apart: no byte of the destination is written twice
	Job(Bench &bench, bool apart, unsigned pshift) : b(bench)
	{
		do
			shape(apart);
		while (wse_cmd_check(&Geom, &cmd, ~0ull, 0));
		finish(pshift);
	}
	explicit Job(Bench &bench) : b(bench) {}
	void shape(bool apart)
	{
		Rng &g = b.rng;
		// of 4: a stride that may be smaller than what it strides over
		unsigned pad = apart ? 0 : 3;

		cmd = {};
		cmd.op = g.below(2) ? WSE_OP_COPY_IN : WSE_OP_COPY_OUT;
		cmd.queue = 1;
		cmd.bo = 1;
		cmd.budget = 1;
		cmd.row0 = g.below(Rows);
		c0 = Cols * g.below(Tile / Cols);
		// more often than not in the module's columns alone
		cmd.col0 = g.below(3) ? c0 + g.below(Cols) : g.below(Tile);
		cmd.rows = 1 + g.below(Rows - cmd.row0);
		cmd.cols = 1 + g.below(g.below(3) && cmd.col0 >= c0 && cmd.col0 < c0 + Cols
					       ? c0 + Cols - cmd.col0 : Tile - cmd.col0);
		cmd.len = 8 * (1 + g.below(g.pick({1u, 2u, 8u, 60u, 60u, 700u})));
		cmd.nline = 1 + g.below(g.pick({1u, 2u, 9u}));
		cmd.sram = 8 * g.below(WSE_SRAM_BYTES / 8);
		cmd.off = 8 * g.below(g.pick({1u, 40u, 2000u}));
		cmd.sstride = g.below(4) < pad ? 8 * g.below(20) : cmd.len + 8 * g.below(4);
		cmd.lstride = g.below(4) < pad ? 8 * g.below(20)
					       : cmd.len + 8 * g.below(g.pick({2u, 900u}));
		cmd.cstride = g.below(4) < pad ? 8 * g.below(20)
					       : cmd.nline * cmd.lstride + 8 * g.below(4);
		cmd.rstride = g.below(4) < pad ? 8 * g.below(20)
					       : cmd.cols * cmd.cstride + 8 * g.below(4);
		if (cmd.op == WSE_OP_COPY_IN && g.below(3) == 0) {
			cmd.flags = DRM_WSE_CMD_BROADCAST;
			unsigned along = g.below(3);	// rows, columns, both

			if (along != 0)
				cmd.cstride = 0;
			if (along != 1)
				cmd.rstride = 0;
		}
	}
	void finish(unsigned pshift)
	{
		uint64_t end = cmd.off + cmd.len + uint64_t(cmd.nline - 1) * cmd.lstride +
			       uint64_t(cmd.cols - 1) * cmd.cstride +
			       uint64_t(cmd.rows - 1) * cmd.rstride;

		b.top.c0_i = c0;
		b.bus.mem = HostMem();
		buf = b.bus.mem.alloc(b.rng, end, pshift);
		wse_cmd_encode(&cmd, uint16_t(b.rng.u64()), &buf.b, nullptr, &sqe);
	}
	bool in() const { return cmd.op == WSE_OP_COPY_IN; }
	uint64_t off(unsigned r, unsigned c, unsigned l) const
	{
		return cmd.off + uint64_t(r) * cmd.rstride + uint64_t(c) * cmd.cstride +
		       uint64_t(l) * cmd.lstride;
	}
	// of the command's columns: the first that the module has, and the end
	unsigned first() const { return c0 > cmd.col0 ? c0 - cmd.col0 : 0; }
	unsigned end() const
	{
		return c0 + Cols <= cmd.col0 ? 0
					     : std::min<unsigned>(cmd.cols, c0 + Cols - cmd.col0);
	}
	bool none() const { return first() >= end(); }
	// the contract: row-major cores, line by line
	void expect(HostMem &mem, Sram &sram)
	{
		std::vector<uint8_t> line(cmd.len);

		for (unsigned r = 0; r < cmd.rows; r++)
			for (unsigned c = first(); c < end(); c++)
				for (unsigned l = 0; l < cmd.nline; l++) {
					unsigned core = (cmd.row0 + r) * Cols + cmd.col0 + c - c0;
					uint8_t *at = &sram[core][cmd.sram + l * cmd.sstride];

					if (in())
						mem.get(buf, off(r, c, l), at, cmd.len);
					else
						mem.put(buf, off(r, c, l), at, cmd.len);
				}
	}
	bool start_and_finish()
	{
		b.running = true;
		b.begin(sqe);
		return b.wait_done(Limit) && rest();
	}
	// done means that nothing is on its way any more
	bool rest()
	{
		bool good = !b.bus.outstanding && b.bus.good;

		b.running = false;
		return b.acknowledge() && good;
	}
};

bool copies(Bench &b, bool apart, unsigned pshift)
{
	b.pace();
	Job j(b, apart, pshift);
	HostMem mem = b.bus.mem;
	Sram sram = b.sram;

	j.expect(mem, sram);
	return j.start_and_finish() && b.top.status_o == WSE_ST_OK && b.bus.mem == mem &&
	       b.sram == sram;
}

// whatever has been moved has been moved to its place
bool between(const Sram &now, const Sram &before, const Sram &after)
{
	for (unsigned i = 0; i < N; i++)
		for (unsigned k = 0; k < WSE_SRAM_BYTES; k++)
			if (now[i][k] != before[i][k] && now[i][k] != after[i][k])
				return false;
	return true;
}

// A refused address (of a word that the command needs, or of its page's entry) ends it.
bool refused(Bench &b)
{
	b.pace();
	Job j(b, true, random_pshift(b.rng));

	if (j.none())
		return true;
	bool cast = j.cmd.flags & DRM_WSE_CMD_BROADCAST;
	uint64_t off = j.off(cast && !j.cmd.rstride ? 0 : b.rng.below(j.cmd.rows),
			     cast && !j.cmd.cstride
				     ? 0 : j.first() + b.rng.below(j.end() - j.first()),
			     b.rng.below(j.cmd.nline)) +
		       8 * b.rng.below(j.cmd.len / 8);
	bool entry = !j.buf.b.direct && b.rng.below(3) == 0;

	b.bus.mem.refuse(entry ? j.buf.b.addr + 8 * (off >> j.buf.b.pshift) : j.buf.bus(off), 8);
	HostMem old = b.bus.mem, mem = old;
	Sram was = b.sram, sram = was;

	j.expect(mem, sram);
	b.bus.refusals.clear();
	if (!j.start_and_finish() || b.top.status_o != WSE_ST_DMA_ERROR)
		return false;
	if (!b.bus.was_refused(b.top.iova_o) || !between(b.sram, was, sram) ||
	    !b.bus.mem.between(old, mem))
		return false;
	b.bus.mem.refuse_nothing();
	return copies(b, false, random_pshift(b.rng));
}

bool aborted(Bench &b, unsigned status)
{
	b.pace();
	Job j(b, true, random_pshift(b.rng));
	HostMem old = b.bus.mem, mem = old;
	Sram was = b.sram, sram = was;
	bool early;

	j.expect(mem, sram);
	b.running = true;
	b.begin(j.sqe);
	if (!b.abort_at_random(status, b.bus.drain(), &early) || !j.rest())
		return false;
	if (!between(b.sram, was, sram) || !b.bus.mem.between(old, mem))
		return false;
	if (!early && (b.sram != sram || !(b.bus.mem == mem)))
		return false;
	return copies(b, false, random_pshift(b.rng));
}

// A word a cycle, 64 cycles of latency hidden: what the memory between the sides is for.
bool fast(Bench &b, bool in, uint64_t *cycles, unsigned *words)
{
	Job j(b);

	b.bus.latency = 64;
	b.bus.jitter = 1;
	b.bus.grant = b.bus.flow = b.ready = 100;
	j.cmd.op = in ? WSE_OP_COPY_IN : WSE_OP_COPY_OUT;
	j.cmd.rows = Rows;
	j.cmd.cols = Cols;
	j.cmd.len = 4096;
	j.cmd.nline = 1;
	j.cmd.cstride = 4096;
	j.cmd.rstride = 4096 * Cols;
	j.finish(12);
	HostMem mem = b.bus.mem;
	Sram sram = b.sram;
	uint64_t from = b.cycles;

	j.expect(mem, sram);
	bool good = j.start_and_finish() && b.bus.mem == mem && b.sram == sram;

	*cycles = b.cycles - from;
	*words = N * 4096 / 8;
	return good && *cycles < *words + *words / 2;
}

// Lines for each column that go to its rows: what they take for one row, and for all.
bool cast(Bench &b, uint64_t *one, uint64_t *all)
{
	for (unsigned rows : {1u, Rows}) {
		Job j(b);

		b.bus.latency = 64;
		b.bus.jitter = 1;
		b.bus.grant = b.bus.flow = b.ready = 100;
		j.cmd.op = WSE_OP_COPY_IN;
		j.cmd.flags = DRM_WSE_CMD_BROADCAST;
		j.cmd.rows = rows;
		j.cmd.cols = Cols;
		j.cmd.len = 1024;
		j.cmd.nline = 1;
		j.cmd.cstride = 1024;
		j.finish(12);
		HostMem mem = b.bus.mem;
		Sram sram = b.sram;
		uint64_t from = b.cycles;

		j.expect(mem, sram);
		if (!j.start_and_finish() || b.sram != sram)
			return false;
		*(rows == 1 ? one : all) = b.cycles - from;
	}
	return *all <= *one + *one / 10;
}

} // namespace

int main(int argc, char **argv)
{
	Tap t;
	Bench b(bench_seed(argc, argv));
	uint64_t cycles = 0;
	unsigned words = 0;

	t.ok(many(b, 300, [&](Bench &) { return copies(b, true, 0); }),
	     "rectangles, lines, strides, broadcast in one piece of memory");
	t.ok(many(b, 300,
		  [&](Bench &) {
			  return copies(b, true, b.rng.pick({12u, 13u, 16u, 21u, 30u}));
		  }),
	     "the same behind page lists");
	t.ok(many(b, 300, [&](Bench &) { return copies(b, false, random_pshift(b.rng)); }),
	     "strides that overlap: row-major cores, line by line, the last one stays");
	t.ok(many(b, 300, refused),
	     "DMA_ERROR names a request that failed; nothing lands elsewhere; the next command is clean");
	t.ok(many(b, 400, [&](Bench &) { return aborted(b, WSE_ST_TIMEOUT); }),
	     "TIMEOUT at any cycle: every byte old or new; the next command is clean");
	t.ok(many(b, 200, [&](Bench &) { return aborted(b, WSE_ST_OK); }),
	     "context reset at any cycle; the next command is clean");
	for (int in = 1; in >= 0; in--) {
		bool good = many(b, 1, [&](Bench &) { return fast(b, in, &cycles, &words); });

		t.ok(good, "%s: %u words in %llu cycles with 64 cycles of latency",
		     in ? "in" : "out", words, (unsigned long long)cycles);
	}
	uint64_t one = 0, all = 0;
	bool good = many(b, 1, [&](Bench &) { return cast(b, &one, &all); });

	t.ok(good, "a broadcast along the rows: %llu cycles for one row, %llu for %u",
	     (unsigned long long)one, (unsigned long long)all, Rows);
	return t.plan();
}
