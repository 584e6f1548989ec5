# SPDX-License-Identifier: MIT
# Contracts: generated from uapi/wse/wse.regs, checked in, diffed by CI.

REGS := uapi/wse/gen/wse_regs.h
REGS_GEN := $(B)/uapi/wse/regs-gen

$(eval $(call c_program,uapi/wse/regs-gen,uapi/wse/regs-gen.c))

.PHONY: regs
regs: $(REGS_GEN) ## regenerate headers, SystemVerilog package and page from uapi/wse/wse.regs
	$< c < uapi/wse/wse.regs > $(REGS)
	$< sv < uapi/wse/wse.regs > hw/rtl/wse_regs_pkg.sv
	$< md < uapi/wse/wse.regs > hw/doc/registers.md

ALL += $(REGS_GEN)
SUITES += uapi/wse/test-regs
