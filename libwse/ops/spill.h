/* SPDX-License-Identifier: MIT */
/*
 * Values that leave the cores and come back while the cores work. Their copies have a queue of
 * their own: each waits until the operations before it are done, and those behind it go on.
 * WSE_OP_WAIT is where they wait for it. Between the two no operation writes a value that leaves,
 * and none touches one that comes: the checks of these operations see to that, so that no bit
 * depends on when a copy runs. A device with fewer queues copies between the operations.
 */
#ifndef WSE_OPS_SPILL_H
#define WSE_OPS_SPILL_H

#include "ops/ops.h"

/* 0: no copy runs beside the cores. Bits are the same; for tests and measurements */
extern int wse_copies_beside;

/*
 * A value leaves the cores, unless no backward pass follows; its number. Fill makes a value of it
 * again, with the same bits. `what` is in plans. wse_op_wait() follows both.
 */
uint32_t wse_op_spill(struct wse_graph *g, uint32_t value, const char *what);
uint32_t wse_op_fill(struct wse_graph *g, uint32_t spill, const char *what);
/*
 * the next `rows` rows of cores, of which `row0` have theirs; value: WSE_NO_VALUE for the first
 * part, then what that returned
 */
uint32_t wse_op_fill_rows(struct wse_graph *g, uint32_t spill, uint32_t value, uint32_t row0,
			  uint32_t rows, const char *what);
/* behind it the value has left, or is there */
void wse_op_wait(struct wse_graph *g, uint32_t value);
/* bytes of a spill on the host: [width][T] of a micro-batch */
size_t wse_spill_bytes(const struct wse_graph *g, uint32_t spill);
/* cycles in which so many rows of cores get theirs back */
uint64_t wse_spill_rows_cycles(const struct wse_graph *g, uint32_t spill, uint32_t rows);

/* cycles of copies that run beside operations and are not done; 0 before the first operation */
struct wse_beside {
	uint64_t left;
	int in; /* to the cores */
};
/* device cycles that an operation adds to those before it, with what it waits for */
uint64_t wse_op_cycles(struct wse_beside *b, const struct wse_graph *g, const struct wse_op *op);

#endif
