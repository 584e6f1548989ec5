// SPDX-License-Identifier: MIT
/*
 * GPT-J, GPT-NeoX, LLaMA, BTLM and MPT in plain fp32, for a reader and for comparison: every part a
 * pair of forward and backward, one sequence of S tokens after the other, OpenBLAS for the matrix
 * products and loops for the rest. Arrays are row-major, a row is a token, matrices are [out][in];
 * what a block computes is in the header. Nothing of the trainer's arithmetic is shared with it.
 */
#include "decoder_ref.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- parameters and what is kept of a forward pass ---- */

/* of a block, parameters or their gradients; NULL: the family has none */
struct weights {
	float *n1_g, *n1_b, *n2_g, *n2_b;
	/* [QW][H], QW = A + 2 KV; GPT-J's and LLaMA's three matrices lie one behind the other */
	float *qkv, *qkv_b;
	float *proj, *proj_b; /* [H][A], A = NH d */
	float *fc, *fc_b;     /* [F][H]; with a gate [2 F][H]: gate, then up */
	float *fc2, *fc2_b;   /* [H][F] */
};

/* outside of the blocks */
struct ends {
	float *wte, *norm_g, *norm_b, *head, *head_b;
	float *embed_g, *embed_b; /* of the embeddings' norm */
};

struct kept {
	float *x;		  /* [S][H] the block's input */
	float *a, *rstd1, *mean1; /* norm 1 of it; [S] */
	float *qkv;		  /* [S][QW], queries and keys turned */
	float *p;		  /* [NH][S][S] softmax of the scores */
	float *o;		  /* [S][A] heads side by side */
	float *y;		  /* [S][H] what norm 2 reads */
	float *c, *rstd2, *mean2;
	float *u; /* [S][FW] what the activation reads; FW = F, with a gate 2 F */
	float *f; /* [S][F] its output */
};

struct run {
	const struct decoder_cfg *c;
	uint32_t s, d, group; /* tokens, width of a head, query heads of a key head */
	uint32_t a;	      /* of all query heads */
	uint32_t qw, fw;      /* widths of qkv and of u */
	int serial, gated;
	struct kept *block;			   /* [L] */
	float *x, *xn, *rstd, *mean;		   /* [S][H] behind the blocks, its norm */
	float *x0, *rstd0, *mean0;		   /* [S][H] that the embeddings' norm reads */
	float *logits;				   /* [S][V], later their gradient */
	float *dx, *dy, *da, *dqkv, *du, *df, *dp; /* as what they are gradients of */
	float *dout;				   /* [S][A] of o */
	float *mem;
};

static float *named(const struct decoder_cfg *c, float *flat, const char *name)
{
	for (uint32_t i = 0; flat && i < decoder_ntensors(c); i++) {
		struct decoder_tensor t = decoder_tensor(c, i);

		if (!strcmp(t.name, name))
			return flat + t.off;
	}
	return NULL;
}

/* what stands before ".weight" and ".bias": in a layer, behind its number; then outside of them */
static const struct {
	const char *layers;
	const char *n1, *n2, *qkv, *proj, *fc, *fc2;
	const char *wte, *norm, *head, *embed;
} stems[] = {
	[DECODER_GPTJ] = {"transformer.h", "ln_1", "", "attn.q_proj", "attn.out_proj", "mlp.fc_in",
			  "mlp.fc_out", "transformer.wte", "transformer.ln_f", "lm_head",
			  "transformer.word_embeddings_layernorm"},
	[DECODER_NEOX] = {"gpt_neox.layers", "input_layernorm", "post_attention_layernorm",
			  "attention.query_key_value", "attention.dense", "mlp.dense_h_to_4h",
			  "mlp.dense_4h_to_h", "gpt_neox.embed_in", "gpt_neox.final_layer_norm",
			  "embed_out", "gpt_neox.word_embeddings_layernorm"},
	[DECODER_LLAMA] = {"model.layers", "input_layernorm", "post_attention_layernorm",
			   "self_attn.q_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.down_proj",
			   "model.embed_tokens", "model.norm", "lm_head",
			   "model.word_embeddings_layernorm"},
	[DECODER_BTLM] = {"transformer.h", "ln_1", "ln_2", "attn.c_attn", "attn.c_proj",
			  "mlp.c_fc2", "mlp.c_proj", "transformer.wte", "transformer.ln_f",
			  "lm_head", "transformer.word_embeddings_layernorm"},
	[DECODER_MPT] = {"transformer.blocks", "norm_1", "norm_2", "attn.Wqkv", "attn.out_proj",
			 "ffn.up_proj", "ffn.down_proj", "transformer.wte", "transformer.norm_f",
			 "lm_head", "transformer.word_embeddings_layernorm"},
};

/* NULL: the family has none */
static float *outside(const struct decoder_cfg *c, float *flat, const char *stem, const char *what)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%s", stem, what);
	return named(c, flat, name);
}

static float *part(const struct decoder_cfg *c, float *flat, uint32_t layer, const char *stem,
		   const char *what)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%u.%s.%s", stems[c->family].layers, layer, stem, what);
	return named(c, flat, name);
}

/* several matrices of one thing, and their biases, lie behind the first */
static struct weights weights_of(const struct decoder_cfg *c, float *w, uint32_t l)
{
#define PART(of) \
	part(c, w, l, stems[c->family].of, "weight"), part(c, w, l, stems[c->family].of, "bias")
	return (struct weights){PART(n1), PART(n2), PART(qkv), PART(proj), PART(fc), PART(fc2)};
#undef PART
}

static struct ends ends_of(const struct decoder_cfg *c, float *w)
{
#define OUTSIDE(of) \
	outside(c, w, stems[c->family].of, "weight"), outside(c, w, stems[c->family].of, "bias")
	struct ends e = {outside(c, w, stems[c->family].wte, "weight"), OUTSIDE(norm),
			 OUTSIDE(head), OUTSIDE(embed)};
#undef OUTSIDE

	if (c->tied)
		e.head = e.wte;
	return e;
}

/* hands out the workspace; with mem = NULL it only counts */
static size_t place(struct run *r)
{
	const struct decoder_cfg *c = r->c;
	const size_t s = r->s, h = c->hidden, f = c->filter;
	size_t at = 0;

#define TAKE(field, count) (field = r->mem ? r->mem + at : NULL, at += (count))
	for (uint32_t l = 0; l < c->layers; l++) {
		struct kept *k = &r->block[l];

		TAKE(k->x, s * h), TAKE(k->a, s * h), TAKE(k->rstd1, s), TAKE(k->mean1, s);
		TAKE(k->qkv, s * r->qw), TAKE(k->p, c->heads * s * s);
		TAKE(k->o, s * r->a);
		TAKE(k->y, s * h), TAKE(k->c, s * h), TAKE(k->rstd2, s), TAKE(k->mean2, s);
		TAKE(k->u, s * r->fw), TAKE(k->f, s * f);
	}
	TAKE(r->x0, s * h), TAKE(r->rstd0, s), TAKE(r->mean0, s);
	TAKE(r->x, s * h), TAKE(r->xn, s * h), TAKE(r->rstd, s), TAKE(r->mean, s);
	TAKE(r->logits, s * c->vocab), TAKE(r->dx, s * h), TAKE(r->dy, s * h), TAKE(r->da, s * h);
	TAKE(r->dout, s * r->a), TAKE(r->dqkv, s * r->qw), TAKE(r->du, s * r->fw),
		TAKE(r->df, s * f), TAKE(r->dp, s * s);
#undef TAKE
	return at;
}

/* ---- linear ---- */

/* y [n][out] = x [n][in] w^T + bias, which may be NULL */
static void linear(float *y, const float *x, const float *w, const float *bias, size_t n,
		   uint32_t in, uint32_t out)
{
	for (size_t i = 0; i < n && bias; i++)
		memcpy(y + i * out, bias, out * sizeof(*y));
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)out, (int)in, 1.0f, x,
		    (int)in, w, (int)in, bias ? 1.0f : 0.0f, y, (int)out);
}

/* dx [n][in] = dy w, or += (add); dw += dy^T x; dbias += sums, may be NULL */
static void linear_back(float *dx, int add, float *dw, float *dbias, const float *dy,
			const float *x, const float *w, size_t n, uint32_t in, uint32_t out)
{
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)in, (int)out, 1.0f, dy,
		    (int)out, w, (int)in, add ? 1.0f : 0.0f, dx, (int)in);
	cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)out, (int)in, (int)n, 1.0f, dy,
		    (int)out, x, (int)in, 1.0f, dw, (int)in);
	for (size_t i = 0; i < n && dbias; i++)
		for (uint32_t j = 0; j < out; j++)
			dbias[j] += dy[i * out + j];
}

/* ---- norm ---- */

/* LLaMA's, which has no mean */
static int is_rms(const struct run *r)
{
	return r->c->family == DECODER_LLAMA;
}

/*
 * y = (x - mean) rstd gain + bias, rstd = 1 / sqrt(mean((x - mean)^2) + eps); RMS: mean 0. bias may
 * be NULL
 */
static void norm(const struct run *r, float *y, float *mean, float *rstd, const float *x,
		 const float *gain, const float *bias)
{
	const uint32_t h = r->c->hidden;

	for (uint32_t t = 0; t < r->s; t++, x += h, y += h) {
		double m = 0.0, v = 0.0;

		for (uint32_t j = 0; j < h && !is_rms(r); j++)
			m += x[j];
		m /= h;
		for (uint32_t j = 0; j < h; j++)
			v += (x[j] - m) * (x[j] - m);
		mean[t] = (float)m;
		rstd[t] = (float)(1.0 / sqrt(v / h + r->c->eps));
		for (uint32_t j = 0; j < h; j++)
			y[j] = (x[j] - mean[t]) * rstd[t] * gain[j] + (bias ? bias[j] : 0.0f);
	}
}

/* dx += rstd (g - mean(g) - xhat mean(g xhat)), g = dy gain; RMS: without mean(g) */
static void norm_back(const struct run *r, float *dx, float *dgain, float *dbias, const float *dy,
		      const float *x, const float *mean, const float *rstd, const float *gain)
{
	const uint32_t h = r->c->hidden;

	for (uint32_t t = 0; t < r->s; t++, x += h, dx += h, dy += h) {
		double sum = 0.0, sumx = 0.0;

		for (uint32_t j = 0; j < h; j++) {
			float xhat = (x[j] - mean[t]) * rstd[t];

			sum += is_rms(r) ? 0.0f : dy[j] * gain[j];
			sumx += dy[j] * gain[j] * xhat;
			dgain[j] += dy[j] * xhat;
			if (dbias)
				dbias[j] += dy[j];
		}
		for (uint32_t j = 0; j < h; j++) {
			float xhat = (x[j] - mean[t]) * rstd[t];

			dx[j] += rstd[t] *
				 (dy[j] * gain[j] - (float)(sum / h) - xhat * (float)(sumx / h));
		}
	}
}

/* ---- attention ---- */

enum { Q, K, V };

/* where head i of queries, keys or values begins in a row of qkv */
static uint32_t column(const struct run *r, int what, uint32_t i)
{
	const uint32_t h = r->a, kv = (r->qw - h) / 2;

	if (r->c->family == DECODER_NEOX) /* [head][3][d] */
		return (3 * i + (uint32_t)what) * r->d;
	return (what == Q ? 0 : what == K ? h : h + kv) + i * r->d;
}

/* radians a token of pair i */
static double speed(const struct decoder_cfg *c, uint32_t i)
{
	const double base = c->base != 0.0f ? c->base : 10000.0;
	const double scale = c->scale != 0.0f ? c->scale : 1.0, pi = 3.14159265358979323846;
	const double fast = pow(base, -2.0 * i / c->rotary), turns = c->original * fast / (2 * pi);
	double mix;

	if (c->original == 0.0f)
		return fast / scale;
	mix = (turns - c->low) / (c->high - c->low);
	mix = mix < 0.0 ? 0.0 : mix > 1.0 ? 1.0 : mix;
	return mix * fast + (1.0 - mix) * fast / scale;
}

/* turns the pairs of all queries and keys: forward by the token's angle, back by its negative */
static void turn(const struct run *r, float *qkv, int back)
{
	const struct decoder_cfg *c = r->c;
	const uint32_t half = c->rotary / 2, kv = c->heads / r->group;

	for (uint32_t t = 0; t < r->s; t++)
		for (uint32_t i = 0; i < half; i++) {
			double angle = t * speed(c, i);
			float co = (float)cos(angle), si = (float)(back ? -sin(angle) : sin(angle));
			/* which two elements of a head a pair is */
			uint32_t one = c->family == DECODER_GPTJ ? 2 * i : i;
			uint32_t two = c->family == DECODER_GPTJ ? 2 * i + 1 : i + half;

			for (uint32_t n = 0; n < c->heads + kv; n++) {
				float *p = qkv + (size_t)t * r->qw +
					   (n < c->heads ? column(r, Q, n)
							 : column(r, K, n - c->heads));
				float a = p[one], b = p[two];

				p[one] = a * co - b * si;
				p[two] = b * co + a * si;
			}
		}
}

static float score_scale(const struct run *r)
{
	return r->c->score_scale != 0.0f ? r->c->score_scale : 1.0f / sqrtf((float)r->d);
}

/* ALiBi's of head i of n: powers of 2^(-8 / n), and between those of fewer heads where n is none */
static double slope(uint32_t i, uint32_t n)
{
	uint32_t below = 1;

	while (2 * below <= n)
		below *= 2;
	if (below == n)
		return pow(pow(2.0, -8.0 / n), i + 1.0);
	return i < below ? slope(i, below) : slope(2 * (i - below), 2 * below);
}

/* p [NH][S][S] = softmax(q k^T / sqrt(d), less slopes) of the past, o = p v */
static void attention(const struct run *r, struct kept *k)
{
	const uint32_t s = r->s, h = r->a, d = r->d, w = r->qw;
	const float scale = score_scale(r);

	turn(r, k->qkv, 0);
	memset(k->o, 0, (size_t)s * h * sizeof(*k->o));
	for (uint32_t n = 0; n < r->c->heads; n++) {
		const float *q = k->qkv + column(r, Q, n), *v = k->qkv + column(r, V, n / r->group);
		const float *key = k->qkv + column(r, K, n / r->group);

		for (uint32_t t = 0; t < s; t++) {
			float *p = k->p + ((size_t)n * s + t) * s,
			      *o = k->o + (size_t)t * h + n * d;
			float max = -INFINITY;
			double sum = 0.0;

			for (uint32_t u = 0; u <= t; u++) {
				p[u] = scale * cblas_sdot((int)d, q + (size_t)t * w, 1,
							  key + (size_t)u * w, 1);
				if (r->c->alibi)
					p[u] -= (float)(slope(n, r->c->heads) * (t - u));
				max = p[u] > max ? p[u] : max;
			}
			for (uint32_t u = 0; u <= t; u++)
				sum += p[u] = expf(p[u] - max);
			for (uint32_t u = 0; u <= t; u++) {
				p[u] = (float)(p[u] / sum);
				cblas_saxpy((int)d, p[u], v + (size_t)u * w, 1, o, 1);
			}
		}
	}
}

/* dout [S][A] -> dqkv: ds = p (dout v - sum over u of p dout v), and what q and k make of it */
static void attention_back(const struct run *r, const struct kept *k, const float *dout)
{
	const uint32_t s = r->s, h = r->a, d = r->d, w = r->qw;
	const float scale = score_scale(r);

	memset(r->dqkv, 0, (size_t)s * w * sizeof(*r->dqkv));
	for (uint32_t n = 0; n < r->c->heads; n++) {
		const uint32_t qc = column(r, Q, n), kc = column(r, K, n / r->group);
		const uint32_t vc = column(r, V, n / r->group);

		for (uint32_t t = 0; t < s; t++) {
			const float *p = k->p + ((size_t)n * s + t) * s;
			const float *dy = dout + (size_t)t * h + n * d;
			double dot = 0.0;

			for (uint32_t u = 0; u <= t; u++) {
				const size_t row = (size_t)u * w;

				r->dp[u] = cblas_sdot((int)d, dy, 1, k->qkv + row + vc, 1);
				dot += (double)p[u] * r->dp[u];
				cblas_saxpy((int)d, p[u], dy, 1, r->dqkv + row + vc, 1);
			}
			for (uint32_t u = 0; u <= t; u++) {
				float ds = scale * p[u] * (r->dp[u] - (float)dot);

				cblas_saxpy((int)d, ds, k->qkv + (size_t)u * w + kc, 1,
					    r->dqkv + (size_t)t * w + qc, 1);
				cblas_saxpy((int)d, ds, k->qkv + (size_t)t * w + qc, 1,
					    r->dqkv + (size_t)u * w + kc, 1);
			}
		}
	}
	turn(r, r->dqkv, 1);
}

/* ---- activation ---- */

static float activate(enum decoder_act act, float y, float *derivative)
{
	const double a = 0.7978845608028654, b = 0.044715; /* sqrt(2 / pi) */
	double s, t;

	switch (act) {
	case DECODER_GELU: /* y Phi(y) */
		s = 0.5 * (1.0 + erf(y * 0.7071067811865476));
		*derivative = (float)(s + y * 0.3989422804014327 * exp(-0.5 * y * y));
		return (float)(y * s);
	case DECODER_GELU_TANH:
		t = tanh(a * (y + b * y * y * y));
		*derivative = (float)(0.5 * (1.0 + t) +
				      0.5 * y * (1.0 - t * t) * a * (1.0 + 3.0 * b * y * y));
		return (float)(0.5 * y * (1.0 + t));
	case DECODER_SILU:
		s = 1.0 / (1.0 + exp(-y));
		*derivative = (float)(s + y * s * (1.0 - s));
		return (float)(y * s);
	default:
		*derivative = y > 0.0f ? 1.0f : 0.0f;
		return y > 0.0f ? y : 0.0f;
	}
}

/* u [S][FW] -> f [S][F] */
static void act_forward(const struct run *r, struct kept *k)
{
	const uint32_t n = r->c->filter;
	float unused;

	for (uint32_t t = 0; t < r->s; t++)
		for (uint32_t j = 0; j < n; j++) {
			const float *u = k->u + (size_t)t * r->fw;
			float y = activate(r->c->act, u[j], &unused);

			k->f[(size_t)t * n + j] = r->gated ? y * u[n + j] : y;
		}
}

/* df -> du */
static void act_back(const struct run *r, const struct kept *k)
{
	const uint32_t n = r->c->filter;

	for (uint32_t t = 0; t < r->s; t++)
		for (uint32_t j = 0; j < n; j++) {
			const float *u = k->u + (size_t)t * r->fw;
			float d, y = activate(r->c->act, u[j], &d), df = r->df[(size_t)t * n + j];

			r->du[(size_t)t * r->fw + j] = df * d * (r->gated ? u[n + j] : 1.0f);
			if (r->gated)
				r->du[(size_t)t * r->fw + n + j] = df * y;
		}
}

/* ---- blocks ---- */

static void times(float *x, float by, size_t n)
{
	for (size_t i = 0; i < n && by != 0.0f; i++)
		x[i] *= by;
}

static void add(float *to, const float *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] += from[i];
}

/* k->x -> out: what is added goes through da and dy, which are free in a forward pass */
static void block(const struct run *r, struct kept *k, const struct weights *w, float *out)
{
	const struct decoder_cfg *c = r->c;
	const uint32_t h = c->hidden;
	const size_t all = (size_t)r->s * h;
	const float *ffn_in = k->c;

	norm(r, k->a, k->mean1, k->rstd1, k->x, w->n1_g, w->n1_b);
	linear(k->qkv, k->a, w->qkv, w->qkv_b, r->s, h, r->qw);
	attention(r, k);
	linear(r->da, k->o, w->proj, w->proj_b, r->s, r->a, h);
	memcpy(k->y, k->x, all * sizeof(*k->y));
	if (r->serial)
		add(k->y, r->da, all);
	if (w->n2_g)
		norm(r, k->c, k->mean2, k->rstd2, k->y, w->n2_g, w->n2_b);
	else
		ffn_in = k->a;
	linear(k->u, ffn_in, w->fc, w->fc_b, r->s, h, r->fw);
	act_forward(r, k);
	linear(r->dy, k->f, w->fc2, w->fc2_b, r->s, c->filter, h);
	for (size_t i = 0; i < all; i++)
		out[i] = k->x[i] + r->da[i] + r->dy[i];
}

/* dx: the gradient of the block's output, then that of its input; g: gradients */
static void block_back(const struct run *r, const struct kept *k, const struct weights *w,
		       const struct weights *g)
{
	const struct decoder_cfg *c = r->c;
	const uint32_t h = c->hidden;
	const size_t all = (size_t)r->s * h;

	linear_back(r->df, 0, g->fc2, g->fc2_b, r->dx, k->f, w->fc2, r->s, c->filter, h);
	act_back(r, k);
	/* dy: of attention's output; in a serial block all that reads k->y is behind it */
	memcpy(r->dy, r->dx, all * sizeof(*r->dy));
	if (w->n2_g) {
		linear_back(r->da, 0, g->fc, g->fc_b, r->du, k->c, w->fc, r->s, h, r->fw);
		norm_back(r, r->dx, g->n2_g, g->n2_b, r->da, k->y, k->mean2, k->rstd2, w->n2_g);
		if (r->serial)
			memcpy(r->dy, r->dx, all * sizeof(*r->dy));
	}
	linear_back(r->dout, 0, g->proj, g->proj_b, r->dy, k->o, w->proj, r->s, r->a, h);
	attention_back(r, k, r->dout);
	linear_back(r->da, 0, g->qkv, g->qkv_b, r->dqkv, k->a, w->qkv, r->s, h, r->qw);
	if (!w->n2_g) /* GPT-J: both read the same norm */
		linear_back(r->da, 1, g->fc, g->fc_b, r->du, k->a, w->fc, r->s, h, r->fw);
	norm_back(r, r->dx, g->n1_g, g->n1_b, r->da, k->x, k->mean1, k->rstd1, w->n1_g);
}

/* ---- the model ---- */

/* logits [S][V] -> sum of the losses; logits become (softmax - target) x scale */
static double cross_entropy(const struct run *r, const uint32_t *next, float scale)
{
	const uint32_t n = r->c->vocab;
	double loss = 0.0;

	for (uint32_t t = 0; t < r->s; t++) {
		float *y = r->logits + (size_t)t * n, max = y[0], target = y[next[t]];
		double sum = 0.0;

		for (uint32_t i = 1; i < n; i++)
			max = y[i] > max ? y[i] : max;
		for (uint32_t i = 0; i < n; i++)
			sum += y[i] = expf(y[i] - max);
		for (uint32_t i = 0; i < n; i++)
			y[i] = (float)(y[i] / sum) * scale;
		y[next[t]] -= scale;
		loss += log(sum) - (target - max);
	}
	return loss;
}

/* tokens [S + 1] of one sequence; logits and grads may be NULL; the sum of the losses */
static double sequence(const struct run *r, float *params, const uint32_t *tokens, float *grads,
		       float *logits, float scale)
{
	const struct decoder_cfg *c = r->c;
	const uint32_t h = c->hidden, s = r->s;
	const struct ends e = ends_of(c, params), g = ends_of(c, grads);
	double loss;

	for (uint32_t t = 0; t < s; t++)
		memcpy(r->x + (size_t)t * h, e.wte + (size_t)tokens[t] * h, h * sizeof(float));
	times(r->x, c->embed_scale, (size_t)s * h);
	if (c->embed_norm) {
		memcpy(r->x0, r->x, (size_t)s * h * sizeof(float));
		norm(r, r->x, r->mean0, r->rstd0, r->x0, e.embed_g, e.embed_b);
	}
	for (uint32_t l = 0; l < c->layers; l++) {
		struct weights w = weights_of(c, params, l);

		memcpy(r->block[l].x, r->x, (size_t)s * h * sizeof(float));
		block(r, &r->block[l], &w, r->x);
	}
	norm(r, r->xn, r->mean, r->rstd, r->x, e.norm_g, e.norm_b);
	linear(r->logits, r->xn, e.head, e.head_b, s, h, c->vocab);
	times(r->logits, c->logits_scale, (size_t)s * c->vocab);
	if (logits)
		memcpy(logits, r->logits, (size_t)s * c->vocab * sizeof(float));
	loss = cross_entropy(r, tokens + 1, scale);
	if (!grads)
		return loss;
	times(r->logits, c->logits_scale, (size_t)s * c->vocab);
	linear_back(r->da, 0, g.head, g.head_b, r->logits, r->xn, e.head, s, h, c->vocab);
	memset(r->dx, 0, (size_t)s * h * sizeof(float));
	norm_back(r, r->dx, g.norm_g, g.norm_b, r->da, r->x, r->mean, r->rstd, e.norm_g);
	for (uint32_t l = c->layers; l-- > 0;) {
		struct weights w = weights_of(c, params, l), gw = weights_of(c, grads, l);

		block_back(r, &r->block[l], &w, &gw);
	}
	if (c->embed_norm) {
		memcpy(r->da, r->dx, (size_t)s * h * sizeof(float));
		memset(r->dx, 0, (size_t)s * h * sizeof(float));
		norm_back(r, r->dx, g.embed_g, g.embed_b, r->da, r->x0, r->mean0, r->rstd0,
			  e.embed_g);
	}
	times(r->dx, c->embed_scale, (size_t)s * h);
	for (uint32_t t = 0; t < s; t++)
		add(g.wte + (size_t)tokens[t] * h, r->dx + (size_t)t * h, h);
	return loss;
}

double decoder_loss(const struct decoder_cfg *c, const float *params, const uint32_t *tokens,
		    uint32_t b, uint32_t s, float *grads, float *logits)
{
	const uint32_t kv = c->kv_heads ? c->kv_heads : c->heads;
	struct run r = {.c = c,
			.s = s,
			.d = decoder_head(c),
			.group = c->heads / kv,
			.a = c->heads * decoder_head(c),
			.qw = (c->heads + 2 * kv) * decoder_head(c),
			.gated = c->family == DECODER_LLAMA || c->family == DECODER_BTLM,
			.serial = c->family == DECODER_LLAMA || c->family == DECODER_BTLM ||
				  c->family == DECODER_MPT ||
				  (c->family == DECODER_NEOX && c->serial)};
	double loss = NAN;

	r.fw = r.gated ? 2 * c->filter : c->filter;
	r.block = calloc(c->layers, sizeof(*r.block));
	r.mem = r.block ? calloc(place(&r), sizeof(float)) : NULL;
	if (r.mem) {
		place(&r);
		loss = 0.0;
		if (grads)
			memset(grads, 0, decoder_nparams(c) * sizeof(*grads));
		/* parameters are read alone; the same struct has their gradients */
		for (uint32_t i = 0; i < b; i++)
			loss += sequence(&r, (float *)(uintptr_t)params, tokens + i * (s + 1),
					 grads, logits ? logits + (size_t)i * s * c->vocab : NULL,
					 1.0f / (float)(b * s));
		loss /= b * s;
	}
	free(r.block);
	free(r.mem);
	return loss;
}
