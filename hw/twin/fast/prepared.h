/* SPDX-License-Identifier: MIT */
/* Instructions of engines that passed their checks before. */
#ifndef TWIN_FAST_PREPARED_H
#define TWIN_FAST_PREPARED_H

#include "twin/fast/quick.h"

/* what the part's cores share; 0, or -1: no memory */
int twin_prepared_create(struct twin_mesh *m);
/* struct twin_fast: check, issue */
uint32_t twin_prepared_check(struct twin_mesh *m, struct twin_engine *e, unsigned int which);
bool twin_prepared_issue(struct twin_mesh *m, struct twin_core *c, uint32_t tcw, uint32_t scalar);

#endif /* TWIN_FAST_PREPARED_H */
