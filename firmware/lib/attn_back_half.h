/* SPDX-License-Identifier: MIT */
/*
 * Attention backward where rows of the upper half of a sequence do a part of the work of those
 * that mirror them (wse_attn_back_halves()); part of attn_back.h. The bits are those of the rounds
 * alone.
 *
 * The last of rho rows has rho source rows, the first one has one. So here the rounds of
 * attn_back.h end with source row rho / 2, and for row i > rho / 2 the row that mirrors it, row
 * j = rho - 1 - i, does source rows rho / 2 + 1 ... i, the last one first. In slot s, while row s
 * and all south of it take the keys of row s, rows 0 ... s - 1 take those of row rho - s, for the
 * queries of that row and of all south of it. So in a slot the sums of dv and dk of two source rows
 * become whole, in the order that they always have: those of row s go north to it, those of row
 * rho - s go south, from row 0 to row s - 1, which mirrors row rho - s.
 *   slot j          row i asks: it sends row j its queries, g, D and maxima, and its keys and
 *                   values (attn_message()), beside what the lanes do
 *   slots j + 1 ... rho / 2 - 1: row j does source rows for row i; in the first of them it sends
 *                   the keys and values of row i, north to all rows that take them
 *   slot rho / 2    row j, which has nothing else to do, answers: dk, dv, and dS of each source row
 *                   (attn_answers())
 *   then            dq of row i goes on over these dS, in the round of attn.h, for sums over keys
 *                   are of source rows ascending
 *
 * Routes that change. Asking: row i lets pass what comes from the rows behind it, and counts it,
 * before it sends; nothing of that is left when the answer is there, where the route changes back.
 * Answering: likewise, until row i has asked again. The keys of rows that ask come from row 0, then
 * from row 1 ...: a row that has sent them lets pass those that the next row sends, which wait
 * until then. It turns to its own before mover 1 takes the message of that slot, for which the next
 * row waits.
 *
 * No deadlock: each row's steps are in the order (head, slot, product, block), as in attn_back.h,
 * and a message, which is a step of its slot, waits for that of other rows in the same slot.
 */
#ifndef WSE_ATTN_BACK_HALF_H
#define WSE_ATTN_BACK_HALF_H

#define ASK_COLOR	WSE_COLOR_SWAP
#define ANSWER_COLOR	(WSE_COLOR_SWAP + 1)
#define ROUTE_PASS	(WSE_RX(S) | WSE_TX(R))
#define ROUTE_DOWN	(WSE_RX(R) | WSE_TX(S))

/*
 * At work what a row asks with: q, g, D, maxima; then of the mirrored row k and v, later dk and dv,
 * and a dS after the other.
 */
static inline uint32_t attn_ask_k(void)
{
	return A.got + 2 * A.head + 8 * A.t;
}

static void attn_ask_setup(uint32_t work)
{
	uint32_t south = A.row & 1;

	A.got = work;
	A.place_row = A.row;
	A.drop_to = attn_ask_k() + 2 * A.head + (A.rho / 2 - 1) * 2 * A.t * A.t;
	wse_route(ASK_COLOR, ROUTE_PASS | (A.row ? WSE_TX(N) : 0));
	wse_route(ANSWER_COLOR, ROUTE_NORTH | attn_south());
	if (attn_half_upper()) {
		wse_route(WSE_COLOR_DOWN + south, ROUTE_DOWN);
		wse_route(WSE_COLOR_DOWN + 1 - south, ROUTE_NORTH);
	}
}

/* but the route of this row's last answer, which may not be on its way yet */
static void attn_ask_done(void)
{
	wse_wait(7);
	wse_route(ASK_COLOR, ROUTE_NONE);
	wse_route(WSE_COLOR_UP, ROUTE_NONE);
	if (A.row + 1 >= A.rho / 2)
		wse_route(ANSWER_COLOR, ROUTE_NONE);
}

/* words of the answers of n rows with that many dS */
static inline uint32_t attn_answer_words(uint32_t n, uint32_t ds)
{
	return n * A.head / 2 + ds * A.t * A.t / 2;
}

/* those of rows before the mirrored one, its own, the others */
static __attribute__((noinline)) void attn_answers(uint32_t row)
{
	uint32_t half = A.rho / 2, behind = row < half ? row : A.rho - 1 - row;
	uint32_t n = half - 1 - behind, before = behind * (half - 1) - behind * (behind - 1) / 2;
	uint32_t after = half * (half - 1) / 2 - before - n;

	wse_dsr_fabin(V1, ANSWER_COLOR);
	if (behind) {
		attn_nowhere(T_MSK, attn_answer_words(behind, before), 1);
		attn_move(M1, T_MSK, V1);
	}
	if (!n)
		return;
	attn_words(T_DST, attn_ask_k(), attn_answer_words(1, n), 1, 0);
	if (row < half) {
		wse_wait(4);
		wse_route(ANSWER_COLOR, ROUTE_DOWN);
		wse_dsr_fabout(D_K, ANSWER_COLOR, 1);
		attn_move(M1, D_K, T_DST);
		return;
	}
	attn_move(M1, T_DST, V1);
	if (after) {
		attn_nowhere(T_MSK, attn_answer_words(n - 1, after), 1);
		attn_move(M1, T_MSK, V1);
	}
}

/*
 * What mover 1 does in a slot beside the sums of keys: the message of the row that asks in it; in
 * the last slot those of the rows that answer. k, v: of this row's.
 */
static __attribute__((noinline)) void attn_message(uint32_t k, uint32_t v)
{
	uint32_t half = A.rho / 2, row = A.place_row, mirror = A.rho - 1 - row, slot = A.slot++;
	uint32_t n = A.head / 2 + 2 * A.t;

	if (slot == half)
		attn_answers(row);
	if (slot + 1 >= half || (row >= half && slot > mirror))
		return;
	if (slot == mirror) {
		wse_wait(slot ? 4 : 5);
		wse_route(ASK_COLOR, ROUTE_UP);
		wse_dsr_fabout(D_K, ASK_COLOR, 1);
		attn_words(T_ROW, A.got, n, 1, 0);
		attn_move(M1, D_K, T_ROW);
		attn_words(T_ROW, k, A.head / 4, 2, v - k);
		attn_move(M1, D_K, T_ROW);
		return;
	}
	wse_dsr_fabin(V1, ASK_COLOR);
	if (slot == row)
		attn_words(T_DST, A.got, n + A.head / 2, 1, 0);
	else
		attn_nowhere(T_DST, n + A.head / 2, 1);
	attn_move(M1, T_DST, V1);
}

/* the slots in which this row does source rows for the mirrored one */
static void attn_help(uint32_t p)
{
	uint32_t row = A.row, color = A.color, half = A.rho / 2, north = row ? WSE_TX(N) : 0, s;
	uint32_t q = A.got, g = q + A.head, dot = g + A.head, max = dot + 4 * A.t;
	uint32_t k = max + 4 * A.t, v = k + A.head, ds = v + A.head;
	const struct attn_back h = {.q = q,
				    .k = k,
				    .v = v,
				    .g = g,
				    .max = max,
				    .dot = dot,
				    .p = p,
				    .dk = k,
				    .dv = v};

	wse_wait(4);
	wse_route(WSE_COLOR_UP, ROUTE_OWN | north);
	wse_route(ANSWER_COLOR, ROUTE_NORTH | WSE_TX(S));
	A.color = WSE_COLOR_UP;
	A.kgrad = WSE_COLOR_DOWN;
	A.row = A.rho - 1 - row;
	wse_dsr_base(T_IN, WSE_COLOR_UP, 1, 1);
	wse_dsr_base(T_OUT, WSE_COLOR_UP, 1, 1);
	for (s = row + 1; s < half; s++) {
		attn_back_unit(&h, A.rho - s, ds, 0);
		ds += 2 * A.t * A.t;
		if (s > row + 1)
			continue;
		wse_wait(1);
		wse_route(WSE_COLOR_UP, ROUTE_PASS | north);
	}
	wse_wait(7);
	A.color = color;
	A.kgrad = WSE_COLOR_KGRAD;
	A.row = row;
}

/* what the mirrored row needs of a head, one behind the other */
static void attn_ask_with(const struct attn_back *h)
{
	uint32_t from = h->q, n = A.head / 2, i;

	for (i = 0; i < 2; i++) {
		vec_mem(D_A, from, WSE_DT_BF16, n);
		vec_mem(D_B, A.got + i * A.head, WSE_DT_BF16, n);
		vv(VMOV, D_B, D_A, 0);
		from = h->g;
	}
	from = h->dot;
	for (i = 0; i < 2; i++) {
		attn_again32(D_A, from, 1);
		attn_again32(D_B, A.got + 2 * A.head + i * 4 * A.t, 1);
		vv(VMOV, D_B, D_A, 0);
		from = h->max;
	}
}

/* a head's slots; ds: of a source row */
static void attn_back_halves(const struct attn_back *h, uint32_t ds)
{
	uint32_t half = A.rho / 2, row = A.row, last = row < half ? row : half, r;
	uint32_t dk = attn_ask_k(), n = A.head / 2;

	A.slot = 0;
	if (row > half)
		attn_ask_with(h);
	for (r = 0; r <= last; r++) {
		if (r == row)
			attn_turn();
		attn_back_unit(h, r, ds, 0);
	}
	if (row < half) {
		if (row + 1 < half)
			attn_help(h->p);
		attn_answers(row);
		return;
	}
	if (row == half)
		return;
	wse_wait(4);
	if (row + 1 < A.rho)
		wse_route(ASK_COLOR, ROUTE_PASS | WSE_TX(N));
	for (r = half + 1; r <= row; r++) {
		if (r == row)
			attn_turn();
		attn_sums(h->k, dk + 2 * A.head + (row - r) * 2 * A.t * A.t, r, h->carry, h->carry,
			  0, h->scale);
	}
	vec_mem(D_A, dk, WSE_DT_BF16, n);
	vec_mem(D_B, h->dk, WSE_DT_BF16, n);
	vv(VMOV, D_B, D_A, 0);
	vec_mem(D_A, dk + A.head, WSE_DT_BF16, n);
	vec_mem(D_B, h->dv, WSE_DT_BF16, n);
	vv(VMOV, D_B, D_A, 0);
}

#endif /* WSE_ATTN_BACK_HALF_H */
