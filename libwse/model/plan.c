// SPDX-License-Identifier: MIT
/* Bytes, cycles and micro-batches of a model on a tile. */
#include "model/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "graph/place.h"
#include "ops/kinds.h"

/* micro-batch after micro-batch: a program is copied to the cores, once for all of them, when another one was there */
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

static void costs(const struct wse_model *m, struct wse_plan *p)
{
	const struct wse_graph *g = &p->graph;
	uint64_t macs = m->family->macs(m) * 3 * p->tokens;

	p->cycles = program_cycles(g);
	p->streamed_in = p->streamed_out = 0;
	for (uint32_t i = 0; i < g->nops; i++)
		p->cycles += wse_op_type(g->ops[i].kind)->cycles(g, &g->ops[i]);
	for (uint32_t i = 0; i < g->nunits; i++) {
		p->streamed_in += wse_unit_image_bytes(g, &g->units[i]);
		p->streamed_out += wse_unit_grad_floats(g, &g->units[i]) * 4;
	}
	for (uint32_t i = 0; i < g->nout; i++)
		if (i != g->logits)
			p->streamed_out += g->out[i].bytes;
	p->useful =
		(double)macs / ((double)p->cycles * g->tile.lanes * g->tile.rows * g->tile.cols);
}

/* the first mode from `mode` on and before `end` that fits t tokens a core; -E2BIG of the last one */
static int fit(const struct wse_model *m, const struct wse_tile *tile, uint32_t t, uint32_t mode,
	       uint32_t end, struct wse_plan *p, char *why)
{
	int ret = -E2BIG;

	for (; mode < end; mode++) {
		wse_graph_fini(&p->graph);
		p->mode = mode;
		ret = m->family->graph(m, tile, t, mode, &p->graph, why);
		if (ret != -E2BIG)
			break;
	}
	return ret;
}

int wse_plan_make(const struct wse_model *m, const struct wse_tile *tile, uint64_t batch,
		  uint64_t micro_batch, struct wse_plan *p, char *why)
{
	static const uint32_t per_core[] = {32, 16, 8, 64}, at_least[] = {4, 2, 1};
	uint64_t unit = tile->rows * tile->lanes, tokens = batch * m->span;
	uint64_t micro = micro_batch * m->span;
	uint32_t all = m->family->modes, most = m->family->last ? m->family->last : all;
	int ret;

	memset(p, 0, sizeof(*p));
	why[0] = 0;
	if (micro % unit || tokens % unit)
		return wse_why(why, -EINVAL,
			       "%s %" PRIu64 " is not a multiple of %u rows x %u "
			       "lanes = %" PRIu64 " tokens",
			       tokens % unit ? "batch_size" : "micro_batch_size",
			       tokens % unit ? batch : micro_batch, tile->rows, tile->lanes, unit);
	/*
	 * Many tokens per core amortise a weight, but there must be work for several wafers. Modes that are a last resort
	 * come after all numbers of tokens: a model that fits without them keeps its bits.
	 */
	for (int i = 0; i < 24 && !micro; i++) {
		uint32_t t = per_core[i % 4], from = i < 12 ? m->mode : most;
		uint64_t mb = (uint64_t)tile->rows * t;

		/* 64 only where a sequence needs it */
		if (t == 64 && m->span <= 32 * tile->rows)
			continue;
		if (tokens % mb == 0 && tokens / mb >= at_least[i / 4 % 3] && mb % m->span == 0 &&
		    !fit(m, tile, t, from, i < 12 ? most : all, p, why))
			micro = mb;
	}
	/* the smallest: it says best what does not fit */
	if (!micro)
		micro = m->span > unit ? m->span : unit;
	p->tokens = (uint32_t)micro;
	p->micro_batches = (uint32_t)(tokens / micro);
	ret = fit(m, tile, p->tokens / tile->rows, m->mode, all, p, why);
	if (ret && ret != -E2BIG) {
		p->tokens = 0;
		return ret;
	}
	costs(m, p);
	return ret;
}

void wse_plan_fini(struct wse_plan *plan)
{
	wse_graph_fini(&plan->graph);
}

void wse_plan_print(const struct wse_plan *p, const struct wse_model *m, const char *device,
		    const struct wse_exec_cfg *log)
{
	const enum wse_log_level i = WSE_LOG_INFO;
	const struct wse_graph *g = &p->graph;
	char text[300];
	uint32_t peak = wse_graph_peak(g), kinds[WSE_OP_KINDS] = {0};
	size_t n = 0;

	m->family->describe(m, text, sizeof(text));
	wse_logf(log, i, "model            %s", text);
	wse_logf(log, i,
		 "                 %" PRIu64 " multiply-adds a token forward, x 3 in training",
		 m->family->macs(m));
	wse_logf(log, i, "tile             %u x %u cores, %u lanes (%s)", g->tile.rows,
		 g->tile.cols, g->tile.lanes, device);
	wse_logf(log, i, "mapping          hidden along x, tokens along y: %u tokens a core", g->t);
	wse_logf(log, i, "micro-batch      %u tokens, %u a step", p->tokens, p->micro_batches);
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
	wse_logf(log, i,
		 "predicted        %" PRIu64 " cycles a micro-batch, %.2f of the lanes useful",
		 p->cycles, p->useful);
}
