// SPDX-License-Identifier: MIT
/* Out of the cores and back, beside the other operations. */
#include "ops/spill.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "ops/copies.h"
#include "ops/kinds.h"
#include "ops/oracle.h"

int wse_copies_beside = 1;

enum { A_SPILL, A_ROW0, A_ROWS };

uint32_t wse_op_spill(struct wse_graph *g, uint32_t value, const char *what)
{
	struct wse_op *op = wse_graph_op(g, WSE_OP_SPILL, WSE_NO_UNIT, 0);

	op->in[0] = value;
	op->arg[A_SPILL] = wse_graph_spill(g, what, value);
	return op->arg[A_SPILL];
}

uint32_t wse_op_fill_rows(struct wse_graph *g, uint32_t spill, uint32_t value, uint32_t row0,
			  uint32_t rows, const char *what)
{
	struct wse_op *op = wse_graph_op(g, WSE_OP_FILL, WSE_NO_UNIT, 0);
	uint32_t from = spill < g->nspills ? g->spills[spill].value : WSE_NO_VALUE;

	op->in[0] = value;
	op->arg[A_SPILL] = spill;
	op->arg[A_ROW0] = row0;
	op->arg[A_ROWS] = rows;
	if (value == WSE_NO_VALUE && from < g->nvalues)
		value = wse_graph_value(g, what, g->values[from].type, g->values[from].shape,
					g->values[from].rows);
	op->out[0] = value;
	return value;
}

uint32_t wse_op_fill(struct wse_graph *g, uint32_t spill, const char *what)
{
	return wse_op_fill_rows(g, spill, WSE_NO_VALUE, 0, g->tile.rows, what);
}

void wse_op_wait(struct wse_graph *g, uint32_t value)
{
	wse_graph_op(g, WSE_OP_WAIT, WSE_NO_UNIT, 0)->in[0] = value;
}

size_t wse_spill_bytes(const struct wse_graph *g, uint32_t spill)
{
	return wse_rows_bytes(g, &g->values[g->spills[spill].value]);
}

/* ---- checks: what is done between a copy and its wait ---- */

static int has(const uint32_t *list, int n, uint32_t value)
{
	while (n--)
		if (list[n] == value)
			return 1;
	return 0;
}

/* behind the copy `op` of a value the first operation that may not come is its wait */
static int check_wait(const struct wse_graph *g, const struct wse_op *op, uint32_t value)
{
	int in = op->kind == WSE_OP_FILL;

	for (uint32_t i = (uint32_t)(op - g->ops) + 1; i <= g->values[value].last; i++) {
		const struct wse_op *o = &g->ops[i];

		if (o->kind == WSE_OP_WAIT && o->in[0] == value)
			return 0;
		if (o->kind == WSE_OP_FILL && in)
			continue;
		if (has(o->out, WSE_OP_OUTS, value) || (in && has(o->in, WSE_OP_INS, value)))
			return wse_fail(-EINVAL,
					"op %u (%s) %s value %u, which %s, before an operation "
					"waits for it: wse_op_wait() comes first",
					i, wse_kind_name(o->kind), in ? "uses" : "writes", value,
					in ? "comes back" : "leaves");
	}
	return wse_fail(-EINVAL, "no operation waits for value %u: wse_op_wait() is missing",
			value);
}

static int spill_check(const struct wse_graph *g, const struct wse_op *op)
{
	uint32_t value = op->in[0];
	int ret;

	if (op->arg[A_SPILL] >= g->nspills || g->spills[op->arg[A_SPILL]].value != value)
		return wse_fail(-EINVAL, "there is no spill %u of value %u", op->arg[A_SPILL],
				value);
	ret = wse_check_value(g, value, g->values[value].type, WSE_SHAPE_TOKENS,
			      g->values[value].rows, "the value");
	return ret ? ret : check_wait(g, op, value);
}

/* rows that operations before `end` have filled of a value, from 0 on; UINT32_MAX: none comes */
static uint32_t rows_before(const struct wse_graph *g, uint32_t value, const struct wse_op *end)
{
	uint32_t rows = UINT32_MAX;

	for (const struct wse_op *o = &g->ops[g->values[value].first]; o < end; o++)
		if (o->kind == WSE_OP_FILL && o->out[0] == value)
			rows = o->arg[A_ROW0] + o->arg[A_ROWS];
	return rows;
}

static int fill_check(const struct wse_graph *g, const struct wse_op *op)
{
	uint32_t value = op->out[0], row0, n = op->arg[A_ROWS];
	const struct wse_value *from;
	int ret;

	if (op->arg[A_SPILL] >= g->nspills || value == WSE_NO_VALUE)
		return wse_fail(-EINVAL, "there is no spill %u of %u", op->arg[A_SPILL],
				g->nspills);
	from = &g->values[g->spills[op->arg[A_SPILL]].value];
	if (from->first == UINT32_MAX || from->first >= g->values[value].first)
		return wse_fail(-EINVAL, "spill %u comes back before it has left",
				op->arg[A_SPILL]);
	row0 = rows_before(g, value, op);
	row0 = row0 == UINT32_MAX ? 0 : row0;
	if (op->arg[A_ROW0] != row0 || !n || n > g->tile.rows - row0)
		return wse_fail(
			-EINVAL, "rows %u to %u of spill %u come back, of %u, where %u are back",
			op->arg[A_ROW0], op->arg[A_ROW0] + n, op->arg[A_SPILL], g->tile.rows, row0);
	ret = wse_check_value(g, value, from->type, WSE_SHAPE_TOKENS, from->rows, "the value");
	return ret ? ret : check_wait(g, op, value);
}

static int wait_check(const struct wse_graph *g, const struct wse_op *op)
{
	uint32_t value = op->in[0], rows;

	if (value == WSE_NO_VALUE)
		return wse_fail(-EINVAL, "the value is missing");
	rows = rows_before(g, value, op);
	for (uint32_t i = 0; i < g->nspills && rows == UINT32_MAX; i++)
		if (g->spills[i].value == value)
			return 0;
	if (rows == g->tile.rows)
		return 0;
	if (rows == UINT32_MAX)
		return wse_fail(-EINVAL, "value %u neither leaves nor comes back", value);
	return wse_fail(-EINVAL, "%u of %u rows of value %u come back", rows, g->tile.rows, value);
}

/* ---- commands ---- */

/* what follows on a queue waits for all that has been emitted on another one */
static void fence(struct wse_emit *e, uint32_t queue, uint32_t other)
{
	uint32_t i = e->n;

	while (i-- > 0)
		if (e->cmd[i].queue == other) {
			wse_emit_cmd(e, wse_cmd_fence(queue, i));
			return;
		}
	wse_emit_cmd(e, wse_cmd_fence_queue(queue, other));
}

/* the copy's queue: behind the operations before it, whose values it reads or takes the place of */
static uint32_t copy_queue(struct wse_emit *e)
{
	if (!e->beside)
		return WSE_QUEUE_RUN;
	fence(e, WSE_QUEUE_BESIDE, WSE_QUEUE_RUN);
	return WSE_QUEUE_BESIDE;
}

static void spill_emit(struct wse_emit *e, const struct wse_op *op)
{
	struct wse_copy c;

	if (!e->job->backward)
		return;
	c = wse_rows_copy(e, op->in[0]);
	c.queue = copy_queue(e);
	c.buf = e->spills[op->arg[A_SPILL]];
	wse_emit_cmd(e, wse_cmd_copy_out(c));
}

static void fill_emit(struct wse_emit *e, const struct wse_op *op)
{
	struct wse_copy c = wse_rows_copy(e, op->out[0]);

	c.queue = copy_queue(e);
	c.buf = e->spills[op->arg[A_SPILL]];
	c.off = (uint64_t)op->arg[A_ROW0] * c.rstride;
	c.row0 = (uint16_t)op->arg[A_ROW0];
	c.rows = (uint16_t)op->arg[A_ROWS];
	wse_emit_cmd(e, wse_cmd_copy_in(c));
}

static void wait_emit(struct wse_emit *e, const struct wse_op *op)
{
	(void)op;
	if (e->job->backward && e->beside)
		fence(e, WSE_QUEUE_RUN, WSE_QUEUE_BESIDE);
}

/* ---- scalar ---- */

static int spill_oracle(struct wse_oracle_run *o, const struct wse_op *op)
{
	if (o->job->backward)
		memcpy(o->spills[op->arg[A_SPILL]], wse_oracle_mem(o, op->in[0]),
		       wse_spill_bytes(o->g, op->arg[A_SPILL]));
	return 0;
}

/* the last part brings all: none is read before */
static int fill_oracle(struct wse_oracle_run *o, const struct wse_op *op)
{
	if (op->arg[A_ROW0] + op->arg[A_ROWS] == o->g->tile.rows)
		memcpy(wse_oracle_mem(o, op->out[0]), o->spills[op->arg[A_SPILL]],
		       wse_spill_bytes(o->g, op->arg[A_SPILL]));
	return 0;
}

static int wait_oracle(struct wse_oracle_run *o, const struct wse_op *op)
{
	(void)o;
	(void)op;
	return 0;
}

/* ---- cycles ---- */

static uint64_t spill_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	return wse_rows_out_cycles(g, op->in[0]);
}

uint64_t wse_spill_rows_cycles(const struct wse_graph *g, uint32_t spill, uint32_t rows)
{
	return wse_rows_in_cycles(g, g->spills[spill].value, rows);
}

static uint64_t fill_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	return wse_rows_in_cycles(g, op->out[0], op->arg[A_ROWS]);
}

/* a FENCE that waits for nothing */
static uint64_t wait_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	(void)g;
	(void)op;
	return WSE_COMMAND_CYCLES;
}

/*
 * There is one executor of copies, and a bus goes to a copy before it goes to a stream of the same
 * direction, whose bursts are shorter.
 */
static int in_its_way(const struct wse_op *op, int in)
{
	if (!wse_op_type(op->kind)->entry)
		return 1;
	return in ? op->kind == WSE_OP_LINEAR
		  : wse_op_type(op->kind)->writes_grad & WSE_GRAD_MATRIX;
}

uint64_t wse_op_cycles(struct wse_beside *b, const struct wse_graph *g, const struct wse_op *op)
{
	uint64_t cycles = wse_op_type(op->kind)->cycles(g, op), waited = 0;

	if (!wse_copies_beside)
		return op->kind == WSE_OP_WAIT ? 0 : cycles;
	if (op->kind == WSE_OP_SPILL || op->kind == WSE_OP_FILL) {
		b->in = op->kind == WSE_OP_FILL;
		b->left += cycles;
		return 0;
	}
	if (op->kind == WSE_OP_WAIT || in_its_way(op, b->in))
		waited = b->left;
	b->left -= waited ? waited : b->left < cycles ? b->left : cycles;
	return cycles + waited;
}

const struct wse_op_type wse_type_spill = {.name = "spill",
					   .check = spill_check,
					   .emit = spill_emit,
					   .oracle = spill_oracle,
					   .cycles = spill_cycles};
const struct wse_op_type wse_type_fill = {.name = "fill",
					  .check = fill_check,
					  .emit = fill_emit,
					  .oracle = fill_oracle,
					  .cycles = fill_cycles};
const struct wse_op_type wse_type_wait = {.name = "wait for a copy",
					  .check = wait_check,
					  .emit = wait_emit,
					  .oracle = wait_oracle,
					  .cycles = wait_cycles};
