/* SPDX-License-Identifier: MIT */
/*
 * Heads over several columns, backward, where rows share their work; part of attn_back.h.
 *
 * Each of these columns has products of its own features, whose sums over all of them are scores
 * (dP). Here they take the chunks by turns: the i-th column of G makes P (dS) of chunks i, i + G
 * ... So it needs their sums alone, which go around: the column east of it (behind the last one
 * comes the first) sends its products on, each of the others adds its own, and it does so last.
 * Afterwards P and dS, which are half as long, go around from column to column.
 *
 * Products of a chunk lie in one half of the accumulators, and mover 1 sends or adds them while the
 * lanes make the next chunk's in the other half (attn_ring()). Sums wait, as binary32, where P (dS)
 * of two chunks goes afterwards.
 *
 * No deadlock: mover 1 takes the chunks in order in all columns, and of a chunk waits for the
 * column to the west, up to the one that begins. P and dS go by mover 1 while mover 0, which waits
 * for nothing else then, takes others.
 */
#ifndef WSE_ATTN_RING_H
#define WSE_ATTN_RING_H

#ifdef KERNELS_BACK_HALVES

enum { T_CHUNK = 8 /* and 9: tasks, of a half of the accumulators each */ };

static inline uint32_t attn_ring_in(void)
{
	return A.place ? WSE_COLOR_GROUP + (~wse_col() & 1) : WSE_COLOR_GROUP_WRAP;
}

static inline uint32_t attn_ring_out(void)
{
	return A.place < A.last ? WSE_COLOR_GROUP + (wse_col() & 1) : WSE_COLOR_GROUP_WRAP;
}

static inline void attn_ring_setup(void)
{
	wse_route(WSE_COLOR_GROUP_WRAP, (A.place < A.last ? WSE_RX(E) : WSE_RX(R)) |
						(A.place ? WSE_TX(W) : WSE_TX(R)));
}

/*
 * The next start may have other groups: a word behind all others tells the columns between that
 * nothing is left on its way to the first one.
 */
static inline void attn_ring_done(void)
{
	if (!A.ring)
		return;
	if (A.place)
		wse_recv(attn_ring_in());
	if (A.place < A.last) {
		wse_route(WSE_COLOR_GROUP_WRAP, ROUTE_NONE);
		wse_send(attn_ring_out(), 0);
	}
}

/*
 * Chunks of products of src and x, as attn_chunks() has them; sums of those that this column has
 * go to `to`, every G chunks of P (dS), and to a chunk behind the array where G does not divide
 * them.
 */
static __attribute__((noinline)) void attn_ring(const struct attn_chunks *chunks, uint32_t own,
						uint32_t to)
{
	const struct attn_chunks c = *chunks;
	const uint32_t pass = WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MADD, D_K, V2, D_A);
	const uint32_t shape = c.n + (1 << 16);
	uint32_t lanes = ATTN_AXPY + WSE_CLEAR + WSE_THEN(T_CHUNK), next = 1u << WSE_TCW_TASK_SHIFT;
	uint32_t turn = A.place, task = T_CHUNK, at = 0, i = 0;

	wse_task_block(T_CHUNK + 1);
	WSE_DSR_HALF(T_ACC, 0, 0, 0);
	wse_issue(lanes, c.b);
	wse_dsr_fabin(V2, attn_ring_in());
	wse_dsr_fabout(D_K, attn_ring_out(), c.n);
	attn_dsr(D_A, 0, shape, 1, KIND_ACC);
	attn_dsr(D_B, to, c.n + (4 << 16), 1, KIND_32);
	do {
		uint32_t give = pass;

		if (!turn)
			give -= (D_K - D_B) << WSE_TCW_DST_SHIFT;
		else if (turn == 1)
			give = WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MOVE, D_K, D_A, 0);
		i += c.keys;
		if (i < c.of) {
			if (own)
				attn_send(c.src, i, c.keys);
			WSE_DSR_HALF(T_ACC, 0, at ^ ATTN_CHUNK, 0);
			if (i > c.keys)	/* mover 1 has emptied this half */
				wse_wait(4);
			lanes ^= next;
			wse_issue(lanes, c.b);
		}
		WSE_DSR_HALF(D_A, 0, at, shape);
		at ^= ATTN_CHUNK;
		wse_task_take();
		wse_issue(give, 0);
		wse_task_block(task);
		task ^= 1;
		wse_task_unblock(task);
		if (!turn) {
			turn = A.last + 1;
			to += 2 * c.n * turn;
			WSE_DSR_HALF(D_B, 0, to, c.n + (4 << 16));
		}
		turn--;
	} while (i < c.of);
	wse_task_unblock(T_CHUNK);
	wse_task_unblock(T_CHUNK + 1);
	wse_wait(4);
}

/*
 * bf16 [keys][t], of which each column has its chunks: mover 1 sends some, mover 0 takes others.
 * What the lanes do with them next waits for mover 0, for an index.
 */
static __attribute__((noinline)) void attn_ring_share(uint32_t at)
{
	uint32_t n = A.last + 1, words = A.keys * A.t / 2, of = A.place, left = A.last;
	uint32_t chunks = ATTN_SOME / A.keys, some = chunks / n, more = chunks - some * n;

	wse_dsr_fabin(V2, attn_ring_in());
	wse_dsr_fabout(D_K, attn_ring_out(), 1);
	wse_wait(1);
	for (;;) {
		uint32_t rows = some + (of < more);

		attn_words(T_ROW, at + 4 * words * of, words, rows, 4 * words * n);
		if (rows)
			attn_move(M1, D_K, T_ROW);
		of = of ? of - 1 : A.last;
		rows = some + (of < more);
		attn_words(T_DST, at + 4 * words * of, words, rows, 4 * words * n);
		if (rows)
			attn_move(M0, T_DST, V2);
		if (!--left)
			break;
		wse_wait(2);
	}
}

#else
#define attn_ring(c, own, to)
#define attn_ring_share(at)	((void)(at))
#endif

#endif /* WSE_ATTN_RING_H */
