// SPDX-License-Identifier: MIT
#include "lockstep_ops.h"

#define TCW(op, dst, src1, src2, engine) \
	((op) | (dst) << 8 | (src1) << 12 | (src2) << 16 | (uint32_t)(engine) << 20)

void op_random_floats(struct rng *r, uint8_t *bytes, uint32_t n)
{
	static const uint32_t special[] = {
		0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f812345,
		0x00000001, 0x807fffff, 0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff, 0x3f800000,
		0xbf800000, 0x00ffffff, 0x3f7fffff, 0x4b000000, 0xcf000000, 0x4effffff,
	};

	for (uint32_t i = 0; i < n; i += 4) {
		uint32_t w = (uint32_t)rng_next(r), k = rng_below(r, 16);

		if (k == 0)
			w = special[rng_below(r, sizeof(special) / 4)];
		else if (k < 8) /* near 1: sums that cancel and round */
			w = (w & 0x807fffff) | (0x3f800000 + (rng_below(r, 24) << 23) - 0x06000000);
		else if (k < 9) /* near the smallest normal number */
			w = (w & 0x80ffffff) | rng_below(r, 4) << 23;
		else if (k < 11) /* half way between two bf16, or next to it */
			w = (w & 0xffff0000) | (0x7fff + rng_below(r, 3));
		memcpy(bytes + i, &w, n - i < 4 ? n - i : 4);
	}
}

void op_dsr(struct code *c, uint32_t n, const uint32_t w[4])
{
	if ((w[3] & 15) < 8 && (w[3] >> 4 & 15) < 3)
		ls_operand[w[3] & 15][w[3] >> 4 & 15]++;
	li(c, 5, w[0]);
	li(c, 6, w[1]);
	put(c, WSE(WSE_F3_DSR, 0, n, 5, 6));
	li(c, 5, w[2]);
	li(c, 6, w[3]);
	put(c, WSE(WSE_F3_DSR, 1, n, 5, 6));
}

/* the scalar operand is in a register */
static void op_issue_reg(struct code *c, uint32_t tcw, uint32_t scalar)
{
	ls_issued[tcw & WSE_TCW_OP_MASK]++;
	li(c, 5, tcw);
	put(c, WSE(WSE_F3_ISSUE, 0, 0, 5, scalar));
}

void op_issue(struct code *c, uint32_t tcw, uint32_t scalar)
{
	li(c, 6, scalar);
	op_issue_reg(c, tcw, 6);
}

void op_route(struct code *c, uint32_t color, uint32_t rx, uint32_t tx)
{
	li(c, 5, color);
	li(c, 6, rx | tx << WSE_ROUTE_TX_SHIFT);
	put(c, WSE(WSE_F3_ROUTE, 0, 0, 5, 6));
}

void op_wait(struct code *c, uint32_t mask)
{
	li(c, 5, mask);
	put(c, WSE(WSE_F3_SYS, WSE_SYSOP_WAIT, 0, 5, 0));
}

/* --- operands --- */

struct opnd {
	uint32_t w[4];
};

static struct opnd fabric(uint32_t kind, uint32_t color)
{
	return (struct opnd){{color, 0, 0, kind}};
}

/* words 1 and 2; a count of one row may also be written as 0 */
static void shape(struct rng *r, struct opnd *o, uint32_t len, int32_t stride, uint32_t rows,
		  int32_t stride1)
{
	if (rows == 1 && rng_chance(r, 50))
		rows = 0;
	o->w[1] = len | (uint32_t)stride << 16;
	o->w[2] = rows | (uint32_t)stride1 << 16;
}

/*
 * A random base in [lo, hi), both multiples of align, so that [first, last] relative to it fits;
 * false: it cannot.
 */
static bool place(struct rng *r, uint32_t lo, uint32_t hi, int32_t first, int32_t last,
		  uint32_t align, uint32_t *at)
{
	int64_t a = (int64_t)lo - first, b = (int64_t)hi - 1 - last;

	a = (a + align - 1) / align;
	b = b < 0 ? -1 : b / align;
	if (b < a)
		return false;
	*at = (uint32_t)(a + rng_below(r, (uint32_t)(b - a + 1))) * align;
	return true;
}

/*
 * An operand of L or a mover in memory [lo, hi) or accumulators [acc_lo, acc_hi), of len x rows
 * elements. lane: the stricter rules of L.
 */
static struct opnd store(struct rng *r, uint32_t lo, uint32_t hi, uint32_t acc_lo, uint32_t acc_hi,
			 uint32_t len, uint32_t rows, bool lane)
{
	for (;;) {
		bool acc = rng_chance(r, 35);
		uint32_t dt = acc ? rng_below(r, 3) : rng_below(r, 3), es = acc			? 1
									    : dt == WSE_DT_BF16 ? 2
												: 4;
		uint32_t align = lane ? (acc ? WSE_LANES : 16) : es, base;
		int32_t stride = (int32_t)es, stride1, first = 0, last = 0;
		struct opnd o;

		if (!lane && rng_chance(r, 40))
			stride = (int32_t)es * ((int32_t)rng_below(r, 7) - 3);
		stride1 = (int32_t)(len * es + align * rng_below(r, 3));
		if (rng_chance(r, 25))
			stride1 = (int32_t)align * ((int32_t)rng_below(r, 9) - 4);
		for (uint32_t i = 0; i < 4; i++) { /* the corners */
			int32_t at = (i & 1 ? (int32_t)(len - 1) * stride : 0) +
				     (i & 2 ? (int32_t)(rows - 1) * stride1 : 0);

			if (!i || at < first)
				first = at;
			if (!i || at > last)
				last = at;
		}
		last += (int32_t)es - 1;
		if (!place(r, acc ? acc_lo : lo, acc ? acc_hi : hi, first, last, align, &base))
			continue;
		o.w[0] = base;
		o.w[3] = (acc ? WSE_KIND_ACC : WSE_KIND_MEM) | dt << 4;
		shape(r, &o, len, stride, rows, stride1);
		return o;
	}
}

static struct opnd lane_store(struct rng *r, uint32_t len, uint32_t rows)
{
	return store(r, OPS_L, OPS_L + OPS_L_BYTES, 0, 64, len, rows, true);
}

/* half 0 or 1 of a mover's memory and accumulators */
static struct opnd mover_store(struct rng *r, uint32_t engine, uint32_t half, uint32_t len,
			       uint32_t rows)
{
	uint32_t m = (engine == WSE_ENGINE_M0 ? OPS_M0 : OPS_M1) + half * OPS_M_HALF;
	uint32_t a = (engine == WSE_ENGINE_M0 ? 64 : 96) + half * 16;

	return store(r, m, m + OPS_M_HALF, a, a + 16, len, rows, false);
}

/* Sets three different DSRs and issues. */
static void run(struct code *c, struct rng *r, uint32_t op, uint32_t engine, uint32_t flags,
		uint32_t scalar, const struct opnd *dst, const struct opnd *src1,
		const struct opnd *src2)
{
	uint32_t d = rng_below(r, 16), a = (d + 1 + rng_below(r, 5)) & 15,
		 b = (a + 1 + rng_below(r, 5)) & 15;

	op_dsr(c, d, dst->w);
	if (src1)
		op_dsr(c, a, src1->w);
	if (src2)
		op_dsr(c, b, src2->w);
	op_issue(c, TCW(op, d, a, b, engine) | flags, scalar);
	/* ISSUE has captured all: later changes of the registers must not matter */
	if (rng_chance(r, 20))
		op_dsr(c, d, (const uint32_t[4]){~0u, ~0u, ~0u, ~0u});
}

/* --- lanes --- */

/* an instruction, and another place for its SRC1 */
struct ins {
	uint32_t op, engine, flags, scalar;
	struct opnd dst, src1, src2, other;
	bool two; /* src2 is an operand */
};

static void run_ins(struct code *c, struct rng *r, const struct ins *i, uint32_t flags)
{
	run(c, r, i->op, i->engine, i->flags | flags, i->scalar, &i->dst, &i->src1,
	    i->two ? &i->src2 : NULL);
}

#define CODE(name, value, kind, expr) value,

static bool is_reduction(uint32_t op)
{
	static const uint8_t ops[] = {WSE_VOPS_REDUCE(CODE)};

	return memchr(ops, (int)op, sizeof(ops));
}

static struct ins vector(struct rng *r)
{
	/* these three are most of what kernels do */
	static const uint8_t ops[] = {WSE_VOPS(CODE) WSE_TOP_VADD, WSE_TOP_VMUL, WSE_TOP_VMAC};
	uint32_t rows = rng_range(r, 1, 4), most = rows > 2 ? 2 : 4;
	/* now and then more than the twin does at an ISSUE */
	uint32_t len = 8 * (rng_chance(r, 6) ? rng_range(r, 9, 16) : rng_range(r, 1, most));
	struct ins i = {.op = ops[rng_below(r, sizeof(ops))], .engine = WSE_ENGINE_L, .two = true};

	i.src1 = lane_store(r, len, rows);
	i.src2 = lane_store(r, len, rows);
	i.other = lane_store(r, len, rows);
	if (is_reduction(i.op))
		i.dst = store(r, OPS_L, OPS_L + OPS_L_BYTES, 0, 64, 1, 1, false);
	else
		i.dst = rng_chance(r, 15) ? i.src1 : lane_store(r, len, rows);
	i.flags = rng_chance(r, 30) ? WSE_TCW_SCALAR_MASK : 0;
	op_random_floats(r, (uint8_t *)&i.scalar, 4);
	return i;
}

void op_vector(struct code *c, struct rng *r)
{
	struct ins i = vector(r);

	run_ins(c, r, &i, 0);
}

/* x[k][t] and B * T accumulators for a stream */
static void stream(struct rng *r, uint32_t B, uint32_t K, struct opnd *x, struct opnd *acc,
		   struct op_shape *s)
{
	uint32_t max = rng_chance(r, 15) || B > 2 ? 64 / B / 8 : 4;
	uint32_t T = 8 * rng_range(r, 1, max), how = rng_below(r, 10), row, at = OPS_L;

	while (K * T * 2 > OPS_L_BYTES)
		T -= 8;
	row = 2 * T + 16 * rng_below(r, 2);
	if (K * row > OPS_L_BYTES)
		row = 2 * T;
	place(r, OPS_L, OPS_L + OPS_L_BYTES, 0, (int32_t)(K * row - 1), 16, &at);
	x->w[0] = at;
	x->w[3] = WSE_KIND_MEM | WSE_DT_BF16 << 4;
	x->w[1] = T | 2 << 16;
	x->w[2] = K | row << 16;
	if (!how) { /* the same row for each k, or the last one first */
		x->w[2] = K;
	} else if (how == 1) {
		x->w[0] += (K - 1) * row;
		x->w[2] = K | (0 - row) << 16;
	}
	place(r, 0, 64, 0, (int32_t)(B * T - 1), 8, &at);
	*acc = (struct opnd){{at, (uint32_t)rng_next(r), (uint32_t)rng_next(r), WSE_KIND_ACC}};
	s->tokens = T;
	s->acc = at;
}

void op_axpy(struct code *c, struct rng *r, uint32_t color, uint32_t B, uint32_t K,
	     struct op_shape *s)
{
	struct opnd in = fabric(WSE_KIND_FABIN, color), x, acc;

	stream(r, B, K, &x, &acc, s);
	run(c, r, WSE_TOP_AXPY, WSE_ENGINE_L, rng_chance(r, 50) ? WSE_TCW_CLEAR_MASK : 0, B, &acc,
	    &in, &x);
}

static void dot(struct code *c, struct rng *r, uint32_t op, uint32_t color, uint32_t B, uint32_t K)
{
	struct opnd in = fabric(WSE_KIND_FABIN, color), x, acc;
	struct op_shape s;

	stream(r, B, K, &x, &acc, &s);
	run(c, r, op, WSE_ENGINE_L, 0, B, &acc, &in, &x);
}

void op_dot(struct code *c, struct rng *r, uint32_t color, uint32_t B, uint32_t K)
{
	dot(c, r, WSE_TOP_DOT, color, B, K);
}

void op_dotx(struct code *c, struct rng *r, uint32_t color, uint32_t B, uint32_t K)
{
	dot(c, r, WSE_TOP_DOTX, color, B, K);
}

/* --- movers --- */

/*
 * MOVE, MADD or MTEE without fabric. Elements go one by one, DST of MTEE first, so operands may
 * overlap, or be the same.
 */
static struct ins local_move(struct rng *r, uint32_t engine)
{
	uint32_t len = rng_range(r, 1, 12), rows = rng_range(r, 1, 3), half = rng_below(r, 2),
		 from = rng_chance(r, 30) ? half : !half;
	static const uint8_t ops[] = {WSE_TOP_MOVE, WSE_TOP_MADD, WSE_TOP_MTEE};
	struct ins i = {.op = ops[rng_below(r, 3)], .engine = engine};

	i.two = i.op != WSE_TOP_MOVE;
	i.src1 = mover_store(r, engine, from, len, rows);
	i.other = mover_store(r, engine, from, len, rows);
	i.dst = mover_store(r, engine, half, len, rows);
	i.src2 = mover_store(r, engine, i.op == WSE_TOP_MADD ? from : half, len, rows);
	if (rng_chance(r, 10))
		i.dst = i.src1;
	if (rng_chance(r, 10))
		i.src2 = i.dst;
	return i;
}

void op_local_move(struct code *c, struct rng *r, uint32_t engine)
{
	struct ins i = local_move(r, engine);

	run_ins(c, r, &i, 0);
}

void op_then(struct code *c, struct rng *r, uint32_t engine, uint32_t flag, uint32_t task)
{
	struct ins i = engine == WSE_ENGINE_L ? vector(r) : local_move(r, engine);

	run_ins(c, r, &i, flag | task << WSE_TCW_TASK_SHIFT);
}

/* SRC1 is in one place in even rounds, which x28 counts, in the other in odd ones */
static void alternate(struct code *c, uint32_t dsr, const struct ins *i)
{
	uint32_t branch, jump;

	put(c, i_type(0x13, 7, 7, 28, 1)); /* andi x7, x28, 1 */
	branch = c->pc;
	c->pc += 4;
	op_dsr(c, dsr, i->src1.w);
	jump = c->pc;
	c->pc += 4;
	put_at(c, branch, b_type(1, 7, 0, (int32_t)(c->pc - branch)));
	op_dsr(c, dsr, i->other.w);
	put_at(c, jump, j_type(0, (int32_t)(c->pc - jump)));
}

void op_loop(struct code *c, struct rng *r)
{
	uint32_t n = rng_range(r, 1, 4), top, k;
	struct ins in[4];

	for (k = 0; k < n; k++) {
		uint32_t engine = rng_below(r, 4); /* half of them vector operations */

		in[k] = engine == WSE_ENGINE_M0 || engine == WSE_ENGINE_M1 ? local_move(r, engine)
									   : vector(r);
		op_dsr(c, 3 * k, in[k].dst.w);
		op_dsr(c, 3 * k + 1, in[k].src1.w);
		if (in[k].two)
			op_dsr(c, 3 * k + 2, in[k].src2.w);
	}
	li(c, 28, rng_range(r, 2, 20));
	top = c->pc;
	for (k = 0; k < n; k++) {
		uint32_t tcw = TCW(in[k].op, 3 * k, 3 * k + 1, 3 * k + 2, in[k].engine);

		if (rng_chance(r, 25))
			alternate(c, 3 * k + 1, &in[k]);
		if (rng_chance(r, 15)) /* the same words once more */
			op_dsr(c, 3 * k, in[k].dst.w);
		if (rng_chance(r, 20)) /* another scalar each time */
			op_issue_reg(c, tcw | in[k].flags, 28);
		else
			op_issue(c, tcw | in[k].flags, in[k].scalar);
	}
	if (rng_chance(r, 50))
		op_wait(c, rng_range(r, 1, 7));
	put(c, ADDI(28, 28, -1));
	put(c, b_type(1, 28, 0, (int32_t)(top - c->pc)));
}

void op_fill_acc(struct code *c, struct rng *r)
{
	/* all 128 from memory, raw */
	struct opnd a = {{OPS_L, WSE_NACC | 4 << 16, 0, WSE_KIND_MEM | WSE_DT_FP32 << 4}};
	struct opnd d = {{0, WSE_NACC | 1 << 16, 0, WSE_KIND_ACC}};

	run(c, r, WSE_TOP_MOVE, WSE_ENGINE_M0, 0, 0, &d, &a, NULL);
	op_wait(c, 7);
}

void op_send(struct code *c, struct rng *r, uint32_t color, uint32_t n, bool end, uint32_t B,
	     uint32_t K)
{
	struct opnd d = fabric(WSE_KIND_FABOUT, color), a, b;
	uint32_t flags = end ? WSE_TCW_SEND_END_MASK : 0, half = rng_below(r, 2);

	if (B) { /* indexed wavelets are written into the mover's own half by scalar stores first */
		uint32_t at = OPS_M0 + half * OPS_M_HALF;

		li(c, 7, at);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t v;

			op_random_floats(r, (uint8_t *)&v, 4);
			li(c, 6, (v & 0xffff0000) | rng_below(r, B) << 14 | rng_below(r, K));
			put(c, SW(6, 7, (int32_t)(4 * i)));
		}
		a = (struct opnd){{at, n | 4 << 16, 0, WSE_KIND_MEM | WSE_DT_I32 << 4}};
		run(c, r, WSE_TOP_MOVE, WSE_ENGINE_M0, flags, 0, &d, &a, NULL);
		return;
	}
	a = mover_store(r, WSE_ENGINE_M0, half, n, 1);
	b = mover_store(r, WSE_ENGINE_M0, half, n, 1);
	if (rng_chance(r, 30))
		run(c, r, WSE_TOP_MADD, WSE_ENGINE_M0, flags, 0, &d, &a, &b);
	else
		run(c, r, WSE_TOP_MOVE, WSE_ENGINE_M0, flags, 0, &d, &a, NULL);
}

void op_receive(struct code *c, struct rng *r, uint32_t color, uint32_t n, bool add)
{
	uint32_t half = rng_below(r, 2), op = add ? WSE_TOP_MADD : WSE_TOP_MOVE;
	struct opnd a = fabric(WSE_KIND_FABIN, color),
		    d = mover_store(r, WSE_ENGINE_M1, half, n, 1);
	struct opnd b = mover_store(r, WSE_ENGINE_M1, rng_chance(r, 30) ? half : !half, n, 1);

	if (!add && rng_chance(r, 25))
		op = WSE_TOP_MTEE;
	else if (rng_chance(r, 15))
		b = d;
	run(c, r, op, WSE_ENGINE_M1, 0, 0, &d, &a, &b);
}

void op_pass(struct code *c, struct rng *r, uint32_t in, uint32_t out, uint32_t n)
{
	struct opnd d = fabric(WSE_KIND_FABOUT, out), a = fabric(WSE_KIND_FABIN, in),
		    b = mover_store(r, WSE_ENGINE_M1, rng_below(r, 2), n, 1);

	d.w[1] = n;
	run(c, r, rng_chance(r, 60) ? WSE_TOP_MADD : WSE_TOP_MTEE, WSE_ENGINE_M1,
	    WSE_TCW_SEND_END_MASK, 0, &d, &a, &b);
}

void op_take_dots(struct code *c, struct rng *r, uint32_t n, int add, int out)
{
	uint32_t half = rng_below(r, 2), rows = n % 2 || rng_chance(r, 50) ? 1 : 2, len = n / rows;
	struct opnd q = fabric(WSE_KIND_DOTQ, 0), d, a;
	bool tee = add < 0 && rng_chance(r, 25), sum = add >= 0 || (!tee && rng_chance(r, 50));

	a = add >= 0 ? fabric(WSE_KIND_FABIN, (uint32_t)add)
		     : mover_store(r, WSE_ENGINE_M1, rng_chance(r, 30) ? half : !half, len, rows);
	if (out < 0) {
		d = mover_store(r, WSE_ENGINE_M1, half, len, rows);
	} else {
		d = fabric(WSE_KIND_FABOUT, (uint32_t)out);
		d.w[1] = len;
		d.w[2] = rows;
	}
	if (tee || (sum && add < 0 && rng_chance(r, 50))) /* the queue is SRC1 */
		run(c, r, tee ? WSE_TOP_MTEE : WSE_TOP_MADD, WSE_ENGINE_M1, 0, 0, &d, &q, &a);
	else
		run(c, r, sum ? WSE_TOP_MADD : WSE_TOP_MOVE, WSE_ENGINE_M1, 0, 0, &d, sum ? &a : &q,
		    sum ? &q : NULL);
}

uint32_t op_send_index(struct code *c, struct rng *r, uint32_t color, uint32_t F, uint32_t K,
		       uint32_t k0, bool end)
{
	struct opnd d = fabric(WSE_KIND_FABOUT, color),
		    a = mover_store(r, WSE_ENGINE_M0, rng_below(r, 2), F, K);

	run(c, r, WSE_TOP_MIDX, WSE_ENGINE_M0, end ? WSE_TCW_SEND_END_MASK : 0, k0, &d, &a, NULL);
	return F * K;
}

void op_drain_dot(struct code *c, struct rng *r, int add, uint32_t out)
{
	struct opnd d = fabric(WSE_KIND_FABOUT, out), q = fabric(WSE_KIND_DOTQ, 0), in;
	uint32_t flags = WSE_TCW_UNTIL_END_MASK | WSE_TCW_SEND_END_MASK;

	d.w[1] = 1; /* one END mark */
	if (add < 0) {
		run(c, r, WSE_TOP_MOVE, WSE_ENGINE_M1, flags, 0, &d, &q, NULL);
		return;
	}
	in = fabric(WSE_KIND_FABIN, (uint32_t)add);
	run(c, r, WSE_TOP_MADD, WSE_ENGINE_M1, flags, 0, &d, &in, &q);
}

void op_forward(struct code *c, struct rng *r, uint32_t in, uint32_t out)
{
	struct opnd d = fabric(WSE_KIND_FABOUT, out), a = fabric(WSE_KIND_FABIN, in);

	d.w[1] = 1;
	run(c, r, WSE_TOP_MOVE, WSE_ENGINE_M1, WSE_TCW_UNTIL_END_MASK | WSE_TCW_SEND_END_MASK, 0,
	    &d, &a, NULL);
}
