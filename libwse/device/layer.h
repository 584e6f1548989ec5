/* SPDX-License-Identifier: MIT */
/*
 * The copies and streams of a linear layer, once for all who run one (wse_linear, the trainer's operations, benches,
 * tests): shapes by the geometry of wse_kernel.h. Callers add buffer, offset, SRAM place, queue and mask.
 */
#ifndef WSE_DEVICE_LAYER_H
#define WSE_DEVICE_LAYER_H

#include <wse/device.h>

#include "wse_kernel.h"
#include "wse_regs.h"

struct wse_layer {
	uint32_t rows, cols;	/* of the tile */
	uint32_t t;		/* tokens of a core */
	uint32_t b;		/* features of a block */
};

/* host [per * cols][t * rows] <-> core [per][t], elements of `size` bytes */
static inline struct wse_copy wse_layer_values(const struct wse_layer *l, uint32_t per, uint32_t size)
{
	uint32_t tokens = l->t * l->rows;

	return (struct wse_copy){
		.rows = (uint16_t)l->rows,
		.cols = (uint16_t)l->cols,
		.len = l->t * size,
		.nline = per,
		.lstride = tokens * size,
		.sstride = l->t * size,
		.cstride = per * tokens * size,
		.rstride = l->t * size,
	};
}

/* blocks of an image bf16 [outs][ins], into the cores */
static inline struct wse_stream wse_layer_image(const struct wse_layer *l, uint32_t outs, uint32_t ins)
{
	return (struct wse_stream){
		.color = WSE_COLOR_STREAM,
		.cols = (uint16_t)l->cols,
		.nblock = outs / l->b,
		.nfeat = (uint8_t)l->b,
		.etype = WSE_ETYPE_BF16,
		.kcol = (uint16_t)(ins / l->cols),
		.lstride = ins * 2,
		.cstride = ins / l->cols * 2,
	};
}

/* the indices of that image, without memory: what dW = dY^T X is made of */
static inline struct wse_stream wse_layer_index(const struct wse_layer *l, uint32_t outs, uint32_t ins)
{
	struct wse_stream s = wse_layer_image(l, outs, ins);

	s.index_only = 1;
	s.lstride = s.cstride = 0;
	return s;
}

/* gradients binary32 [outs][ins], from what the last row sends south on */
static inline struct wse_stream wse_layer_grads(const struct wse_layer *l, uint32_t outs, uint32_t ins)
{
	struct wse_stream s = wse_layer_image(l, outs, ins);

	s.color = WSE_COLOR_COL + ((l->rows - 1) & 1);
	s.etype = WSE_ETYPE_FP32;
	s.lstride = ins * 4;
	s.cstride = ins / l->cols * 4;
	return s;
}

#endif
