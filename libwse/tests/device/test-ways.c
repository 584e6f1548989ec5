// SPDX-License-Identifier: MIT
/*
 * exact=1: the twin takes none of the ways that save time, and a layer's products and weight
 * gradients have the same bits as on the twin that does. The counters say that both did as they
 * were told.
 */
#include <stdlib.h>
#include <string.h>

#include <wse/wse.h>
#include "linear.h"
#include "sim/sim.h"
#include "tap.h"
#include "twin/func.h"

#define TILE "sim:func,rows=4,cols=4"

enum { T = 64, K = 128, N = 64 };

static int read_ways(struct sim *sim, void *arg)
{
	twin_ways(sim->machine, arg);
	return 0;
}

/* any numbers of many exponents: each order of a sum gives other bits */
static struct place operand(struct wse_device *dev, size_t n, uint32_t seed)
{
	struct place p = {0};
	uint16_t *v;
	size_t i;

	if (wse_buffer_create(dev, n * 2, &p.buf))
		exit(2);
	v = wse_buffer_map(p.buf);
	for (i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		v[i] = (uint16_t)((seed >> 16 & 0x80ff) | (0x3c00 + (seed >> 8 & 0x300)));
	}
	return p;
}

/* Y and dW behind each other into out[N * T + N * K], and what the twin did for them */
static bool layer(const char *uri, uint32_t *out, struct twin_ways *ways)
{
	struct place x, w, dy, y = {0}, dw = {0};
	struct linear lin = {0};
	struct wse_context *ctx;
	struct wse_device *dev;
	bool good;

	if (wse_device_open(uri, &dev)) {
		printf("# %s\n", wse_error());
		return false;
	}
	if (wse_context_create(dev, 0, &ctx) || wse_buffer_create(dev, N * T * 4, &y.buf) ||
	    wse_buffer_create(dev, N * K * 4, &dw.buf))
		exit(2);
	x = operand(dev, K * T, 1);
	w = operand(dev, N * K, 2);
	dy = operand(dev, N * T, 3);
	good = !linear_open(&lin, ctx, T, K, N, 0) &&
	       !linear_forward(&lin, x, w, (struct place){0}, y, NULL) &&
	       !linear_backward_weight(&lin, x, dy, (struct place){0}, dw, NULL);
	memcpy(out, wse_buffer_map(y.buf), N * T * 4);
	memcpy(out + N * T, wse_buffer_map(dw.buf), N * K * 4);
	sim_call(to_sim(dev), read_ways, ways);
	linear_close(&lin);
	wse_buffer_destroy(x.buf);
	wse_buffer_destroy(w.buf);
	wse_buffer_destroy(dy.buf);
	wse_buffer_destroy(y.buf);
	wse_buffer_destroy(dw.buf);
	wse_context_destroy(ctx);
	wse_device_close(dev);
	return good;
}

int main(void)
{
	static uint32_t fast[N * T + N * K], exact[N * T + N * K];
	struct twin_ways f = {0}, e = {0}, none = {0};
	size_t i, set = 0;

	ok(layer(TILE, fast, &f), "a layer and its weight gradient");
	ok(f.known && f.runs && f.kept && f.values && f.in_place,
	   "by the ways that save time: %llu runs", (unsigned long long)f.runs);
	ok(layer(TILE ",exact=1", exact, &e), "the same with exact=1");
	ok(!memcmp(&e, &none, sizeof(e)), "by none of them");
	for (i = 0; i < sizeof(fast) / sizeof(*fast); i++)
		set += fast[i] != 0;
	ok(set > N * K, "%zu numbers are not 0", set);
	ok(!memcmp(fast, exact, sizeof(fast)), "and the same bits");
	ok(layer(TILE ",exact=0", exact, &e) && e.runs, "exact=0 is the twin as it is");
	return tap_end();
}
