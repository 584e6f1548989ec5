/* SPDX-License-Identifier: MIT */
/* Copies between host memory and the cores, good ones and ones that fail in the middle. */
#ifndef WSE_LOCKSTEP_HOST_H
#define WSE_LOCKSTEP_HOST_H

#include "lockstep.h"

/*
 * The memory that copies of a queue may use: queues that run side by side share no memory that is
 * written. Offsets in the SRAM and in the program's memory.
 */
struct host_lane {
	uint32_t sram, sram_room; /* the first line begins somewhere in it, and takes 1280 bytes */
	uint32_t lists;		  /* four page lists */
	uint32_t pages, npages;	  /* of the first two */
	uint32_t broken, nbroken; /* pages of the others: some to be read, some to be written */
	uint32_t direct, direct_room; /* the first byte of contiguous buffers */
};

#define HOST_LIST	0x800u /* bytes of a list */
#define HOST_LIST_IN	0x1000u
#define HOST_LIST_OUT	0x1800u
#define HOST_BROKEN_OUT 0x10000u
#define HOST_CORES	64u /* of a copy, at most: its pages hold no more */
#define HOST_TOP	4u  /* entries of a list at the end of the memory */

/* Fills in the lists; the destinations of copies that fail are left open. */
void host_lists(struct ls_program *p, struct rng *r, const struct host_lane *lane);
/* A copy that is allowed: lines of a rectangle, buffer direct or through a list of scattered pages.
 */
struct wse_sqe host_copy(const struct ls_program *p, struct rng *r, const struct host_lane *lane);
/* A copy through a list with about every third page missing: it ends in the middle. */
struct wse_sqe host_broken_copy(const struct ls_program *p, struct rng *r,
				const struct host_lane *lane, bool in);

#endif /* WSE_LOCKSTEP_HOST_H */
