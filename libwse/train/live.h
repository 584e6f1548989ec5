/* SPDX-License-Identifier: MIT */
/*
 * What a run is at, for wse-top: a unix socket that gives each peer the newest picture and closes.
 * A picture is text, whose lines wse-top(1) lists under SOCKET.
 *
 * The trainer's thread makes it between two steps, for then no device has work; a thread of its own
 * gives it away. What the pictures cost is bound: after one that took t comes none for 200 t.
 */
#ifndef WSE_TRAIN_LIVE_H
#define WSE_TRAIN_LIVE_H

#include <stdint.h>

#include <wse/train.h>

struct wse_session;
struct wse_live;

/*
 * Of several ranks each has a socket of its own, the path of all but rank 0 ends in ".RANK". A
 * socket that a dead run has left is replaced.
 *
 * -EADDRINUSE	another run is there
 * -EEXIST	a file that is no socket
 */
int wse_live_open(struct wse_session *s, const char *path, struct wse_live **live);
/* NULL: nothing. The socket is gone then */
void wse_live_close(struct wse_live *live);

/* a step has ended: a picture of it, if it is time for one. live NULL: nothing */
void wse_live_step(struct wse_live *live, struct wse_session *s, const struct wse_event *e,
		   uint64_t max_steps);

/* the same without what a run knows of its steps beside their result */
void wse_live_result(struct wse_session *s, const struct wse_step_result *r);

#endif
