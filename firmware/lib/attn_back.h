/* SPDX-License-Identifier: MIT */
/*
 * Attention backward (entry attn_back, struct wse_attn_back_args), on the rounds of attn.h. Sum by sum:
 * libwse/ops/attn.h.
 *
 * P again from q, k and the kept maximum; dP and dS as scores; dq as o. dv and dk are sums over the tokens of this row
 * and of those south of it: DOTX with g (q) in the accumulators and P (dS) in SRAM; the stream of indices is the core's
 * own, from mover 0 through the router. Mover 1 adds what comes from the south and passes it north, or, the keys being
 * this row's, stores it. Row r sends on WSE_COLOR_KGRAD + (r & 1): these routes never change.
 *
 * Nothing is overwritten that is still needed: the lanes work in order; mover 1 stores dv (dk) from results of the lanes
 * that come after they took this row's own values (keys) off the fabric; dq waits in g's place until dk has
 * read q.
 *
 * No deadlock, beside the argument in attn.h: the steps (head, dv or dk, block of features, row that owns the keys) are
 * gone through in one order as well; a step waits for the same step of the row to the south, or for room, that is for
 * the same or an earlier step of the row to the north. The lanes wait for mover 1 alone. A row's mover 1 has all
 * instructions of a product before the next product's rounds begin, and does not need the lanes of a later one.
 */
#ifndef WSE_ATTN_BACK_H
#define WSE_ATTN_BACK_H

#include "attn.h"

/* the lanes' DSRs of a round, with the index stream in place of keys and values; mover 1's */
enum { T_KIN = V0, T_KOUT = V1, T_DOTQ = V2 };

static inline void routes_kgrad(void)
{
	uint32_t r = wse_row();

	wse_route(WSE_COLOR_INDEX, ROUTE_OWN);
	if (A.row)
		wse_route(WSE_COLOR_KGRAD + (r & 1), WSE_RX(R) | WSE_TX(N));
	if (A.row + 1 < A.rho)
		wse_route(WSE_COLOR_KGRAD + (~r & 1), WSE_RX(S) | WSE_TX(R));
}

/* out [d][t], bf16, of this row's keys: out[f][key] = sum over tokens of g[f] x[key]; g bf16 [d][t], x bf16 [keys][t] */
static void attn_to_keys(uint32_t g, uint32_t x, uint32_t out)
{
	uint32_t color = WSE_COLOR_KGRAD + (wse_row() & 1), f, r;
	uint32_t add = A.row + 1 < A.rho ? WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MADD, 0, T_KIN, T_DOTQ)
					 : WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MOVE, 0, T_DOTQ, 0);

	attn_rows(T_X, x, WSE_DT_BF16, A.keys);
	wse_dsr_acc(T_ACC, 0, A.bt);
	wse_dsr_mem(D_A, g, WSE_DT_BF16, A.bt, 2);
	wse_dsr_mem2(T_SRC, x, WSE_DT_BF16, A.b, 0, A.keys, 0);	/* its values do not matter */
	wse_dsr_mem2(T_DST, out, WSE_DT_BF16, A.b, 2 * A.t, A.t, 2);
	wse_dsr_base(T_IN, WSE_COLOR_INDEX, 1, 1);
	wse_dsr_base(T_OUT, WSE_COLOR_INDEX, 1, 1);
	wse_dsr_fabin(T_KIN, color ^ WSE_COLOR_KGRAD ^ (WSE_COLOR_KGRAD + 1));
	wse_dsr_fabout(T_KOUT, color, A.bt);
	wse_dsr_dotq(T_DOTQ);
	for (f = 0; f < A.d; f += A.b) {
		wse_dsr_base(D_A, g + 2 * A.t * f, A.bt, 2);
		vv(VMOV, T_ACC, D_A, 0);
		wse_issue(ATTN_SEND, 0);
		wse_issue_dotx(T_ACC, T_IN, T_X, A.b, 0);
		for (r = 0; r < A.row; r++)
			wse_issue(add + (T_KOUT << WSE_TCW_DST_SHIFT), 0);
		wse_dsr_base(T_DST, out + 2 * A.t * f, A.b, 2 * A.t);
		wse_issue(add + (T_DST << WSE_TCW_DST_SHIFT), 0);
	}
	wse_dsr_base(T_IN, A.color, 1, 1);
	wse_dsr_base(T_OUT, A.color, 1, 1);
}

/* g = bf16(g * recip); dot [t] = sum over f of g o */
static inline void attn_back_row(uint32_t g, uint32_t o, uint32_t recip, uint32_t dot)
{
	attn_rows(D_A, g, WSE_DT_BF16, A.d);
	attn_rows(D_B, o, WSE_DT_BF16, A.d);
	attn_again(T_ROW, recip, A.d);
	vv(VMUL, D_A, D_A, T_ROW);
	attn_row(dot, A.d);
	vs(VAND, T_ACC, T_ACC, 0);
	vv(VMAC, D_C, D_A, D_B);
	vv(VMOV, T_ROW, T_ACC, 0);
}

/* ds = bf16((dp - dot) * p), in place of dp */
static inline void attn_back_scores(uint32_t dp, uint32_t p, uint32_t dot)
{
	attn_rows(D_A, dp, WSE_DT_FP32, A.keys);
	attn_again(T_ROW, dot, A.keys);
	vv(VSUB, D_A, D_A, T_ROW);
	attn_rows(D_B, p, WSE_DT_BF16, A.keys);
	attn_rows(T_DST, dp, WSE_DT_BF16, A.keys);
	vv(VMUL, T_DST, D_A, D_B);
}

static inline void attn_back_kernel(const struct wse_attn_back_args *a)
{
	uint32_t t = a->t, d = a->d, head = 2 * t * d, part = head * a->heads, i;
	uint32_t s = a->work, p = s + 4 * a->s * t, dot = p + 2 * a->s * t;

	attn_setup(t, a->s, d);
	routes_kgrad();
	for (i = 0; i < a->heads; i++) {
		uint32_t q = a->qkv + head * i, k = q + part, v = k + part, g = a->dout + head * i;

		attn_back_row(g, a->o + head * i, a->recip + 4 * t * i, dot);
		attn_scores(k, q, s);
		attn_exp(s, p, a->max + 4 * t * i);
		attn_scores(v, g, s);
		attn_back_scores(s, p, dot);
		attn_to_keys(g, p, v);
		attn_sums(k, s, g, 0, a->scale);
		attn_to_keys(q, s, k);
		attn_rows(D_A, g, WSE_DT_BF16, d);
		attn_rows(D_B, q, WSE_DT_BF16, d);
		vv(VMOV, D_B, D_A, 0);
	}
	attn_done();
}

#endif /* WSE_ATTN_BACK_H */
