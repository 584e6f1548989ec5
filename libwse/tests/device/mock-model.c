// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "mock-model.h"
#include "machine.h"
#include "wse_regs.h"

#define NQ    4u
#define DEPTH 16u /* small, so that rings wrap and fill */

struct queue {
	bool on;
	uint64_t sq, cq;
	uint32_t size, head, tail, chead, ctail, phase, done;
};

struct wse_machine {
	const struct wse_host_ops *ops;
	void *host;
	uint32_t rows, cols, abi;
	uint32_t reg[0x100 / 4];
	struct queue q[NQ];
	uint64_t cycle;
	uint32_t faults;
	bool halted;
	unsigned char *sram; /* [rows * cols][WSE_SRAM_BYTES] */
};

static atomic_int how;
static atomic_bool released;
static atomic_uint next_abi;

void mock_set(enum mock_fault fault)
{
	atomic_store(&how, fault);
}

void mock_release(void)
{
	atomic_store(&released, true);
}

void mock_abi(uint32_t abi)
{
	atomic_store(&next_abi, abi);
}

static void reset(struct wse_machine *m)
{
	memset(m->reg, 0, sizeof(m->reg));
	memset(m->q, 0, sizeof(m->q));
	m->faults = 0;
	m->halted = false;
	if (atomic_load(&how) != MOCK_DEAD)
		atomic_store(&how, MOCK_GOOD);
}

static int create(const struct wse_machine_cfg *cfg, const struct wse_host_ops *ops, void *host,
		  struct wse_machine **out)
{
	struct wse_machine *m;

	if (cfg->rows > 8 || cfg->cols > 8)
		return -ENOTSUP;
	m = calloc(1, sizeof(*m));
	m->ops = ops;
	m->host = host;
	m->rows = cfg->rows;
	m->cols = cfg->cols;
	m->abi = atomic_load(&next_abi);
	m->sram = calloc(m->rows * m->cols, WSE_SRAM_BYTES);
	*out = m;
	return 0;
}

static void destroy(struct wse_machine *m)
{
	free(m->sram);
	free(m);
}

static uint32_t mmio_read(struct wse_machine *m, uint32_t offset)
{
	switch (offset) {
	case WSE_REG_MAGIC:
		return WSE_MAGIC;
	case WSE_REG_ABI:
		return m->abi ? m->abi : WSE_ABI_MAJOR << 16 | WSE_ABI_MINOR;
	case WSE_REG_TILE:
		return m->cols << 16 | m->rows;
	case WSE_REG_CORE:
		return 48 | 8 << 16 | 24u << 24;
	case WSE_REG_QUEUES:
		return NQ | 4 << 8;
	case WSE_REG_STATUS:
		return (m->reg[WSE_REG_CTRL / 4] & WSE_CTRL_EN_MASK) |
		       (m->halted ? WSE_STATUS_HALTED_MASK : 0);
	case WSE_REG_CYCLES_LO:
		return (uint32_t)m->cycle;
	case WSE_REG_FAULT_TAIL:
		return m->faults;
	default:
		return offset < sizeof(m->reg) ? m->reg[offset / 4] : 0;
	}
}

static void open_queue(struct queue *q, uint64_t sq, uint64_t cq, uint32_t size)
{
	*q = (struct queue){.on = true, .sq = sq, .cq = cq, .size = size, .phase = 1};
}

static void mmio_write(struct wse_machine *m, uint32_t offset, uint32_t value)
{
	uint32_t *r = m->reg;

	if (offset >= WSE_DB_BASE && offset < WSE_DB_BASE + 8 * NQ) {
		struct queue *q = &m->q[(offset - WSE_DB_BASE) / 8];

		*(offset & 4 ? &q->chead : &q->tail) = value & ~WSE_DB_MORE_MASK;
		return;
	}
	if (offset >= sizeof(m->reg))
		return;
	r[offset / 4] = value;
	if (offset != WSE_REG_CTRL)
		return;
	if (value & WSE_CTRL_RST_MASK)
		reset(m);
	else if (value & WSE_CTRL_EN_MASK && atomic_load(&how) != MOCK_DEAD)
		open_queue(&m->q[0], r[WSE_REG_ASQ_LO / 4] | (uint64_t)r[WSE_REG_ASQ_HI / 4] << 32,
			   r[WSE_REG_ACQ_LO / 4] | (uint64_t)r[WSE_REG_ACQ_HI / 4] << 32,
			   (r[WSE_REG_AQ_SIZE / 4] & 0xffff) + 1);
}

/* Bus address of byte off of a buffer; 0 on a DMA error. */
static uint64_t bus(struct wse_machine *m, const struct wse_sqe *s, uint64_t off)
{
	uint64_t page, entry;

	if (s->flags & WSE_SQF_BUF_DIRECT)
		return s->buf + off;
	page = off >> s->pshift;
	if (m->ops->dma_read(m->host, s->buf + 8 * page, &entry, 8))
		return 0;
	return entry + (off & ((1ull << s->pshift) - 1));
}

static unsigned int copy(struct wse_machine *m, const struct wse_sqe *s, uint64_t *bad)
{
	uint32_t r, c, l, b;

	for (r = 0; r < s->rows; r++)
		for (c = 0; c < s->cols; c++)
			for (l = 0; l < s->nline; l++)
				for (b = 0; b < s->len; b += 8) {
					uint64_t at = bus(m, s,
							  s->off + (uint64_t)r * s->rstride +
								  (uint64_t)c * s->cstride +
								  (uint64_t)l * s->lstride + b);
					unsigned char *p = m->sram +
							   ((s->row0 + r) * m->cols + s->col0 + c) *
								   WSE_SRAM_BYTES +
							   s->sram + l * s->sstride + b;
					int ret = s->opcode == WSE_OP_COPY_IN
							  ? m->ops->dma_read(m->host, at, p, 8)
							  : m->ops->dma_write(m->host, at, p, 8);

					if (ret) {
						*bad = at;
						return WSE_ST_DMA_ERROR;
					}
				}
	return WSE_ST_OK;
}

static bool complete(struct wse_machine *m, uint32_t id, uint32_t cid, unsigned int status,
		     uint32_t fault)
{
	struct queue *q = &m->q[id];
	struct wse_cqe e = {.cid = (uint16_t)cid,
			    .status = (uint16_t)(status << 1 | q->phase),
			    .fault = (uint16_t)fault,
			    .start = (uint32_t)m->cycle,
			    .end = (uint32_t)m->cycle + 10};

	if (((q->ctail + 1) & (q->size - 1)) == q->chead)
		return false;
	q->head = (q->head + 1) & (q->size - 1);
	q->done++;
	m->cycle += 10;
	e.sqhd = (uint16_t)q->head;
	if (id && atomic_load(&how) == MOCK_WRONG_CID)
		e.cid ^= 1;
	if (id && atomic_load(&how) == MOCK_BAD_HEAD)
		e.sqhd = 0x7fff;
	if (m->ops->dma_write(m->host, q->cq + 16ull * q->ctail, &e, sizeof(e)))
		m->halted = true;
	q->ctail = (q->ctail + 1) & (q->size - 1);
	if (!q->ctail)
		q->phase ^= 1;
	m->ops->irq(m->host, id);
	return true;
}

static uint32_t record(struct wse_machine *m, uint32_t id, uint32_t cid, unsigned int status,
		       const uint32_t *arg, uint64_t iova)
{
	uint32_t n = m->faults % m->reg[WSE_REG_FAULT_SIZE / 4];
	struct wse_fault f = {.status = (uint16_t)status,
			      .queue = (uint16_t)id,
			      .cid = (uint16_t)cid,
			      .ncores = 1,
			      .row = (uint16_t)arg[1],
			      .col = (uint16_t)arg[2],
			      .cause = arg[3],
			      .color = arg[4],
			      .pc = 0x80000104,
			      .addr = 0x1234,
			      .value = 77,
			      .iova = iova,
			      .seq = m->faults};

	m->ops->dma_write(
		m->host,
		(m->reg[WSE_REG_FAULT_LO / 4] | (uint64_t)m->reg[WSE_REG_FAULT_HI / 4] << 32) +
			64ull * n,
		&f, sizeof(f));
	m->faults++;
	return n;
}

/* False: it is not done yet. */
static bool execute(struct wse_machine *m, uint32_t id, const struct wse_sqe *s)
{
	static const uint32_t none[5];
	const struct wse_sqe_start *st = (const struct wse_sqe_start *)s;
	unsigned int status = WSE_ST_OK;
	uint32_t fault = 0xffff, i;
	const uint32_t *arg = none;
	uint64_t bad = 0;

	if (id && atomic_load(&how) == MOCK_BAD_DMA && s->opcode == WSE_OP_COPY_IN) {
		unsigned char byte;

		bad = 0x10;
		status = m->ops->dma_read(m->host, bad, &byte, 1) ? WSE_ST_DMA_ERROR : WSE_ST_OK;
		atomic_store(&how, MOCK_GOOD);
	} else if (s->opcode == WSE_OP_COPY_IN || s->opcode == WSE_OP_COPY_OUT) {
		status = copy(m, s, &bad);
	} else if (s->opcode == WSE_OP_START) {
		arg = (const uint32_t *)st->arg;
		if (id && arg[0] == MOCK_HOLD && !atomic_load(&released))
			return false;
		status = !id || arg[0] == MOCK_HOLD ? WSE_ST_OK : arg[0];
	} else if (s->opcode == WSE_OP_FENCE) {
		if ((int32_t)(m->q[s->queue].done - s->seq) < 0)
			return false;
	} else if (s->opcode == WSE_OP_CREATE_QUEUE) {
		open_queue(&m->q[s->queue], s->buf, s->mask, (s->seq & 0xffff) + 1);
	} else if (s->opcode == WSE_OP_CTX_RESET) {
		for (i = 1; i < NQ; i++)
			open_queue(&m->q[i], m->q[i].sq, m->q[i].cq, m->q[i].size);
	} else if (s->opcode == WSE_OP_SCRUB) {
		memset(m->sram, 0, m->rows * m->cols * WSE_SRAM_BYTES);
	} else if (s->opcode != WSE_OP_NOP) {
		status = WSE_ST_BAD_OPCODE;
	}
	if (status)
		fault = record(m, id, s->cid, status, arg, bad);
	return complete(m, id, s->cid, status, fault);
}

static enum wse_stop advance(struct wse_machine *m, uint64_t max_cycles, uint64_t *ran)
{
	uint64_t begin = m->cycle;
	bool moved = true, holds = false;
	struct wse_sqe s;
	uint32_t i;
	int h = atomic_load(&how);

	*ran = 0;
	if (h == MOCK_HALT)
		m->halted = true;
	if (m->halted)
		return WSE_STOP_HALTED;
	if (h == MOCK_SILENT || h == MOCK_DEAD)
		return WSE_STOP_IDLE;
	while (moved && m->cycle - begin < max_cycles) {
		moved = false;
		for (i = 0; i < NQ; i++) {
			struct queue *q = &m->q[i];

			if (!q->on || q->head == q->tail)
				continue;
			if (m->ops->dma_read(m->host, q->sq + 128ull * q->head, &s, sizeof(s))) {
				m->halted = true;
				return WSE_STOP_HALTED;
			}
			if (execute(m, i, &s))
				moved = true;
			else
				holds |= s.opcode == WSE_OP_START;
		}
	}
	if (holds)
		m->cycle += 100; /* it computes */
	*ran = m->cycle - begin;
	return moved || holds ? WSE_STOP_CYCLES : WSE_STOP_IDLE;
}

static void brk(struct wse_machine *m)
{
	(void)m;
}

static const struct wse_machine_ops mock = {
	.api = WSE_MACHINE_API,
	.name = "func",
	.create = create,
	.destroy = destroy,
	.mmio_read = mmio_read,
	.mmio_write = mmio_write,
	.advance = advance,
	.brk = brk,
	.reset = reset,
};

const struct wse_machine_ops *wse_machine_find(const char *name)
{
	return strcmp(name, "func") ? NULL : &mock;
}
