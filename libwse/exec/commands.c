// SPDX-License-Identifier: MIT
/* The commands of a micro-batch, phase by phase. The kernels' arguments are firmware/lib/'s. */
#include "wafer.h"

#include <errno.h>
#include <string.h>

#include "wse_regs.h"

/* must match firmware/lib/ring.h */
enum { COLOR_STREAM = 0, COLOR_COL = 4 };

void wse_wafer_add(struct batch *b, struct drm_wse_cmd cmd)
{
	b->cmd[b->n++] = cmd;
}

const struct wse_buffer *wse_wafer_span(struct batch *b, struct wse_span s)
{
	const struct wse_buffer *buf = wse_wafer_buffer(b->w, s.buf);

	if (!buf)
		b->ret = -EINVAL; /* never shown to this device */
	return buf;
}

/* host [width][tokens] <-> core [width / cols][t], size bytes an element */
void wse_wafer_add_rows(struct batch *b, int out, struct wse_span s, uint32_t sram, uint32_t width,
			uint32_t size)
{
	struct wafer *w = b->w;
	uint32_t per = width / w->info.cols;
	struct wse_copy c = {
		.buf = wse_wafer_span(b, s),
		.off = s.off,
		.queue = Q_RUN,
		.sram = sram,
		.rows = w->info.rows,
		.cols = w->info.cols,
		.len = w->t * size,
		.nline = per,
		.lstride = w->tokens * size,
		.sstride = w->t * size,
		.cstride = per * w->tokens * size,
		.rstride = w->t * size,
	};

	if (c.buf)
		wse_wafer_add(b, out ? wse_cmd_copy_out(c) : wse_cmd_copy_in(c));
}

void wse_wafer_add_start(struct batch *b, uint32_t entry, const uint32_t *arg, uint32_t narg)
{
	struct wse_start s = {
		.queue = Q_RUN,
		.rows = b->w->info.rows,
		.cols = b->w->info.cols,
		.entry = entry,
		.closed = 1,
	};

	memcpy(s.arg, arg, narg * sizeof(*arg));
	wse_wafer_add(b, wse_cmd_start(s));
}

uint32_t wse_wafer_addr(uint32_t sram)
{
	return WSE_SRAM_BASE + sram;
}

/* y [outs / cols][t] = image [outs][ins] x, and the stream it lives from */
void wse_wafer_add_linear(struct batch *b, struct wse_span image, uint32_t ins, uint32_t outs,
			  uint32_t x, uint32_t y, uint32_t bias, uint32_t act, uint32_t gate,
			  uint32_t ytype)
{
	struct wafer *w = b->w;
	uint32_t arg[] = {wse_wafer_addr(x),
			  wse_wafer_addr(y),
			  w->t,
			  ins / w->info.cols,
			  outs / w->at.nfeat,
			  w->at.nfeat,
			  bias ? wse_wafer_addr(bias) : 0,
			  act,
			  gate ? wse_wafer_addr(gate) : 0,
			  ytype};
	struct wse_stream s = {
		.buf = wse_wafer_span(b, image),
		.off = image.off,
		.queue = Q_IN,
		.color = COLOR_STREAM,
		.cols = w->info.cols,
		.nblock = outs / w->at.nfeat,
		.nfeat = w->at.nfeat,
		.etype = WSE_ETYPE_BF16,
		.kcol = ins / w->info.cols,
		.lstride = ins * 2,
		.cstride = ins / w->info.cols * 2,
		.budget = 1ull << 36,
	};

	if (!s.buf)
		return;
	wse_wafer_add(b, wse_cmd_stream_in(s));
	wse_wafer_add_start(b, w->forward, arg, 10);
}

/* dW of layer l from dy and the layer's input, then db, into grad */
void wse_wafer_add_grads(struct batch *b, uint32_t l, uint32_t dy, const struct wse_buffer *grad)
{
	struct wafer *w = b->w;
	uint32_t ins = w->m.width[l], outs = w->m.width[l + 1], c = w->info.cols;
	uint32_t arg[] = {wse_wafer_addr(w->at.act[l]), wse_wafer_addr(dy), w->t, ins / c,
			  outs / w->at.nfeat,		w->at.nfeat};
	uint32_t barg[] = {wse_wafer_addr(dy), wse_wafer_addr(w->at.bias), w->t, outs / c};
	struct wse_stream s = {
		.queue = Q_IN,
		.color = COLOR_STREAM,
		.cols = c,
		.nblock = outs / w->at.nfeat,
		.nfeat = w->at.nfeat,
		.etype = WSE_ETYPE_BF16,
		.kcol = ins / c,
		.index_only = 1,
		.budget = 1ull << 36,
	};

	wse_wafer_add(b, wse_cmd_stream_in(s));
	s.buf = grad;
	s.queue = Q_OUT;
	s.color = COLOR_COL + ((w->info.rows - 1) & 1);
	s.etype = WSE_ETYPE_FP32;
	s.lstride = ins * 4;
	s.cstride = ins / c * 4;
	wse_wafer_add(b, wse_cmd_stream_out(s));
	wse_wafer_add_start(b, w->wgrad, arg, 6);
	wse_wafer_add_start(b, w->bgrad, barg, 4);
	wse_wafer_add(b, wse_cmd_copy_out((struct wse_copy){.buf = grad,
							    .off = (uint64_t)ins * outs * 4,
							    .queue = Q_RUN,
							    .sram = w->at.bias,
							    .row0 = w->info.rows - 1,
							    .rows = 1,
							    .cols = c,
							    .len = outs / c * 4,
							    .cstride = outs / c * 4}));
}
