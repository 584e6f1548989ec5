// SPDX-License-Identifier: MIT
/* The link's thread: messages under way, signs of life, and the one failure of a run. */
#include "hosts.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "swarmx/lifeline.h"

#define BEAT	   0.25 /* seconds between two signs of life */
#define SILENCE	   3.0	/* after which a rank is given up */
#define ENDED	   0.5	/* likewise, when its process seems to have ended: two beats are missing */
#define FIRST_SIGN 60.0 /* for a rank that has not come yet: nodes start at different times */
#define GOODBYE	   1.0	/* for the others to take the news of a failure */
#define ASKS	   0.5	/* how often, before the ranks have met, whether one of them has ended */
/* a large message that is under way is looked after so long without a pause */
#define BUSY 2e-3

enum { TAG_CONTROL = 1, TAG_DATA };
enum { HELLO = 1, ALIVE, BYE, FAILED };

/* between any two ranks, of one size */
struct control {
	uint32_t kind;
	int32_t err;
	char text[WSE_SENTENCE]; /* HELLO: the host's name, and lifeline.h's; FAILED: why */
};

struct out {
	struct control c;
	void *req;
	struct out *next;
};

struct peer {
	struct control in;
	void *req;
	double heard; /* time of its last message */
	int met, bye;
	char host[64];
};

struct wse_hosts {
	struct wse_link *link; /* the thread's, until it is over */
	uint32_t rank, ranks;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	int up, closing, over; /* over: the thread makes no more calls */
	int given_up;	       /* the caller waits for the start no more: all is the thread's */
	struct wse_failure failure;
	int told; /* the failure came from another rank, which tells all */
	int mine; /* the caller knows which rank this is */
	/* one swap at a time */
	const struct wse_host_msg *msgs;
	uint32_t n;
	uint64_t carried[2]; /* bytes that were received, sent */
	/* the thread's own */
	void **reqs; /* [room]: of the parts of the swap's messages */
	uint32_t nreqs, room, left;
	int bulk;     /* some of them are large */
	double moved; /* when the last one was done, or the swap began */
	struct out *out;
	struct peer *peer;	  /* [ranks] */
	struct wse_lifeline line; /* to the rank before this one */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint32_t next_rank(const struct wse_hosts *h, uint32_t by)
{
	return (h->rank + by) % h->ranks;
}

const char *wse_hosts_name(const struct wse_hosts *h, uint32_t rank, char *text, size_t size)
{
	const char *host = h->peer[rank].host;

	snprintf(text, size, host[0] ? "rank %u (%s)" : "rank %u", rank, host);
	return text;
}

/* ---- the thread ---- */

/* the first one stays */
static void set_failure(struct wse_hosts *h, int err)
{
	pthread_mutex_lock(&h->lock);
	if (!h->failure.err)
		wse_failure_keep(&h->failure, err);
	pthread_mutex_unlock(&h->lock);
}

static void link_failed(struct wse_hosts *h, int err)
{
	if (err == -EMSGSIZE)
		wse_fail(err, "the ranks do not agree on the length of a message: do all run the "
			      "same release?");
	else
		wse_fail(err, "the link between the ranks: %s", strerror(-err));
	set_failure(h, err);
}

static void tell(struct wse_hosts *h, uint32_t rank, uint32_t kind, int err, const char *text)
{
	struct out *o = calloc(1, sizeof(*o));
	int ret = -ENOMEM;

	if (o) {
		o->c.kind = kind;
		o->c.err = err;
		snprintf(o->c.text, sizeof(o->c.text), "%s", text);
		ret = h->link->ops->send(h->link, rank, TAG_CONTROL, &o->c, sizeof(o->c), &o->req);
	}
	if (ret) {
		free(o);
		link_failed(h, ret);
		return;
	}
	o->next = h->out;
	h->out = o;
}

static void listen_to(struct wse_hosts *h, uint32_t rank)
{
	struct peer *p = &h->peer[rank];
	int ret = h->link->ops->recv(h->link, rank, TAG_CONTROL, &p->in, sizeof(p->in), &p->req);

	if (ret)
		link_failed(h, ret);
}

static void heard(struct wse_hosts *h, uint32_t rank)
{
	struct peer *p = &h->peer[rank];
	char who[96];

	p->heard = now();
	p->met = 1;
	p->in.text[sizeof(p->in.text) - 1] = 0;
	if (p->in.kind == HELLO) {
		size_t len = strcspn(p->in.text, "\n");

		pthread_mutex_lock(&h->lock);
		snprintf(p->host, sizeof(p->host), "%.*s", (int)(len < 63 ? len : 63), p->in.text);
		pthread_mutex_unlock(&h->lock);
		if (rank == next_rank(h, h->ranks - 1) && p->in.text[len])
			wse_lifeline_to(&h->line, p->in.text + len + 1,
					!strcmp(p->host, h->link->host));
	} else if (p->in.kind == BYE) {
		p->bye = 1;
		return;
	} else if (p->in.kind == FAILED) {
		int err = p->in.err < 0 && p->in.err > -4096 ? p->in.err : -EPROTO;

		wse_fail(err, "%s ended the run: %.800s", wse_hosts_name(h, rank, who, sizeof(who)),
			 p->in.text);
		pthread_mutex_lock(&h->lock);
		h->told = 1;
		pthread_mutex_unlock(&h->lock);
		set_failure(h, err);
		return;
	}
	listen_to(h, rank);
}

static int has_failed(struct wse_hosts *h)
{
	int err;

	pthread_mutex_lock(&h->lock);
	err = h->failure.err;
	pthread_mutex_unlock(&h->lock);
	return err;
}

static void test_control(struct wse_hosts *h)
{
	struct out **at = &h->out, *o;

	while ((o = *at)) {
		int done = h->link->ops->test(h->link, &o->req);

		if (!done) {
			at = &o->next;
			continue;
		}
		*at = o->next;
		free(o);
		if (done < 0)
			link_failed(h, done);
	}
	for (uint32_t i = 0; i < h->ranks; i++) {
		int done = h->peer[i].req ? h->link->ops->test(h->link, &h->peer[i].req) : 0;

		if (done < 0)
			link_failed(h, done);
		else if (done)
			heard(h, i);
	}
}

/* the rank before this one: silent for too long? */
static void check_silence(struct wse_hosts *h)
{
	uint32_t rank = next_rank(h, h->ranks - 1);
	struct peer *p = &h->peer[rank];
	/* of processes that began together the first sign is soon there */
	double limit = p->met || h->link->processes ? SILENCE : FIRST_SIGN;
	int ended = !p->bye && wse_lifeline_lost(&h->line);
	char who[96];

	if (p->bye || now() - p->heard < (ended ? ENDED : limit))
		return;
	if (ended) {
		p->bye = 1;
		wse_hosts_name(h, rank, who, sizeof(who));
		set_failure(h, wse_fail(-EHOSTDOWN, "%s is gone: its process has ended", who));
		return;
	}
	p->bye = 1; /* it is not told of the failure */
	wse_hosts_name(h, rank, who, sizeof(who));
	set_failure(h, wse_fail(-EHOSTDOWN,
				p->met ? "%s has been silent for %.0f s: it was killed, or its "
					 "host or the network is gone"
				       : "%s has not come within %.0f s: see what it printed",
				who, limit));
}

/* the parts of a swap's messages, begun in order */
static int begin_swap(struct wse_hosts *h)
{
	uint32_t parts = 0;
	int ret = 0;

	for (uint32_t i = 0; i < h->n; i++)
		parts += (uint32_t)((h->msgs[i].bytes + WSE_LINK_BYTES - 1) / WSE_LINK_BYTES);
	if (parts > h->room) {
		void **more = realloc(h->reqs, parts * sizeof(*more));

		if (!more)
			return -ENOMEM;
		h->reqs = more;
		h->room = parts;
	}
	h->nreqs = h->left = 0;
	h->bulk = 0;
	for (uint32_t i = 0; i < h->n && !ret; i++) {
		const struct wse_host_msg *m = &h->msgs[i];

		h->bulk |= m->bytes > 65536;
		h->carried[m->send != 0] += m->bytes;
		for (size_t at = 0; at < m->bytes && !ret; at += WSE_LINK_BYTES) {
			size_t n = m->bytes - at < WSE_LINK_BYTES ? m->bytes - at : WSE_LINK_BYTES;
			char *buf = (char *)m->buf + at;
			void **req = &h->reqs[h->nreqs];

			ret = m->send ? h->link->ops->send(h->link, m->rank, TAG_DATA, buf, n, req)
				      : h->link->ops->recv(h->link, m->rank, TAG_DATA, buf, n, req);
			if (!ret) {
				h->nreqs++;
				h->left++;
			}
		}
	}
	return ret;
}

static void test_swap(struct wse_hosts *h)
{
	for (uint32_t i = 0; i < h->nreqs; i++) {
		int done = h->reqs[i] ? h->link->ops->test(h->link, &h->reqs[i]) : 0;

		if (done < 0)
			link_failed(h, done);
		h->left -= done > 0;
		if (done)
			h->moved = now();
	}
}

/* who said goodbye sends nothing more: what of a swap is still under way will not come */
static void check_left(struct wse_hosts *h, double since)
{
	char who[96];

	for (uint32_t i = 0; i < h->n; i++) {
		const struct peer *p = &h->peer[h->msgs[i].rank];
		double from = p->heard > since ? p->heard : since;

		if (!p->bye || now() - from < SILENCE)
			continue;
		wse_hosts_name(h, h->msgs[i].rank, who, sizeof(who));
		set_failure(h, wse_fail(-EPROTO,
					"%s has left the run: all ranks make the same steps", who));
		return;
	}
}

/* the first message that a rank receives comes after all ranks have sent theirs to rank 0 */
static void all_came(struct wse_hosts *h)
{
	int got = 0;

	for (uint32_t i = 0; i < h->n; i++)
		got |= !h->msgs[i].send;
	for (uint32_t i = 0; got && i < h->ranks; i++) {
		if (!h->peer[i].met)
			h->peer[i].heard = now();
		h->peer[i].met = 1;
	}
}

/* the caller's messages end, done or failed */
static void end_swap(struct wse_hosts *h)
{
	pthread_mutex_lock(&h->lock);
	h->msgs = NULL;
	pthread_cond_broadcast(&h->done);
	pthread_mutex_unlock(&h->lock);
}

/*
 * until there is work: a link tells nothing by itself, so it is asked, often while much is under
 * way, and less often the longer nothing has come: the other rank is not there yet
 */
static void rest(struct wse_hosts *h, int leaving)
{
	double quiet = now() - h->moved, pause = h->left ? quiet / 16 : 2e-3,
	       most = h->left	? 4e-3
		      : leaving ? 1e-3
				: 1e-2;
	struct timespec until;

	if (h->left && h->bulk && quiet < BUSY)
		most = 2e-5;
	pause = pause < 1e-5 ? 1e-5 : pause > most ? most : pause;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)(1e9 * pause);
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&h->lock);
	if (h->left || (!h->msgs && (leaving || !h->closing) && !h->failure.err))
		pthread_cond_timedwait(&h->work, &h->lock, &until);
	pthread_mutex_unlock(&h->lock);
}

/* the others learn why, and are not waited for */
static void say_failed(struct wse_hosts *h)
{
	double until = now() + GOODBYE;

	for (uint32_t i = 1; i < h->ranks && !h->told; i++)
		if (!h->peer[next_rank(h, i)].bye)
			tell(h, next_rank(h, i), FAILED, h->failure.err, h->failure.text);
	while (h->out && now() < until) {
		const struct timespec pause = {0, 100000};

		test_control(h);
		nanosleep(&pause, NULL);
	}
	h->link->ops->abort(h->link);
}

static int is_closing(struct wse_hosts *h)
{
	int closing;

	pthread_mutex_lock(&h->lock);
	closing = h->closing;
	pthread_mutex_unlock(&h->lock);
	return closing;
}

static int all_said_bye(struct wse_hosts *h)
{
	for (uint32_t i = 1; i < h->ranks; i++)
		if (!h->peer[next_rank(h, i)].bye)
			return 0;
	return !h->out;
}

static void serve(struct wse_hosts *h)
{
	double beat = now() + BEAT, turn = now(), since = 0.0;
	int swapping = 0, leaving = 0;

	while (!has_failed(h) && !(leaving && all_said_bye(h))) {
		double t = now();

		if (t - turn > SILENCE / 2) /* this rank slept: the others may have spoken */
			for (uint32_t i = 0; i < h->ranks; i++)
				h->peer[i].heard = t;
		turn = t;
		test_control(h);
		check_silence(h);
		if (t > beat && h->ranks > 1 && !leaving) {
			tell(h, next_rank(h, 1), ALIVE, 0, "");
			beat = t + BEAT;
		}
		if (!leaving && is_closing(h)) {
			leaving = 1;
			for (uint32_t i = 1; i < h->ranks; i++)
				tell(h, next_rank(h, i), BYE, 0, "");
		}
		if (swapping) {
			test_swap(h);
			if (!h->left) {
				swapping = 0;
				all_came(h);
				end_swap(h);
			} else {
				check_left(h, since);
			}
		} else {
			const struct wse_host_msg *msgs;
			int ret = 0;

			pthread_mutex_lock(&h->lock);
			msgs = h->msgs;
			pthread_mutex_unlock(&h->lock);
			if (msgs)
				ret = begin_swap(h);
			if (ret)
				link_failed(h, ret);
			swapping = msgs && !ret;
			since = h->moved = t;
			if (swapping)
				continue;
		}
		rest(h, leaving);
	}
	if (has_failed(h))
		say_failed(h);
}

/* its host, and where a process that ends is noticed */
static void hello(struct wse_hosts *h, int failed)
{
	char text[WSE_SENTENCE - 64] = "", all[WSE_SENTENCE];

	h->line.listens = h->line.fd = -1;
	if (!failed && h->link->processes && h->ranks > 1)
		wse_lifeline_open(&h->line, text, sizeof(text));
	snprintf(all, sizeof(all), text[0] ? "%.63s\n%s" : "%.63s", h->link->host, text);
	for (uint32_t i = 1; !failed && i < h->ranks; i++) {
		h->peer[next_rank(h, i)].heard = now();
		listen_to(h, next_rank(h, i));
		tell(h, next_rank(h, i), HELLO, 0, all);
	}
}

static void drop(struct wse_hosts *h)
{
	while (h->out) {
		struct out *o = h->out;

		h->out = o->next;
		free(o);
	}
	pthread_mutex_destroy(&h->lock);
	pthread_cond_destroy(&h->work);
	pthread_cond_destroy(&h->done);
	free(h->reqs);
	free(h->peer);
	free(h);
}

static void *thread(void *arg)
{
	struct wse_hosts *h = arg;
	unsigned int before = wse_failures();
	int ret = h->link->ops->start(h->link);

	if (!ret) {
		h->rank = h->link->rank;
		h->ranks = h->link->ranks;
		h->peer = calloc(h->ranks, sizeof(*h->peer));
		ret = h->peer ? 0 : -ENOMEM;
	}
	if (ret)
		set_failure(h, wse_fail_since(before, ret, "the link between the ranks: %s",
					      strerror(-ret)));
	if (!ret) {
		snprintf(h->peer[h->rank].host, sizeof(h->peer[0].host), "%s", h->link->host);
		h->peer[h->rank].bye = 1;
	}
	pthread_mutex_lock(&h->lock);
	if (h->given_up) {
		pthread_mutex_unlock(&h->lock);
		h->link->ops->abort(h->link);
		h->link->ops->close(h->link);
		drop(h);
		return NULL;
	}
	pthread_mutex_unlock(&h->lock);
	hello(h, ret);
	pthread_mutex_lock(&h->lock);
	h->up = 1;
	pthread_cond_broadcast(&h->done);
	pthread_mutex_unlock(&h->lock);
	if (!ret)
		serve(h);
	wse_lifeline_close(&h->line);
	h->link->ops->close(h->link);
	pthread_mutex_lock(&h->lock);
	h->over = 1;
	h->msgs = NULL;
	pthread_cond_broadcast(&h->done);
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

/* ---- the caller's side ---- */

/*
 * Waits for the link's start: 0, or what it failed with. One that takes too long, or waits for a
 * rank that has ended, is given up: left, with all that h has, to its thread, which hangs in it.
 */
static int await_start(struct wse_hosts *h, int *given_up)
{
	const struct wse_link_ops *ops = h->link->ops;
	double patience = h->link->patience, end = now() + patience;
	int ret = 0, ended = 0;
	char who[96] = "";

	pthread_mutex_lock(&h->lock);
	while (!h->up && !ended && !(patience > 0.0 && now() >= end)) {
		double t = patience > 0.0 && end - now() < ASKS ? end : now() + ASKS;
		struct timespec at = {(time_t)t, (long)((t - (double)(time_t)t) * 1e9)};

		pthread_cond_timedwait(&h->done, &h->lock, &at);
		/* under the lock, without which start() does not come to its end: link is there */
		ended = !h->up && ops->ended && ops->ended(h->link, who, sizeof(who));
	}
	*given_up = h->given_up = !h->up;
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
	ret = -pthread_create(&h->thread, NULL, thread, h);
	if (ret)
		goto fail;
	ret = await_start(h, &given_up);
	if (!ret)
		*hosts = h;
	else if (!given_up)
		wse_hosts_close(h);
	return ret;
fail:
	link->ops->close(link);
	free(h);
	return wse_fail(ret, "no link between the ranks: %s", strerror(-ret));
}

void wse_hosts_close(struct wse_hosts *h)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	h->closing = 1;
	pthread_cond_broadcast(&h->work);
	pthread_mutex_unlock(&h->lock);
	pthread_join(h->thread, NULL);
	drop(h);
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

	set_failure(h, err);
	pthread_mutex_lock(&h->lock);
	first = !h->mine;
	h->mine = 1;
	pthread_cond_broadcast(&h->work);
	while (!h->over)
		pthread_cond_wait(&h->done, &h->lock);
	pthread_mutex_unlock(&h->lock);
	wse_hosts_name(h, h->rank, who, sizeof(who));
	return first && h->ranks > 1 ? wse_fail_in(err, "%s: ", who) : err;
}

int wse_hosts_failed(struct wse_hosts *h)
{
	return has_failed(h);
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
