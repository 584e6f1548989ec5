// SPDX-License-Identifier: GPL-2.0
/*
 * Fences of jobs.
 *
 * A context has a timeline for each set of queues: a queue executes its commands in order, so jobs
 * with commands on the same queues end in the order in which they were accepted. Jobs on different
 * ones end in any order, so they must not share a timeline.
 */
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "wse_ctx.h"
#include "wse_dev.h"
#include "wse_fence.h"

struct wse_fence {
	struct dma_fence base;
#ifndef WSE_HAVE_FENCE_LOCK
	spinlock_t lock; /* dma_fence's own */
#endif
};

/* without a release of ours, the core frees what begins where the fence does */
static_assert(offsetof(struct wse_fence, base) == 0);

static const char *wse_fence_driver_name(struct dma_fence *fence)
{
	return "wse";
}

static const char *wse_fence_timeline_name(struct dma_fence *fence)
{
	return "submit";
}

/* No release: nothing of this module may be needed to free a fence, see wse_fence_orphan(). */
static const struct dma_fence_ops wse_fence_ops = {
	.get_driver_name = wse_fence_driver_name,
	.get_timeline_name = wse_fence_timeline_name,
};

#ifndef WSE_HAVE_FENCE_DETACH
static const struct dma_fence_ops *wse_stub_ops; /* constant once the module is loaded */
#endif

#ifndef WSE_HAVE_FENCE_LOCK
/*
 * What lockdep knows the locks of fences by. Fences may outlive this module, and lockdep forgets
 * what lies in it, so this lies outside and is never freed: some bytes, on kernels with lockdep,
 * for each time that the module is loaded.
 */
struct wse_fence_class {
	struct lock_class_key key;
	char name[16];
};

static struct wse_fence_class *wse_fence_class; /* or NULL; constant once the module is loaded */

static void wse_fence_class_init(void)
{
	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return;
	wse_fence_class = kzalloc(sizeof(*wse_fence_class), GFP_KERNEL);
	if (!wse_fence_class)
		return;
	strscpy(wse_fence_class->name, "wse_fence.lock");
	lockdep_register_key(&wse_fence_class->key);
}

static void wse_fence_lock_init(spinlock_t *lock)
{
	spin_lock_init(lock);
	if (wse_fence_class)
		lockdep_set_class_and_name(lock, &wse_fence_class->key, wse_fence_class->name);
}
#endif

/* Not when a fence signals: getting the stub takes a lock that is not for interrupts. */
void wse_fences_init(void)
{
#ifndef WSE_HAVE_FENCE_DETACH
	struct dma_fence *stub = dma_fence_get_stub();

	wse_stub_ops = stub->ops;
	dma_fence_put(stub);
#endif
#ifndef WSE_HAVE_FENCE_LOCK
	wse_fence_class_init();
#endif
}

/* The module is about to go, all fences have signalled. */
void wse_fences_exit(void)
{
	synchronize_rcu();
#ifndef WSE_HAVE_FENCE_DETACH
	/* the names are not asked for under RCU: until every task has been scheduled away once */
	synchronize_rcu_tasks();
#endif
}

/* Room for a fence, or NULL: wse_fence_init() makes it one, wse_fence_free() is for before that. */
struct dma_fence *wse_fence_alloc(void)
{
	struct wse_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL_ACCOUNT);

	return fence ? &fence->base : NULL;
}

void wse_fence_free(struct dma_fence *fence)
{
	if (fence)
		kfree(container_of(fence, struct wse_fence, base));
}

/*
 * The next one of the timeline of this set of queues (bit 0: queue 1). From here on it must signal.
 * Caller holds wse_device.lock.
 */
void wse_fence_init(struct dma_fence *base, struct wse_ctx *ctx, u32 queues)
{
	u32 seqno = ++ctx->seqno[queues];
	spinlock_t *lock = NULL; /* a fence has one */

#ifndef WSE_HAVE_FENCE_LOCK
	lock = &container_of(base, struct wse_fence, base)->lock;
	wse_fence_lock_init(lock);
#endif
	lockdep_assert_held(&ctx->wdev->lock);
	dma_fence_init(base, &wse_fence_ops, lock, ctx->timelines + queues, seqno);
}

/*
 * A fence that has signalled may outlive the device, every file of ours and this module: whoever
 * holds it, and be it a leak of the core, must not pin the module for ever. All that is still asked
 * of it are names, and the core's stub has some. wse_fences_exit() waits for those who ask now.
 */
static void wse_fence_orphan(struct dma_fence *fence)
{
#ifndef WSE_HAVE_FENCE_DETACH
	WRITE_ONCE(fence->ops, wse_stub_ops);
#endif
}

/*
 * Any context. Two processors may do this to two fences of a timeline in either order: the jobs of
 * both have ended by then, in theirs.
 */
void wse_fence_signal(struct dma_fence *fence, int err)
{
	if (err)
		dma_fence_set_error(fence, err);
	dma_fence_signal(fence);
	wse_fence_orphan(fence);
}
