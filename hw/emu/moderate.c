// SPDX-License-Identifier: MIT
#include "moderate.h"

#include <string.h>

#define QUIET_NS  60000	 /* without a doorbell for so long: the host waits */
#define HOLD_NS	  300000 /* after the first completion, in any case */
#define HOLD_MAX  32u	 /* completions */
#define PAUSE_MAX 512u

void moderate_init(struct moderate *m, void (*deliver)(void *arg, unsigned int vector), void *arg)
{
	memset(m, 0, sizeof(*m));
	m->deliver = deliver;
	m->arg = arg;
}

void moderate_doorbell(struct moderate *m, int64_t now)
{
	atomic_store(&m->doorbell, now);
}

static void release(struct moderate *m, unsigned int v)
{
	/* no doorbell came meanwhile: the host waited for this interrupt */
	bool waited = atomic_load(&m->doorbell) <= m->vector[v].since;
	uint32_t pause = m->vector[v].pause;

	m->vector[v].pause = !waited ? 0 : !pause ? 1 : pause < PAUSE_MAX ? 2 * pause : PAUSE_MAX;
	m->vector[v].skip = m->vector[v].pause;
	m->held &= ~(1u << v);
	m->deliver(m->arg, v);
}

void moderate_raise(struct moderate *m, unsigned int v, int64_t now)
{
	if (!v || v >= MODERATE_VECTORS) {
		m->deliver(m->arg, v);
		return;
	}
	if (m->held >> v & 1) {
		if (++m->vector[v].count >= HOLD_MAX)
			release(m, v);
		return;
	}
	if (m->vector[v].skip) {
		m->vector[v].skip--;
		m->deliver(m->arg, v);
		return;
	}
	m->held |= 1u << v;
	m->vector[v].since = now;
	m->vector[v].count = 1;
}

int64_t moderate_run(struct moderate *m, int64_t now)
{
	int64_t doorbell = atomic_load(&m->doorbell), next = -1;

	for (unsigned int v = 1; v < MODERATE_VECTORS; v++) {
		int64_t since = m->vector[v].since, due;

		if (!(m->held >> v & 1))
			continue;
		due = (doorbell > since ? doorbell : since) + QUIET_NS;
		if (due > since + HOLD_NS)
			due = since + HOLD_NS;
		if (due <= now)
			release(m, v);
		else if (next < 0 || due - now < next)
			next = due - now;
	}
	return next;
}

void moderate_clear(struct moderate *m)
{
	m->held = 0;
}
