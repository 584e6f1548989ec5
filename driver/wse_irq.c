// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts: one vector per ring, or one for all. They are edge triggered messages, which may be
 * merged on their way, so a handler reads the rings and never counts.
 *
 * The hard handler takes completions itself, since a switch to a thread costs more than completing
 * most jobs. But it takes at most a batch: its thread takes the rest of the ring.
 */
#include <linux/interrupt.h>

#include "wse_admin.h"
#include "wse_dev.h"
#include "wse_fence.h"
#include "wse_irq.h"
#include "wse_job.h"

/* Completions taken in one go, with interrupts off. */
#define WSE_IRQ_BATCH 256u

static void wse_free_vectors(void *pdev)
{
	pci_free_irq_vectors(pdev);
}

int wse_irq_init(struct wse_device *wdev)
{
	struct pci_dev *pdev = wse_pdev(wdev);
	int n;

	n = pci_alloc_irq_vectors(pdev, wdev->nrings, wdev->nrings, PCI_IRQ_MSIX);
	if (n < 0)
		n = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSIX);
	if (n < 0) {
		drm_err(&wdev->drm, "no MSI-X vector: %d\n", n);
		return n;
	}
	wdev->nvectors = n;
	return devm_add_action_or_reset(&pdev->dev, wse_free_vectors, pdev);
}

unsigned int wse_irq_vector(const struct wse_device *wdev, unsigned int ring)
{
	return wdev->nvectors > 1 ? ring : 0;
}

/* Takes the completions of these rings, WSE_IRQ_BATCH at most. Returns their number. */
static unsigned int wse_process(struct wse_device *wdev, unsigned int first, unsigned int n)
{
	unsigned int left = WSE_IRQ_BATCH;
	bool more;
	LIST_HEAD(done);

	guard(wse_signalling)();
	scoped_guard(spinlock_irqsave, &wdev->lock) {
		for (; n && left; n--, first++)
			left -= first ? wse_jobs_poll(wdev, &wdev->ring[first], left, &done) :
					wse_admin_poll(wdev);
		more = !list_empty(&wdev->pending);
	}
	wse_jobs_signal(wdev, &done);
	if (more)
		queue_work(wdev->wq, &wdev->push_work);
	return WSE_IRQ_BATCH - left;
}

/* Reads all rings without an interrupt. Not for hard interrupts. */
void wse_irq_poll(struct wse_device *wdev)
{
	while (wse_process(wdev, 0, wdev->nrings) == WSE_IRQ_BATCH)
		cond_resched();
}

static irqreturn_t wse_irq_hard(struct wse_device *wdev, unsigned int first, unsigned int n)
{
	unsigned int took = wse_process(wdev, first, n);

	if (!took)
		return IRQ_NONE;
	return took < WSE_IRQ_BATCH ? IRQ_HANDLED : IRQ_WAKE_THREAD;
}

static irqreturn_t wse_irq_all(int irq, void *data)
{
	struct wse_device *wdev = data;

	return wse_irq_hard(wdev, 0, wdev->nrings);
}

static irqreturn_t wse_irq_all_thread(int irq, void *data)
{
	wse_irq_poll(data);
	return IRQ_HANDLED;
}

static struct wse_device *wse_ring_device(struct wse_ring *ring)
{
	return container_of(ring - ring->id, struct wse_device, ring[0]);
}

static irqreturn_t wse_irq_one(int irq, void *data)
{
	struct wse_ring *ring = data;

	return wse_irq_hard(wse_ring_device(ring), ring->id, 1);
}

static irqreturn_t wse_irq_one_thread(int irq, void *data)
{
	struct wse_ring *ring = data;

	while (wse_process(wse_ring_device(ring), ring->id, 1) == WSE_IRQ_BATCH)
		cond_resched();
	return IRQ_HANDLED;
}

int wse_irq_request(struct wse_device *wdev)
{
	struct pci_dev *pdev = wse_pdev(wdev);
	unsigned int i;
	int ret;

	if (wdev->nvectors == 1)
		return devm_request_threaded_irq(&pdev->dev, pci_irq_vector(pdev, 0), wse_irq_all,
						 wse_irq_all_thread, 0, "wse", wdev);
	for (i = 0; i < wdev->nvectors; i++) {
		ret = devm_request_threaded_irq(&pdev->dev, pci_irq_vector(pdev, i), wse_irq_one,
						wse_irq_one_thread, 0, "wse", &wdev->ring[i]);
		if (ret)
			return ret;
	}
	return 0;
}

/* Waits until all handlers that began before this have ended. */
void wse_irq_sync(struct wse_device *wdev)
{
	unsigned int i;

	for (i = 0; i < wdev->nvectors; i++)
		synchronize_irq(pci_irq_vector(wse_pdev(wdev), i));
}
