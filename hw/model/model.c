// SPDX-License-Identifier: MIT
/* Finds a device model by name. */
#include <string.h>

#include "model.h"

/* weak: a program may link without the Verilator build */
extern const struct wse_model_ops wse_model_rtl __attribute__((weak));

const struct wse_model_ops *wse_model_find(const char *name)
{
	if (!strcmp(name, "func"))
		return &wse_model_func;
	if (!strcmp(name, "rtl") && &wse_model_rtl)
		return &wse_model_rtl;
	return NULL;
}
