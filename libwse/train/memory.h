/* SPDX-License-Identifier: MIT */
/* What memory of the host a run takes: for memory_limit, and for a plan. */
#ifndef WSE_TRAIN_MEMORY_H
#define WSE_TRAIN_MEMORY_H

#include "input/config.h"
#include "model/plan.h"

/* what lies in scratch files, each with all before it */
enum wse_memory_files { WSE_FILES_NONE, WSE_FILES_STATE, WSE_FILES_GRADS, WSE_FILES_IMAGES };

/* bytes */
struct wse_memory {
	uint64_t images;
	uint64_t images_file; /* what of them is in memory when they are in a file */
	uint64_t images_disk; /* and in the file */
	uint64_t image_room;  /* of images_file: units that come and go */
	uint64_t grads;	     /* gradients in memory */
	uint64_t grads_file; /* what is left of them in memory when they are in a file */
	uint64_t grads_take; /* and where images come and go, too */
	/* of both, what devices make gradients in */
	uint64_t made_file, made_take;
	uint64_t grads_disk; /* and in the file */
	uint32_t places;     /* that a unit's gradient has there */
	uint64_t state;	     /* parameters and moments in memory */
	uint64_t saved;	     /* what a checkpoint takes of those */
	uint64_t state_file; /* what is left of them in memory when they are in a file */
	uint64_t far;	     /* of those, what a checkpoint takes: no gradient is made then */
	uint64_t disk;	     /* and in the file; 0: there is none to have */
	uint64_t slots;	     /* inputs and outputs */
	uint64_t cores;	     /* simulated ones */
	/* of several ranks: sums of the others, and a piece for one that reads */
	uint64_t exchange;
	uint64_t rest;	     /* the process itself */
};

/*
 * -EINVAL, -ENOMEM; uri: of the devices, all alike; of a rank of `ranks` that has so many: 1 is
 * alone
 */
int wse_memory_of(const struct wse_config *cfg, const struct wse_plan *plan, const char *uri,
		  uint32_t devices, uint32_t ranks, struct wse_memory *m);
/*
 * Do gradients of a unit lie packed? Those of RigL are of all weights in a step
 * after which masks change: 0
 */
int wse_memory_packs_grads(const struct wse_config *cfg, const struct wse_graph *g,
			   const struct wse_tensor_table *tab, uint32_t unit);
/* all of it, and what is in files */
uint64_t wse_memory_sum(const struct wse_memory *m, enum wse_memory_files files);
uint64_t wse_memory_disk(const struct wse_memory *m, enum wse_memory_files files);

/*
 * What goes to files, so that the run keeps to the limit (0: none): an enum wse_memory_files, or
 * -E2BIG when that is not enough, with the sentence.
 */
int wse_memory_file(const struct wse_memory *m, uint64_t limit);

#endif
