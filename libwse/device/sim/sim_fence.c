// SPDX-License-Identifier: MIT
/* Fences of in-process devices: one event with a result, waited for by threads and by jobs. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "sim.h"

#define NSEC 1000000000ll

void sim_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

int sim_fence_create(struct sim *sim, uint32_t commands, struct sim_fence **fence)
{
	struct sim_fence *f = calloc(1, sizeof(*f) + commands * sizeof(f->cmd[0]));

	if (!f)
		return -ENOMEM;
	f->sim = sim;
	atomic_init(&f->refs, 1);
	pthread_mutex_init(&f->lock, NULL);
	sim_cond_init(&f->cond);
	*fence = f;
	return 0;
}

void sim_fence_get(struct sim_fence *fence)
{
	atomic_fetch_add(&fence->refs, 1);
}

void sim_fence_put(struct sim_fence *fence)
{
	if (atomic_fetch_sub(&fence->refs, 1) != 1)
		return;
	pthread_cond_destroy(&fence->cond);
	pthread_mutex_destroy(&fence->lock);
	free(fence);
}

/* With the fence's lock. A thread that waits for it lets its device's time pass. */
static void want(struct sim_fence *fence, int n)
{
	fence->wanted += (uint32_t)n;
	pthread_mutex_lock(&fence->sim->lock);
	sim_want(fence->sim, n);
	pthread_mutex_unlock(&fence->sim->lock);
}

/*
 * Jobs are told with the lock held: a job that is freed takes its waits back under it first, so
 * none is told that is gone.
 */
void sim_fence_signal(struct sim_fence *fence, int err, uint32_t start, uint32_t end)
{
	struct sim_wait *w;

	pthread_mutex_lock(&fence->lock);
	fence->err = err;
	fence->start = start;
	fence->end = end;
	fence->done = true;
	/* now, not when they wake up: until they wait again no time may pass */
	if (fence->wanted)
		want(fence, -(int)fence->wanted);
	pthread_cond_broadcast(&fence->cond);
	while ((w = fence->waits)) {
		struct sim_job *job = w->job;

		fence->waits = w->next;
		w->job = NULL;
		sim_dep_signalled(job);
	}
	pthread_mutex_unlock(&fence->lock);
}

bool sim_fence_add(struct sim_fence *fence, struct sim_wait *wait)
{
	bool waits;

	pthread_mutex_lock(&fence->lock);
	waits = !fence->done;
	if (waits) {
		wait->next = fence->waits;
		fence->waits = wait;
		if (wait->job->sim != fence->sim)
			want(fence, 1);
	} else {
		wait->job = NULL;
	}
	pthread_mutex_unlock(&fence->lock);
	return waits;
}

void sim_fence_remove(struct sim_wait *wait)
{
	struct sim_wait **p;

	pthread_mutex_lock(&wait->fence->lock);
	if (wait->job) {
		for (p = &wait->fence->waits; *p != wait; p = &(*p)->next)
			;
		*p = wait->next;
		if (wait->job->sim != wait->fence->sim)
			want(wait->fence, -1);
		wait->job = NULL;
	}
	pthread_mutex_unlock(&wait->fence->lock);
}

static struct timespec deadline(int64_t timeout_ns)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += timeout_ns / NSEC;
	t.tv_nsec += timeout_ns % NSEC;
	if (t.tv_nsec >= NSEC) {
		t.tv_nsec -= NSEC;
		t.tv_sec++;
	}
	return t;
}

int sim_fence_wait(struct sim_fence *fence, int64_t timeout_ns)
{
	bool forever = timeout_ns >=
		       NSEC * (1ll << 32); /* a century: without an end, and cannot overflow */
	struct timespec until = deadline(forever ? 0 : timeout_ns);
	int64_t held = 0, more;
	int ret = 0;

	pthread_mutex_lock(&fence->lock);
	if (!fence->done && !timeout_ns) {
		pthread_mutex_unlock(&fence->lock);
		sim_ask(fence->sim);
		pthread_mutex_lock(&fence->lock);
		ret = ETIMEDOUT;
	} else if (!fence->done) {
		want(fence, 1);
		held = sim_held_ns(fence->sim);
	}
	while (!fence->done && ret != ETIMEDOUT) {
		ret = forever ? pthread_cond_wait(&fence->cond, &fence->lock)
			      : pthread_cond_timedwait(&fence->cond, &fence->lock, &until);
		if (ret != ETIMEDOUT || fence->done)
			continue;
		/* the time that gdb holds the wafer does not count */
		more = sim_held_ns(fence->sim) - held;
		held += more;
		until = deadline(more);
		ret = more ? 0 : ret;
	}
	if (!fence->done && timeout_ns)
		want(fence, -1);
	ret = fence->done ? fence->err : -ETIMEDOUT;
	pthread_mutex_unlock(&fence->lock);
	return ret;
}
