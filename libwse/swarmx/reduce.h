/* SPDX-License-Identifier: MIT */
/* The left-balanced reduction tree of one unit's gradients, streaming; see swarmx.h. */
#ifndef WSE_TRAIN_REDUCE_H
#define WSE_TRAIN_REDUCE_H

#include <pthread.h>
#include <stdint.h>

#include "memx/memx.h"

/* a gradient buffer, or a partial sum in one, waiting for its partner */
struct wse_node {
	struct wse_shared_buf *buf;
	struct wse_node *next;
	uint32_t level, pos;	/* the sum over leaves [pos 2^level, (pos + 1) 2^level) below n */
};

struct wse_reduce {
	struct wse_buf_pool pool;
	size_t count;		/* floats of a gradient */
	uint32_t leaves;	/* micro-batches of the step */
	pthread_mutex_t lock;
	struct wse_node *waiting, *spare, *lent;
	struct wse_node *root;	/* set when the sum is complete */
	struct wse_node *held;	/* the sum of the last step, which MemoryX still reads */
	uint32_t nodes;		/* buffers in all, for the memory test */
};

int wse_reduce_init(struct wse_reduce *r, const struct wse_buf_pool *pool, size_t count);
void wse_reduce_fini(struct wse_reduce *r);
/* begin a step, or begin it again: whatever waits or is lent is dropped */
void wse_reduce_begin(struct wse_reduce *r, uint32_t leaves);
int wse_reduce_get(struct wse_reduce *r, struct wse_shared_buf **buf);
/* thread-safe; adds up as far as partners are there. -EINVAL for a buffer that was not lent */
int wse_reduce_put(struct wse_reduce *r, uint32_t leaf, struct wse_shared_buf *buf);
/*
 * the sum of all leaves [count], NULL while some are missing; it stays until the next one is taken
 */
float *wse_reduce_take(struct wse_reduce *r);

#endif
