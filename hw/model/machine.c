// SPDX-License-Identifier: MIT
/* Finds a device model by name. */
#include <string.h>

#include "machine.h"

/* weak: a program may link without the Verilator build */
extern const struct wse_machine_ops wse_machine_rtl __attribute__((weak));

const struct wse_machine_ops *wse_machine_find(const char *name)
{
	if (!strcmp(name, "func"))
		return &wse_machine_func;
	if (!strcmp(name, "rtl") && &wse_machine_rtl)
		return &wse_machine_rtl;
	return NULL;
}
