// SPDX-License-Identifier: GPL-2.0
/*
 * Actions of the PCI core and the system on the device: resets, bus errors, sleep. The driver holds
 * the device before and releases it afterwards; contexts do not survive that.
 */
#include <linux/pm.h>

#include "wse_ctx.h"
#include "wse_dev.h"
#include "wse_power.h"
#include "wse_reset.h"

/*
 * How long the PCI core may take to recover from an error: it waits a minute for a device after a
 * reset. If it gives up, because another device on the bus did not agree or did not come back,
 * older kernels do not tell the driver.
 */
#define WSE_RECOVERY (120 * HZ)

void wse_recovery_failed(struct work_struct *work)
{
	struct wse_device *wdev = container_of(work, struct wse_device, recovery.work);

	drm_err(&wdev->drm,
		"the bus did not recover: giving the device up, unbind and bind it to try again\n");
	wse_stop(wdev);
}

static pci_ers_result_t wse_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	struct wse_device *wdev = pci_get_drvdata(pdev);

	if (state == pci_channel_io_perm_failure) {
		/* the device may never be removed, and fences must not wait for that */
		wse_stop(wdev);
		return PCI_ERS_RESULT_DISCONNECT;
	}
	wse_hold(wdev, WSE_HOLD_ERROR);
	mod_delayed_work(wdev->slow_wq, &wdev->recovery, WSE_RECOVERY);
	return PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t wse_slot_reset(struct pci_dev *pdev)
{
	/* as in probe; older kernels discard the state that they have restored */
	pci_restore_state(pdev);
	pci_save_state(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static void wse_error_resume(struct pci_dev *pdev)
{
	struct wse_device *wdev = pci_get_drvdata(pdev);

	cancel_delayed_work_sync(&wdev->recovery);
	wse_release(wdev, WSE_HOLD_ERROR);
}

static void wse_hold_pdev(struct pci_dev *pdev)
{
	wse_hold(pci_get_drvdata(pdev), WSE_HOLD_RESET);
}

static void wse_release_pdev(struct pci_dev *pdev)
{
	wse_release(pci_get_drvdata(pdev), WSE_HOLD_RESET);
}

const struct pci_error_handlers wse_error_handlers = {
	.error_detected = wse_error_detected,
	.slot_reset = wse_slot_reset,
	.resume = wse_error_resume,
	.reset_prepare = wse_hold_pdev,
	.reset_done = wse_release_pdev,
};

/*
 * User tasks are frozen. This waits for their commands in flight, but nothing keeps the system
 * awake.
 */
static int wse_suspend(struct device *dev)
{
	struct wse_device *wdev = pci_get_drvdata(to_pci_dev(dev));
	struct wse_ctx *ctx;

	scoped_guard(spinlock_irq, &wdev->lock) {
		ctx = wdev->ctx;
		if (ctx)
			wse_ctx_get(ctx);
	}
	if (ctx && !wait_event_timeout(ctx->wait, !READ_ONCE(ctx->njobs), wse_stall_seconds() * HZ))
		dev_warn(dev, "commands of context %u have not ended: they are cut off\n", ctx->id);
	wse_ctx_put(ctx);
	wse_hold(wdev, WSE_HOLD_SLEEP);
	return 0;
}

static int wse_resume(struct device *dev)
{
	wse_release(pci_get_drvdata(to_pci_dev(dev)), WSE_HOLD_SLEEP);
	return 0;
}

DEFINE_SIMPLE_DEV_PM_OPS(wse_pm_ops, wse_suspend, wse_resume);
