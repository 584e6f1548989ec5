/* SPDX-License-Identifier: MIT */
/* Text from a model into the log of a run. */
#ifndef WSE_TRAIN_SAMPLES_H
#define WSE_TRAIN_SAMPLES_H

#include "session.h"

/*
 * Each prompt and what the model makes of it, as often as asked for; `streams` times where cfg does
 * not say
 */
int wse_session_sample(struct wse_session *s, const struct wse_config *cfg, uint32_t streams,
		       const struct wse_exec_cfg *log);

#endif
