// SPDX-License-Identifier: GPL-2.0
/*
 * Start and stop, and recovery in steps: first reset the context, then the device, then give the
 * device up. Each step signals the fences of commands that cannot complete any more, with the
 * reason.
 */
#include <linux/moduleparam.h>

#include "wse_admin.h"
#include "wse_ctx.h"
#include "wse_dev.h"
#include "wse_dump.h"
#include "wse_fence.h"
#include "wse_irq.h"
#include "wse_job.h"
#include "wse_reset.h"
#include "wse_trace.h"

/* Between two polls of a device with commands in flight. */
#define WSE_WATCHDOG (HZ / 2)
/* Cycles a second, on the mean, that even the slowest emulated wafer counts. */
#define WSE_LEAST_HZ 100

static unsigned int wse_stall_timeout = 60;
module_param_named(stall_timeout, wse_stall_timeout, uint, 0644);
MODULE_PARM_DESC(stall_timeout,
		 "seconds that a device gets when budgets are used up, when it counts fewer than 100 cycles each, or before sleep (60)");

static unsigned int wse_fence_timeout = 3600;
module_param_named(fence_timeout, wse_fence_timeout, uint, 0644);
MODULE_PARM_DESC(fence_timeout,
		 "seconds without a completion after which the device is reset, whatever budgets say; 0: no limit (3600)");

/* What wse_stall_timeout says. */
unsigned int wse_stall_seconds(void)
{
	return min(READ_ONCE(wse_stall_timeout), 86400u);
}

/* Takes the device from any state to one with empty rings and all queues. Caller holds hw_mutex. */
int wse_start(struct wse_device *wdev)
{
	unsigned int i;
	int ret;

	wse_admin_deadline(wdev);
	ret = wse_dev_enable(wdev);
	for (i = 1; !ret && i < wdev->nrings; i++) {
		ret = wse_admin_create_queue(wdev, &wdev->ring[i], wse_irq_vector(wdev, i));
		if (ret)
			drm_err(&wdev->drm,
				"queue %u cannot be created: %d (a guest's memory must be shared with the device's server)\n",
				i, ret);
	}
	return ret;
}

/* From here on there is no device; code that waits for it finds out. */
void wse_set_dead(struct wse_device *wdev)
{
	struct wse_ctx *ctx, *next;

	scoped_guard(spinlock_irq, &wdev->lock) {
		wdev->dead = -ENODEV;
		if (wdev->ctx) {
			wdev->ctx->err = -ENODEV;
			wake_up_all(&wdev->ctx->wait);
		}
		list_for_each_entry_safe(ctx, next, &wdev->waiters, waiting) {
			list_del_init(&ctx->waiting);
			ctx->err = -ENODEV;
			wake_up_all(&ctx->wait);
		}
	}
}

/*
 * Empties the rings from number first on, and ends all jobs with err. If the cores stand from now
 * on as they were, which a reset of the device does not promise, the owner of a context that its
 * own command has lost may look at them: from the moment in which a fence tells it.
 */
static void wse_end_jobs(struct wse_device *wdev, unsigned int first, int err, bool stand)
{
	struct wse_ctx *ctx;
	LIST_HEAD(done);

	scoped_guard(spinlock_irq, &wdev->lock) {
		for (; first < wdev->nrings; first++)
			wse_ring_init(&wdev->ring[first]);
		wse_jobs_fail(wdev, err, &done);
		ctx = wdev->ctx;
		if (ctx)
			ctx->looks = stand && ctx->err == -EIO && ctx->first.status &&
				     !ctx->ending && !wdev->dead && !wdev->held;
	}
	wse_jobs_signal(wdev, &done);
}

/* Ends all jobs of a device that is lost. Caller holds hw_mutex. */
static void wse_lost(struct wse_device *wdev)
{
	wse_set_dead(wdev);
	/* later writes of the device to its rings, and later interrupts, are no completions */
	wse_end_jobs(wdev, 0, -ENODEV, false);
}

/* Resets the device, in place of a context reset or after one failed. -EBUSY as wse_quiesce(). */
static int wse_restart(struct wse_device *wdev, int err)
{
	struct drm_device *drm = &wdev->drm;
	const char *error = READ_ONCE(wdev->error);
	int ret;

	if (READ_ONCE(wdev->held))
		return -EBUSY;
	/* reading a register shows best whether the device is there */
	if (wse_read(wdev, WSE_REG_MAGIC) != WSE_MAGIC) {
		drm_err(drm, "the device is gone\n");
		pci_clear_master(wse_pdev(wdev));
		wse_lost(wdev);
		return -ENODEV;
	}
	trace_wse_reset(wdev, "device", error ?: "it does not work", err);
	drm_err_ratelimited(drm, "%s: resetting the device\n", error ?: "the device does not work");
	/* keeps all code off the rings until wse_dev_enable() has made them new */
	scoped_guard(spinlock_irq, &wdev->lock)
		if (!wdev->error)
			wdev->error = "reset";

	wse_dump_take(wdev, error ?: "the device does not work");
	wdev->resets++;
	ret = wse_start(wdev);
	if (ret && READ_ONCE(wdev->held)) {
		ret = -EBUSY;
	} else if (ret) {
		drm_err(drm,
			"the reset failed (%d): giving the device up, unbind and bind it to try again\n",
			ret);
		wse_dev_disable(wdev);
		wse_lost(wdev);
		ret = -ENODEV;
	} else {
		/* the rings are new */
		wse_end_jobs(wdev, wdev->nrings, err, false);
	}
	queue_work(wdev->slow_wq, &wdev->dump_work);
	return ret;
}

/*
 * Ends all commands of the I/O queues; rings are empty and cores are held afterwards. Jobs that
 * this interrupts end with err. No job can come in meanwhile: the context is lost or closing, so
 * its err is set. -ENODEV if the device was lost over it, -EBUSY if the PCI core resets it: then
 * wse_hold() ends the jobs. Caller holds hw_mutex.
 */
int wse_quiesce(struct wse_device *wdev, int err)
{
	static const struct wse_sqe reset = { .opcode = WSE_OP_CTX_RESET };
	unsigned int q;

	lockdep_assert_held(&wdev->hw_mutex);
	if (wdev->dead)
		return -ENODEV;
	if (READ_ONCE(wdev->held))
		return -EBUSY;
	if (READ_ONCE(wdev->error))
		return wse_restart(wdev, err);
	trace_wse_reset(wdev, "context", wdev->ctx && READ_ONCE(wdev->ctx->first.status) ?
			"a command failed" : "new owner", err);
	scoped_guard(spinlock_irq, &wdev->lock) {
		if (wdev->ctx)
			wdev->ctx->looks = false;
		for (q = 1; q < wdev->nrings; q++)
			wse_ring_freeze(&wdev->ring[q].state);
	}
	if (wse_admin(wdev, &reset))
		return wse_restart(wdev, err);

	/* commands completed before the reset are good */
	wse_irq_poll(wdev);
	if (READ_ONCE(wdev->error))
		return wse_restart(wdev, err);
	wse_end_jobs(wdev, 1, err, true);
	return 0;
}

void wse_reset_work(struct work_struct *work)
{
	struct wse_device *wdev = container_of(work, struct wse_device, reset_work);

	guard(wse_signalling)();
	guard(mutex)(&wdev->hw_mutex);
	/* another task may have done it: the release of a lost context resets it too */
	scoped_guard(spinlock_irq, &wdev->lock)
		if (wdev->dead || wdev->held ||
		    !(wdev->error || (wdev->ctx && wdev->ctx->err && wdev->ctx->njobs)))
			return;
	if (wdev->ctx)
		wse_ctx_read_fault(wdev->ctx);
	wse_admin_deadline(wdev);
	wse_quiesce(wdev, -ECANCELED);
}

/* Cycles that may pass before the next completion: the budgets of each queue's first command. */
static u64 wse_budgets(struct wse_device *wdev)
{
	u64 sum = 0;
	unsigned int q;

	scoped_guard(spinlock_irq, &wdev->lock)
		for (q = 1; q < wdev->nrings; q++)
			sum += wse_ring_budget(&wdev->ring[q]);
	return sum;
}

/*
 * The time that so many looks take. Not by the host's clock, which may go on while a host that is
 * itself a guest, and the emulated device beside it, are stopped: that is not the device's fault.
 */
static unsigned int wse_look_seconds(unsigned int looks)
{
	return looks / (HZ / WSE_WATCHDOG);
}

/*
 * What is wrong with a device that has completed nothing since the pulse began, or NULL. A command
 * may take its budget, which the device counts in its own cycles. But a device may not keep to
 * that, so the host's time counts once the budgets are used up, or while the device counts hardly
 * a cycle. And users may ask for budgets for which a slow device needs centuries, so there is a
 * limit that starts again with each completion.
 */
static const char *wse_watchdog_look(struct wse_device *wdev, struct wse_pulse *pulse)
{
	unsigned int seconds, timeout = wse_stall_seconds(), most = READ_ONCE(wse_fence_timeout);

	switch (wse_dev_health(wdev, pulse)) {
	case 0:
		break;
	case -ENODEV:
		return "the device is gone";
	case -EIO:
		return "the device has halted";
	default:
		return "the device stands still";
	}
	if (pulse->total <= wse_budgets(wdev))
		pulse->in_budget = pulse->looks;
	if (wse_look_seconds(pulse->looks - pulse->in_budget) > timeout)
		return "the device does not keep to budgets";
	seconds = wse_look_seconds(pulse->looks - 1);
	if (seconds >= timeout && pulse->total < (u64)seconds * WSE_LEAST_HZ)
		return "the device creeps";
	if (most && seconds >= most)
		return "no command has ended within fence_timeout";
	return NULL;
}

/* Checks that a device with commands in flight is still there and still works. */
void wse_watchdog(struct work_struct *work)
{
	struct wse_device *wdev = container_of(work, struct wse_device, watchdog.work);
	const char *error;
	u64 progress;
	bool idle;

	guard(wse_signalling)();
	/* an interrupt may have been lost */
	wse_irq_poll(wdev);
	scoped_guard(spinlock_irq, &wdev->lock) {
		progress = wdev->progress;
		idle = !wdev->inflight || wdev->error || wdev->dead;
	}
	if (idle)
		return;

	if (wdev->pulse.progress != progress)
		wdev->pulse = (struct wse_pulse){ .progress = progress };
	error = wse_watchdog_look(wdev, &wdev->pulse);
	scoped_guard(spinlock_irq, &wdev->lock) {
		/* unless a reset has ended meanwhile what this looked at */
		if (error && wdev->inflight && wdev->progress == progress) {
			wse_dev_fail(wdev, error);
			return;
		}
	}
	queue_delayed_work(wdev->wq, &wdev->watchdog, WSE_WATCHDOG);
}

/*
 * The driver releases the device, which may be there or not: neither touches the other after this.
 * Users that enter find it dead. Further calls do no harm.
 */
void wse_stop(struct wse_device *wdev)
{
	/* first, so that a holder of hw_mutex that waits for the device releases it */
	wse_set_dead(wdev);
	scoped_guard(wse_signalling) {
		guard(mutex)(&wdev->hw_mutex);
		wse_dev_disable(wdev);
		wse_lost(wdev);
	}
	wse_irq_sync(wdev);
	cancel_work_sync(&wdev->reset_work);
	cancel_delayed_work_sync(&wdev->watchdog);
	cancel_work_sync(&wdev->push_work);
	/* an owner may wait for the end of its lease since the device was held */
	queue_work(wdev->wq, &wdev->lease_work);
	flush_work(&wdev->lease_work);
	flush_work(&wdev->dump_work);
	flush_delayed_work(&wdev->reap_work);
}

/*
 * The PCI core or the system is about to reset the device or to take its power: contexts are lost,
 * and the driver does not touch the device until every holder has called wse_release(), but to
 * read counters for a user: an administrator may reset a device whose bus recovers from an error.
 * Further calls of a holder do no harm.
 */
void wse_hold(struct wse_device *wdev, enum wse_holder holder)
{
	struct wse_ctx *ctx;

	guard(wse_signalling)();
	/* a wait for an admin command sees this and releases hw_mutex */
	scoped_guard(spinlock_irq, &wdev->lock)
		WRITE_ONCE(wdev->held, wdev->held | holder);
	guard(mutex)(&wdev->hw_mutex);
	if (wdev->dead)
		return;
	scoped_guard(spinlock_irq, &wdev->lock) {
		wdev->error = "held";
		/*
		 * a context that is not ready yet has nothing to lose: wse_release() starts it
		 * again
		 */
		ctx = wdev->ctx;
		if (ctx && !ctx->boot && !ctx->err)
			ctx->err = -EIO;
	}
	drm_info(&wdev->drm, "the PCI core resets the device, or takes its power\n");
	wse_dev_disable(wdev);
	wdev->need_restart = true;
	wdev->clean = false;
	wse_end_jobs(wdev, 0, -ECANCELED, false);
}

/* This holder no longer holds the device; after the last one the driver has it, in any state. */
void wse_release(struct wse_device *wdev, enum wse_holder holder)
{
	bool restart;

	scoped_guard(wse_signalling) {
		guard(mutex)(&wdev->hw_mutex);
		scoped_guard(spinlock_irq, &wdev->lock) {
			restart = wdev->held == holder && !wdev->dead;
			WRITE_ONCE(wdev->held, wdev->held & ~holder);
		}
		if (wdev->held)
			return;
		if (restart) {
			pci_set_master(wse_pdev(wdev));
			wdev->resets++;
			if (wse_start(wdev)) {
				drm_err(&wdev->drm,
					"it did not come back: giving the device up, unbind and bind it to try again\n");
				wse_dev_disable(wdev);
				wse_lost(wdev);
			}
		}
	}
	/* work that had to wait meanwhile */
	queue_work(wdev->wq, &wdev->lease_work);
	queue_work(wdev->wq, &wdev->reset_work);
}
