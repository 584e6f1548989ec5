/* SPDX-License-Identifier: MIT */
/*
 * Heads over two columns, backward, from 24 tokens a row on; part of attn_back.h. The bits are
 * those of attn_gather().
 *
 * Each of both columns has products of its own features, whose sums over both are scores (dP).
 * Here a column adds those of every other chunk alone and makes P (dS) of them: the western one
 * of chunks 0, 2 ..., the eastern one of 1, 3 ... It sends the other column its products of the
 * other chunks, and afterwards P and dS, which are half as long.
 *
 * Products of a chunk lie in one half of the accumulators, and mover 1 sends or adds them while the
 * lanes make the next chunk's in the other half (attn_pair()). It takes them in the same order on
 * both sides, so that one sends while the other adds. Sums wait where P (dS) of two chunks go
 * afterwards, as binary32.
 */
#ifndef WSE_ATTN_PAIR_H
#define WSE_ATTN_PAIR_H

enum { T_CHUNK = 8 /* and 9: tasks, of a half of the accumulators each */ };

static inline uint32_t attn_pair_in(void)
{
	return A.place ? WSE_COLOR_GROUP : WSE_COLOR_GROUP_BACK;
}

static inline uint32_t attn_pair_out(void)
{
	return WSE_COLOR_GROUP + WSE_COLOR_GROUP_BACK - attn_pair_in();
}

/*
 * Chunks of products of src and x, as attn_chunks() has them; at `to`, binary32, one behind the
 * other, the sums of those that this column adds.
 */
static __attribute__((noinline)) void attn_pair(const struct attn_chunks *chunks, uint32_t own,
						uint32_t to)
{
	const struct attn_chunks c = *chunks;
	uint32_t give = WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MOVE, D_K, D_A, 0);
	uint32_t add = WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MADD, D_B, V2, D_A);
	uint32_t lanes = ATTN_AXPY + WSE_CLEAR + WSE_THEN(T_CHUNK), next = 1u << WSE_TCW_TASK_SHIFT;
	uint32_t gives = A.place, task = T_CHUNK, at = 0, i = 0;

	wse_dsr_fabin(V2, attn_pair_in());
	wse_dsr_fabout(D_K, attn_pair_out(), 1);
	attn_dsr(D_A, 0, c.n + (1 << 16), 1, KIND_ACC);
	attn_dsr(D_B, to, c.n + (4 << 16), 1, KIND_32);
	WSE_DSR_HALF(T_ACC, 0, 0, 0);
	wse_task_block(T_CHUNK + 1);
	wse_issue(lanes, c.b);
	do {
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
		wse_task_take();
		wse_task_block(task);
		task ^= 1;
		wse_task_unblock(task);
		WSE_DSR_HALF(D_A, 0, at, c.n + (1 << 16));
		if (gives) {
			wse_issue(give, 0);
		} else {
			wse_issue(add, 0);
			to += 4 * c.n;
			WSE_DSR_HALF(D_B, 0, to, c.n + (4 << 16));
		}
		gives ^= 1;
		at ^= ATTN_CHUNK;
	} while (i < c.of);
	wse_task_unblock(T_CHUNK);
	wse_task_unblock(T_CHUNK + 1);
	wse_wait(4);
}

/* bf16 [keys][t], of which each column has its chunks: mover 1 sends them, mover 0 takes others */
static __attribute__((noinline, unused)) void attn_pair_swap(uint32_t at)
{
	uint32_t words = A.keys * A.t / 2, rows = ATTN_SOME / A.keys / 2, place = A.place;

	wse_dsr_fabin(V2, attn_pair_in());
	wse_dsr_fabout(D_K, attn_pair_out(), 1);
	attn_words(T_ROW, at + 4 * words * place, words, rows, 8 * words);
	attn_words(T_DST, at + 4 * words * (1 - place), words, rows, 8 * words);
	wse_wait(1);
	attn_move(M1, D_K, T_ROW);
	attn_move(M0, T_DST, V2);
}

#endif /* WSE_ATTN_PAIR_H */
