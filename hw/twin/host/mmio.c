// SPDX-License-Identifier: MIT
/* BAR0. */
#include <string.h>

#include "twin/twin.h"

/* counters of cores and links come up to date */
static void settle(struct wse_machine *m)
{
	if (m->fast)
		m->fast->settle(m);
}

void twin_reset(struct wse_machine *m)
{
	uint32_t i;

	twin_queues_reset(m);
	settle(m);
	memset(m->reg, 0, sizeof(m->reg));
	TWIN_REG(m, MAGIC) = WSE_MAGIC;
	TWIN_REG(m, ABI) = WSE_ABI_MAJOR << WSE_ABI_MAJOR_SHIFT | WSE_ABI_MINOR;
	TWIN_REG(m, TILE) = m->cols << WSE_TILE_COLS_SHIFT | m->rows;
	TWIN_REG(m, CORE) = WSE_NCOLORS << WSE_CORE_COLORS_SHIFT |
			    WSE_LANES << WSE_CORE_LANES_SHIFT | WSE_SRAM_BYTES / 1024;
	TWIN_REG(m, QUEUES) = __builtin_ctz(WSE_MAX_DEPTH) << WSE_QUEUES_DEPTH_LOG2_SHIFT | TWIN_NQ;
	TWIN_REG(m, FEATURES) = m->cfg.group << WSE_FEATURES_GROUP_SHIFT |
				WSE_FEATURES_BCAST_DIM_MASK | WSE_FEATURES_LINEAR_MASK;
	memset(m->latch, 0, sizeof(m->latch));
	m->irq_pending = 0;
	m->halted = m->quiet = false;
	m->now = m->uncounted_cycles = 0;
	twin_bus_reset(m);
	memset(m->cnt, 0, sizeof(m->cnt));
	memset(m->cmds, 0, sizeof(m->cmds));
	for (i = 0; i < m->ncores; i++) {
		struct twin_core *c = &m->core[i];

		memset(c->cnt, 0, sizeof(c->cnt));
		memset(c->link, 0, sizeof(c->link));
		twin_core_hold(c->mesh, c);
	}
	twin_fabric_clear(m);
}

uint64_t twin_reg64(const struct wse_machine *m, uint32_t lo)
{
	return (uint64_t)m->reg[lo / 4 + 1] << 32 | m->reg[lo / 4];
}

static void enable(struct wse_machine *m)
{
	uint32_t size = TWIN_REG(m, AQ_SIZE);
	struct twin_queue *q = &m->q[0];

	TWIN_REG(m, CTRL) = WSE_CTRL_EN_MASK;
	q->sq = twin_reg64(m, WSE_REG_ASQ_LO);
	q->cq = twin_reg64(m, WSE_REG_ACQ_LO);
	q->sq_max = size & 0xffff;
	q->cq_max = size >> 16;
	if (!twin_is_ring(q->sq_max) || !twin_is_ring(q->cq_max) || q->sq & 0xfff ||
	    q->cq & 0xfff) {
		m->halted = true; /* rings that cannot be */
		return;
	}
	q->exists = q->phase = true;
}

static uint32_t status(const struct wse_machine *m)
{
	uint32_t v = 0, i;

	if (m->q[0].exists)
		v |= WSE_STATUS_RDY_MASK;
	if (m->halted)
		v |= WSE_STATUS_HALTED_MASK;
	if (twin_queues_busy(m))
		v |= WSE_STATUS_BUSY_MASK;
	for (i = 0; i < m->ncores; i++) {
		if (m->core[i].run == WSE_CORE_FAULTED) {
			v |= WSE_STATUS_FAULT_MASK;
			break;
		}
	}
	return v;
}

/* 64-bit pairs: LO latches HI */
static uint32_t pair(struct wse_machine *m, unsigned int latch, bool hi, uint64_t v)
{
	if (hi)
		return m->latch[latch];
	m->latch[latch] = v >> 32;
	return (uint32_t)v;
}

#define SCOPE_OF(id, scope, name, unit, minor, exact, what) scope,
static const uint8_t scope_of[] = {WSE_COUNTERS(SCOPE_OF)};

/* a counter of one object of its scope */
static uint64_t count_of(const struct wse_machine *m, uint32_t id, uint32_t object)
{
	switch (id < WSE_CNT_COUNT ? scope_of[id] : WSE_SCOPE_TILE) {
	case WSE_SCOPE_CORE:
		return object < m->ncores ? m->core[object].cnt[id] : 0;
	case WSE_SCOPE_LINK:
		return object < 4 * m->ncores ? m->core[object / 4].link[object % 4] : 0;
	case WSE_SCOPE_QUEUE:
		return object < TWIN_NQ ? m->cmds[object] : 0;
	default:
		return 0;
	}
}

static uint64_t total(const struct wse_machine *m, uint32_t id)
{
	uint32_t n = scope_of[id] == WSE_SCOPE_QUEUE ? TWIN_NQ : 4 * m->ncores, i;
	uint64_t sum = 0;

	if (id == WSE_CNT_CYCLES)
		return m->now;
	if (scope_of[id] == WSE_SCOPE_TILE)
		return m->cnt[id];
	for (i = 0; i < n; i++)
		sum += count_of(m, id, i);
	return sum;
}

static uint32_t counter(struct wse_machine *m, uint32_t offset)
{
	uint32_t i = (offset - WSE_CNT_BASE) / 8;

	settle(m);
	return pair(m, 2 + i, offset & 4, offset & 4 ? 0 : total(m, i));
}

uint32_t twin_mmio_read(struct wse_machine *m, uint32_t offset)
{
	switch (offset) {
	case WSE_REG_STATUS:
		return status(m);
	case WSE_REG_CYCLES_LO:
	case WSE_REG_CYCLES_HI:
		return pair(m, 0, offset == WSE_REG_CYCLES_HI, m->now);
	case WSE_REG_CNT_VAL_LO:
	case WSE_REG_CNT_VAL_HI:
		settle(m);
		return pair(m, 1, offset == WSE_REG_CNT_VAL_HI,
			    count_of(m, TWIN_REG(m, CNT_SEL) >> WSE_CNT_SEL_ID_SHIFT,
				     TWIN_REG(m, CNT_SEL) & WSE_CNT_SEL_OBJECT_MASK));
	}
	if (offset & 3)
		return 0;
	if (offset < sizeof(m->reg))
		return m->reg[offset / 4];
	if (offset >= WSE_CNT_BASE && offset < WSE_CNT_BASE + 8 * WSE_CNT_COUNT)
		return counter(m, offset);
	return 0;
}

static void write_ctrl(struct wse_machine *m, uint32_t value)
{
	bool enabled = TWIN_REG(m, CTRL), en = value & WSE_CTRL_EN_MASK;

	if (value & WSE_CTRL_RST_MASK || (enabled && !en))
		twin_reset(m);
	else if (!enabled && en)
		enable(m);
}

static void write_mask(struct wse_machine *m, uint32_t value)
{
	uint32_t due = m->irq_pending & ~value, v;

	TWIN_REG(m, INTR_MASK) = value;
	m->irq_pending &= value;
	for (; due; due &= due - 1) {
		v = __builtin_ctz(due);
		m->ops.irq(m->host, v);
	}
}

void twin_mmio_write(struct wse_machine *m, uint32_t offset, uint32_t value)
{
	if (offset >= WSE_DB_BASE && offset < WSE_BAR0_SIZE && !(offset & 3)) {
		twin_doorbell(m, (offset - WSE_DB_BASE) / 4, value);
		return;
	}
	switch (offset) {
	case WSE_REG_CTRL:
		write_ctrl(m, value);
		break;
	case WSE_REG_INTR_MASK:
		write_mask(m, value);
		break;
	case WSE_REG_AQ_SIZE:
	case WSE_REG_ASQ_LO:
	case WSE_REG_ASQ_HI:
	case WSE_REG_ACQ_LO:
	case WSE_REG_ACQ_HI:
	case WSE_REG_FAULT_LO:
	case WSE_REG_FAULT_HI:
	case WSE_REG_FAULT_SIZE:
	case WSE_REG_FAULT_HEAD:
	case WSE_REG_CNT_SEL:
		m->reg[offset / 4] = value;
	}
}
