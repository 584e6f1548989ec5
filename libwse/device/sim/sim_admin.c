// SPDX-License-Identifier: MIT
/* Start-up of an in-process device, its admin commands, the lease, and what happens after errors.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sim.h"

#define ADMIN_DEPTH  32u
#define BOOT_CYCLES  10000000ull /* budget of the firmware's start */
#define LOAD_CYCLES  100000000ull
#define ADMIN_CYCLES 1000000000ull /* more than any admin command can take */
#define READY_CYCLES 64
#define READY_ROUNDS 20000

/*
 * One command on the admin ring, alone there; in the thread. Its status as an errno; -ENODEV, and
 * sim.reset_reason, when it never completes.
 */
static int admin(struct sim *sim, const struct wse_sqe *sqe)
{
	struct sim_job_list done;
	uint64_t before = sim->tail_cycles;
	enum wse_stop stop = WSE_STOP_CYCLES;
	bool over;

	pthread_mutex_lock(&sim->lock);
	sim->admin_done = false;
	sim_ring_put(&sim->ring[0], sqe, NULL, 0);
	sim_ring_kick(sim, &sim->ring[0], false);
	pthread_mutex_unlock(&sim->lock);
	do {
		if (!sim->rang)
			stop = sim_advance(sim, 0);
		sim_list_init(&done);
		pthread_mutex_lock(&sim->lock);
		sim_poll(sim, 0, &done);
		over = sim->admin_done;
		if (!over && !sim->reset_reason &&
		    (stop == WSE_STOP_HALTED || stop == WSE_STOP_IDLE ||
		     sim->tail_cycles - before > ADMIN_CYCLES))
			sim->reset_reason = "it did not complete an admin command";
		over |= !!sim->reset_reason;
		pthread_mutex_unlock(&sim->lock);
		sim_jobs_signal(&done);
	} while (!over);
	return sim->reset_reason ? -ENODEV : wse_status_errno(sim->admin_status);
}

static int wait_ready(struct sim *sim, uint32_t want)
{
	int i;

	for (i = 0; i < READY_ROUNDS; i++) {
		if ((sim_read(sim, WSE_REG_STATUS) & WSE_STATUS_RDY_MASK) == want)
			return 0;
		sim_advance(sim, READY_CYCLES);
	}
	return -ENODEV;
}

static int create_queue(struct sim *sim, struct sim_ring *ring)
{
	struct wse_sqe sqe = {
		.opcode = WSE_OP_CREATE_QUEUE,
		.queue = (uint8_t)ring->id,
		.buf = ring->sq_bo->iova,
		.mask = ring->cq_bo->iova,
		.seq = (ring->state.size - 1) | ring->id << 16,
	};

	return admin(sim, &sqe);
}

static int alloc_rings(struct sim *sim, uint32_t depth)
{
	uint32_t i;
	int ret;

	ret = sim_bo_alloc(&sim->bus, SIM_FAULTS * sizeof(*sim->faults), &sim->fault_bo);
	if (ret)
		return ret;
	sim->faults = sim->fault_bo->mem->ptr;
	for (i = 0; i < sim->nrings; i++) {
		ret = sim_ring_alloc(sim, &sim->ring[i], i,
				     i || depth < ADMIN_DEPTH ? depth : ADMIN_DEPTH);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Resets the device and brings it up with empty rings. The first time arg points at the depth of
 * the rings, which are made then.
 */
int sim_start(struct sim *sim, void *arg)
{
	struct sim_ring *a = &sim->ring[0];
	uint32_t i;
	int ret;

	if (arg) {
		ret = alloc_rings(sim, *(uint32_t *)arg);
		if (ret)
			return ret;
	}
	sim_write(sim, WSE_REG_CTRL, WSE_CTRL_RST_MASK);
	sim->halted = false;
	ret = wait_ready(sim, 0);
	if (ret)
		return ret;

	pthread_mutex_lock(&sim->lock);
	for (i = 0; i < sim->nrings; i++)
		sim_ring_init(&sim->ring[i]);
	memset(sim->faults, 0, SIM_FAULTS * sizeof(*sim->faults));
	sim->reset_reason = NULL;
	pthread_mutex_unlock(&sim->lock);
	sim->clean = false;

	sim_write(sim, WSE_REG_AQ_SIZE, (a->state.size - 1) | (a->state.size - 1) << 16);
	sim_write(sim, WSE_REG_ASQ_LO, (uint32_t)a->sq_bo->iova);
	sim_write(sim, WSE_REG_ASQ_HI, (uint32_t)(a->sq_bo->iova >> 32));
	sim_write(sim, WSE_REG_ACQ_LO, (uint32_t)a->cq_bo->iova);
	sim_write(sim, WSE_REG_ACQ_HI, (uint32_t)(a->cq_bo->iova >> 32));
	sim_write(sim, WSE_REG_FAULT_LO, (uint32_t)sim->fault_bo->iova);
	sim_write(sim, WSE_REG_FAULT_HI, (uint32_t)(sim->fault_bo->iova >> 32));
	sim_write(sim, WSE_REG_FAULT_SIZE, SIM_FAULTS);
	sim_write(sim, WSE_REG_INTR_MASK, 0);
	sim_write(sim, WSE_REG_CTRL, WSE_CTRL_EN_MASK);
	ret = wait_ready(sim, WSE_STATUS_RDY_MASK);
	for (i = 1; !ret && i < sim->nrings; i++)
		ret = create_queue(sim, &sim->ring[i]);
	return ret;
}

void sim_give_up(struct sim *sim)
{
	struct sim_job_list done;

	sim_list_init(&done);
	pthread_mutex_lock(&sim->lock);
	sim->dead = -ENODEV;
	if (sim->ctx)
		sim->ctx->err = -ENODEV;
	sim_jobs_fail(sim, -ENODEV, &done);
	pthread_cond_broadcast(&sim->changed);
	pthread_mutex_unlock(&sim->lock);
	sim_jobs_signal(&done);
}

static int restart(struct sim *sim, int err)
{
	struct sim_job_list done;
	const char *why = sim->reset_reason ? sim->reset_reason : "it does not work";
	int ret;

	pthread_mutex_lock(&sim->lock);
	if (sim->ctx && !sim->ctx->err) {
		sim->ctx->err = -EIO;
		wse_context_lose(
			&sim->ctx->base,
			"%s was reset: %s; the context is lost: destroy it and create another",
			sim->base.uri, why);
	}
	sim->resets++;
	pthread_mutex_unlock(&sim->lock);
	ret = sim_start(sim, NULL);
	if (ret) {
		wse_device_lose(
			&sim->base,
			"%s is gone: %s, and a reset does not help; close it and open it again",
			sim->base.uri, why);
		sim_give_up(sim);
		return -ENODEV;
	}
	sim_list_init(&done);
	pthread_mutex_lock(&sim->lock);
	sim_jobs_fail(sim, err, &done);
	pthread_mutex_unlock(&sim->lock);
	sim_jobs_signal(&done);
	return 0;
}

/* Ends whatever the I/O queues execute; rings are empty and cores held afterwards. */
static int quiesce(struct sim *sim, int err)
{
	static const struct wse_sqe reset = {.opcode = WSE_OP_CTX_RESET};
	struct sim_job_list done;
	uint32_t q;

	if (sim->dead)
		return -ENODEV;
	pthread_mutex_lock(&sim->lock);
	for (q = 1; q < sim->nrings; q++)
		wse_ring_freeze(&sim->ring[q].state);
	pthread_mutex_unlock(&sim->lock);
	if (sim->reset_reason || admin(sim, &reset))
		return restart(sim, err);
	sim_list_init(&done);
	pthread_mutex_lock(&sim->lock);
	for (q = 1; q < sim->nrings; q++)
		sim_ring_init(&sim->ring[q]);
	sim_jobs_fail(sim, err, &done);
	sim->reset_due = false;
	pthread_mutex_unlock(&sim->lock);
	sim_jobs_signal(&done);
	sim_write(sim, WSE_REG_FAULT_HEAD, sim_read(sim, WSE_REG_FAULT_TAIL));
	return 0;
}

/* The context is lost, or the device is: everything that is under way ends. */
void sim_recover(struct sim *sim)
{
	sim->clean = false;
	quiesce(sim, -ECANCELED);
}

static struct wse_sqe whole_tile(const struct sim *sim, uint8_t op, uint64_t budget)
{
	return (struct wse_sqe){
		.opcode = op,
		.rows = (uint16_t)sim->geom.rows,
		.cols = (uint16_t)sim->geom.cols,
		.budget = budget,
	};
}

static int scrub(struct sim *sim)
{
	struct wse_sqe sqe = whole_tile(sim, WSE_OP_SCRUB, 0);
	int ret = admin(sim, &sqe);

	sim->clean = !ret;
	return ret;
}

int sim_boot(struct sim *sim, void *arg)
{
	struct wse_sqe copy = whole_tile(sim, WSE_OP_COPY_IN, LOAD_CYCLES);
	struct wse_sqe start = whole_tile(sim, WSE_OP_START, BOOT_CYCLES);
	int ret;

	(void)arg;
	if (sim->dead)
		return -ENODEV;
	if (!sim->clean || sim->reset_reason) {
		ret = quiesce(sim, -ECANCELED);
		if (!ret)
			ret = scrub(sim);
		if (ret)
			return ret;
	}
	sim->clean = false;
	copy.flags = WSE_SQF_BUF_DIRECT | WSE_SQF_BROADCAST;
	copy.buf = sim->fw_bo->iova;
	copy.len = sim->fw.size;
	copy.nline = 1;
	ret = admin(sim, &copy);
	if (ret)
		return ret;
	start.flags = WSE_SQF_BOOT;
	start.sram = sim->fw.entry;
	return admin(sim, &start);
}

int sim_end(struct sim *sim, void *arg)
{
	(void)arg;
	if (!quiesce(sim, -ECANCELED))
		scrub(sim);
	return 0;
}

/* Any thread, but one at a time: the lease, or open. */
int sim_load_firmware(struct sim *sim)
{
	struct wse_firmware_image fw;
	int ret;

	if (sim->fw_bo)
		return 0;
	ret = wse_firmware_read(sim->abi_minor, &fw);
	if (ret)
		return ret;
	ret = sim_bo_alloc(&sim->bus, fw.size, &sim->fw_bo);
	if (!ret) {
		memcpy(sim->fw_bo->mem->ptr, fw.bytes, fw.size);
		sim->fw = fw;
		sim->fw_version = fw.version;
		sim->fw_end = fw.size;
	}
	free(fw.bytes);
	sim->fw.bytes = NULL;
	return ret;
}

static void release(struct sim *sim)
{
	pthread_mutex_lock(&sim->lock);
	sim->ctx = NULL;
	pthread_cond_broadcast(&sim->changed);
	pthread_mutex_unlock(&sim->lock);
}

/* The firmware is in memory; ctx has the lease. */
static int begin(struct sim *sim)
{
	int ret;

	ret = sim_load_firmware(sim);
	if (ret)
		return ret;
	ret = sim_call(sim, sim_boot, NULL);
	if (!ret)
		return 0;
	if (ret != -ENODEV) {
		sim_call(sim, sim_end, NULL);
		ret = -EIO;
	}
	return wse_fail(
		ret, "%s: the firmware did not boot (%s); set WSE_FIRMWARE to one of this release",
		sim->base.uri, strerror(-ret));
}

int sim_context_create(struct wse_device *dev, uint32_t flags, struct wse_context **out)
{
	struct sim *sim = to_sim(dev);
	struct sim_context *ctx = calloc(1, sizeof(*ctx));
	int ret = 0;

	if (!ctx)
		return -ENOMEM;
	ctx->sim = sim;
	ctx->base.dev = dev; /* it may be lost before its user has it */
	pthread_mutex_lock(&sim->lock);
	while (!sim->dead && sim->ctx && flags & WSE_CONTEXT_WAIT)
		pthread_cond_wait(&sim->changed, &sim->lock);
	if (sim->dead)
		ret = wse_explain_gone(dev);
	else if (sim->ctx)
		ret = wse_fail(-EBUSY,
			       "%s is leased to another context: destroy that, or wait with "
			       "WSE_CONTEXT_WAIT",
			       dev->uri);
	else
		sim->ctx = ctx;
	pthread_mutex_unlock(&sim->lock);
	if (!ret) {
		ret = begin(sim);
		if (ret)
			release(sim);
	}
	if (ret) {
		free(ctx);
		return ret;
	}
	pthread_mutex_lock(&sim->lock);
	if (!++sim->next_ctx)
		++sim->next_ctx;
	ctx->fault.ctx = sim->next_ctx;
	pthread_mutex_unlock(&sim->lock);
	*out = &ctx->base;
	return 0;
}

void sim_context_end(struct wse_context *base)
{
	struct sim_context *ctx = (struct sim_context *)base;
	struct sim *sim = ctx->sim;

	pthread_mutex_lock(&sim->lock);
	while (ctx->njobs && !sim->dead)
		sim_await_job(ctx);
	if (!ctx->err)
		ctx->err = -ENOENT;
	pthread_mutex_unlock(&sim->lock);
	sim_call(sim, sim_end, NULL);
	release(sim);
}

void sim_context_free(struct wse_context *ctx)
{
	free(ctx);
}

int sim_context_fault(struct wse_context *base, struct drm_wse_fault *fault)
{
	struct sim_context *ctx = (struct sim_context *)base;
	int ret = -ENODATA;

	pthread_mutex_lock(&ctx->sim->lock);
	if (ctx->first) {
		*fault = ctx->fault;
		ret = 0;
	}
	pthread_mutex_unlock(&ctx->sim->lock);
	return ret;
}
