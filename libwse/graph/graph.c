// SPDX-License-Identifier: MIT
/* Building a graph, the lifetimes of its values, and the checks that hold for every graph. */
#include "graph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/place.h"
#include "base/error.h"
#include "base/pages.h"

static uint32_t round_up(uint32_t n, uint32_t to)
{
	return (n + to - 1) / to * to;
}

void wse_graph_init(struct wse_graph *g, const struct wse_tile *tile, uint32_t t)
{
	memset(g, 0, sizeof(*g));
	g->tile = *tile;
	g->t = t;
	g->seq = 1;
	g->scale_in = g->scales = WSE_NO_VALUE;
	g->nfeat = t <= 16 ? 4 : t <= 32 ? 2 : 1;
}

void wse_graph_fini(struct wse_graph *g)
{
	free(g->values);
	free(g->units);
	free(g->ops);
	free(g->spills);
	memset(g, 0, sizeof(*g));
}

/* one more element of an array of *n; arrays grow by powers of two from 16 */
static void *grow(struct wse_graph *g, void *array, uint32_t *n, size_t size)
{
	void **a = array;

	if (*n >= 16 ? !(*n & (*n - 1)) : !*n) {
		void *p = realloc(*a, (*n ? 2ul * *n : 16) * size);

		if (!p) {
			g->failed = -ENOMEM;
			return NULL;
		}
		*a = p;
	}
	return memset((char *)*a + (*n)++ * size, 0, size);
}

void wse_graph_tile(const struct wse_graph *g, struct wse_tile *tile)
{
	*tile = g->tile;
}

uint32_t wse_graph_tokens(const struct wse_graph *g)
{
	return g->t * g->tile.rows;
}

void wse_graph_sequence(struct wse_graph *g, uint32_t seq)
{
	g->seq = seq;
}

void wse_graph_classes(struct wse_graph *g, uint32_t width, uint32_t *targets, uint32_t *logits)
{
	size_t tokens = wse_graph_tokens(g);

	g->vocab_rows = width / g->tile.cols;
	g->target = wse_graph_in(g, "targets", tokens * 2);
	g->loss = wse_graph_out(g, "losses", tokens * 4);
	g->logits = wse_graph_out(g, "logits", width * tokens * 4);
	*targets = g->target;
	*logits = g->logits;
}

void wse_graph_resize(struct wse_graph *g, uint32_t value, uint32_t rows)
{
	static const uint32_t size[] = {[WSE_TYPE_BF16] = 2,
					[WSE_TYPE_F32] = 4,
					[WSE_TYPE_U16] = 2,
					[WSE_TYPE_BYTE] = 1,
					[WSE_TYPE_U32] = 4};
	struct wse_value *v = &g->values[value];
	uint32_t per = v->shape == WSE_SHAPE_TOKENS || v->shape == WSE_SHAPE_SHARED ? g->t : 1;

	v->rows = rows;
	v->bytes = round_up(rows * per * size[v->type], 16);
	v->bytes_at_start = v->bytes;
}

uint32_t wse_graph_value(struct wse_graph *g, const char *what, enum wse_type type,
			 enum wse_shape shape, uint32_t rows)
{
	struct wse_value *v = grow(g, &g->values, &g->nvalues, sizeof(*v));

	if (!v || g->nvalues == WSE_NO_VALUE) {
		g->failed = -ENOMEM;
		return WSE_NO_VALUE;
	}
	v->what = what;
	v->type = type;
	v->shape = shape;
	v->first = v->last = UINT32_MAX;
	wse_graph_resize(g, g->nvalues - 1, rows);
	return g->nvalues - 1;
}

uint32_t wse_graph_program(struct wse_graph *g, const char *file, uint32_t end)
{
	uint32_t i = 0;

	while (i < g->nprograms && strcmp(g->programs[i].file, file))
		i++;
	if (i == WSE_GRAPH_PROGRAMS) {
		g->failed = -ENOMEM;
		return 0;
	}
	if (i == g->nprograms)
		g->programs[g->nprograms++] = (struct wse_graph_program){file, end};
	if (end > g->base)
		g->base = end;
	return i;
}

uint32_t wse_graph_unit(struct wse_graph *g, uint32_t weight, uint32_t outs, uint32_t ins,
			uint32_t parts)
{
	struct wse_unit *u = grow(g, &g->units, &g->nunits, sizeof(*u));

	if (!u)
		return WSE_NO_UNIT;
	u->weight = weight;
	u->outs = outs;
	u->ins = ins;
	u->parts = parts;
	u->chunks_out = u->chunks_in = u->chunks_back = 1;
	u->grad_first = u->grad_last = UINT32_MAX;
	return g->nunits - 1;
}

void wse_graph_chunks(struct wse_graph *g, uint32_t unit, uint32_t chunks_out, uint32_t chunks_in)
{
	if (unit >= g->nunits)
		return;
	g->units[unit].chunks_out = chunks_out;
	g->units[unit].chunks_in = chunks_in;
}

void wse_graph_chunks_in_order(struct wse_graph *g, uint32_t unit, uint32_t chunks)
{
	wse_graph_chunks(g, unit, chunks, 1);
	if (unit < g->nunits)
		g->units[unit].in_order = 1;
}

void wse_graph_chunks_back(struct wse_graph *g, uint32_t unit, uint32_t chunks)
{
	if (unit < g->nunits)
		g->units[unit].chunks_back = chunks;
}

struct wse_slice wse_unit_slice(const struct wse_unit *u, uint32_t chunk)
{
	struct wse_slice s = {0, u->outs / u->chunks_out, 0, u->ins / u->chunks_in};

	if (u->chunks_out > 1)
		s.out0 = chunk * s.outs;
	if (u->chunks_in > 1)
		s.in0 = chunk * s.ins;
	return s;
}

struct wse_slice wse_unit_slice_back(const struct wse_unit *u, uint32_t chunk)
{
	struct wse_slice s = wse_unit_slice(u, chunk);

	if (u->chunks_back > 1) {
		s.ins = u->ins / u->chunks_back;
		s.in0 = chunk * s.ins;
	}
	return s;
}

uint32_t wse_graph_vec(struct wse_graph *g, uint32_t unit, uint32_t tensor, uint32_t width,
		       uint32_t parts)
{
	struct wse_unit *u;
	uint32_t at, rows = width / g->tile.cols;

	if (unit >= g->nunits)
		return 0;
	u = &g->units[unit];
	if (u->nvec == WSE_UNIT_VECS || !parts || width % (parts * g->tile.cols)) {
		g->failed = -EINVAL;
		return 0;
	}
	/* a kernel wants each at a multiple of 16 bytes */
	at = round_up(u->vec_rows, 4);
	u->vec[u->nvec++] = (struct wse_unit_vec){
		.tensor = tensor, .at = at, .rows = rows, .parts = parts, .chunks = 1};
	u->vec_rows = at + rows;
	return at;
}

void wse_graph_vec_chunks(struct wse_graph *g, uint32_t unit, uint32_t chunks, uint32_t real)
{
	struct wse_unit_vec *v;

	if (unit >= g->nunits || !g->units[unit].nvec)
		return;
	v = &g->units[unit].vec[g->units[unit].nvec - 1];
	if (!chunks || v->rows % (v->parts * chunks)) {
		g->failed = -EINVAL;
		return;
	}
	v->chunks = chunks;
	v->real = real < v->rows / v->parts * g->tile.cols ? real : 0;
}

void wse_graph_pad(struct wse_graph *g, uint32_t unit, uint32_t real_outs, uint32_t real_ins)
{
	struct wse_unit *u;

	if (unit >= g->nunits)
		return;
	u = &g->units[unit];
	u->real_outs = u->parts && real_outs < u->outs / u->parts ? real_outs : 0;
	u->real_ins = real_ins < u->ins ? real_ins : 0;
}

void wse_graph_heads(struct wse_graph *g, uint32_t unit, const struct wse_heads *h, int in)
{
	if (unit >= g->nunits)
		return;
	if (in)
		g->units[unit].in_heads = *h;
	else
		g->units[unit].heads = *h;
}

uint32_t wse_graph_vec_heads(struct wse_graph *g, uint32_t unit, uint32_t tensor,
			     const struct wse_heads *h)
{
	uint32_t at = wse_graph_vec(g, unit, tensor, (h->heads + 2 * h->kv) * h->d, 1);

	if (unit < g->nunits && g->units[unit].nvec)
		g->units[unit].vec[g->units[unit].nvec - 1].heads = *h;
	return at;
}

struct wse_op *wse_graph_op(struct wse_graph *g, uint32_t kind, uint32_t unit, uint32_t program)
{
	static struct wse_op nowhere; /* without memory builders write here, finish() tells */
	struct wse_op *op = grow(g, &g->ops, &g->nops, sizeof(*op));

	if (!op)
		op = &nowhere;
	op->kind = kind;
	op->unit = unit;
	op->program = program;
	for (int i = 0; i < WSE_OP_INS; i++)
		op->in[i] = WSE_NO_VALUE;
	for (int i = 0; i < WSE_OP_OUTS; i++)
		op->out[i] = WSE_NO_VALUE;
	return op;
}

static uint32_t add_io(struct wse_graph *g, struct wse_io *io, uint32_t *n, const char *name,
		       size_t bytes)
{
	if (*n == WSE_GRAPH_IO) {
		g->failed = -EINVAL;
		return 0;
	}
	io[*n] = (struct wse_io){name, bytes};
	return (*n)++;
}

uint32_t wse_graph_in(struct wse_graph *g, const char *name, size_t bytes)
{
	return add_io(g, g->in, &g->nin, name, bytes);
}

uint32_t wse_graph_out(struct wse_graph *g, const char *name, size_t bytes)
{
	return add_io(g, g->out, &g->nout, name, bytes);
}

uint32_t wse_graph_spill(struct wse_graph *g, const char *what, uint32_t value)
{
	struct wse_spill *s = grow(g, &g->spills, &g->nspills, sizeof(*s));

	if (!s)
		return 0;
	*s = (struct wse_spill){what, value};
	return g->nspills - 1;
}

static int reads(const struct wse_op *op, uint32_t value)
{
	for (int i = 0; i < WSE_OP_INS; i++)
		if (op->in[i] == value)
			return 1;
	return 0;
}

/* first and last of every value that operation `at` touches */
static int live(struct wse_graph *g, uint32_t at, const char *name)
{
	const struct wse_op *op = &g->ops[at];

	for (int i = 0; i < WSE_OP_INS + WSE_OP_OUTS; i++) {
		int out = i >= WSE_OP_INS;
		uint32_t v = out ? op->out[i - WSE_OP_INS] : op->in[i];

		if (v == WSE_NO_VALUE)
			continue;
		if (v >= g->nvalues)
			return wse_fail(-EINVAL, "op %u (%s): there is no value %u of %u", at, name,
					v, g->nvalues);
		if (!out && g->values[v].first == UINT32_MAX)
			return wse_fail(-EINVAL,
					"op %u (%s): value %u (%s) is read before it is made", at,
					name, v, g->values[v].what);
		if (out && g->values[v].first != UINT32_MAX && !reads(op, v))
			return wse_fail(-EINVAL, "op %u (%s): value %u (%s) was made by op %u", at,
					name, v, g->values[v].what, g->values[v].first);
		if (g->values[v].first == UINT32_MAX)
			g->values[v].first = at;
		g->values[v].last = at;
	}
	return 0;
}

/* at: the first operation that uses it */
static int check_unit(const struct wse_graph *g, uint32_t i, uint32_t at, const char *name)
{
	const struct wse_unit *u = &g->units[i];
	uint32_t ins; /* chunks of them */

	if (u->weight == WSE_NO_TENSOR)
		return 0;
	ins = u->chunks_in > u->chunks_back ? u->chunks_in : u->chunks_back;
	if (!u->chunks_out || !u->chunks_in || !u->chunks_back ||
	    u->outs % (4 * g->tile.cols * u->chunks_out) || u->ins % (4 * g->tile.cols * ins))
		return wse_fail(-EINVAL,
				"op %u (%s): unit %u: %u outputs in %u chunks and %u inputs in %u "
				"are not both multiples of 4 x %u columns",
				at, name, i, u->outs, u->chunks_out, u->ins, ins, g->tile.cols);
	if ((u->parts > 1 && (u->chunks_out == 1 || u->in_order)) + (u->chunks_out > 1) +
		    (u->chunks_in > 1) + (u->chunks_back > 1) + (u->heads.heads > 0) +
		    (u->in_heads.heads > 0) >
	    1)
		return wse_fail(-EINVAL,
				"op %u (%s): unit %u: of parts and chunks only one may be above 1",
				at, name, i);
	if (!u->outs || !u->ins || !u->parts || u->outs % (u->parts * u->chunks_out * g->tile.cols))
		return wse_fail(-EINVAL,
				"op %u (%s): unit %u: %u outputs, %u inputs and %u parts on %u "
				"columns",
				at, name, i, u->outs, u->ins, u->parts, g->tile.cols);
	/* heads are padded one by one */
	if ((u->heads.heads && u->real_outs) || (u->in_heads.heads && u->real_ins))
		return wse_fail(-EINVAL,
				"op %u (%s): unit %u: heads are padded each, not behind the last",
				at, name, i);
	if (u->outs / g->tile.cols > WSE_COLUMN_MAX || u->ins / g->tile.cols > WSE_COLUMN_MAX)
		return wse_fail(-EINVAL,
				"op %u (%s): unit %u: a width of %u x %u is more than %u a column",
				at, name, i, u->outs, u->ins, WSE_COLUMN_MAX);
	return 0;
}

/* used [nunits]: the first operation of each, plus 1 */
static int check_units(const struct wse_graph *g, const uint32_t *used,
		       const char *(*name)(uint32_t kind))
{
	int ret = 0;

	for (uint32_t i = 0; i < g->nunits && !ret; i++) {
		if (!used[i])
			return wse_fail(-EINVAL, "unit %u is not used by any operation", i);
		ret = check_unit(g, i, used[i] - 1, name(g->ops[used[i] - 1].kind));
	}
	return ret;
}

int wse_graph_finish(struct wse_graph *g,
		     int (*check)(const struct wse_graph *g, const struct wse_op *op),
		     const char *(*name)(uint32_t kind))
{
	uint32_t *used = calloc(g->nunits + 1, sizeof(*used));
	int ret = g->failed ? g->failed : used ? 0 : -ENOMEM;

	if (ret)
		wse_fail(ret, "the graph could not be built: %s", strerror(-ret));
	else if (!g->t || g->t % g->tile.lanes || g->t > WSE_TOKENS_MAX)
		ret = wse_fail(-EINVAL,
			       "%u tokens per core are not 1 to 64 in multiples of the %u lanes",
			       g->t, g->tile.lanes);
	for (uint32_t i = 0; i < g->nops && !ret; i++) {
		const struct wse_op *op = &g->ops[i];

		ret = live(g, i, name(op->kind));
		if (!ret && op->unit != WSE_NO_UNIT && op->unit >= g->nunits)
			ret = wse_fail(-EINVAL, "op %u (%s): there is no unit %u of %u", i,
				       name(op->kind), op->unit, g->nunits);
		if (!ret && op->unit != WSE_NO_UNIT && !used[op->unit])
			used[op->unit] = i + 1;
	}
	for (uint32_t i = 0; i < g->nvalues && !ret; i++)
		if (g->values[i].first == UINT32_MAX)
			ret = wse_fail(-EINVAL, "value %u (%s) is made by no operation", i,
				       g->values[i].what);
	ret = ret ? ret : check_units(g, used, name);
	for (uint32_t i = 0; i < g->nops && !ret; i++) {
		ret = check(g, &g->ops[i]);
		if (ret)
			wse_fail_in(ret, "op %u (%s): ", i, name(g->ops[i].kind));
	}
	free(used);
	return ret ? ret : wse_graph_place(g);
}

double wse_graph_left_out(const struct wse_graph *g)
{
	double sum = 0.0;

	for (uint32_t i = 0; i < g->nunits; i++)
		if (g->units[i].weight != WSE_NO_TENSOR)
			sum += (1.0 - wse_unit_density(&g->units[i])) * g->units[i].outs *
			       g->units[i].ins;
	return sum;
}

size_t wse_unit_grad_floats(const struct wse_graph *g, const struct wse_unit *u)
{
	size_t matrix = u->weight == WSE_NO_TENSOR ? 0 : (size_t)u->outs * u->ins;

	return matrix + (size_t)u->vec_rows * g->tile.cols;
}

size_t wse_unit_fwd_bytes(const struct wse_unit *u)
{
	return u->weight == WSE_NO_TENSOR ? 0 : wse_align64((size_t)u->outs * u->ins * 2);
}

size_t wse_unit_image_bytes(const struct wse_graph *g, const struct wse_unit *u)
{
	return (g->forward ? 1 : 2) * wse_unit_fwd_bytes(u) +
	       (size_t)u->vec_rows * g->tile.cols * 4;
}
