// SPDX-License-Identifier: MIT
/*
 * y = W x on 2 x 2 cores. Core (row, column) has W's 8 x 8 block of its place, and the 8 elements
 * of x that belong to its column. Each core makes the sums of its block; the west core sends its
 * eight to the east core, which adds its own and keeps y.
 */
#include "wse_core.h"

enum { N = 8, SUMS = 6 }; /* SUMS: a color */

WSE_ENTRY void route(uint32_t args, uint32_t info)
{
	const uint32_t *a = (const uint32_t *)args; /* binary32 W [8][8], x [8], room [8], y [8] */
	uint32_t w = a[0], x = w + 4 * N * N, room = x + 4 * N, y = room + 4 * N;
	int west = wse_col() == 0;

	(void)info;
	if (west)
		wse_route(SUMS, WSE_RX(R) | WSE_TX(E)); /* from this core to the east */
	else
		wse_route(SUMS, WSE_RX(W) | WSE_TX(E)); /* from the west to this core */

	for (int i = 0; i < N; i++) { /* y[i] = the sum of W[i][k] x[k] */
		wse_dsr_mem(0, w + 4 * N * i, WSE_DT_FP32, N, 4);
		wse_dsr_mem(1, x, WSE_DT_FP32, N, 4);
		wse_dsr_mem(2, room, WSE_DT_FP32, N, 4);
		wse_dsr_mem(3, y + 4 * i, WSE_DT_FP32, 1, 4);
		wse_issue(WSE_TCW(WSE_ENGINE_L, WSE_TOP_VMUL, 2, 0, 1), 0);
		wse_issue(WSE_TCW(WSE_ENGINE_L, WSE_TOP_VRSUM, 3, 2, 0), 0);
	}
	wse_wait(1);
	wse_dsr_mem(4, y, WSE_DT_FP32, N, 4);
	if (west) { /* engine M0 sends the eight sums */
		wse_dsr_fabout(5, SUMS, N);
		wse_issue(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, 5, 4, 0), 0);
	} else { /* engine M0 takes them, and the lanes add them */
		wse_dsr_mem(6, room, WSE_DT_FP32, N, 4);
		wse_dsr_fabin(5, SUMS);
		wse_issue(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, 6, 5, 0), 0);
		wse_wait(2);
		wse_issue(WSE_TCW(WSE_ENGINE_L, WSE_TOP_VADD, 4, 4, 6), 0);
	}
	wse_wait(7);
	wse_done(0);
}
