// SPDX-License-Identifier: MIT
/*
 * Layer norm, RMS norm and their backward pass. First as scalar loops (the orders are in norm.h),
 * then as operations.
 */
#include "ops/norm.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "num/elementwise.h"
#include "base/error.h"
#include "ops/emit.h"
#include "ops/kinds.h"
#include "ops/oracle.h"

/* what is summed over the features of a token: feature n of token t of the arrays in `of` */
struct terms {
	const struct wse_norm_back *of; /* NULL: forward, x and mean */
	const uint16_t *x;
	const float *mean;
	uint32_t tokens;
	int second;
	uint32_t there; /* second, forward: of so many features alone */
};

/* without a mean as it is */
static float centred(uint16_t x, const float *mean, uint32_t t)
{
	return mean ? ew_sub(wse_bf16_to_f32(x), mean[t]) : wse_bf16_to_f32(x);
}

static float xhat_of(const struct wse_norm_back *b, uint32_t tokens, uint32_t n, uint32_t t)
{
	return ew_mul(centred(b->x[(size_t)n * tokens + t], b->mean, t), b->rstd[t]);
}

/*
 * first: x, or dy * gain; second: centred squares, or xhat * dy * gain. `s` is what it is added to
 */
static float add_term(const struct terms *a, uint32_t n, uint32_t t, float s)
{
	size_t i = (size_t)n * a->tokens + t;
	float x;

	if (a->of) {
		x = a->second ? ew_mul(xhat_of(a->of, a->tokens, n, t), a->of->dy[i])
			      : a->of->dy[i];
		return ew_add(s, ew_mul(x, a->of->gain[n]));
	}
	x = wse_bf16_to_f32(a->x[i]);
	if (a->second) {
		x = centred(a->x[i], a->mean, t);
		x = ew_mul(x, x);
	}
	return ew_add(s, x);
}

static float sum_over_row(const struct wse_tile *tile, uint32_t width, const struct terms *a,
			  uint32_t t)
{
	uint32_t per = width / tile->cols;
	float s = 0.0f;

	for (uint32_t i = 1; i <= tile->cols; i++) {
		uint32_t c = i % tile->cols;
		float p = 0.0f;

		for (uint32_t n = c * per; n < (c + 1) * per && n < a->there; n++)
			p = add_term(a, n, t, p);
		s = i == 1 ? p : ew_add(s, p);
	}
	return s;
}

void wse_norm_oracle(const struct wse_tile *tile, uint32_t width, uint32_t there, uint32_t tokens,
		     const uint16_t *x, const float *gain, const float *bias, float inv_width,
		     float eps, uint16_t *out, float *mean, float *rstd)
{
	struct terms first = {.x = x, .tokens = tokens, .there = width},
		     second = {NULL, x, mean, tokens, 1, there};
	uint32_t saved = wse_ftz_enter();

	for (uint32_t t = 0; t < tokens; t++) {
		if (mean)
			mean[t] = ew_mul(sum_over_row(tile, width, &first, t), inv_width);
		rstd[t] = ew_mul(sum_over_row(tile, width, &second, t), inv_width);
		rstd[t] = ew_rsqrt(ew_add(rstd[t], eps));
	}
	for (uint32_t n = 0; n < width; n++) {
		for (uint32_t t = 0; t < tokens; t++) {
			size_t i = (size_t)n * tokens + t;
			float v = ew_mul(ew_mul(centred(x[i], mean, t), rstd[t]), gain[n]);

			out[i] = wse_f32_to_bf16_ftz(bias ? ew_add(v, bias[n]) : v);
		}
	}
	wse_ftz_leave(saved);
}

static float lane_tree(const struct wse_tile *tile, const float *l)
{
	float d = ew_add(ew_add(l[0], l[1]), ew_add(l[2], l[3]));

	if (tile->lanes == 8)
		d = ew_add(d, ew_add(ew_add(l[4], l[5]), ew_add(l[6], l[7])));
	return d;
}

static void vector_gradients(const struct wse_tile *tile, uint32_t tokens, uint32_t n,
			     const struct wse_norm_back *b)
{
	uint32_t per = tokens / tile->rows;
	float dgain = 0.0f, dbias = 0.0f;

	for (uint32_t r = 0; r < tile->rows; r++) {
		float lg[8] = {0}, lb[8] = {0};

		for (uint32_t t = r * per; t < (r + 1) * per; t++) {
			float dy = b->dy[(size_t)n * tokens + t];
			uint32_t l = t % tile->lanes;

			lg[l] = ew_add(lg[l], ew_mul(xhat_of(b, tokens, n, t), dy));
			lb[l] = ew_add(lb[l], dy);
		}
		dgain = r ? ew_add(dgain, lane_tree(tile, lg)) : lane_tree(tile, lg);
		dbias = r ? ew_add(dbias, lane_tree(tile, lb)) : lane_tree(tile, lb);
	}
	b->dgain[n] = dgain;
	if (b->dbias)
		b->dbias[n] = dbias;
}

void wse_norm_back_oracle(const struct wse_tile *tile, uint32_t width, uint32_t there,
			  uint32_t tokens, const struct wse_norm_back *b)
{
	struct terms first = {.of = b, .tokens = tokens, .there = width},
		     second = {.of = b, .tokens = tokens, .second = 1, .there = width};
	uint32_t saved = wse_ftz_enter();

	for (uint32_t t = 0; t < tokens; t++) {
		float mg = b->mean ? ew_mul(sum_over_row(tile, width, &first, t), b->inv_width) : 0;
		float mgx = ew_mul(sum_over_row(tile, width, &second, t), b->inv_width);
		float slope = ew_mul(ew_mul(mgx, b->rstd[t]), b->rstd[t]);

		for (uint32_t n = 0; n < width; n++) {
			size_t i = (size_t)n * tokens + t;
			float g = ew_mul(b->dy[i], b->gain[n]);
			float d = centred(b->x[i], b->mean, t);
			float dx;

			g = ew_mul(b->mean ? ew_sub(g, mg) : g, b->rstd[t]);
			dx = ew_sub(g, ew_mul(d, slope));

			b->dres[i] = n >= there ? 0.0f : b->add ? ew_add(b->dres[i], dx) : dx;
			b->dres16[i] = wse_f32_to_bf16_ftz(b->dres[i]);
		}
	}
	for (uint32_t n = 0; n < width; n++)
		vector_gradients(tile, tokens, n, b);
	wse_ftz_leave(saved);
}

/* ---- the operations ---- */

enum { A_GAIN, A_BIAS, A_EPS, A_WIDTH };
enum { IN_X, IN_VEC, IN_MEAN, IN_RSTD, IN_DY, IN_DRES };
enum { OUT_Y, OUT_MEAN, OUT_RSTD, OUT_WORK };
enum { OUT_DRES, OUT_DRES16, OUT_VEC, OUT_BACK_WORK };

static uint32_t rows_of(const struct wse_graph *g, uint32_t value)
{
	return value < g->nvalues ? g->values[value].rows : 0;
}

/* features that are there; the kernel's word for it has 0 for all */
static uint32_t width_of(const struct wse_graph *g, const struct wse_op *op)
{
	return op->arg[A_WIDTH] ? op->arg[A_WIDTH] : rows_of(g, op->in[IN_X]) * g->tile.cols;
}

static uint32_t inv_width(const struct wse_graph *g, const struct wse_op *op)
{
	return wse_f2u(1.0f / (float)width_of(g, op));
}

/* a width that is all of the columns' is none */
static uint32_t padded(const struct wse_graph *g, const struct wse_norm_op *n)
{
	return n->width == rows_of(g, n->x) * g->tile.cols ? 0 : n->width;
}

uint32_t wse_op_norm(struct wse_graph *g, struct wse_norm_op *n, const char *what)
{
	struct wse_op *op = wse_graph_op(g, WSE_OP_NORM, WSE_NO_UNIT, n->program);
	uint32_t y = wse_graph_value(g, what, WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows_of(g, n->x));

	n->mean = WSE_NO_VALUE;
	if (!n->rms)
		n->mean = wse_graph_value(g, "statistics", WSE_TYPE_F32, WSE_SHAPE_SHARED, 1);
	n->rstd = wse_graph_value(g, "statistics", WSE_TYPE_F32, WSE_SHAPE_SHARED, 1);
	op->in[IN_X] = n->x;
	op->in[IN_VEC] = n->vec;
	op->out[OUT_Y] = y;
	op->out[OUT_MEAN] = n->mean;
	op->out[OUT_RSTD] = n->rstd;
	op->out[OUT_WORK] =
		wse_graph_value(g, "work", WSE_TYPE_BYTE, WSE_SHAPE_WORK, wse_norm_work(g->t));
	op->arg[A_GAIN] = n->gain;
	op->arg[A_BIAS] = n->bias;
	op->arg[A_EPS] = wse_f2u(n->eps);
	op->arg[A_WIDTH] = padded(g, n);
	return y;
}

uint32_t wse_op_norm_back(struct wse_graph *g, const struct wse_norm_op *n, uint32_t dy,
			  uint32_t *dres)
{
	struct wse_op *op = wse_graph_op(g, WSE_OP_NORM_BACK, WSE_NO_UNIT, n->program);
	uint32_t rows = rows_of(g, n->x), dres16;

	op->in[IN_X] = n->x;
	op->in[IN_VEC] = n->vec;
	op->in[IN_MEAN] = n->mean;
	op->in[IN_RSTD] = n->rstd;
	op->in[IN_DY] = dy;
	op->in[IN_DRES] = *dres;
	if (*dres == WSE_NO_VALUE)
		*dres = wse_graph_value(g, "residual gradient", WSE_TYPE_F32, WSE_SHAPE_TOKENS,
					rows);
	dres16 = wse_graph_value(g, "gradients", WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows);
	op->out[OUT_DRES] = *dres;
	op->out[OUT_DRES16] = dres16;
	op->out[OUT_VEC] = n->vec;
	op->out[OUT_BACK_WORK] =
		wse_graph_value(g, "work", WSE_TYPE_BYTE, WSE_SHAPE_WORK, wse_norm_work(g->t));
	op->arg[A_GAIN] = n->gain;
	op->arg[A_BIAS] = n->bias;
	op->arg[A_WIDTH] = padded(g, n);
	return dres16;
}

static int has_bias(const struct wse_op *op)
{
	return op->arg[A_BIAS] != WSE_NO_BIAS;
}

/* mean: of the operation's values */
static enum wse_op_full norm_full(const struct wse_op *op)
{
	uint32_t back = op->kind == WSE_OP_NORM_BACK;

	return !has_bias(op) || op->arg[A_WIDTH] ||
	       (back ? op->in[IN_MEAN] : op->out[OUT_MEAN]) == WSE_NO_VALUE;
}

static int check_common(const struct wse_graph *g, const struct wse_op *op, uint32_t mean,
			uint32_t rstd)
{
	uint32_t rows = op->in[IN_X] == WSE_NO_VALUE ? 0 : g->values[op->in[IN_X]].rows;
	uint32_t vec = op->in[IN_VEC];
	int ret = wse_check_value(g, op->in[IN_X], WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows,
				  "the input");

	if (!ret && op->arg[A_WIDTH] > rows * g->tile.cols)
		ret = wse_fail(-EINVAL, "a width of %u is more than %u features on %u columns",
			       op->arg[A_WIDTH], rows, g->tile.cols);
	if (!ret && mean != WSE_NO_VALUE)
		ret = wse_check_value(g, mean, WSE_TYPE_F32, WSE_SHAPE_SHARED, 1, "the mean");
	ret = ret ? ret
		  : wse_check_value(g, rstd, WSE_TYPE_F32, WSE_SHAPE_SHARED, 1, "the deviation");
	if (!ret && (vec == WSE_NO_VALUE || g->values[vec].shape != WSE_SHAPE_VECTOR ||
		     op->arg[A_GAIN] + rows > g->values[vec].rows ||
		     (has_bias(op) && op->arg[A_BIAS] + rows > g->values[vec].rows)))
		ret = wse_fail(-EINVAL, "there are no %u gains at %u and biases at %u of value %u",
			       rows, op->arg[A_GAIN], op->arg[A_BIAS], vec);
	return ret;
}

static int norm_check(const struct wse_graph *g, const struct wse_op *op)
{
	int ret = check_common(g, op, op->out[OUT_MEAN], op->out[OUT_RSTD]);

	return ret ? ret
		   : wse_check_value(g, op->out[OUT_Y], WSE_TYPE_BF16, WSE_SHAPE_TOKENS,
				     g->values[op->in[IN_X]].rows, "the result");
}

static int norm_back_check(const struct wse_graph *g, const struct wse_op *op)
{
	int ret = check_common(g, op, op->in[IN_MEAN], op->in[IN_RSTD]);
	uint32_t rows;

	if (ret)
		return ret;
	rows = g->values[op->in[IN_X]].rows;
	ret = wse_check_value(g, op->in[IN_DY], WSE_TYPE_F32, WSE_SHAPE_TOKENS, rows,
			      "the gradient");
	ret = ret ? ret
		  : wse_check_value(g, op->out[OUT_DRES], WSE_TYPE_F32, WSE_SHAPE_TOKENS, rows,
				    "the residual's gradient");
	return ret ? ret
		   : wse_check_value(g, op->out[OUT_DRES16], WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows,
				     "the residual's gradient in bf16");
}

static void norm_emit(struct wse_emit *e, const struct wse_op *op)
{
	uint32_t rows = e->g->values[op->in[IN_X]].rows, vec = wse_emit_addr(e, op->in[IN_VEC]);
	struct wse_norm_args a = {
		.x = wse_emit_addr(e, op->in[IN_X]),
		.out = wse_emit_addr(e, op->out[OUT_Y]),
		.gain = vec + 4 * op->arg[A_GAIN],
		.bias = has_bias(op) ? vec + 4 * op->arg[A_BIAS] : 0,
		.mean = wse_emit_addr(e, op->out[OUT_MEAN]),
		.rstd = wse_emit_addr(e, op->out[OUT_RSTD]),
		.work = wse_emit_addr(e, op->out[OUT_WORK]),
		.t = e->g->t,
		.h = rows,
		.inv_width = inv_width(e->g, op),
		.eps = op->arg[A_EPS],
		.width = op->arg[A_WIDTH],
	};

	wse_emit_kernel(e, op, a);
}

static void norm_back_emit(struct wse_emit *e, const struct wse_op *op)
{
	uint32_t rows = e->g->values[op->in[IN_X]].rows, vec = wse_emit_addr(e, op->in[IN_VEC]);
	struct wse_norm_back_args a = {
		.dy = wse_emit_addr(e, op->in[IN_DY]),
		.x = wse_emit_addr(e, op->in[IN_X]),
		.gain = vec + 4 * op->arg[A_GAIN],
		.mean = wse_emit_addr(e, op->in[IN_MEAN]),
		.rstd = wse_emit_addr(e, op->in[IN_RSTD]),
		.dres = wse_emit_addr(e, op->out[OUT_DRES]),
		.dres16 = wse_emit_addr(e, op->out[OUT_DRES16]),
		.dgain = vec + 4 * op->arg[A_GAIN],
		.dbias = has_bias(op) ? vec + 4 * op->arg[A_BIAS] : 0,
		.work = wse_emit_addr(e, op->out[OUT_BACK_WORK]),
		.t = e->g->t,
		.h = rows,
		.inv_width = inv_width(e->g, op),
		.add = op->in[IN_DRES] != WSE_NO_VALUE,
		.width = op->arg[A_WIDTH],
	};

	wse_emit_kernel(e, op, a);
}

/* element n of a vector over the whole width, in the packed vectors of a unit */
static float *vec_at(const struct wse_oracle_run *o, uint32_t value, uint32_t at, uint32_t rows,
		     uint32_t n)
{
	float *vec = wse_oracle_mem(o, value);

	return &vec[(size_t)(n / rows) * o->g->values[value].rows + at + n % rows];
}

static int norm_oracle(struct wse_oracle_run *o, const struct wse_op *op)
{
	uint32_t rows = o->g->values[op->in[IN_X]].rows, width = rows * o->g->tile.cols;
	struct wse_tile tile = o->g->tile;
	float *vec = malloc(2 * width * sizeof(*vec));

	if (!vec)
		return -ENOMEM;
	for (uint32_t n = 0; n < width; n++) {
		vec[n] = *vec_at(o, op->in[IN_VEC], op->arg[A_GAIN], rows, n);
		if (has_bias(op))
			vec[width + n] = *vec_at(o, op->in[IN_VEC], op->arg[A_BIAS], rows, n);
	}
	wse_norm_oracle(&tile, width, width_of(o->g, op), wse_graph_tokens(o->g),
			wse_oracle_mem(o, op->in[IN_X]), vec, has_bias(op) ? vec + width : NULL,
			wse_u2f(inv_width(o->g, op)), wse_u2f(op->arg[A_EPS]),
			wse_oracle_mem(o, op->out[OUT_Y]), wse_oracle_mem(o, op->out[OUT_MEAN]),
			wse_oracle_mem(o, op->out[OUT_RSTD]));
	free(vec);
	return 0;
}

static int norm_back_oracle(struct wse_oracle_run *o, const struct wse_op *op)
{
	uint32_t rows = o->g->values[op->in[IN_X]].rows, width = rows * o->g->tile.cols;
	struct wse_tile tile = o->g->tile;
	float *vec = malloc(3 * width * sizeof(*vec));
	struct wse_norm_back b = {
		.dy = wse_oracle_mem(o, op->in[IN_DY]),
		.x = wse_oracle_mem(o, op->in[IN_X]),
		.gain = vec,
		.mean = wse_oracle_mem(o, op->in[IN_MEAN]),
		.rstd = wse_oracle_mem(o, op->in[IN_RSTD]),
		.inv_width = wse_u2f(inv_width(o->g, op)),
		.add = op->in[IN_DRES] != WSE_NO_VALUE,
		.dres = wse_oracle_mem(o, op->out[OUT_DRES]),
		.dres16 = wse_oracle_mem(o, op->out[OUT_DRES16]),
		.dgain = vec + width,
		.dbias = has_bias(op) ? vec + 2 * width : NULL,
	};

	if (!vec)
		return -ENOMEM;
	for (uint32_t n = 0; n < width; n++)
		vec[n] = *vec_at(o, op->in[IN_VEC], op->arg[A_GAIN], rows, n);
	wse_norm_back_oracle(&tile, width, width_of(o->g, op), wse_graph_tokens(o->g), &b);
	for (uint32_t n = 0; n < width; n++) {
		*vec_at(o, op->in[IN_VEC], op->arg[A_GAIN], rows, n) = vec[width + n];
		if (has_bias(op))
			*vec_at(o, op->in[IN_VEC], op->arg[A_BIAS], rows, n) = vec[2 * width + n];
	}
	free(vec);
	return 0;
}

/* what a feature takes more where its row is no whole number of 16 tokens: measured of 24, 40 */
static uint64_t odd_row(const struct wse_graph *g, uint64_t more)
{
	return g->t > 8 && g->t % 16 ? more : 0;
}

static uint64_t norm_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	uint64_t t = g->t, h = g->values[op->in[IN_X]].rows, room = t <= 16 ? 96 : 128;
	/*
	 * each of two passes goes in chunks of so many features; a shorter one at the end is set up
	 * for itself
	 */
	uint64_t shorter = (h % (room / t - 1) != 0) + (h % (room / t) != 0);
	uint64_t row = 184ull * g->tile.cols / 10; /* the sums go round */

	/* no sums of x, which do not go round; from 17 tokens on the mean is in memory, as x is */
	uint64_t rms = 143 + row / 2 + (t > 16 ? 3 * h * t / 4 : 0);

	if (t > 32)
		rms = row / 2 + 4 * t - 27 + h * (5 + t * 5 / 8);
	if (op->out[OUT_MEAN] != WSE_NO_VALUE)
		rms = 0;

	uint64_t sum =
		t <= 8 ? 742 + row + h * 51 / 2 : 480 + 6 * t + row + 95 * shorter + 2 * h * t;

	sum += h * odd_row(g, 7);
	if (t > 32) /* measured of 40, 48 and 64 tokens */
		sum = 724 + t * 463 / 100 + row + 40 * shorter + h * (20 + t * 144 / 100);
	/* with a mean, among all forms of the kernel */
	if (!rms && !strncmp(g->programs[op->program].file, "full", 4))
		sum += sum / 20;
	return WSE_START_CYCLES + sum - rms;
}

static uint64_t norm_back_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	/* tenths of a cycle: scalar operands, then the lanes; the sums go round */
	int rms = op->in[IN_MEAN] == WSE_NO_VALUE;
	uint64_t t = g->t, feature = t <= 8 ? 690 : 155 + t * 481 / 10;
	uint64_t once = t <= 8 ? 839 : 880 + t * 7 / 4;
	uint64_t row = 108ull * g->tile.cols;

	if (rms) { /* a mean less to sum up: measured of 2 and 4 columns */
		feature = t <= 8 ? 650 : 325 + t * 369 / 10;
		once = t <= 8 ? 815 : t <= 16 ? 820 : 745 + t;
	}
	feature += odd_row(g, 160);
	/* beyond 32 tokens the sums have no room in the accumulators: measured of 40, 48 and 64 */
	if (t > 32) {
		feature = rms ? 392 + t * 35 : 304 + t * 537 / 10;
		once = rms ? 759 + t * 5 / 2 : 799 + t * 9 / 2;
	}
	if (!has_bias(op))
		feature -= 50;
	return WSE_START_CYCLES + once + (g->values[op->in[IN_X]].rows * feature + row) / 10;
}

const struct wse_op_type wse_type_norm = {.name = "norm",
					  .entry = "norm",
					  .full = norm_full,
					  .check = norm_check,
					  .emit = norm_emit,
					  .oracle = norm_oracle,
					  .cycles = norm_cycles};
const struct wse_op_type wse_type_norm_back = {.name = "norm, backward",
					       .entry = "norm_back",
					       .full = norm_full,
					       .check = norm_back_check,
					       .emit = norm_back_emit,
					       .oracle = norm_back_oracle,
					       .cycles = norm_back_cycles};
