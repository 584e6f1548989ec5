# SPDX-License-Identifier: MIT
# The core alone, with assertions: its block test. WSE_RISCV_TESTS=dir makes it run the public rv32ui, rv32um and
# rv32mi programs (riscv-tests built with -march=rv32im_zicsr, the "p" environment) of that directory, too.

CORE_V := $(patsubst %,hw/rtl/wse_%.sv,regs_pkg fp_pkg tensor_pkg sram dotq ramp issue tasks lanes mover rv32 core)
CORE_TEST := $(addprefix hw/rtl/tests/,test_core.cpp test_core_lanes.cpp test_core_movers.cpp test_core_scalar.cpp)

$(B)/rtl/tests/test_core: $(CORE_V) $(CORE_TEST) \
		$(addprefix hw/rtl/tests/,test_core.hpp core_tb.hpp lanes_ref.hpp tap.hpp) hw/func/fp.h hw/regs/gen/wse_regs.h
	@mkdir -p $(@D)
	verilator --cc --exe --build --assert -Wno-fatal -Wno-lint -Ihw/rtl --top-module wse_core -Mdir $(B)/rtl/core -O3 \
		--unroll-count 2 --prefix Vwse_core \
		-CFLAGS "-O1 -w -std=gnu++17 -ffp-contract=off -D_Static_assert=static_assert \
		-I$(CURDIR)/hw/regs/gen -I$(CURDIR)/hw" \
		-LDFLAGS "-latomic" -o $(CURDIR)/$@ $(CORE_V) $(CORE_TEST:%=$(CURDIR)/%) > $(B)/rtl/core.log 2>&1 || \
		{ cat $(B)/rtl/core.log; false; }

ALL += $(B)/rtl/tests/test_core
SUITES += $(B)/rtl/tests/test_core
