/* SPDX-License-Identifier: MIT */
/* Entries of the DOT queue. */
#ifndef TWIN_EXACT_LANES_H
#define TWIN_EXACT_LANES_H

#include "twin/twin.h"

void twin_dotq_push(struct twin_core *c, uint32_t v, bool end);

#endif /* TWIN_EXACT_LANES_H */
