// SPDX-License-Identifier: GPL-2.0
/*
 * What others do to the device: resets by the PCI core, errors of the bus, system sleep. It is held
 * before and released afterwards; contexts do not outlive that.
 */
#include <linux/pm.h>

#include "wse_ctx.h"
#include "wse_dev.h"
#include "wse_power.h"
#include "wse_reset.h"

static pci_ers_result_t wse_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	struct wse_device *wdev = pci_get_drvdata(pdev);

	if (state == pci_channel_io_perm_failure) {
		/* it may never be removed, and fences must not wait for that */
		wse_stop(wdev);
		return PCI_ERS_RESULT_DISCONNECT;
	}
	wse_hold(wdev);
	return PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t wse_slot_reset(struct pci_dev *pdev)
{
	/* as it was after probe */
	pci_restore_state(pdev);
	pci_save_state(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static void wse_hold_pdev(struct pci_dev *pdev)
{
	wse_hold(pci_get_drvdata(pdev));
}

static void wse_release_pdev(struct pci_dev *pdev)
{
	wse_release(pci_get_drvdata(pdev));
}

const struct pci_error_handlers wse_error_handlers = {
	.error_detected = wse_error_detected,
	.slot_reset = wse_slot_reset,
	.resume = wse_release_pdev,
	.reset_prepare = wse_hold_pdev,
	.reset_done = wse_release_pdev,
};

/* Users are frozen. What they still have in flight would be lost, so the system stays awake. */
static int wse_suspend(struct device *dev)
{
	struct wse_device *wdev = pci_get_drvdata(to_pci_dev(dev));
	bool busy;

	scoped_guard(spinlock_irq, &wdev->lock)
		busy = wdev->ctx && wdev->ctx->njobs;
	if (busy) {
		dev_info(dev, "commands are in flight: no sleep before they have ended\n");
		return -EBUSY;
	}
	wse_hold(wdev);
	return 0;
}

static int wse_resume(struct device *dev)
{
	wse_release(pci_get_drvdata(to_pci_dev(dev)));
	return 0;
}

DEFINE_SIMPLE_DEV_PM_OPS(wse_pm_ops, wse_suspend, wse_resume);
