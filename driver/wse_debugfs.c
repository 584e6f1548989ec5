// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's view of a device as text: files in debugfs, which a core dump contains too. No code
 * here reads the device.
 *
 * Also list_bytes, for tests: with it small buffers get page lists in pieces, which otherwise only
 * a host short of contiguous memory makes.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include <drm/drm_debugfs.h>
#include <drm/drm_print.h>

#include "wse_ctx.h"
#include "wse_debugfs.h"
#include "wse_dev.h"
#include "wse_job.h"

/* User space decides how long this list is; its text is made under a spinlock. */
#define WSE_SHOW_MAX 64

void wse_show_rings(struct wse_device *wdev, struct drm_printer *p)
{
	unsigned int i;

	spin_lock_irq(&wdev->lock);
	drm_printf(p, "error %s, lost %s, %u commands in flight, %llu completed\n",
		   wdev->error ?: "none", wdev->dead ? "yes" : "no", wdev->inflight,
		   wdev->completions);
	for (i = 0; i < wdev->nrings; i++) {
		const struct wse_ring_state *s = &wdev->ring[i].state;

		drm_printf(p,
			   "ring %u: size %u head %u tail %u phase %u put %u doorbell %s\n", i,
			   s->size, s->head, s->tail, s->phase, s->seq,
			   s->doorbell_pending ? "pending" : "rung");
	}
	spin_unlock_irq(&wdev->lock);
}

static void wse_show_job_list(struct drm_printer *p, const char *state, struct list_head *list)
{
	struct wse_job *job;
	unsigned int n = 0;

	list_for_each_entry(job, list, link) {
		if (n++ >= WSE_SHOW_MAX)
			continue;
		drm_printf(p, "%s: job %llu:%u ctx %u commands %u left %u in_syncs %d error %d\n",
			   state, job->timeline, job->seqno, job->ctx->id, job->ncmd, job->left,
			   atomic_read(&job->ndeps), job->err);
	}
	if (n > WSE_SHOW_MAX)
		drm_printf(p, "%s: and %u more\n", state, n - WSE_SHOW_MAX);
}

void wse_show_jobs(struct wse_device *wdev, struct drm_printer *p)
{
	scoped_guard(spinlock_irq, &wdev->lock) {
		wse_show_job_list(p, "active", &wdev->active);
		wse_show_job_list(p, "pending", &wdev->pending);
	}
}

void wse_show_lease(struct wse_device *wdev, struct drm_printer *p)
{
	struct wse_ctx *ctx;
	unsigned int n = 0;

	spin_lock_irq(&wdev->lock);
	ctx = wdev->ctx;
	if (ctx)
		drm_printf(p, "holder: pid %d (%s) ctx %u jobs %u error %d%s\n", ctx->pid,
			   ctx->comm, ctx->id, ctx->njobs, ctx->err, ctx->ending ? " ending" : "");
	else
		drm_puts(p, "holder: none\n");
	list_for_each_entry(ctx, &wdev->waiters, waiting) {
		if (n++ < WSE_SHOW_MAX)
			drm_printf(p, "waiter: pid %d (%s)\n", ctx->pid, ctx->comm);
	}
	if (n > WSE_SHOW_MAX)
		drm_printf(p, "waiter: and %u more\n", n - WSE_SHOW_MAX);
	spin_unlock_irq(&wdev->lock);
}

void wse_show_fault(struct wse_device *wdev, struct drm_printer *p)
{
	struct drm_wse_fault fault;

	scoped_guard(spinlock_irq, &wdev->lock)
		fault = wdev->last_fault;
	if (!fault.status) {
		drm_puts(p, "none\n");
		return;
	}
	drm_printf(p, "ctx %u op %#x queue %u status %u cause %#x\n", fault.ctx, fault.cmd_op,
		   fault.queue, fault.status, fault.cause);
	drm_printf(p, "core %u,%u (and %u in the same state) pc %#x addr %#x color %#x value %#x\n",
		   fault.col, fault.row, fault.ncores ? fault.ncores - 1 : 0, fault.pc, fault.addr,
		   fault.color, fault.value);
	drm_printf(p, "iova %#llx cycle %llu\n", fault.iova, fault.cycle);
}

static int wse_debugfs_show(struct seq_file *m, void *unused)
{
	struct drm_debugfs_entry *entry = m->private;
	void (*show)(struct wse_device *wdev, struct drm_printer *p) = entry->file.data;
	struct drm_printer p = drm_seq_file_printer(m);

	show(to_wse_device(entry->dev), &p);
	return 0;
}

static const struct drm_debugfs_info wse_debugfs_files[] = {
	{ "rings", wse_debugfs_show, 0, wse_show_rings },
	{ "jobs", wse_debugfs_show, 0, wse_show_jobs },
	{ "lease", wse_debugfs_show, 0, wse_show_lease },
	{ "fault", wse_debugfs_show, 0, wse_show_fault },
};

/* Before drm_dev_register(). */
void wse_debugfs_init(struct wse_device *wdev)
{
	drm_debugfs_add_files(&wdev->drm, wse_debugfs_files, ARRAY_SIZE(wse_debugfs_files));
	debugfs_create_u32("list_bytes", 0600, wdev->drm.debugfs_root, &wdev->list_bytes);
}
