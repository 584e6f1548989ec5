/* SPDX-License-Identifier: MIT */
/*
 * Attention backward (entry attn_back, struct wse_attn_back_args), on the rounds of attn.h.
 * libwse/ops/scalar_attn.h defines it sum by sum.
 *
 * A round computes for each row that sends: P again from q, keys and the kept maximum; dP and dS
 * from values and g; then dv. DOTX adds over the tokens of this row and of the rows south of it,
 * with g (for dk: q) in the accumulators and P (dS) in SRAM; mover 0 sends the core its own stream
 * of indices through the router. Mover 1 adds the sums from the south and passes them north, or
 * stores them if the keys are this row's. Row r sends on WSE_COLOR_KGRAD + (r & 1): these routes
 * never change. The core computes dq and dk in the same round, or, where it keeps dS of all keys,
 * afterwards: dq then in its own rounds, without sums that wait in memory. The bits are the same.
 *
 * No operand is overwritten while it is still needed: the lanes work in order; mover 1 stores dv
 * and dk from results that the lanes produce after they have read this row's own values and, for
 * the last time, keys off the fabric; dq waits in other memory, in g once g is no longer needed,
 * until dk has read q.
 *
 * No deadlock, in addition to the argument in attn.h: the sums of dv and dk are steps of the same
 * order, (head, row that sends, product, block). They wait for the same step of the row to the
 * south, or for room, that is for the same or an earlier step of the row to the north. The lanes
 * wait for mover 1, which has its instructions for a step before the lanes have any for a later
 * one.
 */
#ifndef WSE_ATTN_BACK_H
#define WSE_ATTN_BACK_H

#include "attn.h"

/* as attn.h */
#pragma GCC push_options
#pragma GCC optimize("no-move-loop-invariants", "no-tree-ch", "no-thread-jumps")

/* DSRs of mover 1 */
enum { T_KIN = V0, T_KOUT = V1, T_DOTQ = V2 };

/* of two colors of sums on their way to the row that has the keys */
#ifdef KERNELS_BACK_HALVES
#define ATTN_KGRAD	A.kgrad
#define ATTN_KEYS	A.some
#define ATTN_KEYS16	(A.some + (2 << 16))
#define ATTN_UNIT	static __attribute__((noinline))	/* it stands in two places */
#else
#define ATTN_KGRAD	WSE_COLOR_KGRAD
#define ATTN_KEYS	A.t
#define ATTN_KEYS16	A.row16
#define ATTN_UNIT	static inline
#endif

static inline void routes_kgrad(void)
{
	uint32_t r = wse_row();

	wse_route(WSE_COLOR_INDEX, ROUTE_OWN);
#ifdef KERNELS_BACK_HALVES
	A.kgrad = WSE_COLOR_KGRAD;
#endif
	if (A.row)
		wse_route(WSE_COLOR_KGRAD + (r & 1), WSE_RX(R) | WSE_TX(N));
	if (A.row + 1 < A.rho)
		wse_route(WSE_COLOR_KGRAD + (~r & 1), WSE_RX(S) | WSE_TX(R));
}

/*
 * out [d][t], bf16, of row r's keys that are taken: out[f][key] = sum over tokens of g[f] x[key]; g
 * bf16 [d][t], x bf16 [keys][t]
 */
static __attribute__((noinline)) void attn_to_keys(uint32_t g, uint32_t x, uint32_t r, uint32_t out)
{
	uint32_t color = ATTN_KGRAD + (wse_row() & 1), n = A.fb * A.t, f;
	uint32_t add = A.row + 1 < A.rho
			       ? WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MADD, T_KOUT, T_KIN, T_DOTQ)
			       : WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MOVE, T_KOUT, T_DOTQ, 0);

	if (r == A.row)
		add += (uint32_t)(T_DST - T_KOUT) << WSE_TCW_DST_SHIFT;
	out += 2 * ATTN_FROM;
	attn_rows16(T_X, x, ATTN_KEYS);
	attn_rows_acc(T_ACC, 0, A.fb);
	attn_dsr(T_SRC, 0, A.fb, ATTN_KEYS, KIND_ACC);	/* its values do not matter */
	wse_dsr_base(T_IN, WSE_COLOR_INDEX, 1, 1);
	wse_dsr_base(T_OUT, WSE_COLOR_INDEX, 1, 1);
	wse_dsr_fabin(T_KIN, color ^ WSE_COLOR_KGRAD ^ (WSE_COLOR_KGRAD + 1));
	wse_dsr_fabout(T_KOUT, color, A.fb * ATTN_KEYS);
	wse_dsr_dotq(T_DOTQ);
	for (f = 0; f < A.d; f += A.fb) {
		attn_rows16(D_A, g, A.fb);
		attn_dsr(T_DST, out, A.rows16 + A.fb, ATTN_KEYS16, KIND_16);
		vv(VMOV, T_ACC, D_A, 0);
		wse_issue_index(WSE_ENGINE_M0, T_OUT, T_SRC, 0, WSE_SEND_END);
		wse_issue_dotx(T_ACC, T_IN, T_X, A.fb, 0);
		wse_issue(add, 0);
		g += 2 * n;
		out += 2 * n;
	}
	wse_dsr_base(T_IN, A.color, 1, 1);
	wse_dsr_base(T_OUT, A.color, 1, 1);
}

/* g = bf16(g * recip); dot [t] = sum over f of g o */
static inline void attn_back_row(uint32_t g, uint32_t o, uint32_t recip, uint32_t dot)
{
	attn_rows16(D_A, g, A.d);
	attn_rows16(D_B, o, A.d);
	attn_again32(T_ROW, recip, A.d);
	vv(VMUL, D_A, D_A, T_ROW);
	attn_again_acc(T_ACC, A.up, 1);
	attn_again_acc(D_C, A.up, A.d);
	vs(VAND, T_ACC, T_ACC, 0);
	vv(VMAC, D_C, D_A, D_B);
	if (A.last)
		attn_gather(A.t, 0, 0);
	WSE_DSR_HALF(T_ACC, 0, 0, A.row_acc);
	attn_again32(T_ROW, dot, 1);
#ifdef KERNELS_DROP
	if (A.drop) /* the sum over P without what drops it, g has the scale in its recip */
		vs(VMUL, T_ACC, T_ACC, attn_drop_word(3));
#endif
	vv(VMOV, T_ROW, T_ACC, 0);
}

#ifdef KERNELS_FULL
/*
 * Behind a head of those that share keys and values: adds its gradients of these, bf16 [2][d][t] at
 * sums, to the binary32 ones behind them, and after the last head rounds them into k and v. Nothing
 * else runs meanwhile: mover 1 has stored the gradients, and the next head's come after this.
 */
static __attribute__((noinline)) void attn_share(uint32_t sums, uint32_t k, uint32_t v, int first,
						 int last)
{
	uint32_t n = A.head / 2, all = sums + 2 * A.head;

	wse_wait(7);
	vec_mem(D_A, sums, WSE_DT_BF16, 2 * n);
	vec_mem(D_B, all, WSE_DT_FP32, 2 * n);
	if (first)
		vv(VMOV, D_B, D_A, 0);
	else
		vv(VADD, D_B, D_B, D_A);
	if (last) {
		vec_mem(D_A, k, WSE_DT_BF16, n);
		vec_mem(D_B, all, WSE_DT_FP32, n);
		vv(VMOV, D_A, D_B, 0);
		vec_mem(D_A, v, WSE_DT_BF16, n);
		vec_mem(D_B, all + 4 * n, WSE_DT_FP32, n);
		vv(VMOV, D_A, D_B, 0);
	}
	wse_wait(1);
}
#endif

/* a head: its arrays, and where sums of dq wait and gradients of keys and values go */
struct attn_back {
	uint32_t q, k, v, g, max, dot, p, carry, dk, dv, scale;
};

#ifdef KERNELS_BACK_HALVES
static void attn_message(const struct attn_back *h, uint32_t last, uint32_t rest);
#endif

/*
 * ds = bf16((dP - dot) * p) for row r's keys that are taken, whose P was made with the chunks c;
 * ds, p bf16 [keys][t]; where p has a sign it is dropped, and dP is 0
 */
static inline void attn_ds(const struct attn_back *h, struct attn_chunks *c, uint32_t r,
			   uint32_t ds)
{
	const uint32_t own = r == A.row, row16 = A.row16, last = A.last, ring = ATTN_RING;
	const uint32_t all = ds;
	uint32_t p = h->p, sum = ds, i = 0, step = c->keys, bytes = 2 * c->n, first = 1;

	/* what else attn_chunks() does is so already */
	c->src = h->v + 2 * ATTN_FROM;
	WSE_DSR_HALF(T_X, 0, h->g, row16);
	if (own)
		attn_send(c->src, 0, step);
	if (ring) {
		attn_ring(c, own, ds);
		attn_ring_share(p);
		attn_rows32(D_C, ds, step);
		i = A.place * step;
		p += A.place * bytes;
		ds += A.place * bytes;
		step += last * step;
		bytes += last * bytes;
	}
	while (i < c->of) {
		if (__builtin_expect(!ring, 1))
			attn_chunk(c);
		if (first) {	/* while the lanes make the first products */
			first = 0;
			attn_again32(V1, h->dot, c->keys);
#ifdef KERNELS_BACK_HALVES
			attn_message(h, 0, 1);
			if (!A.up || ring) { /* there is room beside the products */
				attn_again_acc(D_A, ATTN_CHUNK, c->keys);
				vv(VMOV, D_A, V1, 0);
				attn_again_acc(V1, ATTN_CHUNK, c->keys);
			}
#endif
			attn_rows_acc(V0, 0, c->keys);
			attn_rows16(D_A, p, c->keys);
			attn_rows16(D_B, ds, c->keys);
		}
		WSE_DSR_HALF(D_A, 0, p, row16);
		WSE_DSR_HALF(D_B, 0, ds, row16);
		if (__builtin_expect(ring, 0)) {
			WSE_DSR_HALF(D_C, 0, sum, A.row32);
			vv(VSUB, V0, D_C, V1);
			sum += bytes;
		} else {
			if (last)
				attn_gather(c->n, 0, 0);
#ifdef KERNELS_DROP
			if (A.drop)
				vv(VGATE, V0, D_A, V0);
#endif
			vv(VSUB, V0, V0, V1);
			attn_ahead(c, i, own);
		}
		p += bytes;
		ds += bytes;
		i += step;
#ifdef KERNELS_DROP
		vs(VAND, D_B, D_A, 0x7fffffff);
		vv(VMUL, D_B, V0, D_B);
#else
		vv(VMUL, V0, V0, D_A);
		vv(VMOV, D_B, V0, 0);
#endif
	}
	if (ring)
		attn_ring_share(all);
}

/* P and dS of the keys of row r, and the gradients; keeps: that of q and k comes later */
ATTN_UNIT void attn_back_unit(const struct attn_back *h, uint32_t r, uint32_t ds, int keeps)
{
#ifdef KERNELS_BACK_HALVES
	attn_message(h, 0, 0);
#endif
	struct attn_chunks c = attn_chunks(h->k, h->q, A.keys, A.up, r == A.row);

	attn_p_again(&c, r, h->p, h->max);
#ifdef KERNELS_DROP
	if (A.drop)
		attn_drop(h->p, r, 0);
#endif
	attn_ds(h, &c, r, ds);
#ifdef KERNELS_DROP
	if (A.drop) {
		attn_rows16(D_A, h->p, A.t);
		vv(VGATE, D_A, D_A, D_A);
	}
#endif
	attn_to_keys(h->g, h->p, r, h->dv);
	if (keeps)
		return;
#ifdef KERNELS_BACK_HALVES
	attn_message(h, 1, 0);
#endif
	attn_sums(h->k, ds, r, h->carry, h->carry, 0, h->scale);
#ifdef KERNELS_BACK_HALVES
	attn_message(h, 1, 1);
#endif
	attn_to_keys(h->q, ds, r, h->dk);
}

/* dq, bf16 [d][t], takes the place of q, which dk has read */
static inline void attn_dq(uint32_t from, uint32_t q)
{
	attn_rows16(D_A, from, A.d);
	attn_rows16(D_B, q, A.d);
	vv(VMOV, D_B, D_A, 0);
}

#ifdef KERNELS_BACK_HALVES
#include "attn_back_half.h"
#endif

static inline void attn_back_kernel(const struct wse_attn_back_args *a)
{
	uint32_t t = a->t, tt = 2 * t * t, keep = wse_attn_keeps_ds(t, a->s, a->d), i, r;
	uint32_t dot = a->work, p = dot + 4 * t, ds = p + tt, step = keep ? tt : 0, carry = ds + tt;

	attn_setup(t, t, a->s, a->d, a->group);
	routes_kgrad();
#ifdef KERNELS_BACK_HALVES
	uint32_t halves = a->halves;

	if (halves) {
		carry += 2 * ATTN_CHUNK; /* sums behind dS: attn_ring() */
		A.got = carry + 4 * t * a->d;
		A.ring = A.last;
		if (A.ring)
			attn_ring_setup();
		if (!attn_half_upper())
			dot = A.got + 4 * A.head;
	}
#endif
#ifdef KERNELS_FULL
	uint32_t share = a->heads / a->kv, nth = 0, k = a->qkv + A.head * a->heads,
		 v = k + A.head * a->kv;
#endif
	for (i = 0; i < a->heads; i++) {
#ifdef KERNELS_FULL
		uint32_t q = a->qkv + A.head * i, dk = share > 1 ? a->sums : k,
			 dv = share > 1 ? a->sums + A.head : v;
#else
		uint32_t q = a->qkv + A.head * i, k = q + A.head * a->heads,
			 v = k + A.head * a->heads, dk = k, dv = v;
#endif
		uint32_t g = a->dout + A.head * i;

#ifdef KERNELS_SLOPES
		attn_slope(a->slopes, a->heads, i);
#endif
#ifdef KERNELS_DROP
		attn_drop_head(a->drop, a->s, a->heads, i);
#endif
		attn_back_row(g, a->o + A.head * i, a->recip + 4 * t * i, dot);
		for (r = 0; r <= A.row; r++) {
			const struct attn_back h = {.q = q,
						    .k = k,
						    .v = v,
						    .g = g,
						    .max = a->max + 4 * t * i,
						    .dot = dot,
						    .p = p,
						    .carry = carry,
						    .dk = dk,
						    .dv = dv,
						    .scale = a->scale};

#ifdef KERNELS_BACK_HALVES
			if (halves) {
				if (!i) /* while the lanes make D */
					attn_ask_setup();
				attn_back_halves(&h, ds);
				break;
			}
#endif
			if (r == A.row)
				attn_turn();
			attn_back_unit(&h, r, ds + step * r, keep);
		}
		attn_next_round();
		if (keep) {
			attn_sums(k, ds, ALL_ROWS, 0, g, 0, a->scale);
			for (r = 0; r <= A.row; r++)
				attn_to_keys(q, ds + step * r, r, dk);
		}
#ifdef KERNELS_BACK_HALVES
		if (!halves)
#endif
			attn_dq(keep ? g : carry, q);
#ifdef KERNELS_FULL
		nth++;
		if (share > 1)
			attn_share(a->sums, k, v, nth == 1, nth == share);
		if (nth == share) {
			nth = 0;
			k += A.head;
			v += A.head;
		}
#endif
	}
#ifdef KERNELS_BACK_HALVES
	if (halves)
		attn_ask_done();
#endif
	attn_done();
}

#pragma GCC pop_options

#endif /* WSE_ATTN_BACK_H */
