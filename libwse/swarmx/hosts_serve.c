// SPDX-License-Identifier: MIT
/* The link's thread: messages under way, signs of life, goodbyes, and the one failure of a run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "swarmx/hosts_inside.h"

#define BEAT	   0.25 /* seconds between two signs of life */
#define SILENCE	   3.0	/* after which a rank is given up */
#define ENDED	   0.5	/* likewise, when its process seems to have ended: two beats are missing */
#define FIRST_SIGN 60.0 /* for a rank that has not come yet: nodes start at different times */
#define GOODBYE	   1.0	/* for the others to take the news of a failure */
/* a large message that is under way is looked after so long without a pause */
#define BUSY 2e-3

enum { TAG_CONTROL = WSE_HOSTS_CONTROL, TAG_DATA = WSE_HOSTS_DATA };
enum {
	HELLO = WSE_HOSTS_HELLO,
	ALIVE = WSE_HOSTS_ALIVE,
	BYE = WSE_HOSTS_BYE,
	FAILED = WSE_HOSTS_FAILED,
	DONE = WSE_HOSTS_DONE
};

struct wse_hosts_out {
	struct wse_hosts_control c;
	void *req;
	struct wse_hosts_out *next;
};

static uint32_t next_rank(const struct wse_hosts *h, uint32_t by)
{
	return (h->rank + by) % h->ranks;
}

static void link_failed(struct wse_hosts *h, int err)
{
	if (h->parting > 0.0) { /* to a rank that is gone: what there was to say is said */
		h->torn = 1;
		return;
	}
	if (err == -EMSGSIZE)
		wse_fail(err, "the ranks do not agree on the length of a message: do all run the "
			      "same release?");
	else
		wse_fail(err, "the link between the ranks: %s", strerror(-err));
	wse_hosts_set_failure(h, err);
}

static void tell(struct wse_hosts *h, uint32_t rank, uint32_t kind, int err, const char *text)
{
	struct wse_hosts_out *o = calloc(1, sizeof(*o));
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
	struct wse_hosts_peer *p = &h->peer[rank];
	int ret = h->link->ops->recv(h->link, rank, TAG_CONTROL, &p->in, sizeof(p->in), &p->req);

	if (ret)
		link_failed(h, ret);
}

static void told_failure(struct wse_hosts *h, uint32_t rank)
{
	const struct wse_hosts_control *c = &h->peer[rank].in;
	int err = c->err < 0 && c->err > -4096 ? c->err : -EPROTO;
	char who[96];

	wse_fail(err, "%s ended the run: %.800s", wse_hosts_name(h, rank, who, sizeof(who)),
		 c->text);
	pthread_mutex_lock(&h->lock);
	h->told = 1;
	pthread_mutex_unlock(&h->lock);
	wse_hosts_set_failure(h, err);
}

static void heard(struct wse_hosts *h, uint32_t rank)
{
	struct wse_hosts_peer *p = &h->peer[rank];

	p->heard = wse_hosts_now();
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
		p->bye = p->heard;
	} else if (p->in.kind == DONE) {
		p->over = h->all_bye = 1;
		return;
	} else if (p->in.kind == FAILED) {
		p->over = 1;
		if (h->parting > 0.0) /* all came to their end */
			h->torn = 1;
		else
			told_failure(h, rank);
		return;
	}
	listen_to(h, rank);
}

static void test_control(struct wse_hosts *h)
{
	struct wse_hosts_out **at = &h->out, *o;

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

/* silent for too long at t, or is its process gone? */
static void check_peer(struct wse_hosts *h, uint32_t rank, double t)
{
	struct wse_hosts_peer *p = &h->peer[rank];
	int before = rank == next_rank(h, h->ranks - 1), met = p->met || h->parting > 0.0;
	/* of processes that began together the first sign is soon there */
	double limit = met || h->link->processes ? SILENCE : FIRST_SIGN;
	double from = p->heard > h->parting ? p->heard : h->parting;
	int ended = before && wse_lifeline_lost(&h->line);
	char who[96];

	if (t - from < (ended ? ENDED : limit))
		return;
	p->over = 1; /* it is not told of the failure */
	wse_hosts_name(h, rank, who, sizeof(who));
	if (ended)
		wse_fail(-EHOSTDOWN, "%s is gone: its process has ended", who);
	else
		wse_fail(-EHOSTDOWN,
			 met ? "%s has been silent for %.0f s: it was killed, or its host or the "
			       "network is gone"
			     : "%s has not come within %.0f s: see what it printed",
			 who, limit);
	wse_hosts_set_failure(h, -EHOSTDOWN);
}

/* a rank watches the one before it, to its end; while ranks part, all that are left */
static void check_silence(struct wse_hosts *h, double t)
{
	for (uint32_t i = 1; i < h->ranks; i++) {
		uint32_t rank = next_rank(h, h->ranks - i);

		if (!h->peer[rank].over)
			check_peer(h, rank, t);
		if (h->parting <= 0.0)
			break;
	}
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
			h->moved = wse_hosts_now();
	}
}

/* who said goodbye sends nothing more: what of a swap is still under way will not come */
static void check_left(struct wse_hosts *h, double since, double t)
{
	char who[96];

	for (uint32_t i = 0; i < h->n; i++) {
		const struct wse_hosts_peer *p = &h->peer[h->msgs[i].rank];
		double from = p->bye > since ? p->bye : since;

		if (p->bye <= 0.0 || t - from < SILENCE)
			continue;
		wse_hosts_name(h, h->msgs[i].rank, who, sizeof(who));
		wse_hosts_set_failure(
			h, wse_fail(-EPROTO, "%s has left the run: all ranks make the same steps",
				    who));
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
			h->peer[i].heard = wse_hosts_now();
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
static void rest(struct wse_hosts *h)
{
	int leaving = h->leaving > 0.0;
	double quiet = wse_hosts_now() - h->moved, most = h->left ? 4e-3 : 1e-2;
	double pause = h->left || leaving ? quiet / 16 : 2e-3;
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
	double until = wse_hosts_now() + GOODBYE;
	int tells = 0;

	for (uint32_t i = 1; i < h->ranks && !h->told; i++)
		if (!h->peer[next_rank(h, i)].over) {
			tell(h, next_rank(h, i), FAILED, h->failure.err, h->failure.text);
			tells = 1;
		}
	while (tells && h->out && wse_hosts_now() < until) {
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

static void tell_all(struct wse_hosts *h, uint32_t kind)
{
	for (uint32_t i = 1; i < h->ranks; i++)
		tell(h, next_rank(h, i), kind, 0, "");
}

/* BYE when the caller closes, DONE when no rank needs another one any more */
static void leave(struct wse_hosts *h, double t)
{
	int all_bye = 1;

	if (h->leaving <= 0.0 && is_closing(h)) {
		h->leaving = h->moved = t;
		tell_all(h, BYE);
	}
	if (h->leaving <= 0.0 || h->parting > 0.0)
		return;
	for (uint32_t i = 1; i < h->ranks; i++)
		all_bye &= h->peer[next_rank(h, i)].bye > 0.0;
	if (all_bye || h->all_bye) {
		h->parting = h->moved = t;
		tell_all(h, DONE);
	}
}

/* all have said their last word, and heard this one's, if they are still there */
static int has_parted(const struct wse_hosts *h)
{
	double last = h->parting;

	if (last <= 0.0)
		return 0;
	for (uint32_t i = 0; i < h->ranks; i++) {
		if (!h->peer[i].over)
			return 0;
		last = h->peer[i].heard > last ? h->peer[i].heard : last;
	}
	return !h->out || wse_hosts_now() - last > GOODBYE;
}

/*
 * A rank is silent only while this one listens: where both share a host that has no processor for
 * them, neither speaks, and that says nothing of the other one.
 */
static void do_not_count(struct wse_hosts *h, double absent)
{
	for (uint32_t i = 0; i < h->ranks; i++) {
		h->peer[i].heard += absent;
		if (h->peer[i].bye > 0.0)
			h->peer[i].bye += absent;
	}
}

static void serve(struct wse_hosts *h)
{
	double beat = wse_hosts_now() + BEAT, turn = wse_hosts_now(), since = 0.0;
	int swapping = 0;

	while (!wse_hosts_failed(h) && !has_parted(h)) {
		/* before it listens: what follows may take as long as the host likes */
		double t = wse_hosts_now();

		if (t - turn > BEAT)
			do_not_count(h, t - turn - BEAT);
		turn = t;
		test_control(h);
		check_silence(h, t);
		if (t > beat && h->ranks > 1 && h->parting <= 0.0) {
			tell(h, next_rank(h, 1), ALIVE, 0, "");
			beat = t + BEAT;
		}
		leave(h, t);
		if (swapping) {
			test_swap(h);
			if (!h->left) {
				swapping = 0;
				all_came(h);
				end_swap(h);
			} else {
				check_left(h, since, t);
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
			if (msgs)
				since = h->moved = t;
			if (swapping)
				continue;
		}
		rest(h);
	}
	if (wse_hosts_failed(h))
		say_failed(h);
	else if (h->torn || h->out)
		h->link->ops->abort(h->link);
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
		h->peer[next_rank(h, i)].heard = wse_hosts_now();
		listen_to(h, next_rank(h, i));
		tell(h, next_rank(h, i), HELLO, 0, all);
	}
}

void wse_hosts_drop(struct wse_hosts *h)
{
	while (h->out) {
		struct wse_hosts_out *o = h->out;

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

void *wse_hosts_thread(void *arg)
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
		wse_hosts_set_failure(h,
				      wse_fail_since(before, ret, "the link between the ranks: %s",
						     strerror(-ret)));
	if (!ret) {
		snprintf(h->peer[h->rank].host, sizeof(h->peer[0].host), "%s", h->link->host);
		h->peer[h->rank].over = 1;
	}
	pthread_mutex_lock(&h->lock);
	if (h->given_up) {
		pthread_mutex_unlock(&h->lock);
		h->link->ops->abort(h->link);
		h->link->ops->close(h->link);
		wse_hosts_drop(h);
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
