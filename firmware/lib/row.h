/* SPDX-License-Identifier: MIT */
/*
 * Values of one binary32 per token, [t], combined over the columns of a row of cores; and operands
 * of the lanes that are a matrix [rows][t], or one row of t that applies to every row.
 */
#ifndef WSE_ROW_H
#define WSE_ROW_H

#include "ring.h"
#include "vec.h"

enum { D_FIN = 12, D_FOUT = 13, D_TMP = 14, D_RES = 15 };

/* [rows][t] at addr; a single row of t repeated, in memory or in accumulators */
#define dsr_rows(d, addr, type, t, rows)                                    \
	wse_dsr_mem2(d, addr, type, t, (type) == WSE_DT_BF16 ? 2 : 4, rows, \
		     (t) * ((type) == WSE_DT_BF16 ? 2 : 4))
#define dsr_repeat(d, addr, t, rows)	 wse_dsr_mem2(d, addr, WSE_DT_FP32, t, 4, rows, 0)
#define dsr_repeat_acc(d, base, t, rows) wse_dsr_acc2(d, base, t, rows, 0)

/*
 * Combines a row of t values over the columns, column 0 last, and distributes the result to all.
 * In: accumulators 0 ... t-1; out: binary32 [t] at addr. max: by the lanes, from accumulators t ...
 * 2t-1; else: sums by mover 0. Needs 2 t <= 128 (max), t <= 128 (sums), and routes_ring().
 */
static __attribute__((noinline, unused)) void row_combine(uint32_t addr, uint32_t t, int max)
{
	uint32_t c = wse_col(), cols = used_cols();

	wse_dsr_mem(D_RES, addr, WSE_DT_FP32, t, 4);
	wse_dsr_acc(D_TMP, 0, t);
	wse_wait(1);
	if (cols == 1) {
		wse_issue(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, D_RES, D_TMP, 0), 0);
		wse_wait(2);
		return;
	}
	wse_dsr_fabin(D_FIN, ring_in(c));
	wse_dsr_fabout(D_FOUT, ring_out(c, cols), t);
	if (c == 1) {
		wse_issue(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, D_FOUT, D_TMP, 0), 0);
	} else if (max) {
		wse_dsr_acc(D_K, t, t);
		wse_issue(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, D_K, D_FIN, 0), 0);
		wse_wait(2);
		vv(VMAX, D_TMP, D_K, D_TMP);
		wse_wait(1);
		wse_issue(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, 0, D_TMP, 0) +
				  ((uint32_t)(c ? D_FOUT : D_RES) << WSE_TCW_DST_SHIFT),
			  0);
	} else {
		wse_issue(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MADD, 0, D_FIN, D_TMP) +
				  ((uint32_t)(c ? D_FOUT : D_RES) << WSE_TCW_DST_SHIFT),
			  0);
	}
	/* back round the ring from column 0 */
	if (c == 0)
		wse_issue(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, D_FOUT, D_RES, 0), 0);
	else if (c < cols - 1)
		wse_issue(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MTEE, D_FOUT, D_FIN, D_RES), 0);
	else
		wse_issue(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, D_RES, D_FIN, 0), 0);
	wse_wait(2);
}

/*
 * Adds n values at addr over the rows of cores, north to south; the last row has the sums. Mover 1
 * may still run when this returns. Needs routes_column(); the lanes must have written the values.
 */
static __attribute__((noinline, unused)) void column_sum(uint32_t addr, uint32_t n)
{
	uint32_t r = wse_row(), last = r == wse_rows() - 1;

	wse_dsr_mem(D_RES, addr, WSE_DT_FP32, n, 4);
	wse_dsr_fabin(D_FIN, WSE_COLOR_COL + ((r - 1) & 1));
	wse_dsr_fabout(D_FOUT, WSE_COLOR_COL + (r & 1), n);
	if (r)
		wse_issue(WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MADD, 0, D_FIN, D_RES) +
				  ((uint32_t)(last ? D_RES : D_FOUT) << WSE_TCW_DST_SHIFT),
			  0);
	else if (!last)
		wse_issue(WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MOVE, D_FOUT, D_RES, 0), 0);
}

#endif /* WSE_ROW_H */
