// SPDX-License-Identifier: MIT
/*
 * Events (hw/doc/events.md) of the exact machine, in which every wavelet and every instruction of
 * an engine passes by. One thread: the caller's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "twin/twin.h"

struct twin_events {
	wse_ev_fn fn;
	void *arg;
	uint32_t only, kinds;
	struct {
		bool at_tnext;	/* the end of its task has been told */
		uint32_t cause; /* told last: of STALL */
		uint32_t color;
	} core[];
};

static struct wse_ev event(const struct wse_machine *m, uint32_t core, enum wse_ev_kind kind)
{
	return (struct wse_ev){
		.cycle = m->now,
		.core = core,
		.kind = kind,
		.unit = WSE_EV_UNIT_SCALAR,
		.color = WSE_EV_NO_COLOR,
	};
}

/* to who asked for it; commands are of no core */
static void tell(const struct twin_events *ev, const struct wse_ev *e)
{
	bool command = e->kind == WSE_EV_COMMAND || e->kind == WSE_EV_COMMAND_END;

	if (ev->kinds >> e->kind & 1 && (command || ev->only == ~0u || ev->only == e->core))
		ev->fn(ev->arg, e);
}

void twin_events_tnext(struct twin_mesh *m, const struct twin_core *c, uint32_t pc)
{
	struct twin_events *ev = m->events;
	struct wse_ev e = event(m->dev, c->idx, WSE_EV_TASK_END);

	if (ev->core[c->idx].at_tnext)
		return;
	ev->core[c->idx].at_tnext = true;
	e.pc = pc;
	tell(ev, &e);
}

void twin_events_task(struct twin_mesh *m, const struct twin_core *c, uint8_t task, uint32_t entry)
{
	struct twin_events *ev = m->events;
	struct wse_ev e = event(m->dev, c->idx, WSE_EV_TASK);

	ev->core[c->idx].at_tnext = false;
	e.task = task;
	e.pc = entry;
	e.data = c->wdata;
	e.info = c->winfo;
	tell(ev, &e);
}

void twin_events_engine(struct twin_mesh *m, const struct twin_core *c, const struct twin_engine *g,
			bool end)
{
	enum wse_ev_kind kind = end ? WSE_EV_ENGINE_END : WSE_EV_ENGINE;
	struct wse_ev e = event(m->dev, c->idx, kind);

	e.unit = g - c->eng;
	e.data = g->q[0].tcw;
	e.info = g->q[0].scalar;
	tell(m->events, &e);
}

/* who takes from a color: the engine that claims it, or the scalar side */
static uint8_t reader(const struct twin_core *c, int color)
{
	uint8_t i;

	for (i = 0; i < 3 && !(c->eng[i].started && c->eng[i].claim == color); i++)
		;
	return i;
}

void twin_events_wavelet(struct twin_mesh *m, const struct twin_core *c, enum wse_ev_kind kind,
			 unsigned int color, uint32_t data, bool ctrl)
{
	struct wse_ev e = event(m->dev, c->idx, kind);

	if (kind == WSE_EV_IN) {
		e.unit = reader(c, (int)color);
		data = chan_head(&c->recv[color], &ctrl);
	}
	e.color = color;
	e.data = data;
	e.ctrl = ctrl;
	if (kind == WSE_EV_HOP) {
		e.from = c->rx[color];
		e.to = c->tx[color];
	}
	tell(m->events, &e);
}

void twin_events_fault(struct twin_mesh *m, const struct twin_core *c)
{
	struct wse_ev e = event(m->dev, c->idx, WSE_EV_FAULT);

	e.pc = c->fault_pc;
	e.data = c->fault_cause;
	e.info = c->fault_addr;
	tell(m->events, &e);
}

void twin_events_hold(struct twin_mesh *m, const struct twin_core *c)
{
	m->events->core[c->idx].at_tnext = false;
}

void twin_events_turn(struct twin_mesh *m, const struct twin_core *c)
{
	struct twin_events *ev = m->events;
	struct wse_ev e = event(m->dev, c->idx, WSE_EV_STALL);
	uint32_t color;

	twin_core_find_waiter(c, &e.data, &color);
	if (e.data == ev->core[c->idx].cause && color == ev->core[c->idx].color)
		return;
	ev->core[c->idx].cause = e.data;
	ev->core[c->idx].color = color;
	e.color = color;
	e.pc = c->pc;
	tell(ev, &e);
}

void twin_events_command(struct wse_machine *m, unsigned int queue, bool end)
{
	enum wse_ev_kind kind = end ? WSE_EV_COMMAND_END : WSE_EV_COMMAND;
	struct wse_ev e = event(m, queue, kind);

	e.data = m->q[queue].sqe.opcode | (uint32_t)m->q[queue].sqe.cid << 16;
	e.info = end ? m->q[queue].res : 0;
	tell(m->events, &e);
}

/* in place of those before; NULL: none */
static int set_events(struct wse_machine *m, struct twin_events *ev)
{
	uint32_t i;

	free(m->events);
	m->events = ev;
	for (i = 0; i < m->nmesh; i++)
		m->mesh[i].events = ev;
	return 0;
}

int twin_ask_events(struct wse_machine *m, uint32_t core, uint32_t kinds, wse_ev_fn fn, void *arg)
{
	struct twin_events *ev;
	uint32_t i;

	if ((core != ~0u && core >= m->ncores) || kinds >> WSE_EV_KINDS)
		return -EINVAL;
	if (m->fast)
		return -ENOTSUP;
	if (!fn || !kinds)
		return set_events(m, NULL);
	ev = calloc(1, sizeof(*ev) + m->ncores * sizeof(ev->core[0]));
	if (!ev)
		return -ENOMEM;
	ev->fn = fn;
	ev->arg = arg;
	ev->only = core;
	ev->kinds = kinds;
	for (i = 0; i < m->ncores; i++) {
		ev->core[i].at_tnext =
			m->core[i].run == WSE_CORE_RUNNING && m->core[i].wait == WAIT_TASK;
		ev->core[i].color = ~0u;
	}
	return set_events(m, ev);
}
