/* SPDX-License-Identifier: MIT */
/*
 * What the rows of vector operations (uapi/wse/wse.regs) say: the kind of an operation, and the
 * terms of their expressions for one element. fast/vector/vector.c has the same terms for vectors
 * of elements.
 */
#ifndef TWIN_EXACT_VOP_H
#define TWIN_EXACT_VOP_H

#include "twin/exact/fp.h"
#include "wse_regs.h"

enum twin_vop_kind {
	TWIN_VOP_NONE, /* no vector operation */
	TWIN_VOP_UNARY,
	TWIN_VOP_BINARY,
	TWIN_VOP_MAC, /* reads DST, too */
	TWIN_VOP_REDUCE,
};

static inline enum twin_vop_kind twin_vop_kind(uint32_t op)
{
	switch (op) {
#define KIND_OF(name, value, kind, expr) \
	case value:                      \
		return TWIN_VOP_##kind;
		WSE_VOPS(KIND_OF)
#undef KIND_OF
	default:
		return TWIN_VOP_NONE;
	}
}

/* the terms */
static inline uint32_t add_f(uint32_t x, uint32_t y) { return twin_fadd(x, y); }
static inline uint32_t sub_f(uint32_t x, uint32_t y) { return twin_fsub(x, y); }
static inline uint32_t mul_f(uint32_t x, uint32_t y) { return twin_fmul(x, y); }
static inline bool gt_f(uint32_t x, uint32_t y) { return twin_fgt(x, y); }
static inline uint32_t pick(bool c, uint32_t x, uint32_t y) { return c ? x : y; }
static inline uint32_t flush_f(uint32_t x) { return twin_flush(x); }
static inline uint32_t f_to_i(uint32_t x) { return twin_f2i(x); }
static inline uint32_t i_to_f(uint32_t x) { return twin_i2f(x); }
static inline uint32_t add_i(uint32_t x, uint32_t y) { return x + y; }
static inline uint32_t sub_i(uint32_t x, uint32_t y) { return x - y; }
static inline uint32_t and_i(uint32_t x, uint32_t y) { return x & y; }
static inline uint32_t or_i(uint32_t x, uint32_t y) { return x | y; }
static inline uint32_t xor_i(uint32_t x, uint32_t y) { return x ^ y; }
static inline uint32_t shl_i(uint32_t x, uint32_t n) { return x << (n & 31); }
static inline uint32_t shr_i(uint32_t x, uint32_t n) { return x >> (n & 31); }
static inline uint32_t sra_i(uint32_t x, uint32_t n) { return (uint32_t)((int32_t)x >> (n & 31)); }
static inline uint32_t word(uint32_t n) { return n; }

#endif /* TWIN_EXACT_VOP_H */
