// SPDX-License-Identifier: MIT
/* A device under test: see dev.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "dev.h"

#define RINGS  0x10000u /* of all queues, 16 KiB each */
#define FAULTS 0x8000u

static bool bad(struct dev *d, uint64_t iova, size_t len)
{
	return iova > DEV_MEM || len > DEV_MEM - iova ||
	       (iova < d->fail_to && iova + len > d->fail_from);
}

static bool silent(struct dev *d, uint64_t iova, size_t len)
{
	return iova < d->silent_to && iova + len > d->silent_from;
}

static int dma_read(void *host, uint64_t iova, void *buf, size_t len)
{
	struct dev *d = host;

	if (bad(d, iova, len))
		return -EFAULT;
	if (silent(d, iova, len))
		return -EAGAIN;
	memcpy(buf, d->mem + iova, len);
	return 0;
}

static int dma_write(void *host, uint64_t iova, const void *buf, size_t len)
{
	struct dev *d = host;

	if (bad(d, iova, len))
		return -EFAULT;
	if (silent(d, iova, len))
		return -EAGAIN;
	memcpy(d->mem + iova, buf, len);
	return 0;
}

/* of every other 64 bytes: streams get some of their rows this way, and copies of the others */
static const void *dma_at(void *host, uint64_t iova, size_t len)
{
	struct dev *d = host;

	return iova & 64 || bad(d, iova, len) || silent(d, iova, len) ? NULL : d->mem + iova;
}

static void irq(void *host, unsigned int vector)
{
	struct dev *d = host;

	d->irqs[vector & 31]++;
}

int dev_open(struct dev *d, const char *model, uint32_t rows, uint32_t cols)
{
	return dev_open_flags(d, model, rows, cols, 0);
}

int dev_open_flags(struct dev *d, const char *model, uint32_t rows, uint32_t cols, uint32_t flags)
{
	return dev_open_seed(d, model, rows, cols, flags, 0);
}

int dev_open_seed(struct dev *d, const char *model, uint32_t rows, uint32_t cols, uint32_t flags,
		  uint64_t seed)
{
	return dev_open_cfg(d, model,
			    &(struct wse_machine_cfg){
				    .rows = rows, .cols = cols, .flags = flags, .seed = seed});
}

int dev_open_cfg(struct dev *d, const char *model, const struct wse_machine_cfg *cfg)
{
	static const struct wse_host_ops ops = {dma_read, dma_write, irq, dma_at};
	unsigned int i;
	int err;

	memset(d, 0, sizeof(*d));
	d->rows = cfg->rows;
	d->cols = cfg->cols;
	d->ops = wse_machine_find(model);
	/* not malloc()'s: a sanitizer writes 8 MiB of its own for each of these, three times */
	d->mem = mmap(NULL, DEV_MEM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (d->mem == MAP_FAILED)
		d->mem = NULL;
	if (!d->ops || !d->mem)
		return -ENOMEM;
	err = d->ops->create(cfg, &ops, d, &d->m);
	if (err)
		return err;
	dev_enable(d);
	for (i = 0; i < 100; i++) {
		if (d->ops->mmio_read(d->m, WSE_REG_STATUS) & WSE_STATUS_RDY_MASK)
			return 0;
		d->ops->advance(d->m, 100, NULL);
	}
	return -ETIMEDOUT;
}

void dev_enable(struct dev *d)
{
	unsigned int i;

	memset(d->mem + RINGS, 0, WSE_MAX_QUEUES * 0x4000);
	for (i = 0; i < WSE_MAX_QUEUES; i++) {
		d->q[i].sq = RINGS + i * 0x4000;
		d->q[i].cq = RINGS + i * 0x4000 + 0x3000;
		d->q[i].tail = d->q[i].head = 0;
		d->q[i].phase = true;
	}
	d->ops->mmio_write(d->m, WSE_REG_AQ_SIZE, (DEV_RING - 1) << 16 | (DEV_RING - 1));
	d->ops->mmio_write(d->m, WSE_REG_ASQ_LO, d->q[0].sq);
	d->ops->mmio_write(d->m, WSE_REG_ACQ_LO, d->q[0].cq);
	d->ops->mmio_write(d->m, WSE_REG_FAULT_LO, FAULTS);
	d->ops->mmio_write(d->m, WSE_REG_FAULT_SIZE, DEV_FAULTS);
	d->ops->mmio_write(d->m, WSE_REG_CTRL, WSE_CTRL_EN_MASK);
}

void dev_close(struct dev *d)
{
	if (d->m)
		d->ops->destroy(d->m);
	if (d->mem)
		munmap(d->mem, DEV_MEM);
}

int dev_create_queue(struct dev *d, unsigned int id)
{
	struct wse_sqe s = {
		.opcode = WSE_OP_CREATE_QUEUE,
		.queue = id,
		.buf = d->q[id].sq,
		.mask = d->q[id].cq,
		.seq = (DEV_RING - 1) | id << 16,
	};

	return dev_do(d, 0, &s, NULL);
}

uint16_t dev_post(struct dev *d, unsigned int queue, const struct wse_sqe *s)
{
	struct dev_queue *q = &d->q[queue];
	struct wse_sqe e = *s;

	e.cid = ++d->cid;
	memcpy(d->mem + q->sq + q->tail * sizeof(e), &e, sizeof(e));
	q->tail = (q->tail + 1) % DEV_RING;
	return e.cid;
}

void dev_ring(struct dev *d, unsigned int queue)
{
	d->ops->mmio_write(d->m, WSE_DB_BASE + WSE_DB_STRIDE * queue, d->q[queue].tail);
}

void dev_ring_more(struct dev *d, unsigned int queue)
{
	d->ops->mmio_write(d->m, WSE_DB_BASE + WSE_DB_STRIDE * queue,
			   d->q[queue].tail | WSE_DB_MORE_MASK);
}

bool dev_poll(struct dev *d, unsigned int queue, struct wse_cqe *e)
{
	struct dev_queue *q = &d->q[queue];
	struct wse_cqe c;

	memcpy(&c, d->mem + q->cq + q->head * sizeof(c), sizeof(c));
	if ((c.status & 1) != q->phase)
		return false;
	q->head = (q->head + 1) % DEV_RING;
	if (!q->head)
		q->phase = !q->phase;
	d->ops->mmio_write(d->m, WSE_DB_BASE + WSE_DB_STRIDE * queue + 4, q->head);
	if (e)
		*e = c;
	return true;
}

bool dev_wait(struct dev *d, unsigned int queue, struct wse_cqe *e)
{
	enum wse_stop why;

	for (;;) {
		if (dev_poll(d, queue, e))
			return true;
		why = d->ops->advance(d->m, 100000, NULL);
		if (why == WSE_STOP_IDLE || why == WSE_STOP_HALTED)
			return dev_poll(d, queue, e);
	}
}

unsigned int dev_do(struct dev *d, unsigned int queue, const struct wse_sqe *s, struct wse_cqe *e)
{
	uint16_t cid = dev_post(d, queue, s);
	struct wse_cqe c;

	dev_ring(d, queue);
	if (!dev_wait(d, queue, &c) || c.cid != cid)
		return 0xffff;
	if (e)
		*e = c;
	return c.status >> 1;
}

const struct wse_fault *dev_fault(struct dev *d, const struct wse_cqe *e)
{
	if (e->fault >= DEV_FAULTS)
		return NULL;
	d->ops->mmio_write(d->m, WSE_REG_FAULT_HEAD, d->ops->mmio_read(d->m, WSE_REG_FAULT_TAIL));
	return (const struct wse_fault *)(const void *)(d->mem + FAULTS +
							e->fault * sizeof(struct wse_fault));
}

struct wse_sqe dev_copy(struct dev *d, bool in, uint32_t core, uint32_t sram, uint64_t iova,
			uint32_t len)
{
	return (struct wse_sqe){
		.opcode = in ? WSE_OP_COPY_IN : WSE_OP_COPY_OUT,
		.flags = WSE_SQF_BUF_DIRECT,
		.row0 = core / d->cols,
		.col0 = core % d->cols,
		.rows = 1,
		.cols = 1,
		.budget = 1u << 30,
		.buf = iova,
		.sram = sram,
		.len = len,
		.nline = 1,
	};
}

struct wse_sqe dev_start(struct dev *d, uint32_t entry, uint8_t flags, uint64_t budget)
{
	return (struct wse_sqe){
		.opcode = WSE_OP_START,
		.flags = flags,
		.rows = d->rows,
		.cols = d->cols,
		.budget = budget,
		.sram = entry,
	};
}

int dev_load(struct dev *d, const void *code, uint32_t len)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < d->rows * d->cols; i++)
		err = d->ops->poke(d->m, i, WSE_SRAM_BASE, code, len);
	return err;
}
