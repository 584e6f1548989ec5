// SPDX-License-Identifier: MIT
/* Five wavelets to itself, a task each; the lanes sum up in a second task. */
#include "wse_core.h"

static float a[8] __attribute__((aligned(16))) = {1, 2, 3, 4, 5, 6, 7, 8};
static float b[1] __attribute__((aligned(4)));
static uint32_t left = 5, sum;

static __attribute__((noinline)) void take(uint32_t data, uint32_t info)
{
	sum += data;
	left--;
	if (left)
		wse_send(info & 31, data + 1);
	else
		wse_task_activate(4);
}

static __attribute__((noinline)) void lanes(uint32_t data, uint32_t info)
{
	(void)data, (void)info;
	wse_dsr_mem(0, (uint32_t)a, WSE_DT_FP32, 8, 4);
	wse_dsr_mem(1, (uint32_t)b, WSE_DT_FP32, 1, 4);
	wse_issue(WSE_TCW(WSE_ENGINE_L, WSE_TOP_VRSUM, 1, 0, 0), 0);
	wse_wait(1);
}

int main(void)
{
	wse_route(3, WSE_RX(R) | WSE_TX(R));
	wse_task_entry(2, take);
	wse_task_bind(3, 2);
	wse_task_entry(4, lanes);
	wse_send(3, 1);
	while (!b[0])
		wse_task_run();
	return sum == 15 && b[0] == 36 ? 0 : 1;
}
