// SPDX-License-Identifier: MIT
/*
 * Routers, one wavelet at a time with exact channel capacities. A (core, color) is on the work list
 * when the queue that its route reads may have become able to move; twin_fabric_drain() moves until
 * nothing can inside a part of the mesh, twin_fabric_settle() until nothing can at all.
 */
#include <string.h>

#include "twin/twin.h"

static const uint8_t opposite[4] = {WSE_PORT_S, WSE_PORT_W, WSE_PORT_N, WSE_PORT_E};

struct twin_core *twin_neighbour(struct twin_mesh *m, const struct twin_core *c, unsigned int port)
{
	switch (port) {
	case WSE_PORT_N:
		return c->row ? &m->core[c->idx - m->cols] : NULL;
	case WSE_PORT_S:
		return c->row + 1u < m->rows ? &m->core[c->idx + m->cols] : NULL;
	case WSE_PORT_W:
		return c->col ? &m->core[c->idx - 1] : NULL;
	case WSE_PORT_E:
		return c->col + 1u < m->cols ? &m->core[c->idx + 1] : NULL;
	}
	return NULL;
}

void twin_kick(struct twin_mesh *m, struct twin_core *c, unsigned int color)
{
	if (c->kick >> color & 1)
		return;
	c->kick |= 1u << color;
	m->work[m->nwork++] = c->idx << 5 | color; /* at most one entry each: it fits */
}

/* the color waits until other parts can be looked at */
void twin_postpone(struct twin_mesh *m, struct twin_core *c, unsigned int color)
{
	if (c->later >> color & 1)
		return;
	c->later |= 1u << color;
	m->later[m->nlater++] = c->idx << 5 | color;
}

/* does a route send to a core of another part? */
static bool crosses_part(struct twin_mesh *m, const struct twin_core *c, unsigned int color)
{
	unsigned int p;

	for (p = 0; p < 4; p++) {
		const struct twin_core *n = c->tx[color] >> p & 1 ? twin_neighbour(m, c, p) : NULL;

		if (n && n->mesh != m)
			return true;
	}
	return false;
}

void twin_route(struct twin_mesh *m, struct twin_core *c, unsigned int color, uint32_t cfg)
{
	uint32_t rx = cfg & WSE_ROUTE_RX_MASK, tx = (cfg & WSE_ROUTE_TX_MASK) >> WSE_ROUTE_TX_SHIFT;

	if (unlikely(m->races != NULL))
		twin_races_route(m, c, color, rx, tx);
	m->routes += rx != c->rx[color] || tx != c->tx[color];
	c->rx[color] = rx;
	c->tx[color] = tx;
	c->crosses_part &= ~(1u << color);
	if (crosses_part(m, c, color))
		c->crosses_part |= 1u << color;
	m->moved = true;
	twin_kick(m, c, color);
}

/* room for one wavelet at every output of the route */
static bool room(struct twin_mesh *m, struct twin_core *c, unsigned int color)
{
	unsigned int tx = c->tx[color], p;

	if (tx & 1u << WSE_PORT_R && chan_full(&c->recv[color]))
		return false;
	for (p = 0; p < 4; p++) {
		struct twin_core *n;

		if (!(tx & 1u << p))
			continue;
		n = twin_neighbour(m, c, p);
		if (n) {
			if (chan_full(&n->in[opposite[p]][color]))
				return false;
		} else if (p != WSE_PORT_S || chan_full(&m->out[c->col].q[color])) {
			return false;
		}
	}
	return true;
}

static void forward(struct twin_mesh *m, struct twin_core *c, unsigned int color, uint32_t data,
		    bool ctrl)
{
	unsigned int tx = c->tx[color], p;
	struct twin_core *n;

	if (tx & 1u << WSE_PORT_R) {
		chan_push(&c->recv[color], data, ctrl);
		*c->takes = 0;
		c->recv_any |= 1u << color;
		twin_wake(m, c);
	}
	for (p = 0; p < 4; p++) {
		if (!(tx & 1u << p))
			continue;
		c->link[p]++;
		n = twin_neighbour(m, c, p);
		if (!n) {
			chan_push(&m->out[c->col].q[color], data, ctrl);
			continue;
		}
		chan_push(&n->in[opposite[p]][color], data, ctrl);
		n->mesh->inside++;
		if (n->rx[color] == opposite[p])
			twin_kick(n->mesh, n, color);
	}
}

/* an input queue has lost a wavelet: its feeder may continue */
static void feed(struct twin_mesh *m, struct twin_core *c, unsigned int port, unsigned int color)
{
	struct twin_core *n;

	if (port == WSE_PORT_R) {
		twin_wake(m, c);
		return;
	}
	n = twin_neighbour(m, c, port);
	if (!n)
		return;
	if (n->mesh == m)
		twin_kick(m, n, color);
	else
		twin_postpone(m, c, color);
}

bool twin_fabric_move(struct twin_mesh *m, struct twin_core *c, unsigned int color, uint32_t most)
{
	unsigned int port = c->rx[color];
	struct twin_chan *q;
	uint32_t data;
	uint32_t n = 0;
	bool ctrl;

	if (port > WSE_PORT_R)
		return false;
	q = &c->in[port][color];
	for (; n < most && q->count && room(m, c, color); n++) {
		data = chan_head(q, &ctrl);
		chan_pop(q);
		m->inside--;
		c->cnt[WSE_CNT_WAVELET]++;
		if (unlikely(m->events != NULL))
			twin_events_wavelet(m, c, WSE_EV_HOP, color, data, ctrl);
		forward(m, c, color, data, ctrl);
	}
	if (n) {
		m->moved = true;
		feed(m, c, port, color);
	}
	return n == most;
}

/* across: to other parts, too */
static inline void drain(struct twin_mesh *m, bool across)
{
	if (unlikely(m->shuffle)) {
		twin_shuffle_drain(m, across);
		return;
	}
	while (m->nwork) {
		uint32_t w = m->work[--m->nwork];
		struct twin_core *c = &m->core[w >> 5];

		c->kick &= ~(1u << (w & 31));
		if (!across && unlikely(c->crosses_part >> (w & 31) & 1))
			twin_postpone(m, c, w & 31);
		else
			twin_fabric_move(m, c, w & 31, WSE_CHAN_DEPTH);
	}
}

void twin_fabric_drain(struct twin_mesh *m)
{
	drain(m, false);
}

/* what a part has postponed goes to the work lists of those that it concerns */
static bool recall(struct twin_mesh *m)
{
	bool any = m->nlater;

	while (m->nlater) {
		uint32_t w = m->later[--m->nlater];
		struct twin_core *c = &m->core[w >> 5], *n;
		unsigned int p;

		c->later &= ~(1u << (w & 31));
		twin_kick(m, c, w & 31);
		for (p = 0; p < 4; p++) {
			n = twin_neighbour(m, c, p);
			if (n && n->mesh != m)
				twin_kick(n->mesh, n, w & 31);
		}
	}
	return any;
}

void twin_fabric_settle(struct wse_machine *m)
{
	bool any;
	uint32_t i;

	if (m->nmesh == 1) {
		twin_fabric_drain(m->mesh);
		return;
	}
	do {
		any = false;
		for (i = 0; i < m->nmesh; i++)
			any |= recall(&m->mesh[i]);
		for (i = 0; i < m->nmesh; i++) {
			any |= m->mesh[i].nwork && !m->mesh[i].shuffle;
			drain(&m->mesh[i], true);
		}
	} while (any);
}

/* all colors unrouted, all queues empty */
void twin_fabric_clear(struct wse_machine *m)
{
	uint32_t i;

	for (i = 0; i < m->nmesh; i++) {
		m->mesh[i].nwork = m->mesh[i].nlater = m->mesh[i].inside = 0;
		m->mesh[i].routes++;
	}
	for (i = 0; i < m->ncores; i++) {
		struct twin_core *c = &m->core[i];

		c->kick = c->later = c->crosses_part = 0;
		c->recv_any = 0;
		memset(c->rx, 7, sizeof(c->rx));
		memset(c->tx, 0, sizeof(c->tx));
		memset(c->in, 0, sizeof(c->in));
		memset(c->recv, 0, sizeof(c->recv));
	}
	for (i = 0; i < m->cols; i++)
		memset(m->out[i].q, 0, sizeof(m->out[i].q));
}
