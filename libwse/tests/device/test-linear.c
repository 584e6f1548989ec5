// SPDX-License-Identifier: MIT
/*
 * Linear operations on every in-process model against ordered scalar loops: the same bits. With
 * WSE_DEVICE set to a URI (accel:0 in the guest) on that device instead.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <wse/wse.h>
#include "linear.h"
#include "machine.h"
#include "tap.h"

/* ---- arithmetic of the contract: binary32, flush to zero, no fused multiply-add ---- */

static float ftz(float v)
{
	uint32_t u;

	memcpy(&u, &v, 4);
	if (!(u & 0x7f800000))
		u &= 0x80000000;
	if (isnan(v))
		u = 0x7fc00000;
	memcpy(&v, &u, 4);
	return v;
}

/*
 * Tininess after rounding: a product in (2^-126 (1 - 2^-25), 2^-126) rounds to 2^-126 with the
 * exponent unbounded, and is not flushed. The double product of two 24-bit numbers is exact.
 */
static float mul(float a, float b)
{
	double p = (double)ftz(a) * (double)ftz(b), m = p < 0 ? -p : p;
	float f = (float)p;

	if (m < 0x1p-126)
		return m >= 0x1p-126 * (1 - 0x1p-25)	 ? (p < 0 ? -0x1p-126f : 0x1p-126f)
		       : p < 0 || (p == 0 && signbit(p)) ? -0.0f
							 : 0.0f;
	return ftz(f);
}

static float add(float a, float b)
{
	return ftz(ftz(a) + ftz(b));
}

static float widen(uint16_t h)
{
	uint32_t u = (uint32_t)h << 16;
	float f;

	memcpy(&f, &u, 4);
	return f;
}

/* ---- data ---- */

static uint64_t seed;

static uint32_t rnd(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33);
}

/* Wide exponents, so that every order of a sum gives other bits; now and then a zero or a
 * subnormal. */
static uint16_t rnd_bf16(void)
{
	uint32_t r = rnd();

	if (r % 37 == 0)
		return (uint16_t)(r & 0x8000);
	if (r % 41 == 0)
		return (uint16_t)(r & 0x807f);
	return (uint16_t)((r & 0x807f) | (110 + rnd() % 30) << 7);
}

struct layer {
	uint32_t rows, cols, T, K, N;
	uint16_t *x, *w, *wt, *dy; /* [K][T] [N][K] [K][N] [N][T] */
	uint8_t *sel, *selt;	   /* [N][K] [K][N] */
};

/* out [rows][T] = w [rows][width] in [width][T] */
static void ref_product(const struct layer *l, const uint16_t *in, const uint16_t *w,
			const uint8_t *sel, uint32_t rows, uint32_t width, float *out)
{
	uint32_t kc = width / l->cols, n, tok, c, k, i;
	float p[64];

	for (n = 0; n < rows; n++)
		for (tok = 0; tok < l->T; tok++) {
			uint32_t own = n / (rows / l->cols);
			float s;

			for (c = 0; c < l->cols; c++) {
				p[c] = 0;
				for (k = c * kc; k < (c + 1) * kc; k++)
					if (sel[n * width + k])
						p[c] = add(p[c], mul(widen(w[n * width + k]),
								     widen(in[k * l->T + tok])));
			}
			s = p[(own + 1) % l->cols];
			for (i = 2; i <= l->cols; i++)
				s = add(s, p[(own + i) % l->cols]);
			out[n * l->T + tok] = s;
		}
}

static void ref_wgrad(const struct layer *l, uint32_t lanes, float *dw)
{
	uint32_t tr = l->T / l->rows, n, k, r, j, i;

	for (n = 0; n < l->N; n++)
		for (k = 0; k < l->K; k++) {
			float sum = 0;

			if (!l->sel[n * l->K + k])
				continue;
			for (r = 0; r < l->rows; r++) {
				float q[8] = {0}, s;

				for (j = 0; j < tr; j += lanes)
					for (i = 0; i < lanes; i++) {
						uint32_t tok = r * tr + j + i;

						q[i] = add(q[i], mul(widen(l->dy[n * l->T + tok]),
								     widen(l->x[k * l->T + tok])));
					}
				s = add(add(q[0], q[1]), add(q[2], q[3]));
				if (lanes == 8)
					s = add(s, add(add(q[4], q[5]), add(q[6], q[7])));
				sum = r ? add(sum, s) : s;
			}
			dw[n * l->K + k] = sum;
		}
}

static void fill(struct layer *l, int density)
{
	uint32_t i, n, k;

	l->x = calloc(l->K * l->T, 2);
	l->w = calloc(l->N * l->K, 2);
	l->wt = calloc(l->N * l->K, 2);
	l->dy = calloc(l->N * l->T, 2);
	l->sel = calloc(l->N * l->K, 1);
	l->selt = calloc(l->N * l->K, 1);
	for (i = 0; i < l->K * l->T; i++)
		l->x[i] = rnd_bf16();
	for (i = 0; i < l->N * l->T; i++)
		l->dy[i] = rnd_bf16();
	for (n = 0; n < l->N; n++)
		for (k = 0; k < l->K; k++) {
			l->w[n * l->K + k] = l->wt[k * l->N + n] = rnd_bf16();
			l->sel[n * l->K + k] = l->selt[k * l->N + n] =
				rnd() % 100 < (uint32_t)density;
		}
}

static void drop(struct layer *l)
{
	free(l->x);
	free(l->w);
	free(l->wt);
	free(l->dy);
	free(l->sel);
	free(l->selt);
}

/* ---- on the device ---- */

static struct place put(struct wse_device *dev, const void *data, size_t size)
{
	struct place p = {.off = 64}; /* not 0, to see that offsets count */

	if (wse_buffer_create(dev, size + 64, &p.buf)) {
		printf("Bail out! no buffer of %zu bytes\n", size);
		exit(1);
	}
	if (data)
		memcpy((char *)wse_buffer_map(p.buf) + 64, data, size);
	else
		memset((char *)wse_buffer_map(p.buf) + 64, 0x11, size);
	return p;
}

static int same(struct place p, const float *want, size_t n, uint32_t width)
{
	const uint32_t *got = (const uint32_t *)((char *)wse_buffer_map(p.buf) + p.off);
	uint32_t w;
	size_t i;

	for (i = 0; i < n; i++) {
		memcpy(&w, &want[i], 4);
		if (got[i] == w)
			continue;
		printf("# row %zu, column %zu: %08x, not %08x\n", i / width, i % width, got[i], w);
		return 0;
	}
	return 1;
}

/* an image without what is not selected, with LINEAR runs of one length; size: of an element */
static struct place pack(struct wse_device *dev, const struct linear *lin, const void *image,
			 const uint8_t *sel, uint32_t rows, uint32_t width, uint32_t size)
{
	uint32_t cols = lin->tile.cols, most = 1, *order = malloc(rows * width * sizeof(*order));
	struct place p;

	for (uint32_t c = 0; c < cols; c++) {
		uint32_t n = linear_order(lin, rows, width, c, sel, order);

		most = n > most ? n : most;
	}
	p = put(dev, NULL, (size_t)cols * ((most * size + 7) / 8 * 8));
	p.run = (most * size + 7) / 8 * 8;
	for (uint32_t c = 0; c < cols; c++) {
		uint32_t n = linear_order(lin, rows, width, c, sel, order);
		char *to = (char *)wse_buffer_map(p.buf) + p.off + (size_t)c * p.run;

		for (uint32_t i = 0; image && i < n; i++)
			memcpy(to + i * size, (const char *)image + order[i] * size, size);
	}
	free(order);
	return p;
}

/* packed gradients against those of all places, and nothing behind them */
static int same_packed(const struct linear *lin, struct place p, const float *want,
		       const uint8_t *sel, uint32_t rows, uint32_t width)
{
	uint32_t cols = lin->tile.cols, *order = malloc(rows * width * sizeof(*order)), bad = 0;

	for (uint32_t c = 0; c < cols; c++) {
		const char *from = (const char *)wse_buffer_map(p.buf) + p.off + (size_t)c * p.run;
		uint32_t n = linear_order(lin, rows, width, c, sel, order), i;

		for (i = 0; i < n; i++)
			bad += memcmp(from + i * 4, &want[order[i]], 4) != 0;
		for (i *= 4; i < p.run; i++)
			bad += from[i] != 0x11;
	}
	free(order);
	return !bad;
}

/* the three operations with streams of packed elements: the same bits */
static void run_packed(struct wse_device *dev, struct linear *lin, const struct layer *l,
		       struct place x, struct place dy, struct place m, struct place mt,
		       const char *name)
{
	const uint8_t *sel = m.buf ? l->sel : NULL, *selt = mt.buf ? l->selt : NULL;
	struct place w = pack(dev, lin, l->w, sel, l->N, l->K, 2);
	struct place wt = pack(dev, lin, l->wt, selt, l->K, l->N, 2);
	struct place dw = pack(dev, lin, NULL, sel, l->N, l->K, 4);
	struct place y = put(dev, NULL, l->N * l->T * 4), dx = put(dev, NULL, l->K * l->T * 4);
	float *want = malloc((l->K + l->N) * (l->T + l->K) * 4);
	struct drm_wse_info info;
	int ret = linear_forward(lin, x, w, m, y, NULL);

	wse_device_info(dev, &info);
	ref_product(l, l->x, l->w, l->sel, l->N, l->K, want);
	ok(!ret && same(y, want, l->N * l->T, l->T), "%s, LINEAR: Y = X W^T%s%s", name,
	   ret ? ": " : "", ret ? wse_error() : "");
	ret = linear_backward_data(lin, dy, wt, mt, dx, NULL);
	ref_product(l, l->dy, l->wt, l->selt, l->K, l->N, want);
	ok(!ret && same(dx, want, l->K * l->T, l->T), "%s, LINEAR: dX = dY W%s%s", name,
	   ret ? ": " : "", ret ? wse_error() : "");
	ret = linear_backward_weight(lin, x, dy, m, dw, NULL);
	ref_wgrad(l, info.lanes, want);
	ok(!ret && same_packed(lin, dw, want, sel, l->N, l->K), "%s, LINEAR: dW = dY^T X%s%s", name,
	   ret ? ": " : "", ret ? wse_error() : "");
	free(want);
	wse_buffer_destroy(w.buf);
	wse_buffer_destroy(wt.buf);
	wse_buffer_destroy(dw.buf);
	wse_buffer_destroy(y.buf);
	wse_buffer_destroy(dx.buf);
}

static void run_shape(struct wse_device *dev, struct wse_context *ctx, uint32_t tr, uint32_t kc,
		      uint32_t nc, uint32_t b, int density)
{
	struct drm_wse_info info;
	struct place x, w, wt, dy, y, dx, dw, m = {0}, mt = {0};
	struct linear lin = {0};
	struct layer l;
	float *want;
	char name[128];
	void *bits;
	int ret;

	wse_device_info(dev, &info);
	l = (struct layer){.rows = info.rows,
			   .cols = info.cols,
			   .T = tr * info.rows,
			   .K = kc * info.cols,
			   .N = nc * info.cols};
	snprintf(name, sizeof(name), "%s T %u K %u N %u B %u %s", wse_device_uri(dev), l.T, l.K,
		 l.N, b, density < 100 ? "masked" : "dense");
	fill(&l, density);
	ret = linear_open(&lin, ctx, l.T, l.K, l.N, b);
	if (!ok(!ret, "%s: created%s%s", name, ret ? ": " : "", ret ? wse_error() : "")) {
		linear_close(&lin);
		drop(&l);
		return;
	}
	x = put(dev, l.x, l.K * l.T * 2);
	w = put(dev, l.w, l.N * l.K * 2);
	wt = put(dev, l.wt, l.N * l.K * 2);
	dy = put(dev, l.dy, l.N * l.T * 2);
	y = put(dev, NULL, l.N * l.T * 4);
	dx = put(dev, NULL, l.K * l.T * 4);
	dw = put(dev, NULL, l.N * l.K * 4);
	if (density < 100) {
		bits = malloc(linear_mask_size(&lin, l.N, l.K));
		linear_mask_pack(&lin, l.N, l.K, l.sel, bits);
		m = put(dev, bits, linear_mask_size(&lin, l.N, l.K));
		free(bits);
		bits = malloc(linear_mask_size(&lin, l.K, l.N));
		linear_mask_pack(&lin, l.K, l.N, l.selt, bits);
		mt = put(dev, bits, linear_mask_size(&lin, l.K, l.N));
		free(bits);
	}
	want = malloc((l.K + l.N) * (l.T + l.K) * 4);

	ret = linear_forward(&lin, x, w, m, y, NULL);
	ref_product(&l, l.x, l.w, l.sel, l.N, l.K, want);
	ok(!ret && same(y, want, l.N * l.T, l.T), "%s: Y = X W^T%s%s", name, ret ? ": " : "",
	   ret ? wse_error() : "");

	ret = linear_backward_data(&lin, dy, wt, mt, dx, NULL);
	ref_product(&l, l.dy, l.wt, l.selt, l.K, l.N, want);
	ok(!ret && same(dx, want, l.K * l.T, l.T), "%s: dX = dY W%s%s", name, ret ? ": " : "",
	   ret ? wse_error() : "");

	ret = linear_backward_weight(&lin, x, dy, m, dw, NULL);
	memset(want, 0x11, l.N * l.K * 4);
	ref_wgrad(&l, info.lanes, want);
	ok(!ret && same(dw, want, l.N * l.K, l.K), "%s: dW = dY^T X%s%s", name, ret ? ": " : "",
	   ret ? wse_error() : "");

	if (info.features & WSE_FEATURES_LINEAR_MASK)
		run_packed(dev, &lin, &l, x, dy, m, mt, name);
	free(want);
	linear_close(&lin);
	wse_buffer_destroy(x.buf);
	wse_buffer_destroy(w.buf);
	wse_buffer_destroy(wt.buf);
	wse_buffer_destroy(dy.buf);
	wse_buffer_destroy(y.buf);
	wse_buffer_destroy(dx.buf);
	wse_buffer_destroy(dw.buf);
	wse_buffer_destroy(m.buf);
	wse_buffer_destroy(mt.buf);
	drop(&l);
}

/* Three operations in flight one behind the other, each feeding on the same buffers. */
static void run_queued(struct wse_device *dev, struct wse_context *ctx)
{
	struct drm_wse_info info;
	struct layer l;
	struct linear lin = {0};
	struct place x, w, y[3];
	struct wse_fence *f[3] = {NULL};
	float *want;
	int i, good = 1;

	wse_device_info(dev, &info);
	l = (struct layer){.rows = info.rows,
			   .cols = info.cols,
			   .T = 8 * info.rows,
			   .K = 8 * info.cols,
			   .N = 8 * info.cols};
	fill(&l, 100);
	want = malloc(l.N * l.T * 4);
	ref_product(&l, l.x, l.w, l.sel, l.N, l.K, want);
	if (linear_open(&lin, ctx, l.T, l.K, l.N, 0))
		good = 0;
	x = put(dev, l.x, l.K * l.T * 2);
	w = put(dev, l.w, l.N * l.K * 2);
	for (i = 0; i < 3; i++)
		y[i] = put(dev, NULL, l.N * l.T * 4);
	for (i = 0; i < 3 && good; i++)
		good = !linear_forward(&lin, x, w, (struct place){0}, y[i], &f[i]);
	for (i = 2; i >= 0 && good; i--)
		good = !wse_fence_wait(f[i], WSE_FOREVER) && same(y[i], want, l.N * l.T, l.T);
	ok(good, "%s: three operations queued%s%s", wse_device_uri(dev), good ? "" : ": ",
	   good ? "" : wse_error());
	for (i = 0; i < 3; i++) {
		wse_fence_destroy(f[i]);
		wse_buffer_destroy(y[i].buf);
	}
	wse_buffer_destroy(x.buf);
	wse_buffer_destroy(w.buf);
	linear_close(&lin);
	free(want);
	drop(&l);
}

/* Each part has a context of its own, so that one that fails does not take the rest along. */
static struct wse_context *fresh(struct wse_device *dev, struct wse_context *old)
{
	struct wse_context *ctx;

	wse_context_destroy(old);
	if (wse_context_create(dev, 0, &ctx)) {
		printf("Bail out! %s: no context: %s\n", wse_device_uri(dev), wse_error());
		exit(1);
	}
	return ctx;
}

static void run_device(const char *uri, int many)
{
	static const struct {
		uint32_t tr, kc, nc, b; /* of a core; features of a block */
		int density;		/* per cent */
	} shapes[] = {
		{8, 8, 8, 0, 100},    {16, 12, 8, 2, 60},
		{32, 16, 12, 2, 100}, {32, 16, 16, 4, 30}, /* one half only */
		{8, 72, 8, 1, 50},			   /* more than one word of mask a column */
		{128, 4, 4, 1, 100},			   /* all accumulators for one feature */
		{24, 20, 8, 0, 2},			   /* nearly nothing passes the mask */
	};
	struct wse_device *dev;
	struct wse_context *ctx = NULL;
	size_t i;
	int ret = wse_device_open(uri, &dev);

	if (ret == -ENOTSUP) {
		ok(1, "%s # SKIP %s", uri, wse_error());
		return;
	}
	if (!ok(!ret, "%s opens %s", uri, wse_error()))
		return;
	seed = 1;
	for (i = 0; i < (many ? sizeof(shapes) / sizeof(shapes[0]) : 2); i++) {
		ctx = fresh(dev, ctx);
		run_shape(dev, ctx, shapes[i].tr, shapes[i].kc, shapes[i].nc, shapes[i].b,
			  shapes[i].density);
	}
	ctx = fresh(dev, ctx);
	run_queued(dev, ctx);
	/*
	 * one context for several shapes: what an operation leaves behind does not disturb the next
	 */
	for (i = 0; i < 2; i++)
		run_shape(dev, ctx, shapes[1 - i].tr, shapes[1 - i].kc, shapes[1 - i].nc,
			  shapes[1 - i].b, shapes[1 - i].density);
	wse_context_destroy(ctx);
	wse_device_close(dev);
}

/* cycles of the one START of a submit of one operation: from the first command on, without those */
static uint32_t cycles(struct wse_fence *f)
{
	uint32_t begin = 0, end = 0;

	if (wse_fence_wait(f, WSE_FOREVER) || wse_fence_cycles(f, &begin, &end))
		printf("# %s\n", wse_error());
	wse_fence_destroy(f);
	return end - begin;
}

/* cycles that a block of so many more takes: [forward, to the data, to the weights] */
static void measure(struct wse_device *dev, uint32_t tr, uint32_t kc, int density, int linear,
		    double *block)
{
	struct wse_context *ctx = fresh(dev, NULL);
	struct drm_wse_info info;
	/* outputs of a column: many, so that masks are as they are on average */
	const uint32_t first = 16;
	uint32_t took[2][2] = {{0}}, last;
	struct wse_fence *f;

	wse_device_info(dev, &info);
	last = first + (info.cols > 8 ? 8 : kc > 4 ? 4096 / kc / tr * 8 : 64);
	for (uint32_t i = 0; i < 2; i++) {
		struct layer l = {.rows = info.rows,
				  .cols = info.cols,
				  .T = tr * info.rows,
				  .K = kc * info.cols,
				  .N = (i ? last : first) * info.cols};
		struct linear lin = {0};
		struct place x, w, dy, y, dw, m = {0};
		void *bits;

		seed = 7;
		fill(&l, density);
		if (linear_open(&lin, ctx, l.T, l.K, l.N, 0))
			exit(1);
		if (density < 100) {
			bits = malloc(linear_mask_size(&lin, l.N, l.K));
			linear_mask_pack(&lin, l.N, l.K, l.sel, bits);
			m = put(dev, bits, linear_mask_size(&lin, l.N, l.K));
			free(bits);
		}
		x = put(dev, l.x, l.K * l.T * 2);
		dy = put(dev, l.dy, l.N * l.T * 2);
		y = put(dev, NULL, l.N * l.T * 4);
		w = linear ? pack(dev, &lin, l.w, m.buf ? l.sel : NULL, l.N, l.K, 2)
			   : put(dev, l.w, l.N * l.K * 2);
		dw = linear ? pack(dev, &lin, NULL, m.buf ? l.sel : NULL, l.N, l.K, 4)
			    : put(dev, NULL, l.N * l.K * 4);
		lin.timed = 1;
		if (!linear_forward(&lin, x, w, m, y, &f))
			took[0][i] = cycles(f);
		if (!linear_backward_weight(&lin, x, dy, m, dw, &f))
			took[1][i] = cycles(f);
		linear_close(&lin);
		wse_buffer_destroy(x.buf);
		wse_buffer_destroy(dy.buf);
		wse_buffer_destroy(y.buf);
		wse_buffer_destroy(w.buf);
		wse_buffer_destroy(dw.buf);
		wse_buffer_destroy(m.buf);
		drop(&l);
	}
	for (int i = 0; i < 2; i++)
		block[i] = (took[i][1] - took[i][0]) /
			   ((double)(last - first) * info.cols / wse_layer_block(first, tr));
	wse_context_destroy(ctx);
}

/*
 * --cycles URI [K T]: of a block, rows and LINEAR, over those of all weights by rows; of one shape,
 * or of some
 */
static int table(const char *uri, uint32_t k, uint32_t t)
{
	static const uint32_t of[][2] = {{64, 16}, {64, 32}, {16, 16}, {16, 32}, {16, 64}, {4, 8}};
	static const int densities[] = {100, 50, 25, 10};
	struct wse_device *dev;

	if (wse_device_open(uri, &dev))
		return 1;
	for (size_t i = 0; i < (k ? 1 : sizeof(of) / sizeof(of[0])); i++)
		for (size_t d = 0; d < 4; d++) {
			static double all[2];
			uint32_t kc = k ? k : of[i][0], tr = k ? t : of[i][1];
			double rows[2], linear[2];

			measure(dev, tr, kc, densities[d], 0, rows);
			measure(dev, tr, kc, densities[d], 1, linear);
			if (!d)
				memcpy(all, rows, sizeof(all));
			printf("k %2u, T %2u, %3d %%: forward %6.1f %.2f, LINEAR %6.1f %.2f; "
			       "weights %6.1f %.2f, LINEAR %6.1f %.2f\n",
			       kc, tr, densities[d], rows[0], rows[0] / all[0], linear[0],
			       linear[0] / all[0], rows[1], rows[1] / all[1], linear[1],
			       linear[1] / all[1]);
			fflush(stdout);
		}
	wse_device_close(dev);
	return 0;
}

int main(int argc, char **argv)
{
	const char *uri = getenv("WSE_DEVICE");

	if (argc >= 3 && !strcmp(argv[1], "--cycles"))
		return table(argv[2], argc == 5 ? (uint32_t)atoi(argv[3]) : 0,
			     argc == 5 ? (uint32_t)atoi(argv[4]) : 0);

	alarm(600);
	if (uri) {
		run_device(uri, 1);
		return tap_end();
	}
	run_device("sim:func,rows=4,cols=4", 1);
	run_device("sim:func,rows=2,cols=2,pages=12", 1);
	run_device("sim:func,rows=1,cols=1", 1);
	run_device("sim:func,rows=5,cols=3,seed=7", 1);
	run_device("sim:func,rows=1,cols=8", 0);
	run_device("sim:func,rows=8,cols=1", 0);
	run_device("sim:func,rows=16,cols=16", 0);
	run_device("sim:rtl,rows=2,cols=2", 1);
	run_device("sim:rtl,rows=2,cols=2,seed=3,pages=12", 0);
	run_device("sim:rtl,rows=4,cols=4", 0);
	return tap_end();
}
