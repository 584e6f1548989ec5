// SPDX-License-Identifier: MIT
// The lanes at their ports, compared with the rules of hw/doc/core.md ("Operand rules", "AXPY",
// "DOT", "Vector operations"). An instruction that is not allowed is a fault without effect; a
// stream that fails keeps its earlier effects.
#include "lanes_tb.hpp"

namespace {

const char *const names[] = {"AXPY", "DOT", "DOTX"};
#define CODE(name, value, kind, expr) value,
const unsigned vector_ops[] = {WSE_VOPS(CODE)};

// a memory or accumulator operand of lanes, mostly inside its store, often where others are
Operand some_store(Rng &r, uint32_t len, uint32_t len1)
{
	bool anywhere = r.chance(1);
	Operand o;

	do {
		bool acc = r.chance(50) && len <= WSE_NACC;

		o.kind = acc ? WSE_KIND_ACC : WSE_KIND_MEM;
		o.dt = r.below(acc ? 16 : 3);
		o.len = len;
		o.len1 = len1;
		o.stride = o.size();
		o.stride1 = acc ? 8 * (int32_t(r.below(8)) - 3) : 16 * (int32_t(r.below(25)) - 8);
		o.base = acc ? 8 * r.below(16)
			     : WSE_SRAM_BASE + 16 * (r.chance(60) ? 0x400 + r.below(16)
								  : r.below(WSE_SRAM_BYTES / 16));
	} while (!anywhere && !o.inside());
	return o;
}

// words that count for nothing
Operand junk(Rng &r, uint32_t kind, uint32_t base)
{
	Operand o;

	o.kind = kind;
	o.base = base;
	o.dt = r.below(16);
	o.len = r.u64() & 0xffff;
	o.len1 = r.u64() & 0xffff;
	o.stride = int16_t(r.u64());
	o.stride1 = int16_t(r.u64());
	return o;
}

uint32_t some_flags(Rng &r)
{
	return (r.u64() & (WSE_TCW_ACTIVATE_MASK | WSE_TCW_UNBLOCK_MASK | 0xfff00)) |
	       r.below(32) << WSE_TCW_TASK_SHIFT;
}

Ins some_vector(Rng &r, unsigned op)
{
	uint32_t len = 8 * (1 + r.below(3)), len1 = r.below(4);
	Ins n;

	n.cw = op | some_flags(r) | (r.chance(25) ? unsigned(WSE_TCW_SCALAR_MASK) : 0);
	n.src1 = some_store(r, len, len1);
	n.dst = some_store(r, len, len1 ? len1 : 1);
	if (r.chance(20))
		n.dst = n.src1;				// in place
	if (n.reduce()) {
		n.dst.stride = int16_t(r.u64());
		n.dst.stride1 = int16_t(r.u64());
		n.dst.base += n.dst.size() * r.below(n.dst.acc() ? 8 : 16 / n.dst.size());
		n.dst.len = 1;
		n.dst.len1 = r.below(2);
	}
	n.src2 = !n.two()	? junk(r, r.below(16), r.u64())
		 : r.chance(20) ? n.src1
		 : r.chance(20) ? n.dst
				: some_store(r, len, len1);
	return n;
}

// and its wavelets
Ins some_stream(Bench &tb, unsigned op, unsigned wavelets)
{
	static const unsigned features[] = {1, 2, 4};
	Rng &r = tb.rng;
	uint32_t b = r.pick(features), groups = 1 + r.below(r.chance(20) ? 16 / b : 4);
	Operand x;
	Ins n;

	x.kind = WSE_KIND_MEM;
	do {
		x.base = WSE_SRAM_BASE + 16 * r.below(WSE_SRAM_BYTES / 16);
		x.len = 8 * groups;
		x.len1 = r.below(r.chance(20) ? 0x4000 : 40);
		x.stride = 2;
		x.stride1 = r.chance(70) ? int32_t(2 * x.len) : 16 * (int32_t(r.below(9)) - 4);
	} while (!x.inside());
	n.src2 = x;
	n.src1 = junk(r, WSE_KIND_FABIN, r.below(WSE_NCOLORS));
	n.dst = junk(r, WSE_KIND_ACC, 8 * r.below(17 - b * groups));
	n.cw = op | some_flags(r) | (r.chance(40) ? unsigned(WSE_TCW_CLEAR_MASK) : 0);
	n.scalar = b | (r.u64() & ~7u);
	while (wavelets--)
		tb.rx_later.push_back(
			{(tb.any() & 0xffff0000) | r.below(b) << 14 | r.below(x.rows()), false});
	// the end, and what comes after it
	tb.rx_later.push_back({uint32_t(r.u64()) | WSE_CTRLW_END_MASK, true});
	for (unsigned k = r.below(3); k; k--)
		tb.rx_later.push_back({uint32_t(r.u64()), r.chance(50)});
	return n;
}

// now and then a wavelet that must not come
void spoil(Bench &tb, const Ins &n)
{
	Rng &r = tb.rng;
	Wavelet &w = tb.rx_later[r.below(tb.rx_later.size())];
	uint32_t rows = n.src2.rows();

	switch (r.below(3)) {
	case 0:
		w = {uint32_t(r.u64()) & ~WSE_CTRLW_END_MASK, true};
		break;
	case 1:
		if (n.feats() < 4)
			w = {(n.feats() + r.below(4 - n.feats())) << 14 | r.below(rows), false};
		break;
	case 2:
		if (rows < 0x4000)
			w = {r.below(n.feats()) << 14 |
				     (r.chance(50) ? rows : rows + r.below(0x4000 - rows)),
			     false};
		break;
	}
}

void pace(Bench &tb, unsigned i)
{
	tb.p = tb.rng.chance(40) ? 100 : 10 + tb.rng.below(90);
	tb.p_dots = tb.rng.chance(50) ? 100 : 5 + tb.rng.below(95);
	tb.hold = i % 5 == 0;
}

bool complains(const char *what, const Ins &n, bool good)
{
	if (!good)
		printf("# %s: cw %#x scalar %#x kinds %u %u %u types %u %u %u, %u x %u\n", what,
		       n.cw, n.scalar, n.dst.kind, n.src1.kind, n.src2.kind, n.dst.dt, n.src1.dt,
		       n.src2.dt, n.src1.len, n.src1.rows());
	return good;
}

void test_vectors(Tap &tap, Bench &tb)
{
	const unsigned each = 1000, kinds = sizeof(vector_ops) / sizeof(vector_ops[0]);
	bool good = true;

	for (unsigned i = 0; i < each * kinds && good; i++) {
		pace(tb, i);
		if (i % 64 == 0)
			good &= tb.fill();
		Ins n = some_vector(tb.rng, vector_ops[i % kinds]);
		// of no reader here
		tb.rx_later.push_back({uint32_t(tb.rng.u64()), tb.rng.chance(50)});
		good &= complains("vector", n, tb.executes(n));
	}
	tap.ok(good,
	       "%u vector operations and reductions, each of %u on operands of all kinds and types",
	       each * kinds, kinds);
}

void test_streams(Tap &tap, Bench &tb, unsigned op, const char *name)
{
	const unsigned count = 3000;
	uint64_t index = tb.faults[0], ctrl = tb.faults[1];
	bool good = true;

	for (unsigned i = 0; i < count && good; i++) {
		pace(tb, i);
		if (i % 32 == 0)
			good &= tb.fill();
		Ins n = some_stream(tb, op, tb.rng.below(24));
		if (i % 8 == 0)
			spoil(tb, n);
		good &= complains(name, n, tb.executes(n));
	}
	index = tb.faults[0] - index;
	ctrl = tb.faults[1] - ctrl;
	tap.ok(good && index > 80 && ctrl > 40,
	       "%u of %s, 1, 2 and 4 features; %u end with STREAM_INDEX, %u with BAD_CTRL", count,
	       name, unsigned(index), unsigned(ctrl));
}

// every field of an operand is looked at: one of them changed
void test_changed(Tap &tap, Bench &tb)
{
	static const uint32_t odd[] = {1, 2, 4, 6, 8, 16, 24, 0xfff8, 0x8000};
	const unsigned count = 6000;
	uint64_t from = tb.faults[2];
	unsigned ran = 0;
	bool good = tb.fill();

	tb.p = tb.p_dots = 100;
	tb.hold = false;
	for (unsigned i = 0; i < count && good; i++) {
		Rng &r = tb.rng;
		Ins n = i % 3 ? some_vector(r, r.pick(vector_ops)) :
				some_stream(tb, WSE_TOP_AXPY + r.below(3), 3);
		unsigned which = r.below(3);
		Operand &o = which == 0 ? n.dst : which == 1 ? n.src1 : n.src2;
		uint32_t v = r.pick(odd);

		switch (r.below(9)) {
		case 0: o.kind = r.below(16); break;
		case 1: o.dt = r.below(16); break;
		case 2: o.base += r.chance(50) ? v : v << 16; break;
		case 3: o.len = r.chance(50) ? 0 : (o.len + v) & 0xffff; break;
		case 4: o.len1 = r.below(5); break;
		case 5: o.stride = int16_t(o.stride + v); break;
		case 6: o.stride1 = int16_t(o.stride1 + v); break;
		case 7: n.cw = (n.cw & ~WSE_TCW_OP_MASK) | r.below(128); break;
		case 8: n.scalar = n.scalar + 1; break;
		}
		// what still runs must still know its wavelets
		if (n.stream())
			tb.rx_later = {{uint32_t(r.u64()) | WSE_CTRLW_END_MASK, true}};
		uint32_t must = n.refused();
		ran += !must;
		good &= complains("changed", n, tb.executes(n));
		if (must && i % 8 == 0)
			good &= tb.fill();
	}
	tap.ok(good && ran > count / 10,
	       "%u instructions with a field changed: %u refused, nothing is done; the others run",
	       count, unsigned(tb.faults[2] - from));
}

// limits, by name
void test_refused(Tap &tap, Bench &tb)
{
	unsigned cases = 0;
	bool good = true;

	auto base = [](unsigned op) {
		Ins n;

		n.cw = op | WSE_TCW_ACTIVATE_MASK | WSE_TCW_CLEAR_MASK;
		n.scalar = 2;
		n.dst.kind = n.src1.kind = n.src2.kind = WSE_KIND_MEM;
		n.dst.dt = n.src1.dt = n.src2.dt = WSE_DT_FP32;
		n.dst.stride = n.src1.stride = n.src2.stride = 4;
		n.dst.len = n.src1.len = n.src2.len = 16;
		n.dst.base = WSE_SRAM_BASE;
		n.src1.base = WSE_SRAM_BASE + 64;
		n.src2.base = WSE_SRAM_BASE + 128;
		if (n.stream()) {
			n.dst.kind = WSE_KIND_ACC;
			n.dst.base = 96;
			n.dst.stride = 1;
			n.src1.kind = WSE_KIND_FABIN;
			n.src1.base = 23;
			n.src2.dt = WSE_DT_BF16;
			n.src2.stride = 2;
		} else {
			n.cw &= ~WSE_TCW_SCALAR_MASK;
		}
		return n;
	};
	auto gives = [&](unsigned op, uint32_t cause, auto change) {
		Ins n = base(op);

		change(n);
		good &= n.refused() == cause && tb.fill();	// the bench's own rules, too
		tb.rx_later.push_back({WSE_CTRLW_END_MASK, true});
		good &= complains("limit", n, tb.executes(n));
		cases++;
	};
	auto vectors = [&](uint32_t cause, auto change) {
		gives(WSE_TOP_VADD, cause, change);
		gives(WSE_TOP_VXOR, cause, change);
	};
	auto streams = [&](uint32_t cause, auto change) {
		gives(WSE_TOP_AXPY, cause, change);
		gives(WSE_TOP_DOT, cause, change);
		gives(WSE_TOP_DOTX, cause, change);
	};
	const uint32_t bad = WSE_CAUSE_BAD_DSR, addr = WSE_CAUSE_OPERAND_ADDR,
		       top = WSE_SRAM_BASE + WSE_SRAM_BYTES;

	tb.p = tb.p_dots = 100;
	tb.hold = false;
	vectors(0, [](Ins &) {});
	vectors(0, [](Ins &n) { n.src1.len1 = 0; });			// one row
	for (uint32_t len : {0, 1, 7, 9, 12, 17}) {
		vectors(bad, [=](Ins &n) { n.dst.len = n.src1.len = n.src2.len = len; });
		streams(bad, [=](Ins &n) { n.src2.len = len; });
	}
	vectors(bad, [](Ins &n) { n.src1.len = 8; });
	vectors(bad, [](Ins &n) { n.src2.len = 24; });
	vectors(bad, [](Ins &n) { n.src2.len1 = 2; });
	vectors(bad, [](Ins &n) { n.dst.base += 8; });
	vectors(bad, [](Ins &n) { n.src1.base += 4; });
	vectors(bad, [](Ins &n) { n.src2.stride1 = 8; });
	vectors(bad, [](Ins &n) { n.dst.stride = 8; });
	vectors(bad, [](Ins &n) { n.src1.dt = WSE_DT_I16; });
	vectors(bad, [](Ins &n) { n.src1.kind = WSE_KIND_FABIN; });
	vectors(bad, [](Ins &n) { n.dst.kind = WSE_KIND_FABOUT; });
	vectors(bad, [](Ins &n) { n.src2.kind = WSE_KIND_DOTQ; });
	vectors(bad, [](Ins &n) { n.src1.len = 0, n.dst.base = 0; });	// BAD_DSR wins
	vectors(bad, [](Ins &n) { n.dst.kind = WSE_KIND_ACC, n.dst.base = 4, n.dst.stride = 1; });
	vectors(bad, [](Ins &n) { n.dst.kind = WSE_KIND_ACC, n.dst.base = 0, n.dst.stride = 2; });
	for (unsigned op = 0; op <= WSE_TCW_OP_MASK; op++)
		if (twin_vop_kind(op) == TWIN_VOP_NONE && (op < WSE_TOP_AXPY || op > WSE_TOP_DOTX))
			gives(op, bad, [](Ins &) {});
	vectors(0, [=](Ins &n) { n.dst.base = top - 64; });
	vectors(addr, [=](Ins &n) { n.dst.base = top - 48; });
	vectors(addr, [](Ins &n) { n.src1.base = WSE_SRAM_BASE - 16; });
	vectors(addr, [](Ins &n) { n.src2.base = 0; });
	vectors(0, [](Ins &n) { n.dst.kind = WSE_KIND_ACC, n.dst.base = 112, n.dst.stride = 1; });
	vectors(addr,
		[](Ins &n) { n.dst.kind = WSE_KIND_ACC, n.dst.base = 120, n.dst.stride = 1; });
	vectors(addr,
		[](Ins &n) { n.src1.kind = WSE_KIND_ACC, n.src1.base = 128, n.src1.stride = 1; });
	vectors(addr,
		[](Ins &n) { n.src1.len1 = n.dst.len1 = n.src2.len1 = 2, n.src1.stride1 = -80; });
	vectors(0,
		[](Ins &n) { n.src1.len1 = n.dst.len1 = n.src2.len1 = 2, n.src1.stride1 = -64; });
	vectors(addr, [](Ins &n) { n.dst.len = n.src1.len = n.src2.len = 0xfff8; });
	for (uint32_t b : {0u, 3u, 5u, 6u, 7u, 8u})
		streams(bad, [=](Ins &n) { n.scalar = b; });
	streams(0, [](Ins &n) { n.scalar = 0xfffffff9; });		// 1
	streams(0, [](Ins &) {});
	streams(bad, [](Ins &n) { n.src1.base = 24; });
	streams(bad, [](Ins &n) { n.src1.base = 0x20; });
	streams(bad, [](Ins &n) { n.src1.kind = WSE_KIND_MEM; });
	streams(bad, [](Ins &n) { n.src2.dt = WSE_DT_FP32, n.src2.stride = 4; });
	streams(bad, [](Ins &n) { n.src2.kind = WSE_KIND_ACC; });
	streams(bad, [](Ins &n) { n.src2.stride = 4; });
	streams(bad, [](Ins &n) { n.dst.kind = WSE_KIND_MEM; });
	streams(bad, [](Ins &n) { n.dst.base = 92; });
	streams(addr, [](Ins &n) { n.dst.base = 104; });
	streams(addr, [](Ins &n) { n.dst.base = 128; });
	streams(addr, [](Ins &n) { n.dst.base = 0x80000000; });
	streams(addr, [](Ins &n) { n.scalar = 4; });
	streams(addr, [](Ins &n) { n.dst.base = 0, n.src2.len = 72; });
	streams(addr, [](Ins &n) { n.scalar = 1, n.dst.base = 0, n.src2.len = 264; });
	streams(0, [](Ins &n) { n.scalar = 1, n.dst.base = 0, n.src2.len = 128; });
	streams(0, [=](Ins &n) { n.src2.base = top - 32; });
	streams(addr, [=](Ins &n) { n.src2.base = top - 16; });
	streams(addr, [](Ins &n) { n.src2.len1 = 3, n.src2.stride1 = -80; });
	gives(WSE_TOP_VRSUM, 0, [](Ins &n) { n.dst.len = 1, n.dst.base += 4; });
	gives(WSE_TOP_VRSUM, bad, [](Ins &n) { n.dst.len = 1, n.dst.base += 2; });
	gives(WSE_TOP_VRMAX, bad, [](Ins &n) { n.dst.len = 1, n.dst.len1 = 2; });
	gives(WSE_TOP_VRMAX, bad, [](Ins &n) { n.dst.len = 8; });
	gives(WSE_TOP_VRMAX, 0, [=](Ins &n) { n.dst.len = 1, n.dst.base = top - 4; });
	gives(WSE_TOP_VRMAX, addr, [=](Ins &n) { n.dst.len = 1, n.dst.base = top; });
	tap.ok(good,
	       "%u instructions at the limits of what is allowed: BAD_DSR or OPERAND_ADDR, or they run",
	       cases);
}

// as long as there is room, and as many rows as a DSR can say
void test_long(Tap &tap, Bench &tb)
{
	auto whole = [](uint32_t kind, uint32_t dt, uint32_t base, uint32_t len, uint32_t len1) {
		Operand o;

		o.kind = kind;
		o.dt = dt;
		o.base = kind == WSE_KIND_MEM ? WSE_SRAM_BASE + base : base;
		o.len = len;
		o.len1 = len1;
		o.stride = o.size();
		return o;
	};
	Operand halves = whole(WSE_KIND_MEM, WSE_DT_BF16, 0, 8192, 1),
		words = whole(WSE_KIND_MEM, WSE_DT_FP32, 0x4000, 8192, 1);
	bool good = true;
	Ins n;

	tb.p = 100;
	tb.hold = false;
	n.cw = WSE_TOP_VMAC;
	n.src1 = n.src2 = halves;
	n.dst = words;
	good &= tb.fill() && complains("long", n, tb.executes(n));
	n.cw = WSE_TOP_VMOV;
	n.src1 = words;
	n.dst = halves;
	good &= complains("long", n, tb.executes(n));
	n.cw = WSE_TOP_VRSUM;
	n.src1 = whole(WSE_KIND_MEM, WSE_DT_BF16, 0, WSE_SRAM_BYTES / 2, 1);
	n.dst = whole(WSE_KIND_MEM, WSE_DT_FP32, 4, 1, 0);
	good &= complains("long", n, tb.executes(n));
	n.src1 = whole(WSE_KIND_ACC, 0, 64, 8, 0xffff);
	n.cw = WSE_TOP_VRMAX;
	good &= complains("long", n, tb.executes(n));
	n.cw = WSE_TOP_VIADD;
	n.src1 = n.dst = whole(WSE_KIND_ACC, 0, 8, 8, 0xffff);
	n.src2 = whole(WSE_KIND_MEM, WSE_DT_I32, WSE_SRAM_BYTES - 32, 8, 0xffff);
	good &= complains("long", n, tb.executes(n));
	tap.ok(good, "operands as large as the SRAM, and of 65535 rows");
}

// one group a cycle; the wait for a wavelet is counted, work is not
void test_rate(Tap &tap, Bench &tb)
{
	tb.p = tb.p_dots = 100;
	tb.hold = tb.others = false;
	for (unsigned op : {WSE_TOP_AXPY, WSE_TOP_DOT, WSE_TOP_DOTX}) {
		for (uint32_t b : {1, 2, 4}) {
			bool good = tb.fill();
			Ins n;

			do {
				tb.rx_later.clear();
				n = some_stream(tb, op, 400);
			} while (n.feats() != b || n.src2.len != 32);
			good &= complains("rate", n, tb.executes(n));
			unsigned cycles = tb.busy_cycles, waits = tb.waits;
			tb.starve = 300;
			do {
				tb.rx_later.clear();
				n = some_stream(tb, op, 0);
			} while (n.feats() != b);
			good &= complains("starved", n, tb.executes(n));
			tap.ok(good && cycles < 1600 + 40 && waits < 12 && tb.waits > 290 &&
				       tb.waits < 304,
			       "%s, %u features: 400 wavelets of 4 groups in %u cycles, %u of them waits; 300 without any, %u waits",
			       names[op - WSE_TOP_AXPY], b, cycles, waits, tb.waits);
		}
	}
	tb.others = true;
}

// while an instruction runs, the operands of the next one are checked: it begins in the cycle in
// which the other completes
void test_chain(Tap &tap, Bench &tb)
{
	unsigned took = 0, mixed = 0, rows = 0, cycles, i;
	uint64_t refused;
	bool good = tb.fill();
	Ins n;

	tb.hold = tb.others = false;
	n.cw = WSE_TOP_VIADD;
	n.dst.kind = n.src1.kind = n.src2.kind = WSE_KIND_ACC;
	n.dst.stride = n.src1.stride = n.src2.stride = 1;
	n.dst.len = n.src1.len = n.src2.len = 32;
	n.src1.base = 32;
	good &= tb.chain(std::vector<Ins>(100, n), &took);
	n.dst.kind = WSE_KIND_MEM;
	n.dst.dt = WSE_DT_BF16;
	n.dst.stride = 2;
	n.dst.base = WSE_SRAM_BASE;
	good &= tb.chain(std::vector<Ins>(100, n), &mixed);
	std::swap(n.dst, n.src1);
	good &= tb.chain(std::vector<Ins>(100, n), &rows);
	tap.ok(good && took <= 410 && mixed <= 410 && rows <= 710,
	       "100 operations of 4 groups behind each other in %u cycles, with stores %u, with rows of memory %u", took, mixed, rows);
	refused = tb.chained_faults;
	for (i = 0; i < 3000 && good; i++) {
		std::vector<Ins> list;

		pace(tb, i);
		if (i % 64 == 0)
			good &= tb.fill();
		for (unsigned k = 2 + tb.rng.below(5); k; k--) {
			list.push_back(some_vector(tb.rng, tb.rng.pick(vector_ops)));
			if (tb.rng.chance(3))
				list.back().src1.len ^= 1;		// BAD_DSR
			else if (!list.empty() && tb.rng.chance(30))
				// if its shape fits
				list.back().src1 = list[tb.rng.below(list.size())].dst;
		}
		good &= complains("sequence", list[0], tb.chain(list, &cycles));
	}
	tb.others = true;
	refused = tb.chained_faults - refused;
	tap.ok(good && refused > 300 && refused < 2700,
	       "%u sequences of them on each other's results; %u end with one that is refused", i,
	       unsigned(refused));
}

// the queue's reader stands still: DOTQ_DEPTH results, and no wavelet is taken that has no room
void test_room(Tap &tap, Bench &tb)
{
	bool good = tb.fill();
	unsigned waits = 0;

	tb.p = 100;
	for (unsigned i = 0; i < 200 && good; i++) {
		Ins n = some_stream(tb, i % 2 ? WSE_TOP_DOT : WSE_TOP_DOTX, 30);

		tb.p_dots = i % 4;				// percent
		if (!tb.p_dots)
			tb.p_dots = 1;
		tb.hold = i % 3 == 0;
		good &= complains("room", n, tb.executes(n));
		waits += tb.waits;
	}
	tap.ok(good && waits > 10000,
	       "200 of DOT and DOTX with a slow reader: never more than %u results, "
	       "the waits (%u) count", WSE_DOTQ_DEPTH, waits);
}

// DOTQ_DEPTH results fill the queue: DOT's END mark waits for its reader, DOTX needs no room
void test_end(Tap &tap, Bench &tb)
{
	bool good = tb.fill();

	tb.p = 100;
	tb.hold = false;
	for (unsigned i = 0; i < 50 && good; i++) {
		tb.p_dots = 100;
		for (unsigned k = 0; k < 2 * WSE_DOTQ_DEPTH; k++)
			good &= tb.step();		// its reader empties the queue ...
		tb.p_dots = 0;				// ... and is gone
		Ins n = some_stream(tb, WSE_TOP_DOTX, WSE_DOTQ_DEPTH);
		good &= complains("end", n, tb.executes(n));
	}
	tap.ok(good, "DOTX completes while its results wait, without an END mark");
}

} // namespace

int main(int argc, char **argv)
{
	uint64_t seed = bench_seed(argc, argv);
	Tap tap;
	auto alone = [&](auto test, auto... with) {
		Bench tb(seed++);

		test(tap, tb, with...);
	};

	twin_fp_enter();
	alone(test_rate);
	alone(test_refused);
	alone(test_changed);
	alone(test_long);
	alone(test_chain);
	alone(test_room);
	alone(test_end);
	alone(test_streams, WSE_TOP_AXPY, "AXPY");
	alone(test_streams, WSE_TOP_DOT, "DOT");
	alone(test_streams, WSE_TOP_DOTX, "DOTX");
	alone(test_vectors);
	return tap.plan();
}
