// SPDX-License-Identifier: MIT
/*
 * Of a tile of 2 x 2, all cores: 1,0 computes for long and then sends to 0,0, which waits for its
 * task until then; 0,1 sends more than 1,1 takes; 1,1 waits with a mover for what no core sends.
 */
#include "wse_core.h"

static uint32_t got;

static __attribute__((noinline)) void take(uint32_t data, uint32_t info)
{
	(void)info;
	got = data;
}

static void compute(void)
{
	for (volatile uint32_t i = 0; i < 20000; i++)
		;
}

int main(void)
{
	static uint32_t memory[4] __attribute__((aligned(16)));

	switch (wse_row() << 1 | wse_col()) {
	case 0:
		wse_route(3, WSE_RX(E) | WSE_TX(R));
		wse_task_entry(2, take);
		wse_task_bind(3, 2);
		wse_task_run();
		return got == 7 ? 0 : 1;
	case 1:
		wse_route(3, WSE_RX(R) | WSE_TX(W));
		compute();
		wse_send(3, 7);
		for (;;)
			;
	case 2:
		wse_route(5, WSE_RX(R) | WSE_TX(E));
		for (;;)
			wse_send(5, 1);
	default:
		wse_route(5, WSE_RX(W) | WSE_TX(R));
		wse_route(6, WSE_RX(W) | WSE_TX(R));
		wse_dsr_fabin(0, 6);
		wse_dsr_mem(1, (uint32_t)memory, WSE_DT_I32, 4, 4);
		wse_issue(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, 1, 0, 0), 0);
		wse_task_run();
		return 1;
	}
}
