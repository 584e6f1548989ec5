// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the arithmetic of rings and of page lists, and events that no user can cause on purpose.
 * No case needs or touches a device. Part of wse.ko where the kernel has KUnit built in; it runs
 * when the module is loaded.
 */
#include <kunit/device.h>
#include <kunit/test.h>
#include <linux/dma-mapping.h>
#include <linux/pci.h>
#include <linux/prandom.h>
#include <linux/scatterlist.h>
#include <linux/workqueue.h>

#include "wse_cmd.h"
#include "wse_ctx.h"
#include "wse_dev.h"
#include "wse_dump.h"
#include "wse_job.h"
#include "wse_lease.h"
#include "wse_list.h"
#include "wse_power.h"
#include "wse_reset.h"
#include "wse_ring.h"

/* --- rings: wse/wse_ring.h -------------------------------------------------------------------- */

static struct wse_ring_state wse_new_ring(u32 size)
{
	struct wse_ring_state s = { .size = size };

	wse_ring_restart(&s);
	return s;
}

static void wse_ring_fills_up(struct kunit *test)
{
	struct wse_ring_state s = wse_new_ring(8);
	u32 i;

	KUNIT_EXPECT_FALSE(test, s.doorbell_pending);
	for (i = 0; i < 7; i++) {
		KUNIT_EXPECT_EQ(test, 7 - i, wse_ring_space(&s));
		KUNIT_EXPECT_EQ(test, i, wse_ring_claim(&s));
		KUNIT_EXPECT_EQ(test, i + 1, s.seq);
	}
	KUNIT_EXPECT_EQ(test, 0, wse_ring_space(&s));
	KUNIT_EXPECT_TRUE(test, s.doorbell_pending);
	KUNIT_EXPECT_NULL(test, wse_ring_take(&s, 0, 7));
	KUNIT_EXPECT_EQ(test, 1, wse_ring_space(&s));
	KUNIT_EXPECT_EQ(test, 7, wse_ring_claim(&s));
	KUNIT_EXPECT_EQ(test, 0, s.tail);
	KUNIT_EXPECT_EQ(test, 0, wse_ring_space(&s));
}

/* The smallest ring that a device may have: one entry at a time. */
static void wse_ring_of_two(struct kunit *test)
{
	struct wse_ring_state s = wse_new_ring(2);
	u32 i, phase = 1;

	for (i = 0; i < 9; i++) {
		KUNIT_ASSERT_EQ(test, 1, wse_ring_space(&s));
		KUNIT_EXPECT_EQ(test, i % 2, wse_ring_claim(&s));
		KUNIT_EXPECT_EQ(test, 0, wse_ring_space(&s));
		KUNIT_EXPECT_TRUE(test, wse_ring_is_new(&s, phase));
		KUNIT_EXPECT_FALSE(test, wse_ring_is_new(&s, phase ^ 1));
		KUNIT_ASSERT_NULL(test, wse_ring_take(&s, i % 2, (i + 1) % 2));
		phase ^= i % 2;
	}
}

/* The contents of an empty ring are never new, whatever phase they have. */
static void wse_ring_empty(struct kunit *test)
{
	struct wse_ring_state s = wse_new_ring(4);

	KUNIT_EXPECT_FALSE(test, wse_ring_is_new(&s, 0));
	KUNIT_EXPECT_FALSE(test, wse_ring_is_new(&s, 1));
	wse_ring_claim(&s);
	KUNIT_EXPECT_TRUE(test, wse_ring_is_new(&s, 0xffff));
	KUNIT_EXPECT_NULL(test, wse_ring_take(&s, 0, 1));
	KUNIT_EXPECT_FALSE(test, wse_ring_is_new(&s, 1));
}

/* Every possible command id and head, compared with results by hand. */
static void wse_ring_believes_nothing(struct kunit *test)
{
	u32 size = 16, head, due, cid, sqhd;

	for (head = 0; head < size; head++) {
		for (due = 1; due < size; due++) {
			for (cid = 0; cid < size + 2; cid++) {
				for (sqhd = 0; sqhd < 2 * size; sqhd++) {
					struct wse_ring_state s = wse_new_ring(size);
					u32 taken = (sqhd - head) & (size - 1);
					bool good = cid == head && sqhd < size && taken &&
						    taken <= due;

					s.head = head;
					s.tail = (head + due) % size;
					if (!!wse_ring_take(&s, cid, sqhd) == good ||
					    s.head != (head + good) % size)
						KUNIT_FAIL(test,
							   "size %u head %u due %u cid %u sqhd %u",
							   size, head, due, cid, sqhd);
				}
			}
		}
	}
}

/* The driver returns completions to the device often enough, and each of them once. */
static void wse_ring_doorbells(struct kunit *test)
{
	static const u32 sizes[] = { 2, 4, 8, 1024 };
	u32 i, n, rung, since;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct wse_ring_state s = wse_new_ring(sizes[i]);

		KUNIT_EXPECT_FALSE(test, wse_ring_cq_doorbell_due(&s));
		for (n = rung = since = 0; n < 4 * sizes[i]; n++) {
			wse_ring_claim(&s);
			KUNIT_ASSERT_NULL(test, wse_ring_take(&s, s.head, s.tail));
			since++;
			if (!wse_ring_cq_doorbell_due(&s))
				continue;
			KUNIT_EXPECT_EQ(test, s.head, s.cq_doorbell);
			KUNIT_EXPECT_FALSE(test, wse_ring_cq_doorbell_due(&s));
			rung++;
			since = 0;
		}
		KUNIT_EXPECT_EQ(test, min(16u, 4 * sizes[i]), rung);
		KUNIT_EXPECT_LT(test, since, (sizes[i] + 3) / 4);
	}
}

/* Before a reset that empties the ring the driver takes completions and rings no doorbell. */
static void wse_ring_frozen(struct kunit *test)
{
	struct wse_ring_state s = wse_new_ring(4);
	u32 i;

	for (i = 0; i < 3; i++)
		wse_ring_claim(&s);
	wse_ring_freeze(&s);
	KUNIT_EXPECT_FALSE(test, s.doorbell_pending);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_NULL(test, wse_ring_take(&s, i, 3));
		KUNIT_EXPECT_FALSE(test, wse_ring_cq_doorbell_due(&s));
	}
	wse_ring_restart(&s);
	wse_ring_claim(&s);
	KUNIT_EXPECT_TRUE(test, s.doorbell_pending);
	KUNIT_EXPECT_NULL(test, wse_ring_take(&s, 0, 1));
	KUNIT_EXPECT_TRUE(test, wse_ring_cq_doorbell_due(&s));
}

/* A ring in use, beside counters that never wrap. */
static void wse_ring_at_work(struct kunit *test)
{
	struct wse_ring_state s = wse_new_ring(32);
	struct rnd_state rnd;
	u32 put = 0, done = 0, n;

	prandom_seed_state(&rnd, 42);
	while (done < 20000) {
		for (n = prandom_u32_state(&rnd) % 40; n && wse_ring_space(&s); n--)
			KUNIT_ASSERT_EQ(test, put++ % 32, wse_ring_claim(&s));
		KUNIT_ASSERT_EQ(test, 31 - (put - done), wse_ring_space(&s));
		for (n = prandom_u32_state(&rnd) % 40; n && done < put; n--) {
			KUNIT_ASSERT_TRUE(test, wse_ring_is_new(&s, ~(done / 32) & 1));
			KUNIT_ASSERT_FALSE(test, wse_ring_is_new(&s, (done / 32) & 1));
			KUNIT_ASSERT_NULL(test, wse_ring_take(&s, done % 32, put % 32));
			done++;
		}
	}
	KUNIT_EXPECT_EQ(test, put, s.seq);
	wse_ring_restart(&s);
	KUNIT_EXPECT_EQ(test, 31, wse_ring_space(&s));
	KUNIT_EXPECT_EQ(test, 0, s.seq);
	KUNIT_EXPECT_EQ(test, 1, s.phase);
}

/* --- page lists: wse_list.c ------------------------------------------------------------------- */

struct wse_piece {
	dma_addr_t addr;
	unsigned int len;
};

/* A mapping without a device; freed with the test. */
static struct sg_table *wse_mapping(struct kunit *test, const struct wse_piece *piece,
				    unsigned int n)
{
	struct sg_table *sgt = kunit_kzalloc(test, sizeof(*sgt), GFP_KERNEL);
	struct scatterlist *sg;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, sgt);
	sgt->sgl = kunit_kcalloc(test, n, sizeof(*sgt->sgl), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, sgt->sgl);
	sg_init_table(sgt->sgl, n);
	sgt->nents = n;
	sgt->orig_nents = n;
	for_each_sgtable_dma_sg(sgt, sg, i) {
		sg_dma_address(sg) = piece[i].addr;
		sg_dma_len(sg) = piece[i].len;
	}
	return sgt;
}

static void wse_shape(struct kunit *test)
{
	static const struct {
		struct wse_piece piece[3];
		unsigned int n;
		size_t size;
		int ret;
		bool direct;
		u32 pshift;
	} cases[] = {
		{ { { 0x1000, 0x3000 } }, 1, 0x3000, 0, true, 12 },
		/* contiguous on the bus is one piece, however many segments it has */
		{ { { 0x10000, 0x1000 }, { 0x11000, 0x1000 } }, 2, 0x2000, 0, true, 16 },
		{ { { 0x10000, 0x1000 }, { 0x30000, 0x1000 } }, 2, 0x2000, 0, false, 12 },
		{ { { 0x10000, 0x10000 }, { 0x40000, 0x10000 } }, 2, 0x20000, 0, false, 16 },
		/* only the end may be ragged */
		{ { { 0x10000, 0x10000 }, { 0x40000, 0x800 } }, 2, 0x10800, 0, false, 16 },
		{ { { 0x10000, 0x800 }, { 0x40000, 0x10000 } }, 2, 0x10800, -EINVAL, false, 0 },
		{ { { 0x10800, 0x10000 } }, 1, 0x10000, -EINVAL, false, 0 },
		/* a border between two segments counts once they are apart */
		{ { { 0x20000, 0x8000 }, { 0x28000, 0x8000 }, { 0x60000, 0x10000 } }, 3, 0x20000, 0,
		  false, 16 },
		/* incomplete */
		{ { { 0x10000, 0x1000 } }, 1, 0x1001, -EINVAL, false, 0 },
		/* at bus address 0 there is no lowest bit */
		{ { { 0, 0x1000 } }, 1, 0x1000, 0, true, WSE_PAGE_SHIFT_MAX },
		{ { { 1ull << 40, 0x1000 } }, 1, 0x1000, 0, true, WSE_PAGE_SHIFT_MAX },
	};
	unsigned int i;
	bool direct;
	u32 pshift;
	int ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ret = wse_sgt_shape(wse_mapping(test, cases[i].piece, cases[i].n), cases[i].size,
				    &pshift, &direct);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].ret, ret, "case %u", i);
		if (ret)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, cases[i].direct, direct, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].pshift, pshift, "case %u", i);
	}
}

/* Where byte off of a mapping lies. */
static dma_addr_t wse_byte(struct sg_table *sgt, size_t off)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (off < sg_dma_len(sg))
			return sg_dma_address(sg) + off;
		off -= sg_dma_len(sg);
	}
	return DMA_MAPPING_ERROR;
}

/* Segments of 1 to 8 pages, scattered. */
static struct sg_table *wse_scattered(struct kunit *test, size_t pages, u32 pshift)
{
	struct wse_piece *piece = kunit_kcalloc(test, pages, sizeof(*piece), GFP_KERNEL);
	struct rnd_state rnd;
	unsigned int n = 0;
	size_t left = pages;

	KUNIT_ASSERT_NOT_NULL(test, piece);
	prandom_seed_state(&rnd, pages);
	while (left) {
		size_t some = min_t(size_t, left, 1 + prandom_u32_state(&rnd) % 8);

		piece[n].addr = (dma_addr_t)(prandom_u32_state(&rnd) & 0xffffff) << pshift;
		piece[n++].len = some << pshift;
		left -= some;
	}
	return wse_mapping(test, piece, n);
}

/* Every page of the buffer, looked up as by a command that touches only this page. */
static void wse_check_list(struct kunit *test, struct wse_list *list, struct sg_table *sgt,
			   size_t size, u32 pshift)
{
	size_t page = (size_t)1 << pshift, off;
	u64 addr, base;
	unsigned int k;

	for (off = 0; off < size; off += page) {
		u64 end = min(off + page, size);

		KUNIT_ASSERT_EQ(test, 0, wse_list_window(list, off, end, &addr, &base));
		for (k = 0; k < list->nblocks && list->block[k].dma != addr; k++)
			;
		KUNIT_ASSERT_LT(test, k, list->nblocks);
		KUNIT_ASSERT_LE(test, base, off);
		KUNIT_ASSERT_LT(test, (off - base) >> pshift, list->bytes / sizeof(__le64));
		KUNIT_ASSERT_EQ(test, wse_byte(sgt, off),
				le64_to_cpu(list->block[k].cpu[(off - base) >> pshift]));
	}
}

static struct device *wse_test_device(struct kunit *test)
{
	struct device *dev = kunit_device_register(test, "wse-kunit");

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	dev->coherent_dma_mask = DMA_BIT_MASK(64);
	dev->dma_mask = &dev->coherent_dma_mask;
	return dev;
}

static void wse_lists(struct kunit *test)
{
	static const struct {
		size_t pages, cut;
		u32 pshift;
	} cases[] = { { 2, 0, 12 }, { 511, 0, 12 }, { 513, 1, 12 }, { 4096, 0, 12 },
		      { 300, 100, 16 } };
	struct device *dev = wse_test_device(test);
	struct wse_list list = {};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sg_table *sgt = wse_scattered(test, cases[i].pages, cases[i].pshift);
		size_t size = (cases[i].pages << cases[i].pshift) - cases[i].cut;

		KUNIT_ASSERT_EQ(test, 0,
				wse_list_build(dev, &list, sgt, size, cases[i].pshift,
					       WSE_LIST_BYTES));
		KUNIT_EXPECT_EQ(test, 1, list.nblocks);
		wse_check_list(test, &list, sgt, size, cases[i].pshift);
		wse_list_free(dev, &list);
		KUNIT_EXPECT_EQ(test, 0, list.nblocks);
	}
}

/* In pieces: each page is at its place, and only a window that is too wide is refused. */
static void wse_lists_in_pieces(struct kunit *test)
{
	static const size_t sizes[] = { 513, 767, 768, 769, 1024, 1025, 5000 };
	struct device *dev = wse_test_device(test);
	struct wse_list list = {};
	u64 addr, base, step;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct sg_table *sgt = wse_scattered(test, sizes[i], 12);
		size_t size = sizes[i] << 12, off;

		KUNIT_ASSERT_EQ(test, 0, wse_list_build(dev, &list, sgt, size, 12, 4096));
		KUNIT_EXPECT_EQ(test, DIV_ROUND_UP(sizes[i], 256) - 1, list.nblocks);
		wse_check_list(test, &list, sgt, size, 12);
		step = list.step;
		KUNIT_EXPECT_EQ(test, 256u << 12, step);
		for (off = 0; off < size; off += 4096) {
			u64 end = min_t(u64, off + step, size);

			/* as wide as promised */
			KUNIT_ASSERT_EQ(test, 0, wse_list_window(&list, off, end, &addr, &base));
			KUNIT_ASSERT_LE(test, base, off);
			KUNIT_ASSERT_LE(test, end, base + list.reach);
		}
		if (size > 2 * step)
			KUNIT_EXPECT_EQ(test, -EFBIG,
					wse_list_window(&list, 0, 2 * step + 1, &addr, &base));
		KUNIT_EXPECT_EQ(test, 0, wse_list_window(&list, 0, 2 * step, &addr, &base));
		wse_list_free(dev, &list);
	}
}

/* --- a device that is not there --------------------------------------------------------------- */

KUNIT_DEFINE_ACTION_WRAPPER(wse_test_destroy_wq, destroy_workqueue, struct workqueue_struct *);

/* The result of probe for a device whose bus has failed for good. It has no rings. */
static struct wse_device *wse_test_gone_device(struct kunit *test)
{
	struct pci_dev *pdev = kunit_kzalloc(test, sizeof(*pdev), GFP_KERNEL);
	struct wse_device *wdev = kunit_kzalloc(test, sizeof(*wdev), GFP_KERNEL);
	void *regs = kunit_kmalloc(test, WSE_BAR0_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, pdev);
	KUNIT_ASSERT_NOT_NULL(test, wdev);
	KUNIT_ASSERT_NOT_NULL(test, regs);
	/* reads give all ones, and the core does not touch the configuration space */
	memset(regs, 0xff, WSE_BAR0_SIZE);
	wdev->mmio = (void __iomem __force *)regs;
	pdev->error_state = pci_channel_io_perm_failure;
	pci_set_drvdata(pdev, wdev);
	wdev->drm.dev = &pdev->dev;
	wdev->geom.queues = 1;

	wse_init_early(wdev);
	mutex_init(&wdev->hw_mutex);
	mutex_init(&wdev->cycles_lock);
	wdev->slow_wq = alloc_workqueue("wse-kunit", WQ_UNBOUND, 0);
	KUNIT_ASSERT_NOT_NULL(test, wdev->slow_wq);
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, wse_test_destroy_wq, wdev->slow_wq));
	wdev->wq = wdev->slow_wq;
	return wdev;
}

/* --- leases: wse_lease.c ---------------------------------------------------------------------- */

/*
 * A reset right after a context got the lease, before its owner looks: the context still has the
 * lease and must give it back, since no other code would.
 */
static void wse_lease_lost_at_once(struct kunit *test)
{
	struct wse_device *wdev = wse_test_gone_device(test);
	struct wse_ctx *ctx = wse_ctx_alloc(wdev);

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	ctx->err = -EIO;
	KUNIT_EXPECT_EQ(test, 0, wse_lease_get(ctx, false));
	KUNIT_EXPECT_PTR_EQ(test, ctx, wdev->ctx);
	KUNIT_EXPECT_TRUE(test, list_empty(&wdev->waiters));
	/* the lease's reference, and ours */
	wse_ctx_put(ctx);
	wse_ctx_put(ctx);

	ctx = wse_ctx_alloc(wdev);
	KUNIT_ASSERT_NOT_NULL(test, ctx);
	wdev->ctx = NULL;
	wdev->dead = -ENODEV;
	KUNIT_EXPECT_EQ(test, -ENODEV, wse_lease_get(ctx, true));
	KUNIT_EXPECT_NULL(test, wdev->ctx);
	KUNIT_EXPECT_TRUE(test, list_empty(&wdev->waiters));
	wse_ctx_put(ctx);
}

/* --- a bus that fails for good: wse_power.c --------------------------------------------------- */

/* With a job that no other code can end. */
static void wse_bus_lost(struct kunit *test)
{
	struct wse_device *wdev = wse_test_gone_device(test);
	struct wse_ctx *ctx = wse_ctx_alloc(wdev);
	struct dma_fence *fence;
	struct wse_job *job;

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	KUNIT_ASSERT_EQ(test, 0, wse_lease_get(ctx, false));
	job = wse_job_alloc(ctx, 1, 0);
	KUNIT_ASSERT_NOT_NULL(test, job);
	job->cmd[0].queue = 1;
	job->need[1] = 1;
	job->queues = BIT(0);
	/* without wse_job_ready() it waits */
	KUNIT_ASSERT_EQ(test, 0, wse_job_queue(job, &fence));
	KUNIT_EXPECT_EQ(test, 0, dma_fence_get_status(fence));
	KUNIT_EXPECT_TRUE(test, PCI_ERS_RESULT_DISCONNECT ==
			  wse_error_handlers.error_detected(wse_pdev(wdev),
							    pci_channel_io_perm_failure));
	KUNIT_EXPECT_EQ(test, -ENODEV, dma_fence_get_status(fence));
	KUNIT_EXPECT_EQ(test, -ENODEV, READ_ONCE(ctx->err));
	KUNIT_EXPECT_EQ(test, -ENODEV, READ_ONCE(wdev->dead));
	/* no other code would end it */
	if (!dma_fence_is_signaled(fence))
		wse_stop(wdev);
	dma_fence_put(fence);
	wse_job_put(job);
	/* the lease's reference, and ours */
	wse_ctx_put(ctx);
	wse_ctx_put(ctx);
}

/* An error is reported, and the PCI core never calls again. */
static void wse_bus_not_recovered(struct kunit *test)
{
	struct wse_device *wdev = wse_test_gone_device(test);
	struct wse_ctx *ctx = wse_ctx_alloc(wdev);

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	KUNIT_EXPECT_TRUE(test, PCI_ERS_RESULT_NEED_RESET ==
			  wse_error_handlers.error_detected(wse_pdev(wdev), pci_channel_io_frozen));
	KUNIT_EXPECT_EQ(test, 0, READ_ONCE(wdev->dead));
	/* does not wait for the end of the delay */
	flush_delayed_work(&wdev->recovery);
	KUNIT_EXPECT_EQ(test, -ENODEV, READ_ONCE(wdev->dead));
	KUNIT_EXPECT_EQ(test, -ENODEV, wse_lease_get(ctx, true));
	wse_ctx_put(ctx);
}

/*
 * The owner closes its context while the bus recovers, or after the driver has given up: the lease
 * ends, since the task that closes it waits for that.
 */
static void wse_bus_not_recovered_owner(struct kunit *test)
{
	unsigned int late;

	for (late = 0; late < 2; late++) {
		struct wse_device *wdev = wse_test_gone_device(test);
		struct wse_ctx *ctx = wse_ctx_alloc(wdev);

		KUNIT_ASSERT_NOT_NULL(test, ctx);
		KUNIT_ASSERT_EQ(test, 0, wse_lease_get(ctx, false));
		ctx->ending = !late;
		wse_error_handlers.error_detected(wse_pdev(wdev), pci_channel_io_frozen);
		queue_work(wdev->wq, &wdev->lease_work);
		flush_work(&wdev->lease_work);
		/* the device may come back, and is cleaned then */
		KUNIT_EXPECT_PTR_EQ(test, ctx, READ_ONCE(wdev->ctx));
		flush_delayed_work(&wdev->recovery);
		KUNIT_EXPECT_EQ(test, -ENODEV, READ_ONCE(wdev->dead));
		if (late) {
			ctx->ending = true;
			queue_work(wdev->wq, &wdev->lease_work);
			flush_work(&wdev->lease_work);
		}
		KUNIT_EXPECT_NULL(test, READ_ONCE(wdev->ctx));
		if (wdev->ctx)
			wse_ctx_put(ctx);
		wse_ctx_put(ctx);
	}
}

/* An administrator resets a device whose bus recovers: the driver waits for the end of both. */
static void wse_bus_reset_while_recovering(struct kunit *test)
{
	struct wse_device *wdev = wse_test_gone_device(test);
	struct pci_dev *pdev = wse_pdev(wdev);

	wse_error_handlers.error_detected(pdev, pci_channel_io_frozen);
	wse_error_handlers.reset_prepare(pdev);
	wse_error_handlers.reset_done(pdev);
	KUNIT_EXPECT_EQ(test, WSE_HOLD_ERROR, READ_ONCE(wdev->held));
	/* a driver that looked at the device would find it gone */
	KUNIT_EXPECT_EQ(test, 0, READ_ONCE(wdev->dead));
	KUNIT_EXPECT_EQ(test, 0, wdev->resets);
	wse_error_handlers.resume(pdev);
	KUNIT_EXPECT_EQ(test, 0, READ_ONCE(wdev->held));
	KUNIT_EXPECT_EQ(test, 1, wdev->resets);
	KUNIT_EXPECT_EQ(test, -ENODEV, READ_ONCE(wdev->dead));
	wse_stop(wdev);
}

/* --- core dumps: wse_dump.c ------------------------------------------------------------------- */

/*
 * More text than there is room for, from rings under a spinlock: the end is cut off, and no code
 * allocates, of which lockdep and the core would complain.
 */
static void wse_dump_of_full_rings(struct kunit *test)
{
	struct wse_device *wdev = wse_test_gone_device(test);
	unsigned int i, k;

	wdev->nrings = WSE_MAX_QUEUES;
	wdev->faults = kunit_kcalloc(test, WSE_FAULTS, sizeof(*wdev->faults), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, wdev->faults);
	memset(wdev->faults, 0xff, WSE_FAULTS * sizeof(*wdev->faults));
	for (i = 0; i < wdev->nrings; i++) {
		struct wse_ring *ring = &wdev->ring[i];

		ring->id = i;
		ring->state = wse_new_ring(64);
		ring->sq = kunit_kcalloc(test, 64, sizeof(*ring->sq), GFP_KERNEL);
		ring->cq = kunit_kcalloc(test, 64, sizeof(*ring->cq), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, ring->sq);
		KUNIT_ASSERT_NOT_NULL(test, ring->cq);
		memset(ring->sq, 0xff, 64 * sizeof(*ring->sq));
		for (k = 0; k < 63; k++)
			wse_ring_claim(&ring->state);
		for (k = 0; k < 31; k++)
			KUNIT_ASSERT_NULL(test, wse_ring_take(&ring->state, k, 63));
	}
	wse_dump_room(wdev);
	scoped_guard(mutex, &wdev->hw_mutex)
		wse_dump_take(wdev, "KUnit wants one");
	KUNIT_ASSERT_NOT_NULL(test, wdev->dump);
	KUNIT_EXPECT_EQ(test, 65535, wdev->dump_bytes);
	KUNIT_EXPECT_EQ(test, 0, strncmp(wdev->dump, "wse core dump 1\nwhy: KUnit", 26));
	wse_dump_free(wdev);
}

static struct kunit_case wse_cases[] = {
	KUNIT_CASE(wse_ring_fills_up),
	KUNIT_CASE(wse_ring_of_two),
	KUNIT_CASE(wse_ring_empty),
	KUNIT_CASE(wse_ring_believes_nothing),
	KUNIT_CASE(wse_ring_doorbells),
	KUNIT_CASE(wse_ring_frozen),
	KUNIT_CASE(wse_ring_at_work),
	KUNIT_CASE(wse_shape),
	KUNIT_CASE(wse_lists),
	KUNIT_CASE(wse_lists_in_pieces),
	KUNIT_CASE(wse_lease_lost_at_once),
	KUNIT_CASE(wse_bus_lost),
	KUNIT_CASE(wse_bus_not_recovered),
	KUNIT_CASE(wse_bus_not_recovered_owner),
	KUNIT_CASE(wse_bus_reset_while_recovering),
	KUNIT_CASE(wse_dump_of_full_rings),
	{}
};

static struct kunit_suite wse_suite = {
	.name = "wse",
	.test_cases = wse_cases,
};

kunit_test_suite(wse_suite);
