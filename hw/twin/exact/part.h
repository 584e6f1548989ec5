/* SPDX-License-Identifier: MIT */
/* A part of the mesh, and what gathers parts into rounds (parts/mesh.c). */
#ifndef TWIN_EXACT_PART_H
#define TWIN_EXACT_PART_H

#include "twin/exact/core.h"
#include "twin/func.h"

#define TWIN_PARTS_MAX 8u /* of the mesh; no more threads than that */

struct twin_port_out;

/*
 * Some rows of a part, whose cores have their turns and movers one after the other: what those
 * touch fits the second cache.
 */
struct twin_band {
	uint32_t *run[2]; /* run list: the one of the turns, and the next */
	uint32_t nrun;	  /* of the next */
	unsigned int cur;
	/* core << 2 | engine: movers from memory to the fabric, at most two of a core */
	uint32_t *source;
	uint32_t nsources;
	/* in twin_movers_run(): those before `kept` and behind `at` are in the list */
	uint32_t kept, at;
	uint32_t first, ncores;
};

/*
 * A part of the mesh: what its cores write in a round beside themselves. Of a small tile there is
 * one. Functions that get a part and a core get the core's part.
 */
struct twin_mesh {
	struct wse_machine *dev;
	struct twin_core *core; /* of the whole tile */
	struct twin_port_out *out;
	uint32_t rows, cols;	/* of the whole tile */
	uint32_t first, ncores; /* the part's cores */
	uint32_t index;
	struct twin_translator *translator; /* NULL: there is none */
	const uint8_t *code; /* of translated blocks; the way into them is its beginning */
	struct twin_races *races;
	struct twin_events *events;   /* NULL: none are asked for */
	bool quick;		      /* quick.c may run: no race check and no shuffle */
	struct twin_ways ways;	      /* the counters */
	const struct twin_fast *fast; /* as the model's */
	bool moved;		      /* something moved in the current round */
	bool ended;	/* a core has executed DONE or stopped since the start was looked at */
	uint32_t round; /* cycles of the current round */
	/* counts writes to routes: a kept flow with the same count needs no look at its routers */
	uint32_t routes;
	uint32_t inside; /* wavelets in the input queues of routers */
	struct twin_band *band;
	uint32_t nbands;
	uint32_t *resume_list; /* cores that resume after the current run */
	uint32_t nresume;
	bool may_resume; /* they may resume in the same round */
	uint32_t *work;	 /* core << 5 | color */
	uint32_t nwork;
	uint32_t *later; /* the same: what waits for the other parts */
	uint32_t nlater;
	uint32_t limit;	   /* instructions of a core in this round */
	uint32_t equantum; /* elements of an engine in this round */
	uint64_t shuffle;  /* state of WSE_MACHINE_SHUFFLE's random numbers; 0: off */
	uint32_t ncrossing;		    /* movers whose runs leave the part */
	struct twin_checked *checked_cache; /* fast/prepared.c */
	struct twin_quick *quicks;	    /* quick.c */
} __attribute__((aligned(64)));

/* mesh.c: parts */
int twin_mesh_create(struct wse_machine *m);
void twin_mesh_destroy(struct wse_machine *m);
void twin_mesh_begin(struct wse_machine *m);
/* what the parts have done in the round; true: something is left to do */
bool twin_mesh_gather(struct wse_machine *m);
/* cores that wait for their turn */
uint32_t twin_mesh_nrun(const struct twin_mesh *p);
uint32_t twin_mesh_nsources(const struct twin_mesh *p);
/* machine.c: the turns of a band's cores */
void twin_band_run(struct twin_mesh *p, struct twin_band *b);

#endif /* TWIN_EXACT_PART_H */
