/* SPDX-License-Identifier: MIT */
/*
 * The ranks of a run as one thing that works or fails: a thread that makes all calls of the link,
 * hears whether the other ranks are alive, and tells them when this one fails.
 *
 * Four times a second a rank says to the next one that it is alive; 3 s of silence, and the rank
 * that listens ends the run, with a sentence that names the silent one. Where ranks are processes,
 * a TCP connection says when one has ended (lifeline.h): half a second of silence will do then. The
 * first failure of a rank is everyone's: all calls return it from then on, on every rank.
 *
 * A rank that has said goodbye watches the one before it until all have: a rank that goes without
 * a goodbye is named by one, which tells the others.
 */
#ifndef WSE_SWARMX_HOSTS_H
#define WSE_SWARMX_HOSTS_H

#include <stddef.h>
#include <stdint.h>

#include "swarmx/link.h"

struct wse_hosts;

/*
 * The link is the hosts' from here on, also on error. Returns when this rank is up; those it waits
 * for later may still come. -ETIMEDOUT: the link's start took longer than its patience; -EHOSTDOWN:
 * it waits for a rank that has ended.
 */
int wse_hosts_open(struct wse_link *link, struct wse_hosts **hosts);
/*
 * Waits until all ranks have come here, unless the run failed. 0, or a failure of which no call
 * has told this rank yet: all of its messages had come, and a rank went before all had said
 * goodbye. NULL is no error
 */
int wse_hosts_close(struct wse_hosts *h);

uint32_t wse_hosts_rank(const struct wse_hosts *h);
uint32_t wse_hosts_ranks(const struct wse_hosts *h);
/* "rank 2 (its host)" */
const char *wse_hosts_name(const struct wse_hosts *h, uint32_t rank, char *text, size_t size);

/*
 * This rank fails: the others are told why, and end. err and the sentence are those of the caller;
 * the sentence says which rank it is from then on. Returns err.
 */
int wse_hosts_fail(struct wse_hosts *h, int err);
/* 0, or what the run failed with */
int wse_hosts_failed(struct wse_hosts *h);
/*
 * bytes that the caller's messages have carried so far, out of this rank and into it; between calls
 */
void wse_hosts_carried(const struct wse_hosts *h, uint64_t *out, uint64_t *in);

struct wse_host_msg {
	uint32_t rank;	/* of the other side */
	int send;	/* 0: receive */
	void *buf;	/* of a message that is sent: only read */
	size_t bytes;	/* both sides name the same */
};

/*
 * Send and receive all of them; messages between two ranks are matched in this order. Returns when
 * they are done, or with what the run failed with, in words.
 */
int wse_hosts_swap(struct wse_hosts *h, const struct wse_host_msg *msgs, uint32_t n);
/* the same bytes from rank 0 to all; from all to rank 0, all [ranks][bytes], NULL elsewhere */
int wse_hosts_spread(struct wse_hosts *h, void *buf, size_t bytes);
int wse_hosts_gather(struct wse_hosts *h, const void *mine, void *all, size_t bytes);

#endif
