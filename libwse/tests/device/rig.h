/* SPDX-License-Identifier: MIT */
/*
 * A tile with train.elf (or another program) on it, for tests of single kernels: a test lays out
 * operands by wse_kernel.h's geometry in a mirror of the cores' SRAM, runs a kernel, puts what it
 * expects into the mirror, and compares all of it: a kernel that writes where it must not is found
 * as well as one that writes the wrong bits. Included by a program, once.
 */
#ifndef WSE_TEST_RIG_H
#define WSE_TEST_RIG_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wse/wse.h>
#include "base/error.h"
#include "machine.h"
#include "graph/tile.h"
#include "tap.h"
#include "wse_kernel.h"
#include "wse_regs.h"

#define RIG_GAP 16 /* bytes between two operands, which no kernel may touch */

struct rig {
	struct wse_device *dev;
	struct wse_context *ctx;
	struct wse_program *prog;
	struct wse_tile tile;
	uint32_t base, top, end;    /* SRAM offsets: free from base, taken to top, of all */
	struct wse_buffer *sram;    /* [rows][cols][end - base]: there and back */
	uint8_t *mirror, *any;	    /* the same; any: not 0 where everything goes */
	uint32_t cycles;	    /* of the last rig_run() */
};

/* ---- random numbers ---- */

static uint64_t rig_seed = 1;

static uint32_t rig_rnd(void)
{
	rig_seed = rig_seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rig_seed >> 33);
}

static inline float rig_float(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

static inline uint32_t rig_bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

/*
 * Binary32 bits of a wide range, so that every order of a sum gives other bits; now and then a zero
 * or a subnormal, and where `wild` an infinity or a NaN.
 */
static uint32_t rig_number(int wild)
{
	uint32_t r = rig_rnd(), low = rig_rnd() << 16;

	if (r % 37 == 0)
		return r << 16 & 0x80000000;
	if (r % 41 == 0)
		return (r << 16 & 0x807f0000) | (low & 0xffff0000) >> 16;
	if (wild && r % 97 == 0)
		return (r << 16 & 0x80000000) | (r % 2 ? 0x7f800000 : 0x7fc00000);
	return (r << 16 & 0x807f0000) | (110 + rig_rnd() % 30) << 23 | low >> 16;
}

/* n elements of size 2 (bf16) or 4, to be freed */
static inline void *rig_numbers(size_t n, uint32_t size, int wild)
{
	void *p = malloc(n * size);

	for (size_t i = 0; i < n; i++) {
		if (size == 4)
			((uint32_t *)p)[i] = rig_number(wild);
		else
			((uint16_t *)p)[i] = (uint16_t)(rig_number(wild) >> 16);
	}
	return p;
}

/* ---- operands ---- */

static void rig_clear(struct rig *g)
{
	size_t n = (size_t)g->tile.rows * g->tile.cols * (g->end - g->base);

	g->top = g->base;
	memset(g->any, 0, n);
	for (size_t i = 0; i < n; i++)
		g->mirror[i] = (uint8_t)(0xa0 + i % 13);
}

/* address of so many bytes in every core */
static uint32_t rig_alloc(struct rig *g, uint32_t bytes)
{
	uint32_t at = g->top;

	g->top += (bytes + 15) / 16 * 16 + RIG_GAP;
	if (g->top > g->end) {
		printf("Bail out! %u bytes of operands in a core are too many\n", g->top - g->base);
		exit(1);
	}
	return WSE_SRAM_BASE + at;
}

static uint8_t *rig_at(struct rig *g, uint8_t *area, uint32_t r, uint32_t c, uint32_t addr)
{
	return area + (size_t)(r * g->tile.cols + c) * (g->end - g->base) +
	       (addr - WSE_SRAM_BASE - g->base);
}

/* host [width][tokens] -> core [width / cols][t], size bytes an element */
static inline void rig_rows(struct rig *g, uint32_t addr, const void *host, uint32_t width,
			    uint32_t tokens, uint32_t size)
{
	uint32_t per = width / g->tile.cols, t = tokens / g->tile.rows, n, r;

	for (n = 0; n < width; n++)
		for (r = 0; r < g->tile.rows; r++)
			memcpy(rig_at(g, g->mirror, r, n / per, addr + n % per * t * size),
			       (const uint8_t *)host + ((size_t)n * tokens + r * t) * size,
			       t * size);
}

/* host [width] -> core [width / cols], 4 bytes an element, in rows row0 and on */
static inline void rig_vector(struct rig *g, uint32_t addr, const void *host, uint32_t width,
			      uint32_t row0)
{
	uint32_t per = width / g->tile.cols * 4, c, r;

	for (r = row0; r < g->tile.rows; r++)
		for (c = 0; c < g->tile.cols; c++)
			memcpy(rig_at(g, g->mirror, r, c, addr), (const uint8_t *)host + c * per,
			       per);
}

/* host [tokens] -> core [t], size bytes an element, the same in every column */
static inline void rig_tokens(struct rig *g, uint32_t addr, const void *host, uint32_t tokens,
			      uint32_t size)
{
	uint32_t bytes = tokens / g->tile.rows * size;

	for (uint32_t r = 0; r < g->tile.rows; r++)
		for (uint32_t c = 0; c < g->tile.cols; c++)
			memcpy(rig_at(g, g->mirror, r, c, addr), (const uint8_t *)host + r * bytes,
			       bytes);
}

/* anything may be there afterwards, in rows 0 ... rows - 1 */
static inline void rig_any(struct rig *g, uint32_t addr, uint32_t bytes, uint32_t rows)
{
	for (uint32_t r = 0; r < rows; r++)
		for (uint32_t c = 0; c < g->tile.cols; c++)
			memset(rig_at(g, g->any, r, c, addr), 1, bytes);
}

/* ---- the device ---- */

static struct wse_copy rig_all(struct rig *g)
{
	uint32_t size = g->end - g->base, cols = g->tile.cols;

	return (struct wse_copy){.buf = g->sram,
				 .rows = (uint16_t)g->tile.rows,
				 .cols = (uint16_t)cols,
				 .sram = g->base,
				 .len = g->top - g->base,
				 .cstride = size,
				 .rstride = size * cols};
}

/* the mirror to the cores */
static int rig_load(struct rig *g)
{
	struct drm_wse_cmd cmd = wse_cmd_copy_in(rig_all(g));

	memcpy(wse_buffer_map(g->sram), g->mirror,
	       (size_t)g->tile.rows * g->tile.cols * (g->end - g->base));
	return wse_submit_wait(g->ctx, &cmd, 1, WSE_FOREVER);
}

static struct drm_wse_cmd rig_start(struct rig *g, const char *kernel, const void *args,
				    size_t size)
{
	struct wse_start s = {
		.rows = (uint16_t)g->tile.rows, .cols = (uint16_t)g->tile.cols, .closed = 1};

	if (wse_program_symbol(g->prog, kernel, &s.entry)) {
		printf("Bail out! there is no %s\n", kernel);
		exit(1);
	}
	memcpy(s.arg, args, size);
	return wse_cmd_start(s);
}

/* runs commands; counts their cycles */
static int rig_run(struct rig *g, const struct drm_wse_cmd *cmds, uint32_t n)
{
	struct wse_fence *fence;
	uint32_t begin, end;
	int ret = wse_submit(g->ctx, cmds, n, NULL, 0, &fence);

	if (ret)
		return ret;
	ret = wse_fence_wait(fence, WSE_FOREVER);
	if (!ret && !wse_fence_cycles(fence, &begin, &end))
		g->cycles = end - begin;
	wse_fence_destroy(fence);
	return ret;
}

/* one kernel from the mirror's operands; args: its struct, of size bytes */
static inline int rig_kernel(struct rig *g, const char *kernel, const void *args, size_t size)
{
	struct drm_wse_cmd cmd = rig_start(g, kernel, args, size);
	int ret = rig_load(g);

	return ret ? ret : rig_run(g, &cmd, 1);
}

/* the cores against the mirror */
static int rig_compare(struct rig *g)
{
	struct drm_wse_cmd cmd = wse_cmd_copy_out(rig_all(g));
	int ret = wse_submit_wait(g->ctx, &cmd, 1, WSE_FOREVER);

	for (uint32_t i = 0; i < g->tile.rows * g->tile.cols && !ret; i++) {
		size_t first = (size_t)i * (g->end - g->base);
		const uint8_t *got = (const uint8_t *)wse_buffer_map(g->sram) + first;
		const uint8_t *want = g->mirror + first, *any = g->any + first;

		for (uint32_t j = 0; j < g->top - g->base && !ret; j++) {
			if (any[j] || got[j] == want[j])
				continue;
			ret = wse_fail(
				-EILSEQ,
				"core %u,%u, address %#x: %02x%02x%02x%02x, not %02x%02x%02x%02x",
				i / g->tile.cols, i % g->tile.cols,
				WSE_SRAM_BASE + g->base + (j & ~3u), got[j | 3], got[(j | 3) - 1],
				got[(j | 3) - 2], got[j & ~3u], want[j | 3], want[(j | 3) - 1],
				want[(j | 3) - 2], want[j & ~3u]);
		}
	}
	return ret;
}

static void rig_close(struct rig *g)
{
	wse_program_destroy(g->prog);
	wse_buffer_destroy(g->sram);
	wse_context_destroy(g->ctx);
	wse_device_close(g->dev);
	free(g->mirror);
	free(g->any);
}

/* -ENOTSUP: not built here, reported as skipped */
static int rig_open_program(struct rig *g, const char *uri, const char *program)
{
	struct drm_wse_info info;
	const char *dir = getenv("WSE_KERNELS");
	char path[4096];
	size_t size;
	int ret;

	memset(g, 0, sizeof(*g));
	ret = wse_device_open(uri, &g->dev);
	if (ret == -ENOTSUP) {
		tap_skip(wse_error(), "%s", uri);
		return ret;
	}
	snprintf(path, sizeof(path), "%s/%s", dir ? dir : WSE_BUILD_FIRMWARE, program);
	if (!ret)
		ret = wse_context_create(g->dev, 0, &g->ctx);
	if (!ret)
		ret = wse_program_load(g->ctx, path, &g->prog);
	if (!ok(!ret, "%s opens%s%s", uri, ret ? ": " : "", ret ? wse_error() : "")) {
		rig_close(g);
		return ret;
	}
	wse_device_info(g->dev, &info);
	g->tile = (struct wse_tile){.rows = info.rows,
				    .cols = info.cols,
				    .lanes = info.lanes,
				    .sram = info.sram_kib * 1024};
	g->base = wse_program_end(g->prog);
	g->end = info.sram_kib * 1024 - 1088;
	size = (size_t)info.rows * info.cols * (g->end - g->base);
	g->mirror = malloc(size);
	g->any = malloc(size);
	if (wse_buffer_create(g->dev, size, &g->sram) || !g->mirror || !g->any) {
		printf("Bail out! no memory\n");
		exit(1);
	}
	return 0;
}

static inline int rig_open(struct rig *g, const char *uri)
{
	return rig_open_program(g, uri, "train.elf");
}

#endif
