/* SPDX-License-Identifier: MIT */
#ifndef WSE_TRAIN_KEEP_H
#define WSE_TRAIN_KEEP_H

#include <stdint.h>

/*
 * Removes the checkpoints checkpoint_STEP.safetensors of dir whose step is at most `step`, but for
 * those of the last n steps; *removed: how many. -errno
 */
int wse_keep_checkpoints(const char *dir, uint64_t step, uint64_t n, uint32_t *removed);

#endif
