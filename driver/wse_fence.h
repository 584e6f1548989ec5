/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_FENCE_H
#define WSE_FENCE_H

#include <linux/cleanup.h>
#include <linux/dma-fence.h>

struct wse_ctx;

/*
 * Marks the scope as one that accepted fences wait for. It must not wait for memory, nor for a lock
 * whose holder may wait for memory or for fences. Comes before all locks.
 */
DEFINE_LOCK_GUARD_0(wse_signalling, _T->cookie = dma_fence_begin_signalling(),
		    dma_fence_end_signalling(_T->cookie), bool cookie)

void wse_fences_exit(void);
struct dma_fence *wse_fence_alloc(void);
void wse_fence_free(struct dma_fence *fence);
void wse_fence_init(struct dma_fence *fence, struct wse_ctx *ctx, u32 queues);
void wse_fence_signal(struct dma_fence *fence, int err);

#endif
