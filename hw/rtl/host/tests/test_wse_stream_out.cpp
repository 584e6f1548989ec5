// SPDX-License-Identifier: MIT
// STREAM_OUT from a model of the routers in front of the south edge to one of the host's memory,
// against hw/doc/fabric.md: types, features, masks, control wavelets, other colors; refused
// accesses, streams cut short, aborts.
#include <deque>
#include <vector>

#include "Vwse_stream_out.h"
#include "stream_tb.hpp"

namespace {

constexpr unsigned Limit = 2000000;		// cycles that no command here needs

struct Bench : StreamTb<Vwse_stream_out> {
	std::deque<Wavelet> todo[Cols][WSE_NCOLORS];	// not sent yet
	// data wavelets that no command has taken, sent or not
	std::deque<uint32_t> line[Cols][WSE_NCOLORS];
	unsigned credit[Cols][WSE_NCOLORS];
	// percent of the cycles in which a column sends, if it may
	unsigned send[Cols] = {};

	explicit Bench(uint64_t seed) : StreamTb(seed)
	{
		forget();
		top.south_head_i = 0;
		top.wrsp_valid_i = 0;
		reset();
	}
	void forget()
	{
		for (unsigned c = 0; c < Cols; c++)
			for (unsigned k = 0; k < WSE_NCOLORS; k++) {
				todo[c][k].clear();
				line[c][k].clear();
				credit[c][k] = WSE_CHAN_DEPTH;
			}
	}
	void drive() override
	{
		bus.reads(top);
		bus.writes(top);
		if (!running && (top.rreq_valid_o || top.wreq_valid_o))
			bus.broken("a request without a command");
		top.south_head_i = 0;
		for (unsigned c = 0; c < Cols; c++) {
			unsigned cr = top.south_cr_o >> 6 * c & 0x3f, from = rng.below(WSE_NCOLORS);

			if (cr & 0x20 &&
			    (!running || !top.moved_o || ++credit[c][cr & 31] > WSE_CHAN_DEPTH))
				bus.broken("a credit of color %u for column %u", cr & 31, c);
			top.south_data_i[c] = uint32_t(rng.u64());
			if (!rng.chance(send[c]))
				continue;
			for (unsigned i = 0; i < WSE_NCOLORS; i++) {
				unsigned k = (from + i) % WSE_NCOLORS;

				if (todo[c][k].empty() || !credit[c][k])
					continue;
				credit[c][k]--;
				top.south_head_i |=
					(0x40 | unsigned(todo[c][k].front().ctl) << 5 | k) << 7 * c;
				top.south_data_i[c] = todo[c][k].front().data;
				todo[c][k].pop_front();
				break;
			}
		}
	}
	void pace()
	{
		bus.pace();
		for (unsigned &p : send)
			p = rng.pick({100u, 100u, 50u, 10u});
	}
	// n wavelets of data more, and control wavelets among them
	void feed(unsigned c, unsigned k, unsigned n, unsigned control)
	{
		while (n--) {
			uint32_t v = uint32_t(rng.u64());

			switch (rng.below(6)) {
			// what rounding to bf16 may stumble over
			case 0: v &= 0x807fffff; break;
			case 1: v |= 0x7f800000; break;
			case 2: v = (v & 0xffff0000) | 0x8000; break;
			default: break;
			}
			while (rng.chance(control))
				todo[c][k].push_back({uint32_t(rng.u64()), true});
			todo[c][k].push_back({v, false});
			line[c][k].push_back(v);
		}
		if (rng.chance(control))
			todo[c][k].push_back({WSE_CTRLW_END_MASK, true});
	}
	// context reset: the ports are empty, and the routers in front of them
	void clear()
	{
		forget();
		top.clear_i = 1;
		steps(4);
		top.clear_i = 0;
		steps(2);
	}
};

struct Job : StreamJob {
	unsigned need[Cols] = {};		// data wavelets of a column
	HostMem want;
	Bench &b;

	explicit Job(Bench &bench) : b(bench) {}
	void random()
	{
		do
			shape(b.rng, WSE_OP_STREAM_OUT);
		while (!lay(b.rng, b.bus.mem));
		prepare();
	}
	// the wavelets of this command, and what they make of the memory
	void prepare()
	{
		unsigned control = b.rng.pick({0u, 0u, 10u, 50u});

		want = b.bus.mem;
		for (unsigned i = 0; i < Cols; i++) {
			auto &line = b.line[i][cmd.color];
			unsigned c = i - cmd.col0, at = 0;

			need[i] = 0;
			if (c >= cmd.cols)
				continue;
			for (unsigned n = 0; n < rows(); n++)
				for (unsigned k = 0; k < cmd.kcol; k++)
					need[i] += selected(b.bus.mem, n, c, k);
			if (need[i] > line.size())
				b.feed(i, cmd.color, need[i] - line.size() + b.rng.below(3),
				       control);
			for (unsigned blk = 0; blk < cmd.nline; blk++)
				for (unsigned k = 0; k < cmd.kcol; k++)
					for (unsigned f = 0; f < cmd.nfeat; f++) {
						unsigned n = blk * cmd.nfeat + f;

						if (!selected(b.bus.mem, n, c, k))
							continue;
						uint32_t v = line[at++];

						if (cmd.etype == WSE_ETYPE_BF16)
							v = twin_bf16_round(v);
						want.put(buf, place(n, c, k, at - 1), &v, bytes());
					}
		}
		for (unsigned i = b.rng.below(4); i--; )	// other colors pass by, or wait
			b.feed(b.rng.below(Cols), b.rng.below(WSE_NCOLORS), b.rng.below(8),
			       control);
	}
	void taken()
	{
		for (unsigned i = 0; i < Cols; i++)
			b.line[i][cmd.color].erase(b.line[i][cmd.color].begin(),
						   b.line[i][cmd.color].begin() + need[i]);
	}
	bool run()
	{
		b.bus.refusals.clear();
		b.start(*this);
		if (!b.wait_done(Limit) || b.top.status_o != WSE_ST_OK || !(b.bus.mem == want))
			return false;
		taken();
		return b.rest() && b.bus.mem == want;
	}
};

// wavelets at the front that hold so many of data
unsigned prefix(const std::deque<Wavelet> &q, unsigned data)
{
	unsigned n = 0;

	while (n < q.size() && data)
		data -= !q[n++].ctl;
	return n;
}

bool streams(Bench &b)
{
	Job j(b);

	b.pace();
	j.random();
	return j.run();
}

bool one_type(Bench &b, unsigned etype, unsigned nfeat, bool masked, bool linear)
{
	Job j(b);

	b.pace();
	do {
		j.shape(b.rng, WSE_OP_STREAM_OUT);
		j.cmd.etype = etype;
		j.cmd.nfeat = nfeat;
		j.cmd.flags = (masked ? DRM_WSE_CMD_MASKED : 0) |
			      (linear ? DRM_WSE_CMD_LINEAR : 0);
		j.cmd.mask_bo = j.cmd.moff = j.cmd.rstride = j.cmd.mcstride = 0;
		j.strides(b.rng);
	} while (!j.lay(b.rng, b.bus.mem));
	j.prepare();
	return j.run();
}

// two page lists at a time, and most of their entries not remembered
bool lists(Bench &b)
{
	Job j(b);

	b.pace();
	j.shape(b.rng, WSE_OP_STREAM_OUT);
	j.spread(b.rng);
	if (!j.lay(b.rng, b.bus.mem, 12))
		return false;
	j.prepare();
	return j.run();
}

bool deep(Bench &b)		// the largest KCOL
{
	Job j(b);

	b.pace();
	b.bus.grant = b.bus.flow = 100;
	j.shape(b.rng, WSE_OP_STREAM_OUT);
	j.cmd.kcol = WSE_STREAM_KMAX;
	j.cmd.nline = 1;
	j.cmd.flags = DRM_WSE_CMD_MASKED;
	j.density = 3;
	j.strides(b.rng);
	if (!j.lay(b.rng, b.bus.mem))
		return false;
	j.prepare();
	return j.run();
}

// A refused write, mask word or page entry
bool refused(Bench &b)
{
	Job j(b);
	bool of_mask;

	b.pace();
	do {
		b.clear();
		j.random();
	} while (j.flag(DRM_WSE_CMD_MASKED) && j.density != 100);
	of_mask = j.flag(DRM_WSE_CMD_MASKED) && b.rng.below(2);
	b.bus.mem.refuse(j.vital(b.rng, of_mask), 8);
	HostMem old = b.bus.mem;

	b.bus.refusals.clear();
	b.start(j);
	if (!b.wait_done(Limit) || !b.refused() || !b.bus.mem.between(old, j.want))
		return false;
	b.bus.mem.refuse_nothing();
	b.clear();
	return streams(b);
}

bool aborted(Bench &b, unsigned status)
{
	Job j(b);
	bool early;

	b.pace();
	j.random();
	HostMem old = b.bus.mem;

	b.start(j);
	if (!b.abort_at_random(status, b.bus.drain(), &early) || !b.rest() ||
	    !b.bus.mem.between(old, j.want))
		return false;
	if (!early && !(b.bus.mem == j.want))
		return false;
	b.clear();
	return streams(b);
}

// Runs j, of which n columns, the lowest first, never get what they wait for: at rest, DEADLOCK,
// every byte old or new, and the next stream is clean. With n 0 it ends, and all is written.
bool waits(Bench &b, Job &j, unsigned lowest, unsigned n)
{
	HostMem old = b.bus.mem;

	b.start(j);
	if (!b.comes_to_rest(Limit))
		return !n && b.top.status_o == WSE_ST_OK && b.bus.mem == j.want && b.rest();
	bool good = n && b.deadlock(lowest, n, j.cmd.color) && b.bus.mem.between(old, j.want);

	b.clear();
	return good && streams(b);
}

// The wafer sends less than the command wants: the port comes to rest, and the record names the
// lowest column that waits.
bool cut_short(Bench &b)
{
	Job j(b);
	unsigned lowest = Cols, n = 0;

	b.clear();
	b.pace();
	j.random();
	for (unsigned c = 0; c < Cols; c++) {
		auto &todo = b.todo[c][j.cmd.color];
		unsigned keep = b.rng.below(3) ? prefix(todo, b.rng.below(j.need[c] + 1))
					       : unsigned(todo.size());
		unsigned data = 0;

		todo.resize(std::min<size_t>(todo.size(), keep));
		for (const Wavelet &w : todo)
			data += !w.ctl;
		if (data < j.need[c]) {
			lowest = n ? lowest : c;
			n++;
		}
	}
	return waits(b, j, lowest, n);
}

// A LINEAR run that has room for fewer elements than the mask selects: its column takes no more,
// and nothing behind the run is written.
bool short_run(Bench &b)
{
	Job j(b);
	unsigned lowest = Cols, n = 0;

	b.pace();
	do {
		b.clear();
		j.random();
	} while (!j.linear() || !j.flag(DRM_WSE_CMD_MASKED) || j.cmd.len < 16);
	j.sqe.len = 8 + b.rng.below(j.cmd.len / 8 - 1) * 8;
	for (unsigned c = 0; c < j.cmd.cols; c++)
		if (j.picked[c] * j.bytes() > j.sqe.len) {
			lowest = n++ ? lowest : j.cmd.col0 + c;
			for (uint64_t i = j.sqe.len; i < j.cmd.len; i++) {
				uint64_t o = j.cmd.off + c * j.cmd.cstride + i;
				uint8_t byte;

				b.bus.mem.get(j.buf, o, &byte, 1);
				j.want.put(j.buf, o, &byte, 1);
			}
		}
	return waits(b, j, lowest, n);
}

// 32-bit gradients of four features from all columns, as the library stores them. apart: in pages
// of 4 KiB whose numbers differ by a power of two, of the rows of a block, or of LINEAR's columns
bool fast(Bench &b, bool linear, bool apart, uint64_t *cycles, unsigned *words)
{
	Job j(b);

	b.clear();
	b.bus.latency = 20;
	b.bus.jitter = 1;
	b.bus.grant = b.bus.flow = 100;
	for (unsigned &p : b.send)
		p = 100;
	j.shape(b.rng, WSE_OP_STREAM_OUT);
	j.cmd.col0 = 0;
	j.cmd.cols = Cols;
	j.cmd.etype = WSE_ETYPE_FP32;
	j.cmd.nfeat = 4;
	j.cmd.nline = apart ? 2 : 16;
	j.cmd.kcol = apart ? 340 : 64;		// Cols of them: most of a page
	j.cmd.flags = linear ? DRM_WSE_CMD_LINEAR : 0;
	j.cmd.mask_bo = j.cmd.moff = j.cmd.rstride = j.cmd.mcstride = 0;
	j.strides(b.rng);
	j.cmd.off = 0;
	if (!linear) {
		j.cmd.cstride = j.row_bytes();
		j.cmd.lstride = apart ? 4 * 4096 : j.cmd.cstride * Cols;
	} else if (apart) {
		j.cmd.cstride = 8 * 4096;
	}
	if (!j.lay(b.rng, b.bus.mem, apart ? 12 : 0))
		return false;
	j.prepare();
	*cycles = b.cycles;
	bool good = j.run();

	*cycles = b.cycles - *cycles;
	*words = Cols * j.need[0] / 2;
	// 4 B a cycle: what hw/doc/arithmetic.md counts on
	return good && *cycles < 2 * *words;
}

} // namespace

int main(int argc, char **argv)
{
	Tap t;
	Bench b(bench_seed(argc, argv));
	static const char *const types[] = {"bf16", "fp32", "raw32"};
	uint64_t cycles = 0;
	unsigned words = 0;

	for (unsigned e = 0; e < 3; e++)
		for (unsigned f = 1; f <= (e == WSE_ETYPE_RAW32 ? 1 : 4); f *= 2)
			t.ok(many(b, 60,
				  [&](Bench &) {
					  return one_type(b, e, f, false, false) &&
						 one_type(b, e, f, true, false) &&
						 one_type(b, e, f, false, true) &&
						 one_type(b, e, f, true, true);
				  }),
			     "%s, %u a block: every selected element in its place, all other bytes as they were",
			     types[e], f);
	t.ok(many(b, 400, streams),
	     "shapes, strides, masks, page lists, control wavelets and other colors at random");
	t.ok(many(b, 60, lists), "two page lists at a time, more pages than are remembered");
	t.ok(many(b, 3, deep), "the largest KCOL");
	t.ok(many(b, 300, refused),
	     "DMA_ERROR of a write, the mask or a list; the next stream is clean");
	t.ok(many(b, 600, [&](Bench &) { return aborted(b, WSE_ST_TIMEOUT); }),
	     "TIMEOUT at any cycle: every byte old or new; the next stream is clean");
	t.ok(many(b, 300, [&](Bench &) { return aborted(b, WSE_ST_OK); }),
	     "context reset at any cycle; the next stream is clean");
	t.ok(many(b, 200, cut_short),
	     "a stream cut short: at rest, DEADLOCK names the lowest column, how many, the color");
	t.ok(many(b, 200, short_run), "a LINEAR run that is too short: its columns wait");
	for (unsigned i = 0; i < 4; i++) {
		bool linear = i & 1, apart = i & 2;
		bool good = many(b, 1, [&](Bench &) {
			return fast(b, linear, apart, &cycles, &words);
		});

		// this bench's bus leaves a cycle between two bursts: 5 for 4 words, and the page
		// lists, of nine pages at most
		t.ok(good && cycles < words * 3 / 2, "%u words from %u columns in %llu cycles%s%s",
		     words, Cols, (unsigned long long)cycles, linear ? ", LINEAR" : "",
		     apart ? ", pages far apart" : "");
	}
	return t.plan();
}
