/* SPDX-License-Identifier: MIT */
/* What comes with a micro-batch: memory that devices read and write, images, inputs, outputs. */
#ifndef WSE_OPS_MICRO_BATCH_H
#define WSE_OPS_MICRO_BATCH_H

#include "graph/graph.h"
#include "graph/packed.h"

#define WSE_SWARM_MAX 64
/* the devices of a run, and one that replays a step of it */
#define WSE_VIEWS (WSE_SWARM_MAX + 1)

struct wse_exec;

/*
 * Memory that devices can read and write by DMA: made by one executor's alloc, shown once to every
 * other by map, for the life of the buffer. view[e->id] is executor e's handle of it, so no command
 * has to look it up.
 */
struct wse_shared_buf {
	void *ptr;	/* CPU address, a multiple of 64 */
	size_t size;
	struct wse_exec *owner;
	void *view[WSE_VIEWS];
};

struct wse_span {
	struct wse_shared_buf *buf;
	size_t off;
};

static inline void *wse_span_ptr(struct wse_span s)
{
	return (char *)s.buf->ptr + s.off;
}

/* Streaming images of a unit; read-only for the executor. */
struct wse_image {
	struct wse_span fwd;	/* bf16 [outs][ins] */
	/* bf16 [ins][outs]: the same values transposed; buf NULL in a graph of the forward pass */
	struct wse_span tr;
	struct wse_span vec;	/* binary32 [COLS][vec_rows] */
	/*
	 * bits of both (graph/mask.h): weights without one are neither sent nor have a gradient;
	 * buf NULL: all are there
	 */
	struct wse_span mask, mask_tr;
	/* of those weights alone, and of the transposed image; NULL: streams go by rows */
	const struct wse_packed *packed, *packed_tr;
	int dense_grad;		/* they have a gradient all the same, in this step */
	int packs;	/* gradients are handed over without those that are not there */
};

/* what of them an operation streams; vectors are there whenever the unit is ready */
enum wse_image_part { WSE_IMAGE_NONE, WSE_IMAGE_FWD, WSE_IMAGE_TR };

/* which gradients come back: NULL, or the bits of the mask */
static inline const unsigned char *wse_image_grad_mask(const struct wse_image *img)
{
	return img->mask.buf && !img->dense_grad ? wse_span_ptr(img->mask) : NULL;
}

/* how a unit's gradients [floats] come back when they are packed; or NULL */
static inline const struct wse_packed *wse_image_grad_packed(const struct wse_image *img,
							      size_t floats)
{
	const struct wse_packed *p = wse_image_grad_mask(img) ? img->packed : NULL;

	return p && p->bytes4 <= floats * 4 ? p : NULL;
}

/*
 * how a unit's gradient is handed over: NULL, with the places of all weights, or those that are
 * there in the image's order [n]; behind either, the gradients of its vectors
 */
static inline const struct wse_packed *wse_image_grad_rows(const struct wse_image *img,
							   size_t floats)
{
	return img->packs ? wse_image_grad_packed(img, floats) : NULL;
}

/* One micro-batch of T tokens: all arrays are [width][T], row-major. */
struct wse_micro_batch {
	uint32_t index;			/* global number of the micro-batch in the step */
	int backward;			/* 0: only losses (and logits) are wanted */
	/* dlogits = (softmax - onehot) * scale: 1 / tokens of a step */
	float scale;
	/* of the step: what seeds of dropout are made from; 0: nothing is dropped */
	uint64_t drop;
	const struct wse_image *images;	/* [graph.nunits] */
	struct wse_span in[WSE_GRAPH_IO];
	struct wse_span out[WSE_GRAPH_IO];	/* buf NULL: not wanted */
};

#endif
