/* SPDX-License-Identifier: MIT */
/*
 * Routes of the library's kernels (colors: uapi/wse/wse_kernel.h): weights down the columns, a ring
 * along each row made of neighbour hops with a return path for the wrap, column sums north to
 * south.
 */
#ifndef WSE_RING_H
#define WSE_RING_H

#include "wse_core.h"
#include "wse_kernel.h"

/*
 * Columns that the model takes: all of the tile, unless the host says fewer. Then it replaces this
 * instruction by one that loads their number (wse_program_columns(); the section lists the places
 * and takes no SRAM), so that the whole tile pays nothing for it.
 */
static inline uint32_t used_cols(void)
{
	uint32_t dim;

	__asm__ inline volatile("1: csrr %0, %1\n"
				"\t.pushsection .wse.cols, \"\", @progbits\n"
				"\t.word 1b\n"
				"\t.popsection"
				: "=r"(dim)
				: "i"(WSE_CSR_DIM));
	return dim & 0xffff;
}

/* rows likewise (wse_program_rows()): of the kernels that a model of fewer rows runs */
static inline uint32_t used_rows(void)
{
	uint32_t dim;

	__asm__ inline volatile("1: csrr %0, %1\n"
				"\t.pushsection .wse.rows, \"\", @progbits\n"
				"\t.word 1b\n"
				"\t.popsection"
				: "=r"(dim)
				: "i"(WSE_CSR_DIM));
	return dim >> 16;
}

/* color on which this core receives from its ring predecessor (sends to its successor) */
static inline uint32_t ring_in(uint32_t col)
{
	return col ? WSE_COLOR_ROW + ((col - 1) & 1) : WSE_COLOR_WRAP;
}

static inline uint32_t ring_out(uint32_t col, uint32_t cols)
{
	return col == cols - 1 ? WSE_COLOR_WRAP : WSE_COLOR_ROW + (col & 1);
}

static inline void routes_stream(void)
{
	uint32_t tx = WSE_TX(R);

	if (wse_row() + 1 < used_rows())
		tx |= WSE_TX(S);
	wse_route(WSE_COLOR_STREAM, WSE_RX(N) | tx);
}

static __attribute__((noinline, unused)) void routes_ring(void)
{
	uint32_t c = wse_col(), cols = used_cols();

	if (cols == 1)
		return;
	if (c + 1 < cols)
		wse_route(WSE_COLOR_ROW + (c & 1), WSE_RX(R) | WSE_TX(E));
	if (c > 0)
		wse_route(WSE_COLOR_ROW + ((c - 1) & 1), WSE_RX(W) | WSE_TX(R));
	if (c == cols - 1)
		wse_route(WSE_COLOR_WRAP, WSE_RX(R) | WSE_TX(W));
	else if (c > 0)
		wse_route(WSE_COLOR_WRAP, WSE_RX(E) | WSE_TX(W));
	else
		wse_route(WSE_COLOR_WRAP, WSE_RX(E) | WSE_TX(R));
}

static __attribute__((noinline, unused)) void routes_column(void)
{
	uint32_t r = wse_row();

	wse_route(WSE_COLOR_COL + (r & 1), WSE_RX(R) | WSE_TX(S));
	if (r > 0)
		wse_route(WSE_COLOR_COL + ((r - 1) & 1), WSE_RX(N) | WSE_TX(R));
}

#endif /* WSE_RING_H */
