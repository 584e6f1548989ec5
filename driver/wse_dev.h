/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_DEV_H
#define WSE_DEV_H

#include <linux/completion.h>
#include <linux/io.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include <drm/wse_accel.h>

#include "wse_fw.h"
#include "wse_ring.h"
#include "wse_cmd.h"

struct wse_ctx;

/* State from one poll of the device to the next. */
struct wse_pulse {
	u64 progress; /* wse_device.progress at the first poll; the watchdog's */
	unsigned int in_budget; /* the last look that found budget left; the watchdog's */
	u32 cycles; /* low half of the counter */
	u64 total;  /* cycles since the first poll */
	unsigned int looks;
	unsigned int strikes; /* polls in a row that saw none */
};

/*
 * Calls go one way: drv -> lease, submit, gem -> reset -> irq -> job -> admin -> ctx, dev -> ring.
 * A lower part that detects a condition stores it in here and queues the work that acts on it.
 *
 * Locks, outermost first:
 *
 * hw_mutex: the admin queue and everything that changes the device's state as a whole, that is
 * start, reset, hand-over of the lease. Held while admin commands run, and so as long as the device
 * takes: only workers, probe and removal take it, never a user's process. Fences wait for it, so
 * its holder must not wait for memory (see wse_signalling in wse_fence.h).
 *
 * fw_mutex, bo_lock, cycles_lock: each protects one thing.
 *
 * lock: rings, jobs, the state of contexts. Taken in hard interrupts, never held across slow work.
 * Fences signal after it has been dropped.
 */
struct wse_device {
	struct drm_device drm;
	void __iomem *mmio;

	/* capabilities, constant after probe */
	struct wse_geom geom;
	u32 abi;
	u32 sram_kib;
	u32 lanes;
	u32 features;
	unsigned int nrings; /* the admin ring included */
	unsigned int depth;  /* entries of an I/O ring */
	unsigned int nvectors;
	bool bounces; /* the host copies memory mapped for the device, see wse_pages.c */

	struct mutex hw_mutex; /* see above, as for the other locks */
	bool clean;	       /* hw_mutex: SRAM is zero, cores are held, nothing is routed */
	bool need_restart;     /* hw_mutex: the admin queue is no longer reliable */
	u8 held;	       /* who holds it, an enum wse_holder each; see wse_hold() */
	unsigned long deadline;	/* hw_mutex: jiffies until which admin commands may take */
	u64 resets;	       /* hw_mutex */
	struct completion admin_done;
	u16 admin_status; /* written before admin_done */

	spinlock_t lock; /* all down to ctx */
	struct wse_ring ring[WSE_MAX_QUEUES];
	struct list_head pending; /* jobs that wait for fences or room, in order */
	struct list_head active;  /* jobs in the rings */
	unsigned int inflight;	  /* commands in I/O rings */
	u64 completions;
	u64 progress; /* grows when commands end, and when an idle device gets some */
	const char *error; /* not NULL: the device misbehaved in this way, reset it */
	u32 next_ctx;
	char *dump_room;   /* for a core dump, or NULL */
	char *dump;	   /* a dump that is taken and not published, or NULL */
	size_t dump_bytes; /* of that dump */

	/*
	 * The errno of a device that is lost for good: -ENODEV, or 0. Set once, under lock; read
	 * anywhere, since a reader that misses it merely finds out later.
	 */
	int dead;

	struct wse_ctx *ctx; /* owner of the lease; lock, and to NULL only with hw_mutex */
	struct list_head waiters; /* contexts that wait for it, in order; lock */
	struct drm_wse_fault last_fault; /* of any context; lock */

	/*
	 * Fences wait for work in wq, and tasks short of memory may wait for fences: so wq has a
	 * thread in reserve, and its work never waits for memory. Work that waits for memory, or
	 * takes locks of tasks that do, is in slow_wq.
	 */
	struct workqueue_struct *wq;
	struct work_struct push_work;
	struct work_struct reset_work;
	struct work_struct lease_work;
	struct delayed_work watchdog;
	struct workqueue_struct *slow_wq;
	struct work_struct dump_work;
	struct delayed_work reap_work;
	struct delayed_work recovery; /* ends the wait for the PCI core's recovery */
	struct wse_pulse pulse; /* the watchdog's own */
	struct llist_head reap; /* finished jobs to release */

	struct wse_fault *faults; /* written by the device */
	dma_addr_t faults_dma;

	struct mutex fw_mutex; /* loading of fw */
	struct wse_fw_image fw;

	struct mutex cycles_lock; /* reads of counters: a lower half latches the upper one */
	u64 cycles_before;	  /* its count before the last reset; cycles_lock */

	struct mutex bo_lock; /* bos, and the page lists of those in it */
	struct list_head bos;
	u32 list_bytes; /* of a page list; a longer one may lie in pieces; less only for tests */
};

#define to_wse_device(d) container_of(d, struct wse_device, drm)

/* records in the ring of fault records */
#define WSE_FAULTS 64u

static inline struct pci_dev *wse_pdev(const struct wse_device *wdev)
{
	return to_pci_dev(wdev->drm.dev);
}

static inline u32 wse_read(const struct wse_device *wdev, u32 reg)
{
	return readl(wdev->mmio + reg);
}

static inline void wse_write(const struct wse_device *wdev, u32 reg, u32 value)
{
	writel(value, wdev->mmio + reg);
}

void wse_init_early(struct wse_device *wdev);
int wse_dev_identify(struct wse_device *wdev);
int wse_dev_alloc(struct wse_device *wdev);
int wse_dev_enable(struct wse_device *wdev);
void wse_dev_disable(struct wse_device *wdev);
int wse_dev_health(struct wse_device *wdev, struct wse_pulse *pulse);
u64 wse_dev_cycles(struct wse_device *wdev);
void wse_dev_fail(struct wse_device *wdev, const char *error);

#endif
