// SPDX-License-Identifier: MIT
/*
 * The GPT reference against an independent forward pass in binary64, written token by token from
 * the definition: the loss, and every gradient against central differences. Then what the
 * model must not do (look at the future, mix sequences), bf16 storage, AdamW.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "num/num.h"
#include "ref/gpt_ref.h"
#include "ref/gpt_run.h"
#include "tap.h"

#define MAX_S 16
#define MAX_H 32
#define MAX_F 64
#define MAX_V 64
#define MAX_L 4

/* ---- the definition, in binary64 ---- */

/* a tensor's offset, found by its name */
__attribute__((format(printf, 2, 0))) static size_t tensor(const struct gpt_ref_cfg *c,
							   const char *fmt, uint32_t layer)
{
	char want[64];

	snprintf(want, sizeof(want), fmt, layer);
	for (uint32_t i = 0; i < gpt_ref_ntensors(c); i++) {
		struct gpt_ref_tensor t = gpt_ref_tensor(c, i);

		if (!strcmp(t.name, want))
			return t.off;
	}
	abort();
}

struct places {
	size_t wte, wpe, lnf_g, lnf_b, head;
	struct {
		size_t ln1_g, ln1_b, qkv_w, qkv_b, proj_w, proj_b, ln2_g, ln2_b, fc_w, fc_b, fc2_w,
			fc2_b;
	} block[MAX_L];
};

static struct places find(const struct gpt_ref_cfg *c)
{
	struct places at = {.wte = tensor(c, "transformer.wte.weight", 0),
			    .wpe = tensor(c, "transformer.wpe.weight", 0),
			    .lnf_g = tensor(c, "transformer.ln_f.weight", 0),
			    .lnf_b = tensor(c, "transformer.ln_f.bias", 0)};

	at.head = c->tied ? at.wte : tensor(c, "lm_head.weight", 0);
	for (uint32_t l = 0; l < c->layers; l++) {
		at.block[l].ln1_g = tensor(c, "transformer.h.%u.ln_1.weight", l);
		at.block[l].ln1_b = tensor(c, "transformer.h.%u.ln_1.bias", l);
		at.block[l].qkv_w = tensor(c, "transformer.h.%u.attn.c_attn.weight", l);
		at.block[l].qkv_b = tensor(c, "transformer.h.%u.attn.c_attn.bias", l);
		at.block[l].proj_w = tensor(c, "transformer.h.%u.attn.c_proj.weight", l);
		at.block[l].proj_b = tensor(c, "transformer.h.%u.attn.c_proj.bias", l);
		at.block[l].ln2_g = tensor(c, "transformer.h.%u.ln_2.weight", l);
		at.block[l].ln2_b = tensor(c, "transformer.h.%u.ln_2.bias", l);
		at.block[l].fc_w = tensor(c, "transformer.h.%u.mlp.c_fc.weight", l);
		at.block[l].fc_b = tensor(c, "transformer.h.%u.mlp.c_fc.bias", l);
		at.block[l].fc2_w = tensor(c, "transformer.h.%u.mlp.c_proj.weight", l);
		at.block[l].fc2_b = tensor(c, "transformer.h.%u.mlp.c_proj.bias", l);
	}
	return at;
}

/* y[o] = sum over i of w[o][i] x[i] + b[o] */
static void affine(double *y, const double *x, const double *w, const double *b, uint32_t in,
		   uint32_t out)
{
	for (uint32_t o = 0; o < out; o++) {
		y[o] = b ? b[o] : 0;
		for (uint32_t i = 0; i < in; i++)
			y[o] += w[o * in + i] * x[i];
	}
}

static void norm(double *y, const double *x, const double *g, const double *b, uint32_t n,
		 double eps)
{
	double mean = 0, var = 0;

	for (uint32_t i = 0; i < n; i++)
		mean += x[i] / n;
	for (uint32_t i = 0; i < n; i++)
		var += (x[i] - mean) * (x[i] - mean) / n;
	for (uint32_t i = 0; i < n; i++)
		y[i] = (x[i] - mean) / sqrt(var + eps) * g[i] + b[i];
}

static double act(enum gpt_ref_act a, double y)
{
	double relu = y > 0 ? y : 0;

	if (a == GPT_REF_GELU_NEW)
		return y / (1 + exp(-2 * sqrt(2 / M_PI) * (y + 0.044715 * y * y * y)));
	if (a == GPT_REF_GELU)
		return y * erfc(-y / sqrt(2)) / 2;
	return a == GPT_REF_RELU ? relu : relu * relu;
}

/* x [s][h] += attention of a [s][h] */
static void attend(const struct gpt_ref_cfg *c, const struct places *at, const double *p,
		   uint32_t l, double (*x)[MAX_H], double (*a)[MAX_H], uint32_t s)
{
	uint32_t h = c->hidden, d = h / c->heads;
	double qkv[MAX_S][3 * MAX_H], o[MAX_H], y[MAX_H], e[MAX_S];

	for (uint32_t t = 0; t < s; t++) {
		affine(qkv[t], a[t], p + at->block[l].qkv_w, p + at->block[l].qkv_b, h, 3 * h);
		for (uint32_t head = 0; head < c->heads; head++) {
			const double *q = qkv[t] + head * d;
			double sum = 0;

			for (uint32_t u = 0; u <= t; u++) {
				double dot = 0;

				for (uint32_t i = 0; i < d; i++)
					dot += q[i] * qkv[u][h + head * d + i];
				sum += e[u] = exp(dot / sqrt(d));
			}
			for (uint32_t i = 0; i < d; i++) {
				o[head * d + i] = 0;
				for (uint32_t u = 0; u <= t; u++)
					o[head * d + i] +=
						e[u] / sum * qkv[u][2 * h + head * d + i];
			}
		}
		affine(y, o, p + at->block[l].proj_w, p + at->block[l].proj_b, h, h);
		for (uint32_t i = 0; i < h; i++)
			x[t][i] += y[i];
	}
}

/* sum of the losses of one sequence of s + 1 tokens */
static double sequence(const struct gpt_ref_cfg *c, const struct places *at, const double *p,
		       const uint16_t *tok, uint32_t s)
{
	double x[MAX_S][MAX_H], a[MAX_S][MAX_H], f[MAX_F], y[MAX_V], loss = 0;
	const double *wte = p + at->wte;
	const double *wpe = p + at->wpe;
	uint32_t h = c->hidden;

	for (uint32_t t = 0; t < s; t++)
		for (uint32_t i = 0; i < h; i++)
			x[t][i] = wte[tok[t] * h + i] + wpe[t * h + i];
	for (uint32_t l = 0; l < c->layers; l++) {
		for (uint32_t t = 0; t < s; t++)
			norm(a[t], x[t], p + at->block[l].ln1_g, p + at->block[l].ln1_b, h, c->eps);
		attend(c, at, p, l, x, a, s);
		for (uint32_t t = 0; t < s; t++) {
			norm(a[0], x[t], p + at->block[l].ln2_g, p + at->block[l].ln2_b, h, c->eps);
			affine(f, a[0], p + at->block[l].fc_w, p + at->block[l].fc_b, h, c->filter);
			for (uint32_t i = 0; i < c->filter; i++)
				f[i] = act(c->act, f[i]);
			affine(a[0], f, p + at->block[l].fc2_w, p + at->block[l].fc2_b, c->filter,
			       h);
			for (uint32_t i = 0; i < h; i++)
				x[t][i] += a[0][i];
		}
	}
	for (uint32_t t = 0; t < s; t++) {
		double sum = 0;

		norm(a[0], x[t], p + at->lnf_g, p + at->lnf_b, h, c->eps);
		affine(y, a[0], p + at->head, NULL, h, c->vocab);
		for (uint32_t v = 0; v < c->vocab; v++)
			sum += exp(y[v]);
		loss += log(sum) - y[tok[t + 1]];
	}
	return loss;
}

static double mean_loss(const struct gpt_ref_cfg *c, const struct places *at, const double *p,
			const uint16_t *tok, uint32_t b, uint32_t s)
{
	double sum = 0;

	for (uint32_t i = 0; i < b; i++)
		sum += sequence(c, at, p, tok + i * (s + 1), s);
	return sum / (b * s);
}

/* ---- models of random parameters ---- */

struct model {
	struct gpt_ref_cfg c;
	struct gpt_ref *r;
	uint32_t b, s;
	size_t n;
	float *p, *g;
	uint16_t *tok;
};

static void make(struct model *m, struct gpt_ref_cfg c, uint32_t b, uint32_t s, uint32_t threads,
		 double dev)
{
	*m = (struct model){.c = c, .b = b, .s = s, .n = gpt_ref_nparams(&c)};
	m->p = malloc(m->n * sizeof(float));
	m->g = malloc(m->n * sizeof(float));
	m->tok = malloc(b * (s + 1) * sizeof(*m->tok));
	if (!m->p || !m->g || !m->tok || gpt_ref_open(&m->r, &c, b, s, threads))
		abort();
	for (uint32_t i = 0; i < gpt_ref_ntensors(&c); i++) {
		struct gpt_ref_tensor t = gpt_ref_tensor(&c, i);
		int gain = strstr(t.name, "ln_") && strstr(t.name, "weight");

		for (size_t j = 0; j < t.count; j++)
			m->p[t.off + j] =
				(float)(dev * wse_rng_normal(7, i, j)) + (gain ? 1.0f : 0.0f);
	}
	for (uint32_t i = 0; i < b * (s + 1); i++)
		m->tok[i] = (uint16_t)(wse_rng_u64(9, 0, i) % c.vocab);
}

static void drop(struct model *m)
{
	gpt_ref_close(m->r);
	free(m->p);
	free(m->g);
	free(m->tok);
}

/* ---- gradients ---- */

/* the worst tensor's |ours - differences| over what it may be */
static void gradients(const char *what, struct gpt_ref_cfg c, uint32_t b, uint32_t s,
		      uint32_t threads)
{
	const double step = 1e-5;
	const struct places at = find(&c);
	struct model m;
	double *p, *want, loss, exact, total = 0, worst = 0;
	char name[64] = "none";

	make(&m, c, b, s, threads, 0.3);
	p = malloc(m.n * sizeof(*p));
	want = malloc(m.n * sizeof(*want));
	if (!p || !want)
		abort();
	for (size_t i = 0; i < m.n; i++)
		p[i] = m.p[i];
	loss = gpt_ref_loss(m.r, m.p, m.tok, b, m.g, NULL);
	exact = mean_loss(&c, &at, p, m.tok, b, s);
	ok(fabs(loss - exact) < 2e-6 * exact, "%s: loss %.8f, in binary64 %.8f", what, loss, exact);
	for (size_t i = 0; i < m.n; i++) {
		double old = p[i], up;

		if (TAP_SANITIZED && i % 7) { /* each of them costs two losses */
			want[i] = m.g[i];
			continue;
		}
		p[i] = old + step;
		up = mean_loss(&c, &at, p, m.tok, b, s);
		p[i] = old - step;
		want[i] = (up - mean_loss(&c, &at, p, m.tok, b, s)) / (2 * step);
		p[i] = old;
		total += want[i] * want[i];
	}
	for (uint32_t i = 0; i < gpt_ref_ntensors(&c); i++) {
		struct gpt_ref_tensor t = gpt_ref_tensor(&c, i);
		double dd = 0, bb = 0, far;

		for (size_t j = t.off; j < t.off + t.count; j++) {
			dd += (m.g[j] - want[j]) * (m.g[j] - want[j]);
			bb += want[j] * want[j];
		}
		far = sqrt(dd) / (1e-5 * sqrt(bb) + 1e-7 * sqrt(total));
		if (!(far <= worst)) {
			worst = far;
			snprintf(name, sizeof(name), "%s", t.name);
		}
	}
	ok(worst <= 1 && total > 0, "%s: %zu gradients; worst tensor %s, at %.2f of the bound",
	   what, m.n, name, worst);
	free(p);
	free(want);
	drop(&m);
}

/* ---- what predicts what ---- */

static const struct gpt_ref_cfg small = {.vocab = 13,
					 .positions = 12,
					 .hidden = 16,
					 .layers = 2,
					 .heads = 4,
					 .filter = 24,
					 .eps = 1e-5f,
					 .tied = 1};

static void causal(void)
{
	float before[8], after[8];
	int past = 1, future = 1;
	struct model m;

	make(&m, small, 1, 8, 1, 0.3);
	gpt_ref_loss(m.r, m.p, m.tok, 1, NULL, before);
	for (uint32_t t = 1; t < 8; t++) { /* token t is the input of position t */
		uint16_t old = m.tok[t];

		m.tok[t] = (uint16_t)((old + 1) % small.vocab);
		gpt_ref_loss(m.r, m.p, m.tok, 1, NULL, after);
		past &= !memcmp(before, after, (t - 1) * sizeof(float));
		for (uint32_t u = t; u < 8; u++)
			future &= before[u] != after[u];
		m.tok[t] = old;
	}
	ok(past, "a token changes no loss before the one that it is the target of");
	ok(future, "a token changes every loss from its position on");
	drop(&m);
}

static void batches(void)
{
	float together[4 * 8], alone[8];
	double *sum, far = 0, whole, part = 0, apart = 0;
	struct model m;

	make(&m, small, 4, 8, 2, 0.3);
	sum = calloc(m.n, sizeof(*sum));
	if (!sum)
		abort();
	for (uint32_t b = 0; b < 4; b++) {
		part += gpt_ref_loss(m.r, m.p, m.tok + b * 9, 1, m.g, alone) / 4;
		for (size_t i = 0; i < m.n; i++)
			sum[i] += m.g[i] / 4.0;
		memcpy(together + b * 8, alone, sizeof(alone));
	}
	whole = gpt_ref_loss(m.r, m.p, m.tok, 4, m.g, NULL);
	for (size_t i = 0; i < m.n; i++)
		far = fmax(far, fabs(m.g[i] - sum[i]));
	ok(far < 1e-6 && fabs(whole - part) < 1e-6,
	   "a batch is the mean of its sequences: loss %.1e, gradients %.1e apart",
	   fabs(whole - part), far);
	for (uint32_t i = 0; i < 9; i++) { /* the others change, the last stays */
		m.tok[i] = 0;
		m.tok[9 + i] = 1;
	}
	{
		float other[4 * 8];

		gpt_ref_loss(m.r, m.p, m.tok, 4, NULL, other);
		for (uint32_t i = 16; i < 32; i++)
			apart = fmax(apart, fabs(other[i] - together[i]));
		ok(apart < 2e-6, "a sequence's losses do not depend on its neighbours: %.1e",
		   apart);
		ok(other[0] != together[0], "and on its own tokens they do");
	}
	free(sum);
	drop(&m);
}

static void threads(void)
{
	struct gpt_ref *r;
	struct model m;
	float *g;
	double one, three;

	make(&m, small, 3, 8, 1, 0.3);
	g = malloc(m.n * sizeof(*g));
	if (!g || gpt_ref_open(&r, &small, 3, 8, 3))
		abort();
	one = gpt_ref_loss(m.r, m.p, m.tok, 3, m.g, NULL);
	three = gpt_ref_loss(r, m.p, m.tok, 3, g, NULL);
	ok(one == three && !memcmp(g, m.g, m.n * sizeof(*g)), "1 and 3 threads give the same bits");
	gpt_ref_close(r);
	free(g);
	drop(&m);
}

/* ---- bf16 storage ---- */

struct apart {
	double whole;	      /* |a - b| / |b| of the whole gradient */
	double worst, strong; /* of a tensor above 1e-4, above 1e-2 of its norm */
	double cosine, weak; /* the least of those above 1e-4; |a - b| of the rest over the whole */
};

static struct apart compare(const struct gpt_ref_cfg *c, const float *a, const float *b)
{
	struct apart p = {.cosine = 1};
	double total = 0;

	for (size_t i = 0; i < gpt_ref_nparams(c); i++) {
		total += (double)b[i] * b[i];
		p.whole += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
	}
	p.whole = sqrt(p.whole / total);
	for (uint32_t i = 0; i < gpt_ref_ntensors(c); i++) {
		struct gpt_ref_tensor t = gpt_ref_tensor(c, i);
		double dd = 0, aa = 0, bb = 0, ab = 0;

		for (size_t j = t.off; j < t.off + t.count; j++) {
			dd += ((double)a[j] - b[j]) * ((double)a[j] - b[j]);
			aa += (double)a[j] * a[j];
			bb += (double)b[j] * b[j];
			ab += (double)a[j] * b[j];
		}
		if (bb <= 1e-8 * total) {
			p.weak = fmax(p.weak, sqrt(dd / total));
			continue;
		}
		p.worst = fmax(p.worst, sqrt(dd / bb));
		p.cosine = fmin(p.cosine, ab / sqrt(aa * bb));
		if (bb > 1e-4 * total)
			p.strong = fmax(p.strong, sqrt(dd / bb));
	}
	return p;
}

/* at the parameters a GPT begins with, or after some steps on words of a kind */
static void storage(uint32_t layers, uint32_t hidden, uint32_t steps)
{
	static const char *const words[] = {"to ", "store ", "a ", "bit ", "or ", "not ", "brief "};
	struct gpt_recipe rc = gpt_recipe_nanogpt;
	uint8_t text[4000];
	struct gpt_ref *r;
	struct gpt_run run;
	struct apart p;
	double plain, stored;
	size_t n = 0;
	float *g;

	for (uint32_t i = 0; n < sizeof(text) - 8; i++)
		n += (size_t)sprintf((char *)text + n, "%s", words[wse_rng_u64(3, 0, i) % 7]);
	rc.cfg.layers = layers;
	rc.cfg.hidden = hidden;
	rc.cfg.filter = 4 * hidden;
	rc.cfg.vocab = 128;
	rc.batch = 2;
	rc.warmup = 10;
	if (gpt_run_open(&run, &rc, 5, 2))
		abort();
	if (steps)
		gpt_run_steps(&run, text, n, steps);
	rc.cfg.bf16_storage = 1;
	g = malloc(run.n * sizeof(*g));
	if (!g || gpt_ref_open(&r, &rc.cfg, 2, rc.seq, 2))
		abort();
	for (uint32_t i = 0; i < 2 * (rc.seq + 1); i++)
		run.tokens[i] = text[i];
	plain = gpt_ref_loss(run.ref, run.params, run.tokens, 2, run.grads, NULL);
	stored = gpt_ref_loss(r, run.params, run.tokens, 2, g, NULL);
	p = compare(&rc.cfg, g, run.grads);
	ok(p.whole > 0.002 && p.whole < 0.015 && fabs(stored / plain - 1) < 1e-3 &&
		   (steps ? p.strong < 0.05 && p.weak < 1e-4
			  : p.worst < 0.015 && p.cosine > 0.9998),
	   "%u layers of %u in bf16, loss %.3f: gradient %.2f %% off, tensors %.2f %%, %.2f %%, "
	   "cosine %.6f, weak %.1e",
	   layers, hidden, plain, 100 * p.whole, 100 * p.strong, 100 * p.worst, p.cosine, p.weak);
	gpt_ref_close(r);
	gpt_run_close(&run);
	free(g);
}

/* ---- AdamW ---- */

static void adamw(void)
{
	const struct gpt_ref_adamw a = {
		.beta1 = 0.9f, .beta2 = 0.95f, .eps = 1e-8f, .decay = 0.1f, .clip = 0.5f};
	struct gpt_ref_tensor bias = gpt_ref_tensor(&small, gpt_ref_in_block(1, GPT_FC1_B));
	double p0, pb, m0 = 0, v0 = 0, mb = 0, vb = 0, norm = 0;
	struct model m;
	float *m1, *m2;

	make(&m, small, 2, 8, 1, 0.3);
	m1 = calloc(m.n, sizeof(float));
	m2 = calloc(m.n, sizeof(float));
	if (!m1 || !m2)
		abort();
	p0 = m.p[0];
	pb = m.p[bias.off];
	for (int t = 1; t <= 3; t++) {
		double g0, gb, scale, told;

		gpt_ref_loss(m.r, m.p, m.tok, 2, m.g, NULL);
		norm = 0;
		for (size_t i = 0; i < m.n; i++)
			norm += (double)m.g[i] * m.g[i];
		norm = sqrt(norm);
		scale = norm > 0.5 ? 0.5 / norm : 1;
		g0 = scale * m.g[0];
		gb = scale * m.g[bias.off];
		told = gpt_ref_step(&small, &a, (uint64_t)t, 1e-2f, m.p, m1, m2, m.g);
		m0 = 0.9 * m0 + 0.1 * g0;
		v0 = 0.95 * v0 + 0.05 * g0 * g0;
		mb = 0.9 * mb + 0.1 * gb;
		vb = 0.95 * vb + 0.05 * gb * gb;
		p0 -= 1e-2 *
		      (0.1 * p0 + m0 / (1 - pow(0.9, t)) / (sqrt(v0 / (1 - pow(0.95, t))) + 1e-8));
		pb -= 1e-2 * (mb / (1 - pow(0.9, t)) / (sqrt(vb / (1 - pow(0.95, t))) + 1e-8));
		norm = fabs(told / norm - 1);
	}
	ok(fabs(p0 - m.p[0]) < 1e-5, "AdamW, clipped, three steps: a weight decays (%.1e off)",
	   fabs(p0 - m.p[0]));
	ok(fabs(pb - m.p[bias.off]) < 1e-5, "a bias does not (%.1e off)", fabs(pb - m.p[bias.off]));
	ok(norm < 1e-6, "the norm before clipping is returned");
	free(m1);
	free(m2);
	drop(&m);
}

/* ---- runs ---- */

static void run(void)
{
	const struct gpt_recipe *n = &gpt_recipe_nanogpt;
	struct gpt_recipe rc = *n;
	uint8_t text[1000];
	struct gpt_run r;
	double first, last, held, again;

	ok(fabsf(gpt_recipe_rate(n, 0) - 1e-3f / 101) < 1e-9f &&
		   fabsf(gpt_recipe_rate(n, 100) - 1e-3f) < 1e-9f &&
		   fabsf(gpt_recipe_rate(n, 1050) - 5.5e-4f) < 1e-9f &&
		   fabsf(gpt_recipe_rate(n, 5000) - 1e-4f) < 1e-9f,
	   "nanoGPT's rates: up to 1e-3 at step 100, half way down at 1050, 1e-4 in the end");
	rc.cfg = small;
	rc.cfg.vocab = 128;
	rc.batch = 4;
	rc.seq = 12;
	rc.warmup = 5;
	rc.steps = 400;
	rc.lr = 3e-3f;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t) "aabb"[i % 4]; /* only two tokens tell the next */
	if (gpt_run_open(&r, &rc, 1, 2))
		abort();
	first = gpt_run_held_out(&r, text, sizeof(text), 0);
	gpt_run_steps(&r, text, sizeof(text), 390);
	last = gpt_run_steps(&r, text, sizeof(text), 10);
	held = gpt_run_held_out(&r, text, sizeof(text), 0);
	again = gpt_run_held_out(&r, text, sizeof(text), 10);
	ok(fabs(first - log(128)) < 0.3 && last < 0.15 && held < 0.15,
	   "400 steps on a pattern: loss %.3f -> %.3f, held out %.3f", first, last, held);
	ok(fabs(again - held) < 0.05, "10 sequences of 83 say the same: %.3f", again);
	gpt_run_close(&r);
}

static void sizes(void)
{
	struct gpt_ref_cfg c = small;
	struct gpt_ref *r;
	size_t at = 0;
	int fits = 1;

	for (uint32_t i = 0; i < gpt_ref_ntensors(&c); i++) {
		struct gpt_ref_tensor t = gpt_ref_tensor(&c, i);

		fits &= t.off == at && t.count == (size_t)t.dim[0] * t.dim[1];
		at += t.count;
	}
	ok(fits && at == gpt_ref_nparams(&c), "%u tensors, one behind the other",
	   gpt_ref_ntensors(&c));
	c = (struct gpt_ref_cfg){.vocab = 50257,
				 .positions = 1024,
				 .hidden = 768,
				 .layers = 12,
				 .heads = 12,
				 .filter = 3072,
				 .eps = 1e-5f,
				 .tied = 1};
	ok(gpt_ref_nparams(&c) == 124439808, "GPT-2 has 124,439,808 parameters");
	c.hidden = 770;
	ok(gpt_ref_check(&c) && gpt_ref_open(&r, &c, 1, 8, 1) && !r,
	   "12 heads of a hidden width of 770 are refused");
	ok(gpt_ref_open(&r, &small, 1, 13, 1), "13 tokens with 12 positions are refused");
}

int main(void)
{
	struct gpt_ref_cfg c = small;

	sizes();
	gradients("GELU's tanh form, tied, 2 layers, 4 heads", c, 2, 8, 2);
	c.act = GPT_REF_GELU;
	gradients("GELU by erf", c, 2, 8, 2);
	c.act = GPT_REF_RELU;
	c.tied = 0;
	gradients("ReLU, output layer of its own", c, 1, 5, 1);
	c.act = GPT_REF_RELU2;
	c.heads = 1;
	c.layers = 1;
	c.eps = 0.1f;
	gradients("squared ReLU, one head, large epsilon", c, 3, 12, 3);
	c = (struct gpt_ref_cfg){.vocab = 5,
				 .positions = 1,
				 .hidden = 6,
				 .layers = 3,
				 .heads = 3,
				 .filter = 7,
				 .eps = 1e-5f,
				 .tied = 1};
	gradients("sequences of one token", c, 4, 1, 2);
	causal();
	batches();
	threads();
	storage(2, 64, 0);
	storage(8, 128, 0);
	storage(2, 64, 60);
	adamw();
	run();
	return tap_end();
}
