// SPDX-License-Identifier: MIT
/*
 * Causal attention and its backward pass as operations; their scalar definition is scalar_attn.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "num/elementwise.h"
#include "base/error.h"
#include "ops/attn_cycles.h"
#include "ops/emit.h"
#include "ops/kinds.h"
#include "ops/oracle.h"
#include "ops/scalar_attn.h"

enum { A_D, A_HEADS, A_GROUP, A_KV, A_SCALE, A_HALVES };
enum { IN_QKV, IN_O, IN_DOUT, IN_MAX, IN_RECIP, IN_SLOPES = WSE_ATTN_IN_SLOPES, IN_DROP };
enum { OUT_O, OUT_MAX, OUT_RECIP, OUT_WORK };
enum { OUT_DQKV, OUT_BACK_WORK, OUT_BACK_SUMS };

static uint32_t kv_of(const struct wse_attn_op *a)
{
	return a->kv ? a->kv : a->heads;
}

uint32_t wse_op_attn(struct wse_graph *g, struct wse_attn_op *a)
{
	struct wse_op *op = wse_graph_op(g, WSE_OP_ATTN, WSE_NO_UNIT, a->program);
	uint32_t o =
		wse_graph_value(g, "activations", WSE_TYPE_BF16, WSE_SHAPE_TOKENS, a->d * a->heads);

	a->max = wse_graph_value(g, "statistics", WSE_TYPE_F32, WSE_SHAPE_TOKENS, a->heads);
	a->recip = wse_graph_value(g, "statistics", WSE_TYPE_F32, WSE_SHAPE_TOKENS, a->heads);
	op->in[IN_QKV] = a->qkv;
	op->in[IN_SLOPES] = a->slopes ? a->slopes - 1 : WSE_NO_VALUE;
	op->in[IN_DROP] = a->drop ? a->drop - 1 : WSE_NO_VALUE;
	op->out[OUT_O] = o;
	op->out[OUT_MAX] = a->max;
	op->out[OUT_RECIP] = a->recip;
	op->out[OUT_WORK] = wse_graph_value(g, "attention", WSE_TYPE_BYTE, WSE_SHAPE_WORK,
					    wse_attn_work(g->t, g->seq, a->d, a->heads));
	op->arg[A_D] = a->d;
	op->arg[A_HEADS] = a->heads;
	op->arg[A_GROUP] = a->group;
	op->arg[A_KV] = kv_of(a);
	return o;
}

void wse_op_attn_back(struct wse_graph *g, const struct wse_attn_op *a, uint32_t o, uint32_t dout)
{
	struct wse_op *op = wse_graph_op(g, WSE_OP_ATTN_BACK, WSE_NO_UNIT, a->program);

	op->in[IN_QKV] = a->qkv;
	op->in[IN_O] = o;
	op->in[IN_DOUT] = dout;
	op->in[IN_MAX] = a->max;
	op->in[IN_RECIP] = a->recip;
	op->in[IN_SLOPES] = a->slopes ? a->slopes - 1 : WSE_NO_VALUE;
	op->in[IN_DROP] = a->drop ? a->drop - 1 : WSE_NO_VALUE;
	op->out[OUT_DQKV] = a->qkv;
	op->out[OUT_BACK_WORK] = wse_graph_value(g, "attention", WSE_TYPE_BYTE, WSE_SHAPE_WORK,
						 wse_attn_back_work(g->t, g->seq, a->d, a->heads));
	op->arg[A_D] = a->d;
	op->arg[A_HEADS] = a->heads;
	op->arg[A_GROUP] = a->group;
	op->arg[A_KV] = kv_of(a);
	op->arg[A_SCALE] = wse_f2u(a->scale);
	if (kv_of(a) != a->heads)
		op->out[OUT_BACK_SUMS] = wse_graph_value(g, "attention", WSE_TYPE_BYTE,
							 WSE_SHAPE_WORK, wse_attn_sums(g->t, a->d));
}

/* ---- rows that share their work (firmware/lib/attn_half.h, attn_back_half.h) ---- */

/* of an operation: may rows share its work; the scratch that it takes where they do (on) or not */
static int may_halve(const struct wse_graph *g, const struct wse_op *op, int on, uint32_t *work)
{
	uint32_t t = g->t, s = g->seq, d = op->arg[A_D], heads = op->arg[A_HEADS];

	if (op->kind == WSE_OP_ATTN) {
		*work = on ? wse_attn_halves_work(t, d) : wse_attn_work(t, s, d, heads);
		return wse_attn_halves(t, s, d);
	}
	*work = on ? wse_attn_back_halves_work(t, d) : wse_attn_back_work(t, s, d, heads);
	return op->kind == WSE_OP_ATTN_BACK && wse_attn_back_halves(t, s, d);
}

int wse_attn_halve(struct wse_graph *g, uint32_t program, enum wse_attn_shares shares)
{
	int n = 0;

	for (uint32_t i = 0; i < g->nops; i++) {
		struct wse_op *op = &g->ops[i];
		int back = op->kind == WSE_OP_ATTN_BACK;
		int on = shares >= (back ? WSE_ATTN_SHARES_BACK : WSE_ATTN_SHARES);
		uint32_t work;

		if (op->program != program || !may_halve(g, op, on, &work))
			continue;
		op->arg[A_HALVES] = on;
		wse_graph_resize(g, op->out[back ? OUT_BACK_WORK : OUT_WORK], work);
		n += on;
	}
	g->parts = 0;
	for (uint32_t i = 0; i < g->nops; i++)
		g->parts |= g->ops[i].kind == WSE_OP_ATTN_BACK && g->ops[i].arg[A_HALVES];
	return n;
}

/* ---- slopes (ALiBi) ---- */

static int shares(const struct wse_op *op)
{
	return op->arg[A_KV] != op->arg[A_HEADS];
}

static enum wse_op_full attn_full(const struct wse_op *op)
{
	if (op->in[IN_DROP] != WSE_NO_VALUE)
		return WSE_OP_DROPS;
	if (op->in[IN_SLOPES] != WSE_NO_VALUE)
		return WSE_OP_SLOPES;
	return shares(op) ? WSE_OP_FULL : WSE_OP_PLAIN;
}

uint32_t wse_op_slopes(struct wse_graph *g, uint32_t input, uint32_t heads)
{
	return wse_op_in(g, "slopes", input, WSE_TYPE_F32, WSE_SHAPE_SHARED,
			 wse_attn_slope_rows(g->t, heads));
}

void wse_attn_slopes(const struct wse_graph *g, uint32_t heads, float *table)
{
	size_t rows = wse_attn_slope_rows(g->t, heads), all = wse_graph_tokens(g);

	for (size_t r = 0; r < rows; r++)
		for (size_t i = 0; i < all; i++)
			table[r * all + i] = r < wse_attn_keys(g->t) ? (float)r : 0.0f;
}

void wse_attn_slope(const struct wse_graph *g, uint32_t head, float slope, float *table)
{
	size_t all = wse_graph_tokens(g), row = wse_attn_keys(g->t) + head / g->t;

	for (size_t i = head % g->t; i < all; i += g->t)
		table[row * all + i] = slope;
}

int wse_attn_check_slopes(const struct wse_graph *g, uint32_t slopes, uint32_t heads,
			  uint32_t group)
{
	if (slopes == WSE_NO_VALUE)
		return 0;
	return wse_check_value(g, slopes, WSE_TYPE_F32, WSE_SHAPE_SHARED,
			       wse_attn_slope_rows(g->t, heads * (g->tile.cols / group)),
			       "the slopes of the heads");
}

static int attn_check(const struct wse_graph *g, const struct wse_op *op)
{
	int back = op->kind == WSE_OP_ATTN_BACK;
	uint32_t heads = op->arg[A_HEADS], h = op->arg[A_D] * heads, kv = op->arg[A_KV];
	int ret;

	if (!kv || heads % kv)
		return wse_fail(-EINVAL, "%u heads of queries do not share %u of keys", heads, kv);
	ret = wse_check_value(g, op->in[IN_QKV], WSE_TYPE_BF16, WSE_SHAPE_TOKENS,
			      h + 2 * op->arg[A_D] * kv, "queries, keys and values");

	ret = ret ? ret
		  : wse_check_value(g, back ? op->in[IN_O] : op->out[OUT_O], WSE_TYPE_BF16,
				    WSE_SHAPE_TOKENS, h, "the result");
	ret = ret ? ret
		  : wse_check_value(g, back ? op->in[IN_MAX] : op->out[OUT_MAX], WSE_TYPE_F32,
				    WSE_SHAPE_TOKENS, heads, "the largest scores");
	ret = ret ? ret
		  : wse_check_value(g, back ? op->in[IN_RECIP] : op->out[OUT_RECIP], WSE_TYPE_F32,
				    WSE_SHAPE_TOKENS, heads, "the sums");
	if (!ret && back)
		ret = wse_check_value(g, op->in[IN_DOUT], WSE_TYPE_BF16, WSE_SHAPE_TOKENS, h,
				      "the gradient");
	if (!ret && (!op->arg[A_GROUP] || g->tile.cols % op->arg[A_GROUP]))
		ret = wse_fail(-EINVAL, "%u heads a column, each over %u of %u columns", heads,
			       op->arg[A_GROUP], g->tile.cols);
	ret = ret ? ret : wse_attn_check_slopes(g, op->in[IN_SLOPES], heads, op->arg[A_GROUP]);
	if (!ret && op->in[IN_DROP] != WSE_NO_VALUE)
		ret = wse_check_value(g, op->in[IN_DROP], WSE_TYPE_BYTE, WSE_SHAPE_WORK,
				      wse_drop_table(g->t), "the table of dropout");
	if (!ret && (g->seq % g->t || wse_graph_tokens(g) % g->seq))
		ret = wse_fail(
			-EINVAL,
			"sequences of %u tokens do not lie on whole rows of %u tokens, %u rows",
			g->seq, g->t, g->tile.rows);
	return ret;
}

static void attn_emit(struct wse_emit *e, const struct wse_op *op)
{
	struct wse_attn_args a = {
		.qkv = wse_emit_addr(e, op->in[IN_QKV]),
		.o = wse_emit_addr(e, op->out[OUT_O]),
		.max = wse_emit_addr(e, op->out[OUT_MAX]),
		.recip = wse_emit_addr(e, op->out[OUT_RECIP]),
		.work = wse_emit_addr(e, op->out[OUT_WORK]),
		.t = e->g->t,
		.s = e->g->seq,
		.d = op->arg[A_D],
		.heads = op->arg[A_HEADS],
		.group = op->arg[A_GROUP],
		.kv = op->arg[A_KV],
		.slopes = wse_emit_addr(e, op->in[IN_SLOPES]),
		.drop = wse_emit_addr(e, op->in[IN_DROP]),
	};

	wse_emit_kernel(e, op, a);
}

static float score_scale(const struct wse_op *op)
{
	if (op->arg[A_SCALE])
		return wse_u2f(op->arg[A_SCALE]);
	return 1.0f / wse_sqrtf((float)(op->arg[A_D] * op->arg[A_GROUP]));
}

static void attn_back_emit(struct wse_emit *e, const struct wse_op *op)
{
	struct wse_attn_back_args a = {
		.qkv = wse_emit_addr(e, op->in[IN_QKV]),
		.o = wse_emit_addr(e, op->in[IN_O]),
		.dout = wse_emit_addr(e, op->in[IN_DOUT]),
		.max = wse_emit_addr(e, op->in[IN_MAX]),
		.recip = wse_emit_addr(e, op->in[IN_RECIP]),
		.work = wse_emit_addr(e, op->out[OUT_BACK_WORK]),
		.t = e->g->t,
		.s = e->g->seq,
		.d = op->arg[A_D],
		.heads = op->arg[A_HEADS],
		.group = op->arg[A_GROUP],
		.scale = wse_f2u(score_scale(op)),
		.kv = op->arg[A_KV],
		.sums = wse_emit_addr(e, op->out[OUT_BACK_SUMS]),
		.slopes = wse_emit_addr(e, op->in[IN_SLOPES]),
		.drop = wse_emit_addr(e, op->in[IN_DROP]),
	};

	if (op->arg[A_HALVES])
		a.halves = 1;
	wse_emit_kernel(e, op, a);
}

int wse_attn_slopes_of(struct wse_oracle_run *o, uint32_t value, uint32_t heads, float **to)
{
	const float *table;

	*to = NULL;
	if (value == WSE_NO_VALUE)
		return 0;
	*to = malloc(heads * sizeof(**to));
	if (!*to)
		return wse_fail(-ENOMEM, "no memory for %u slopes", heads);
	table = (const float *)wse_oracle_mem(o, value) +
		wse_attn_keys(o->g->t) * wse_graph_tokens(o->g);
	for (uint32_t i = 0; i < heads; i++)
		(*to)[i] = table[i / o->g->t * wse_graph_tokens(o->g) + i % o->g->t];
	return 0;
}

static struct wse_attn_shape shape_of(const struct wse_graph *g, const struct wse_op *op)
{
	return (struct wse_attn_shape){wse_graph_tokens(g),
				       g->seq,
				       op->arg[A_D],
				       op->arg[A_HEADS],
				       op->arg[A_GROUP],
				       op->arg[A_KV],
				       0,
				       NULL,
				       NULL,
				       op->arg[A_HALVES]};
}

static int attn_run_oracle(struct wse_oracle_run *o, const struct wse_op *op)
{
	struct wse_attn_shape shape = shape_of(o->g, op);
	struct wse_tile tile = o->g->tile;
	float *slopes;
	int ret = wse_attn_slopes_of(o, op->in[IN_SLOPES], shape.heads * (tile.cols / shape.group),
				     &slopes);

	shape.slopes = slopes;
	shape.drop = wse_oracle_mem(o, op->in[IN_DROP]);
	ret = ret ? ret
		  : wse_attn_oracle(&tile, &shape, wse_oracle_mem(o, op->in[IN_QKV]),
				    wse_oracle_mem(o, op->out[OUT_O]),
				    wse_oracle_mem(o, op->out[OUT_MAX]),
				    wse_oracle_mem(o, op->out[OUT_RECIP]));
	free(slopes);
	return ret;
}

static int attn_back_run_oracle(struct wse_oracle_run *o, const struct wse_op *op)
{
	struct wse_attn_shape shape = shape_of(o->g, op);
	struct wse_tile tile = o->g->tile;
	float *slopes;
	int ret = wse_attn_slopes_of(o, op->in[IN_SLOPES], shape.heads * (tile.cols / shape.group),
				     &slopes);

	shape.slopes = slopes;
	shape.drop = wse_oracle_mem(o, op->in[IN_DROP]);
	ret = ret ? ret
		  : wse_attn_back_oracle(
			    &tile, &shape, wse_oracle_mem(o, op->in[IN_QKV]),
			    wse_oracle_mem(o, op->in[IN_O]), wse_oracle_mem(o, op->in[IN_DOUT]),
			    wse_oracle_mem(o, op->in[IN_MAX]), wse_oracle_mem(o, op->in[IN_RECIP]),
			    score_scale(op), wse_oracle_mem(o, op->out[OUT_DQKV]));
	free(slopes);
	return ret;
}

static uint64_t slope_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	return op->in[IN_SLOPES] == WSE_NO_VALUE
		       ? 0
		       : wse_attn_slope_cycles(g->t, g->seq, op->arg[A_HEADS],
					       op->kind == WSE_OP_ATTN_BACK);
}

static uint64_t drop_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	return op->in[IN_DROP] == WSE_NO_VALUE
		       ? 0
		       : wse_attn_drop_cycles(g->t, g->seq, op->arg[A_HEADS],
					      op->kind == WSE_OP_ATTN_BACK);
}

static uint64_t attn_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	uint32_t d = op->arg[A_D], heads = op->arg[A_HEADS], group = op->arg[A_GROUP];

	return WSE_START_CYCLES +
	       (op->arg[A_HALVES] ? wse_attn_halves_cycles(g->t, g->seq, d, heads, group)
				  : wse_attn_cycles(g->t, g->seq, d, heads, group)) +
	       slope_cycles(g, op) + drop_cycles(g, op);
}

static uint64_t attn_back_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	uint32_t d = op->arg[A_D], heads = op->arg[A_HEADS], group = op->arg[A_GROUP];

	return WSE_START_CYCLES +
	       (op->arg[A_HALVES] ? wse_attn_back_halves_cycles(g->t, g->seq, d, heads, group)
				  : wse_attn_back_cycles(g->t, g->seq, d, heads, group)) +
	       (shares(op) ? wse_attn_share_cycles(g->t, op->arg[A_D], op->arg[A_HEADS]) : 0) +
	       slope_cycles(g, op) + drop_cycles(g, op);
}

const struct wse_op_type wse_type_attn = {.name = "attention",
					  .entry = "attn",
					  .full = attn_full,
					  .check = attn_check,
					  .emit = attn_emit,
					  .oracle = attn_run_oracle,
					  .cycles = attn_cycles};
const struct wse_op_type wse_type_attn_back = {.name = "attention, backward",
					       .entry = "attn_back",
					       .full = attn_full,
					       .check = attn_check,
					       .emit = attn_back_emit,
					       .oracle = attn_back_run_oracle,
					       .cycles = attn_back_cycles};
