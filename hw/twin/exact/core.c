// SPDX-License-Identifier: MIT
/* One core: reset, boot, tasks, faults, and its turn in a round. */
#include <string.h>

#include "twin/twin.h"

/* resets everything but SRAM, routes and what is in the routers; the core is then held */
void twin_core_hold(struct twin_mesh *m, struct twin_core *c)
{
	unsigned int i;

	memset(c->x, 0, sizeof(c->x));
	c->pc = 0;
	c->run = WSE_CORE_HELD;
	*c->takes = 0;
	c->wait = WAIT_NONE;
	c->done = c->start = false;
	c->done_value = 0;
	c->mstatus = c->mtvec = c->mepc = c->mcause = c->mtval = c->mscratch = 0;
	c->minstret = 0;
	c->mcycle_off = -m->dev->now;
	c->shared = ~0ull;
	c->wdata = c->winfo = 0;
	c->fault_cause = c->fault_pc = c->fault_addr = c->fault_value = 0;
	c->fault_color = ~0u;
	c->ready = c->blocked = c->bound = 0;
	memset(c->entry, 0, sizeof(c->entry));
	memset(c->bind, 0xff, sizeof(c->bind));
	memset(c->dsr, 0, sizeof(c->dsr));
	memset(c->acc, 0, sizeof(c->acc));
	memset(c->eng, 0, sizeof(c->eng));
	for (i = 0; i < 3; i++)
		c->eng[i].claim = c->eng[i].out = c->eng[i].wait = -1;
	c->claimed = 0;
	memset(&c->dotq, 0, sizeof(c->dotq));
	c->recv_any = 0;
	for (i = 0; i < WSE_NCOLORS; i++) {
		if (c->recv[i].count) {
			memset(&c->recv[i], 0, sizeof(c->recv[i]));
			twin_kick(m, c, i);
		}
	}
	if (m->races)
		twin_races_reset(m, c);
	if (m->events)
		twin_events_hold(m, c);
	m->moved = m->ended = true;
}

void twin_core_boot(struct twin_mesh *m, struct twin_core *c, uint32_t pc)
{
	twin_core_hold(m, c);
	c->pc = pc;
	c->run = WSE_CORE_RUNNING;
	twin_wake(m, c);
}

void twin_core_start(struct twin_mesh *m, struct twin_core *c, uint32_t entry)
{
	c->start = true;
	c->start_entry = entry;
	c->done = false;
	m->moved = true;
	twin_wake(m, c);
}

void twin_core_fault(struct twin_mesh *m, struct twin_core *c, uint32_t cause, uint32_t pc,
		     uint32_t addr, uint32_t color, uint32_t value)
{
	if (c->run != WSE_CORE_RUNNING)
		return;
	c->run = WSE_CORE_FAULTED;
	*c->takes = 0;
	c->fault_cause = cause;
	c->fault_pc = pc;
	c->fault_addr = addr;
	c->fault_color = color;
	c->fault_value = value;
	if (unlikely(m->events != NULL))
		twin_events_fault(m, c);
	m->moved = m->ended = true;
}

/* what the core waits for, in the order of hw/doc/host.md; cause 0: it does not */
void twin_core_find_waiter(const struct twin_core *c, uint32_t *cause, uint32_t *color)
{
	static const uint32_t engine[3] = {WSE_CAUSE_WAIT_L, WSE_CAUSE_WAIT_M0, WSE_CAUSE_WAIT_M1};
	unsigned int i;

	*cause = 0;
	*color = ~0u;
	if (c->run != WSE_CORE_RUNNING)
		return;
	switch (c->wait) {
	case WAIT_RECV:
	case WAIT_SEND:
		*cause = c->wait == WAIT_RECV ? WSE_CAUSE_WAIT_RECV : WSE_CAUSE_WAIT_SEND;
		*color = c->wait_color;
		return;
	case WAIT_ISSUE:
	case WAIT_ENGINES:
		*cause = WSE_CAUSE_WAIT_ENGINE;
		return;
	}
	for (i = 0; i < 3; i++) {
		if (c->eng[i].n) {
			*cause = engine[i];
			/* L names the stream that it reads, also while it waits for room */
			if (!i && c->eng[i].claim >= 0)
				*color = c->eng[i].claim;
			else if (i && c->eng[i].wait >= 0)
				*color = c->eng[i].wait;
			return;
		}
	}
	if (c->wait == WAIT_TASK)
		*cause = WSE_CAUSE_WAIT_TASK;
}

/* colors whose next wavelet makes a task ready now */
static uint32_t task_colors(const struct twin_core *c)
{
	return c->recv_any & c->bound & ~c->claimed;
}

static void take_flag(struct twin_core *c, uint8_t task)
{
	c->ready &= ~(1u << task);
	c->wdata = 0;
	c->winfo = 1u << 14;
}

static void take_wavelet(struct twin_mesh *m, struct twin_core *c, unsigned int color)
{
	bool ctrl;

	c->wdata = chan_head(&c->recv[color], &ctrl);
	c->winfo = color | (uint32_t)ctrl << 8;
	twin_recv_pop(m, c, color);
}

/* task of the wavelet at the head of a color, 0xff: none */
static uint8_t wavelet_task(const struct twin_core *c, unsigned int color)
{
	bool ctrl;

	chan_head(&c->recv[color], &ctrl);
	return c->bind[ctrl][color];
}

static void take_start(struct twin_core *c)
{
	c->start = false;
	c->wdata = WSE_SRAM_BASE + WSE_ARGS_OFFSET;
	c->winfo = 1u << 15;
}

/* the pick that the leading model recorded, once its source is there */
static bool replay_next(struct twin_mesh *m, struct twin_core *c, uint32_t *entry, uint8_t *task)
{
	const struct twin_pick *p;
	unsigned int color;

	if (c->pick_at == c->npicks)
		return false;
	p = &c->picks[c->pick_at];
	*task = p->task;
	*entry = p->task == 0xff ? c->start_entry : c->entry[p->task & 31];
	if (p->task == 0xff) {
		if (!c->start)
			return false;
		take_start(c);
	} else if (c->blocked >> (p->task & 31) & 1) {
		return false;
	} else if (p->winfo >> 14 & 1) {
		if (!(c->ready >> p->task & 1))
			return false;
		take_flag(c, p->task);
	} else {
		color = p->winfo & 0x1f;
		if (color >= WSE_NCOLORS || !(task_colors(c) >> color & 1) ||
		    wavelet_task(c, color) != p->task)
			return false;
		take_wavelet(m, c, color);
	}
	c->pick_at++;
	return true;
}

static __attribute__((noinline)) bool next_of_all(struct twin_mesh *m, struct twin_core *c,
						  uint32_t *entry, uint8_t *task)
{
	uint32_t colors, best = ~0u, from = 0, t;
	unsigned int color;

	if (c->replay)
		return replay_next(m, c, entry, task);
	if (c->start) {
		take_start(c);
		*entry = c->start_entry;
		*task = 0xff;
		return true;
	}
	colors = task_colors(c);
	if (!colors && m->nwork) {
		twin_fabric_drain(m);
		colors = task_colors(c);
	}
	for (; colors; colors &= colors - 1) {
		color = __builtin_ctz(colors);
		t = wavelet_task(c, color);
		if (t != 0xff && !(c->blocked >> t & 1) && t < best) {
			best = t;
			from = color;
		}
	}
	t = c->ready & ~c->blocked;
	if (t && (uint32_t)__builtin_ctz(t) <= best) {
		*task = __builtin_ctz(t);
		take_flag(c, *task);
	} else if (best != ~0u) {
		*task = best;
		take_wavelet(m, c, from);
	} else {
		return false;
	}
	*entry = c->entry[*task];
	return true;
}

bool twin_task_next(struct twin_mesh *m, struct twin_core *c, uint32_t *entry, uint8_t *task)
{
	uint32_t t = c->ready & ~c->blocked;

	if (c->replay || c->start || m->nwork || task_colors(c))
		return next_of_all(m, c, entry, task);
	/* most often there are flags alone */
	if (!t)
		return false;
	*task = __builtin_ctz(t);
	take_flag(c, *task);
	*entry = c->entry[*task];
	return true;
}

/* before those that have had their turn, or the core that calls brk would run alone */
static void first_of_next(struct twin_mesh *m, struct twin_core *c)
{
	struct twin_band *b = &m->band[c->band];
	uint32_t *next = b->run[b->cur ^ 1], n = b->nrun;

	twin_wake(m, c);
	if (b->nrun > n) {
		next[n] = next[0];
		next[0] = c->idx;
	}
}

/* a core's turn, from where its share of the round has come to */
static void turn(struct twin_mesh *m, struct twin_core *c, uint32_t limit)
{
	uint32_t most, i;

	if (c->run != WSE_CORE_RUNNING)
		return;
	if (unlikely(c->trace != NULL) && m->dev->brk) { /* it stands where its debugger sees it */
		first_of_next(m, c);
		return;
	}
	/* most often it has waited for the last of them */
	if (c->eng[0].n || c->eng[1].n || c->eng[2].n || m->nwork)
		twin_engines_run(m, c);
	if (c->run == WSE_CORE_RUNNING) {
		if (unlikely(m->races != NULL))
			twin_races_exec(m, c, limit);
		else if (unlikely(c->trace != NULL))
			twin_trace_exec(m, c, limit);
		else
			twin_exec(m, c, limit);
		/* it used up its share, or it waits for what the rest of the core may still do */
		if (c->wait == WAIT_NONE)
			twin_wake(m, c);
	}
	if (unlikely(m->events != NULL))
		twin_events_turn(m, c);
	most = c->cyc;
	for (i = 0; i < 3; i++)
		most = c->ecyc[i] > most ? c->ecyc[i] : most;
	if (most > m->round)
		m->round = most;
}

void twin_core_run(struct twin_mesh *m, struct twin_core *c, uint32_t limit)
{
	if (c->shared != m->dev->now) { /* a new share */
		c->shared = m->dev->now;
		c->cyc = c->ecyc[0] = c->ecyc[1] = c->ecyc[2] = 0;
	}
	if (c->cyc < limit)
		turn(m, c, limit - c->cyc);
	else
		twin_wake(m, c);
}
