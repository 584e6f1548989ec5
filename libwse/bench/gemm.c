// SPDX-License-Identifier: MIT
/*
 * The streamed product and its weight gradient at the working point: 4 x 4 cores, 32 tokens and 64
 * hidden in each. Activations are in the SRAM and all commands in the rings before the clock
 * starts.
 *
 * Utilisation is multiply-adds / (cores x lanes x device cycles from the first start to the last
 * completion), all from the device's own counters.
 */
#include <cblas.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wse/wse.h>

#include "bench.h"
#include "wse_regs.h"

#define ROWS 4u
#define COLS 4u
#define TOKENS 32u /* of a core */
#define HIDDEN 64u /* of a core */
/*
 * Features of a block. The RTL overlaps draining with the next block when two blocks fit the 128 accumulators;
 * the twin's cost is the task code between blocks, so it takes them as large as they get.
 */
#define RTL_B 2u
#define TWIN_B 4u
#define T (TOKENS * ROWS)
#define K (HIDDEN * COLS)
#define N (HIDDEN * COLS)
#define MACS ((double)T * K * N)

struct gemm {
	struct wse_device *dev;
	struct wse_context *ctx;
	struct wse_program *prog;
	struct wse_buffer *w, *x, *dw;
	uint32_t in, out; /* SRAM addresses */
	uint32_t b;	  /* features of a block */
};

struct result {
	double seconds, cycles, macs;
};

static float bf16(uint16_t h)
{
	uint32_t u = (uint32_t)h << 16;
	float f;

	memcpy(&f, &u, 4);
	return f;
}

/* Plain numbers between 1/4 and 4: nothing overflows, nothing is subnormal. */
static void fill(struct wse_buffer *buf, size_t n)
{
	uint16_t *p = wse_buffer_map(buf);
	uint32_t s = 12345;
	size_t i;

	for (i = 0; i < n; i++) {
		s = s * 1664525u + 1013904223u;
		p[i] = (uint16_t)((s >> 16 & 0x807f) | (125 + (s >> 8) % 4) << 7);
	}
}

static void gemm_close(struct gemm *g, char *why, size_t len, int ret)
{
	if (ret && g->dev)
		wse_device_error(g->dev, why, len);
	wse_program_destroy(g->prog);
	wse_buffer_destroy(g->w);
	wse_buffer_destroy(g->x);
	wse_buffer_destroy(g->dw);
	wse_context_destroy(g->ctx);
	wse_device_close(g->dev);
}

static int load_x(struct gemm *g, uint32_t addr)
{
	struct drm_wse_cmd c = wse_cmd_copy_in((struct wse_copy){.buf = g->x,
								 .rows = ROWS,
								 .cols = COLS,
								 .sram = addr - WSE_SRAM_BASE,
								 .len = TOKENS * 2,
								 .nline = HIDDEN,
								 .lstride = T * 2,
								 .sstride = TOKENS * 2,
								 .cstride = HIDDEN * T * 2,
								 .rstride = TOKENS * 2});

	return wse_submit_wait(g->ctx, &c, 1, WSE_FOREVER);
}

static int gemm_open(struct gemm *g, const char *uri, char *why, size_t len)
{
	const char *dir = getenv("WSE_KERNELS");
	char path[4096];
	int ret;

	memset(g, 0, sizeof(*g));
	snprintf(path, sizeof(path), "%s/linear.elf", dir ? dir : WSE_BUILD_FIRMWARE);
	ret = wse_device_open_why(uri, why, len, &g->dev);
	if (ret)
		return ret;
	ret = wse_context_create(g->dev, 0, &g->ctx);
	if (!ret)
		ret = wse_program_load(g->ctx, path, &g->prog);
	if (!ret)
		ret = wse_buffer_create(g->dev, N * K * 2, &g->w);
	if (!ret)
		ret = wse_buffer_create(g->dev, K * T * 2, &g->x);
	if (!ret)
		ret = wse_buffer_create(g->dev, N * K * 4, &g->dw);
	if (!ret) {
		g->in = WSE_SRAM_BASE + wse_program_end(g->prog);
		g->out = g->in + HIDDEN * TOKENS * 2;
		fill(g->w, N * K);
		fill(g->x, K * T);
		ret = load_x(g, g->in);
		if (!ret)
			ret = load_x(
				g, g->out); /* the gradient of the output, for dW: any numbers do */
	}
	if (ret)
		gemm_close(g, why, len, ret);
	return ret;
}

static struct wse_stream stream(const struct wse_buffer *buf, uint32_t b, uint32_t queue,
				uint32_t color, uint8_t etype, uint32_t size)
{
	return (struct wse_stream){.buf = buf,
				   .queue = queue,
				   .color = color,
				   .cols = COLS,
				   .nblock = N / b,
				   .nfeat = (uint8_t)b,
				   .etype = etype,
				   .kcol = HIDDEN,
				   .lstride = buf ? K * size : 0,
				   .cstride = buf ? HIDDEN * size : 0,
				   .budget = 1000000000};
}

/* count products (or weight gradients) behind one another */
static int measure(struct gemm *g, int wgrad, uint32_t count, struct result *r)
{
	struct drm_wse_cmd *cmds = calloc(3 * count, sizeof(*cmds));
	struct wse_counters before, after;
	struct wse_fence *fence;
	uint32_t entry, start, end, i, n = 0;
	double begin;
	int ret;

	if (!cmds)
		return -ENOMEM;
	ret = wse_program_symbol(g->prog, wgrad ? "linear_wgrad" : "linear_forward", &entry);
	for (i = 0; i < count; i++) {
		struct wse_start s = {.queue = 1, .rows = ROWS, .cols = COLS, .entry = entry};
		uint32_t forward[] = {g->in, g->out, TOKENS, HIDDEN, N / g->b,
				      g->b,  0,	     0,	     0,	     WSE_DT_BF16};
		struct wse_stream in = stream(wgrad ? NULL : g->w, g->b, 2, 0, WSE_ETYPE_BF16, 2);

		in.index_only = wgrad;
		memcpy(s.arg, forward, (wgrad ? 6 : 10) * sizeof(forward[0]));
		cmds[n++] = wse_cmd_start(s);
		cmds[n++] = wse_cmd_stream_in(in);
		if (wgrad)
			cmds[n++] = wse_cmd_stream_out(
				stream(g->dw, g->b, 3, 4 + ((ROWS - 1) & 1), WSE_ETYPE_FP32, 4));
	}
	if (!ret)
		ret = wse_device_counters(g->dev, &before);
	begin = bench_now();
	if (!ret)
		ret = wse_submit(g->ctx, cmds, n, NULL, 0, &fence);
	if (!ret) {
		ret = wse_fence_wait(fence, WSE_FOREVER);
		r->seconds = bench_now() - begin;
		if (!ret)
			ret = wse_fence_cycles(fence, &start, &end);
		wse_fence_destroy(fence);
	}
	if (!ret)
		ret = wse_device_counters(g->dev, &after);
	free(cmds);
	if (ret)
		return ret;
	r->macs = (double)(after.mac - before.mac);
	r->cycles = (double)(end - start);
	/* a counter that counts something else would make every figure here worthless */
	return r->macs == MACS * count ? 0 : -EPROTO;
}

static int run(const char *uri, uint32_t b, int wgrad, uint32_t count, struct result *r, char *why,
	       size_t len)
{
	struct gemm g;
	int ret = gemm_open(&g, uri, why, len);

	if (ret)
		return ret;
	g.b = b;
	ret = measure(&g, wgrad, count, r);
	gemm_close(&g, why, len, ret);
	if (ret == -EPROTO)
		snprintf(why, len, "the device counted %.0f multiply-adds, not %.0f", r->macs,
			 MACS * count);
	return ret;
}

#define RTL "sim:rtl,rows=4,cols=4"

static int rtl_mmacs(double *value, char *why, size_t len)
{
	struct result r;
	int ret = run(RTL, RTL_B, 0, 1, &r, why, len);

	if (!ret)
		*value = r.macs / r.seconds * 1e-6;
	return ret;
}

static int utilisation(int wgrad, double *value, char *why, size_t len)
{
	struct result r;
	int ret = run(RTL, RTL_B, wgrad, 1, &r, why, len);

	if (!ret)
		*value = r.macs / (r.cycles * ROWS * COLS * WSE_LANES);
	return ret;
}

static int rtl_gemm_utilisation(double *value, char *why, size_t len)
{
	return utilisation(0, value, why, len);
}

static int rtl_dot_utilisation(double *value, char *why, size_t len)
{
	return utilisation(1, value, why, len);
}

/* Seconds of one Y = W X of the same shape in one thread of OpenBLAS: the best of several. */
static double blas_seconds(void)
{
	float *w = calloc(N * K, 4), *x = calloc(K * T, 4), *y = calloc(N * T, 4);
	double best = 1e9, begin, s;
	uint32_t i;

	openblas_set_num_threads(1);
	for (i = 0; w && i < N * K; i++)
		w[i] = bf16((uint16_t)(0x3f00 + i % 251));
	for (i = 0; x && i < K * T; i++)
		x[i] = bf16((uint16_t)(0x3f00 + i % 241));
	for (i = 0; w && x && y && i < 50; i++) {
		begin = bench_now();
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, T, K, 1, w, K, x, T, 0, y,
			    T);
		s = bench_now() - begin;
		best = s < best ? s : best;
	}
	free(w);
	free(x);
	free(y);
	return best;
}

static int twin_gemm_vs_openblas(double *value, char *why, size_t len)
{
	struct result r;
	int ret = run("sim:func,rows=4,cols=4", TWIN_B, 0, 20, &r, why, len);

	if (!ret)
		*value = (r.macs / r.seconds) / (MACS / blas_seconds());
	return ret;
}

static int twin_gemm_mmacs(double *value, char *why, size_t len)
{
	struct result r;
	int ret = run("sim:func,rows=4,cols=4", TWIN_B, 0, 20, &r, why, len);

	if (!ret)
		*value = r.macs / r.seconds * 1e-6;
	return ret;
}

const struct bench bench_gemm[] = {
	{"rtl_gemm_mmacs", "MMAC/s",
	 "Y = X W^T on the RTL, 4x4 cores, 32 tokens and 64 hidden each, one host thread",
	 rtl_mmacs, 0},
	{"rtl_gemm_utilisation", "1", "the same: busy lanes / (lanes x cycles)",
	 rtl_gemm_utilisation, 0},
	{"rtl_dot_utilisation", "1", "dW = dY^T X on the RTL: busy lanes / (lanes x cycles)",
	 rtl_dot_utilisation, 0},
	{"twin_gemm_mmacs", "MMAC/s", "Y = X W^T on the twin, the same shape, blocks of 4 features", twin_gemm_mmacs, 0},
	{"twin_gemm_vs_openblas", "1", "the twin's rate / that of OpenBLAS sgemm, one thread each",
	 twin_gemm_vs_openblas, 0},
	{0},
};
