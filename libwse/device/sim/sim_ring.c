// SPDX-License-Identifier: MIT
/* Rings of in-process devices: entries in, completions out. What the device writes is not believed.
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

int sim_ring_alloc(struct sim *sim, struct sim_ring *ring, uint32_t id, uint32_t size)
{
	int ret;

	ring->id = id;
	ring->state.size = size;
	ret = sim_bo_alloc(&sim->bus, size * sizeof(*ring->sq), &ring->sq_bo);
	if (!ret)
		ret = sim_bo_alloc(&sim->bus, size * sizeof(*ring->cq), &ring->cq_bo);
	if (ret)
		return ret;
	ring->slot = calloc(size, sizeof(*ring->slot));
	if (!ring->slot)
		return -ENOMEM;
	ring->sq = ring->sq_bo->mem->ptr;
	ring->cq = ring->cq_bo->mem->ptr;
	return 0;
}

void sim_ring_free(struct sim_ring *ring)
{
	sim_bo_put(ring->sq_bo);
	sim_bo_put(ring->cq_bo);
	free(ring->slot);
}

/* As the device sees a ring that was just made. */
void sim_ring_init(struct sim_ring *ring)
{
	/* the phase of the first pass is 1: what is left of an earlier one must not look new */
	memset(ring->cq, 0, ring->state.size * sizeof(*ring->cq));
	memset(ring->slot, 0, ring->state.size * sizeof(*ring->slot));
	wse_ring_restart(&ring->state);
}

/* There is space. Returns how many commands the ring has been given with this one. */
uint32_t sim_ring_put(struct sim_ring *ring, const struct wse_sqe *sqe, struct sim_job *job,
		      uint32_t index)
{
	uint32_t at = wse_ring_claim(&ring->state);

	ring->sq[at] = *sqe;
	ring->sq[at].cid = (uint16_t)at;
	ring->slot[at] = (struct sim_slot){.job = job, .index = index, .op = sqe->opcode};
	return ring->state.seq;
}

void sim_ring_kick(struct sim *sim, struct sim_ring *ring, bool more)
{
	sim_write(sim, WSE_DB_BASE + WSE_DB_STRIDE * ring->id,
		  wse_ring_doorbell(&ring->state, more));
}

void sim_ring_poll(struct sim *sim, struct sim_ring *ring, struct sim_job_list *done)
{
	if (!ring->cq)
		return; /* the thread runs before its first request has made the rings */
	while (!sim->reset_reason) {
		uint32_t at = ring->state.head;
		struct wse_cqe cqe = ring->cq[at];
		struct sim_slot slot = ring->slot[at];

		if (!wse_ring_is_new(&ring->state, cqe.status))
			break;
		sim->reset_reason = wse_ring_take(&ring->state, cqe.cid, cqe.sqhd);
		if (sim->reset_reason)
			break;
		ring->slot[at].job = NULL;
		if (ring->id) {
			sim->inflight--;
			sim_job_complete(sim, ring, &slot, &cqe, done);
		} else {
			sim->admin_status = cqe.status >> 1;
			sim->admin_done = true;
		}
	}
	if (wse_ring_cq_doorbell_due(&ring->state))
		sim_write(sim, WSE_DB_BASE + WSE_DB_STRIDE * ring->id + 4, ring->state.head);
}
