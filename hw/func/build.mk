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

FUNC_TESTS := test_gemm test_numerics test_queue test_tensor test_fabric
FUNC_TEST_CFLAGS := $(CFLAGS) -D_GNU_SOURCE
func_test = $(B)/hw/func/tests/$(1)

$(B)/hw/func/tests/test_%: hw/func/tests/test_%.c hw/func/tests/dev.c $(B)/hw/libwse_func.a $(wildcard hw/func/tests/*.h) $(FUNC_HDRS)
	@mkdir -p $(@D)
	$(CC) $(FUNC_TEST_CFLAGS) $(CPPFLAGS) -o $@ $< hw/func/tests/dev.c $(B)/hw/libwse_func.a

# the same with sanitizers
$(B)/asan/hw/func/tests/test_%: hw/func/tests/test_%.c hw/func/tests/dev.c $(FUNC_ASAN_OBJS) $(wildcard hw/func/tests/*.h)
	@mkdir -p $(@D)
	$(CC) $(FUNC_TEST_CFLAGS) $(ASAN) $(CPPFLAGS) -o $@ $< hw/func/tests/dev.c $(FUNC_ASAN_OBJS)
