# SPDX-License-Identifier: MIT
# A device behind PCIe for QEMU, of whatever kind: vfio-user, configuration space, MSI-X, DMA maps.

PCI_LIB := $(B)/hw/libwse_pci.a
PCI_ASAN := $(B)/asan/hw/libwse_pci.a
$(eval $(call c_archive,hw/libwse_pci.a,$(wildcard hw/pci/*.c)))

# the example, which is also what the library's test talks to
$(eval $(call c_program,hw/pci/adder,hw/pci/examples/adder.c,$(PCI_LIB),,$(PCI_ASAN)))
PCI_TEST := $(addprefix hw/pci/tests/,test_adder.c vu_client.c)
$(eval $(call c_program,hw/pci/tests/test_adder,$(PCI_TEST),$(PCI_LIB)))

ALL += $(B)/hw/pci/adder $(B)/asan/hw/pci/adder $(B)/hw/pci/tests/test_adder
SUITES += "$(B)/hw/pci/tests/test_adder $(B)/hw/pci/adder" \
	"$(B)/hw/pci/tests/test_adder $(B)/asan/hw/pci/adder"
BESIDE += --beside hw/pci/tests/test-guest
