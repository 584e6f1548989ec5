# SPDX-License-Identifier: MIT
# Contracts: generated from uapi/wse/wse.regs and uapi/drm/wse_accel.h, checked in, diffed by CI.

REGS := uapi/wse/gen/wse_regs.h
REGS_GEN := $(B)/uapi/wse/regs-gen

$(eval $(call c_program,uapi/wse/regs-gen,uapi/wse/regs-gen.c \
	$(addprefix uapi/wse/regs/,counters.c vops.c)))

# only what differs is written: everything is built of these files
gen_regs = @$(REGS_GEN) $(1) < uapi/wse/wse.regs > $(B)/uapi/wse/regs.new && \
	{ cmp -s $(B)/uapi/wse/regs.new $(2) || \
		{ cp $(B)/uapi/wse/regs.new $(2) && echo "$(2) has changed"; }; }

.PHONY: regs ioctls
ioctls: ## the page uapi/ioctls.md from the comments of uapi/drm/wse_accel.h
	uapi/ioctls-gen < uapi/drm/wse_accel.h > $(B)/ioctls.new
	mv $(B)/ioctls.new uapi/ioctls.md
regs: $(REGS_GEN) ## regenerate headers, SystemVerilog package and page from uapi/wse/wse.regs
	$(call gen_regs,c,$(REGS))
	$(call gen_regs,names,uapi/wse/gen/wse_reg_names.h)
	$(call gen_regs,sv,hw/rtl/wse_regs_pkg.sv)
	$(call gen_regs,md,hw/doc/registers.md)

ALL += $(REGS_GEN)
SUITES += uapi/wse/test-regs
