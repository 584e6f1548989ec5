# SPDX-License-Identifier: MIT
# Tests of the device server and of wse-run; lockstep.

HWT_HDRS := $(wildcard hw/tests/*.h hw/emu/*.h) hw/model.h hw/regs/gen/wse_regs.h
HWT_OBJS := $(patsubst hw/tests/%.c,$(B)/hw/tests/%.o,$(wildcard hw/tests/*.c))

$(HWT_OBJS): $(B)/hw/tests/%.o: hw/tests/%.c $(HWT_HDRS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(CPPFLAGS) -Ihw/emu -c -o $@ $<

$(B)/hw/tests/test_emu: $(B)/hw/tests/test_emu.o $(B)/hw/tests/vu_client.o | $(B)/wse-emu
	$(CC) $(CFLAGS) -o $@ $^

ALL += $(B)/hw/tests/test_emu
SUITES += $(B)/hw/tests/test_emu hw/tests/test_run
