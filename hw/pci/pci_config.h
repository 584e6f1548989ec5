/* SPDX-License-Identifier: MIT */
/*
 * Configuration space of a PCI function, with the write masks of a real one.
 */
#ifndef WSE_PCI_CONFIG_H
#define WSE_PCI_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#define PCI_CONFIG_BYTES 4096u
#define PCI_VECTORS_MAX 32u
#define PCI_BAR4_BYTES 4096u /* MSI-X table at 0, pending bits at 0x800 */

/* What a function says that it is. */
struct pci_id {
	uint16_t vendor, device;
	uint32_t class; /* base class, subclass, interface: 24 bits */
	uint8_t revision;
	uint32_t bar0_bytes;  /* registers; a power of two from 4096 to 2^31 */
	unsigned int vectors; /* of MSI-X, 1 to PCI_VECTORS_MAX */
};

struct pci_config {
	uint8_t byte[PCI_CONFIG_BYTES];
	uint8_t wmask[PCI_CONFIG_BYTES]; /* bits that a write changes */
	uint8_t w1c[PCI_CONFIG_BYTES];	 /* bits that a written 1 clears */
};

bool pci_id_valid(const struct pci_id *id);
void pci_config_init(struct pci_config *c, const struct pci_id *id);

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
