// SPDX-License-Identifier: MIT
/*
 * A GPT-2 or GPT-3 style decoder in plain fp32, for a reader and for comparison: every part a pair
 * of forward and backward, with OpenBLAS for the matrix products. Arrays are row-major, a row is a
 * token; N = B S tokens, matrices are [out][in]:
 *
 *   x   = wte[token] + wpe[position]                             [N][H]
 *   L times:  x = x + proj(attention(qkv(ln_1(x))))
 *             x = x + fc2(act(fc1(ln_2(x))))
 *   logits = ln_f(x) head^T                                      [N][V]
 *   loss   = mean over N of -log softmax(logits)[next token]
 *
 * Nothing of the trainer's arithmetic is shared with it. With bf16_storage it follows the wafer's
 * storage format, and still nothing of its arithmetic; attention is written with its softmax
 * unnormalised, O = (P V) / l, because that is where the format shows.
 */
#include "gpt_ref.h"
#include "ref/bf16.h"

#include <cblas.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 64

/* ---- workspace ---- */

struct block_acts {
	float *x;		  /* [N][H] residual before the block */
	float *a, *mean1, *rstd1; /* [N][H] ln_1(x); [N] */
	float *qkv;		  /* [N][3 H]: q / sqrt(d), k, v, each head by head */
	float *p, *l; /* [B][NH][S][S] exp(score - max), 0 in the future; [B][NH][S] its sums */
	float *o;     /* [N][H] heads side by side */
	float *x2;    /* [N][H] residual between attention and MLP */
	float *c, *mean2, *rstd2; /* [N][H] ln_2(x2); [N] */
	float *f, *df;		  /* [N][F] act(y) and its derivative */
};

struct gpt_ref {
	struct gpt_ref_cfg c;
	uint32_t batch, s; /* room for so many sequences; tokens of one */
	uint32_t threads;
	struct block_acts *block; /* [L] */
	float *x, *meanf, *rstdf; /* [N][H] residual behind the blocks; [N] */
	float *y;		  /* [N][H] ln_f(x) */
	float *logits;		  /* [N][V], later their gradient */
	float *losses;		  /* [N] */
	float *dx;		  /* [N][H] gradient of the residual */
	float *d0;		  /* [N][max(H, F)] */
	float *d1;		  /* [N][H] */
	float *dqkv;		  /* [N][3 H] */
	float *dp;		  /* [threads][S][S] */
	float *rounded;		  /* [nparams], for bf16_storage */
	float *mem;		  /* all of the above */
	const float *w;		  /* [nparams] what the products take */
};

/* hands out the workspace; with mem = NULL it only counts */
static size_t place(struct gpt_ref *r)
{
	const struct gpt_ref_cfg *c = &r->c;
	const size_t n = (size_t)r->batch * r->s, h = c->hidden, f = c->filter;
	const size_t heads = (size_t)r->batch * c->heads, s = r->s;
	size_t at = 0;

#define TAKE(field, count) (field = r->mem ? r->mem + at : NULL, at += (count))
	for (uint32_t l = 0; l < c->layers; l++) {
		struct block_acts *b = &r->block[l];

		TAKE(b->x, n * h), TAKE(b->a, n * h), TAKE(b->mean1, n), TAKE(b->rstd1, n);
		TAKE(b->qkv, n * 3 * h), TAKE(b->p, heads * s * s), TAKE(b->l, heads * s);
		TAKE(b->o, n * h), TAKE(b->x2, n * h);
		TAKE(b->c, n * h), TAKE(b->mean2, n), TAKE(b->rstd2, n);
		TAKE(b->f, n * f), TAKE(b->df, n * f);
	}
	TAKE(r->x, n * h), TAKE(r->meanf, n), TAKE(r->rstdf, n), TAKE(r->y, n * h);
	TAKE(r->logits, n * c->vocab), TAKE(r->losses, n);
	TAKE(r->dx, n * h), TAKE(r->d0, n * (h > f ? h : f)), TAKE(r->d1, n * h);
	TAKE(r->dqkv, n * 3 * h), TAKE(r->dp, r->threads * s * s);
	TAKE(r->rounded, c->bf16_storage ? gpt_ref_nparams(c) : 0);
#undef TAKE
	return at;
}

int gpt_ref_open(struct gpt_ref **out, const struct gpt_ref_cfg *c, uint32_t batch, uint32_t seq,
		 uint32_t threads)
{
	struct gpt_ref *r;

	*out = NULL;
	if (gpt_ref_check(c) || !batch || !seq || seq > c->positions || !threads ||
	    threads > MAX_THREADS)
		return -EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->c = *c;
	r->batch = batch;
	r->s = seq;
	r->threads = threads;
	r->block = calloc(c->layers, sizeof(*r->block));
	r->mem = r->block ? calloc(place(r), sizeof(float)) : NULL;
	if (!r->mem) {
		gpt_ref_close(r);
		return -ENOMEM;
	}
	place(r);
	*out = r;
	return 0;
}

void gpt_ref_close(struct gpt_ref *r)
{
	if (!r)
		return;
	free(r->block);
	free(r->mem);
	free(r);
}

/* ---- storage and threads ---- */

static void store(const struct gpt_ref *r, float *x, size_t n)
{
	for (size_t i = 0; i < n && r->c.bf16_storage; i++)
		x[i] = ref_bf16(x[i]);
}

/* matrices and embeddings as bf16; vectors stay fp32 */
static const float *stored_params(struct gpt_ref *r, const float *params)
{
	if (!r->c.bf16_storage)
		return params;
	memcpy(r->rounded, params, gpt_ref_nparams(&r->c) * sizeof(float));
	for (uint32_t i = 0; i < gpt_ref_ntensors(&r->c); i++) {
		struct gpt_ref_tensor t = gpt_ref_tensor(&r->c, i);

		if (t.ndim == 2)
			store(r, r->rounded + t.off, t.count);
	}
	return r->rounded;
}

/* Items of one array or heads, each done by one thread in the same way whichever it is. */
struct share {
	void (*fn)(struct share *s);
	struct gpt_ref *r;
	struct block_acts *b;
	const uint16_t *tokens;
	size_t from, to;
	uint32_t thread;
};

static void *run_share(void *arg)
{
	struct share *s = arg;

	s->fn(s);
	return NULL;
}

static void spread(void (*fn)(struct share *), struct gpt_ref *r, struct block_acts *b,
		   const uint16_t *tokens, size_t n)
{
	struct share s[MAX_THREADS];
	pthread_t id[MAX_THREADS];
	int there[MAX_THREADS] = {0};

	for (uint32_t t = 0; t < r->threads; t++)
		s[t] = (struct share){
			fn, r, b, tokens, n * t / r->threads, n * (t + 1) / r->threads, t};
	for (uint32_t t = 1; t < r->threads; t++)
		there[t] = !pthread_create(&id[t], NULL, run_share, &s[t]);
	for (uint32_t t = 0; t < r->threads; t++)
		if (!there[t])
			fn(&s[t]);
	for (uint32_t t = 1; t < r->threads; t++)
		if (there[t])
			pthread_join(id[t], NULL);
}

/* ---- embedding ---- */

/* x [N][H] = wte[token] + wpe[position] */
static void embed_forward(const struct gpt_ref *r, const uint16_t *tokens, uint32_t b_all, float *x)
{
	const uint32_t h = r->c.hidden;

	for (uint32_t b = 0; b < b_all; b++)
		for (uint32_t t = 0; t < r->s; t++, x += h) {
			const float *e = r->w + (size_t)tokens[b * (r->s + 1) + t] * h;
			const float *p = r->w + gpt_ref_offset(&r->c, GPT_WPE) + (size_t)t * h;

			for (uint32_t i = 0; i < h; i++)
				x[i] = e[i] + p[i];
		}
}

static void embed_backward(const struct gpt_ref *r, const uint16_t *tokens, uint32_t b_all,
			   const float *dx, float *grads)
{
	const uint32_t h = r->c.hidden;

	for (uint32_t b = 0; b < b_all; b++)
		for (uint32_t t = 0; t < r->s; t++, dx += h) {
			float *de = grads + (size_t)tokens[b * (r->s + 1) + t] * h;
			float *dp = grads + gpt_ref_offset(&r->c, GPT_WPE) + (size_t)t * h;

			for (uint32_t i = 0; i < h; i++) {
				de[i] += dx[i];
				dp[i] += dx[i];
			}
		}
}

/* ---- linear ---- */

/* y [n][out] = x [n][in] w[out][in]^T + bias; bias may be NULL */
static void linear_forward(float *y, const float *x, const float *w, const float *bias, size_t n,
			   uint32_t in, uint32_t out)
{
	for (size_t i = 0; i < n && bias; i++)
		memcpy(y + i * out, bias, out * sizeof(*y));
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)out, (int)in, 1.0f, x,
		    (int)in, w, (int)in, bias ? 1.0f : 0.0f, y, (int)out);
}

/* dx [n][in] = dy [n][out] w; dw [out][in] += dy^T x; dbias [out] += sums; may be NULL */
static void linear_backward(float *dx, float *dw, float *dbias, const float *dy, const float *x,
			    const float *w, size_t n, uint32_t in, uint32_t out)
{
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)in, (int)out, 1.0f, dy,
		    (int)out, w, (int)in, 0.0f, dx, (int)in);
	cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)out, (int)in, (int)n, 1.0f, dy,
		    (int)out, x, (int)in, 1.0f, dw, (int)in);
	for (size_t i = 0; i < n && dbias; i++)
		for (uint32_t j = 0; j < out; j++)
			dbias[j] += dy[i * out + j];
}

/* ---- norm ---- */

/* what a norm reads of the residual, forward and backward */
static float kept(const struct gpt_ref *r, float x)
{
	return r->c.bf16_storage ? ref_bf16(x) : x;
}

/* y [n][H] = (x - mean) rstd gain + bias, rstd = 1 / sqrt(variance + eps) over H */
static void norm_forward(const struct gpt_ref *r, float *y, float *mean, float *rstd,
			 const float *x, const float *gain, const float *bias, size_t n)
{
	const uint32_t h = r->c.hidden;

	for (size_t i = 0; i < n; i++, x += h, y += h) {
		float m = 0.0f, v = 0.0f;

		for (uint32_t j = 0; j < h; j++)
			m += y[j] = kept(r, x[j]);
		m /= (float)h;
		for (uint32_t j = 0; j < h; j++)
			v += (y[j] - m) * (y[j] - m);
		mean[i] = m;
		rstd[i] = 1.0f / sqrtf(v / (float)h + r->c.eps);
		for (uint32_t j = 0; j < h; j++)
			y[j] = (y[j] - m) * rstd[i] * gain[j] + bias[j];
		store(r, y, h);
	}
}

/* dx [n][H] += rstd (g - mean(g) - xhat mean(g xhat)) with g = dy gain; dgain, dbias [H] += */
static void norm_backward(const struct gpt_ref *r, float *dx, float *dgain, float *dbias,
			  const float *dy, const float *x, const float *mean, const float *rstd,
			  const float *gain, size_t n)
{
	const uint32_t h = r->c.hidden;

	for (size_t i = 0; i < n; i++, x += h, dx += h, dy += h) {
		float sum = 0.0f, sumx = 0.0f;

		for (uint32_t j = 0; j < h; j++) {
			float xhat = (kept(r, x[j]) - mean[i]) * rstd[i];

			sum += dy[j] * gain[j];
			sumx += dy[j] * gain[j] * xhat;
			dgain[j] += dy[j] * xhat;
			dbias[j] += dy[j];
		}
		sum /= (float)h;
		sumx /= (float)h;
		for (uint32_t j = 0; j < h; j++) {
			float xhat = (kept(r, x[j]) - mean[i]) * rstd[i];

			dx[j] += rstd[i] * (dy[j] * gain[j] - sum - xhat * sumx);
		}
	}
}

/* ---- attention: one (sequence, head) at a time ---- */

/* where head i of B NH begins in an array [N][width], `part` times H further */
static size_t head_at(const struct gpt_ref *r, size_t i, uint32_t width, uint32_t part)
{
	const uint32_t nh = r->c.heads, d = r->c.hidden / nh;

	return i / nh * r->s * width + (size_t)part * r->c.hidden + i % nh * d;
}

/* q, k, v [S][d] in qkv -> p [S][S] = exp(q k^T - max), l [S] its sums, o [S][d] = p v / l */
static void attention_forward(struct share *share)
{
	const struct gpt_ref *r = share->r;
	const struct block_acts *b = share->b;
	const int s = (int)r->s, h = (int)r->c.hidden, d = h / (int)r->c.heads, w = 3 * h;

	for (size_t i = share->from; i < share->to; i++) {
		const float *q = b->qkv + head_at(r, i, w, 0), *k = b->qkv + head_at(r, i, w, 1);
		const float *v = b->qkv + head_at(r, i, w, 2);
		float *p = b->p + i * s * s, *l = b->l + i * s, *o = b->o + head_at(r, i, h, 0);

		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, s, s, d, 1.0f, q, w, k, w,
			    0.0f, p, s);
		for (int t = 0; t < s; t++) {
			float *row = p + (size_t)t * s, max = row[0];

			for (int u = 1; u <= t; u++)
				max = row[u] > max ? row[u] : max;
			for (int u = 0; u < s; u++)
				row[u] = u <= t ? expf(row[u] - max) : 0.0f;
			store(r, row, (size_t)s);
			l[t] = 0.0f;
			for (int u = 0; u <= t; u++)
				l[t] += row[u];
		}
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, s, d, s, 1.0f, p, s, v, w,
			    0.0f, o, h);
		for (int t = 0; t < s; t++) {
			for (int j = 0; j < d; j++)
				o[(size_t)t * h + j] *= 1.0f / l[t];
			store(r, o + (size_t)t * h, (size_t)d);
		}
	}
}

/*
 * do [S][d] in d1 -> dq, dk, dv in dqkv. With dn = do / l, what goes through p is
 *   ds[t][u] = p[t][u] (dn[t] . v[u] - dn[t] . o[t])
 * and dv = p^T dn, dk = ds^T q, dq = ds k / sqrt(d): q in qkv is divided by sqrt(d) already.
 */
static void attention_backward(struct share *share)
{
	const struct gpt_ref *r = share->r;
	const struct block_acts *b = share->b;
	const int s = (int)r->s, h = (int)r->c.hidden, d = h / (int)r->c.heads, w = 3 * h;
	const float scale = 1.0f / sqrtf((float)d);
	float *dp = r->dp + (size_t)share->thread * s * s;

	for (size_t i = share->from; i < share->to; i++) {
		const float *q = b->qkv + head_at(r, i, w, 0), *k = b->qkv + head_at(r, i, w, 1);
		const float *v = b->qkv + head_at(r, i, w, 2), *o = b->o + head_at(r, i, h, 0);
		float *dq = r->dqkv + head_at(r, i, w, 0), *dk = r->dqkv + head_at(r, i, w, 1);
		float *dv = r->dqkv + head_at(r, i, w, 2), *dn = r->d1 + head_at(r, i, h, 0);
		const float *p = b->p + i * s * s, *l = b->l + i * s;

		for (int t = 0; t < s; t++) {
			for (int j = 0; j < d; j++)
				dn[(size_t)t * h + j] *= 1.0f / l[t];
			store(r, dn + (size_t)t * h, (size_t)d);
		}
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, s, s, d, 1.0f, dn, h, v, w,
			    0.0f, dp, s);
		for (int t = 0; t < s; t++) {
			float *row = dp + (size_t)t * s, dot = 0.0f;

			for (int j = 0; j < d; j++)
				dot += dn[(size_t)t * h + j] * o[(size_t)t * h + j];
			for (int u = 0; u < s; u++)
				row[u] = p[(size_t)t * s + u] * (row[u] - dot);
			store(r, row, (size_t)s);
		}
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, s, d, s, scale, dp, s, k, w,
			    0.0f, dq, w);
		cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, s, d, s, 1.0f, dp, s, q, w,
			    0.0f, dk, w);
		cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, s, d, s, 1.0f, p, s, dn, h,
			    0.0f, dv, w);
	}
}

/* ---- activation ---- */

#define GELU_A 1.5957691f /* 2 sqrt(2 / pi) */
#define GELU_B 0.044715f

/* GELU: y (1 + tanh(u / 2)) / 2 = y / (1 + exp(-u)), u = GELU_A (y + GELU_B y^3) */
static float activate(enum gpt_ref_act act, float y, float *derivative)
{
	float s;

	if (act == GPT_REF_GELU_NEW) {
		s = 1.0f / (1.0f + expf(-GELU_A * (y + GELU_B * y * y * y)));
		*derivative = s + y * s * (1.0f - s) * GELU_A * (1.0f + 3.0f * GELU_B * y * y);
		return y * s;
	}
	if (act == GPT_REF_GELU) {
		s = 0.5f * erfcf(-0.70710678f * y);
		*derivative = s + y * 0.39894228f * expf(-0.5f * y * y);
		return y * s;
	}
	*derivative = 0.0f;
	if (!(y > 0.0f))
		return 0.0f * y; /* keeps a NaN */
	*derivative = act == GPT_REF_RELU ? 1.0f : 2.0f * y;
	return act == GPT_REF_RELU ? y : y * y;
}

/* f [N][F]: y in, act(y) out; df its derivative */
static void act_forward(struct share *s)
{
	for (size_t i = s->from; i < s->to; i++)
		s->b->f[i] = activate(s->r->c.act, s->b->f[i], &s->b->df[i]);
	store(s->r, s->b->f + s->from, s->to - s->from);
	store(s->r, s->b->df + s->from, s->to - s->from);
}

/* d0 [N][F] *= df */
static void act_backward(struct share *s)
{
	for (size_t i = s->from; i < s->to; i++)
		s->r->d0[i] *= s->b->df[i];
	store(s->r, s->r->d0 + s->from, s->to - s->from);
}

/* ---- loss ---- */

/* logits [N][V] -> losses [N]; logits become softmax - target, for the backward pass */
static void xent(struct share *share)
{
	const struct gpt_ref *r = share->r;
	const uint32_t v_all = r->c.vocab, s = r->s;

	for (size_t i = share->from; i < share->to; i++) {
		uint32_t next = share->tokens[i / s * (s + 1) + i % s + 1];
		float *y = r->logits + i * v_all, max = y[0], sum = 0.0f, target = y[next];

		for (uint32_t v = 1; v < v_all; v++)
			max = y[v] > max ? y[v] : max;
		for (uint32_t v = 0; v < v_all; v++)
			sum += y[v] = expf(y[v] - max);
		for (uint32_t v = 0; v < v_all; v++)
			y[v] /= sum;
		y[next] -= 1.0f;
		r->losses[i] = logf(sum) - (target - max);
	}
}

/* ---- the model ---- */

static void forward(struct gpt_ref *r, const uint16_t *tokens, uint32_t b_all)
{
	const struct gpt_ref_cfg *c = &r->c;
	const uint32_t h = c->hidden, f = c->filter;
	const size_t n = (size_t)b_all * r->s;
	const float scale = 1.0f / sqrtf((float)h / (float)c->heads);

	embed_forward(r, tokens, b_all, r->block[0].x);
	store(r, r->block[0].x, n * h);
	for (uint32_t l = 0; l < c->layers; l++) {
		struct block_acts *b = &r->block[l];
		float *x3 = l + 1 < c->layers ? r->block[l + 1].x : r->x;
		const float *w[GPT_BLOCK];

		for (uint32_t i = 0; i < GPT_BLOCK; i++)
			w[i] = r->w + gpt_ref_offset(c, gpt_ref_in_block(l, i));
		norm_forward(r, b->a, b->mean1, b->rstd1, b->x, w[GPT_LN1_G], w[GPT_LN1_B], n);
		linear_forward(b->qkv, b->a, w[GPT_QKV_W], w[GPT_QKV_B], n, h, 3 * h);
		for (size_t i = 0; i < n; i++)
			for (uint32_t j = 0; j < h; j++)
				b->qkv[i * 3 * h + j] *= scale;
		store(r, b->qkv, n * 3 * h);
		spread(attention_forward, r, b, NULL, (size_t)b_all * c->heads);
		linear_forward(b->x2, b->o, w[GPT_PROJ_W], w[GPT_PROJ_B], n, h, h);
		for (size_t i = 0; i < n * h; i++)
			b->x2[i] += b->x[i];
		norm_forward(r, b->c, b->mean2, b->rstd2, b->x2, w[GPT_LN2_G], w[GPT_LN2_B], n);
		linear_forward(b->f, b->c, w[GPT_FC1_W], w[GPT_FC1_B], n, h, f);
		spread(act_forward, r, b, NULL, n * f);
		linear_forward(x3, b->f, w[GPT_FC2_W], w[GPT_FC2_B], n, f, h);
		for (size_t i = 0; i < n * h; i++)
			x3[i] += b->x2[i];
	}
	norm_forward(r, r->y, r->meanf, r->rstdf, r->x,
		     r->w + gpt_ref_offset(c, gpt_ref_behind(c, GPT_LNF_G)),
		     r->w + gpt_ref_offset(c, gpt_ref_behind(c, GPT_LNF_B)), n);
	linear_forward(r->logits, r->y,
		       r->w + (c->tied ? 0 : gpt_ref_offset(c, gpt_ref_behind(c, GPT_HEAD))), NULL,
		       n, h, c->vocab);
	spread(xent, r, NULL, tokens, n);
}

/* through the MLP and its norm: dx [N][H] is the gradient behind the block, then of x2 */
static void mlp_backward(struct gpt_ref *r, struct block_acts *b, const float *const *w,
			 float *const *g, size_t n)
{
	const uint32_t h = r->c.hidden, f = r->c.filter;

	memcpy(r->d1, r->dx, n * h * sizeof(float));
	store(r, r->d1, n * h);
	linear_backward(r->d0, g[GPT_FC2_W], g[GPT_FC2_B], r->d1, b->f, w[GPT_FC2_W], n, f, h);
	spread(act_backward, r, b, NULL, n * f);
	linear_backward(r->d1, g[GPT_FC1_W], g[GPT_FC1_B], r->d0, b->c, w[GPT_FC1_W], n, h, f);
	norm_backward(r, r->dx, g[GPT_LN2_G], g[GPT_LN2_B], r->d1, b->x2, b->mean2, b->rstd2,
		      w[GPT_LN2_G], n);
}

/* through attention and its norm: dx [N][H] is the gradient of x2, then of x */
static void attn_backward(struct gpt_ref *r, struct block_acts *b, const float *const *w,
			  float *const *g, size_t n)
{
	const uint32_t h = r->c.hidden;

	memcpy(r->d0, r->dx, n * h * sizeof(float));
	store(r, r->d0, n * h);
	linear_backward(r->d1, g[GPT_PROJ_W], g[GPT_PROJ_B], r->d0, b->o, w[GPT_PROJ_W], n, h, h);
	store(r, r->d1, n * h);
	spread(attention_backward, r, b, NULL, n / r->s * r->c.heads);
	store(r, r->dqkv, n * 3 * h);
	linear_backward(r->d1, g[GPT_QKV_W], g[GPT_QKV_B], r->dqkv, b->a, w[GPT_QKV_W], n, h,
			3 * h);
	norm_backward(r, r->dx, g[GPT_LN1_G], g[GPT_LN1_B], r->d1, b->x, b->mean1, b->rstd1,
		      w[GPT_LN1_G], n);
}

static void backward(struct gpt_ref *r, const uint16_t *tokens, uint32_t b_all, float *grads)
{
	const struct gpt_ref_cfg *c = &r->c;
	const uint32_t h = c->hidden;
	const size_t n = (size_t)b_all * r->s,
		     head = c->tied ? 0 : gpt_ref_offset(c, gpt_ref_behind(c, GPT_HEAD));

	memset(grads, 0, gpt_ref_nparams(c) * sizeof(float));
	for (size_t i = 0; i < n * c->vocab; i++)
		r->logits[i] /= (float)n;
	store(r, r->logits, n * c->vocab);
	linear_backward(r->d1, grads + head, NULL, r->logits, r->y, r->w + head, n, h, c->vocab);
	memset(r->dx, 0, n * h * sizeof(float));
	norm_backward(r, r->dx, grads + gpt_ref_offset(c, gpt_ref_behind(c, GPT_LNF_G)),
		      grads + gpt_ref_offset(c, gpt_ref_behind(c, GPT_LNF_B)), r->d1, r->x,
		      r->meanf, r->rstdf, r->w + gpt_ref_offset(c, gpt_ref_behind(c, GPT_LNF_G)),
		      n);
	for (uint32_t l = c->layers; l-- > 0;) {
		const float *w[GPT_BLOCK];
		float *g[GPT_BLOCK];

		for (uint32_t i = 0; i < GPT_BLOCK; i++) {
			w[i] = r->w + gpt_ref_offset(c, gpt_ref_in_block(l, i));
			g[i] = grads + gpt_ref_offset(c, gpt_ref_in_block(l, i));
		}
		mlp_backward(r, &r->block[l], w, g, n);
		attn_backward(r, &r->block[l], w, g, n);
	}
	embed_backward(r, tokens, b_all, r->dx, grads);
}

double gpt_ref_loss(struct gpt_ref *r, const float *params, const uint16_t *tokens, uint32_t b,
		    float *grads, float *losses)
{
	const size_t n = (size_t)b * r->s;
	double sum = 0.0;

	r->w = stored_params(r, params);
	forward(r, tokens, b);
	for (size_t i = 0; i < n; i++)
		sum += r->losses[i];
	if (losses)
		memcpy(losses, r->losses, n * sizeof(*losses));
	if (grads)
		backward(r, tokens, b, grads);
	return sum / (double)n;
}
