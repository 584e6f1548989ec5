/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_COUNTERS_H
#define WSE_COUNTERS_H

struct drm_device;
struct drm_file;

int wse_counters_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
