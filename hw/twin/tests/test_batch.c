// SPDX-License-Identifier: MIT
/*
 * A host that is away between two doorbells: a gradient's START is CLOSED, and its streams lie in
 * two other rings. Whatever the order of the doorbells and wherever the host stops, a batch is one
 * event.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "layer.h"

#define STOP 5000 /* cycles: more than the 1,024 after which a CLOSED start is judged */

static const struct shape shape = {.rows = 2, .cols = 2, .t = 8, .k = 8, .b = 1, .nblk = 6};
static uint32_t bytes;

/* the status of the START, or of what else failed; the gradient is in host memory */
static unsigned int gradient(const struct bells *b, uint8_t *out)
{
	struct wse_cqe e = {0};
	struct run r;
	bool good;

	layer_seed(7);
	if (run_open(&r, &shape, 0, 1)) {
		ok(false, "open");
		return ~0u;
	}
	r.bells = b;
	bytes = r.n * shape.cols * shape.k * 4;
	good = wgrad(&r, &e) >= 0;
	memcpy(out, r.d.mem + LAYER_G, bytes);
	run_close(&r);
	return good ? WSE_ST_OK : e.status >> 1;
}

/* a stream whose elements are on their way is no reason to call its START stuck */
static void test_slow_bus(void)
{
	static const struct shape wide = {
		.rows = 2, .cols = 2, .t = 8, .k = 64, .b = 4, .nblk = 24};
	struct wse_cqe e = {0};
	struct run r;

	layer_dma_latency(STOP);
	if (ok(!run_open(&r, &wide, 0, 1), "a bus that answers after %u cycles", STOP))
		ok(forward(&r, &e) >= 0, "is slow, and its START not stuck: status %u",
		   e.status >> 1);
	run_close(&r);
	layer_dma_latency(0);
}

int main(void)
{
	static const uint8_t orders[6][3] = {{1, 2, 3}, {1, 3, 2}, {2, 1, 3},
					     {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};
	uint32_t i, place, deadlocks = 0, zero = 0;
	uint8_t *want = calloc(1, 65536), *got = calloc(1, 65536);

	if (layer_load()) {
		ok(false, "build/firmware is there");
		return tap_end();
	}
	is(gradient(NULL, want), WSE_ST_OK, "a gradient, its doorbells in one batch");
	for (i = 0; i < bytes; i++)
		zero += !want[i];
	ok(zero < bytes / 2, "which is none of zeros");
	for (i = 0; i < 6; i++) {
		for (place = 1; place < 4; place++) {
			struct bells b = {.more = true};
			unsigned int status;

			memcpy(b.order, orders[i], 3);
			b.stop[0] = place & 1 ? STOP : 0;
			b.stop[1] = place & 2 ? STOP : 0;
			memset(got, 0xee, bytes);
			status = gradient(&b, got);
			ok(status == WSE_ST_OK && !memcmp(got, want, bytes),
			   "doorbells %u %u %u, a stop%s%s: status %u, the same bits", b.order[0],
			   b.order[1], b.order[2], place & 1 ? " after the first" : "",
			   place & 2 ? " after the second" : "", status);
			b.more = false;
			deadlocks += gradient(&b, got) == WSE_ST_DEADLOCK;
		}
	}
	test_slow_bus();
	ok(deadlocks >= 6, "without MORE %u of the 18 are taken for deadlocks: the stops are felt",
	   deadlocks);
	free(want);
	free(got);
	return tap_end();
}
