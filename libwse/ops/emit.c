// SPDX-License-Identifier: MIT
/* Commands that several operations share. */
#include "ops/emit.h"

#include <errno.h>
#include <string.h>

#include "wse_regs.h"

uint32_t wse_emit_addr(const struct wse_emit *e, uint32_t value)
{
	return value == WSE_NO_VALUE ? 0 : WSE_SRAM_BASE + e->g->values[value].sram;
}

void wse_emit_cmd(struct wse_emit *e, struct drm_wse_cmd cmd)
{
	if (e->n == WSE_EMIT_CMDS)
		e->ret = -EOVERFLOW;
	else
		e->cmd[e->n++] = cmd;
}

const struct wse_buffer *wse_emit_buffer(struct wse_emit *e, const struct wse_buf *buf)
{
	const struct wse_buffer *b = buf ? buf->view[e->device] : NULL;

	if (!b)
		e->ret = -EINVAL;
	return b;
}

void wse_emit_start(struct wse_emit *e, const struct wse_op *op, const void *args, size_t size)
{
	struct wse_start s = {
		.queue = WSE_QUEUE_RUN,
		.rows = e->g->tile.rows,
		.cols = e->g->tile.cols,
		.entry = e->entry[op->program][op->kind],
		.closed = 1,
	};

	memcpy(s.arg, args, size);
	wse_emit_cmd(e, wse_cmd_start(s));
}

/* blocks of a slice of an image whose rows have `width` elements of `size` bytes */
static struct wse_stream stream(const struct wse_emit *e, const struct wse_slice *s, uint32_t width,
				uint32_t size)
{
	uint32_t cols = e->g->tile.cols;

	return (struct wse_stream){
		.queue = WSE_QUEUE_IN,
		.color = WSE_COLOR_STREAM,
		.cols = cols,
		.off = ((uint64_t)s->out0 * width + s->in0) * size,
		.nblock = s->outs / e->g->nfeat,
		.nfeat = e->g->nfeat,
		.etype = size == 2 ? WSE_ETYPE_BF16 : WSE_ETYPE_FP32,
		.kcol = s->ins / cols,
		.lstride = width * size,
		.cstride = s->ins / cols * size,
		.budget = 1ull << 36,
	};
}

void wse_emit_image(struct wse_emit *e, uint32_t unit, uint32_t chunk, int back)
{
	const struct wse_unit *u = &e->g->units[unit];
	const struct wse_image *img = &e->job->images[unit];
	struct wse_slice s = wse_unit_slice(u, chunk);
	struct wse_slice turned = {s.in0, s.ins, s.out0, s.outs};
	struct wse_stream cmd = back ? stream(e, &turned, u->outs, 2) : stream(e, &s, u->ins, 2);
	struct wse_span span = back ? img->tr : img->fwd;

	cmd.buf = wse_emit_buffer(e, span.buf);
	cmd.off += span.off;
	if (cmd.buf)
		wse_emit_cmd(e, wse_cmd_stream_in(cmd));
}

void wse_emit_index(struct wse_emit *e, uint32_t unit, uint32_t chunk)
{
	struct wse_slice s = wse_unit_slice(&e->g->units[unit], chunk);
	struct wse_stream cmd = stream(e, &s, s.ins, 2);

	cmd.index_only = 1;
	cmd.off = 0;
	cmd.lstride = 0;
	cmd.cstride = 0;
	wse_emit_cmd(e, wse_cmd_stream_in(cmd));
}

void wse_emit_grads(struct wse_emit *e, uint32_t unit, uint32_t chunk)
{
	const struct wse_unit *u = &e->g->units[unit];
	struct wse_slice s = wse_unit_slice(u, chunk);
	struct wse_stream cmd = stream(e, &s, u->ins, 4);

	cmd.buf = wse_emit_buffer(e, e->grads[unit]);
	cmd.queue = WSE_QUEUE_OUT;
	cmd.color = WSE_COLOR_COL + ((e->g->tile.rows - 1) & 1);
	if (cmd.buf)
		wse_emit_cmd(e, wse_cmd_stream_out(cmd));
}
