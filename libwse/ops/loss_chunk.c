// SPDX-License-Identifier: MIT
/*
 * Softmax cross-entropy of a vocabulary in chunks, of which only one is in the cores at a time:
 * first as scalar loops (the order is in loss.h), then as operations.
 */
#include <errno.h>
#include <string.h>

#include "num/elementwise.h"
#include "base/error.h"
#include "ops/emit.h"
#include "ops/kinds.h"
#include "ops/loss.h"
#include "ops/oracle.h"

enum { S_MAX, S_SUM, S_TARGET, S_WORK, S_ROWS };

static float *state(const struct wse_loss_chunk *k, uint32_t c, uint32_t which, uint32_t t)
{
	return k->state + ((size_t)c * S_ROWS + which) * k->tokens + t;
}

static uint32_t target_of(const struct wse_loss_chunk *k, uint32_t t)
{
	return wse_token(k->target, t, k->classes);
}

/* the classes of column c that exist, as features of the chunk */
static uint32_t exist(const struct wse_loss_chunk *k, uint32_t c)
{
	uint32_t first = k->first + c * k->v, left = k->classes > first ? k->classes - first : 0;

	return left < k->v ? left : k->v;
}

/* y: this column's first logit of the token */
static void part(const struct wse_loss_chunk *k, uint32_t c, uint32_t t, const float *y)
{
	float *m = state(k, c, S_MAX, t), *l = state(k, c, S_SUM, t), next, s = 0.0f;
	uint32_t n = exist(k, c), owned = target_of(k, t) - (k->first + c * k->v);

	if (!k->first) {
		*m = wse_u2f(0xff800000u);
		*l = 0.0f;
	}
	if (owned < n)
		*state(k, c, S_TARGET, t) = y[(size_t)owned * k->tokens];
	else if (!k->first)
		*state(k, c, S_TARGET, t) = 0.0f;
	if (!n)
		return;
	next = *m;
	for (uint32_t i = 0; i < n; i++)
		next = ew_max(y[(size_t)i * k->tokens], next);
	for (uint32_t i = 0; i < n; i++)
		s = ew_add(s, ew_exp(ew_sub(y[(size_t)i * k->tokens], next)));
	*l = ew_add(ew_mul(*l, ew_exp(ew_sub(*m, next))), s);
	*m = next;
}

void wse_loss_part_oracle(const struct wse_loss_chunk *k, const float *y)
{
	uint32_t saved = wse_ftz_enter();

	for (uint32_t c = 0; c < k->tile.cols; c++)
		for (uint32_t t = 0; t < k->tokens; t++)
			part(k, c, t, y + (size_t)c * k->v * k->tokens + t);
	wse_ftz_leave(saved);
}

static float join(const struct wse_loss_chunk *k, uint32_t t)
{
	uint32_t cols = k->tile.cols, owner = target_of(k, t) % (k->v * cols) / k->v;
	float m = wse_u2f(0xff800000u), s = 0.0f;

	for (uint32_t c = 0; c < cols; c++)
		m = ew_max(*state(k, c, S_MAX, t), m);
	for (uint32_t i = 1; i <= cols; i++) {
		uint32_t c = i % cols;
		float p = ew_mul(*state(k, c, S_SUM, t), ew_exp(ew_sub(*state(k, c, S_MAX, t), m)));

		s = i == 1 ? p : ew_add(s, p);
	}
	for (uint32_t c = 0; c < cols; c++) {
		*state(k, c, S_MAX, t) = m;
		*state(k, c, S_SUM, t) = ew_recip(s);
	}
	return ew_sub(ew_log(s), ew_sub(*state(k, owner, S_TARGET, t), m));
}

void wse_loss_join_oracle(const struct wse_loss_chunk *k, float *loss)
{
	uint32_t saved = wse_ftz_enter();

	for (uint32_t t = 0; t < k->tokens; t++)
		loss[t] = join(k, t);
	wse_ftz_leave(saved);
}

void wse_loss_grad_oracle(const struct wse_loss_chunk *k, const float *y,
			  const struct wse_loss_scale *scale, uint16_t *dy)
{
	uint32_t saved = wse_ftz_enter();

	for (uint32_t n = 0; n < k->v * k->tile.cols; n++) {
		for (uint32_t t = 0; t < k->tokens; t++) {
			float m = *state(k, 0, S_MAX, t), r = *state(k, 0, S_SUM, t), p = 0.0f;
			size_t i = (size_t)n * k->tokens + t;

			if (k->first + n < k->classes) {
				p = ew_mul(ew_exp(ew_sub(y[i], m)), r);
				p = ew_sub(p, k->first + n == target_of(k, t) ? 1.0f : 0.0f);
				p = ew_mul(p, wse_loss_scale(scale, t));
			}
			dy[i] = wse_f32_to_bf16_ftz(p);
		}
	}
	wse_ftz_leave(saved);
}

/* ---- the operations ---- */

enum { A_FIRST, A_ROWS };
enum { IN_TARGET, IN_STATE, IN_LOGITS, IN_SCALES };
enum { OUT_STATE, OUT_RESULT, OUT_LOGITS };

uint32_t wse_op_loss_part(struct wse_graph *g, uint32_t program, uint32_t logits, uint32_t target,
			  uint32_t first, uint32_t state)
{
	struct wse_op *op = wse_graph_op(g, WSE_OP_LOSS_PART, WSE_NO_UNIT, program);

	op->in[IN_TARGET] = target;
	op->in[IN_STATE] = state;
	op->in[IN_LOGITS] = op->out[OUT_LOGITS] = logits;
	op->arg[A_FIRST] = first;
	op->arg[A_ROWS] = logits < g->nvalues ? g->values[logits].rows : 0;
	if (state == WSE_NO_VALUE)
		state = wse_graph_value(g, "loss", WSE_TYPE_F32, WSE_SHAPE_TOKENS, S_ROWS);
	op->out[OUT_STATE] = state;
	return state;
}

void wse_op_loss_join(struct wse_graph *g, uint32_t program, uint32_t target, uint32_t rows,
		      uint32_t state)
{
	struct wse_op *op = wse_graph_op(g, WSE_OP_LOSS_JOIN, WSE_NO_UNIT, program);
	uint32_t loss = wse_graph_value(g, "loss", WSE_TYPE_F32, WSE_SHAPE_TOKENS, 1);

	op->in[IN_TARGET] = target;
	op->in[IN_STATE] = op->out[OUT_STATE] = state;
	op->out[OUT_RESULT] = loss;
	op->arg[A_ROWS] = rows;
	wse_op_loss_out(g, loss, target);
}

uint32_t wse_op_loss_grad(struct wse_graph *g, uint32_t program, uint32_t logits, uint32_t target,
			  uint32_t first, uint32_t state)
{
	uint32_t rows = logits < g->nvalues ? g->values[logits].rows : 0;
	struct wse_op *op = wse_graph_op(g, WSE_OP_LOSS_GRAD, WSE_NO_UNIT, program);
	uint32_t dy =
		wse_graph_value(g, "gradient of the logits", WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows);

	op->in[IN_TARGET] = target;
	op->in[IN_STATE] = state;
	op->in[IN_LOGITS] = op->out[OUT_LOGITS] = logits;
	op->in[IN_SCALES] = g->scales;
	op->out[OUT_RESULT] = dy;
	op->arg[A_FIRST] = first;
	op->arg[A_ROWS] = rows;
	return dy;
}

/* what all three have; state: the value that holds it */
static int check(const struct wse_graph *g, const struct wse_op *op, uint32_t state)
{
	uint32_t chunk = op->arg[A_ROWS] * g->tile.cols;
	int ret = wse_check_value(g, op->in[IN_TARGET],
				  g->classes > WSE_VOCAB_NARROW ? WSE_TYPE_U32 : WSE_TYPE_U16,
				  WSE_SHAPE_SHARED, 1, "the targets");

	ret = ret ? ret
		  : wse_check_value(g, state, WSE_TYPE_F32, WSE_SHAPE_TOKENS, S_ROWS,
				    "the maximum and sum so far");
	if (!ret && op->kind != WSE_OP_LOSS_JOIN)
		ret = wse_check_value(g, op->in[IN_LOGITS], WSE_TYPE_F32, WSE_SHAPE_TOKENS,
				      op->arg[A_ROWS], "the logits");
	if (!ret &&
	    (!chunk || op->arg[A_FIRST] % chunk || !g->classes || op->arg[A_ROWS] != g->vocab_rows))
		ret = wse_fail(
			-EINVAL, "class %u begins no chunk of %u x %u of %u classes, %u a column",
			op->arg[A_FIRST], op->arg[A_ROWS], g->tile.cols, g->classes, g->vocab_rows);
	return ret;
}

static int part_check(const struct wse_graph *g, const struct wse_op *op)
{
	if (!op->arg[A_FIRST] != (op->in[IN_STATE] == WSE_NO_VALUE))
		return wse_fail(-EINVAL, "class 0 begins, and nothing else");
	return check(g, op, op->out[OUT_STATE]);
}

static int join_check(const struct wse_graph *g, const struct wse_op *op)
{
	int ret = check(g, op, op->in[IN_STATE]);

	return ret ? ret
		   : wse_check_value(g, op->out[OUT_RESULT], WSE_TYPE_F32, WSE_SHAPE_TOKENS, 1,
				     "the loss");
}

static int grad_check(const struct wse_graph *g, const struct wse_op *op)
{
	int ret = check(g, op, op->in[IN_STATE]);

	if (!ret && op->in[IN_SCALES] != WSE_NO_VALUE)
		ret = wse_check_value(g, op->in[IN_SCALES], WSE_TYPE_F32, WSE_SHAPE_SHARED, 1,
				      "the scales");
	return ret ? ret
		   : wse_check_value(g, op->out[OUT_RESULT], WSE_TYPE_BF16, WSE_SHAPE_TOKENS,
				     op->arg[A_ROWS], "their gradient");
}

static uint32_t state_of(const struct wse_op *op)
{
	return op->kind == WSE_OP_LOSS_PART ? op->out[OUT_STATE] : op->in[IN_STATE];
}

static void emit(struct wse_emit *e, const struct wse_op *op)
{
	uint32_t result = wse_emit_addr(e, op->out[OUT_RESULT]);
	struct wse_loss_chunk_args a = {
		.y = wse_emit_addr(e, op->in[IN_LOGITS]),
		.dy = op->kind == WSE_OP_LOSS_GRAD ? result : 0,
		.target = wse_emit_addr(e, op->in[IN_TARGET]),
		.state = wse_emit_addr(e, state_of(op)),
		.loss = op->kind == WSE_OP_LOSS_JOIN ? result : 0,
		.t = e->g->t,
		.v = op->arg[A_ROWS],
		.first = op->arg[A_FIRST],
		.classes = e->g->classes,
		.scales = op->kind == WSE_OP_LOSS_GRAD ? wse_emit_addr(e, op->in[IN_SCALES]) : 0,
	};

	memcpy(&a.scale, &e->job->scale, sizeof(a.scale));
	wse_emit_kernel(e, op, a);
}

static int oracle(struct wse_oracle_run *o, const struct wse_op *op)
{
	struct wse_loss_chunk k = {
		.tile = o->g->tile,
		.v = op->arg[A_ROWS],
		.first = op->arg[A_FIRST],
		.classes = o->g->classes,
		.tokens = wse_graph_tokens(o->g),
		.target = wse_oracle_mem(o, op->in[IN_TARGET]),
		.state = wse_oracle_mem(o, state_of(op)),
	};
	const float *y = wse_oracle_mem(o, op->in[IN_LOGITS]);
	void *result = wse_oracle_mem(o, op->out[OUT_RESULT]);

	if (op->kind == WSE_OP_LOSS_PART)
		wse_loss_part_oracle(&k, y);
	else if (op->kind == WSE_OP_LOSS_JOIN)
		wse_loss_join_oracle(&k, result);
	else
		wse_loss_grad_oracle(&k, y,
				     &(struct wse_loss_scale){o->job->scale,
							      wse_oracle_mem(o, op->in[IN_SCALES])},
				     result);
	return 0;
}

/*
 * from kernels on the RTL (tests/device/test-loss.c prints them), the start included. Of a part in
 * tenths of a cycle: for each class and token, for each token, of the first part more, as it begins
 * the sums; beyond 32 tokens a row is two operations.
 */
enum { PART_CLASS = 53, PART_TOKEN = 170, PART_FIRST = 52, PART_LONG = 190, PART_ONCE = 420 };
enum { GRAD_CYCLES = 7, GRAD_ONCE = 100 };
/* odd: rows of tokens that are no multiple of 16 */
enum { JOIN_TOKEN = 25, JOIN_HOP = 35, JOIN_ONCE = 400, JOIN_LONG = 170, JOIN_ODD = 120 };

/* classes of a chunk's first column, which has most; of the last chunk some do not exist */
static uint64_t classes_of(const struct wse_graph *g, const struct wse_op *op)
{
	uint32_t first = op->arg[A_FIRST], left = g->classes > first ? g->classes - first : 0;

	return left < op->arg[A_ROWS] ? left : op->arg[A_ROWS];
}

static uint64_t part_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	uint64_t token = classes_of(g, op) * PART_CLASS + PART_TOKEN;

	if (!op->arg[A_FIRST])
		token += PART_FIRST;
	return WSE_START_CYCLES + g->t * token / 10 + PART_ONCE + (g->t > 32 ? PART_LONG : 0);
}

static uint64_t join_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	(void)op;
	return WSE_START_CYCLES + (uint64_t)g->t * JOIN_TOKEN + 2 * JOIN_HOP * g->tile.cols +
	       JOIN_ONCE + (g->t > 32 ? JOIN_LONG : 0) + (g->t > 8 && g->t % 16 ? JOIN_ODD : 0);
}

static uint64_t grad_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	uint64_t there = classes_of(g, op), none = op->arg[A_ROWS] - there;

	return WSE_START_CYCLES + g->t * there * GRAD_CYCLES + g->t * none / 2 + GRAD_ONCE;
}

const struct wse_op_type wse_type_loss_part = {.name = "loss of a chunk",
					       .entry = "loss_part",
					       .check = part_check,
					       .emit = emit,
					       .oracle = oracle,
					       .cycles = part_cycles};
const struct wse_op_type wse_type_loss_join = {.name = "loss of all chunks",
					       .entry = "loss_join",
					       .check = join_check,
					       .emit = emit,
					       .oracle = oracle,
					       .cycles = join_cycles};
const struct wse_op_type wse_type_loss_grad = {.name = "gradient of a chunk",
					       .entry = "loss_grad",
					       .check = grad_check,
					       .emit = emit,
					       .oracle = oracle,
					       .cycles = grad_cycles};
