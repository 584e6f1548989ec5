// SPDX-License-Identifier: MIT
/*
 * The host's routines for many numbers at once against the same one by one, bit for bit: images,
 * normal numbers, AdamW, sums of squares. Called again by itself without AVX-512, and without AVX2,
 * too.
 */
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "memx/optim.h"
#include "num/image.h"
#include "num/num.h"
#include "cpu.h"
#include "tap.h"

/* any exponent, now and then something special */
static float wide(uint64_t i)
{
	static const uint32_t special[] = {0,	       0x80000000, 0x7f800000, 0xff800000,
					   0x7f800001, 0xffffffff, 1,	       0x807fffff,
					   0x7f7fffff, 0x00008000, 0x3f808000, 0x3f818000};
	uint64_t r = wse_rng_u64(7, 1, i);

	return wse_u2f(r >> 60 ? (uint32_t)r : special[(r >> 32) % 12]);
}

static void images(void)
{
	static const size_t sizes[][2] = {{1, 1},   {7, 9},	{8, 8},	   {40, 24},
					  {33, 65}, {64, 5},	{5, 64},   {96, 130},
					  {64, 96}, {512, 320}, {331, 512}};

	for (int variant = 1; variant <= 2; variant++) {
		uint32_t bad = 0, tried = 0;

		for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
			size_t n = sizes[s][0], k = sizes[s][1];
			size_t lines = (n * k * 2 + 63) & ~(size_t)63;
			float *w = malloc(n * k * sizeof(*w));
			uint16_t *a = aligned_alloc(64, lines), *b = aligned_alloc(64, lines);

			for (size_t i = 0; i < n * k; i++)
				w[i] = wide(s << 32 | i);
			if (!wse_bf16_image_by(variant, w, n, k, a, b)) {
				tried++;
				for (size_t i = 0; i < n; i++)
					for (size_t j = 0; j < k; j++) {
						uint16_t h = wse_f32_to_bf16(w[i * k + j]);

						bad += a[i * k + j] != h || b[j * n + i] != h;
					}
				memset(a, 0, n * k * 2);
				wse_bf16_image_by(variant, w, n, k, NULL, a);
				bad += memcmp(a, b, n * k * 2) != 0;
				wse_bf16_image_by(variant, w, n, k, a, NULL);
				for (size_t i = 0; i < n * k; i++)
					bad += a[i] != wse_f32_to_bf16(w[i]);
				memcpy(w, b, n * k * 2); /* what is wanted of a again */
				memset(b, 0, n * k * 2);
				wse_bf16_image_by(variant, NULL, n, k, a, b);
				bad += memcmp(w, b, n * k * 2) != 0;
			}
			free(w);
			free(a);
			free(b);
		}
		ok(!bad, "images, variant %d: %u wrong%s", variant, bad,
		   tried ? "" : " # SKIP no AVX2");
	}
}

static void normals(void)
{
	enum { N = 100003 };
	float *x = malloc(N * sizeof(*x));
	uint32_t bad = 0;

	wse_rng_normals(3, 5, 17, 0.37f, N, x);
	for (uint64_t i = 0; i < N; i++)
		bad += wse_f2u(x[i]) != wse_f2u(0.37f * wse_rng_normal(3, 5, 17 + i));
	ok(!bad, "normal numbers: %u of %d differ", bad, N);
	free(x);
}

/* the arithmetic as the comment of wse_optim_update() has it, one element at a time */
static void adamw(const struct wse_optim_cfg *c, const struct wse_update *u, float *p, float *m,
		  float *v, float g)
{
	float wd = u->decay ? (float)c->weight_decay : 0.0f, step;

	g = g * u->grad_scale;
	if (c->kind == WSE_OPTIM_ADAM)
		g = g + wd * *p;
	*m = (float)c->beta1 * *m + (float)(1.0 - c->beta1) * g;
	*v = (float)c->beta2 * *v + (float)(1.0 - c->beta2) * (g * g);
	step = wse_sqrtf(*v * (float)(1.0 / (1.0 - u->beta2_pow))) + (float)c->eps;
	step = *m * (float)(1.0 / (1.0 - u->beta1_pow)) / step;
	if (c->kind == WSE_OPTIM_ADAMW)
		step = step + wd * *p;
	*p = *p - (float)u->lr * step;
}

/* which NaN it is depends on the order of operands */
static bool differ(float a, float b)
{
	return wse_f2u(a) != wse_f2u(b) && !(wse_f32_isnan(a) && wse_f32_isnan(b));
}

static void adam(enum wse_optim_kind kind)
{
	enum { N = 1003 };
	struct wse_optim_cfg c = {
		.kind = kind, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1};
	struct wse_update u = {
		.lr = 1e-3, .beta1_pow = 0.9, .beta2_pow = 0.95, .grad_scale = 0.7f, .decay = 1};
	static float p[2][N], m[2][N], v[2][N], g[N];
	uint32_t bad = 0;

	for (uint32_t n = N - 9; n <= N; n++) {
		for (uint32_t i = 0; i < N; i++) {
			g[i] = wide(i);
			p[0][i] = p[1][i] = wide(10000 + i);
			m[0][i] = m[1][i] = wide(20000 + i);
			v[0][i] = v[1][i] = wide(30000 + i);
		}
		wse_optim_update(&c, &u, n, p[0], m[0], v[0], g);
		for (uint32_t i = 0; i < n; i++)
			adamw(&c, &u, &p[1][i], &m[1][i], &v[1][i], g[i]);
		for (uint32_t i = 0; i < N; i++)
			bad += differ(p[0][i], p[1][i]) | differ(m[0][i], m[1][i]) |
			       differ(v[0][i], v[1][i]);
	}
	ok(!bad, "%s: %u differ", kind == WSE_OPTIM_ADAM ? "Adam" : "AdamW", bad);
}

static void squares(void)
{
	enum { COUNT = 65 * 4096 + 7 };
	static const size_t sizes[] = {0,     1,     4095,  4096,      4097,
				       16383, 16384, 16385, 64 * 4096, COUNT};
	float *g = malloc(COUNT * sizeof(*g));
	double b[COUNT / 4096 + 1];
	uint32_t bad = 0;
	size_t n;

	for (size_t i = 0; i < COUNT; i++)
		g[i] = wse_rng_normal(1, 2, i);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		double sum = 0.0, block;

		for (size_t at = 0; at < sizes[s]; at += 4096) {
			block = 0.0;
			for (size_t i = at; i < sizes[s] && i < at + 4096; i++)
				block += (double)g[i] * (double)g[i];
			sum += block;
		}
		bad += wse_sum_squares(g, sizes[s]) != sum;
		n = wse_square_blocks(g, sizes[s], b);
		sum = 0.0;
		for (size_t j = 0; j < n; j++)
			sum += b[j];
		bad += n != (sizes[s] + 4095) / 4096 || wse_sum_squares(g, sizes[s]) != sum;
	}
	ok(!bad, "sums of squares: %u differ", bad);
	free(g);
}

/* twice, so that the second may be what the first has written to */
static void pages(void)
{
	static const size_t sizes[] = {0, 1, 100, 4097, (2u << 20) - 1, 2u << 20, (5u << 20) + 3};
	uint32_t bad = 0;

	for (size_t s = 0; s < 2 * sizeof(sizes) / sizeof(*sizes); s++) {
		size_t n = sizes[s / 2];
		char *p = wse_pages_alloc(n);

		bad += !p || (uintptr_t)p % 64 || (n >= 2u << 20 && (uintptr_t)p % (2u << 20));
		for (size_t i = 0; p && i < n; i++)
			bad += p[i] != 0;
		if (p)
			memset(p, 1, n);
		free(p);
	}
	ok(!bad, "large memory is cleared and aligned");
	ok(!wse_pages_alloc(SIZE_MAX - 5), "of more than there is there is none");
}

int main(int argc, char **argv)
{
	char cmd[4200];

	images();
	normals();
	adam(WSE_OPTIM_ADAMW);
	adam(WSE_OPTIM_ADAM);
	squares();
	pages();
	if (argc > 1) /* the run below */
		return tap_end();
	for (int i = 0; i < 2; i++) {
		snprintf(cmd, sizeof(cmd),
			 "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F%s '%s' again >/dev/null",
			 i ? ",-AVX2" : "", argv[0]);
		ok(!system(cmd), "the same without AVX-512%s", i ? " and AVX2" : "");
	}
	return tap_end();
}
