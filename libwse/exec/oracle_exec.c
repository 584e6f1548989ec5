// SPDX-License-Identifier: MIT
/* The executor of scalar definitions: one array a value, one operation after the other. */
#include "exec/oracle_exec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pages.h"
#include "ops/oracle.h"
#include "ops/spill.h"

#define LANES 8

struct oracle {
	struct wse_exec base;
	struct wse_exec_cfg cfg;
	uint32_t rows, cols;
	uint32_t die_at, ran; /* micro-batches */
	const struct wse_graph *g;
	void **mem;		       /* [nvalues] */
	struct wse_shared_buf **grads; /* [nunits]: lent, or own */
	/* [nunits]: of all weights, where those that are there are handed over */
	struct wse_shared_buf *own;
	void **spills; /* [nspills] */
	/* [nunits]: the job's; of what lies packed there, all of it is here while a unit is used */
	struct wse_image *images;
	struct wse_shared_buf fwd, tr;
};

static int spread(const struct wse_packed *p, struct wse_shared_buf *to, struct wse_span *span)
{
	void *more = realloc(to->ptr, (size_t)p->shape.rows * p->shape.width * sizeof(uint16_t));

	if (!more)
		return -ENOMEM;
	to->ptr = more;
	*span = (struct wse_span){to, 0};
	return wse_packed_dense(p, p->buf->ptr, more);
}

/*
 * that part of a unit's image is there: with the places of all weights, as scalar loops read it.
 * The other part may come and go meanwhile
 */
static int see_image(struct oracle *o, const struct wse_micro_batch *job, uint32_t unit,
		     enum wse_image_part part)
{
	const struct wse_image *from = &job->images[unit];
	struct wse_image *img = &o->images[unit];

	img->vec = from->vec;
	img->mask = from->mask;
	img->mask_tr = from->mask_tr;
	img->packed = from->packed;
	img->packed_tr = from->packed_tr;
	img->dense_grad = from->dense_grad;
	img->packs = from->packs;
	if (part == WSE_IMAGE_FWD)
		img->fwd = from->fwd;
	if (part == WSE_IMAGE_TR)
		img->tr = from->tr;
	if (part == WSE_IMAGE_FWD && !img->fwd.buf && img->packed)
		return spread(img->packed, &o->fwd, &img->fwd);
	if (part == WSE_IMAGE_TR && !img->tr.buf && img->packed_tr)
		return spread(img->packed_tr, &o->tr, &img->tr);
	return 0;
}

static const struct wse_packed *rows_of(const struct oracle *o, const struct wse_micro_batch *job,
					uint32_t unit)
{
	const struct wse_unit *u = &o->g->units[unit];

	return wse_image_grad_rows(&job->images[unit], (size_t)u->outs * u->ins);
}

/* where a unit's gradient is made */
static int get_grad(struct oracle *o, const struct wse_micro_batch *job, uint32_t unit,
		    const struct wse_micro_ops *ops, void *ctx)
{
	size_t n = wse_unit_grad_floats(o->g, &o->g->units[unit]);

	if (!rows_of(o, job, unit))
		return ops->grad_get(ctx, job->index, unit, &o->grads[unit]);
	free(o->own[unit].ptr);
	o->own[unit].ptr = malloc(n * sizeof(float));
	o->grads[unit] = &o->own[unit];
	return o->own[unit].ptr ? 0 : -ENOMEM;
}

static int put_grad(struct oracle *o, const struct wse_micro_batch *job, uint32_t unit,
		    const struct wse_micro_ops *ops, void *ctx)
{
	const struct wse_packed *p = rows_of(o, job, unit);
	const struct wse_unit *u = &o->g->units[unit];
	size_t vec = (size_t)u->vec_rows * o->g->tile.cols;
	struct wse_shared_buf *lent = o->grads[unit];
	int ret = p ? ops->grad_get(ctx, job->index, unit, &lent) : 0;

	if (ret)
		return ret;
	if (p) {
		const float *made = o->own[unit].ptr;

		wse_packed_pick(p, made, lent->ptr);
		memcpy((float *)lent->ptr + p->n, made + (size_t)u->outs * u->ins,
		       vec * sizeof(*made));
		free(o->own[unit].ptr);
		o->own[unit].ptr = NULL;
	}
	return ops->grad_put(ctx, job->index, unit, lent);
}

/* one operation, with what its unit needs before and after */
static int step(struct oracle *o, struct wse_oracle_run *run, const struct wse_micro_batch *job,
		uint32_t at, const struct wse_micro_ops *ops, void *ctx)
{
	const struct wse_op *op = &o->g->ops[at];
	const struct wse_unit *u = op->unit == WSE_NO_UNIT ? NULL : &o->g->units[op->unit];
	const enum wse_image_part part = wse_op_image(op);
	int ret = 0;

	if (u && ops->unit_take)
		ret = ops->unit_take(ctx, op->unit, part, 1);
	else if (u && ops->unit_ready)
		ret = ops->unit_ready(ctx, op->unit);
	if (ret)
		return ret;
	if (u)
		ret = see_image(o, job, op->unit, part);
	if (!ret && u && u->grad_first == at)
		ret = get_grad(o, run->job, op->unit, ops, ctx);
	ret = ret ? ret : wse_op_type(op->kind)->oracle(run, op);
	if (u && ops->unit_take)
		ops->unit_done(ctx, op->unit, part);
	if (!ret && u && u->grad_last == at) {
		ret = put_grad(o, run->job, op->unit, ops, ctx);
		if (!ret && run->job->backward && o->die_at && o->ran == o->die_at)
			ret = -ENODEV;
	}
	return ret;
}

static int oracle_run(struct wse_exec *e, const struct wse_micro_batch *jobs, uint32_t n,
		      const struct wse_micro_ops *ops, void *ctx)
{
	struct oracle *o = (struct oracle *)e;
	int ret = 0;

	if (!o->g)
		return -EINVAL;
	for (uint32_t i = 0; i < n && !ret; i++) {
		struct wse_micro_batch job;
		struct wse_oracle_run run = {o->g, &job, o->mem, o->grads, o->spills};
		uint32_t nops = jobs[i].backward ? o->g->nops : o->g->nforward;

		if (jobs[i].backward && o->die_at && ++o->ran > o->die_at)
			return -ENODEV;
		if (ops->begin)
			ret = ops->begin(ctx, jobs[i].index);
		job = jobs[i]; /* its spans are valid now */
		job.images = o->images;
		for (uint32_t at = 0; at < nops && !ret; at++)
			ret = step(o, &run, &jobs[i], at, ops, ctx);
		if (!ret && ops->done)
			ret = ops->done(ctx, jobs[i].index);
	}
	return ret;
}

static void oracle_info(struct wse_exec *e, struct wse_exec_info *info)
{
	struct oracle *o = (struct oracle *)e;

	memset(info, 0, sizeof(*info));
	snprintf(info->name, sizeof(info->name), "oracle %ux%u", o->rows, o->cols);
	info->tile = (struct wse_tile){
		.rows = o->rows, .cols = o->cols, .lanes = LANES, .sram = 48 * 1024};
}

static void unprepare(struct oracle *o)
{
	for (uint32_t i = 0; o->g && o->mem && i < o->g->nvalues; i++)
		free(o->mem[i]);
	for (uint32_t i = 0; o->g && o->spills && i < o->g->nspills; i++)
		free(o->spills[i]);
	for (uint32_t i = 0; o->g && o->own && i < o->g->nunits; i++)
		free(o->own[i].ptr);
	free(o->mem);
	free(o->grads);
	free(o->own);
	free(o->images);
	free(o->fwd.ptr);
	free(o->tr.ptr);
	o->images = NULL;
	o->fwd.ptr = o->tr.ptr = NULL;
	free(o->spills);
	o->spills = NULL;
	o->mem = NULL;
	o->grads = NULL;
	o->own = NULL;
	o->g = NULL;
}

/* room for binary32 of the whole tile: sums lie where their rounded result will be */
static size_t room(const struct wse_graph *g, const struct wse_value *v)
{
	size_t n = v->rows;
	uint32_t sums = v->bytes_at_start / (4 * g->t); /* there may be more of them than rows */

	if (v->shape == WSE_SHAPE_WORK)
		return (size_t)v->bytes * g->tile.rows * g->tile.cols;
	if (v->shape == WSE_SHAPE_TOKENS && sums > n)
		n = sums;
	if (v->shape != WSE_SHAPE_SHARED)
		n *= g->tile.cols;
	if (v->shape != WSE_SHAPE_VECTOR)
		n *= wse_graph_tokens(g);
	return n * 4 + 64;
}

static int oracle_prepare(struct wse_exec *e, const struct wse_graph *g)
{
	struct oracle *o = (struct oracle *)e;
	int ret = 0;

	unprepare(o);
	if (!g)
		return 0;
	if (g->tile.rows > o->rows || g->tile.cols > o->cols)
		return -EINVAL;
	o->g = g;
	o->mem = calloc(g->nvalues, sizeof(*o->mem));
	o->grads = calloc(g->nunits + 1, sizeof(*o->grads));
	o->own = calloc(g->nunits + 1, sizeof(*o->own));
	o->images = calloc(g->nunits + 1, sizeof(*o->images));
	o->spills = calloc(g->nspills + 1, sizeof(*o->spills));
	if (!o->mem || !o->grads || !o->own || !o->images || !o->spills)
		ret = -ENOMEM;
	for (uint32_t i = 0; i < g->nspills && !ret; i++) {
		o->spills[i] = malloc(wse_spill_bytes(g, i));
		if (!o->spills[i])
			ret = -ENOMEM;
	}
	for (uint32_t i = 0; i < g->nvalues && !ret; i++) {
		o->mem[i] = calloc(1, room(g, &g->values[i]));
		if (!o->mem[i])
			ret = -ENOMEM;
	}
	if (ret)
		unprepare(o);
	return ret;
}

static int oracle_alloc(struct wse_exec *e, size_t size, struct wse_shared_buf *buf)
{
	buf->size = size;
	buf->ptr = aligned_alloc(64, wse_align64(size));
	buf->owner = e;
	buf->view[e->id] = buf->ptr;
	return buf->ptr ? 0 : -ENOMEM;
}

static void oracle_free(struct wse_exec *e, struct wse_shared_buf *buf)
{
	buf->view[e->id] = NULL;
	free(buf->ptr);
	buf->ptr = NULL;
}

static int oracle_map(struct wse_exec *e, struct wse_shared_buf *buf)
{
	buf->view[e->id] = buf->ptr;
	return 0;
}

static void oracle_unmap(struct wse_exec *e, struct wse_shared_buf *buf)
{
	buf->view[e->id] = NULL;
}

static void oracle_close(struct wse_exec *e)
{
	unprepare((struct oracle *)e);
	free(e);
}

static const struct wse_exec_ops oracle_ops = {
	.info = oracle_info,
	.prepare = oracle_prepare,
	.alloc = oracle_alloc,
	.free = oracle_free,
	.map = oracle_map,
	.unmap = oracle_unmap,
	.run = oracle_run,
	.close = oracle_close,
};

/* the first option that is none of the oracle's; NULL: there is none */
static const char *unknown(const char *uri)
{
	static const char *const known[] = {"rows=", "cols=", "die_at="};
	const char *p = uri + strlen("oracle:");
	size_t i;

	while (*p) {
		for (i = 0; i < 3 && strncmp(p, known[i], strlen(known[i])); i++)
			;
		if (i == 3)
			return p;
		p += strcspn(p, ",");
		p += *p == ',';
	}
	return NULL;
}

int wse_oracle_open(const char *uri, const struct wse_exec_cfg *cfg, struct wse_exec **exec)
{
	struct oracle *o = calloc(1, sizeof(*o));
	const char *no = unknown(uri);

	if (!o)
		return -ENOMEM;
	if (no) {
		free(o);
		return wse_fail(-EINVAL,
				"\"%.200s\": \"%.*s\" is no option of an oracle, which has rows "
				"and cols",
				uri, (int)strcspn(no, ","), no);
	}
	o->base.ops = &oracle_ops;
	if (cfg)
		o->cfg = *cfg;
	if (wse_uri_number(uri, "rows", 4, &o->rows) || wse_uri_number(uri, "cols", 4, &o->cols) ||
	    wse_uri_number(uri, "die_at", 0, &o->die_at)) {
		free(o);
		return wse_fail(-EINVAL, "\"%s\": rows, cols and die_at take a positive number",
				uri);
	}
	*exec = &o->base;
	return 0;
}
