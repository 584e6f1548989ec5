/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_LEASE_H
#define WSE_LEASE_H

struct drm_device;
struct drm_file;
struct work_struct;

int wse_open(struct drm_device *drm, struct drm_file *file);
void wse_postclose(struct drm_device *drm, struct drm_file *file);
void wse_lease_work(struct work_struct *work);

#endif
