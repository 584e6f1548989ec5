/* SPDX-License-Identifier: MIT */
/* What does fit, where something does not. All of it is planned before it is said. */
#ifndef WSE_MODEL_ADVISE_H
#define WSE_MODEL_ADVISE_H

#include "model/family.h"

/*
 * The sentence goes on with the nearest tile that has a plan for this model and batch, if one is
 * found. big: memory is what the model does not fit; then a larger tile, and the widest model of
 * its kind for this one. Else the sentence has the sizes that divide.
 */
void wse_advise_tile(const struct wse_model *m, const struct wse_tile *tile, uint64_t batch,
		     uint64_t micro_batch, int big);

#endif
