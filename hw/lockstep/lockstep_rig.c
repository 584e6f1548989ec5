// SPDX-License-Identifier: MIT
/* A model with host memory and four queues, fed with the commands of one program at a time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lockstep.h"

#define DEPTH	     128u    /* entries of each ring */
#define RING_BYTES   0x8000u /* submission ring of a queue, then its completion ring */
#define NFAULTS	     1024u
#define OFF_FAULTS   (LS_QUEUES * RING_BYTES)
#define SETUP_CYCLES 1000000u

_Static_assert(DEPTH *(sizeof(struct wse_sqe) + sizeof(struct wse_cqe)) <= RING_BYTES, "rings");
_Static_assert(OFF_FAULTS + NFAULTS * sizeof(struct wse_fault) <= LS_MEM_DATA, "fault ring");

static uint8_t *guest(struct ls_rig *rig, uint64_t iova, size_t len)
{
	uint64_t at = iova - LS_IOVA;

	return at < LS_MEM && len <= LS_MEM - at ? rig->mem + at : NULL;
}

static int dma_read(void *host, uint64_t iova, void *buf, size_t len)
{
	uint8_t *p = guest(host, iova, len);

	if (!p)
		return -EFAULT;
	memcpy(buf, p, len);
	return 0;
}

static int dma_write(void *host, uint64_t iova, const void *buf, size_t len)
{
	uint8_t *p = guest(host, iova, len);

	if (!p)
		return -EFAULT;
	memcpy(p, buf, len);
	return 0;
}

static void irq(void *host, unsigned int vector)
{
	(void)host, (void)vector; /* completions are read from the rings */
}

static const struct wse_host_ops host_ops = {dma_read, dma_write, irq};

static uint64_t sq_iova(unsigned int q)
{
	return LS_IOVA + q * RING_BYTES;
}

static uint64_t cq_iova(unsigned int q)
{
	return sq_iova(q) + DEPTH * sizeof(struct wse_sqe);
}

static void reg(struct ls_rig *rig, uint32_t offset, uint32_t v)
{
	rig->ops->mmio_write(rig->model, offset, v);
}

static void submit(struct ls_rig *rig, unsigned int q, const struct wse_sqe *s)
{
	struct ls_queue *k = &rig->q[q];

	memcpy(guest(rig, sq_iova(q), 0) + k->tail * sizeof(*s), s, sizeof(*s));
	k->tail = (k->tail + 1) % DEPTH;
	k->nsent++;
	reg(rig, WSE_DB_BASE + q * WSE_DB_STRIDE, k->tail);
}

static void collect_fault(struct ls_rig *rig, uint16_t index, struct ls_done *d)
{
	const struct wse_fault *ring = (const void *)(rig->mem + OFF_FAULTS);

	if (index == 0xffff)
		return;
	if (index >= NFAULTS) {
		rig->broken = "a completion names a fault record outside the ring";
		return;
	}
	d->has_fault = true;
	d->fault = ring[index];
	d->fault.cycle = 0;
	d->fault.seq = 0; /* the order between queues is not defined */
}

/* Takes the completions that have come. True: all that was sent is done. */
static bool collect(struct ls_rig *rig)
{
	bool all = true;

	for (unsigned int q = 0; q < LS_QUEUES; q++) {
		struct ls_queue *k = &rig->q[q];
		const struct wse_cqe *ring = (const void *)guest(rig, cq_iova(q), 0);
		uint32_t was = k->head;

		while ((ring[k->head].status & 1) == k->phase) {
			const struct wse_cqe *e = &ring[k->head];
			struct ls_done *d = &k->done[k->ndone];

			if (k->ndone == k->nsent) {
				rig->broken = "a completion that nobody asked for";
				return true;
			}
			*d = (struct ls_done){
				.cid = e->cid, .status = e->status >> 1, .sqhd = e->sqhd};
			collect_fault(rig, e->fault, d);
			k->ndone++;
			k->head = (k->head + 1) % DEPTH;
			k->phase ^= !k->head;
		}
		if (was != k->head)
			reg(rig, WSE_DB_BASE + q * WSE_DB_STRIDE + 4, k->head);
		all &= k->ndone == k->nsent;
	}
	reg(rig, WSE_REG_FAULT_HEAD, rig->ops->mmio_read(rig->model, WSE_REG_FAULT_TAIL));
	return all;
}

/* Until all has completed and nothing moves any more. -ETIME; -EIO: halted. */
static int drain(struct ls_rig *rig, uint64_t max_cycles)
{
	bool all = false;

	while (max_cycles) {
		uint64_t ran = 0;
		enum wse_stop why =
			rig->ops->advance(rig->model, max_cycles < 4096 ? max_cycles : 4096, &ran);

		max_cycles -= ran;
		all = collect(rig);
		if (rig->broken || why == WSE_STOP_HALTED)
			return -EIO;
		if (why == WSE_STOP_BREAK)
			return -EINTR;
		if (why == WSE_STOP_IDLE) {
			if (all)
				return 0;
			if (!ran) {
				rig->broken = "idle, although commands have not completed";
				return -EIO;
			}
		}
	}
	return -ETIME;
}

static int setup(struct ls_rig *rig)
{
	int err;

	for (unsigned int q = 0; q < LS_QUEUES; q++)
		rig->q[q] = (struct ls_queue){.phase = 1};
	memset(rig->mem, 0, LS_MEM_DATA);
	reg(rig, WSE_REG_CTRL, WSE_CTRL_RST_MASK);
	reg(rig, WSE_REG_AQ_SIZE, (DEPTH - 1) << 16 | (DEPTH - 1));
	reg(rig, WSE_REG_ASQ_LO, (uint32_t)sq_iova(0));
	reg(rig, WSE_REG_ASQ_HI, (uint32_t)(sq_iova(0) >> 32));
	reg(rig, WSE_REG_ACQ_LO, (uint32_t)cq_iova(0));
	reg(rig, WSE_REG_ACQ_HI, (uint32_t)(cq_iova(0) >> 32));
	reg(rig, WSE_REG_FAULT_LO, (uint32_t)(LS_IOVA + OFF_FAULTS));
	reg(rig, WSE_REG_FAULT_HI, (uint32_t)((LS_IOVA + OFF_FAULTS) >> 32));
	reg(rig, WSE_REG_FAULT_SIZE, NFAULTS);
	reg(rig, WSE_REG_CTRL, WSE_CTRL_EN_MASK);
	for (unsigned int q = 1; q < LS_QUEUES; q++) {
		struct wse_sqe s = {
			.opcode = WSE_OP_CREATE_QUEUE,
			.queue = (uint8_t)q,
			.buf = sq_iova(q),
			.mask = cq_iova(q),
			.seq = q << 16 | (DEPTH - 1),
		};

		submit(rig, 0, &s);
	}
	err = drain(rig, SETUP_CYCLES);
	for (unsigned int i = 0; !err && i < rig->q[0].ndone; i++) {
		if (rig->q[0].done[i].status) {
			rig->broken = "it refuses to create a queue";
			err = -EIO;
		}
	}
	rig->q[0].ndone = rig->q[0].nsent = 0;
	return err;
}

int ls_rig_create(struct ls_rig *rig, const char *model, const struct wse_model_cfg *cfg)
{
	int err;

	*rig = (struct ls_rig){.ops = wse_model_find(model), .rows = cfg->rows, .cols = cfg->cols};
	if (!rig->ops)
		return -ENOENT;
	rig->mem = calloc(1, LS_MEM);
	if (!rig->mem)
		return -ENOMEM;
	err = rig->ops->create(cfg, &host_ops, rig, &rig->model);
	if (!err)
		err = setup(rig);
	return err;
}

void ls_rig_destroy(struct ls_rig *rig)
{
	if (rig->model)
		rig->ops->destroy(rig->model);
	free(rig->mem);
}

int ls_rig_load(struct ls_rig *rig, const struct ls_program *p)
{
	int err;

	/* a reset between programs: nothing of one may reach into the next */
	err = setup(rig);
	for (uint32_t core = 0; !err && core < p->rows * p->cols; core++)
		err = rig->ops->poke(rig->model, core, WSE_SRAM_BASE, p->image[core],
				     WSE_SRAM_BYTES);
	memcpy(rig->mem + LS_MEM_DATA, p->mem + LS_MEM_DATA, LS_MEM - LS_MEM_DATA);
	return err;
}

int ls_rig_run(struct ls_rig *rig, const struct ls_program *p, uint64_t max_cycles)
{
	for (unsigned int i = 0; i < p->ncmds; i++)
		submit(rig, p->cmd[i].queue, &p->cmd[i].sqe);
	return drain(rig, max_cycles);
}
