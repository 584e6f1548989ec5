/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_DUMP_H
#define WSE_DUMP_H

struct work_struct;
struct wse_device;

void wse_dump_take(struct wse_device *wdev, const char *why);
void wse_dump_work(struct work_struct *work);
void wse_dump_room(struct wse_device *wdev);
void wse_dump_free(struct wse_device *wdev);

#endif
