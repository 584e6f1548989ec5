// SPDX-License-Identifier: MIT
/* A device's thread: what an executor asks for while it runs micro-batches, what it hands over. */
#include "swarmx_inside.h"

#include <errno.h>

/* the first unit of a step is there */
static void begun(struct wse_swarm *s)
{
	pthread_mutex_lock(&s->lock);
	if (s->waiting && s->ended > 0.0)
		s->gap = wse_swarm_now() - s->ended;
	if (s->waiting)
		s->ended = 0.0;
	__atomic_store_n(&s->waiting, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&s->lock);
}

static int unit_ready(void *ctx, uint32_t unit)
{
	struct wse_swarm *s = ((struct worker *)ctx)->s;

	int ret = 0;

	if (wse_swarm_failed(s))
		return -ECANCELED;
	if (s->step.unit_ready)
		ret = s->step.unit_ready(s->step.ready_ctx, unit);
	if (!ret && __atomic_load_n(&s->waiting, __ATOMIC_RELAXED))
		begun(s);
	return ret;
}

static int unit_take(void *ctx, uint32_t unit, enum wse_image_part part, int wait)
{
	struct worker *w = ctx;
	struct wse_swarm *s = w->s;
	int ret;

	if (wse_swarm_failed(s))
		return -ECANCELED;
	ret = s->step.unit_take(s->step.ready_ctx, unit, part, wait);
	w->no_device |= ret && ret != -EAGAIN && ret != -ECANCELED;
	return ret;
}

static void unit_done(void *ctx, uint32_t unit, enum wse_image_part part)
{
	struct wse_swarm *s = ((struct worker *)ctx)->s;

	s->step.unit_done(s->step.ready_ctx, unit, part);
}

static size_t grad_bytes(const struct wse_swarm *s, uint32_t unit)
{
	return s->reduce[unit].count * sizeof(float);
}

/* the host adds to its gradient before that is a leaf: wse_swarm_grad_bytes() has it apart */
static int is_parked(const struct wse_swarm *s, uint32_t unit)
{
	return s->step.host && unit == s->step.host->parked;
}

static int grad_room(void *ctx, uint32_t unit)
{
	struct worker *w = ctx;
	struct wse_swarm *s = w->s;

	return !s->file || unit >= s->nreduce || !w->lent || is_parked(s, unit) ||
	       w->lent + grad_bytes(s, unit) <= s->at_a_time;
}

static int grad_get(void *ctx, uint32_t index, uint32_t unit, struct wse_shared_buf **buf)
{
	struct worker *w = ctx;
	struct wse_swarm *s = w->s;

	if (wse_swarm_failed(s))
		return -ECANCELED;
	if (unit >= s->nreduce || index >= s->step.n)
		return -EINVAL;
	if (s->step.jobs[index].images)
		wse_reduce_size(&s->reduce[unit], s->step.graph, unit,
				&s->step.jobs[index].images[unit]);
	w->lent += is_parked(s, unit) ? 0 : grad_bytes(s, unit);
	return wse_reduce_get(&s->reduce[unit], buf);
}

/*
 * a leaf of a unit; of one that was shared, which a repeated step makes again, there is a sum
 * already
 */
static int add_leaf(struct wse_swarm *s, uint32_t unit, uint32_t index, struct wse_shared_buf *buf)
{
	int ret;

	if (!s->step.share_unit)
		return wse_reduce_put(&s->reduce[unit], index, buf);
	if (s->shared[unit])
		return wse_reduce_drop(&s->reduce[unit], buf);
	ret = wse_reduce_put(&s->reduce[unit], index, buf);
	if (ret)
		return ret;
	pthread_mutex_lock(&s->lock);
	if (++s->in[unit] == s->step.end - s->step.first)
		pthread_cond_broadcast(&s->cond);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

static int put_leaf(struct worker *w, uint32_t unit, uint32_t index, struct wse_shared_buf *buf)
{
	uint64_t begin = wse_spans_now(&w->s->spans);
	int ret = add_leaf(w->s, unit, index, buf);

	/* -EINVAL: a leaf that the tree does not wait for, an executor's fault */
	w->no_device |= w->s->file && ret && ret != -EINVAL;
	wse_spans_end(&w->s->spans, w->id, unit, begin);
	return ret;
}

static int grad_put(void *ctx, uint32_t index, uint32_t unit, struct wse_shared_buf *buf)
{
	struct worker *w = ctx;
	struct wse_swarm *s = w->s;

	if (unit >= s->nreduce)
		return -EINVAL;
	if (is_parked(s, unit)) {
		w->parked[index % WSE_EXEC_AHEAD] = buf;
		return 0;
	}
	w->lent -= grad_bytes(s, unit);
	return put_leaf(w, unit, index, buf);
}

static int call_host(struct worker *w, const struct ask *a)
{
	const struct wse_swarm_host *h = w->s->step.host;

	return a->what == ASK_BEGIN ? h->begin(h->ctx, w->id, a->index)
				    : h->done(h->ctx, a->index, a->parked, a->rows);
}

static int ask_host(struct worker *w, struct ask a)
{
	struct wse_swarm *s = w->s;

	if (!s->step.host->by_caller)
		return call_host(w, &a);
	pthread_mutex_lock(&s->lock);
	w->ask = a;
	pthread_cond_broadcast(&s->cond);
	while (w->ask.what)
		pthread_cond_wait(&s->cond, &s->lock);
	a.ret = w->ask.ret;
	pthread_mutex_unlock(&s->lock);
	return a.ret;
}

void wse_worker_serve(struct wse_swarm *s)
{
	for (uint32_t d = 0; d < s->n; d++) {
		struct worker *w = &s->w[d];
		int ret;

		if (!w->ask.what)
			continue;
		pthread_mutex_unlock(&s->lock);
		ret = call_host(w, &w->ask);
		pthread_mutex_lock(&s->lock);
		w->served |= w->ask.what == ASK_BEGIN;
		w->ask.ret = ret;
		w->ask.what = ASK_NOTHING;
		pthread_cond_broadcast(&s->cond);
		return;
	}
	pthread_cond_wait(&s->cond, &s->lock);
}

void wse_worker_serve_first(struct wse_swarm *s)
{
	pthread_mutex_lock(&s->lock);
	for (uint32_t d = 0; d < s->n; d++) {
		const struct worker *w = &s->w[d];

		while (w->n && !w->served && w->begun != w->done)
			wse_worker_serve(s);
	}
	pthread_mutex_unlock(&s->lock);
}

static int begin(void *ctx, uint32_t index)
{
	struct worker *w = ctx;
	const struct wse_swarm_host *h = w->s->step.host;

	if (wse_swarm_failed(w->s))
		return -ECANCELED;
	w->parked[index % WSE_EXEC_AHEAD] = NULL;
	return h ? ask_host(w, (struct ask){.what = ASK_BEGIN, .index = index}) : 0;
}

/* the host's part of the gradients, and then they are leaves */
static int done(void *ctx, uint32_t index)
{
	struct worker *w = ctx;
	struct wse_swarm *s = w->s;
	const struct wse_swarm_host *h = s->step.host;
	struct wse_shared_buf *buf = w->parked[index % WSE_EXEC_AHEAD];
	int backward = h && s->step.jobs[index].backward, ret;

	if (!h)
		return 0;
	if (backward && h->parked != WSE_NO_UNIT && !buf)
		return -EPROTO; /* an executor that kept it */
	ret = ask_host(w, (struct ask){.what = ASK_DONE,
				       .index = index,
				       .parked = buf ? buf->ptr : NULL,
				       .rows = backward && h->nrows ? w->rows : NULL});
	for (uint32_t i = 0; i < h->nrows; i++) {
		if (ret || !backward)
			wse_rows_fini(&w->rows[i]);
		else
			ret = wse_row_sum_put(&s->rows[i], index, &w->rows[i]);
	}
	w->parked[index % WSE_EXEC_AHEAD] = NULL;
	if (!ret && buf)
		ret = put_leaf(w, h->parked, index, buf);
	return ret;
}

static const struct wse_micro_ops swarm_ops = {
	.unit_ready = unit_ready,
	.grad_get = grad_get,
	.grad_put = grad_put,
	.grad_room = grad_room,
	.begin = begin,
	.done = done,
};
/* images come and go */
static const struct wse_micro_ops taking_ops = {
	.unit_take = unit_take,
	.unit_done = unit_done,
	.grad_get = grad_get,
	.grad_put = grad_put,
	.grad_room = grad_room,
	.begin = begin,
	.done = done,
};

void *wse_worker_main(void *arg)
{
	struct worker *w = arg;
	struct wse_swarm *s = w->s;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		unsigned int before = wse_failures();
		int ret = 0;

		while (!s->stop && w->begun == w->done)
			pthread_cond_wait(&s->cond, &s->lock);
		if (s->stop)
			break;
		pthread_mutex_unlock(&s->lock);
		if (w->n)
			ret = w->exec->ops->run(w->exec, s->step.jobs + w->first, w->n,
						s->step.unit_take ? &taking_ops : &swarm_ops, w);
		pthread_mutex_lock(&s->lock);
		wse_fail_since(before, ret, "%s", strerror(-ret));
		wse_failure_keep(&w->failure, ret);
		if (ret)
			__atomic_store_n(&s->failed, 1, __ATOMIC_RELAXED);
		w->done = w->begun;
		if (w->n && s->step.jobs[w->first].backward)
			s->ended = wse_swarm_now();
		pthread_cond_broadcast(&s->cond);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}
