/* SPDX-License-Identifier: MIT */
#ifndef WSE_TRAIN_PLAN_SPARSE_H
#define WSE_TRAIN_PLAN_SPARSE_H

#include "input/config.h"
#include "model/plan.h"

/*
 * How the images of a plan's matrices lie, and its cycles with that: masked ones packed; dense ones
 * as they are sent, where the run asks for it, but for those that inputs are gathered from. Number
 * of tokens and graph stay, so that each such run has the dense one's order of sums. -ENOMEM
 */
int wse_plan_images(const struct wse_config *cfg, struct wse_plan *p);

/* of a run's steps: those after which no mask changes by gradients, those in which all do, all */
enum wse_plan_steps { WSE_PLAN_USUAL, WSE_PLAN_UPDATES, WSE_PLAN_MEAN };

/*
 * RigL chooses weights by gradients of all of them, which the step has before masks change: dense
 * [units] is of such steps the part in which a unit's gradients are of all its weights. *any (NULL:
 * not asked): the part of all steps that update a mask so; 0: there is no RigL. -ENOMEM
 */
int wse_plan_dense_grads(const struct wse_config *cfg, const struct wse_graph *g,
			 enum wse_plan_steps steps, double *dense, double *any);

/* what a micro-batch of such steps has, where p has that of a usual one; of means not whole */
struct wse_plan_step {
	double cycles, in, out; /* bytes that are streamed */
};
struct wse_plan_step wse_plan_dense_step(struct wse_plan *p, const double *dense);

/* multiply-adds of a token's forward pass that masks leave out */
double wse_plan_left_out(const struct wse_plan *p);

#endif
