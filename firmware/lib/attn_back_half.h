/* SPDX-License-Identifier: MIT */
/*
 * Attention backward where rows of the upper half of a sequence do a part of the work of those
 * that mirror them (wse_attn_back_halves()); part of attn_back.h.
 *
 * The last of rho rows has rho source rows, the first one has one. So here the rounds of
 * attn_back.h end with source row rho / 2, of which they take the first keys alone, and for row i
 * >= rho / 2 the row that mirrors it, row j = rho - 1 - i, does source rows rho / 2 ... i, the
 * last one first, and of source row rho / 2 the late keys (wse_attn_late_keys()). In slot s, while
 * row s and all south of it take the keys of row s, rows 0 ... s - 1 take those of row rho - s,
 * for the queries of that row and of all south of it. So in a slot the sums of dv and dk of two
 * source rows, or of both parts of one, become whole, in the order that they always have: those of
 * row s go north to it, those of row rho - s go south, from row 0 to row s - 1, which mirrors row
 * rho - s. dq of row i is the sum of two parts, one a row: in the order of the slots each.
 *   slot j          row i asks: it sends row j its queries, keys and values, then g, D and
 *                   maxima (attn_message()), beside what the lanes do
 *   slots j + 1 ... rho / 2: row j does source rows for row i; in the first of them it sends the
 *                   keys and values of row i, north to all rows that take them
 *   then            it answers with its part of dq, dk and dv (attn_answer())
 *
 * Routes that change. Asking: row i lets pass what comes from the rows behind it, and counts it,
 * before it sends; nothing of that is left when the answer is there, where the route changes back.
 * The keys of rows that ask come from row 0, then from row 1 ...: a row that has sent them lets
 * pass those that the next row sends, which wait until then. It turns to its own before mover 1
 * takes the message of that slot, for which the next row waits. Routes of answers lead from each
 * row to the next and never change.
 *
 * No deadlock: each row's steps are in the order (head, slot, product, block), as in attn_back.h,
 * and a message, which is a step of its slot, waits for that of other rows in the same slot.
 * Answers go from north to south alone.
 */
#ifndef WSE_ATTN_BACK_HALF_H
#define WSE_ATTN_BACK_HALF_H

#define ASK_COLOR	WSE_COLOR_SWAP
#define ANSWER_COLOR	(WSE_COLOR_SWAP + 1)	/* and the next: of rows by turns */
#define ROUTE_PASS	(WSE_RX(S) | WSE_TX(R))
#define ROUTE_DOWN	(WSE_RX(R) | WSE_TX(S))

/*
 * At work what a row asks with: q, k and v, later dk and dv, g, D, maxima. Where it asked, the
 * answer: its part of dq, then dk and dv.
 */
static inline uint32_t attn_ask_k(void)
{
	return A.got + A.head;
}

static void attn_ask_setup(void)
{
	uint32_t south = A.row & 1;

	A.place_row = A.row;
	A.drop_to = A.got + 4 * A.head + 8 * A.t;
	wse_route(ASK_COLOR, ROUTE_PASS | (A.row ? WSE_TX(N) : 0));
	wse_route(ANSWER_COLOR + south, ROUTE_DOWN);
	wse_route(ANSWER_COLOR + 1 - south, ROUTE_NORTH);
	if (attn_half_upper()) {
		wse_route(WSE_COLOR_DOWN + south, ROUTE_DOWN);
		wse_route(WSE_COLOR_DOWN + 1 - south, ROUTE_NORTH);
	}
}

/* but the route of this row's last answer, which may not be on its way yet */
static void attn_ask_done(void)
{
	wse_wait(7);
	wse_route(ANSWER_COLOR + 1 - (A.row & 1), ROUTE_NONE);
	wse_route(ASK_COLOR, ROUTE_NONE);
	wse_route(WSE_COLOR_UP, ROUTE_NONE);
	attn_ring_done();
}

/* takes so many of a source row's keys, the first or the last ones */
static __attribute__((noinline)) void attn_take_keys(uint32_t some, int last)
{
	A.some = some;
	A.from = last ? A.t - some : 0;
}

/*
 * As many words as two arrays bf16 [d][t] have, which mover 1 passes on from row to row: those of
 * the rows before it first, then a row that answers sends its own, and a row that asked takes that
 * of the row that mirrors it. The outermost rows come first, so nothing comes behind what a row
 * takes.
 */
static __attribute__((noinline)) void attn_answer(uint32_t at)
{
	uint32_t half = A.rho / 2, row = A.row, upper = row < half;
	uint32_t before = upper ? row : A.rho - 1 - row, words = A.head / 2;

	wse_dsr_fabin(V1, ANSWER_COLOR + (~row & 1));
	attn_dsr(D_K, ANSWER_COLOR + (row & 1), words, before,
		 WSE_KIND_TYPE(WSE_KIND_FABOUT, WSE_DT_I32));
	if (before)
		attn_move(M1, D_K, V1);
	attn_words(T_DST, at, words, 1, 0);
	if (upper)
		attn_move(M1, D_K, T_DST);
	else
		attn_move(M1, T_DST, V1);
}

/*
 * What mover 1 does in a slot beside the sums of keys: the message of the row that asks in it. It
 * is issued in two parts, since a mover holds two instructions besides the one that runs; the first
 * has what the lanes do not make. last: where mover 1 is free for it, behind dv, of a head's
 * columns.
 */
static __attribute__((noinline)) void attn_message(const struct attn_back *h, uint32_t last,
						   uint32_t rest)
{
	uint32_t half = A.rho / 2, row = A.place_row, mirror = A.rho - 1 - row, slot = A.slot;
	uint32_t words = A.head / 4, some = 2 * A.t;

	if (!A.got || ATTN_LESS || last != (A.last > 0))
		return;
	A.slot += rest;
	if (slot >= half || (row >= half && slot > mirror))
		return;
	if (slot == mirror) {
		if (!rest) {
			wse_wait(4);
			wse_route(ASK_COLOR, ROUTE_UP);
		}
		wse_dsr_fabout(D_K, ASK_COLOR, 1);
		attn_words(T_ROW, rest ? h->g : h->q, words, 1, 0);
		attn_move(M1, D_K, T_ROW);
		if (rest)
			attn_words(T_ROW, A.got + 4 * A.head, some, 1, 0);
		else
			attn_words(T_ROW, h->k, words, 2, h->v - h->k);
		attn_move(M1, D_K, T_ROW);
		return;
	}
	if (rest)
		return;
	wse_dsr_fabin(V1, ASK_COLOR);
	if (slot == row)
		attn_words(T_DST, A.got, 4 * words + some, 1, 0);
	else
		attn_nowhere(T_DST, 4 * words + some, 1);
	attn_move(M1, T_DST, V1);
}

/* the slots in which this row does source rows for the mirrored one; p, ds, carry: its work */
static void attn_help(uint32_t p, uint32_t ds, uint32_t carry)
{
	uint32_t row = A.row, color = A.color, half = A.rho / 2, north = row ? WSE_TX(N) : 0, s;
	uint32_t q = A.got, k = q + A.head, v = k + A.head, g = v + A.head, dot = g + A.head;
	const struct attn_back h = {.q = q,
				    .k = k,
				    .v = v,
				    .g = g,
				    .max = dot + 4 * A.t,
				    .dot = dot,
				    .p = p,
				    .carry = carry,
				    .dk = k,
				    .dv = v};

	wse_wait(4);
	wse_route(WSE_COLOR_UP, ROUTE_OWN | north);
	A.color = WSE_COLOR_UP;
	A.kgrad = WSE_COLOR_DOWN;
	A.begin = A.row = A.rho - 1 - row;
	wse_dsr_base(T_IN, WSE_COLOR_UP, 1, 1);
	wse_dsr_base(T_OUT, WSE_COLOR_UP, 1, 1);
	for (s = row + 1; s <= half; s++) {
		if (s == half)
			attn_take_keys(wse_attn_late_keys(A.t), 1);
		attn_back_unit(&h, A.rho - s, ds, 0);
		if (s > row + 1)
			continue;
		wse_wait(1);
		wse_route(WSE_COLOR_UP, ROUTE_PASS | north);
	}
	attn_take_keys(A.t, 0);
	wse_wait(7);
	A.color = color;
	A.kgrad = WSE_COLOR_KGRAD;
	A.row = row;
	A.begin = 0;
	attn_answer(carry);
	attn_answer(k);
}

/* tokens from A.from on of the mirrored row's answer */
static __attribute__((noinline)) void attn_take(uint32_t from, uint32_t to)
{
	uint32_t n = A.t - A.from + (2 << 16), i = 2 * A.from;

	attn_dsr(D_A, from + i, n, A.rows16 + A.d, KIND_16);
	attn_dsr(D_B, to + i, n, A.rows16 + A.d, KIND_16);
	vv(VMOV, D_B, D_A, 0);
}

/* a head's slots; ds: of a source row */
static void attn_back_halves(const struct attn_back *h, uint32_t ds)
{
	uint32_t half = A.rho / 2, row = A.row, last = row < half ? row : half, r;
	uint32_t dq = A.got, dk = dq + 2 * A.head, dv = dk + A.head;

	A.slot = 0;
	if (row >= half) { /* what the mirrored row needs: maxima behind D, which is there */
		attn_again32(D_A, h->max, 1);
		attn_again32(D_B, h->dot + 4 * A.t, 1);
		vv(VMOV, D_B, D_A, 0);
	}
	for (r = 0; r <= last; r++) {
		if (r == row)
			attn_turn();
		if (r == half)
			attn_take_keys(A.t - wse_attn_late_keys(A.t), 0);
		attn_back_unit(h, r, ds, 0);
	}
	if (row < half) {
		attn_dq(h->carry, h->q);
		attn_help(h->p, ds, h->carry);
		return;
	}
	attn_take_keys(A.t, 0);
	attn_answer(dq);
	attn_answer(dk);
	wse_wait(4);
	if (row + 1 < A.rho)	/* all that was asked is there by now */
		wse_route(ASK_COLOR, ROUTE_PASS | WSE_TX(N));
	attn_rows32(D_A, h->carry, A.d);
	attn_rows32(D_B, dq, A.d);
	attn_rows16(T_DST, h->q, A.d);
	vv(VADD, D_B, D_A, D_B);
	vs(VMUL, T_DST, D_B, h->scale);
	if (row == half)
		attn_take_keys(wse_attn_late_keys(A.t), 1);
	attn_take(dk, h->dk);
	attn_take(dv, h->dv);
	attn_take_keys(A.t, 0);
}

#endif /* WSE_ATTN_BACK_HALF_H */
