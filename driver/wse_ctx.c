// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts: the exclusive lease of a device, from scrub to scrub.
 */
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "wse_ctx.h"
#include "wse_dev.h"
#include "wse_job.h"
#include "wse_reset.h"

/* Device cycles that the firmware may take to get ready for work. */
#define WSE_BOOT_CYCLES 10000000ull
#define WSE_LOAD_CYCLES 100000000ull

static void wse_ctx_release(struct kref *ref)
{
	kfree(container_of(ref, struct wse_ctx, ref));
}

void wse_ctx_get(struct wse_ctx *ctx)
{
	kref_get(&ctx->ref);
}

void wse_ctx_put(struct wse_ctx *ctx)
{
	kref_put(&ctx->ref, wse_ctx_release);
}

/* The file's context of that id with a reference, or NULL. */
struct wse_ctx *wse_ctx_find(struct drm_file *file, u32 id)
{
	struct wse_device *wdev = to_wse_device(file->minor->dev);
	struct wse_file *priv = file->driver_priv;
	struct wse_ctx *ctx;

	spin_lock_irq(&wdev->lock);
	ctx = priv->ctx;
	if (ctx && ctx->id == id)
		wse_ctx_get(ctx);
	else
		ctx = NULL;
	spin_unlock_irq(&wdev->lock);
	return ctx;
}

/* Remembers the first fault. Caller holds wse_device.lock; the record itself is read later. */
void wse_ctx_fault(struct wse_ctx *ctx, u32 queue, u32 cid, u32 op, u32 status, u32 index)
{
	if (ctx->first.status)
		return;
	ctx->first.status = status;
	ctx->first.queue = queue;
	ctx->first.cid = cid;
	ctx->first.op = op;
	ctx->first.index = index;
}

/* Fetches the record of the first fault before a reset clears its ring. With hw_mutex. */
void wse_ctx_read_fault(struct wse_ctx *ctx)
{
	struct wse_device *wdev = ctx->wdev;
	struct wse_ctx_fault first;
	struct drm_wse_fault fault = { .ctx = ctx->id };
	struct wse_fault rec;

	lockdep_assert_held(&wdev->hw_mutex);
	spin_lock_irq(&wdev->lock);
	first = ctx->first;
	spin_unlock_irq(&wdev->lock);
	if (!first.status)
		return;

	fault.cmd_op = first.op;
	fault.status = first.status;
	fault.queue = first.queue;
	fault.color = 0xffffffff;
	if (first.index < WSE_FAULTS) {
		rec = wdev->faults[first.index];
		/* a record of something else would mislead */
		if (le16_to_cpu(rec.status) == first.status &&
		    le16_to_cpu(rec.queue) == first.queue && le16_to_cpu(rec.cid) == first.cid) {
			fault.ncores = le16_to_cpu(rec.ncores);
			fault.cause = le32_to_cpu(rec.cause);
			fault.row = le16_to_cpu(rec.row);
			fault.col = le16_to_cpu(rec.col);
			fault.pc = le32_to_cpu(rec.pc);
			fault.addr = le32_to_cpu(rec.addr);
			fault.color = le32_to_cpu(rec.color);
			fault.value = le32_to_cpu(rec.value);
			fault.iova = le64_to_cpu(rec.iova);
			fault.cycle = le64_to_cpu(rec.cycle);
		}
	}
	/* all records so far are consumed */
	wse_write(wdev, WSE_REG_FAULT_HEAD, wse_read(wdev, WSE_REG_FAULT_TAIL));

	spin_lock_irq(&wdev->lock);
	ctx->fault = fault;
	spin_unlock_irq(&wdev->lock);
	drm_dbg(&wdev->drm, "op %u on queue %u: status %#x, cause %#x, core %u,%u, pc %#x\n",
		fault.cmd_op, fault.queue, fault.status, fault.cause, fault.row, fault.col,
		fault.pc);
}

static struct wse_sqe wse_whole_tile(const struct wse_device *wdev, u8 op, u64 budget)
{
	return (struct wse_sqe){
		.opcode = op,
		.rows = cpu_to_le16(wdev->geom.rows),
		.cols = cpu_to_le16(wdev->geom.cols),
		.budget = cpu_to_le64(budget),
	};
}

/* Nothing of an owner is left for the next one. */
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

/* Ends ctx's lease; hw: the device may still be touched. Caller holds hw_mutex. */
static void wse_ctx_end(struct wse_ctx *ctx, bool hw)
{
	struct wse_device *wdev = ctx->wdev;

	spin_lock_irq(&wdev->lock);
	if (!ctx->err)
		ctx->err = -ENOENT;
	spin_unlock_irq(&wdev->lock);

	if (hw && !wse_quiesce(wdev, -ECANCELED))
		wse_scrub(wdev);

	spin_lock_irq(&wdev->lock);
	wdev->ctx = NULL;
	spin_unlock_irq(&wdev->lock);
	wake_up_all(&wdev->lease_wait);
}

/* With hw_mutex. */
static int wse_ctx_begin(struct wse_ctx *ctx)
{
	struct wse_device *wdev = ctx->wdev;
	int ret;

	if (READ_ONCE(wdev->dead))
		return -ENODEV;
	if (wdev->ctx)
		return -EBUSY;
	ret = wse_fw_get(wdev);
	if (ret)
		return ret;

	spin_lock_irq(&wdev->lock);
	if (!++wdev->next_ctx)
		++wdev->next_ctx;
	ctx->id = wdev->next_ctx;
	wdev->ctx = ctx;
	spin_unlock_irq(&wdev->lock);

	ret = wse_boot(wdev);
	if (ret) {
		drm_err(&wdev->drm, "the firmware did not boot: %d\n", ret);
		wse_ctx_end(ctx, true);
		return ret == -ENODEV ? ret : -EIO;
	}
	return 0;
}

static int wse_ctx_try_begin(struct wse_ctx *ctx)
{
	struct wse_device *wdev = ctx->wdev;
	int idx, ret;

	if (!drm_dev_enter(&wdev->drm, &idx))
		return -ENODEV;
	ret = mutex_lock_interruptible(&wdev->hw_mutex);
	if (!ret) {
		ret = wse_ctx_begin(ctx);
		mutex_unlock(&wdev->hw_mutex);
	}
	drm_dev_exit(idx);
	return ret;
}

int wse_ctx_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct wse_device *wdev = to_wse_device(drm);
	struct wse_file *priv = file->driver_priv;
	struct drm_wse_ctx_create *args = data;
	struct wse_ctx *ctx;
	int ret;

	if (args->flags & ~DRM_WSE_CTX_WAIT)
		return -EINVAL;
	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return -ENOMEM;
	kref_init(&ctx->ref);
	ctx->wdev = wdev;
	init_waitqueue_head(&ctx->wait);

	/* not in drm_dev_enter(): who waits for the lease must not hold up the device's removal */
	do {
		/* the owner may hold hw_mutex for long, and not everybody wants to wait */
		ret = READ_ONCE(wdev->ctx) ? -EBUSY : wse_ctx_try_begin(ctx);
		if (ret != -EBUSY || !(args->flags & DRM_WSE_CTX_WAIT))
			break;
		ret = wait_event_interruptible(wdev->lease_wait,
					       !READ_ONCE(wdev->ctx) || READ_ONCE(wdev->dead));
		if (READ_ONCE(wdev->dead))
			ret = -ENODEV;
	} while (!ret);
	if (ret) {
		wse_ctx_put(ctx);
		return ret;
	}
	args->ctx = ctx->id;
	spin_lock_irq(&wdev->lock);
	priv->ctx = ctx;
	spin_unlock_irq(&wdev->lock);
	return 0;
}

/* The file gives up ctx, which is no longer found. */
static void wse_ctx_drop(struct wse_ctx *ctx)
{
	struct wse_device *wdev = ctx->wdev;
	int idx;
	bool hw = drm_dev_enter(&wdev->drm, &idx);

	mutex_lock(&wdev->hw_mutex);
	wse_ctx_end(ctx, hw);
	mutex_unlock(&wdev->hw_mutex);
	if (hw)
		drm_dev_exit(idx);
	wse_ctx_put(ctx);
}

int wse_ctx_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct wse_device *wdev = to_wse_device(drm);
	struct wse_file *priv = file->driver_priv;
	struct drm_wse_ctx_destroy *args = data;
	struct wse_ctx *ctx;
	int ret;

	if (args->pad)
		return -EINVAL;
	ctx = wse_ctx_find(file, args->ctx);
	if (!ctx)
		return -ENOENT;
	do {
		ret = wait_event_interruptible(ctx->wait,
					       !READ_ONCE(ctx->njobs) || READ_ONCE(wdev->dead));
		if (ret)
			break;
		spin_lock_irq(&wdev->lock);
		if (priv->ctx != ctx) {
			ret = -ENOENT; /* another thread was quicker */
		} else if (ctx->njobs && !wdev->dead) {
			ret = -EAGAIN;
		} else {
			priv->ctx = NULL;
			if (!ctx->err)
				ctx->err = -ENOENT;
		}
		spin_unlock_irq(&wdev->lock);
	} while (ret == -EAGAIN);
	if (!ret)
		wse_ctx_drop(ctx);
	wse_ctx_put(ctx);
	return ret;
}

int wse_fault_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct wse_device *wdev = to_wse_device(drm);
	struct drm_wse_fault *args = data;
	struct wse_ctx *ctx = wse_ctx_find(file, args->ctx);
	int ret = 0;

	if (!ctx)
		return -ENOENT;
	spin_lock_irq(&wdev->lock);
	if (ctx->fault.status)
		*args = ctx->fault;
	else
		ret = -ENODATA;
	spin_unlock_irq(&wdev->lock);
	wse_ctx_put(ctx);
	return ret;
}

int wse_open(struct drm_device *drm, struct drm_file *file)
{
	struct wse_file *priv = kzalloc(sizeof(*priv), GFP_KERNEL_ACCOUNT);

	file->driver_priv = priv;
	return priv ? 0 : -ENOMEM;
}

/*
 * Nobody is left who could make use of this context, so its commands are not waited for, which on a
 * slow device could take as long as their budgets: they end with -ECANCELED.
 */
void wse_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct wse_file *priv = file->driver_priv;

	if (priv->ctx)
		wse_ctx_drop(priv->ctx);
	wse_jobs_reap(to_wse_device(drm));
	kfree(priv);
}
