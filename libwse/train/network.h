/* SPDX-License-Identifier: MIT */
/* What the network carries for a training step of several ranks. */
#ifndef WSE_TRAIN_NETWORK_H
#define WSE_TRAIN_NETWORK_H

#include "input/config.h"
#include "model/plan.h"

/* bytes one way */
struct wse_carried {
	uint64_t grads, images, losses, squares, counts;
};

static inline uint64_t wse_carried_sum(const struct wse_carried *c)
{
	return c->grads + c->images + c->losses + c->squares + c->counts;
}

struct wse_network {
	uint32_t nodes;		    /* partial sums of a layer that a rank sends, at most */
	struct wse_carried out, in; /* of the rank that sends most, and of the one that gets most */
};

/*
 * ranks with as many devices each; of a step in which the gradients of units are of all weights, as
 * dense [units] says (plan_sparse.h), with the counts of weights by which masks change then. NULL:
 * of a usual one. What changes from step to step is not in it: gradients of rows.
 */
int wse_network_of(const struct wse_config *cfg, const struct wse_plan *plan, uint32_t ranks,
		   const double *dense, struct wse_network *n);

#endif
