// SPDX-License-Identifier: MIT
/* What is said of bad graphs: each harm of a good one, by the operation and the fix. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/gpt.h"
#include "model/mlp.h"
#include "base/error.h"
#include "ops/ops.h"
#include "ops/spill.h"
#include "tap.h"

/* operations of an MLP of two layers, by number */
enum {
	IN,
	TARGETS,
	VEC0,
	LINEAR0,
	VEC1,
	LINEAR1,
	LOGITS,
	LOSS,
	LOSSES,
	WGRAD1,
	VEC_OUT1,
	BACK1,
	WGRAD0,
	VEC_OUT0,
	BACK0,
	DX,
	NOPS
};

static struct wse_value *result(struct wse_graph *g, uint32_t op)
{
	return &g->values[g->ops[op].out[0]];
}

static void swap_vec_and_linear(struct wse_graph *g)
{
	struct wse_op op = g->ops[VEC0];

	g->ops[VEC0] = g->ops[LINEAR0];
	g->ops[LINEAR0] = op;
}

static void two_writers(struct wse_graph *g)
{
	g->ops[BACK0].out[0] = g->ops[LINEAR1].out[0];
}

static void never_made(struct wse_graph *g)
{
	wse_graph_value(g, "nothing", WSE_TYPE_BF16, WSE_SHAPE_TOKENS, 4);
}

static void no_value(struct wse_graph *g)
{
	g->ops[LINEAR0].in[0] = 999;
}

static void missing(struct wse_graph *g)
{
	g->ops[LINEAR1].in[0] = WSE_NO_VALUE;
}

static void wrong_width(struct wse_graph *g)
{
	result(g, LINEAR0)->rows++;
}

static void wrong_input_width(struct wse_graph *g)
{
	result(g, IN)->rows = 4;
	g->in[1].bytes = 4 * 2 * 16 * 2;
}

static void wrong_type(struct wse_graph *g)
{
	result(g, LINEAR1)->type = WSE_TYPE_BF16;
}

static void wrong_shape(struct wse_graph *g)
{
	result(g, VEC1)->shape = WSE_SHAPE_SHARED;
}

static void no_room(struct wse_graph *g)
{
	result(g, LINEAR0)->bytes_at_start = 16;
}

static void small_sums(struct wse_graph *g)
{
	g->values[g->ops[BACK1].out[2]].rows -= 4;
}

static void sums_twice(struct wse_graph *g)
{
	g->ops[LINEAR1].out[2] =
		wse_graph_value(g, "sums", WSE_TYPE_BYTE, WSE_SHAPE_WORK, 16 * 8 * 4);
}

static void unused_unit(struct wse_graph *g)
{
	wse_graph_unit(g, 4, 16, 16, 1);
}

static void drop(struct wse_graph *g, uint32_t at, uint32_t n)
{
	memmove(g->ops + at, g->ops + at + n, (g->nops - at - n) * sizeof(*g->ops));
	g->nops -= n;
}

static void no_gradient(struct wse_graph *g)
{
	drop(g, WGRAD0, 2);
	g->values[g->nvalues - 2] =
		g->values[g->nvalues - 1]; /* of its vectors, the last but one */
	g->nvalues--;
	g->ops[WGRAD0].out[0]--;
	g->ops[WGRAD0 + 1].in[0]--;
}

static void no_vector_gradient(struct wse_graph *g)
{
	drop(g, VEC_OUT0, 1);
}

static void unit_number(struct wse_graph *g)
{
	g->ops[BACK1].unit = 7;
}

static void no_unit(struct wse_graph *g)
{
	g->ops[WGRAD1].unit = WSE_NO_UNIT;
}

static void no_unit_linear(struct wse_graph *g)
{
	g->ops[LINEAR1].unit = WSE_NO_UNIT;
}

static void no_unit_vectors(struct wse_graph *g)
{
	g->ops[VEC_OUT0].unit = WSE_NO_UNIT;
}

static void too_wide(struct wse_graph *g)
{
	g->units[0].outs = 2 * 16388;
}

static void odd_width(struct wse_graph *g)
{
	g->units[1].ins += 4;
}

static void odd_parts(struct wse_graph *g)
{
	g->units[0].parts = 3;
}

static void no_parts(struct wse_graph *g)
{
	g->units[0].parts = 0;
}

static void kind(struct wse_graph *g)
{
	g->ops[LOGITS].kind = 99;
}

static void program(struct wse_graph *g)
{
	g->ops[LINEAR1].program = 3;
}

static void no_bias(struct wse_graph *g)
{
	g->ops[LINEAR1].arg[1] = 8; /* the second half of the column's biases, and as many beyond */
}

static void pass(struct wse_graph *g)
{
	g->ops[LINEAR1].arg[0] = 50;
}

static void no_input(struct wse_graph *g)
{
	g->ops[TARGETS].arg[0] = 5;
}

static void input_bytes(struct wse_graph *g)
{
	g->in[1].bytes += 2;
}

static void classes(struct wse_graph *g)
{
	g->classes = 1000;
}

static void targets(struct wse_graph *g)
{
	result(g, TARGETS)->type = WSE_TYPE_BF16;
}

static void tokens(struct wse_graph *g)
{
	g->t = 12;
}

static void model(struct wse_model *m, uint32_t hidden)
{
	wse_mlp_init(m, 4, 4, 32, &hidden, 1, WSE_RELU);
}

static const struct wse_tile small = {.rows = 2, .cols = 2, .lanes = 8, .sram = 1u << 20};

/* a finished graph as its builder left it before wse_ops_finish() */
static void unfinish(struct wse_graph *g)
{
	for (uint32_t i = 0; i < g->nvalues; i++)
		g->values[i].first = g->values[i].last = UINT32_MAX;
	for (uint32_t i = 0; i < g->nunits; i++)
		g->units[i].grad_first = g->units[i].grad_last = UINT32_MAX;
}

static void bad_graphs(void)
{
	static const struct {
		void (*harm)(struct wse_graph *g);
		const char *where, *want;
	} bad[] = {
		{swap_vec_and_linear, "op 2 (linear)", "(vectors) is read before it is made"},
		{two_writers, "op 14 (linear)", "(logits) was made by op 5"},
		{never_made, "", "(nothing) is made by no operation"},
		{no_value, "op 3 (linear)", "there is no value 999"},
		{missing, "op 5 (linear)", "the input is missing"},
		{wrong_width, "op 3 (linear)", "has 9 features a column where 8 are needed"},
		{wrong_input_width, "op 3 (linear)", "has 4 features a column where 8 are needed"},
		{wrong_type, "op 5 (linear)", "is bf16, not binary32"},
		{wrong_shape, "op 4 (vectors in)", "not a vector"},
		{no_room, "op 3 (linear)", "no room for its sums"},
		{small_sums, "op 11 (linear)", "the sums (value"},
		{sums_twice, "op 5 (linear)", "the result is the sums"},
		{unused_unit, "", "unit 2 is not used by any operation"},
		{no_gradient, "", "unit 0: no operation writes the gradient of its matrix"},
		{no_vector_gradient, "", "unit 0: no operation writes the gradient of its vectors"},
		{unit_number, "op 11 (linear)", "there is no unit 7 of 2"},
		{no_unit, "op 9 (weight gradient)", "no unit with a matrix"},
		{no_unit_linear, "op 5 (linear)", "no unit with a matrix"},
		{no_unit_vectors, "op 13 (vector gradients out)", "no unit with vectors"},
		{too_wide, "op 2 (vectors in)", "is more than 16384 a column"},
		{odd_width, "op 4 (vectors in)", "not both multiples of 4 x 2 columns"},
		{odd_parts, "op 2 (vectors in)", "3 parts on 2 columns"},
		{no_parts, "op 2 (vectors in)", "0 parts on 2 columns"},
		{kind, "op 6 (no operation)", "there is no kind 99"},
		{program, "op 5 (linear)", "there is no program 3 of 1"},
		{no_bias, "op 5 (linear)", "there are no 16 biases at 8"},
		{pass, "op 5 (linear)", "there is no pass 50"},
		{no_input, "op 1 (in)", "there is no input or output 5 of 2"},
		{input_bytes, "op 0 (in)", "\"inputs\" has 514 bytes"},
		{classes, "op 7 (loss)", "1000 classes, 32 logits"},
		{targets, "op 7 (loss)", "the targets (value"},
		{tokens, "", "12 tokens per core are not 1 to 64 in multiples of the 8 lanes"},
	};
	struct wse_model m;
	struct wse_graph g;
	int ret;

	model(&m, 16);
	ok(!m.family->graph(&m, &small, 8, 0, &g) && g.nops == NOPS &&
		   g.ops[WGRAD0].kind == WSE_OP_WGRAD && g.ops[DX].kind == WSE_OP_OUT,
	   "a good graph");
	unfinish(&g);
	ret = wse_ops_finish(&g);
	ok(!ret && g.nforward == LOSSES + 1 && g.units[1].grad_first == WGRAD1 &&
		   g.units[1].grad_last == VEC_OUT1,
	   "and once more");
	wse_graph_fini(&g);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		m.family->graph(&m, &small, 8, 0, &g);
		unfinish(&g);
		bad[i].harm(&g);
		ret = wse_ops_finish(&g);
		ok(ret == -EINVAL && strstr(wse_error(), bad[i].where) &&
			   strstr(wse_error(), bad[i].want),
		   "%s", wse_error());
		wse_graph_fini(&g);
	}
	model(&m, 40000);
	ret = m.family->graph(&m, &small, 8, 0, &g);
	ok(ret == -EINVAL &&
		   strstr(wse_error(),
			  "hidden_size 40000 is more than 16384 x 2 columns: choose 32768"),
	   "%s", wse_error());
	wse_graph_fini(&g);
}

/* ---- copies beside kernels: nothing meets them before its time ---- */

/* the n-th operation of a kind */
static struct wse_op *nth(struct wse_graph *g, uint32_t kind, uint32_t n)
{
	uint32_t i = 0;

	while (i < g->nops && (g->ops[i].kind != kind || n--))
		i++;
	return &g->ops[i < g->nops ? i : 0];
}

/* the first wait behind the first operation of a kind */
static struct wse_op *wait_behind(struct wse_graph *g, uint32_t kind)
{
	struct wse_op *op = nth(g, kind, 0);

	while (op->kind != WSE_OP_WAIT && op < g->ops + g->nops - 1)
		op++;
	return op;
}

static void no_wait_out(struct wse_graph *g)
{
	drop(g, (uint32_t)(wait_behind(g, WSE_OP_SPILL) - g->ops), 1);
}

static void no_wait_in(struct wse_graph *g)
{
	drop(g, (uint32_t)(wait_behind(g, WSE_OP_FILL) - g->ops), 1);
}

static void reads_early(struct wse_graph *g)
{
	struct wse_op *op = wait_behind(g, WSE_OP_FILL), was = *op;

	for (; op[1].in[0] != was.in[0]; op++)
		op[0] = op[1];
	op[0] = op[1];
	op[1] = was;
}

static void writes_early(struct wse_graph *g)
{
	struct wse_op *op = nth(g, WSE_OP_SPILL, 0);
	uint32_t value = op->in[0], in = 0, out = 0;

	while (op->kind != WSE_OP_LINEAR)
		op++;
	while (in < WSE_OP_INS - 1 && op->in[in] != WSE_NO_VALUE)
		in++;
	while (out < WSE_OP_OUTS - 1 && op->out[out] != WSE_NO_VALUE)
		out++;
	op->in[in] = op->out[out] = value; /* in place */
}

static void some_rows(struct wse_graph *g)
{
	nth(g, WSE_OP_FILL, 1)->arg[2]--;
}

static void other_rows(struct wse_graph *g)
{
	nth(g, WSE_OP_FILL, 1)->arg[1]++;
}

static void waits_for_nothing(struct wse_graph *g)
{
	wse_op_wait(g, nth(g, WSE_OP_NORM, 0)->out[0]);
}

/* copies that the next operation waits for */
static uint32_t at_once(const struct wse_graph *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i + 1 < g->nops; i++)
		n += (g->ops[i].kind == WSE_OP_SPILL || g->ops[i].kind == WSE_OP_FILL) &&
		     g->ops[i + 1].kind == WSE_OP_WAIT;
	return n;
}

/* a core without room for a second input, of whatever program: each copy is waited for at once */
static void no_second_input(struct wse_gpt shape)
{
	struct wse_tile tile = small;
	uint32_t beside = UINT32_MAX, total, waits = 0;
	struct wse_model m;
	struct wse_graph g;
	int ret;

	shape.vocab = 32; /* logits are not what decides */
	wse_gpt_init(&m, &shape);
	do {
		ret = m.family->graph(&m, &tile, 16, wse_gpt_mode[4], &g);
		waits = at_once(&g);
		total = g.total;
		if (waits == 1) /* that of the last block */
			beside = total;
		tile.sram = total - 16;
		wse_graph_fini(&g);
	} while (!ret && waits == 1);
	ok(!ret && waits == 6 && beside != UINT32_MAX && total < beside,
	   "copies beside kernels take %u bytes of a core, those that are waited for %u%s%s",
	   beside, total, ret ? ": " : "", ret ? wse_error() : "");
}

static void copies_beside(void)
{
	static const struct {
		void (*harm)(struct wse_graph *g);
		const char *want;
	} bad[] = {
		{no_wait_out, "(spill): no operation waits for value"},
		{no_wait_in, ", which comes back, before an operation waits"},
		{reads_early, "(norm) uses value"},
		{writes_early, ", which leaves, before an operation waits"},
		{some_rows, "1 of 2 rows of value"},
		{other_rows, "come back, of 2, where 0 are back"},
		{waits_for_nothing, "neither leaves nor comes back"},
	};
	const struct wse_gpt shape = {.vocab = 256,
				      .positions = 32,
				      .seq = 32,
				      .hidden = 16,
				      .layers = 3,
				      .heads = 2,
				      .filter = 64,
				      .act = WSE_RELU,
				      .tied = 1,
				      .eps = 1e-5f,
				      .learned = 1};
	struct wse_model m;
	struct wse_graph g;
	int ret = wse_gpt_init(&m, &shape);

	for (size_t i = 0; i <= sizeof(bad) / sizeof(bad[0]) && !ret; i++) {
		ret = m.family->graph(&m, &small, 16, wse_gpt_mode[4], &g);
		if (!i)
			ok(!ret && g.nspills == 3, "a graph that spills %u values", g.nspills);
		unfinish(&g);
		if (i)
			bad[i - 1].harm(&g);
		ret = wse_ops_finish(&g);
		if (i)
			ok(ret == -EINVAL && strstr(wse_error(), bad[i - 1].want), "%s",
			   wse_error());
		ret = i ? 0 : ret;
		wse_graph_fini(&g);
	}
	ok(!ret, "graphs are made");
	no_second_input(shape);
}

int main(void)
{
	bad_graphs();
	copies_beside();
	return tap_end();
}
