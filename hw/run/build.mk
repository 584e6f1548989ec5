# SPDX-License-Identifier: MIT
# wse-run, one bare-metal program on one core, and its tests.

RUN_SRCS := $(wildcard hw/run/*.c)
$(eval $(call c_program,wse-run,$(RUN_SRCS),$(GDB_STUB) $(MODEL_LIBS),$(MODEL_LINK)))

ALL += $(B)/wse-run
SUITES += hw/run/tests/test_run hw/run/tests/test_waves hw/run/tests/test_replay \
	hw/run/tests/test_profile hw/run/tests/test_causes

.PHONY: riscv-tests
riscv-tests: $(B)/rtl/tests/test_core $(B)/hw/twin/tests/test_scalar $(B)/wse-run ## the public rv32ui, rv32um, rv32mi programs: make riscv-tests DIR=path/to/riscv-tests
	hw/run/tests/riscv-tests "$(DIR)"
