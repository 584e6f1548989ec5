# SPDX-License-Identifier: MIT
# The twin: build/hw/libwse_func.a, and its tests.

FUNC_SRCS := hw/model.c $(wildcard hw/func/*.c)
FUNC_HDRS := hw/model.h $(wildcard hw/func/*.h) hw/regs/gen/wse_regs.h
FUNC_CFLAGS := $(CFLAGS) -O3
FUNC_OBJS := $(FUNC_SRCS:%.c=$(B)/%.o)
FUNC_ASAN_OBJS := $(FUNC_SRCS:%.c=$(B)/asan/%.o)

$(FUNC_OBJS): $(B)/%.o: %.c $(FUNC_HDRS)
	@mkdir -p $(@D)
	$(CC) $(FUNC_CFLAGS) $(CPPFLAGS) -c -o $@ $<

$(FUNC_ASAN_OBJS): $(B)/asan/%.o: %.c $(FUNC_HDRS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ASAN) $(CPPFLAGS) -c -o $@ $<

$(B)/hw/libwse_func.a: $(FUNC_OBJS)
	@rm -f $@
	$(AR) rcs $@ $^

ALL += $(B)/hw/libwse_func.a

FUNC_TESTS := test_numerics test_scalar test_queue test_tensor test_refusals test_fabric \
	test_confluence test_gemm
FUNC_TEST_DEPS := hw/func/tests/dev.c $(wildcard hw/func/tests/*.h hw/tests/*.h) $(FUNC_HDRS)

$(B)/hw/func/tests/test_%: hw/func/tests/test_%.c $(FUNC_TEST_DEPS) $(B)/hw/libwse_func.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -D_GNU_SOURCE $(CPPFLAGS) -o $@ $< hw/func/tests/dev.c $(B)/hw/libwse_func.a

# the same with sanitizers
$(B)/asan/hw/func/tests/test_%: hw/func/tests/test_%.c $(FUNC_TEST_DEPS) $(FUNC_ASAN_OBJS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -D_GNU_SOURCE $(ASAN) $(CPPFLAGS) -o $@ $< hw/func/tests/dev.c $(FUNC_ASAN_OBJS)

# test_gemm runs the firmware's kernels; `build/hw/func/tests/test_gemm bench` measures
FUNC_FW := $(B)/firmware/wse-fw.bin $(B)/firmware/linear.elf
$(B)/hw/func/tests/test_gemm $(B)/asan/hw/func/tests/test_gemm: $(FUNC_FW)

FUNC_SUITES := $(FUNC_TESTS:%=$(B)/hw/func/tests/%) $(FUNC_TESTS:%=$(B)/asan/hw/func/tests/%)
SUITES += $(FUNC_SUITES)
ALL += $(FUNC_SUITES)
