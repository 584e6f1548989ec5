/* SPDX-License-Identifier: MIT */
/* Instructions of engines that were checked before. */
#ifndef TWIN_FAST_PREPARED_H
#define TWIN_FAST_PREPARED_H

#include "twin/fast/quick.h"

int wse_prepared_create(struct wse_mesh *m); /* what the part's cores share; 0, or -1: no memory */
/* struct twin_fast: check, issue */
uint32_t wse_prepared_check(struct wse_mesh *m, struct wse_engine *e, unsigned int which);
bool wse_prepared_issue(struct wse_mesh *m, struct wse_core *c, uint32_t tcw, uint32_t scalar);

#endif /* TWIN_FAST_PREPARED_H */
