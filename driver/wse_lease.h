/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_LEASE_H
#define WSE_LEASE_H

struct drm_device;
struct drm_file;
struct work_struct;
struct wse_ctx;

int wse_open(struct drm_device *drm, struct drm_file *file);
void wse_postclose(struct drm_device *drm, struct drm_file *file);
void wse_lease_work(struct work_struct *work);
int wse_lease_get(struct wse_ctx *ctx, bool wait); /* for KUnit, too */

#endif
