// SPDX-License-Identifier: MIT
/*
 * Submits to in-process devices: checked and encoded by the submitting thread, then one list in
 * order of submission whose head moves into the rings when its fences have signalled and there is
 * room.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"
#include "waits.h"

/* A fence as the user holds it. */
struct sim_user_fence {
	struct wse_fence base;
	struct sim_fence *fence;
};

void sim_list_init(struct sim_job_list *list)
{
	list->first = NULL;
	list->last = &list->first;
}

static void list_add(struct sim_job_list *list, struct sim_job *job)
{
	job->next = NULL;
	*list->last = job;
	list->last = &job->next;
}

static void list_del(struct sim_job_list *list, struct sim_job *job)
{
	struct sim_job **p;

	for (p = &list->first; *p != job; p = &(*p)->next)
		;
	*p = job->next;
	if (!*p)
		list->last = p;
}

static void job_free(struct sim_job *job)
{
	uint32_t i;

	for (i = 0; i < job->ndep; i++) {
		sim_fence_remove(&job->deps[i]);
		sim_fence_put(job->deps[i].fence);
	}
	for (i = 0; i < job->nbo; i++)
		sim_bo_put(job->bos[i]);
	if (job->fence)
		sim_fence_put(job->fence);
	free(job->bos);
	free(job->deps);
	free(job);
}

/* The job keeps the reference. */
static int job_bo(struct sim_job *job, uint32_t handle, struct sim_bo **bo)
{
	struct sim *sim = job->sim;
	int ret = 0;

	*bo = NULL;
	if (!handle)
		return 0;
	pthread_mutex_lock(&sim->lock);
	if (handle <= sim->nhandles)
		*bo = sim->handles[handle - 1];
	if (*bo) {
		sim_bo_get(*bo);
		job->bos[job->nbo++] = *bo;
	} else {
		ret = -ENOENT;
	}
	pthread_mutex_unlock(&sim->lock);
	return ret;
}

static int job_fill(struct sim_job *job, const struct drm_wse_cmd *cmds)
{
	struct wse_geom *g = &job->sim->geom;
	struct sim_bo *bo, *mask;
	uint32_t i;
	int ret;

	for (i = 0; i < job->ncmd; i++) {
		const struct drm_wse_cmd *c = &cmds[i];
		struct sim_job_cmd *cmd = &job->cmd[i];

		ret = job_bo(job, c->bo, &bo);
		if (!ret)
			ret = job_bo(job, c->mask_bo, &mask);
		if (!ret)
			ret = wse_cmd_check(g, c, bo ? bo->buf.size : 0, mask ? mask->buf.size : 0);
		if (!ret && c->op == WSE_OP_FENCE)
			ret = wse_fence_check(g, cmds, i);
		if (ret)
			return ret;
		cmd->queue = c->queue;
		job->need[c->queue]++;
		if (c->op == WSE_OP_FENCE) {
			cmd->sqe.opcode =
				WSE_OP_FENCE; /* the number comes with the place in the ring */
			cmd->wait_cmd = c->wait_cmd;
			cmd->wait_queue = c->wait_queue;
		} else {
			wse_cmd_encode(c, 0, bo ? &bo->buf : NULL, mask ? &mask->buf : NULL,
				       &cmd->sqe);
		}
	}
	return 0;
}

static int job_create(struct sim_context *ctx, const struct drm_wse_cmd *cmds, uint32_t n,
		      struct wse_fence *const *in, uint32_t nin, struct sim_job **out)
{
	struct sim_job *job = calloc(1, sizeof(*job) + n * sizeof(job->cmd[0]));
	uint32_t i;
	int ret = -ENOMEM;

	if (!job)
		return ret;
	job->ctx = ctx;
	job->sim = ctx->sim;
	job->ncmd = n;
	job->left = n;
	atomic_init(&job->ndeps, 1);
	job->bos = calloc(n, 2 * sizeof(*job->bos));
	job->deps = calloc(nin ? nin : 1, sizeof(*job->deps));
	if (!job->bos || !job->deps || sim_fence_create(job->sim, n, &job->fence))
		goto free;
	ret = job_fill(job, cmds);
	if (ret)
		goto free;
	for (i = 0; i < nin; i++) {
		struct sim_wait *w = &job->deps[job->ndep];

		if (in[i]->dev->ops != &wse_sim_transport)
			continue; /* waited for by sim_submit() */
		w->fence = ((struct sim_user_fence *)in[i])->fence;
		sim_fence_get(w->fence);
		job->ndep++;
	}
	*out = job;
	return 0;
free:
	job_free(job);
	return ret;
}

void sim_await_job(struct sim_context *ctx)
{
	ctx->nwait++;
	sim_want(ctx->sim, 1);
	pthread_cond_wait(&ctx->sim->changed, &ctx->sim->lock);
	if (ctx->nwait) { /* woken by something else */
		ctx->nwait--;
		sim_want(ctx->sim, -1);
	}
}

/* From here on the job's fence will signal. */
static int job_queue(struct sim_job *job)
{
	struct sim_context *ctx = job->ctx;
	struct sim *sim = job->sim;
	int ret;

	pthread_mutex_lock(&sim->lock);
	while (!sim->dead && !ctx->err && ctx->njobs >= SIM_MAX_JOBS)
		sim_await_job(ctx);
	ret = sim->dead ? sim->dead : ctx->err;
	if (!ret) {
		ctx->njobs++;
		sim->alone = false;
		list_add(&sim->pending, job);
	}
	pthread_mutex_unlock(&sim->lock);
	return ret;
}

/* One reason less to wait. Also called by the fences of other devices. */
void sim_dep_signalled(struct sim_job *job)
{
	struct sim *sim = job->sim;

	pthread_mutex_lock(&sim->lock);
	/* a thread that sees 0 may run and free it, but not before the lock is free */
	if (atomic_fetch_sub(&job->ndeps, 1) == 1)
		pthread_cond_signal(&sim->wake);
	pthread_mutex_unlock(&sim->lock);
}

int sim_submit(struct wse_context *base, const struct drm_wse_cmd *cmds, uint32_t n,
	       struct wse_fence *const *in, uint32_t nin, struct wse_fence **fence)
{
	struct sim_context *ctx = (struct sim_context *)base;
	struct sim_user_fence *user = NULL;
	struct sim_job *job;
	uint32_t i;
	int ret;

	if (fence) {
		user = calloc(1, sizeof(*user));
		if (!user)
			return -ENOMEM;
	}
	ret = job_create(ctx, cmds, n, in, nin, &job);
	if (ret)
		goto free_user;
	/* the fences of a device node cannot call us back */
	for (i = 0; i < nin; i++)
		if (in[i]->dev->ops != &wse_sim_transport)
			wse_fence_wait(in[i], WSE_FOREVER);
	if (user) {
		user->fence = job->fence;
		sim_fence_get(user->fence);
	}
	ret = job_queue(job);
	if (ret) {
		if (user)
			sim_fence_put(user->fence);
		job_free(job);
		goto free_user;
	}
	for (i = 0; i < job->ndep; i++) {
		struct sim_wait *w = &job->deps[i];

		w->job = job;
		atomic_fetch_add(&job->ndeps, 1);
		if (!sim_fence_add(w->fence, w))
			atomic_fetch_sub(&job->ndeps, 1); /* not the last: ours is still there */
	}
	if (user) {
		wse_fence_init(&user->base, base);
		*fence = &user->base;
	}
	sim_dep_signalled(job); /* it may be done and freed when this returns */
	return 0;
free_user:
	free(user);
	return ret;
}

static bool job_fits(const struct sim *sim, const struct sim_job *job)
{
	uint32_t q;

	for (q = 1; q < sim->nrings; q++)
		if (job->need[q] > wse_ring_space(&sim->ring[q].state))
			return false;
	return true;
}

static void job_put(struct sim *sim, struct sim_job *job)
{
	uint32_t before[WSE_MAX_QUEUES], i;

	for (i = 1; i < sim->nrings; i++)
		before[i] = sim->ring[i].state.seq;
	for (i = 0; i < job->ncmd; i++) {
		struct sim_job_cmd *cmd = &job->cmd[i];

		/* pending jobs are put in order, so these numbers cover all that was accepted
		 * before */
		if (cmd->sqe.opcode == WSE_OP_FENCE) {
			bool all = cmd->wait_cmd == DRM_WSE_WAIT_QUEUE;
			uint32_t queue = all ? cmd->wait_queue : job->cmd[cmd->wait_cmd].queue;

			wse_fence_encode(0, queue,
					 all ? before[queue] : job->cmd[cmd->wait_cmd].seq,
					 &cmd->sqe);
		}
		cmd->seq = sim_ring_put(&sim->ring[cmd->queue], &cmd->sqe, job, i);
	}
	sim->inflight += job->ncmd;
}

/* The next job, if it can go into the rings now. Of a lost context, it waits for the reset to be
 * cancelled. */
struct sim_job *sim_ready(struct sim *sim)
{
	struct sim_job *job = sim->pending.first;

	if (!job || job->ctx->err || sim->reset_reason || atomic_load(&job->ndeps))
		return NULL;
	return job_fits(sim, job) ? job : NULL;
}

/* Moves pending jobs into the rings as far as they go. True if the device has been told of
 * something. */
bool sim_push(struct sim *sim)
{
	struct sim_ring *last = NULL;
	struct sim_job *job;
	uint32_t q;

	while ((job = sim_ready(sim))) {
		list_del(&sim->pending, job);
		job_put(sim, job);
		list_add(&sim->active, job);
	}
	/* one batch, as the driver does it: the device acts on all doorbells with the last */
	for (q = 1; q < sim->nrings; q++) {
		if (!sim->ring[q].state.doorbell_pending)
			continue;
		if (last)
			sim_ring_kick(sim, last, sim->abi_minor >= WSE_MINOR_BATCHES);
		last = &sim->ring[q];
	}
	if (last)
		sim_ring_kick(sim, last, false);
	return last;
}

static void job_finish(struct sim *sim, struct sim_job *job, struct sim_job_list *done)
{
	struct sim_context *ctx = job->ctx;

	list_add(done, job);
	ctx->njobs--;
	sim_want(sim, -(int)ctx->nwait);
	ctx->nwait = 0;
	pthread_cond_broadcast(&sim->changed);
}

/*
 * "; who has to move: core 1,0: sends on color 3"; "" where the fault names no core
 * that waits, or that is not known. The model stands as the command left it.
 */
static void who_moves(const struct sim *sim, const struct drm_wse_fault *f, char *text, size_t size)
{
	const struct wse_wafer wafer = {sim->ops, sim->machine, sim->geom.rows, sim->geom.cols};
	struct wse_waits w = {0};

	if (f->cause >= WSE_CAUSE_WAIT_TASK && f->cause <= WSE_CAUSE_WAIT_M1 &&
	    sim->ops->get_units && f->row < sim->geom.rows && f->col < sim->geom.cols)
		wse_find_waits(&wafer, f->row * sim->geom.cols + f->col, &w);
	snprintf(text, size, *w.whom ? "; who has to move: %s" : "", w.whom);
}

/*
 * "; core 1,0 stands in sum at product.c:9"; "" where the fault names no core, or that has
 * no place that is known. A record has no pc of a core that only runs or waits: the core has it.
 */
static void where(struct sim *sim, struct wse_context *ctx, const struct drm_wse_fault *f,
		  char *text, size_t size)
{
	uint32_t core = f->row * sim->geom.cols + f->col, at;
	struct wse_core_state st;
	char place[WSE_PLACE], near[64];

	*text = 0;
	if (!sim->ops->get_state || !sim->ops->peek || f->cmd_op != WSE_OP_START ||
	    f->row >= sim->geom.rows || f->col >= sim->geom.cols ||
	    sim->ops->get_state(sim->machine, core, &st))
		return;
	at = (f->pc ? f->pc : st.pc) - WSE_SRAM_BASE;
	if (at >= sim->geom.sram_bytes)
		return;
	at = at < sizeof(near) / 2 ? 0 : (at & ~3u) - sizeof(near) / 2;
	if (at > sim->geom.sram_bytes - sizeof(near))
		at = sim->geom.sram_bytes - sizeof(near);
	if (sim->ops->peek(sim->machine, core, WSE_SRAM_BASE + at, near, sizeof(near)))
		return;
	wse_context_place(ctx, f->pc ? f->pc : st.pc, at, near, sizeof(near), place);
	if (*place)
		snprintf(text, size, "; core %u,%u stands in %s", f->col, f->row, place);
}

static void note_fault(struct sim *sim, struct sim_ring *ring, const struct sim_slot *slot,
		       const struct wse_cqe *cqe, int err)
{
	struct sim_context *ctx = slot->job->ctx;
	struct drm_wse_fault f = {.cmd_op = slot->op,
				  .status = cqe->status >> 1,
				  .queue = ring->id,
				  .color = 0xffffffff};
	char text[WSE_LOST], whom[160], line[WSE_PLACE + 40];

	if (ctx->first)
		return;
	if (cqe->fault < SIM_FAULTS) {
		const struct wse_fault *r = &sim->faults[cqe->fault];

		/* a record of something else would mislead */
		if (r->status == f.status && r->queue == f.queue && r->cid == cqe->cid) {
			f.ncores = r->ncores;
			f.cause = r->cause;
			f.row = r->row;
			f.col = r->col;
			f.pc = r->pc;
			f.addr = r->addr;
			f.color = r->color;
			f.value = r->value;
			f.iova = r->iova;
			f.cycle = r->cycle;
		}
	}
	ctx->first = true;
	ctx->fault = f;
	wse_explain_fault(&f, err, text, sizeof(text));
	who_moves(sim, &f, whom, sizeof(whom));
	where(sim, &ctx->base, &f, line, sizeof(line));
	wse_context_lose(&ctx->base, "command %u of its submit: %s%s%s", slot->index, text, line,
			 whom);
}

/* the fence's users look when it has signalled */
static void note_cycles(struct sim_job *job, uint32_t command, const struct wse_cqe *cqe)
{
	job->fence->cmd[command] = (struct sim_span){cqe->start, cqe->end};
	if (!job->timed || (int32_t)(cqe->start - job->start) < 0)
		job->start = cqe->start;
	if (!job->timed || (int32_t)(cqe->end - job->end) > 0)
		job->end = cqe->end;
	job->timed = true;
}

void sim_job_complete(struct sim *sim, struct sim_ring *ring, const struct sim_slot *slot,
		      const struct wse_cqe *cqe, struct sim_job_list *done)
{
	struct sim_job *job = slot->job;
	int err = wse_status_errno(cqe->status >> 1);

	job->left--;
	note_cycles(job, slot->index, cqe);
	if (err) {
		if (!job->err)
			job->err = err;
		note_fault(sim, ring, slot, cqe, err);
		if (!job->ctx->err)
			job->ctx->err = -EIO;
		sim->reset_due = true;
	}
	/* one that failed is finished by the reset: only then its other commands have surely
	 * stopped */
	if (!job->left && !job->err) {
		list_del(&sim->active, job);
		job_finish(sim, job, done);
	}
}

/* Ends all jobs: nothing of them executes any more. */
void sim_jobs_fail(struct sim *sim, int err, struct sim_job_list *done)
{
	struct sim_job_list *lists[] = {&sim->active, &sim->pending};
	struct sim_job *job;
	int i;

	for (i = 0; i < 2; i++) {
		while ((job = lists[i]->first)) {
			list_del(lists[i], job);
			if (!job->err)
				job->err = err;
			job_finish(sim, job, done);
		}
	}
	sim->inflight = 0;
}

void sim_jobs_signal(struct sim_job_list *done)
{
	struct sim_job *job;

	while ((job = done->first)) {
		list_del(done, job);
		sim_fence_signal(job->fence, job->err, job->start, job->end);
		job_free(job);
	}
}

/* ---- the transport's fence calls ---- */

int sim_user_wait(struct wse_fence *fence, int64_t timeout_ns)
{
	return sim_fence_wait(((struct sim_user_fence *)fence)->fence, timeout_ns);
}

int sim_user_cycles(struct wse_fence *fence, uint32_t *start, uint32_t *end)
{
	struct sim_fence *f = ((struct sim_user_fence *)fence)->fence;
	int ret = -EAGAIN;

	pthread_mutex_lock(&f->lock);
	if (f->done) {
		*start = f->start;
		*end = f->end;
		ret = 0;
	}
	pthread_mutex_unlock(&f->lock);
	return ret;
}

int sim_command_cycles(struct wse_fence *fence, uint32_t command, uint32_t *start, uint32_t *end)
{
	struct sim_fence *f = ((struct sim_user_fence *)fence)->fence;
	int ret = -EAGAIN;

	pthread_mutex_lock(&f->lock);
	if (f->done) {
		*start = f->cmd[command].start;
		*end = f->cmd[command].end;
		ret = 0;
	}
	pthread_mutex_unlock(&f->lock);
	return ret;
}

void sim_user_free(struct wse_fence *fence)
{
	sim_fence_put(((struct sim_user_fence *)fence)->fence);
	free(fence);
}
