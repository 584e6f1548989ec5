/* SPDX-License-Identifier: MIT */
/* The memory of the host that a training run takes at its peak, as --plan prints it. */
#ifndef WSE_TRAIN_MEMORY_H
#define WSE_TRAIN_MEMORY_H

#include "input/config.h"
#include "model/plan.h"

/* bytes */
struct wse_memory {
	uint64_t state;	    /* weights and moments, binary32 */
	uint64_t images;    /* of the units */
	uint64_t gradients; /* buffers of the reduction trees */
	uint64_t io;	    /* inputs and outputs of micro-batches, and what is spilled */
	uint64_t twin;	    /* cores, where the device is a twin in this process */
	uint64_t total;	    /* of all these, and what a process takes in any case */
};

/*
 * For so many devices like `uri`, from the second step on. The text is not in it. -ENOMEM: the
 * table of parameters could not be made
 */
int wse_memory_plan(const struct wse_config *cfg, const struct wse_plan *p, const char *uri,
		    uint32_t devices, struct wse_memory *m);
/* the line of --plan */
void wse_memory_print(const struct wse_memory *m, uint32_t devices,
		      const struct wse_exec_cfg *log);

#endif
