/* SPDX-License-Identifier: MIT */
/* Entries of the DOT queue. */
#ifndef WSE_FUNC_LANES_H
#define WSE_FUNC_LANES_H

#include "twin/twin.h"

void wse_dotq_push(struct wse_core *c, uint32_t v, bool end);

#endif /* WSE_FUNC_LANES_H */
