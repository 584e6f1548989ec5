// SPDX-License-Identifier: MIT
/*
 * Where the values of random graphs lie in SRAM: no two at one place at a time, and in no more
 * bytes than is said.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/place.h"
#include "model/gpt.h"
#include "num/num.h"
#include "base/error.h"
#include "ops/ops.h"
#include "tap.h"

enum { TOP = 1088 }; /* stack and argument words */

static uint64_t draws;

static uint32_t rnd(uint32_t n)
{
	return (uint32_t)(wse_rng_u64(11, 0, draws++) % n);
}

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

/*
 * one operation that reads up to three values, writes one of them in place, and makes up to three
 */
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
			g->values[v].bytes_at_start = (2 * g->values[v].bytes + 15) / 16 * 16;
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
	return op == first && v->bytes_at_start > v->bytes ? v->bytes_at_start : v->bytes;
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
	wse_graph_bytes(g, wse_graph_peak(g, NULL), text, sizeof(text));
	f->words += add_up(text) != most;
	f->totals += g->total != high + TOP || (ret == -E2BIG) != (g->total > g->tile.sram) ||
		     g->total < g->base + most + TOP;
	free(first);
	free(last);
}

/*
 * One that holds more at an operation than a core has is given up without a place for each value,
 * and the total is what it holds there: it is placed on a larger core instead. 1: it was so
 */
static int place_elsewhere(struct wse_graph *g, int *ret, struct faults *f)
{
	uint64_t live;

	wse_graph_peak(g, &live);
	if (*ret != -E2BIG || g->base + live + TOP <= g->tile.sram)
		return 0;
	f->totals += g->total != g->base + live + TOP;
	g->tile.sram = 1u << 30;
	*ret = wse_graph_place(g);
	return 1;
}

static void places(void)
{
	struct faults f = {0};
	uint32_t fit = 0, big = 0, far = 0, shared = 0, values = 0;
	uint64_t sum = 0; /* of all places */
	int bad = 0;

	for (int k = 0; k < 400; k++) {
		const struct wse_tile tile = {.rows = 1 + rnd(4),
					      .cols = 1 + rnd(4),
					      .lanes = 8,
					      .sram = 10000 + rnd(90000)};
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
		far += place_elsewhere(&g, &ret, &f);
		for (uint32_t i = 0; i < g.nvalues; i++) {
			all += g.values[i].bytes;
			sum = sum * 31 + g.values[i].sram;
		}
		values += g.nvalues;
		shared += all > g.total - g.base - TOP;
		check_places(&g, ret, &f);
		wse_graph_fini(&g);
	}
	ok(!bad && fit > 50 && big > far && far > 50 && shared > 100,
	   "400 random graphs of %u values: %u fit, %u do not, %u of them at once, %u use places "
	   "again",
	   values, fit, big, far, shared);
	ok(!f.overlaps, "no two values that live at the same operation overlap");
	ok(!f.outside && !f.odd, "all lie between program and stack, at multiples of 16");
	ok(!f.totals, "the total is what is really taken, and -E2BIG says so");
	ok(!f.words, "the bytes by kind add up, at every operation and at the peak");
	/* as a search through all pairs of values placed them; another number means other plans */
	ok(sum == 0x49ba3db69e854060, "places are those of first fit: %016" PRIx64, sum);
}

/* as many layers as a parameter file may ask for, on cores with room for them */
static void many_layers(void)
{
	const struct wse_tile tile = {.rows = 1, .cols = 4, .lanes = 8, .sram = 1u << 30};
	const struct wse_gpt shape = {.vocab = 256,
				      .positions = 8,
				      .seq = 8,
				      .hidden = 16,
				      .layers = 10000,
				      .heads = 4,
				      .act = WSE_GELU_NEW,
				      .filter = 16,
				      .tied = 1,
				      .learned = 1};
	struct wse_model m;
	struct wse_graph g = {0};
	char text[200] = "";
	int ret = wse_gpt_init(&m, &shape);

	alarm(120); /* a second; a search through all pairs takes days */
	ret = ret ? ret : m.family->graph(&m, &tile, 8, 0, &g);
	if (!ret)
		wse_graph_bytes(&g, wse_graph_peak(&g, NULL), text, sizeof(text));
	alarm(0);
	ok(!ret && g.nvalues > UINT16_MAX && add_up(text) > shape.layers * 512 &&
		   add_up(text) < g.total,
	   "%u layers: %u operations, %u values in %u bytes%s%s", shape.layers, g.nops, g.nvalues,
	   g.total, ret ? ": " : "", ret ? wse_error() : "");
	wse_graph_fini(&g);
}

int main(void)
{
	places();
	many_layers();
	return tap_end();
}
