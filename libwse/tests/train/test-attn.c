// SPDX-License-Identifier: MIT
/*
 * The oracle's attention against binary64: outputs directly, gradients by differences; and what its
 * order promises: no token sees a later one, and only dk and dv depend on how many rows of cores
 * hold a sequence.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/num.h"
#include "ops/scalar_attn.h"
#include "tap.h"

static uint16_t *random_bf16(size_t n, uint64_t seed, float scale)
{
	uint16_t *v = malloc(n * sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = wse_f32_to_bf16(wse_rng_normal(seed, 0, i) * scale);
	return v;
}

struct run {
	struct wse_tile tile;
	struct wse_attn_shape s;
	size_t width, n;      /* features of all columns; width * tokens */
	uint16_t *qkv, *dout; /* [3 width][tokens] [width][tokens] */
	uint16_t *o, *dqkv;
	float *max, *recip, scale; /* [heads * cols][tokens] */
};

static int run_oracle(struct run *r)
{
	int ret = wse_attn_oracle(&r->tile, &r->s, r->qkv, r->o, r->max, r->recip);

	if (!ret)
		ret = wse_attn_back_oracle(&r->tile, &r->s, r->qkv, r->o, r->dout, r->max, r->recip,
					   r->scale, r->dqkv);
	return ret;
}

static void run_init(struct run *r, uint32_t rows, uint32_t cols, uint32_t tokens, uint32_t s,
		     uint32_t d, uint32_t heads)
{
	*r = (struct run){.tile = {rows, cols, 8, 0}, .s = {tokens, s, d, heads, 1}};
	r->width = (size_t)d * heads * cols;
	r->n = r->width * tokens;
	r->scale = 1 / sqrtf((float)d);
	r->qkv = random_bf16(3 * r->n, 1, 1.5f / powf((float)d, 0.25f));
	r->dout = random_bf16(r->n, 2, 1);
	r->o = malloc(2 * r->n);
	r->dqkv = malloc(6 * r->n);
	r->max = malloc(4 * r->n);
	r->recip = malloc(4 * r->n);
}

static void run_free(struct run *r)
{
	free(r->qkv);
	free(r->dout);
	free(r->o);
	free(r->dqkv);
	free(r->max);
	free(r->recip);
}

/* feature f of part p (q, k, v) of a head; the sequence's first token */
static const uint16_t *row(const struct run *r, uint32_t p, uint32_t head, uint32_t f,
			   uint32_t first)
{
	size_t d = r->s.d, h = d * r->s.heads, c = head / r->s.heads + f / d, a = head % r->s.heads;

	return r->qkv + (c * 3 * h + p * h + a * d + f % d) * r->s.tokens + first;
}

/* ---- binary64: one head of one sequence, in[part][f][t] ---- */

struct exact {
	uint32_t s, d;
	double *in, *o;	 /* [3][d][s] [d][s] */
	double slope;	 /* a score falls by it with each token between */
	const double *g; /* [d][s] */
};

/* fills o, returns the sum of o g */
static double exact_forward(const struct exact *e)
{
	const double *q = e->in, *k = q + (size_t)e->d * e->s, *v = k + (size_t)e->d * e->s;
	double sum = 0, p[256];

	for (uint32_t t = 0; t < e->s; t++) {
		double m = -INFINITY, l = 0;

		for (uint32_t key = 0; key <= t; key++) {
			p[key] = e->slope * ((double)key - t);
			for (uint32_t f = 0; f < e->d; f++)
				p[key] += q[f * e->s + t] * k[f * e->s + key];
			m = fmax(m, p[key]);
		}
		for (uint32_t key = 0; key <= t; key++)
			l += p[key] = exp(p[key] - m);
		for (uint32_t f = 0; f < e->d; f++) {
			double o = 0;

			for (uint32_t key = 0; key <= t; key++)
				o += p[key] * v[f * e->s + key];
			e->o[f * e->s + t] = o / l;
			sum += o / l * e->g[f * e->s + t];
		}
	}
	return sum;
}

/* |a - b| / |b|, and the cosine */
static double distance(const double *a, const double *b, size_t n, double *cosine)
{
	double dd = 0, aa = 0, bb = 0, ab = 0;

	for (size_t i = 0; i < n; i++) {
		dd += (a[i] - b[i]) * (a[i] - b[i]);
		aa += a[i] * a[i];
		bb += b[i] * b[i];
		ab += a[i] * b[i];
	}
	*cosine = ab / sqrt(aa * bb);
	return sqrt(dd / bb);
}

static void check_close(const char *name, const double *a, const double *b, size_t n, double bound)
{
	double cosine, far = distance(a, b, n, &cosine);

	ok(far <= bound && cosine >= 0.9998, "%s: %.2f %% off, cosine %.6f", name, 100 * far,
	   cosine);
}

/* one head of one sequence of r against binary64 */
static void against_exact(const struct run *r, uint32_t head, uint32_t first, const char *name)
{
	static const char *const part[] = {"dq", "dk", "dv"};
	uint32_t s = r->s.s, d = r->s.d * r->s.group;
	size_t n = (size_t)d * s;
	double *in = malloc(3 * n * 8), *o = malloc(n * 8), *g = malloc(n * 8),
	       *mine = malloc(3 * n * 8);
	double *diff = malloc(3 * n * 8);
	const uint32_t nth = head / r->s.group;
	struct exact e = {s, d, in, o, r->s.slopes ? (double)r->s.slopes[nth] : 0, g};
	char text[128];

	for (uint32_t f = 0; f < d; f++)
		for (uint32_t t = 0; t < s; t++) {
			size_t i = f * s + t,
			       at = ((size_t)head * r->s.d + f) * r->s.tokens + first + t;

			for (uint32_t p = 0; p < 3; p++) {
				const uint16_t *from = row(r, p, head, f, first) + t;

				in[p * n + i] = wse_bf16_to_f32(*from);
				mine[p * n + i] = wse_bf16_to_f32(r->dqkv[from - r->qkv]);
			}
			g[i] = wse_bf16_to_f32(r->dout[at]);
		}
	for (size_t i = 0; i < 3 * n; i++) {
		double x = in[i], up, step = 1e-5;

		in[i] = x + step;
		up = exact_forward(&e);
		in[i] = x - step;
		diff[i] = (up - exact_forward(&e)) / (2 * step);
		if (i < n) /* q is there times scale, its gradient is that of the unscaled one */
			diff[i] *= (double)r->scale;
		in[i] = x;
	}
	exact_forward(&e);
	for (uint32_t p = 0; p < 3; p++) {
		snprintf(text, sizeof(text), "%s: %s", name, part[p]);
		check_close(text, mine + p * n, diff + p * n, n, 0.01);
	}
	for (uint32_t f = 0; f < d; f++)
		for (uint32_t t = 0; t < s; t++)
			mine[f * s + t] = wse_bf16_to_f32(
				r->o[((size_t)head * r->s.d + f) * r->s.tokens + first + t]);
	snprintf(text, sizeof(text), "%s: o", name);
	check_close(text, mine, o, n, 0.005);
	free(in);
	free(o);
	free(g);
	free(mine);
	free(diff);
}

/* group: columns of a head, with d of its features each */
static void test_sloped(uint32_t rows, uint32_t cols, uint32_t tokens, uint32_t s, uint32_t d,
			uint32_t heads, uint32_t group, const float *slopes)
{
	char name[96];
	struct run r;

	run_init(&r, rows, cols, tokens, s, d, heads);
	r.s.group = group;
	r.s.slopes = slopes;
	r.scale /= sqrtf((float)group);
	snprintf(name, sizeof(name), "%u x %u, %u tokens in sequences of %u, %u x %u heads of %u%s",
		 rows, cols, tokens, s, cols / group, heads, d * group, slopes ? ", slopes" : "");
	if (ok(!run_oracle(&r), "%s", name)) {
		against_exact(&r, 0, 0, name);
		against_exact(&r, heads * cols - group, tokens - s, name);
	}
	run_free(&r);
}

static void test_exact(uint32_t rows, uint32_t cols, uint32_t tokens, uint32_t s, uint32_t d,
		       uint32_t heads, uint32_t group)
{
	test_sloped(rows, cols, tokens, s, d, heads, group, NULL);
}

/* o, max, recip and dq are the same bits for 1, 2 and 4 rows a sequence; dk and dv are only near */
static void test_rows(void)
{
	struct run one, r;

	run_init(&one, 1, 2, 64, 64, 16, 2);
	ok(!run_oracle(&one), "a sequence in one row");
	for (uint32_t rows = 2; rows <= 4; rows *= 2) {
		size_t h = 32, t = 64, different = 0;

		run_init(&r, rows, 2, 64, 64, 16, 2);
		ok(!run_oracle(&r) && !memcmp(r.o, one.o, 2 * r.n) &&
			   !memcmp(r.max, one.max, 4 * 4 * t) &&
			   !memcmp(r.recip, one.recip, 4 * 4 * t),
		   "%u rows: o, max and recip have the bits of one row", rows);
		for (size_t c = 0; c < 2; c++) {
			different += !!memcmp(r.dqkv + c * 3 * h * t, one.dqkv + c * 3 * h * t,
					      2 * h * t);
		}
		ok(!different, "%u rows: dq too", rows);
		run_free(&r);
	}
	run_free(&one);
}

/* other keys, values and queries from token 21 on: nothing before it changes */
static void test_causal(void)
{
	uint32_t s = 64, from = 21;
	int same = 1, changed = 0;
	struct run a, b;

	run_init(&a, 4, 1, s, s, 16, 1);
	run_init(&b, 4, 1, s, s, 16, 1);
	for (size_t i = 0; i < 3 * b.n; i++)
		if (i % s >= from)
			b.qkv[i] = i % 3 ? 0x7149 : 0xc2c8; /* 1e30, -100 */
	ok(!run_oracle(&a) && !run_oracle(&b), "two sequences that differ from token %u on", from);
	for (size_t i = 0; i < a.n; i++) {
		if (i % s < from)
			same &= a.o[i] == b.o[i];
		else
			changed |= a.o[i] != b.o[i];
	}
	ok(same && changed, "what comes before does not see it");
	run_free(&a);
	run_free(&b);
}

static void test_refused(void)
{
	static const struct {
		struct wse_tile tile;
		struct wse_attn_shape s;
	} bad[] = {
		{{4, 1, 8, 0, 0, 0}, {63, 63, 16, 1, 1, 0, 0, NULL, NULL, 0}},
		{{4, 1, 8, 0, 0, 0}, {64, 24, 16, 1, 1, 0, 0, NULL, NULL, 0}},
		{{4, 1, 8, 0, 0, 0}, {64, 128, 16, 1, 1, 0, 0, NULL, NULL, 0}},
		{{4, 1, 8, 0, 0, 0}, {16, 16, 16, 1, 1, 0, 0, NULL, NULL, 0}},
		{{4, 1, 8, 0, 0, 0}, {64, 64, 0, 1, 1, 0, 0, NULL, NULL, 0}},
		{{4, 1, 8, 0, 0, 0}, {64, 64, 16, 0, 1, 0, 0, NULL, NULL, 0}},
		{{4, 1, 6, 0, 0, 0}, {64, 64, 16, 1, 1, 0, 0, NULL, NULL, 0}},
		{{4, 3, 8, 0, 0, 0}, {64, 64, 16, 1, 2, 0, 0, NULL, NULL, 0}},
		{{4, 2, 8, 0, 0, 0}, {64, 64, 16, 3, 1, 2, 0, NULL, NULL, 0}},
		{{0, 1, 8, 0, 0, 0}, {64, 64, 16, 1, 1, 0, 0, NULL, NULL, 0}},
	};
	int refused = 1;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refused &=
			wse_attn_oracle(&bad[i].tile, &bad[i].s, NULL, NULL, NULL, NULL) == -EINVAL;
	ok(refused, "shapes that do not fit the tile are refused");
}

int main(void)
{
	test_exact(4, 1, 64, 64, 16, 1, 1);
	test_exact(4, 2, 64, 32, 8, 2, 1);
	test_exact(2, 2, 32, 16, 32, 1, 1);
	test_exact(2, 4, 32, 32, 8, 1, 2);
	test_exact(4, 6, 64, 32, 4, 1, 3);
	/* s t > WSE_ATTN_SCORES: in one pass */
	test_exact(4, 1, 96, 96, 8, 1, 1);
	test_exact(2, 4, 96, 96, 4, 1, 2);
	test_sloped(4, 2, 64, 32, 8, 2, 1, (const float[]){0.5f, 0.1f, 1.0f, 0.0625f});
	test_sloped(2, 4, 96, 96, 4, 1, 2, (const float[]){0.25f, 0.7f});
	test_rows();
	test_causal();
	test_refused();
	return tap_end();
}
