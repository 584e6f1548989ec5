/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_RING_H
#define WSE_RING_H

#include <linux/types.h>

#include "wse/wse_ring.h"
#include "wse_cmd.h"

struct wse_device;
struct wse_job;

/* The driver's own data of an entry until it completes. */
struct wse_slot {
	struct wse_job *job; /* NULL on the admin ring */
	u64 budget;	     /* cycles; the device may have changed the one in the ring */
	u8 op;
};

/* A pair of rings. All members are protected by wse_device.lock. */
struct wse_ring {
	unsigned int id;
	struct wse_ring_state state;
	struct wse_sqe *sq;
	struct wse_cqe *cq; /* written by the device */
	dma_addr_t sq_dma, cq_dma;
	struct wse_slot *slot;
	u64 busy_since; /* ktime_get_ns() when it got commands, 0: it has none; for the job layer */
};

/* A command that has completed. */
struct wse_completion {
	struct wse_slot slot;
	u16 cid;
	u16 status; /* WSE_ST_*, or another value that the device wrote */
	u16 fault;  /* index of a fault record */
	u32 cycles; /* cycles that it executed, modulo 2^32 */
};

int wse_ring_alloc(struct wse_device *wdev, struct wse_ring *ring, unsigned int id,
		   unsigned int size);
void wse_ring_init(struct wse_ring *ring);
u32 wse_ring_put(struct wse_ring *ring, const struct wse_sqe *sqe, struct wse_job *job);
void wse_ring_kick(struct wse_device *wdev, struct wse_ring *ring, bool more);
bool wse_ring_next(struct wse_ring *ring, struct wse_completion *completion, const char **error);
u64 wse_ring_budget(const struct wse_ring *ring);
void wse_ring_ack(struct wse_device *wdev, struct wse_ring *ring);

#endif
