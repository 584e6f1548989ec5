// SPDX-License-Identifier: MIT
/* Devices on paper: their shape, and what bounds a step on them. */
#include "train/plan_device.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/error.h"
#include "ops/ops.h"

/*
 * Published of a CS-2: 850,000 cores with 48 KiB each, 7.48 PF peak of 16-bit numbers, 1.2 Tb/s
 * from outside; 994 x 750 cores are free for programs (the SDK's fabric of 757 x 996 without its
 * margins), at 1.1 GHz, with 4 multiply-adds of 16 bits a cycle
 */
static const struct {
	const char *name, *is;
} presets[] = {{"cs2", "rows=994,cols=750,lanes=4,link=136,ghz=1.1,tiles=0"}};

/* tiles that a wafer is cut into, side by side */
#define TILES_MOST 16u

/* what a URI says; of link and ghz 0: nothing */
struct values {
	uint32_t rows, cols, lanes, sram, tiles;
	double link, ghz;
};

enum type { WHOLE, NUMBER };

static const struct option {
	const char *key;
	enum type type;
	double from, to;
	size_t at; /* a uint32_t of struct values, or a double */
	const char *more;
} options[] = {
	{"rows", WHOLE, 1, 65535, offsetof(struct values, rows), ""},
	{"cols", WHOLE, 1, 65535, offsetof(struct values, cols), ""},
	{"lanes", WHOLE, 1, 65535, offsetof(struct values, lanes), ""},
	{"sram", WHOLE, 1, 1000000000, offsetof(struct values, sram), " bytes"},
	{"tiles", WHOLE, 0, TILES_MOST, offsetof(struct values, tiles),
	 ", where 0 takes those of the shortest step"},
	{"link", NUMBER, 1e-3, 1e9, offsetof(struct values, link), " bytes a cycle"},
	{"ghz", NUMBER, 1e-3, 1e3, offsetof(struct values, ghz), ""},
};

enum { OPTIONS = sizeof(options) / sizeof(options[0]) };

/* in decimal, all of the text */
static int read_value(const struct option *o, const char *text, struct values *v)
{
	char *at = (char *)v + o->at, *stop;
	uint64_t n;
	double x;

	if (o->type == WHOLE) {
		if (wse_decimal(text, text + strlen(text), (uint64_t)o->to, &n) || n < o->from)
			return -EINVAL;
		*(uint32_t *)(void *)at = (uint32_t)n;
		return 0;
	}
	if (!isdigit((unsigned char)text[0]) || strpbrk(text, "xX"))
		return -EINVAL;
	x = strtod(text, &stop);
	if (*stop || !(x >= o->from && x <= o->to))
		return -EINVAL;
	*(double *)(void *)at = x;
	return 0;
}

/* "key=number,..." */
static int read_options(const char *uri, const char *p, struct values *v)
{
	uint32_t seen = 0;

	while (*p) {
		size_t n = strcspn(p, "="), end = strcspn(p, ","), i = 0;
		const struct option *o;
		char text[40];

		while (i < OPTIONS &&
		       (strlen(options[i].key) != n || strncmp(options[i].key, p, n)))
			i++;
		if (n >= end || i == OPTIONS)
			return wse_fail(-EINVAL,
					"%.200s: \"%.*s\" is no option of plan:, which has rows, "
					"cols, lanes, sram, tiles, link and ghz",
					uri, (int)(end < 40 ? end : 40), p);
		o = &options[i];
		if (seen & 1u << i)
			return wse_fail(-EINVAL, "%.200s: %s is there twice", uri, o->key);
		seen |= 1u << i;
		/* what is cut off is too long to be in range */
		snprintf(text, sizeof(text), "%.*s", (int)(end - n - 1 < 39 ? end - n - 1 : 39),
			 p + n + 1);
		if (end - n - 1 > 39 || read_value(o, text, v))
			return wse_fail(-EINVAL,
					"%.200s: %s is \"%s\": it takes a %s from %.10g to %.10g%s",
					uri, o->key, text,
					o->type == WHOLE ? "whole number" : "number", o->from,
					o->to, o->more);
		p += end + (p[end] == ',');
	}
	return 0;
}

int wse_plan_device(const char *uri, struct wse_plan_device *d)
{
	struct values v = {.rows = 4, .cols = 4, .lanes = 8, .sram = 48 * 1024, .tiles = 1};
	const char *own = uri + 5;

	if (strncmp(uri, "plan:", 5))
		return 0;
	for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++) {
		size_t n = strlen(presets[i].name);

		if (strncmp(own, presets[i].name, n) || (own[n] && own[n] != ','))
			continue;
		if (read_options(uri, presets[i].is, &v))
			return -EINVAL;
		own += n + (own[n] == ',');
		break;
	}
	if (own == uri + 5 && !strchr(uri, '='))
		return wse_fail(-EINVAL,
				"%.200s: the presets of plan: are cs2; or give "
				"plan:rows=R,cols=C,lanes=L,link=B,ghz=F",
				uri);
	if (read_options(uri, own, &v))
		return -EINVAL;
	d->tile =
		(struct wse_tile){.rows = v.rows, .cols = v.cols, .lanes = v.lanes, .sram = v.sram};
	d->tiles = v.tiles;
	d->link = v.link;
	d->ghz = v.ghz;
	if (d->tiles > d->tile.cols)
		return wse_fail(-EINVAL, "%.200s: %u columns are no %u tiles: choose tiles=%u", uri,
				d->tile.cols, d->tiles, d->tile.cols);
	return 1;
}

/* one of the tiles that a wafer is cut into */
static struct wse_plan_device one_of(const struct wse_plan_device *wafer, uint32_t tiles)
{
	struct wse_plan_device d = *wafer;

	d.tile.cols /= tiles;
	d.link /= tiles;
	d.tiles = 1;
	return d;
}

/*
 * The planner's buses carry 8 bytes a cycle: so many columns share one that the link is all of
 * those that the model takes
 */
static uint32_t columns_a_bus(const struct wse_plan_device *d, uint32_t cols)
{
	double n = 8.0 * cols / d->link;

	return d->link > 0.0 && n > 1.0 ? (uint32_t)ceil(n) : 1;
}

static uint64_t jobs_of(uint64_t micro_batches, uint32_t devices)
{
	return (micro_batches + devices - 1) / devices;
}

/* bytes of a micro-batch that the link carries to the cores, and from them */
static void link_bytes(const struct wse_plan *p, double *in, double *out)
{
	*in = (double)(p->streamed_in + p->spilled);
	*out = (double)(p->streamed_out + p->spilled);
	for (uint32_t i = 0; i < p->graph.nin; i++)
		*in += (double)p->graph.in[i].bytes;
}

/* does a micro-batch wait for one direction of the link after the other, all the time? */
static int is_bound_by_link(const struct wse_plan *p, double link)
{
	double in, out;

	link_bytes(p, &in, &out);
	return link > 0.0 && (in + out) / link >= (double)p->cycles;
}

/* cycles of a micro-batch: the cores', or the link's if those are more */
static double cycles_of(const struct wse_plan *p, double link)
{
	double most = (double)p->cycles, in, out;

	if (link <= 0.0)
		return most;
	link_bytes(p, &in, &out);
	most = in / link > most ? in / link : most;
	return out / link > most ? out / link : most;
}

static uint64_t micro_batches(uint64_t batch, uint64_t samples)
{
	return (batch + samples - 1) / samples;
}

/*
 * Samples of a micro-batch that fill so many rows or fewer: those with which a system has the
 * fewest micro-batches, and of those the fewest. rest 0: of those that divide the batch
 */
static uint64_t best_samples(const struct wse_model *m, uint32_t rows, uint32_t t, uint64_t batch,
			     uint32_t devices, int rest)
{
	uint64_t best = 0, least = UINT64_MAX;

	/* whole rows of a sample, or whole samples of a row */
	if (m->span % t && t % m->span)
		return 0;
	for (uint64_t n = (uint64_t)rows * t / m->span; n; n--) {
		uint64_t jobs = jobs_of(micro_batches(batch, n), devices);

		if ((!rest && batch % n) || n * m->span % t || jobs > least)
			continue;
		least = jobs;
		best = n;
	}
	return best;
}

/* a step on paper, and the shortest so far */
struct search {
	const struct wse_model *m;
	const struct wse_plan_device *d;
	uint64_t batch;
	uint32_t devices;
	double least; /* its cycles */
	struct wse_plan *best;
	int found; /* it is one of this search */
};

/* n samples a micro-batch, t tokens a core, on the rows that they fill: 1: it fits */
static int try_samples(struct search *y, uint64_t n, uint32_t t)
{
	struct wse_tile tile = y->d->tile;
	struct wse_plan p;
	uint64_t rows = n * y->m->span / t, ops = 0;
	uint32_t cols;
	double cycles;

	if (!n || n * y->m->span % t || rows > tile.rows)
		return 0;
	tile.rows = (uint32_t)rows;
	tile.group = columns_a_bus(y->d, tile.cols);
	if (!wse_plan_fits(y->m, &tile, y->batch, n, &ops, &cols))
		return 0;
	tile.group = columns_a_bus(y->d, cols);
	if (wse_plan_make(y->m, &tile, y->batch, n, &p)) {
		wse_plan_fini(&p);
		return 0;
	}
	cycles = cycles_of(&p, y->d->link) * (double)jobs_of(p.micro_batches, y->devices);
	if (cycles >= y->least) {
		wse_plan_fini(&p);
		return 1;
	}
	wse_plan_fini(y->best);
	y->least = cycles;
	*y->best = p;
	y->found = 1;
	return 1;
}

/*
 * The fewest cycles a step, y->least or fewer: for each number of tokens a core, on the rows that
 * the samples of a micro-batch fill. Without spills cycles hardly depend on the rows, but the
 * device that has the most micro-batches sets the step's time. A last micro-batch that is not full
 * is tried where a device then has fewer. Fewer than half of the tokens that fit need more than
 * twice the micro-batches. 1: found.
 */
static int fewest_cycles(struct search *y, uint64_t micro_batch)
{
	const uint32_t lanes = y->d->tile.lanes, rows = y->d->tile.rows;
	uint32_t fits = 0;

	y->found = 0;
	for (uint32_t t = WSE_TOKENS_MAX / lanes * lanes; t && 2 * t >= fits; t -= lanes) {
		uint64_t n = micro_batch, rest = 0;
		int goes;

		if (!micro_batch) {
			n = best_samples(y->m, rows, t, y->batch, y->devices, 0);
			rest = best_samples(y->m, rows, t, y->batch, y->devices, 1);
		}
		goes = try_samples(y, n, t);
		if (rest && (!n || jobs_of(micro_batches(y->batch, rest), y->devices) <
					   jobs_of(y->batch / n, y->devices)))
			goes |= try_samples(y, rest, t);
		fits = fits || !goes ? fits : t;
	}
	return y->found;
}

/* numbers of tiles that are not better than the best of fewer, one after the other: enough tried */
#define WORSE_MOST 4

int wse_plan_device_make(const struct wse_model *m, struct wse_plan_device *d, uint64_t batch,
			 uint64_t micro_batch, uint32_t systems, struct wse_plan *p)
{
	uint32_t from = d->tiles ? d->tiles : 1, to = d->tiles ? d->tiles : TILES_MOST, worse = 0;
	struct wse_failure before;
	struct wse_plan_device of;
	struct wse_tile tile;
	struct search y = {.m = m, .d = &of, .batch = batch, .least = INFINITY, .best = p};

	memset(p, 0, sizeof(*p));
	d->tiles = from;
	wse_failure_keep(&before, 0);
	for (uint32_t n = from; n <= to && n <= d->tile.cols && worse < WORSE_MOST; n++) {
		of = one_of(d, n);
		worse++;
		y.devices = systems * n;
		if (!fewest_cycles(&y, micro_batch))
			continue;
		d->tiles = n;
		worse = 0;
		if (is_bound_by_link(p, of.link)) /* each of more tiles has less of it */
			break;
	}
	wse_failure_undo(&before);
	if (y.least < INFINITY)
		return 0;
	/* what does not go is told of rows that sequences lie on: their lengths are such */
	of = one_of(d, d->tiles);
	tile = of.tile;
	if (m->span > 1)
		for (tile.rows = 1; 2 * tile.rows <= d->tile.rows;)
			tile.rows *= 2;
	tile.group = columns_a_bus(&of, tile.cols);
	return wse_plan_make(m, &tile, batch, micro_batch, p);
}

void wse_plan_device_print(const struct wse_plan_device *d, const struct wse_config *cfg,
			   const struct wse_plan *p, uint32_t systems,
			   const struct wse_exec_cfg *log)
{
	const enum wse_log_level i = WSE_LOG_INFO;
	const struct wse_graph *g = &p->graph;
	const struct wse_plan_device of = one_of(d, d->tiles);
	double in, out, cores = (double)p->cycles, jobs, seconds, tokens, flops, peak;

	if (g->tile.rows < d->tile.rows)
		wse_logf(log, i, "                 %u of %u rows: samples fill those", g->tile.rows,
			 d->tile.rows);
	if (d->tiles > 1)
		wse_logf(
			log, i,
			"wafer            %u tiles of %u x %u cores side by side, each a device of "
			"its own with %g bytes a cycle",
			d->tiles, of.tile.rows, of.tile.cols, of.link);
	if (d->link > 0.0) {
		link_bytes(p, &in, &out);
		in /= of.link;
		out /= of.link;
		wse_logf(log, i,
			 "link             %.0f cycles in, %.0f out a micro-batch at %g bytes a "
			 "cycle, %.2f of the cores' %.0f",
			 in, out, of.link, (in + out) / cores, cores);
	}
	jobs = (double)jobs_of(p->micro_batches, systems * d->tiles);
	if (d->ghz <= 0.0)
		return;
	seconds = jobs * cycles_of(p, of.link) / (d->ghz * 1e9);
	tokens = (double)cfg->batch * cfg->model.span;
	flops = 2.0 * (g->forward ? 1.0 : 3.0) * (double)cfg->model.family->macs(&cfg->model) *
		tokens;
	peak = 2.0 * d->tile.rows * d->tile.cols * d->tile.lanes * d->ghz * 1e9 * systems;
	wse_logf(log, i,
		 "step             %.4g s on %u system%s at %g GHz, %.0f micro-batches %s: %.4g "
		 "tokens/s",
		 seconds, systems, systems == 1 ? "" : "s", d->ghz, jobs,
		 d->tiles > 1 ? "a tile" : "each", tokens / seconds);
	if (systems * d->tiles > 1 && !cfg->micro_batch)
		wse_logf(
			log, i,
			"                 micro_batch_size %u is chosen for %u systems; a run chooses "
			"for one, where its file does not say",
			p->tokens / cfg->model.span, systems);
	wse_logf(log, i, "                 %.3g FLOPs, %.3g FLOP/s of a peak of %.4g: %.3f", flops,
		 flops / seconds, peak, flops / seconds / peak);
}
