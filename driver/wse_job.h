/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_JOB_H
#define WSE_JOB_H

#include <linux/cleanup.h>
#include <linux/dma-fence.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/refcount.h>

#include "wse_ring.h"
#include "wse_cmd.h"

struct drm_gem_object;
struct wse_ctx;
struct wse_device;

/* A fence that a job waits for. */
struct wse_dep {
	struct dma_fence *fence;
	struct dma_fence_cb cb;
	struct wse_job *job;
};

/* A buffer that commands of a job name; the list may have it several times. */
struct wse_job_bo {
	struct drm_gem_object *obj;
	bool write; /* the device writes to it */
};

/* A command, complete but for the members that depend on its ring. */
struct wse_job_cmd {
	struct wse_sqe sqe;
	u32 queue;
	u32 wait_cmd; /* fence: index in the job, or DRM_WSE_WAIT_QUEUE */
	u32 wait_queue;
	u32 seq; /* its number on its queue, once put */
};

/*
 * One submit. It holds its buffers and its fence, so that no later step allocates memory.
 */
struct wse_job {
	refcount_t ref;	/* the ioctl's, and one from wse_job_queue() until it has been reaped */
	struct wse_ctx *ctx;
	struct list_head link; /* in pending, active, or a list of finished jobs; wse_device.lock */
	struct llist_node reap;
	struct dma_fence *fence; /* NULL once it has been signalled */
	u64 timeline;		 /* its context, 0 until the job is accepted */
	u32 seqno;		 /* and number in there */
	u32 queues;		 /* the set of queues that have commands; bit 0: queue 1 */
	int err;		  /* of the first command that failed; wse_device.lock */
	u32 left;		  /* commands without completion; wse_device.lock */
	u32 need[WSE_MAX_QUEUES]; /* commands for each ring */
	atomic_t ndeps;		  /* fences that have not signalled, and one for the ioctl */
	struct wse_dep *deps; /* behind cmd, as bos and locked */
	u32 ndep;
	struct wse_job_bo *bos;
	u32 nbo;
	struct drm_gem_object **locked; /* see wse_resv_lock() */
	u32 nlocked;
	bool looks; /* DRM_WSE_SUBMIT_LOST */
	u32 ncmd;
	struct wse_job_cmd cmd[] __counted_by(ncmd);
};

struct wse_job *wse_job_alloc(struct wse_ctx *ctx, u32 ncmd, u32 ndep);
void wse_job_put(struct wse_job *job);
DEFINE_FREE(wse_job, struct wse_job *, wse_job_put(_T))
int wse_job_queue(struct wse_job *job, struct dma_fence **fence);
void wse_job_wait_dep(struct wse_job *job, struct wse_dep *dep);
void wse_job_ready(struct wse_job *job);
unsigned int wse_jobs_poll(struct wse_device *wdev, struct wse_ring *ring, unsigned int max,
			   struct list_head *done);
void wse_jobs_fail(struct wse_device *wdev, int err, struct list_head *done);
void wse_jobs_signal(struct wse_device *wdev, struct list_head *done);
void wse_jobs_reap(struct wse_device *wdev);
void wse_push_work(struct work_struct *work);
void wse_reap_work(struct work_struct *work);

#endif
