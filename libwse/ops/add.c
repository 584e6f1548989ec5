// SPDX-License-Identifier: MIT
/* out = bf16(a + b): as a scalar loop, then as an operation. */
#include "ops/add.h"

#include "num/elementwise.h"
#include "ops/emit.h"
#include "ops/kinds.h"
#include "ops/oracle.h"

void wse_add_oracle(size_t n, const uint16_t *a, const uint16_t *b, uint16_t *out)
{
	uint32_t saved = wse_ftz_enter();

	for (size_t i = 0; i < n; i++)
		out[i] = wse_f32_to_bf16_ftz(ew_add(wse_bf16_to_f32(a[i]), wse_bf16_to_f32(b[i])));
	wse_ftz_leave(saved);
}

/* ---- the operation ---- */

uint32_t wse_op_add(struct wse_graph *g, uint32_t program, uint32_t a, uint32_t b, const char *what)
{
	return wse_op_map(g, WSE_OP_ADD, program, a, b, what);
}

static int add_check(const struct wse_graph *g, const struct wse_op *op)
{
	uint32_t out = op->out[0], rows = out == WSE_NO_VALUE ? 0 : g->values[out].rows;
	int ret = wse_check_value(g, op->in[0], WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows,
				  "the first term");

	ret = ret ? ret
		  : wse_check_value(g, op->in[1], WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows,
				    "the second term");
	return ret ? ret
		   : wse_check_value(g, out, WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows, "the sum");
}

static void add_emit(struct wse_emit *e, const struct wse_op *op)
{
	struct wse_add_args a = {
		.a = wse_emit_addr(e, op->in[0]),
		.b = wse_emit_addr(e, op->in[1]),
		.out = wse_emit_addr(e, op->out[0]),
		.n = e->g->values[op->out[0]].rows * e->g->t,
	};

	wse_emit_kernel(e, op, a);
}

static int add_oracle(struct wse_oracle_run *o, const struct wse_op *op)
{
	wse_add_oracle((size_t)o->g->values[op->out[0]].rows * o->g->tile.cols *
			       wse_graph_tokens(o->g),
		       wse_oracle_mem(o, op->in[0]), wse_oracle_mem(o, op->in[1]),
		       wse_oracle_mem(o, op->out[0]));
	return 0;
}

static uint64_t add_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	return WSE_START_CYCLES + 90 + (uint64_t)g->values[op->out[0]].rows * g->t * 64 / 100;
}

const struct wse_op_type wse_type_add = {.name = "add",
					 .entry = "add",
					 .check = add_check,
					 .emit = add_emit,
					 .oracle = add_oracle,
					 .cycles = add_cycles};
