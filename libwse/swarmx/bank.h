/* SPDX-License-Identifier: MIT */
/*
 * Buffers for gradients of all units, where these do not stay in memory: one that is given back
 * serves the next.
 */
#ifndef WSE_SWARMX_BANK_H
#define WSE_SWARMX_BANK_H

#include <pthread.h>

#include "memx/memx.h"

struct wse_bank_buf;

struct wse_bank {
	struct wse_buf_pool pool;
	pthread_mutex_t lock;
	size_t limit, total; /* bytes: above the limit what is given back is freed */
	size_t most;	     /* that total has been */
	struct wse_bank_buf *spare;
};

int wse_bank_init(struct wse_bank *b, const struct wse_buf_pool *pool);
void wse_bank_fini(struct wse_bank *b); /* what is lent stays the pool's */
void wse_bank_limit(struct wse_bank *b, size_t bytes);
void wse_bank_empty(struct wse_bank *b); /* of spare buffers */

/* any thread; spare buffers of other sizes make room. -errno of the pool */
int wse_bank_get(struct wse_bank *b, size_t size, struct wse_shared_buf **buf);
void wse_bank_put(struct wse_bank *b, struct wse_shared_buf *buf);

#endif
