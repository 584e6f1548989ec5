/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_RESET_H
#define WSE_RESET_H

#include <linux/jiffies.h>

struct work_struct;
struct wse_ctx;
struct wse_device;

/* Between two looks at a device with commands in flight. */
#define WSE_WATCHDOG (HZ / 2)

void wse_reset_context(struct wse_device *wdev, struct wse_ctx *ctx);
void wse_reset_device(struct wse_device *wdev, const char *why);
int wse_quiesce(struct wse_device *wdev, int err);
void wse_reset_remove(struct wse_device *wdev);
void wse_reset_work(struct work_struct *work);
void wse_watchdog(struct work_struct *work);

#endif
