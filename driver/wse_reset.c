// SPDX-License-Identifier: GPL-2.0
/*
 * When something went wrong: first the context is reset, then the device, then it is given up. On
 * each step the fences of what will not be completed any more are signalled with the reason.
 */
#include "wse_ctx.h"
#include "wse_dev.h"
#include "wse_irq.h"
#include "wse_job.h"
#include "wse_reset.h"

/* A command of ctx has failed: it is lost. Caller holds wse_device.lock. */
void wse_reset_context(struct wse_device *wdev, struct wse_ctx *ctx)
{
	lockdep_assert_held(&wdev->lock);
	if (ctx->err)
		return;
	ctx->err = -EIO;
	queue_work(wdev->wq, &wdev->reset_work);
}

/* The device does what it must not: no ring of it is looked at until it is reset. Lock as above. */
void wse_reset_device(struct wse_device *wdev, const char *why)
{
	lockdep_assert_held(&wdev->lock);
	if (wdev->broken)
		return;
	wdev->broken = why;
	if (wdev->ctx && !wdev->ctx->err)
		wdev->ctx->err = -EIO;
	/* who waits for an admin command looks at broken himself */
	queue_work(wdev->wq, &wdev->reset_work);
}

/* There is no device any more. */
static void wse_give_up(struct wse_device *wdev)
{
	LIST_HEAD(done);

	spin_lock_irq(&wdev->lock);
	wdev->dead = -ENODEV;
	if (wdev->ctx)
		wdev->ctx->err = -ENODEV;
	wse_jobs_fail(wdev, -ENODEV, &done);
	spin_unlock_irq(&wdev->lock);
	wse_jobs_signal(wdev, &done);
	wake_up_all(&wdev->lease_wait);
}

/* In place of a context reset, or when that failed. */
static int wse_restart(struct wse_device *wdev, int err)
{
	struct drm_device *drm = &wdev->drm;
	const char *why = READ_ONCE(wdev->broken);
	LIST_HEAD(done);
	int ret;

	/* reading a register shows best whether there is something to be reset */
	if (wse_read(wdev, WSE_REG_MAGIC) != WSE_MAGIC) {
		drm_err(drm, "the device is gone\n");
		pci_clear_master(wse_pdev(wdev));
		wse_give_up(wdev);
		return -ENODEV;
	}
	drm_err(drm, "%s: resetting the device\n", why ?: "the device does not work");
	spin_lock_irq(&wdev->lock);
	/* keeps everybody off the rings until wse_dev_start() has made them new */
	if (!wdev->broken)
		wdev->broken = "reset";
	spin_unlock_irq(&wdev->lock);

	wdev->resets++;
	ret = wse_dev_start(wdev);
	if (ret) {
		drm_err(drm,
			"the reset failed (%d): giving the device up, unbind and bind it to try again\n",
			ret);
		wse_dev_stop(wdev);
		wse_give_up(wdev);
		return -ENODEV;
	}
	spin_lock_irq(&wdev->lock);
	wse_jobs_fail(wdev, err, &done);
	spin_unlock_irq(&wdev->lock);
	wse_jobs_signal(wdev, &done);
	return 0;
}

/*
 * Ends whatever the I/O queues execute; rings are empty and cores are held afterwards. Jobs that
 * this swallows end with err. No job can come in meanwhile: the context is lost or on its way out,
 * so its err is set. -ENODEV if the device was lost over it. Caller holds hw_mutex.
 */
int wse_quiesce(struct wse_device *wdev, int err)
{
	static const struct wse_sqe reset = { .opcode = WSE_OP_CTX_RESET };
	LIST_HEAD(done);
	unsigned int q;

	lockdep_assert_held(&wdev->hw_mutex);
	if (wdev->dead)
		return -ENODEV;
	if (READ_ONCE(wdev->broken) || wse_admin(wdev, &reset))
		return wse_restart(wdev, err);

	spin_lock_irq(&wdev->lock);
	/* what was completed before the reset came is good */
	for (q = 1; q < wdev->nrings; q++)
		wse_ring_poll(wdev, &wdev->ring[q], &done);
	if (wdev->broken) {
		spin_unlock_irq(&wdev->lock);
		wse_jobs_signal(wdev, &done);
		return wse_restart(wdev, err);
	}
	for (q = 1; q < wdev->nrings; q++)
		wse_ring_init(&wdev->ring[q]);
	wse_jobs_fail(wdev, err, &done);
	spin_unlock_irq(&wdev->lock);
	wse_jobs_signal(wdev, &done);
	return 0;
}

void wse_reset_work(struct work_struct *work)
{
	struct wse_device *wdev = container_of(work, struct wse_device, reset_work);
	bool due;

	mutex_lock(&wdev->hw_mutex);
	spin_lock_irq(&wdev->lock);
	/* somebody else may have done it: who gives back a lost context resets it too */
	due = !wdev->dead && (wdev->broken || (wdev->ctx && wdev->ctx->err && wdev->ctx->njobs));
	spin_unlock_irq(&wdev->lock);
	if (due) {
		if (wdev->ctx)
			wse_ctx_read_fault(wdev->ctx);
		wse_quiesce(wdev, -ECANCELED);
	}
	mutex_unlock(&wdev->hw_mutex);
}

/*
 * Looks whether a device with commands in flight is still there and still works. It never measures
 * how long a command takes: that is the command's budget, which the device watches in its own
 * cycles.
 */
void wse_watchdog(struct work_struct *work)
{
	struct wse_device *wdev = container_of(work, struct wse_device, watchdog.work);
	u64 completions;
	int ret;

	spin_lock_irq(&wdev->lock);
	completions = wdev->completions;
	if (!wdev->inflight || wdev->broken || wdev->dead) {
		wdev->pulse.strikes = 0;
		spin_unlock_irq(&wdev->lock);
		return;
	}
	spin_unlock_irq(&wdev->lock);

	/* an interrupt may have been lost */
	wse_irq_poll(wdev);
	if (READ_ONCE(wdev->completions) == completions) {
		ret = wse_dev_health(wdev, &wdev->pulse);
		if (ret) {
			spin_lock_irq(&wdev->lock);
			wse_reset_device(wdev, ret == -ENODEV ? "the device is gone" :
					       ret == -EIO ? "the device has halted" :
					       "the device stands still");
			spin_unlock_irq(&wdev->lock);
			return;
		}
	} else {
		wdev->pulse.strikes = 0;
	}
	queue_delayed_work(wdev->wq, &wdev->watchdog, WSE_WATCHDOG);
}

/* The driver lets go of the device, which may be there or not. Users can no longer get in. */
void wse_reset_remove(struct wse_device *wdev)
{
	mutex_lock(&wdev->hw_mutex);
	wse_dev_stop(wdev);
	wse_give_up(wdev);
	mutex_unlock(&wdev->hw_mutex);
	cancel_work_sync(&wdev->reset_work);
	cancel_delayed_work_sync(&wdev->watchdog);
	cancel_work_sync(&wdev->push_work);
	flush_delayed_work(&wdev->reap_work);
}
