/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_IRQ_H
#define WSE_IRQ_H

struct wse_device;

int wse_irq_init(struct wse_device *wdev);
int wse_irq_request(struct wse_device *wdev);
unsigned int wse_irq_vector(const struct wse_device *wdev, unsigned int ring);
void wse_irq_poll(struct wse_device *wdev);
void wse_irq_sync(struct wse_device *wdev);

#endif
