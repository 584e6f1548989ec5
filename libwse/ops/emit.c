// SPDX-License-Identifier: MIT
/* Commands that several operations share. */
#include "ops/emit.h"

#include <errno.h>
#include <string.h>

#include <wse/layer.h>

#include "graph/mask.h"
#include "wse_cmd.h"

uint64_t wse_emit_stream_bytes = 1ull << 30;

uint64_t wse_emit_budget(uint64_t cycles, uint64_t least)
{
	uint64_t budget = cycles > WSE_MAX_BUDGET / 100 ? WSE_MAX_BUDGET : 100 * cycles;

	return budget < least ? least : budget;
}

uint64_t wse_emit_short_budget(uint64_t cycles)
{
	const uint64_t least = 200000;

	return cycles > (WSE_MAX_BUDGET - least) / 10 ? WSE_MAX_BUDGET : 10 * cycles + least;
}

static uint64_t stream_budget(const struct wse_emit *e)
{
	return e->budget ? e->budget : WSE_EMIT_STREAM_BUDGET;
}

uint32_t wse_emit_addr(const struct wse_emit *e, uint32_t value)
{
	return value == WSE_NO_VALUE ? 0 : WSE_SRAM_BASE + e->g->values[value].sram;
}

void wse_emit_cmd(struct wse_emit *e, struct drm_wse_cmd cmd)
{
	if (e->n == WSE_EMIT_CMDS)
		e->ret = -EOVERFLOW; /* more commands than an operation can have */
	else
		e->cmd[e->n++] = cmd;
}

const struct wse_buffer *wse_emit_buffer(struct wse_emit *e, const struct wse_shared_buf *buf)
{
	const struct wse_buffer *b = buf ? buf->view[e->device] : NULL;

	if (!b)
		e->ret = -EINVAL;
	return b;
}

void wse_emit_start(struct wse_emit *e, const struct wse_op *op, const void *args, size_t size)
{
	const uint64_t cycles = wse_op_type(op->kind)->cycles(e->g, op);
	struct wse_start s = {
		.queue = WSE_QUEUE_RUN,
		.rows = e->g->tile.rows,
		.cols = e->g->tile.cols,
		.entry = e->entry[op->program][op->kind],
		.closed = 1,
		.budget = e->short_budgets ? wse_emit_short_budget(cycles)
					   : wse_emit_budget(cycles, WSE_EMIT_START_BUDGET),
	};

	memcpy(s.arg, args, size);
	wse_emit_cmd(e, wse_cmd_start(s));
}

static struct wse_layer layer(const struct wse_emit *e)
{
	return (struct wse_layer){e->g->tile.rows, e->g->tile.cols, e->g->t, e->g->nfeat};
}

/* only elements of a slice travel whose bit is 1; of a mask whose buf is NULL all do */
static void emit_mask(struct wse_emit *e, struct drm_wse_cmd *cmd, const struct wse_mask_shape *m,
		      struct wse_slice slice, struct wse_span mask)
{
	const struct wse_buffer *buf = mask.buf ? wse_emit_buffer(e, mask.buf) : NULL;

	if (!buf)
		return;
	cmd->flags |= DRM_WSE_CMD_MASKED;
	cmd->mask_bo = wse_buffer_handle(buf);
	cmd->moff = mask.off + wse_mask_byte(m, slice.out0, slice.in0);
	cmd->rstride = m->rstride;
	cmd->mcstride = m->mcstride;
}

/* the stream of a slice of an array at `span` whose rows have `width` elements */
static void emit_slice(struct wse_emit *e, struct drm_wse_cmd cmd, struct wse_slice slice,
		       uint32_t width, struct wse_span span)
{
	int out = cmd.op == WSE_OP_STREAM_OUT;
	uint32_t size = out ? 4 : 2;
	uint64_t most; /* blocks of a command */
	const struct wse_buffer *buf = wse_emit_buffer(e, span.buf);

	cmd.queue = out ? WSE_QUEUE_OUT : WSE_QUEUE_IN;
	cmd.budget = stream_budget(e);
	cmd.bo = buf ? wse_buffer_handle(buf) : 0;
	cmd.off = span.off + ((uint64_t)slice.out0 * width + slice.in0) * size;
	cmd.lstride = width * size;
	most = wse_emit_stream_bytes / ((uint64_t)cmd.lstride * cmd.nfeat);
	most = most ? most : 1;
	for (uint32_t left = cmd.nline; buf && left; left -= cmd.nline) {
		cmd.nline = left < most ? left : (uint32_t)most;
		wse_emit_cmd(e, cmd);
		cmd.off += (uint64_t)cmd.nline * cmd.nfeat * cmd.lstride;
		cmd.moff += (uint64_t)cmd.nline * cmd.nfeat * cmd.rstride;
	}
}

/* the LINEAR stream of a chunk: its elements of `size` bytes lie packed in buf */
static void emit_packed(struct wse_emit *e, struct drm_wse_cmd cmd, const struct wse_packed *p,
			uint32_t chunk, uint32_t size, const struct wse_buffer *buf)
{
	const struct wse_packed_run *run = p->run + (size_t)chunk * p->pieces;
	uint32_t left = cmd.nline;

	cmd.queue = size == 4 ? WSE_QUEUE_OUT : WSE_QUEUE_IN;
	cmd.budget = stream_budget(e);
	cmd.flags |= DRM_WSE_CMD_LINEAR;
	cmd.bo = wse_buffer_handle(buf);
	cmd.lstride = 0;
	for (uint32_t i = 0; i < p->pieces; i++, left -= cmd.nline) {
		cmd.nline = left < p->blocks ? left : p->blocks;
		cmd.off = size == 4 ? run[i].at4 : run[i].at2;
		cmd.len = cmd.cstride = wse_packed_stride(&run[i], size);
		wse_emit_cmd(e, cmd);
		cmd.moff += (uint64_t)cmd.nline * cmd.nfeat * cmd.rstride;
	}
}

void wse_emit_image(struct wse_emit *e, uint32_t unit, uint32_t chunk, int back)
{
	const struct wse_unit *u = &e->g->units[unit];
	const struct wse_image *img = &e->job->images[unit];
	struct wse_slice s = back ? wse_unit_slice_back(u, chunk) : wse_unit_slice(u, chunk);
	struct wse_mask_shape m = wse_mask_shape(e->g, u, back);
	const struct wse_packed *p = back ? img->packed_tr : img->packed;
	struct wse_layer l = layer(e);
	struct drm_wse_cmd cmd;

	if (back)
		s = (struct wse_slice){s.in0, s.ins, s.out0, s.outs};
	cmd = wse_layer_image(&l, s.outs, s.ins);
	emit_mask(e, &cmd, &m, s, back ? img->mask_tr : img->mask);
	if (e->linear && p && p->buf && p->buf->view[e->device] &&
	    (cmd.flags & DRM_WSE_CMD_MASKED || !p->bits))
		return emit_packed(e, cmd, p, chunk, 2, p->buf->view[e->device]);
	emit_slice(e, cmd, s, back ? u->outs : u->ins, back ? img->tr : img->fwd);
}

/* of what comes back: the image's own, or none */
static void emit_grad_mask(struct wse_emit *e, struct drm_wse_cmd *cmd, uint32_t unit,
			   struct wse_slice slice)
{
	const struct wse_image *img = &e->job->images[unit];
	struct wse_mask_shape m = wse_mask_shape(e->g, &e->g->units[unit], 0);

	if (wse_image_grad_mask(img))
		emit_mask(e, cmd, &m, slice, img->mask);
}

void wse_emit_index(struct wse_emit *e, uint32_t unit, uint32_t chunk)
{
	struct wse_slice slice = wse_unit_slice(&e->g->units[unit], chunk);
	struct wse_layer l = layer(e);
	struct drm_wse_cmd cmd = wse_layer_index(&l, slice.outs, slice.ins);

	cmd.queue = WSE_QUEUE_IN;
	cmd.budget = stream_budget(e);
	emit_grad_mask(e, &cmd, unit, slice);
	wse_emit_cmd(e, cmd);
}

void wse_emit_grads(struct wse_emit *e, uint32_t unit, uint32_t chunk)
{
	const struct wse_unit *u = &e->g->units[unit];
	struct wse_slice s = wse_unit_slice(u, chunk);
	struct wse_layer l = layer(e);
	struct drm_wse_cmd cmd = wse_layer_grads(&l, s.outs, s.ins);
	const struct wse_packed *p =
		wse_image_grad_packed(&e->job->images[unit], (size_t)u->outs * u->ins);
	const struct wse_buffer *buf;

	emit_grad_mask(e, &cmd, unit, s);
	if (e->linear && p) {
		buf = wse_emit_buffer(e, e->grads[unit]);
		if (buf)
			emit_packed(e, cmd, p, chunk, 4, buf);
		return;
	}
	emit_slice(e, cmd, s, u->ins, (struct wse_span){e->grads[unit], 0});
}
