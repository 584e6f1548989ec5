/* SPDX-License-Identifier: MIT */
/*
 * The softmax of attention; part of attn.h: maxima, P, and the sum over P, of scores in memory, or,
 * backward, of chunks of scores as the lanes make them.
 */
#ifndef WSE_ATTN_SOFT_H
#define WSE_ATTN_SOFT_H

/* V0: a chunk's columns from a on; V1 in the upper half; the row max, repeated */
static void attn_columns(uint32_t a, uint32_t max)
{
	uint32_t inner = A.row_acc - a, outer = A.rows_acc + A.keys;

	attn_dsr(V0, a, inner, outer, KIND_ACC);
	attn_dsr(V1, ATTN_CHUNK + a, inner, outer, KIND_ACC);
	attn_dsr(T_MAX, max + 4 * a, A.row32 - a, A.keys, KIND_32);
}

/*
 * P of the keys of the own row that are these tokens' and taken [keys][t]: 0 where the token does
 * not see the key
 */
static void attn_hide(uint32_t p)
{
	uint32_t row16 = A.rows16 + 8, a;

	attn_dsr(T_MSK, attn_triangle, 8 + (2 << 16), 8 + (16 << 16), KIND_16);
	for (a = ATTN_FROM; a < (ATTN_LESS ? ATTN_FROM + ATTN_SOME : A.t); a += 8) {
		attn_dsr(D_B, p + 2 * a, 8 + (2 << 16), row16, KIND_16);
		vv(VGATE, D_B, T_MSK, D_B);
		if (a) {
			WSE_DSR_HALF(D_B, 0, p, a + (2 << 16));
			vs(VAND, D_B, D_B, 0);
		}
		p += 8 * (A.rows16 >> 16);
	}
}

/*
 * P of n keys, bf16 [n][t] = ew_soft_exp(s - max), scores s binary32 [n][t]; own: of the t keys
 * that are these tokens', masked. A loop tells an instruction's operands while the lanes do the
 * ones before.
 */
static __attribute__((noinline)) void attn_p(uint32_t s, uint32_t own, uint32_t all, uint32_t p,
					     uint32_t max)
{
	uint32_t t = A.t, keys = A.keys, n = keys * t, i = 0, a = 0;
	uint32_t row16 = A.row16, row32 = A.row32;

	attn_rows32(D_A, s, keys);
	WSE_DSR_HALF(D_B, 1, A.rows16 + keys, KIND_16);
	do {
		if (!(i & 7) && (own || !i)) {	/* the tokens before see none of these keys */
			a = i;
			attn_columns(a, max);
			WSE_DSR_HALF(D_A, 0, s + 4 * a, row32 - a);
		}
		vv(VSUB, V0, D_A, T_MAX);
		WSE_DSR_HALF(D_B, 0, p + 2 * a, row16 - a);
		s += 4 * n;
		WSE_DSR_HALF(D_A, 0, s + 4 * a, row32 - a);
		vsoft_exp(D_B);
		p += 2 * n;
		i += keys;
	} while (i < all);
	if (own)
		attn_hide(p - 2 * t * t);
}

/*
 * The same of the keys of row r that are taken, of scores that are made again: the chunks c. The
 * lanes have the next chunk before any scalar code that may wait.
 */
static inline void attn_p_again(const struct attn_chunks *c, uint32_t r, uint32_t p, uint32_t max)
{
	const uint32_t own = r == A.row, row16 = A.row16, ring = ATTN_RING;
	uint32_t i = 0, a = 0, next = 0, s = p, to = p, step = c->keys, bytes = 2 * c->n;

	if (ring) {
		attn_ring(c, own, p);
		attn_rows32(D_A, p, step);
		i = A.place * step;
		if (i >= c->of)
			return;
		to += A.place * bytes;
		step += A.last * step;
		bytes += A.last * bytes;
	} else {
		attn_chunk(c);
	}
	WSE_DSR_HALF(D_B, 1, A.rows16 + c->keys, KIND_16);
	for (;;) {
		if (i >= next) {	/* the tokens before see none of these keys */
			next = c->of;
			if (own) {
				a = i & ~7u;
				next = a + 8;
				a += ATTN_FROM;
			}
			attn_columns(a, max);
		}
		if (__builtin_expect(ring, 0)) {
			WSE_DSR_HALF(D_A, 0, s + 4 * a, A.row32 - a);
			vv(VSUB, V0, D_A, T_MAX);
			s += bytes;
		} else {
			if (A.last)
				attn_gather(c->n, 0, 0);
#ifdef KERNELS_SLOPES
			if (A.slopes) {
				attn_rows_acc(T_DST, 0, A.keys);
				attn_bias(r * A.t + ATTN_FROM + i, ATTN_CHUNK);
			}
#endif
			vv(VSUB, V0, V0, T_MAX);
			attn_ahead(c, i, own);
		}
		WSE_DSR_HALF(D_B, 0, to + 2 * a, row16 - a);
		to += bytes;
		i += step;
		vsoft_exp(D_B);
		if (i >= c->of)
			break;
		if (__builtin_expect(!ring, 1))
			attn_chunk(c);
	}
	if (own)
		attn_hide(p);
}

/*
 * Row T_ROW, in accumulators, = max [t] of the scores s, binary32 [of][t], of the keys of row r,
 * and, if r is not 0, of max. Leaves max in D_B.
 */
static inline void attn_max(uint32_t s, uint32_t r, uint32_t max)
{
	uint32_t n = r == A.row ? 8 : ATTN_OF, a;

	attn_again_acc(T_ROW, ATTN_CHUNK, 1);
	attn_again32(D_B, max, 1);
	if (r)
		vv(VMOV, T_ROW, D_B, 0);
	else
		vs(VMIN, T_ROW, T_ROW, 0xff800000);
#ifdef KERNELS_HALVES
	if (r == A.row && A.first) {	/* keys that all of these tokens see */
		attn_again_acc(V1, ATTN_CHUNK, A.first);
		attn_rows32(D_A, s, A.first);
		vv(VMAX, V1, D_A, V1);
		s += 4 * A.first * A.t;
	}
#endif
	attn_again_acc(V1, ATTN_CHUNK, n);
	attn_rows32(D_A, s, n);
	attn_dsr(T_MSK, attn_triangle, 8 + (2 << 16), 8 + (16 << 16), KIND_16);
	for (a = 0; a < A.t; a += n) {
		if (r == A.row) {	/* the mask comes first: else a NaN would be lost */
			WSE_DSR_HALF(D_A, 0, s, 8 + (4 << 16));
			vv(VMIN, D_A, T_MSK, D_A);
			WSE_DSR_HALF(D_A, 0, s, A.row32 - a);
			WSE_DSR_HALF(V1, 0, ATTN_CHUNK + a, A.row_acc - a);
		}
		vv(VMAX, V1, D_A, V1);
		s += 4 * (n * A.t + n);
	}
}

/* d = a / ln 2, rounded to a whole number */
static inline void attn_whole(uint32_t d, uint32_t a)
{
	vs(VMUL, d, a, WSE_F32(0x1.715476p+0f));
	vs(VADD, d, d, VEC_MAGIC);
	vs(VADD, d, d, WSE_F32(-12582912.0f));
}

/*
 * D_B (max) = T_ROW, rounded to a multiple of ln 2, so that what older sums are multiplied by is a
 * power of two: A.again = exp(max before - max), at least 2^-126
 */
static inline void attn_again(void)
{
	attn_again_acc(D_A, 0, 1);
	attn_again32(D_C, A.again, 1);
	attn_whole(D_A, D_B);
	attn_whole(T_ROW, T_ROW);
	vv(VSUB, D_A, D_A, T_ROW);
	vs(VMAX, D_A, D_A, WSE_F32(-126.0f));
	vs(VADD, D_A, D_A, WSE_F32(12583039.0f));
	vs(VSHL, D_C, D_A, 23);
	vs(VMUL, D_B, T_ROW, WSE_F32(0x1.62e430p-1f));
}

/* l [t] = sum over the keys of p, bf16 [keys][t]; or l * A.again + this sum */
static __attribute__((noinline)) void attn_l(uint32_t p, uint32_t l, uint32_t keys, int add)
{
	attn_again_acc(D_A, 0, 1);
	attn_again32(D_B, l, 1);
	attn_again32(D_C, A.again, 1);
	if (add)
		vv(VMUL, D_A, D_B, D_C);
	else
		vs(VAND, D_A, D_A, 0);
	attn_again_acc(D_C, 0, keys);
	attn_rows16(T_X, p, keys);
	vv(VADD, D_C, D_C, T_X);
	vv(VMOV, D_B, D_A, 0);
}

/* l [t] = 1 / l */
static __attribute__((noinline)) void attn_recip(uint32_t l)
{
	attn_again_acc(V0, 0, 1);
	attn_again32(V3, l, 1);
	vv(VMOV, V0, V3, 0);
	attn_again_acc(V1, ATTN_CHUNK, 1);
	vrecip();
#ifdef KERNELS_DROP
	if (A.drop)
		vs(VMUL, V1, V1, attn_drop_word(2));
#endif
	vv(VMOV, V3, V1, 0);
}

#endif /* WSE_ATTN_SOFT_H */
