// SPDX-License-Identifier: MIT
/*
 * Models by name. A model that was not linked in leaves its weak symbol at 0; whoever links one from an
 * archive pulls it in with -Wl,-u,wse_model_NAME (hw/emu/build.mk has the flags).
 */
#include <string.h>

#include "model.h"

extern const struct wse_model_ops wse_model_func __attribute__((weak));
extern const struct wse_model_ops wse_model_rtl __attribute__((weak));

const struct wse_model_ops *wse_model_find(const char *name)
{
	const struct wse_model_ops *func = &wse_model_func, *rtl = &wse_model_rtl;

	if (func && !strcmp(name, "func"))
		return func;
	if (rtl && !strcmp(name, "rtl"))
		return rtl;
	return NULL;
}
