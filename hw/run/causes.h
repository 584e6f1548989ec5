/* SPDX-License-Identifier: MIT */
/* What each core waited for while a program ran, as maps of the tile: wse-run(1). */
#ifndef WSE_RUN_CAUSES_H
#define WSE_RUN_CAUSES_H

#include "machine.h"

#define CAUSES_KINDS (1u << WSE_EV_STALL)

struct causes;

/* The model's events come from now on, the cores first to end - 1 are about to boot; -ENOMEM. */
int causes_begin(const struct wse_machine_ops *ops, struct wse_machine *m, uint32_t rows,
		 uint32_t cols, uint32_t first, uint32_t end, struct causes **out);
/* Takes a STALL; of other events nothing. */
void causes_event(struct causes *c, const struct wse_ev *e);
/*
 * The run is over: an SVG of it, no more events, and the cores are held. 0, or the negative errno
 * of the file, which is then not there.
 */
int causes_write(struct causes *c, const char *path);
/* NULL is allowed */
void causes_free(struct causes *c);

#endif /* WSE_RUN_CAUSES_H */
