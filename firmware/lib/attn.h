/* SPDX-License-Identifier: MIT */
/*
 * Causal attention, forward (entry attn, struct wse_attn_args), and the parts that attn_back.h
 * shares. libwse/ops/scalar_attn.h defines it sum by sum.
 *
 * A column owns whole heads; a sequence lies in rho = s / t neighbouring rows, tokens ascending
 * southward. A core needs the keys and values of its own row and of the rows north of it. Each row
 * sends its keys and values with MIDX, as a weight stream that reaches its own lanes and all rows
 * to the south at once, and AXPY takes it:
 *   products of a chunk [keys][t]: f = key, k = feature, x = q [d][t] (attn_chunk; scores and dP)
 *   sums [feature][t]: f = feature, k = key, x = P [key][t] (attn_sums; o, dq)
 * A chunk of scores fills the accumulators and goes to memory. Where products are worked on in
 * place (scores of the backward pass, dP), a chunk has 64, and the rest is for their results. The
 * sums of all features do not fit, so between the rows they wait in memory as binary32.
 *
 * All rows that take a block wait for the slowest one, which is often the row that sends. So that
 * row tells mover 0 to send a chunk before the lanes are done with the one before (attn_ahead), and
 * loops set up an instruction's operands while the lanes do earlier ones.
 *
 * Where all scores fit (wse_attn_keeps()), the first round makes them and finds the maxima; then,
 * source row by source row, the core computes P, and l and o in rounds of their own. Where they do
 * not, it takes the rows of keys in one pass, in one round: scores of a row, the maximum so far, P,
 * and its share of l and o, whose older part it multiplies by a power of two when the maximum grows
 * (attn_again()). What a row alone needs, l and 1 / l, comes behind its own values, for which all
 * rows to the south wait (attn_o()).
 *
 * Rounds: in a round each row of the sequence sends once, north to south. Row i receives from the
 * north until the rows above have had their turn (i times the same number of blocks), waits for its
 * lanes, routes the color to its own ramp and sends. By then a row above may be in the next round,
 * so rounds alternate between two colors. A row routes a color back to the north at its own turn of
 * the following round: by then row i has received wavelets of this round that also went on to row i
 * + 1, more than the two queues there hold, so row i + 1 has finished the round before. A row sends
 * at least 8 x 8 wavelets in a round; the queues hold 2 CHAN_DEPTH.
 *
 * No deadlock: every core executes (head, round, row that sends, product, block) in the same order.
 * A step waits for its data, that is for the same step of a row to the north, or for room, that is
 * for the same or an earlier step of a row to the south. So of the cores that are not done, the one
 * with the earliest step (of several, the one that sends in this step) can always proceed. No step
 * waits for the host.
 *
 * Heads of queries that share keys and values (in a program with KERNELS_FULL) each take them in
 * turn, as if they were their own.
 *
 * In a program with KERNELS_HALVES the rows of a sequence may share their work: attn_half.h; with
 * KERNELS_BACK_HALVES backward, too: attn_back_half.h, and the columns of a head then share the
 * work of P and dS: attn_ring.h.
 */
#ifndef WSE_ATTN_H
#define WSE_ATTN_H

#ifdef KERNELS_DROP
#include "drop.h"
#endif
#include "kernel.h"
#include "vec.h"

/* the cores fetch code from SRAM: where there is less of it, it is faster, too */
#pragma GCC push_options
#pragma GCC optimize("no-move-loop-invariants", "no-tree-ch", "no-thread-jumps")

/* beside V0, V1 and D_A ... D_K of vec.h */
enum { T_MAX = V3, T_IN = V4, T_X = V5, T_ACC = V6, T_OUT = V7, T_SRC = 12, T_DST = 13, T_ROW = 14,
       T_MSK = 15 };

#define ATTN_CHUNK	64	/* products of a chunk that is worked on in place */

static struct {
	uint32_t row, rho;	/* position in the sequence; its rows */
	uint32_t t, d;		/* tokens whose scores are made together; features */
	uint32_t head;		/* bytes of a head's bf16 [d][of] */
	uint32_t keys;		/* of a chunk of ATTN_CHUNK products */
	/* features of a block of sums; features that fit the accumulators */
	uint32_t fb, wide;
	uint32_t color;		/* of this round */
	uint32_t again;		/* factors of older sums, binary32 [t]; 0: there are none */
	uint32_t place, last;	/* of this column among those of a head; of the last one */
	uint32_t up;		/* where products lie that two columns send each other */
#ifdef KERNELS_SLOPES
	uint32_t slopes, slope; /* their table, 0: none; of the head, binary32 */
#endif
#ifdef KERNELS_DROP
	uint32_t drop, drop_head; /* table, 0: no P is dropped; number of the head's first key */
#endif
	/*
	 * DSR words: a row of t elements in memory (2, 4 bytes) and in accumulators; consecutive
	 * rows
	 */
	uint32_t row16, row32, row_acc, rows16, rows32, rows_acc;
#ifdef KERNELS_HALVES
	uint32_t of, of16;	/* tokens of a row: the keys of a source row; DSR word as rows16 */
	uint32_t first;		/* the first of t tokens among them */
	uint32_t replay;	/* all keys are sent by this core */
	uint32_t place_row, slot; /* row of this core in the sequence; of attn_half.h */
	uint32_t got, drop_to;	/* keys and values of other rows; a word for what is not needed */
#endif
#ifdef KERNELS_BACK_HALVES
	uint32_t kgrad;		/* first color of the sums of dk and dv */
	uint32_t from, some;	/* of a source row's keys the first that is taken, how many */
	uint32_t begin;		/* source row that sums in memory begin with */
	uint32_t ring;		/* attn_ring.h: columns of a head have chunks by turns */
#endif
} A;

/* tokens of a row, rows of them, and the first of A.t tokens whose scores are made together */
#ifdef KERNELS_HALVES
#define ATTN_OF		A.of
#define ATTN_OF16	A.of16
#define ATTN_FIRST	A.first
#else
#define ATTN_OF		A.t
#define ATTN_OF16	A.rows16
#define ATTN_FIRST	0
#endif

/* of a source row's keys those that are taken */
#ifdef KERNELS_BACK_HALVES
#define ATTN_FROM	A.from
#define ATTN_SOME	A.some
#define ATTN_LESS	(A.some < A.t)	/* not all of them */
#define ATTN_RING	A.ring
#define ATTN_BEGIN	A.begin
#else
#define ATTN_FROM	0
#define ATTN_SOME	ATTN_OF
#define ATTN_LESS	0
#define ATTN_RING	0
#define ATTN_BEGIN	0
#endif

#define P 0x7f80	/* +inf */
#define N 0xff80	/* -inf */
/* keys southward, tokens eastward: +inf where the token sees the key */
static const uint16_t attn_triangle[8][8] __attribute__((aligned(16))) = {
	{P, P, P, P, P, P, P, P}, {N, P, P, P, P, P, P, P}, {N, N, P, P, P, P, P, P},
	{N, N, N, P, P, P, P, P}, {N, N, N, N, P, P, P, P}, {N, N, N, N, N, P, P, P},
	{N, N, N, N, N, N, P, P}, {N, N, N, N, N, N, N, P},
};
#undef P
#undef N

/* DSR d of four words; kinds of operands */
#define attn_dsr(d, base, inner, outer, kind) do { \
	WSE_DSR_HALF(d, 0, base, inner); \
	WSE_DSR_HALF(d, 1, outer, kind); } while (0)
#define KIND_16	WSE_KIND_TYPE(WSE_KIND_MEM, WSE_DT_BF16)
#define KIND_32	WSE_KIND_TYPE(WSE_KIND_MEM, WSE_DT_FP32)
#define KIND_ACC	WSE_KIND_TYPE(WSE_KIND_ACC, WSE_DT_FP32)

/* n consecutive rows of t elements; the same row n times */
#define attn_rows16(d, addr, n)	attn_dsr(d, addr, A.row16, A.rows16 + (n), KIND_16)
#define attn_of16(d, addr, n)	attn_dsr(d, addr, A.row16, ATTN_OF16 + (n), KIND_16)
#define attn_rows32(d, addr, n)	attn_dsr(d, addr, A.row32, A.rows32 + (n), KIND_32)
#define attn_rows_acc(d, acc, n)	attn_dsr(d, acc, A.row_acc, A.rows_acc + (n), KIND_ACC)
#define attn_again32(d, addr, n)	attn_dsr(d, addr, A.row32, n, KIND_32)
#define attn_again_acc(d, acc, n)	attn_dsr(d, acc, A.row_acc, n, KIND_ACC)

/* rows of n words of 4 bytes; a mover's instruction that copies them */
#define attn_words(d, addr, n, rows, stride) \
	attn_dsr(d, addr, (n) + (4 << 16), (rows) + ((uint32_t)(stride) << 16), \
		 WSE_KIND_TYPE(WSE_KIND_MEM, WSE_DT_I32))
#define attn_move(engine, d, s)	wse_issue(WSE_TCW(WSE_ENGINE_##engine, WSE_TOP_MOVE, d, s, 0), 0)

#define ROUTE_OWN	(WSE_RX(R) | WSE_TX(R))
#define ROUTE_NORTH	(WSE_RX(N) | WSE_TX(R))
#define ROUTE_NONE	7
#define OTHER_COLOR	(WSE_COLOR_KEYS ^ (WSE_COLOR_KEYS + 1))

static inline uint32_t attn_south(void)
{
	return A.row + 1 < A.rho ? WSE_TX(S) : 0;
}

#include "attn_cols.h"

/* rows of `of` tokens, t of which have their scores made together */
static void attn_setup(uint32_t of, uint32_t t, uint32_t s, uint32_t d, uint32_t group)
{
	uint32_t cfg;

	A.t = t;
	A.d = d;
	A.head = 2 * of * d;
	A.rho = s / of;
	A.row = wse_row() % A.rho;
	A.keys = ATTN_CHUNK / t;
	A.fb = t <= 32 ? 4 : 2;
	A.wide = WSE_NACC / (A.fb * t) * A.fb;
	while (d % A.wide)
		A.wide -= A.fb;
	A.row16 = t + (2 << 16);
	A.row32 = t + (4 << 16);
	A.row_acc = t + (1 << 16);
	A.rows16 = t << 17;
	A.rows32 = t << 18;
	A.rows_acc = t << 16;
	A.color = WSE_COLOR_KEYS;
	A.place = A.last = A.again = A.up = 0;
#ifdef KERNELS_HALVES
	A.of = of;
	A.of16 = of << 17;
	A.first = A.replay = A.got = 0;
#endif
#ifdef KERNELS_BACK_HALVES
	A.from = A.ring = A.begin = 0;
	A.some = of;
#endif
	cfg = (A.row ? ROUTE_NORTH : ROUTE_OWN) | attn_south();
	wse_route(WSE_COLOR_KEYS, cfg);
	wse_route(WSE_COLOR_KEYS + 1, cfg);
	wse_dsr_fabin(T_IN, WSE_COLOR_KEYS);
	wse_dsr_fabout(T_OUT, WSE_COLOR_KEYS, 1);
	if (group > 1)
		attn_group(group);
}

/* the next start may have other sequences: its wavelets wait until this core has begun it */
static void attn_done(void)
{
	wse_wait(7);
	wse_route(WSE_COLOR_KEYS, ROUTE_NONE);
	wse_route(WSE_COLOR_KEYS + 1, ROUTE_NONE);
	if (A.place && A.place < A.last)
		wse_route(WSE_COLOR_GROUP_BACK, ROUTE_NONE);
}

/* from here on this row sends its own */
static inline void attn_turn(void)
{
	if (!A.row)
		return;
	wse_wait(1);
	wse_route(A.color, ROUTE_OWN | attn_south());
	wse_route(A.color ^ OTHER_COLOR, ROUTE_NORTH | attn_south());
}

static void attn_next_round(void)
{
	A.color ^= OTHER_COLOR;
	wse_dsr_base(T_IN, A.color, 1, 1);
	wse_dsr_base(T_OUT, A.color, 1, 1);
}

#define ATTN_AXPY	WSE_TCW(WSE_ENGINE_L, WSE_TOP_AXPY, T_ACC, T_IN, T_X)

#ifndef ATTN_SENDS
#ifdef KERNELS_HALVES
#define ATTN_SENDS(r)	((r) == A.row || A.replay)
#else
#define ATTN_SENDS(r)	((r) == A.row)	/* this core sends the keys of row r */
#endif
#define ATTN_STRIDE	ATTN_OF16		/* from feature to feature of them */
#endif

/* tells mover 0 to send the keys of a chunk, from i on, block by block */
static __attribute__((noinline)) void attn_send(uint32_t src, uint32_t i, uint32_t keys)
{
	uint32_t b = keys < 4 ? keys : 4;

	src += 2 * i;
	do {
		WSE_DSR_HALF(T_SRC, 0, src, b + (2 << 16));
		src += 2 * b;
		wse_issue_index(WSE_ENGINE_M0, T_OUT, T_SRC, 0, WSE_SEND_END);
		keys -= b;
	} while (keys);
}

/* what a loop over chunks has in registers */
struct attn_chunks {
	uint32_t src, b, bt;	/* keys' array; keys of a block, and their products */
	uint32_t keys, n, of;	/* of a chunk, and their products; those that are taken */
	uint32_t at;		/* accumulators from here on */
};

/*
 * The next chunks are products of so many keys of src, and x, bf16 [d][of], in accumulators from
 * at on; own: this row sends the keys.
 */
static inline struct attn_chunks attn_chunks(uint32_t src, uint32_t x, uint32_t keys, uint32_t at,
					     int own)
{
	uint32_t b = keys < 4 ? keys : 4;

	src += 2 * ATTN_FROM;
	attn_of16(T_X, x, A.d);
	attn_dsr(T_SRC, src, b + (2 << 16), ATTN_STRIDE + A.d, KIND_16);
	attn_again_acc(T_ACC, 0, 1);	/* AXPY ignores the shape of this DSR */
	if (own)
		attn_send(src, 0, keys);
	return (struct attn_chunks){src, b, b * A.t, keys, keys * A.t, ATTN_SOME, at};
}

/* [keys][t] = sum over f of src[f][key] x[f], of the next keys that are sent */
static inline void attn_chunk(const struct attn_chunks *c)
{
	uint32_t acc = c->at, end = acc + c->n;

	do {
		WSE_DSR_HALF(T_ACC, 0, acc, 0);
		wse_issue(ATTN_AXPY + WSE_CLEAR, c->b);
		acc += c->bt;
	} while (acc < end);
}

/*
 * Behind an instruction on chunk i: mover 0 may send the next one, so that no core waits for this
 * core's scalar code.
 */
static inline void attn_ahead(const struct attn_chunks *c, uint32_t i, int own)
{
	if (own && i + c->keys < c->of)
		attn_send(c->src, i + c->keys, c->keys);
}

#include "attn_beside.h"

/*
 * out [d][of], bf16: out[f] = (sum over keys of src[f][key] x[key]) * row, or * scalar where row is
 * 0; src bf16 [d][of].
 * Either for all keys (ALL_ROWS), in as many rounds as all features need; x bf16 [keys][t].
 * Or for the keys of row r, within a round; x bf16 [keys][t]; the sums wait in carry, binary32
 * [d][t], and are complete with the own row's keys. out may be carry where t is of. A.again
 * multiplies those that have waited. row and scalar 0: those that are complete stay in carry.
 * The first row is ATTN_BEGIN: row 0, or the last one where they come in reverse.
 */
#define ALL_ROWS	(~0u)

static __attribute__((noinline)) void attn_sums(uint32_t src, uint32_t x, uint32_t r,
						uint32_t carry, uint32_t out, uint32_t row,
						uint32_t scalar)
{
	uint32_t all = r == ALL_ROWS, first = all ? 0 : r, last = all ? A.row : r, f, i;
	const uint32_t begin = ATTN_BEGIN;

	src += 2 * ATTN_FROM;
	attn_rows16(T_X, x, all ? (A.row + 1) * ATTN_OF : ATTN_SOME);
	attn_dsr(T_SRC, src, ATTN_STRIDE + A.fb, ATTN_SOME + (2 << 16), KIND_16);
	attn_again_acc(T_ACC, 0, 1);
	attn_rows_acc(D_A, 0, A.wide);
	attn_again32(T_ROW, row, A.wide);
	attn_again32(T_MAX, A.again, A.wide);
	for (f = 0; f < A.d; f += A.wide) {
		attn_rows32(D_B, carry, A.wide);
		if (first != begin && A.again)
			vv(VMUL, D_A, D_B, T_MAX);
		else if (first != begin)
			vv(VMOV, D_A, D_B, 0);
		for (r = first; r <= last; r++) {
			if (all && r == A.row)
				attn_turn();
			for (i = 0; i < A.wide; i += A.fb) {
				if (ATTN_SENDS(r)) {
					WSE_DSR_HALF(T_SRC, 0, src, ATTN_STRIDE + A.fb);
					src += (ATTN_STRIDE >> 16) * A.fb;
					wse_issue_index(WSE_ENGINE_M0, T_OUT, T_SRC,
							all ? r * ATTN_OF : 0, WSE_SEND_END);
				}
				WSE_DSR_HALF(T_ACC, 0, i * A.t, 0);
				wse_issue(r != begin ? ATTN_AXPY : ATTN_AXPY + WSE_CLEAR,
					  A.fb);
			}
		}
		attn_of16(T_DST, out, A.wide);
		/* more keys are to come, or the sums stay */
		if (last < A.row || (ATTN_LESS && !ATTN_FROM) || !(row | scalar))
			vv(VMOV, D_B, D_A, 0);
		else if (row) {
			vv(VMUL, D_A, D_A, T_ROW);
			vv(VMOV, T_DST, D_A, 0);
		} else
			vs(VMUL, T_DST, D_A, scalar);
		carry += 4 * A.t * A.wide;
		out += 2 * ATTN_OF * A.wide;
		if (all)
			attn_next_round();
	}
}

#include "attn_ring.h"
#include "attn_soft.h"

#ifdef KERNELS_HALVES
static void attn_slot(uint32_t k, uint32_t v);
#endif

/* scores of the keys k of row r, binary32 [of][t] */
static inline void attn_scores(uint32_t k, uint32_t q, uint32_t r, uint32_t s)
{
	uint32_t wide = 2 * A.keys < ATTN_OF ? 2 * A.keys : ATTN_OF, sends = ATTN_SENDS(r), i = 0;
	const struct attn_chunks c = attn_chunks(k, q, wide, 0, sends);

	attn_rows_acc(D_A, 0, c.keys);
	attn_rows32(D_B, s, c.keys);
	do {
		attn_chunk(&c);
		if (A.last) {
			attn_gather(c.n, c.keys, 1);
			attn_ahead(&c, i, sends);
		} else {
			attn_ahead(&c, i, sends);
			vv(VMOV, D_B, D_A, 0);
		}
		i += c.keys;
		s += 4 * c.n;
		WSE_DSR_HALF(D_B, 0, s, A.row32);
	} while (i < c.of);
#ifdef KERNELS_SLOPES
	if (A.slopes) {
		s -= 4 * c.of * c.of;
		for (i = 0; i < c.of; i += A.keys) {
			attn_rows32(T_DST, s, A.keys);
			attn_bias(r * c.of + i, 0);
			s += 4 * A.keys * c.of;
		}
	}
#endif
}

/*
 * l and sums of o of row r's keys, whose P is p. Behind the own row's, l becomes 1 / l, and o is
 * complete. Late: l comes behind the values, and o then waits for 1 / l. Where rows share their
 * work, each has as much to do, and none gains by it.
 */
static inline void attn_o(uint32_t v, uint32_t p, uint32_t r, uint32_t o, uint32_t l)
{
	uint32_t own = r == A.row, late = own, carry = A.again + 4 * A.t;

#ifdef KERNELS_HALVES
	if (A.got)
		late = 0;
#endif
#ifdef KERNELS_DROP /* l is of all P */
	attn_l(p, l, ATTN_OF, r);
	if (A.drop)
		attn_drop(p, r, 1);
#else
	if (!late)
		attn_l(p, l, ATTN_OF, r);
#endif
#ifdef KERNELS_HALVES
	if (own && !late)
		attn_recip(l);
#endif
	attn_sums(v, p, r, carry, o, late ? 0 : l, 0);
	if (!late)
		return;
#ifndef KERNELS_DROP
	attn_l(p, l, ATTN_OF, r);
#endif
	attn_recip(l);
	attn_rows32(D_A, carry, A.d);
	attn_again32(D_B, l, A.d);
	attn_of16(T_DST, o, A.d);
	vv(VMUL, T_DST, D_A, D_B);
}

/*
 * Scores s and maxima of the keys k of row r for the head's queries q; in one pass then P and the
 * values v, too. Behind the own row's o, max and l, which is 1 / l, are complete.
 */
static inline void attn_step(uint32_t k, uint32_t v, uint32_t q, uint32_t r, uint32_t s,
			     uint32_t o, uint32_t max, uint32_t l)
{
	attn_scores(k, q, r, s);
#ifdef KERNELS_HALVES
	if (A.got)
		attn_slot(k, v);
#endif
	attn_max(s, r, max);
	if (!A.again) {
		vv(VMOV, D_B, T_ROW, 0);
		return;
	}
	attn_again();
	/* P in place of scores */
#ifdef KERNELS_HALVES
	uint32_t own = r == A.row, n = own ? A.first : A.of;

	if (n)
		attn_p(s, 0, n, s, max);
	if (own) {
		attn_p(s + 4 * n * A.t, 1, A.t, s + 2 * n * A.t, max);
		n += A.t;
	}
	if (n < A.of) { /* keys that none of these tokens sees */
		attn_rows16(D_B, s + 2 * n * A.t, A.of - n);
		vs(VAND, D_B, D_B, 0);
	}
#else
	attn_p(s, r == A.row, A.t, s, max);
#endif
	attn_o(v, s, r, o, l);
}

#ifdef KERNELS_HALVES
#define ATTN_ROWS static __attribute__((noinline)) /* it stands in two places */
#else
#define ATTN_ROWS static inline
#endif

/* the steps of all source rows; s: scores of one, or, where they are kept, of all, one by one */
ATTN_ROWS void attn_rows(uint32_t k, uint32_t v, uint32_t q, uint32_t s, uint32_t o, uint32_t max,
			 uint32_t l)
{
	uint32_t r;

	for (r = 0; r <= A.row; r++) {
#ifdef KERNELS_HALVES
		if (A.replay) { /* keys and values of row r are here by now */
			if (A.place_row || r) {
				k = A.got + 2 * A.head * (r & 1);
				v = k + A.head;
			}
			wse_wait(4);
		} else if (r == A.row) {
			attn_turn();
		}
#else
		if (r == A.row)
			attn_turn();
#endif
		attn_step(k, v, q, r, s, o, max, l);
		if (!A.again)
			s += 4 * A.t * A.t;
	}
}

#ifdef KERNELS_HALVES
#include "attn_half.h"
#endif

static inline void attn_kernel(const struct wse_attn_args *a)
{
	uint32_t t = a->t, tt = 2 * t * t, p = a->work, q = a->qkv, o = a->o, max = a->max;
	uint32_t l = a->recip, keep = wse_attn_keeps(t, a->s), part, i, r;

	uint32_t of = t;

#ifdef KERNELS_HALVES
	uint32_t halves = wse_attn_halves(t, a->s, a->d);

	if (halves)
		t /= 2;
#endif
	attn_setup(of, t, a->s, a->d, a->group);
	if (!keep)
		A.again = p + 4 * of * t;
#ifdef KERNELS_HALVES
	if (halves)
		attn_half_setup();
#endif
	part = A.head * a->heads;
#ifdef KERNELS_FULL
	uint32_t share = a->heads / a->kv, left = share, k = q + part, v = k + A.head * a->kv;
#endif
	for (i = 0; i < a->heads; i++) {
#ifndef KERNELS_FULL
		uint32_t k = q + part, v = k + part;

#endif
#ifdef KERNELS_SLOPES
		attn_slope(a->slopes, a->heads, i);
#endif
#ifdef KERNELS_DROP
		attn_drop_head(a->drop, a->s, a->heads, i);
#endif
#ifdef KERNELS_HALVES
		if (halves)
			attn_half_queries(q);
#endif
		attn_rows(k, v, q, p, o, max, l);
#ifdef KERNELS_HALVES
		if (halves)
			attn_half_late(k, v, p, o, max, l);
#endif
		attn_next_round();
		if (keep) {
			for (r = 0; r <= A.row; r++)
				attn_p(p + 2 * tt * r, r == A.row, t, p + tt * r, max);
			attn_l(p, l, t * (A.row + 1), 0);
			attn_recip(l);
#ifdef KERNELS_DROP
			for (r = 0; r <= A.row && A.drop; r++)
				attn_drop(p + tt * r, r, 1);
#endif
			attn_sums(v, p, ALL_ROWS, 0, o, l, 0);
		}
		q += A.head;
		o += A.head;
		max += 4 * of;
		l += 4 * of;
#ifdef KERNELS_FULL
		if (!--left) {
			left = share;
			k += A.head;
			v += A.head;
		}
#endif
	}
#ifdef KERNELS_HALVES
	if (halves)
		attn_half_done();
#endif
	attn_done();
}

#pragma GCC pop_options

#endif /* WSE_ATTN_H */
