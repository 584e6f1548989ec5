# SPDX-License-Identifier: MIT
# What a program that runs models links; the test of the model interface.
# `make MODELS=func` leaves the RTL and its minutes of compiling out.

MODELS ?= func rtl
MODEL_LIBS := $(TWIN) $(if $(filter rtl,$(MODELS)),$(B)/rtl/libwse_rtl.a)
MODEL_LINK := $(if $(filter rtl,$(MODELS)),$(RTL_LIBS),-lm)

CFLAGS_hw/model/tests := -D_GNU_SOURCE
$(eval $(call c_program,hw/model/tests/test_model,$(addprefix hw/,model/tests/test_model.c \
	twin/tests/dev.c),$(MODEL_LIBS),$(MODEL_LINK)))
$(eval $(call c_program,hw/model/tests/test_units,$(addprefix hw/,model/tests/test_units.c \
	twin/tests/dev.c),$(MODEL_LIBS),$(MODEL_LINK)))

$(eval $(call c_test,hw/model/tests/test_lines,hw/model/lines.c hw/model/elf32.c))
$(B)/hw/model/tests/test_lines $(B)/asan/hw/model/tests/test_lines: | $(B)/firmware/train.elf

$(eval $(call c_test,hw/model/tests/test_print,hw/model/print.c hw/model/elf32.c))
$(B)/hw/model/tests/test_print $(B)/asan/hw/model/tests/test_print: \
	| $(B)/libwse/tests/device/print_kernel.elf

ALL += $(B)/hw/model/tests/test_model $(B)/hw/model/tests/test_units
SUITES += $(foreach t,model units,$(B)/hw/model/tests/test_$(t) "$(B)/hw/model/tests/test_$(t) rtl")
