/* SPDX-License-Identifier: MIT */
/*
 * Between wse_rtl.cpp (which tile?) and the tiles (tile.cpp, compiled once per ROWS x COLS, group
 * and arithmetic).
 */
#ifndef WSE_RTL_H
#define WSE_RTL_H

#include "machine.h"

/* Every model of this kind begins so. */
struct wse_machine {
	const struct wse_machine_ops *ops;
};

/*
 * What wave-ROWSxCOLS[gGROUP].so exports, a tile with waves: a name of its own, since such a tile
 * is opened beside the plain one, and what tells that it was built with these headers.
 */
#define WSE_RTL_WAVES "wse_rtl_waves"

struct wse_rtl_waves {
	uint32_t api, size;	/* WSE_MACHINE_API, of struct wse_machine_ops */
	const struct wse_machine_ops *ops;
};

struct wse_rtl_tile {
	uint32_t rows, cols, group;
	int hostfp;
	const struct wse_machine_ops *ops;
};

#endif
