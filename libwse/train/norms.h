/* SPDX-License-Identifier: MIT */
/* ComputeNorm: norms of parameters and of gradients, with the lines of progress. */
#ifndef WSE_TRAIN_NORMS_H
#define WSE_TRAIN_NORMS_H

#include "output/tensorboard.h"
#include "train/session.h"

/*
 * After a commit: a line for the log, and scalars under the Model Zoo's tags to board(), which may
 * be NULL. params: wse_session_param_norm() before the commit; norm: of the gradient. -ENOMEM
 */
int wse_norms_say(struct wse_session *s, double params, double norm,
		  void (*board)(void *ctx, const struct wse_scalar *scalar), void *ctx);

/* the layer of a tensor by its name, "transformer.h.3.mlp.c_fc.weight": 3; UINT32_MAX: of none */
uint32_t wse_norms_layer(const char *name);

#endif
