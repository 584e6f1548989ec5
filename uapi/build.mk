# SPDX-License-Identifier: MIT
# Contracts: generated from uapi/wse/wse.regs and uapi/drm/wse_accel.h, checked in, diffed by CI.

REGS := uapi/wse/gen/wse_regs.h
REGS_GEN := $(B)/uapi/wse/regs-gen

$(eval $(call c_program,uapi/wse/regs-gen,uapi/wse/regs-gen.c))

.PHONY: regs ioctls
ioctls: ## the page uapi/ioctls.md from the comments of uapi/drm/wse_accel.h
	uapi/ioctls-gen < uapi/drm/wse_accel.h > $(B)/ioctls.new && mv $(B)/ioctls.new uapi/ioctls.md
regs: $(REGS_GEN) ## regenerate headers, SystemVerilog package and page from uapi/wse/wse.regs
	$< c < uapi/wse/wse.regs > $(REGS)
	$< sv < uapi/wse/wse.regs > hw/rtl/wse_regs_pkg.sv
	$< md < uapi/wse/wse.regs > hw/doc/registers.md

ALL += $(REGS_GEN)
SUITES += uapi/wse/test-regs
