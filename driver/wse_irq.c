// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts: one vector per ring, or one for all. Edge triggered messages which may have been
 * merged on their way, so a handler looks at the rings and never counts.
 */
#include <linux/interrupt.h>

#include "wse_admin.h"
#include "wse_dev.h"
#include "wse_fence.h"
#include "wse_irq.h"
#include "wse_job.h"

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

static void wse_process(struct wse_device *wdev, unsigned int first, unsigned int n)
{
	bool more;
	LIST_HEAD(done);

	guard(wse_signalling)();
	scoped_guard(spinlock_irqsave, &wdev->lock) {
		for (; n; n--, first++) {
			if (first)
				wse_jobs_poll(wdev, &wdev->ring[first], &done);
			else
				wse_admin_poll(wdev);
		}
		more = !list_empty(&wdev->pending);
	}
	wse_jobs_signal(wdev, &done);
	if (more)
		queue_work(wdev->wq, &wdev->push_work);
}

/* Looks at all rings without having been told to. */
void wse_irq_poll(struct wse_device *wdev)
{
	wse_process(wdev, 0, wdev->nrings);
}

static irqreturn_t wse_irq_all(int irq, void *data)
{
	wse_irq_poll(data);
	return IRQ_HANDLED;
}

static irqreturn_t wse_irq_one(int irq, void *data)
{
	struct wse_ring *ring = data;
	struct wse_device *wdev = container_of(ring - ring->id, struct wse_device, ring[0]);

	wse_process(wdev, ring->id, 1);
	return IRQ_HANDLED;
}

int wse_irq_request(struct wse_device *wdev)
{
	struct pci_dev *pdev = wse_pdev(wdev);
	unsigned int i;
	int ret;

	if (wdev->nvectors == 1)
		return devm_request_irq(&pdev->dev, pci_irq_vector(pdev, 0), wse_irq_all, 0, "wse",
					wdev);
	for (i = 0; i < wdev->nvectors; i++) {
		ret = devm_request_irq(&pdev->dev, pci_irq_vector(pdev, i), wse_irq_one, 0, "wse",
				       &wdev->ring[i]);
		if (ret)
			return ret;
	}
	return 0;
}

/* No handler runs any more that began before this. */
void wse_irq_sync(struct wse_device *wdev)
{
	unsigned int i;

	for (i = 0; i < wdev->nvectors; i++)
		synchronize_irq(pci_irq_vector(wse_pdev(wdev), i));
}
