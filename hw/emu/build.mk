# SPDX-License-Identifier: MIT
# wse-emu, the device server for QEMU, and its tests.

EMU_SRCS := $(wildcard hw/emu/*.c)
EMU_TEST := $(addprefix hw/emu/tests/,test_emu.c vu_admin.c) hw/gdb/tests/gdb_client.c \
	hw/pci/tests/vu_client.c
$(eval $(call c_program,wse-emu,$(EMU_SRCS),$(PCI_LIB) $(GDB_STUB) \
	$(MODEL_LIBS),$(MODEL_LINK),$(PCI_ASAN) $(GDB_ASAN)))
$(eval $(call c_program,hw/emu/tests/test_emu,$(EMU_TEST)))
$(eval $(call c_test,hw/emu/tests/test_moderate,hw/emu/moderate.c))
$(eval $(call c_test,hw/emu/tests/test_kick,hw/emu/moderate.c,$(PCI_LIB) $(GDB_STUB) $(TWIN),-lm,\
	$(PCI_ASAN) $(GDB_ASAN)))

ALL += $(B)/wse-emu $(B)/asan/wse-emu $(B)/hw/emu/tests/test_emu
SUITES += $(B)/hw/emu/tests/test_emu "$(B)/hw/emu/tests/test_emu rtl" \
	"$(B)/hw/emu/tests/test_emu func $(B)/asan/wse-emu" \
	hw/emu/tests/test_emu_args "hw/emu/tests/test_emu_args $(B)/asan/wse-emu"
