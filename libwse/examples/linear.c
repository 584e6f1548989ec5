// SPDX-License-Identifier: MIT
/*
 * One linear layer, Y = X W^T, on a wafer, with the cycles that it takes, and the same sums on the
 * host:
 *
 *	linear [DEVICE]
 *
 * The device has up to 8 rows and columns, so that tokens, inputs and outputs divide.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <wse/wse.h>
#include <wse/layer.h>

enum { INPUTS = 64, OUTPUTS = 32, TOKENS = 64 };

/* small numbers are bf16 without rounding: the upper half of a float */
static uint16_t bf16(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return (uint16_t)(u >> 16);
}

static float value(int i)
{
	return (float)(i * 7 % 17 - 8) / 8.0f;
}

/* x [INPUTS][TOKENS], w [OUTPUTS][INPUTS], y [OUTPUTS][TOKENS]: the sum that is farthest off */
static double worst(const float *y)
{
	double most = 0.0;

	for (int n = 0; n < OUTPUTS; n++)
		for (int t = 0; t < TOKENS; t++) {
			double sum = 0.0;

			for (int k = 0; k < INPUTS; k++)
				sum += value(k * TOKENS + t) * value(n * INPUTS + k + 3);
			most = fmax(most, fabs(sum - y[n * TOKENS + t]));
		}
	return most;
}

/*
 * the commands of one product: x into the cores, the weights through them, y back. The cycles that
 * these took
 */
static int product(struct wse_context *ctx, struct wse_buffer *x, struct wse_buffer *w,
		   struct wse_buffer *y, uint32_t *cycles)
{
	struct drm_wse_info info;
	struct wse_program *kernels = NULL;
	struct wse_fence *fence = NULL;
	uint32_t entry, begin, end;
	int ret = wse_device_info(wse_context_device(ctx), &info);

	ret = ret ? ret : wse_program_load(ctx, "linear.elf", &kernels);
	ret = ret ? ret : wse_program_symbol(kernels, "linear_forward", &entry);
	if (!ret) {
		uint32_t t = TOKENS / info.rows, k = INPUTS / info.cols, n = OUTPUTS / info.cols;
		struct wse_layer tile = {info.rows, info.cols, t, wse_layer_block(n, t)};
		uint32_t at_x = wse_program_end(kernels), at_y = at_x + k * t * 2;
		struct wse_linear_args args = {
			.x = WSE_SRAM_BASE + at_x,
			.y = WSE_SRAM_BASE + at_y,
			.t = t,
			.k = k,
			.nblk = OUTPUTS / tile.b,
			.b = tile.b,
		};
		struct wse_copy in = wse_layer_values(&tile, k, 2),
				out = wse_layer_values(&tile, n, 4);
		struct drm_wse_cmd cmds[5];

		in.buf = x;
		in.sram = at_x;
		out.buf = y;
		out.sram = at_y;
		cmds[0] = wse_cmd_copy_in(in);
		cmds[1] = wse_cmd_fence(2, 0); /* queue 2 waits for that */
		cmds[2] = wse_layer_image(&tile, OUTPUTS, INPUTS);
		cmds[2].bo = wse_buffer_handle(w);
		cmds[2].queue = 2;
		cmds[3] = wse_layer_start(&tile, 1, entry, &args, sizeof(args));
		cmds[4] = wse_cmd_copy_out(out);
		ret = wse_submit(ctx, cmds, 5, NULL, 0, &fence);
		ret = ret ? ret : wse_fence_wait(fence, WSE_FOREVER);
	}
	*cycles = !ret && !wse_fence_cycles(fence, &begin, &end) ? end - begin
								 : 0; /* a node does not tell */
	wse_fence_destroy(fence);
	wse_program_destroy(kernels);
	return ret;
}

int main(int argc, char **argv)
{
	struct wse_device *dev = NULL;
	struct wse_context *ctx = NULL;
	struct wse_buffer *x = NULL, *w = NULL, *y = NULL;
	uint32_t cycles = 0;
	int ret = wse_device_open(argc > 1 ? argv[1] : "sim:func,rows=4,cols=4", &dev);

	ret = ret ? ret : wse_context_create(dev, 0, &ctx);
	ret = ret ? ret : wse_buffer_create(dev, INPUTS * TOKENS * 2, &x);
	ret = ret ? ret : wse_buffer_create(dev, OUTPUTS * INPUTS * 2, &w);
	ret = ret ? ret : wse_buffer_create(dev, OUTPUTS * TOKENS * 4, &y);
	for (int i = 0; i < INPUTS * TOKENS && !ret; i++)
		((uint16_t *)wse_buffer_map(x))[i] = bf16(value(i));
	for (int i = 0; i < OUTPUTS * INPUTS && !ret; i++)
		((uint16_t *)wse_buffer_map(w))[i] = bf16(value(i + 3));
	ret = ret ? ret : product(ctx, x, w, y, &cycles);
	if (ret)
		fprintf(stderr, "%s\n", wse_error());
	else
		printf("%d x %d weights, %d tokens in %u cycles: at most %g off the host's sums\n",
		       OUTPUTS, INPUTS, TOKENS, cycles, worst(wse_buffer_map(y)));
	wse_buffer_destroy(y);
	wse_buffer_destroy(w);
	wse_buffer_destroy(x);
	wse_context_destroy(ctx);
	wse_device_close(dev);
	return ret != 0;
}
