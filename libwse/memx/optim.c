// SPDX-License-Identifier: MIT
/* AdamW, Adam, SGD with momentum, Lion; schedules in sequence. */
#include "optim.h"

#include <immintrin.h>
#include <string.h>

#include "cpu.h"
#include "num/num.h"

double wse_sched_rate(const struct wse_sched_list *list, uint64_t step)
{
	const struct wse_sched *s = &list->s[0];
	double x;

	for (uint32_t i = 1; i < list->n; i++)
		if (step >= list->s[i].begin)
			s = &list->s[i];
	step -= s->begin;
	if (s->kind == WSE_SCHED_CONSTANT)
		return s->from;
	if (s->kind == WSE_SCHED_INVERSE_SQRT)
		return s->from / wse_sqrt((double)(step > s->total_iters ? step : s->total_iters));
	if (step >= s->total_iters)
		return s->to;
	x = (double)step / (double)s->total_iters;
	if (s->kind == WSE_SCHED_LINEAR)
		return s->from + (s->to - s->from) * x;
	return s->to + (s->from - s->to) * 0.5 * (1.0 + wse_cos_turns(0.5 * x));
}

struct adam {
	float b1, b2, a1, a2, c1, c2, eps, lr, wd, scale;
	int decoupled;
};

/*
 * p -= lr (wd p + (m / c1) / (sqrt(v / c2) + eps)), some elements at a time: each is the same IEEE
 * arithmetic as in a scalar loop. root: the square root of a vector, in place.
 */
#define ADAM(attr, name, vec, root)                                                           \
	attr static inline __attribute__((always_inline)) void name##_some(                   \
		const struct adam *a, float *p, float *m, float *v, const float *g)           \
	{                                                                                     \
		vec pi, mi, vi, gi, step;                                                     \
                                                                                              \
		memcpy(&pi, p, sizeof(pi));                                                   \
		memcpy(&mi, m, sizeof(mi));                                                   \
		memcpy(&vi, v, sizeof(vi));                                                   \
		memcpy(&gi, g, sizeof(gi));                                                   \
		gi = gi * a->scale;                                                           \
		if (!a->decoupled)                                                            \
			gi = gi + a->wd * pi;                                                 \
		mi = a->b1 * mi + a->a1 * gi;                                                 \
		vi = a->b2 * vi + a->a2 * (gi * gi);                                          \
		step = vi * a->c2;                                                            \
		step = (vec)root(step);                                                       \
		step = (mi * a->c1) / (step + a->eps);                                        \
		if (a->decoupled)                                                             \
			step = step + a->wd * pi;                                             \
		pi = pi - a->lr * step;                                                       \
		memcpy(p, &pi, sizeof(pi));                                                   \
		memcpy(m, &mi, sizeof(mi));                                                   \
		memcpy(v, &vi, sizeof(vi));                                                   \
	}                                                                                     \
                                                                                              \
	/* how many were done: all but less than a vector */                                  \
	attr static size_t name(const struct adam *a, size_t n, float *p, float *m, float *v, \
				const float *g)                                               \
	{                                                                                     \
		const struct adam fixed = *a; /* nothing that is written can be it */         \
		size_t i, w = sizeof(vec) / sizeof(float);                                    \
                                                                                              \
		for (i = 0; i + w <= n; i += w)                                               \
			name##_some(&fixed, p + i, m + i, v + i, g + i);                      \
		return i;                                                                     \
	}

typedef float v4 __attribute__((vector_size(16)));
typedef float v8 __attribute__((vector_size(32)));

ADAM(, adam4, v4, _mm_sqrt_ps)
ADAM(__attribute__((target("avx2"))), adam8, v8, _mm256_sqrt_ps)

static struct adam constants(const struct wse_optim_cfg *cfg, const struct wse_update *u)
{
	return (struct adam){
		.b1 = (float)cfg->beta1,
		.b2 = (float)cfg->beta2,
		.a1 = (float)(1.0 - cfg->beta1),
		.a2 = (float)(1.0 - cfg->beta2),
		.c1 = (float)(1.0 / (1.0 - u->beta1_pow)),
		.c2 = (float)(1.0 / (1.0 - u->beta2_pow)),
		.eps = (float)cfg->eps,
		.lr = (float)u->lr,
		.wd = u->decay ? (float)cfg->weight_decay : 0.0f,
		.scale = u->grad_scale,
		.decoupled = cfg->kind == WSE_OPTIM_ADAMW,
	};
}

static void adam(const struct adam *a, size_t n, float *p, float *m, float *v, const float *g)
{
	float tail[4][4] = {{0}};
	size_t i = wse_cpu_avx2() ? adam8(a, n, p, m, v, g) : 0, rest;

	i += adam4(a, n - i, p + i, m + i, v + i, g + i);
	rest = n - i;
	if (!rest)
		return;
	memcpy(tail[0], p + i, rest * sizeof(*p));
	memcpy(tail[1], m + i, rest * sizeof(*p));
	memcpy(tail[2], v + i, rest * sizeof(*p));
	memcpy(tail[3], g + i, rest * sizeof(*p));
	adam4(a, 4, tail[0], tail[1], tail[2], tail[3]);
	memcpy(p + i, tail[0], rest * sizeof(*p));
	memcpy(m + i, tail[1], rest * sizeof(*p));
	memcpy(v + i, tail[2], rest * sizeof(*p));
}

/* m = momentum m + g; p -= lr m */
static void sgd(const struct wse_optim_cfg *cfg, const struct wse_update *u, size_t n, float *p,
		float *m, const float *g)
{
	float mu = (float)cfg->momentum, lr = (float)u->lr;
	float wd = u->decay ? (float)cfg->weight_decay : 0.0f;

	for (size_t i = 0; i < n; i++) {
		m[i] = mu * m[i] + (g[i] * u->grad_scale + wd * p[i]);
		p[i] = p[i] - lr * m[i];
	}
}

/*
 * p = (1 - lr wd) p - lr sign(beta1 m + (1 - beta1) g); m = beta2 m + (1 - beta2) g. The sign of 0
 * is 0, and so is that of a NaN, which no gradient of a step has.
 */
static void lion(const struct wse_optim_cfg *cfg, const struct wse_update *u, size_t n, float *p,
		 float *m, const float *g)
{
	const float b1 = (float)cfg->beta1, a1 = (float)(1.0 - cfg->beta1);
	const float b2 = (float)cfg->beta2, a2 = (float)(1.0 - cfg->beta2);
	const float lr = (float)u->lr, scale = u->grad_scale;
	const float keep = u->decay ? (float)(1.0 - u->lr * cfg->weight_decay) : 1.0f;

	for (size_t i = 0; i < n; i++) {
		float gi = g[i] * scale, c = b1 * m[i] + a1 * gi;
		float step = (c > 0.0f ? lr : 0.0f) - (c < 0.0f ? lr : 0.0f);

		p[i] = keep * p[i] - step;
		m[i] = b2 * m[i] + a2 * gi;
	}
}

uint32_t wse_optim_arrays(const struct wse_optim_cfg *cfg)
{
	return cfg->kind == WSE_OPTIM_SGD || cfg->kind == WSE_OPTIM_LION ? 2 : 3;
}

void wse_optim_update(const struct wse_optim_cfg *cfg, const struct wse_update *u, size_t n,
		      float *p, float *m, float *v, const float *g)
{
	struct adam a;

	if (cfg->kind == WSE_OPTIM_SGD) {
		sgd(cfg, u, n, p, m, g);
		return;
	}
	if (cfg->kind == WSE_OPTIM_LION) {
		lion(cfg, u, n, p, m, g);
		return;
	}
	a = constants(cfg, u);
	adam(&a, n, p, m, v, g);
}

#define BLOCK 4096u
#define SIDE  4u /* blocks side by side: each is a chain of additions that wait for one another */
#define LINE  16u
#define SUMS  64u /* blocks whose sums are added at a time: sides of both kinds are whole */
#define AHEAD \
	(8u * LINE) /* what is asked for early: the processor follows no eight blocks itself */

/* four elements of each of two blocks */
__attribute__((target("avx2"))) static inline __m256 two_blocks(const float *a, const float *b)
{
	return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(a)), _mm_loadu_ps(b), 1);
}

/* r[j]: four elements of blocks j and j + 4; as r[i]: element i of blocks 0 ... 7 */
__attribute__((target("avx2"))) static inline void turn_blocks(__m256d *r)
{
	__m256 lo01 = _mm256_unpacklo_ps((__m256)r[0], (__m256)r[1]);
	__m256 hi01 = _mm256_unpackhi_ps((__m256)r[0], (__m256)r[1]);
	__m256 lo23 = _mm256_unpacklo_ps((__m256)r[2], (__m256)r[3]);
	__m256 hi23 = _mm256_unpackhi_ps((__m256)r[2], (__m256)r[3]);

	r[0] = _mm256_unpacklo_pd((__m256d)lo01, (__m256d)lo23);
	r[1] = _mm256_unpackhi_pd((__m256d)lo01, (__m256d)lo23);
	r[2] = _mm256_unpacklo_pd((__m256d)hi01, (__m256d)hi23);
	r[3] = _mm256_unpackhi_pd((__m256d)hi01, (__m256d)hi23);
}

/* the sums of eight blocks, each in a lane of its own */
__attribute__((target("avx2"))) static void squares8(const float *g, double sum[2 * SIDE])
{
	__m256d low = _mm256_setzero_pd(), high = low;

	for (size_t i = 0; i < BLOCK; i += 4, g += 4) {
		__m256d r[SIDE];

		for (unsigned int j = 0; i % LINE == 0 && j < 2 * SIDE; j++)
			_mm_prefetch((const char *)(g + j * BLOCK + AHEAD), _MM_HINT_T0);
		for (unsigned int j = 0; j < SIDE; j++)
			r[j] = (__m256d)two_blocks(g + j * BLOCK, g + (j + SIDE) * BLOCK);
		turn_blocks(r);
		for (unsigned int j = 0; j < 4; j++) {
			__m256d a = _mm256_cvtps_pd(_mm256_castps256_ps128((__m256)r[j]));
			__m256d b = _mm256_cvtps_pd(_mm256_extractf128_ps((__m256)r[j], 1));

			low = low + a * a;
			high = high + b * b;
		}
	}
	_mm256_storeu_pd(sum, low);
	_mm256_storeu_pd(sum + SIDE, high);
}

size_t wse_square_blocks(const float *g, size_t n, double *b)
{
	size_t at = 0, wide = wse_cpu_avx2() ? n / (2 * SIDE * BLOCK) * (2 * SIDE * BLOCK) : 0;
	double *first = b;

	for (; at < wide; at += 2 * SIDE * BLOCK, b += 2 * SIDE)
		squares8(g + at, b);
	for (; at + SIDE * BLOCK <= n; at += SIDE * BLOCK, b += SIDE) {
		memset(b, 0, SIDE * sizeof(*b));
		for (size_t i = at; i < at + BLOCK; i++)
			for (unsigned int j = 0; j < SIDE; j++)
				b[j] += (double)g[i + j * BLOCK] * (double)g[i + j * BLOCK];
	}
	for (; at < n; at += BLOCK) {
		size_t end = at + BLOCK < n ? at + BLOCK : n;
		double block = 0.0;

		for (size_t i = at; i < end; i++)
			block += (double)g[i] * (double)g[i];
		*b++ = block;
	}
	return (size_t)(b - first);
}

void wse_add_squares(const float *g, size_t n, double *sum)
{
	double b[SUMS];

	for (size_t at = 0; at < n; at += SUMS * BLOCK) {
		size_t left = n - at, some = left < SUMS * BLOCK ? left : SUMS * BLOCK;
		size_t blocks = wse_square_blocks(g + at, some, b);

		for (size_t j = 0; j < blocks; j++)
			*sum += b[j];
	}
}

double wse_sum_squares(const float *g, size_t n)
{
	double sum = 0.0;

	wse_add_squares(g, n, &sum);
	return sum;
}
