// SPDX-License-Identifier: MIT
/* Tensor instructions that break a rule of operands, and streams that carry what they must not. */
#include <stdbool.h>
#include <string.h>

#include "check.h"
#include "prog.h"
#include "rig.h"
#include "twin/exact/vop.h"

/* cause 0: it is not refused */
static bool gives(struct rig *r, uint32_t cause, uint32_t control, uint32_t scalar,
		  const uint32_t d[3][4])
{
	struct wse_core_state st;
	struct code c = rig_code(r);
	unsigned int i;
	bool good;

	for (i = 0; i < 3; i++)
		dsr(&c, i, d[i][0], d[i][1], d[i][2], d[i][3]);
	issue(&c, control | tcw(0, 0, 0, 1, 2), scalar);
	wait_engines(&c, 7);
	park(&c);
	rig_run(r, &st);
	good = cause ? st.run == WSE_CORE_FAULTED && st.fault_cause == cause
		     : st.run == WSE_CORE_RUNNING;
	if (!good)
		printf("# control 0x%x: run %u cause 0x%x want 0x%x\n", control, st.run,
		       st.fault_cause, cause);
	return good;
}

static void refusal(struct rig *r, const char *name, uint32_t cause, uint32_t control,
		    uint32_t scalar, const uint32_t d[3][4])
{
	ok(gives(r, cause, control, scalar, d), "%s", name);
}

#define MEM(off, len, st, len1, st1, dt)                                         \
	{                                                                        \
		WSE_SRAM_BASE + (off), (len) | (uint32_t)(st) << 16,             \
			(len1) | (uint32_t)(st1) << 16, WSE_KIND_MEM | (dt) << 4 \
	}
#define ACC(base, len, st, len1, st1)                                                            \
	{                                                                                        \
		base, (len) | (uint32_t)(st) << 16, (len1) | (uint32_t)(st1) << 16, WSE_KIND_ACC \
	}
#define FAB(k, color, len)       \
	{                        \
		color, len, 0, k \
	}
#define DQ(len)                          \
	{                                \
		0, len, 0, WSE_KIND_DOTQ \
	}
#define OFF                \
	{                  \
		0, 0, 0, 0 \
	}
#define D(...)                 \
	(const uint32_t[3][4]) \
	{                      \
		__VA_ARGS__    \
	}

static void test_refusals(struct rig *r)
{
	const uint32_t bad = WSE_CAUSE_BAD_DSR, addr = WSE_CAUSE_OPERAND_ADDR;
	const uint32_t l = WSE_ENGINE_L << WSE_TCW_ENGINE_SHIFT,
		       m0 = WSE_ENGINE_M0 << WSE_TCW_ENGINE_SHIFT;
	const uint32_t add = l | WSE_TOP_VADD, mov = m0 | WSE_TOP_MOVE, axpy = l | WSE_TOP_AXPY;
	const uint32_t fi = WSE_KIND_FABIN, fo = WSE_KIND_FABOUT;
	uint32_t op;
	bool good;

	refusal(r, "a good one", 0, add, 0,
		D(MEM(0, 8, 4, 1, 0, 1), MEM(32, 8, 4, 1, 0, 1), MEM(64, 8, 4, 1, 0, 1)));
	for (op = 0, good = true; op <= WSE_TCW_OP_MASK; op++) {
		if (twin_vop_kind(op) == TWIN_VOP_NONE)
			good &= gives(r, bad, l | op, 0,
				      D(MEM(0, 8, 4, 1, 0, 1), MEM(32, 8, 4, 1, 0, 1),
					MEM(64, 8, 4, 1, 0, 1)));
	}
	ok(good, "operations that there are not, or not for operands in memory");
	refusal(r, "a mover's operation on the lanes", bad, l | WSE_TOP_MOVE, 0, D(OFF, OFF, OFF));
	refusal(r, "a vector operation on a mover", bad, m0 | WSE_TOP_VADD, 0,
		D(MEM(0, 8, 4, 1, 0, 1), MEM(32, 8, 4, 1, 0, 1), MEM(64, 8, 4, 1, 0, 1)));
	refusal(r, "engine 3", bad, 3u << WSE_TCW_ENGINE_SHIFT | WSE_TOP_VADD, 0, D(OFF, OFF, OFF));
	refusal(r, "lanes: length no multiple", bad, add, 0,
		D(MEM(0, 12, 4, 1, 0, 1), MEM(64, 12, 4, 1, 0, 1), MEM(128, 12, 4, 1, 0, 1)));
	refusal(r, "lanes: stride", bad, add, 0,
		D(MEM(0, 8, 8, 1, 0, 1), MEM(64, 8, 4, 1, 0, 1), MEM(128, 8, 4, 1, 0, 1)));
	refusal(r, "lanes: base", bad, add, 0,
		D(MEM(8, 8, 4, 1, 0, 1), MEM(64, 8, 4, 1, 0, 1), MEM(128, 8, 4, 1, 0, 1)));
	refusal(r, "lanes: shapes differ", bad, add, 0,
		D(MEM(0, 8, 4, 1, 0, 1), MEM(64, 16, 4, 1, 0, 1), MEM(128, 8, 4, 1, 0, 1)));
	refusal(r, "lanes: length 0", bad, add, 0,
		D(MEM(0, 0, 4, 1, 0, 1), MEM(64, 0, 4, 1, 0, 1), MEM(128, 0, 4, 1, 0, 1)));
	refusal(r, "lanes: reserved type", bad, add, 0,
		D(MEM(0, 8, 2, 1, 0, 3), MEM(64, 8, 4, 1, 0, 1), MEM(128, 8, 4, 1, 0, 1)));
	refusal(r, "lanes: fabric operand", bad, add, 0,
		D(MEM(0, 8, 4, 1, 0, 1), FAB(fi, 1, 8), MEM(128, 8, 4, 1, 0, 1)));
	refusal(r, "lanes: reserved kind", bad, add, 0,
		D(MEM(0, 8, 4, 1, 0, 1), FAB(6, 1, 8), MEM(128, 8, 4, 1, 0, 1)));
	refusal(r, "lanes: accumulators at 4", bad, add, 0,
		D(ACC(4, 8, 1, 1, 0), ACC(8, 8, 1, 1, 0), ACC(16, 8, 1, 1, 0)));
	refusal(r, "lanes: out of the accumulators", addr, add, 0,
		D(ACC(120, 16, 1, 1, 0), ACC(8, 16, 1, 1, 0), ACC(16, 16, 1, 1, 0)));
	refusal(r, "lanes: out of the SRAM", addr, add, 0,
		D(MEM(WSE_SRAM_BYTES - 16, 8, 4, 1, 0, 1), MEM(64, 8, 4, 1, 0, 1),
		  MEM(128, 8, 4, 1, 0, 1)));
	refusal(r, "lanes: rows run below the SRAM", addr, add, 0,
		D(MEM(0, 8, 4, 2, -32, 1), MEM(64, 8, 4, 2, 0, 1), MEM(128, 8, 4, 2, 0, 1)));
	refusal(r, "mover: odd bf16 address", bad, mov, 0,
		D(MEM(1, 8, 2, 1, 0, 0), MEM(64, 8, 4, 1, 0, 1), OFF));
	refusal(r, "mover: odd bf16 stride", bad, mov, 0,
		D(MEM(0, 8, 3, 1, 0, 0), MEM(64, 8, 4, 1, 0, 1), OFF));
	refusal(r, "mover: 32 bits at 2", bad, mov, 0,
		D(MEM(2, 8, 4, 1, 0, 1), MEM(64, 8, 4, 1, 0, 1), OFF));
	refusal(r, "mover: color 24", bad, mov, 0, D(MEM(0, 8, 4, 1, 0, 1), FAB(fi, 24, 8), OFF));
	refusal(r, "mover: fabric out as a source", bad, mov, 0,
		D(MEM(0, 8, 4, 1, 0, 1), FAB(fo, 1, 8), OFF));
	refusal(r, "mover: SEND_END to memory", bad, mov | WSE_TCW_SEND_END_MASK, 0,
		D(MEM(0, 8, 4, 1, 0, 1), MEM(64, 8, 4, 1, 0, 1), OFF));
	refusal(r, "mover: UNTIL_END from memory", bad, mov | WSE_TCW_UNTIL_END_MASK, 0,
		D(FAB(fo, 1, 8), MEM(64, 8, 4, 1, 0, 1), OFF));
	refusal(r, "mover: fabric to fabric of length 0", bad, mov, 0,
		D(FAB(fo, 1, 0), FAB(fi, 2, 0), OFF));
	refusal(r, "mover: two DOT queues", bad, m0 | WSE_TOP_MADD, 0,
		D(FAB(fo, 1, 8), DQ(8), DQ(8)));
	refusal(r, "mover: tee to the fabric twice", bad, m0 | WSE_TOP_MTEE, 0,
		D(FAB(fo, 1, 8), MEM(64, 8, 4, 1, 0, 1), FAB(fo, 2, 8)));
	refusal(r, "mover: backwards below the SRAM", addr, mov, 0,
		D(MEM(8, 8, -4, 1, 0, 1), MEM(64, 8, 4, 1, 0, 1), OFF));
	refusal(r, "AXPY: three features", bad, axpy, 3,
		D(ACC(0, 0, 0, 0, 0), FAB(fi, 1, 0), MEM(0, 8, 2, 4, 16, 0)));
	refusal(r, "AXPY: binary32 operand", bad, axpy, 1,
		D(ACC(0, 0, 0, 0, 0), FAB(fi, 1, 0), MEM(0, 8, 4, 4, 32, 1)));
	refusal(r, "AXPY: out of the accumulators", addr, axpy, 4,
		D(ACC(8, 0, 0, 0, 0), FAB(fi, 1, 0), MEM(0, 32, 2, 4, 64, 0)));
	refusal(r, "AXPY: a source in memory", bad, axpy, 1,
		D(ACC(8, 0, 0, 0, 0), MEM(0, 8, 2, 4, 16, 0), MEM(0, 8, 2, 4, 16, 0)));
}

static void test_stream_faults(struct rig *r)
{
	static const struct {
		uint32_t w;
		bool ctrl;
		uint32_t cause;
		const char *name;
	} t[] = {
		{0x3f804000, false, WSE_CAUSE_STREAM_INDEX, "a feature outside"},
		{0x3f800004, false, WSE_CAUSE_STREAM_INDEX, "an index outside"},
		{2, true, WSE_CAUSE_BAD_CTRL, "a control wavelet that is no END"},
		{0x3f800003, false, 0, "a good one"},
	};
	struct wse_core_state st;
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(*t); i++) {
		struct code c = rig_code(r);

		route(&c, 9, WSE_PORT_R, 1u << WSE_PORT_R);
		dsr(&c, 0, 0, 0, 0, kind(WSE_KIND_ACC, 0));
		dsr(&c, 1, 9, 0, 0, kind(WSE_KIND_FABIN, 0));
		dsr(&c, 2, WSE_SRAM_BASE, d1(8, 2), d1(4, 16), kind(WSE_KIND_MEM, WSE_DT_BF16));
		issue(&c, tcw(WSE_ENGINE_L, WSE_TOP_AXPY, 0, 1, 2), 1);
		send(&c, t[i].w, 9, t[i].ctrl);
		send(&c, WSE_CTRLW_END_MASK, 9, true);
		wait_engines(&c, 1);
		park(&c);
		rig_run(r, &st);
		ok(t[i].cause ? st.run == WSE_CORE_FAULTED && st.fault_cause == t[i].cause
			      : st.run == WSE_CORE_RUNNING,
		   "AXPY gets %s", t[i].name);
	}
}

int main(void)
{
	static struct rig fast, exact;

	if (!ok(rig_open(&fast, 0) && rig_open(&exact, WSE_MACHINE_EXACT), "two twins"))
		return tap_end();
	test_refusals(&fast);
	test_stream_faults(&fast);
	test_stream_faults(&exact);
	fast.ops->destroy(fast.m);
	exact.ops->destroy(exact.m);
	return tap_end();
}
