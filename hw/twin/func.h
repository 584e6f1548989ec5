/* SPDX-License-Identifier: MIT */
/* What the twin offers beyond hw/model.h. */
#ifndef WSE_FUNC_H
#define WSE_FUNC_H

#include <stdint.h>

struct wse_model;

/* wse_model_cfg.flags: move every wavelet through its queues one by one and interpret every
 * instruction; for tests of the fast paths */
#define WSE_MODEL_FUNC_EXACT (1u << 31)
/* cut the smallest tile into parts, as if it were a large one; for tests */
#define WSE_MODEL_FUNC_PARTS (1u << 30)

/*
 * With WSE_MODEL_CHECK_RACES: violations of the rules that make a program confluent
 * (hw/doc/core.md), counted. *text (may be NULL) gets a line about the first one, valid until the
 * model is destroyed; "" when there is none.
 */
uint64_t wse_func_races(struct wse_model *m, const char **text);

#endif /* WSE_FUNC_H */
