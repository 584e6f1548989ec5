// SPDX-License-Identifier: GPL-2.0
/*
 * The device itself: who it is, on and off, whether it lives.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/log2.h>

#include "wse_ctx.h"
#include "wse_dev.h"

#define WSE_GONE 0xffffffffu /* what a read gives when nothing answers */

/*
 * So many looks in a row with hardly a device cycle in between mean that it is stuck. This is not a
 * limit on the time of a command: a wafer may be emulated a million times slower than it is, but
 * while it works its cycles count.
 */
#define WSE_STRIKES	 20
#define WSE_LEAST_CYCLES 8

#define WSE_ADMIN_DEPTH 32u

#define WSE_GET(reg, name, value) \
	(((value) & WSE_##reg##_##name##_MASK) >> WSE_##reg##_##name##_SHIFT)

/* Reads and believes the capability registers, as far as they make sense. */
int wse_dev_identify(struct wse_device *wdev)
{
	struct drm_device *drm = &wdev->drm;
	u32 magic = wse_read(wdev, WSE_REG_MAGIC), tile, core, queues;
	u32 major, minor, count, depth_log2;

	if (magic == WSE_GONE) {
		drm_err(drm, "the device does not answer: is its server (wse-emu) running?\n");
		return -ENODEV;
	}
	if (magic != WSE_MAGIC) {
		drm_err(drm, "MAGIC is %#x, not %#x: this is no wafer\n", magic, WSE_MAGIC);
		return -ENODEV;
	}
	wdev->abi = wse_read(wdev, WSE_REG_ABI);
	major = WSE_GET(ABI, MAJOR, wdev->abi);
	minor = WSE_GET(ABI, MINOR, wdev->abi);
	if (major != WSE_ABI_MAJOR) {
		drm_err(drm,
			"the device has ABI %u.%u, this driver %u.%u: use device and driver of one release\n",
			major, minor, WSE_ABI_MAJOR, WSE_ABI_MINOR);
		return -EOPNOTSUPP;
	}

	tile = wse_read(wdev, WSE_REG_TILE);
	core = wse_read(wdev, WSE_REG_CORE);
	queues = wse_read(wdev, WSE_REG_QUEUES);
	wdev->features = wse_read(wdev, WSE_REG_FEATURES);
	wdev->geom.rows = WSE_GET(TILE, ROWS, tile);
	wdev->geom.cols = WSE_GET(TILE, COLS, tile);
	wdev->sram_kib = WSE_GET(CORE, SRAM_KIB, core);
	wdev->geom.sram_bytes = wdev->sram_kib * 1024;
	wdev->geom.colors = WSE_GET(CORE, COLORS, core);
	wdev->lanes = WSE_GET(CORE, LANES, core);
	count = WSE_GET(QUEUES, COUNT, queues);
	depth_log2 = WSE_GET(QUEUES, DEPTH_LOG2, queues);
	if (!wdev->geom.rows || !wdev->geom.cols || !wdev->sram_kib || !wdev->geom.colors ||
	    count < 2 || count > WSE_MAX_QUEUES || depth_log2 < 1 ||
	    depth_log2 > ilog2(WSE_MAX_DEPTH)) {
		drm_err(drm, "impossible capabilities: tile %#x, core %#x, queues %#x\n", tile,
			core, queues);
		return -ENODEV;
	}
	wdev->geom.queues = count - 1;
	wdev->nrings = count;
	wdev->depth = 1u << depth_log2;
	return 0;
}

/* Memory of rings and fault records. It goes with the PCI device. */
int wse_dev_alloc(struct wse_device *wdev)
{
	struct device *dev = wdev->drm.dev;
	unsigned int i;
	int ret;

	wdev->faults = dmam_alloc_coherent(dev, WSE_FAULTS * sizeof(*wdev->faults),
					   &wdev->faults_dma, GFP_KERNEL);
	if (!wdev->faults)
		return -ENOMEM;
	for (i = 0; i < wdev->nrings; i++) {
		ret = wse_ring_alloc(wdev, &wdev->ring[i], i,
				     i ? wdev->depth : min(WSE_ADMIN_DEPTH, wdev->depth));
		if (ret)
			return ret;
	}
	return 0;
}

static int wse_wait_ready(struct wse_device *wdev, u32 want)
{
	u32 status;
	int ret;

	/*
	 * The device answers EN within cycles. Ten seconds are for the host below an emulated one,
	 * which may be busy with something else.
	 */
	ret = read_poll_timeout(wse_read, status,
				status == WSE_GONE || (status & WSE_STATUS_RDY_MASK) == want, 50,
				10 * USEC_PER_SEC, false, wdev, WSE_REG_STATUS);
	if (status == WSE_GONE)
		return -ENODEV;
	if (ret)
		drm_err(&wdev->drm, "STATUS.RDY does not become %u (STATUS is %#x)\n", want,
			status);
	return ret;
}

static u64 wse_cycles_locked(struct wse_device *wdev)
{
	u32 lo = wse_read(wdev, WSE_REG_CYCLES_LO), hi = wse_read(wdev, WSE_REG_CYCLES_HI);

	lockdep_assert_held(&wdev->cycles_lock);
	/* a device that is gone has stopped counting */
	return lo == WSE_GONE && hi == WSE_GONE ? 0 : (u64)hi << 32 | lo;
}

/* Device cycles since probe: resets do not set it back. In drm_dev_enter(). */
u64 wse_dev_cycles(struct wse_device *wdev)
{
	u64 cycles;

	/* who resets the device holds it until it is ready, 10 s at most */
	if (mutex_lock_killable(&wdev->cycles_lock))
		return 0;
	cycles = wdev->cycles_before + wse_cycles_locked(wdev);
	mutex_unlock(&wdev->cycles_lock);
	return cycles;
}

/* Both values of CTRL that this is for reset the device, and its cycles with it. */
static int wse_ctrl_reset(struct wse_device *wdev, u32 ctrl)
{
	u64 cycles;
	int ret;

	guard(mutex)(&wdev->cycles_lock);
	cycles = wdev->cycles_before + wse_cycles_locked(wdev);
	wse_write(wdev, WSE_REG_CTRL, ctrl);
	ret = wse_wait_ready(wdev, 0);
	wdev->cycles_before = cycles - wse_cycles_locked(wdev);
	return ret;
}

/*
 * Resets the device and brings it up with an empty admin ring and no queues: nothing of before is
 * executed or written after this. Caller holds hw_mutex and sees to the jobs of before.
 */
int wse_dev_enable(struct wse_device *wdev)
{
	struct wse_ring *admin = &wdev->ring[0];
	u32 entries = admin->state.size - 1;
	unsigned int i;
	int ret;

	lockdep_assert_held(&wdev->hw_mutex);
	ret = wse_ctrl_reset(wdev, WSE_CTRL_RST_MASK);
	if (ret)
		return ret;

	scoped_guard(spinlock_irq, &wdev->lock) {
		for (i = 0; i < wdev->nrings; i++)
			wse_ring_init(&wdev->ring[i]);
		memset(wdev->faults, 0, WSE_FAULTS * sizeof(*wdev->faults));
		wdev->error = NULL;
	}
	wdev->need_restart = false;
	wdev->clean = false;

	wse_write(wdev, WSE_REG_AQ_SIZE, entries | entries << 16);
	wse_write(wdev, WSE_REG_ASQ_LO, lower_32_bits(admin->sq_dma));
	wse_write(wdev, WSE_REG_ASQ_HI, upper_32_bits(admin->sq_dma));
	wse_write(wdev, WSE_REG_ACQ_LO, lower_32_bits(admin->cq_dma));
	wse_write(wdev, WSE_REG_ACQ_HI, upper_32_bits(admin->cq_dma));
	wse_write(wdev, WSE_REG_FAULT_LO, lower_32_bits(wdev->faults_dma));
	wse_write(wdev, WSE_REG_FAULT_HI, upper_32_bits(wdev->faults_dma));
	wse_write(wdev, WSE_REG_FAULT_SIZE, WSE_FAULTS);
	wse_write(wdev, WSE_REG_INTR_MASK, 0);
	wse_write(wdev, WSE_REG_CTRL, WSE_CTRL_EN_MASK);
	return wse_wait_ready(wdev, WSE_STATUS_RDY_MASK);
}

/* The last thing that it hears: no DMA after this, as far as it obeys. */
void wse_dev_disable(struct wse_device *wdev)
{
	wse_ctrl_reset(wdev, 0);
	/* and if it does not */
	pci_clear_master(wse_pdev(wdev));
}

/*
 * A look at a device that owes us completions. 0: it works, or may still; -ENODEV: it is gone;
 * -EIO: it says that it has halted; -ETIME: it stands still.
 */
int wse_dev_health(struct wse_device *wdev, struct wse_pulse *pulse)
{
	u32 status = wse_read(wdev, WSE_REG_STATUS), cycles;

	if (status == WSE_GONE)
		return -ENODEV;
	if (status & WSE_STATUS_HALTED_MASK)
		return -EIO;
	scoped_guard(mutex, &wdev->cycles_lock)
		cycles = wse_read(wdev, WSE_REG_CYCLES_LO);
	/* the first look has nothing to compare with */
	if (pulse->looks++)
		pulse->total += cycles - pulse->cycles;
	if (cycles - pulse->cycles >= WSE_LEAST_CYCLES)
		pulse->strikes = 0;
	else if (++pulse->strikes > WSE_STRIKES)
		return -ETIME;
	pulse->cycles = cycles;
	return 0;
}

/*
 * The device does what it must not: no ring of it is looked at until it is reset. Who waits for an
 * admin command looks at error himself. Caller holds wse_device.lock.
 */
void wse_dev_fail(struct wse_device *wdev, const char *error)
{
	lockdep_assert_held(&wdev->lock);
	if (wdev->error || wdev->dead)
		return;
	wdev->error = error;
	if (wdev->ctx && !wdev->ctx->err)
		wdev->ctx->err = -EIO;
	queue_work(wdev->wq, &wdev->reset_work);
}
