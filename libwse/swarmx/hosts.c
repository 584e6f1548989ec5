// SPDX-License-Identifier: MIT
/* The caller's side of the hosts: start, swaps, the failure that is told, the end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "swarmx/hosts_inside.h"

#define ASKS 0.5 /* how often, before the ranks have met, whether one of them has ended */

double wse_hosts_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char *wse_hosts_name(const struct wse_hosts *h, uint32_t rank, char *text, size_t size)
{
	const char *host = h->peer[rank].host;

	snprintf(text, size, host[0] ? "rank %u (%s)" : "rank %u", rank, host);
	return text;
}

void wse_hosts_set_failure(struct wse_hosts *h, int err)
{
	pthread_mutex_lock(&h->lock);
	if (!h->failure.err)
		wse_failure_keep(&h->failure, err);
	pthread_mutex_unlock(&h->lock);
}

/*
 * Waits for the link's start: 0, or what it failed with. One that takes too long, or waits for a
 * rank that has ended, is given up: left, with all that h has, to its thread, which hangs in it.
 */
static int await_start(struct wse_hosts *h, const struct wse_link_ops *ops, double patience,
		       int *given_up)
{
	double end = wse_hosts_now() + patience;
	int ret = 0, ended = 0;
	char who[96] = "";

	pthread_mutex_lock(&h->lock);
	while (!h->up && !ended && !(patience > 0.0 && wse_hosts_now() >= end)) {
		double t = patience > 0.0 && end - wse_hosts_now() < ASKS ? end
									  : wse_hosts_now() + ASKS;
		struct timespec at = {(time_t)t, (long)((t - (double)(time_t)t) * 1e9)};

		pthread_cond_timedwait(&h->done, &h->lock, &at);
		/* under the lock, without which start() does not come to its end: link is there */
		ended = !h->up && ops->ended && ops->ended(h->link, who, sizeof(who));
	}
	*given_up = h->given_up = !h->up;
	h->known = h->failure.err != 0;
	if (h->up)
		ret = h->failure.err ? wse_failure_tell(&h->failure) : 0;
	else
		pthread_detach(h->thread);
	pthread_mutex_unlock(&h->lock);
	if (ended)
		return wse_fail(-EHOSTDOWN,
				"%s has ended before the ranks had met: see what it printed, and "
				"start all of them again",
				who);
	if (*given_up)
		return wse_fail(-ETIMEDOUT,
				"the ranks have not all come within %.0f s: one has ended, or was "
				"not started; end those that are left, and start all of them again",
				patience);
	return ret;
}

int wse_hosts_open(struct wse_link *link, struct wse_hosts **hosts)
{
	/* the thread may be through with the link, which it closes, before this goes on */
	const struct wse_link_ops *ops = link->ops;
	double patience = link->patience;
	struct wse_hosts *h = calloc(1, sizeof(*h));
	pthread_condattr_t clock;
	int ret = -ENOMEM, given_up;

	*hosts = NULL;
	if (!h)
		goto fail;
	h->link = link;
	pthread_mutex_init(&h->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&h->work, &clock);
	pthread_cond_init(&h->done, &clock);
	pthread_condattr_destroy(&clock);
	ret = -pthread_create(&h->thread, NULL, wse_hosts_thread, h);
	if (ret)
		goto fail;
	ret = await_start(h, ops, patience, &given_up);
	if (!ret)
		*hosts = h;
	else if (!given_up)
		wse_hosts_close(h);
	return ret;
fail:
	ops->close(link);
	free(h);
	return wse_fail(ret, "no link between the ranks: %s", strerror(-ret));
}

int wse_hosts_close(struct wse_hosts *h)
{
	int ret = 0;

	if (!h)
		return 0;
	pthread_mutex_lock(&h->lock);
	h->closing = 1;
	pthread_cond_broadcast(&h->work);
	pthread_mutex_unlock(&h->lock);
	pthread_join(h->thread, NULL);
	if (h->failure.err && !h->known)
		ret = wse_failure_tell(&h->failure);
	wse_hosts_drop(h);
	return ret;
}

uint32_t wse_hosts_rank(const struct wse_hosts *h)
{
	return h->rank;
}

uint32_t wse_hosts_ranks(const struct wse_hosts *h)
{
	return h->ranks;
}

int wse_hosts_fail(struct wse_hosts *h, int err)
{
	char who[96];
	int first;

	wse_hosts_set_failure(h, err);
	pthread_mutex_lock(&h->lock);
	first = !h->mine;
	h->mine = h->known = 1;
	pthread_cond_broadcast(&h->work);
	while (!h->over)
		pthread_cond_wait(&h->done, &h->lock);
	pthread_mutex_unlock(&h->lock);
	wse_hosts_name(h, h->rank, who, sizeof(who));
	return first && h->ranks > 1 ? wse_fail_in(err, "%s: ", who) : err;
}

int wse_hosts_failed(struct wse_hosts *h)
{
	int err;

	pthread_mutex_lock(&h->lock);
	err = h->failure.err;
	pthread_mutex_unlock(&h->lock);
	return err;
}

void wse_hosts_carried(const struct wse_hosts *h, uint64_t *out, uint64_t *in)
{
	*out = h->carried[1];
	*in = h->carried[0];
}

int wse_hosts_swap(struct wse_hosts *h, const struct wse_host_msg *msgs, uint32_t n)
{
	int ret;

	if (!n)
		return 0;
	pthread_mutex_lock(&h->lock);
	h->n = n;
	h->msgs = h->over ? NULL : msgs;
	pthread_cond_broadcast(&h->work);
	while (h->msgs)
		pthread_cond_wait(&h->done, &h->lock);
	ret = h->failure.err;
	h->known |= ret != 0;
	pthread_mutex_unlock(&h->lock);
	return ret ? wse_failure_tell(&h->failure) : 0;
}

int wse_hosts_spread(struct wse_hosts *h, void *buf, size_t bytes)
{
	uint32_t n = h->rank ? 1 : h->ranks - 1;
	struct wse_host_msg *m = calloc(n + 1, sizeof(*m));
	int ret;

	if (!m)
		return wse_fail(-ENOMEM, "no memory");
	for (uint32_t i = 0; i < n; i++)
		m[i] = (struct wse_host_msg){h->rank ? 0 : i + 1, !h->rank, buf, bytes};
	ret = wse_hosts_swap(h, m, n);
	free(m);
	return ret;
}

int wse_hosts_gather(struct wse_hosts *h, const void *mine, void *all, size_t bytes)
{
	uint32_t n = h->rank ? 1 : h->ranks - 1;
	struct wse_host_msg *m = calloc(n + 1, sizeof(*m));
	int ret;

	if (!m)
		return wse_fail(-ENOMEM, "no memory");
	if (h->rank)
		m[0] = (struct wse_host_msg){0, 1, (void *)mine, bytes};
	else
		memcpy(all, mine, bytes);
	for (uint32_t i = 0; i < n && !h->rank; i++)
		m[i] = (struct wse_host_msg){i + 1, 0, (char *)all + (i + 1) * bytes, bytes};
	ret = wse_hosts_swap(h, m, n);
	free(m);
	return ret;
}
