// SPDX-License-Identifier: MIT
/*
 * One linear layer, Y = X W^T, on a wafer, and the same sums on the host:
 *
 *	linear [DEVICE]
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <wse/wse.h>

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

int main(int argc, char **argv)
{
	const struct wse_linear_shape shape = {
		.tokens = TOKENS, .inputs = INPUTS, .outputs = OUTPUTS};
	struct wse_device *dev = NULL;
	struct wse_context *ctx = NULL;
	struct wse_linear *layer = NULL;
	struct wse_buffer *x = NULL, *w = NULL, *y = NULL;
	int ret = wse_device_open(argc > 1 ? argv[1] : "sim:func,rows=4,cols=4", &dev);

	ret = ret ? ret : wse_context_create(dev, 0, &ctx);
	ret = ret ? ret : wse_linear_create(ctx, &shape, &layer);
	ret = ret ? ret : wse_buffer_create(dev, INPUTS * TOKENS * 2, &x);
	ret = ret ? ret : wse_buffer_create(dev, OUTPUTS * INPUTS * 2, &w);
	ret = ret ? ret : wse_buffer_create(dev, OUTPUTS * TOKENS * 4, &y);
	for (int i = 0; i < INPUTS * TOKENS && !ret; i++)
		((uint16_t *)wse_buffer_map(x))[i] = bf16(value(i));
	for (int i = 0; i < OUTPUTS * INPUTS && !ret; i++)
		((uint16_t *)wse_buffer_map(w))[i] = bf16(value(i + 3));
	if (!ret) /* no mask, no fence: all weights, and wait */
		ret = wse_linear_forward(layer, (struct wse_place){x, 0}, (struct wse_place){w, 0},
					 (struct wse_place){0}, (struct wse_place){y, 0}, NULL);
	if (ret)
		fprintf(stderr, "%s\n", wse_error());
	else
		printf("%d x %d weights, %d tokens: at most %g off the host's sums\n", OUTPUTS,
		       INPUTS, TOKENS, worst(wse_buffer_map(y)));
	wse_buffer_destroy(y);
	wse_buffer_destroy(w);
	wse_buffer_destroy(x);
	wse_linear_destroy(layer);
	wse_context_destroy(ctx);
	wse_device_close(dev);
	return ret != 0;
}
