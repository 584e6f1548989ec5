/* SPDX-License-Identifier: MIT */
/*
 * Causal attention of one row of cores, a sequence's last tokens, to keys and values that were made
 * before (entry attn_past, struct wse_attn_past_args). libwse/ops/attn_past.c defines it.
 *
 * It is attn.h's kernel in the row that comes last in a sequence, but that no row is north of it:
 * keys and values of the past lie in the core's own memory, and mover 0 sends them to the lanes
 * as it sends its own there. The order of every sum is that of attn.h, so the bits are.
 */
#ifndef WSE_ATTN_PAST_H
#define WSE_ATTN_PAST_H

#include <stdint.h>

/* bytes from feature to feature of the keys or values that the core sends next << 16 */
static uint32_t past_stride;
#define ATTN_SENDS(r)	((void)(r), 1)
#define ATTN_STRIDE	past_stride

#include "attn.h"

/* a block of fb features: keys of an array into accumulators that are set already, or cleared */
static __attribute__((noinline)) void past_block(uint32_t src, uint32_t rows16, uint32_t from,
						 uint32_t keys, uint32_t acc)
{
	attn_dsr(T_SRC, src, rows16 + A.fb, keys + (2 << 16), KIND_16);
	wse_issue_index(WSE_ENGINE_M0, T_OUT, T_SRC, from, WSE_SEND_END);
	WSE_DSR_HALF(T_ACC, 0, acc, 0);
	wse_issue(from ? ATTN_AXPY : ATTN_AXPY + WSE_CLEAR, A.fb);
}

/* out [d][t] = (sum over keys of v p) * row, as attn_sums() of all rows; p bf16 [keys][t] */
static inline void past_sums(uint32_t v, uint32_t past, uint32_t past_rows16, uint32_t p,
			     uint32_t out, uint32_t row)
{
	uint32_t n = A.row * A.t, f, i;

	attn_rows16(T_X, p, n + A.t);
	attn_again_acc(T_ACC, 0, 1);
	attn_rows_acc(D_A, 0, A.wide);
	attn_again32(T_ROW, row, A.wide);
	for (f = 0; f < A.d; f += A.wide) {
		for (i = 0; i < A.wide; i += A.fb) {
			if (n)
				past_block(past, past_rows16, 0, n, i * A.t);
			past_block(v, A.rows16, n, A.t, i * A.t);
			past += (past_rows16 >> 16) * A.fb;
			v += 2 * A.t * A.fb;
		}
		attn_rows16(T_DST, out, A.wide);
		vv(VMUL, T_DST, D_A, T_ROW);
		out += 2 * A.t * A.wide;
	}
}

static inline void attn_past_kernel(const struct wse_attn_past_args *a)
{
	uint32_t t = a->t, tt = 2 * t * t, q = a->qkv, o = a->o, past = a->past, l = a->work, r, i;
	uint32_t max = l + 4 * t, p = max + 4 * t, keep = wse_attn_keeps(t, a->s);
	uint32_t part, ppart, head;

	attn_setup(t, t, t, a->d, a->group);
	A.row = *(const volatile uint16_t *)a->count;
	if (!keep)
		A.again = p + 2 * tt;
	head = 2 * a->s * a->d;
	part = A.head * a->heads;
#ifdef KERNELS_FULL
	uint32_t share = a->heads / a->kv, left = share, k = q + part, v = k + A.head * a->kv;

	ppart = head * a->kv;
#else
	ppart = head * a->heads;
#endif
	for (i = 0; i < a->heads; i++) {
#ifndef KERNELS_FULL
		uint32_t k = q + part, v = k + part;

#endif
#ifdef KERNELS_SLOPES
		attn_slope(a->slopes, a->heads, i);
#endif
		for (r = 0; r <= A.row; r++) {
			uint32_t own = r == A.row, from = own ? k : past + 2 * t * r;
			uint32_t s = keep ? p + 2 * tt * r : p;

			past_stride = own ? A.rows16 : a->s << 17;
			attn_step(from, own ? v : from + ppart, q, r, s, o, max, l);
		}
		if (keep) {
			for (r = 0; r <= A.row; r++)
				attn_p(p + 2 * tt * r, r == A.row, t, p + tt * r, max);
			attn_l(p, l, t * (A.row + 1), 0);
			attn_recip(l);
			past_sums(v, past + ppart, a->s << 17, p, o, l);
		}
		q += A.head;
		o += A.head;
#ifdef KERNELS_FULL
		if (--left)
			continue;
		left = share;
		k += A.head;
		v += A.head;
#endif
		past += head;
	}
	attn_done();
}

#endif /* WSE_ATTN_PAST_H */
