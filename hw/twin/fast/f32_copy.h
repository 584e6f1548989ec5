/* SPDX-License-Identifier: MIT */
/* Copies in binary32 of bf16 operands. */
#ifndef TWIN_FAST_F32_COPY_H
#define TWIN_FAST_F32_COPY_H

#include "twin/fast/kernels/kernels.h"
#include "twin/twin.h"

/*
 * a checked lane operand, copied by rows (or not, if that is too much), by columns; NULL: not now
 */
const struct twin_f32_copy *twin_f32_rows(struct twin_core *c, const struct twin_kernels *k,
					  const struct twin_opnd *x);
const struct twin_f32_copy *twin_f32_cols(struct twin_core *c, const struct twin_opnd *x);
/* SRAM bytes were written */
void twin_f32_changed(struct twin_core *c, uint32_t off, uint32_t len);
void twin_f32_free(struct twin_core *c);
uint32_t twin_f32_most(uint32_t ncores);

#endif /* TWIN_FAST_F32_COPY_H */
