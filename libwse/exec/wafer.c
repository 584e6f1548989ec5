// SPDX-License-Identifier: MIT
/*
 * The executor that runs micro-batches on a wafer, through libwse's device API: the same for a
 * device node and for a model in this process. It walks the graph; the commands of an operation are
 * the operation's (ops/).
 *
 * Queues: WSE_QUEUE_IN carries the weight (and index) streams, WSE_QUEUE_RUN starts and copies in
 * program order, WSE_QUEUE_OUT the gradients. A stream may run ahead of the start that eats it: its
 * wavelets wait in the fabric. WSE_QUEUE_BESIDE, where a device has so many queues, carries spills
 * and what comes back of them, behind FENCEs of its own: starts run while they do.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "exec/wafer.h"
#include "ops/spill.h"

int wse_wafer_fail(struct wafer *w, int ret, const char *what)
{
	return ret ? wse_fail_in(ret, "%s: %s: ", wse_device_uri(w->dev), what) : 0;
}

int wse_wafer_linear(const struct wafer *w)
{
	return wse_linear_streams && w->info.features & WSE_FEATURES_LINEAR_MASK;
}

static void info_of(const struct wafer *w, struct wse_exec_info *info)
{
	memset(info, 0, sizeof(*info));
	snprintf(info->name, sizeof(info->name), "%.40s %ux%u", wse_device_uri(w->dev),
		 w->info.rows, w->info.cols);
	info->tile = (struct wse_tile){.rows = w->info.rows,
				       .cols = w->info.cols,
				       .lanes = w->info.lanes,
				       .sram = w->info.sram_kib * 1024,
				       .group = (w->info.features & WSE_FEATURES_GROUP_MASK) >>
						WSE_FEATURES_GROUP_SHIFT,
				       .no_linear = !wse_wafer_linear(w)};
}

static void wafer_info(struct wse_exec *e, struct wse_exec_info *info)
{
	info_of((struct wafer *)e, info);
}

static void unload(struct wafer *w)
{
	wse_programs_unload(&w->programs);
	wse_buffer_destroy(w->losses);
	w->losses = NULL;
	for (uint32_t i = 0; w->spills && i < w->g->nspills; i++)
		wse_buffer_destroy(w->spills[i]);
	free(w->spills);
	w->spills = NULL;
	free(w->grads);
	w->grads = NULL;
	w->g = NULL;
}

/* a stream may wait for all of a micro-batch that comes before its start, and for the start */
static uint64_t stream_budget(const struct wse_graph *g, int is_short)
{
	uint64_t cycles = 0;

	for (uint32_t i = 0; i < g->nops; i++)
		cycles += wse_op_type(g->ops[i].kind)->cycles(g, &g->ops[i]);
	return is_short ? wse_emit_short_budget(2 * cycles)
			: wse_emit_budget(cycles, WSE_EMIT_STREAM_BUDGET);
}

static int wafer_prepare(struct wse_exec *e, const struct wse_graph *g)
{
	struct wafer *w = (struct wafer *)e;
	int ret = 0;

	unload(w);
	if (!g)
		return 0;
	if (w->rows && w->rows != g->tile.rows)
		ret = wse_programs_close_stream(w->ctx, &w->info);
	if (ret)
		return wse_wafer_fail(w, ret, "a change of rows");
	w->rows = g->tile.rows;
	w->g = g;
	w->loaded = UINT32_MAX;
	w->budget = stream_budget(g, w->short_budgets);
	w->grads = calloc(g->nunits + 1, sizeof(struct wse_shared_buf *));
	w->spills = calloc(g->nspills + 1, sizeof(struct wse_buffer *));
	if (!w->grads || !w->spills)
		ret = -ENOMEM;
	ret = ret ? ret : wse_programs_load(&w->programs, w->ctx, g);
	if (!ret) {
		ret = wse_buffer_create(w->dev, 2ul * g->tile.cols * wse_graph_tokens(g) * 4,
					&w->losses);
		if (ret)
			wse_fail_in(ret, "losses: ");
	}
	for (uint32_t i = 0; i < g->nspills && !ret; i++) {
		ret = wse_buffer_create(w->dev, wse_spill_bytes(g, i), &w->spills[i]);
		if (ret)
			wse_fail_in(ret, "memory for %s: ", g->spills[i].what);
	}
	if (ret)
		unload(w);
	return ret;
}

/* ---- buffers ---- */

static int wafer_alloc(struct wse_exec *e, size_t size, struct wse_shared_buf *buf)
{
	struct wafer *w = (struct wafer *)e;
	struct wse_buffer *b;
	int ret = wse_buffer_create(w->dev, size, &b);

	if (ret)
		return wse_wafer_fail(w, ret, "allocating a buffer");
	buf->ptr = wse_buffer_map(b);
	buf->size = size;
	buf->owner = e;
	buf->view[e->id] = b;
	return 0;
}

static void wafer_unmap(struct wse_exec *e, struct wse_shared_buf *buf)
{
	wse_buffer_destroy(buf->view[e->id]);
	buf->view[e->id] = NULL;
}

static void wafer_free(struct wse_exec *e, struct wse_shared_buf *buf)
{
	wafer_unmap(e, buf);
	buf->ptr = NULL;
}

static int wafer_map(struct wse_exec *e, struct wse_shared_buf *buf)
{
	struct wafer *w = (struct wafer *)e;
	struct wse_buffer *b;
	int ret = wse_buffer_share(w->dev, buf->view[buf->owner->id], &b);

	if (ret)
		return wse_wafer_fail(w, ret, "sharing a buffer");
	buf->view[e->id] = b;
	return 0;
}

static int wafer_wave(struct wse_exec *e, const char *window)
{
	return wse_device_wave(((struct wafer *)e)->dev, window);
}

static int wafer_watch(struct wse_exec *e, struct wse_watch *seen)
{
	struct wafer *w = (struct wafer *)e;

	if (!w->dev->ops->watch)
		return -ENOTSUP;
	return w->dev->ops->watch(w->dev, seen);
}

static void wafer_short_budgets(struct wse_exec *e)
{
	struct wafer *w = (struct wafer *)e;

	w->short_budgets = 1;
	w->budget = stream_budget(w->g, 1);
}

static int wafer_fault(struct wse_exec *e, struct drm_wse_fault *fault)
{
	return wse_context_fault(((struct wafer *)e)->ctx, fault);
}

static int wafer_cost(struct wse_exec *e, struct wse_exec_cost *cost)
{
	struct wafer *w = (struct wafer *)e;
	uint32_t n, i;
	int ret;

	if (!w->timed)
		return -ENODATA;
	*cost = (struct wse_exec_cost){.cycles = w->end - w->begin,
				       .last_grad = w->last_grad - w->begin};
	ret = wse_device_counters(w->dev, DRM_WSE_SCOPE_TILE, 0, cost->count, WSE_CNT_COUNT, &n);
	for (i = 0; !ret && i < WSE_CNT_COUNT; i++)
		cost->count[i] -= w->before[i];
	return ret;
}

static int wafer_record(struct wse_exec *e, wse_record_fn fn, void *ctx)
{
	struct wafer *w = (struct wafer *)e;

	if (!w->dev->ops->command_cycles)
		return -ENOTSUP;
	if (fn && !w->labels) {
		/* one more: of the batch that is being made */
		w->labels = calloc(MAX_PENDING + 1, sizeof(*w->labels));
		if (!w->labels)
			return -ENOMEM;
		w->label = w->labels[MAX_PENDING];
	}
	w->record = fn;
	w->record_ctx = ctx;
	return 0;
}

static void wafer_pause(struct wse_exec *e, const struct wse_pauses *pauses)
{
	((struct wafer *)e)->pauses = pauses ? *pauses : (struct wse_pauses){0};
}

static struct wse_device *wafer_device(struct wse_exec *e)
{
	return ((struct wafer *)e)->dev;
}

static void wafer_close(struct wse_exec *e)
{
	struct wafer *w = (struct wafer *)e;
	struct wse_failure before;

	wse_failure_keep(&before, 0);
	while (w->npend)
		wse_wafer_reap(w, NULL, NULL, -ECANCELED);
	unload(w);
	wse_context_destroy(w->ctx);
	wse_device_close(w->dev);
	free(w->labels);
	free(w);
	wse_failure_undo(&before);
}

static const struct wse_exec_ops wafer_ops = {
	.info = wafer_info,
	.prepare = wafer_prepare,
	.alloc = wafer_alloc,
	.free = wafer_free,
	.map = wafer_map,
	.unmap = wafer_unmap,
	.run = wse_wafer_run,
	.wave = wafer_wave,
	.watch = wafer_watch,
	.short_budgets = wafer_short_budgets,
	.fault = wafer_fault,
	.cost = wafer_cost,
	.record = wafer_record,
	.pause = wafer_pause,
	.device = wafer_device,
	.close = wafer_close,
};

/* a run that waits says so, and for whom */
static int lease(struct wafer *w)
{
	struct wse_failure before;
	int ret;

	wse_failure_keep(&before, 0);
	if (w->dev->gdb)
		wse_logf(&w->cfg, WSE_LOG_INFO,
			 "| Waiting for gdb: target extended-remote %s; `continue` starts the run",
			 w->dev->gdb);
	ret = wse_context_lease(w->dev, 0, &w->ctx);
	if (ret != -EBUSY || !w->dev->wait)
		return ret;
	wse_logf(&w->cfg, WSE_LOG_INFO, "| Waiting: %.400s", wse_error());
	wse_failure_undo(&before);
	return wse_context_lease(w->dev, WSE_CONTEXT_WAIT, &w->ctx);
}

int wse_exec_open_wafer(const char *uri, const struct wse_exec_cfg *cfg, struct wse_exec **exec)
{
	struct wafer *w = calloc(1, sizeof(*w));
	int ret;

	if (!w)
		return -ENOMEM;
	w->base.ops = &wafer_ops;
	if (cfg)
		w->cfg = *cfg;
	ret = wse_device_open(uri, &w->dev);
	if (ret)
		goto out;
	ret = wse_device_info(w->dev, &w->info);
	if (!ret)
		ret = lease(w);
	if (ret) {
		wse_wafer_fail(w, ret, "leasing the device");
		goto out;
	}
	if (w->info.queues < WSE_QUEUE_OUT) {
		ret = wse_fail(-ENOTSUP, "%s has %u I/O queues, the trainer needs %u", uri,
			       w->info.queues, WSE_QUEUE_OUT);
		goto out;
	}
	*exec = &w->base;
	return 0;
out:
	wafer_close(&w->base);
	return ret;
}

int wse_exec_wafer_info(const char *uri, struct wse_exec_info *info)
{
	struct wafer w = {0};
	int ret = wse_device_open(uri, &w.dev);

	ret = ret ? ret : wse_device_info(w.dev, &w.info);
	if (!ret)
		info_of(&w, info);
	wse_device_close(w.dev);
	return ret;
}
