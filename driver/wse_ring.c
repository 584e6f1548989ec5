// SPDX-License-Identifier: GPL-2.0
/*
 * Rings: submission entries in, completions out. This file knows nothing of the purpose of a
 * completion: the caller, who holds wse_device.lock, acts on it.
 */
#include <linux/dma-mapping.h>

#include "wse_dev.h"

static u32 wse_db_tail(const struct wse_ring *ring)
{
	return WSE_DB_BASE + WSE_DB_STRIDE * ring->id;
}

static u32 wse_db_head(const struct wse_ring *ring)
{
	return wse_db_tail(ring) + 4;
}

int wse_ring_alloc(struct wse_device *wdev, struct wse_ring *ring, unsigned int id,
		   unsigned int size)
{
	struct device *dev = wdev->drm.dev;

	ring->id = id;
	ring->state.size = size;
	ring->sq = dmam_alloc_coherent(dev, size * sizeof(*ring->sq), &ring->sq_dma, GFP_KERNEL);
	ring->cq = dmam_alloc_coherent(dev, size * sizeof(*ring->cq), &ring->cq_dma, GFP_KERNEL);
	ring->slot = devm_kcalloc(dev, size, sizeof(*ring->slot), GFP_KERNEL);
	if (!ring->sq || !ring->cq || !ring->slot)
		return -ENOMEM;
	wse_ring_restart(&ring->state);
	return 0;
}

/* Sets the ring to the state of a new one. The device must not use the ring while this runs. */
void wse_ring_init(struct wse_ring *ring)
{
	/* the phase of the first pass is 1: entries of earlier passes must not look new */
	memset(ring->cq, 0, ring->state.size * sizeof(*ring->cq));
	memset(ring->slot, 0, ring->state.size * sizeof(*ring->slot));
	wse_ring_restart(&ring->state);
}

/*
 * There must be space. Sets the command id; returns how many commands the ring has got with this
 * one.
 */
u32 wse_ring_put(struct wse_ring *ring, const struct wse_sqe *sqe, struct wse_job *job)
{
	u32 at = wse_ring_claim(&ring->state);

	ring->sq[at] = *sqe;
	ring->sq[at].cid = cpu_to_le16(at);
	ring->slot[at].job = job;
	ring->slot[at].op = sqe->opcode;
	ring->slot[at].budget = le64_to_cpu(sqe->budget);
	return ring->state.seq;
}

/* Rings one doorbell for all entries put. writel() orders it after the entries. */
void wse_ring_kick(struct wse_device *wdev, struct wse_ring *ring, bool more)
{
	wse_write(wdev, wse_db_tail(ring), wse_ring_doorbell(&ring->state, more));
}

/*
 * Takes one completion. False: there is none, or *error says how the device has broken the
 * protocol. This reads an entry once, and accepts it only if it fits the command that is due.
 */
bool wse_ring_next(struct wse_ring *ring, struct wse_completion *completion, const char **error)
{
	u32 at = ring->state.head, sqhd;
	const struct wse_cqe *cqe = &ring->cq[at];
	u16 status = le16_to_cpu(READ_ONCE(cqe->status));

	if (!wse_ring_is_new(&ring->state, status))
		return false;
	/*
	 * The rest of the entry, and all data that the command wrote to memory, are valid only
	 * after the phase: the reads of them must come after its read.
	 */
	dma_rmb();
	completion->cid = le16_to_cpu(READ_ONCE(cqe->cid));
	completion->status = status >> 1;
	completion->fault = le16_to_cpu(READ_ONCE(cqe->fault));
	completion->cycles =
		le32_to_cpu(READ_ONCE(cqe->end)) - le32_to_cpu(READ_ONCE(cqe->start));
	sqhd = le16_to_cpu(READ_ONCE(cqe->sqhd));
	*error = wse_ring_take(&ring->state, completion->cid, sqhd);
	if (*error)
		return false;
	completion->slot = ring->slot[at];
	ring->slot[at].job = NULL;
	return true;
}

/* Device cycles that the command at the head may take; 0: the ring is empty. */
u64 wse_ring_budget(const struct wse_ring *ring)
{
	u32 at = ring->state.head;

	return at == ring->state.tail ? 0 : ring->slot[at].budget;
}

/* After taking completions: tells the device how far, if it is time to. */
void wse_ring_ack(struct wse_device *wdev, struct wse_ring *ring)
{
	if (wse_ring_cq_doorbell_due(&ring->state))
		wse_write(wdev, wse_db_head(ring), ring->state.head);
}
