/* SPDX-License-Identifier: MIT */
/*
 * The twin's inside: what its files share. Nothing here is visible to users of hw/model/machine.h.
 *
 * Time. The twin runs in rounds: every core that can run gets up to TWIN_QUANTUM scalar
 * instructions, engines run as far as their data allows, and the device's cycle counter then moves
 * by the largest share that a core took. In a tile of one part, cores whose block is through go on
 * in the same round. Confluent programs cannot tell; everything else about time is documented as
 * not equal to the RTL.
 *
 * Parts. A large tile is cut into parts (mesh.c), by its shape alone. In a round the cores of a
 * part take their turns by themselves, with the part's own lists and counters; what goes from part
 * to part does so between turns and runs. So any number of threads may run parts beside each other,
 * and the order of events never depends on that number.
 */
#ifndef TWIN_H
#define TWIN_H

#include "twin/debug/debug.h"
#include "twin/exact/core.h"
#include "twin/exact/part.h"
#include "twin/host/host.h"

struct twin_events;
struct twin_pace;
struct twin_races;
struct twin_team;

struct wse_machine {
	struct wse_machine_cfg cfg;
	struct wse_host_ops ops;
	void *host;
	const struct twin_fast *fast; /* NULL: the exact machine alone */
	const struct twin_kernels *k; /* fast/'s, of this processor */
	uint32_t rows, cols, ncores;
	void *map; /* cores, and their SRAMs behind them */
	size_t mapped;
	struct twin_core *core;
	struct twin_dec *dec;
	/*
	 * [cols][rows], twin_takes(): of the lanes' stream AXPY, while it runs and no wavelet waits
	 * for it; else 0
	 */
	uint32_t *takes;
	struct twin_mesh *mesh; /* [nmesh] */
	uint32_t nmesh;
	/* registers that are read as they stand here: TWIN_REG() */
	uint32_t reg[WSE_REG_CNT_SEL / 4 + 1];
	uint32_t irq_pending;
	uint32_t latch[2 + WSE_CNT_COUNT]; /* CYCLES, CNT_VAL, totals */
	bool halted, brk;
	struct twin_queue q[TWIN_NQ];
	struct twin_job job[X_COUNT];
	struct twin_port_in *in;
	struct twin_port_out *out;
	struct twin_bus *bus; /* [nbus] */
	uint32_t nbus;
	struct {
		uint8_t queue;
		uint32_t value;
	} doorbell[8];
	unsigned int ndoorbells;
	/* time */
	uint64_t now;
	/* cycles of work already done that `now` does not include yet */
	uint64_t uncounted_cycles;
	uint32_t round; /* cycles of the current round, */
	uint32_t spent; /* and of what went before that in it */
	bool moved;	/* something moved in the current round */
	bool quiet;	/* nothing can move before the host does something */
	uint64_t cnt[WSE_CNT_COUNT]; /* of the tile's scope; the others' are where they happen */
	uint64_t cmds[TWIN_NQ];	     /* commands completed */
	void *runs; /* scratch of twin_runs */
	struct twin_team *team;
	uint32_t most, threads; /* that work in this advance, in this round */
	uint32_t cpus;
	struct twin_pace *pace; /* parts/pace.c */
	uint32_t traced;	/* cores with a trace_retire */
	struct twin_races *races;
	struct twin_events *events; /* debug/events.c */
};

#define TWIN_REG(m, name) ((m)->reg[WSE_REG_##name / 4])

/* the thread of n that runs a part */
static inline uint32_t twin_mesh_thread(const struct wse_machine *m, uint32_t part, uint32_t n)
{
	return part * n / m->nmesh;
}

#include "twin/exact/exact.h" /* its inline functions look into the model */

#endif /* TWIN_H */
