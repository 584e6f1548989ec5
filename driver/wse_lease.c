// SPDX-License-Identifier: GPL-2.0
/*
 * The lease of a device, from scrub to scrub.
 *
 * Contexts wait for it in line. A worker does the device's part of its beginning and its end, which
 * takes as long as the device takes: a process that is being killed must not have to wait for that.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "wse_admin.h"
#include "wse_ctx.h"
#include "wse_dev.h"
#include "wse_fence.h"
#include "wse_ioctl.h"
#include "wse_job.h"
#include "wse_lease.h"
#include "wse_reset.h"

/* Device cycles that the firmware may take until it is ready for work. */
#define WSE_BOOT_CYCLES 10000000ull
#define WSE_LOAD_CYCLES 100000000ull

static struct wse_sqe wse_whole_tile(const struct wse_device *wdev, u8 op, u64 budget)
{
	return (struct wse_sqe){
		.opcode = op,
		.rows = cpu_to_le16(wdev->geom.rows),
		.cols = cpu_to_le16(wdev->geom.cols),
		.budget = cpu_to_le64(budget),
	};
}

/* The next owner finds no data of this one. */
static int wse_scrub(struct wse_device *wdev)
{
	struct wse_sqe sqe = wse_whole_tile(wdev, WSE_OP_SCRUB, 0);
	int ret = wse_admin(wdev, &sqe);

	wdev->clean = !ret;
	return ret;
}

static int wse_boot(struct wse_device *wdev)
{
	struct wse_sqe copy = wse_whole_tile(wdev, WSE_OP_COPY_IN, WSE_LOAD_CYCLES);
	struct wse_sqe start = wse_whole_tile(wdev, WSE_OP_START, WSE_BOOT_CYCLES);
	int ret;

	if (!wdev->clean) {
		ret = wse_quiesce(wdev, -ECANCELED);
		if (!ret)
			ret = wse_scrub(wdev);
		if (ret)
			return ret;
	}
	wdev->clean = false;
	copy.flags = WSE_SQF_BUF_DIRECT | WSE_SQF_BROADCAST;
	copy.buf = cpu_to_le64(wdev->fw.dma);
	copy.len = cpu_to_le32(wdev->fw.bytes);
	copy.nline = cpu_to_le32(1);
	ret = wse_admin(wdev, &copy);
	if (ret)
		return ret;
	start.flags = WSE_SQF_BOOT;
	start.sram = cpu_to_le32(wdev->fw.entry);
	return wse_admin(wdev, &start);
}

/* The lease of ctx ends as soon as the device is clean again. ctx takes no more submits. */
static void wse_lease_drop(struct wse_ctx *ctx)
{
	struct wse_device *wdev = ctx->wdev;

	scoped_guard(spinlock_irq, &wdev->lock) {
		if (!ctx->err)
			ctx->err = -ENOENT;
		ctx->looks = false;
		ctx->ending = true;
	}
	queue_work(wdev->wq, &wdev->lease_work);
}

/* Waits until the dropped lease of ctx has ended; false if this process is being killed. */
static bool wse_lease_wait_end(struct wse_ctx *ctx)
{
	/* a process that exits takes no signals any more, so nothing would end this wait */
	if (current->flags & (PF_EXITING | PF_KTHREAD))
		return false;
	return !wait_event_killable(ctx->wait, READ_ONCE(ctx->wdev->ctx) != ctx);
}

/* No step for an owner: the device is held. One that is lost is never released, and needs none. */
static bool wse_lease_held(const struct wse_device *wdev)
{
	return READ_ONCE(wdev->held) && !READ_ONCE(wdev->dead);
}

/*
 * Makes the device ready for an owner. -EINPROGRESS: the device is held, so this runs again later.
 * Caller holds hw_mutex.
 */
static int wse_lease_boot(struct wse_device *wdev)
{
	int ret = READ_ONCE(wdev->dead) ?: wse_boot(wdev);

	if (wse_lease_held(wdev))
		return -EINPROGRESS;
	if (!ret && READ_ONCE(wdev->error))
		ret = -EIO;
	if (ret && ret != -ENODEV) {
		dev_err_ratelimited(wdev->drm.dev, "the firmware did not boot: %d\n", ret);
		ret = -EIO;
	}
	return ret;
}

/* Gives a free lease to the first context in line and wakes up that one alone. */
static void wse_lease_next(struct wse_device *wdev)
{
	struct wse_ctx *ctx = list_first_entry_or_null(&wdev->waiters, struct wse_ctx, waiting);

	lockdep_assert_held(&wdev->lock);
	if (wdev->ctx || !ctx)
		return;
	list_del_init(&ctx->waiting);
	if (!++wdev->next_ctx)
		++wdev->next_ctx;
	ctx->id = wdev->next_ctx;
	wse_ctx_get(ctx);
	wdev->ctx = ctx;
	wake_up_all(&ctx->wait);
}

/* Does one step for the owner, with hw_mutex. Returns its context, with a reference, or NULL. */
static struct wse_ctx *wse_lease_act(struct wse_device *wdev)
{
	struct wse_ctx *ctx;
	bool ending, boot;

	scoped_guard(spinlock_irq, &wdev->lock) {
		/* while the device is held there is no step; wse_release() queues this again */
		ctx = wse_lease_held(wdev) ? NULL : wdev->ctx;
		ending = ctx && ctx->ending;
		boot = ctx && ctx->boot == -EINPROGRESS;
	}
	if (ending) {
		if (!wdev->clean && !wse_quiesce(wdev, -ECANCELED))
			wse_scrub(wdev);
		if (wse_lease_held(wdev))
			return NULL;
		scoped_guard(spinlock_irq, &wdev->lock) {
			wdev->ctx = NULL;
			wse_lease_next(wdev);
		}
		return ctx; /* the lease's reference */
	}
	if (!boot)
		return NULL;
	WRITE_ONCE(ctx->boot, wse_lease_boot(wdev));
	wse_ctx_get(ctx);
	return ctx;
}

/* The work for the owner: the beginning of a lease, or its end. */
void wse_lease_work(struct work_struct *work)
{
	struct wse_device *wdev = container_of(work, struct wse_device, lease_work);
	struct wse_ctx *ctx;

	/* jobs of a closed owner wait for this to end them */
	scoped_guard(wse_signalling) {
		guard(mutex)(&wdev->hw_mutex);
		wse_admin_deadline(wdev);
		ctx = wse_lease_act(wdev);
	}
	if (!ctx)
		return;
	wake_up_all(&ctx->wait);
	wse_ctx_put(ctx);
}

/* Takes ctx out of the line. */
static bool wse_lease_settled(struct wse_ctx *ctx)
{
	bool settled;

	scoped_guard(spinlock_irq, &ctx->wdev->lock)
		settled = list_empty(&ctx->waiting);
	return settled;
}

/*
 * Waits in line. Without wait: -EBUSY if another context has the lease or waits for it. 0: ctx has
 * the lease, in whatever state.
 */
int wse_lease_get(struct wse_ctx *ctx, bool wait)
{
	struct wse_device *wdev = ctx->wdev;
	int ret;

	scoped_guard(spinlock_irq, &wdev->lock) {
		if (wdev->dead)
			return wdev->dead;
		/* a closed owner does not count: the device becomes free after cleaning */
		if (!wait && (!list_empty(&wdev->waiters) || (wdev->ctx && !wdev->ctx->ending)))
			return -EBUSY;
		list_add_tail(&ctx->waiting, &wdev->waiters);
		wse_lease_next(wdev);
	}

	ret = wait_event_interruptible(ctx->wait, wse_lease_settled(ctx));
	scoped_guard(spinlock_irq, &wdev->lock)
		list_del_init(&ctx->waiting);
	/* err may come from a reset right after: a context with a lease must give it back */
	return ctx->id ? 0 : ret ?: ctx->err;
}

/* As wse_lease_get(), but a file stands in line once, however many threads it has. */
static int wse_lease_get_for(struct wse_file *priv, struct wse_ctx *ctx, bool wait)
{
	struct wse_device *wdev = ctx->wdev;
	int ret;

	scoped_guard(spinlock_irq, &wdev->lock) {
		if (priv->in_line)
			return -EBUSY;
		priv->in_line = true;
	}
	ret = wse_lease_get(ctx, wait);
	scoped_guard(spinlock_irq, &wdev->lock)
		priv->in_line = false;
	return ret;
}

/* ctx has the lease: waits until the device is ready for it. */
static int wse_lease_begin(struct wse_ctx *ctx)
{
	struct wse_device *wdev = ctx->wdev;
	int idx, ret;

	/*
	 * Not in a worker: fences wait for workers, and this waits for memory and for a file
	 * system, but not for the device.
	 */
	if (!drm_dev_enter(&wdev->drm, &idx))
		return -ENODEV;
	ret = wse_fw_get(wdev);
	drm_dev_exit(idx);
	if (ret)
		return ret;
	scoped_guard(spinlock_irq, &wdev->lock)
		ctx->boot = -EINPROGRESS;
	queue_work(wdev->wq, &wdev->lease_work);
	ret = wait_event_interruptible(ctx->wait, READ_ONCE(ctx->boot) != -EINPROGRESS ||
				       READ_ONCE(wdev->dead));
	return ret ?: READ_ONCE(wdev->dead) ?: READ_ONCE(ctx->boot);
}

int wse_ctx_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct wse_device *wdev = to_wse_device(drm);
	struct wse_file *priv = file->driver_priv;
	struct drm_wse_ctx_create *args = data;
	int ret;

	if (args->flags & ~DRM_WSE_CTX_WAIT)
		return -EINVAL;
	struct wse_ctx *ctx __free(wse_ctx) = wse_ctx_alloc(wdev);

	if (!ctx)
		return -ENOMEM;
	/* not in drm_dev_enter(): a waiting task must not hold up the device's removal */
	ret = wse_lease_get_for(priv, ctx, args->flags & DRM_WSE_CTX_WAIT);
	if (ret)
		return ret;
	ret = wse_lease_begin(ctx);
	if (ret) {
		wse_lease_drop(ctx);
		return ret;
	}
	args->ctx = ctx->id;
	scoped_guard(spinlock_irq, &wdev->lock)
		priv->ctx = no_free_ptr(ctx);
	return 0;
}

/* The file releases ctx, which is idle; -EAGAIN if it is not. */
static int wse_ctx_leave(struct wse_file *priv, struct wse_ctx *ctx)
{
	struct wse_device *wdev = ctx->wdev;

	scoped_guard(spinlock_irq, &wdev->lock) {
		if (priv->ctx != ctx)
			return -ENOENT; /* another thread has done it first */
		if (ctx->njobs && !wdev->dead)
			return -EAGAIN;
		priv->ctx = NULL;
		priv->cmds += ctx->cmds;
		priv->cycles += ctx->cycles;
		priv->busy += ctx->busy;
		if (!ctx->err)
			ctx->err = -ENOENT;
	}
	return 0;
}

int wse_ctx_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct wse_device *wdev = to_wse_device(drm);
	struct wse_file *priv = file->driver_priv;
	struct drm_wse_ctx_destroy *args = data;
	int ret;

	if (args->pad)
		return -EINVAL;
	struct wse_ctx *ctx __free(wse_ctx) = wse_ctx_find(file, args->ctx);

	if (!ctx)
		return -ENOENT;
	do {
		ret = wait_event_interruptible(ctx->wait,
					       !READ_ONCE(ctx->njobs) || READ_ONCE(wdev->dead));
		if (!ret)
			ret = wse_ctx_leave(priv, ctx);
	} while (ret == -EAGAIN);
	if (ret)
		return ret;
	wse_lease_drop(ctx);
	wse_lease_wait_end(ctx);
	wse_ctx_put(ctx); /* the file's reference */
	return 0;
}

int wse_open(struct drm_device *drm, struct drm_file *file)
{
	struct wse_file *priv = kzalloc(sizeof(*priv), GFP_KERNEL_ACCOUNT);

	file->driver_priv = priv;
	return priv ? 0 : -ENOMEM;
}

/*
 * The file is closed, so no process can use this context's results. Its commands end with
 * -ECANCELED at once; on a slow device a wait could last as long as their budgets.
 */
void wse_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct wse_file *priv = file->driver_priv;

	if (priv->ctx) {
		wse_lease_drop(priv->ctx);
		wse_lease_wait_end(priv->ctx);
		wse_ctx_put(priv->ctx);
	}
	wse_jobs_reap(to_wse_device(drm));
	kfree(priv);
}
