/* SPDX-License-Identifier: MIT */
#ifndef WSE_TRAIN_KEEP_H
#define WSE_TRAIN_KEEP_H

#include <stdint.h>

/*
 * Of the checkpoints checkpoint_STEP.safetensors in dir whose step is at most `step` those of the
 * last n steps stay; *removed: how many did not. -errno
 */
int wse_keep_checkpoints(const char *dir, uint64_t step, uint64_t n, uint32_t *removed);

#endif
