// SPDX-License-Identifier: MIT
/* Driver of the device in ../adder.c: adds a page's words with it once, when it is bound. */
#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/pci.h>

static irqreturn_t adder_irq(int irq, void *done)
{
	complete(done);
	return IRQ_HANDLED;
}

static int adder_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct device *dev = &pdev->dev;
	struct completion *done = devm_kzalloc(dev, sizeof(*done), GFP_KERNEL);
	u32 n = PAGE_SIZE / 4 - 1, want = 0, *word;
	int err = pcim_enable_device(pdev);
	void __iomem *bar;
	dma_addr_t at;

	bar = err ? NULL : pcim_iomap(pdev, 0, 0);
	if (!done || !bar || ioread32(bar) != 0x31444441)
		return -ENODEV;
	err = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(64));
	word = err ? NULL : dmam_alloc_coherent(dev, PAGE_SIZE, &at, GFP_KERNEL);
	if (!word)
		return err ? err : -ENOMEM;
	init_completion(done);
	err = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSIX);
	if (err == 1) /* vector, as many as were asked for */
		err = devm_request_irq(dev, pci_irq_vector(pdev, 0), adder_irq, 0, "adder", done);
	if (err)
		return err;
	for (u32 i = 0; i < n; i++)
		want += word[i] = i * 2654435761u;
	pci_set_master(pdev);
	iowrite32(lower_32_bits(at), bar + 0x04);
	iowrite32(upper_32_bits(at), bar + 0x08);
	iowrite32(n, bar + 0x0c);
	iowrite32(1, bar + 0x10);
	if (!wait_for_completion_timeout(done, 10 * HZ))
		err = -ETIMEDOUT;
	else if (ioread32(bar + 0x18) != 1 || ioread32(bar + 0x14) != want || word[n] != want)
		err = -EIO;
	else
		pci_info(pdev, "%u words add up to 0x%08x\n", n, want);
	pci_clear_master(pdev);
	return err;
}

static const struct pci_device_id adder_ids[] = {{PCI_DEVICE(0x1234, 0xadd1)}, {}};
MODULE_DEVICE_TABLE(pci, adder_ids);
static struct pci_driver adder_driver = {
	.name = "adder", .id_table = adder_ids, .probe = adder_probe};
module_pci_driver(adder_driver);
MODULE_DESCRIPTION("driver of a PCI device in a process");
MODULE_LICENSE("Dual MIT/GPL");
