// SPDX-License-Identifier: MIT
/* What goes in and out: rows of values, vectors of a unit and their gradients. */
#include <errno.h>
#include <string.h>

#include <wse/layer.h>

#include "base/error.h"
#include "ops/copies.h"
#include "ops/emit.h"
#include "ops/kinds.h"
#include "ops/oracle.h"

static uint32_t element(const struct wse_value *v)
{
	return v->type == WSE_TYPE_F32 || v->type == WSE_TYPE_U32 ? 4 : 2;
}

size_t wse_rows_bytes(const struct wse_graph *g, const struct wse_value *v)
{
	return (size_t)v->rows * (v->shape == WSE_SHAPE_TOKENS ? g->tile.cols : 1) *
	       wse_graph_tokens(g) * element(v);
}

/* parts: of the input or output, of which the value is one; group: as wse_op_in_group()'s, or 0 */
static int check_rows(const struct wse_graph *g, uint32_t value, const struct wse_io *io,
		      uint32_t n, uint32_t nio, uint32_t parts, uint32_t group)
{
	const struct wse_value *v;
	size_t bytes;

	if (value == WSE_NO_VALUE)
		return wse_fail(-EINVAL, "the value is missing");
	v = &g->values[value];
	if (v->shape != WSE_SHAPE_TOKENS && v->shape != WSE_SHAPE_SHARED)
		return wse_fail(-EINVAL, "value %u has no tokens", value);
	if (n >= nio)
		return wse_fail(-EINVAL, "there is no input or output %u of %u", n, nio);
	if (group && (v->shape != WSE_SHAPE_TOKENS || g->tile.cols % group))
		return wse_fail(-EINVAL, "value %u does not lie on groups of %u columns", value,
				group);
	bytes = wse_rows_bytes(g, v) * parts;
	bytes = group ? bytes / g->tile.cols * group : bytes;
	if (io[n].bytes != bytes)
		return wse_fail(-EINVAL, "\"%s\" has %zu bytes, value %u has %zu", io[n].name,
				io[n].bytes, value, bytes);
	return 0;
}

struct wse_copy wse_rows_copy(const struct wse_emit *e, uint32_t value)
{
	const struct wse_value *v = &e->g->values[value];
	struct wse_layer l = {e->g->tile.rows, e->g->tile.cols, e->g->t, e->g->nfeat};
	struct wse_copy c = wse_layer_values(&l, v->rows, element(v));

	c.queue = WSE_QUEUE_RUN;
	c.sram = v->sram;
	if (v->shape != WSE_SHAPE_TOKENS)
		c.cstride = 0;
	return c;
}

static struct wse_copy span_copy(struct wse_emit *e, struct wse_span s, uint32_t value)
{
	struct wse_copy c = wse_rows_copy(e, value);

	c.buf = wse_emit_buffer(e, s.buf);
	c.off = s.off;
	return c;
}

/* ---- in ---- */

/* of the input or output; which part of how many; columns that have what others have, too, or 0 */
enum { A_NUMBER, A_PART, A_PARTS, A_GROUP };

uint32_t wse_op_in(struct wse_graph *g, const char *what, uint32_t input, enum wse_type type,
		   enum wse_shape shape, uint32_t rows)
{
	return wse_op_in_part(g, what, input, type, shape, rows, 0, 1);
}

uint32_t wse_op_in_part(struct wse_graph *g, const char *what, uint32_t input, enum wse_type type,
			enum wse_shape shape, uint32_t rows, uint32_t part, uint32_t parts)
{
	struct wse_op *op = wse_graph_op(g, WSE_OP_IN, WSE_NO_UNIT, 0);
	uint32_t v = wse_graph_value(g, what, type, shape, rows);

	op->out[0] = v;
	op->arg[A_NUMBER] = input;
	op->arg[A_PART] = part;
	op->arg[A_PARTS] = parts;
	return v;
}

uint32_t wse_op_in_group(struct wse_graph *g, const char *what, uint32_t input, enum wse_type type,
			 uint32_t rows, uint32_t group)
{
	uint32_t v = wse_op_in(g, what, input, type, WSE_SHAPE_TOKENS, rows);

	if (!g->failed) /* else it is perhaps another operation, or none */
		g->ops[g->nops - 1].arg[A_GROUP] = group;
	return v;
}

static int check_part(const struct wse_op *op)
{
	return op->arg[A_PART] < op->arg[A_PARTS]
		       ? 0
		       : wse_fail(-EINVAL, "an input or output of %u parts has no part %u",
				  op->arg[A_PARTS], op->arg[A_PART]);
}

static int in_check(const struct wse_graph *g, const struct wse_op *op)
{
	int ret = check_part(op);

	return ret ? ret
		   : check_rows(g, op->out[0], g->in, op->arg[A_NUMBER], g->nin, op->arg[A_PARTS],
				op->arg[A_GROUP]);
}

/* where a value is in the job's input or output */
static struct wse_span part_span(const struct wse_graph *g, struct wse_span s,
				 const struct wse_op *op, uint32_t value)
{
	s.off += op->arg[A_PART] * wse_rows_bytes(g, &g->values[value]);
	return s;
}

static void in_emit(struct wse_emit *e, const struct wse_op *op)
{
	struct wse_span s = part_span(e->g, e->job->in[op->arg[A_NUMBER]], op, op->out[0]);
	struct wse_copy c = span_copy(e, s, op->out[0]);
	uint16_t all = c.cols;

	c.broadcast = e->bcast_dim && !c.cstride; /* each row's lines for all its columns */
	c.cols = op->arg[A_GROUP] ? (uint16_t)op->arg[A_GROUP] : all;
	for (; c.buf && c.col0 < all; c.col0 = (uint16_t)(c.col0 + c.cols))
		wse_emit_cmd(e, wse_cmd_copy_in(c));
}

static int in_oracle(struct wse_oracle_run *o, const struct wse_op *op)
{
	struct wse_span s = part_span(o->g, o->job->in[op->arg[A_NUMBER]], op, op->out[0]);

	size_t bytes = wse_rows_bytes(o->g, &o->g->values[op->out[0]]), cols = o->g->tile.cols;
	size_t of = op->arg[A_GROUP] ? bytes / cols * op->arg[A_GROUP] : bytes;
	char *to = wse_oracle_mem(o, op->out[0]);

	for (size_t at = 0; at < bytes; at += of)
		memcpy(to + at, wse_span_ptr(s), of);
	return 0;
}

uint64_t wse_rows_in_cycles(const struct wse_graph *g, uint32_t value, uint32_t rows)
{
	const struct wse_value *v = &g->values[value];
	uint64_t cols = v->shape == WSE_SHAPE_TOKENS ? wse_bus_columns(g) : 1;

	return wse_copy_in_cycles(rows * cols, v->rows, g->t * element(v));
}

static uint64_t in_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	return wse_rows_in_cycles(g, op->out[0], g->tile.rows);
}

const struct wse_op_type wse_type_in = {
	.name = "in", .check = in_check, .emit = in_emit, .oracle = in_oracle, .cycles = in_cycles};

/* ---- out: only where the job wants it ---- */

void wse_op_out(struct wse_graph *g, uint32_t output, uint32_t value)
{
	wse_op_out_part(g, output, value, 0, 1);
}

void wse_op_out_part(struct wse_graph *g, uint32_t output, uint32_t value, uint32_t part,
		     uint32_t parts)
{
	struct wse_op *op = wse_graph_op(g, WSE_OP_OUT, WSE_NO_UNIT, 0);

	op->in[0] = value;
	op->arg[A_NUMBER] = output;
	op->arg[A_PART] = part;
	op->arg[A_PARTS] = parts;
}

static int out_check(const struct wse_graph *g, const struct wse_op *op)
{
	int ret = check_part(op);

	return ret ? ret
		   : check_rows(g, op->in[0], g->out, op->arg[A_NUMBER], g->nout, op->arg[A_PARTS],
				0);
}

static void out_emit(struct wse_emit *e, const struct wse_op *op)
{
	struct wse_span s = part_span(e->g, e->job->out[op->arg[A_NUMBER]], op, op->in[0]);
	struct wse_copy c;

	if (!s.buf)
		return;
	c = span_copy(e, s, op->in[0]);
	if (c.buf)
		wse_emit_cmd(e, wse_cmd_copy_out(c));
}

static int out_oracle(struct wse_oracle_run *o, const struct wse_op *op)
{
	struct wse_span s = part_span(o->g, o->job->out[op->arg[A_NUMBER]], op, op->in[0]);

	if (s.buf)
		memcpy(wse_span_ptr(s), wse_oracle_mem(o, op->in[0]),
		       wse_rows_bytes(o->g, &o->g->values[op->in[0]]));
	return 0;
}

uint64_t wse_rows_out_cycles(const struct wse_graph *g, uint32_t value)
{
	const struct wse_value *v = &g->values[value];

	return wse_copy_out_cycles(g->tile.rows * wse_bus_columns(g), v->rows, g->t * element(v));
}

static uint64_t out_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	/* logits are for text, not for training */
	return op->arg[A_NUMBER] == g->logits ? 0 : wse_rows_out_cycles(g, op->in[0]);
}

const struct wse_op_type wse_type_out = {.name = "out",
					 .check = out_check,
					 .emit = out_emit,
					 .oracle = out_oracle,
					 .cycles = out_cycles};

/* ---- vectors of a unit, and their gradients ---- */

uint32_t wse_op_vec_in(struct wse_graph *g, uint32_t unit)
{
	struct wse_op *op = wse_graph_op(g, WSE_OP_VEC_IN, unit, 0);
	uint32_t rows = unit < g->nunits ? g->units[unit].vec_rows : 0;
	uint32_t v = wse_graph_value(g, "vectors", WSE_TYPE_F32, WSE_SHAPE_VECTOR, rows);

	op->out[0] = v;
	return v;
}

static int vec_check(const struct wse_graph *g, const struct wse_op *op)
{
	uint32_t v = op->kind == WSE_OP_VEC_IN ? op->out[0] : op->in[0];

	if (op->unit == WSE_NO_UNIT || !g->units[op->unit].nvec)
		return wse_fail(-EINVAL, "it has no unit with vectors");
	return wse_check_value(g, v, WSE_TYPE_F32, WSE_SHAPE_VECTOR, g->units[op->unit].vec_rows,
			       "the vectors");
}

static struct wse_copy vec_copy(struct wse_emit *e, const struct wse_unit *u, uint32_t value)
{
	return (struct wse_copy){
		.queue = WSE_QUEUE_RUN,
		.sram = e->g->values[value].sram,
		.rows = e->g->tile.rows,
		.cols = e->g->tile.cols,
		.len = u->vec_rows * 4,
		.cstride = u->vec_rows * 4,
	};
}

static void vec_in_emit(struct wse_emit *e, const struct wse_op *op)
{
	struct wse_span s = e->job->images[op->unit].vec;
	struct wse_copy c = vec_copy(e, &e->g->units[op->unit], op->out[0]);

	c.buf = wse_emit_buffer(e, s.buf);
	c.off = s.off;
	c.broadcast = e->bcast_dim; /* each column's for all its rows */
	if (c.buf)
		wse_emit_cmd(e, wse_cmd_copy_in(c));
}

static int vec_in_oracle(struct wse_oracle_run *o, const struct wse_op *op)
{
	memcpy(wse_oracle_mem(o, op->out[0]), wse_span_ptr(o->job->images[op->unit].vec),
	       (size_t)o->g->units[op->unit].vec_rows * o->g->tile.cols * 4);
	return 0;
}

static uint64_t vec_in_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	return wse_copy_in_cycles(wse_bus_columns(g), 1, g->units[op->unit].vec_rows * 4);
}

const struct wse_op_type wse_type_vec_in = {.name = "vectors in",
					    .check = vec_check,
					    .emit = vec_in_emit,
					    .oracle = vec_in_oracle,
					    .cycles = vec_in_cycles};

void wse_op_vec_out(struct wse_graph *g, uint32_t unit, uint32_t grads)
{
	struct wse_op *op = wse_graph_op(g, WSE_OP_VEC_OUT, unit, 0);

	op->in[0] = grads;
}

static size_t matrix_floats(const struct wse_unit *u)
{
	return u->weight == WSE_NO_TENSOR ? 0 : (size_t)u->outs * u->ins;
}

/* the sums over all tokens are in the last row */
static void vec_out_emit(struct wse_emit *e, const struct wse_op *op)
{
	const struct wse_unit *u = &e->g->units[op->unit];
	const struct wse_packed *p =
		wse_image_grad_rows(&e->job->images[op->unit], matrix_floats(u));
	struct wse_copy c = vec_copy(e, u, op->in[0]);

	c.row0 = e->g->tile.rows - 1;
	c.rows = 1;
	c.buf = wse_emit_buffer(e, e->grads[op->unit]);
	c.off = p ? p->bytes4 : matrix_floats(u) * 4;
	if (c.buf)
		wse_emit_cmd(e, wse_cmd_copy_out(c));
}

static int vec_out_oracle(struct wse_oracle_run *o, const struct wse_op *op)
{
	const struct wse_unit *u = &o->g->units[op->unit];

	memcpy((float *)o->grads[op->unit]->ptr + matrix_floats(u), wse_oracle_mem(o, op->in[0]),
	       (size_t)u->vec_rows * o->g->tile.cols * 4);
	return 0;
}

static uint64_t vec_out_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	return wse_copy_out_cycles(wse_bus_columns(g), 1, g->units[op->unit].vec_rows * 4);
}

const struct wse_op_type wse_type_vec_out = {.name = "vector gradients out",
					     .writes_grad = WSE_GRAD_VECTORS,
					     .check = vec_check,
					     .emit = vec_out_emit,
					     .oracle = vec_out_oracle,
					     .cycles = vec_out_cycles};
