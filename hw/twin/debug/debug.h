/* SPDX-License-Identifier: MIT */
/* The functions of debug/. */
#ifndef TWIN_DEBUG_DEBUG_H
#define TWIN_DEBUG_DEBUG_H

#include "twin/exact/part.h"

/* peek.c: the debugger's side of hw/model/machine.h, and tracing */
int twin_peek(struct wse_machine *m, uint32_t core, uint32_t addr, void *buf, size_t len);
int twin_poke(struct wse_machine *m, uint32_t core, uint32_t addr, const void *buf, size_t len);
int twin_get_acc(struct wse_machine *m, uint32_t core, uint32_t acc[128]);
int twin_get_state(struct wse_machine *m, uint32_t core, struct wse_core_state *st);
int twin_get_units(struct wse_machine *m, uint32_t core, struct wse_core_units *u);
int twin_set_state(struct wse_machine *m, uint32_t core, const struct wse_core_state *st);
int twin_trace_retire(struct wse_machine *m, uint32_t core, wse_retire_fn fn, void *arg);
int twin_replay_pick(struct wse_machine *m, uint32_t core, uint8_t task, uint32_t winfo);
void twin_trace_exec(struct twin_mesh *m, struct twin_core *c, uint32_t limit);

/* races.c: only with m->races */
int twin_races_create(struct wse_machine *m);
void twin_races_issue(struct twin_mesh *m, struct twin_core *c, unsigned int which,
		      const struct twin_tins *t);
void twin_races_claim(struct twin_mesh *m, struct twin_core *c, unsigned int color);
void twin_races_route(struct twin_mesh *m, struct twin_core *c, unsigned int color, uint32_t rx,
		      uint32_t tx);
void twin_races_reset(struct twin_mesh *m, const struct twin_core *c);
void twin_races_exec(struct twin_mesh *m, struct twin_core *c, uint32_t limit);

/* events.c: twin_events_* only with m->events */
int twin_ask_events(struct wse_machine *m, uint32_t core, uint32_t kinds, wse_ev_fn fn, void *arg);
void twin_events_tnext(struct twin_mesh *m, const struct twin_core *c, uint32_t pc);
void twin_events_task(struct twin_mesh *m, const struct twin_core *c, uint8_t task, uint32_t entry);
void twin_events_engine(struct twin_mesh *m, const struct twin_core *c, const struct twin_engine *e,
			bool end);
/* IN, which asks the receive queue itself, OUT, HOP */
void twin_events_wavelet(struct twin_mesh *m, const struct twin_core *c, enum wse_ev_kind kind,
			 unsigned int color, uint32_t data, bool ctrl);
void twin_events_fault(struct twin_mesh *m, const struct twin_core *c);
void twin_events_hold(struct twin_mesh *m, const struct twin_core *c);
void twin_events_turn(struct twin_mesh *m, const struct twin_core *c);
void twin_events_command(struct wse_machine *m, unsigned int queue, bool end);

/* shuffle.c: other orders of events, when m->shuffle is not 0 */
uint32_t twin_shuffle_below(struct twin_mesh *m, uint32_t n);
void twin_shuffle_list(struct twin_mesh *m, uint32_t *list, uint32_t n);
void twin_shuffle_turn(struct twin_mesh *m, struct twin_core *c);
void twin_shuffle_drain(struct twin_mesh *m, bool crosses_part);

#endif /* TWIN_DEBUG_DEBUG_H */
