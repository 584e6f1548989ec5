/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_POWER_H
#define WSE_POWER_H

#include <linux/pci.h>
#include <linux/pm.h>
#include <linux/workqueue.h>

extern const struct dev_pm_ops wse_pm_ops;
extern const struct pci_error_handlers wse_error_handlers;

void wse_recovery_failed(struct work_struct *work);

#endif
