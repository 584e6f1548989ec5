/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_DUMP_H
#define WSE_DUMP_H

struct wse_device;

void wse_dump_take(struct wse_device *wdev, const char *why);
void wse_dump_publish(struct wse_device *wdev);
void wse_dump_free(struct wse_device *wdev);

#endif
