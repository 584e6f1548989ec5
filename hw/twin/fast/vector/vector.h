/* SPDX-License-Identifier: MIT */
/* Vector operations straight from and to their operands' places, a group of LANES at a time and
 * strictly in order, as the contract has it: operands may overlap in any way. Processors with AVX2
 * only. */
#ifndef TWIN_FAST_VECTOR_VECTOR_H
#define TWIN_FAST_VECTOR_VECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "wse_regs.h"

#define TWIN_VECTOR_OPS	     (WSE_TCW_OP_MASK - WSE_TOP_VADD + 1) /* codes from VADD on */
#define TWIN_VECTOR_VARIANTS 12u

struct twin_rows {
	uint16_t width, rows; /* width: a multiple of LANES */
	int32_t d, a, b;      /* bytes from row to row of DST, SRC1, SRC2 */
};

enum twin_src2 {
	TWIN_SRC2_WORDS,
	TWIN_SRC2_BF16,
	TWIN_SRC2_SCALAR, /* a word for all elements instead; also where there is no SRC2 */
};

/*
 * returns 1, TWIN_INSIDE_ON, to translated code. A reduction writes one word to d; of its rows only
 * those of SRC1 count
 */
typedef uint32_t twin_vector_fn(uint8_t *d, const uint8_t *a, const uint8_t *b, uint32_t scalar,
				const struct twin_rows *s);
/*
 * [operation - VADD][twin_vector_variant()]; NULL: no such operation, or a reduction to bf16, which
 * is exact/vector.c's
 */
extern twin_vector_fn *const twin_vector[TWIN_VECTOR_OPS][TWIN_VECTOR_VARIANTS];

static inline unsigned int twin_vector_variant(bool d_bf16, bool a_bf16, enum twin_src2 src2)
{
	return (unsigned int)src2 << 2 | (unsigned int)a_bf16 << 1 | (unsigned int)d_bf16;
}

#endif /* TWIN_FAST_VECTOR_VECTOR_H */
