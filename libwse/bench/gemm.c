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
#include <wse/layer.h>

#include "base/error.h"
#include "bench.h"
#include "profile.h"
#include "wse_regs.h"

#define ROWS   4u
#define COLS   4u
#define TOKENS 32u /* of a core */
#define HIDDEN 64u /* of a core */
/*
 * Features of a block. The RTL overlaps draining with the next block when two blocks fit the 128
 * accumulators; the twin's cost is the task code between blocks, so it takes them as large as they
 * get.
 */
#define RTL_B  2u
#define TWIN_B 4u
#define T      (TOKENS * ROWS)
#define K      (HIDDEN * COLS)
#define N      (HIDDEN * COLS)
#define MACS   ((double)T * K * N)

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
	uint64_t count[WSE_CNT_COUNT]; /* what the device counted meanwhile */
};

static int counters(struct gemm *g, uint64_t count[WSE_CNT_COUNT])
{
	uint32_t n;

	return wse_device_counters(g->dev, DRM_WSE_SCOPE_TILE, 0, count, WSE_CNT_COUNT, &n);
}

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

static void gemm_close(struct gemm *g)
{
	wse_program_destroy(g->prog);
	wse_buffer_destroy(g->w);
	wse_buffer_destroy(g->x);
	wse_buffer_destroy(g->dw);
	wse_context_destroy(g->ctx);
	wse_device_close(g->dev);
}

static int load_x(struct gemm *g, uint32_t addr)
{
	struct wse_layer l = {ROWS, COLS, TOKENS, 1};
	struct wse_copy values = wse_layer_values(&l, HIDDEN, 2);
	struct drm_wse_cmd c;

	values.buf = g->x;
	values.sram = addr - WSE_SRAM_BASE;
	c = wse_cmd_copy_in(values);
	return wse_submit_wait(g->ctx, &c, 1, WSE_FOREVER);
}

static int gemm_open(struct gemm *g, const char *uri)
{
	const char *dir = getenv("WSE_KERNELS");
	char path[4096];
	int ret;

	memset(g, 0, sizeof(*g));
	snprintf(path, sizeof(path), "%s/linear.elf", dir ? dir : WSE_BUILD_FIRMWARE);
	ret = wse_device_open(uri, &g->dev);
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
		gemm_close(g);
	return ret;
}

/* count products (or weight gradients) behind one another */
static int measure(struct gemm *g, int wgrad, uint32_t count, struct result *r)
{
	struct drm_wse_cmd *cmds = calloc(3 * count, sizeof(*cmds));
	uint64_t before[WSE_CNT_COUNT];
	struct wse_fence *fence;
	uint32_t entry, start, end, i, n = 0;
	double begin;
	int ret;

	if (!cmds)
		return -ENOMEM;
	ret = wse_program_symbol(g->prog, wgrad ? "linear_wgrad" : "linear_forward", &entry);
	for (i = 0; i < count; i++) {
		struct wse_linear_args forward = {.x = g->in,
						  .y = g->out,
						  .t = TOKENS,
						  .k = HIDDEN,
						  .nblk = N / g->b,
						  .b = g->b};
		struct wse_wgrad_args grad = {.x = g->in,
					      .dy = g->out,
					      .t = TOKENS,
					      .k = HIDDEN,
					      .nblk = N / g->b,
					      .b = g->b};
		struct wse_layer l = {ROWS, COLS, TOKENS, g->b};
		struct drm_wse_cmd in =
			wgrad ? wse_layer_index(&l, N, K) : wse_layer_image(&l, N, K);
		struct drm_wse_cmd out = wse_layer_grads(&l, N, K);

		in.bo = wgrad ? 0 : wse_buffer_handle(g->w);
		in.queue = 2;
		out.bo = wse_buffer_handle(g->dw);
		out.queue = 3;
		in.budget = out.budget = 1000000000;
		if (wgrad)
			cmds[n++] = wse_layer_start(&l, 1, entry, &grad, sizeof(grad));
		else
			cmds[n++] = wse_layer_start(&l, 1, entry, &forward, sizeof(forward));
		cmds[n++] = in;
		if (wgrad)
			cmds[n++] = out;
	}
	if (!ret)
		ret = counters(g, before);
	begin = bench_now();
	if (!ret)
		ret = wse_submit(g->ctx, cmds, n, NULL, 0, &fence);
	if (!ret) {
		ret = wse_fence_wait(fence, WSE_FOREVER);
		r->seconds = bench_now() - begin;
		if (!ret)
			ret = wse_fence_cycles(fence, &start, &end);
		if (!ret)
			ret = bench_profile_submit(g->dev, fence, cmds, n);
		wse_fence_destroy(fence);
	}
	if (!ret)
		ret = counters(g, r->count);
	free(cmds);
	if (ret)
		return ret;
	for (i = 0; i < WSE_CNT_COUNT; i++)
		r->count[i] -= before[i];
	r->macs = (double)r->count[WSE_CNT_MAC];
	r->cycles = (double)(end - start);
	/* a counter that counts something else would make every figure here worthless */
	return r->macs == MACS * count ? 0 : -EPROTO;
}

/* warm: products before those that count, on the same device */
static int run(const char *uri, uint32_t b, int wgrad, uint32_t warm, uint32_t count,
	       struct result *r, struct bench_measure *m)
{
	struct gemm g;
	int ret = gemm_open(&g, uri);

	if (ret)
		return ret;
	g.b = b;
	if (warm)
		ret = measure(&g, wgrad, warm, r);
	if (!ret)
		ret = measure(&g, wgrad, count, r);
	bench_ways(m, g.dev);
	gemm_close(&g);
	if (ret == -EPROTO)
		wse_fail(ret, "the device counted %.0f multiply-adds, not %.0f", r->macs,
			 MACS * count);
	return ret;
}

#define RTL "sim:rtl,rows=4,cols=4"

static int rtl(int wgrad, struct result *r, struct bench_measure *m)
{
	int ret = run(RTL, RTL_B, wgrad, 0, 1, r, m);

	bench_count(m, "lanes", "", ROWS * COLS * WSE_LANES);
	bench_count(m, "busy_cycles", "cycles", r->cycles);
	bench_counters(m, r->count);
	bench_count(m, "time", "s", r->seconds);
	return ret;
}

static int rtl_mmacs(struct bench_measure *m)
{
	struct result r = {0};
	int ret = rtl(0, &r, m);

	m->value = r.macs / r.seconds * 1e-6;
	return ret;
}

static int utilisation(int wgrad, struct bench_measure *m)
{
	struct result r = {0};
	int ret = rtl(wgrad, &r, m);

	m->value = r.macs / (r.cycles * ROWS * COLS * WSE_LANES);
	return ret;
}

static int rtl_gemm_utilisation(struct bench_measure *m)
{
	return utilisation(0, m);
}

static int rtl_dot_utilisation(struct bench_measure *m)
{
	return utilisation(1, m);
}

/* Y = W X of the same shape in one thread of OpenBLAS. */
struct blas {
	float *w, *x, *y;
};

static int blas_open(struct blas *o)
{
	o->w = calloc(N * K, 4);
	o->x = calloc(K * T, 4);
	o->y = calloc(N * T, 4);
	if (!o->w || !o->x || !o->y)
		return -ENOMEM;
	for (uint32_t i = 0; i < N * K; i++)
		o->w[i] = bf16((uint16_t)(0x3f00 + i % 251));
	for (uint32_t i = 0; i < K * T; i++)
		o->x[i] = bf16((uint16_t)(0x3f00 + i % 241));
	openblas_set_num_threads(1);
	return 0;
}

static void blas_close(struct blas *o)
{
	free(o->w);
	free(o->x);
	free(o->y);
}

/* Seconds of one product: the best of several. */
static double blas_seconds(struct blas *o)
{
	double best = 1e9;

	for (int i = 0; i < 10; i++) {
		double begin = bench_now(), s;

		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, T, K, 1, o->w, K, o->x, T,
			    0, o->y, T);
		s = bench_now() - begin;
		best = s < best ? s : best;
	}
	return best;
}

#define TWIN "sim:func,rows=4,cols=4"
/*
 * in these a new device does what it does once (it translates, it touches memory); OpenBLAS's best
 * is warm, too
 */
#define WARM 4u

/* In turns, so that both have their share of a busy machine's quiet moments; the best of each. */
static int twin_gemm_vs_openblas(struct bench_measure *m)
{
	enum { TURNS = 5, PRODUCTS = 50 };
	double twin = 1e9, blas = 1e9;
	struct blas o;
	int ret = blas_open(&o);

	for (int i = 0; i < TURNS && !ret; i++) {
		struct result r = {0};
		double s;

		ret = run(TWIN, TWIN_B, 0, WARM, PRODUCTS, &r, m);
		s = r.seconds / PRODUCTS;
		twin = s < twin ? s : twin;
		s = blas_seconds(&o);
		blas = s < blas ? s : blas;
	}
	blas_close(&o);
	bench_count(m, "multiply_adds", "MAC", MACS);
	bench_count(m, "twin", "s", twin);
	bench_count(m, "openblas", "s", blas);
	m->value = blas / twin;
	return ret;
}

static int twin_gemm_mmacs(struct bench_measure *m)
{
	struct result r = {0};
	int ret = run(TWIN, TWIN_B, 0, WARM, 50, &r, m);

	bench_count(m, "multiply_adds", "MAC", r.macs);
	bench_count(m, "time", "s", r.seconds);
	m->value = r.macs / r.seconds * 1e-6;
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
	{"twin_gemm_mmacs", "MMAC/s", "Y = X W^T on the twin, the same shape, blocks of 4 features",
	 twin_gemm_mmacs, 0},
	{"twin_gemm_vs_openblas", "1", "the twin's rate / that of OpenBLAS sgemm, one thread each",
	 twin_gemm_vs_openblas, 0},
	{0},
};
