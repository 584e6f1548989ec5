/* SPDX-License-Identifier: MIT */
/*
 * What some models have beside attention; part of attn.h. Slopes (KERNELS_SLOPES) are added to a
 * chunk's scores behind the sums over features and over columns, before the mask (attn_bias).
 * Dropout (KERNELS_DROP) comes behind the sum over P (attn_drop).
 */
#ifndef WSE_ATTN_BESIDE_H
#define WSE_ATTN_BESIDE_H

#ifdef KERNELS_SLOPES
/* the head's slope, of a table behind its rows of 0, 1 ...; 0: there is no table */
static void attn_slope(uint32_t table, uint32_t heads, uint32_t i)
{
	const volatile uint32_t *all = (const volatile uint32_t *)table;

	A.slopes = table;
	if (table)
		A.slope = all[A.keys * A.t + wse_col() / (A.last + 1) * heads + i];
}

/*
 * T_DST [keys][t] += slope * position, of keys from `first` on, which are counted from the
 * sequence's start: first + 0, 1 ... is exact. Uses D_C, D_K, and accumulators from acc on.
 */
static __attribute__((noinline)) void attn_bias(uint32_t first, uint32_t acc)
{
	attn_rows32(D_K, A.slopes, A.keys);
	attn_rows_acc(D_C, acc, A.keys);
	vs(VADD, D_C, D_K, VEC_MAGIC + first);
	vs(VADD, D_C, D_C, WSE_F32(-12582912.0f));
	vs(VMUL, D_C, D_C, A.slope);
	vv(VADD, T_DST, T_DST, D_C);
}
#endif

#ifdef KERNELS_DROP
/* a word of the table behind the tokens': ~seed, keep, scale, 1 / scale */
static uint32_t attn_drop_word(uint32_t i)
{
	return ((const volatile uint32_t *)A.drop)[A.t + i];
}

/* in all kernels of a head, the i-th of this column */
static void attn_drop_head(uint32_t table, uint32_t s, uint32_t heads, uint32_t i)
{
	A.drop = table;
	A.drop_head = (wse_col() / (A.last + 1) * heads + i) * s;
	if (table && !attn_drop_word(1))
		A.drop = 0;
}

/* P of the keys of row r, bf16 [t][t]: what is dropped gets a sign, or, forward, becomes 0 */
static __attribute__((noinline)) void attn_drop(uint32_t p, uint32_t r, int forward)
{
	uint32_t i;

	for (i = 0; i < A.t; i += A.keys) {
		drop_bits(A.drop, A.t, A.drop_head + r * A.t + i, A.keys);
		vs(VIADD, V0, V0, attn_drop_word(1) ^ 0x80000000u);
		vs(VAND, V0, V0, 0x80000000u);
		attn_rows16(D_A, p, A.keys);
		vv(VOR, D_A, D_A, V0);
		if (forward)
			vv(VGATE, D_A, D_A, D_A);
		p += 2 * A.keys * A.t;
	}
}
#endif

#endif /* WSE_ATTN_BESIDE_H */
