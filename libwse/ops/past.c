// SPDX-License-Identifier: MIT
/* From a model's graph to the one that makes text with the keys and values of what came before. */
#include "ops/past.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* where data may begin above every version of cached.elf */
#define CACHED_END 0x2800u

struct maker {
	const struct wse_graph *of;
	struct wse_past *p;
	uint32_t *value; /* [of->nvalues]: the same one in the new graph; WSE_NO_VALUE: not made */
	uint32_t program, count, layer;
};

/* what is done there and nowhere else */
enum what { COPY, DROP, ATTENTION, NO };

static enum what what_of(const struct wse_op *op)
{
	switch (op->kind) {
	case WSE_OP_LOSS:
	case WSE_OP_LOSS_PART:
	case WSE_OP_LOSS_JOIN:
	case WSE_OP_LOSS_OUT:
	case WSE_OP_SPILL:
	case WSE_OP_WAIT:
		return DROP;
	case WSE_OP_ATTN:
		return ATTENTION;
	case WSE_OP_IN:
	case WSE_OP_OUT:
	case WSE_OP_VEC_IN:
	case WSE_OP_LINEAR:
	case WSE_OP_ADD:
	case WSE_OP_NORM:
	case WSE_OP_ROPE:
		return COPY;
	default:
		return NO;
	}
}

static uint32_t mapped(const struct maker *m, uint32_t value)
{
	return value == WSE_NO_VALUE ? value : m->value[value];
}

/* a value as the operation that is copied makes it */
static uint32_t made(struct maker *m, uint32_t value)
{
	const struct wse_value *v;
	uint32_t to;

	if (value == WSE_NO_VALUE)
		return value;
	v = &m->of->values[value];
	if (m->value[value] == WSE_NO_VALUE) {
		to = wse_graph_value(&m->p->g, v->what, v->type, v->shape, v->rows);
		if (to == WSE_NO_VALUE)
			return to;
		m->p->g.values[to].bytes = v->bytes;
		m->p->g.values[to].bytes_at_start = v->bytes_at_start;
		m->value[value] = to;
	}
	return m->value[value];
}

/* is it read by anything that stays? Targets are not */
static int is_read(const struct wse_graph *g, uint32_t value)
{
	for (uint32_t i = 0; i < g->nforward; i++)
		for (int k = 0; k < WSE_OP_INS && what_of(&g->ops[i]) != DROP; k++)
			if (g->ops[i].in[k] == value)
				return 1;
	return 0;
}

static void copy_op(struct maker *m, const struct wse_op *op)
{
	uint32_t unit = op->unit;
	struct wse_op *to = wse_graph_op(&m->p->g, op->kind, unit, m->program);

	memcpy(to->arg, op->arg, sizeof(to->arg));
	for (int k = 0; k < WSE_OP_INS; k++)
		to->in[k] = mapped(m, op->in[k]);
	for (int k = 0; k < WSE_OP_OUTS; k++)
		to->out[k] = made(m, op->out[k]);
}

/* an input keeps its bytes a token, an output that stays is the logits */
static size_t of_tokens(const struct maker *m, size_t bytes)
{
	return bytes / wse_graph_tokens(m->of) * wse_graph_tokens(&m->p->g);
}

static void copy_in(struct maker *m, const struct wse_op *op)
{
	struct wse_past *p = m->p;
	const struct wse_io *io = &m->of->in[op->arg[0]];
	uint32_t i = 0, type;

	if (!is_read(m->of, op->out[0]))
		return;
	while (i < p->nfrom && p->from[i] != op->arg[0])
		i++;
	if (i == p->nfrom) {
		type = m->of->values[op->out[0]].type;
		p->element[p->nfrom] = type == WSE_TYPE_F32 || type == WSE_TYPE_U32 ? 4 : 2;
		p->from[p->nfrom++] = op->arg[0];
		wse_graph_in(&p->g, io->name, of_tokens(m, io->bytes));
	}
	copy_op(m, op);
	if (p->g.nops)
		p->g.ops[p->g.nops - 1].arg[0] = i;
}

static void copy_out(struct maker *m, const struct wse_op *op)
{
	if (op->arg[0] != m->of->logits)
		return;
	copy_op(m, op);
	if (m->p->g.nops)
		m->p->g.ops[m->p->g.nops - 1].arg[0] = m->p->g.logits;
}

/* the row's q, k and v go out before what came before comes in */
static void attention(struct maker *m, const struct wse_op *op)
{
	const uint32_t slopes = mapped(m, op->in[WSE_ATTN_IN_SLOPES]);
	const struct wse_attn_op a = {.d = op->arg[0],
				      .heads = op->arg[1],
				      .group = op->arg[2],
				      .kv = op->arg[3],
				      .slopes = slopes == WSE_NO_VALUE ? 0 : slopes + 1};
	struct wse_past *p = m->p;
	uint32_t qkv = mapped(m, op->in[0]), past, o;

	wse_op_out_part(&p->g, p->made, qkv, m->layer, p->layers);
	p->last_made = p->g.nops;
	past = wse_op_in_part(&p->g, "keys and values", p->past, WSE_TYPE_BF16, WSE_SHAPE_TOKENS,
			      2 * p->keys * p->chunks, m->layer, p->layers);
	o = wse_op_attn_past(&p->g, m->program, qkv, past, m->count, &a);
	m->value[op->out[0]] = o;
	m->layer++;
}

static void copy_units(struct maker *m)
{
	for (uint32_t i = 0; i < m->of->nunits; i++) {
		uint32_t u = wse_graph_unit(&m->p->g, 0, 0, 0, 1);

		if (u == WSE_NO_UNIT)
			return;
		m->p->g.units[u] = m->of->units[i];
		m->p->g.units[u].grad_first = m->p->g.units[u].grad_last = UINT32_MAX;
	}
}

/* 0, or why it is no graph for this; fills in what is known of the attention */
static int look(const struct wse_graph *of, struct wse_past *p)
{
	for (uint32_t i = 0; i < of->nforward; i++) {
		const struct wse_op *op = &of->ops[i];
		enum what what = what_of(op);
		uint32_t rows = what == ATTENTION ? of->values[op->in[0]].rows : 0;

		if (what == NO)
			return wse_fail(-ENOTSUP, "no text with a past: operation %s",
					wse_kind_name(op->kind));
		if (what == ATTENTION && p->layers++ && rows != p->rows)
			return wse_fail(-ENOTSUP, "no text with a past: layers of several widths");
		if (what != ATTENTION)
			continue;
		p->rows = rows;
		p->keys = op->arg[0] * op->arg[3];
	}
	p->chunks = of->seq / of->t;
	return p->layers && p->chunks > 1
		       ? 0
		       : wse_fail(-ENOTSUP, "no text with a past: a sequence has one row of cores");
}

static int build(struct maker *m, uint32_t texts)
{
	const struct wse_graph *of = m->of;
	struct wse_past *p = m->p;
	struct wse_graph *g = &p->g;
	struct wse_tile tile = of->tile;
	size_t tokens, column;

	tile.rows = texts;
	wse_graph_init(g, &tile, of->t);
	g->nfeat = of->nfeat;
	g->seq = of->t;
	g->forward = 1;
	g->classes = of->classes;
	g->vocab_rows = of->vocab_rows;
	m->program = wse_graph_program(g, "cached.elf", CACHED_END);
	copy_units(m);
	tokens = wse_graph_tokens(g);
	column = tile.cols * tokens * 2; /* bytes of a row of values */
	g->logits = wse_graph_out(g, "logits", of_tokens(m, of->out[of->logits].bytes));
	p->made = wse_graph_out(g, "new keys and values", p->layers * p->rows * column);
	for (uint32_t i = 0; i < of->nforward; i++) /* the inputs that there are, first of all */
		if (of->ops[i].kind == WSE_OP_IN)
			copy_in(m, &of->ops[i]);
	p->past = wse_graph_in(g, "keys and values", p->layers * column * 2 * p->keys * p->chunks);
	p->count = wse_graph_in(g, "rows of the past", tokens * 2);
	m->count = wse_op_in(g, "rows of the past", p->count, WSE_TYPE_U16, WSE_SHAPE_SHARED, 1);
	for (uint32_t i = 0; i < of->nforward; i++) {
		const struct wse_op *op = &of->ops[i];

		if (what_of(op) == ATTENTION)
			attention(m, op);
		else if (op->kind == WSE_OP_OUT)
			copy_out(m, op);
		else if (what_of(op) == COPY && op->kind != WSE_OP_IN)
			copy_op(m, op);
	}
	g->nforward = g->nops;
	return wse_ops_finish(g);
}

int wse_past_make(const struct wse_graph *of, uint32_t texts, struct wse_past *p)
{
	struct maker m = {.of = of, .p = p};
	int ret;

	memset(p, 0, sizeof(*p));
	ret = look(of, p);
	if (ret)
		return ret;
	m.value = malloc((of->nvalues + 1ul) * sizeof(*m.value));
	if (!m.value)
		return wse_fail(-ENOMEM, "no memory for the graph");
	for (uint32_t i = 0; i < of->nvalues; i++)
		m.value[i] = WSE_NO_VALUE;
	ret = build(&m, texts);
	free(m.value);
	if (ret)
		wse_graph_fini(&p->g);
	return ret;
}

uint64_t wse_past_cycles(const struct wse_past *p, uint32_t n)
{
	uint64_t cycles = 0;

	for (uint32_t i = 0; i < p->g.nops; i++) {
		const struct wse_op *op = &p->g.ops[i];

		cycles += op->kind == WSE_OP_ATTN_PAST ? wse_op_attn_past_cycles(&p->g, op, n)
						       : wse_op_type(op->kind)->cycles(&p->g, op);
	}
	return cycles;
}
