// SPDX-License-Identifier: MIT
/*
 * Graphs: where random ones lie in SRAM, what is said of bad ones, where tensors lie in a unit's buffers, and that the
 * optimizer updates all of a model's table, whatever the graph knows of it.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/place.h"
#include "memx/memx.h"
#include "model/gpt.h"
#include "model/mlp.h"
#include "num/num.h"
#include "base/error.h"
#include "ops/ops.h"
#include "heap.h"
#include "tap.h"

enum { TOP = 1088 }; /* stack and argument words */

static uint64_t draws;

static uint32_t rnd(uint32_t n)
{
	return (uint32_t)(wse_rng_u64(11, 0, draws++) % n);
}

/* ---- places of random graphs ---- */

static int any(const struct wse_graph *g, const struct wse_op *op)
{
	(void)g;
	(void)op;
	return 0;
}

static const char *some(uint32_t kind)
{
	(void)kind;
	return "some";
}

/* one operation that reads up to three values, writes one of them in place, and makes up to three */
static void random_op(struct wse_graph *g)
{
	static const char *const what[] = {"a", "b", "c"};
	uint32_t made = g->nvalues, n = rnd(4), in = made ? rnd(4) : 0;
	struct wse_op *op = wse_graph_op(g, 0, WSE_NO_UNIT, 0);

	for (uint32_t i = 0; i < in; i++) /* mostly young ones */
		op->in[i] = rnd(3) && made > 4 ? made - 1 - rnd(4) : rnd(made);
	if (in && !rnd(4))
		op->out[3] = op->in[0];
	for (uint32_t i = 0; i < n && i < 3; i++) {
		uint32_t rows = 1 + rnd(60), v;
		enum wse_type type = (enum wse_type)rnd(4);

		v = wse_graph_value(g, what[rnd(3)], type, (enum wse_shape)rnd(4), rows);
		if (type == WSE_TYPE_BF16 && rnd(2)) /* its sums were there first */
			g->values[v].birth = (2 * g->values[v].bytes + 15) / 16 * 16;
		op->out[i] = v;
	}
}

static void touch(uint32_t *first, uint32_t *last, uint32_t v, uint32_t op)
{
	if (v == WSE_NO_VALUE)
		return;
	if (first[v] == UINT32_MAX)
		first[v] = op;
	last[v] = op;
}

static uint32_t size_at(const struct wse_value *v, uint32_t first, uint32_t last, uint32_t op)
{
	if (op < first || op > last)
		return 0;
	return op == first && v->birth > v->bytes ? v->birth : v->bytes;
}

/* the sum of the numbers of "12 a, 40 b" */
static uint32_t add_up(const char *text)
{
	uint32_t sum = 0;

	while (text && *text) {
		sum += (uint32_t)strtoul(text, NULL, 10);
		text = strchr(text, ',');
		text = text ? text + 2 : NULL;
	}
	return sum;
}

struct faults {
	uint32_t overlaps, outside, odd, totals, words;
};

/* lifetimes once more, from the operations alone; all pairs at all operations */
static void check_places(const struct wse_graph *g, int ret, struct faults *f)
{
	uint32_t *first = malloc(4 * g->nvalues + 4), *last = malloc(4 * g->nvalues + 4);
	uint32_t high = g->base, most = 0;
	char text[200];

	memset(first, 0xff, 4 * g->nvalues + 4);
	memset(last, 0xff, 4 * g->nvalues + 4);
	for (uint32_t op = 0; op < g->nops; op++) {
		for (int i = 0; i < WSE_OP_INS; i++)
			touch(first, last, g->ops[op].in[i], op);
		for (int i = 0; i < WSE_OP_OUTS; i++)
			touch(first, last, g->ops[op].out[i], op);
	}
	for (uint32_t op = 0; op < g->nops; op++) {
		uint32_t sum = 0;

		for (uint32_t a = 0; a < g->nvalues; a++) {
			const struct wse_value *x = &g->values[a];
			uint32_t n = size_at(x, first[a], last[a], op);

			sum += n;
			if (!n)
				continue;
			f->outside += x->sram < g->base || x->sram + n > g->total - TOP;
			f->odd += x->sram % 16;
			high = x->sram + n > high ? x->sram + n : high;
			for (uint32_t b = 0; b < a; b++) {
				const struct wse_value *y = &g->values[b];
				uint32_t m = size_at(y, first[b], last[b], op);

				f->overlaps += m && x->sram < y->sram + m && y->sram < x->sram + n;
			}
		}
		wse_graph_bytes(g, op, text, sizeof(text));
		f->words += add_up(text) != sum;
		most = sum > most ? sum : most;
	}
	wse_graph_bytes(g, wse_graph_peak(g), text, sizeof(text));
	f->words += add_up(text) != most;
	f->totals += g->total != high + TOP || (ret == -E2BIG) != (g->total > g->tile.sram) ||
		     g->total < g->base + most + TOP;
	free(first);
	free(last);
}

static void places(void)
{
	struct faults f = {0};
	uint32_t fit = 0, big = 0, shared = 0, values = 0;
	uint64_t sum = 0; /* of all places */
	int bad = 0;

	for (int k = 0; k < 400; k++) {
		const struct wse_tile tile = {1 + rnd(4), 1 + rnd(4), 8, 10000 + rnd(90000)};
		struct wse_graph g;
		uint64_t all = 0;
		int ret;

		wse_graph_init(&g, &tile, 8 * (1 + rnd(8)));
		wse_graph_program(&g, "one.elf", 16 * (100 + rnd(400)));
		for (uint32_t n = 1 + rnd(60); n; n--)
			random_op(&g);
		ret = wse_graph_finish(&g, any, some);
		if (ret && ret != -E2BIG) {
			printf("# %s\n", wse_error());
			bad++;
		}
		bad += ret == -E2BIG && !strstr(wse_error(), "tokens per core");
		fit += !ret;
		big += ret == -E2BIG;
		for (uint32_t i = 0; i < g.nvalues; i++) {
			all += g.values[i].bytes;
			sum = sum * 31 + g.values[i].sram;
		}
		values += g.nvalues;
		shared += all > g.total - g.base - TOP;
		check_places(&g, ret, &f);
		wse_graph_fini(&g);
	}
	ok(!bad && fit > 50 && big > 50 && shared > 100,
	   "400 random graphs of %u values: %u fit, %u do not, %u use places again", values, fit,
	   big, shared);
	ok(!f.overlaps, "no two values that live at the same operation overlap");
	ok(!f.outside && !f.odd, "all lie between program and stack, at multiples of 16");
	ok(!f.totals, "the total is what is really taken, and -E2BIG says so");
	ok(!f.words, "the bytes by kind add up, at every operation and at the peak");
	/* as a search through all pairs of values placed them; another number means other plans */
	ok(sum == 0xaaf8757957f7bef0, "places are those of first fit: %016" PRIx64, sum);
}

/* as many layers as a parameter file may ask for, on cores with room for them */
static void many_layers(void)
{
	const struct wse_tile tile = {1, 4, 8, 1u << 30};
	const struct wse_gpt shape = {.vocab = 256,
				      .positions = 8,
				      .seq = 8,
				      .hidden = 16,
				      .layers = 10000,
				      .heads = 4,
				      .act = WSE_GELU,
				      .filter = 16,
				      .tied = 1};
	struct wse_model m;
	struct wse_graph g = {0};
	char text[200] = "";
	int ret = wse_gpt_init(&m, &shape);

	alarm(120); /* a second; a search through all pairs takes days */
	ret = ret ? ret : m.family->graph(&m, &tile, 8, 0, &g);
	if (!ret)
		wse_graph_bytes(&g, wse_graph_peak(&g), text, sizeof(text));
	alarm(0);
	ok(!ret && g.nvalues > UINT16_MAX && add_up(text) > shape.layers * 512 &&
		   add_up(text) < g.total,
	   "%u layers: %u operations, %u values in %u bytes%s%s", shape.layers, g.nops, g.nvalues,
	   g.total, ret ? ": " : "", ret ? wse_error() : "");
	wse_graph_fini(&g);
}

/* ---- bad graphs ---- */

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
	result(g, LINEAR0)->birth = 16;
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

static const struct wse_tile small = {2, 2, 8, 1u << 20};

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

/* ---- where tensors lie ---- */

/* every element of a tensor is in one piece, at a place of its own inside of the buffer */
static int pieces_are_right(const struct wse_graph *g, const struct wse_unit *u, uint32_t which,
			    const struct wse_tensor *t, unsigned char *taken)
{
	unsigned char *seen = calloc(1, t->count);
	struct wse_piece p;
	int bad = 0;

	for (size_t i = 0; wse_unit_piece(g, u, which, t, i, &p); i++) {
		if (p.from + p.count > t->count || p.at + p.count > wse_unit_grad_floats(g, u)) {
			bad = 1;
			break;
		}
		for (size_t j = 0; j < p.count; j++)
			bad += seen[p.from + j]++ || taken[p.at + j]++;
	}
	for (size_t i = 0; i < t->count; i++)
		bad += !seen[i];
	free(seen);
	return !bad;
}

static void pieces(void)
{
	int bad = 0;

	for (int k = 0; k < 200; k++) {
		const struct wse_tile tile = {1, 1 + rnd(4), 8, 1u << 20};
		struct wse_tensor_table tab = {0};
		struct wse_graph g;
		uint32_t parts = 1 + 2 * rnd(2), h = 4 * (1 + rnd(3)), ins = 4 * tile.cols;
		uint32_t outs = h * tile.cols * parts, unit, pad = parts == 1 ? rnd(3) : 0;
		const struct wse_unit *u;
		unsigned char *taken;

		wse_graph_init(&g, &tile, 8);
		wse_tensor_add(&tab, 0, 0, 0, outs - pad, ins, "matrix");
		wse_tensor_add(&tab, 0, 0, 0, outs - pad, 0, "bias");
		wse_tensor_add(&tab, 0, 0, 0, 3 * tile.cols, 0, "gain");
		unit = wse_graph_unit(&g, rnd(2) ? 0 : WSE_NO_TENSOR, outs, ins, parts);
		/* chunks in order may be padded like a matrix that has none */
		if (parts == 1 && rnd(2))
			wse_graph_chunks_in_order(&g, unit, h / 4);
		wse_graph_vec(&g, unit, 2, 3 * tile.cols, 1);
		bad += wse_graph_vec(&g, unit, 1, outs, 1) % 4 != 0;
		u = &g.units[unit];
		taken = calloc(1, wse_unit_grad_floats(&g, u));
		if (u->weight != WSE_NO_TENSOR)
			bad += !pieces_are_right(&g, u, 0, &tab.t[0], taken);
		bad += !pieces_are_right(&g, u, 1, &tab.t[2], taken);
		bad += !pieces_are_right(&g, u, 2, &tab.t[1], taken);
		free(taken);
		wse_graph_fini(&g);
		wse_tensor_table_fini(&tab);
	}
	ok(!bad, "every element of a tensor has one place in its unit's buffer");
}

/* ---- a table with more than the graph knows ---- */

enum { SPARE = 5, NSPARE = 7 };

static int more_tensors(const struct wse_model *m, struct wse_tensor_table *tab)
{
	int ret = wse_family_mlp.tensors(m, tab);

	return ret ? ret
	       : wse_tensor_add(tab, WSE_TENSOR_DECAY, 1.0f, 0.5f, NSPARE, 0, "spare") == SPARE
		       ? 0
		       : -ENOMEM;
}

/* two steps, the second with a gradient of 0: every bit as the optimizer's function has it */
static void spare_tensor(void)
{
	struct wse_model_family family = wse_family_mlp;
	struct wse_memx_cfg c = {.seed = 3};
	struct wse_memx *mx;
	struct wse_memx_state s;
	struct wse_graph g;
	float *grads[2], *const *adds, p[NSPARE], m[NSPARE] = {0}, v[NSPARE] = {0};
	double norm, lr, pow1 = 1, pow2 = 1;
	int ret, same = 1, spread = 0;

	model(&c.model, 16);
	family.name = "mlp and more";
	family.tensors = more_tensors;
	c.model.family = &family;
	c.optim = (struct wse_optim_cfg){WSE_OPTIM_ADAMW, 0.9, 0.95, 1e-8, 0, 0.1};
	c.sched = (struct wse_sched_list){1, {{WSE_SCHED_CONSTANT, 0.01, 0.01, 1, 0}}};
	ret = c.model.family->graph(&c.model, &small, 8, 0, &g);
	ret = ret ? ret : wse_memx_open(&c, &g, &heap, &mx);
	if (!ok(!ret, "a table with a tensor that is in no unit"))
		return;
	wse_memx_state(mx, &s);
	memcpy(p, s.params + s.table->t[SPARE].off, sizeof(p));
	for (int i = 0; i < NSPARE; i++)
		spread += p[i] != 1.0f && p[i] > -2.0f && p[i] < 4.0f;
	ok(s.table->n == SPARE + 1 && spread == NSPARE, "it has its initial values, around 1");
	for (int u = 0; u < 2; u++)
		grads[u] = calloc(wse_unit_grad_floats(&g, &g.units[u]), sizeof(float));
	for (int step = 0; step < 2; step++) {
		struct wse_update u = {.lr = 0.01, .grad_scale = 1.0f, .decay = 1};
		float d[NSPARE] = {0};

		adds = wse_memx_grads(mx, grads);
		for (int i = 0; i < NSPARE && !step; i++)
			adds[SPARE][i] = d[i] = (float)(i - 3);
		u.beta1_pow = pow1 *= c.optim.beta1;
		u.beta2_pow = pow2 *= c.optim.beta2;
		wse_optim_update(&c.optim, &u, NSPARE, p, m, v, d);
		same &= !wse_memx_commit(mx, &norm, &lr) &&
			(step ? norm == 0 : norm > 5.29 && norm < 5.30); /* sqrt(28) */
		wse_memx_finish(mx);
		same &= !memcmp(p, s.params + s.table->t[SPARE].off, sizeof(p)) &&
			!memcmp(m, s.m + s.table->t[SPARE].off, sizeof(m)) &&
			!memcmp(v, s.v + s.table->t[SPARE].off, sizeof(v));
	}
	ok(same, "the optimizer updates it, and its gradient counts for the norm");
	wse_memx_close(mx);
	wse_graph_fini(&g);
	free(grads[0]);
	free(grads[1]);
}

/* ---- images of units with parts, with padding, and in chunks of inputs ---- */

enum { OUTS = 24, INS = 8, PARTS = 3, COLS = 2, H = OUTS / PARTS / COLS, PADDED = 16, ROWS = 13 };
enum { CHUNKS = 2, SHARE = INS / CHUNKS / COLS };

static int matrices(const struct wse_model *m, struct wse_tensor_table *tab)
{
	(void)m;
	wse_tensor_add(tab, 0, 0.0f, 1.0f, OUTS, INS, "parts");
	wse_tensor_add(tab, 0, 0.0f, 1.0f, ROWS, INS, "padded");
	return wse_tensor_add(tab, 0, 0.0f, 1.0f, OUTS, INS, "chunks") == 2 ? 0 : -ENOMEM;
}

static int row_is(const struct wse_image *img, uint32_t outs, uint32_t row, const float *w)
{
	const uint16_t *fwd = wse_span_ptr(img->fwd), *tr = wse_span_ptr(img->tr);
	int bad = 0;

	for (uint32_t k = 0; k < INS; k++) {
		uint16_t want = w ? wse_f32_to_bf16(w[k]) : 0;

		bad += fwd[row * INS + k] != want || tr[k * outs + row] != want;
	}
	return !bad;
}

static void unit_images(void)
{
	const struct wse_model_family family = {.name = "three", .tensors = matrices};
	const struct wse_tile tile = {1, COLS, 8, 1u << 20};
	struct wse_memx_cfg c = {.seed = 3, .model.family = &family};
	const struct wse_image *img;
	struct wse_memx_state s;
	struct wse_memx *mx;
	struct wse_graph g;
	int bad = 0;

	wse_graph_init(&g, &tile, 8);
	wse_graph_unit(&g, 0, OUTS, INS, PARTS);
	wse_graph_unit(&g, 1, PADDED, INS, 1);
	wse_graph_chunks(&g, wse_graph_unit(&g, 2, OUTS, INS, 1), 1, CHUNKS);
	if (!ok(!wse_memx_open(&c, &g, &heap, &mx), "units of parts, of padding, of chunks"))
		return;
	wse_memx_state(mx, &s);
	img = wse_memx_images(mx);
	for (uint32_t p = 0; p < PARTS; p++)
		for (uint32_t col = 0; col < COLS; col++)
			for (uint32_t i = 0; i < H; i++)
				bad += !row_is(&img[0], OUTS, col * PARTS * H + p * H + i,
					       s.params + (p * H * COLS + col * H + i) * INS);
	ok(!bad, "a column has its features of each part");
	bad = 0;
	for (uint32_t n = 0; n < PADDED; n++)
		bad += !row_is(&img[1], PADDED, n,
			       n < ROWS ? s.params + s.table->t[1].off + n * INS : NULL);
	ok(!bad, "rows beyond the tensor are 0");
	bad = 0;
	for (uint32_t n = 0; n < OUTS; n++) {
		float w[INS];

		for (uint32_t k = 0; k < INS; k++)
			w[k / SHARE % CHUNKS * SHARE * COLS + k / SHARE / CHUNKS * SHARE +
			  k % SHARE] = s.params[s.table->t[2].off + n * INS + k];
		bad += !row_is(&img[2], OUTS, n, w);
	}
	ok(!bad, "chunk by chunk, each column's share of the inputs");
	wse_memx_close(mx);
	wse_graph_fini(&g);
}

/* ---- initial values ---- */

/* normal numbers that are cut off: the mean and deviation of n of them */
static void moments(const float *p, size_t n, double *mean, double *dev)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		sum += p[i];
	*mean = sum / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (p[i] - *mean) * (p[i] - *mean);
	*dev = sqrt(squares / (double)n);
}

static void bounded(void)
{
	enum { N = 50000 };
	static float p[2 * N], again[2 * N];
	struct wse_tensor_table tab = {0};
	uint32_t redrawn = 0, outside = 0, changed = 0;
	double mean, dev;

	wse_tensor_add(&tab, 0, 0.5f, 0.02f, N, 0, "free");
	wse_tensor_add(&tab, 0, 0.5f, 0.02f, N, 0, "bounded");
	wse_tensor_init(&tab, 7, again);
	wse_tensor_between(&tab, 1, 0.46f, 0.54f);
	wse_tensor_init(&tab, 7, p);
	for (uint32_t i = N; i < 2 * N; i++) {
		int in = again[i] >= 0.46f && again[i] <= 0.54f;

		outside += p[i] < 0.46f || p[i] > 0.54f;
		changed += in && p[i] != again[i];
		redrawn += !in;
	}
	ok(!memcmp(p, again, N * sizeof(*p)) && !changed && !outside && redrawn > N / 25,
	   "%u of %d values are drawn again, the others stay what they are", redrawn, N);
	moments(p + N, N, &mean, &dev);
	/* two deviations to each side: the deviation of what is left is 0.8796 */
	ok(fabs(mean - 0.5) < 0.0003 && fabs(dev / 0.02 - 0.8796) < 0.01,
	   "their mean is %.4f, their deviation %.4f of the normal one's", mean, dev / 0.02);
	wse_tensor_between(&tab, 1, 0.5f, 0.502f);
	wse_tensor_init(&tab, 7, p);
	outside = 0;
	for (uint32_t i = N; i < 2 * N; i++)
		outside += p[i] < 0.5f || p[i] > 0.502f;
	ok(!outside, "all lie between narrow bounds");
	wse_tensor_table_fini(&tab);
}

/* a GPT's initial weights by Model Zoo's keys: which tensors each of them is about */
static void gpt_initials(void)
{
	struct wse_gpt shape = {.vocab = 64,
				.positions = 32,
				.seq = 32,
				.hidden = 64,
				.layers = 2,
				.heads = 4,
				.act = WSE_GELU,
				.filter = 256,
				.dev = 0.02f};
	static const struct {
		const char *name;
		float low, high;
	} want[] = {{"transformer.wte.weight", 0.3f, 0.5f},
		    {"transformer.wpe.weight", 0.3f, 0.5f},
		    {"transformer.h.1.attn.c_attn.weight", -0.02f, 0.02f},
		    {"transformer.h.1.attn.c_proj.weight", -0.5f, -0.3f},
		    {"transformer.h.0.mlp.c_fc.weight", -0.02f, 0.02f},
		    {"transformer.h.0.mlp.c_proj.weight", -0.5f, -0.3f}};
	struct wse_tensor_table tab = {0};
	struct wse_model m;
	uint32_t bad = 0;
	float *p;

	shape.initial = (struct wse_initial){0, 0.02f, -0.02f, 0.02f};
	shape.embed = (struct wse_initial){0.4f, 0.1f, 0.3f, 0.5f};
	shape.residual = (struct wse_initial){-0.4f, 0.1f, -0.5f, -0.3f};
	wse_gpt_init(&m, &shape);
	bad += m.family->tensors(&m, &tab) != 0;
	p = malloc(tab.params * sizeof(*p));
	wse_tensor_init(&tab, 3, p);
	for (uint32_t k = 0; k < sizeof(want) / sizeof(*want); k++)
		for (uint32_t i = 0; i < tab.n; i++)
			for (size_t j = 0;
			     j < tab.t[i].count && !strcmp(tab.t[i].name, want[k].name); j++)
				bad += p[tab.t[i].off + j] < want[k].low ||
				       p[tab.t[i].off + j] > want[k].high;
	ok(!bad, "embeddings, layers and what adds to the residual each lie between their bounds");
	free(p);
	wse_tensor_table_fini(&tab);
	shape.residual = shape.embed = (struct wse_initial){0};
	wse_gpt_init(&m, &shape);
	m.family->tensors(&m, &tab);
	ok(tab.t[0].dev == 0.02f && tab.t[0].high == 0.02f && tab.t[6].dev == 0.01f &&
		   tab.t[6].low == -0.01f,
	   "what is not given: embeddings as the layers, the residual's smaller by the layers: %s %g",
	   tab.t[6].name, (double)tab.t[6].high);
	wse_tensor_table_fini(&tab);
}

int main(void)
{
	places();
	many_layers();
	bad_graphs();
	pieces();
	spare_tensor();
	unit_images();
	bounded();
	gpt_initials();
	return tap_end();
}
