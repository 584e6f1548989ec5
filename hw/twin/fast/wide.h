/* SPDX-License-Identifier: MIT */
/* Copies in binary32 of bf16 operands. */
#ifndef TWIN_FAST_WIDE_H
#define TWIN_FAST_WIDE_H

#include "twin/fast/kernels/kernels.h"
#include "twin/twin.h"

/* a checked lane operand, copied by rows (or not, if that is too much), by columns; NULL: not now */
const struct wse_wide *wse_wide_rows(struct wse_core *c, const struct wse_kernels *k,
				     const struct wse_opnd *x);
const struct wse_wide *wse_wide_cols(struct wse_core *c, const struct wse_kernels *k,
				     const struct wse_opnd *x);
/* SRAM bytes were written */
void wse_wide_changed(struct wse_core *c, uint32_t off, uint32_t len);
void wse_wide_free(struct wse_core *c);
uint32_t wse_wide_most(uint32_t ncores);

#endif /* TWIN_FAST_WIDE_H */
