/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_RING_H
#define WSE_RING_H

#include <linux/list.h>
#include <linux/types.h>

#include "wse_cmd.h"

struct wse_device;
struct wse_job;

/* What the driver remembers of an entry until it completes. */
struct wse_slot {
	struct wse_job *job; /* NULL on the admin ring */
	u8 op;
};

/*
 * A pair of rings of one size. Every command gives exactly one completion, in order: entry i of the
 * submission ring is completed by entry i of the completion ring, and its command id is i. So one
 * head does for both. All members are protected by wse_device.lock.
 */
struct wse_ring {
	unsigned int id;
	unsigned int size; /* entries, a power of two */
	struct wse_sqe *sq;
	struct wse_cqe *cq; /* written by the device */
	dma_addr_t sq_dma, cq_dma;
	struct wse_slot *slot;
	unsigned int tail;  /* the next entry to fill */
	unsigned int head;  /* the next entry to complete */
	unsigned int told;  /* the completion head that the device knows */
	unsigned int phase; /* that a new completion has */
	u32 seq;	    /* commands put since the ring was made or reset: what FENCE counts */
	bool ring_bell;	    /* entries were put that the device does not know of */
};

int wse_ring_alloc(struct wse_device *wdev, struct wse_ring *ring, unsigned int id,
		   unsigned int size);
void wse_ring_init(struct wse_ring *ring);
unsigned int wse_ring_room(const struct wse_ring *ring);
u32 wse_ring_put(struct wse_ring *ring, const struct wse_sqe *sqe, struct wse_job *job);
void wse_ring_kick(struct wse_device *wdev, struct wse_ring *ring);
void wse_ring_poll(struct wse_device *wdev, struct wse_ring *ring, struct list_head *done);

#endif
