// SPDX-License-Identifier: MIT
/* Eight wavelets to itself, two of them east, too, where they wait; a sum by the lanes. */
#include "wse_core.h"

static float a[8] __attribute__((aligned(16))) = {1, 2, 3, 4, 5, 6, 7, 8};
static float b[1] __attribute__((aligned(4)));

int main(void)
{
	uint32_t i, sum = 0;

	wse_route(3, WSE_RX(R) | WSE_TX(R));
	for (i = 0; i < 8; i++) {
		wse_send(3, 100 + i);
		sum += wse_recv(3);
	}
	wse_route(5, WSE_RX(R) | WSE_TX(R) | WSE_TX(E));
	for (i = 0; i < 2; i++) {
		wse_send(5, 7);
		sum += wse_recv(5);
	}
	wse_dsr_mem(0, (uint32_t)a, WSE_DT_FP32, 8, 4);
	wse_dsr_mem(1, (uint32_t)b, WSE_DT_FP32, 1, 4);
	wse_issue(WSE_TCW(WSE_ENGINE_L, WSE_TOP_VRSUM, 1, 0, 0), 0);
	wse_wait(1);
	return sum == 842 && b[0] == 36 ? 0 : 1;
}
