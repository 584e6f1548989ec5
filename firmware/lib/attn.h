/* SPDX-License-Identifier: MIT */
/*
 * Causal attention, forward (entry attn, struct wse_attn_args); the parts that attn_back.h shares. What it computes,
 * sum by sum: libwse/ops/attn.h.
 *
 * A column owns whole heads, a sequence lies in rho = s / t neighbouring rows, tokens ascending southward. A core
 * needs the keys and values of its own row and of the rows north of it. Each row sends its own with MIDX, as a weight
 * stream that reaches its own lanes and all rows to the south at once, and AXPY takes it:
 *   scores [key][t]: f = key, k = feature, x = q [d][t]	(attn_scores)
 *   o [feature][t]:  f = feature, k = key, x = P [key][t]	(attn_sums)
 *
 * Rounds: in a round each row of the sequence sends once, north to south. Row i takes what comes from the north until
 * the rows above have had their turn (i x the same number of blocks), waits for its lanes, routes the color to its own
 * ramp and sends. A row above may be in the next round by then, so rounds alternate between two colors, and a color is
 * given back to the north at the own turn of the round after: row i has then taken parts of this round that went on to
 * row i + 1 as well, more wavelets than the two queues there hold, so row i + 1 is through with the round before.
 * A part is at least 8 x 4 wavelets, the queues hold 2 CHAN_DEPTH.
 *
 * No deadlock: every core does (head, product, round, row that sends, block) in one and the same order. A step waits
 * for its data, that is for the same step of a row to the north, or for room, that is for the same or an earlier step
 * of a row to the south. So of the cores that are not done, the one with the earliest step (of several, that which
 * sends in this step) can always go on. Nothing here waits for the host or for another column.
 */
#ifndef WSE_ATTN_H
#define WSE_ATTN_H

#include "kernel.h"
#include "vec.h"

/* beside vec.h's */
enum { T_IN = V4, T_X = V5, T_ACC = V6, T_OUT = V7, T_SRC = 12, T_DST = 13, T_ROW = 14, T_MSK = 15 };

static struct {
	uint32_t row, rho;	/* place in the sequence; rows of it */
	uint32_t t, d;
	uint32_t b, bt;		/* features of a block; sums of a block */
	uint32_t wide;		/* features whose sums the accumulators hold: a multiple of b that divides d */
	uint32_t keys;		/* that this row sees: (row + 1) * t */
	uint32_t color;		/* of this round */
} A;

#define P 0x7f80	/* +inf */
#define N 0xff80	/* -inf */
/* keys southward, tokens eastward: +inf where the token sees the key */
static const uint16_t attn_triangle[8][8] __attribute__((aligned(16))) = {
	{ P, P, P, P, P, P, P, P }, { N, P, P, P, P, P, P, P }, { N, N, P, P, P, P, P, P }, { N, N, N, P, P, P, P, P },
	{ N, N, N, N, P, P, P, P }, { N, N, N, N, N, P, P, P }, { N, N, N, N, N, N, P, P }, { N, N, N, N, N, N, N, P },
};
#undef P
#undef N

/* rows of t elements: n of them one behind the other; the same one n times */
#define attn_rows(d, addr, type, n) \
	wse_dsr_mem2(d, addr, type, A.t, (type) == WSE_DT_BF16 ? 2 : 4, n, A.t * ((type) == WSE_DT_BF16 ? 2 : 4))
#define attn_again(d, addr, n)	wse_dsr_mem2(d, addr, WSE_DT_FP32, A.t, 4, n, 0)

#define ROUTE_OWN	(WSE_RX(R) | WSE_TX(R))
#define ROUTE_NORTH	(WSE_RX(N) | WSE_TX(R))
#define ROUTE_NONE	7

static inline uint32_t attn_south(void)
{
	return A.row + 1 < A.rho ? WSE_TX(S) : 0;
}

static void attn_setup(uint32_t t, uint32_t s, uint32_t d)
{
	uint32_t cfg;

	A.t = t;
	A.d = d;
	A.rho = s / t;
	A.row = wse_row() % A.rho;
	A.keys = (A.row + 1) * t;
	A.b = t <= 32 ? 4 : t <= 64 ? 2 : 1;
	A.bt = A.b * t;
	A.wide = WSE_NACC / A.bt * A.b;
	while (d % A.wide)
		A.wide -= A.b;
	A.color = WSE_COLOR_KEYS;
	cfg = (A.row ? ROUTE_NORTH : ROUTE_OWN) | attn_south();
	wse_route(WSE_COLOR_KEYS, cfg);
	wse_route(WSE_COLOR_KEYS + 1, cfg);
	wse_dsr_fabin(T_IN, WSE_COLOR_KEYS);
	wse_dsr_fabout(T_OUT, WSE_COLOR_KEYS, 1);
}

/* the next start may have other sequences: what it sends before this core has begun waits */
static void attn_done(void)
{
	wse_wait(7);
	wse_route(WSE_COLOR_KEYS, ROUTE_NONE);
	wse_route(WSE_COLOR_KEYS + 1, ROUTE_NONE);
}

/* what is sent from here on is this row's own */
static void attn_turn(void)
{
	if (!A.row)
		return;
	wse_wait(1);
	wse_route(A.color, ROUTE_OWN | attn_south());
	wse_route(A.color ^ WSE_COLOR_KEYS ^ (WSE_COLOR_KEYS + 1), ROUTE_NORTH | attn_south());
}

static void attn_next_round(void)
{
	A.color ^= WSE_COLOR_KEYS ^ (WSE_COLOR_KEYS + 1);
	wse_dsr_base(T_IN, A.color, 1, 1);
	wse_dsr_base(T_OUT, A.color, 1, 1);
}

#define ATTN_SEND	(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MIDX, T_OUT, T_SRC, 0) + WSE_SEND_END)
#define ATTN_AXPY	WSE_TCW(WSE_ENGINE_L, WSE_TOP_AXPY, T_ACC, T_IN, T_X)

/* out [keys][t], binary32: out[key] = sum over f of src[f][key] x[f]; src, x bf16 [d][t] */
static void attn_scores(uint32_t src, uint32_t x, uint32_t out)
{
	uint32_t r, i;

	attn_rows(T_X, x, WSE_DT_BF16, A.d);
	wse_dsr_acc(T_ACC, 0, A.bt);
	wse_dsr_mem2(T_SRC, src, WSE_DT_BF16, A.b, 2, A.d, 2 * A.t);
	wse_dsr_mem(T_DST, out, WSE_DT_FP32, A.bt, 4);
	for (r = 0; r <= A.row; r++) {
		if (r == A.row)
			attn_turn();
		for (i = 0; i < A.t; i += A.b) {
			if (r == A.row) {
				wse_dsr_base(T_SRC, src + 2 * i, A.b, 2);
				wse_issue(ATTN_SEND, 0);
			}
			wse_issue(ATTN_AXPY + WSE_CLEAR, A.b);
			wse_dsr_base(T_DST, out, A.bt, 4);
			out += 4 * A.bt;
			vv(VMOV, T_DST, T_ACC, 0);
		}
	}
	attn_next_round();
}

/*
 * out [d][t], bf16: out[f] = (sum over keys of src[f][key] x[key]) * row, or * scalar where row is 0;
 * src bf16 [d][t], x bf16 [keys][t], row binary32 [t]
 */
static void attn_sums(uint32_t src, uint32_t x, uint32_t out, uint32_t row, uint32_t scalar)
{
	uint32_t f, r, i;

	attn_rows(T_X, x, WSE_DT_BF16, A.keys);
	wse_dsr_mem2(T_SRC, src, WSE_DT_BF16, A.b, 2 * A.t, A.t, 2);
	wse_dsr_acc(T_ACC, 0, A.bt);
	wse_dsr_acc2(D_A, 0, A.t, A.wide, A.t);
	attn_again(T_ROW, row, A.wide);
	for (f = 0; f < A.d; f += A.wide) {
		for (r = 0; r <= A.row; r++) {
			if (r == A.row)
				attn_turn();
			for (i = 0; i < A.wide; i += A.b) {
				if (r == A.row) {
					wse_dsr_base(T_SRC, src + 2 * A.t * (f + i), A.b, 2 * A.t);
					wse_issue(ATTN_SEND, r * A.t);
				}
				wse_dsr_base(T_ACC, i * A.t, A.bt, 1);
				wse_issue(r ? ATTN_AXPY : ATTN_AXPY + WSE_CLEAR, A.b);
			}
		}
		attn_rows(T_DST, out + 2 * A.t * f, WSE_DT_BF16, A.wide);
		if (row)
			vv(VMUL, T_DST, D_A, T_ROW);
		else
			vs(VMUL, T_DST, D_A, scalar);
		attn_next_round();
	}
}

/* keys that a token does not see, in the block of the own row at addr: -inf in scores, +0 in bf16 P */
static void attn_mask(uint32_t addr, int scores)
{
	uint32_t type = scores ? WSE_DT_FP32 : WSE_DT_BF16, size = scores ? 4 : 2, a;

	wse_dsr_mem2(T_MSK, attn_triangle, WSE_DT_BF16, 8, 2, 8, 16);
	addr += A.row * A.t * A.t * size;
	for (a = 0; a < A.t; a += 8) {
		wse_dsr_mem2(D_A, addr + (a * A.t + a) * size, type, 8, size, 8, A.t * size);
		if (scores)	/* the mask first: else a NaN would be lost */
			vv(VMIN, D_A, T_MSK, D_A);
		else
			vv(VGATE, D_A, T_MSK, D_A);
		if (!a)
			continue;
		wse_dsr_mem2(D_A, addr + a * A.t * size, type, a, size, 8, A.t * size);
		if (scores)
			vs(VMIN, D_A, D_A, 0xff800000);
		else
			vs(VAND, D_A, D_A, 0);
	}
}

/* p [keys][t], bf16 = exp(s - max), masked; s binary32 [keys][t] is destroyed; p may be s */
static void attn_exp(uint32_t s, uint32_t p, uint32_t max)
{
	uint32_t i, n = A.keys * A.t;

	attn_rows(D_A, s, WSE_DT_FP32, A.keys);
	attn_again(T_ROW, max, A.keys);
	vv(VSUB, D_A, D_A, T_ROW);
	vexp_setup(32);
	vec_mem(D_A, s, WSE_DT_FP32, 32);
	vec_mem(D_B, p, WSE_DT_BF16, 32);
	for (i = 0; i < n; i += 32) {
		wse_dsr_base(D_A, s + 4 * i, 8, 4);
		wse_dsr_base(D_B, p + 2 * i, 8, 2);
		vexp(D_B, D_A);
	}
	attn_mask(p, 0);
}

/* row of t at addr: the accumulators 0 ... t-1 as T_ACC, n times as D_C */
static inline void attn_row(uint32_t addr, uint32_t n)
{
	wse_dsr_acc(T_ACC, 0, A.t);
	wse_dsr_acc2(D_C, 0, A.t, n, 0);
	wse_dsr_mem(T_ROW, addr, WSE_DT_FP32, A.t, 4);
}

/* max [t] over the keys of s [keys][t] */
static inline void attn_max(uint32_t s, uint32_t max)
{
	attn_row(max, A.keys);
	attn_rows(D_A, s, WSE_DT_FP32, A.keys);
	vs(VMIN, T_ACC, T_ACC, 0xff800000);
	vv(VMAX, D_C, D_A, D_C);
	vv(VMOV, T_ROW, T_ACC, 0);
}

/* recip [t] = 1 / sum over the keys of p [keys][t] */
static inline void attn_recip(uint32_t p, uint32_t recip)
{
	uint32_t i, n;

	attn_row(recip, A.keys);
	attn_rows(D_A, p, WSE_DT_BF16, A.keys);
	vs(VAND, T_ACC, T_ACC, 0);
	vv(VADD, D_C, D_C, D_A);
	vv(VMOV, T_ROW, T_ACC, 0);
	for (i = 0; i < A.t; i += n) {
		n = A.t - i < 32 ? A.t - i : 32;
		vec_regs4(n);
		vec_mem(D_A, recip + 4 * i, WSE_DT_FP32, n);
		vv(VMOV, V0, D_A, 0);
		vrecip();
		vv(VMOV, D_A, V1, 0);
	}
}

static inline void attn_kernel(const struct wse_attn_args *a)
{
	uint32_t t = a->t, d = a->d, i, q, part = 2 * t * d * a->heads;

	attn_setup(t, a->s, d);
	for (i = 0; i < a->heads; i++) {
		uint32_t max = a->max + 4 * t * i, recip = a->recip + 4 * t * i;

		q = a->qkv + 2 * t * d * i;
		attn_scores(q + part, q, a->work);
		attn_mask(a->work, 1);
		attn_max(a->work, max);
		attn_exp(a->work, a->work, max);
		attn_recip(a->work, recip);
		attn_sums(q + 2 * part, a->work, a->o + 2 * t * d * i, recip, 0);
	}
	attn_done();
}

#endif /* WSE_ATTN_H */
