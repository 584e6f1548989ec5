// SPDX-License-Identifier: MIT
/*
 * The executor that runs micro-batches on a wafer, through libwse's device API: the same for a
 * device node and for a model in this process. The program on the cores is firmware/lib/mlp.c.
 *
 * Queues: Q_IN carries the weight (and index) streams, Q_RUN starts and copies in program order,
 * Q_OUT the gradients. A stream may run ahead of the start that eats it: its wavelets wait in the
 * fabric.
 */
#include "wafer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "wse_regs.h"

static int fail(struct wafer *w, int ret, const char *what)
{
	char why[256] = "";

	if (ret && ret != -ECANCELED && w->dev) {
		wse_device_error(w->dev, why, sizeof(why));
		wse_logf(&w->cfg, WSE_LOG_ERROR, "%s: %s: %s", wse_device_uri(w->dev), what,
			 why[0] ? why : strerror(-ret));
	}
	return ret;
}

struct wse_buffer *wse_wafer_buffer(struct wafer *w, const struct wse_buf *buf)
{
	struct wse_buffer *found = NULL;
	size_t i;

	pthread_mutex_lock(&w->lock);
	for (i = 0; i < w->nbufs && !found; i++)
		if (w->bufs[i].ptr == buf->ptr)
			found = w->bufs[i].buf;
	pthread_mutex_unlock(&w->lock);
	return found;
}

static int remember(struct wafer *w, void *ptr, struct wse_buffer *buf)
{
	struct shared_buf *n;

	pthread_mutex_lock(&w->lock);
	n = realloc(w->bufs, (w->nbufs + 1) * sizeof(*n));
	if (n) {
		w->bufs = n;
		n[w->nbufs].ptr = ptr;
		n[w->nbufs++].buf = buf;
	}
	pthread_mutex_unlock(&w->lock);
	return n ? 0 : -ENOMEM;
}

static void forget(struct wafer *w, void *ptr)
{
	struct wse_buffer *buf = NULL;
	size_t i;

	pthread_mutex_lock(&w->lock);
	for (i = 0; i < w->nbufs; i++) {
		if (w->bufs[i].ptr == ptr) {
			buf = w->bufs[i].buf;
			w->bufs[i] = w->bufs[--w->nbufs];
			break;
		}
	}
	pthread_mutex_unlock(&w->lock);
	wse_buffer_destroy(buf);
}

static void wafer_info(struct wse_exec *e, struct wse_exec_info *info)
{
	struct wafer *w = (struct wafer *)e;

	memset(info, 0, sizeof(*info));
	snprintf(info->name, sizeof(info->name), "%.40s %ux%u", wse_device_uri(w->dev),
		 w->info.rows, w->info.cols);
	info->rows = w->info.rows;
	info->cols = w->info.cols;
	info->lanes = w->info.lanes;
	info->sram = w->info.sram_kib * 1024;
	info->acc = 512;
}

static int wafer_prepare(struct wse_exec *e, const struct wse_mlp *m, uint32_t tokens)
{
	struct wafer *w = (struct wafer *)e;
	const struct {
		const char *name;
		uint32_t *addr;
	} syms[] = {
		{"linear_forward", &w->forward}, {"linear_wgrad", &w->wgrad},
		{"linear_bgrad", &w->bgrad},	 {"mlp_gelu", &w->gelu},
		{"mlp_softmax", &w->softmax},
	};
	char path[512], why[WSE_WHY];
	size_t i;
	int ret;

	w->m = *m;
	w->tokens = tokens;
	w->t = tokens / w->info.rows;
	if (w->t * w->info.rows != tokens) {
		wse_logf(&w->cfg, WSE_LOG_ERROR,
			 "a micro-batch of %u tokens is not a multiple of %u rows", tokens,
			 w->info.rows);
		return -EINVAL;
	}
	ret = wse_layout_make(m, w->info.cols, w->info.lanes, w->t, w->info.sram_kib * 1024, &w->at,
			      why);
	if (ret) {
		wse_logf(&w->cfg, WSE_LOG_ERROR, "%s", why);
		return ret;
	}
	wse_program_destroy(w->prog);
	w->prog = NULL;
	ret = wse_find_file("WSE_KERNELS", "mlp.elf", sizeof(path), path);
	if (ret) {
		wse_logf(&w->cfg, WSE_LOG_ERROR,
			 "there is no program mlp.elf for the cores: set WSE_KERNELS to "
			 "its directory, or put it into /lib/firmware/wse");
		return ret;
	}
	ret = wse_program_load(w->ctx, path, &w->prog);
	if (ret)
		return fail(w, ret, "loading the program of the cores");
	for (i = 0; i < sizeof(syms) / sizeof(syms[0]); i++) {
		ret = wse_program_symbol(w->prog, syms[i].name, syms[i].addr);
		if (ret)
			return fail(w, ret, syms[i].name);
	}
	if (wse_program_end(w->prog) > WSE_LAYOUT_BASE) {
		wse_logf(&w->cfg, WSE_LOG_ERROR,
			 "%s ends at %#x, data begins at %#x: raise WSE_LAYOUT_BASE", path,
			 wse_program_end(w->prog), WSE_LAYOUT_BASE);
		return -E2BIG;
	}
	wse_buffer_destroy(w->losses);
	w->losses = NULL;
	return fail(w, wse_buffer_create(w->dev, 2ul * w->info.cols * tokens * 4, &w->losses),
		    "losses");
}

static int wafer_alloc(struct wse_exec *e, size_t size, struct wse_buf *buf)
{
	struct wafer *w = (struct wafer *)e;
	struct wse_buffer *b;
	int ret = wse_buffer_create(w->dev, size, &b);

	if (ret)
		return fail(w, ret, "allocating a buffer");
	buf->ptr = wse_buffer_map(b);
	buf->size = size;
	buf->priv = b;
	ret = remember(w, buf->ptr, b);
	if (ret)
		wse_buffer_destroy(b);
	return ret;
}

static void wafer_free(struct wse_exec *e, struct wse_buf *buf)
{
	forget((struct wafer *)e, buf->ptr);
	buf->ptr = NULL;
}

static int wafer_map(struct wse_exec *e, struct wse_buf *buf)
{
	struct wafer *w = (struct wafer *)e;
	struct wse_buffer *b;
	int ret = wse_buffer_share(w->dev, buf->priv, &b);

	if (ret)
		return fail(w, ret, "sharing a buffer");
	ret = remember(w, buf->ptr, b);
	if (ret)
		wse_buffer_destroy(b);
	return ret;
}

static void wafer_unmap(struct wse_exec *e, struct wse_buf *buf)
{
	forget((struct wafer *)e, buf->ptr);
}

static void note_cycles(struct wafer *w, const struct pending *p)
{
	uint32_t begin, end;

	if (wse_fence_cycles(p->fence, &begin, &end))
		return; /* a transport that does not tell */
	if (!w->timed)
		w->begin = begin;
	if (!w->timed || (int32_t)(end - w->end) > 0)
		w->end = end;
	if (p->grad)
		w->last_grad = end;
	w->timed = 1;
}

/* the oldest submit: wait for it, deliver what it made. An earlier error goes on in ret */
static int reap(struct wafer *w, const struct wse_job_ops *ops, void *ctx, int ret)
{
	struct pending *p = &w->pend[w->first];
	int r = wse_fence_wait(p->fence, WSE_FOREVER);
	uint32_t i, per = w->m.vocab / w->info.cols;

	if (!r)
		note_cycles(w, p);
	wse_fence_destroy(p->fence);
	w->first = (w->first + 1) % MAX_PENDING;
	w->npend--;
	/* a submit that was refused because the context is lost: the fence knows why it is */
	if (r && (!ret || ret == -EIO))
		ret = fail(w, r, "a micro-batch");
	if (!ret && p->loss) { /* the column that owns the target knows a token's loss */
		const float *all = (const float *)wse_buffer_map(w->losses) +
				   (size_t)p->slot * w->info.cols * w->tokens;
		const uint16_t *target = wse_span_ptr(p->job->target);
		float *loss = wse_span_ptr(p->job->loss);

		for (i = 0; i < w->tokens; i++)
			loss[i] = all[(size_t)(target[i] / per) * w->tokens + i];
	}
	if (!ret && p->grad)
		ret = ops->grad_put(ctx, p->job->index, p->layer, p->grad);
	return ret;
}

static int submit(struct batch *b, struct pending p, const struct wse_job_ops *ops, void *ctx)
{
	struct wafer *w = b->w;
	int ret = b->ret;

	if (ret)
		return fail(w, ret, "a buffer that this device was never shown");
	if (w->npend == MAX_PENDING)
		ret = reap(w, ops, ctx, 0);
	if (!ret)
		ret = fail(w, wse_submit(w->ctx, b->cmd, b->n, NULL, 0, &p.fence), "submit");
	if (!ret)
		w->pend[(w->first + w->npend++) % MAX_PENDING] = p;
	b->n = 0;
	return ret;
}

static int forward(struct batch *b, const struct wse_job *job, const struct wse_job_ops *ops,
		   void *ctx)
{
	struct wafer *w = b->w;
	const struct wse_mlp *m = &w->m;
	uint32_t l, c = w->info.cols;
	int ret;

	wse_wafer_add_rows(b, 0, job->x, w->at.act[0], m->width[0], 2);
	wse_wafer_add(b, wse_cmd_copy_in((struct wse_copy){.buf = wse_wafer_span(b, job->target),
							   .off = job->target.off,
							   .queue = Q_RUN,
							   .sram = w->at.target,
							   .rows = w->info.rows,
							   .cols = c,
							   .len = 2 * w->t,
							   .rstride = 2 * w->t}));
	for (l = 0; l < m->nlinear; l++) {
		const struct wse_image *img = &job->layers[l];
		uint32_t outs = m->width[l + 1], last = l + 1 == m->nlinear;
		uint32_t gelu = !last && m->act == WSE_ACT_GELU;

		ret = ops->layer_ready ? ops->layer_ready(ctx, l) : 0;
		if (ret)
			return ret;
		wse_wafer_add(b,
			      wse_cmd_copy_in((struct wse_copy){.buf = wse_wafer_span(b, img->bias),
								.off = img->bias.off,
								.queue = Q_RUN,
								.sram = w->at.bias,
								.rows = w->info.rows,
								.cols = c,
								.len = outs / c * 4,
								.cstride = outs / c * 4}));
		wse_wafer_add_linear(b, img->fwd, m->width[l], outs, w->at.act[l],
				     last ? w->at.logits : w->at.act[l + 1], w->at.bias,
				     last || gelu ? ACT_NONE : ACT_RELU, 0,
				     last || gelu ? WSE_DT_FP32 : WSE_DT_BF16);
		if (gelu) {
			uint32_t arg[] = {wse_wafer_addr(w->at.act[l + 1]),
					  wse_wafer_addr(w->at.act[l + 1]),
					  wse_wafer_addr(w->at.deriv[l + 1]), outs / c * w->t};

			wse_wafer_add_start(b, w->gelu, arg, 4);
		}
		if (!last) {
			ret = submit(b, (struct pending){.job = job}, ops, ctx);
			if (ret)
				return ret;
		}
	}
	return 0;
}

static int backward(struct batch *b, const struct wse_job *job, const struct wse_job_ops *ops,
		    void *ctx)
{
	struct wafer *w = b->w;
	const struct wse_mlp *m = &w->m;
	uint32_t dy = w->at.dy, l;
	int ret;

	for (l = m->nlinear; l-- > 0;) {
		struct pending p = {.job = job, .layer = l};
		const struct wse_buffer *grad;

		ret = ops->grad_get(ctx, job->index, l, &p.grad);
		if (ret)
			return ret;
		grad = wse_wafer_buffer(w, p.grad);
		if (!grad)
			return fail(w, -EINVAL,
				    "a gradient buffer that this device was never shown");
		wse_wafer_add_grads(b, l, dy, grad);
		ret = submit(b, p, ops, ctx);
		if (ret)
			return ret;
		if (l)
			wse_wafer_add_linear(b, job->layers[l].tr, m->width[l + 1], m->width[l], dy,
					     w->at.act[l], 0,
					     m->act == WSE_ACT_GELU ? ACT_MUL : ACT_GATE,
					     m->act == WSE_ACT_GELU ? w->at.deriv[l] : w->at.act[l],
					     WSE_DT_BF16);
		else
			wse_wafer_add_linear(b, job->layers[l].tr, m->width[1], m->width[0], dy,
					     w->at.dx, 0, ACT_NONE, 0, WSE_DT_FP32);
		dy = w->at.act[l];
		if (!l)
			wse_wafer_add_rows(b, 1, job->dx, w->at.dx, m->width[0], 4);
		ret = submit(b, (struct pending){.job = job}, ops, ctx);
		if (ret)
			return ret;
	}
	return 0;
}

static int one_job(struct batch *b, const struct wse_job *job, uint32_t slot,
		   const struct wse_job_ops *ops, void *ctx)
{
	struct wafer *w = b->w;
	uint32_t scale;
	int ret = forward(b, job, ops, ctx);

	if (ret)
		return ret;
	if (job->logits.buf)
		wse_wafer_add_rows(b, 1, job->logits, w->at.logits, w->m.vocab, 4);
	memcpy(&scale, &job->scale, sizeof(scale));
	wse_wafer_add_start(b, w->softmax,
			    (uint32_t[]){wse_wafer_addr(w->at.logits), wse_wafer_addr(w->at.dy),
					 wse_wafer_addr(w->at.target), wse_wafer_addr(w->at.loss),
					 wse_wafer_addr(w->at.scratch), w->t,
					 w->m.vocab / w->info.cols, scale, !!job->backward},
			    9);
	wse_wafer_add(b, wse_cmd_copy_out((struct wse_copy){.buf = w->losses,
							    .off = (uint64_t)slot * w->info.cols *
								   w->tokens * 4,
							    .queue = Q_RUN,
							    .sram = w->at.loss,
							    .rows = w->info.rows,
							    .cols = w->info.cols,
							    .len = 4 * w->t,
							    .cstride = w->tokens * 4,
							    .rstride = w->t * 4}));
	ret = submit(b, (struct pending){.job = job, .loss = 1, .slot = slot}, ops, ctx);
	return ret || !job->backward ? ret : backward(b, job, ops, ctx);
}

static int wafer_run(struct wse_exec *e, const struct wse_job *jobs, uint32_t n,
		     const struct wse_job_ops *ops, void *ctx)
{
	struct wafer *w = (struct wafer *)e;
	struct batch b = {.w = w};
	uint32_t i;
	int ret = 0;

	if (!w->prog)
		return -EINVAL;
	w->npend = 0;
	w->first = 0;
	w->timed = 0;
	wse_device_counters(w->dev, &w->before); /* as far as the device tells: see wafer_cost() */
	for (i = 0; i < n && !ret; i++) {
		/* two micro-batches at once: this one is queued while the one before runs */
		ret = one_job(&b, &jobs[i], i & 1, ops, ctx);
		while (!ret && w->npend && w->pend[w->first].job != &jobs[i])
			ret = reap(w, ops, ctx, ret);
	}
	while (w->npend)
		ret = reap(w, ops, ctx, ret);
	return ret;
}

static int wafer_cost(struct wse_exec *e, struct wse_exec_cost *cost)
{
	struct wafer *w = (struct wafer *)e;
	struct wse_counters now;
	int ret = wse_device_counters(w->dev, &now);

	if (ret || !w->timed)
		return ret ? ret : -ENODATA;
	*cost = (struct wse_exec_cost){
		.cycles = w->end - w->begin,
		.mac = now.mac - w->before.mac,
		.lwait = now.lwait - w->before.lwait,
		.wavelet = now.wavelet - w->before.wavelet,
		.dma = now.dma_rd - w->before.dma_rd + now.dma_wr - w->before.dma_wr,
		.last_grad = w->last_grad - w->begin,
	};
	return 0;
}

static void wafer_close(struct wse_exec *e)
{
	struct wafer *w = (struct wafer *)e;

	while (w->npend)
		reap(w, NULL, NULL, -ECANCELED);
	wse_buffer_destroy(w->losses);
	while (w->nbufs)
		forget(w, w->bufs[0].ptr);
	free(w->bufs);
	wse_program_destroy(w->prog);
	wse_context_destroy(w->ctx);
	wse_device_close(w->dev);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static const struct wse_exec_ops wafer_ops = {
	.info = wafer_info,
	.prepare = wafer_prepare,
	.alloc = wafer_alloc,
	.free = wafer_free,
	.map = wafer_map,
	.unmap = wafer_unmap,
	.run = wafer_run,
	.cost = wafer_cost,
	.close = wafer_close,
};

int wse_exec_open_wafer(const char *uri, const struct wse_exec_cfg *cfg, struct wse_exec **exec)
{
	struct wafer *w = calloc(1, sizeof(*w));
	char why[256];
	int ret;

	if (!w)
		return -ENOMEM;
	w->base.ops = &wafer_ops;
	if (cfg)
		w->cfg = *cfg;
	pthread_mutex_init(&w->lock, NULL);
	ret = wse_device_open_why(uri, why, sizeof(why), &w->dev);
	if (ret) {
		wse_logf(cfg, WSE_LOG_ERROR, "%s", why);
		goto out;
	}
	ret = wse_device_info(w->dev, &w->info);
	if (!ret)
		ret = wse_context_create(w->dev, 0, &w->ctx);
	if (ret) {
		fail(w, ret, "leasing the device");
		goto out;
	}
	if (w->info.queues < Q_OUT) {
		wse_logf(cfg, WSE_LOG_ERROR, "%s has %u I/O queues, the trainer needs %u", uri,
			 w->info.queues, Q_OUT);
		ret = -ENOTSUP;
		goto out;
	}
	*exec = &w->base;
	return 0;
out:
	wafer_close(&w->base);
	return ret;
}
