/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The arithmetic of a pair of rings (hw/doc/host.md) on the submitting side. The kernel driver
 * and libwse's in-process device share this file.
 *
 * Both rings have one size, and every command gives exactly one completion, in order: entry i of
 * the submission ring is completed by entry i of the completion ring, and its command id is i. So
 * one head does for both.
 */
#ifndef WSE_RING_STATE_H
#define WSE_RING_STATE_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#endif
#include "wse_regs.h"

/* the minor ABI version whose submission doorbells have MORE */
#define WSE_MINOR_BATCHES 3

struct wse_ring_state {
	__u32 size;	       /* entries, a power of two */
	__u32 tail;	       /* the next entry to fill */
	__u32 head;	       /* the next entry to complete */
	__u32 cq_doorbell;     /* the completion head that the device was told last */
	__u32 phase;	       /* bit 0 of the status of a completion that is new */
	__u32 seq;	       /* commands put since it was made or reset: what FENCE counts */
	bool doorbell_pending; /* entries were put that the device does not know of */
	bool frozen;	       /* no doorbell until it is restarted */
};

/* As the device sees a ring that was just made, or reset. */
static inline void wse_ring_restart(struct wse_ring_state *s)
{
	s->tail = 0;
	s->head = 0;
	s->cq_doorbell = 0;
	s->phase = 1;
	s->seq = 0;
	s->doorbell_pending = false;
	s->frozen = false;
}

/*
 * A command that empties the ring is about to be sent. A doorbell that reaches the device after it
 * would count for the empty ring, which would then look full: completions may still be taken, but
 * the device is told of nothing before wse_ring_restart().
 */
static inline void wse_ring_freeze(struct wse_ring_state *s)
{
	s->doorbell_pending = false;
	s->frozen = true;
}

/* Entries that can be put. One stays empty: a full ring would look like an empty one. */
static inline __u32 wse_ring_space(const struct wse_ring_state *s)
{
	return (s->head - s->tail - 1) & (s->size - 1);
}

/* There is space. The index of the entry to fill, which is its command id too. */
static inline __u32 wse_ring_claim(struct wse_ring_state *s)
{
	__u32 at = s->tail;

	s->tail = (at + 1) & (s->size - 1);
	s->seq++;
	s->doorbell_pending = true;
	return at;
}

/*
 * The value of the submission doorbell that tells the device of all that was put. more: a doorbell
 * of another ring follows in the same batch, and the device waits for the last one: a START must
 * not be judged before its streams are known, however long the host is away between two writes.
 */
static inline __u32 wse_ring_doorbell(struct wse_ring_state *s, bool more)
{
	s->doorbell_pending = false;
	return s->tail | (more ? WSE_DB_MORE_MASK : 0);
}

/* The completion with this status at head is new, if a command is due at all. */
static inline bool wse_ring_is_new(const struct wse_ring_state *s, __u32 status)
{
	return s->head != s->tail && (status & 1) == s->phase;
}

/*
 * Takes the completion at head, which is new. Nothing that the device wrote is believed: NULL, or
 * what is wrong with it; then nothing was taken.
 */
static inline const char *wse_ring_take(struct wse_ring_state *s, __u32 cid, __u32 sqhd)
{
	__u32 mask = s->size - 1, next = (s->head + 1) & mask;

	if (cid != s->head)
		return "completion of a command that is not due";
	/* it took this entry, and none that was not there */
	if (sqhd > mask || ((sqhd - next) & mask) > ((s->tail - next) & mask))
		return "submission head out of range";
	s->head = next;
	if (!next)
		s->phase ^= 1;
	return NULL;
}

/*
 * The device must be told the head now. It needs it only to know that it may write another
 * completion, and there is room for as many as commands: a doorbell for each quarter of the ring
 * keeps it from ever having to wait.
 */
static inline bool wse_ring_cq_doorbell_due(struct wse_ring_state *s)
{
	if (s->frozen || ((s->head - s->cq_doorbell) & (s->size - 1)) < (s->size + 3) / 4)
		return false;
	s->cq_doorbell = s->head;
	return true;
}

#endif
