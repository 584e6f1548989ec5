/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_DEBUGFS_H
#define WSE_DEBUGFS_H

struct drm_printer;
struct wse_device;

void wse_debugfs_init(struct wse_device *wdev);
void wse_show_rings(struct wse_device *wdev, struct drm_printer *p);
void wse_show_jobs(struct wse_device *wdev, struct drm_printer *p);
void wse_show_lease(struct wse_device *wdev, struct drm_printer *p);
void wse_show_fault(struct wse_device *wdev, struct drm_printer *p);

#endif
