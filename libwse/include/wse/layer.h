/* SPDX-License-Identifier: MIT */
/*
 * The commands of a linear layer's product on a whole tile, Y = X W^T and dW = dY^T X, by the
 * geometry of wse_kernel.h: what the trainer, the benches and examples/linear.c submit beside a
 * START of linear_forward or linear_wgrad.
 *
 * Streams are commands whose buffer, offset and queue the caller adds (bo = wse_buffer_handle(),
 * off, queue), and for a stream that skips weights the mask. A rectangle that is a part of a wider
 * image has that image's lstride.
 */
#ifndef WSE_WSE_LAYER_H
#define WSE_WSE_LAYER_H

#include <wse/device.h>
#ifdef __cplusplus
#define _Static_assert static_assert
#include <wse/wse_kernel.h>
#undef _Static_assert
#else
#include <wse/wse_kernel.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct wse_layer {
	uint32_t rows, cols; /* of the tile */
	uint32_t t;	     /* tokens of a core: a multiple of the lanes, at most WSE_NACC */
	uint32_t b;	     /* features of a block: 1, 2 or 4, and b * t at most WSE_NACC */
};

/*
 * Features of a block for `per` features of a column: the most that leave room for two blocks, so
 * that one drains while the next is computed, else one. 0: t is too large.
 */
static inline uint32_t wse_layer_block(uint32_t per, uint32_t t)
{
	uint32_t b;

	for (b = 4; b; b /= 2)
		if (per % b == 0 && 2 * b * t <= WSE_NACC)
			return b;
	return t <= WSE_NACC ? 1 : 0;
}

/*
 * host [per * cols][t * rows] <-> core [per][t], elements of `size` bytes; the caller adds buf,
 * off, sram and queue
 */
static inline struct wse_copy wse_layer_values(const struct wse_layer *l, uint32_t per,
					       uint32_t size)
{
	uint32_t tokens = l->t * l->rows;
	struct wse_copy c;

	memset(&c, 0, sizeof(c));
	c.rows = (uint16_t)l->rows;
	c.cols = (uint16_t)l->cols;
	c.len = l->t * size;
	c.nline = per;
	c.lstride = tokens * size;
	c.sstride = l->t * size;
	c.cstride = per * tokens * size;
	c.rstride = l->t * size;
	return c;
}

static inline struct drm_wse_cmd wse_layer_stream_(const struct wse_layer *l, uint32_t op,
						   uint32_t outs, uint32_t ins, uint32_t size)
{
	struct drm_wse_cmd cmd;

	memset(&cmd, 0, sizeof(cmd));
	cmd.op = op;
	cmd.queue = 1;
	cmd.color = op == WSE_OP_STREAM_IN ? (uint32_t)WSE_COLOR_STREAM
					   : WSE_COLOR_COL + ((l->rows - 1) & 1);
	cmd.cols = (uint16_t)l->cols;
	cmd.nline = outs / l->b;
	cmd.nfeat = (uint8_t)l->b;
	cmd.etype = op == WSE_OP_STREAM_IN ? WSE_ETYPE_BF16 : WSE_ETYPE_FP32;
	cmd.kcol = (uint16_t)(ins / l->cols);
	cmd.lstride = ins * size;
	cmd.cstride = ins / l->cols * size;
	cmd.budget = wse_stream_budget(cmd.nline, cmd.nfeat, cmd.kcol);
	return cmd;
}

/* blocks of an image bf16 [outs][ins], into the cores */
static inline struct drm_wse_cmd wse_layer_image(const struct wse_layer *l, uint32_t outs,
						 uint32_t ins)
{
	return wse_layer_stream_(l, WSE_OP_STREAM_IN, outs, ins, 2);
}

/* the indices of that image, without memory: what dW = dY^T X is made of */
static inline struct drm_wse_cmd wse_layer_index(const struct wse_layer *l, uint32_t outs,
						 uint32_t ins)
{
	struct drm_wse_cmd cmd = wse_layer_stream_(l, WSE_OP_STREAM_IN, outs, ins, 0);

	cmd.flags = DRM_WSE_CMD_INDEX_ONLY;
	return cmd;
}

/* gradients binary32 [outs][ins], from what the last row sends south on */
static inline struct drm_wse_cmd wse_layer_grads(const struct wse_layer *l, uint32_t outs,
						 uint32_t ins)
{
	return wse_layer_stream_(l, WSE_OP_STREAM_OUT, outs, ins, 4);
}

/*
 * START of a kernel on all cores, on queue; args: one of the structs of wse_kernel.h, of size
 * bytes, 64 at most
 */
static inline struct drm_wse_cmd wse_layer_start(const struct wse_layer *l, uint32_t queue,
						 uint32_t entry, const void *args, size_t size)
{
	struct wse_start s;

	memset(&s, 0, sizeof(s));
	s.queue = queue;
	s.rows = (uint16_t)l->rows;
	s.cols = (uint16_t)l->cols;
	s.entry = entry;
	memcpy(s.arg, args, size);
	return wse_cmd_start(s);
}

#ifdef __cplusplus
}
#endif

#endif /* WSE_WSE_LAYER_H */
