# SPDX-License-Identifier: MIT
# The twin: build/hw/libwse_twin.a, and its tests.

TWIN := $(B)/hw/libwse_twin.a
TWIN_DIRS := hw/twin $(addprefix hw/twin/,exact host fast fast/runs fast/vector fast/kernels jit jit/x86 parts debug)
$(foreach d,$(TWIN_DIRS),$(eval CFLAGS_$(d) := -O3))
CFLAGS_hw/twin/tests := -D_GNU_SOURCE
# Intrinsics, forced inline into hundreds of functions: more optimisation gains nothing and takes as long again.
# With this much gcc still clears the upper halves of registers at their end (vzeroupper), without which all else is a third slower.
CFLAGS_hw/twin/fast/vector/vector_avx2.c := -O1 -fexpensive-optimizations
CFLAGS_hw/twin/fast/vector/vector_avx512.c := $(CFLAGS_hw/twin/fast/vector/vector_avx2.c)

# all of it, and the exact machine alone, without fast/ and jit/
TWIN_EXACT_C := hw/model/model.c $(foreach d,hw/twin $(addprefix hw/twin/,exact host parts debug),$(wildcard $(d)/*.c))
TWIN_FAST_C := $(foreach d,$(addprefix hw/twin/,fast fast/runs fast/vector fast/kernels jit jit/x86),$(wildcard $(d)/*.c))
$(eval $(call c_archive,hw/libwse_twin.a,$(filter-out %/alone.c,$(TWIN_EXACT_C)) $(TWIN_FAST_C)))
$(eval $(call c_archive,hw/libwse_twin_exact.a,$(TWIN_EXACT_C)))

TWIN_TESTS := fp fp_portable numerics f32 scalar translate quick ways again queue tensor refusals fabric streams index rounds confluence
$(foreach t,$(TWIN_TESTS),$(eval $(call c_test,hw/twin/tests/test_$(t),hw/twin/tests/dev.c,$(TWIN),-lm,$(B)/asan/hw/libwse_twin.a)))
$(foreach t,gemm parts batch,$(eval $(call c_test,hw/twin/tests/test_$(t),hw/twin/tests/dev.c hw/twin/tests/layer.c,$(TWIN),-lm,$(B)/asan/hw/libwse_twin.a)))
# these run the firmware's kernels; `build/hw/twin/tests/test_gemm bench` measures
$(foreach t,gemm parts batch,$(B)/hw/twin/tests/test_$(t) $(B)/asan/hw/twin/tests/test_$(t)): | $(B)/firmware/wse-fw.bin $(B)/firmware/linear.elf

# the exact machine alone passes them, too; three are of fast/ and jit/
TWIN_EXACT_TESTS := $(filter-out numerics f32 translate,$(TWIN_TESTS)) gemm parts batch
$(foreach t,$(TWIN_EXACT_TESTS),$(eval $(call c_program,hw/twin/tests/exact/test_$(t),hw/twin/tests/test_$(t).c hw/twin/tests/dev.c $(if $(filter gemm parts batch,$(t)),hw/twin/tests/layer.c),$(B)/hw/libwse_twin_exact.a,-lm,$(B)/asan/hw/libwse_twin_exact.a)))
$(foreach t,$(filter-out parts,$(TWIN_EXACT_TESTS)),$(eval ALL += $(B)/hw/twin/tests/exact/test_$(t))$(eval BESIDE += --beside $(B)/hw/twin/tests/exact/test_$(t)))

# the vector operations of a processor without AVX-512, too
$(foreach t,quick ways,$(eval BESIDE += --beside "env GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F $(B)/hw/twin/tests/test_$(t)"))

ALL += $(TWIN)

.PHONY: test-twin-exact
test-twin-exact: $(TWIN_EXACT_TESTS:%=$(B)/hw/twin/tests/exact/test_%) | $(B)/firmware/wse-fw.bin $(B)/firmware/linear.elf ## the twin's tests on its exact machine alone, built without fast/ and jit/
	selftests/run-suites $^

.PHONY: test-arm64
test-arm64: $(B)/firmware/wse-fw.bin $(B)/firmware/linear.elf ## the same, compiled for arm64 and run by QEMU's user mode
	hw/twin/tests/arm64 $(TWIN_EXACT_TESTS)

.PHONY: mutants
mutants: $(foreach t,$(TWIN_TESTS) gemm parts,$(B)/hw/twin/tests/test_$(t)) ## do the twin's tests notice when it does not take one of its ways?
	hw/twin/tests/mutants
