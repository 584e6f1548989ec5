// SPDX-License-Identifier: GPL-2.0
/*
 * Features that older kernels lack: a fence with its own lock, which needs nothing of its driver
 * once it has signalled.
 */
#include <linux/lockdep.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "wse_compat.h"

#ifndef WSE_HAVE_FENCE_DETACH
static const struct dma_fence_ops *wse_stub_ops; /* constant once the module is loaded */

/* The core asks such a fence for names alone, and its stub has names. */
void wse_fence_detach(struct dma_fence *fence)
{
	WRITE_ONCE(fence->ops, wse_stub_ops);
}
#endif

#ifndef WSE_HAVE_FENCE_LOCK
/*
 * Lockdep's class of the locks of fences. Fences may outlive this module, and lockdep drops classes
 * inside a module with it, so the class lies outside and is never freed: a few bytes per load of
 * the module, on kernels with lockdep.
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

spinlock_t *wse_fence_lock(struct dma_fence *fence)
{
	spinlock_t *lock = (spinlock_t *)(fence + 1);

	spin_lock_init(lock);
	if (wse_fence_class)
		lockdep_set_class_and_name(lock, &wse_fence_class->key, wse_fence_class->name);
	return lock;
}
#endif

/*
 * Must not run when a fence signals: getting the stub takes a lock that interrupts must not take.
 */
void wse_compat_init(void)
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

void wse_compat_exit(void)
{
#ifndef WSE_HAVE_FENCE_DETACH
	/* names are not read under RCU: wait until every task has been scheduled away once */
	synchronize_rcu_tasks();
#endif
}
