// SPDX-License-Identifier: MIT
/* Devices on paper: their shape, and what bounds a step on them. */
#include "train/plan_device.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ops/ops.h"

/*
 * Published of a CS-2: 850,000 cores with 48 KiB each, 7.48 PF peak of 16-bit numbers, 1.2 Tb/s
 * from outside; 994 x 750 cores are free for programs (the SDK's fabric of 757 x 996 without its
 * margins), at 1.1 GHz, with 4 multiply-adds of 16 bits a cycle
 */
static const struct {
	const char *name, *is;
} presets[] = {{"cs2", "rows=994,cols=750,lanes=4,link=136,ghz=1.1"}};

/* "key=number,..." */
static int read_options(const char *uri, const char *p, struct wse_plan_device *d)
{
	static const char *const keys[] = {"rows", "cols", "lanes", "sram", "link", "ghz"};
	double v[6] = {4, 4, 8, 48 * 1024, 0, 0};

	while (*p) {
		size_t n = strcspn(p, "="), end = strcspn(p, ","), i = 0;
		char *stop;

		while (i < 6 && (strlen(keys[i]) != n || strncmp(p, keys[i], n)))
			i++;
		if (n >= end || i == 6)
			return wse_fail(-EINVAL,
					"%.200s: \"%.*s\" is no option of plan:, which has rows, "
					"cols, lanes, sram, link and ghz",
					uri, (int)(end < 40 ? end : 40), p);
		v[i] = strtod(p + n + 1, &stop);
		if (stop != p + end || !(v[i] > 0.0) || v[i] > 1e9 ||
		    (i < 4 && v[i] != floor(v[i])) || (i < 3 && v[i] > 65535.0))
			return wse_fail(-EINVAL, "%.200s: %s takes a positive %s", uri, keys[i],
					i < 4 ? "whole number" : "number");
		p += end + (p[end] == ',');
	}
	d->tile = (struct wse_tile){.rows = (uint32_t)v[0],
				    .cols = (uint32_t)v[1],
				    .lanes = (uint32_t)v[2],
				    .sram = (uint32_t)v[3]};
	d->link = v[4];
	d->ghz = v[5];
	return 1;
}

int wse_plan_device(const char *uri, struct wse_plan_device *d)
{
	if (strncmp(uri, "plan:", 5))
		return 0;
	for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++)
		if (!strcmp(uri + 5, presets[i].name))
			return read_options(uri, presets[i].is, d);
	if (!strchr(uri, '='))
		return wse_fail(-EINVAL,
				"%.200s: the presets of plan: are cs2; or give "
				"plan:rows=R,cols=C,lanes=L,link=B,ghz=F",
				uri);
	return read_options(uri, uri + 5, d);
}

/*
 * The planner's buses carry 8 bytes a cycle: so many columns share one that the link is all of them
 */
static uint32_t columns_a_bus(const struct wse_plan_device *d, uint32_t cols)
{
	double n = 8.0 * cols / d->link;

	return d->link > 0.0 && n > 1.0 ? (uint32_t)ceil(n) : 1;
}

/* columns that the model takes have the whole link: group comes as of so many and leaves as that */
static int whole_link(const struct wse_model *m, struct wse_tile *tile,
		      const struct wse_plan_device *d, uint64_t batch, uint64_t micro_batch,
		      struct wse_plan *p)
{
	int ret = wse_plan_make(m, tile, batch, micro_batch, p);
	uint32_t group = columns_a_bus(d, p->graph.tile.cols);

	if (ret || group == tile->group)
		return ret;
	tile->group = group;
	wse_plan_fini(p);
	return wse_plan_make(m, tile, batch, micro_batch, p);
}

static uint64_t jobs_of(uint64_t micro_batches, uint32_t systems)
{
	return (micro_batches + systems - 1) / systems;
}

/*
 * Samples of a micro-batch that divide the batch and fill so many rows or fewer: those with which a
 * system has the fewest micro-batches, and of those the fewest
 */
static uint64_t best_samples(const struct wse_model *m, uint32_t rows, uint32_t t, uint64_t batch,
			     uint32_t systems)
{
	uint64_t best = 0, least = UINT64_MAX;

	/* whole rows of a sample, or whole samples of a row */
	if (m->span % t && t % m->span)
		return 0;
	for (uint64_t n = (uint64_t)rows * t / m->span; n; n--) {
		if (batch % n || n * m->span % t || jobs_of(batch / n, systems) > least)
			continue;
		least = jobs_of(batch / n, systems);
		best = n;
	}
	return best;
}

/*
 * The fewest cycles a step: for each number of tokens a core, on the rows that the samples of a
 * micro-batch fill. Without spills cycles hardly depend on the rows, but the system that has the
 * most micro-batches sets the step's time.
 */
static int fewest_cycles(const struct wse_model *m, const struct wse_plan_device *d, uint64_t batch,
			 uint64_t micro_batch, uint32_t systems, struct wse_plan *best)
{
	struct wse_tile tile = d->tile;
	struct wse_failure before;
	uint64_t least = UINT64_MAX;
	struct wse_plan p;

	wse_failure_keep(&before, 0);
	for (uint32_t t = WSE_TOKENS_MAX / tile.lanes * tile.lanes; t; t -= tile.lanes) {
		uint64_t n = micro_batch ? micro_batch
					 : best_samples(m, d->tile.rows, t, batch, systems);
		uint64_t rows = n * m->span / t, ops = 0, cycles;

		if (!n || n * m->span % t || rows > d->tile.rows)
			continue;
		tile.rows = (uint32_t)rows;
		tile.group = columns_a_bus(d, tile.cols);
		if (!wse_plan_fits(m, &tile, batch, n, &ops))
			continue;
		if (whole_link(m, &tile, d, batch, n, &p)) {
			wse_plan_fini(&p);
			continue;
		}
		cycles = p.cycles * jobs_of(p.micro_batches, systems);
		if (cycles >= least) {
			wse_plan_fini(&p);
			continue;
		}
		if (least != UINT64_MAX)
			wse_plan_fini(best);
		least = cycles;
		*best = p;
	}
	wse_failure_undo(&before);
	return least != UINT64_MAX;
}

int wse_plan_device_make(const struct wse_model *m, const struct wse_plan_device *d, uint64_t batch,
			 uint64_t micro_batch, uint32_t systems, struct wse_plan *p)
{
	struct wse_tile tile = d->tile;

	if (fewest_cycles(m, d, batch, micro_batch, systems, p))
		return 0;
	/* what does not go is told of rows that sequences lie on: their lengths are such */
	if (m->span > 1)
		for (tile.rows = 1; 2 * tile.rows <= d->tile.rows;)
			tile.rows *= 2;
	tile.group = columns_a_bus(d, tile.cols);
	return whole_link(m, &tile, d, batch, micro_batch, p);
}

/* bytes of a micro-batch that the link carries to the cores, and from them */
static void link_bytes(const struct wse_plan *p, double *in, double *out)
{
	*in = (double)(p->streamed_in + p->spilled);
	*out = (double)(p->streamed_out + p->spilled);
	for (uint32_t i = 0; i < p->graph.nin; i++)
		*in += (double)p->graph.in[i].bytes;
}

void wse_plan_device_print(const struct wse_plan_device *d, const struct wse_config *cfg,
			   const struct wse_plan *p, uint32_t systems,
			   const struct wse_exec_cfg *log)
{
	const enum wse_log_level i = WSE_LOG_INFO;
	const struct wse_graph *g = &p->graph;
	double in, out, cores = (double)p->cycles, most = cores, jobs, seconds, tokens, flops, peak;

	if (g->tile.rows < d->tile.rows)
		wse_logf(log, i, "                 %u of %u rows: samples fill those", g->tile.rows,
			 d->tile.rows);
	if (d->link > 0.0) {
		link_bytes(p, &in, &out);
		in /= d->link;
		out /= d->link;
		wse_logf(log, i,
			 "link             %.0f cycles in, %.0f out a micro-batch at %g bytes a "
			 "cycle, %.2f of the cores' %.0f",
			 in, out, d->link, (in + out) / cores, cores);
		most = in > most ? in : most;
		most = out > most ? out : most;
	}
	jobs = (double)jobs_of(p->micro_batches, systems);
	if (d->ghz <= 0.0)
		return;
	seconds = jobs * most / (d->ghz * 1e9);
	tokens = (double)p->tokens * p->micro_batches;
	flops = 2.0 * (g->forward ? 1.0 : 3.0) * (double)cfg->model.family->macs(&cfg->model) *
		tokens;
	peak = 2.0 * d->tile.rows * d->tile.cols * d->tile.lanes * d->ghz * 1e9 * systems;
	wse_logf(log, i,
		 "step             %.4g s on %u system%s at %g GHz, %.0f micro-batches each: %.4g "
		 "tokens/s",
		 seconds, systems, systems == 1 ? "" : "s", d->ghz, jobs, tokens / seconds);
	if (systems > 1 && !cfg->micro_batch)
		wse_logf(
			log, i,
			"                 micro_batch_size %u is chosen for %u systems; a run chooses "
			"for one, where its file does not say",
			p->tokens / cfg->model.span, systems);
	wse_logf(log, i, "                 %.3g FLOPs, %.3g FLOP/s of a peak of %.4g: %.3f", flops,
		 flops / seconds, peak, flops / seconds / peak);
}
