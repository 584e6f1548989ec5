/* SPDX-License-Identifier: MIT */
/* The inside of struct wse_params, for its user the trainer. */
#ifndef WSE_TRAIN_PARAMS_H
#define WSE_TRAIN_PARAMS_H

#include "input/config.h"

struct wse_params {
	struct wse_config cfg; /* has a reference on its model */
	int ready;	       /* cfg is complete */
	struct wse_faults faults;
	uint32_t nnotes;
	char notes[2][600];
};

#endif
