// SPDX-License-Identifier: MIT
/* Dropout: its bits, then operations (drop.h). */
#include "ops/drop.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "num/elementwise.h"
#include "ops/emit.h"
#include "ops/kinds.h"
#include "ops/oracle.h"

struct wse_drop wse_drop_of(const struct wse_micro_batch *job, uint32_t place, float rate)
{
	struct wse_drop d = {.scale = 1.0f, .unscale = 1.0f};

	if (!job->backward || !job->drop || !(rate > 0.0f))
		return d;
	d.seed = (uint32_t)(wse_rng_u64(job->drop, place, job->index) >> 32);
	d.keep = 0x80000000u - (uint32_t)((double)rate * 0x1p31 + 0.5);
	d.unscale = 1.0f - rate;
	d.scale = 1.0f / d.unscale;
	return d;
}

enum { A_PLACE, A_RATE };
enum { IN_X, IN_ADD };
enum { OUT_SAME, OUT_16, OUT_TABLE };

static struct wse_op *drop_op(struct wse_graph *g, uint32_t program, uint32_t place, float rate)
{
	struct wse_op *op = wse_graph_op(g, WSE_OP_DROP, WSE_NO_UNIT, program);

	op->arg[A_PLACE] = place;
	op->arg[A_RATE] = wse_f2u(rate);
	op->out[OUT_TABLE] =
		wse_graph_value(g, "dropout", WSE_TYPE_BYTE, WSE_SHAPE_WORK, wse_drop_table(g->t));
	return op;
}

void wse_op_drop(struct wse_graph *g, const struct wse_drop_op *d, uint32_t *out16)
{
	struct wse_op *op = drop_op(g, d->program, d->place, d->rate);
	uint32_t rows = d->x < g->nvalues ? g->values[d->x].rows : 0;

	op->in[IN_X] = d->x;
	op->in[IN_ADD] = d->add;
	op->out[OUT_SAME] = d->over ? d->x : WSE_NO_VALUE;
	if (out16)
		*out16 = op->out[OUT_16] =
			wse_graph_value(g, d->what, WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows);
}

uint32_t wse_op_drop_table(struct wse_graph *g, uint32_t program, uint32_t place, float rate)
{
	return 1 + drop_op(g, program, place, rate)->out[OUT_TABLE];
}

static int is_table(const struct wse_op *op)
{
	return op->in[IN_X] == WSE_NO_VALUE;
}

static int is32(const struct wse_graph *g, uint32_t value)
{
	return value != WSE_NO_VALUE && g->values[value].type == WSE_TYPE_F32;
}

/* of bf16 or binary32 */
static int check_either(const struct wse_graph *g, uint32_t value, uint32_t rows, const char *what)
{
	return wse_check_value(g, value, is32(g, value) ? WSE_TYPE_F32 : WSE_TYPE_BF16,
			       WSE_SHAPE_TOKENS, rows, what);
}

static int drop_check(const struct wse_graph *g, const struct wse_op *op)
{
	float rate = wse_u2f(op->arg[A_RATE]);
	uint32_t x = op->in[IN_X];
	int ret;

	if (!(rate >= 0.0f && rate < 1.0f))
		return wse_fail(-EINVAL, "a rate of dropout is at least 0 and below 1, not %g",
				(double)rate);
	ret = wse_check_value(g, op->out[OUT_TABLE], WSE_TYPE_BYTE, WSE_SHAPE_WORK,
			      wse_drop_table(g->t), "the table of dropout");
	if (ret || is_table(op))
		return ret;
	ret = check_either(g, x, g->values[x].rows, "what is dropped");
	if (!ret && op->in[IN_ADD] != WSE_NO_VALUE)
		ret = check_either(g, op->in[IN_ADD], g->values[x].rows, "what is added");
	if (!ret && op->out[OUT_16] != WSE_NO_VALUE)
		ret = wse_check_value(g, op->out[OUT_16], WSE_TYPE_BF16, WSE_SHAPE_TOKENS,
				      g->values[x].rows, "the result");
	return ret;
}

static void drop_emit(struct wse_emit *e, const struct wse_op *op)
{
	const struct wse_graph *g = e->g;
	struct wse_drop d = wse_drop_of(e->job, op->arg[A_PLACE], wse_u2f(op->arg[A_RATE]));
	uint32_t x = op->in[IN_X];
	struct wse_drop_args a = {
		.table = wse_emit_addr(e, op->out[OUT_TABLE]),
		.seed = d.seed,
		.keep = d.keep,
		.scale = wse_f2u(d.scale),
		.unscale = wse_f2u(d.unscale),
		.t = g->t,
		.h = is_table(op) ? 0 : g->values[x].rows,
		.x = wse_emit_addr(e, x),
		.x32 = (uint32_t)is32(g, x),
		.add = wse_emit_addr(e, op->in[IN_ADD]),
		.add32 = (uint32_t)is32(g, op->in[IN_ADD]),
		.out = wse_emit_addr(e, op->out[OUT_SAME]),
		.out32 = (uint32_t)is32(g, op->out[OUT_SAME]),
		.out16 = wse_emit_addr(e, op->out[OUT_16]),
	};

	wse_emit_kernel(e, op, a);
}

static float load(const void *from, int is32, size_t i)
{
	return is32 ? ((const float *)from)[i] : wse_bf16_to_f32(((const uint16_t *)from)[i]);
}

static void store(void *to, int is32, size_t i, float f)
{
	if (is32)
		((float *)to)[i] = f;
	else
		((uint16_t *)to)[i] = wse_f32_to_bf16_ftz(f);
}

static int drop_oracle(struct wse_oracle_run *o, const struct wse_op *op)
{
	struct wse_drop d = wse_drop_of(o->job, op->arg[A_PLACE], wse_u2f(op->arg[A_RATE]));
	const uint32_t x = op->in[IN_X], add = op->in[IN_ADD];
	const size_t tokens = wse_graph_tokens(o->g);
	void *same = wse_oracle_mem(o, op->out[OUT_SAME]);
	uint16_t *out16 = wse_oracle_mem(o, op->out[OUT_16]);
	size_t n = is_table(op) ? 0 : o->g->values[x].rows * o->g->tile.cols * tokens;
	uint32_t saved = wse_ftz_enter();

	memcpy(wse_oracle_mem(o, op->out[OUT_TABLE]), &d, sizeof(d));
	for (size_t i = 0; i < n; i++) {
		float f = load(wse_oracle_mem(o, x), is32(o->g, x), i);

		if (d.keep)
			f = ew_mul(
				wse_drop_keeps(&d, (uint32_t)(i % tokens), (uint32_t)(i / tokens))
					? f
					: 0.0f,
				d.scale);
		if (add != WSE_NO_VALUE)
			f = ew_add(f, load(wse_oracle_mem(o, add), is32(o->g, add), i));
		if (same)
			store(same, is32(o->g, x), i, f);
		if (out16)
			store(out16, 0, i, f);
	}
	wse_ftz_leave(saved);
	return 0;
}

/*
 * The table; chunks of 64 elements, of which a feature has scalar steps of its own. Fitted to the
 * RTL at 8, 16 and 32 tokens, the last in programs of a phase, which are slower
 */
static uint64_t drop_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	uint64_t h = is_table(op) ? 0 : g->values[op->in[IN_X]].rows, per = 64 / g->t;
	uint64_t chunks = (h + per - 1) / per, add = op->in[IN_ADD] == WSE_NO_VALUE ? 0 : 42;
	int many = g->t > 16;

	return WSE_START_CYCLES + (many ? 26 * g->t : 120 + 18 * g->t) + 15 * h +
	       chunks * (277 + add + (many ? 33 : 0));
}

static enum wse_op_full drop_full(const struct wse_op *op)
{
	(void)op;
	return WSE_OP_DROPS;
}

const struct wse_op_type wse_type_drop = {.name = "dropout",
					  .entry = "drop",
					  .full = drop_full,
					  .check = drop_check,
					  .emit = drop_emit,
					  .oracle = drop_oracle,
					  .cycles = drop_cycles};
