/* SPDX-License-Identifier: MIT */
/* Copies of bf16 operands: by rows in binary32, by columns as bf16. */
#ifndef TWIN_FAST_OPND_COPY_H
#define TWIN_FAST_OPND_COPY_H

#include "twin/fast/kernels/kernels.h"
#include "twin/twin.h"

/*
 * a checked lane operand, copied by rows (or not, if that is too much), by columns; NULL: not now
 */
const struct twin_opnd_copy *twin_opnd_copy_rows(struct twin_core *c, const struct twin_kernels *k,
						 const struct twin_opnd *x);
const struct twin_opnd_copy *twin_opnd_copy_cols(struct twin_core *c, const struct twin_opnd *x);
/* SRAM bytes were written */
void twin_opnd_copy_changed(struct twin_core *c, uint32_t off, uint32_t len);
void twin_opnd_copy_free(struct twin_core *c);
uint32_t twin_opnd_copy_most(uint32_t ncores);

#endif /* TWIN_FAST_OPND_COPY_H */
