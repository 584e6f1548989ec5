// SPDX-License-Identifier: MIT
/*
 * The reference of GPT-J, GPT-NeoX, LLaMA, BTLM and MPT against an independent forward pass in
 * binary64, written token by token from the definitions: the loss, and every gradient against
 * central differences. Then what a decoder does not do (look at the future), and what rotary
 * positions do.
 */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/num.h"
#include "ref/decoder_ref.h"
#include "tap.h"

#define MAX_S 12
#define MAX_H 32
#define MAX_F 48

/* ---- the definition, in binary64 ---- */

struct model {
	const struct decoder_cfg *c;
	const double *p;
	uint32_t layer;
};

/* where a configuration's tensors are, by literal and layer; forgotten with the next one */
static struct {
	const char *literal;
	uint32_t layer;
	size_t off; /* SIZE_MAX: nowhere */
} known[128];
static uint32_t nknown;

/* a tensor by its name, a literal, NULL: there is none; '#' is the layer */
static const double *at(const struct model *m, const char *literal)
{
	char want[64], *to = want;
	uint32_t k = 0;

	while (k < nknown && (known[k].literal != literal || known[k].layer != m->layer))
		k++;
	if (k < nknown)
		return known[k].off == SIZE_MAX ? NULL : m->p + known[k].off;
	for (const char *p = literal; *p; p++)
		to += *p == '#' ? sprintf(to, "%u", m->layer) : sprintf(to, "%c", *p);
	known[k].off = SIZE_MAX;
	for (uint32_t i = 0; i < decoder_ntensors(m->c); i++) {
		struct decoder_tensor t = decoder_tensor(m->c, i);

		if (!strcmp(t.name, want))
			known[k].off = t.off;
	}
	known[k].literal = literal;
	known[k].layer = m->layer;
	nknown++;
	return at(m, literal);
}

static void affine(double *y, const double *x, const double *w, const double *b, uint32_t in,
		   uint32_t out)
{
	for (uint32_t o = 0; o < out; o++) {
		y[o] = b ? b[o] : 0;
		for (uint32_t i = 0; i < in; i++)
			y[o] += w[o * in + i] * x[i];
	}
}

static void norm(const struct model *m, double *y, const double *x, const double *g,
		 const double *b)
{
	uint32_t n = m->c->hidden;
	double mean = 0, var = 0;

	for (uint32_t i = 0; i < n && m->c->family != DECODER_LLAMA; i++)
		mean += x[i] / n;
	for (uint32_t i = 0; i < n; i++)
		var += (x[i] - mean) * (x[i] - mean) / n;
	for (uint32_t i = 0; i < n; i++)
		y[i] = (x[i] - mean) / sqrt(var + m->c->eps) * g[i] + (b ? b[i] : 0);
}

static double act(enum decoder_act a, double y)
{
	switch (a) {
	case DECODER_GELU:
		return y * erfc(-y / sqrt(2)) / 2;
	case DECODER_GELU_TANH:
		return y / (1 + exp(-2 * sqrt(2 / M_PI) * (y + 0.044715 * y * y * y)));
	case DECODER_SILU:
		return y / (1 + exp(-y));
	default:
		return y > 0 ? y : 0;
	}
}

/* a head of token t, its pairs times e^(i angle) */
static void turned(const struct decoder_cfg *c, double *to, const double *from, uint32_t t)
{
	uint32_t d = c->hidden / c->heads, half = c->rotary / 2;

	memcpy(to, from, d * sizeof(*to));
	for (uint32_t i = 0; i < half; i++) {
		uint32_t one = c->family == DECODER_GPTJ ? 2 * i : i;
		uint32_t two = c->family == DECODER_GPTJ ? 2 * i + 1 : half + i;
		double complex z = (from[one] + I * from[two]) *
				   cexp(I * (t / (double)c->scale) /
					pow(c->base, (double)(2 * i) / c->rotary));

		to[one] = creal(z);
		to[two] = cimag(z);
	}
}

/* queries, keys and values of a token, each head after the other */
static void project(const struct model *m, const double *a, double *q, double *k, double *v)
{
	uint32_t h = m->c->hidden, d = h / m->c->heads;
	uint32_t kv = (m->c->kv_heads ? m->c->kv_heads : m->c->heads) * d;
	double all[3 * MAX_H], *part[3] = {q, k, v};

	if (m->c->family == DECODER_NEOX) {
		affine(all, a, at(m, "gpt_neox.layers.#.attention.query_key_value.weight"),
		       at(m, "gpt_neox.layers.#.attention.query_key_value.bias"), h, 3 * h);
		for (uint32_t i = 0; i < 3 * h; i++)
			part[i / d % 3][i / (3 * d) * d + i % d] = all[i];
		return;
	}
	if (m->c->family == DECODER_GPTJ) {
		affine(q, a, at(m, "transformer.h.#.attn.q_proj.weight"), NULL, h, h);
		affine(k, a, at(m, "transformer.h.#.attn.k_proj.weight"), NULL, h, kv);
		affine(v, a, at(m, "transformer.h.#.attn.v_proj.weight"), NULL, h, kv);
		return;
	}
	if (m->c->family == DECODER_BTLM || m->c->family == DECODER_MPT) {
		if (m->c->family == DECODER_MPT)
			affine(all, a, at(m, "transformer.blocks.#.attn.Wqkv.weight"), NULL, h,
			       3 * h);
		else
			affine(all, a, at(m, "transformer.h.#.attn.c_attn.weight"),
			       at(m, "transformer.h.#.attn.c_attn.bias"), h, 3 * h);
		for (uint32_t i = 0; i < 3 * h; i++)
			part[i / h][i % h] = all[i];
		return;
	}
	affine(q, a, at(m, "model.layers.#.self_attn.q_proj.weight"), NULL, h, h);
	affine(k, a, at(m, "model.layers.#.self_attn.k_proj.weight"), NULL, h, kv);
	affine(v, a, at(m, "model.layers.#.self_attn.v_proj.weight"), NULL, h, kv);
}

/* ALiBi's: those of two heads, then every second one of four */
static const double slopes_of_3[] = {1.0 / 16, 1.0 / 256, 1.0 / 4};

/* y [s][H]: what attention adds, of a [s][H] */
static void attend(const struct model *m, double (*a)[MAX_H], double (*y)[MAX_H], uint32_t s)
{
	const struct decoder_cfg *c = m->c;
	uint32_t h = c->hidden, d = h / c->heads, group = c->kv_heads ? c->heads / c->kv_heads : 1;
	static double q[MAX_S][MAX_H], k[MAX_S][MAX_H], v[MAX_S][MAX_H];
	double o[MAX_H], tq[MAX_H], tk[MAX_H], e[MAX_S];

	for (uint32_t t = 0; t < s; t++)
		project(m, a[t], q[t], k[t], v[t]);
	for (uint32_t t = 0; t < s; t++) {
		for (uint32_t n = 0; n < c->heads; n++) {
			double sum = 0;

			turned(c, tq, q[t] + n * d, t);
			for (uint32_t u = 0; u <= t; u++) {
				turned(c, tk, k[u] + n / group * d, u);
				e[u] = 0;
				for (uint32_t i = 0; i < d; i++)
					e[u] += tq[i] * tk[i] / sqrt(d);
				if (c->alibi)
					e[u] -= slopes_of_3[n] * (t - u);
				sum += e[u] = exp(e[u]);
			}
			for (uint32_t i = 0; i < d; i++) {
				o[n * d + i] = 0;
				for (uint32_t u = 0; u <= t; u++)
					o[n * d + i] += e[u] / sum * v[u][n / group * d + i];
			}
		}
		if (c->family == DECODER_GPTJ)
			affine(y[t], o, at(m, "transformer.h.#.attn.out_proj.weight"), NULL, h, h);
		else if (c->family == DECODER_NEOX)
			affine(y[t], o, at(m, "gpt_neox.layers.#.attention.dense.weight"),
			       at(m, "gpt_neox.layers.#.attention.dense.bias"), h, h);
		else if (c->family == DECODER_BTLM)
			affine(y[t], o, at(m, "transformer.h.#.attn.c_proj.weight"),
			       at(m, "transformer.h.#.attn.c_proj.bias"), h, h);
		else if (c->family == DECODER_MPT)
			affine(y[t], o, at(m, "transformer.blocks.#.attn.out_proj.weight"), NULL, h,
			       h);
		else
			affine(y[t], o, at(m, "model.layers.#.self_attn.o_proj.weight"), NULL, h,
			       h);
	}
}

/* what the FFN adds, of one token */
static void feed(const struct model *m, const double *a, double *y)
{
	uint32_t h = m->c->hidden, f = m->c->filter;
	double u[MAX_F], g[MAX_F];

	if (m->c->family == DECODER_LLAMA) {
		affine(g, a, at(m, "model.layers.#.mlp.gate_proj.weight"),
		       at(m, "model.layers.#.mlp.gate_proj.bias"), h, f);
		affine(u, a, at(m, "model.layers.#.mlp.up_proj.weight"),
		       at(m, "model.layers.#.mlp.up_proj.bias"), h, f);
		for (uint32_t i = 0; i < f; i++)
			u[i] *= act(m->c->act, g[i]);
		affine(y, u, at(m, "model.layers.#.mlp.down_proj.weight"),
		       at(m, "model.layers.#.mlp.down_proj.bias"), f, h);
		return;
	}
	if (m->c->family == DECODER_BTLM) {
		affine(g, a, at(m, "transformer.h.#.mlp.c_fc2.weight"),
		       at(m, "transformer.h.#.mlp.c_fc2.bias"), h, f);
		affine(u, a, at(m, "transformer.h.#.mlp.c_fc.weight"),
		       at(m, "transformer.h.#.mlp.c_fc.bias"), h, f);
		for (uint32_t i = 0; i < f; i++)
			u[i] *= act(m->c->act, g[i]);
		affine(y, u, at(m, "transformer.h.#.mlp.c_proj.weight"),
		       at(m, "transformer.h.#.mlp.c_proj.bias"), f, h);
		return;
	}
	if (m->c->family == DECODER_MPT) {
		affine(u, a, at(m, "transformer.blocks.#.ffn.up_proj.weight"), NULL, h, f);
		for (uint32_t i = 0; i < f; i++)
			u[i] = act(m->c->act, u[i]);
		affine(y, u, at(m, "transformer.blocks.#.ffn.down_proj.weight"), NULL, f, h);
		return;
	}
	if (m->c->family == DECODER_GPTJ)
		affine(u, a, at(m, "transformer.h.#.mlp.fc_in.weight"),
		       at(m, "transformer.h.#.mlp.fc_in.bias"), h, f);
	else
		affine(u, a, at(m, "gpt_neox.layers.#.mlp.dense_h_to_4h.weight"),
		       at(m, "gpt_neox.layers.#.mlp.dense_h_to_4h.bias"), h, f);
	for (uint32_t i = 0; i < f; i++)
		u[i] = act(m->c->act, u[i]);
	if (m->c->family == DECODER_GPTJ)
		affine(y, u, at(m, "transformer.h.#.mlp.fc_out.weight"),
		       at(m, "transformer.h.#.mlp.fc_out.bias"), f, h);
	else
		affine(y, u, at(m, "gpt_neox.layers.#.mlp.dense_4h_to_h.weight"),
		       at(m, "gpt_neox.layers.#.mlp.dense_4h_to_h.bias"), f, h);
}

/*
 * the norm before attention (0), before the FFN (1), before the output layer (2), before the blocks
 */
static void norm_of(const struct model *m, int which, double *y, const double *x)
{
	static const char *const names[5][4][2] = {
		{{"transformer.h.#.ln_1.weight", "transformer.h.#.ln_1.bias"},
		 {"transformer.h.#.ln_1.weight", "transformer.h.#.ln_1.bias"},
		 {"transformer.ln_f.weight", "transformer.ln_f.bias"},
		 {"transformer.word_embeddings_layernorm.weight",
		  "transformer.word_embeddings_layernorm.bias"}},
		{{"gpt_neox.layers.#.input_layernorm.weight",
		  "gpt_neox.layers.#.input_layernorm.bias"},
		 {"gpt_neox.layers.#.post_attention_layernorm.weight",
		  "gpt_neox.layers.#.post_attention_layernorm.bias"},
		 {"gpt_neox.final_layer_norm.weight", "gpt_neox.final_layer_norm.bias"},
		 {"gpt_neox.word_embeddings_layernorm.weight",
		  "gpt_neox.word_embeddings_layernorm.bias"}},
		{{"model.layers.#.input_layernorm.weight", "no bias"},
		 {"model.layers.#.post_attention_layernorm.weight", "no bias"},
		 {"model.norm.weight", "no bias"},
		 {"model.word_embeddings_layernorm.weight", "no bias"}},
		{{"transformer.h.#.ln_1.weight", "transformer.h.#.ln_1.bias"},
		 {"transformer.h.#.ln_2.weight", "transformer.h.#.ln_2.bias"},
		 {"transformer.ln_f.weight", "transformer.ln_f.bias"},
		 {"transformer.word_embeddings_layernorm.weight",
		  "transformer.word_embeddings_layernorm.bias"}},
		{{"transformer.blocks.#.norm_1.weight", "no bias"},
		 {"transformer.blocks.#.norm_2.weight", "no bias"},
		 {"transformer.norm_f.weight", "no bias"},
		 {"transformer.word_embeddings_layernorm.weight", "no bias"}}};
	const char *const *name = names[m->c->family][which];

	norm(m, y, x, at(m, name[0]), at(m, name[1]));
}

/* sum of the losses of one sequence of s + 1 tokens */
static double sequence(const struct decoder_cfg *c, const double *p, const uint32_t *tok,
		       uint32_t s)
{
	static const char *const wte[] = {"transformer.wte.weight", "gpt_neox.embed_in.weight",
					  "model.embed_tokens.weight", "transformer.wte.weight",
					  "transformer.wte.weight"};
	struct model m = {c, p, 0};
	const double *e = at(&m, wte[c->family]);
	const double *head =
		at(&m, c->family == DECODER_NEOX ? "embed_out.weight" : "lm_head.weight");
	static double x[MAX_S][MAX_H], a[MAX_S][MAX_H], y[MAX_S][MAX_H];
	int serial = c->family == DECODER_LLAMA || c->family == DECODER_BTLM ||
		     c->family == DECODER_MPT || c->serial;
	double z[MAX_H], f[MAX_H], logits[64], loss = 0;

	for (uint32_t t = 0; t < s; t++)
		memcpy(x[t], e + tok[t] * c->hidden, c->hidden * sizeof(double));
	for (uint32_t t = 0; t < s && c->embed_norm; t++) {
		memcpy(z, x[t], c->hidden * sizeof(double));
		norm_of(&m, 3, x[t], z);
	}
	for (; m.layer < c->layers; m.layer++) {
		for (uint32_t t = 0; t < s; t++)
			norm_of(&m, 0, a[t], x[t]);
		attend(&m, a, y, s);
		for (uint32_t t = 0; t < s; t++) {
			for (uint32_t i = 0; i < c->hidden; i++)
				z[i] = x[t][i] + (serial ? y[t][i] : 0);
			norm_of(&m, c->family != DECODER_GPTJ, a[t], z);
			feed(&m, a[t], f);
			for (uint32_t i = 0; i < c->hidden; i++)
				x[t][i] += y[t][i] + f[i];
		}
	}
	for (uint32_t t = 0; t < s; t++) {
		double sum = 0;

		norm_of(&m, 2, z, x[t]);
		affine(logits, z, head ? head : e, at(&m, "lm_head.bias"), c->hidden, c->vocab);
		for (uint32_t v = 0; v < c->vocab; v++)
			sum += exp(logits[v]);
		loss += log(sum) - logits[tok[t + 1]];
	}
	return loss;
}

static double mean_loss(const struct decoder_cfg *c, const double *p, const uint32_t *tok,
			uint32_t b, uint32_t s)
{
	double sum = 0;

	for (uint32_t i = 0; i < b; i++)
		sum += sequence(c, p, tok + i * (s + 1), s);
	return sum / (b * s);
}

/* ---- gradients ---- */

enum { B = 2, S = 7 };

static void fill(const struct decoder_cfg *c, float *p, uint32_t *tok)
{
	for (uint32_t i = 0; i < decoder_ntensors(c); i++) {
		struct decoder_tensor t = decoder_tensor(c, i);
		int gain = t.ndim == 1 && strstr(t.name, "norm.weight");

		gain |= (strstr(t.name, "ln_") || strstr(t.name, "norm")) &&
			strstr(t.name, "weight");
		for (size_t j = 0; j < t.count; j++)
			p[t.off + j] = (float)(0.3 * wse_rng_normal(7, i, j)) + (float)gain;
	}
	for (uint32_t i = 0; i < B * (S + 1); i++)
		tok[i] = (uint32_t)(wse_rng_u64(9, 0, i) % c->vocab);
}

static void gradients(const char *what, const struct decoder_cfg *c)
{
	const double step = 1e-5;
	size_t n = decoder_nparams(c);
	float *p = malloc(n * sizeof(*p)), *g = malloc(n * sizeof(*g));
	double *x = malloc(n * sizeof(*x)), *want = malloc(n * sizeof(*want));
	double loss, exact, total = 0, worst = 0;
	uint32_t tok[B * (S + 1)];
	char name[64] = "none";

	if (!p || !g || !x || !want || decoder_check(c))
		abort();
	nknown = 0;
	fill(c, p, tok);
	for (size_t i = 0; i < n; i++)
		x[i] = p[i];
	loss = decoder_loss(c, p, tok, B, S, g, NULL);
	exact = mean_loss(c, x, tok, B, S);
	ok(fabs(loss - exact) < 2e-6 * exact, "%s: loss %.8f, in binary64 %.8f", what, loss, exact);
	for (size_t i = 0; i < n; i++) {
		double old = x[i], up;

		if (TAP_SANITIZED && i % 7) { /* each of them costs two losses */
			want[i] = g[i];
			continue;
		}
		x[i] = old + step;
		up = mean_loss(c, x, tok, B, S);
		x[i] = old - step;
		want[i] = (up - mean_loss(c, x, tok, B, S)) / (2 * step);
		x[i] = old;
		total += want[i] * want[i];
	}
	for (uint32_t i = 0; i < decoder_ntensors(c); i++) {
		struct decoder_tensor t = decoder_tensor(c, i);
		double dd = 0, bb = 0, far;

		for (size_t j = t.off; j < t.off + t.count; j++) {
			dd += (g[j] - want[j]) * (g[j] - want[j]);
			bb += want[j] * want[j];
		}
		far = sqrt(dd) / (1e-5 * sqrt(bb) + 1e-7 * sqrt(total));
		if (!(far <= worst)) {
			worst = far;
			snprintf(name, sizeof(name), "%s", t.name);
		}
	}
	ok(worst <= 1 && total > 0, "%s: %zu gradients; worst tensor %s, at %.2f of the bound",
	   what, n, name, worst);
	free(p);
	free(g);
	free(x);
	free(want);
}

/* ---- what predicts what ---- */

static const struct decoder_cfg small = {.family = DECODER_LLAMA,
					 .vocab = 13,
					 .hidden = 16,
					 .layers = 2,
					 .heads = 4,
					 .kv_heads = 2,
					 .filter = 24,
					 .rotary = 4,
					 .base = 10000,
					 .scale = 1,
					 .act = DECODER_SILU,
					 .eps = 1e-5f};

static void causal(void)
{
	size_t n = decoder_nparams(&small), row = small.vocab;
	float *p = malloc(n * sizeof(*p)), before[S * 13], after[S * 13];
	uint32_t tok[B * (S + 1)];
	int past = 1, future = 1;

	if (!p)
		abort();
	fill(&small, p, tok);
	decoder_loss(&small, p, tok, 1, S, NULL, before);
	for (uint32_t t = 0; t < S; t++) {
		uint32_t old = tok[t];

		tok[t] = (old + 1) % small.vocab;
		decoder_loss(&small, p, tok, 1, S, NULL, after);
		past &= !memcmp(before, after, t * row * sizeof(float));
		for (uint32_t u = t; u < S; u++)
			future &= !!memcmp(before + u * row, after + u * row, row * sizeof(float));
		tok[t] = old;
	}
	ok(past, "a token changes no logit before it");
	ok(future, "a token changes the logits of every position from its own on");
	free(p);
}

/* rotary positions are relative: the same token everywhere has the same logits everywhere */
static void relative(void)
{
	struct decoder_cfg c = small, half = small;
	size_t n = decoder_nparams(&c);
	float *p = malloc(n * sizeof(*p)), one[S * 13], two[S * 13];
	uint32_t tok[B * (S + 1)], same[S + 1] = {0};
	double far = 0;

	if (!p)
		abort();
	fill(&c, p, tok);
	decoder_loss(&c, p, same, 1, S, NULL, one);
	for (uint32_t i = 13; i < S * 13; i++)
		far = fmax(far, fabs(one[i] - one[i % 13]));
	ok(far < 1e-5, "equal tokens have equal logits wherever they are: %.1e", far);
	half.scale = 2;
	decoder_loss(&c, p, tok, 1, S, NULL, one);
	decoder_loss(&half, p, tok, 1, S, NULL, two);
	ok(!memcmp(one, two, 13 * sizeof(float)) && memcmp(one + 13, two + 13, 13 * sizeof(float)),
	   "a scale changes all positions but the first");
	half.rotary = 0;
	c.base = 1e9f;
	decoder_loss(&half, p, tok, 1, S, NULL, two);
	ok(memcmp(one + 26, two + 26, 13 * sizeof(float)), "without rotary positions others");
	free(p);
}

/* GPT-NeoX's blocks in series with slopes and a norm behind the embeddings */
static void bloom(struct decoder_cfg c)
{
	c.rotary = 0;
	c.alibi = c.embed_norm = c.tied = 1;
	c.hidden = 12;
	c.heads = 3;
	gradients("BLOOM, 3 heads", &c);
	c.family = DECODER_LLAMA;
	c.act = DECODER_SILU;
	c.layers = 1;
	gradients("LLaMA, slopes, a norm behind the embeddings", &c);
	c.embed_norm = 0;
	c.ffn_bias = 1;
	gradients("LLaMA, slopes, biases of the FFN", &c);
	c.family = DECODER_BTLM;
	c.layers = 2;
	gradients("BTLM, 3 heads", &c);
	c.rotary = 2;
	ok(decoder_check(&c), "BTLM with rotary positions is refused");
	c.rotary = 0;
	c.family = DECODER_MPT;
	c.act = DECODER_GELU;
	gradients("MPT, 3 heads", &c);
	c.tied = 0;
	c.embed_norm = 1;
	gradients("MPT, untied, a norm behind the embeddings", &c);
}

int main(void)
{
	struct decoder_cfg c = {.vocab = 11,
				.hidden = 16,
				.layers = 2,
				.heads = 2,
				.filter = 20,
				.rotary = 4,
				.base = 100,
				.scale = 1.5f,
				.eps = 1e-5f,
				.act = DECODER_GELU_TANH};

	gradients("GPT-J, rotary 4 of 8", &c);
	c.tied = 1;
	c.rotary = 8;
	gradients("GPT-J, tied, rotary 8 of 8", &c);
	c.tied = 0;
	c.family = DECODER_NEOX;
	c.act = DECODER_GELU;
	c.rotary = 2;
	gradients("NeoX, rotary 2 of 8", &c);
	c.serial = 1;
	c.rotary = 8;
	gradients("NeoX, serial, rotary 8 of 8", &c);
	bloom(c);
	c.serial = 0;
	c.family = DECODER_LLAMA;
	c.act = DECODER_SILU;
	gradients("LLaMA", &c);
	c.heads = 4;
	c.rotary = 4;
	c.kv_heads = 2;
	gradients("LLaMA, 2 of 4 heads of keys", &c);
	c.kv_heads = 1;
	c.tied = 1;
	gradients("LLaMA, tied, 1 of 4 heads of keys", &c);
	c.rotary = 0;
	c.act = DECODER_RELU;
	gradients("LLaMA, no positions, a gate of ReLU", &c);
	c.rotary = 2;
	c.alibi = 1;
	ok(decoder_check(&c), "slopes beside rotary positions are refused");
	c.alibi = 0;
	c.rotary = 3;
	ok(decoder_check(&c), "an odd rotary dimension is refused");
	c.rotary = 6;
	ok(decoder_check(&c), "one that is wider than a head is, too");
	c.rotary = 4;
	c.kv_heads = 3;
	ok(decoder_check(&c), "3 heads of keys do not divide 4");
	causal();
	relative();
	return tap_end();
}
