/* SPDX-License-Identifier: MIT */
/* What tests of devices share: contexts and buffers that must be there, hand-assembled tasks. */
#ifndef WSE_TEST_TASKS_H
#define WSE_TEST_TASKS_H

#include <stdlib.h>
#include <string.h>

#include <wse/wse.h>
#include "tap.h"
#include "wse_regs.h"

#define MS 1000000ll
#define OK(cond, ...) ok(cond, __VA_ARGS__)
#define CODE 0x1000u /* SRAM offset of programs */


/* ---- a few instructions ---- */

#define A0 10u
#define A1 11u
#define A2 12u
#define RA 1u
#define I_LUI(rd, imm20) ((uint32_t)(imm20) << 12 | (rd) << 7 | 0x37)
#define I_ADDI(rd, rs, imm) ((uint32_t)(imm) << 20 | (rs) << 15 | (rd) << 7 | 0x13)
#define I_LW(rd, imm, rs) ((uint32_t)(imm) << 20 | (rs) << 15 | 2 << 12 | (rd) << 7 | 0x03)
#define I_SW(rs2, imm, rs)                                                          \
	(((uint32_t)(imm) >> 5 & 0x7f) << 25 | (rs2) << 20 | (rs) << 15 | 2 << 12 | \
	 ((uint32_t)(imm)&0x1f) << 7 | 0x23)
#define I_CSRR(rd, csr) ((uint32_t)(csr) << 20 | 2 << 12 | (rd) << 7 | 0x73)
#define I_RET (RA << 15 | 0x67)
#define I_SELF 0x6fu /* j . */
#define I_CUSTOM(f3, f7, rd, rs1, rs2) \
	((uint32_t)(f7) << 25 | (rs2) << 20 | (rs1) << 15 | (uint32_t)(f3) << 12 | (rd) << 7 | 0x0b)
#define I_DONE(rs1) I_CUSTOM(WSE_F3_SYS, WSE_SYSOP_DONE, 0, rs1, 0)
#define I_RECV(rd, rs1) I_CUSTOM(WSE_F3_RECV, 0, rd, rs1, 0)
#define I_ROUTE(rs1, rs2) I_CUSTOM(WSE_F3_ROUTE, 0, 0, rs1, rs2)

/* this thread's sentence has these words */
static int says(const char *words)
{
	if (strstr(wse_error(), words))
		return 1;
	printf("# it says \"%s\", not \"%s\"\n", wse_error(), words);
	return 0;
}

static struct wse_context *new_ctx(struct wse_device *dev)
{
	struct wse_context *ctx;

	if (wse_context_create(dev, 0, &ctx)) {
		printf("Bail out! context: %s\n", wse_error());
		exit(1);
	}
	return ctx;
}

static struct wse_buffer *new_buf(struct wse_device *dev, size_t size)
{
	struct wse_buffer *buf;

	if (wse_buffer_create(dev, size, &buf)) {
		printf("Bail out! buffer: %s\n", wse_error());
		exit(1);
	}
	return buf;
}

/* Runs n instructions as a task on all cores with the argument words 5, 6. */
static int run_code(struct wse_device *dev, struct wse_context *ctx, const uint32_t *code,
		    uint32_t n, uint64_t budget, int closed)
{
	struct drm_wse_info info;
	struct wse_buffer *buf = new_buf(dev, 4096);
	struct drm_wse_cmd cmds[2];
	int ret;

	wse_device_info(dev, &info);
	memcpy(wse_buffer_map(buf), code, n * 4);
	cmds[0] = wse_cmd_copy_in((struct wse_copy){.buf = buf,
						    .rows = (uint16_t)info.rows,
						    .cols = (uint16_t)info.cols,
						    .sram = CODE,
						    .len = (n * 4 + 7) & ~7u,
						    .broadcast = 1});
	cmds[1] = wse_cmd_start((struct wse_start){.rows = (uint16_t)info.rows,
						   .cols = (uint16_t)info.cols,
						   .entry = WSE_SRAM_BASE + CODE,
						   .budget = budget,
						   .closed = closed,
						   .arg = {5, 6}});
	ret = wse_submit_wait(ctx, cmds, 2, 60000 * MS);
	wse_buffer_destroy(buf);
	return ret;
}

/* Adds its two arguments and its mhartid, stores that at CODE + 0x800. */
static const uint32_t adder[] = {
	I_LW(A1, 0, A0),
	I_LW(A2, 4, A0),
	A2 << 20 | A1 << 15 | A1 << 7 | 0x33, /* add a1, a1, a2 */
	I_CSRR(A2, 0xf14),
	A2 << 20 | A1 << 15 | A1 << 7 | 0x33,
	I_LUI(A0, 0x80001),
	I_SW(A1, 0x7f0, A0),
	I_DONE(0),
	I_RET,
};

static int adder_works(struct wse_device *dev, struct wse_context *ctx)
{
	struct drm_wse_info info;
	struct wse_buffer *buf = new_buf(dev, 65536);
	struct drm_wse_cmd out;
	uint32_t *p = wse_buffer_map(buf), i;
	int ret;

	wse_device_info(dev, &info);
	ret = run_code(dev, ctx, adder, sizeof(adder) / 4, 100000, 1);
	out = wse_cmd_copy_out((struct wse_copy){.buf = buf,
						 .rows = (uint16_t)info.rows,
						 .cols = (uint16_t)info.cols,
						 .sram = CODE + 0x7f0,
						 .len = 8,
						 .cstride = 8,
						 .rstride = 8 * info.cols});
	if (!ret)
		ret = wse_submit_wait(ctx, &out, 1, 60000 * MS);
	for (i = 0; !ret && i < info.rows * info.cols; i++)
		if (p[2 * i] != 11 + i)
			ret = 1;
	wse_buffer_destroy(buf);
	return !ret;
}

#endif
