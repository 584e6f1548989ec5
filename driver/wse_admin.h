/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_ADMIN_H
#define WSE_ADMIN_H

struct wse_device;
struct wse_ring;
struct wse_sqe;

void wse_admin_deadline(struct wse_device *wdev);
int wse_admin(struct wse_device *wdev, const struct wse_sqe *sqe);
int wse_admin_create_queue(struct wse_device *wdev, struct wse_ring *ring, unsigned int vector);
unsigned int wse_admin_poll(struct wse_device *wdev);

#endif
