/* SPDX-License-Identifier: MIT */
/* Vector operations straight from and to their operands' places, a group of LANES at a time and
 * strictly in order, as the contract has it: operands may overlap in any way. */
#ifndef WSE_FUNC_VECTOR_H
#define WSE_FUNC_VECTOR_H

#include <stdbool.h>
#include <stdint.h>

struct wse_place {
	uint8_t *at;	/* the next element */
	int32_t stride; /* bytes from row to row */
	bool bf16;	/* else 32 bits */
	bool fixed;	/* the same eight elements for every group */
};

/* rows of width elements (a multiple of LANES); processors with AVX2 only */
void wse_vector_avx2(unsigned int op, const struct wse_place *d, const struct wse_place *a,
		     const struct wse_place *b, uint32_t width, uint32_t rows);
/* VRSUM, VRMAX: one group after the other into the lane partials */
void wse_reduce_avx2(bool max, uint32_t *part, const struct wse_place *a, uint32_t width,
		     uint32_t rows);

#endif /* WSE_FUNC_VECTOR_H */
