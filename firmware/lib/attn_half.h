/* SPDX-License-Identifier: MIT */
/*
 * Causal attention, forward, where the work of a sequence is dealt out to its rows evenly
 * (wse_attn_halves()); part of attn.h. The bits are those of the rounds alone.
 *
 * The last of rho rows sees rho rows of keys, the first sees one, and all would wait for the last.
 * So a row does the first half of its own tokens and the second half of those of the row that
 * mirrors it: row j, and row rho - 1 - j. Mirrored rows exchange these queries first
 * (attn_half_queries()), and o, maxima and 1 / l at the end. A head takes rho + 1 slots, in each of
 * which a row takes the keys and values of one source row for half a row of tokens:
 *   slots 0 ... j:         source rows 0 ... j for the own tokens, which are row s's turn of the
 *                          round of attn.h in slot s
 *   slots j + 1 ... rho:   source rows 0 ... rho - 1 - j for the mirrored row's: those of slot s
 *                          are of source row s - 1 - j, lie in this core's memory, and mover 0
 *                          sends them to the lanes
 * So the second kind of slots needs the keys of source row r one row further south in each slot:
 * mover 0 passes them on, from row to row, between the slot's keys and its values, and mover 1
 * receives the next ones. They begin in row 0: row s sends its own there in slot s, over a color
 * that leads north (attn_slot()).
 *
 * Routes that change: for the exchange, a row first lets pass what comes from rows behind it, and
 * counts it, then sends its own message, of which nothing is left when the mirrored row has sent
 * one in a later exchange. So queries and results have colors of their own, and the end of an
 * exchange is where the other one's route changes back. On the way north a row sends first, and
 * marks tell it that nothing is left (attn_half_mark()); all of the others' has passed when row 0
 * has sent its results, which all rows see.
 *
 * No deadlock: a slot's first receiving waits for a row that has come to the same slot and for
 * nothing else; its sending waits for that, and row s, which sends north, for row 0, which does
 * nothing else then.
 */
#ifndef WSE_ATTN_HALF_H
#define WSE_ATTN_HALF_H

#ifdef KERNELS_HALVES

/* n words, `rows` times, to a place that is never read */
#define attn_nowhere(d, n, rows) \
	attn_dsr(d, A.drop_to, n, rows, WSE_KIND_TYPE(WSE_KIND_MEM, WSE_DT_I32))

#define ROUTE_UP	(WSE_RX(R) | WSE_TX(N))
#define HALF_MARKS	(WSE_CHAN_DEPTH + 1)

/* of the mirrored row: queries bf16 [d][of] in the first half, o and statistics in the second */
static inline uint32_t attn_half_x(void)
{
	return A.again + 4 * A.t * (A.d + 1);
}

static inline uint32_t attn_half_upper(void)
{
	return A.row < A.rho / 2;
}

/* a row lets pass what comes from rows behind it, and counts it, before it sends on this route */
static inline uint32_t attn_half_pass(void)
{
	return attn_half_upper() ? WSE_RX(N) | WSE_TX(R) | WSE_TX(S)
				 : WSE_RX(S) | WSE_TX(R) | WSE_TX(N);
}

static void attn_half_setup(void)
{
	uint32_t upper = attn_half_upper(), south = A.row & 1, i;

	for (i = WSE_COLOR_SWAP; i < WSE_COLOR_SWAP + 4; i += 2) {
		wse_route(i + upper, attn_half_pass());
		wse_route(i + 1 - upper, upper ? WSE_RX(S) | WSE_TX(R) | (A.row ? WSE_TX(N) : 0)
					       : ROUTE_NORTH | attn_south());
	}
	wse_route(WSE_COLOR_UP, A.row ? ROUTE_UP : WSE_RX(S) | WSE_TX(R));
	wse_route(WSE_COLOR_DOWN + south, WSE_RX(R) | WSE_TX(S));
	wse_route(WSE_COLOR_DOWN + 1 - south, ROUTE_NORTH);
	wse_route(WSE_COLOR_INDEX, ROUTE_OWN);
	A.place_row = A.row;
	A.got = attn_half_x() + 2 * A.of * (A.d + 4) + 8 * A.t;
	A.drop_to = A.got + 4 * A.head;
}

/* but the color of this row's last message, which may not be on its way yet: it leads from here */
static void attn_half_done(void)
{
	uint32_t i;

	wse_wait(7);
	for (i = WSE_COLOR_SWAP; i <= WSE_COLOR_UP; i++)
		if (i != WSE_COLOR_SWAP + 2 + attn_half_upper())
			wse_route(i, ROUTE_NONE);
}

/*
 * Sends `rows` rows of half of the tokens to the mirrored row, and takes as many from there. The
 * upper half of the rows sends south, the lower north, the outermost row first.
 */
static __attribute__((noinline)) void attn_swap(uint32_t from, uint32_t to, uint32_t rows,
						uint32_t color)
{
	uint32_t upper = attn_half_upper(), behind = upper ? A.row : A.rho - 1 - A.row;
	uint32_t out = color + upper, half = A.t / 2, n = half * rows;
	uint32_t after = A.rho / 2 - 1 - behind;

	wse_wait(7);
	wse_dsr_fabin(V1, color + 1 - upper);
	wse_dsr_fabin(V2, out);
	wse_dsr_fabout(D_K, out, 1);
	attn_words(T_ROW, from, half, rows, 2 * A.of);
	attn_words(T_SRC, to, half, rows, 2 * A.of);
	attn_nowhere(T_MSK, n, behind);
	attn_nowhere(T_DST, n, after);
	if (behind) {
		attn_move(M0, T_MSK, V2);
		attn_move(M1, T_MSK, V1);
	}
	attn_move(M1, T_SRC, V1);
	if (after)
		attn_move(M1, T_DST, V1);
	wse_wait(2);
	wse_route(out, WSE_RX(R) | (upper ? WSE_TX(S) : WSE_TX(N)));
	attn_move(M0, D_K, T_ROW);
	wse_wait(6);
	wse_route(2 * WSE_COLOR_SWAP + 2 - color + upper, attn_half_pass());
}

/*
 * What the movers do in a slot behind its scores, while the lanes need no keys. k, v: what the
 * lanes take in this slot. All values of the slot before have been sent, so their place is free.
 */
static __attribute__((noinline)) void attn_slot(uint32_t k, uint32_t v)
{
	uint32_t row = A.place_row, slot = A.slot++, n = A.head / 4, out, in;

	if (slot < row || slot >= A.rho)
		return;
	out = slot > row ? WSE_COLOR_DOWN + (row & 1) : WSE_COLOR_UP;
	in = row ? WSE_COLOR_DOWN + (~row & 1) : WSE_COLOR_UP;
	wse_dsr_fabin(V1, in);
	attn_words(T_DST, A.got + 2 * A.head * ((slot - row) & 1), n, 2, A.head);
	wse_dsr_fabout(D_K, out, 1);
	attn_words(T_ROW, k, n, 2, v - k);
	attn_nowhere(T_MSK, HALF_MARKS, 1);
	if (!row && slot > 1)
		attn_move(M1, T_MSK, V1);
	if (row || slot)
		attn_move(M1, T_DST, V1);
	if (slot > row && row + 1 < A.rho)
		attn_move(M0, D_K, T_ROW);
	else if (slot == row && row)
		attn_move(M1, D_K, T_ROW);
}

/*
 * This row's keys and values are on their way north, but for what the ramp's queue holds. Marks
 * follow them, and from here on all comes back to the ramp, too: when the last mark does, nothing
 * is left. Before the first come up to CHAN_DEPTH words, so the last word of as many and one is a
 * mark, and says how many are to come. Then rows behind this one may pass.
 */
static inline void attn_half_mark(void)
{
	uint32_t i = HALF_MARKS, w;

	wse_wait(4);
	wse_route(WSE_COLOR_UP, ROUTE_OWN | WSE_TX(N));
	do {
		wse_send(WSE_COLOR_UP, i);
		w = wse_recv(WSE_COLOR_UP);
	} while (--i);
	while (--w)
		wse_recv(WSE_COLOR_UP);
	wse_route(WSE_COLOR_UP, WSE_RX(S) | WSE_TX(N));
}

/* before a head's first slot: the queries of the mirrored row, for this row's */
static void attn_half_queries(uint32_t q)
{
	A.slot = 0;
	attn_swap(q + A.of, attn_half_x(), A.d, WSE_COLOR_SWAP);
}

/* the slots of the mirrored row's tokens; then o, max and l of this row's from there */
static void attn_half_late(uint32_t k, uint32_t v, uint32_t s, uint32_t o, uint32_t max,
			   uint32_t l)
{
	uint32_t x = attn_half_x(), last = x + 2 * A.of * A.d, late = last + 8 * A.of;
	uint32_t half = A.of, row = A.row, words = A.t / 2;

	if (row && row + 1 < A.rho)
		attn_half_mark();
	wse_dsr_base(T_IN, WSE_COLOR_INDEX, 1, 1);
	wse_dsr_base(T_OUT, WSE_COLOR_INDEX, 1, 1);
	A.row = A.rho - 1 - row;
	A.first = A.t;
	A.replay = 1;
	attn_rows(k, v, x, s, x + half, late, late + 4 * A.t);
	A.row = row;
	A.first = 0;
	A.replay = 0;
	wse_wait(7);
	attn_words(T_SRC, late, words, 4, 2 * A.t);
	attn_words(T_DST, last + half, words, 4, 2 * A.of);
	attn_move(M0, T_DST, T_SRC);
	attn_swap(x + half, x, A.d + 4, WSE_COLOR_SWAP + 2);
	if (row) /* row 0 has all keys, for here is what it did with them */
		wse_route(WSE_COLOR_UP, ROUTE_UP);
	attn_words(T_SRC, x, words, A.d, 2 * A.of);
	attn_words(T_DST, o + half, words, A.d, 2 * A.of);
	attn_move(M0, T_DST, T_SRC);
	attn_words(T_SRC, last, words, 2, 2 * A.of);
	attn_words(T_DST, max + 4 * A.t, words, 2, 2 * A.t);
	attn_move(M0, T_DST, T_SRC);
	attn_words(T_SRC, last + 4 * A.of, words, 2, 2 * A.of);
	attn_words(T_DST, l + 4 * A.t, words, 2, 2 * A.t);
	attn_move(M0, T_DST, T_SRC);
}

#endif /* KERNELS_HALVES */

#endif /* WSE_ATTN_HALF_H */
