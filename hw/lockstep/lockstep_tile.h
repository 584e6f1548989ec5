/* SPDX-License-Identifier: MIT */
/*
 * Shared by generators of programs for a whole tile: code of every core, colors in use, paths
 * through the fabric.
 */
#ifndef WSE_LOCKSTEP_TILE_H
#define WSE_LOCKSTEP_TILE_H

#include "lockstep.h"
#include "lockstep_asm.h"

#define TILE_CORES LS_MAX_CORES
#define TILE_SHORT 6u	       /* cores of a short path, at most */
#define TILE_START 0x80007e00u /* code of a task that START starts, on every core */

struct tile {
	struct ls_program *p;
	struct rng *r;
	struct code c[TILE_CORES]; /* the end of each core's program so far */
	uint32_t out[TILE_CORES];  /* next free word of a core's scalar region */
	uint32_t colors;	   /* taken */
};

/* A path: wavelets of a color from the first core's ramp to the last one's. */
struct path {
	uint32_t color, n;
	uint32_t core[TILE_CORES];
	bool tap[TILE_CORES];			 /* this core receives a copy */
	uint8_t in[TILE_CORES], out[TILE_CORES]; /* port in; port out, or 4 at the end */
};

uint32_t tile_cores(const struct tile *t);
/* A color that no other transfer of the program has; false: none is left. */
bool tile_color(struct tile *t, uint32_t *color);
/* The neighbour through a port, or false at the border. */
bool tile_neighbour(const struct tile *t, uint32_t core, uint32_t port, uint32_t *to);
/*
 * A random walk of a new color from a core that meets no core twice, of fewer than hops hops; alone
 * it leads back into the core itself.
 */
bool tile_path(struct tile *t, uint32_t from, uint32_t hops, struct path *w);
void tile_routes(struct tile *t, const struct path *w);
/* count wavelets by RECV, each stored with what CSR winfo says */
void tile_recv(struct tile *t, uint32_t core, uint32_t color, uint32_t count);
/* the task at TILE_START: adds the arguments, executes DONE */
void tile_start_code(uint8_t *image);
/* appends a START of all cores to the commands */
void tile_start(struct ls_program *p, struct rng *r, uint8_t flags, uint32_t entry, uint16_t cid);

/*
 * the beginning of programs of streams: every core's data and accumulators at random, and a boot of
 * all
 */
void tile_begin(struct tile *t);

#endif /* WSE_LOCKSTEP_TILE_H */
