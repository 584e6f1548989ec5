// SPDX-License-Identifier: MIT
/* The events of both models, compared track by track: hw/doc/events.md. */
#include <errno.h>
#include <stdlib.h>

#include "lockstep.h"

#define KINDS ((1u << WSE_EV_KINDS) - 1 - (1u << WSE_EV_STALL))

enum { T_UNIT, T_IN = 4, T_OUT = T_IN + 32, T_HOP = T_OUT + 32, T_QUEUE = T_HOP + 32 };

static uint32_t track_of(const struct wse_ev *e)
{
	switch (e->kind) {
	case WSE_EV_IN:
		return T_IN + e->color;
	case WSE_EV_OUT:
		return T_OUT + e->color;
	case WSE_EV_HOP:
		return T_HOP + e->color;
	case WSE_EV_COMMAND:
	case WSE_EV_COMMAND_END:
		return T_QUEUE;
	}
	return T_UNIT + e->unit;
}

static void on_event(void *arg, const struct wse_ev *e)
{
	struct ls_events *v = arg;

	if (v->count == v->room) {
		size_t room = v->room ? 2 * v->room : 4096;
		struct ls_event *p = realloc(v->list, room * sizeof(*p));

		if (!p) {
			v->lost = true;
			return;
		}
		v->list = p;
		v->room = room;
	}
	v->list[v->count] = (struct ls_event){*e, track_of(e), (uint32_t)v->count};
	if (v->inject && !--v->inject)
		v->list[v->count].e.data ^= 1;
	v->count++;
}

int ls_events_begin(struct ls_rig *rig, struct ls_events *v)
{
	v->count = 0;
	v->lost = false;
	return rig->ops->events(rig->machine, ~0u, KINDS, on_event, v);
}

void ls_events_end(struct ls_rig *rig)
{
	rig->ops->events(rig->machine, ~0u, 0, NULL, NULL);
}

static int by_track(const void *pa, const void *pb)
{
	const struct ls_event *a = pa, *b = pb;

	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->e.core != b->e.core)
		return a->e.core < b->e.core ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static bool same_track(const struct ls_event *a, const struct ls_event *b)
{
	return a->track == b->track && a->e.core == b->e.core;
}

/* But for the cycle, and the pc of a tensor fault, which no model has to know. */
static bool same(const struct wse_ev *a, const struct wse_ev *b)
{
	struct wse_ev x = *a, y = *b;

	x.cycle = y.cycle = 0;
	if (x.kind == WSE_EV_FAULT && x.data >= 0x100)
		x.pc = y.pc = 0;
	return !memcmp(&x, &y, sizeof(x));
}

static void text_of(const struct wse_ev *e, char *text, size_t size)
{
	static const char *const name[] = {"TASK",  "TASK_END", "ENGINE",     "ENGINE_END",
					   "IN",    "OUT",	"HOP",	      "FAULT",
					   "STALL", "COMMAND",	"COMMAND_END"};

	snprintf(text, size,
		 "%s unit %u color %u ctrl %u task %u ports %u to 0x%x pc 0x%x data 0x%x info 0x%x",
		 name[e->kind], e->unit, e->color, e->ctrl, e->task, e->from, e->to, e->pc, e->data,
		 e->info);
}

bool ls_events_alike(struct ls_events *lead, struct ls_events *follow, bool faults, uint64_t *told,
		     char *what, size_t size)
{
	size_t i = 0, k = 0;

	if (lead->lost || follow->lost) {
		snprintf(what, size, "no memory for events");
		return false;
	}
	if (lead->count)
		qsort(lead->list, lead->count, sizeof(*lead->list), by_track);
	if (follow->count)
		qsort(follow->list, follow->count, sizeof(*follow->list), by_track);
	while (i < lead->count || k < follow->count) {
		struct ls_event *a = i < lead->count ? &lead->list[i] : NULL;
		struct ls_event *b = k < follow->count ? &follow->list[k] : NULL;
		char ta[200] = "nothing", tb[200] = "nothing";

		if (a && b && same_track(a, b) && same(&a->e, &b->e)) {
			told[a->e.kind]++;
			i++, k++;
			continue;
		}
		/* a track is over on one of them */
		if (a && (!b || !same_track(a, b))) {
			struct ls_event x = *a, y = b ? *b : *a;

			x.seq = y.seq = 0;
			if (b && by_track(&x, &y) > 0)
				a = NULL;
			else
				b = NULL;
		}
		if (faults && !(a && b)) {
			i += a != NULL;
			k += b != NULL;
			continue;
		}
		if (a)
			text_of(&a->e, ta, sizeof(ta));
		if (b)
			text_of(&b->e, tb, sizeof(tb));
		snprintf(what, size, "core or queue %u: event %s on the leader, %s on the follower",
			 a ? a->e.core : b->e.core, ta, tb);
		return false;
	}
	return true;
}
