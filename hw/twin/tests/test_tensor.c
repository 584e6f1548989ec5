// SPDX-License-Identifier: MIT
/* Vector operations, movers, AXPY and DOT on one core: random ones against one element at a time,
 * and every refusal. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "dev.h"
#include "prog.h"
#include "rig.h"
#include "rnd.h"
#include "softfp.h"
#include "twin/exact/vop.h"
#include "ways.h"

static uint32_t value(void)
{
	static const uint32_t special[] = {0,	       0x80000000, 0x7f800000, 0xff800000,
					   0x7fc00000, 0x7f812345, 1,	       0x807fffff};
	uint32_t r = rnd();

	if (!(r & 31))
		return special[rnd() % 8];
	return r & 64 ? (rnd() & 0x80ffffff) | 0x3f000000
		      : (rnd() & 0x807fffff) | (1 + rnd() % 254) << 23;
}

/* ---- operands of the reference ---- */

struct opnd {
	bool acc;
	uint32_t dtype;
	int32_t base, len, stride, len1, stride1;
};

static uint32_t esize(const struct opnd *o)
{
	return o->acc ? 1 : o->dtype == WSE_DT_BF16 ? 2 : 4;
}

static int32_t where(const struct opnd *o, uint32_t i)
{
	return o->base + (int32_t)(i / o->len) * o->stride1 + (int32_t)(i % o->len) * o->stride;
}

static uint32_t get(const struct rig *r, const struct opnd *o, uint32_t i)
{
	int32_t a = where(o, i);
	uint32_t v;
	uint16_t h;

	if (o->acc)
		return r->want_acc[a];
	if (o->dtype == WSE_DT_BF16) {
		memcpy(&h, r->want + a, 2);
		return (uint32_t)h << 16;
	}
	memcpy(&v, r->want + a, 4);
	return v;
}

static void set(struct rig *r, const struct opnd *o, uint32_t i, uint32_t v)
{
	int32_t a = where(o, i);
	uint16_t h = soft_bf16(v);

	if (o->acc)
		r->want_acc[a] = v;
	else if (o->dtype == WSE_DT_BF16)
		memcpy(r->want + a, &h, 2);
	else
		memcpy(r->want + a, &v, 4);
}

static void emit(struct code *c, unsigned int n, const struct opnd *o)
{
	dsr(c, n, o->acc ? (uint32_t)o->base : WSE_SRAM_BASE + (uint32_t)o->base,
	    d1(o->len, o->stride), d1(o->len1, o->stride1),
	    kind(o->acc ? WSE_KIND_ACC : WSE_KIND_MEM, o->dtype));
}

/* all accumulators from memory at 0x9000 */
static void load_acc(struct rig *r, struct code *c)
{
	struct opnd a = {true, 0, 0, 128, 1, 1, 0}, m = {false, WSE_DT_FP32, 0x9000, 128, 4, 1, 0};
	uint32_t i, v;

	for (i = 0; i < 128; i++) {
		v = value();
		memcpy(r->image + 0x9000 + i * 4, &v, 4);
		r->want_acc[i] = v;
	}
	emit(c, 14, &a);
	emit(c, 15, &m);
	issue(c, tcw(WSE_ENGINE_M0, WSE_TOP_MOVE, 14, 15, 0), 0);
	wait_engines(c, 2);
}

static void fill(struct rig *r)
{
	uint32_t i, v;

	for (i = 0; i < 0x8000; i += 4) {
		v = value();
		memcpy(r->image + i, &v, 4);
	}
}

static bool same(struct rig *r, uint32_t from, uint32_t to)
{
	return !memcmp(r->got + from, r->want + from, to - from) &&
	       !memcmp(r->acc, r->want_acc, sizeof(r->acc));
}

/* ---- vector operations ---- */

static bool soft_gt(uint32_t a, uint32_t b)
{
	int32_t x, y;

	if (soft_nan(a) || soft_nan(b))
		return false;
	a = soft_flush(a);
	b = soft_flush(b);
	/* sign and magnitude as two's complement */
	x = a >> 31 ? -(int32_t)(a & 0x7fffffff) : (int32_t)a;
	y = b >> 31 ? -(int32_t)(b & 0x7fffffff) : (int32_t)b;
	return x > y;
}

static uint32_t soft_canon(uint32_t u)
{
	return soft_nan(u) ? 0x7fc00000u : soft_flush(u);
}

static uint32_t soft_f2i(uint32_t u)
{
	int exp = (int)(u >> 23 & 0xff) - 150;
	uint64_t m = (u & 0x7fffff) | 0x800000, rest;

	if (soft_nan(u))
		return 0x80000000u;
	if (!(u & 0x7f800000))
		return 0;
	if (exp >= 8)
		return u >> 31 ? 0x80000000u : 0x7fffffffu;
	if (exp >= 0) {
		m <<= exp;
	} else if (exp < -30) {
		m = 0;
	} else {
		rest = m & ((1ull << -exp) - 1);
		m >>= -exp;
		if (rest > 1ull << (-exp - 1) || (rest == 1ull << (-exp - 1) && m & 1))
			m++;
	}
	return u >> 31 ? -(uint32_t)m : (uint32_t)m;
}

static uint32_t soft_i2f(uint32_t i)
{
	return i ? soft_round(i & 0x80000000u, i >> 31 ? -i : i, 0) : 0;
}

/* An element of each operation, once more and by other means than the rows of wse.regs. */
static uint32_t apply(uint32_t op, uint32_t d, uint32_t a, uint32_t b)
{
	switch (op) {
	case WSE_TOP_VADD:
		return soft_add(a, b);
	case WSE_TOP_VSUB:
		return soft_add(a, b ^ 0x80000000u);
	case WSE_TOP_VMUL:
		return soft_mul(a, b);
	case WSE_TOP_VMAC:
		return soft_add(d, soft_mul(a, b));
	case WSE_TOP_VMAX:
		return soft_canon(soft_gt(a, b) ? a : b);
	case WSE_TOP_VMIN:
		return soft_canon(soft_gt(b, a) ? a : b);
	case WSE_TOP_VMOV:
		return a;
	case WSE_TOP_VGATE:
		return soft_gt(a, 0) ? b : 0;
	case WSE_TOP_VCGT:
		return soft_gt(a, b) ? ~0u : 0;
	case WSE_TOP_VIADD:
		return a + b;
	case WSE_TOP_VISUB:
		return a - b;
	case WSE_TOP_VAND:
		return a & b;
	case WSE_TOP_VOR:
		return a | b;
	case WSE_TOP_VXOR:
		return a ^ b;
	case WSE_TOP_VSHL:
		return a << (b & 31);
	case WSE_TOP_VSHR:
		return a >> (b & 31);
	case WSE_TOP_VSRA:
		return (uint32_t)((int32_t)a >> (b & 31));
	case WSE_TOP_VF2I:
		return soft_f2i(a);
	case WSE_TOP_VI2F:
		return soft_i2f(a);
	}
	printf("Bail out! This test does not know operation 0x%x of uapi/wse/wse.regs\n", op);
	exit(1);
}

static struct opnd lane_opnd(unsigned int n, uint32_t len, uint32_t len1)
{
	struct opnd o = {.len = len, .len1 = len1};
	bool rep = !(rnd() & 3);

	o.acc = !(rnd() & 3) && len * (rep ? 1 : len1) <= 128;
	o.dtype = rnd() % 3;
	o.stride = esize(&o);
	if (o.acc) {
		o.stride1 = rep ? 0 : (int32_t)len;
		o.base = rnd() % ((128 - (rep ? len : len * len1)) / 8 + 1) * 8;
	} else {
		o.stride1 = rep ? 0 : (int32_t)((len * esize(&o) + 15) / 16 * 16 + rnd() % 3 * 16);
		o.base = 0x2000 * (int32_t)n + (int32_t)(rnd() % 16) * 16;
	}
	return o;
}

/* an operand that d's results run into, or that runs into them: its rows lie a little off d's */
static struct opnd near_opnd(const struct opnd *d)
{
	struct opnd o = *d;

	if (d->acc) {
		o.base = d->base / 8 * 8;
		o.stride1 = rnd() & 1 ? 0 : d->stride1;
		o.base -= o.base >= 8 ? rnd() % 2 * 8 : 0;
		return o;
	}
	if (rnd() & 1)
		o.dtype = rnd() % 3;
	o.stride = esize(&o);
	if (rnd() & 1)
		o.stride1 = rnd() & 1 ? 0 : (int32_t)(d->len * o.stride + 15) / 16 * 16;
	o.base += (int32_t)(rnd() % 9) * 16 - 64;
	return o;
}

enum place { APART, IN_PLACE, NEAR };

#define CODE(name, value, kind, expr) value,

static bool vector_case(struct rig *r, enum place place)
{
	static const uint8_t ops[] = {WSE_VOPS_ELEMENTS(CODE)};
	uint32_t op = ops[rnd() % sizeof(ops)], len = 8 * (1 + rnd() % 6), len1 = 1 + rnd() % 6, g,
		 l, s, bits;
	struct opnd d = lane_opnd(0, len, len1), a = lane_opnd(1, len, len1),
		    b = lane_opnd(2, len, len1);
	bool scalar = !(rnd() & 3), unary = twin_vop_kind(op) == TWIN_VOP_UNARY;
	uint32_t v[8];
	struct wse_core_state st;
	struct code c;

	if (place == NEAR) {
		d.base += d.acc ? 0 : 0x100;
		if (rnd() & 1)
			b = near_opnd(&d);
		a = near_opnd(&d);
	} else if (place == IN_PLACE) {
		a = d;
	}
	fill(r);
	c = rig_code(r);
	load_acc(r, &c);
	emit(&c, 0, &d);
	emit(&c, 1, &a);
	emit(&c, 2, &b);
	s = value();
	issue(&c, tcw(WSE_ENGINE_L, op, 0, 1, 2) | (scalar ? WSE_TCW_SCALAR_MASK : 0), s);
	wait_engines(&c, 1);
	park(&c);
	memcpy(r->want, r->image, sizeof(r->want));
	for (g = 0; g < len * len1; g += 8) {
		for (l = 0; l < 8; l++)
			v[l] = apply(op, get(r, &d, g + l), get(r, &a, g + l),
				     scalar  ? s
				     : unary ? 0
					     : get(r, &b, g + l));
		for (l = 0; l < 8; l++)
			set(r, &d, g + l, v[l]);
	}
	rig_run(r, &st);
	bits = same(r, 0, 0x9000) && st.run == WSE_CORE_RUNNING;
	if (!bits)
		printf("# op 0x%x dst %s type %u len %u len1 %u\n", op, d.acc ? "acc" : "mem",
		       d.dtype, len, len1);
	return bits;
}

static bool reduce_case(struct rig *r)
{
	bool max = rnd() & 1;
	uint32_t len = 8 * (1 + rnd() % 6), len1 = 1 + rnd() % 6, i, p[8], n;
	struct opnd d = {.acc = rnd() & 1, .dtype = rnd() % 3, .len = 1, .len1 = rnd() & 1},
		    a = lane_opnd(1, len, len1);
	struct wse_core_state st;
	struct code c;

	d.base = d.acc ? rnd() % 128 : (rnd() % 64) * 4;
	fill(r);
	c = rig_code(r);
	load_acc(r, &c);
	emit(&c, 0, &d);
	emit(&c, 1, &a);
	issue(&c, tcw(WSE_ENGINE_L, max ? WSE_TOP_VRMAX : WSE_TOP_VRSUM, 0, 1, 2), 0);
	wait_engines(&c, 1);
	park(&c);
	memcpy(r->want, r->image, sizeof(r->want));
	for (i = 0; i < 8; i++)
		p[i] = max ? 0xff800000u : 0;
	for (i = 0; i < len * len1; i++)
		p[i % 8] = max ? apply(WSE_TOP_VMAX, 0, p[i % 8], get(r, &a, i))
			       : soft_add(p[i % 8], get(r, &a, i));
	for (n = 8; n > 1; n /= 2)
		for (i = 0; i < n / 2; i++)
			p[i] = max ? apply(WSE_TOP_VMAX, 0, p[2 * i], p[2 * i + 1])
				   : soft_add(p[2 * i], p[2 * i + 1]);
	d.len1 = 1;
	set(r, &d, 0, p[0]);
	rig_run(r, &st);
	return same(r, 0, 0x9000) && st.run == WSE_CORE_RUNNING;
}

/* ---- movers ---- */

static struct opnd mover_opnd(unsigned int n, uint32_t len, uint32_t len1)
{
	struct opnd o = {.len = len, .len1 = len1};

	o.acc = !(rnd() & 3) && len * len1 <= 64;
	o.dtype = rnd() % 3;
	if (o.acc) {
		o.stride = 1 + (int32_t)(rnd() & 1);
		o.stride1 = (int32_t)len * o.stride;
		o.base = 0;
		if (rnd() & 1) { /* backwards */
			o.base = (int32_t)(len - 1) * o.stride;
			o.stride = -o.stride;
		}
	} else {
		o.stride = (int32_t)(esize(&o) * (1 + rnd() % 4));
		o.stride1 = rnd() & 3 ? (int32_t)len * o.stride : 0;
		o.base = 0x2000 * (int32_t)n + 0x800 + (int32_t)(rnd() % 16) * 4;
		if (!(rnd() & 3))
			o.stride = -o.stride;
	}
	return o;
}

static bool mover_case(struct rig *r, bool fabric)
{
	uint32_t op = WSE_TOP_MOVE + rnd() % 3, len = 1 + rnd() % 40, len1 = 1 + rnd() % 4, i, v;
	struct opnd d = mover_opnd(0, len, len1), a = mover_opnd(1, len, len1),
		    b = mover_opnd(2, len, len1);
	struct wse_core_state st;
	struct code c;

	fill(r);
	c = rig_code(r);
	load_acc(r, &c);
	/* reading and writing accumulators of one instruction must not depend on timing */
	if (a.acc && (d.acc || b.acc))
		a.acc = false, a.base = 0x2800, a.stride = 4, a.stride1 = 0x100,
		a.dtype = WSE_DT_FP32;
	if (d.acc && b.acc)
		b.acc = false, b.base = 0x4800, b.stride = 4, b.stride1 = 0x100,
		b.dtype = WSE_DT_FP32;
	emit(&c, 0, &d);
	emit(&c, 1, &a);
	emit(&c, 2, &b);
	if (fabric) {
		/* mover 1 sends SRC1 to color 9, which comes back; mover 0 takes it from there */
		route(&c, 9, WSE_PORT_R, 1u << WSE_PORT_R);
		dsr(&c, 3, 9, 0, 0, kind(WSE_KIND_FABOUT, 0));
		dsr(&c, 4, 9, 0, 0, kind(WSE_KIND_FABIN, 0));
		issue(&c, tcw(WSE_ENGINE_M1, WSE_TOP_MOVE, 3, 1, 0), 0);
		issue(&c, tcw(WSE_ENGINE_M0, op, 0, 4, 2), 0);
	} else {
		issue(&c, tcw(WSE_ENGINE_M0, op, 0, 1, 2), 0);
	}
	wait_engines(&c, 6);
	park(&c);
	memcpy(r->want, r->image, sizeof(r->want));
	for (i = 0; i < len * len1; i++) {
		v = get(r, &a, i);
		if (op == WSE_TOP_MADD)
			v = soft_add(v, get(r, &b, i));
		set(r, &d, i, v);
		if (op == WSE_TOP_MTEE)
			set(r, &b, i, v);
	}
	rig_run(r, &st);
	if (same(r, 0, 0x9000) && st.run == WSE_CORE_RUNNING)
		return true;
	printf("# mover op 0x%x len %u len1 %u dst %s src %s run %u cause 0x%x\n", op, len, len1,
	       d.acc ? "acc" : "mem", a.acc ? "acc" : "mem", st.run, st.fault_cause);
	return false;
}

/* ---- AXPY and DOT from a loop of the core's own ---- */

static bool stream_case(struct rig *r, bool dot)
{
	static const uint8_t feats[3] = {1, 2, 4};
	uint32_t nb = feats[rnd() % 3], t = 8 * (1 + rnd() % (16 / nb)), k = 1 + rnd() % 20,
		 n = rnd() % 40, i, j, w;
	struct opnd x = {false, WSE_DT_BF16, 0x1000, (int32_t)t, 2, (int32_t)k, (int32_t)t * 2};
	struct opnd src = {false, WSE_DT_I32, 0x4000, (int32_t)n, 4, 1, 0};
	struct wse_core_state st;
	struct code c;

	fill(r);
	c = rig_code(r);
	load_acc(r, &c);
	for (i = 0; i < n; i++) {
		w = (value() & 0xffff0000u) | (rnd() % nb) << 14 | rnd() % k;
		memcpy(r->image + 0x4000 + i * 4, &w, 4);
	}
	emit(&c, 0, &x);
	emit(&c, 1, &src);
	route(&c, 9, WSE_PORT_R, 1u << WSE_PORT_R);
	route(&c, 10, WSE_PORT_R, 1u << WSE_PORT_R);
	dsr(&c, 2, 9, 0, 0, kind(WSE_KIND_FABOUT, 0));
	dsr(&c, 3, 9, 0, 0, kind(WSE_KIND_FABIN, 0));
	dsr(&c, 4, 0, 0, 0, kind(WSE_KIND_ACC, 0));
	dsr(&c, 5, 0, 0, 0, kind(WSE_KIND_DOTQ, 0));
	dsr(&c, 6, 10, d1(1, 0), 0, kind(WSE_KIND_FABOUT, 0));
	issue(&c, tcw(WSE_ENGINE_L, dot ? WSE_TOP_DOT : WSE_TOP_AXPY, 4, 3, 0), nb);
	if (dot)
		issue(&c, tcw(WSE_ENGINE_M0, WSE_TOP_MOVE, 6, 5, 0) | WSE_TCW_UNTIL_END_MASK, 0);
	if (n)
		issue(&c, tcw(WSE_ENGINE_M1, WSE_TOP_MOVE, 2, 1, 0) | WSE_TCW_SEND_END_MASK, 0);
	else
		send(&c, WSE_CTRLW_END_MASK, 9, true);
	for (i = 0; dot && i < n; i++)
		recv(&c, 10, WSE_SRAM_BASE + 0x6000 + i * 4);
	wait_engines(&c, 7);
	park(&c);
	memcpy(r->want, r->image, sizeof(r->want));
	for (i = 0; i < n; i++) {
		uint32_t lane[8] = {0}, f, kk;

		memcpy(&w, r->want + 0x4000 + i * 4, 4);
		f = w >> 14 & 3;
		kk = w & 0x3fff;
		for (j = 0; j < t; j++) {
			uint32_t xv = get(r, &x, kk * t + j), *a = &r->want_acc[f * t + j];

			if (dot)
				lane[j % 8] = soft_add(lane[j % 8], soft_mul(*a, xv));
			else
				*a = soft_add(*a, soft_mul(w & 0xffff0000u, xv));
		}
		if (dot) {
			w = soft_add(
				soft_add(soft_add(lane[0], lane[1]), soft_add(lane[2], lane[3])),
				soft_add(soft_add(lane[4], lane[5]), soft_add(lane[6], lane[7])));
			memcpy(r->want + 0x6000 + i * 4, &w, 4);
		}
	}
	rig_run(r, &st);
	if (!dot) /* a NaN that no wavelet touched may have become canonical */
		for (i = 0; i < 128; i++)
			if (soft_nan(r->acc[i]) && soft_nan(r->want_acc[i]))
				r->acc[i] = r->want_acc[i];
	if (same(r, 0, 0x9000) && st.run == WSE_CORE_RUNNING)
		return true;
	printf("# %s nb %u t %u k %u n %u: run %u cause 0x%x pc 0x%x\n", dot ? "dot" : "axpy", nb,
	       t, k, n, st.run, st.fault_cause, st.pc);
	return false;
}

static void test_random(struct rig *r, const char *how, unsigned int n)
{
	unsigned int i, bad[8] = {0};

	for (i = 0; i < n; i++) {
		bad[0] += !vector_case(r, APART);
		bad[1] += !vector_case(r, IN_PLACE);
		bad[7] += !vector_case(r, NEAR);
		bad[2] += !reduce_case(r);
		bad[3] += !mover_case(r, false);
		bad[4] += !mover_case(r, true);
		bad[5] += !stream_case(r, false);
		bad[6] += !stream_case(r, true);
	}
	ok(!bad[0], "%s: %u vector operations, %u wrong", how, n, bad[0]);
	ok(!bad[1], "%s: %u in place, %u wrong", how, n, bad[1]);
	ok(!bad[7], "%s: %u from near where they write, %u wrong", how, n, bad[7]);
	ok(!bad[2], "%s: %u reductions, %u wrong", how, n, bad[2]);
	ok(!bad[3], "%s: %u moves, %u wrong", how, n, bad[3]);
	ok(!bad[4], "%s: %u moves through the fabric, %u wrong", how, n, bad[4]);
	ok(!bad[5], "%s: %u AXPY streams, %u wrong", how, n, bad[5]);
	ok(!bad[6], "%s: %u DOT streams, %u wrong", how, n, bad[6]);
}

int main(void)
{
	static struct twin_ways ways, none;
	static struct rig fast, exact;

	if (!ok(rig_open(&fast, 0) && rig_open(&exact, WSE_MACHINE_EXACT), "two twins"))
		return tap_end();
	test_random(&fast, "runs", 400);
	test_random(&exact, "one by one", 400);
	ways_add(&ways, fast.m);
	ways_add(&none, exact.m);
	went(&ways, known, 1000);
	went(&ways, runs, 100);
	went(&ways, quick, 500);
	went_none(&none);
	fast.ops->destroy(fast.m);
	exact.ops->destroy(exact.m);
	return tap_end();
}
