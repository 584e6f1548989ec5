// SPDX-License-Identifier: MIT
// STREAM_IN from a model of the host's memory to one of the routers behind the north edge, against
// hw/doc/fabric.md: types, features, masks, zeros dropped, indices alone, END; back-pressure,
// refused accesses, aborts at any cycle.
#include <deque>
#include <vector>

#include "Vwse_stream_in.h"
#include "stream_tb.hpp"

namespace {

constexpr unsigned Limit = 2000000;		// cycles that no command here needs

struct Bench : StreamTb<Vwse_stream_in> {
	std::vector<Wavelet> got[Cols];
	// colors of the credits that a router has not given back
	std::deque<unsigned> owed[Cols];
	unsigned held[Cols][WSE_NCOLORS] = {};
	// percent of the cycles in which a column gives one back
	unsigned back[Cols] = {};
	unsigned color = 0;

	explicit Bench(uint64_t seed) : StreamTb(seed)
	{
		top.north_cr_i = 0;
		reset();
	}
	void drive() override
	{
		bus.reads(top);
		if (!running && top.rreq_valid_o)
			bus.broken("a request without a command");
		top.north_cr_i = 0;
		for (unsigned c = 0; c < Cols; c++) {
			unsigned head = top.north_head_o >> 7 * c & 0x7f, k = head & 31;

			if (head & 0x40) {
				if (k != color || !running || ++held[c][k] > WSE_CHAN_DEPTH ||
				    !top.moved_o)
					bus.broken(
						"a wavelet of color %u (%u) on column %u: %s, %u held, %s",
						k, color, c, running ? "" : "no command",
						held[c][k], top.moved_o ? "" : "not moved");
				got[c].push_back({top.north_data_o[c], bool(head & 0x20)});
				owed[c].push_back(k);
			}
			if (!owed[c].empty() && rng.chance(back[c])) {
				top.north_cr_i |= (0x20 | owed[c].front()) << 6 * c;
				held[c][owed[c].front()]--;
				owed[c].pop_front();
			}
		}
	}
	void pace()
	{
		bus.pace();
		for (unsigned &p : back)
			p = rng.pick({100u, 100u, 50u, 10u});
	}
	// context reset: the routers' queues are empty
	void clear()
	{
		for (unsigned c = 0; c < Cols; c++) {
			owed[c].clear();
			for (unsigned &h : held[c])
				h = 0;
		}
		top.clear_i = 1;
		steps(4);
		top.clear_i = 0;
		steps(2);
	}
	void begin_job(const StreamJob &j)
	{
		for (auto &g : got)
			g.clear();
		bus.refusals.clear();
		color = j.cmd.color;
		start(j);
	}
};

// zeros of both signs, NaN, infinities, subnormals, halves: what rounding and DROP_ZERO may stumble
// over
uint32_t value(Rng &g, unsigned zeros)
{
	uint32_t v = uint32_t(g.u64());

	if (g.chance(zeros))
		return v & 0x80000000;
	switch (g.below(8)) {
	case 0: return v & 0x807fffff;			// subnormal
	case 1: return v | 0x7f800000;			// NaN, infinity
	case 2: return (v & 0xffff0000) | 0x8000;	// half way
	case 3: return (v & 0x80010000) | 0x7f7f8000 | (v & 1);	// rounds to infinity or not
	case 4: return v & 0x8000ffff;			// bf16: a zero
	default: return v;
	}
}

struct Job : StreamJob {
	std::vector<Wavelet> want[Cols];

	// zeros: percent of the values
	void fill(Rng &g, HostMem &mem, unsigned zeros)
	{
		if (reads_values())
			for (uint64_t o = 0; o < end(); o += 4) {
				uint32_t v = value(g, zeros), w = value(g, zeros);

				if (cmd.etype == WSE_ETYPE_BF16)
					v = v >> 16 | (w & 0xffff0000);
				mem.put(buf, o, &v, 4);
			}
		expect(mem);
	}
	// at: selected elements of the column before this one
	bool sent(HostMem &mem, unsigned n, unsigned c, unsigned k, unsigned *at, uint32_t *v)
	{
		uint32_t w = 0;

		if (!selected(mem, n, c, k))
			return false;
		if (reads_values())
			mem.get(buf, place(n, c, k, (*at)++), &w, bytes());
		*v = cmd.etype == WSE_ETYPE_BF16 ? w << 16 :
		     cmd.etype == WSE_ETYPE_FP32 ? uint32_t(twin_bf16_round(w)) << 16 : w;
		return !flag(DRM_WSE_CMD_DROP_ZERO) || *v << 1;
	}
	void expect(HostMem &mem)
	{
		uint32_t v;

		for (auto &w : want)
			w.clear();
		for (unsigned c = 0, at; c < cmd.cols; c++)
			for (unsigned blk = at = 0; blk < cmd.nline; blk++) {
				auto &w = want[cmd.col0 + c];

				for (unsigned k = 0; k < cmd.kcol; k++)
					for (unsigned f = 0; f < cmd.nfeat; f++)
						if (sent(mem, blk * cmd.nfeat + f, c, k, &at, &v))
							w.push_back({cmd.etype == WSE_ETYPE_RAW32
									     ? v
									     : v | f << 14 | k,
								     false});
				if (cmd.etype != WSE_ETYPE_RAW32)
					w.push_back({WSE_CTRLW_END_MASK, true});
			}
	}
	void random(Bench &b)
	{
		do
			shape(b.rng, WSE_OP_STREAM_IN);
		while (!lay(b.rng, b.bus.mem));
		fill(b.rng, b.bus.mem, b.rng.pick({0u, 20u, 90u, 100u}));
	}
	// nothing lost, doubled or out of order: all of it, or how it begins
	bool arrived(Bench &b, bool all)
	{
		for (unsigned c = 0; c < Cols; c++)
			if (b.got[c].size() > want[c].size() ||
			    (all && b.got[c].size() != want[c].size()) ||
			    !std::equal(b.got[c].begin(), b.got[c].end(), want[c].begin()))
				return false;
		return true;
	}
};

bool run(Bench &b, Job &j)
{
	b.begin_job(j);
	return b.wait_done(Limit) && b.top.status_o == WSE_ST_OK && b.rest() && j.arrived(b, true);
}

bool streams(Bench &b)
{
	Job j;

	b.pace();
	j.random(b);
	return run(b, j);
}

bool one_type(Bench &b, unsigned etype, unsigned nfeat, unsigned flags)
{
	Job j;

	b.pace();
	do {
		j.shape(b.rng, WSE_OP_STREAM_IN);
		j.cmd.etype = etype;
		j.cmd.nfeat = nfeat;
		j.cmd.flags = flags;
		j.cmd.bo = 1;
		j.cmd.mask_bo = j.cmd.moff = j.cmd.rstride = j.cmd.mcstride = 0;
		j.strides(b.rng);
	} while (!j.lay(b.rng, b.bus.mem));
	j.fill(b.rng, b.bus.mem, 30);
	return run(b, j);
}

// two page lists at a time, and most of their entries not remembered
bool lists(Bench &b)
{
	Job j;

	b.pace();
	j.shape(b.rng, WSE_OP_STREAM_IN);
	j.spread(b.rng);
	if (!j.lay(b.rng, b.bus.mem, 12))
		return false;
	j.fill(b.rng, b.bus.mem, 30);
	return run(b, j);
}

bool deep(Bench &b)		// the largest KCOL
{
	Job j;

	b.pace();
	b.bus.grant = b.bus.flow = 100;
	j.shape(b.rng, WSE_OP_STREAM_IN);
	j.cmd.kcol = WSE_STREAM_KMAX;
	j.cmd.etype = WSE_ETYPE_BF16;
	j.cmd.nline = 1;
	j.cmd.nfeat = 1 + b.rng.below(2);
	j.cmd.flags = DRM_WSE_CMD_MASKED;
	j.cmd.bo = 1;
	j.density = 3;
	j.strides(b.rng);
	if (!j.lay(b.rng, b.bus.mem))
		return false;
	j.fill(b.rng, b.bus.mem, 30);
	return run(b, j);
}

// A refused word or page entry, of the values or of the mask
bool refused(Bench &b)
{
	Job j;
	bool of_mask;

	b.pace();
	do
		j.random(b);
	while ((!j.reads_values() && !j.flag(DRM_WSE_CMD_MASKED)) ||
	       (j.linear() && j.flag(DRM_WSE_CMD_MASKED) && j.density != 100));
	of_mask = j.flag(DRM_WSE_CMD_MASKED) && (!j.reads_values() || b.rng.below(2));
	b.bus.mem.refuse(j.vital(b.rng, of_mask), 8);
	b.begin_job(j);
	if (!b.wait_done(Limit) || !b.refused() || !j.arrived(b, false))
		return false;
	b.bus.mem.refuse_nothing();
	b.clear();
	return streams(b);
}

bool aborted(Bench &b, unsigned status)
{
	Job j;
	bool early;

	b.pace();
	j.random(b);
	b.begin_job(j);
	if (!b.abort_at_random(status, b.bus.drain(), &early) || !b.rest() || !j.arrived(b, !early))
		return false;
	if (b.rng.below(2))
		b.clear();
	return streams(b);
}

// Columns that take nothing: the port comes to rest, and the record names the lowest one that is
// not through.
bool stuck(Bench &b)
{
	Job j;
	unsigned lowest = Cols, n = 0;

	b.pace();
	do
		j.random(b);
	while (j.want[j.cmd.col0].size() + j.want[Cols - 1].size() < 12);
	for (unsigned &p : b.back)
		p = b.rng.below(2) ? p : 0;
	b.begin_job(j);
	if (!b.comes_to_rest(Limit))
		return b.top.status_o == WSE_ST_OK && b.rest() && j.arrived(b, true);
	for (unsigned c = 0; c < Cols; c++)
		if (b.got[c].size() < j.want[c].size()) {
			lowest = n ? lowest : c;
			n++;
		}
	bool good = n && b.deadlock(lowest, n, j.cmd.color) && j.arrived(b, false);

	b.clear();
	return good;
}

// A LINEAR run that has fewer elements than the mask selects: its column waits behind the last of
// them, and reads no further.
bool short_run(Bench &b)
{
	Job j;
	unsigned lowest = Cols, n = 0;

	b.pace();
	do
		j.random(b);
	while (!j.linear() || !j.flag(DRM_WSE_CMD_MASKED) || j.cmd.len < 16);
	j.sqe.len = 8 + b.rng.below(j.cmd.len / 8 - 1) * 8;
	for (unsigned c = 0; c < j.cmd.cols; c++)
		if (j.picked[c] * j.bytes() > j.sqe.len) {
			lowest = n++ ? lowest : j.cmd.col0 + c;
			if (j.cmd.cstride >= j.cmd.len)
				b.bus.mem.refuse(j.buf.bus(j.cmd.off + c * j.cmd.cstride +
							   j.sqe.len), 8);
		}
	b.begin_job(j);
	if (!b.comes_to_rest(Limit)) {
		b.bus.mem.refuse_nothing();
		return !n && b.top.status_o == WSE_ST_OK && b.rest() && j.arrived(b, true);
	}
	bool good = n && b.deadlock(lowest, n, j.cmd.color) && j.arrived(b, false);

	b.bus.mem.refuse_nothing();
	b.clear();
	return good && streams(b);
}

// nothing but the edge makes it wait: a command for all columns, without a mask
bool unhindered(Bench &b, Job &j, unsigned latency, uint64_t *cycles)
{
	b.bus.latency = latency;
	b.bus.jitter = 1;
	b.bus.grant = b.bus.flow = 100;
	for (unsigned &p : b.back)
		p = 100;
	j.cmd.col0 = 0;
	j.cmd.cols = Cols;
	j.cmd.bo = 1;
	j.cmd.mask_bo = j.cmd.moff = j.cmd.rstride = j.cmd.mcstride = 0;
	j.strides(b.rng);
	if (!j.lay(b.rng, b.bus.mem, 0))
		return false;
	j.fill(b.rng, b.bus.mem, 0);
	*cycles = b.cycles;
	bool good = run(b, j);

	*cycles = b.cycles - *cycles;
	return good;
}

// bf16 in four features on all columns: a wavelet a cycle into each, LINEAR or not, however far
// away the memory is
bool fast(Bench &b, bool linear, unsigned latency, uint64_t *cycles, size_t *wavelets)
{
	Job j;

	j.shape(b.rng, WSE_OP_STREAM_IN);
	j.cmd.etype = WSE_ETYPE_BF16;
	j.cmd.nfeat = 4;
	j.cmd.nline = 16;
	j.cmd.kcol = 64;
	j.cmd.flags = linear ? DRM_WSE_CMD_LINEAR : 0;
	bool good = unhindered(b, j, latency, cycles);

	*wavelets = j.want[0].size();
	return good && *cycles < *wavelets + *wavelets / 10 + 80 + latency;
}

// runs of a word: a request each cycle, however many features a block has
bool brief(Bench &b, unsigned nfeat, uint64_t *cycles, unsigned *words)
{
	Job j;

	j.shape(b.rng, WSE_OP_STREAM_IN);
	j.cmd.etype = WSE_ETYPE_FP32;
	j.cmd.nfeat = nfeat;
	j.cmd.nline = 100;
	j.cmd.kcol = 2;
	j.cmd.flags = 0;
	*words = Cols * j.cmd.nline * nfeat;
	return unhindered(b, j, 20, cycles) && *cycles < *words + *words / 10 + 60;
}

// Pages of 4 KiB whose numbers differ by a power of two, of the rows of a block, or of the columns
// of a LINEAR stream: each is asked for once while it is in use.
bool apart(Bench &b, bool linear, uint64_t *cycles, size_t *wavelets)
{
	Job j;

	b.bus.latency = 50;
	b.bus.jitter = 1;
	b.bus.grant = b.bus.flow = 100;
	for (unsigned &p : b.back)
		p = 100;
	j.cmd.op = WSE_OP_STREAM_IN;
	j.cmd.queue = j.cmd.bo = 1;
	j.cmd.budget = 1;
	j.cmd.etype = WSE_ETYPE_BF16;
	j.cmd.cols = Cols;
	j.cmd.nfeat = 4;
	j.cmd.nline = 2;
	j.cmd.kcol = 680;			// Cols of them: most of a page
	j.cmd.flags = linear ? DRM_WSE_CMD_LINEAR : 0;
	j.cmd.len = linear ? j.rows() * j.row_bytes() : 0;
	j.cmd.lstride = linear ? 0 : 4 * 4096;
	j.cmd.cstride = linear ? 8 * 4096 : j.row_bytes();
	if (!j.lay(b.rng, b.bus.mem, 12))
		return false;
	j.fill(b.rng, b.bus.mem, 0);
	*cycles = b.cycles;
	bool good = run(b, j);

	*cycles = b.cycles - *cycles;
	*wavelets = j.want[0].size();
	// eight pages or nine; what asks for one waits behind the words that were asked for before
	return good && *cycles < *wavelets + 9 * 110 + 100;
}

} // namespace

int main(int argc, char **argv)
{
	Tap t;
	Bench b(bench_seed(argc, argv));
	static const char *const types[] = {"bf16", "fp32", "raw32"};
	uint64_t cycles = 0;
	size_t wavelets = 0;

	for (unsigned e = 0; e < 3; e++)
		for (unsigned f = 1; f <= (e == WSE_ETYPE_RAW32 ? 1 : 4); f *= 2)
			t.ok(many(b, 40,
				  [&](Bench &) {
					  unsigned fl = b.rng.below(2) ? DRM_WSE_CMD_MASKED : 0;

					  return one_type(b, e, f, fl) &&
						 one_type(b, e, f, fl | DRM_WSE_CMD_DROP_ZERO) &&
						 one_type(b, e, f, fl | DRM_WSE_CMD_LINEAR) &&
						 one_type(b, e, f,
							  fl | DRM_WSE_CMD_LINEAR |
								  DRM_WSE_CMD_DROP_ZERO) &&
						 one_type(b, e, f, fl | DRM_WSE_CMD_INDEX_ONLY);
				  }),
			     "%s, %u a block: every element once and in order, zeros dropped, indices alone, END",
			     types[e], f);
	t.ok(many(b, 500, streams),
	     "shapes, strides, masks and page lists at random, columns stall at random");
	t.ok(many(b, 60, lists), "two page lists at a time, more pages than are remembered");
	t.ok(many(b, 3, deep), "the largest KCOL");
	t.ok(many(b, 300, refused),
	     "DMA_ERROR of values, mask or a list; the next stream is clean");
	t.ok(many(b, 600, [&](Bench &) { return aborted(b, WSE_ST_TIMEOUT); }),
	     "TIMEOUT at any cycle: what went was right; the next stream is clean");
	t.ok(many(b, 300, [&](Bench &) { return aborted(b, WSE_ST_OK); }),
	     "context reset at any cycle; the next stream is clean");
	t.ok(many(b, 200, stuck),
	     "columns without room: at rest, DEADLOCK names the lowest, how many, the color");
	t.ok(many(b, 200, short_run), "a LINEAR run that is too short: its columns wait");
	for (unsigned i = 0; i < 4; i++) {
		unsigned linear = i & 1, latency = i < 2 ? 20 : 150;
		bool good = many(b, 1, [&](Bench &) {
			return fast(b, linear, latency, &cycles, &wavelets);
		});

		t.ok(good, "%zu wavelets into each of %u columns in %llu cycles%s, latency %u",
		     wavelets, Cols, (unsigned long long)cycles, linear ? ", LINEAR" : "", latency);
	}
	for (unsigned linear = 0; linear < 2; linear++) {
		bool good = many(b, 1, [&](Bench &) {
			return apart(b, linear, &cycles, &wavelets);
		});

		t.ok(good, "%zu from pages far apart in %llu cycles%s", wavelets,
		     (unsigned long long)cycles, linear ? ", LINEAR" : "");
	}
	for (unsigned nfeat = 1; nfeat <= 4; nfeat *= 2) {
		unsigned words = 0;
		bool good = many(b, 1, [&](Bench &) {
			return brief(b, nfeat, &cycles, &words);
		});

		t.ok(good, "%u words in runs of one, %u features a block, in %llu cycles", words,
		     nfeat, (unsigned long long)cycles);
	}
	return t.plan();
}
