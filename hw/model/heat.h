/* SPDX-License-Identifier: MIT */
/* What cores and links have counted, as a picture. */
#ifndef WSE_HEAT_H
#define WSE_HEAT_H

#include <stdbool.h>
#include <stdint.h>

/* the maps, each of a value a core; of links four: north, east, south, west */
enum wse_heat_map { WSE_HEAT_MAC, WSE_HEAT_LWAIT, WSE_HEAT_INSTRET, WSE_HEAT_LINK, WSE_HEAT_MAPS };

/*
 * An SVG of map [WSE_HEAT_MAPS][rows * cols, of links 4 of each]; title: what was counted in XML's
 * text. 0, or the negative errno of the file, which is then not there.
 */
int wse_heat_write(const char *path, const char *title, uint32_t rows, uint32_t cols,
		   uint64_t *const *map);

struct wse_heat_panel {
	const char *title, *unit;
	bool links; /* four values a core */
};

/* The same of n maps of the caller's own. */
int wse_heat_draw(const char *path, const char *title, uint32_t rows, uint32_t cols,
		  const struct wse_heat_panel *panels, uint32_t n, uint64_t *const *map);

#endif /* WSE_HEAT_H */
