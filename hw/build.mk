# SPDX-License-Identifier: MIT
# The hardware: RTL and twin, and what runs them.

include $(addprefix hw/,twin/build.mk rtl/build.mk verilator/build.mk model/build.mk emu/build.mk run/build.mk lockstep/build.mk)
