# SPDX-License-Identifier: MIT
# Tests of the device server and of wse-run; lockstep.

HWT_HDRS := $(wildcard hw/tests/*.h hw/emu/*.h) hw/model.h hw/regs/gen/wse_regs.h
HWT_OBJS := $(patsubst hw/tests/%.c,$(B)/hw/tests/%.o,$(wildcard hw/tests/*.c))

$(HWT_OBJS): $(B)/hw/tests/%.o: hw/tests/%.c $(HWT_HDRS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(CPPFLAGS) -Ihw/emu -c -o $@ $<

$(B)/hw/tests/test_emu: $(patsubst %,$(B)/hw/tests/%.o,test_emu vu_admin vu_client) | $(B)/wse-emu
	$(CC) $(CFLAGS) -o $@ $^

$(B)/hw/tests/test_model: $(B)/hw/tests/test_model.o hw/func/tests/dev.c $(MODEL_LIBS)
	$(CC) $(CFLAGS) -D_GNU_SOURCE $(CPPFLAGS) -o $@ $(filter %.o %.c,$^) $(MODEL_LINK)

ALL += $(B)/hw/tests/test_emu $(B)/hw/tests/test_model $(B)/asan/wse-emu
SUITES += $(B)/hw/tests/test_emu "$(B)/hw/tests/test_emu rtl" hw/tests/test_run \
	$(B)/hw/tests/test_model "$(B)/hw/tests/test_model rtl" \
	"$(B)/hw/tests/test_emu func $(B)/asan/wse-emu" hw/tests/test_emu_args "hw/tests/test_emu_args $(B)/asan/wse-emu"

LOCKSTEP_OBJS := $(patsubst hw/tests/%.c,$(B)/hw/tests/%.o,$(wildcard hw/tests/lockstep_*.c))

$(B)/wse-lockstep: $(LOCKSTEP_OBJS) $(MODEL_LIBS)
	$(CC) $(CFLAGS) -o $@ $(filter %.o,$^) $(MODEL_LINK)

ALL += $(B)/wse-lockstep
# ten million instructions on 2x2, three on 4x4; on a busy machine no longer than so many seconds
SUITES += hw/tests/test_judge "$(B)/wse-lockstep --tap --insns 10000000 --seconds 120" \
	"$(B)/wse-lockstep --tap --seconds 60 --rows 4 --cols 4 --insns 3000000 --seed 7000"

.PHONY: riscv-tests
riscv-tests: $(B)/rtl/tests/test_core $(B)/hw/func/tests/test_scalar $(B)/wse-run ## the public rv32ui, rv32um, rv32mi programs: make riscv-tests DIR=path/to/riscv-tests
	hw/tests/riscv-tests "$(DIR)"

.PHONY: lockstep-long
lockstep-long: $(B)/wse-lockstep ## random programs on rtl and func: 10^8 instructions (INSNS, SEED)
	$(B)/wse-lockstep --insns $(or $(INSNS),100000000) --seed $(or $(SEED),1000)
