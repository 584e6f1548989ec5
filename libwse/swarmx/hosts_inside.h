/* SPDX-License-Identifier: MIT */
/* What the caller's side (hosts.c) and the link's thread (hosts_serve.c) share. */
#ifndef WSE_SWARMX_HOSTS_INSIDE_H
#define WSE_SWARMX_HOSTS_INSIDE_H

#include <pthread.h>

#include "base/error.h"
#include "swarmx/hosts.h"
#include "swarmx/lifeline.h"

enum { WSE_HOSTS_CONTROL = 1, WSE_HOSTS_DATA }; /* tags */

/*
 * Kinds of control messages. A rank whose caller closes says BYE to all, and is watched and hears
 * on. One that has all goodbyes, or hears DONE, knows that no rank needs another one any more: it
 * says DONE to all, the last that it says, and leaves when it has heard it of all.
 */
enum { WSE_HOSTS_HELLO = 1, WSE_HOSTS_ALIVE, WSE_HOSTS_BYE, WSE_HOSTS_FAILED, WSE_HOSTS_DONE };

/* between any two ranks, of one size */
struct wse_hosts_control {
	uint32_t kind;
	int32_t err;
	char text[WSE_SENTENCE]; /* HELLO: the host's name, and lifeline.h's; FAILED: why */
};

struct wse_hosts_out; /* a control message under way */

struct wse_hosts_peer {
	struct wse_hosts_control in;
	void *req;
	double heard; /* time of its last message */
	double bye;   /* of its goodbye; 0: not yet */
	int met;
	int over; /* it says nothing more: DONE, FAILED, or it is gone */
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
	int told;  /* the failure came from another rank, which tells all */
	int mine;  /* the caller knows which rank this is */
	int known; /* the caller knows of the failure */
	/* one swap at a time */
	const struct wse_host_msg *msgs;
	uint32_t n;
	uint64_t carried[2]; /* bytes that were received, sent */
	/* the thread's own */
	void **reqs; /* [room]: of the parts of the swap's messages */
	uint32_t nreqs, room, left;
	int bulk;	/* some of them are large */
	double moved;	/* when the last one was done, or the swap began */
	double leaving; /* since when this rank has said goodbye, and has all goodbyes; 0: not */
	double parting;
	int all_bye; /* another rank has heard all goodbyes */
	int torn;    /* a rank went while ranks parted: the link's own end would wait for it */
	struct wse_hosts_out *out;
	struct wse_hosts_peer *peer; /* [ranks] */
	struct wse_lifeline line;    /* to the rank before this one */
};

double wse_hosts_now(void);
/* the first one stays */
void wse_hosts_set_failure(struct wse_hosts *h, int err);
/* the thread: from the link's start to its end */
void *wse_hosts_thread(void *h);
/* its end, where the caller has not given up */
void wse_hosts_drop(struct wse_hosts *h);

#endif
