# SPDX-License-Identifier: MIT
# The twin: build/hw/libwse_twin.a, and its tests.

TWIN := $(B)/hw/libwse_twin.a
TWIN_SLOW := hw/twin $(addprefix hw/twin/,exact host parts debug)
TWIN_QUICK := $(addprefix hw/twin/,fast fast/runs fast/vector fast/kernels jit jit/x86)
TWIN_O := -O3
$(foreach d,$(TWIN_SLOW) $(TWIN_QUICK),$(eval CFLAGS_$(d) := $(TWIN_O)))
# gcc copies what it knows to be short by rep movs, which takes longer to begin than memcpy does
CFLAGS_hw/twin/fast/runs += -mstringop-strategy=libcall
CFLAGS_hw/twin/tests := -D_GNU_SOURCE
# Intrinsics, forced inline into hundreds of functions: more optimisation gains nothing and takes
# twice as long. With this much gcc still clears the upper halves of registers at their end
# (vzeroupper); without that all else is a third slower.
CFLAGS_hw/twin/fast/vector/vector.c := -O1 -fexpensive-optimizations

# all of it, and the exact machine alone, without fast/ and jit/
TWIN_EXACT_C := $(addprefix hw/model/,machine.c wave.c waits.c timeline.c heat.c \
	elf32.c lines.c print.c) \
	$(foreach d,$(TWIN_SLOW),$(wildcard $(d)/*.c))
TWIN_FAST_C := $(foreach d,$(TWIN_QUICK),$(wildcard $(d)/*.c))
$(eval $(call c_archive,hw/libwse_twin.a,$(filter-out %/alone.c,$(TWIN_EXACT_C)) $(TWIN_FAST_C)))
$(eval $(call c_archive,hw/libwse_twin_exact.a,$(TWIN_EXACT_C)))

TWIN_TESTS := fp fp_portable numerics copies scalar translate quick ways again queue tensor \
	refusals fabric streams late silent index rounds confluence sources pages
# these run the firmware's kernels; `build/hw/twin/tests/test_gemm bench` measures
TWIN_LAYER_TESTS := gemm parts batch
# $(call twin_sources,TEST): what it is linked of beside the test itself
twin_sources = hw/twin/tests/dev.c $(if $(filter $(TWIN_LAYER_TESTS),$(1)),hw/twin/tests/layer.c)
$(foreach t,$(TWIN_TESTS) $(TWIN_LAYER_TESTS),$(eval $(call c_test,hw/twin/tests/test_$(t), \
	$(call twin_sources,$(t)),$(TWIN),-lm,$(B)/asan/hw/libwse_twin.a)))
TWIN_FIRMWARE := $(B)/firmware/wse-fw.bin $(B)/firmware/linear.elf
$(foreach t,$(TWIN_LAYER_TESTS),$(B)/hw/twin/tests/test_$(t) $(B)/asan/hw/twin/tests/test_$(t)): \
	| $(TWIN_FIRMWARE)

# the exact machine alone passes them, too; three are of fast/ and jit/, one asks this kernel
TWIN_EXACT_TESTS := $(filter-out numerics copies translate pages,$(TWIN_TESTS)) $(TWIN_LAYER_TESTS)
$(foreach t,$(TWIN_EXACT_TESTS),$(eval $(call c_program,hw/twin/tests/exact/test_$(t), \
	hw/twin/tests/test_$(t).c $(call twin_sources,$(t)),$(B)/hw/libwse_twin_exact.a,-lm, \
	$(B)/asan/hw/libwse_twin_exact.a)))
TWIN_EXACT_RUN := $(filter-out %_parts,$(TWIN_EXACT_TESTS:%=$(B)/hw/twin/tests/exact/test_%))
ALL += $(TWIN_EXACT_RUN)
BESIDE += $(addprefix --beside ,$(TWIN_EXACT_RUN))

ALL += $(TWIN)

.PHONY: test-twin-exact
test-twin-exact: $(TWIN_EXACT_TESTS:%=$(B)/hw/twin/tests/exact/test_%) | $(TWIN_FIRMWARE) ## the twin's tests on its exact machine alone, built without fast/ and jit/
	selftests/run-suites $^

.PHONY: test-arm64
test-arm64: $(TWIN_FIRMWARE) ## the same, compiled for arm64 and run by QEMU's user mode
	hw/twin/tests/arm64 $(TWIN_EXACT_TESTS)

.PHONY: mutants
mutants: $(foreach t,$(TWIN_TESTS) gemm parts,$(B)/hw/twin/tests/test_$(t)) ## do the twin's tests notice when it does not take one of its ways?
	hw/twin/tests/mutants
