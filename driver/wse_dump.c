// SPDX-License-Identifier: GPL-2.0
/*
 * The device core dump of a reset: text, which needs no decoder.
 *
 * The driver takes it before the reset, when jobs wait for their fences and nothing may be
 * allocated, and publishes it after they have signalled. So its buffer exists from the beginning.
 */
#include <linux/devcoredump.h>
#include <linux/seq_buf.h>
#include <linux/vmalloc.h>

#include <drm/drm_print.h>

#include "wse_ctx.h"
#include "wse_debugfs.h"
#include "wse_dev.h"
#include "wse_dump.h"

/* Text beyond its end is cut off. */
#define WSE_DUMP_BYTES 65536u
/* Commands of a ring: those that are due next, and the last ones before. */
#define WSE_DUMP_DUE  32u
#define WSE_DUMP_DONE 8u

static const struct {
	const char *name;
	u32 reg;
} wse_dump_regs[] = {
	{ "MAGIC", WSE_REG_MAGIC },
	{ "ABI", WSE_REG_ABI },
	{ "TILE", WSE_REG_TILE },
	{ "CORE", WSE_REG_CORE },
	{ "QUEUES", WSE_REG_QUEUES },
	{ "FEATURES", WSE_REG_FEATURES },
	{ "CTRL", WSE_REG_CTRL },
	{ "STATUS", WSE_REG_STATUS },
	{ "INTR_MASK", WSE_REG_INTR_MASK },
	{ "FAULT_TAIL", WSE_REG_FAULT_TAIL },
	{ "FAULT_HEAD", WSE_REG_FAULT_HEAD },
	{ "FAULT_LOST", WSE_REG_FAULT_LOST },
};

/* The device reports of a core only these members. */
static void wse_dump_faults(struct wse_device *wdev, struct drm_printer *p)
{
	unsigned int i;

	for (i = 0; i < WSE_FAULTS; i++) {
		struct wse_fault rec = wdev->faults[i];

		/* its place in the ring is empty */
		if (!rec.status)
			continue;
		drm_printf(p, "record %u: status %u queue %u cid %u core %u,%u ncores %u ", i,
			   le16_to_cpu(rec.status), le16_to_cpu(rec.queue), le16_to_cpu(rec.cid),
			   le16_to_cpu(rec.col), le16_to_cpu(rec.row), le16_to_cpu(rec.ncores));
		drm_printf(p, "cause %#x pc %#x ", le32_to_cpu(rec.cause), le32_to_cpu(rec.pc));
		drm_printf(p, "addr %#x color %#x value %#x cycle %llu\n", le32_to_cpu(rec.addr),
			   le32_to_cpu(rec.color), le32_to_cpu(rec.value), le64_to_cpu(rec.cycle));
	}
}

static void wse_dump_ring(struct wse_ring *ring, struct drm_printer *p)
{
	const struct wse_ring_state *s = &ring->state;
	u32 mask = s->size - 1, due = (s->tail - s->head) & mask;
	u32 done = min3(WSE_DUMP_DONE, s->seq - due, mask - due), i;
	const struct wse_cqe *cqe = &ring->cq[s->head];

	if (!s->seq)
		return;
	drm_printf(p, "ring %u: completion entry %u: cid %u status %#x phase %u sqhd %u\n",
		   ring->id, s->head, le16_to_cpu(cqe->cid), le16_to_cpu(cqe->status) >> 1,
		   le16_to_cpu(cqe->status) & 1, le16_to_cpu(cqe->sqhd));
	for (i = 0; i < done + min(due, WSE_DUMP_DUE); i++) {
		u32 at = (s->head - done + i) & mask;
		const struct wse_sqe *sqe = &ring->sq[at];

		drm_printf(p, "ring %u %s: cid %u op %#x flags %#x budget %llu at %u,%u %ux%u ",
			   ring->id, i < done ? "completed" : "in flight", at, sqe->opcode,
			   sqe->flags, le64_to_cpu(sqe->budget), le16_to_cpu(sqe->row0),
			   le16_to_cpu(sqe->col0), le16_to_cpu(sqe->rows), le16_to_cpu(sqe->cols));
		drm_printf(p, "sram %#x len %u nline %u\n", le32_to_cpu(sqe->sram),
			   le32_to_cpu(sqe->len), le32_to_cpu(sqe->nline));
	}
	if (due > WSE_DUMP_DUE)
		drm_printf(p, "ring %u: and %u more in flight\n", ring->id, due - WSE_DUMP_DUE);
}

static void wse_dump_print(struct wse_device *wdev, struct drm_printer *p, const char *why)
{
	unsigned int i;

	drm_printf(p, "wse core dump 1\nwhy: %s\nresets before: %llu\n", why, wdev->resets);
	drm_puts(p, "\n# registers\n");
	for (i = 0; i < ARRAY_SIZE(wse_dump_regs); i++)
		drm_printf(p, "%s %#x\n", wse_dump_regs[i].name,
			   wse_read(wdev, wse_dump_regs[i].reg));
	drm_printf(p, "cycles since probe %llu\n", wse_dev_cycles(wdev));
	drm_puts(p, "\n# lease\n");
	wse_show_lease(wdev, p);
	drm_puts(p, "\n# last fault\n");
	wse_show_fault(wdev, p);
	drm_puts(p, "\n# fault records since the last reset\n");
	wse_dump_faults(wdev, p);
	drm_puts(p, "\n# rings\n");
	wse_show_rings(wdev, p);
	drm_puts(p, "\n# jobs\n");
	wse_show_jobs(wdev, p);
	drm_puts(p, "\n# commands\n");
	for (i = 0; i < wdev->nrings; i++)
		scoped_guard(spinlock_irq, &wdev->lock)
			wse_dump_ring(&wdev->ring[i], p);
}

/* drm_coredump_printer() allocates at the end of its buffer. */
static void wse_dump_printfn(struct drm_printer *p, struct va_format *vaf)
{
	seq_buf_printf(p->arg, "%pV", vaf);
}

/* Runs before a reset, which empties the rings. Caller holds hw_mutex and then queues dump_work. */
void wse_dump_take(struct wse_device *wdev, const char *why)
{
	struct seq_buf text;
	struct drm_printer p = { .printfn = wse_dump_printfn, .arg = &text };
	char *dump;

	lockdep_assert_held(&wdev->hw_mutex);
	scoped_guard(spinlock_irq, &wdev->lock) {
		/* keep the first dump rather than the last */
		dump = wdev->dump ? NULL : wdev->dump_room;
		if (dump)
			wdev->dump_room = NULL;
	}
	if (!dump)
		return;
	seq_buf_init(&text, dump, WSE_DUMP_BYTES);
	wse_dump_print(wdev, &p, why);
	scoped_guard(spinlock_irq, &wdev->lock) {
		wdev->dump = dump;
		/* seq_buf_used() counts the final 0 of a text that was cut off */
		wdev->dump_bytes = strlen(dump);
	}
}

/* Room for the dump of the next reset. May wait for memory. */
void wse_dump_room(struct wse_device *wdev)
{
	char *room = vzalloc(WSE_DUMP_BYTES);

	scoped_guard(spinlock_irq, &wdev->lock)
		wdev->dump_room = room;
}

/* Publishes the dump after the reset, without delaying it: this may wait for memory. */
void wse_dump_work(struct work_struct *work)
{
	struct wse_device *wdev = container_of(work, struct wse_device, dump_work);
	size_t bytes;
	char *dump;

	scoped_guard(spinlock_irq, &wdev->lock) {
		dump = wdev->dump;
		bytes = wdev->dump_bytes;
		wdev->dump = NULL;
	}
	if (dump)
		/* discarded while the previous dump exists */
		dev_coredumpv(wdev->drm.dev, dump, bytes, GFP_KERNEL);
	if (!READ_ONCE(wdev->dump_room))
		wse_dump_room(wdev);
}

void wse_dump_free(struct wse_device *wdev)
{
	vfree(wdev->dump_room);
	vfree(wdev->dump);
}
