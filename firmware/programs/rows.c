// SPDX-License-Identifier: MIT
/*
 * Between models that take other rows of the tile: weights that come before a core's next start
 * wait at the tile's edge, so that none of them goes south where the next model has no rows, or
 * does not go where it has some.
 */
#include "../lib/kernel.h"

WSE_ENTRY void close_stream(uint32_t words, uint32_t info)
{
	(void)words;
	(void)info;
	wse_route(WSE_COLOR_STREAM, 7);
	wse_done(0);
}
