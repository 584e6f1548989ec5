/* SPDX-License-Identifier: MIT */
/* The device that the session of a test opens: linked with --wrap=wse_device_open. */
#ifndef WSE_TESTS_TRAIN_OWN_TWIN_H
#define WSE_TESTS_TRAIN_OWN_TWIN_H

#include <wse/wse.h>

static struct wse_device *twin; /* the newest */

int __real_wse_device_open(const char *uri, struct wse_device **dev);
int __wrap_wse_device_open(const char *uri, struct wse_device **dev);

int __wrap_wse_device_open(const char *uri, struct wse_device **dev)
{
	int ret = __real_wse_device_open(uri, dev);

	twin = ret ? NULL : *dev;
	return ret;
}

#endif
