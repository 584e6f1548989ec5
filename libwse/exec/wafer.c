// SPDX-License-Identifier: MIT
/*
 * The executor that runs micro-batches on a wafer, through libwse's device API: the same for a
 * device node and for a model in this process. It walks the graph; the commands of an operation are
 * the operation's (ops/).
 *
 * Queues: WSE_QUEUE_IN carries the weight (and index) streams, WSE_QUEUE_RUN starts and copies in
 * program order, WSE_QUEUE_OUT the gradients. A stream may run ahead of the start that eats it: its
 * wavelets wait in the fabric.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "exec/clock.h"
#include "exec/exec.h"
#include "exec/programs.h"
#include "base/error.h"
#include "ops/emit.h"
#include "wse_regs.h"

/* submits that run; and commands, or cycles, after which a batch is submitted */
#define MAX_PENDING  64
#define BATCH_CMDS   12
#define BATCH_TAKEN  16
#define BATCH_CYCLES (1u << 30) /* a submit's own are told in 32 bits */

/* a submit that runs, and what to do when it is done */
struct pending {
	struct wse_fence *fence;
	const struct wse_micro_batch *job;
	struct wse_shared_buf *grad; /* complete: to hand over, or NULL */
	uint32_t unit;
	int loss;				 /* pick the losses of job */
	uint32_t slot;				 /* of the loss scratch */
	const struct wse_op *taken[BATCH_TAKEN]; /* whose images are taken for it */
	uint32_t ntaken, ncmd;
};

/* whose command it is: what wse_exec_command says of it before it ran */
struct label {
	uint32_t op;
	uint16_t queue, opcode;
};

struct wafer {
	struct wse_exec base;
	struct wse_exec_cfg cfg;
	struct wse_device *dev;
	struct wse_context *ctx;
	struct drm_wse_info info;
	const struct wse_graph *g;
	struct wse_programs programs;
	uint32_t loaded;	   /* the program that the cores have, in program order */
	uint32_t rows;		   /* that the last graph took; 0: there was none */
	struct wse_buffer *losses; /* [2][cols][tokens] fp32: every column's, two micro-batches */
	/* [nspills]: of the micro-batch that runs, for all commands on them are in one queue */
	struct wse_buffer **spills;
	uint64_t budget;	       /* of a stream */
	int brief;		       /* budgets are short */
	struct wse_shared_buf **grads; /* [nunits]: of the micro-batch that is being submitted */
	uint32_t taken;		       /* images of batches that are not done */
	struct pending pend[MAX_PENDING];
	uint32_t npend, first;
	/* of the last run */
	int timed;
	uint64_t begin, end, last_grad; /* device cycles, by a clock of this executor's */
	uint64_t before[WSE_CNT_MAX];
	/* who is told of commands, or NULL; labels of those in pend, and of the batch */
	wse_record_fn record;
	void *record_ctx;
	struct wse_pauses pauses; /* due NULL: none */
	struct label (*labels)[WSE_EMIT_CMDS], *label;
	uint64_t clock; /* of the last command that was told, on the device's own clock */
};

/* an error of the device: what it was at, before its sentence */
static int fail(struct wafer *w, int ret, const char *what)
{
	return ret ? wse_fail_in(ret, "%s: %s: ", wse_device_uri(w->dev), what) : 0;
}

static int has_linear(const struct wafer *w)
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
				       .no_linear = !has_linear(w)};
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
static uint64_t stream_budget(const struct wse_graph *g, int brief)
{
	uint64_t cycles = 0;

	for (uint32_t i = 0; i < g->nops; i++)
		cycles += wse_op_type(g->ops[i].kind)->cycles(g, &g->ops[i]);
	return brief ? wse_emit_short_budget(2 * cycles)
		     : wse_emit_budget(cycles, WSE_EMIT_STREAM_BUDGET);
}

static int wafer_prepare(struct wse_exec *e, const struct wse_graph *g)
{
	struct wafer *w = (struct wafer *)e;
	int ret = 0;

	unload(w);
	if (w->rows && w->rows != g->tile.rows)
		ret = wse_programs_close_stream(w->ctx, &w->info);
	if (ret)
		return fail(w, ret, "a change of rows");
	w->rows = g->tile.rows;
	w->g = g;
	w->loaded = UINT32_MAX;
	w->budget = stream_budget(g, w->brief);
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
		return fail(w, ret, "allocating a buffer");
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
		return fail(w, ret, "sharing a buffer");
	buf->view[e->id] = b;
	return 0;
}

/* ---- a run ---- */

static void note_cycles(struct wafer *w, const struct pending *p)
{
	uint32_t from, to;
	uint64_t end;

	if (!w->dev->ops->fence_cycles || wse_fence_cycles(p->fence, &from, &to))
		return; /* a transport that does not tell */
	if (!w->timed) {
		w->begin = (1ull << 32) + from; /* above 0, for what ends before it */
		w->end = w->begin;
	}
	end = wse_clock_at(w->end, from) + (uint32_t)(to - from);
	if (end > w->end)
		w->end = end;
	if (p->grad)
		w->last_grad = end;
	w->timed = 1;
}

/* the column that owns the target, in whichever chunk, knows a token's loss */
static void pick_losses(struct wafer *w, const struct pending *p)
{
	const struct wse_graph *g = w->g;
	uint32_t tokens = wse_graph_tokens(g), per = g->vocab_rows, chunk = per * g->tile.cols;
	const float *all =
		(const float *)wse_buffer_map(w->losses) + (size_t)p->slot * g->tile.cols * tokens;
	const uint16_t *target = wse_span_ptr(p->job->in[g->target]);
	float *loss = wse_span_ptr(p->job->out[g->loss]);

	for (uint32_t i = 0; i < tokens; i++)
		loss[i] =
			all[(size_t)(wse_token(target, i, g->classes) % chunk / per) * tokens + i];
}

/* what the commands of a submit took, which are done */
static void tell(struct wafer *w, const struct pending *p)
{
	const struct label *l = w->labels[w->first];

	for (uint32_t i = 0; i < p->ncmd; i++) {
		struct wse_exec_command c = {
			.graph = w->g,
			.device = w->base.id,
			.index = p->job->index,
			.op = l[i].op,
			.queue = l[i].queue,
			.opcode = l[i].opcode,
		};
		uint32_t from, to;

		if (w->dev->ops->command_cycles(p->fence, i, &from, &to))
			return;
		if (!w->clock)
			w->clock = (1ull << 32) + from;
		c.begin = wse_clock_at(w->clock, from);
		c.end = c.begin + (uint32_t)(to - from);
		if (c.end > w->clock)
			w->clock = c.end;
		c.begin -= 1ull << 32;
		c.end -= 1ull << 32;
		w->record(w->record_ctx, &c);
	}
}

static void let_go(struct wafer *w, struct pending *p, const struct wse_micro_ops *ops, void *ctx)
{
	for (uint32_t i = 0; i < p->ntaken && ops; i++)
		ops->unit_done(ctx, p->taken[i]->unit, wse_op_image(p->taken[i]));
	w->taken -= p->ntaken;
	p->ntaken = 0;
}

static size_t matrix_floats(const struct wafer *w, uint32_t unit)
{
	return (size_t)w->g->units[unit].outs * w->g->units[unit].ins;
}

static size_t vec_floats(const struct wafer *w, uint32_t unit)
{
	return (size_t)w->g->units[unit].vec_rows * w->g->tile.cols;
}

/* the order in which a unit's gradients come back; NULL: each comes to its place */
static const struct wse_packed *packed_grad(const struct wafer *w,
					    const struct wse_micro_batch *job, uint32_t unit)
{
	return has_linear(w) ? wse_image_grad_packed(&job->images[unit], matrix_floats(w, unit))
			     : NULL;
}

/* the oldest submit: wait for it, deliver what it made. An earlier error goes on in ret */
static int reap(struct wafer *w, const struct wse_micro_ops *ops, void *ctx, int ret)
{
	struct pending *p = &w->pend[w->first];
	const struct wse_packed *packed;
	struct wse_failure earlier;
	int r;

	wse_failure_keep(&earlier, ret);
	r = wse_fence_wait(p->fence, WSE_FOREVER);
	if (!r)
		note_cycles(w, p);
	if (!r && w->record)
		tell(w, p);
	wse_fence_destroy(p->fence);
	let_go(w, p, ops, ctx);
	w->first = (w->first + 1) % MAX_PENDING;
	w->npend--;
	/*
	 * One submit's fence knows why the context is lost. The others, which may be older, and a
	 * submit that is refused only know that it is; -ECANCELED is for callbacks that ask for it
	 */
	if (r && r != -ECANCELED && (!ret || ret == -EIO))
		ret = fail(w, r, "a micro-batch");
	else if (r && !ret)
		ret = fail(w, -EIO, "a micro-batch");
	else if (r)
		wse_failure_undo(&earlier);
	if (!ret && p->loss)
		pick_losses(w, p);
	packed = !ret && p->grad ? packed_grad(w, p->job, p->unit) : NULL;
	if (packed && p->job->images[p->unit].packs)
		ret = wse_packed_rows(packed, vec_floats(w, p->unit), p->grad->ptr);
	else if (packed)
		ret = wse_packed_places(packed, p->grad->ptr);
	if (!ret && p->grad)
		ret = ops->grad_put(ctx, p->job->index, p->unit, p->grad);
	return ret;
}

static int submit(struct wafer *w, struct wse_emit *e, struct pending *p,
		  const struct wse_micro_ops *ops, void *ctx)
{
	int ret = 0;

	if (e->ret)
		return wse_fail(e->ret, "%s: %s", wse_device_uri(w->dev),
				e->ret == -EOVERFLOW ? "an operation of too many commands"
						     : "a buffer that this device was never shown");
	if (w->npend == MAX_PENDING)
		ret = reap(w, ops, ctx, 0);
	if (!ret && e->n)
		ret = fail(w, wse_submit(w->ctx, e->cmd, e->n, NULL, 0, &p->fence), "submit");
	if (!ret && e->n) {
		uint32_t at = (w->first + w->npend++) % MAX_PENDING;

		p->ncmd = e->n;
		w->pend[at] = *p;
		if (w->record)
			memcpy(w->labels[at], w->label, e->n * sizeof(*w->label));
	}
	if (ret || !e->n)
		let_go(w, p, ops, ctx);
	e->n = 0;
	p->ntaken = 0;
	p->grad = NULL;
	p->loss = 0;
	return ret;
}

/* the image that it streams is in memory until the batch is done; what is complete makes room */
static int take_unit(struct wafer *w, struct wse_emit *e, struct pending *p,
		     const struct wse_op *op, const struct wse_micro_ops *ops, void *ctx)
{
	const enum wse_image_part part = wse_op_image(op);
	int ret = 0;

	if (!ops->unit_take)
		return ops->unit_ready ? ops->unit_ready(ctx, op->unit) : 0;
	for (uint32_t i = 0; i < p->ntaken; i++)
		if (p->taken[i]->unit == op->unit && wse_op_image(p->taken[i]) == part)
			return 0;
	if (p->ntaken == BATCH_TAKEN)
		ret = submit(w, e, p, ops, ctx);
	while (!ret && (ret = ops->unit_take(ctx, op->unit, part, !w->taken)) == -EAGAIN)
		ret = e->n || p->ntaken ? submit(w, e, p, ops, ctx) : reap(w, ops, ctx, 0);
	if (!ret && part != WSE_IMAGE_NONE) {
		p->taken[p->ntaken++] = op;
		w->taken++;
	}
	return ret;
}

/* gradients that are complete are handed over while there is no room for another */
static int make_room(struct wafer *w, struct wse_emit *e, struct pending *p, uint32_t unit,
		     const struct wse_micro_ops *ops, void *ctx)
{
	int ret = 0;

	while (!ret && ops->grad_room && !ops->grad_room(ctx, unit) && (w->npend || e->n))
		ret = e->n ? submit(w, e, p, ops, ctx) : reap(w, ops, ctx, 0);
	return ret;
}

/* gradients that are not made are 0: a masked stream leaves their places as they are */
static void clear_grad(const struct wafer *w, const struct wse_micro_batch *job, uint32_t unit)
{
	if (wse_image_grad_mask(&job->images[unit]) && !packed_grad(w, job, unit))
		memset(w->grads[unit]->ptr, 0, matrix_floats(w, unit) * sizeof(float));
}

/*
 * one operation's commands into the batch; its unit's images are ready, its gradient has a buffer
 */
static int add(struct wafer *w, struct wse_emit *e, struct pending *p, uint32_t at,
	       const struct wse_micro_ops *ops, void *ctx)
{
	const struct wse_op *op = &w->g->ops[at];
	const struct wse_op_type *type = wse_op_type(op->kind);
	const struct wse_unit *u = op->unit == WSE_NO_UNIT ? NULL : &w->g->units[op->unit];
	uint32_t first = e->n;
	int ret = 0;

	if (u && u->grad_first == at)
		ret = make_room(w, e, p, op->unit, ops, ctx);
	if (!ret && u && u->grad_first == at)
		ret = ops->grad_get(ctx, p->job->index, op->unit, &w->grads[op->unit]);
	if (!ret && u && u->grad_first == at)
		clear_grad(w, p->job, op->unit);
	if (!ret && u)
		ret = take_unit(w, e, p, op, ops, ctx);
	if (ret)
		return ret;
	if (type->entry && op->program != w->loaded) {
		wse_emit_cmd(e, wse_program_copy(w->programs.prog[op->program], WSE_QUEUE_RUN));
		w->loaded = op->program;
	}
	type->emit(e, op);
	for (uint32_t i = first; w->record && i < e->n && i < WSE_EMIT_CMDS; i++)
		w->label[i] = (struct label){at, (uint16_t)e->cmd[i].queue, (uint16_t)e->cmd[i].op};
	if (op->kind == WSE_OP_LOSS_OUT)
		p->loss = 1;
	if (u && u->grad_last == at) {
		p->unit = op->unit;
		p->grad = w->grads[op->unit];
	}
	return 0;
}

/* where a pause is due: what is before this operation completes */
static int pause_at(struct wafer *w, struct wse_emit *e, struct pending *p, uint32_t at,
		    const struct wse_micro_ops *ops, void *ctx)
{
	const struct wse_pauses *pauses = &w->pauses;
	int ret;

	if (!pauses->due || !pauses->due(pauses->ctx, w->base.id, w->g, p->job->backward, at))
		return 0;
	ret = e->n || p->ntaken ? submit(w, e, p, ops, ctx) : 0;
	while (!ret && w->npend)
		ret = reap(w, ops, ctx, 0);
	if (!ret)
		pauses->at_rest(pauses->ctx, w->base.id, at);
	return ret;
}

/* a batch ends with a complete gradient, with the losses, and when it is long */
static int one_job(struct wafer *w, const struct wse_micro_batch *job, uint32_t slot,
		   const struct wse_micro_ops *ops, void *ctx)
{
	uint32_t nops = job->backward ? w->g->nops : w->g->nforward;
	struct pending p = {.job = job, .slot = slot};
	struct wse_emit e = {
		.g = w->g,
		.job = job,
		.device = w->base.id,
		.entry = (const uint32_t(*)[WSE_OP_KINDS])w->programs.entry,
		.grads = w->grads,
		.spills = (const struct wse_buffer *const *)w->spills,
		.losses = w->losses,
		.loss_off = (size_t)slot * w->g->tile.cols * wse_graph_tokens(w->g) * 4,
		.bcast_dim = !!(w->info.features & WSE_FEATURES_BCAST_DIM_MASK),
		.linear = has_linear(w),
		.budget = w->budget,
		.brief = w->brief,
	};
	uint64_t cycles = 0;
	int ret = 0;

	for (uint32_t at = 0; at < nops && !ret; at++) {
		ret = pause_at(w, &e, &p, at, ops, ctx);
		ret = ret ? ret : add(w, &e, &p, at, ops, ctx);
		cycles += wse_op_type(w->g->ops[at].kind)->cycles(w->g, &w->g->ops[at]);
		if (ret || !(p.grad || p.loss || e.n >= BATCH_CMDS || cycles >= BATCH_CYCLES ||
			     at + 1 == nops))
			continue;
		ret = submit(w, &e, &p, ops, ctx);
		cycles = 0;
	}
	ret = ret ? ret : pause_at(w, &e, &p, nops, ops, ctx);
	let_go(w, &p, ops, ctx);
	return ret;
}

static int done(const struct wse_micro_ops *ops, void *ctx, const struct wse_micro_batch *job)
{
	return ops->done ? ops->done(ctx, job->index) : 0;
}

static int wafer_run(struct wse_exec *e, const struct wse_micro_batch *jobs, uint32_t n,
		     const struct wse_micro_ops *ops, void *ctx)
{
	struct wafer *w = (struct wafer *)e;
	uint32_t i;
	int ret = 0;

	if (!w->g)
		return -EINVAL;
	w->npend = 0;
	w->first = 0;
	w->taken = 0;
	w->timed = 0;
	/* a driver does not say when a command began: see wafer_cost() */
	if (!strncmp(wse_device_uri(w->dev), "sim:", 4))
		wse_device_counters(w->dev, DRM_WSE_SCOPE_TILE, 0, w->before, WSE_CNT_COUNT,
				    &(uint32_t){0});
	for (i = 0; i < n && !ret; i++) {
		/* two micro-batches at once: this one is queued while the one before runs */
		if (ops->begin)
			ret = ops->begin(ctx, jobs[i].index);
		ret = ret ? ret : one_job(w, &jobs[i], i % WSE_EXEC_AHEAD, ops, ctx);
		while (!ret && w->npend && w->pend[w->first].job != &jobs[i])
			ret = reap(w, ops, ctx, ret);
		if (!ret && i)
			ret = done(ops, ctx, &jobs[i - 1]);
	}
	while (w->npend)
		ret = reap(w, ops, ctx, ret);
	if (!ret && n)
		ret = done(ops, ctx, &jobs[n - 1]);
	if (ret)
		w->loaded = UINT32_MAX; /* its copy may not have been submitted */
	return ret;
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
	w->brief = 1;
	w->budget = stream_budget(w->g, w->brief);
	return w->dev->ops->watch(w->dev, seen);
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
		reap(w, NULL, NULL, -ECANCELED);
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
	.run = wafer_run,
	.wave = wafer_wave,
	.watch = wafer_watch,
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
		fail(w, ret, "leasing the device");
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
