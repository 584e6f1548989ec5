// SPDX-License-Identifier: MIT
/*
 * uapi/wse/wse_ring.h on the host: a ring from entry to completion, over its end, and its
 * doorbells.
 */
#include <string.h>

#include "tap.h"
#include "wse_ring.h"

#define SIZE 16u

/* So many commands go in and come back; how often the device is told of the head. */
static unsigned int turn(struct wse_ring_state *s, unsigned int n)
{
	unsigned int doorbells = 0;

	while (n--) {
		__u32 at = wse_ring_claim(s);

		if (!wse_ring_is_new(s, s->phase) || wse_ring_is_new(s, !s->phase) ||
		    wse_ring_take(s, at, (at + 1) % SIZE))
			return ~0u;
		doorbells += wse_ring_cq_doorbell_due(s);
	}
	return doorbells;
}

int main(void)
{
	struct wse_ring_state s = {.size = SIZE};

	wse_ring_restart(&s);
	ok(wse_ring_space(&s) == SIZE - 1 && !wse_ring_is_new(&s, 1), "an empty ring");
	ok(turn(&s, 3) == 0 && turn(&s, 1) == 1 && turn(&s, 12) == 3, "a doorbell each quarter");
	ok(s.head == 0 && s.phase == 0 && s.seq == 16, "the phase turns at the end");
	wse_ring_claim(&s);
	ok(wse_ring_take(&s, 1, 1) && wse_ring_take(&s, 0, 2) && wse_ring_take(&s, 0, SIZE) &&
		   !wse_ring_take(&s, 0, 1),
	   "completions that cannot be are refused");
	while (wse_ring_space(&s))
		wse_ring_claim(&s);
	ok(((s.tail + 1) & (SIZE - 1)) == s.head, "full: one entry stays empty");

	/* a context reset is under way: a head told now would count for the ring that it empties */
	wse_ring_freeze(&s);
	ok(!s.doorbell_pending, "frozen: no doorbell for what was put");
	while (s.head != s.tail && !wse_ring_take(&s, s.head, s.tail))
		if (wse_ring_cq_doorbell_due(&s))
			break;
	ok(s.head == s.tail, "frozen: completions are taken, and the device hears of none");
	wse_ring_restart(&s);
	ok(s.head == 0 && s.phase == 1 && turn(&s, 4) == 1, "restarted: doorbells come again");
	return tap_end();
}
