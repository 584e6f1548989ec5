/* SPDX-License-Identifier: MIT */
/*
 * Configuration space of a PCI function, with the write masks of a real one.
 */
#ifndef WSE_PCI_CONFIG_H
#define WSE_PCI_CONFIG_H

#include "wse_pci.h"

#define PCI_CONFIG_BYTES 4096u
#define PCI_BAR4_BYTES 4096u /* MSI-X table at 0, pending bits at 0x800 */

struct pci_config {
	uint8_t byte[PCI_CONFIG_BYTES];
	uint8_t wmask[PCI_CONFIG_BYTES]; /* bits that a write changes */
	uint8_t w1c[PCI_CONFIG_BYTES];	 /* bits that a written 1 clears */
};

void pci_config_init(struct pci_config *c, const struct wse_pci_id *id);

/*
 * Bytes behind the end read as 0; writes there have no effect. True: the write asked for a
 * function-level reset.
 */
bool pci_config_write(struct pci_config *c, uint32_t offset, const void *data, uint32_t len);
void pci_config_read(const struct pci_config *c, uint32_t offset, void *data, uint32_t len);

bool pci_config_bus_master(const struct pci_config *c);
bool pci_config_msix_enabled(const struct pci_config *c);
bool pci_config_msix_masked(const struct pci_config *c); /* the function mask: all vectors */

#endif /* WSE_PCI_CONFIG_H */
