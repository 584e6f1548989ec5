// SPDX-License-Identifier: MIT
// The lanes: arithmetic, vector operations on operands of all kinds, stream AXPY and DOT, and their
// utilisation.
#include <algorithm>

#include "lanes_ref.hpp"
#include "test_core.hpp"

#define ROW(name, value, kind, expr) { value, #name },
static const struct { unsigned op; const char *name; } vops[] = { WSE_VOPS_ELEMENTS(ROW) };

// the arithmetic, through vector operations on fp32 memory: rounds x 2048 elements per operation
void test_arithmetic(CoreTb &t, unsigned rounds)
{
	enum { N = 2048 };
	static uint32_t a[N], b[N], d[N], r[N];

	for (auto &v : vops) {
		unsigned bad = 0;
		Asm p;

		p.dsr(0, WSE_SRAM_BASE + DATA, shape(N, 4), 0, mem(WSE_DT_FP32));
		p.dsr(1, WSE_SRAM_BASE + DATA + N * 4, shape(N, 4), 0, mem(WSE_DT_FP32));
		p.dsr(2, WSE_SRAM_BASE + DATA + N * 8, shape(N, 4), 0, mem(WSE_DT_FP32));
		p.issue(tcw(0, v.op, 0, 1, 2));
		p.wait(1);
		p.done();
		p.spin();
		t.svc(5);
		load(t, p);
		for (unsigned k = 0; k < rounds; k++) {
			for (int i = 0; i < N; i++) {
				a[i] = any(t);
				b[i] = t.rnd() % 8 ? any(t)
						   : a[i] ^ (t.rnd() % 2 << 31) ^ (t.rnd() % 3);
				d[i] = any(t);
				// products around 2^-126 (1 - 2^-25)
				if (v.op == WSE_TOP_VMUL && !k && i < 64) {
					a[i] = 0x00ffffff + (i >> 3);
					b[i] = 0x3f7ffff8 + (i & 7) - (i & 1 ? 0x00800000 : 0);
				}
			}
			t.write(DATA, d, sizeof(d));
			t.write(DATA + N * 4, a, sizeof(a));
			t.write(DATA + N * 8, b, sizeof(b));
			t.boot();
			t.finish();
			t.read(DATA, r, sizeof(r));
			for (int i = 0; i < N; i++) {
				uint32_t want = lane_element(v.op, a[i], b[i], d[i]);

				if (r[i] != want && bad++ < 4)
					printf("# %s %08x %08x %08x: %08x, not %08x\n", v.name,
					       a[i], b[i], d[i], r[i], want);
			}
			if (t.top.faulted_o)
				bad++;
		}
		tap.ok(!bad, "%s: %u operands as the host's FPU", v.name, rounds * N);
	}
}

// operands of all kinds, shapes with repeated and overlapping rows, in the order of groups
void test_vector_kinds(CoreTb &t)
{
	static uint8_t sram[0x8000], got[0x8000];
	uint32_t acc[128];
	unsigned bad = 0, n;

	for (n = 0; n < 400; n++) {
		auto &v = vops[t.rnd() % (sizeof(vops) / sizeof(vops[0]))];
		bool reduce = t.rnd() % 6 == 0, max = t.rnd() % 2, scalar = t.rnd() % 4 == 0;
		unsigned op = reduce ? (max ? WSE_TOP_VRMAX : WSE_TOP_VRSUM) : v.op;
		uint32_t len = 8 * (1 + t.rnd() % 3), len1 = 1 + t.rnd() % 3, sv = any(t);
		uint32_t base[3], kind[3], dt[3];
		int32_t s1[3];
		Asm p;

		for (unsigned i = 0; i < sizeof(sram); i += 4) {
			uint32_t x = any(t);

			memcpy(sram + i, &x, 4);
		}
		for (int i = 0; i < 128; i++)
			memcpy(&acc[i], sram + 4 * i, 4);
		for (int i = 0; i < 3; i++) {
			kind[i] = t.rnd() % 2 ? WSE_KIND_MEM : WSE_KIND_ACC;
			dt[i] = t.rnd() % 3;
			if (kind[i] == WSE_KIND_ACC) {
				base[i] = 8 * (t.rnd() % 4);
				s1[i] = 8 * (t.rnd() % 4);
			} else {
				base[i] = 0x1000 + 16 * (t.rnd() % 16);
				s1[i] = 16 * (int32_t(t.rnd() % 13) - 6);
			}
		}
		// the accumulators come from memory, then the operation, then they go back
		p.dsr(0, 0, shape(128, 1), 0, WSE_KIND_ACC);
		p.dsr(1, WSE_SRAM_BASE + DATA, shape(128, 4), 0, mem(WSE_DT_FP32));
		p.issue(tcw(0, WSE_TOP_VMOV, 0, 1, 0));
		for (int i = 0; i < 3; i++) {
			bool one = reduce && !i;
			uint32_t size = kind[i] == WSE_KIND_ACC ? 1 : dt[i] == WSE_DT_BF16 ? 2 : 4;

			if (one)
				base[0] += size * (t.rnd() % 5);
			p.dsr(2 + i, (kind[i] == WSE_KIND_MEM ? WSE_SRAM_BASE + DATA : 0) + base[i],
			      shape(one ? 1 : len, size), one ? 0 : shape(len1, s1[i]),
			      kind[i] | dt[i] << 4);
		}
		p.issue(tcw(0, op, 2, 3, 4, scalar ? WSE_TCW_SCALAR_MASK : 0), sv);
		p.dsr(1, WSE_SRAM_BASE + DATA + 0x7000, shape(128, 4), 0, mem(WSE_DT_FP32));
		p.issue(tcw(0, WSE_TOP_VMOV, 1, 0, 0));
		p.wait(1);
		p.done();
		p.spin();
		t.svc(5);
		load(t, p);
		t.write(DATA, sram, sizeof(sram));
		t.boot();
		t.finish();
		t.read(DATA, got, sizeof(got));
		auto rd = [&](int i, uint32_t at) {
			uint32_t x;

			if (kind[i] == WSE_KIND_ACC)
				return acc[at];
			memcpy(&x, sram + at, 4);
			return dt[i] == WSE_DT_BF16 ? (x & 0xffff) << 16 : x;
		};
		auto wr = [&](uint32_t at, uint32_t x) {
			uint16_t h = twin_bf16_round(x);

			if (kind[0] == WSE_KIND_ACC)
				acc[at] = x;
			else if (dt[0] == WSE_DT_BF16)
				memcpy(sram + at, &h, 2);
			else
				memcpy(sram + at, &x, 4);
		};
		auto esize = [&](int i) {
			return kind[i] == WSE_KIND_ACC ? 1 : dt[i] == WSE_DT_BF16 ? 2 : 4;
		};
		uint32_t part[8], x[8];

		for (int l = 0; l < 8; l++)
			part[l] = max ? 0xff800000 : 0;
		for (uint32_t j = 0; j < len1; j++) {
			for (uint32_t g = 0; g < len; g += 8) {
				for (int l = 0; l < 8; l++) {
					uint32_t at[3];

					for (int i = 0; i < 3; i++)
						at[i] = base[i] + j * s1[i] + (g + l) * esize(i);
					uint32_t u = rd(1, at[1]);

					if (reduce)
						part[l] =
							max ? twin_flush(twin_f(part[l]) > twin_f(u)
										 ? part[l]
										 : u)
							    : twin_fadd(part[l], u);
					else
						x[l] = lane_element(op, u,
								    scalar ? sv : rd(2, at[2]),
								    rd(0, at[0]));
				}
				if (!reduce)
					for (int l = 0; l < 8; l++)
						wr(base[0] + j * s1[0] + (g + l) * esize(0), x[l]);
			}
		}
		if (reduce) {
			for (int k = 4; k; k /= 2)
				for (int l = 0; l < k; l++)
					part[l] =
						max ? twin_flush(twin_f(part[2 * l]) >
										 twin_f(part[2 * l +
											     1])
									 ? part[2 * l]
									 : part[2 * l + 1])
						    : twin_fadd(part[2 * l], part[2 * l + 1]);
			wr(base[0], part[0]);
		}
		memcpy(sram + 0x7000, acc, 512);
		if (t.top.faulted_o || memcmp(sram, got, sizeof(sram))) {
			if (bad++ < 3)
				printf("# op %#x kinds %u%u%u types %u%u%u len %u x %u scalar %d fault %x\n",
				       op, kind[0], kind[1], kind[2], dt[0], dt[1], dt[2], len,
				       len1, scalar, t.top.faulted_o ? t.top.fault_cause_o : 0);
		}
	}
	tap.ok(!bad, "%u vector operations on operands of all kinds", n);
}

// stream AXPY and DOT
struct Stream {
	unsigned b, t, k;
};

// mostly finite, so that sums stay numbers
static uint32_t mild(CoreTb &t)
{
	uint32_t v = t.rnd() << 16 ^ t.rnd();

	return t.rnd() % 500 ? (v & 0x807fffff) | (110 + t.rnd() % 30) << 23 : any(t);
}

static uint16_t mild_bf16(CoreTb &t) { return mild(t) >> 16; }

void test_axpy(CoreTb &t)
{
	static const Stream shapes[] = {{1, 8, 64},  {1, 32, 64}, {2, 16, 16}, {2, 32, 64},
					{4, 32, 40}, {4, 8, 5},	  {1, 128, 3}};

	for (auto &s : shapes) {
		std::vector<uint16_t> x(s.t * s.k);
		std::vector<uint32_t> acc(128), got(128);
		unsigned bad = 0;
		Asm p;

		for (auto &h : x)
			h = mild_bf16(t);
		p.dsr(0, 0, shape(8, 1), 0, WSE_KIND_ACC);
		p.dsr(1, 5, shape(1, 1), 0, WSE_KIND_FABIN);
		p.dsr(2, WSE_SRAM_BASE + DATA, shape(s.t, 2), shape(s.k, s.t * 2),
		      mem(WSE_DT_BF16));
		for (int i = 0; i < 3; i++)
			p.issue(tcw(0, WSE_TOP_AXPY, 0, 1, 2, i == 1 ? 0 : WSE_TCW_CLEAR_MASK),
				s.b);
		p.wait(1);
		p.dsr(0, 0, shape(128, 1), 0, WSE_KIND_ACC);
		p.dsr(1, WSE_SRAM_BASE + 0xb000, shape(128, 4), 0, mem(WSE_DT_FP32));
		p.issue(tcw(0, WSE_TOP_VMOV, 1, 0, 0));
		p.wait(1);
		p.done();
		p.spin();
		t.svc(5);
		load(t, p);
		t.write(DATA, x.data(), x.size() * 2);
		t.boot();
		for (int i = 0; i < 3; i++) {
			if (i != 1)
				std::fill(acc.begin(), acc.begin() + s.b * s.t, 0);
			for (unsigned k = 0; k < s.k; k++) {
				for (unsigned f = 0; f < s.b; f++) {
					uint16_t h = mild_bf16(t);

					if (t.rnd() % 3 == 0 || (i == 2 && f == 1))
						// sparse; one feature without any
						continue;
					t.feed(5, uint32_t(h) << 16 | f << 14 | k);
					for (unsigned e = 0; e < s.t; e++) {
						uint32_t *a = &acc[f * s.t + e];

						uint32_t v = uint32_t(x[k * s.t + e]) << 16;

						*a = twin_fadd(*a, twin_fmul(uint32_t(h) << 16, v));
					}
				}
			}
			t.feed(5, 1, true);
		}
		bad += !t.finish() || t.top.faulted_o;
		t.read(0xb000, got.data(), 512);
		for (int i = 0; i < 128; i++)
			bad += acc[i] != got[i];
		tap.ok(!bad, "AXPY, %u features, %u tokens, %u rows: three blocks", s.b, s.t, s.k);
	}
}

void test_dot(CoreTb &t)
{
	static const Stream shapes[] = {
		{1, 8, 64}, {1, 32, 64}, {2, 32, 64}, {4, 32, 40}, {4, 16, 9}};

	for (auto &s : shapes) {
		std::vector<uint16_t> x(s.t * s.k);
		std::vector<uint32_t> dy(128), want;
		unsigned bad = 0;
		Asm p;

		for (auto &h : x)
			h = mild_bf16(t);
		for (auto &v : dy)
			v = mild(t);
		p.dsr(0, 0, shape(128, 1), 0, WSE_KIND_ACC);
		p.dsr(3, WSE_SRAM_BASE + 0xb000, shape(128, 4), 0, mem(WSE_DT_FP32));
		p.issue(tcw(0, WSE_TOP_VMOV, 0, 3, 0));
		p.dsr(1, 5, shape(1, 1), 0, WSE_KIND_FABIN);
		p.dsr(2, WSE_SRAM_BASE + DATA, shape(s.t, 2), shape(s.k, s.t * 2),
		      mem(WSE_DT_BF16));
		p.dsr(4, 9, shape(2, 1), 0, WSE_KIND_FABOUT);
		p.dsr(5, 0, shape(1, 1), 0, WSE_KIND_DOTQ);
		p.issue(tcw(0, WSE_TOP_DOT, 0, 1, 2), s.b);
		p.issue(tcw(0, WSE_TOP_DOT, 0, 1, 2), s.b);
		p.issue(tcw(1, WSE_TOP_MOVE, 4, 5, 0,
			    WSE_TCW_UNTIL_END_MASK | WSE_TCW_SEND_END_MASK));
		p.wait(3);
		p.done();
		p.spin();
		t.svc(5);
		load(t, p);
		t.write(DATA, x.data(), x.size() * 2);
		t.write(0xb000, dy.data(), 512);
		t.out[9].clear();
		t.boot();
		for (int i = 0; i < 2; i++) {
			for (unsigned k = 0; k < s.k; k++) {
				for (unsigned f = 0; f < s.b; f++) {
					uint32_t q[8] = { 0 };

					if (t.rnd() % 4 == 0)
						continue;
					t.feed(5, f << 14 | k);
					for (unsigned e = 0; e < s.t; e++)
						q[e % 8] = twin_fadd(
							q[e % 8],
							twin_fmul(dy[f * s.t + e],
								  uint32_t(x[k * s.t + e]) << 16));
					want.push_back(twin_fadd(twin_fadd(twin_fadd(q[0], q[1]),
									   twin_fadd(q[2], q[3])),
								 twin_fadd(twin_fadd(q[4], q[5]),
									   twin_fadd(q[6], q[7]))));
				}
			}
			t.feed(5, 1, true);
		}
		bad += !t.finish() || t.top.faulted_o;
		t.run(10);
		bad += t.out[9].size() != want.size() + 1 || !t.out[9].back().ctrl;
		for (size_t i = 0; !bad && i < want.size(); i++)
			bad += t.out[9][i].data != want[i] || t.out[9][i].ctrl;
		tap.ok(!bad, "DOT, %u features, %u tokens, %u rows: two blocks", s.b, s.t, s.k);
	}
}

// how busy the lanes are kept; CPI of straight code and of loads
// products of DOT one by one: rows of x with one element that is not 0
void test_dot_products(CoreTb &t, unsigned rounds)
{
	enum { K = 256 };
	unsigned bad = 0;

	for (unsigned n = 0; n < rounds; n++) {
		std::vector<uint16_t> x(8 * K);
		std::vector<uint32_t> dy(32);
		Asm p;

		for (unsigned k = 0; k < K; k++)
			x[8 * k + k % 8] = any_bf16(t);
		for (auto &v : dy) {
			do
				v = any(t);
			// infinity times 0 elsewhere in the row
			while ((v & 0x7f800000) == 0x7f800000);
		}
		p.dsr(0, 0, shape(32, 1), 0, WSE_KIND_ACC);
		p.dsr(3, WSE_SRAM_BASE + 0xb000, shape(32, 4), 0, mem(WSE_DT_FP32));
		p.issue(tcw(0, WSE_TOP_VMOV, 0, 3, 0));
		p.dsr(1, 5, shape(1, 1), 0, WSE_KIND_FABIN);
		p.dsr(2, WSE_SRAM_BASE + DATA, shape(8, 2), shape(K, 16), mem(WSE_DT_BF16));
		p.dsr(4, 9, shape(1, 1), 0, WSE_KIND_FABOUT);
		p.dsr(5, 0, shape(1, 1), 0, WSE_KIND_DOTQ);
		p.issue(tcw(0, WSE_TOP_DOT, 0, 1, 2), 4);
		p.issue(tcw(1, WSE_TOP_MOVE, 4, 5, 0, WSE_TCW_UNTIL_END_MASK));
		p.wait(3);
		p.done();
		p.spin();
		t.svc(5);
		load(t, p);
		t.write(DATA, x.data(), x.size() * 2);
		t.write(0xb000, dy.data(), 128);
		t.out[9].clear();
		t.boot();
		for (unsigned k = 0; k < K; k++)
			for (unsigned f = 0; f < 4; f++)
				t.feed(5, f << 14 | k);
		t.feed(5, 1, true);
		bad += !t.finish() || t.top.faulted_o;
		t.run(10);
		bad += t.out[9].size() != 4 * K;
		for (unsigned i = 0; !bad && i < 4 * K; i++) {
			unsigned k = i / 4, f = i % 4, l = k % 8;

			bad += t.out[9][i].data !=
			       twin_fadd(0, twin_fmul(dy[8 * f + l], uint32_t(x[8 * k + l]) << 16));
		}
	}
	tap.ok(!bad, "DOT: %u products as the host's FPU", rounds * 4 * K);
}

void test_rates(CoreTb &t)
{
	for (int dot = 0; dot < 2; dot++) {
		for (unsigned b = 1; b <= 4; b *= 2) {
			std::vector<uint16_t> x(32 * 64);
			Asm p;

			p.dsr(0, 0, shape(8, 1), 0, WSE_KIND_ACC);
			p.dsr(1, 5, shape(1, 1), 0, WSE_KIND_FABIN);
			p.dsr(2, WSE_SRAM_BASE + DATA, shape(32, 2), shape(64, 64),
			      mem(WSE_DT_BF16));
			p.dsr(4, 9, shape(16, 1), 0, WSE_KIND_FABOUT);
			p.dsr(5, 0, shape(1, 1), 0, WSE_KIND_DOTQ);
			if (dot)
				p.issue(tcw(1, WSE_TOP_MOVE, 4, 5, 0, WSE_TCW_UNTIL_END_MASK));
			for (int i = 0; i < 16; i++)
				p.issue(tcw(0, dot ? WSE_TOP_DOT : WSE_TOP_AXPY, 0, 1, 2,
					    dot ? 0 : WSE_TCW_CLEAR_MASK),
					b);
			p.wait(3);
			p.done();
			p.spin();
			t.svc(5);
			load(t, p);
			t.boot();
			for (int i = 0; i < 16; i++) {
				for (unsigned k = 0; k < 64; k++)
					for (unsigned f = 0; f < b; f++)
						t.feed(5, 0x3f800000 | f << 14 | k);
				t.feed(5, 1, true);
			}
			t.run(200);
			uint64_t c0 = t.cycles, m0 = t.macs;
			bool good = t.finish(1000000) && !t.top.faulted_o;
			double u = double(t.macs - m0) / double(t.cycles - c0) / 8;

			tap.ok(good && u >= (dot ? 0.75 : 0.85),
			       "%s, T 32, 64 k, %u features: lanes %.3f busy", dot ? "DOT" : "AXPY",
			       b, u);
		}
	}
	// scalar: 64 times 32 additions; 64 x 8 loads
	for (int loads = 0; loads < 2; loads++) {
		Asm p;

		p.li(S0, WSE_SRAM_BASE + 0x3000);
		p.li(S1, 64);
		uint32_t loop = p.pc();
		for (int i = 0; i < 24; i++)
			p.op(loads ? 0u << 20 | S0 << 15 | 2 << 12 | A0 << 7 | 0x03
				   : 1u << 20 | A0 << 15 | A0 << 7 | 0x13);
		p.op(0xfffu << 20 | S1 << 15 | S1 << 7 | 0x13);
		int32_t off = int32_t(loop - p.pc());
		p.op((off >> 12 & 1u) << 31 | (off >> 5 & 0x3fu) << 25 | S1 << 15 | 1 << 12 |
		     (off >> 1 & 0xfu) << 8 | (off >> 11 & 1u) << 7 | 0x63);
		p.done();
		p.spin();
		t.svc(5);
		load(t, p);
		t.boot();
		t.run(40);
		uint64_t c0 = t.cycles, r0 = t.retired;
		bool good = t.finish();
		double cpi = double(t.cycles - c0) / double(t.retired - r0);
		tap.ok(good && cpi < (loads ? 3.3 : 1.3),
		       "scalar: %.2f cycles per instruction of %s", cpi,
		       loads ? "loads" : "straight code");
	}
}
