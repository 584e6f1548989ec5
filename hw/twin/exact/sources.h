/* SPDX-License-Identifier: MIT */
/* Sources of wavelets: north ports, and movers from memory or accumulators to the fabric. */
#ifndef TWIN_EXACT_SOURCES_H
#define TWIN_EXACT_SOURCES_H

#include "twin/twin.h"

/* runs of movers: all; those inside their parts; the others */
enum reach { ANYWHERE, INSIDE, OUTSIDE };

/* a port that could not hand out a run; true: it has handed out some wavelets */
bool twin_port_impatient(struct wse_machine *m, unsigned int col);
/* a run of a mover; true: it has passed. *crosses: it leaves the part */
typedef bool twin_mover_fn(void *arg, struct twin_mesh *p, struct twin_core *c, unsigned int which,
			   bool *crosses);
/*
 * A mover that may hand out single wavelets has no room: its core has no turn for it in the next
 * round, or a tile in which nothing else moves would never be quiet
 */
void twin_source_waits(struct twin_mesh *p, struct twin_engine *e);
/*
 * Movers that were looked at and ended left a gap in the list, and cores that go on meanwhile have
 * begun others: the list is full, and those behind the gap move up
 */
void twin_sources_close_gap(struct twin_band *b);
/* a band's movers; run may be NULL: there are no runs */
bool twin_movers_run(struct twin_mesh *p, struct twin_band *b, enum reach reach, twin_mover_fn *run,
		     void *arg);
/* a round of all sources without runs; with them if there is a way, else so */
bool twin_sources_alone(struct wse_machine *m);
bool twin_sources_run(struct wse_machine *m);

#endif /* TWIN_EXACT_SOURCES_H */
