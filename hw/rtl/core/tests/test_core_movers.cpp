// SPDX-License-Identifier: MIT
// The movers, and the faults of tensor instructions.
#include "test_core.hpp"

static uint8_t sram[0x8000], sram_got[0x8000];

void test_movers(CoreTb &t)
{
	unsigned bad = 0, n;

	for (n = 0; n < 500; n++) {
		unsigned op = WSE_TOP_MOVE + t.rnd() % 3,
			 from = n % 2 ? WSE_ENGINE_M0 : WSE_ENGINE_M1;
		uint32_t acc[128], len = 1 + t.rnd() % 9, len1 = 1 + t.rnd() % 4, kind[3], dt[3],
				   base[3];
		int32_t st[3], s1[3];
		bool end = t.rnd() % 2;
		std::vector<uint32_t> feed, want;
		Asm p;

		for (unsigned i = 0; i < sizeof(sram); i += 4) {
			uint32_t x = any(t);

			memcpy(sram + i, &x, 4);
		}
		memcpy(acc, sram, 512);
		for (int i = 0; i < 3; i++) {
			static const uint32_t k0[] = {WSE_KIND_MEM, WSE_KIND_ACC, WSE_KIND_FABOUT};
			static const uint32_t k1[] = { WSE_KIND_MEM, WSE_KIND_ACC, WSE_KIND_FABIN };

			kind[i] = i == 0   ? k0[t.rnd() % 3]
				  : i == 1 ? k1[t.rnd() % 3]
					   : k0[t.rnd() % 2];
			dt[i] = t.rnd() % 3;
			if (kind[i] == WSE_KIND_ACC) {
				base[i] = 30 + t.rnd() % 8;
				st[i] = int32_t(t.rnd() % 5) - 1;
				s1[i] = int32_t(t.rnd() % 13) - 2;
			} else {
				int32_t size = dt[i] == WSE_DT_BF16 ? 2 : 4;

				base[i] = 0x1000 + size * (t.rnd() % 8);
				st[i] = size * (int32_t(t.rnd() % 5) - 1);
				s1[i] = size * (int32_t(t.rnd() % 19) - 6);
			}
		}
		// in place, as kernels do it
		if (t.rnd() % 4 == 0 && kind[0] != WSE_KIND_FABOUT) {
			kind[2] = kind[0];
			dt[2] = dt[0];
			base[2] = base[0];
			st[2] = st[0];
			s1[2] = s1[0];
		}
		p.dsr(0, 0, shape(128, 1), 0, WSE_KIND_ACC);
		p.dsr(1, WSE_SRAM_BASE + DATA, shape(128, 4), 0, mem(WSE_DT_FP32));
		p.issue(tcw(0, WSE_TOP_VMOV, 0, 1, 0));
		p.wait(1);
		for (int i = 0; i < 3; i++) {
			bool fab = kind[i] == WSE_KIND_FABIN || kind[i] == WSE_KIND_FABOUT;

			p.dsr(2 + i,
			      fab ? (i ? 3 : 7)
				  : (kind[i] == WSE_KIND_MEM ? WSE_SRAM_BASE + DATA : 0) + base[i],
			      shape(len, st[i]), shape(len1, s1[i]), kind[i] | dt[i] << 4);
		}
		end = end && kind[0] == WSE_KIND_FABOUT;
		p.issue(tcw(from, op, 2, 3, 4, end ? WSE_TCW_SEND_END_MASK : 0));
		p.wait(7);
		p.dsr(1, WSE_SRAM_BASE + DATA + 0x7000, shape(128, 4), 0, mem(WSE_DT_FP32));
		p.issue(tcw(0, WSE_TOP_VMOV, 1, 0, 0));
		p.wait(1);
		p.done();
		p.spin();
		t.svc(5);
		load(t, p);
		t.write(DATA, sram, sizeof(sram));
		t.out[7].clear();
		t.boot();
		auto rd = [&](int i, int32_t at) {
			uint32_t x;

			if (kind[i] == WSE_KIND_ACC)
				return acc[at];
			memcpy(&x, sram + at, 4);
			return dt[i] == WSE_DT_BF16 ? (x & 0xffff) << 16 : x;
		};
		auto wr = [&](int i, int32_t at, uint32_t x) {
			uint16_t h = twin_bf16_round(x);

			if (kind[i] == WSE_KIND_ACC)
				acc[at] = x;
			else if (dt[i] == WSE_DT_BF16)
				memcpy(sram + at, &h, 2);
			else
				memcpy(sram + at, &x, 4);
		};
		for (uint32_t j = 0; j < len1; j++) {
			for (uint32_t i = 0; i < len; i++) {
				uint32_t v;
				int32_t at[3];

				for (int o = 0; o < 3; o++)
					at[o] = base[o] + j * s1[o] + i * st[o];
				if (kind[1] == WSE_KIND_FABIN) {
					v = any(t);
					feed.push_back(v);
				} else {
					v = rd(1, at[1]);
				}
				if (op == WSE_TOP_MADD)
					v = twin_fadd(v, rd(2, at[2]));
				if (kind[0] == WSE_KIND_FABOUT)
					want.push_back(v);
				else
					wr(0, at[0], v);
				if (op == WSE_TOP_MTEE)
					wr(2, at[2], v);
			}
		}
		for (auto v : feed)
			t.feed(3, v);
		memcpy(sram + 0x7000, acc, 512);
		bool fin = t.finish(20000);
		t.run(10);
		t.read(DATA, sram_got, sizeof(sram));
		bool good = fin && !t.top.faulted_o && !memcmp(sram, sram_got, sizeof(sram)) &&
			    t.out[7].size() == want.size() + end;
		for (size_t i = 0; good && i < want.size(); i++)
			good = t.out[7][i].data == want[i] && !t.out[7][i].ctrl;
		if (good && end)
			good = t.out[7].back().ctrl && t.out[7].back().data == 1;
		if (!good && bad++ < 3)
			printf("# op %#x kinds %u%u%u types %u%u%u "
			       "shape %u x %u strides %d,%d %d,%d %d,%d base %x %x %x fin %d "
			       "fault %x out %zu of %zu\n",
			       op, kind[0], kind[1], kind[2], dt[0], dt[1], dt[2], len, len1, st[0],
			       s1[0], st[1], s1[1], st[2], s1[2], base[0], base[1], base[2], fin,
			       t.top.faulted_o ? t.top.fault_cause_o : 0, t.out[7].size(),
			       want.size());
	}
	tap.ok(!bad, "%u moves, sums and tees on operands of all kinds", n);

	// column sum: fabric + DOT queue -> fabric until END, driven by DOT on the lanes
	{
		std::vector<uint32_t> want;
		std::vector<uint16_t> x(32 * 16);
		std::vector<uint32_t> dy(32);
		Asm p;

		for (auto &h : x)
			h = any_bf16(t);
		for (auto &v : dy)
			v = any(t);
		p.dsr(0, 0, shape(32, 1), 0, WSE_KIND_ACC);
		p.dsr(3, WSE_SRAM_BASE + 0xb000, shape(32, 4), 0, mem(WSE_DT_FP32));
		p.issue(tcw(0, WSE_TOP_VMOV, 0, 3, 0));
		p.dsr(1, 5, shape(1, 1), 0, WSE_KIND_FABIN);
		p.dsr(2, WSE_SRAM_BASE + DATA, shape(32, 2), shape(16, 64), mem(WSE_DT_BF16));
		p.dsr(4, 9, shape(1, 1), 0, WSE_KIND_FABOUT);
		p.dsr(5, 0, shape(1, 1), 0, WSE_KIND_DOTQ);
		p.dsr(6, 11, shape(1, 1), 0, WSE_KIND_FABIN);
		p.issue(tcw(0, WSE_TOP_DOT, 0, 1, 2), 1);
		p.issue(tcw(2, WSE_TOP_MADD, 4, 6, 5, WSE_TCW_UNTIL_END_MASK));
		p.wait(5);
		p.done();
		p.spin();
		t.svc(5);
		load(t, p);
		t.write(DATA, x.data(), x.size() * 2);
		t.write(0xb000, dy.data(), 128);
		t.out[9].clear();
		t.boot();
		for (unsigned k = 0; k < 16; k++) {
			uint32_t q[8] = { 0 }, v = any(t);

			t.feed(5, k);
			t.feed(11, v);
			for (unsigned e = 0; e < 32; e++)
				q[e % 8] = twin_fadd(
					q[e % 8], twin_fmul(dy[e], uint32_t(x[k * 32 + e]) << 16));
			want.push_back(twin_fadd(v, twin_fadd(twin_fadd(twin_fadd(q[0], q[1]),
									twin_fadd(q[2], q[3])),
							      twin_fadd(twin_fadd(q[4], q[5]),
									twin_fadd(q[6], q[7])))));
		}
		t.feed(5, 1, true);
		bool good = t.finish() && !t.top.faulted_o;
		t.run(10);
		good = good && t.out[9].size() == want.size();
		for (size_t i = 0; good && i < want.size(); i++)
			good = t.out[9][i].data == want[i];
		tap.ok(good, "fabric + DOT queue to the fabric until END");
	}
}

void test_faults(CoreTb &t)
{
	struct {
		const char *what;
		uint32_t op, engine, flags, scalar;
		uint32_t d[4], a[4], b[4];
		uint32_t feed, ctrl, cause, addr, color, value;
	} const list[] = {
#define ACC0 { 0, 8 | 1 << 16, 0, WSE_KIND_ACC }
#define FAB5 { 5, 1, 0, WSE_KIND_FABIN }
#define XMEM { WSE_SRAM_BASE + 0x4000, 8 | 2 << 16, 4 | 16 << 16, WSE_KIND_MEM }
		{"AXPY, k outside", WSE_TOP_AXPY, 0, 0, 1, ACC0, FAB5, XMEM, 4, 0,
		 WSE_CAUSE_STREAM_INDEX, 0, 5, 4},
		{"AXPY, feature outside", WSE_TOP_AXPY, 0, 0, 1, ACC0, FAB5, XMEM, 0x4001, 0,
		 WSE_CAUSE_STREAM_INDEX, 0, 5, 0x4001},
		{"DOT, control without END", WSE_TOP_DOT, 0, 0, 1, ACC0, FAB5, XMEM, 2, 1,
		 WSE_CAUSE_BAD_CTRL, 0, 5, 2},
		{"AXPY, three features", WSE_TOP_AXPY, 0, 0, 3, ACC0, FAB5, XMEM, 0, 0,
		 WSE_CAUSE_BAD_DSR, 0, ~0u, 0},
		{"AXPY, accumulators outside",
		 WSE_TOP_AXPY,
		 0,
		 0,
		 4,
		 {104, 8, 0, WSE_KIND_ACC},
		 FAB5,
		 XMEM,
		 0,
		 0,
		 WSE_CAUSE_OPERAND_ADDR,
		 0,
		 ~0u,
		 0},
		{"AXPY, x outside",
		 WSE_TOP_AXPY,
		 0,
		 0,
		 1,
		 ACC0,
		 FAB5,
		 {0x8000bff0, 8 | 2 << 16, 2 | 16 << 16, WSE_KIND_MEM},
		 0,
		 0,
		 WSE_CAUSE_OPERAND_ADDR,
		 0,
		 ~0u,
		 0},
		{"VADD, address below SRAM",
		 WSE_TOP_VADD,
		 0,
		 0,
		 0,
		 ACC0,
		 ACC0,
		 {0x7ffffff0, 8 | 2 << 16, 0, WSE_KIND_MEM},
		 0,
		 0,
		 WSE_CAUSE_OPERAND_ADDR,
		 0,
		 ~0u,
		 0},
		{"VADD, other shape",
		 WSE_TOP_VADD,
		 0,
		 0,
		 0,
		 ACC0,
		 ACC0,
		 {0, 16 | 1 << 16, 0, WSE_KIND_ACC},
		 0,
		 0,
		 WSE_CAUSE_BAD_DSR,
		 0,
		 ~0u,
		 0},
		{"VADD, unaligned accumulator",
		 WSE_TOP_VADD,
		 0,
		 0,
		 0,
		 {4, 8 | 1 << 16, 0, WSE_KIND_ACC},
		 ACC0,
		 ACC0,
		 0,
		 0,
		 WSE_CAUSE_BAD_DSR,
		 0,
		 ~0u,
		 0},
		{"no such operation", 0x19, 0, 0, 0, ACC0, ACC0, ACC0, 0, 0, WSE_CAUSE_BAD_DSR, 0,
		 ~0u, 0},
		{"a mover's operation on L", WSE_TOP_MOVE, 0, 0, 0, ACC0, ACC0, ACC0, 0, 0,
		 WSE_CAUSE_BAD_DSR, 0, ~0u, 0},
		{"a lane operation on M0", WSE_TOP_VADD, 1, 0, 0, ACC0, ACC0, ACC0, 0, 0,
		 WSE_CAUSE_BAD_DSR, 0, ~0u, 0},
		{"engine 3", WSE_TOP_MOVE, 3, 0, 0, ACC0, ACC0, ACC0, 0, 0, WSE_CAUSE_BAD_DSR, 0,
		 ~0u, 0},
		{"MOVE, length 0",
		 WSE_TOP_MOVE,
		 1,
		 0,
		 0,
		 {0, 0, 0, WSE_KIND_ACC},
		 ACC0,
		 ACC0,
		 0,
		 0,
		 WSE_CAUSE_BAD_DSR,
		 0,
		 ~0u,
		 0},
		{"MOVE, odd bf16 address",
		 WSE_TOP_MOVE,
		 1,
		 0,
		 0,
		 ACC0,
		 {0x80004001, 8 | 2 << 16, 0, WSE_KIND_MEM},
		 ACC0,
		 0,
		 0,
		 WSE_CAUSE_BAD_DSR,
		 0,
		 ~0u,
		 0},
		{"MOVE, accumulator -1",
		 WSE_TOP_MOVE,
		 2,
		 0,
		 0,
		 {6, 8 | 0xffffu << 16, 0, WSE_KIND_ACC},
		 FAB5,
		 ACC0,
		 0,
		 0,
		 WSE_CAUSE_OPERAND_ADDR,
		 0,
		 ~0u,
		 0},
		{"MOVE, color 24",
		 WSE_TOP_MOVE,
		 2,
		 0,
		 0,
		 {24, 8, 0, WSE_KIND_FABOUT},
		 ACC0,
		 ACC0,
		 0,
		 0,
		 WSE_CAUSE_BAD_DSR,
		 0,
		 ~0u,
		 0},
		{"MOVE, memory with UNTIL_END",
		 WSE_TOP_MOVE,
		 2,
		 WSE_TCW_UNTIL_END_MASK,
		 0,
		 {4, 8, 0, WSE_KIND_FABOUT},
		 XMEM,
		 ACC0,
		 0,
		 0,
		 WSE_CAUSE_BAD_DSR,
		 0,
		 ~0u,
		 0},
		{"MOVE, control among elements", WSE_TOP_MOVE, 1, 0, 0, ACC0, FAB5, ACC0, 1, 1,
		 WSE_CAUSE_BAD_CTRL, 0, 5, 1},
		{"MOVE, DSR that was never set",
		 WSE_TOP_MOVE,
		 1,
		 0,
		 0,
		 ACC0,
		 {0, 0, 0, 0},
		 ACC0,
		 0,
		 0,
		 WSE_CAUSE_BAD_DSR,
		 0,
		 ~0u,
		 0},
	};
	for (auto &f : list) {
		Asm p;

		p.dsr(0, f.d[0], f.d[1], f.d[2], f.d[3]);
		p.dsr(1, f.a[0], f.a[1], f.a[2], f.a[3]);
		p.dsr(2, f.b[0], f.b[1], f.b[2], f.b[3]);
		p.issue(tcw(f.engine, f.op, 0, 1, 2, f.flags), f.scalar);
		p.wait(7);
		p.done();
		p.spin();
		t.svc(5);
		load(t, p);
		t.boot();
		t.run(100);
		t.feed(5, f.feed, f.ctrl);
		t.run(300);
		bool good = t.top.faulted_o && !t.top.done_o && t.top.fault_cause_o == f.cause &&
			    t.top.fault_addr_o == f.addr && t.top.fault_color_o == f.color &&
			    t.top.fault_value_o == f.value;
		if (!good)
			printf("# faulted %d cause %x addr %x color %x value %x\n", t.top.faulted_o,
			       t.top.fault_cause_o, t.top.fault_addr_o, t.top.fault_color_o,
			       t.top.fault_value_o);
		tap.ok(good, "fault: %s", f.what);
	}
	t.svc(5);
	t.run(3);
	tap.ok(!t.top.faulted_o && t.top.held_o, "a fault is gone after hold");
}
