// SPDX-License-Identifier: MIT
/* The exact scalar model of the wafer's arithmetic, as an executor. The orders are in oracle.h. */
#include "oracle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/elementwise.h"

#define LANES 8

/* eight independent lanes; the compiler splits it to what the CPU has, the bits do not change */
typedef float lanes_t __attribute__((vector_size(4 * LANES)));

struct oracle {
	struct wse_exec base;
	struct wse_exec_cfg cfg;
	uint32_t rows, cols;
	uint32_t die_at, ran; /* micro-batches */
	struct wse_mlp m;
	uint32_t tokens;
	/* fp32 copies of bf16 values: act[l] [width[l]][T] is the input of layer l */
	float *act[WSE_MLP_MAX_LINEAR];
	float *deriv[WSE_MLP_MAX_LINEAR]; /* [width[l]][T], GELU only */
	float *dy, *dx, *y;		  /* [widest][T] each */
	float *part;			  /* [cols][T] */
	float *ones;			  /* [T] */
};

static float through_bf16(float f)
{
	return wse_bf16_to_f32(wse_f32_to_bf16_ftz(f));
}

/* out[n][T] = the row sums over cols of w[n][K] x[K][T], + bias[n] unless NULL */
static void linear(const struct oracle *o, uint32_t k_all, uint32_t n_all, const uint16_t *w,
		   const float *bias, const float *x, float *out)
{
	uint32_t t_all = o->tokens, k_core = k_all / o->cols, n_core = n_all / o->cols;

	for (uint32_t n = 0; n < n_all; n++) {
		uint32_t owner = n / n_core;
		float *sum = out + (size_t)n * t_all;

		for (uint32_t c = 0; c < o->cols; c++) {
			float *p = o->part + (size_t)c * t_all;

			memset(p, 0, t_all * sizeof(*p));
			for (uint32_t k = c * k_core; k < (c + 1) * k_core; k++) {
				float v = wse_bf16_to_f32(w[(size_t)n * k_all + k]);
				const float *row = x + (size_t)k * t_all;

				for (uint32_t t = 0; t < t_all; t += LANES) {
					lanes_t a, b;

					memcpy(&a, p + t, sizeof(a));
					memcpy(&b, row + t, sizeof(b));
					a = a + b * v;
					memcpy(p + t, &a, sizeof(a));
				}
			}
		}
		for (uint32_t t = 0; t < t_all; t++) {
			float s = o->part[(size_t)((owner + 1) % o->cols) * t_all + t];

			for (uint32_t i = 2; i <= o->cols; i++)
				s = s + o->part[(size_t)((owner + i) % o->cols) * t_all + t];
			sum[t] = wse_canon(bias ? s + bias[n] : s);
		}
	}
}

/* sum over t of a[t] b[t] in the order of stream DOT and the column's chain */
static float dot(const struct oracle *o, const float *a, const float *b)
{
	uint32_t t_core = o->tokens / o->rows;
	float sum = 0.0f;

	for (uint32_t r = 0; r < o->rows; r++) {
		lanes_t l = {0}, va, vb;
		float d;

		for (uint32_t t = r * t_core; t < (r + 1) * t_core; t += LANES) {
			memcpy(&va, a + t, sizeof(va));
			memcpy(&vb, b + t, sizeof(vb));
			l = l + va * vb;
		}
		d = ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]));
		sum = r ? sum + d : d;
	}
	return wse_canon(sum);
}

/* logits y [V][T] -> loss [T] and, in place of y, dlogits already through bf16 */
static void softmax(const struct oracle *o, const struct wse_job *job)
{
	const uint16_t *target = wse_span_ptr(job->target);
	uint32_t t_all = o->tokens, v_all = o->m.vocab, v_core = v_all / o->cols;
	float *loss = wse_span_ptr(job->loss);

	for (uint32_t t = 0; t < t_all; t++) {
		float *y = o->y + t, m = wse_u2f(0xff800000u), s = 0.0f, zt = 0.0f, r;

		for (uint32_t n = 0; n < v_all; n++)
			m = ew_max(y[(size_t)n * t_all], m);
		for (uint32_t i = 1; i <= o->cols; i++) {
			uint32_t c = i % o->cols;
			float p = 0.0f;

			for (uint32_t n = c * v_core; n < (c + 1) * v_core; n++) {
				float z = ew_sub(y[(size_t)n * t_all], m);

				if (n == target[t])
					zt = z;
				y[(size_t)n * t_all] = ew_exp(z);
				p = ew_add(p, y[(size_t)n * t_all]);
			}
			s = i == 1 ? p : ew_add(s, p);
		}
		loss[t] = ew_sub(ew_log(s), zt);
		r = ew_recip(s);
		for (uint32_t n = 0; n < v_all; n++) {
			float p = ew_mul(y[(size_t)n * t_all], r);

			p = ew_sub(p, n == target[t] ? 1.0f : 0.0f);
			y[(size_t)n * t_all] = through_bf16(ew_mul(p, job->scale));
		}
	}
}

static void activate(struct oracle *o, uint32_t l)
{
	size_t n = (size_t)o->m.width[l + 1] * o->tokens;
	float *a = o->act[l + 1], d;

	for (size_t i = 0; i < n; i++) {
		if (o->m.act == WSE_ACT_RELU) {
			a[i] = through_bf16(ew_relu(o->y[i]));
		} else {
			a[i] = through_bf16(ew_gelu(o->y[i], &d));
			o->deriv[l + 1][i] = through_bf16(d);
		}
	}
}

/* dx [width[l]][T] of layer l -> dy of layer l - 1 */
static void activate_back(struct oracle *o, uint32_t l)
{
	size_t n = (size_t)o->m.width[l] * o->tokens;

	for (size_t i = 0; i < n; i++) {
		if (o->m.act == WSE_ACT_RELU)
			o->dy[i] = through_bf16(ew_relu_back(o->act[l][i], o->dx[i]));
		else
			o->dy[i] = through_bf16(ew_mul(o->dx[i], o->deriv[l][i]));
	}
}

static int weight_grad(struct oracle *o, const struct wse_job *job, uint32_t l,
		       const struct wse_job_ops *ops, void *ctx)
{
	uint32_t k_all = o->m.width[l], n_all = o->m.width[l + 1], t_all = o->tokens;
	struct wse_buf *buf;
	float *dw, *db;
	int ret = ops->grad_get(ctx, job->index, l, &buf);

	if (ret)
		return ret;
	dw = buf->ptr;
	db = dw + (size_t)n_all * k_all;
	for (uint32_t n = 0; n < n_all; n++) {
		const float *dy = o->dy + (size_t)n * t_all;

		for (uint32_t k = 0; k < k_all; k++)
			dw[(size_t)n * k_all + k] = dot(o, dy, o->act[l] + (size_t)k * t_all);
		db[n] = dot(o, dy, o->ones);
	}
	return ops->grad_put(ctx, job->index, l, buf);
}

static int forward(struct oracle *o, const struct wse_job *job, const struct wse_job_ops *ops,
		   void *ctx)
{
	const uint16_t *x = wse_span_ptr(job->x);
	size_t n = (size_t)o->m.width[0] * o->tokens;
	int ret;

	for (size_t i = 0; i < n; i++)
		o->act[0][i] = wse_bf16_to_f32(x[i]);
	for (uint32_t l = 0; l < o->m.nlinear; l++) {
		const struct wse_image *img = &job->layers[l];

		ret = ops->layer_ready ? ops->layer_ready(ctx, l) : 0;
		if (ret)
			return ret;
		linear(o, o->m.width[l], o->m.width[l + 1], wse_span_ptr(img->fwd),
		       wse_span_ptr(img->bias), o->act[l], o->y);
		if (l + 1 < o->m.nlinear)
			activate(o, l);
	}
	if (job->logits.buf)
		memcpy(wse_span_ptr(job->logits), o->y,
		       (size_t)o->m.vocab * o->tokens * sizeof(float));
	return 0;
}

static int backward(struct oracle *o, const struct wse_job *job, const struct wse_job_ops *ops,
		    void *ctx)
{
	memcpy(o->dy, o->y, (size_t)o->m.vocab * o->tokens * sizeof(float));
	for (uint32_t l = o->m.nlinear; l-- > 0;) {
		float *dx = l ? o->dx : wse_span_ptr(job->dx);
		int ret = weight_grad(o, job, l, ops, ctx);

		if (ret)
			return ret;
		linear(o, o->m.width[l + 1], o->m.width[l], wse_span_ptr(job->layers[l].tr), NULL,
		       o->dy, dx);
		if (o->die_at && o->ran == o->die_at)
			return -ENODEV;
		if (l)
			activate_back(o, l);
	}
	return 0;
}

static int oracle_run(struct wse_exec *e, const struct wse_job *jobs, uint32_t n,
		      const struct wse_job_ops *ops, void *ctx)
{
	struct oracle *o = (struct oracle *)e;
	int ret = 0;

	if (!o->tokens)
		return -EINVAL;
	for (uint32_t i = 0; i < n && !ret; i++) {
		uint32_t saved;

		if (jobs[i].backward && o->die_at && ++o->ran > o->die_at)
			return -ENODEV;
		saved = wse_ftz_enter();
		ret = forward(o, &jobs[i], ops, ctx);
		if (!ret)
			softmax(o, &jobs[i]);
		if (!ret && jobs[i].backward)
			ret = backward(o, &jobs[i], ops, ctx);
		wse_ftz_leave(saved);
	}
	return ret;
}

static void oracle_info(struct wse_exec *e, struct wse_exec_info *info)
{
	struct oracle *o = (struct oracle *)e;

	memset(info, 0, sizeof(*info));
	snprintf(info->name, sizeof(info->name), "oracle %ux%u", o->rows, o->cols);
	info->rows = o->rows;
	info->cols = o->cols;
	info->lanes = LANES;
	info->sram = 48 * 1024;
	info->acc = 512;
}

static void unprepare(struct oracle *o)
{
	for (uint32_t l = 0; l < WSE_MLP_MAX_LINEAR; l++) {
		free(o->act[l]);
		free(o->deriv[l]);
		o->act[l] = o->deriv[l] = NULL;
	}
	free(o->dy);
	free(o->dx);
	free(o->y);
	free(o->part);
	free(o->ones);
	o->dy = o->dx = o->y = o->part = o->ones = NULL;
	o->tokens = 0;
}

static int oracle_prepare(struct wse_exec *e, const struct wse_mlp *m, uint32_t tokens)
{
	struct oracle *o = (struct oracle *)e;
	size_t wide = (size_t)wse_mlp_widest(m) * tokens * sizeof(float);

	unprepare(o);
	if (!tokens || tokens % (o->rows * LANES)) {
		wse_logf(&o->cfg, WSE_LOG_ERROR,
			 "a micro-batch of %u tokens is not a multiple of "
			 "%u rows x %u lanes",
			 tokens, o->rows, LANES);
		return -EINVAL;
	}
	for (uint32_t l = 0; l <= m->nlinear; l++) {
		if (m->width[l] % o->cols) {
			wse_logf(&o->cfg, WSE_LOG_ERROR,
				 "width %u of layer %u is not a multiple "
				 "of the %u columns",
				 m->width[l], l, o->cols);
			return -EINVAL;
		}
	}
	o->m = *m;
	o->tokens = tokens;
	for (uint32_t l = 0; l < m->nlinear; l++) {
		size_t size = (size_t)m->width[l] * tokens * sizeof(float);

		o->act[l] = malloc(size);
		o->deriv[l] = m->act == WSE_ACT_GELU ? malloc(size) : NULL;
		if (!o->act[l] || (m->act == WSE_ACT_GELU && !o->deriv[l]))
			goto nomem;
	}
	o->dy = malloc(wide);
	o->dx = malloc(wide);
	o->y = malloc(wide);
	o->part = malloc((size_t)o->cols * tokens * sizeof(float));
	o->ones = malloc(tokens * sizeof(float));
	if (!o->dy || !o->dx || !o->y || !o->part || !o->ones)
		goto nomem;
	for (uint32_t t = 0; t < tokens; t++)
		o->ones[t] = 1.0f;
	return 0;
nomem:
	unprepare(o);
	return -ENOMEM;
}

static int oracle_alloc(struct wse_exec *e, size_t size, struct wse_buf *buf)
{
	(void)e;
	buf->size = size;
	buf->priv = NULL;
	buf->ptr = aligned_alloc(64, (size + 63) / 64 * 64);
	return buf->ptr ? 0 : -ENOMEM;
}

static void oracle_free(struct wse_exec *e, struct wse_buf *buf)
{
	(void)e;
	free(buf->ptr);
	buf->ptr = NULL;
}

static int oracle_map(struct wse_exec *e, struct wse_buf *buf)
{
	(void)e;
	(void)buf;
	return 0;
}

static void oracle_unmap(struct wse_exec *e, struct wse_buf *buf)
{
	(void)e;
	(void)buf;
}

static void oracle_close(struct wse_exec *e)
{
	unprepare((struct oracle *)e);
	free(e);
}

static const struct wse_exec_ops oracle_ops = {
	.info = oracle_info,
	.prepare = oracle_prepare,
	.alloc = oracle_alloc,
	.free = oracle_free,
	.map = oracle_map,
	.unmap = oracle_unmap,
	.run = oracle_run,
	.close = oracle_close,
};

int wse_oracle_open(const char *uri, const struct wse_exec_cfg *cfg, struct wse_exec **exec)
{
	struct oracle *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->base.ops = &oracle_ops;
	if (cfg)
		o->cfg = *cfg;
	if (wse_uri_number(uri, "rows", 4, &o->rows) || wse_uri_number(uri, "cols", 4, &o->cols) ||
	    wse_uri_number(uri, "die_at", 0, &o->die_at)) {
		wse_logf(cfg, WSE_LOG_ERROR, "\"%s\": rows, cols and die_at take a positive number",
			 uri);
		free(o);
		return -EINVAL;
	}
	*exec = &o->base;
	return 0;
}
