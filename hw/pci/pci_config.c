// SPDX-License-Identifier: MIT
#include "pci_config.h"

#include <string.h>

#include <linux/pci_regs.h>

/* Where the capabilities lie. */
#define CAP_PM	 0x40u
#define CAP_MSIX 0x50u
#define CAP_EXP	 0x60u /* 0x3c bytes */

static void set(uint8_t *p, uint32_t at, uint32_t value, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		p[at + i] = (uint8_t)(value >> (8 * i));
}

static uint16_t get16(const struct pci_config *c, uint32_t at)
{
	return (uint16_t)(c->byte[at] | c->byte[at + 1] << 8);
}

static void init_header(struct pci_config *c, const struct wse_pci_id *id)
{
	uint8_t *b = c->byte, *w = c->wmask;

	set(b, PCI_VENDOR_ID, id->vendor, 2);
	set(b, PCI_DEVICE_ID, id->device, 2);
	set(w, PCI_COMMAND,
	    PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY | PCI_COMMAND_SERR |
		    PCI_COMMAND_INTX_DISABLE,
	    2);
	set(b, PCI_STATUS, PCI_STATUS_CAP_LIST, 2);
	set(c->w1c, PCI_STATUS, 0xf900, 2);
	set(b, PCI_REVISION_ID, id->revision, 1);
	set(b, PCI_CLASS_PROG, id->class_code, 3);
	set(w, PCI_CACHE_LINE_SIZE, 0xff, 1);
	set(b, PCI_BASE_ADDRESS_0, PCI_BASE_ADDRESS_MEM_TYPE_64, 4);
	set(w, PCI_BASE_ADDRESS_0, ~(id->bar0_bytes - 1u), 4);
	set(w, PCI_BASE_ADDRESS_1, 0xffffffff, 4);
	set(w, PCI_BASE_ADDRESS_4, ~(PCI_BAR4_BYTES - 1u), 4);
	set(b, PCI_SUBSYSTEM_VENDOR_ID, id->vendor, 2);
	set(b, PCI_SUBSYSTEM_ID, id->device, 2);
	set(b, PCI_CAPABILITY_LIST, CAP_PM, 1);
	set(w, PCI_INTERRUPT_LINE, 0xff, 1);
}

static void init_express(struct pci_config *c)
{
	uint8_t *b = c->byte, *w = c->wmask;

	set(b, CAP_EXP, PCI_CAP_ID_EXP, 1);
	set(b, CAP_EXP + PCI_EXP_FLAGS, 2 | PCI_EXP_TYPE_ENDPOINT << 4, 2);
	set(b, CAP_EXP + PCI_EXP_DEVCAP, PCI_EXP_DEVCAP_FLR | PCI_EXP_DEVCAP_RBER | 1 /* 256 B */,
	    4);
	/* BCR_FLR reads as 0 and is handled apart */
	set(w, CAP_EXP + PCI_EXP_DEVCTL, 0x7fff, 2);
	set(b, CAP_EXP + PCI_EXP_DEVCTL,
	    PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN |
		    2 << 12 /* read requests of 512 B */,
	    2);
	set(c->w1c, CAP_EXP + PCI_EXP_DEVSTA, 0xf, 2);
	set(b, CAP_EXP + PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_SLS_8_0GB | 16 << 4, 4);
	set(w, CAP_EXP + PCI_EXP_LNKCTL,
	    PCI_EXP_LNKCTL_ASPMC | PCI_EXP_LNKCTL_RCB | PCI_EXP_LNKCTL_CCC | PCI_EXP_LNKCTL_ES, 2);
	set(b, CAP_EXP + PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_CLS_8_0GB | 16 << 4, 2);
	set(b, CAP_EXP + PCI_EXP_DEVCAP2, PCI_EXP_DEVCAP2_COMP_TMOUT_DIS, 4);
	set(w, CAP_EXP + PCI_EXP_DEVCTL2, PCI_EXP_DEVCTL2_COMP_TMOUT_DIS, 2);
	set(b, CAP_EXP + PCI_EXP_LNKCAP2, 0xe /* 2.5, 5 and 8 GT/s */, 4);
	set(b, CAP_EXP + PCI_EXP_LNKCTL2, PCI_EXP_LNKCTL2_TLS_8_0GT, 2);
}

bool wse_pci_id_valid(const struct wse_pci_id *id)
{
	uint32_t bytes = id->bar0_bytes;

	return bytes >= 4096 && !(bytes & (bytes - 1)) && id->vectors &&
	       id->vectors <= WSE_PCI_VECTORS_MAX && id->class_code <= 0xffffff;
}

void pci_config_init(struct pci_config *c, const struct wse_pci_id *id)
{
	uint8_t *b = c->byte, *w = c->wmask;

	memset(c, 0, sizeof(*c));
	init_header(c, id);

	set(b, CAP_PM, PCI_CAP_ID_PM | CAP_MSIX << 8, 2);
	set(b, CAP_PM + PCI_PM_PMC, 3, 2);
	set(b, CAP_PM + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET, 2);
	set(w, CAP_PM + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK, 2);

	set(b, CAP_MSIX, PCI_CAP_ID_MSIX | CAP_EXP << 8, 2);
	set(b, CAP_MSIX + PCI_MSIX_FLAGS, id->vectors - 1, 2);
	set(w, CAP_MSIX + PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL, 2);
	set(b, CAP_MSIX + PCI_MSIX_TABLE, 4, 4);
	set(b, CAP_MSIX + PCI_MSIX_PBA, 0x800 | 4, 4);

	init_express(c);
}

void pci_config_read(const struct pci_config *c, uint32_t offset, void *data, uint32_t len)
{
	memset(data, 0, len);
	if (offset >= PCI_CONFIG_BYTES)
		return;
	if (len > PCI_CONFIG_BYTES - offset)
		len = PCI_CONFIG_BYTES - offset;
	memcpy(data, &c->byte[offset], len);
}

bool pci_config_write(struct pci_config *c, uint32_t offset, const void *data, uint32_t len)
{
	const uint8_t *p = data;
	bool flr = false;

	for (uint32_t i = 0; i < len && offset + i < PCI_CONFIG_BYTES; i++) {
		uint32_t at = offset + i;

		if (at == CAP_EXP + PCI_EXP_DEVCTL + 1 && (p[i] & (PCI_EXP_DEVCTL_BCR_FLR >> 8)))
			flr = true;
		c->byte[at] = (uint8_t)((c->byte[at] & ~c->wmask[at]) | (p[i] & c->wmask[at]));
		c->byte[at] &= (uint8_t) ~(p[i] & c->w1c[at]);
	}
	return flr;
}

bool pci_config_bus_master(const struct pci_config *c)
{
	return get16(c, PCI_COMMAND) & PCI_COMMAND_MASTER;
}

bool pci_config_msix_enabled(const struct pci_config *c)
{
	return get16(c, CAP_MSIX + PCI_MSIX_FLAGS) & PCI_MSIX_FLAGS_ENABLE;
}

bool pci_config_msix_masked(const struct pci_config *c)
{
	return get16(c, CAP_MSIX + PCI_MSIX_FLAGS) & PCI_MSIX_FLAGS_MASKALL;
}
