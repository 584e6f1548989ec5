/* SPDX-License-Identifier: MIT */
/*
 * A layer's product, its data gradient and its weight gradient as single submits of public
 * commands: activations in, start and result out on one queue, the stream of weights (or indices)
 * on the second, gradients on the third. Masks select weights: bit 1 takes part. A row of the image
 * is cut into a piece for each column of cores, padded to 64 bits.
 */
#ifndef TEST_LINEAR_H
#define TEST_LINEAR_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <wse/wse.h>
#include <wse/layer.h>

enum { Q_MAIN = 1, Q_IN = 2, Q_OUT = 3 };

struct linear {
	struct wse_context *ctx;
	struct wse_program *prog;
	uint32_t forward, wgrad; /* entries */
	struct wse_layer tile;	 /* b is chosen for each operation */
	uint32_t k, n;		 /* inputs, outputs of all columns */
	uint32_t b;		 /* features of a block, 0: chosen */
	int timed;		 /* a fence's cycles are those of the START alone */
	/* SRAM offsets: [width / C][T / R] bf16, [width / C][T / R] binary32 */
	uint32_t in, out;
};

/* a place in a buffer; off a multiple of 8 */
struct place {
	struct wse_buffer *buf;
	uint64_t off;
	uint32_t run; /* LINEAR: bytes of a column's run, 0: rows */
};

static inline int linear_open(struct linear *l, struct wse_context *ctx, uint32_t tokens,
			      uint32_t k, uint32_t n, uint32_t b)
{
	struct drm_wse_info info;
	uint32_t width = k > n ? k : n;
	int ret = wse_device_info(wse_context_device(ctx), &info);

	*l = (struct linear){.ctx = ctx, .k = k, .n = n, .b = b};
	l->tile = (struct wse_layer){.rows = info.rows, .cols = info.cols, .t = tokens / info.rows};
	ret = ret ? ret : wse_program_load(ctx, "linear.elf", &l->prog);
	ret = ret ? ret : wse_program_symbol(l->prog, "linear_forward", &l->forward);
	ret = ret ? ret : wse_program_symbol(l->prog, "linear_wgrad", &l->wgrad);
	l->in = wse_program_end(l->prog);
	l->out = l->in + width / info.cols * l->tile.t * 2;
	return ret;
}

static inline void linear_close(struct linear *l)
{
	wse_program_destroy(l->prog);
}

/* bytes of one column's mask of one row */
static inline uint32_t linear_piece(const struct linear *l, uint32_t width)
{
	return (width / l->tile.cols + 63) / 64 * 8;
}

static inline size_t linear_mask_size(const struct linear *l, uint32_t rows, uint32_t width)
{
	return (size_t)rows * l->tile.cols * linear_piece(l, width);
}

/* select [rows][width]: a byte for each weight */
static inline void linear_mask_pack(const struct linear *l, uint32_t rows, uint32_t width,
				    const uint8_t *select, void *mask)
{
	uint32_t piece = linear_piece(l, width), per = width / l->tile.cols;
	uint8_t *p = mask;

	memset(mask, 0, linear_mask_size(l, rows, width));
	for (size_t row = 0; row < rows; row++)
		for (uint32_t c = 0; c < l->tile.cols; c++, p += piece)
			for (uint32_t k = 0; k < per; k++)
				if (select[row * width + c * per + k])
					p[k / 8] |= (uint8_t)(1u << k % 8);
}

/* the image [width][T], elements of size bytes, between host and cores */
static inline struct drm_wse_cmd linear_values(const struct linear *l, struct place p,
					       uint32_t width, uint32_t size, uint32_t sram, int in)
{
	struct wse_copy c = wse_layer_values(&l->tile, width / l->tile.cols, size);

	c.buf = p.buf;
	c.off = p.off;
	c.queue = Q_MAIN;
	c.sram = sram;
	return in ? wse_cmd_copy_in(c) : wse_cmd_copy_out(c);
}

/*
 * LINEAR: column c's elements of an image [rows][width] in the order in which they are sent, as
 * their places in it, order [rows * width / cols]; select NULL: all. How many
 */
static inline uint32_t linear_order(const struct linear *l, uint32_t rows, uint32_t width,
				    uint32_t c, const uint8_t *select, uint32_t *order)
{
	uint32_t b = l->b ? l->b : wse_layer_block(rows / l->tile.cols, l->tile.t);
	uint32_t per = width / l->tile.cols, n = 0;

	for (uint32_t row = 0; row < rows; row += b)
		for (uint32_t k = c * per; k < (c + 1) * per; k++)
			for (uint32_t f = 0; f < b; f++) {
				uint32_t at = (row + f) * width + k;

				if (!select || select[at])
					order[n++] = at;
			}
	return n;
}

/* where the stream of an image of that width lies, and its mask */
static inline void linear_locate(const struct linear *l, struct drm_wse_cmd *s, uint32_t queue,
				 struct place p, struct place mask, uint32_t width)
{
	s->queue = queue;
	s->bo = p.buf ? wse_buffer_handle(p.buf) : 0;
	s->off = p.off;
	if (p.run) {
		s->flags |= DRM_WSE_CMD_LINEAR;
		s->lstride = 0;
		s->len = s->cstride = p.run;
	}
	if (!mask.buf)
		return;
	s->flags |= DRM_WSE_CMD_MASKED;
	s->mask_bo = wse_buffer_handle(mask.buf);
	s->moff = mask.off;
	s->mcstride = linear_piece(l, width);
	s->rstride = s->mcstride * l->tile.cols;
}

/* fence NULL: waits */
static inline int linear_run(const struct linear *l, const struct drm_wse_cmd *cmds, uint32_t n,
			     struct wse_fence **fence)
{
	if (fence && l->timed) { /* each command on its own, so that it has an end of its own */
		struct wse_fence *f[8] = {NULL};
		int ret = 0;

		for (uint32_t i = 0; i < n && !ret; i++)
			if (cmds[i].op != WSE_OP_FENCE)
				ret = wse_submit(l->ctx, &cmds[i], 1, NULL, 0, &f[i]);
		for (uint32_t i = 0; i < n; i++) {
			if (!ret && f[i])
				ret = wse_fence_wait(f[i], WSE_FOREVER);
			if (cmds[i].op == WSE_OP_START)
				*fence = f[i];
			else
				wse_fence_destroy(f[i]);
		}
		return ret;
	}
	if (fence)
		return wse_submit(l->ctx, cmds, n, NULL, 0, fence);
	return wse_submit_wait(l->ctx, cmds, n, WSE_FOREVER);
}

/* out [rows][T] = w [rows][width] times in [width][T] */
static inline int linear_product(const struct linear *l, struct place in, struct place w,
				 struct place mask, struct place out, uint32_t rows, uint32_t width,
				 struct wse_fence **fence)
{
	struct wse_layer tile = l->tile;
	struct wse_linear_args arg = {.x = WSE_SRAM_BASE + l->in,
				      .y = WSE_SRAM_BASE + l->out,
				      .t = tile.t,
				      .k = width / tile.cols};
	struct drm_wse_cmd cmds[5];

	tile.b = l->b ? l->b : wse_layer_block(rows / tile.cols, tile.t);
	arg.nblk = rows / tile.b;
	arg.b = tile.b;
	cmds[0] = linear_values(l, in, width, 2, l->in, 1);
	cmds[1] = wse_cmd_fence(Q_IN, 0);
	cmds[2] = wse_layer_image(&tile, rows, width);
	linear_locate(l, &cmds[2], Q_IN, w, mask, width);
	cmds[3] = wse_layer_start(&tile, Q_MAIN, l->forward, &arg, sizeof(arg));
	cmds[4] = linear_values(l, out, rows, 4, l->out, 0);
	return linear_run(l, cmds, 5, fence);
}

/* Y = X W^T. x: bf16 [K][T]; w: bf16 [N][K]; mask: of w, .buf NULL if dense; y: binary32 [N][T] */
static inline int linear_forward(const struct linear *l, struct place x, struct place w,
				 struct place mask, struct place y, struct wse_fence **fence)
{
	return linear_product(l, x, w, mask, y, l->n, l->k, fence);
}

/*
 * dX = dY W. dy: bf16 [N][T]; wt: the transposed image, bf16 [K][N]; mask: of wt; dx: binary32
 * [K][T]
 */
static inline int linear_backward_data(const struct linear *l, struct place dy, struct place wt,
				       struct place mask, struct place dx, struct wse_fence **fence)
{
	return linear_product(l, dy, wt, mask, dx, l->k, l->n, fence);
}

/*
 * dW = dY^T X. x: bf16 [K][T]; dy: bf16 [N][T]; mask: of w; dw: binary32 [N][K], left as it was
 * where the mask is 0, or runs
 */
static inline int linear_backward_weight(const struct linear *l, struct place x, struct place dy,
					 struct place mask, struct place dw,
					 struct wse_fence **fence)
{
	struct wse_layer tile = l->tile;
	struct wse_wgrad_args arg = {.x = WSE_SRAM_BASE + l->in,
				     .dy = WSE_SRAM_BASE + l->out,
				     .t = tile.t,
				     .k = l->k / tile.cols};
	struct drm_wse_cmd cmds[7];

	tile.b = l->b ? l->b : wse_layer_block(l->n / tile.cols, tile.t);
	arg.nblk = l->n / tile.b;
	arg.b = tile.b;
	cmds[0] = linear_values(l, x, l->k, 2, l->in, 1);
	cmds[1] = linear_values(l, dy, l->n, 2, l->out, 1);
	cmds[2] = wse_cmd_fence(Q_IN, 1);
	cmds[3] = wse_layer_index(&tile, l->n, l->k);
	linear_locate(l, &cmds[3], Q_IN, (struct place){0}, mask, l->k);
	cmds[4] = wse_cmd_fence(Q_OUT, 1);
	cmds[5] = wse_layer_grads(&tile, l->n, l->k);
	linear_locate(l, &cmds[5], Q_OUT, dw, mask, l->k);
	cmds[6] = wse_layer_start(&tile, Q_MAIN, l->wgrad, &arg, sizeof(arg));
	return linear_run(l, cmds, 7, fence);
}

#endif
