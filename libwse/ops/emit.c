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

/* blocks of an image of outs rows of ins elements */
static struct wse_stream stream(const struct wse_emit *e, uint32_t outs, uint32_t ins)
{
	uint32_t cols = e->g->tile.cols;

	return (struct wse_stream){
		.queue = WSE_QUEUE_IN,
		.color = WSE_COLOR_STREAM,
		.cols = cols,
		.nblock = outs / e->g->nfeat,
		.nfeat = e->g->nfeat,
		.etype = WSE_ETYPE_BF16,
		.kcol = ins / cols,
		.lstride = ins * 2,
		.cstride = ins / cols * 2,
		.budget = 1ull << 36,
	};
}

void wse_emit_image(struct wse_emit *e, const struct wse_unit *u, struct wse_span image, int back)
{
	struct wse_stream s = back ? stream(e, u->ins, u->outs) : stream(e, u->outs, u->ins);

	s.buf = wse_emit_buffer(e, image.buf);
	s.off = image.off;
	if (s.buf)
		wse_emit_cmd(e, wse_cmd_stream_in(s));
}

void wse_emit_index(struct wse_emit *e, const struct wse_unit *u)
{
	struct wse_stream s = stream(e, u->outs, u->ins);

	s.index_only = 1;
	s.lstride = 0;
	s.cstride = 0;
	wse_emit_cmd(e, wse_cmd_stream_in(s));
}

void wse_emit_grads(struct wse_emit *e, const struct wse_unit *u, const struct wse_buf *buf)
{
	struct wse_stream s = stream(e, u->outs, u->ins);

	s.buf = wse_emit_buffer(e, buf);
	s.queue = WSE_QUEUE_OUT;
	s.color = WSE_COLOR_COL + ((e->g->tile.rows - 1) & 1);
	s.etype = WSE_ETYPE_FP32;
	s.lstride = u->ins * 4;
	s.cstride = u->ins / e->g->tile.cols * 4;
	if (s.buf)
		wse_emit_cmd(e, wse_cmd_stream_out(s));
}
