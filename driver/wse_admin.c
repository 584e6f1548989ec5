// SPDX-License-Identifier: GPL-2.0
/* The admin queue: the driver's own commands, one at a time. */
#include <linux/moduleparam.h>

#include "wse_admin.h"
#include "wse_dev.h"

/* Between two polls of a device whose completion is due. */
#define WSE_PULSE (HZ / 2)
/* Device cycles that an admin command may take besides its budget: a scrub takes some thousand. */
#define WSE_ADMIN_CYCLES 10000000ull

/*
 * Cycles alone are no bound: a device that counts a few of them in each poll would hold hw_mutex
 * for days. So the host's clock is the last limit. A scrub of a large wafer, emulated in RTL on a
 * busy machine, takes seconds.
 */
static unsigned int wse_admin_timeout = 120;
module_param_named(admin_timeout, wse_admin_timeout, uint, 0644);
MODULE_PARM_DESC(admin_timeout,
		 "seconds after which commands of the driver itself are given up and the device reset (120)");

/*
 * Sets the deadline for all admin commands together of a start, a reset, or the beginning or end of
 * a lease. Caller holds hw_mutex.
 */
void wse_admin_deadline(struct wse_device *wdev)
{
	wdev->deadline = jiffies + min(READ_ONCE(wse_admin_timeout), 86400u) * HZ;
}

/*
 * Takes the completion. Returns how many there were, invalid ones included. Caller holds
 * wse_device.lock.
 */
unsigned int wse_admin_poll(struct wse_device *wdev)
{
	struct wse_ring *ring = &wdev->ring[0];
	struct wse_completion completion;
	const char *error = NULL;
	unsigned int took = 0;

	lockdep_assert_held(&wdev->lock);
	/* there is one command at a time, so no second completion */
	if (!wdev->error && wse_ring_next(ring, &completion, &error)) {
		wdev->admin_status = completion.status;
		complete(&wdev->admin_done);
		took = 1;
	}
	if (error)
		wse_dev_fail(wdev, error);
	wse_ring_ack(wdev, ring);
	return error ? 1 : took;
}

/* The errno for a command that can never complete; 0: it still can. */
static int wse_admin_lost(struct wse_device *wdev, struct wse_pulse *pulse, u64 cycles)
{
	int ret = READ_ONCE(wdev->dead);

	if (!ret && (READ_ONCE(wdev->error) || READ_ONCE(wdev->held)))
		ret = -EIO;
	if (!ret)
		ret = wse_dev_health(wdev, pulse);
	/* a device that lives but does not answer would hold hw_mutex without end */
	if (!ret && (pulse->total > cycles || time_after(jiffies, wdev->deadline)))
		ret = -ETIME;
	return ret;
}

/*
 * Executes one command, alone in its queue. Returns its status as an errno (see
 * wse_status_errno()), or -ENODEV, -EIO or -ETIME, and then sets need_restart, if the device no
 * longer works, is held, or has not answered by the deadline. For workers, probe and removal alone:
 * a process could not be killed in here.
 */
int wse_admin(struct wse_device *wdev, const struct wse_sqe *sqe)
{
	struct wse_ring *ring = &wdev->ring[0];
	struct wse_pulse pulse = {};
	int ret;

	lockdep_assert_held(&wdev->hw_mutex);
	if (READ_ONCE(wdev->dead))
		return -ENODEV;
	if (wdev->need_restart)
		return -EIO;

	scoped_guard(spinlock_irq, &wdev->lock) {
		reinit_completion(&wdev->admin_done);
		wse_ring_put(ring, sqe, NULL);
		wse_ring_kick(wdev, ring, false);
	}

	while (!wait_for_completion_timeout(&wdev->admin_done, WSE_PULSE)) {
		/* an interrupt may have been lost */
		scoped_guard(spinlock_irq, &wdev->lock)
			wse_admin_poll(wdev);
		if (completion_done(&wdev->admin_done))
			continue;
		ret = wse_admin_lost(wdev, &pulse, le64_to_cpu(sqe->budget) + WSE_ADMIN_CYCLES);
		if (ret) {
			wdev->need_restart = true;
			return ret;
		}
	}
	ret = wse_status_errno(wdev->admin_status);
	if (ret)
		drm_err_ratelimited(&wdev->drm, "admin command %#x ended with status %#x\n",
				    sqe->opcode, wdev->admin_status);
	return ret;
}

int wse_admin_create_queue(struct wse_device *wdev, struct wse_ring *ring, unsigned int vector)
{
	struct wse_sqe sqe = {
		.opcode = WSE_OP_CREATE_QUEUE,
		.queue = ring->id,
		.buf = cpu_to_le64(ring->sq_dma),
		.mask = cpu_to_le64(ring->cq_dma),
		.seq = cpu_to_le32((ring->state.size - 1) | (u32)vector << 16),
	};

	return wse_admin(wdev, &sqe);
}
