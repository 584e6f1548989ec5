// SPDX-License-Identifier: MIT
/*
 * Interrupt moderation by a clock of our own: no interrupt is lost, few are late, many are merged.
 */
#include "../moderate.h"
#include "tap.h"

#define US 1000ll

static unsigned int got[MODERATE_VECTORS + 1];

static void deliver(void *arg, unsigned int vector)
{
	(void)arg;
	got[vector < MODERATE_VECTORS ? vector : MODERATE_VECTORS]++;
}

/* a host that waits for each of its commands; commands whose interrupt came 10 us late or more */
static unsigned int serial(struct moderate *m, unsigned int n, int64_t *now)
{
	unsigned int late = 0;

	for (unsigned int i = 0; i < n; i++) {
		unsigned int before = got[1];
		int64_t begin, next;

		moderate_doorbell(m, *now);
		*now += 5 * US;
		begin = *now;
		moderate_raise(m, 1, *now);
		while (got[1] == before) {
			next = moderate_run(m, *now);
			if (next < 0)
				break;
			*now += next;
		}
		if (got[1] != before + 1)
			return n + 1;
		late += *now - begin >= 10 * US;
		*now += 20 * US;
	}
	return late;
}

/* a host that submits all the time: the longest that a completion had to wait, ns */
static int64_t stream(struct moderate *m, unsigned int n, int64_t gap, int64_t *now)
{
	int64_t oldest = -1, longest = 0;
	unsigned int before;

	for (unsigned int i = 0; i < n; i++) {
		int64_t end = *now + gap, next;

		moderate_doorbell(m, *now);
		before = got[1];
		if (oldest < 0)
			oldest = *now;
		moderate_raise(m, 1, *now);
		for (;;) {
			if (got[1] != before) {
				if (*now - oldest > longest)
					longest = *now - oldest;
				before = got[1];
				oldest = -1;
			}
			next = moderate_run(m, *now);
			if (got[1] != before)
				continue;
			if (next < 0 || *now + next > end)
				break;
			*now += next;
		}
		*now = end;
	}
	return longest;
}

int main(void)
{
	struct moderate m;
	int64_t now = 1000 * US, longest;
	unsigned int late, n;

	moderate_init(&m, deliver, NULL);
	moderate_raise(&m, 0, now);
	moderate_raise(&m, 0, now);
	ok(got[0] == 2 && moderate_run(&m, now) < 0, "vector 0 is never held");
	moderate_raise(&m, 77, now);
	ok(got[MODERATE_VECTORS] == 1, "nor one that is out of range");

	late = serial(&m, 10000, &now);
	ok(late > 0 && late < 40, "10000 commands one after the other: %u interrupts are late",
	   late);
	n = got[1];
	longest = stream(&m, 10000, 20 * US, &now);
	ok(got[1] - n < 1500, "10000 commands at depth: %u interrupts", got[1] - n);
	ok(longest > 100 * US && longest <= 300 * US, "no completion waits longer than %lld us",
	   (long long)(longest / US));
	n = got[1];
	moderate_run(&m, now + 1000 * US);
	moderate_raise(&m, 1, now += 2000 * US);
	moderate_run(&m, now += 1000 * US);
	ok(got[1] > n && !m.held, "the last one comes, though no doorbell does");
	late = serial(&m, 10000, &now);
	ok(late < 40, "and who waits again is not held up: %u late", late);

	moderate_init(&m, deliver, NULL);
	moderate_raise(&m, MODERATE_VECTORS - 1, now);
	moderate_run(&m, now);
	moderate_run(&m, now + 1000 * US);
	ok(got[MODERATE_VECTORS - 1] == 1 && !m.held, "the last vector's comes, too");

	moderate_init(&m, deliver, NULL);
	n = got[1] + got[2];
	moderate_raise(&m, 1, now);
	moderate_raise(&m, 2, now);
	moderate_clear(&m);
	ok(moderate_run(&m, now + 1000 * US) < 0 && got[1] + got[2] == n, "a reset forgets");
	return tap_end();
}
