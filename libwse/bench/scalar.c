// SPDX-License-Identifier: MIT
/* Scalar instructions of the twin: a loop of arithmetic, a load, a store and a branch on each of 4
 * x 4 cores. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <wse/wse.h>

#include "bench.h"
#include "wse_regs.h"

#define ENTRY	   0x1000u
#define ITERATIONS 200000u

static const uint32_t code[] = {
	0x00052583,		/*	lw   a1, 0(a0)		the first argument: iterations */
	0x80004637,		/*	lui  a2, 0x80004	128 bytes of memory */
	0x000126b7,		/*	li   a3, 0x12345 */
	0x34568693, 0x00000713, /*	li   a4, 0 */
	0x00d69793,		/* 1:	slli a5, a3, 13		xorshift */
	0x00f6c6b3,		/*	xor  a3, a3, a5 */
	0x0116d793,		/*	srli a5, a3, 17 */
	0x00f6c6b3,		/*	xor  a3, a3, a5 */
	0x00569793,		/*	slli a5, a3, 5 */
	0x00f6c6b3,		/*	xor  a3, a3, a5 */
	0x07c6f793,		/*	andi a5, a3, 0x7c */
	0x00c787b3,		/*	add  a5, a5, a2 */
	0x0007a803,		/*	lw   a6, 0(a5) */
	0x01070733,		/*	add  a4, a4, a6 */
	0x02d70833,		/*	mul  a6, a4, a3 */
	0x0107a023,		/*	sw   a6, 0(a5) */
	0xfff58593,		/*	addi a1, a1, -1 */
	0xfc0596e3,		/*	bnez a1, 1b */
	0x0000700b,		/*	DONE 0 */
	0x00008067,		/*	ret */
	0,			/* copies are multiples of 8 bytes */
};

static int measure(struct wse_device *dev, struct wse_context *ctx, struct bench_measure *m)
{
	uint64_t a[WSE_CNT_COUNT], b[WSE_CNT_COUNT];
	uint32_t n, i;
	struct wse_buffer *buf;
	struct drm_wse_cmd cmd;
	double begin;
	int ret;

	ret = wse_buffer_create(dev, sizeof(code), &buf);
	if (ret)
		return ret;
	memcpy(wse_buffer_map(buf), code, sizeof(code));
	cmd = wse_cmd_copy_in((struct wse_copy){.buf = buf,
						.rows = 4,
						.cols = 4,
						.sram = ENTRY,
						.len = sizeof(code),
						.broadcast = 1});
	ret = wse_submit_wait(ctx, &cmd, 1, WSE_FOREVER);
	if (!ret)
		ret = wse_device_counters(dev, DRM_WSE_SCOPE_TILE, 0, a, WSE_CNT_COUNT, &n);
	cmd = wse_cmd_start((struct wse_start){
		.rows = 4, .cols = 4, .entry = 0x80000000u + ENTRY, .arg = {ITERATIONS}});
	begin = bench_now();
	if (!ret)
		ret = wse_submit_wait(ctx, &cmd, 1, WSE_FOREVER);
	if (!ret) {
		double seconds = bench_now() - begin;

		ret = wse_device_counters(dev, DRM_WSE_SCOPE_TILE, 0, b, WSE_CNT_COUNT, &n);
		for (i = 0; !ret && i < WSE_CNT_COUNT; i++)
			b[i] -= a[i];
		bench_count(m, "time", "s", seconds);
		if (!ret)
			bench_counters(m, b);
		m->value = ret ? 0 : (double)b[WSE_CNT_INSTRET] / seconds * 1e-6;
	}
	wse_buffer_destroy(buf);
	return ret;
}

static int twin_mips(struct bench_measure *m)
{
	struct wse_device *dev;
	struct wse_context *ctx;
	int ret;

	ret = wse_device_open("sim:func,rows=4,cols=4", &dev);
	if (ret)
		return ret;
	ret = wse_context_create(dev, 0, &ctx);
	if (!ret) {
		ret = measure(dev, ctx, m);
		bench_ways(m, dev);
		wse_context_destroy(ctx);
	}
	wse_device_close(dev);
	return ret;
}

const struct bench bench_scalar[] = {
	{"twin_mips", "MIPS", "scalar instructions a second, 4x4 cores on one host thread",
	 twin_mips, 0},
	{0},
};
