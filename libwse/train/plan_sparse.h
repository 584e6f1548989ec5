/* SPDX-License-Identifier: MIT */
#ifndef WSE_TRAIN_PLAN_SPARSE_H
#define WSE_TRAIN_PLAN_SPARSE_H

#include "input/config.h"
#include "model/plan.h"

/*
 * A plan's cycles with masks: which number of tokens and which graph it has, no mask changes, so
 * that a sparse run has the order of sums of the dense one. -ENOMEM
 */
int wse_plan_sparse(const struct wse_config *cfg, struct wse_plan *p);

/* multiply-adds of a token's forward pass that masks leave out */
double wse_plan_left_out(const struct wse_plan *p);

#endif
