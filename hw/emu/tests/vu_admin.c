// SPDX-License-Identifier: MIT
#include "vu_admin.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

const struct wse_sqe vu_nop = {.opcode = WSE_OP_NOP, .cid = 77};

static uint32_t sq_tail, cq_head, phase;

double vu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void vu_post64(struct vu_client *c, uint32_t reg, uint64_t v)
{
	vu_client_post(c, reg, (uint32_t)v);
	vu_client_post(c, reg + 4, (uint32_t)(v >> 32));
}

bool vu_admin_enable(struct vu_client *c)
{
	memset(c->mem, 0, VU_DATA);
	sq_tail = cq_head = 0;
	phase = 1;
	vu_client_post(c, WSE_REG_AQ_SIZE, (VU_DEPTH - 1) << 16 | (VU_DEPTH - 1));
	vu_post64(c, WSE_REG_ASQ_LO, VU_IOVA + VU_ASQ);
	vu_post64(c, WSE_REG_ACQ_LO, VU_IOVA + VU_ACQ);
	vu_post64(c, WSE_REG_FAULT_LO, VU_IOVA + VU_FAULTS);
	vu_client_post(c, WSE_REG_FAULT_SIZE, 16);
	vu_client_post(c, WSE_REG_CTRL, WSE_CTRL_EN_MASK);
	for (int i = 0; i < 5000; i++) {
		if (vu_client_reg(c, WSE_REG_STATUS) & WSE_STATUS_RDY_MASK)
			return true;
		usleep(1000);
	}
	return false;
}

void vu_admin_push(struct vu_client *c, const struct wse_sqe *s)
{
	memcpy(c->mem + VU_ASQ + sq_tail * sizeof(*s), s, sizeof(*s));
	sq_tail = (sq_tail + 1) % VU_DEPTH;
	vu_client_post(c, WSE_DB_BASE, sq_tail);
}

int vu_admin_complete(struct vu_client *c, int ms, uint16_t *cid)
{
	volatile struct wse_cqe *q = (void *)(c->mem + VU_ACQ);
	double end = vu_now() + ms / 1000.0;
	int status;

	q += cq_head;
	while ((q->status & 1) != phase) {
		if (vu_now() > end)
			return -1;
		usleep(200);
	}
	status = q->status >> 1;
	if (cid)
		*cid = q->cid;
	cq_head = (cq_head + 1) % VU_DEPTH;
	phase ^= !cq_head;
	vu_client_post(c, WSE_DB_BASE + 4, cq_head);
	return status;
}

int vu_admin_run(struct vu_client *c, const struct wse_sqe *s)
{
	vu_admin_push(c, s);
	return vu_admin_complete(c, 10000, NULL);
}
