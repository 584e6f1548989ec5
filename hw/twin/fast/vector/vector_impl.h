/* SPDX-License-Identifier: MIT */
/*
 * Vector operations (uapi/wse/wse.regs has a row of each), included once for each width of vectors
 * with
 *
 *   TABLE	the name of their table
 *   VW		words of a vector
 *   I, F	vectors of words, of binary32
 *   V(x)	the intrinsic x of this width
 *   as_i, as_f	the same bits as words, as binary32
 *   and_i, or_i, xor_i
 *   compare(a, b, p)	what choose(it, yes, no) takes
 *   get, get_row, put, canon, flush, f2i
 *
 * Strictly in order, a vector at a time. A vector of more than LANES words reads a group before the
 * one before it is written: quick.c asks for such only where no operand could tell.
 */
/* The terms of the rows' expressions: vop.h has them for one element. */
#define add_f(x, y)   canon(V(add_ps)(as_f(x), as_f(y)))
#define sub_f(x, y)   canon(V(sub_ps)(as_f(x), as_f(y)))
#define mul_f(x, y)   canon(V(mul_ps)(as_f(x), as_f(y)))
#define gt_f(x, y)    compare(as_f(x), as_f(y), _CMP_GT_OQ)
#define pick(c, x, y) choose(c, x, y)
#define flush_f(x)    flush(x)
#define f_to_i(x)     f2i(as_f(x))
#define i_to_f(x)     as_i(V(cvtepi32_ps)(x))
#define add_i(x, y)   V(add_epi32)(x, y)
#define sub_i(x, y)   V(sub_epi32)(x, y)
#define shl_i(x, n)   V(sllv_epi32)(x, shift_of(n))
#define shr_i(x, n)   V(srlv_epi32)(x, shift_of(n))
#define sra_i(x, n)   V(srav_epi32)(x, shift_of(n))
#define word(n)	      V(set1_epi32)((int32_t)(n))

FORCED I shift_of(I v)
{
	return and_i(v, word(31));
}

/* One operation on rows of vectors. dh: DST is bf16. It and each kind of SRC1 and of SRC2 is made a
 * function of its own, so that the loops ask for nothing. */
#define LOOPS(name, value, kind, expr)                                                        \
	FORCED void name(uint8_t *rd, const uint8_t *ra, const uint8_t *rb, uint32_t one,     \
			 const struct twin_rows *s, bool dh, enum twin_src1 src1,               \
			 enum twin_src2 src2)                                                  \
	{                                                                                     \
		const bool ah = src1 & TWIN_SRC1_BF16, row = src1 & TWIN_SRC1_ROW;              \
		const uint32_t dn = dh ? VW * 2 : VW * 4;                                     \
		const uint32_t an = row ? 0 : ah ? VW * 2 : VW * 4;                           \
		const uint32_t bn = src2 == TWIN_SRC2_BF16 ? VW * 2 : VW * 4;                  \
		const bool scalar = src2 == TWIN_SRC2_SCALAR;                                  \
		uint32_t rows, n;                                                             \
		I d, a, b;                                                                    \
                                                                                              \
		b = V(set1_epi32)(scalar ? (int32_t)one : 0);                                 \
		for (rows = s->rows; rows; rows--) {                                          \
			const uint8_t *pa = ra, *pb = rb;                                     \
			uint8_t *pd = rd;                                                     \
                                                                                              \
			for (n = s->width; n; n -= VW, pd += dn, pa += an, pb += bn) {        \
				a = row ? get_row(pa, ah) : get(pa, ah);                      \
				if (!scalar)                                                  \
					b = get(pb, src2 == TWIN_SRC2_BF16);                   \
				d = get(pd, dh);                                              \
				(void)b;                                                      \
				(void)d;                                                      \
				put(pd, dh, (expr));                                          \
			}                                                                     \
			rd += s->d;                                                           \
			ra += s->a;                                                           \
			if (!scalar)                                                          \
				rb += s->b;                                                   \
		}                                                                             \
	}

#define VARIANT(name, dh, src1, src2)                                                           \
	static uint32_t name##_##dh##src1##src2(uint8_t *d, const uint8_t *a, const uint8_t *b, \
						uint32_t one, const struct twin_rows *s)         \
	{                                                                                       \
		name(d, a, b, one, s, dh, (enum twin_src1)src1, (enum twin_src2)src2);            \
		return 1;                                                                       \
	}
#define EACH_SRC1(name, src2)     \
	VARIANT(name, 0, 0, src2) \
	VARIANT(name, 1, 0, src2) \
	VARIANT(name, 0, 1, src2) \
	VARIANT(name, 1, 1, src2) \
	VARIANT(name, 0, 2, src2) \
	VARIANT(name, 1, 2, src2) \
	VARIANT(name, 0, 3, src2) \
	VARIANT(name, 1, 3, src2)
#define VARIANTS(name, value, kind, expr) \
	LOOPS(name, value, kind, expr)    \
	EACH_SRC1(name, 0)                \
	EACH_SRC1(name, 1)                \
	EACH_SRC1(name, 2)
WSE_VOPS_ELEMENTS(VARIANTS)

#define ROW_OF(name, src2)                                                              \
	name##_00##src2, name##_10##src2, name##_01##src2, name##_11##src2, name##_02##src2, \
		name##_12##src2, name##_03##src2, name##_13##src2
#define ROW(name, value, kind, expr) \
	[(value) - WSE_TOP_VADD] = {ROW_OF(name, 0), ROW_OF(name, 1), ROW_OF(name, 2)},
twin_vector_fn *const TABLE[TWIN_VECTOR_OPS][TWIN_VECTOR_VARIANTS] = {WSE_VOPS_ELEMENTS(ROW)};
