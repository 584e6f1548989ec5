/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_RESET_H
#define WSE_RESET_H

#include <linux/bits.h>

/* What keeps the driver off the device; one may begin and end within another. */
enum wse_holder {
	WSE_HOLD_RESET = BIT(0), /* the PCI core resets it */
	WSE_HOLD_ERROR = BIT(1), /* the bus recovers from an error */
	WSE_HOLD_SLEEP = BIT(2), /* the system takes its power */
};

struct work_struct;
struct wse_device;

unsigned int wse_stall_seconds(void);
int wse_start(struct wse_device *wdev);
void wse_set_dead(struct wse_device *wdev);
void wse_stop(struct wse_device *wdev);
void wse_hold(struct wse_device *wdev, enum wse_holder holder);
void wse_release(struct wse_device *wdev, enum wse_holder holder);
int wse_quiesce(struct wse_device *wdev, int err);
void wse_reset_work(struct work_struct *work);
void wse_watchdog(struct work_struct *work);

#endif
