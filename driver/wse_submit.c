// SPDX-License-Identifier: GPL-2.0
/*
 * The submit ioctl: read and check -> look up buffers and syncobjs, allocate, all that can fail ->
 * accept the job -> hand out its fence.
 */
#include <linux/dma-fence-chain.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_syncobj.h>

#include "wse_ctx.h"
#include "wse_dev.h"
#include "wse_gem.h"
#include "wse_ioctl.h"
#include "wse_job.h"

#define WSE_MAX_SYNCS 1024u
/* what version 1.0 knew: older user space cannot know less */
#define WSE_CMD_BYTES_1_0  168u
#define WSE_SYNC_BYTES_1_0 16u

/* What most submits have, on the stack: under load, allocations are most of the work here. */
#define WSE_FEW_CMDS  2
#define WSE_FEW_SYNCS 4

struct wse_out_sync {
	struct drm_syncobj *obj;
	struct dma_fence_chain *chain; /* NULL for a binary one */
	u64 point;
};

static void wse_free_array(void *array, const void *few)
{
	if (array != few)
		kvfree(array);
}

/*
 * Array of elements of bytes each, from user elements of any size: what user space does not know is
 * 0, and what we do not know must be (-E2BIG). It is few, room for nfew of them, where that is
 * enough: see wse_free_array().
 */
static void *wse_copy_array(const struct drm_wse_array *array, size_t bytes, size_t least,
			    void *few, u32 nfew)
{
	const char __user *from = u64_to_user_ptr(array->ptr);
	char *to;
	u32 i;
	int ret;

	if (array->stride < least || array->stride > PAGE_SIZE || array->stride % 8)
		return ERR_PTR(-EINVAL);
	to = few;
	if (array->count > nfew)
		to = kvmalloc_array(array->count, bytes, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!to)
		return ERR_PTR(-ENOMEM);
	if (array->stride == bytes) {
		if (!copy_from_user(to, from, array->count * bytes))
			return to;
		wse_free_array(to, few);
		return ERR_PTR(-EFAULT);
	}
	for (i = 0; i < array->count; i++) {
		ret = copy_struct_from_user(to + i * bytes, bytes, from + (size_t)i * array->stride,
					    array->stride);
		if (ret) {
			wse_free_array(to, few);
			return ERR_PTR(ret);
		}
	}
	return to;
}

/* NULL for handle 0. The job keeps the reference; a run of commands on one buffer is common. */
static int wse_job_bo(struct wse_job *job, struct drm_file *file, u32 handle, u32 *last_handle,
		      struct wse_bo **bo)
{
	struct drm_gem_object *obj;

	if (!handle) {
		*bo = NULL;
		return 0;
	}
	if (*bo && *last_handle == handle)
		return 0;
	obj = drm_gem_object_lookup(file, handle);
	if (!obj)
		return -ENOENT;
	job->bos[job->nbo++] = obj;
	*last_handle = handle;
	*bo = to_wse_bo(obj);
	return 0;
}

/* Where a page list lies in pieces: offsets count from where the command's piece begins. */
static int wse_encode_window(const struct drm_wse_cmd *c, const struct wse_bo *bo,
			     const struct wse_bo *mask, struct wse_sqe *sqe)
{
	struct drm_wse_cmd moved = *c;
	struct wse_buf buf = {}, mask_buf = {};
	u64 base, end;
	int ret = 0;

	/* wse_cmd_check() has seen that neither overflows */
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
	struct wse_bo *bo = NULL, *mask = NULL;
	u32 bo_handle = 0, mask_handle = 0, i;
	int ret;

	for (i = 0; i < job->ncmd; i++) {
		const struct drm_wse_cmd *c = &cmds[i];
		struct wse_job_cmd *cmd = &job->cmd[i];

		ret = wse_job_bo(job, file, c->bo, &bo_handle, &bo);
		if (!ret)
			ret = wse_job_bo(job, file, c->mask_bo, &mask_handle, &mask);
		if (!ret)
			ret = wse_cmd_check(&wdev->geom, c, bo ? bo->buf.size : 0,
					    mask ? mask->buf.size : 0);
		if (!ret && c->op == WSE_OP_FENCE)
			ret = wse_fence_check(&wdev->geom, cmds, i);
		if (!ret && c->op != WSE_OP_FENCE)
			ret = wse_encode(c, bo, mask, &cmd->sqe);
		if (ret) {
			drm_dbg(&wdev->drm, "command %u (op %u) refused: %d\n", i, c->op, ret);
			return ret;
		}
		cmd->queue = c->queue;
		job->need[c->queue]++;
		if (c->op == WSE_OP_FENCE) {
			/* what it waits for gets its number in the ring */
			cmd->sqe.opcode = WSE_OP_FENCE;
			cmd->wait_cmd = c->wait_cmd;
			cmd->wait_queue = c->wait_queue;
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

/* out is all 0; whatever this returns, wse_put_out_syncs() is due. */
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

/* Everything is found and checked: the job starts, or waits for its fences. */
static int wse_submit_job(struct wse_job *job, struct wse_out_sync *out, u32 nout)
{
	struct wse_device *wdev = job->ctx->wdev;
	struct dma_fence *fence = dma_fence_get(job->fence);
	int idx, ret;
	u32 i;

	if (!drm_dev_enter(&wdev->drm, &idx)) {
		dma_fence_put(fence);
		return -ENODEV;
	}
	ret = wse_job_queue(job);
	if (!ret) {
		wse_hand_out(out, nout, fence);
		for (i = 0; i < job->ndep; i++)
			wse_job_wait_dep(job, &job->deps[i]);
		wse_job_ready(job);
	}
	drm_dev_exit(idx);
	dma_fence_put(fence);
	return ret;
}

int wse_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct wse_device *wdev = to_wse_device(drm);
	struct drm_wse_submit *args = data;
	struct drm_wse_cmd few_cmds[WSE_FEW_CMDS], *cmds = few_cmds;
	struct drm_wse_sync few_in[WSE_FEW_SYNCS], *in = few_in;
	struct drm_wse_sync few_outs[WSE_FEW_SYNCS], *outs = few_outs;
	struct wse_out_sync few_out[WSE_FEW_SYNCS] = {}, *out = few_out;
	u32 nin = args->in_syncs.count, nout = args->out_syncs.count;
	struct wse_job *job = NULL;
	struct wse_ctx *ctx;
	int ret;

	BUILD_BUG_ON(sizeof(struct drm_wse_cmd) < WSE_CMD_BYTES_1_0);
	BUILD_BUG_ON(sizeof(struct drm_wse_sync) < WSE_SYNC_BYTES_1_0);

	if (args->flags || !args->cmds.count || args->cmds.count > wdev->depth - 1 ||
	    nin > WSE_MAX_SYNCS || nout > WSE_MAX_SYNCS)
		return -EINVAL;
	ctx = wse_ctx_find(file, args->ctx);
	if (!ctx)
		return -ENOENT;
	wse_jobs_reap(wdev);
	ret = wait_event_interruptible(ctx->wait,
				       READ_ONCE(ctx->njobs) < WSE_MAX_JOBS || READ_ONCE(ctx->err));
	if (ret)
		goto put_ctx;

	cmds = wse_copy_array(&args->cmds, sizeof(*cmds), WSE_CMD_BYTES_1_0, few_cmds,
			      WSE_FEW_CMDS);
	ret = PTR_ERR_OR_ZERO(cmds);
	if (ret)
		goto put_ctx;
	if (nin) {
		in = wse_copy_array(&args->in_syncs, sizeof(*in), WSE_SYNC_BYTES_1_0, few_in,
				    WSE_FEW_SYNCS);
		ret = PTR_ERR_OR_ZERO(in);
		if (ret)
			goto free_cmds;
	}
	if (nout) {
		outs = wse_copy_array(&args->out_syncs, sizeof(*outs), WSE_SYNC_BYTES_1_0, few_outs,
				      WSE_FEW_SYNCS);
		ret = PTR_ERR_OR_ZERO(outs);
		if (ret)
			goto free_in;
	}
	ret = -ENOMEM;
	if (nout > WSE_FEW_SYNCS)
		out = kvcalloc(nout, sizeof(*out), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!out)
		goto free_outs;
	job = wse_job_alloc(ctx, args->cmds.count, nin);
	if (!job)
		goto free_out;
	ret = wse_job_fill(job, file, cmds);
	if (!ret)
		ret = wse_find_in_syncs(job, file, in, nin);
	if (!ret)
		ret = wse_find_out_syncs(file, outs, out, nout);
	if (!ret)
		ret = wse_submit_job(job, out, nout);
	wse_put_out_syncs(out, nout);
	wse_job_put(job);
free_out:
	wse_free_array(out, few_out);
free_outs:
	wse_free_array(outs, few_outs);
free_in:
	wse_free_array(in, few_in);
free_cmds:
	wse_free_array(cmds, few_cmds);
put_ctx:
	wse_ctx_put(ctx);
	return ret;
}
