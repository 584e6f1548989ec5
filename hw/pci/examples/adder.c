// SPDX-License-Identifier: MIT
/*
 * A PCI device in a hundred lines: adds N words of the guest's memory, writes the sum behind them
 * and interrupts.
 *
 *	adder SOCKET [READY-FD]
 *
 * 0x00 ID ro "ADD1"; 0x04, 0x08 ADDRESS low, high; 0x0c COUNT of 32-bit words; 0x10 GO wo: adds
 * them; 0x14 SUM ro, modulo 2^32; 0x18 STATUS ro: 0 no sum yet, 1 done, 2 an error: SUM is 0
 */
#include <wse_pci.h>

#define ADDER_MAX 65536u /* words: the guest stands still while they are added */

enum reg { ID, ADDRESS_LO, ADDRESS_HI, COUNT, GO, SUM, STATUS, REGS };
static const char *const name[REGS] = {"ID", "ADDRESS_LO", "ADDRESS_HI", "COUNT",
				       "GO", "SUM",	   "STATUS"};

struct adder {
	struct wse_pci_host host;
	uint32_t reg[REGS];
	bool master;
};

static const struct wse_pci_id id = {
	.vendor = 0x1234, /* no vendor's */
	.device = 0xadd1,
	.class_code = 0xff0000,
	.bar0_bytes = 4096,
	.vectors = 1,
};

static void add(struct adder *a)
{
	uint64_t iova = (uint64_t)a->reg[ADDRESS_HI] << 32 | a->reg[ADDRESS_LO];
	uint32_t word[256], sum = 0, n, left = a->reg[COUNT];
	bool good = a->master && left <= ADDER_MAX;

	for (; good && left; left -= n, iova += 4ull * n) {
		n = left < 256 ? left : 256;
		good = !wse_pci_dma_read(a->host.dma, iova, word, 4ul * n);
		for (uint32_t i = 0; good && i < n; i++)
			sum += word[i];
	}
	good = good && !wse_pci_dma_write(a->host.dma, iova, &sum, 4);
	a->reg[SUM] = good ? sum : 0;
	a->reg[STATUS] = good ? 1 : 2;
	wse_pci_irq(a->host.server, 0);
}

static uint32_t adder_read(void *dev, uint32_t offset)
{
	return offset / 4 < REGS ? ((struct adder *)dev)->reg[offset / 4] : 0;
}

static void adder_write(void *dev, uint32_t offset, uint32_t value)
{
	struct adder *a = dev;

	if (offset / 4 >= ADDRESS_LO && offset / 4 <= COUNT)
		a->reg[offset / 4] = value;
	else if (offset / 4 == GO)
		add(a);
}

static const char *adder_name(void *dev, uint32_t offset)
{
	(void)dev;
	return offset / 4 < REGS ? name[offset / 4] : NULL;
}

static void adder_reset(void *dev)
{
	struct adder *a = dev;

	*a = (struct adder){.host = a->host, .reg[ID] = 0x31444441};
}

static void adder_master(void *dev, bool on)
{
	((struct adder *)dev)->master = on;
}

static const struct wse_pci_ops ops = {.read32 = adder_read,
				       .write32 = adder_write,
				       .reset = adder_reset,
				       .bus_master = adder_master,
				       .name = adder_name};

int main(int argc, char **argv)
{
	struct adder a = {0};

	return wse_pci_main(argc, argv, &id, &ops, &a, &a.host);
}
