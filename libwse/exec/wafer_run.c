// SPDX-License-Identifier: MIT
/*
 * Micro-batches on a wafer: the commands of operations in batches, the submits that run, and what
 * comes of them. wafer.c says which queue carries what.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "exec/clock.h"
#include "exec/wafer.h"
#include "ops/spill.h"

/* commands, or cycles, after which a batch is submitted */
#define BATCH_CMDS   12
#define BATCH_CYCLES (1u << 30) /* a submit's own are told in 32 bits */

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
	return wse_wafer_linear(w)
		       ? wse_image_grad_packed(&job->images[unit], matrix_floats(w, unit))
		       : NULL;
}

int wse_wafer_reap(struct wafer *w, const struct wse_micro_ops *ops, void *ctx, int ret)
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
		ret = wse_wafer_fail(w, r, "a micro-batch");
	else if (r && !ret)
		ret = wse_wafer_fail(w, -EIO, "a micro-batch");
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
		ret = wse_wafer_reap(w, ops, ctx, 0);
	if (!ret && e->n)
		ret = wse_wafer_fail(w, wse_submit(w->ctx, e->cmd, e->n, NULL, 0, &p->fence),
				     "submit");
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
		ret = e->n || p->ntaken ? submit(w, e, p, ops, ctx)
					: wse_wafer_reap(w, ops, ctx, 0);
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
		ret = e->n ? submit(w, e, p, ops, ctx) : wse_wafer_reap(w, ops, ctx, 0);
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
		ret = wse_wafer_reap(w, ops, ctx, 0);
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
		.linear = wse_wafer_linear(w),
		.beside = wse_copies_beside && w->info.queues >= WSE_QUEUE_BESIDE,
		.budget = w->budget,
		.short_budgets = w->short_budgets,
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

int wse_wafer_run(struct wse_exec *e, const struct wse_micro_batch *jobs, uint32_t n,
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
			ret = wse_wafer_reap(w, ops, ctx, ret);
		if (!ret && i)
			ret = done(ops, ctx, &jobs[i - 1]);
	}
	while (w->npend)
		ret = wse_wafer_reap(w, ops, ctx, ret);
	if (!ret && n)
		ret = done(ops, ctx, &jobs[n - 1]);
	if (ret)
		w->loaded = UINT32_MAX; /* its copy may not have been submitted */
	return ret;
}
