// SPDX-License-Identifier: MIT
/* For the cores: each says where it is. hello.c runs it and shows what they say. */
#include "wse_print.h"

WSE_ENTRY void hello_cores(uint32_t args, uint32_t info)
{
	(void)info;
	wse_printf("row %u of %u: %g times %s\n", wse_row(), wse_rows(), 0.5 * 3,
		   *(uint32_t *)args ? "hello" : "nothing");
	wse_done(0);
}
