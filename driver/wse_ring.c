// SPDX-License-Identifier: GPL-2.0
/*
 * Rings: submission entries in, completions out. The caller holds wse_device.lock.
 */
#include <linux/dma-mapping.h>

#include "wse_dev.h"
#include "wse_job.h"
#include "wse_reset.h"

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
	ring->size = size;
	ring->sq = dmam_alloc_coherent(dev, size * sizeof(*ring->sq), &ring->sq_dma, GFP_KERNEL);
	ring->cq = dmam_alloc_coherent(dev, size * sizeof(*ring->cq), &ring->cq_dma, GFP_KERNEL);
	ring->slot = devm_kcalloc(dev, size, sizeof(*ring->slot), GFP_KERNEL);
	if (!ring->sq || !ring->cq || !ring->slot)
		return -ENOMEM;
	return 0;
}

/* As the device sees a ring that was just made. It must not use the ring while this runs. */
void wse_ring_init(struct wse_ring *ring)
{
	/* the phase of the first pass is 1: whatever is left of an earlier one must not look new */
	memset(ring->cq, 0, ring->size * sizeof(*ring->cq));
	memset(ring->slot, 0, ring->size * sizeof(*ring->slot));
	ring->tail = 0;
	ring->head = 0;
	ring->told = 0;
	ring->phase = 1;
	ring->seq = 0;
	ring->ring_bell = false;
}

/* Entries that can be put. One stays empty: a full ring would look like an empty one. */
unsigned int wse_ring_room(const struct wse_ring *ring)
{
	return (ring->head - ring->tail - 1) & (ring->size - 1);
}

/* There is room. Sets the command id; returns how many commands the ring has got with this one. */
u32 wse_ring_put(struct wse_ring *ring, const struct wse_sqe *sqe, struct wse_job *job)
{
	struct wse_sqe *entry = &ring->sq[ring->tail];

	*entry = *sqe;
	entry->cid = cpu_to_le16(ring->tail);
	ring->slot[ring->tail].job = job;
	ring->slot[ring->tail].op = sqe->opcode;
	ring->tail = (ring->tail + 1) & (ring->size - 1);
	ring->ring_bell = true;
	return ++ring->seq;
}

/* One doorbell for all that was put. writel() orders it after the entries. */
void wse_ring_kick(struct wse_device *wdev, struct wse_ring *ring)
{
	if (!ring->ring_bell)
		return;
	ring->ring_bell = false;
	wse_write(wdev, wse_db_tail(ring), ring->tail);
}

/*
 * Takes all completions that are there; jobs that end with them go to the list done. Nothing the
 * device wrote is believed: an entry is read once, and if it does not fit the command that is due,
 * the device is reset.
 */
void wse_ring_poll(struct wse_device *wdev, struct wse_ring *ring, struct list_head *done)
{
	unsigned int mask = ring->size - 1;

	lockdep_assert_held(&wdev->lock);
	while (!wdev->broken && ring->head != ring->tail) {
		const struct wse_cqe *cqe = &ring->cq[ring->head];
		unsigned int status = le16_to_cpu(READ_ONCE(cqe->status));
		unsigned int next = (ring->head + 1) & mask;
		struct wse_slot slot = ring->slot[ring->head];
		unsigned int cid, sqhd, fault;

		if ((status & 1) != ring->phase)
			break;
		/*
		 * The rest of the entry, and all that the command wrote to memory, is only valid
		 * once the phase has been seen: these reads must not be done before that one.
		 */
		dma_rmb();
		cid = le16_to_cpu(READ_ONCE(cqe->cid));
		sqhd = le16_to_cpu(READ_ONCE(cqe->sqhd));
		fault = le16_to_cpu(READ_ONCE(cqe->fault));
		if (cid != ring->head) {
			wse_reset_device(wdev, "completion of a command that is not due");
			break;
		}
		/* it took this entry, and none that was not there */
		if (sqhd > mask || ((sqhd - next) & mask) > ((ring->tail - next) & mask)) {
			wse_reset_device(wdev, "submission head out of range");
			break;
		}
		ring->slot[ring->head].job = NULL;
		ring->head = next;
		if (!next)
			ring->phase ^= 1;
		wdev->completions++;

		if (ring->id) {
			wdev->inflight--;
			wse_job_complete(wdev, ring, &slot, cid, status >> 1, fault, done);
		} else {
			wdev->admin_status = status >> 1;
			complete(&wdev->admin_done);
		}
	}
	/*
	 * The device needs the head only to know that it may write another completion, and there is
	 * room for as many as commands: a doorbell per quarter of the ring keeps it from ever
	 * having to wait.
	 */
	if (((ring->head - ring->told) & mask) >= (ring->size + 3) / 4) {
		ring->told = ring->head;
		wse_write(wdev, wse_db_head(ring), ring->head);
	}
}
