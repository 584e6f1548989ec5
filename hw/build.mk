# SPDX-License-Identifier: MIT
# Contracts: generated from hw/regs/wse.regs, checked in, diffed by CI (`make check-regs`).

$(B)/hw/regs-gen: hw/regs/regs-gen.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -o $@ $<

REGS_OUT := hw/regs/gen/wse_regs.h hw/rtl/wse_regs_pkg.sv hw/doc/registers.md

.PHONY: regs check-regs
regs: $(B)/hw/regs-gen ## regenerate headers, SystemVerilog package and page from hw/regs/wse.regs
	$< c < hw/regs/wse.regs > hw/regs/gen/wse_regs.h
	$< sv < hw/regs/wse.regs > hw/rtl/wse_regs_pkg.sv
	$< md < hw/regs/wse.regs > hw/doc/registers.md

check-regs: $(B)/hw/regs-gen
	@$< c < hw/regs/wse.regs | diff -u hw/regs/gen/wse_regs.h -
	@$< sv < hw/regs/wse.regs | diff -u hw/rtl/wse_regs_pkg.sv -
	@$< md < hw/regs/wse.regs | diff -u hw/doc/registers.md -

ALL += $(B)/hw/regs-gen
SUITES += hw/regs/test-regs

-include hw/func/build.mk hw/rtl/build.mk hw/emu/build.mk hw/tests/build.mk
