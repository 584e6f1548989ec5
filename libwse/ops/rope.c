// SPDX-License-Identifier: MIT
/* Rotary positions: as a scalar loop (rope.h defines it), then as an operation. */
#include "ops/rope.h"

#include <errno.h>

#include "base/error.h"
#include "num/elementwise.h"
#include "ops/emit.h"
#include "ops/kinds.h"
#include "ops/oracle.h"

static void turn(const struct wse_rope *r, float c, float s, uint16_t *first, uint16_t *second)
{
	float a = wse_bf16_to_f32(*first), b = wse_bf16_to_f32(*second);
	float bs = ew_mul(b, s), as = ew_mul(a, s);

	if (r->back)
		as = ew_mul(as, -1.0f);
	else
		bs = ew_mul(bs, -1.0f);
	*first = wse_f32_to_bf16_ftz(ew_add(bs, ew_mul(a, c)));
	*second = wse_f32_to_bf16_ftz(ew_add(as, ew_mul(b, c)));
}

void wse_rope_oracle(const struct wse_rope *r, const float *table, uint16_t *x)
{
	uint32_t left = r->all > r->first ? r->all - r->first : 0;
	uint32_t pairs = left < r->d / 2 ? left : r->d / 2, saved = wse_ftz_enter();
	size_t n = r->tokens;
	const float *cos = table, *sin = cos + wse_rope_pairs(r->all, r->d) * n;

	for (size_t h = 0; h < r->heads; h++)
		for (size_t i = 0; i < pairs; i++)
			for (size_t t = 0; t < n; t++) {
				uint16_t *a = x + (h * r->d + 2 * i) * n + t;

				turn(r, cos[i * n + t], sin[i * n + t], a, a + n);
			}
	wse_ftz_leave(saved);
}

/* ---- the operation ---- */

enum { A_D, A_HEADS, A_PAIRS, A_GROUP, A_BACK };
enum { IN_QKV, IN_TABLE };

void wse_op_rope(struct wse_graph *g, const struct wse_rope_op *r)
{
	struct wse_op *op = wse_graph_op(g, WSE_OP_ROPE, WSE_NO_UNIT, r->program);

	op->in[IN_QKV] = r->qkv;
	op->in[IN_TABLE] = r->table;
	op->out[0] = r->qkv;
	op->arg[A_D] = r->d;
	op->arg[A_HEADS] = r->heads;
	op->arg[A_PAIRS] = r->pairs;
	op->arg[A_GROUP] = r->group;
	op->arg[A_BACK] = !!r->back;
}

static enum wse_op_full rope_full(const struct wse_op *op)
{
	(void)op;
	return 1;
}

static int rope_check(const struct wse_graph *g, const struct wse_op *op)
{
	uint32_t qkv = op->in[IN_QKV], rows = op->arg[A_D] * op->arg[A_HEADS];
	uint32_t group = op->arg[A_GROUP], pairs = op->arg[A_PAIRS];

	if (qkv == WSE_NO_VALUE || g->values[qkv].rows < rows)
		return wse_fail(-EINVAL, "there are no %u heads of %u features in value %u",
				op->arg[A_HEADS], op->arg[A_D], qkv);
	if (!group || g->tile.cols % group || op->arg[A_D] % 2 || !pairs ||
	    2 * pairs > op->arg[A_D] * group)
		return wse_fail(-EINVAL, "%u pairs of a head of %u features on each of %u columns",
				pairs, op->arg[A_D], group);
	if (wse_check_value(g, qkv, WSE_TYPE_BF16, WSE_SHAPE_TOKENS, g->values[qkv].rows,
			    "queries, keys and values"))
		return -EINVAL;
	return wse_check_value(g, op->in[IN_TABLE], WSE_TYPE_F32,
			       group > 1 ? WSE_SHAPE_TOKENS : WSE_SHAPE_SHARED,
			       2 * wse_rope_pairs(pairs, op->arg[A_D]), "the table of angles");
}

static void rope_emit(struct wse_emit *e, const struct wse_op *op)
{
	struct wse_rope_args a = {
		.x = wse_emit_addr(e, op->in[IN_QKV]),
		.table = wse_emit_addr(e, op->in[IN_TABLE]),
		.t = e->g->t,
		.d = op->arg[A_D],
		.heads = op->arg[A_HEADS],
		.pairs = op->arg[A_PAIRS],
		.group = op->arg[A_GROUP],
		.back = op->arg[A_BACK],
	};

	wse_emit_kernel(e, op, a);
}

static int rope_run_oracle(struct wse_oracle_run *o, const struct wse_op *op)
{
	struct wse_rope r = {.tokens = wse_graph_tokens(o->g),
			     .d = op->arg[A_D],
			     .heads = op->arg[A_HEADS],
			     .all = op->arg[A_PAIRS],
			     .back = (int)op->arg[A_BACK]};
	size_t column = (size_t)o->g->values[op->in[IN_QKV]].rows * r.tokens;
	uint16_t *x = wse_oracle_mem(o, op->in[IN_QKV]);
	size_t own = op->arg[A_GROUP] > 1 ? 2ul * wse_rope_pairs(r.all, r.d) * r.tokens : 0;
	const float *table = wse_oracle_mem(o, op->in[IN_TABLE]);

	for (uint32_t c = 0; c < o->g->tile.cols; c++) {
		r.first = c % op->arg[A_GROUP] * (r.d / 2);
		wse_rope_oracle(&r, table + c * own, x + c * column);
	}
	return 0;
}

/*
 * Of the column that turns most. Descriptors of a chunk are set while the lanes end the one before,
 * which takes less; those of the first, and the start, more with up to 16 tokens.
 */
static uint64_t rope_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	uint64_t pairs = wse_rope_pairs(op->arg[A_PAIRS], op->arg[A_D]), t = g->t;
	uint64_t per = WSE_ROPE_SUMS / t, chunks = (pairs + per - 1) / per;
	uint64_t gap = 89 - per * t * 9 / 8; /* a chunk has 64 elements at most */

	return WSE_START_CYCLES + (t > 16 ? 198 : 231) + (chunks - 1) * gap +
	       op->arg[A_HEADS] * (chunks * 6 + pairs * t * 23 / 8);
}

const struct wse_op_type wse_type_rope = {.name = "rotary positions",
					  .entry = "rope",
					  .full = rope_full,
					  .check = rope_check,
					  .emit = rope_emit,
					  .oracle = rope_run_oracle,
					  .cycles = rope_cycles};
