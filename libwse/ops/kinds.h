/* SPDX-License-Identifier: MIT */
/*
 * Inside of ops/: the rows of the table, each in its operation's file, and the checks that they
 * share.
 */
#ifndef WSE_OPS_KINDS_H
#define WSE_OPS_KINDS_H

#include "ops/ops.h"

#define WSE_HOST_ROW(kind, name)	 extern const struct wse_op_type wse_type_##name;
#define WSE_KERNEL_ROW(kind, name, args) extern const struct wse_op_type wse_type_##name;
WSE_HOST_OPS(WSE_HOST_ROW)
WSE_KERNELS(WSE_KERNEL_ROW)
WSE_KERNELS_CHUNKS(WSE_KERNEL_ROW)
WSE_KERNELS_FULL(WSE_KERNEL_ROW)
WSE_KERNELS_DROP(WSE_KERNEL_ROW)
WSE_KERNELS_PAST(WSE_KERNEL_ROW)

/* -EINVAL with words unless the value is what an operation wants; rows of a core */
int wse_check_value(const struct wse_graph *g, uint32_t value, enum wse_type type,
		    enum wse_shape shape, uint32_t rows, const char *what);

/*
 * Which attention of a program deals its work out to the rows: none, forward, backward, too. So
 * many operations do then. The program has to be one that has it.
 */
enum wse_attn_shares { WSE_ATTN_ALONE, WSE_ATTN_SHARES, WSE_ATTN_SHARES_BACK };
int wse_attn_halve(struct wse_graph *g, uint32_t program, enum wse_attn_shares shares);

/* WSE_NO_VALUE, or a table of slopes for heads over `group` columns each; heads of a column */
int wse_attn_check_slopes(const struct wse_graph *g, uint32_t slopes, uint32_t heads,
			  uint32_t group);

/*
 * Device cycles, measured on the RTL (tests/train/test-cycles.c). From a command's end to the next
 * one's begin: its completion, and the next one read from the host's memory.
 */
enum { WSE_COMMAND_CYCLES = 188 };

/*
 * The same of a START, whatever the tile: the wafer says with a wire when all cores are done. The
 * operations' figures were measured on 16 cores when START still looked at one core after another,
 * and have those cycles in them: 35 fewer are right.
 */
enum { WSE_START_CYCLES = WSE_COMMAND_CYCLES - 35 };

/* columns that share a bus to the host's memory */
static inline uint64_t wse_bus_columns(const struct wse_graph *g)
{
	return g->tile.group && g->tile.group < g->tile.cols ? g->tile.group : g->tile.cols;
}

/*
 * `lines` lines of some bytes from the host to each of so many cores of a bus, where a device of
 * ABI 1.3 counts those once that get the same; and back, where a line is cut into bursts
 */
static inline uint64_t wse_copy_in_cycles(uint64_t cores, uint64_t lines, uint64_t bytes)
{
	return WSE_COMMAND_CYCLES + 77 + cores * lines * bytes / 8;
}

static inline uint64_t wse_copy_out_cycles(uint64_t cores, uint64_t lines, uint64_t bytes)
{
	return WSE_COMMAND_CYCLES + 85 + cores * lines * (bytes / 8 + (bytes + 127) / 128);
}

#endif
