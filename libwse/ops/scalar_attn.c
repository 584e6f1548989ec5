// SPDX-License-Identifier: MIT
/* Attention in the order of the wafer. The orders are in scalar_attn.h. */
#include "scalar_attn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "num/elementwise.h"
#include "ops/drop.h"
#include "wse_kernel.h"

#define LANES_MAX 8

/*
 * one head, one row of cores: its T tokens against the keys of the n tokens from the sequence's
 * start on
 */
struct part {
	uint32_t t, n, d, lanes;
	uint32_t own;	     /* features of a column; d = own * columns of the head */
	size_t stride;	     /* tokens of the micro-batch */
	size_t in, out;	     /* from column to column in q, k, v; in o and what is like it */
	const float *q;	     /* [d] rows; the row's first token */
	const float *k, *v;  /* [d] rows; the sequence's first token */
	float *s, *p;	     /* [n][t] */
	const float *m, *r;  /* [t] */
	float *dot, *ds, *g; /* backward: [t]; [n][t]; [d] rows, the row's first token */
	float *more;	     /* [n][t] */
	float *sum;	     /* forward: [d][t] */
	float slope;	     /* of the head; where there are slopes at all */
	int sloped;
	uint32_t step; /* keys of a pass, of several; 0: all keys come together */
	/* backward, where rows share the work: keys before the late ones of the middle row */
	uint32_t early;
	uint32_t ring; /* keys of a chunk that columns of a head add by turns; 0: west to east */
	const struct wse_drop *drop; /* NULL: there is none */
	uint32_t token, feature;     /* numbers of the row's first token, of the head's first key */
};

/* feature f of an array whose columns are `step` apart */
static size_t row_of(const struct part *a, uint32_t f, size_t step)
{
	return f / a->own * step + f % a->own * a->stride;
}

static float through_bf16(float f)
{
	return wse_bf16_to_f32(wse_f32_to_bf16_ftz(f));
}

static int masked(const struct part *a, uint32_t key, uint32_t t)
{
	return key > a->n - a->t + t;
}

/* of a head's columns the one whose products of a key come last, behind those west of it */
static uint32_t last_column(const struct part *a, uint32_t key)
{
	uint32_t columns = a->d / a->own, in = key % a->t;

	if (!a->ring)
		return columns - 1;
	if (key >= a->early && key / a->t == a->early / a->t)
		in -= a->early % a->t;
	return in / a->ring % columns;
}

/*
 * out[key][t] = sum over f ascending of kv[f][key] x[f][t], of one column's features, for the keys
 * whose last column is `last`
 */
static void over_column(const struct part *a, const float *kv, const float *x, uint32_t last,
			float *out)
{
	for (uint32_t key = 0; key < a->n; key++) {
		float *acc = out + (size_t)key * a->t;

		if (last_column(a, key) != last)
			continue;
		memset(acc, 0, sizeof(*acc) * a->t);
		for (uint32_t f = 0; f < a->own; f++) {
			float w = kv[f * a->stride + key];

			for (uint32_t t = 0; t < a->t; t++)
				acc[t] = acc[t] + w * x[f * a->stride + t];
		}
		for (uint32_t t = 0; t < a->t; t++)
			acc[t] = wse_canon(acc[t]);
	}
}

/* of all columns; x lies like q, or like o */
static void over_features(const struct part *a, const float *kv, const float *x, size_t x_step)
{
	uint32_t columns = a->d / a->own;

	for (uint32_t last = 0; last < columns; last++)
		for (uint32_t i = 1; i <= columns; i++) {
			uint32_t c = (last + i) % columns;

			over_column(a, kv + c * a->in, x + c * x_step, last,
				    i > 1 ? a->more : a->s);
			for (size_t k = 0; i > 1 && k < (size_t)a->n * a->t; k++)
				if (last_column(a, (uint32_t)(k / a->t)) == last)
					a->s[k] = ew_add(a->s[k], a->more[k]);
		}
}

/* the scores of all keys; a slope comes behind the columns' sums */
static void scores(const struct part *a)
{
	over_features(a, a->k, a->q, a->in);
	for (uint32_t key = 0; key < a->n && a->sloped; key++)
		for (uint32_t t = 0; t < a->t; t++) {
			float *s = a->s + (size_t)key * a->t + t;

			*s = ew_add(*s, ew_mul((float)key, a->slope));
		}
}

/* acc[t] += sum over keys ascending of kv[key] x[key][t] */
static void over_keys(const struct part *a, const float *kv, const float *x, uint32_t from,
		      uint32_t to, float *acc)
{
	for (uint32_t key = from; key < to; key++)
		for (uint32_t t = 0; t < a->t; t++)
			acc[t] = acc[t] + kv[key] * x[(size_t)key * a->t + t];
	for (uint32_t t = 0; t < a->t; t++)
		acc[t] = wse_canon(acc[t]);
}

/* sum over the row's tokens of x y: lanes, then their tree */
static float over_tokens(const struct part *a, const float *x, const float *y)
{
	float l[LANES_MAX] = {0};

	for (uint32_t t = 0; t < a->t; t += a->lanes)
		for (uint32_t i = 0; i < a->lanes; i++)
			l[i] = l[i] + x[t + i] * y[t + i];
	for (uint32_t n = a->lanes; n > 1; n /= 2)
		for (uint32_t i = 0; i < n / 2; i++)
			l[i] = l[2 * i] + l[2 * i + 1];
	return wse_canon(l[0]);
}

/* of keys from ... to - 1: from scores and m the probabilities before the division */
static void probabilities(const struct part *a, uint32_t from, uint32_t to)
{
	for (uint32_t key = from; key < to; key++)
		for (uint32_t t = 0; t < a->t; t++) {
			size_t i = (size_t)key * a->t + t;

			a->p[i] = masked(a, key, t)
					  ? 0.0f
					  : through_bf16(ew_soft_exp(ew_sub(a->s[i], a->m[t])));
		}
}

/* does P of a key and token go on? With dropout, where it is above 0 */
static int kept(const struct part *a, uint32_t key, uint32_t t)
{
	return !a->drop || (a->p[(size_t)key * a->t + t] > 0.0f &&
			    wse_drop_keeps(a->drop, a->token + t, a->feature + key));
}

static void drop(const struct part *a, uint32_t from, uint32_t to)
{
	for (uint32_t key = from; key < to; key++)
		for (uint32_t t = 0; t < a->t; t++)
			if (!kept(a, key, t))
				a->p[(size_t)key * a->t + t] = 0.0f;
}

/* a / ln 2, rounded to a whole number */
static float whole(float a)
{
	return ew_add(ew_add(ew_mul(a, 0x1.715476p+0f), 12582912.0f), -12582912.0f);
}

/* m, rounded to a multiple of ln 2; exp(before - m), a power of two */
static float step_to(float before, float *m)
{
	float n = whole(*m), d = ew_max(ew_sub(whole(before), n), -126.0f);

	*m = ew_mul(n, 0x1.62e430p-1f);
	return wse_u2f(ew_shl(wse_f2u(ew_add(d, 12583039.0f)), 23));
}

/* one pass over n keys from `from` on: m, and the sums so far times exp(m before - m) */
static void pass(const struct part *a, uint32_t from, uint32_t n, float *m, float *l)
{
	uint32_t to = from + n;

	for (uint32_t t = 0; t < a->t; t++) {
		float before = m[t], again;

		for (uint32_t key = from; key < to; key++)
			if (!masked(a, key, t))
				m[t] = ew_max(a->s[(size_t)key * a->t + t], m[t]);
		if (!a->step)
			continue;
		again = step_to(before, &m[t]);
		if (!from)
			continue;
		l[t] = ew_mul(l[t], again);
		for (uint32_t f = 0; f < a->d; f++)
			a->sum[(size_t)f * a->t + t] = ew_mul(a->sum[(size_t)f * a->t + t], again);
	}
	probabilities(a, from, to);
	for (uint32_t key = from; key < to; key++)
		for (uint32_t t = 0; t < a->t; t++)
			l[t] = ew_add(l[t], a->p[(size_t)key * a->t + t]);
	drop(a, from, to);
	for (uint32_t f = 0; f < a->d; f++)
		over_keys(a, a->v + row_of(a, f, a->in), a->p, from, to, a->sum + (size_t)f * a->t);
}

static void forward(const struct part *a, uint16_t *o, float *m, float *r)
{
	uint32_t n = a->step ? a->step : a->n;

	scores(a);
	for (uint32_t t = 0; t < a->t; t++) {
		m[t] = wse_u2f(0xff800000u);
		r[t] = 0.0f;
	}
	memset(a->sum, 0, sizeof(*a->sum) * a->d * a->t);
	for (uint32_t from = 0; from < a->n; from += n)
		pass(a, from, n, m, r);
	for (uint32_t t = 0; t < a->t; t++)
		r[t] = a->drop ? ew_mul(ew_recip(r[t]), a->drop->scale) : ew_recip(r[t]);
	for (uint32_t f = 0; f < a->d; f++)
		for (uint32_t t = 0; t < a->t; t++)
			o[row_of(a, f, a->out) + t] =
				wse_f32_to_bf16_ftz(ew_mul(a->sum[(size_t)f * a->t + t], r[t]));
}

/*
 * sum [t] over keys of k dS: of all, or of the early ones, and of the others, whose rows come last
 * one first
 */
static void dq_of(const struct part *a, const float *k, float *sum)
{
	float late[1024] = {0};
	uint32_t n = a->early < a->n ? a->early : a->n;

	memset(sum, 0, sizeof(*sum) * a->t);
	over_keys(a, k, a->ds, 0, n, sum);
	if (n == a->n)
		return;
	for (uint32_t to = a->n, from; to > n; to = from) {
		from = to - a->t > n ? to - a->t : n;
		over_keys(a, k, a->ds, from, to, late);
	}
	for (uint32_t t = 0; t < a->t; t++)
		sum[t] = ew_add(sum[t], late[t]);
}

/* dq; P and dS stay for dv and dk */
static void backward(const struct part *a, const float *o, const float *dout, float scale,
		     uint16_t *dq)
{
	float acc[1024];

	for (uint32_t t = 0; t < a->t; t++) {
		float part = 0.0f;

		for (uint32_t f = 0; f < a->d; f++) {
			size_t i = row_of(a, f, a->out) + t;

			if (f % a->own == 0)
				part = 0.0f;
			a->g[i] = through_bf16(ew_mul(dout[i], a->r[t]));
			part = ew_add(part, ew_mul(a->g[i], o[i]));
			if (f % a->own == a->own - 1)
				a->dot[t] = f < a->own ? part : ew_add(a->dot[t], part);
		}
		if (a->drop)
			a->dot[t] = ew_mul(a->dot[t], a->drop->unscale);
	}
	scores(a);
	probabilities(a, 0, a->n);
	over_features(a, a->v, a->g, a->out);
	for (uint32_t key = 0; key < a->n; key++)
		for (uint32_t t = 0; t < a->t; t++) {
			size_t i = (size_t)key * a->t + t;

			float dp = kept(a, key, t) ? a->s[i] : 0.0f;

			a->ds[i] = through_bf16(ew_mul(ew_sub(dp, a->dot[t]), a->p[i]));
		}
	drop(a, 0, a->n);
	for (uint32_t f = 0; f < a->d; f++) {
		dq_of(a, a->k + row_of(a, f, a->in), acc);
		for (uint32_t t = 0; t < a->t; t++)
			dq[row_of(a, f, a->in) + t] = wse_f32_to_bf16_ftz(ew_mul(acc[t], scale));
	}
}

/* ---- the arrays ---- */

struct whole {
	struct wse_attn_shape s;
	const struct wse_tile *tile;
	uint32_t t, rho;
	/* [3 h cols][tokens] of qkv, widened; backward: then o, dout, g of [h cols] rows */
	float *in;
	float *score, *p,
		*ds; /* forward: [s][t]; backward: p, ds of a sequence's rows, [rho][s][t] */
	float *dot, *more, *sum;
};

static float *widened(float *to, const uint16_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = wse_bf16_to_f32(from[i]);
	return to + n;
}

static uint32_t kv_of(const struct wse_attn_shape *s)
{
	return s->kv ? s->kv : s->heads;
}

/* features of a column: queries, keys and values */
static size_t column_of(const struct wse_attn_shape *s)
{
	return (size_t)s->d * (s->heads + 2 * kv_of(s));
}

static int whole_init(struct whole *w, const struct wse_tile *tile, const struct wse_attn_shape *s,
		      int back)
{
	size_t width = (size_t)s->d * s->heads * tile->cols, all = column_of(s) * tile->cols, st;

	memset(w, 0, sizeof(*w));
	w->s = *s;
	w->tile = tile;
	if (!tile->rows || !tile->cols || (tile->lanes != 8 && tile->lanes != 4) || !s->s ||
	    !s->d || !s->heads || !s->tokens || s->tokens % tile->rows)
		return -EINVAL;
	w->t = s->tokens / tile->rows;
	if (w->t % 8 || w->t > 1024 || s->s % w->t || s->tokens % s->s)
		return -EINVAL;
	if ((s->group > 1 && tile->cols % s->group) || s->heads % kv_of(s))
		return -EINVAL;
	w->rho = s->s / w->t;
	st = (size_t)s->s * w->t;
	w->in = malloc(sizeof(float) * (all + (back ? 3 * width : 0)) * s->tokens);
	w->score = malloc(sizeof(float) * st);
	w->p = malloc(sizeof(float) * st * (back ? w->rho : 1));
	w->ds = malloc(sizeof(float) * st * w->rho);
	w->dot = malloc(sizeof(float) * w->t);
	w->more = malloc(sizeof(float) * st);
	w->sum = malloc(sizeof(float) * s->d * (s->group > 1 ? s->group : 1) * w->t);
	return w->in && w->score && w->p && w->ds && w->dot && w->more && w->sum ? 0 : -ENOMEM;
}

static void whole_free(struct whole *w)
{
	free(w->in);
	free(w->score);
	free(w->p);
	free(w->ds);
	free(w->dot);
	free(w->more);
	free(w->sum);
}

/* columns of a head */
static uint32_t group_of(const struct wse_attn_shape *s)
{
	return s->group > 1 ? s->group : 1;
}

/* row i of the sequence that starts at token first, head a of the columns from c on */
static struct part part_of(const struct whole *w, uint32_t c, uint32_t a, uint32_t first,
			   uint32_t i)
{
	size_t h = (size_t)w->s.d * w->s.heads, kv = (size_t)w->s.d * kv_of(&w->s), n = w->s.tokens;
	const float *of = w->in + c * column_of(&w->s) * n;
	uint32_t head = c / group_of(&w->s) * w->s.heads + a;
	const float *k = of + (h + a / (w->s.heads / kv_of(&w->s)) * w->s.d) * n;

	return (struct part){
		.t = w->t,
		.n = (i + 1) * w->t,
		.d = w->s.d * group_of(&w->s),
		.own = w->s.d,
		.lanes = w->tile->lanes,
		.stride = n,
		.in = column_of(&w->s) * n,
		.out = h * n,
		.q = of + a * w->s.d * n + first + i * w->t,
		.k = k + first,
		.v = k + kv * n + first,
		.s = w->score,
		.p = w->p,
		.dot = w->dot,
		.more = w->more,
		.sum = w->sum,
		.slope = w->s.slopes ? w->s.slopes[head] : 0.0f,
		.sloped = w->s.slopes != NULL,
		.step = wse_attn_keeps(w->t, w->s.longest ? w->s.longest : w->s.s) ? 0 : w->t,
		.drop = w->s.drop && w->s.drop->keep ? w->s.drop : NULL,
		.early = w->s.halves ? (w->rho / 2 + 1) * w->t - wse_attn_late_keys(w->t)
				     : UINT32_MAX,
		.token = first + i * w->t,
		.feature = head * w->s.s,
	};
}

/*
 * The next head, as numbers of (column, head of it), of those that begin in a column; a head is
 * known by its row of max, the other columns of its group have the same
 */
static uint32_t next_head(const struct wse_attn_shape *s, uint32_t head)
{
	head++;
	return head % s->heads ? head : head + (group_of(s) - 1) * s->heads;
}

int wse_attn_oracle(const struct wse_tile *tile, const struct wse_attn_shape *shape,
		    const uint16_t *qkv, uint16_t *o, float *max, float *recip)
{
	size_t n = shape->tokens;
	struct whole w;
	uint32_t saved = wse_ftz_enter();
	int ret = whole_init(&w, tile, shape, 0);

	if (!ret)
		widened(w.in, qkv, column_of(shape) * tile->cols * n);
	for (uint32_t head = 0; !ret && head < shape->heads * tile->cols;
	     head = next_head(shape, head))
		for (uint32_t tok = 0; tok < n; tok += w.t) {
			uint32_t i = tok / w.t % w.rho, first = tok - i * w.t;
			struct part p =
				part_of(&w, head / shape->heads, head % shape->heads, first, i);
			float *m = max + head * n + tok, *r = recip + head * n + tok;

			p.m = m;
			forward(&p, o + head * shape->d * n + tok, m, r);
			for (uint32_t c = 1; c < group_of(shape); c++) {
				memcpy(m + c * shape->heads * n, m, w.t * sizeof(*m));
				memcpy(r + c * shape->heads * n, r, w.t * sizeof(*r));
			}
		}
	whole_free(&w);
	wse_ftz_leave(saved);
	return ret;
}

/* the first head's gradient, then the sum with the next one's; binary32, and as stored */
static void share(float *sum, uint16_t *out, float d, int first)
{
	*sum = first ? through_bf16(d) : ew_add(*sum, through_bf16(d));
	*out = wse_f32_to_bf16_ftz(*sum);
}

/*
 * feature f of one head of one sequence; parts of its rows hold g (or q), P and dS. sums [2][s]: of
 * the heads that share the keys, of which this is the first
 */
static void to_keys(const struct whole *w, const struct part *rows, uint32_t f, int first,
		    float *sums, uint16_t *dk, uint16_t *dv)
{
	size_t st = (size_t)w->s.s * w->t;

	for (uint32_t key = 0; key < w->s.s; key++) {
		float sk = 0.0f, sv = 0.0f;

		for (uint32_t i = w->rho; i-- > key / w->t;) {
			const struct part *a = &rows[i];
			size_t at = i * st + (size_t)key * w->t;
			float k = over_tokens(a, a->q + row_of(a, f, a->in), w->ds + at);
			float v = over_tokens(a, a->g + row_of(a, f, a->out), w->p + at);

			sk = i + 1 == w->rho ? k : ew_add(sk, k);
			sv = i + 1 == w->rho ? v : ew_add(sv, v);
		}
		share(&sums[key], &dk[key], sk, first);
		share(&sums[w->s.s + key], &dv[key], sv, first);
	}
}

int wse_attn_back_oracle(const struct wse_tile *tile, const struct wse_attn_shape *shape,
			 const uint16_t *qkv, const uint16_t *o, const uint16_t *dout,
			 const float *max, const float *recip, float scale, uint16_t *dqkv)
{
	size_t h = (size_t)shape->d * shape->heads, width = h * tile->cols, n = shape->tokens;
	size_t kv = (size_t)shape->d * kv_of(shape), column = column_of(shape);
	float *wo = NULL, *wdout = NULL, *g = NULL, *sums = NULL;
	struct part *rows = NULL;
	struct whole w;
	uint32_t saved = wse_ftz_enter();
	int ret = whole_init(&w, tile, shape, 1);

	if (!ret) {
		wo = widened(w.in, qkv, column * tile->cols * n);
		wdout = widened(wo, o, width * n);
		g = widened(wdout, dout, width * n);
		rows = calloc(w.rho, sizeof(*rows));
		sums = malloc(sizeof(*sums) * 2 * n * shape->d * group_of(shape));
		ret = rows && sums ? 0 : -ENOMEM;
	}
	for (uint32_t head = 0; !ret && head < shape->heads * tile->cols;
	     head = next_head(shape, head))
		for (uint32_t first = 0; first < n; first += shape->s) {
			uint32_t c = head / shape->heads, a = head % shape->heads;
			uint32_t heads = shape->heads / kv_of(shape); /* that share keys */
			uint16_t *dq = dqkv + (c * column + a * shape->d) * n + first;
			uint16_t *dk = dqkv + (c * column + h + a / heads * shape->d) * n + first;

			for (uint32_t i = 0; i < w.rho; i++) {
				size_t tok = first + i * w.t, at = head * shape->d * n + tok;
				struct part *p = &rows[i];

				*p = part_of(&w, c, a, first, i);
				if (shape->halves)
					p->ring = wse_attn_keys(w.t);
				p->m = max + head * n + tok;
				p->r = recip + head * n + tok;
				p->p = w.p + (size_t)i * shape->s * w.t;
				p->ds = w.ds + (size_t)i * shape->s * w.t;
				p->g = g + at;
				backward(p, wo + at, wdout + at, scale, dq + i * w.t);
			}
			for (uint32_t f = 0; f < rows->d; f++) {
				uint16_t *to = dk + row_of(rows, f, rows->in);

				to_keys(&w, rows, f, a % heads == 0, sums + 2 * (f * n + first), to,
					to + kv * n);
			}
		}
	free(rows);
	free(sums);
	whole_free(&w);
	wse_ftz_leave(saved);
	return ret;
}
