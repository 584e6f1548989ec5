# SPDX-License-Identifier: MIT
# The RTL model: one archive with the tiles of $(TILES), Verilator's runtime compiled once, tests, lint.
# `make tile ROWS=8 COLS=8` builds another tile into the archive.

-include hw/rtl/core.mk

TILES ?= 2x2 4x4
# of the command line only: environments have been seen with ROWS and COLS of a terminal
ifneq ($(filter command,$(origin ROWS) $(origin COLS)),)
ifneq ($(shell echo 'x$(ROWS) x$(COLS)' | grep -cE '^x[1-9][0-9]{0,2} x[1-9][0-9]{0,2}$$'),1)
$(error a tile needs ROWS and COLS, numbers from 1 to 999, not ROWS=$(ROWS) COLS=$(COLS): make tile ROWS=8 COLS=8)
endif
TILES := $(filter-out $(ROWS)x$(COLS),$(TILES)) $(ROWS)x$(COLS)
endif

RTL := hw/rtl
RTL_SRC := $(wildcard $(RTL)/*.sv) $(RTL)/tile.vlt $(RTL)/dedup.pl $(RTL)/build-tile
RTL_CXX := $(shell command -v clang++ || echo g++)
RTL_ARCH := $(shell grep -q -m1 avx2 /proc/cpuinfo && grep -q -m1 bmi2 /proc/cpuinfo && echo -march=x86-64-v3)
# for libwse.so, as in build-tile; hidden, so that calls stay direct
RTL_PIC := -fPIC -fvisibility=hidden
RTL_CXXFLAGS := -O3 $(RTL_ARCH)
VERILATOR_ROOT ?= $(shell verilator --getenv VERILATOR_ROOT 2>/dev/null)
RTL_INC := -I$(RTL) -Ihw -Ihw/regs/gen -I$(VERILATOR_ROOT)/include -I$(VERILATOR_ROOT)/include/vltstd
RTL_COMMON := -std=gnu++17 -ffp-contract=off -D_Static_assert=static_assert
# what a C program needs besides the archive
RTL_LIBS := -lstdc++ -lm -pthread -latomic

RTL_RUNTIME := $(patsubst %,$(B)/rtl/%.o,verilated verilated_threads verilated_dpi)

$(RTL_RUNTIME): $(B)/rtl/%.o: $(RTL)/build.mk
	@mkdir -p $(@D)
	$(RTL_CXX) -O2 -w -std=gnu++17 $(RTL_PIC) $(RTL_INC) -c -o $@ $(VERILATOR_ROOT)/include/$*.cpp

$(B)/rtl/tile-%/.done: $(RTL_SRC) $(RTL)/tile.cpp $(RTL)/axi_slave.hpp $(RTL)/wse_rtl.h hw/model.h hw/regs/gen/wse_regs.h
	CXX=$(RTL_CXX) CXXFLAGS="$(RTL_CXXFLAGS)" $(RTL)/build-tile $(subst x, ,$*) $(@D)
	@touch $@

# the same with assertions, for the tests
$(B)/rtl/assert-%/.done: $(RTL_SRC) $(RTL)/tile.cpp $(RTL)/axi_slave.hpp $(RTL)/wse_rtl.h hw/model.h hw/regs/gen/wse_regs.h
	CXX=$(RTL_CXX) CXXFLAGS=-O0 $(RTL)/build-tile $(subst x, ,$*) $(@D) --assert
	@touch $@

# written when its content changes, so that another value of TILES rebuilds what depends on it
# $(1) tiles
tiles_inc = @mkdir -p $(@D); for t in $(1); do echo "TILE($${t%x*}, $${t\#*x}, 0)"; done > $@.new; \
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(B)/rtl/tiles.inc: FORCE
	$(call tiles_inc,$(TILES))

$(B)/rtl/wse_rtl.o: $(RTL)/build.mk $(RTL)/wse_rtl.cpp $(RTL)/wse_rtl.h hw/model.h $(B)/rtl/tiles.inc
	$(RTL_CXX) -O2 -Wall -Wextra -Werror $(RTL_COMMON) $(RTL_PIC) -I$(B)/rtl $(RTL_INC) -c -o $@ $(RTL)/wse_rtl.cpp

$(B)/rtl/libwse_rtl.a: $(B)/rtl/wse_rtl.o $(RTL_RUNTIME) $(TILES:%=$(B)/rtl/tile-%/.done)
	rm -f $@
	ar rcs $@ $(filter %.o,$^) \
		$$(ls $(TILES:%=$(B)/rtl/tile-%/*.o))

ALL += $(B)/rtl/libwse_rtl.a

# ---- tests: small tiles with assertions, judged by the tests of the host contract and by those of the twin ----
RTL_TEST_TILES := 1x1 1x3 2x2 2x3 3x2 3x3

$(B)/rtl/test/tiles.inc: FORCE
	$(call tiles_inc,$(RTL_TEST_TILES))

$(B)/rtl/test/wse_rtl.o: $(RTL)/wse_rtl.cpp $(RTL)/wse_rtl.h hw/model.h $(B)/rtl/test/tiles.inc
	$(RTL_CXX) -O2 -Wall -Wextra -Werror $(RTL_COMMON) -I$(B)/rtl/test $(RTL_INC) -c -o $@ $<

$(B)/rtl/libwse_rtl_test.a: $(B)/rtl/test/wse_rtl.o $(RTL_RUNTIME) $(RTL_TEST_TILES:%=$(B)/rtl/assert-%/.done)
	rm -f $@
	ar rcs $@ $(filter %.o,$^) $$(ls $(RTL_TEST_TILES:%=$(B)/rtl/assert-%/*.o))

RTL_TEST_C := hw/func/tests/dev.c $(RTL)/tests/model_find_rtl.c
RTL_TEST_DEPS := $(RTL_TEST_C) $(wildcard hw/func/tests/*.h hw/tests/*.h) hw/model.h hw/regs/gen/wse_regs.h \
	$(B)/rtl/libwse_rtl_test.a $(B)/hw/libwse_func.a
rtl_test = @mkdir -p $(@D) && $(CC) $(CFLAGS) -D_GNU_SOURCE $(1) $(CPPFLAGS) -o $@ $< $(RTL_TEST_C) \
	$(B)/rtl/libwse_rtl_test.a $(B)/hw/libwse_func.a $(RTL_LIBS)

$(B)/rtl/tests/model_host: $(RTL)/tests/model_host.c $(RTL_TEST_DEPS)
	$(call rtl_test)
$(B)/rtl/tests/test_%: hw/func/tests/test_%.c $(RTL_TEST_DEPS)
	$(call rtl_test)
$(B)/rtl/tests/seed_%: hw/func/tests/test_%.c $(RTL_TEST_DEPS)
	$(call rtl_test,-DRTL_SEED=0x9e3779b97f4a7c15ull)

# router and mesh alone, with a stub in the core's place
RTL_MESH := $(RTL)/wse_regs_pkg.sv $(RTL)/wse_router.sv $(RTL)/wse_wafer.sv $(RTL)/tests/wse_core_stub.sv $(RTL)/tests/tb_mesh.sv
$(B)/rtl/tests/test_mesh: $(RTL_MESH) $(RTL)/tests/test_mesh.cpp $(RTL)/tests/tap.hpp
	@mkdir -p $(@D)
	verilator --cc --exe --build --assert -Wno-fatal -Wno-lint --top-module tb_mesh -Mdir $(B)/rtl/mesh -O3 \
		--unroll-count 2 --prefix Vmesh -CFLAGS "-O2 -w $(RTL_COMMON) -I$(CURDIR)/hw/regs/gen" \
		-o $(CURDIR)/$@ $(RTL_MESH) $(CURDIR)/$(RTL)/tests/test_mesh.cpp > $(B)/rtl/mesh.log 2>&1 || \
		{ cat $(B)/rtl/mesh.log; false; }

# the arithmetic alone
$(B)/rtl/tests/test_fp: $(RTL)/wse_fp_pkg.sv $(RTL)/tests/tb_fp.sv $(RTL)/tests/test_fp.cpp $(RTL)/tests/tap.hpp
	@mkdir -p $(@D)
	verilator --cc --exe --build -Wno-fatal -Wno-lint --top-module tb_fp -Mdir $(B)/rtl/fp -O3 --prefix Vfp \
		-CFLAGS "-O2 -w $(RTL_COMMON)" -o $(CURDIR)/$@ $(RTL)/wse_fp_pkg.sv $(RTL)/tests/tb_fp.sv \
		$(CURDIR)/$(RTL)/tests/test_fp.cpp > $(B)/rtl/fp.log 2>&1 || { cat $(B)/rtl/fp.log; false; }

RTL_SUITES := $(RTL)/tests/test-yosys $(RTL)/tests/test-tiles $(B)/rtl/tests/test_fp $(B)/rtl/tests/test_mesh $(B)/rtl/tests/model_host $(B)/rtl/tests/test_queue \
	$(B)/rtl/tests/test_fabric $(B)/rtl/tests/seed_queue $(B)/rtl/tests/seed_fabric
SUITES += $(RTL_SUITES)
ALL += $(filter $(B)/%,$(RTL_SUITES))

-include hw/rtl/blocks.mk

.PHONY: tile lint-rtl yosys FORCE
tile: $(B)/rtl/libwse_rtl.a ## build a tile of the RTL: make tile ROWS=8 COLS=8

yosys: ## elaborate every module of the RTL in Yosys
	$(RTL)/tests/test-yosys

lint-rtl: ## Verilator's lint of the RTL, every waiver with its reason in hw/rtl/lint.vlt
	verilator --lint-only -Wall --unroll-count 2 --top-module wse_top -I$(RTL) $(RTL)/lint.vlt $(RTL)/tile.vlt \
		$(wildcard $(RTL)/*_pkg.sv) $(RTL)/wse_top.sv
