// SPDX-License-Identifier: MIT
/* Ranks as threads of one process: a message is copied by whichever side comes second. */
#include "link.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
	uint32_t from, to, tag;
	int sends, done; /* done: 1, or -errno */
	char *buf;
	size_t bytes;
	struct request *next;	/* that waits for its other side */
	struct request *beside; /* of the same rank */
};

struct pair {
	pthread_mutex_t lock;
	struct request *waiting; /* for their other side, in order */
	uint32_t open;
};

struct pair_link {
	struct wse_link base;
	struct pair *pair;
	struct request *own; /* begun, and not yet seen to be done */
	int vanished;
};

static int pair_start(struct wse_link *l)
{
	(void)l;
	return 0;
}

/* the first request that waits for this one, taken out */
static struct request *other_side(struct pair *p, const struct request *r)
{
	for (struct request **at = &p->waiting; *at; at = &(*at)->next) {
		struct request *o = *at;

		if (o->sends == r->sends || o->from != r->from || o->to != r->to ||
		    o->tag != r->tag)
			continue;
		*at = o->next;
		return o;
	}
	return NULL;
}

static void append(struct pair *p, struct request *r)
{
	struct request **at = &p->waiting;

	while (*at)
		at = &(*at)->next;
	*at = r;
}

static int post(struct wse_link *l, struct request r, void **req)
{
	struct pair_link *pl = (struct pair_link *)l;
	struct request *mine = malloc(sizeof(*mine)), *o;

	if (!mine)
		return -ENOMEM;
	*mine = r;
	pthread_mutex_lock(&pl->pair->lock);
	mine->beside = pl->own;
	pl->own = mine;
	o = pl->vanished ? NULL : other_side(pl->pair, mine);
	if (o && o->bytes == mine->bytes) {
		memcpy(mine->sends ? o->buf : mine->buf, mine->sends ? mine->buf : o->buf,
		       mine->bytes);
		mine->done = o->done = 1;
	} else if (o) {
		mine->done = o->done = -EMSGSIZE;
	} else if (!pl->vanished) {
		append(pl->pair, mine);
	}
	pthread_mutex_unlock(&pl->pair->lock);
	*req = mine;
	return 0;
}

static int pair_send(struct wse_link *l, uint32_t to, uint32_t tag, const void *buf, size_t bytes,
		     void **req)
{
	return post(l, (struct request){l->rank, to, tag, 1, 0, (char *)buf, bytes, NULL, NULL},
		    req);
}

static int pair_recv(struct wse_link *l, uint32_t from, uint32_t tag, void *buf, size_t bytes,
		     void **req)
{
	return post(l, (struct request){from, l->rank, tag, 0, 0, buf, bytes, NULL, NULL}, req);
}

static int pair_test(struct wse_link *l, void **req)
{
	struct pair_link *pl = (struct pair_link *)l;
	struct request *r = *req;
	int done;

	pthread_mutex_lock(&pl->pair->lock);
	done = pl->vanished ? 0 : r->done;
	for (struct request **at = &pl->own; done && *at; at = &(*at)->beside)
		if (*at == r) {
			*at = r->beside;
			break;
		}
	pthread_mutex_unlock(&pl->pair->lock);
	if (done) {
		free(r);
		*req = NULL;
	}
	return done;
}

static void drop_mine(struct pair_link *pl)
{
	struct request **at = &pl->pair->waiting, *r;

	while ((r = *at)) {
		if ((r->sends ? r->from : r->to) == pl->base.rank)
			*at = r->next;
		else
			at = &r->next;
	}
}

static void pair_abort(struct wse_link *l)
{
	struct pair_link *pl = (struct pair_link *)l;

	pthread_mutex_lock(&pl->pair->lock);
	drop_mine(pl);
	pl->vanished = 1;
	pthread_mutex_unlock(&pl->pair->lock);
}

void wse_link_pair_vanish(struct wse_link *link)
{
	pair_abort(link);
}

static void pair_close(struct wse_link *l)
{
	struct pair_link *pl = (struct pair_link *)l;
	struct pair *p = pl->pair;
	uint32_t left;

	pair_abort(l);
	for (struct request *r = pl->own, *next; r; r = next) {
		next = r->beside;
		free(r);
	}
	pthread_mutex_lock(&p->lock);
	left = --p->open;
	pthread_mutex_unlock(&p->lock);
	free(pl);
	if (left)
		return;
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static const struct wse_link_ops pair_ops = {
	pair_start, NULL, pair_send, pair_recv, pair_test, pair_abort, pair_close,
};

int wse_link_pair(uint32_t ranks, struct wse_link **links)
{
	struct pair *p = calloc(1, sizeof(*p));

	if (!p || !ranks || ranks > WSE_LINK_RANKS) {
		free(p);
		return p ? -EINVAL : -ENOMEM;
	}
	pthread_mutex_init(&p->lock, NULL);
	for (uint32_t i = 0; i < ranks; i++) {
		struct pair_link *pl = calloc(1, sizeof(*pl));

		if (!pl) {
			while (i--)
				links[i]->ops->close(links[i]);
			if (!p->open)
				free(p);
			return -ENOMEM;
		}
		*pl = (struct pair_link){{.ops = &pair_ops, .rank = i, .ranks = ranks}, p, NULL, 0};
		snprintf(pl->base.host, sizeof(pl->base.host), "thread %u", i);
		p->open++;
		links[i] = &pl->base;
	}
	return 0;
}
