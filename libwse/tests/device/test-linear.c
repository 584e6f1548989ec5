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
#include "model.h"
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

int main(void)
{
	const char *uri = getenv("WSE_DEVICE");

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
