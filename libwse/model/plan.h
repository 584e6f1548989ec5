/* SPDX-License-Identifier: MIT */
/*
 * The planner: how many tokens a micro-batch has, which graph fits, and what it costs. It chooses
 * from model, global batch and tile alone (contract 3), never from the number of devices.
 */
#ifndef WSE_MODEL_PLAN_H
#define WSE_MODEL_PLAN_H

#include "exec/exec.h"
#include "model/family.h"
#include "base/error.h"

struct wse_plan {
	struct wse_graph graph; /* what the executors run; wse_plan_fini() frees it */
	uint32_t columns;	/* of the tile; the model takes the first graph.tile.cols */
	char idle[256];		/* why it does not take all of them */
	uint32_t mode;		/* of the family's graph() */
	uint32_t tokens;	/* per micro-batch */
	uint32_t micro_batches; /* per step */
	uint32_t fill;		/* of the last one, samples that do not count: the batch ends */
	uint64_t streamed_in;	/* bytes of a micro-batch: weights, as often as they come */
	uint64_t streamed_out;	/* bytes of a micro-batch: gradients, outputs */
	uint64_t spilled;	/* bytes of a micro-batch to the host, and as many back */
	uint64_t cycles;	/* predicted, of a micro-batch */
	double useful;		/* multiply-adds / (cycles x lanes x cores) */
};

/*
 * A model that is `forward` gets a graph of the forward pass alone. If there is a plan to train it
 * on this tile, that plan's tokens and order of sums are taken, so that an evaluation has the
 * losses of one during training; else all that fits.
 *
 * batch, micro_batch: samples; micro_batch 0: choose one that divides the batch. One that is given
 * may leave a rest, the last micro-batch, whose graph has a scale a token, as that of a model with
 * masks: same bits, 4 bytes a token more. -E2BIG when it cannot fit, with the numbers
 * in the sentence; the plan can then be printed all the same. -EINVAL when widths or batch do not
 * divide: tokens is 0. Either sentence ends with what does fit, as far as it was found: ": choose
 * KEY N or M, or KEY N and KEY N, or a tile of R x C cores", where a number without a key is of the
 * key that the sentence begins with.
 */
int wse_plan_make(const struct wse_model *m, const struct wse_tile *tile, uint64_t batch,
		  uint64_t micro_batch, struct wse_plan *plan);
void wse_plan_fini(struct wse_plan *plan);

/* cycles and bytes anew, after a unit's density was set */
void wse_plan_costs(const struct wse_model *m, struct wse_plan *p);

/*
 * does it have a plan, and on how many columns (NULL: not asked)? Adds the operations of all graphs
 * that were built for the answer to *ops
 */
int wse_plan_fits(const struct wse_model *m, const struct wse_tile *tile, uint64_t batch,
		  uint64_t micro_batch, uint64_t *ops, uint32_t *cols);
/* the next smaller batch that has one; 0: none */
uint64_t wse_plan_batch(const struct wse_model *m, const struct wse_tile *tile, uint64_t batch,
			uint64_t micro_batch);

/* the table that --plan prints; lines go to the log callback */
void wse_plan_print(const struct wse_plan *p, const struct wse_model *m, const char *device,
		    const struct wse_exec_cfg *log);

#endif
