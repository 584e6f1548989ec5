/* SPDX-License-Identifier: MIT */
/* A model of the user's own: a family whose functions are callbacks. */
#ifndef WSE_MODEL_CUSTOM_H
#define WSE_MODEL_CUSTOM_H

#include "model/family.h"

extern const struct wse_model_family wse_family_custom;

/* -EINVAL, -ENOMEM. The model has one reference on what it stands on */
int wse_custom_init(struct wse_model *m, const struct wse_model_shape *shape,
		    const struct wse_builder *ops, void *ctx);
void wse_custom_get(const struct wse_model *m);
void wse_custom_put(const struct wse_model *m);

#endif
