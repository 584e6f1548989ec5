# SPDX-License-Identifier: MIT
# A device behind PCIe for QEMU, of whatever kind: vfio-user, configuration space, MSI-X, DMA maps.

PCI_LIB := $(B)/hw/libwse_pci.a
PCI_ASAN := $(B)/asan/hw/libwse_pci.a
$(eval $(call c_archive,hw/libwse_pci.a,$(wildcard hw/pci/*.c)))

# What is installed: one object, of which other programs see the names of wse_pci.h alone.
$(B)/install/libwse-pci.a: $(PCI_LIB) hw/pci/build.mk
	@mkdir -p $(@D) && rm -f $@
	$(call short,AR,$@)$(LD) -r --whole-archive -o $(@D)/wse-pci.o $< && \
		objcopy --strip-debug --wildcard \
			--keep-global-symbol='wse_pci_*' $(@D)/wse-pci.o && \
		$(AR) rcsD $@ $(@D)/wse-pci.o && rm $(@D)/wse-pci.o
$(B)/install/libwse-pci.pc: hw/pci/libwse-pci.pc.in hw/pci/build.mk uapi/wse/wse_release.h
	@mkdir -p $(@D)
	$(call short,GEN,$@)sed 's|@version@|$(LIBWSE_VERSION)|; s|@prefix@|/usr/local|' $< > $@
# of this tree: PKG_CONFIG_PATH=build
$(B)/libwse-pci.pc: $(B)/install/libwse-pci.pc $(B)/where
	$(call short,GEN,$@)sed -e 's|^prefix=.*|prefix=$(CURDIR)|' \
		-e 's|^libdir=.*|libdir=$(abspath $(<D))|' \
		-e 's|^includedir=.*|includedir=$${prefix}/hw/pci|' $< > $@

# the example, which is also what the library's test talks to
$(eval $(call c_program,hw/pci/adder,hw/pci/examples/adder.c,$(PCI_LIB),,$(PCI_ASAN)))
CFLAGS_hw/pci/examples := -Ihw/pci # it includes the header as a program outside does
# The same device as RTL, which needs RTL_CXX and the runtime of hw/rtl/build.mk.
PCI_RTL := $(B)/hw/pci/rtl
PCI_V := $(addprefix hw/pci/examples/,adder.sv adder_rtl.cpp)
$(B)/hw/pci/adder_rtl: $(PCI_V) hw/pci/wse_pci.h $(PCI_LIB) hw/pci/build.mk $(RTL_RUNTIME)
	@rm -rf $(PCI_RTL) && mkdir -p $(PCI_RTL)
	$(call short,RTL,$@)verilator --cc -Wall --assert -Mdir $(PCI_RTL) $<
	$(call short,CXX,$@)$(RTL_CXX) -O1 -Wall -Wextra -Werror $(RTL_COMMON) -Ihw/pci \
		-isystem $(PCI_RTL) -isystem $(VERILATOR_ROOT)/include \
		-isystem $(VERILATOR_ROOT)/include/vltstd -o $@ $(filter %.cpp,$^) \
		$(PCI_RTL)/*.cpp $(PCI_LIB) $(RTL_RUNTIME) -pthread -latomic

PCI_TEST := $(addprefix hw/pci/tests/,test_adder.c vu_client.c)
$(eval $(call c_program,hw/pci/tests/test_adder,$(PCI_TEST),$(PCI_LIB)))
$(eval $(call c_test,hw/pci/tests/test_stop,hw/pci/tests/vu_client.c,$(PCI_LIB),,$(PCI_ASAN)))
PCI_PROTOCOL := $(addprefix hw/pci/tests/,test_protocol.c vu_client.c)
$(eval $(call c_program,hw/pci/tests/test_protocol,$(PCI_PROTOCOL)))

ALL += $(B)/install/libwse-pci.a $(B)/libwse-pci.pc \
	$(B)/hw/pci/adder $(B)/asan/hw/pci/adder $(B)/hw/pci/adder_rtl \
	$(B)/hw/pci/tests/test_adder $(B)/hw/pci/tests/test_protocol
SUITES += "$(B)/hw/pci/tests/test_adder $(B)/hw/pci/adder" \
	"$(B)/hw/pci/tests/test_adder $(B)/asan/hw/pci/adder" \
	"$(B)/hw/pci/tests/test_adder $(B)/hw/pci/adder_rtl" \
	"$(B)/hw/pci/tests/test_protocol $(B)/hw/pci/adder" \
	"$(B)/hw/pci/tests/test_protocol $(B)/asan/hw/pci/adder"
BESIDE += --beside hw/pci/tests/test-guest --beside hw/pci/tests/test-outside
