/* SPDX-License-Identifier: MIT */
/* What each core and link of a model has counted since its reset, as a picture: wse-run(1). */
#ifndef WSE_RUN_MAPS_H
#define WSE_RUN_MAPS_H

#include "machine.h"

/*
 * An SVG of the tile's counters, whose cores are held from then on; 0, or the negative errno of the
 * file, which is then not there.
 */
int maps_write(const char *path, const struct wse_machine_ops *ops, struct wse_machine *m,
	       uint32_t rows, uint32_t cols);

/* The first n objects of a counter of a tile whose cores, all of them, are held from then on. */
void maps_read(const struct wse_machine_ops *ops, struct wse_machine *m, uint32_t id,
	       uint32_t cores, uint32_t n, uint64_t *value);

#endif /* WSE_RUN_MAPS_H */
