/* SPDX-License-Identifier: MIT */
/*
 * The loss of a GPT of any form in binary64, as the papers say it: a plain forward pass over a
 * sequence of at most 64 tokens, which shares nothing with the library but the table of tensors.
 */
#ifndef WSE_TEST_EXACT_GPT_H
#define WSE_TEST_EXACT_GPT_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/gpt_tensors.h"
#include "ops/drop.h"

struct exact {
	const struct wse_gpt *m;
	const struct wse_tensor_table *tab;
	const double *p; /* parameters, in the table's order */
	uint32_t seq;
	const struct wse_micro_batch *job; /* of which something is dropped; NULL: nothing is */
};

/* what a place (0: embeddings; 3 layer + 1, 2, 3: attention, its output, FFN) multiplies by */
static double kept(const struct exact *e, uint32_t place, float rate, uint32_t t, uint32_t f)
{
	struct wse_drop d = {0};

	if (e->job)
		d = wse_drop_of(e->job, place, rate);
	return !d.keep ? 1 : wse_drop_keeps(&d, t, f) ? 1 / (1 - (double)rate) : 0;
}

static const double *tensor(const struct exact *e, uint32_t t)
{
	return t == WSE_NO_TENSOR ? NULL : e->p + e->tab->t[t].off;
}

/* y [seq][outs] = x [seq][ins] w^T + bias */
static void product(const struct exact *e, uint32_t w, uint32_t bias, const double *x, double *y,
		    uint32_t outs, uint32_t ins)
{
	const double *a = tensor(e, w), *b = tensor(e, bias);

	for (uint32_t t = 0; t < e->seq; t++)
		for (uint32_t n = 0; n < outs; n++) {
			double s = b ? b[n] : 0;

			for (uint32_t k = 0; k < ins; k++)
				s += a[(size_t)n * ins + k] * x[(size_t)t * ins + k];
			y[(size_t)t * outs + n] = s;
		}
}

static void normed(const struct exact *e, uint32_t gain, uint32_t bias, const double *x, double *y)
{
	const double *g = tensor(e, gain), *b = tensor(e, bias);
	uint32_t h = e->m->hidden;

	for (uint32_t t = 0; t < e->seq; t++, x += h, y += h) {
		double mean = 0, var = 0;

		for (uint32_t i = 0; i < h && e->m->norm != WSE_GPT_NORM_RMS; i++)
			mean += x[i] / h;
		for (uint32_t i = 0; i < h; i++)
			var += (x[i] - mean) * (x[i] - mean) / h;
		for (uint32_t i = 0; i < h; i++)
			y[i] = (x[i] - mean) / sqrt(var + e->m->eps) * g[i] + (b ? b[i] : 0);
	}
}

/* the head x [d] of position t */
static void turned(const struct wse_gpt *m, double *x, uint32_t t)
{
	double base = m->rotary_base != 0 ? m->rotary_base : 10000;
	double scale = m->rotary_scale != 0 ? m->rotary_scale : 1;

	for (uint32_t i = 0; i < m->rotary / 2; i++) {
		double w = pow(base, -2.0 * i / m->rotary), a = 1, b;

		/* LLaMA 3's: of how many turns in `original` tokens the speed is the scaled one */
		if (m->rotary_original != 0)
			a = (m->rotary_high - m->rotary_original * w / (2 * M_PI)) /
			    (m->rotary_high - m->rotary_low);
		a = fmin(fmax(a, 0), 1);
		w *= t * (1 - a + a / scale);
		double *first = m->rotary_halves ? &x[i] : &x[2 * i];
		double *second = m->rotary_halves ? &x[i + m->rotary / 2] : &x[2 * i + 1];

		a = *first;
		b = *second;
		*first = a * cos(w) - b * sin(w);
		*second = b * cos(w) + a * sin(w);
	}
}

/* qkv [seq][heads and twice kv, of d] -> o [seq][heads * d] */
static void attended(const struct exact *e, uint32_t layer, double *qkv, double *o)
{
	const struct wse_gpt *m = e->m;
	uint32_t kv = m->kv_heads ? m->kv_heads : m->heads, d = wse_gpt_head_dim(m);
	uint32_t inner = wse_gpt_inner(m), width = inner + 2 * kv * d;

	for (uint32_t t = 0; t < e->seq; t++)
		for (uint32_t a = 0; a < m->heads + kv; a++)
			turned(m, qkv + (size_t)t * width + a * d, t);
	memset(o, 0, sizeof(*o) * e->seq * inner);
	for (uint32_t t = 0; t < e->seq; t++)
		for (uint32_t a = 0; a < m->heads; a++) {
			const double *q = qkv + (size_t)t * width + a * d;
			uint32_t of = a / (m->heads / kv);
			double p[64], sum = 0;

			for (uint32_t u = 0; u <= t; u++) {
				const double *k = qkv + (size_t)u * width + inner + of * d;
				double s = 0;

				for (uint32_t f = 0; f < d; f++)
					s += q[f] * k[f];
				s *= m->score_scale != 0 ? m->score_scale : 1 / sqrt(d);
				/* heads are a power of two */
				if (m->alibi)
					s -= pow(2, -8.0 * (a + 1) / m->heads) * (t - u);
				sum += p[u] = exp(s);
			}
			for (uint32_t u = 0; u <= t; u++)
				for (uint32_t f = 0; f < d; f++)
					o[(size_t)t * inner + a * d + f] +=
						kept(e, 3 * layer + 1, m->drop_attention, t,
						     a * m->seq + u) *
						p[u] / sum *
						qkv[(size_t)u * width + inner + (kv + of) * d +
						    f];
		}
}

/* what the FFN's first layer makes, y [seq][filter], or [seq][2 filter] of gate and factor */
static void activated(const struct wse_gpt *m, uint32_t seq, double *y)
{
	uint32_t f = m->filter, per = m->gated ? 2 * f : f;

	for (uint32_t t = 0; t < seq; t++)
		for (uint32_t i = 0; i < f; i++) {
			double v = y[(size_t)t * per + i], u;

			u = sqrt(2 / M_PI) * (v + 0.044715 * v * v * v);
			y[(size_t)t * f + i] =
				m->gated ? v / (1 + exp(-v)) * y[(size_t)t * per + f + i]
					 : 0.5 * v * (1 + tanh(u));
		}
}

/* what is left of y, onto x [seq][hidden] */
static void add_to(const struct exact *e, uint32_t place, double *x, const double *y)
{
	const uint32_t h = e->m->hidden;

	for (uint32_t t = 0; t < e->seq; t++)
		for (uint32_t i = 0; i < h; i++)
			x[t * h + i] += y[t * h + i] *
					kept(e, place, e->m->drop_residual, t, i);
}

/* the mean loss of tokens [seq + 1] */
static double exact_loss(const struct exact *e, const uint16_t *tokens)
{
	const struct wse_gpt *m = e->m;
	uint32_t h = m->hidden, inner = wse_gpt_inner(m), qkv = inner + 2 * wse_gpt_kv_width(m);
	size_t n = (size_t)e->seq * h;
	double *x = calloc(n, 8), *a = calloc(n, 8), *y = calloc(n, 8);
	double *o = calloc((size_t)e->seq * inner, 8);
	double *wide = calloc((size_t)e->seq * (qkv + 2 * m->filter + m->vocab), 8), loss = 0;
	struct wse_gpt_tensors all;

	wse_gpt_tensors_of(m, &all);
	for (uint32_t t = 0; t < e->seq; t++)
		for (uint32_t i = 0; i < h; i++) {
			x[t * h + i] = tensor(e, all.wte)[(size_t)tokens[t] * h + i];
			if (m->learned)
				x[t * h + i] += tensor(e, all.wpe)[(size_t)t * h + i];
			x[t * h + i] *= m->embed_scale != 0 ? m->embed_scale : 1;
			x[t * h + i] *= kept(e, 0, m->drop_embed, t, i);
		}
	for (uint32_t l = 0; l < m->layers; l++) {
		struct wse_gpt_block_tensors k;

		wse_gpt_block_tensors_of(m, l, &k);
		normed(e, k.ln1_g, k.ln1_b, x, a);
		product(e, k.qkv_w, k.qkv_b, a, wide, qkv, h);
		attended(e, l, wide, o);
		product(e, k.proj_w, k.proj_b, o, y, h, inner);
		if (m->block == WSE_GPT_SERIAL)
			add_to(e, 3 * l + 2, x, y);
		if (m->block != WSE_GPT_PARALLEL_ONE)
			normed(e, k.ln2_g, k.ln2_b, x, a);
		if (m->block != WSE_GPT_SERIAL)
			add_to(e, 3 * l + 2, x, y);
		product(e, k.fc_w, k.fc_b, a, wide, m->filter * (m->gated ? 2 : 1), h);
		activated(m, e->seq, wide);
		product(e, k.fc2_w, k.fc2_b, wide, y, h, m->filter);
		add_to(e, 3 * l + 3, x, y);
	}
	normed(e, all.ln_f_g, all.ln_f_b, x, a);
	product(e, all.head_w, all.head_b, a, wide, m->vocab, h);
	for (size_t i = 0; i < (size_t)e->seq * m->vocab; i++)
		wide[i] *= m->logits_scale != 0 ? m->logits_scale : 1;
	for (uint32_t t = 0; t < e->seq; t++) {
		double sum = 0;

		for (uint32_t v = 0; v < m->vocab; v++)
			sum += exp(wide[(size_t)t * m->vocab + v]);
		loss += (log(sum) - wide[(size_t)t * m->vocab + tokens[t + 1]]) / e->seq;
	}
	free(x);
	free(a);
	free(o);
	free(y);
	free(wide);
	return loss;
}

#endif
