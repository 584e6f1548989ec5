// SPDX-License-Identifier: MIT
/* AdamW, Adam, SGD with momentum; constant, linear and cosine schedules in sequence. */
#include "optim.h"

#include "num.h"

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
	if (step >= s->total_iters)
		return s->to;
	x = (double)step / (double)s->total_iters;
	if (s->kind == WSE_SCHED_LINEAR)
		return s->from + (s->to - s->from) * x;
	return s->to + (s->from - s->to) * 0.5 * (1.0 + wse_cos_turns(0.5 * x));
}

/* p -= lr (wd p + (m / c1) / (sqrt(v / c2) + eps)) */
static void adam(const struct wse_optim_cfg *cfg, const struct wse_update *u, size_t n, float *p,
		 float *m, float *v, const float *g)
{
	float b1 = (float)cfg->beta1, b2 = (float)cfg->beta2, eps = (float)cfg->eps;
	float a1 = (float)(1.0 - cfg->beta1), a2 = (float)(1.0 - cfg->beta2);
	float c1 = (float)(1.0 / (1.0 - u->beta1_pow)), c2 = (float)(1.0 / (1.0 - u->beta2_pow));
	float lr = (float)u->lr, wd = u->decay ? (float)cfg->weight_decay : 0.0f;
	int decoupled = cfg->kind == WSE_OPTIM_ADAMW;

	for (size_t i = 0; i < n; i++) {
		float gi = g[i] * u->grad_scale, step;

		if (!decoupled)
			gi = gi + wd * p[i];
		m[i] = b1 * m[i] + a1 * gi;
		v[i] = b2 * v[i] + a2 * (gi * gi);
		step = (m[i] * c1) / (wse_sqrtf(v[i] * c2) + eps);
		if (decoupled)
			step = step + wd * p[i];
		p[i] = p[i] - lr * step;
	}
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

void wse_optim_update(const struct wse_optim_cfg *cfg, const struct wse_update *u, size_t n,
		      float *p, float *m, float *v, const float *g)
{
	if (cfg->kind == WSE_OPTIM_SGD)
		sgd(cfg, u, n, p, m, g);
	else
		adam(cfg, u, n, p, m, v, g);
}

double wse_sum_squares(const float *g, size_t n)
{
	double sum = 0.0;

	for (size_t at = 0; at < n; at += 4096) {
		size_t end = at + 4096 < n ? at + 4096 : n;
		double block = 0.0;

		for (size_t i = at; i < end; i++)
			block += (double)g[i] * (double)g[i];
		sum += block;
	}
	return sum;
}
