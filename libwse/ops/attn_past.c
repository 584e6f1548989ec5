// SPDX-License-Identifier: MIT
/*
 * Attention of a row of cores to keys and values that came before, as an operation. By definition
 * it is what the last row of a sequence of n + 1 rows has of the attention over all of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ops/attn_cycles.h"
#include "ops/emit.h"
#include "ops/kinds.h"
#include "ops/oracle.h"
#include "ops/scalar_attn.h"

enum { A_D, A_HEADS, A_GROUP, A_KV };
enum { IN_QKV, IN_PAST, IN_COUNT, IN_SLOPES };
enum { OUT_O, OUT_WORK };

/* tokens of the longest sequence */
static uint32_t longest(const struct wse_graph *g, const struct wse_op *op)
{
	return g->values[op->in[IN_PAST]].rows * g->t / (2 * op->arg[A_D] * op->arg[A_KV]);
}

uint32_t wse_op_attn_past(struct wse_graph *g, uint32_t program, uint32_t qkv, uint32_t past,
			  uint32_t count, const struct wse_attn_op *a)
{
	uint32_t d = a->d, heads = a->heads, kv = a->kv ? a->kv : heads;
	struct wse_op *op = wse_graph_op(g, WSE_OP_ATTN_PAST, WSE_NO_UNIT, program);
	uint32_t o = wse_graph_value(g, "activations", WSE_TYPE_BF16, WSE_SHAPE_TOKENS, d * heads);
	uint32_t s = past < g->nvalues ? g->values[past].rows * g->t / (2 * d * kv) : 0;

	op->in[IN_QKV] = qkv;
	op->in[IN_PAST] = past;
	op->in[IN_COUNT] = count;
	op->in[IN_SLOPES] = a->slopes ? a->slopes - 1 : WSE_NO_VALUE;
	op->out[OUT_O] = o;
	op->out[OUT_WORK] = wse_graph_value(g, "attention", WSE_TYPE_BYTE, WSE_SHAPE_WORK,
					    wse_attn_past_work(g->t, s, d));
	op->arg[A_D] = d;
	op->arg[A_HEADS] = heads;
	op->arg[A_GROUP] = a->group;
	op->arg[A_KV] = kv;
	return o;
}

/* features of keys that a column has */
static uint32_t keys_of(const struct wse_op *op)
{
	return op->arg[A_D] * op->arg[A_KV];
}

static enum wse_op_full past_full(const struct wse_op *op)
{
	if (op->in[IN_SLOPES] != WSE_NO_VALUE)
		return WSE_OP_SLOPES;
	return op->arg[A_KV] != op->arg[A_HEADS] ? WSE_OP_FULL : WSE_OP_PLAIN;
}

static int past_check(const struct wse_graph *g, const struct wse_op *op)
{
	uint32_t heads = op->arg[A_HEADS], h = op->arg[A_D] * heads, kv = op->arg[A_KV], s;
	int ret;

	if (!kv || heads % kv)
		return wse_fail(-EINVAL, "%u heads of queries do not share %u of keys", heads, kv);
	ret = wse_check_value(g, op->in[IN_QKV], WSE_TYPE_BF16, WSE_SHAPE_TOKENS,
			      h + 2 * keys_of(op), "queries, keys and values");

	ret = ret ? ret
		  : wse_check_value(g, op->in[IN_COUNT], WSE_TYPE_U16, WSE_SHAPE_SHARED, 1,
				    "the rows of the past");
	if (!ret && op->in[IN_PAST] == WSE_NO_VALUE)
		ret = wse_fail(-EINVAL, "keys and values of the past are missing");
	s = ret ? 0 : longest(g, op);
	/* a step from row to row has 15 bits in elements */
	if (!ret && (!s || s % g->t || s > 16384))
		ret = wse_fail(-EINVAL, "sequences of %u tokens are not rows of %u, up to 16384", s,
			       g->t);
	ret = ret ? ret
		  : wse_check_value(g, op->in[IN_PAST], WSE_TYPE_BF16, WSE_SHAPE_TOKENS,
				    2 * keys_of(op) * (s / g->t), "keys and values of the past");
	ret = ret ? ret
		  : wse_check_value(g, op->out[OUT_O], WSE_TYPE_BF16, WSE_SHAPE_TOKENS, h,
				    "the result");
	if (!ret && (!op->arg[A_GROUP] || g->tile.cols % op->arg[A_GROUP]))
		ret = wse_fail(-EINVAL, "%u heads a column, each over %u of %u columns", heads,
			       op->arg[A_GROUP], g->tile.cols);
	return ret ? ret : wse_attn_check_slopes(g, op->in[IN_SLOPES], heads, op->arg[A_GROUP]);
}

static void past_emit(struct wse_emit *e, const struct wse_op *op)
{
	struct wse_attn_past_args a = {
		.qkv = wse_emit_addr(e, op->in[IN_QKV]),
		.past = wse_emit_addr(e, op->in[IN_PAST]),
		.count = wse_emit_addr(e, op->in[IN_COUNT]),
		.o = wse_emit_addr(e, op->out[OUT_O]),
		.work = wse_emit_addr(e, op->out[OUT_WORK]),
		.t = e->g->t,
		.s = longest(e->g, op),
		.d = op->arg[A_D],
		.heads = op->arg[A_HEADS],
		.group = op->arg[A_GROUP],
		.kv = op->arg[A_KV],
		.slopes = wse_emit_addr(e, op->in[IN_SLOPES]),
	};

	wse_emit_kernel(e, op, a);
}

/* row r of cores: all n + 1 rows of its sequence in arrays of their own, o being the last one's */
static int row_oracle(const struct wse_graph *g, const struct wse_op *op, uint32_t r, uint32_t n,
		      const uint16_t *qkv, const uint16_t *past, const float *slopes, uint16_t *o)
{
	uint32_t cols = g->tile.cols, t = g->t, h = op->arg[A_D] * op->arg[A_HEADS];
	uint32_t chunks = longest(g, op) / t, keys = keys_of(op), per = h + 2 * keys;
	size_t all = wse_graph_tokens(g), tokens = (n + 1ul) * t, width = (size_t)h * cols;
	struct wse_tile tile = {.rows = n + 1, .cols = cols, .lanes = g->tile.lanes};
	struct wse_attn_shape shape = {(uint32_t)tokens, (uint32_t)tokens, op->arg[A_D],
				       op->arg[A_HEADS], op->arg[A_GROUP], op->arg[A_KV],
				       longest(g, op),	 .slopes = slopes};
	uint16_t *x = calloc((size_t)per * cols * tokens, 2), *y = calloc(width * tokens, 2);
	float *stat = calloc(2 * width * tokens, sizeof(*stat));
	int ret = x && y && stat ? 0 : -ENOMEM;

	for (size_t f = 0; f < (size_t)per * cols && !ret; f++) {
		size_t c = f / per, in = f % per;

		for (uint32_t k = 0; k < n && in >= h; k++)
			memcpy(x + f * tokens + k * t,
			       past + (((c * 2 * keys + in - h) * chunks) + k) * all + r * t,
			       2 * t);
		memcpy(x + f * tokens + n * t, qkv + f * all + r * t, 2 * t);
	}
	ret = ret ? ret : wse_attn_oracle(&tile, &shape, x, y, stat, stat + width * tokens);
	for (size_t f = 0; f < width && !ret; f++)
		memcpy(o + f * all + r * t, y + f * tokens + n * t, 2 * t);
	free(x);
	free(y);
	free(stat);
	return ret;
}

static int past_oracle(struct wse_oracle_run *run, const struct wse_op *op)
{
	const struct wse_graph *g = run->g;
	const uint16_t *count = wse_oracle_mem(run, op->in[IN_COUNT]);
	float *slopes;
	int ret = wse_attn_slopes_of(run, op->in[IN_SLOPES],
				     op->arg[A_HEADS] * (g->tile.cols / op->arg[A_GROUP]), &slopes);

	for (uint32_t r = 0; r < g->tile.rows && !ret; r++) {
		uint32_t n = count[r * g->t];

		if ((n + 1) * g->t > longest(g, op))
			ret = wse_fail(-EINVAL, "row %u has a past of %u rows", r, n);
		ret = ret ? ret
			  : row_oracle(g, op, r, n, wse_oracle_mem(run, op->in[IN_QKV]),
				       wse_oracle_mem(run, op->in[IN_PAST]), slopes,
				       wse_oracle_mem(run, op->out[OUT_O]));
	}
	free(slopes);
	return ret;
}

uint64_t wse_op_attn_past_cycles(const struct wse_graph *g, const struct wse_op *op, uint32_t n)
{
	return WSE_START_CYCLES +
	       wse_attn_past_cycles(g->t, longest(g, op), n, op->arg[A_D], op->arg[A_HEADS],
				    op->arg[A_GROUP]) +
	       (op->in[IN_SLOPES] == WSE_NO_VALUE
			? 0
			: wse_attn_slope_cycles(g->t, (n + 1) * g->t, op->arg[A_HEADS], 0));
}

/* of the longest past */
static uint64_t past_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	return wse_op_attn_past_cycles(g, op, longest(g, op) / g->t - 1);
}

const struct wse_op_type wse_type_attn_past = {.name = "attention with a past",
					       .entry = "attn_past",
					       .full = past_full,
					       .check = past_check,
					       .emit = past_emit,
					       .oracle = past_oracle,
					       .cycles = past_cycles};
