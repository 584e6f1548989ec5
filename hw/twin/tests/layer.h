/* SPDX-License-Identifier: MIT */
/* The firmware's streamed linear layer and its weight gradient on a device under test. */
#ifndef WSE_TEST_LAYER_H
#define WSE_TEST_LAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "dev.h"

#define LAYER_G (DEV_DATA + (40u << 20)) /* in host memory: the gradient, binary32 [n][cols][k] */

struct shape {
	uint32_t rows, cols, t, k, b, nblk;	  /* k per core, nblk blocks of b features */
	enum { BY_ROWS, MASKED, LINEAR } weights; /* how they lie; gradients lie by rows */
};

/* how the doorbells of a gradient's three queues come */
struct bells {
	uint8_t order[3]; /* of queues */
	bool more;	  /* as one batch */
	uint64_t stop[2]; /* cycles that pass after the first and the second */
};

struct run {
	struct dev d;
	const struct bells *bells; /* NULL: as one batch without a stop */
	struct shape s;
	uint16_t *x, *w, *dy; /* x[rows][cols][k][t], w[n][cols * k], dy[rows][n][t] */
	uint8_t *mask;	      /* [n][cols][mrow] */
	uint32_t n, y, mrow;
};

int layer_load(void); /* the programs, from build/firmware; 0: they are there and fit */
void layer_seed(uint32_t seed); /* of the data of the layers opened from now on */
void layer_dma_latency(uint32_t cycles); /* of the bus, likewise; 0: the model's own */
int run_open(struct run *r, const struct shape *s, uint32_t flags, uint32_t threads);
void run_close(struct run *r);
/* on the device; seconds it took, or < 0 */
double forward(struct run *r, struct wse_cqe *e);
double wgrad(struct run *r, struct wse_cqe *e);

#endif /* WSE_TEST_LAYER_H */
