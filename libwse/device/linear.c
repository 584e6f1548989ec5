// SPDX-License-Identifier: MIT
/*
 * Linear operations on the whole tile: hidden along the columns of cores, tokens along the rows.
 * The work is done by firmware/lib/linear.h; here are its shapes, its memory, and the commands
 * that feed it.
 *
 * Each operation is one submit on three queues: activations in, start, result out on the first, the
 * stream of weights (or of their indices) on the second, gradients on the third.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/handle.h"
#include "device.h"
#include "layer.h"
#include "wse_kernel.h"
#include "wse_regs.h"

#define STACK_BYTES 1024       /* firmware/runtime/program.ld */
#define DIM_MAX	    (1u << 20) /* sanity: keeps all products below 64 bits */

enum { Q_MAIN = 1, Q_IN = 2, Q_OUT = 3 };

struct wse_linear {
	struct wse_context *ctx;
	struct wse_program *prog;
	uint32_t forward, wgrad; /* entries */
	uint32_t rows, cols, lanes;
	uint32_t t; /* tokens of all cores, of one core */
	uint32_t tr;
	uint32_t k, n;	  /* inputs, outputs of all columns */
	uint32_t b;	  /* features of a block, 0: chosen for each operation */
	uint32_t in, out; /* SRAM offsets: [width / C][T / R] bf16, [width / C][T / R] binary32 */
};

/* The largest block that leaves two halves of the accumulators, else that fits at all. 0: none. */
static uint32_t block_of(const struct wse_linear *l, uint32_t features)
{
	uint32_t per = features / l->cols, b;

	if (l->b)
		return per % l->b || l->b * l->tr > WSE_NACC ? 0 : l->b;
	for (b = 4; b; b /= 2)
		if (per % b == 0 && 2 * b * l->tr <= WSE_NACC)
			return b;
	return l->tr <= WSE_NACC ? 1 : 0;
}

static int check_shape(struct wse_linear *l, const struct wse_linear_shape *s)
{
	struct wse_device *dev = l->ctx->dev;
	uint32_t c4 = 4 * l->cols, rl = l->rows * l->lanes;

	if (dev->info.queues < 3)
		return wse_fail(-ENOTSUP, "%s has %u queues, linear operations need 3", dev->uri,
				dev->info.queues);
	if (!s->inputs || !s->outputs || s->inputs > DIM_MAX || s->outputs > DIM_MAX ||
	    s->inputs % c4 || s->outputs % c4)
		return wse_fail(
			-EINVAL,
			"%u inputs and %u outputs: both must be multiples of 4 x columns = %u",
			s->inputs, s->outputs, c4);
	if (!s->tokens || s->tokens % rl || s->tokens / l->rows > WSE_NACC)
		return wse_fail(
			-EINVAL,
			"%u tokens: must be a multiple of rows x lanes = %u, and at most %u",
			s->tokens, rl, WSE_NACC * l->rows);
	if (s->features > 4 || s->features == 3)
		return wse_fail(-EINVAL, "%u features in a block: 1, 2, 4, or 0 to have it chosen",
				s->features);
	l->t = s->tokens;
	l->tr = s->tokens / l->rows;
	l->k = s->inputs;
	l->n = s->outputs;
	l->b = s->features;
	if (!block_of(l, l->n) || !block_of(l, l->k))
		return wse_fail(-EINVAL,
				"blocks of %u features of %u tokens: more than the %u "
				"accumulators, or no divisor "
				"of the %u and %u features of a column",
				l->b, l->tr, WSE_NACC, l->n / l->cols, l->k / l->cols);
	return 0;
}

/* Activations lie behind the program: input as bf16, result as binary32. */
static int place(struct wse_linear *l)
{
	struct wse_device *dev = l->ctx->dev;
	uint64_t width = (l->k > l->n ? l->k : l->n) / l->cols, end = dev->info.sram_kib * 1024,
		 need;

	end = (end < WSE_SRAM_BYTES ? end : WSE_SRAM_BYTES) - (WSE_SRAM_BYTES - WSE_ARGS_OFFSET) -
	      STACK_BYTES;
	l->in = wse_program_end(l->prog);
	need = l->in + width * l->tr * 6;
	if (need > end || width > 16384)
		return wse_fail(-E2BIG,
				"%llu features of %u tokens in a core: program, input and result "
				"end at byte "
				"%llu, but there is room up to %llu: fewer tokens, or more columns",
				(unsigned long long)width, l->tr, (unsigned long long)need,
				(unsigned long long)end);
	l->out = l->in + (uint32_t)width * l->tr * 2;
	if (width * l->t * 4 > UINT32_MAX || (uint64_t)l->k * 4 > UINT32_MAX)
		return wse_fail(
			-E2BIG,
			"%u tokens of %llu features a column: strides over 4 GiB: fewer tokens",
			l->t, (unsigned long long)width);
	return 0;
}

static void linear_free(struct wse_linear *l)
{
	wse_program_destroy(l->prog);
	wse_context_put(l->ctx);
	free(l);
}

int wse_linear_create(struct wse_context *ctx, const struct wse_linear_shape *shape,
		      struct wse_linear **out)
{
	struct wse_device *dev;
	struct wse_linear *l;
	char path[4096];
	int ret = wse_handle_check(WSE_HANDLE_CONTEXT, ctx);

	if (ret)
		return ret;
	dev = ctx->dev;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->ctx = ctx;
	wse_context_get(ctx);
	l->rows = dev->info.rows;
	l->cols = dev->info.cols;
	l->lanes = dev->info.lanes;
	ret = check_shape(l, shape);
	if (ret)
		goto destroy;
	ret = wse_find_file("WSE_KERNELS", "linear.elf", sizeof(path), path);
	if (ret) {
		wse_fail(ret,
			 "there is no kernel program linear.elf: set WSE_KERNELS to its directory, "
			 "or put it into "
			 "/lib/firmware/wse");
		goto destroy;
	}
	ret = wse_program_load(ctx, path, &l->prog);
	if (ret)
		goto destroy;
	ret = wse_program_symbol(l->prog, "linear_forward", &l->forward);
	if (!ret)
		ret = wse_program_symbol(l->prog, "linear_wgrad", &l->wgrad);
	if (ret)
		wse_fail(ret,
			 "%s has no linear_forward or linear_wgrad: use the one of this release",
			 path);
	else
		ret = place(l);
	if (!ret)
		ret = wse_handle_add(WSE_HANDLE_LINEAR, l);
	if (ret)
		goto destroy;
	*out = l;
	return 0;
destroy:
	linear_free(l);
	return ret;
}

void wse_linear_destroy(struct wse_linear *l)
{
	if (l && !wse_handle_remove(WSE_HANDLE_LINEAR, l))
		linear_free(l);
}

/* Bytes of one column's mask of one row. */
static uint32_t mask_piece(const struct wse_linear *l, uint32_t width)
{
	return (width / l->cols + 63) / 64 * 8;
}

size_t wse_linear_mask_size(const struct wse_linear *l, uint32_t rows, uint32_t width)
{
	if (wse_handle_check(WSE_HANDLE_LINEAR, l))
		return 0;
	return (size_t)rows * l->cols * mask_piece(l, width);
}

void wse_linear_mask_pack(const struct wse_linear *l, uint32_t rows, uint32_t width,
			  const uint8_t *select, void *mask)
{
	uint32_t piece, per, c, k;
	uint8_t *p = mask;
	size_t row;

	if (wse_handle_check(WSE_HANDLE_LINEAR, l))
		return;
	piece = mask_piece(l, width);
	per = width / l->cols;
	memset(mask, 0, wse_linear_mask_size(l, rows, width));
	for (row = 0; row < rows; row++)
		for (c = 0; c < l->cols; c++, p += piece)
			for (k = 0; k < per; k++)
				if (select[row * width + c * per + k])
					p[k / 8] |= (uint8_t)(1u << k % 8);
}

/* Several times what the slowest sensible tile takes for nblk blocks of kc inputs. */
static uint64_t budget_of(const struct wse_linear *l, uint32_t nblk, uint32_t kc, uint32_t b)
{
	uint64_t block = (uint64_t)kc * b * (l->tr / l->lanes + 2) +
			 (uint64_t)b * l->tr * (l->cols + l->rows) + 2000;

	return 10000000 + 16 * block * nblk;
}

static struct wse_layer layer(const struct wse_linear *l, uint32_t b)
{
	return (struct wse_layer){l->rows, l->cols, l->tr, b};
}

/* The image [width][T], elements of size bytes, between host and cores: [width / C][T / R] at sram. */
static struct drm_wse_cmd activation(const struct wse_linear *l, struct wse_place p, uint32_t width,
				     uint32_t size, uint32_t sram, int in)
{
	struct wse_layer shape = layer(l, 1);
	struct wse_copy c = wse_layer_values(&shape, width / l->cols, size);

	c.buf = p.buf;
	c.off = p.off;
	c.queue = Q_MAIN;
	c.sram = sram;
	return in ? wse_cmd_copy_in(c) : wse_cmd_copy_out(c);
}

/* Where the stream of an image of that width lies, and its mask. */
static void locate(const struct wse_linear *l, struct wse_stream *s, uint32_t queue,
		   struct wse_place p, struct wse_place mask, uint32_t width)
{
	uint32_t piece = mask.buf ? mask_piece(l, width) : 0;

	s->queue = queue;
	s->buf = p.buf;
	s->off = p.off;
	s->mask = mask.buf;
	s->moff = mask.buf ? mask.off : 0;
	s->rstride = piece * l->cols;
	s->mcstride = piece;
	s->budget = budget_of(l, s->nblock, s->kcol, s->nfeat);
}

static struct drm_wse_cmd start(const struct wse_linear *l, uint32_t entry, const void *args,
				size_t size, uint64_t budget)
{
	struct wse_start s = {
		.queue = Q_MAIN,
		.rows = (uint16_t)l->rows,
		.cols = (uint16_t)l->cols,
		.entry = entry,
		.budget = budget,
	};

	memcpy(s.arg, args, size);
	return wse_cmd_start(s);
}

static int need(const struct wse_linear *l, const struct wse_place *p, const char *what)
{
	int ret;

	if (!p->buf)
		return wse_fail(-EINVAL, "%s has no buffer", what);
	ret = wse_handle_check(WSE_HANDLE_BUFFER, p->buf);
	if (!ret && p->buf->dev != l->ctx->dev)
		ret = wse_fail(-EINVAL, "%s is a buffer of another device: use wse_buffer_share",
			       what);
	return ret;
}

/* fence NULL: waits. */
static int run(const struct wse_linear *l, const struct drm_wse_cmd *cmds, uint32_t n,
	       struct wse_fence **fence)
{
	if (fence)
		return wse_submit(l->ctx, cmds, n, NULL, 0, fence);
	return wse_submit_wait(l->ctx, cmds, n, WSE_FOREVER);
}

/* out [rows][T] = w [rows][width] times in [width][T] */
static int product(struct wse_linear *l, struct wse_place in, struct wse_place w,
		   struct wse_place mask, struct wse_place out, uint32_t rows, uint32_t width,
		   struct wse_fence **fence)
{
	uint32_t b = block_of(l, rows);
	struct wse_layer shape = layer(l, b);
	struct wse_stream s = wse_layer_image(&shape, rows, width);
	struct wse_linear_args arg = {
		.x = WSE_SRAM_BASE + l->in,
		.y = WSE_SRAM_BASE + l->out,
		.t = l->tr,
		.k = width / l->cols,
		.nblk = rows / b,
		.b = b,
	};
	struct drm_wse_cmd cmds[5];
	int ret;

	ret = need(l, &in, "the input");
	if (!ret)
		ret = need(l, &w, "the weights");
	if (!ret)
		ret = need(l, &out, "the result");
	if (!ret && mask.buf)
		ret = need(l, &mask, "the mask");
	if (ret)
		return ret;
	locate(l, &s, Q_IN, w, mask, width);
	cmds[0] = activation(l, in, width, 2, l->in, 1);
	cmds[1] = wse_cmd_fence(Q_IN, 0);
	cmds[2] = wse_cmd_stream_in(s);
	cmds[3] = start(l, l->forward, &arg, sizeof(arg), s.budget);
	cmds[4] = activation(l, out, rows, 4, l->out, 0);
	return run(l, cmds, 5, fence);
}

int wse_linear_forward(struct wse_linear *l, struct wse_place x, struct wse_place w,
		       struct wse_place mask, struct wse_place y, struct wse_fence **fence)
{
	int ret = wse_handle_check(WSE_HANDLE_LINEAR, l);

	return ret ? ret : product(l, x, w, mask, y, l->n, l->k, fence);
}

int wse_linear_backward_data(struct wse_linear *l, struct wse_place dy, struct wse_place wt,
			     struct wse_place mask, struct wse_place dx, struct wse_fence **fence)
{
	int ret = wse_handle_check(WSE_HANDLE_LINEAR, l);

	return ret ? ret : product(l, dy, wt, mask, dx, l->k, l->n, fence);
}

/* dw [n][k] = dy [n][T] times x [k][T] */
static int gradient(struct wse_linear *l, struct wse_place x, struct wse_place dy,
		    struct wse_place mask, struct wse_place dw, struct wse_fence **fence)
{
	uint32_t b = block_of(l, l->n);
	struct wse_layer shape = layer(l, b);
	struct wse_stream in = wse_layer_index(&shape, l->n, l->k);
	struct wse_stream out = wse_layer_grads(&shape, l->n, l->k);
	struct wse_wgrad_args arg = {
		.x = WSE_SRAM_BASE + l->in,
		.dy = WSE_SRAM_BASE + l->out,
		.t = l->tr,
		.k = l->k / l->cols,
		.nblk = l->n / b,
		.b = b,
	};
	struct drm_wse_cmd cmds[7];
	int ret;

	ret = need(l, &x, "the input");
	if (!ret)
		ret = need(l, &dy, "the output's gradient");
	if (!ret)
		ret = need(l, &dw, "the weights' gradient");
	if (!ret && mask.buf)
		ret = need(l, &mask, "the mask");
	if (ret)
		return ret;
	locate(l, &in, Q_IN, (struct wse_place){0}, mask, l->k);
	locate(l, &out, Q_OUT, dw, mask, l->k);
	cmds[0] = activation(l, x, l->k, 2, l->in, 1);
	cmds[1] = activation(l, dy, l->n, 2, l->out, 1);
	cmds[2] = wse_cmd_fence(Q_IN, 1);
	cmds[3] = wse_cmd_stream_in(in);
	cmds[4] = wse_cmd_fence(Q_OUT, 1);
	cmds[5] = wse_cmd_stream_out(out);
	cmds[6] = start(l, l->wgrad, &arg, sizeof(arg), in.budget);
	return run(l, cmds, 7, fence);
}

int wse_linear_backward_weight(struct wse_linear *l, struct wse_place x, struct wse_place dy,
			       struct wse_place mask, struct wse_place dw, struct wse_fence **fence)
{
	int ret = wse_handle_check(WSE_HANDLE_LINEAR, l);

	return ret ? ret : gradient(l, x, dy, mask, dw, fence);
}
