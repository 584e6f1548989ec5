// SPDX-License-Identifier: MIT
/*
 * A PCI device in a hundred lines: adds N words of the guest's memory and interrupts.
 *
 *	adder SOCKET [READY-FD]
 *
 * 0x00 ID ro "ADD1"; 0x04, 0x08 ADDRESS low, high; 0x0c COUNT of 32-bit words; 0x10 GO wo: adds
 * them; 0x14 SUM ro, modulo 2^32; 0x18 STATUS ro: 0 no sum yet, 1 done, 2 the memory cannot be read
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#include <wse_pci.h>

#define ADDER_MAX 65536u /* words: the guest stands still while they are added */

struct adder {
	struct wse_pci_dma *dma;
	struct wse_pci_server *server;
	uint32_t address[2], count, sum, status;
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
	uint64_t iova = (uint64_t)a->address[1] << 32 | a->address[0];
	uint32_t word[256], n;

	a->sum = 0;
	a->status = a->master && a->count <= ADDER_MAX ? 1 : 2;
	for (uint32_t left = a->count; left && a->status == 1; left -= n, iova += 4ull * n) {
		n = left < 256 ? left : 256;
		if (wse_pci_dma_read(a->dma, iova, word, 4ul * n))
			a->status = 2;
		for (uint32_t i = 0; i < n && a->status == 1; i++)
			a->sum += word[i];
	}
	wse_pci_irq(a->server, 0);
}

static uint32_t adder_read(void *dev, uint32_t offset)
{
	const struct adder *a = dev;
	const uint32_t reg[] = {0x31444441, a->address[0], a->address[1], a->count,
				0,	    a->sum,	   a->status};

	return offset / 4 < sizeof(reg) / 4 ? reg[offset / 4] : 0;
}

static const char *adder_name(void *dev, uint32_t offset)
{
	static const char *const name[] = {"ID", "ADDRESS_LO", "ADDRESS_HI", "COUNT",
					   "GO", "SUM",	       "STATUS"};

	(void)dev;
	return offset / 4 < sizeof(name) / sizeof(*name) ? name[offset / 4] : NULL;
}

static void adder_write(void *dev, uint32_t offset, uint32_t value)
{
	struct adder *a = dev;

	if (offset == 0x04 || offset == 0x08)
		a->address[offset / 4 - 1] = value;
	else if (offset == 0x0c)
		a->count = value;
	else if (offset == 0x10)
		add(a);
}

static void adder_reset(void *dev)
{
	struct adder *a = dev;

	*a = (struct adder){.dma = a->dma, .server = a->server};
}

static void adder_master(void *dev, bool on)
{
	((struct adder *)dev)->master = on;
}

static const struct wse_pci_ops ops = {
	.read32 = adder_read,
	.write32 = adder_write,
	.reset = adder_reset,
	.bus_master = adder_master,
	.name = adder_name,
};

int main(int argc, char **argv)
{
	struct adder a = {0};
	struct wse_pci_log log;
	sigset_t stop;
	int err;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: adder SOCKET [READY-FD]\n");
		return 2;
	}
	wse_pci_log_init(&log, stderr, "adder");
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGINT);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	err = wse_pci_dma_catch_sigbus();
	if (!err)
		err = wse_pci_dma_create(&a.dma);
	if (!err)
		err = wse_pci_create(argv[1], &id, a.dma, &log, &a.server);
	if (!err)
		wse_pci_watch_spin(a.server, 10000);
	if (!err && argc > 2)
		err = wse_pci_ready(a.server, atoi(argv[2]));
	if (!err)
		err = wse_pci_serve(a.server, &ops, &a, signalfd(-1, &stop, SFD_CLOEXEC));
	if (err)
		fprintf(stderr, "adder: %s: %s\n", argv[1], strerror(-err));
	wse_pci_destroy(a.server);
	wse_pci_dma_destroy(a.dma);
	return err ? 1 : 0;
}
