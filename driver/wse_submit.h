/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_SUBMIT_H
#define WSE_SUBMIT_H

struct drm_device;
struct drm_file;

int wse_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
