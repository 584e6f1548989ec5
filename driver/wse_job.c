// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs: from the pending list, through the rings, to their fences.
 *
 * This driver does not use drm_sched. The lease gives the whole device to one context, so there is
 * nothing to arbitrate; a job is a burst for several rings at once, ordered inside the device; and
 * the device itself has time-outs. The rest of a scheduler is one list in order of submission,
 * whose head moves when its fences have signalled and its rings have room. In return a submit that
 * can start does so in the ioctl, without a switch to a worker, and a reset has no other module's
 * state to repair.
 */
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include <drm/drm_gem.h>

#include "wse_ctx.h"
#include "wse_dev.h"
#include "wse_fence.h"
#include "wse_job.h"
#include "wse_trace.h"

/* How long finished jobs may keep their references when no submit comes. */
#define WSE_REAP_DELAY (HZ / 50)
/* Until the first poll of a device with commands in flight, see wse_watchdog(). */
#define WSE_FIRST_LOOK (HZ / 2)

/* Charged to the caller's memory cgroup, since user space decides how many jobs wait. */
struct wse_job *wse_job_alloc(struct wse_ctx *ctx, u32 ncmd, u32 ndep)
{
	size_t bytes = ALIGN(struct_size_t(struct wse_job, cmd, ncmd), sizeof(u64));
	/* a command names two buffers at most */
	size_t deps = bytes, bos = deps + ndep * sizeof(struct wse_dep);
	size_t locked = bos + 2 * ncmd * sizeof(struct wse_job_bo);
	struct wse_job *job = kvzalloc(locked + 2 * ncmd * sizeof(struct drm_gem_object *),
				       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);

	if (!job)
		return NULL;
	refcount_set(&job->ref, 1);
	job->ncmd = ncmd;
	job->left = ncmd;
	INIT_LIST_HEAD(&job->link);
	atomic_set(&job->ndeps, 1);
	wse_ctx_get(ctx);
	job->ctx = ctx;
	job->deps = (void *)job + deps;
	job->bos = (void *)job + bos;
	job->locked = (void *)job + locked;
	job->fence = wse_fence_alloc();
	if (!job->fence) {
		wse_job_put(job);
		return NULL;
	}
	return job;
}

/* May sleep; job may be NULL. */
void wse_job_put(struct wse_job *job)
{
	u32 i;

	if (!job || !refcount_dec_and_test(&job->ref))
		return;
	for (i = 0; i < job->ndep; i++) {
		/* also waits for a callback that runs right now */
		if (job->deps[i].job)
			dma_fence_remove_callback(job->deps[i].fence, &job->deps[i].cb);
		dma_fence_put(job->deps[i].fence);
	}
	for (i = 0; i < job->nbo; i++)
		drm_gem_object_put(job->bos[i].obj);
	if (job->timeline)
		dma_fence_put(job->fence);
	else
		wse_fence_free(job->fence);
	wse_ctx_put(job->ctx);
	kvfree(job);
}

static void wse_dep_signalled(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct wse_dep *dep = container_of(cb, struct wse_dep, cb);
	struct wse_device *wdev = dep->job->ctx->wdev;

	/* a task that sees 0 may push the job, so do not touch it after this */
	if (atomic_dec_and_test(&dep->job->ndeps))
		queue_work(wdev->wq, &wdev->push_work);
}

/* dep has its fence; the job is queued. */
void wse_job_wait_dep(struct wse_job *job, struct wse_dep *dep)
{
	dep->job = job;
	atomic_inc(&job->ndeps);
	if (dma_fence_add_callback(dep->fence, &dep->cb, wse_dep_signalled)) {
		dep->job = NULL;
		atomic_dec(&job->ndeps); /* not the last one: the ioctl still holds its own */
	}
}

static bool wse_job_fits(const struct wse_device *wdev, const struct wse_job *job)
{
	unsigned int q;

	for (q = 1; q < wdev->nrings; q++)
		if (job->need[q] > wse_ring_space(&wdev->ring[q].state))
			return false;
	return true;
}

/* Whether the device takes the doorbells of several rings as one (DB.MORE). */
static bool wse_takes_batches(const struct wse_device *wdev)
{
	return (wdev->abi & WSE_ABI_MINOR_MASK) >= WSE_MINOR_BATCHES;
}

/* The ring's commands belonged to the owner of the lease. Caller holds wse_device.lock. */
static void wse_ring_idle(struct wse_device *wdev, struct wse_ring *ring)
{
	if (ring->busy_since && wdev->ctx)
		wdev->ctx->busy += ktime_get_ns() - ring->busy_since;
	ring->busy_since = 0;
}

static void wse_job_issue(struct wse_device *wdev, struct wse_job *job)
{
	bool batches = wse_takes_batches(wdev);
	u32 before[WSE_MAX_QUEUES], i;
	u64 now = ktime_get_ns();

	for (i = 1; i < wdev->nrings; i++) {
		before[i] = wdev->ring[i].state.seq;
		if (job->need[i] && !wdev->ring[i].busy_since)
			wdev->ring[i].busy_since = now;
	}
	for (i = 0; i < job->ncmd; i++) {
		struct wse_job_cmd *cmd = &job->cmd[i];

		/* jobs are put in order, so these numbers cover all jobs accepted before */
		if (cmd->sqe.opcode == WSE_OP_FENCE) {
			bool all = cmd->wait_cmd == DRM_WSE_WAIT_QUEUE;
			u32 queue = all ? cmd->wait_queue : job->cmd[cmd->wait_cmd].queue;

			wse_fence_encode(0, queue,
					 all ? before[queue] : job->cmd[cmd->wait_cmd].seq,
					 &cmd->sqe);
		}
		/*
		 * a device that learns of one ring after the other may not have it in its rings yet
		 */
		if (cmd->sqe.opcode == WSE_OP_START && !batches)
			cmd->sqe.flags &= ~WSE_SQF_CLOSED;
		cmd->seq = wse_ring_put(&wdev->ring[cmd->queue], &cmd->sqe, job);
	}
	if (!wdev->inflight)
		wdev->progress++;
	wdev->inflight += job->ncmd;
	trace_wse_issue(job);
}

/*
 * Rings one doorbell for each ring with new entries. The device acts on all of them with the last:
 * if the host takes a processor away between two doorbells, a START must not look stuck whose
 * streams lie in a ring of which the device does not know yet.
 */
static void wse_kick_rings(struct wse_device *wdev)
{
	struct wse_ring *last = NULL;
	unsigned int q;

	for (q = 1; q < wdev->nrings; q++) {
		if (!wdev->ring[q].state.doorbell_pending)
			continue;
		if (last)
			wse_ring_kick(wdev, last, wse_takes_batches(wdev));
		last = &wdev->ring[q];
	}
	if (last)
		wse_ring_kick(wdev, last, false);
}

/*
 * The errno for a job: 0 if its context lives, or is lost but stands still, and the job only looks
 * at what its cores have. Caller holds wse_device.lock.
 */
static int wse_job_refused(const struct wse_job *job)
{
	return job->looks && job->ctx->looks ? 0 : job->ctx->err;
}

/* Moves as many pending jobs into the rings as fit, then rings the doorbells. */
static void wse_push(struct wse_device *wdev)
{
	struct wse_job *job;

	lockdep_assert_held(&wdev->lock);
	while ((job = list_first_entry_or_null(&wdev->pending, struct wse_job, link))) {
		/* of a lost context: it waits for the reset, which cancels it */
		if (wse_job_refused(job) || wdev->error)
			break;
		if (atomic_read(&job->ndeps) || !wse_job_fits(wdev, job))
			break;
		wse_job_issue(wdev, job);
		list_move_tail(&job->link, &wdev->active);
	}
	wse_kick_rings(wdev);
	/* it ends by itself when nothing is in flight */
	if (wdev->inflight && !delayed_work_pending(&wdev->watchdog))
		queue_delayed_work(wdev->wq, &wdev->watchdog, WSE_FIRST_LOOK);
}

void wse_push_work(struct work_struct *work)
{
	struct wse_device *wdev = container_of(work, struct wse_device, push_work);

	guard(wse_signalling)();
	scoped_guard(spinlock_irq, &wdev->lock)
		wse_push(wdev);
}

/*
 * Accepts the job: from here on its fence will signal, and nothing can fail. A reset may cancel the
 * job at any time after this, so *fence is the caller's own reference. -EIO, -ENODEV or -ENOENT if
 * its context is lost, or gone; -EAGAIN if the context has as many jobs as it may have.
 */
int wse_job_queue(struct wse_job *job, struct dma_fence **fence)
{
	struct wse_ctx *ctx = job->ctx;
	struct wse_device *wdev = ctx->wdev;
	int ret;

	scoped_guard(spinlock_irq, &wdev->lock) {
		ret = wdev->dead ?: wse_job_refused(job);
		if (ret)
			return ret;
		if (ctx->njobs >= WSE_MAX_JOBS)
			return -EAGAIN;
		wse_fence_init(job->fence, ctx, job->queues);
		job->timeline = job->fence->context;
		job->seqno = job->fence->seqno;
		*fence = dma_fence_get(job->fence);
		ctx->njobs++;
		refcount_inc(&job->ref);
		list_add_tail(&job->link, &wdev->pending);
		trace_wse_submit(job);
	}
	return 0;
}

/* All its fences are known: the ioctl's last touch. */
void wse_job_ready(struct wse_job *job)
{
	struct wse_device *wdev = job->ctx->wdev;

	if (!atomic_dec_and_test(&job->ndeps))
		return;
	scoped_guard(spinlock_irq, &wdev->lock)
		wse_push(wdev);
}

static void wse_job_finish(struct wse_job *job, struct list_head *done)
{
	list_move_tail(&job->link, done);
	if (!--job->ctx->njobs || job->ctx->njobs == WSE_MAX_JOBS / 2)
		wake_up_all(&job->ctx->wait);
}

/* A command has completed. Caller holds wse_device.lock. */
static void wse_job_complete(struct wse_device *wdev, unsigned int queue,
			     const struct wse_completion *c, struct list_head *done)
{
	struct wse_job *job = c->slot.job;

	wdev->inflight--;
	wdev->completions++;
	wdev->progress++;
	job->left--;
	job->ctx->cmds++;
	job->ctx->cycles += c->cycles;
	trace_wse_complete(job, queue, c);
	if (c->status) {
		if (!job->err)
			job->err = wse_status_errno(c->status);
		wse_ctx_fault(job->ctx, queue, c);
		/* the context is lost, and with it its other commands */
		if (!wse_job_refused(job)) {
			job->ctx->err = -EIO;
			job->ctx->looks = false;
			queue_work(wdev->wq, &wdev->reset_work);
		}
	}
	/*
	 * The reset finishes a job that failed: only then have the job's other commands certainly
	 * stopped writing to its buffers. It also finishes jobs that complete after it, whose
	 * fences must not overtake the failed one's.
	 */
	if (!job->left && !wse_job_refused(job))
		wse_job_finish(job, done);
}

/*
 * Takes the completions of an I/O ring, max at most; jobs that end with them go to the list done.
 * Returns the number of completions, invalid ones included. Caller holds wse_device.lock.
 */
unsigned int wse_jobs_poll(struct wse_device *wdev, struct wse_ring *ring, unsigned int max,
			   struct list_head *done)
{
	struct wse_completion completion;
	const char *error = NULL;
	unsigned int took;

	lockdep_assert_held(&wdev->lock);
	for (took = 0; took < max && !wdev->error && wse_ring_next(ring, &completion, &error);
	     took++)
		wse_job_complete(wdev, ring->id, &completion, done);
	if (error) {
		wse_dev_fail(wdev, error);
		took++;
	}
	if (ring->state.head == ring->state.tail)
		wse_ring_idle(wdev, ring);
	wse_ring_ack(wdev, ring);
	return took;
}

/* Ends all jobs, none of which executes any more. Caller holds wse_device.lock. */
void wse_jobs_fail(struct wse_device *wdev, int err, struct list_head *done)
{
	struct wse_job *job, *next;
	unsigned int q;

	lockdep_assert_held(&wdev->lock);
	for (q = 1; q < wdev->nrings; q++)
		wse_ring_idle(wdev, &wdev->ring[q]);
	list_splice_init(&wdev->pending, wdev->active.prev);
	list_for_each_entry_safe(job, next, &wdev->active, link) {
		if (!job->err && job->left)
			job->err = err;
		wse_job_finish(job, done);
	}
	wdev->progress++;
	wdev->inflight = 0;
}

/* Signals the fences that wse_job_finish() has collected. Any context, no locks held. */
void wse_jobs_signal(struct wse_device *wdev, struct list_head *done)
{
	struct wse_job *job, *next;

	if (list_empty(done))
		return;
	list_for_each_entry_safe(job, next, done, link) {
		wse_fence_signal(job->fence, job->err);
		dma_fence_put(job->fence);
		job->fence = NULL;
		/* dropping the other references may sleep */
		llist_add(&job->reap, &wdev->reap);
	}
	queue_delayed_work(wdev->slow_wq, &wdev->reap_work, WSE_REAP_DELAY);
}

/* Releases finished jobs. Every submit does it too, so under load the worker has little to do. */
void wse_jobs_reap(struct wse_device *wdev)
{
	struct wse_job *job, *next;

	llist_for_each_entry_safe(job, next, llist_del_all(&wdev->reap), reap)
		wse_job_put(job);
}

void wse_reap_work(struct work_struct *work)
{
	wse_jobs_reap(container_of(work, struct wse_device, reap_work.work));
}
