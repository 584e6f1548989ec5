// SPDX-License-Identifier: GPL-2.0
/*
 * Fences of jobs.
 *
 * A context has a timeline for each set of queues: a queue executes its commands in order, so jobs
 * with commands on the same queues end in the order in which they were accepted. Jobs on different
 * queues end in any order, so they must not share a timeline.
 */
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "wse_compat.h"
#include "wse_ctx.h"
#include "wse_dev.h"
#include "wse_fence.h"

static const char *wse_fence_driver_name(struct dma_fence *fence)
{
	return "wse";
}

static const char *wse_fence_timeline_name(struct dma_fence *fence)
{
	return "submit";
}

/*
 * A fence that has signalled may outlive the device, all files of this driver and this module: its
 * holder, even a leak in the core, must not pin the module without end. So there is no release, the
 * core drops these ops with the signal, and wse_fences_exit() waits for code that still reads them.
 */
static const struct dma_fence_ops wse_fence_ops = {
	.get_driver_name = wse_fence_driver_name,
	.get_timeline_name = wse_fence_timeline_name,
};

/* The module is about to go, all fences have signalled. */
void wse_fences_exit(void)
{
	synchronize_rcu();
}

/*
 * Memory of a fence, or NULL: wse_fence_init() makes it a fence, wse_fence_free() frees it before
 * that.
 */
struct dma_fence *wse_fence_alloc(void)
{
	return kzalloc(WSE_FENCE_BYTES, GFP_KERNEL_ACCOUNT);
}

void wse_fence_free(struct dma_fence *fence)
{
	kfree(fence);
}

/*
 * The next fence of the timeline of this set of queues (bit 0: queue 1). From here on it must
 * signal. Caller holds wse_device.lock.
 */
void wse_fence_init(struct dma_fence *fence, struct wse_ctx *ctx, u32 queues)
{
	u32 seqno = ++ctx->seqno[queues];

	lockdep_assert_held(&ctx->wdev->lock);
	dma_fence_init(fence, &wse_fence_ops, wse_fence_lock(fence), ctx->timelines + queues,
		       seqno);
}

/*
 * Any context. Two processors may signal two fences of a timeline in either order: the jobs of both
 * have ended by then, in their order.
 */
void wse_fence_signal(struct dma_fence *fence, int err)
{
	if (err)
		dma_fence_set_error(fence, err);
	dma_fence_signal(fence);
	wse_fence_detach(fence);
}
