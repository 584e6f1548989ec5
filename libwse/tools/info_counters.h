/* SPDX-License-Identifier: MIT */
#ifndef WSE_INFO_COUNTERS_H
#define WSE_INFO_COUNTERS_H

#include <wse/wse.h>

/* 0, or what reading them gave; wse_error() has the sentence */
int print_counters(struct wse_device *dev, const struct drm_wse_info *info);

#endif
