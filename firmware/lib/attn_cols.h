/* SPDX-License-Identifier: MIT */
/*
 * Heads that span columns; part of attn.h. Each column has some of the features. Two columns send
 * each other the products of a chunk, and each adds, the western one's first. Of more, mover 1 adds
 * them, west to east; the results come back westward from the last column, and the routers on the
 * way forward them (attn_gather). That is the last part of the step, and no row to the north or
 * south waits for it.
 */
#ifndef WSE_ATTN_COLS_H
#define WSE_ATTN_COLS_H

/*
 * Routes of a head's columns. Only the westward route of the middle ones could harm a later start
 * with other groups; all wavelets on it have passed by then: see attn_done().
 */
static inline void attn_group(uint32_t group)
{
	uint32_t c = wse_col();

	A.last = group - 1;
	A.place = c % group;
	if (group == 2)
		A.up = ATTN_CHUNK;
	wse_route(WSE_COLOR_GROUP + (c & 1), WSE_RX(R) | WSE_TX(E));
	wse_route(WSE_COLOR_GROUP + (~c & 1), WSE_RX(W) | WSE_TX(R));
	wse_route(WSE_COLOR_GROUP_BACK, A.place < A.last
						? WSE_RX(E) | WSE_TX(R) | (A.place ? WSE_TX(W) : 0)
					: A.last > 1 ? WSE_RX(R) | WSE_TX(W) | WSE_TX(R)
						     : WSE_RX(R) | WSE_TX(W));
}

/*
 * Adds n accumulators over the columns of a head; all columns get the sums. mem: those of some keys
 * [t], from 0 on, go to D_B; else those from A.up on go to accumulators 0 ... n-1. Uses V2, D_C,
 * D_K, T_DST, T_MSK. Two columns send each other theirs, mover 1, and add, mover 0. Of more, mover
 * 1 adds on the way east; at the last column it sends the sums west and to its own ramp, and mover
 * 0 stores them: a sum returns only after its element was sent, so here it may take that one's
 * place, and mover 0 always takes it.
 */
static __attribute__((noinline)) void attn_gather(uint32_t n, uint32_t keys, int mem)
{
	uint32_t east = WSE_COLOR_GROUP + (wse_col() & 1), place = A.place, two = A.last == 1;
	uint32_t west = east ^ WSE_COLOR_GROUP ^ (WSE_COLOR_GROUP + 1);
	uint32_t add = WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MOVE, D_K, T_DST, 0);
	uint32_t get = WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, D_C, T_MSK, 0);

	wse_dsr_fabin(V2, west);
	wse_dsr_fabin(T_MSK, two && place ? west : WSE_COLOR_GROUP_BACK);
	wse_dsr_fabout(D_K, place < A.last ? east : WSE_COLOR_GROUP_BACK, n);
	attn_dsr(T_DST, mem ? 0 : A.up, n + (1 << 16), 1, KIND_ACC);
	if (mem)
		get -= (D_C - D_B) << WSE_TCW_DST_SHIFT;
	else
		attn_dsr(D_C, 0, n + (1 << 16), 1, KIND_ACC);
	if (two) {
		get += WSE_TOP_MADD - WSE_TOP_MOVE + (T_DST << WSE_TCW_SRC2_SHIFT);
		if (mem)	/* the shape of D_B */
			attn_rows_acc(T_DST, 0, keys);
	} else if (place) {
		add = WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MADD, D_K, V2, T_DST);
	}
	wse_wait(1);
	wse_issue(add, 0);
	wse_issue(get, 0);
	wse_wait(6);
}

#endif /* WSE_ATTN_COLS_H */
