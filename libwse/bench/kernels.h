/* SPDX-License-Identifier: MIT */
/* Single layers of train.elf on a tile of the RTL, for benchmarks. */
#ifndef WSE_BENCH_KERNELS_H
#define WSE_BENCH_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "wse_kernel.h"

/* a tile with the program, and zeros for its streams */
struct bench_kernel_tile {
	uint32_t rows, cols;
	struct wse_device *dev;
	struct wse_context *ctx;
	struct wse_program *prog;
	struct wse_buffer *w, *dw;
	uint32_t base; /* address of the free SRAM */
};

/* a layer; features: of a column */
struct bench_layer {
	uint32_t k, t, b, features;
	int wgrad, bias;
	enum wse_post post;
};

/* bytes: of a layer's weights, and of its gradients. -ENOTSUP: that tile was not built */
int bench_kernels_open(struct bench_kernel_tile *s, uint32_t rows, uint32_t cols, size_t bytes);
void bench_kernels_close(struct bench_kernel_tile *s);
/* device cycles of one layer, its streams and its start, or a negative errno */
int64_t bench_layer_cycles(const struct bench_kernel_tile *s, const struct bench_layer *l);

#endif
