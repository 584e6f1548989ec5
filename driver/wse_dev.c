// SPDX-License-Identifier: GPL-2.0
/* The device itself: its capabilities, on and off, and whether it works. */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/log2.h>

#include "wse_ctx.h"
#include "wse_dev.h"

#define WSE_GONE 0xffffffffu /* value of a read that no device answers */

/*
 * A device that counts hardly a cycle in so many polls in a row is stuck. This is no limit on the
 * time of a command: a wafer may be emulated a million times slower than real, but while it works
 * it counts cycles.
 */
#define WSE_STRIKES	 20
#define WSE_LEAST_CYCLES 8

#define WSE_ADMIN_DEPTH 32u

#define WSE_GET(reg, name, value) \
	(((value) & WSE_##reg##_##name##_MASK) >> WSE_##reg##_##name##_SHIFT)

/* Reads the capability registers, and takes values that make sense. */
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
	wdev->geom.bcast_dim = WSE_GET(FEATURES, BCAST_DIM, wdev->features);
	wdev->geom.linear = WSE_GET(FEATURES, LINEAR, wdev->features);
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

/* Memory of rings and fault records. It is freed with the PCI device. */
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
	 * The device answers EN within cycles. Ten seconds are for the host of an emulated device,
	 * which may be busy with other work.
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
	/* a device that is gone no longer counts */
	return lo == WSE_GONE && hi == WSE_GONE ? 0 : (u64)hi << 32 | lo;
}

/* Device cycles since probe, across resets. In drm_dev_enter(). */
u64 wse_dev_cycles(struct wse_device *wdev)
{
	u64 cycles;

	/* a reset holds it until the device is ready, 10 s at most */
	if (mutex_lock_killable(&wdev->cycles_lock))
		return 0;
	cycles = wdev->cycles_before + wse_cycles_locked(wdev);
	mutex_unlock(&wdev->cycles_lock);
	return cycles;
}

/* Both values of CTRL that callers write reset the device, and its cycles with it. */
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
 * Resets the device and brings it up with an empty admin ring and no queues: after this the device
 * executes and writes nothing of earlier commands. Caller holds hw_mutex and handles the earlier
 * jobs.
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
		/* the watchdog must not judge the device by jobs that nothing executes any more */
		wdev->inflight = 0;
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

/* The last write to the device: no DMA after this, if the device obeys. */
void wse_dev_disable(struct wse_device *wdev)
{
	wse_ctrl_reset(wdev, 0);
	/* and if it does not obey */
	pci_clear_master(wse_pdev(wdev));
}

/*
 * Polls a device whose completions are due. 0: it works, or may still; -ENODEV: it is gone; -EIO:
 * it says that it has halted; -ETIME: it stands still.
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
	/* the first poll has nothing to compare with */
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
 * The device has broken the protocol: the driver reads none of its rings until a reset. Code that
 * waits for an admin command checks error itself. Caller holds wse_device.lock.
 */
void wse_dev_fail(struct wse_device *wdev, const char *error)
{
	lockdep_assert_held(&wdev->lock);
	if (wdev->error || wdev->dead)
		return;
	wdev->error = error;
	/* a context that is not ready yet has nothing to lose: it begins after the reset */
	if (wdev->ctx && !wdev->ctx->boot && !wdev->ctx->err)
		wdev->ctx->err = -EIO;
	queue_work(wdev->wq, &wdev->reset_work);
}
