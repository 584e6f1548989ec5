// SPDX-License-Identifier: GPL-2.0
/*
 * The submit ioctl: read and check -> look up buffers and syncobjs, allocate, all that can fail ->
 * accept the job -> hand out its fence.
 */
#include <linux/dma-fence-chain.h>
#include <linux/dma-resv.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_syncobj.h>

#include "wse_ctx.h"
#include "wse_dev.h"
#include "wse_fence.h"
#include "wse_gem.h"
#include "wse_ioctl.h"
#include "wse_job.h"
#include "wse_resv.h"

#define WSE_MAX_SYNCS 1024u
/* sizes of version 1.0: no user space is older */
#define WSE_CMD_BYTES_1_0  168u
#define WSE_SYNC_BYTES_1_0 16u

/*
 * Sizes that suffice for most submits, on the stack: under load, allocations are most of the work
 * here.
 */
#define WSE_FEW_CMDS  2
#define WSE_FEW_SYNCS 4

struct wse_out_sync {
	struct drm_syncobj *obj;
	struct dma_fence_chain *chain; /* NULL for a binary one */
	u64 point;
};

/*
 * Reads an array of elements of `bytes` each from user elements of any size: bytes that user space
 * does not know are 0, and bytes that the driver does not know must be (-E2BIG). The array is few,
 * with room for nfew of them, if that is enough, else *heap, which the caller frees whatever this
 * returns.
 */
static void *wse_copy_array(const struct drm_wse_array *array, size_t bytes, size_t least,
			    void *few, u32 nfew, void **heap)
{
	const char __user *from = u64_to_user_ptr(array->ptr);
	char *to = few;
	u32 i;
	int ret;

	if (array->stride < least || array->stride > PAGE_SIZE || array->stride % 8)
		return ERR_PTR(-EINVAL);
	if (array->count > nfew) {
		*heap = kvmalloc_array(array->count, bytes, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
		to = *heap;
	}
	if (!to)
		return ERR_PTR(-ENOMEM);
	if (array->stride == bytes)
		return copy_from_user(to, from, array->count * bytes) ? ERR_PTR(-EFAULT) : to;
	for (i = 0; i < array->count; i++) {
		ret = copy_struct_from_user(to + i * bytes, bytes, from + (size_t)i * array->stride,
					    array->stride);
		if (ret)
			return ERR_PTR(ret);
	}
	return to;
}

/* The last buffer that was looked up: a run of commands on one is common. */
struct wse_named {
	u32 handle;
	struct wse_bo *bo;
	struct wse_job_bo *entry;
};

/* named->bo is NULL for handle 0. The job keeps the reference. */
static int wse_job_bo(struct wse_job *job, struct drm_file *file, u32 handle, bool write,
		      struct wse_named *named)
{
	struct drm_gem_object *obj;

	if (!handle) {
		named->bo = NULL;
		return 0;
	}
	if (!named->bo || named->handle != handle) {
		obj = drm_gem_object_lookup(file, handle);
		if (!obj)
			return -ENOENT;
		named->entry = &job->bos[job->nbo++];
		named->entry->obj = obj;
		named->handle = handle;
		named->bo = to_wse_bo(obj);
	}
	named->entry->write |= write;
	return 0;
}

/* Where a page list lies in pieces, offsets count from the begin of the command's piece. */
static int wse_encode_window(const struct drm_wse_cmd *c, const struct wse_bo *bo,
			     const struct wse_bo *mask, struct wse_sqe *sqe)
{
	struct drm_wse_cmd moved = *c;
	struct wse_buf buf = {}, mask_buf = {};
	u64 base, end;
	int ret = 0;

	/* wse_cmd_check() has checked that neither overflows */
	if (bo && wse_cmd_has_bo(c)) {
		wse_cmd_end(c, &end);
		ret = wse_bo_window(bo, c->off, end, &buf, &base);
		moved.off -= base;
	}
	if (!ret && mask && wse_cmd_has_mask(c)) {
		wse_cmd_mask_end(c, &end);
		ret = wse_bo_window(mask, c->moff, end, &mask_buf, &base);
		moved.moff -= base;
	}
	if (!ret)
		wse_cmd_encode(&moved, 0, &buf, &mask_buf, sqe);
	return ret;
}

static int wse_encode(const struct drm_wse_cmd *c, const struct wse_bo *bo,
		      const struct wse_bo *mask, struct wse_sqe *sqe)
{
	if ((bo && bo->list.nblocks > 1) || (mask && mask->list.nblocks > 1))
		return wse_encode_window(c, bo, mask, sqe);
	wse_cmd_encode(c, 0, bo ? &bo->buf : NULL, mask ? &mask->buf : NULL, sqe);
	return 0;
}

static int wse_job_fill(struct wse_job *job, struct drm_file *file, const struct drm_wse_cmd *cmds)
{
	struct wse_device *wdev = job->ctx->wdev;
	struct wse_named buf = {}, mask = {};
	u32 i;
	int ret;

	for (i = 0; i < job->ncmd; i++) {
		const struct drm_wse_cmd *c = &cmds[i];
		struct wse_job_cmd *cmd = &job->cmd[i];

		if (job->looks && c->op != WSE_OP_COPY_OUT)
			return -EINVAL;
		ret = wse_job_bo(job, file, c->bo, wse_cmd_writes(c), &buf);
		if (!ret)
			ret = wse_job_bo(job, file, c->mask_bo, false, &mask);
		if (!ret)
			ret = wse_cmd_check(&wdev->geom, c, buf.bo ? buf.bo->buf.size : 0,
					    mask.bo ? mask.bo->buf.size : 0);
		if (!ret && c->op == WSE_OP_FENCE)
			ret = wse_fence_check(&wdev->geom, cmds, i);
		if (!ret && c->op != WSE_OP_FENCE)
			ret = wse_encode(c, buf.bo, mask.bo, &cmd->sqe);
		if (ret) {
			drm_dbg(&wdev->drm, "command %u (op %u) refused: %d\n", i, c->op, ret);
			return ret;
		}
		cmd->queue = array_index_nospec(c->queue, wdev->nrings);
		job->need[cmd->queue]++;
		job->queues |= BIT(cmd->queue - 1);
		if (c->op == WSE_OP_FENCE) {
			/* the command that it waits for gets its number in the ring */
			cmd->sqe.opcode = WSE_OP_FENCE;
			cmd->wait_cmd = c->wait_cmd;
			if (cmd->wait_cmd != DRM_WSE_WAIT_QUEUE)
				cmd->wait_cmd = array_index_nospec(cmd->wait_cmd, i);
			cmd->wait_queue = array_index_nospec(c->wait_queue, wdev->nrings);
		}
	}
	return 0;
}

static int wse_find_in_syncs(struct wse_job *job, struct drm_file *file,
			     const struct drm_wse_sync *in, u32 n)
{
	u32 i;
	int ret;

	for (i = 0; i < n; i++) {
		if (in[i].pad)
			return -EINVAL;
		ret = drm_syncobj_find_fence(file, in[i].handle, in[i].point, 0,
					     &job->deps[job->ndep].fence);
		if (ret)
			return ret;
		job->ndep++;
	}
	return 0;
}

static void wse_put_out_syncs(struct wse_out_sync *out, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (out[i].obj)
			drm_syncobj_put(out[i].obj);
		dma_fence_chain_free(out[i].chain);
	}
}

/* out is all 0; whatever this returns, the caller calls wse_put_out_syncs() */
static int wse_find_out_syncs(struct drm_file *file, const struct drm_wse_sync *sync,
			      struct wse_out_sync *out, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (sync[i].pad)
			return -EINVAL;
		out[i].obj = drm_syncobj_find(file, sync[i].handle);
		if (!out[i].obj)
			return -ENOENT;
		out[i].point = sync[i].point;
		if (!out[i].point)
			continue;
		out[i].chain = dma_fence_chain_alloc();
		if (!out[i].chain)
			return -ENOMEM;
	}
	return 0;
}

/* Cannot fail. */
static void wse_hand_out(struct wse_out_sync *out, u32 n, struct dma_fence *fence)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (out[i].chain) {
			drm_syncobj_add_point(out[i].obj, out[i].chain, fence, out[i].point);
			out[i].chain = NULL;
		} else {
			drm_syncobj_replace_fence(out[i].obj, fence);
		}
	}
}

/* After the job's acceptance its fence signals, and nothing can fail. */
static int wse_accept(struct wse_job *job, struct wse_out_sync *out, u32 nout)
{
	struct dma_fence *fence;
	u32 i;
	int ret;

	guard(wse_signalling)();
	ret = wse_job_queue(job, &fence);
	if (ret)
		return ret;
	wse_resv_add(job, fence);
	wse_hand_out(out, nout, fence);
	for (i = 0; i < job->ndep; i++)
		wse_job_wait_dep(job, &job->deps[i]);
	wse_job_ready(job);
	dma_fence_put(fence);
	return 0;
}

/* All is found and checked: the job starts, or waits for its fences. */
static int wse_submit_job(struct wse_job *job, struct wse_out_sync *out, u32 nout)
{
	struct ww_acquire_ctx acquire;
	int ret;

	ret = wse_resv_lock(job, &acquire);
	if (ret)
		return ret;
	ret = wse_accept(job, out, nout);
	wse_resv_unlock(job, &acquire);
	return ret;
}

/* args are checked except for the arrays' contents. -EAGAIN: the context has no room any more. */
static int wse_submit(struct wse_ctx *ctx, const struct drm_wse_submit *args,
		      struct drm_file *file)
{
	struct drm_device *drm = &ctx->wdev->drm;
	struct drm_wse_cmd few_cmds[WSE_FEW_CMDS], *cmds;
	struct drm_wse_sync few_in[WSE_FEW_SYNCS], *in = NULL;
	struct drm_wse_sync few_outs[WSE_FEW_SYNCS], *outs = NULL;
	struct wse_out_sync few_out[WSE_FEW_SYNCS] = {}, *out = few_out;
	u32 nin = args->in_syncs.count, nout = args->out_syncs.count;
	int idx, ret;

	/* where few is not enough */
	void *cmds_heap __free(kvfree) = NULL;
	void *in_heap __free(kvfree) = NULL;
	void *outs_heap __free(kvfree) = NULL;
	void *out_heap __free(kvfree) = NULL;

	BUILD_BUG_ON(sizeof(struct drm_wse_cmd) < WSE_CMD_BYTES_1_0);
	BUILD_BUG_ON(sizeof(struct drm_wse_sync) < WSE_SYNC_BYTES_1_0);

	cmds = wse_copy_array(&args->cmds, sizeof(*cmds), WSE_CMD_BYTES_1_0, few_cmds,
			      WSE_FEW_CMDS, &cmds_heap);
	if (nin)
		in = wse_copy_array(&args->in_syncs, sizeof(*in), WSE_SYNC_BYTES_1_0, few_in,
				    WSE_FEW_SYNCS, &in_heap);
	if (nout)
		outs = wse_copy_array(&args->out_syncs, sizeof(*outs), WSE_SYNC_BYTES_1_0, few_outs,
				      WSE_FEW_SYNCS, &outs_heap);
	ret = PTR_ERR_OR_ZERO(cmds) ?: PTR_ERR_OR_ZERO(in) ?: PTR_ERR_OR_ZERO(outs);
	if (ret)
		return ret;
	if (nout > WSE_FEW_SYNCS) {
		out_heap = kvcalloc(nout, sizeof(*out), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
		out = out_heap;
	}
	struct wse_job *job __free(wse_job) = wse_job_alloc(ctx, args->cmds.count, nin);

	if (!job || !out)
		return -ENOMEM;
	/* page lists go with the device, see wse_gem_remove() */
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	job->looks = args->flags & DRM_WSE_SUBMIT_LOST;
	ret = wse_job_fill(job, file, cmds);
	if (!ret)
		ret = wse_find_in_syncs(job, file, in, nin);
	if (!ret)
		ret = wse_find_out_syncs(file, outs, out, nout);
	if (!ret)
		ret = wse_submit_job(job, out, nout);
	drm_dev_exit(idx);
	wse_put_out_syncs(out, nout);
	return ret;
}

/*
 * Whether the context has room for a job, or refuses it. A check without the lock: another thread
 * may be quicker.
 */
static bool wse_submit_due(const struct wse_ctx *ctx, bool looks)
{
	return READ_ONCE(ctx->njobs) < WSE_MAX_JOBS ||
	       (READ_ONCE(ctx->err) && !(looks && READ_ONCE(ctx->looks)));
}

int wse_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct wse_device *wdev = to_wse_device(drm);
	struct drm_wse_submit *args = data;
	int ret;

	if (args->flags & ~DRM_WSE_SUBMIT_LOST || !args->cmds.count ||
	    args->cmds.count > wdev->depth - 1 || args->in_syncs.count > WSE_MAX_SYNCS ||
	    args->out_syncs.count > WSE_MAX_SYNCS)
		return -EINVAL;

	struct wse_ctx *ctx __free(wse_ctx) = wse_ctx_find(file, args->ctx);

	if (!ctx)
		return -ENOENT;
	wse_jobs_reap(wdev);
	do {
		ret = wait_event_interruptible(ctx->wait,
					       wse_submit_due(ctx, args->flags &
							      DRM_WSE_SUBMIT_LOST));
		if (!ret)
			ret = wse_submit(ctx, args, file);
	} while (ret == -EAGAIN);
	return ret;
}
