/* SPDX-License-Identifier: MIT */
/*
 * Vector operations, included once for each width of vectors with
 *
 *   TABLE	the name of their table
 *   VW		words of a vector
 *   I, F	vectors of words, of binary32
 *   V(x)	the intrinsic x of this width
 *   as_i, as_f	the same bits as words, as binary32
 *   and_i, or_i, xor_i, zero_i
 *   compare(a, b, p)	what choose(it, yes, no) takes
 *   get, get_row, put, canon, flush, f2i
 *
 * Strictly in order, a vector at a time. A vector of more than LANES words reads a group before the one
 * before it is written: quick.c asks for such only where no operand could tell.
 */
#define FA as_f(a)
#define FB as_f(b)
#define FD as_f(get(d, dh))
#define GT compare(FA, FB, _CMP_GT_OQ)

FORCED I shift_of(I v)
{
	return and_i(v, V(set1_epi32)(31));
}

// clang-format off
#define OPERATIONS(each)                                                         \
	each(VADD, canon(V(add_ps)(FA, FB)))                                     \
	each(VSUB, canon(V(sub_ps)(FA, FB)))                                     \
	each(VMUL, canon(V(mul_ps)(FA, FB)))                                     \
	each(VMAC, canon(V(add_ps)(FD, V(mul_ps)(FA, FB))))                      \
	each(VMAX, flush(choose(GT, a, b)))                                      \
	each(VMIN, flush(choose(compare(FA, FB, _CMP_LT_OQ), a, b)))             \
	each(VMOV, a)                                                            \
	each(VGATE, choose(compare(FA, as_f(zero_i), _CMP_GT_OQ), b, zero_i))    \
	each(VCGT, choose(GT, V(set1_epi32)(-1), zero_i))                        \
	each(VIADD, V(add_epi32)(a, b))                                          \
	each(VISUB, V(sub_epi32)(a, b))                                          \
	each(VAND, and_i(a, b))                                                  \
	each(VOR, or_i(a, b))                                                    \
	each(VXOR, xor_i(a, b))                                                  \
	each(VSHL, V(sllv_epi32)(a, shift_of(b)))                                \
	each(VSHR, V(srlv_epi32)(a, shift_of(b)))                                \
	each(VSRA, V(srav_epi32)(a, shift_of(b)))                                \
	each(VF2I, f2i(FA))                                                      \
	each(VI2F, as_i(V(cvtepi32_ps)(a)))
// clang-format on

/* One operation on rows of vectors. dh: DST is bf16. It and each kind of SRC1 and of SRC2 is made a
 * function of its own, so that the loops ask for nothing. */
#define LOOPS(name, expr)                                                                     \
	FORCED void name(uint8_t *rd, const uint8_t *ra, const uint8_t *rb, uint32_t one,     \
			 const struct wse_rows *s, bool dh, enum wse_src1 src1,               \
			 enum wse_src2 src2)                                                  \
	{                                                                                     \
		const bool ah = src1 & WSE_SRC1_BF16, row = src1 & WSE_SRC1_ROW;              \
		const uint32_t dn = dh ? VW * 2 : VW * 4;                                     \
		const uint32_t an = row ? 0 : ah ? VW * 2 : VW * 4;                           \
		const uint32_t bn = src2 == WSE_SRC2_BF16 ? VW * 2 : VW * 4;                  \
		const bool scalar = src2 == WSE_SRC2_SCALAR;                                  \
		uint32_t rows, n;                                                             \
		I a, b;                                                                       \
                                                                                              \
		b = V(set1_epi32)(scalar ? (int32_t)one : 0);                                 \
		for (rows = s->rows; rows; rows--) {                                          \
			const uint8_t *pa = ra, *pb = rb;                                     \
			uint8_t *d = rd;                                                      \
                                                                                              \
			for (n = s->width; n; n -= VW, d += dn, pa += an, pb += bn) {         \
				a = row ? get_row(pa, ah) : get(pa, ah);                      \
				if (!scalar)                                                  \
					b = get(pb, src2 == WSE_SRC2_BF16);                   \
				(void)b;                                                      \
				put(d, dh, (expr));                                           \
			}                                                                     \
			rd += s->d;                                                           \
			ra += s->a;                                                           \
			if (!scalar)                                                          \
				rb += s->b;                                                   \
		}                                                                             \
	}

#define VARIANT(name, dh, src1, src2)                                                           \
	static uint32_t name##_##dh##src1##src2(uint8_t *d, const uint8_t *a, const uint8_t *b, \
						uint32_t one, const struct wse_rows *s)         \
	{                                                                                       \
		name(d, a, b, one, s, dh, (enum wse_src1)src1, (enum wse_src2)src2);            \
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
#define VARIANTS(name, expr) \
	LOOPS(name, expr)    \
	EACH_SRC1(name, 0)   \
	EACH_SRC1(name, 1)   \
	EACH_SRC1(name, 2)
OPERATIONS(VARIANTS)

#define ROW_OF(name, src2)                                                              \
	name##_00##src2, name##_10##src2, name##_01##src2, name##_11##src2, name##_02##src2, \
		name##_12##src2, name##_03##src2, name##_13##src2
#define ROW(name, expr) \
	[WSE_TOP_##name - WSE_TOP_VADD] = {ROW_OF(name, 0), ROW_OF(name, 1), ROW_OF(name, 2)},
wse_vector_fn *const TABLE[WSE_VECTOR_OPS][WSE_VECTOR_VARIANTS] = {OPERATIONS(ROW)};
