// SPDX-License-Identifier: MIT
/* Bytes, cycles and micro-batches of a model on a tile. */
#include "model/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "graph/mask.h"
#include "graph/place.h"
#include "model/advise.h"
#include "num/nearest.h"
#include "ops/kinds.h"
#include "ops/spill.h"

/*
 * micro-batch after micro-batch: a program is copied to the cores, once for all of them, when
 * another one was there
 */
static uint64_t program_cycles(const struct wse_graph *g)
{
	uint32_t first = UINT32_MAX, last = UINT32_MAX;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < g->nops; i++) {
		uint32_t p = g->ops[i].program;

		if (!wse_op_type(g->ops[i].kind)->entry)
			continue;
		if (first == UINT32_MAX)
			first = p;
		else if (p != last)
			sum += wse_copy_in_cycles(1, 1, g->programs[p].end);
		last = p;
	}
	return sum + (first == last ? 0 : wse_copy_in_cycles(1, 1, g->programs[first].end));
}

/* the bits of a unit's images: what masked streams read of them beside the weights */
static uint64_t mask_bytes(const struct wse_graph *g, const struct wse_unit *u)
{
	struct wse_mask_shape fwd, back;

	if (u->weight == WSE_NO_TENSOR || u->density <= 0.0)
		return 0;
	fwd = wse_mask_shape(g, u, 0);
	back = wse_mask_shape(g, u, 1);
	/* gradients: the stream of indices, and of what comes back */
	return wse_mask_bytes(&fwd) * (g->forward ? 1 : 3) +
	       (g->forward ? 0 : wse_mask_bytes(&back));
}

/* of gradients none comes back of a weight that is left out */
static uint64_t grad_bytes(const struct wse_graph *g, const struct wse_unit *u)
{
	uint64_t matrix = u->weight == WSE_NO_TENSOR ? 0 : (uint64_t)u->outs * u->ins;

	return 4 * (wse_unit_grad_floats(g, u) -
		    (uint64_t)((1.0 - wse_unit_density(u)) * (double)matrix));
}

static uint64_t graph_cycles(const struct wse_graph *g)
{
	uint64_t sum = program_cycles(g);
	struct wse_beside beside = {0};

	for (uint32_t i = 0; i < g->nops; i++)
		sum += wse_op_cycles(&beside, g, &g->ops[i]);
	return sum;
}

/* weights and vectors of an operation: some come again and again in a micro-batch */
static uint64_t bytes_in(const struct wse_graph *g, const struct wse_op *op)
{
	if (op->kind == WSE_OP_LINEAR)
		return wse_linear_image_bytes(g, op);
	return op->kind == WSE_OP_VEC_IN ? 4ull * g->units[op->unit].vec_rows * g->tile.cols : 0;
}

void wse_plan_costs(const struct wse_model *m, struct wse_plan *p)
{
	const struct wse_graph *g = &p->graph;
	double macs = ((double)m->family->macs(m) - wse_graph_left_out(g)) * (m->forward ? 1 : 3) *
		      p->tokens;

	p->cycles = graph_cycles(g);
	p->streamed_in = p->streamed_out = p->spilled = 0;
	for (uint32_t i = 0; i < g->nunits; i++) {
		p->streamed_in += mask_bytes(g, &g->units[i]);
		p->streamed_out += g->forward ? 0 : grad_bytes(g, &g->units[i]);
	}
	for (uint32_t i = 0; i < g->nops; i++)
		p->streamed_in += bytes_in(g, &g->ops[i]);
	for (uint32_t i = 0; i < g->nout; i++)
		if (i == g->loss || (i != g->logits && !g->forward))
			p->streamed_out += g->out[i].bytes;
	for (uint32_t i = 0; i < g->nspills; i++)
		p->spilled += wse_spill_bytes(g, i);
	p->useful = macs / ((double)p->cycles * g->tile.lanes * g->tile.rows * g->tile.cols);
}

/* ---- which numbers of tokens go ---- */

/* modes behind those of the same bits that are tried where the one that fits spills */
#define SPILLED_MORE 4

/* what a number of tokens a core comes to, by its number: each is tried once */
struct tries {
	const struct wse_model *m;
	const struct wse_tile *tile;
	int done[WSE_TOKENS_MAX + 1], ret[WSE_TOKENS_MAX + 1];
	uint32_t mode[WSE_TOKENS_MAX + 1]; /* the first that fits, or the last one */
	struct wse_failure first;	   /* one that did not go */
	uint64_t ops;			   /* of the graphs that were built */
	uint64_t cycles;		   /* of the last one, if it fits */
	uint32_t spills;		   /* of the last one */
	/*
	 * of any of them: it might have been the one to take, and another number of tokens has
	 * other bits
	 */
	int no_memory;
};

static int build(struct tries *y, const struct wse_model *m, uint32_t t, uint32_t mode)
{
	struct wse_graph g = {0};
	int ret = m->family->graph(m, y->tile, t, mode, &g);

	y->no_memory |= ret == -ENOMEM;
	y->ops += g.nops;
	y->cycles = ret ? 0 : graph_cycles(&g);
	y->spills = g.nspills;
	wse_graph_fini(&g);
	return ret;
}

static int build_shallow(struct tries *y, uint32_t t, uint32_t mode)
{
	struct wse_model few;

	y->m->family->shallow(y->m, &few);
	return build(y, &few, t, mode);
}

/*
 * As build(). Of modes that are a last resort there are many: no graph of all layers is built where
 * few layers do not fit either
 */
static int try_mode(struct tries *y, uint32_t t, uint32_t mode)
{
	int ret = 0;

	if (y->m->family->shallow && mode >= y->m->family->last)
		ret = build_shallow(y, t, mode);
	return ret ? ret : build(y, y->m, t, mode);
}

/* the mode of the fewest bytes, if few layers do not fit in it: no other is tried then. Else 0 */
static uint32_t too_large(struct tries *y, uint32_t t)
{
	const struct wse_model_family *f = y->m->family;
	uint32_t mode = f->modes - 1;

	if (!f->shallow || build_shallow(y, t, mode) != -E2BIG)
		return 0;
	while (mode > f->last && build(y, y->m, t, mode) == -EINVAL)
		mode--;
	return mode;
}

/*
 * a mode that fits, or one with the same bits that takes fewer cycles, unless it was asked for.
 * Where it spills, the next ones, of more chunks, may have room for copies that hold nothing up.
 */
static uint32_t cheapest(struct tries *y, uint32_t t, uint32_t mode)
{
	const struct wse_model_family *f = y->m->family;
	uint32_t best = mode, last = f->last + f->alike, more = SPILLED_MORE, spills = y->spills;
	uint64_t least = y->cycles;
	int ret;

	if (mode < f->last || y->m->mode >= f->last)
		return mode;
	while (++mode < last || (spills && more && mode < f->modes)) {
		ret = try_mode(y, t, mode);
		more -= mode >= last && ret != -EINVAL;
		if (ret || y->cycles >= least)
			continue;
		least = y->cycles;
		best = mode;
		spills = y->spills;
	}
	return best;
}

/* 0: t tokens a core fit; -E2BIG: they do in no mode; else they do not go */
static int try_tokens(struct tries *y, uint32_t t)
{
	const struct wse_model *m = y->m;
	struct wse_failure before;
	uint32_t least;
	int ret = -EINVAL, r;

	if (y->done[t])
		return y->ret[t];
	wse_failure_keep(&before, 0);
	for (uint32_t mode = m->mode; mode < m->family->modes; mode++) {
		least = mode == m->family->last ? too_large(y, t) : 0;
		r = least ? -E2BIG : try_mode(y, t, mode);
		/* a mode that is none for these sizes says nothing about the others */
		if (r == -EINVAL && mode + 1 < m->family->modes)
			continue;
		if (r != -EINVAL || ret != -E2BIG)
			ret = r;
		if (r != -EINVAL)
			y->mode[t] = least ? least : r ? mode : cheapest(y, t, mode);
		if (least || r != -E2BIG)
			break;
	}
	wse_fail_since(before.count, ret, "%s", strerror(-ret));
	if (ret && ret != -E2BIG && !y->first.err)
		wse_failure_keep(&y->first, ret);
	wse_failure_undo(&before);
	y->done[t] = 1;
	y->ret[t] = ret;
	return ret;
}

/* samples of a micro-batch of t tokens a core; 0: no whole number of them */
static uint64_t samples(const struct tries *y, uint32_t t)
{
	uint64_t tokens = (uint64_t)t * y->tile->rows;

	return tokens % y->m->span ? 0 : tokens / y->m->span;
}

/* want: 0 or -E2BIG */
static int comes_to(struct tries *y, uint32_t t, int want)
{
	return samples(y, t) && try_tokens(y, t) == want;
}

/*
 * Many tokens per core amortise a weight, but there must be work for several wafers. Modes that are
 * a last resort come after all numbers of tokens, and unusual numbers after those: a model that
 * fits without them keeps its bits.
 */
static uint32_t choose(struct tries *y, uint64_t batch)
{
	static const uint32_t per_core[] = {32, 16, 8, 64}, at_least[] = {4, 2, 1};
	uint32_t last = y->m->family->last ? y->m->family->last : y->m->family->modes;
	uint32_t lanes = y->tile->lanes;

	for (int i = 0; i < 24; i++) {
		uint32_t t = per_core[i % 4];
		uint64_t mb = samples(y, t);

		/* 64 only where a sequence needs it */
		if (t == 64 && y->m->span <= 32 * y->tile->rows)
			continue;
		if (mb && batch % mb == 0 && batch / mb >= at_least[i / 4 % 3] &&
		    !try_tokens(y, t) && (y->mode[t] < last) == (i < 12))
			return t;
	}
	for (uint32_t t = WSE_TOKENS_MAX / lanes * lanes; t; t -= lanes)
		if (comes_to(y, t, 0) && batch % samples(y, t) == 0)
			return t;
	return 0;
}

/*
 * the fewest tokens a core that come to `want`, and whose micro-batch divides the batch; 0: none do
 */
static uint32_t fewest(struct tries *y, uint64_t batch, int want)
{
	uint32_t t = y->tile->lanes;

	while (t <= WSE_TOKENS_MAX && !(comes_to(y, t, want) && batch % samples(y, t) == 0))
		t += y->tile->lanes;
	return t <= WSE_TOKENS_MAX ? t : 0;
}

/* the batches next to this one: multiples of the micro-batches that come to `want` */
static struct wse_near near_batch(struct tries *y, uint64_t batch, int want)
{
	struct wse_near near = {0}, n;

	for (uint32_t t = y->tile->lanes; t <= WSE_TOKENS_MAX; t += y->tile->lanes) {
		if (!comes_to(y, t, want))
			continue;
		n = wse_near_multiple(batch, samples(y, t), UINT64_MAX);
		near.below = n.below > near.below ? n.below : near.below;
		near.above = !near.above || n.above < near.above ? n.above : near.above;
	}
	return near;
}

static int refuse_batch(struct tries *y, uint64_t batch, int want)
{
	uint32_t t = fewest(y, 0, want);

	wse_fail(-EINVAL,
		 "batch_size %" PRIu64 " is not a multiple of %" PRIu64
		 " (%u tokens), the smallest "
		 "micro-batch of %u rows x %u lanes",
		 batch, samples(y, t), t * y->tile->rows, y->tile->rows, y->tile->lanes);
	wse_near_say("", near_batch(y, batch, want));
	return -EINVAL;
}

/*
 * the micro-batches next to this one that come to `want`: of those that divide the batch, if there
 * are any
 */
static void say_micro(struct tries *y, uint64_t batch, uint64_t micro, int want, const char *key)
{
	uint64_t of = fewest(y, batch, want) ? batch : 0, n, whole;
	struct wse_near near = {0};

	for (uint32_t t = y->tile->lanes; t <= WSE_TOKENS_MAX; t += y->tile->lanes) {
		n = comes_to(y, t, want) ? samples(y, t) : 0;
		if (!n || of % n)
			continue;
		if (n < micro)
			near.below = n;
		else if (n > micro && !near.above)
			near.above = n;
	}
	if (of) {
		wse_near_say(key, near);
		return;
	}
	n = wse_nearest(near, micro);
	whole = n ? wse_nearest(wse_near_multiple(batch, n, UINT64_MAX), batch) : 0;
	if (n)
		wse_fail_more(": choose %s%" PRIu64 " and batch_size %" PRIu64, key, n, whole);
}

static int none_goes(const struct tries *y)
{
	if (y->first.err)
		return wse_failure_tell(&y->first);
	return wse_fail(-EINVAL,
			"samples of %u tokens do not lie on %u rows of %u to %u tokens each",
			y->m->span, y->tile->rows, y->tile->lanes, WSE_TOKENS_MAX);
}

/* t: tokens a core; 0: no whole number of lanes, or too many */
static int refuse_micro(struct tries *y, uint64_t batch, uint64_t micro, uint32_t t)
{
	int want = fewest(y, 0, 0) ? 0 : -E2BIG;

	if (!fewest(y, 0, want))
		return none_goes(y);
	wse_fail(-EINVAL, "micro_batch_size %" PRIu64, micro);
	if (t)
		wse_fail_more(": %.250s", y->first.text);
	else
		wse_fail_more(" (%" PRIu64 " tokens) is not %u to %u tokens on each of %u rows, in "
			      "steps of the %u lanes",
			      micro * y->m->span, y->tile->lanes, WSE_TOKENS_MAX, y->tile->rows,
			      y->tile->lanes);
	say_micro(y, batch, micro, want, "");
	return -EINVAL;
}

/* tokens a core of a plan, and 0 or -E2BIG; any other error with its sentence */
static int find_in(struct tries *y, uint64_t batch, uint64_t micro, uint32_t *tokens)
{
	const struct wse_model *m = y->m;
	uint64_t all = micro * m->span, rows = y->tile->rows;
	uint32_t t;
	int ret = m->family->sizes ? m->family->sizes(m, y->tile, 1) : 0;

	if (ret)
		return ret;
	if (micro) {
		int lies = all % (rows * y->tile->lanes) == 0 && all / rows <= WSE_TOKENS_MAX;

		t = lies ? (uint32_t)(all / rows) : 0;
		ret = lies ? try_tokens(y, t) : -EINVAL;
		if (ret == -EINVAL)
			return refuse_micro(y, batch, micro, t);
		if (ret && ret != -E2BIG)
			return wse_failure_tell(&y->first);
	} else {
		t = choose(y, batch);
		if (!t && fewest(y, 0, 0))
			return refuse_batch(y, batch, 0);
		ret = t ? 0 : -E2BIG;
		t = t ? t : fewest(y, batch, -E2BIG);
		if (!t && fewest(y, 0, -E2BIG))
			return refuse_batch(y, batch, -E2BIG);
		if (!t)
			return none_goes(y);
	}
	*tokens = t;
	return ret;
}

/* as find_in(); a forward pass as in training, if there is a plan for that */
static int find(struct tries *y, uint64_t batch, uint64_t micro, uint32_t *tokens)
{
	struct wse_model training = *y->m;
	struct tries full = {.m = &training, .tile = y->tile};
	struct wse_failure before;
	int ret;

	if (!y->m->forward)
		return find_in(y, batch, micro, tokens);
	training.forward = 0;
	wse_failure_keep(&before, 0);
	ret = find_in(&full, batch, micro, tokens);
	y->ops += full.ops;
	y->no_memory |= full.no_memory;
	if (!ret) {
		y->mode[*tokens] = full.mode[*tokens];
		return 0;
	}
	wse_failure_undo(&before);
	return find_in(y, batch, micro, tokens);
}

/* as find(), unless memory for one of the graphs was short */
static int find_all(struct tries *y, uint64_t batch, uint64_t micro, uint32_t *tokens)
{
	int ret = find(y, batch, micro, tokens);

	return y->no_memory ? wse_fail(-ENOMEM, "no memory to plan the model") : ret;
}

static int goes_on(const struct wse_model *m, const struct wse_tile *tile)
{
	return !m->family->sizes || !m->family->sizes(m, tile, 0);
}

/*
 * find_all() on all columns of the tile or, where the model's heads and widths do not divide by
 * them, on the most columns that go: the first `used->cols`. What does not go on any is told of
 * all; what is too large, of those that it lies on, unless most of the tile would be idle.
 */
static int find_columns(struct tries *y, const struct wse_tile *tile, struct wse_tile *used,
			uint64_t batch, uint64_t micro, uint32_t *tokens, struct wse_failure *whole)
{
	const struct wse_model *m = y->m;
	int ret;

	*used = *tile;
	y->tile = used;
	ret = find_all(y, batch, micro, tokens);
	if (ret != -EINVAL || (m->family->sizes && goes_on(m, tile)))
		return ret;
	wse_failure_keep(whole, ret);
	while (--used->cols && ret == -EINVAL) {
		if (!goes_on(m, used))
			continue;
		*y = (struct tries){.m = m, .tile = used, .ops = y->ops};
		ret = find_all(y, batch, micro, tokens);
		if (ret == -ENOMEM)
			return ret;
		if (!ret || (ret == -E2BIG && used->cols >= tile->cols / 2)) {
			wse_failure_undo(whole);
			return ret;
		}
	}
	*used = *tile;
	return wse_failure_tell(whole);
}

/*
 * the model as it is planned: where the last micro-batch is filled up, some of its tokens do not
 * count, and all micro-batches have one graph
 */
static struct wse_model with_fill(const struct wse_model *m, uint64_t batch, uint64_t micro)
{
	struct wse_model of = *m;

	of.masked |= micro && batch % micro;
	return of;
}

/* a model of a caller's own may have no input of scales */
static int check_fill(const struct wse_plan *p, uint64_t batch, uint64_t micro)
{
	if (!p->fill || p->graph.forward || p->graph.scale_in != WSE_NO_VALUE)
		return 0;
	wse_fail(-EINVAL,
		 "batch_size %" PRIu64 " is not a multiple of micro_batch_size %" PRIu64
		 ", and the model has no input of scales, with which samples that fill the last "
		 "one up would not count",
		 batch, micro);
	wse_near_say("batch_size ", wse_near_multiple(batch, micro, UINT64_MAX));
	return -EINVAL;
}

int wse_plan_fits(const struct wse_model *m, const struct wse_tile *tile, uint64_t batch,
		  uint64_t micro_batch, uint64_t *ops, uint32_t *cols)
{
	const struct wse_model of = with_fill(m, batch, micro_batch);
	struct tries y = {.m = &of};
	struct wse_failure before, whole;
	struct wse_tile used;
	uint32_t t;
	int ret;

	wse_failure_keep(&before, 0);
	ret = find_columns(&y, tile, &used, batch, micro_batch, &t, &whole);
	if (ret)
		wse_failure_undo(&before);
	else if (cols)
		*cols = used.cols;
	*ops += y.ops;
	return !ret;
}

uint64_t wse_plan_batch(const struct wse_model *m, const struct wse_tile *tile, uint64_t batch,
			uint64_t micro_batch)
{
	struct tries y = {.m = m, .tile = tile};

	if (micro_batch)
		return batch / micro_batch * micro_batch;
	return near_batch(&y, batch, 0).below;
}

int wse_plan_make(const struct wse_model *m, const struct wse_tile *tile, uint64_t batch,
		  uint64_t micro_batch, struct wse_plan *p)
{
	const struct wse_model of = with_fill(m, batch, micro_batch);
	struct tries y = {.m = &of};
	struct wse_failure whole;
	struct wse_tile used;
	uint32_t t;
	int ret;

	memset(p, 0, sizeof(*p));
	p->columns = tile->cols;
	ret = find_columns(&y, tile, &used, batch, micro_batch, &t, &whole);
	if (used.cols < tile->cols)
		snprintf(p->idle, sizeof(p->idle), "%.255s", whole.text);
	if (ret == -EINVAL)
		wse_advise_tile(m, tile, batch, micro_batch, 0);
	if (ret && ret != -E2BIG)
		return ret;
	p->mode = y.mode[t];
	ret = of.family->graph(&of, &used, t, p->mode, &p->graph);
	if (ret && ret != -E2BIG)
		return ret;
	p->tokens = t * tile->rows;
	p->micro_batches = (uint32_t)((batch + samples(&y, t) - 1) / samples(&y, t));
	p->fill = (uint32_t)(p->micro_batches * samples(&y, t) - batch);
	if (check_fill(p, batch, micro_batch)) {
		p->tokens = 0;
		return -EINVAL;
	}
	wse_plan_costs(m, p);
	if (ret && micro_batch && fewest(&y, 0, 0))
		say_micro(&y, batch, micro_batch, 0, "micro_batch_size ");
	else if (ret)
		wse_advise_tile(m, tile, batch, micro_batch, 1);
	return ret;
}

void wse_plan_fini(struct wse_plan *plan)
{
	wse_graph_fini(&plan->graph);
}

static enum wse_bound bound_of(const struct wse_graph *g, const struct wse_op *op)
{
	const struct wse_op_type *type = wse_op_type(op->kind);

	if (type->bound)
		return type->bound(g, op);
	return type->entry ? WSE_BOUND_CORE : WSE_BOUND_COPIES;
}

/*
 * what the cycles are spent on, for each kind of operation and of all; kinds below 1 % are in the
 * sum alone
 */
static void print_bounds(const struct wse_plan *p, const struct wse_exec_cfg *log)
{
	static const char *const names[WSE_BOUNDS] = {"lanes", "trip of sums", "port", "copies",
						      "core"};
	uint64_t of[WSE_OP_KINDS + 1][WSE_BOUNDS] = {{0}}, sum, c, own;
	struct wse_beside beside = {0};
	const struct wse_graph *g = &p->graph;
	char text[160];
	size_t n;

	of[WSE_OP_KINDS][WSE_BOUND_COPIES] = program_cycles(g);
	for (uint32_t i = 0; i < g->nops; i++) {
		own = wse_op_type(g->ops[i].kind)->cycles(g, &g->ops[i]);
		c = wse_op_cycles(&beside, g, &g->ops[i]);
		own = own < c ? own : c;
		for (uint32_t k = g->ops[i].kind;; k = WSE_OP_KINDS) {
			of[k][bound_of(g, &g->ops[i])] += own;
			of[k][WSE_BOUND_COPIES] += c - own; /* it waits for those beside it */
			if (k == WSE_OP_KINDS)
				break;
		}
	}
	for (uint32_t k = 0; k <= WSE_OP_KINDS; k++) {
		sum = n = 0;
		text[0] = 0;
		for (int b = 0; b < WSE_BOUNDS; b++)
			sum += of[k][b];
		if (sum * 100 < p->cycles || !sum)
			continue;
		for (int b = 0; b < WSE_BOUNDS; b++)
			if (of[k][b] && n < sizeof(text))
				n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %.0f %%",
						      n ? ", " : "", names[b],
						      100.0 * (double)of[k][b] / (double)p->cycles);
		wse_logf(log, WSE_LOG_INFO, "%-16s %s: %s", k == WSE_OP_KINDS ? "bound by" : "",
			 k == WSE_OP_KINDS ? "all" : wse_kind_name(k), text);
	}
}

void wse_plan_print(const struct wse_plan *p, const struct wse_model *m, const char *device,
		    const struct wse_exec_cfg *log)
{
	const enum wse_log_level i = WSE_LOG_INFO;
	const struct wse_graph *g = &p->graph;
	char text[300];
	uint32_t peak = wse_graph_peak(g, NULL), kinds[WSE_OP_KINDS] = {0};
	size_t n = 0;

	m->family->describe(m, text, sizeof(text));
	wse_logf(log, i, "model            %s", text);
	wse_logf(log, i, "                 %" PRIu64 " multiply-adds a token forward, %s",
		 m->family->macs(m),
		 g->forward ? "alone: no gradients, no transposed images" : "x 3 in training");
	if (wse_graph_left_out(g) > 0.0)
		wse_logf(log, i, "                 %.0f of them left out by masks",
			 wse_graph_left_out(g));
	wse_logf(log, i, "tile             %u x %u cores, %u lanes (%s)", g->tile.rows, p->columns,
		 g->tile.lanes, device);
	if (g->tile.cols < p->columns)
		wse_logf(log, i, "                 %u of %u columns; for all of them: %s",
			 g->tile.cols, p->columns, p->idle);
	wse_logf(log, i, "mapping          hidden along x, tokens along y: %u tokens a core", g->t);
	wse_logf(log, i, "micro-batch      %u tokens, %u a step", p->tokens, p->micro_batches);
	if (p->fill)
		wse_logf(log, i,
			 "                 the last has %u of %u samples, and others that do not "
			 "count",
			 p->tokens / m->span - p->fill, p->tokens / m->span);
	for (uint32_t k = 0; k < g->nops; k++)
		kinds[g->ops[k].kind]++;
	for (uint32_t k = 0; k < WSE_OP_KINDS; k++)
		if (kinds[k] && n < sizeof(text))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u %s", n ? ", " : "",
					      kinds[k], wse_kind_name(k));
	wse_logf(log, i, "operations       %u: %s", g->nops, text);
	wse_logf(log, i, "bytes per core   %u of %u", g->total, g->tile.sram);
	wse_logf(log, i, "                 %6u code, stack, arguments", g->base + WSE_GRAPH_TOP);
	wse_graph_bytes(g, peak, text, sizeof(text));
	wse_logf(log, i, "                 at the peak (%s, operation %u): %s",
		 wse_kind_name(g->ops[peak].kind), peak, text);
	wse_logf(log, i, "streamed         %" PRIu64 " bytes in, %" PRIu64 " out, a micro-batch",
		 p->streamed_in, p->streamed_out);
	if (g->every)
		wse_logf(log, i,
			 "kept             the input of one of %u blocks; those between are made "
			 "again from it",
			 g->every);
	if (p->spilled)
		wse_logf(log, i,
			 "spilled          %u %s: %" PRIu64 " bytes a token to the host and as "
			 "many back, %" PRIu64 " held there",
			 g->nspills, g->spills[0].what, p->spilled / p->tokens, p->spilled);
	wse_logf(log, i,
		 "predicted        %" PRIu64 " cycles a micro-batch, %.2f of the lanes useful",
		 p->cycles, p->useful);
	print_bounds(p, log);
}
