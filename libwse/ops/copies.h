/* SPDX-License-Identifier: MIT */
/*
 * Copies of rows of a value, for the operations that make them (io.c, spill.c): host [width][T], or
 * [rows][T] of a value that all columns share, and core [rows][t].
 */
#ifndef WSE_OPS_COPIES_H
#define WSE_OPS_COPIES_H

#include "ops/emit.h"

/* bytes of a value on the host */
size_t wse_rows_bytes(const struct wse_graph *g, const struct wse_value *v);
/* without its buffer, on WSE_QUEUE_RUN */
struct wse_copy wse_rows_copy(const struct wse_emit *e, uint32_t value);
/* in to so many rows of cores; out of all */
uint64_t wse_rows_in_cycles(const struct wse_graph *g, uint32_t value, uint32_t rows);
uint64_t wse_rows_out_cycles(const struct wse_graph *g, uint32_t value);

#endif
