/* SPDX-License-Identifier: MIT */
/*
 * Models as handles of the public API; a copy of struct wse_model keeps what a model of one's own
 * stands on alive.
 */
#ifndef WSE_MODEL_CREATE_H
#define WSE_MODEL_CREATE_H

#include "model/family.h"

void wse_model_get(const struct wse_model *m);
void wse_model_put(const struct wse_model *m);

#endif
