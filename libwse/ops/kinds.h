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

/*
 * Device cycles, measured on the RTL (tests/train/test-cycles.c). From a command's end to the next one's begin: its
 * completion, and the next one read from the host's memory.
 */
enum { WSE_COMMAND_CYCLES = 188 };

/* `lines` lines of some bytes from the host to each of so many cores; and back, where a line is cut into bursts */
static inline uint64_t wse_copy_in_cycles(uint64_t cores, uint64_t lines, uint64_t bytes)
{
	return WSE_COMMAND_CYCLES + 77 + cores * lines * bytes / 8;
}

static inline uint64_t wse_copy_out_cycles(uint64_t cores, uint64_t lines, uint64_t bytes)
{
	return WSE_COMMAND_CYCLES + 85 + cores * lines * (bytes / 8 + (bytes + 127) / 128);
}

#endif
