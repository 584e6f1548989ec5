// SPDX-License-Identifier: MIT
/*
 * What would be faster. A tile's shape decides how many columns share a head, how many rows a
 * sequence, and how many buses bring the weights: the planner is asked about the others of as many
 * cores. And a run chooses a small micro-batch where a large one has blocks' inputs leave the cores
 * (model/plan.c).
 */
#include <inttypes.h>

#include "machine.h"
#include "train/plan_shapes.h"
#include "train/plan_sparse.h"

#define NEAR	8    /* times the columns, at most and at least */
#define GAIN_OF 0.94 /* the cycles: the planner is right within 6 % (hw/doc/model.md) */

static int one(const struct wse_model *m, const struct wse_tile *tile, const struct wse_config *cfg,
	       struct wse_plan_shape *best)
{
	struct wse_plan p = {0};
	uint64_t cycles, ops = 0;
	int ret;

	/* where none fits, wse_plan_make() would look for what does */
	if (!wse_plan_fits(m, tile, cfg->batch, cfg->micro_batch, &ops, NULL))
		return 0;
	ret = wse_plan_make(m, tile, cfg->batch, cfg->micro_batch, &p);
	ret = ret ? ret : wse_plan_images(cfg, &p);
	cycles = p.cycles * p.micro_batches;
	if (!ret && cycles < best->cycles) {
		best->rows = tile->rows;
		best->cols = tile->cols;
		best->cycles = cycles;
		best->useful = p.useful;
	}
	wse_plan_fini(&p);
	return !ret;
}

void wse_plan_shape_find(const struct wse_model *m, const struct wse_tile *tile,
			 const struct wse_config *cfg, const struct wse_plan *of, int fits,
			 struct wse_plan_shape *to)
{
	uint64_t cores = (uint64_t)tile->rows * tile->cols;
	struct wse_tile other = *tile;
	struct wse_failure before;

	*to = (struct wse_plan_shape){.cycles = UINT64_MAX};
	if (fits)
		to->cycles = (uint64_t)(GAIN_OF * (double)(of->cycles * of->micro_batches));
	wse_failure_keep(&before, 0);
	for (uint64_t cols = (tile->cols + NEAR - 1) / NEAR; cols <= (uint64_t)tile->cols * NEAR;
	     cols++) {
		if (cores % cols || cols == tile->cols)
			continue;
		other.cols = (uint32_t)cols;
		other.rows = (uint32_t)(cores / cols);
		other.group = tile->group ? wse_machine_group(other.cols) : 0;
		if (!tile->group && tile->cols < 16) /* too narrow for groups: the default, too */
			other.group = wse_machine_group(other.cols);
		to->tried += one(m, &other, cfg, to);
	}
	wse_failure_undo(&before);
}

void wse_plan_shape_print(const struct wse_plan *of, int fits, const struct wse_plan_shape *best,
			  const struct wse_exec_cfg *log)
{
	uint64_t own = of->cycles * of->micro_batches;

	if (best->rows && fits)
		wse_logf(
			log, WSE_LOG_INFO,
			"other shapes     %u x %u cores would take %.0f %% of these cycles: %" PRIu64
			" a step, useful %.2f",
			best->rows, best->cols, 100 * (double)best->cycles / (double)own,
			best->cycles, best->useful);
	else if (best->rows)
		wse_logf(log, WSE_LOG_INFO,
			 "other shapes     it fits %u x %u cores: %" PRIu64
			 " cycles a step, useful %.2f",
			 best->rows, best->cols, best->cycles, best->useful);
	else
		wse_logf(
			log, WSE_LOG_INFO,
			"other shapes     none of as many cores takes 6 %% less: %u of them %s a plan",
			best->tried, best->tried == 1 ? "has" : "have");
}

/* cycles of a step: systems take whole micro-batches */
static uint64_t step_cycles(const struct wse_plan *p, uint32_t systems)
{
	return p->cycles * ((p->micro_batches + systems - 1) / systems);
}

void wse_plan_micro_find(const struct wse_model *m, const struct wse_tile *tile,
			 const struct wse_config *cfg, const struct wse_plan *of, uint32_t systems,
			 struct wse_plan_micro *to)
{
	struct wse_failure before;
	uint64_t ops = 0, cycles;

	*to = (struct wse_plan_micro){
		.cycles = (uint64_t)(GAIN_OF * (double)step_cycles(of, systems))};
	wse_failure_keep(&before, 0);
	for (uint32_t t = tile->lanes; t <= WSE_TOKENS_MAX; t += tile->lanes) {
		uint64_t tokens = (uint64_t)t * tile->rows, samples = tokens / m->span;
		struct wse_plan p = {0};

		if (tokens % m->span || tokens == of->tokens || cfg->batch % samples ||
		    !wse_plan_fits(m, tile, cfg->batch, samples, &ops, NULL))
			continue;
		if (!wse_plan_make(m, tile, cfg->batch, samples, &p) && !wse_plan_images(cfg, &p)) {
			cycles = step_cycles(&p, systems);
			if (cycles < to->cycles)
				*to = (struct wse_plan_micro){samples, cycles, p.useful};
		}
		wse_plan_fini(&p);
	}
	wse_failure_undo(&before);
}

void wse_plan_micro_print(const struct wse_plan *of, uint32_t systems,
			  const struct wse_plan_micro *best, const struct wse_exec_cfg *log)
{
	if (best->samples)
		wse_logf(log, WSE_LOG_INFO,
			 "other sizes      micro_batch_size %" PRIu64
			 " would take %.0f %% of these cycles: %" PRIu64 " a step, useful %.2f",
			 best->samples,
			 100 * (double)best->cycles / (double)step_cycles(of, systems),
			 best->cycles, best->useful);
}
