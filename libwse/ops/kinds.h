/* SPDX-License-Identifier: MIT */
/* Inside of ops/: the rows of the table, each in its operation's file, and the checks that they share. */
#ifndef WSE_OPS_KINDS_H
#define WSE_OPS_KINDS_H

#include "ops/ops.h"

extern const struct wse_op_type wse_type_in, wse_type_out, wse_type_vec_in, wse_type_vec_out;
extern const struct wse_op_type wse_type_linear, wse_type_wgrad;
extern const struct wse_op_type wse_type_add, wse_type_norm, wse_type_norm_back, wse_type_attn, wse_type_attn_back;
extern const struct wse_op_type wse_type_loss, wse_type_loss_out;
extern const struct wse_op_type wse_type_loss_part, wse_type_loss_join, wse_type_loss_grad;

/* -EINVAL with words unless the value is what an operation wants; rows of a core */
int wse_check_value(const struct wse_graph *g, uint32_t value, enum wse_type type, enum wse_shape shape,
		    uint32_t rows, const char *what, char *why);

/* cycles of copying `lines` lines of some bytes between host and each core (measured on the RTL) */
static inline uint64_t wse_copy_cycles(const struct wse_graph *g, uint64_t lines, uint64_t bytes)
{
	return lines * g->tile.rows * g->tile.cols * (4 + bytes / 16);
}

/* from one command's end to the next one's work: its completion, the start, the kernel's set-up (measured) */
enum { WSE_START_CYCLES = 262 };

#endif
