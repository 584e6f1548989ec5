/* SPDX-License-Identifier: MIT */
/* Elements of stream AXPY and stream DOT, for the exact path and for runs.c. w: a data wavelet that
 * passed the checks. */
#ifndef WSE_FUNC_LANES_H
#define WSE_FUNC_LANES_H

#include "twin/twin.h"

void wse_axpy_one(struct wse_core *c, const struct wse_engine *e, uint32_t w);
uint32_t wse_dot_one(const struct wse_core *c, const struct wse_engine *e, uint32_t w);
void wse_dotq_push(struct wse_core *c, uint32_t v, bool end);

#endif /* WSE_FUNC_LANES_H */
