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
	ring->size = size;
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
	memset(ring->cq, 0, ring->size * sizeof(*ring->cq));
	memset(ring->slot, 0, ring->size * sizeof(*ring->slot));
	ring->tail = 0;
	ring->head = 0;
	ring->told = 0;
	ring->phase = 1;
	ring->seq = 0;
	ring->bell = false;
}

/* One entry stays empty: a full ring would look like an empty one. */
uint32_t sim_ring_room(const struct sim_ring *ring)
{
	return (ring->head - ring->tail - 1) & (ring->size - 1);
}

/* There is room. Returns how many commands the ring has been given with this one. */
uint32_t sim_ring_put(struct sim_ring *ring, const struct wse_sqe *sqe, struct sim_job *job,
		      uint32_t index)
{
	ring->sq[ring->tail] = *sqe;
	ring->sq[ring->tail].cid = (uint16_t)ring->tail;
	ring->slot[ring->tail] = (struct sim_slot){.job = job, .index = index, .op = sqe->opcode};
	ring->tail = (ring->tail + 1) & (ring->size - 1);
	ring->bell = true;
	return ++ring->seq;
}

bool sim_ring_kick(struct sim *sim, struct sim_ring *ring)
{
	if (!ring->bell)
		return false;
	ring->bell = false;
	sim_write(sim, WSE_DB_BASE + WSE_DB_STRIDE * ring->id, ring->tail);
	return true;
}

void sim_ring_poll(struct sim *sim, struct sim_ring *ring, struct sim_job_list *done)
{
	uint32_t mask = ring->size - 1;

	while (!sim->broken && ring->head != ring->tail) {
		struct wse_cqe cqe = ring->cq[ring->head];
		struct sim_slot slot = ring->slot[ring->head];
		uint32_t next = (ring->head + 1) & mask;

		if ((cqe.status & 1) != ring->phase)
			break;
		if (cqe.cid != ring->head) {
			sim->broken = "it completed a command that was not due";
			break;
		}
		if (cqe.sqhd > mask || ((cqe.sqhd - next) & mask) > ((ring->tail - next) & mask)) {
			sim->broken = "its submission head is out of range";
			break;
		}
		ring->slot[ring->head].job = NULL;
		ring->head = next;
		if (!next)
			ring->phase ^= 1;
		if (ring->id) {
			sim->inflight--;
			sim_job_complete(sim, ring, &slot, &cqe, done);
		} else {
			sim->admin_status = cqe.status >> 1;
			sim->admin_done = true;
		}
	}
	/* there is room for as many completions as commands, so the device never waits for this */
	if (((ring->head - ring->told) & mask) >= (ring->size + 3) / 4) {
		ring->told = ring->head;
		sim_write(sim, WSE_DB_BASE + WSE_DB_STRIDE * ring->id + 4, ring->head);
	}
}
