/* SPDX-License-Identifier: MIT */
/*
 * What the order of a sum depends on: the shape of the tile and its lanes. The oracles of ops/ work
 * on flat arrays [width][tokens], row-major, with the tokens of all rows of the tile: row r has
 * tokens r * tokens / rows and on, column c features c * width / cols and on. They are pure and
 * need no wse_ftz_enter(); their bits are a wafer's.
 */
#ifndef WSE_GRAPH_TILE_H
#define WSE_GRAPH_TILE_H

#include <wse/model.h> /* struct wse_tile */

#endif
