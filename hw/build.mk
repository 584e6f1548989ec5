# SPDX-License-Identifier: MIT
# The hardware: RTL and twin, and what runs them.

include $(patsubst %,hw/%/build.mk,twin rtl verilator model gdb pci emu run lockstep)
