// SPDX-License-Identifier: MIT
/*
 * Cycles of train.elf's kernels on the RTL, 4x4 cores: device cycles of two runs that differ in the
 * number of blocks (or in what comes after them) and in nothing else, so that set-up, fill and the
 * commands themselves cancel out. Values do not matter to the cycles: everything is zero.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wse/wse.h>
#include <wse/layer.h>

#include "bench.h"
#include "kernels.h"
#include "profile.h"
#include "wse_regs.h"

#define ROWS   4u
#define COLS   4u
#define T      16u

#define BUFFER (1u << 20) /* zeros, more than any layer here has */

int bench_kernels_open(struct bench_kernel_tile *s, uint32_t rows, uint32_t cols, size_t bytes)
{
	const char *dir = getenv("WSE_KERNELS");
	char path[4096], uri[64];
	int ret;

	memset(s, 0, sizeof(*s));
	s->rows = rows;
	s->cols = cols;
	snprintf(path, sizeof(path), "%s/train.elf", dir ? dir : WSE_BUILD_FIRMWARE);
	snprintf(uri, sizeof(uri), "sim:rtl,rows=%u,cols=%u", rows, cols);
	ret = wse_device_open(uri, &s->dev);
	if (ret)
		return ret;
	ret = wse_context_create(s->dev, 0, &s->ctx);
	if (!ret)
		ret = wse_program_load(s->ctx, path, &s->prog);
	if (!ret)
		ret = wse_buffer_create(s->dev, bytes, &s->w);
	if (!ret)
		ret = wse_buffer_create(s->dev, bytes, &s->dw);
	if (!ret)
		s->base = WSE_SRAM_BASE + wse_program_end(s->prog);
	return ret;
}

void bench_kernels_close(struct bench_kernel_tile *s)
{
	wse_program_destroy(s->prog);
	wse_buffer_destroy(s->w);
	wse_buffer_destroy(s->dw);
	wse_context_destroy(s->ctx);
	wse_device_close(s->dev);
}

static struct drm_wse_cmd start_of(const struct bench_kernel_tile *s, const char *kernel,
				   const void *args, size_t size)
{
	struct wse_start start = {.queue = 1, .rows = s->rows, .cols = s->cols};

	wse_program_symbol(s->prog, kernel, &start.entry);
	memcpy(start.arg, args, size);
	return wse_cmd_start(start);
}

/* device cycles of commands, or a negative errno */
static int64_t cycles_of(const struct bench_kernel_tile *s, const struct drm_wse_cmd *cmds,
			 uint32_t n)
{
	struct wse_fence *fence;
	uint32_t begin, end;
	int ret = wse_submit(s->ctx, cmds, n, NULL, 0, &fence);

	if (!ret) {
		ret = wse_fence_wait(fence, WSE_FOREVER);
		if (!ret)
			ret = wse_fence_cycles(fence, &begin, &end);
		if (!ret)
			ret = bench_profile_submit(s->dev, fence, cmds, n);
		wse_fence_destroy(fence);
	}
	return ret ? ret : (int64_t)(end - begin);
}

int64_t bench_layer_cycles(const struct bench_kernel_tile *s, const struct bench_layer *l)
{
	uint32_t x = s->base, y = x + l->k * l->t * 2, elements = l->features * l->t, n = 0;
	struct wse_linear_args forward = {.x = x,
					  .y = y,
					  .t = l->t,
					  .k = l->k,
					  .nblk = s->cols * l->features / l->b,
					  .b = l->b,
					  .post = l->post,
					  .bias = l->bias ? y + elements * 6 : 0,
					  .out = y,
					  .aux = y + elements * 8,
					  .out2 = y + elements * 4};
	struct wse_wgrad_args wgrad = {.x = x,
				       .dy = y,
				       .t = l->t,
				       .k = l->k,
				       .nblk = forward.nblk,
				       .b = l->b,
				       .db = l->bias ? y + elements * 6 : 0};
	struct wse_layer shape = {s->rows, s->cols, l->t, l->b};
	uint32_t ins = l->k * s->cols, outs = l->features * s->cols;
	struct drm_wse_cmd in =
		l->wgrad ? wse_layer_index(&shape, outs, ins) : wse_layer_image(&shape, outs, ins);
	struct drm_wse_cmd out = wse_layer_grads(&shape, outs, ins);
	struct drm_wse_cmd cmds[3];

	in.bo = l->wgrad ? 0 : wse_buffer_handle(s->w);
	in.queue = 2;
	out.bo = wse_buffer_handle(s->dw);
	out.queue = 3;
	cmds[n++] = in;
	if (l->wgrad) {
		cmds[n++] = out;
		cmds[n++] = start_of(s, "linear_wgrad", &wgrad, sizeof(wgrad));
	} else {
		cmds[n++] = start_of(s, "linear_forward", &forward, sizeof(forward));
	}
	return cycles_of(s, cmds, n);
}

/*
 * cycles of one more block: 16 features a column against 32; rest: what is left without any block
 */
static int block_cycles(const struct bench_kernel_tile *s, struct bench_layer l, double *cycles,
			double *rest)
{
	int64_t few, many;

	l.features = 16;
	few = bench_layer_cycles(s, &l);
	l.features = 32;
	many = bench_layer_cycles(s, &l);
	if (few < 0 || many < 0)
		return (int)(few < 0 ? few : many);
	*cycles = (double)(many - few) / (COLS * 16 / l.b);
	*rest = (double)(2 * few - many);
	return 0;
}

static int linear_block_cycles(struct bench_measure *m)
{
	static const struct {
		const char *name;
		struct bench_layer layer;
	} rows[] = {
		{"forward_k16_t16", {.k = 16, .t = 16, .b = 4}},
		{"forward_k16_t16_bias", {.k = 16, .t = 16, .b = 4, .bias = 1}},
		{"forward_k16_t32", {.k = 16, .t = 32, .b = 2}},
		{"forward_k16_t32_bias", {.k = 16, .t = 32, .b = 2, .bias = 1}},
		{"forward_k64_t16", {.k = 64, .t = 16, .b = 4}},
		{"forward_k64_t16_bias", {.k = 64, .t = 16, .b = 4, .bias = 1}},
		{"wgrad_k16_t16", {.k = 16, .t = 16, .b = 4, .wgrad = 1}},
		{"wgrad_k16_t32", {.k = 16, .t = 32, .b = 2, .wgrad = 1}},
		{"wgrad_k64_t16", {.k = 64, .t = 16, .b = 4, .wgrad = 1}},
		{"wgrad_k64_t32", {.k = 64, .t = 32, .b = 2, .wgrad = 1}},
	};
	struct bench_kernel_tile s;
	double cycles = 0, rest = 0;
	int ret = bench_kernels_open(&s, ROWS, COLS, BUFFER);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && !ret; i++) {
		ret = block_cycles(&s, rows[i].layer, &cycles, &rest);
		if (ret)
			break;
		bench_count(m, rows[i].name, "cycles", cycles);
		if (!i)
			m->value = cycles;
		if (!i || i + 1 == sizeof(rows) / sizeof(rows[0]))
			bench_count(m, i ? "wgrad_rest" : "forward_rest", "cycles", rest);
	}
	bench_kernels_close(&s);
	return ret;
}

/* cycles of a pass, an element: with it against without */
static int pass_cycles(const struct bench_kernel_tile *s, enum wse_post post, int bias,
		       double *cycles)
{
	struct bench_layer l = {.k = 16, .t = 16, .b = 4, .features = 64};
	int64_t with, without = bench_layer_cycles(s, &l);

	l.post = post;
	l.bias = bias;
	with = bench_layer_cycles(s, &l);
	if (with < 0 || without < 0)
		return (int)(with < 0 ? with : without);
	*cycles = (double)(with - without) / (l.features * l.t);
	return 0;
}

static int gelu_cycles_element(struct bench_measure *m)
{
	static const struct {
		const char *name;
		enum wse_post post;
		int bias;
	} rows[] = {
		{"gelu_new", WSE_POST_GELU_NEW, 0},
		{"gelu", WSE_POST_GELU, 0},
		{"bias", WSE_POST_NONE, 1},
		{"bf16", WSE_POST_BF16, 0},
		{"relu", WSE_POST_RELU, 0},
		{"gate", WSE_POST_GATE, 0},
		{"mul", WSE_POST_MUL, 0},
		{"add16_and_bf16", WSE_POST_ADD16, 0},
		{"add32_and_bf16", WSE_POST_ADD32, 0},
	};
	struct bench_kernel_tile s;
	double cycles = 0;
	int ret = bench_kernels_open(&s, ROWS, COLS, BUFFER);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && !ret; i++) {
		ret = pass_cycles(&s, rows[i].post, rows[i].bias, &cycles);
		bench_count(m, rows[i].name, "cycles", cycles);
		if (!i)
			m->value = cycles;
	}
	bench_kernels_close(&s);
	return ret;
}

/*
 * what a block of a GPT does beside its products: width 64, 16 tokens a core; a start costs about
 * 260 of them
 */
static int norm_cycles(struct bench_measure *m)
{
	enum { H = 16, N = H * T };
	struct bench_kernel_tile s;
	int ret = bench_kernels_open(&s, ROWS, COLS, BUFFER);
	uint32_t a = s.base, b = a + 4 * N, c = b + 4 * N, vec = c + 4 * N, tok = vec + 16 * H,
		 work = tok + 8 * T;
	struct wse_norm_args norm = {a,	   b, vec, vec + 4 * H, tok,	    tok + 4 * T,
				     work, T, H,   0x3c800000,	0x3727c5ac, 0};
	struct wse_norm_back_args back = {a,	       b,    vec, tok, tok + 4 * T, c, b, vec,
					  vec + 4 * H, work, T,	  H,   0x3c800000,  1, 0};
	struct wse_add_args add = {a, b, c, N};
	struct wse_loss_args loss = {.y = a,
				     .dy = b,
				     .target = vec,
				     .loss = tok,
				     .work = work,
				     .t = T,
				     .v = H,
				     .scale = 0x3c800000,
				     .backward = 1,
				     .classes = COLS * H};
	struct drm_wse_cmd cmds[4];
	static const char *const names[] = {"norm", "norm_back", "add", "loss_of_64_classes"};
	int64_t cycles = 0;

	for (uint32_t i = 0; i < 4 && !ret && cycles >= 0; i++) {
		if (!i) {
			cmds[0] = start_of(&s, "norm", &norm, sizeof(norm));
			cmds[1] = start_of(&s, "norm_back", &back, sizeof(back));
			cmds[2] = start_of(&s, "add", &add, sizeof(add));
			cmds[3] = start_of(&s, "loss", &loss, sizeof(loss));
		}
		cycles = cycles_of(&s, &cmds[i], 1);
		bench_count(m, names[i], "cycles", (double)cycles);
		if (i < 2)
			m->value += (double)cycles;
	}
	bench_kernels_close(&s);
	return ret ? ret : cycles < 0 ? (int)cycles : 0;
}

const struct bench bench_kernels[] = {
	{"linear_block_cycles", "cycles",
	 "a block of a streamed layer on the RTL, 4x4 cores, 16 inputs and 16 tokens each, 4 features",
	 linear_block_cycles, 1},
	{"gelu_cycles_element", "cycles",
	 "GELU and its derivative on the RTL, an element of a core", gelu_cycles_element, 1},
	{"norm_cycles", "cycles",
	 "layer norm, forward and backward, of width 64 and 16 tokens a core on the RTL",
	 norm_cycles, 1},
	{0},
};
