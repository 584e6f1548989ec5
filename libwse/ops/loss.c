// SPDX-License-Identifier: MIT
/*
 * Softmax cross-entropy over the columns: losses and the gradient of the logits. First as scalar
 * loops (the order is in loss.h), then as an operation.
 */
#include "ops/loss.h"

#include <errno.h>
#include <string.h>

#include "num/elementwise.h"
#include "base/error.h"
#include "ops/emit.h"
#include "ops/kinds.h"
#include "ops/oracle.h"

/* S of one token; y points at its first logit, logits are `tokens` apart */
static float sum_of_exp(const struct wse_tile *tile, uint32_t width, uint32_t classes,
			uint32_t tokens, const float *y, float m)
{
	uint32_t per = width / tile->cols;
	float s = 0.0f;

	for (uint32_t i = 1; i <= tile->cols; i++) {
		uint32_t c = i % tile->cols;
		float p = 0.0f;

		for (uint32_t n = c * per; n < (c + 1) * per && n < classes; n++)
			p = ew_add(p, ew_exp(ew_sub(y[(size_t)n * tokens], m)));
		s = i == 1 ? p : ew_add(s, p);
	}
	return s;
}

void wse_loss_oracle(const struct wse_tile *tile, uint32_t width, uint32_t classes, uint32_t tokens,
		     const float *y, const uint16_t *target, const struct wse_loss_scale *scale,
		     float *loss, uint16_t *dy)
{
	uint32_t saved = wse_ftz_enter();

	for (uint32_t t = 0; t < tokens; t++, y++) {
		float m = wse_u2f(0xff800000u), s, r;

		for (uint32_t n = 0; n < classes; n++)
			m = ew_max(y[(size_t)n * tokens], m);
		s = sum_of_exp(tile, width, classes, tokens, y, m);
		loss[t] = ew_sub(ew_log(s), ew_sub(y[(size_t)target[t] * tokens], m));
		r = ew_recip(s);
		for (uint32_t n = 0; n < width && dy; n++) {
			float p = 0.0f;

			if (n < classes) {
				p = ew_mul(ew_exp(ew_sub(y[(size_t)n * tokens], m)), r);
				p = ew_mul(ew_sub(p, n == target[t] ? 1.0f : 0.0f),
					   wse_loss_scale(scale, t));
			}
			dy[(size_t)n * tokens + t] = wse_f32_to_bf16_ftz(p);
		}
	}
	wse_ftz_leave(saved);
}

/* ---- the operation ---- */

uint32_t wse_op_loss(struct wse_graph *g, uint32_t program, uint32_t logits, uint32_t target)
{
	uint32_t rows = logits < g->nvalues ? g->values[logits].rows : 0;
	struct wse_op *op = wse_graph_op(g, WSE_OP_LOSS, WSE_NO_UNIT, program);
	uint32_t dy, loss, work;

	dy = wse_graph_value(g, "gradient of the logits", WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows);
	loss = wse_graph_value(g, "loss", WSE_TYPE_F32, WSE_SHAPE_TOKENS, 1);
	work = wse_graph_value(g, "loss", WSE_TYPE_BYTE, WSE_SHAPE_WORK, 12 * g->t);
	op->in[0] = logits;
	op->in[1] = target;
	op->in[2] = g->scales;
	op->out[0] = dy;
	op->out[1] = loss;
	op->out[2] = work;
	op->out[3] = logits; /* destroyed */
	wse_op_loss_out(g, loss, target);
	return dy;
}

void wse_op_loss_out(struct wse_graph *g, uint32_t loss, uint32_t target)
{
	struct wse_op *op = wse_graph_op(g, WSE_OP_LOSS_OUT, WSE_NO_UNIT, 0);

	op->in[0] = loss;
	op->in[1] = target;
	g->nforward = g->nops;
}

void wse_op_loss_scales(struct wse_graph *g)
{
	g->scale_in = wse_graph_in(g, "scales of the loss", (size_t)wse_graph_tokens(g) * 4);
	g->scales =
		wse_op_in(g, "scales of the loss", g->scale_in, WSE_TYPE_F32, WSE_SHAPE_SHARED, 1);
}

static int loss_check(const struct wse_graph *g, const struct wse_op *op)
{
	uint32_t logits = op->in[0], rows = logits == WSE_NO_VALUE ? 0 : g->values[logits].rows;
	int ret = wse_check_value(g, logits, WSE_TYPE_F32, WSE_SHAPE_TOKENS, rows, "the logits");

	ret = ret ? ret
		  : wse_check_value(g, op->in[1], WSE_TYPE_U16, WSE_SHAPE_SHARED, 1, "the targets");
	ret = ret ? ret
		  : wse_check_value(g, op->out[0], WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows,
				    "their gradient");
	ret = ret ? ret
		  : wse_check_value(g, op->out[1], WSE_TYPE_F32, WSE_SHAPE_TOKENS, 1, "the loss");
	if (!ret && op->in[2] != WSE_NO_VALUE)
		ret = wse_check_value(g, op->in[2], WSE_TYPE_F32, WSE_SHAPE_SHARED, 1,
				      "the scales");
	if (!ret && g->classes > WSE_VOCAB_NARROW)
		ret = wse_fail(-EINVAL, "%u classes in one piece: more than %u go in chunks alone",
			       g->classes, WSE_VOCAB_NARROW);
	if (!ret && (!g->classes || g->classes > rows * g->tile.cols))
		ret = wse_fail(-EINVAL, "%u classes, %u logits", g->classes, rows * g->tile.cols);
	return ret;
}

static void loss_emit(struct wse_emit *e, const struct wse_op *op)
{
	struct wse_loss_args a = {
		.y = wse_emit_addr(e, op->in[0]),
		.dy = wse_emit_addr(e, op->out[0]),
		.target = wse_emit_addr(e, op->in[1]),
		.loss = wse_emit_addr(e, op->out[1]),
		.work = wse_emit_addr(e, op->out[2]),
		.t = e->g->t,
		.v = e->g->values[op->in[0]].rows,
		.backward = !!e->job->backward,
		.classes = e->g->classes,
		.scales = wse_emit_addr(e, op->in[2]),
	};

	memcpy(&a.scale, &e->job->scale, sizeof(a.scale));
	wse_emit_kernel(e, op, a);
}

static int loss_oracle(struct wse_oracle_run *o, const struct wse_op *op)
{
	struct wse_tile tile = o->g->tile;
	const struct wse_loss_scale scale = {o->job->scale, wse_oracle_mem(o, op->in[2])};

	wse_loss_oracle(&tile, o->g->values[op->in[0]].rows * tile.cols, o->g->classes,
			wse_graph_tokens(o->g), wse_oracle_mem(o, op->in[0]),
			wse_oracle_mem(o, op->in[1]), &scale, wse_oracle_mem(o, op->out[1]),
			wse_oracle_mem(o, op->out[0]));
	return 0;
}

/* with the gradient */
static uint64_t loss_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	uint64_t t = g->t, logit = 68ull * g->values[op->in[0]].rows / 10;

	/* maximum and sum go round the row, token behind token */
	return WSE_START_CYCLES + 540 + g->tile.cols * (36 + t) + t * (50 + logit);
}

const struct wse_op_type wse_type_loss = {.name = "loss",
					  .entry = "loss",
					  .check = loss_check,
					  .emit = loss_emit,
					  .oracle = loss_oracle,
					  .cycles = loss_cycles};

/* ---- every column's losses; the executor picks the one of each token's target ---- */

static int loss_out_check(const struct wse_graph *g, const struct wse_op *op)
{
	if (g->loss >= g->nout || g->target >= g->nin)
		return wse_fail(-EINVAL, "the graph names no output for losses, or no targets");
	return wse_check_value(g, op->in[0], WSE_TYPE_F32, WSE_SHAPE_TOKENS, 1, "the loss");
}

static void loss_out_emit(struct wse_emit *e, const struct wse_op *op)
{
	wse_emit_cmd(e, wse_cmd_copy_out((struct wse_copy){
				.buf = e->losses,
				.off = e->loss_off,
				.queue = WSE_QUEUE_RUN,
				.sram = e->g->values[op->in[0]].sram,
				.rows = e->g->tile.rows,
				.cols = e->g->tile.cols,
				.len = 4 * e->g->t,
				.cstride = wse_graph_tokens(e->g) * 4,
				.rstride = e->g->t * 4,
			}));
}

/* the oracle's loss is of every token, in its first row */
static int loss_out_oracle(struct wse_oracle_run *o, const struct wse_op *op)
{
	memcpy(wse_span_ptr(o->job->out[o->g->loss]), wse_oracle_mem(o, op->in[0]),
	       wse_graph_tokens(o->g) * sizeof(float));
	return 0;
}

static uint64_t loss_out_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	(void)op;
	return wse_copy_out_cycles(g->tile.rows * wse_bus_columns(g), 1, 4 * g->t);
}

const struct wse_op_type wse_type_loss_out = {.name = "loss out",
					      .check = loss_out_check,
					      .emit = loss_out_emit,
					      .oracle = loss_out_oracle,
					      .cycles = loss_out_cycles};
