// SPDX-License-Identifier: GPL-2.0
/*
 * Fences in the reservation objects of buffers.
 *
 * This driver never waits for fences that it finds there: synchronization is explicit. But other
 * users of a buffer, as a dma-buf, see in it which fences are pending: poll(),
 * DMA_BUF_IOCTL_EXPORT_SYNC_FILE, drivers that synchronize implicitly. So a job adds its fence to
 * each of its buffers, as a write fence where one of its commands writes there, else as a read
 * fence.
 */
#include <linux/dma-resv.h>
#include <linux/sort.h>

#include <drm/drm_gem.h>

#include "wse_job.h"
#include "wse_resv.h"

/*
 * Sorts by reservation object, which buffers may share. Of the buffers of one object, one that is
 * written comes last.
 */
static int wse_resv_order(const void *a, const void *b)
{
	const struct wse_job_bo *x = a, *y = b;

	if (x->obj->resv != y->obj->resv)
		return x->obj->resv < y->obj->resv ? -1 : 1;
	return x->write - y->write;
}

/* Is it the last entry of its reservation object? It stands for all of them. */
static bool wse_resv_last(const struct wse_job *job, u32 i)
{
	return i + 1 == job->nbo || job->bos[i + 1].obj->resv != job->bos[i].obj->resv;
}

/*
 * Locks the reservation objects of all buffers and reserves room for a fence in each, so that
 * wse_resv_add() cannot fail. -EINTR, -ENOMEM. For a job without buffers this function and those
 * below do nothing.
 */
int wse_resv_lock(struct wse_job *job, struct ww_acquire_ctx *acquire)
{
	u32 i;
	int ret;

	if (!job->nbo)
		return 0;
	sort(job->bos, job->nbo, sizeof(*job->bos), wse_resv_order, NULL);
	for (i = 0; i < job->nbo; i++)
		if (wse_resv_last(job, i))
			job->locked[job->nlocked++] = job->bos[i].obj;
	ret = drm_gem_lock_reservations(job->locked, job->nlocked, acquire);
	if (ret)
		return ret;
	for (i = 0; !ret && i < job->nlocked; i++)
		ret = dma_resv_reserve_fences(job->locked[i]->resv, 1);
	if (ret)
		wse_resv_unlock(job, acquire);
	return ret;
}

/* Cannot fail. */
void wse_resv_add(struct wse_job *job, struct dma_fence *fence)
{
	u32 i;

	for (i = 0; i < job->nbo; i++)
		if (wse_resv_last(job, i))
			dma_resv_add_fence(job->bos[i].obj->resv, fence,
					   job->bos[i].write ? DMA_RESV_USAGE_WRITE :
							       DMA_RESV_USAGE_READ);
}

void wse_resv_unlock(struct wse_job *job, struct ww_acquire_ctx *acquire)
{
	if (job->nlocked)
		drm_gem_unlock_reservations(job->locked, job->nlocked, acquire);
}
