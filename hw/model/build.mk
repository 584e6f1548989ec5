# SPDX-License-Identifier: MIT
# What a program that runs models links; the test of the model interface.
# `make MODELS=func` leaves the RTL and its minutes of compiling out.

MODELS ?= func rtl
MODEL_LIBS := $(TWIN) $(if $(filter rtl,$(MODELS)),$(B)/rtl/libwse_rtl.a)
MODEL_LINK := $(if $(filter rtl,$(MODELS)),$(RTL_LIBS),-lm)

CFLAGS_hw/model/tests := -D_GNU_SOURCE
$(eval $(call c_program,hw/model/tests/test_model,$(addprefix hw/,model/tests/test_model.c twin/tests/dev.c),$(MODEL_LIBS),$(MODEL_LINK)))

ALL += $(B)/hw/model/tests/test_model
SUITES += $(B)/hw/model/tests/test_model "$(B)/hw/model/tests/test_model rtl"
