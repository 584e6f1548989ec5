// SPDX-License-Identifier: MIT
/* For the cores: every core adds its number to what it was given. kernel.c runs it. */
#include "wse_core.h"

WSE_ENTRY void add_id(uint32_t args, uint32_t info)
{
	const uint32_t *arg = (const uint32_t *)args;

	(void)info;
	*(uint32_t *)arg[0] = arg[1] + wse_row() * wse_cols() + wse_col();
	wse_done(0);
}
