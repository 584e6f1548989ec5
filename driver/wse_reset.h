/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_RESET_H
#define WSE_RESET_H

struct work_struct;
struct wse_device;

unsigned int wse_stall_seconds(void);
int wse_start(struct wse_device *wdev);
void wse_set_dead(struct wse_device *wdev);
void wse_stop(struct wse_device *wdev);
void wse_hold(struct wse_device *wdev);
void wse_release(struct wse_device *wdev);
int wse_quiesce(struct wse_device *wdev, int err);
void wse_reset_work(struct work_struct *work);
void wse_watchdog(struct work_struct *work);

#endif
