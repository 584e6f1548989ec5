// SPDX-License-Identifier: MIT
/*
 * The oracles of libwse/ops against binary64: values against plain sums, gradients against
 * differences of the forward pass. Their bits are compared with the kernels' in tests/device.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "num/elementwise.h"
#include "ops/add.h"
#include "ops/linear.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "ops/rope.h"
#include "tap.h"

#define TOKENS 32u
#define WIDTH  24u
#define OUTS   12u

static const struct wse_tile tiles[] = {{2, 3, 8, 0, 0, 0}, {1, 1, 8, 0, 0, 0}, {4, 2, 4, 0, 0, 0}};

static float normal(uint64_t stream, uint64_t i)
{
	return wse_rng_normal(1, stream, i);
}

static uint16_t normal16(uint64_t stream, uint64_t i)
{
	return wse_f32_to_bf16(normal(stream, i));
}

/* the largest difference, in units of the largest value */
static double worst(const double *want, const float *got, size_t n)
{
	double top = 0, off = 0;

	for (size_t i = 0; i < n; i++) {
		top = fmax(top, fabs(want[i]));
		off = fmax(off, fabs(want[i] - got[i]));
	}
	return off / top;
}

static void widen(const uint16_t *in, size_t n, float *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = wse_bf16_to_f32(in[i]);
}

static void test_rsqrt(void)
{
	double off = 0;
	uint32_t saved = wse_ftz_enter();

	for (uint32_t e = 40; e < 210; e++) {
		for (uint32_t i = 0; i < 4096; i++) {
			float s = wse_u2f(e << 23 | i << 11 | i);

			off = fmax(off, fabs(ew_rsqrt(s) * sqrt(s) - 1));
		}
	}
	ok(off < 2e-7, "1/sqrt is off by %.2g at most", off);
	ok(isnan(ew_rsqrt(wse_u2f(WSE_F32_NAN))), "1/sqrt of a NaN is one");
	wse_ftz_leave(saved);
}

static void test_linear(const struct wse_tile *tile)
{
	static uint16_t w[OUTS * WIDTH], x[WIDTH * TOKENS], dy[OUTS * TOKENS];
	static float y[OUTS * TOKENS], dw[OUTS * WIDTH], db[OUTS];
	static double wy[OUTS * TOKENS], wdw[OUTS * WIDTH], wdb[OUTS];

	for (uint32_t i = 0; i < OUTS * WIDTH; i++)
		w[i] = normal16(1, i);
	for (uint32_t i = 0; i < WIDTH * TOKENS; i++)
		x[i] = normal16(2, i);
	for (uint32_t i = 0; i < OUTS * TOKENS; i++)
		dy[i] = normal16(3, i);
	memset(wy, 0, sizeof(wy));
	memset(wdw, 0, sizeof(wdw));
	memset(wdb, 0, sizeof(wdb));
	for (uint32_t n = 0; n < OUTS; n++) {
		for (uint32_t t = 0; t < TOKENS; t++) {
			double d = wse_bf16_to_f32(dy[n * TOKENS + t]);

			wdb[n] += d;
			for (uint32_t k = 0; k < WIDTH; k++) {
				double v = wse_bf16_to_f32(x[k * TOKENS + t]);

				wy[n * TOKENS + t] += wse_bf16_to_f32(w[n * WIDTH + k]) * v;
				wdw[n * WIDTH + k] += d * v;
			}
		}
	}
	wse_linear_oracle(tile, WIDTH, OUTS, TOKENS, w, x, y);
	wse_linear_wgrad_oracle(tile, WIDTH, OUTS, TOKENS, x, dy, dw);
	wse_linear_bgrad_oracle(tile, OUTS, TOKENS, dy, db);
	ok(worst(wy, y, OUTS * TOKENS) < 1e-6, "%ux%u: Y = X W^T", tile->rows, tile->cols);
	ok(worst(wdw, dw, OUTS * WIDTH) < 1e-6, "%ux%u: dW = dY^T X", tile->rows, tile->cols);
	ok(worst(wdb, db, OUTS) < 1e-6, "%ux%u: db = sums of dY", tile->rows, tile->cols);
}

/* every pass over the sums, by its definition */
static void test_post(void)
{
	const struct wse_tile tile = {.rows = 1, .cols = 2, .lanes = 8, .sram = 0};
	static const char *const names[] = {"none", "bf16",  "relu",  "gelu_new", "gate",
					    "mul",  "add16", "add32", "relu2",	  "gelu"};
	float bias[4] = {0.5f, -0.25f, 1.0f, 0.0f}, aux32[32], y[32], out[32], out2[32];
	uint16_t aux16[32], o[32], o2[32];

	for (uint32_t post = WSE_POST_NONE; post <= WSE_POST_GELU; post++) {
		struct wse_linear_post p = {
			post,	bias, post == WSE_POST_ADD32 ? (void *)aux32 : aux16, o, o2,
			0.125f, 1};
		double off = 0;

		for (uint32_t i = 0; i < 32; i++) {
			/* the two GELUs are apart in the tails */
			y[i] = (post == WSE_POST_GELU ? 2 : 1) * normal(4, i);
			aux32[i] = normal(5, i);
			aux16[i] = normal16(6, i);
		}
		wse_linear_post_oracle(&tile, 4, 8, &p, y);
		widen(o, 32, out);
		widen(o2, 32, out2);
		for (uint32_t i = 0; i < 32; i++) {
			double s = (post == WSE_POST_GELU ? 2.0 : 1.0) * normal(4, i) + bias[i / 8],
			       a = wse_bf16_to_f32(aux16[i]);
			double u = sqrt(2 / M_PI) * (s + 0.044715 * s * s * s), want = 0,
			       got = out[i];

			switch (post) {
			case WSE_POST_NONE:
				want = s;
				got = y[i];
				break;
			case WSE_POST_BF16: /* one feature of each column is scaled */
				want = i / 8 % 2 ? s : s * 0.125;
				break;
			case WSE_POST_RELU:
				want = s > 0 ? s : 0;
				break;
			case WSE_POST_GELU_NEW:
				want = 0.5 * s * (1 + tanh(u));
				break;
			case WSE_POST_GELU:
				want = s * erfc(-s / sqrt(2)) / 2;
				off = fmax(off, fabs(out2[i] - want / s -
						     s * exp(-s * s / 2) / sqrt(2 * M_PI)) /
							2);
				off = fmax(off, s > -3.75 ? fabs(got - want) / fabs(want) : 0);
				break;
			case WSE_POST_RELU2:
				want = s > 0 ? s * s : 0;
				off = fmax(off,
					   fabs(out2[i] - (s > 0 ? 2 * s : 0)) / (1 + fabs(2 * s)));
				break;
			case WSE_POST_GATE:
				want = a > 0 ? s : 0;
				break;
			case WSE_POST_MUL:
				want = a * s;
				break;
			case WSE_POST_ADD16:
			case WSE_POST_ADD32:
				want = (post == WSE_POST_ADD32 ? aux32[i] : a) + s;
				off = fmax(off, fabs(out2[i] - want) / (1 + fabs(want)));
				got = y[i];
				break;
			}
			off = fmax(off, fabs(got - want) / (1 + fabs(want)));
		}
		ok(off < (post == WSE_POST_NONE	  ? 1e-6
			  : post == WSE_POST_GELU ? 1.0 / 256 + 1.2e-3
						  : 1.0 / 256),
		   "pass %s, %.1e off", names[post], off);
	}
}

/* ---- layer norm in binary64; r . out is what is differentiated ---- */

struct norm64 {
	double x[WIDTH * TOKENS], gain[WIDTH], bias[WIDTH], r[WIDTH * TOKENS];
	int rms;
};

static double norm64(const struct norm64 *a, double *out)
{
	double loss = 0;

	for (uint32_t t = 0; t < TOKENS; t++) {
		double mean = 0, var = 0;

		for (uint32_t n = 0; n < WIDTH && !a->rms; n++)
			mean += a->x[n * TOKENS + t] / WIDTH;
		for (uint32_t n = 0; n < WIDTH; n++)
			var += pow(a->x[n * TOKENS + t] - mean, 2) / WIDTH;
		for (uint32_t n = 0; n < WIDTH; n++) {
			double v = (a->x[n * TOKENS + t] - mean) / sqrt(var + 1e-5) * a->gain[n] +
				   a->bias[n];

			out[n * TOKENS + t] = v;
			loss += v * a->r[n * TOKENS + t];
		}
	}
	return loss;
}

static void differences(struct norm64 *a, double *of, size_t n, double *grad)
{
	static double out[WIDTH * TOKENS];

	for (size_t i = 0; i < n; i++) {
		double was = of[i], up;

		of[i] = was + 1e-5;
		up = norm64(a, out);
		of[i] = was - 1e-5;
		grad[i] = (up - norm64(a, out)) / 2e-5;
		of[i] = was;
	}
}

/* rms: without mean and bias */
static void test_norm(const struct wse_tile *tile, int rms)
{
	enum { N = WIDTH * TOKENS };
	static struct norm64 a;
	static uint16_t x[N], out[N], dres16[N];
	static float gain[WIDTH], bias[WIDTH], mean[TOKENS], rstd[TOKENS], dy[N], dres[N], got[N],
		dgain[WIDTH], dbias[WIDTH];
	static double want[N];
	struct wse_norm_back b = {dy, x,    gain,   mean,  rstd, 1.0f / WIDTH,
				  0,  dres, dres16, dgain, dbias};

	const char *what = rms ? "RMS norm" : "norm";

	a.rms = rms;
	if (rms) {
		b.mean = NULL;
		b.dbias = NULL;
	}
	for (uint32_t i = 0; i < N; i++) {
		x[i] = wse_f32_to_bf16(2 + normal(7, i));
		a.x[i] = wse_bf16_to_f32(x[i]);
		a.r[i] = dy[i] = normal(8, i);
	}
	for (uint32_t i = 0; i < WIDTH; i++) {
		a.gain[i] = gain[i] = 1 + normal(9, i) / 4;
		a.bias[i] = bias[i] = rms ? 0 : normal(10, i);
	}
	wse_norm_oracle(tile, WIDTH, WIDTH, TOKENS, x, gain, rms ? NULL : bias, 1.0f / WIDTH, 1e-5f,
			out, rms ? NULL : mean, rstd);
	norm64(&a, want);
	widen(out, N, got);
	ok(worst(want, got, N) < 1.0 / 256, "%ux%u: %s", tile->rows, tile->cols, what);
	wse_norm_back_oracle(tile, WIDTH, WIDTH, TOKENS, &b);
	differences(&a, a.x, N, want);
	ok(worst(want, dres, N) < 1e-5, "%ux%u: %s back, by differences: %.2g off", tile->rows,
	   tile->cols, what, worst(want, dres, N));
	widen(dres16, N, got);
	ok(worst(want, got, N) < 1.0 / 256, "%ux%u: its copy in bf16", tile->rows, tile->cols);
	differences(&a, a.gain, WIDTH, want);
	ok(worst(want, dgain, WIDTH) < 1e-5, "%ux%u: gain gradient", tile->rows, tile->cols);
	if (!rms) {
		differences(&a, a.bias, WIDTH, want);
		ok(worst(want, dbias, WIDTH) < 1e-5, "%ux%u: bias gradient", tile->rows,
		   tile->cols);
	}
	memcpy(got, dres, sizeof(got));
	b.add = 1;
	wse_norm_back_oracle(tile, WIDTH, WIDTH, TOKENS, &b);
	for (uint32_t i = 0; i < N; i++)
		want[i] = 2 * got[i];
	ok(worst(want, dres, N) < 1e-6, "%ux%u: norm back adds", tile->rows, tile->cols);
}

/* ---- rotary positions ---- */

/* against binary64, forward; and backward, which turns back; the features behind the pairs stay */
static void test_rope(void)
{
	enum { D = 6, HEADS = 2, N = HEADS * D * TOKENS };
	struct wse_rope r = {TOKENS, D, HEADS, 4, 2, 0}; /* pairs 2 ... 3 of 4, of a column's 3 */
	static float table[2 * 3 * TOKENS];
	static uint16_t x[N], was[N];
	double off = 0, back = 0;
	int stay = 1;

	for (uint32_t i = 0; i < 2 * TOKENS; i++) {
		table[i] = (float)cos(0.1 * (2 * TOKENS + i));
		table[3 * TOKENS + i] = (float)sin(0.1 * (2 * TOKENS + i));
	}
	for (uint32_t i = 0; i < N; i++)
		was[i] = x[i] = normal16(15, i);
	wse_rope_oracle(&r, table, x);
	for (uint32_t h = 0; h < HEADS; h++)
		for (uint32_t i = 0; i < 2; i++)
			for (uint32_t t = 0; t < TOKENS; t++) {
				size_t at = (h * D + 2 * i) * TOKENS + t;
				double w = 0.1 * ((2 + i) * TOKENS + t);
				double a = wse_bf16_to_f32(was[at]);
				double b = wse_bf16_to_f32(was[at + TOKENS]);

				off = fmax(off, fabs(wse_bf16_to_f32(x[at]) -
						     (a * cos(w) - b * sin(w))));
				off = fmax(off, fabs(wse_bf16_to_f32(x[at + TOKENS]) -
						     (a * sin(w) + b * cos(w))));
			}
	r.back = 1;
	wse_rope_oracle(&r, table, x);
	for (uint32_t i = 0; i < N; i++) {
		back = fmax(back, fabs(wse_bf16_to_f32(x[i]) - wse_bf16_to_f32(was[i])));
		stay &= i / TOKENS % D < 4 || x[i] == was[i];
	}
	ok(off < 4.0 / 256 && back < 6.0 / 256 && stay,
	   "pairs turn, %.2g off, and turn back, %.2g off", off, back);
}

/* ---- loss ---- */

static const struct wse_loss_scale eighth = {.all = 0.125f};

static double loss64(const double *y, uint32_t classes, uint32_t target)
{
	double s = 0;

	for (uint32_t n = 0; n < classes; n++)
		s += exp(y[n]);
	return log(s) - y[target];
}

static void test_loss(const struct wse_tile *tile, uint32_t classes)
{
	enum { N = WIDTH * TOKENS };
	static float y[N], loss[TOKENS], got[N];
	static uint16_t target[TOKENS], dy[N];
	static double want[N], wloss[TOKENS];
	int padding = 1;

	for (uint32_t i = 0; i < N; i++)
		y[i] = 2 * normal(11, i);
	for (uint32_t t = 0; t < TOKENS; t++)
		target[t] = (uint16_t)(wse_rng_u64(1, 12, t) % classes);
	memset(want, 0, sizeof(want));
	for (uint32_t t = 0; t < TOKENS; t++) {
		double z[WIDTH];

		for (uint32_t n = 0; n < classes; n++)
			z[n] = y[n * TOKENS + t];
		wloss[t] = loss64(z, classes, target[t]);
		for (uint32_t n = 0; n < classes; n++) {
			double up;

			z[n] += 1e-5;
			up = loss64(z, classes, target[t]);
			z[n] -= 2e-5;
			want[n * TOKENS + t] = (up - loss64(z, classes, target[t])) / 2e-5 * 0.125;
			z[n] += 1e-5;
		}
	}
	wse_loss_oracle(tile, WIDTH, classes, TOKENS, y, target, &eighth, loss, dy);
	widen(dy, N, got);
	for (uint32_t i = classes * TOKENS; i < N; i++)
		padding &= dy[i] == 0;
	ok(worst(wloss, loss, TOKENS) < 1e-6, "%ux%u: loss of %u classes", tile->rows, tile->cols,
	   classes);
	ok(worst(want, got, N) < 1.0 / 256, "%ux%u: its gradient, by differences", tile->rows,
	   tile->cols);
	ok(padding, "%ux%u: none in the padding", tile->rows, tile->cols);
}

/*
 * the classes of test_loss, in chunks of 2 a column: against binary64, and against all of them at
 * once
 */
static void test_chunks(const struct wse_tile *tile, uint32_t classes)
{
	enum { N = WIDTH * TOKENS };
	static float y[N], loss[TOKENS], whole[TOKENS], got[N], whole_dy[N], state[4 * 3 * TOKENS];
	static uint16_t target[TOKENS], dy[N], dy1[N];
	static double wloss[TOKENS], want[N];
	struct wse_loss_chunk k = {.tile = *tile,
				   .v = 2,
				   .classes = classes,
				   .tokens = TOKENS,
				   .target = target,
				   .state = state};
	uint32_t chunk = k.v * tile->cols;
	double off = 0;

	/* the maximum comes late for some, early for others */
	for (uint32_t i = 0; i < N; i++)
		y[i] = 2 * normal(13, i) + (i % 2 ? 0.5f : -0.5f) * (float)(i / TOKENS);
	for (uint32_t t = 0; t < TOKENS; t++) {
		double z[WIDTH];

		target[t] = (uint16_t)(wse_rng_u64(1, 14, t) % classes);
		for (uint32_t n = 0; n < classes; n++)
			z[n] = y[n * TOKENS + t];
		wloss[t] = loss64(z, classes, target[t]);
		for (uint32_t n = 0; n < classes; n++)
			want[n * TOKENS + t] =
				(exp(-loss64(z, classes, n)) - (n == target[t])) * 0.125;
	}
	for (k.first = 0; k.first < WIDTH; k.first += chunk)
		wse_loss_part_oracle(&k, y + k.first * TOKENS);
	wse_loss_join_oracle(&k, loss);
	for (k.first = 0; k.first < WIDTH; k.first += chunk)
		wse_loss_grad_oracle(&k, y + k.first * TOKENS, &eighth, dy + k.first * TOKENS);
	widen(dy, N, got);
	wse_loss_oracle(tile, WIDTH, classes, TOKENS, y, target, &eighth, whole, dy1);
	widen(dy1, N, whole_dy);
	ok(worst(wloss, loss, TOKENS) < 1e-6, "%ux%u: loss of %u classes in chunks of %u: %.2g off",
	   tile->rows, tile->cols, classes, chunk, worst(wloss, loss, TOKENS));
	ok(worst(want, got, (size_t)classes * TOKENS) < 1.0 / 256, "%ux%u: its gradient",
	   tile->rows, tile->cols);
	for (uint32_t t = 0; t < TOKENS; t++)
		off = fmax(off, fabs(loss[t] - whole[t]));
	ok(off < 1e-5, "%ux%u: all at once give the same loss, %.2g off", tile->rows, tile->cols,
	   off);
	off = 0;
	for (uint32_t i = 0; i < N; i++)
		off = fmax(off, fabs(got[i] - whole_dy[i]) - fabs(whole_dy[i]) / 128);
	ok(off <= 1e-7, "%ux%u: and the same gradient within a bit of bf16", tile->rows,
	   tile->cols);
}

int main(void)
{
	uint16_t a[2] = {0x3f80, 0x7f80},
		 b[2] = {0x3b80, 0xff80}; /* 1 + 2^-8: nearest even; inf - inf */

	wse_add_oracle(2, a, b, a);
	ok(a[0] == 0x3f80 && a[1] == WSE_BF16_NAN, "add rounds once, and has one NaN");
	test_rsqrt();
	test_post();
	test_rope();
	for (size_t i = 0; i < sizeof(tiles) / sizeof(tiles[0]); i++) {
		test_linear(&tiles[i]);
		test_norm(&tiles[i], 0);
		test_norm(&tiles[i], 1);
		test_loss(&tiles[i], WIDTH);
		test_loss(&tiles[i], WIDTH - 7);
		test_chunks(&tiles[i], WIDTH);
		test_chunks(&tiles[i], WIDTH - 7);
	}
	return tap_end();
}
