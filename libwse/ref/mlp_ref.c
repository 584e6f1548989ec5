// SPDX-License-Identifier: MIT
/*
 * The byte-level MLP language model in plain fp32, for a reader and for comparison: forward,
 * backward, AdamW, with OpenBLAS for the three matrix products of a layer. Everything is row-major,
 * one row a token:
 *
 *   Y [B][N] = X [B][K] W[N][K]^T + b        forward
 *   dX[B][K] = dY[B][N] W[N][K]              backward to the data
 *   dW[N][K] = dY[B][N]^T X[B][K]            backward to the weights
 *
 * Nothing of the trainer's arithmetic is shared with it, only shapes and the initial values. With
 * bf16_storage it follows the wafer's storage format, and still nothing of its arithmetic.
 */
#include "mlp_ref.h"

#include <cblas.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "num/num.h"
#include "ref/bf16.h"

static uint32_t widest(const struct wse_mlp *m)
{
	uint32_t w = 0;

	for (uint32_t l = 0; l <= m->nlinear; l++)
		w = m->width[l] > w ? m->width[l] : w;
	return w;
}

int mlp_ref_open(struct mlp_ref *r, const struct wse_model *model, uint32_t batch, uint64_t seed)
{
	const struct wse_mlp *m = wse_mlp(model);
	size_t wide = (size_t)batch * widest(m);
	int ok;

	memset(r, 0, sizeof(*r));
	r->m = *m;
	r->batch = batch;
	if (model->family->tensors(model, &r->tab))
		return -ENOMEM;
	r->params = calloc(r->tab.params, sizeof(float));
	r->rounded = malloc(r->tab.params * sizeof(float));
	r->grads = calloc(r->tab.params, sizeof(float));
	r->m1 = calloc(r->tab.params, sizeof(float));
	r->m2 = calloc(r->tab.params, sizeof(float));
	r->d0 = malloc(wide * sizeof(float));
	r->d1 = malloc(wide * sizeof(float));
	r->loss = malloc(batch * sizeof(float));
	ok = r->params && r->rounded && r->grads && r->m1 && r->m2 && r->d0 && r->d1 && r->loss;
	for (uint32_t l = 0; l < m->nlinear; l++) {
		r->act[l] = malloc((size_t)batch * m->width[l] * sizeof(float));
		r->pre[l] = malloc((size_t)batch * m->width[l + 1] * sizeof(float));
		ok = ok && r->act[l] && r->pre[l];
	}
	if (!ok) {
		mlp_ref_close(r);
		return -ENOMEM;
	}
	wse_tensor_init(&r->tab, seed, r->params);
	return 0;
}

void mlp_ref_close(struct mlp_ref *r)
{
	for (uint32_t l = 0; l < WSE_MLP_MAX_LINEAR; l++) {
		free(r->act[l]);
		free(r->pre[l]);
	}
	free(r->params);
	free(r->rounded);
	free(r->grads);
	free(r->m1);
	free(r->m2);
	free(r->d0);
	free(r->d1);
	free(r->loss);
	wse_tensor_table_fini(&r->tab);
	memset(r, 0, sizeof(*r));
}

/* weights and embeddings as bf16; biases stay fp32 */
static const float *round_params(struct mlp_ref *r)
{
	memcpy(r->rounded, r->params, r->tab.params * sizeof(float));
	for (uint32_t i = 0; i < r->tab.n; i++) {
		const struct wse_tensor *t = &r->tab.t[i];

		for (size_t j = t->off; j < t->off + t->count && t->ndim > 1; j++)
			r->rounded[j] = ref_bf16(r->params[j]);
	}
	return r->rounded;
}

#define GELU_A 0.79788456f /* sqrt(2 / pi) */
#define GELU_B 0.044715f

static float act_forward(enum wse_activation act, float y)
{
	if (act == WSE_RELU)
		return y > 0.0f ? y : 0.0f;
	if (act == WSE_GELU)
		return 0.5f * y * erfcf(-0.70710678f * y);
	return 0.5f * y * (1.0f + tanhf(GELU_A * (y + GELU_B * y * y * y)));
}

static float act_backward(enum wse_activation act, float y)
{
	float t;

	if (act == WSE_RELU)
		return y > 0.0f ? 1.0f : 0.0f;
	if (act == WSE_GELU)
		return 0.5f * erfcf(-0.70710678f * y) + y * 0.39894228f * expf(-0.5f * y * y);
	t = tanhf(GELU_A * (y + GELU_B * y * y * y));
	return 0.5f * (1.0f + t) +
	       0.5f * y * (1.0f - t * t) * GELU_A * (1.0f + 3.0f * GELU_B * y * y);
}

/* logits [B][V] -> loss [B], dlogits [B][V] of the mean loss */
static double softmax_xent(struct mlp_ref *r, const float *logits, const uint16_t *target)
{
	uint32_t v_all = r->m.vocab, b_all = r->batch;
	double mean = 0.0;

	for (uint32_t b = 0; b < b_all; b++) {
		const float *y = logits + (size_t)b * v_all;
		float *d = r->d0 + (size_t)b * v_all, max = y[0], sum = 0.0f;

		for (uint32_t v = 1; v < v_all; v++)
			max = y[v] > max ? y[v] : max;
		for (uint32_t v = 0; v < v_all; v++)
			sum += d[v] = expf(y[v] - max);
		for (uint32_t v = 0; v < v_all; v++)
			d[v] = (d[v] / sum - (v == target[b] ? 1.0f : 0.0f)) / (float)b_all;
		r->loss[b] = logf(sum) - (y[target[b]] - max);
		mean += r->loss[b];
	}
	return mean / b_all;
}

double mlp_ref_forward(struct mlp_ref *r, const uint16_t *context, const uint16_t *target)
{
	const struct wse_mlp *m = &r->m;
	uint32_t b_all = r->batch, e = m->embed;

	r->w = r->bf16_storage ? round_params(r) : r->params;
	for (uint32_t b = 0; b < b_all; b++)
		for (uint32_t i = 0; i < m->window; i++)
			memcpy(r->act[0] + (size_t)b * m->width[0] + i * e,
			       r->w + (size_t)context[b * m->window + i] * e, e * sizeof(float));
	for (uint32_t l = 0; l < m->nlinear; l++) {
		int k = (int)m->width[l], n = (int)m->width[l + 1];
		const float *w = r->w + r->tab.t[wse_mlp_weight(l)].off;
		const float *bias = r->w + r->tab.t[wse_mlp_bias(l)].off;
		float *y = r->pre[l];

		for (uint32_t b = 0; b < b_all; b++)
			memcpy(y + (size_t)b * n, bias, n * sizeof(float));
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)b_all, n, k, 1.0f,
			    r->act[l], k, w, k, 1.0f, y, n);
		for (size_t i = 0; l + 1 < m->nlinear && i < (size_t)b_all * n; i++) {
			float a = act_forward(m->act, y[i]);

			r->act[l + 1][i] = r->bf16_storage ? ref_bf16(a) : a;
		}
	}
	return softmax_xent(r, r->pre[m->nlinear - 1], target);
}

void mlp_ref_backward(struct mlp_ref *r, const uint16_t *context)
{
	const struct wse_mlp *m = &r->m;
	uint32_t b_all = r->batch, e = m->embed;
	float *dy = r->d0, *dx = r->d1, *swap;

	memset(r->grads, 0, r->tab.params * sizeof(float));
	for (uint32_t l = m->nlinear; l-- > 0;) {
		int k = (int)m->width[l], n = (int)m->width[l + 1];
		const float *w = r->w + r->tab.t[wse_mlp_weight(l)].off;
		float *dw = r->grads + r->tab.t[wse_mlp_weight(l)].off;
		float *db = r->grads + r->tab.t[wse_mlp_bias(l)].off;

		cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, k, (int)b_all, 1.0f, dy, n,
			    r->act[l], k, 0.0f, dw, k);
		for (uint32_t b = 0; b < b_all; b++)
			for (int i = 0; i < n; i++)
				db[i] += dy[(size_t)b * n + i];
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)b_all, k, n, 1.0f, dy,
			    n, w, k, 0.0f, dx, k);
		if (l)
			for (size_t i = 0; i < (size_t)b_all * k; i++)
				dx[i] *= act_backward(m->act, r->pre[l - 1][i]);
		swap = dy;
		dy = dx;
		dx = swap;
	}
	for (uint32_t b = 0; b < b_all; b++)
		for (uint32_t i = 0; i < m->window; i++)
			for (uint32_t j = 0; j < e; j++)
				r->grads[(size_t)context[b * m->window + i] * e + j] +=
					dy[(size_t)b * m->width[0] + i * e + j];
}

void mlp_ref_adamw(struct mlp_ref *r, float lr, float beta1, float beta2, float eps, float decay)
{
	float c1, c2;

	r->step++;
	c1 = 1.0f - powf(beta1, (float)r->step);
	c2 = 1.0f - powf(beta2, (float)r->step);
	for (uint32_t i = 0; i < r->tab.n; i++) {
		const struct wse_tensor *t = &r->tab.t[i];
		float wd = t->flags & WSE_TENSOR_DECAY ? decay : 0.0f;

		for (size_t j = t->off; j < t->off + t->count; j++) {
			float g = r->grads[j];

			r->m1[j] = beta1 * r->m1[j] + (1.0f - beta1) * g;
			r->m2[j] = beta2 * r->m2[j] + (1.0f - beta2) * g * g;
			r->params[j] -= lr * (wd * r->params[j] +
					      r->m1[j] / c1 / (sqrtf(r->m2[j] / c2) + eps));
		}
	}
}

double mlp_ref_train(struct mlp_ref *r, const uint8_t *text, uint64_t len, uint32_t steps, float lr,
		     double *rate)
{
	uint32_t b_all = r->batch, win = r->m.window, tail = steps / 10 ? steps / 10 : 1;
	uint16_t *context = malloc((size_t)b_all * (win + 1) * sizeof(*context));
	uint16_t *target = context + (size_t)b_all * win;
	struct timespec t0, t1;
	double sum = 0.0;

	*rate = 0.0;
	if (!context || len <= win) {
		free(context);
		return 0.0;
	}
	clock_gettime(CLOCK_MONOTONIC, &t0);
	for (uint32_t s = 0; s < steps; s++) {
		double loss;

		for (uint32_t b = 0; b < b_all; b++) {
			uint64_t p = wse_rng_u64(1, s, b) % (len - win);

			for (uint32_t i = 0; i < win; i++)
				context[b * win + i] = text[p + i];
			target[b] = text[p + win];
		}
		loss = mlp_ref_forward(r, context, target);
		mlp_ref_backward(r, context);
		mlp_ref_adamw(r, lr, 0.9f, 0.95f, 1e-8f, 0.0f);
		if (s + tail >= steps)
			sum += loss;
	}
	clock_gettime(CLOCK_MONOTONIC, &t1);
	*rate = (double)steps * b_all /
		((double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec));
	free(context);
	return sum / tail;
}
