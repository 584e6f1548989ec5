// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts: an owner of the device as the rest of the driver sees it, and its first fault.
 */
#include <linux/capability.h>
#include <linux/dma-fence.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "wse_ctx.h"
#include "wse_dev.h"
#include "wse_ioctl.h"

/* A new context without a lease, or NULL. */
struct wse_ctx *wse_ctx_alloc(struct wse_device *wdev)
{
	unsigned int sets = 1u << wdev->geom.queues;
	struct wse_ctx *ctx;

	ctx = kzalloc(struct_size(ctx, seqno, sets), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return NULL;
	kref_init(&ctx->ref);
	ctx->wdev = wdev;
	ctx->timelines = dma_fence_context_alloc(sets);
	ctx->pid = task_tgid_nr(current);
	get_task_comm(ctx->comm, current);
	ctx->boot = -EAGAIN;
	INIT_LIST_HEAD(&ctx->waiting);
	init_waitqueue_head(&ctx->wait);
	return ctx;
}

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
	if (ctx)
		kref_put(&ctx->ref, wse_ctx_release);
}

/* The file's context of that id, with a reference, or NULL. */
struct wse_ctx *wse_ctx_find(struct drm_file *file, u32 id)
{
	struct wse_device *wdev = to_wse_device(file->minor->dev);
	struct wse_file *priv = file->driver_priv;

	scoped_guard(spinlock_irq, &wdev->lock) {
		if (priv->ctx && priv->ctx->id == id) {
			wse_ctx_get(priv->ctx);
			return priv->ctx;
		}
	}
	return NULL;
}

/* Remembers the first fault. Caller holds wse_device.lock; the record itself is read later. */
void wse_ctx_fault(struct wse_ctx *ctx, u32 queue, const struct wse_completion *completion)
{
	if (ctx->first.status)
		return;
	ctx->first.status = completion->status;
	ctx->first.queue = queue;
	ctx->first.cid = completion->cid;
	ctx->first.op = completion->slot.op;
	ctx->first.index = completion->fault;
}

/* Fetches the record of the first fault before a reset clears its ring. With hw_mutex. */
void wse_ctx_read_fault(struct wse_ctx *ctx)
{
	struct wse_device *wdev = ctx->wdev;
	struct wse_ctx_fault first;
	struct drm_wse_fault fault = { .ctx = ctx->id };
	struct wse_fault rec;

	lockdep_assert_held(&wdev->hw_mutex);
	scoped_guard(spinlock_irq, &wdev->lock)
		first = ctx->first;
	if (!first.status)
		return;

	fault.cmd_op = first.op;
	fault.status = first.status;
	fault.queue = first.queue;
	fault.color = 0xffffffff;
	if (first.index < WSE_FAULTS) {
		rec = wdev->faults[first.index];
		/* a record of another command would mislead */
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

	/* a later reset has cleared the ring that the record was in */
	scoped_guard(spinlock_irq, &wdev->lock) {
		if (!ctx->fault.status) {
			ctx->fault = fault;
			wdev->last_fault = fault;
		}
	}
	drm_dbg(&wdev->drm, "op %u on queue %u: status %#x, cause %#x, core %u,%u, pc %#x\n",
		fault.cmd_op, fault.queue, fault.status, fault.cause, fault.col, fault.row,
		fault.pc);
}

/*
 * Use by the owner of the lease that its busy does not include yet. Caller holds wse_device.lock.
 */
static u64 wse_busy_since(struct wse_device *wdev)
{
	u64 now = ktime_get_ns(), sum = 0;
	unsigned int q;

	lockdep_assert_held(&wdev->lock);
	for (q = 1; q < wdev->nrings; q++)
		if (wdev->ring[q].busy_since)
			sum += now - wdev->ring[q].busy_since;
	return sum;
}

/*
 * Use by the file, see Documentation/gpu/drm-usage-stats.rst and uapi/README.md. The host's time in
 * which its queues had commands, and the device cycles that these executed; the device itself
 * counts all cycles.
 */
void wse_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	struct wse_device *wdev = to_wse_device(file->minor->dev);
	struct wse_file *priv = file->driver_priv;
	u64 cmds, cycles, busy;
	bool held;
	int idx;

	scoped_guard(spinlock_irq, &wdev->lock) {
		cmds = priv->cmds;
		cycles = priv->cycles;
		busy = priv->busy;
		held = priv->ctx;
		if (held) {
			cmds += priv->ctx->cmds;
			cycles += priv->ctx->cycles;
			busy += priv->ctx->busy;
			if (priv->ctx == wdev->ctx)
				busy += wse_busy_since(wdev);
		}
	}

	drm_printf(p, "drm-engine-capacity-queue:\t%u\n", wdev->geom.queues);
	drm_printf(p, "drm-engine-queue:\t%llu ns\n", busy);
	drm_printf(p, "drm-cycles-queue:\t%llu\n", cycles);
	if (drm_dev_enter(&wdev->drm, &idx)) {
		drm_printf(p, "drm-total-cycles-queue:\t%llu\n", wse_dev_cycles(wdev));
		drm_dev_exit(idx);
	}
	drm_show_memory_stats(p, file);
	drm_printf(p, "wse-commands:\t%llu\n", cmds);
	drm_printf(p, "wse-lease:\t%s\n", held ? "held" : "none");
}

int wse_fault_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct wse_device *wdev = to_wse_device(drm);
	struct drm_wse_fault *args = data;
	struct wse_ctx *ctx __free(wse_ctx) = wse_ctx_find(file, args->ctx);

	if (!ctx)
		return -ENOENT;
	scoped_guard(spinlock_irq, &wdev->lock) {
		if (!ctx->fault.status)
			return -ENODATA;
		*args = ctx->fault;
	}
	/* users need not know where memory lies */
	if (args->iova && !capable(CAP_SYS_ADMIN))
		args->iova = 0;
	return 0;
}
