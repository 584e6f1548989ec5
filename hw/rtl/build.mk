# SPDX-License-Identifier: MIT
# The RTL's benches and lint. One module with assertions and its bench, FOLDER/tests/test_MODULE.cpp
# on block_tb.hpp:
#	make build/rtl/tests/test_wse_bar && build/rtl/tests/test_wse_bar [SEED]

RTL_DIRS := $(addprefix hw/rtl/,core fabric host)
RTL_PKGS := hw/rtl/wse_regs_pkg.sv hw/rtl/wse_port_pkg.sv hw/rtl/wse_fp_pkg.sv \
	hw/rtl/core/wse_tensor_pkg.sv
RTL_SRC := $(wildcard hw/rtl/*.sv $(RTL_DIRS:%=%/*.sv) $(RTL_DIRS:%=%/*.svh))
RTL_CXX := $(shell command -v clang++-19 || command -v clang++ || echo g++)
RTL_ARCH := $(shell grep -q -m1 avx2 /proc/cpuinfo && grep -q -m1 bmi2 /proc/cpuinfo && \
	echo -march=x86-64-v3)
# for libwse.so, as in build-tile; hidden, so that calls stay direct
RTL_PIC := -fPIC -fvisibility=hidden
RTL_CXXFLAGS := $(strip -O3 $(RTL_ARCH))
# asked when the first recipe needs it: it takes longer than reading a makefile
ifeq ($(origin VERILATOR_ROOT),undefined)
VERILATOR_ROOT = $(eval VERILATOR_ROOT := $(shell verilator --getenv VERILATOR_ROOT \
	2>/dev/null))$(VERILATOR_ROOT)
endif
RTL_INC = -Ihw/verilator -Ihw -Ihw/model -Iuapi/wse/gen -isystem $(VERILATOR_ROOT)/include \
	-isystem $(VERILATOR_ROOT)/include/vltstd
RTL_COMMON := -std=gnu++17 -ffp-contract=off -D_Static_assert=static_assert
# what a C program needs besides the archive
RTL_LIBS := -lstdc++ -lm -pthread -latomic
RTL_RUNTIME := $(B)/rtl/runtime.o

# where the modules are
rtl = $(foreach m,$(1),$(filter %/$(m).sv,$(RTL_SRC)))
RTL_V := $(foreach d,hw/rtl $(RTL_DIRS),-I$(d))
BENCH_INC := $(foreach d,hw/rtl $(RTL_DIRS),-I$(d)/tests) -Ihw -Ihw/model -Iuapi -Iuapi/wse \
	-Iuapi/wse/gen -isystem /usr/include/libdrm

# All C++ of the model is one file: most of a small one's compile time is its headers.
# $(1) folder, $(2) options and sources of Verilator, $(3) more lines of that file
define verilate
	@mkdir -p $(@D)
	@rm -rf $(1)
	$(call short,RTL,$@)verilator --cc --assert -O3 --unroll-count 2 -Wno-fatal -Wno-lint \
		-Werror-UNOPTFLAT --output-split 0 $(RTL_V) -Mdir $(1) $(2) > $(1).log 2>&1 || \
		{ cat $(1).log; false; }
	@{ for f in $(1)/*.cpp; do echo "#include <$${f##*/}>"; done; $(3) } > $(1)/all.cc
endef
# $(1) folder: headers of a bench
verilated_inc = -isystem $(1) -isystem $(VERILATOR_ROOT)/include \
	-isystem $(VERILATOR_ROOT)/include/vltstd $(BENCH_INC)
# with its bench in the same file, in which the model's lines are a system header's: no warnings
define build_block
	$(call verilate,$(B)/rtl/block-$(1)$(3),--top-module $(1) --prefix V$(1) \
		hw/rtl/wse_regs_pkg.sv hw/rtl/wse_port_pkg.sv $(2) $(call rtl,$(1)), \
		echo '#include "$(dir $(call rtl,$(1)))tests/test_$(1).cpp"';)
	$(call short,CXX,$@)$(RTL_CXX) -O1 -Wall -Wextra -Werror $(RTL_COMMON) -iquote . \
		$(call verilated_inc,$(B)/rtl/block-$(1)$(3)) -o $@ $(B)/rtl/block-$(1)$(3)/all.cc \
		$(filter %.a,$^) $(RTL_RUNTIME) -pthread -latomic
endef

# $(1) module, $(2) modules that it instantiates, $(3) options of Verilator, $(4) headers and
# archives of the bench,
# $(5) behind the names of what is built, where a module is tested more than once
define block
BLOCKS += $(B)/rtl/tests/test_$(1)$(5)
$(B)/rtl/tests/test_$(1)$(5): $(call rtl,wse_regs_pkg wse_port_pkg $(1) $(2)) \
	$(dir $(call rtl,$(1)))tests/test_$(1).cpp \
		hw/rtl/tests/block_tb.hpp hw/rtl/tests/tap.hpp hw/rtl/build.mk $(REGS) $(4) \
		$(RTL_RUNTIME)
	$$(call build_block,$(1),$(3),$(5))
endef

# executors: a command, the host's memory
EXEC_TB := $(addprefix hw/rtl/host/tests/,exec_tb.hpp host_mem.hpp) uapi/wse/wse_cmd.h \
	uapi/drm/wse_accel.h
STREAM_V := wse_stream_cmd wse_stream_mask wse_cmd wse_xlate wse_fp_pkg
STREAM_TB := $(EXEC_TB) hw/rtl/host/tests/stream_tb.hpp hw/twin/exact/fp.h
FP_PKG := hw/rtl/wse_fp_pkg.sv

$(eval $(call block,wse_bar,,-GROWS=3 -GCOLS=5 -GNQ=3 -GHOSTFP=1 \
	-GGROUP=5,hw/rtl/tests/counters.hpp hw/rtl/host/tests/bar_tb.hpp))
$(eval $(call block,wse_check,,-GROWS=3 -GCOLS=5,hw/rtl/host/tests/check_rules.hpp \
	uapi/wse/wse_cmd.h uapi/drm/wse_accel.h $(TWIN)))
$(eval $(call block,wse_dma))
$(eval $(call block,wse_queue,wse_check,-GROWS=3 -GCOLS=5 -GNQ=5,\
	$(addprefix hw/rtl/host/tests/,queue_tb.hpp queue_cmds.hpp)))
$(eval $(call block,wse_service,,-GROWS=3 -GCOLS=5))
$(eval $(call block,wse_copy,wse_cmd wse_xlate,-GROWS=3 -GCOLS=4,$(EXEC_TB)))
$(eval $(call block,wse_start,,-GROWS=3 -GCOLS=5,$(EXEC_TB)))
$(eval $(call block,wse_stream_mask,wse_xlate,-GCOLS=3,$(EXEC_TB)))
$(eval $(call block,wse_stream_in,$(STREAM_V),-GCOLS=3 $(FP_PKG),$(STREAM_TB)))
$(eval $(call block,wse_stream_out,$(STREAM_V),-GCOLS=3 $(FP_PKG),$(STREAM_TB)))
$(eval $(call block,wse_stream_out,$(STREAM_V),-GCOLS=3 -GWORDS=8 $(FP_PKG),$(STREAM_TB),_8))
$(eval $(call block,wse_io_join,,-GN=5 -GCOLS=3 -GGRACE=90))
$(eval $(call block,wse_xlate,,-GCOLS=3))

# the core's
TENSOR_V := wse_tensor_pkg wse_fp_pkg
TENSOR_OPT := hw/rtl/core/wse_tensor_pkg.sv $(FP_PKG)
LANES_H := hw/rtl/core/wse_lanes_rows.svh
CORE_TB := hw/rtl/core/tests
$(eval $(call block,wse_sram))
$(eval $(call block,wse_dotq))
$(eval $(call block,wse_ramp))
$(eval $(call block,wse_tasks))
$(eval $(call block,wse_rv32,,,$(CORE_TB)/rv32_ref.hpp))
$(eval $(call block,wse_mover,$(TENSOR_V),$(TENSOR_OPT),hw/twin/exact/fp.h))
$(eval $(call block,wse_lanes,$(TENSOR_V),$(TENSOR_OPT),$(LANES_H) $(CORE_TB)/lanes_tb.hpp \
	$(CORE_TB)/lanes_ref.hpp hw/twin/exact/fp.h hw/twin/exact/vop.h))
$(eval $(call block,wse_issue,wse_tensor_pkg,hw/rtl/core/wse_tensor_pkg.sv))

# ---- benches of more than one module: $(1) top, $(2) sources, $(3) benches, $(4) options,
# $(5) optimisation, $(6) more dependencies ----
define bench
$(B)/rtl/tests/test_$(1): $(2) $(3) hw/rtl/tests/tap.hpp hw/rtl/build.mk $(REGS) $(6) $(RTL_RUNTIME)
	$$(call verilate,$(B)/rtl/$(1),$(4) $(2))
	$$(call short,CXX,$(B)/rtl/$(1)/all.o)$(RTL_CXX) $(5) -w $(RTL_COMMON) $$(RTL_INC) \
		-I$(B)/rtl/$(1) -c -o $(B)/rtl/$(1)/all.o $(B)/rtl/$(1)/all.cc
	$$(call short,LINK,$$@)$(RTL_CXX) $(5) -w $(RTL_COMMON) \
		$$(call verilated_inc,$(B)/rtl/$(1)) -o $$@ $(3) $(B)/rtl/$(1)/all.o \
		$(RTL_RUNTIME) -pthread -latomic
BLOCKS += $(B)/rtl/tests/test_$(1)
endef

# router and mesh alone, with a stub in the core's place
$(eval $(call bench,mesh,$(call rtl,wse_regs_pkg wse_port_pkg wse_router wse_wafer) \
	$(addprefix hw/rtl/fabric/tests/,wse_core_stub.sv tb_mesh.sv),\
	hw/rtl/fabric/tests/test_mesh.cpp,--top-module tb_mesh --prefix Vmesh,-O2,\
	hw/rtl/tests/counters.hpp))
# more cores than 16 bits number
$(eval $(call bench,large,$(call rtl,wse_regs_pkg wse_start),hw/rtl/host/tests/test_large.cpp,\
	--top-module wse_start --prefix Vlarge -GROWS=300 -GCOLS=300,-O1))
# the arithmetic alone
$(eval $(call bench,fp,$(FP_PKG) hw/rtl/tests/tb_fp.sv,hw/rtl/tests/test_fp.cpp,--top-module tb_fp \
	--prefix Vfp,-O2))
# the whole core. WSE_RISCV_TESTS=dir makes it run the public rv32ui, rv32um and rv32mi programs
# (riscv-tests built with
# -march=rv32im_zicsr, the "p" environment) of that directory, too
$(eval $(call bench,core,$(call rtl,$(addprefix wse_,regs_pkg fp_pkg tensor_pkg sram memory dotq \
	ramp issue tasks lanes mover rv32 core)),\
	$(addprefix $(CORE_TB)/,test_core.cpp test_core_lanes.cpp test_core_movers.cpp \
	test_core_scalar.cpp),\
	--top-module wse_core --prefix Vwse_core,-O1,\
	$(addprefix $(CORE_TB)/,test_core.hpp core_tb.hpp lanes_ref.hpp) \
	$(LANES_H) hw/twin/exact/fp.h hw/twin/exact/vop.h))

ALL += $(BLOCKS)
LONG += --beside hw/rtl/tests/test-yosys
BESIDE += $(addprefix --beside ,$(BLOCKS))
SUITES += hw/rtl/tests/test-synth

.PHONY: lint-rtl yosys synth synth-baseline
lint_top = verilator --lint-only -Wall --unroll-count 2 --top-module wse_top $(1) $(RTL_V) \
	hw/rtl/lint.vlt hw/verilator/tile.vlt $(RTL_PKGS) hw/rtl/wse_top.sv
synth: ## LUT, FF, BRAM, DSP of the units of the RTL that have changed, against hw/rtl/synth/baseline
	B=$(B) hw/rtl/synth/synth

synth-baseline: ## record them, and hw/doc/synth.md
	B=$(B) hw/rtl/synth/synth --record

yosys: ## elaborate every module of the RTL in Yosys
	hw/rtl/tests/test-yosys

# small tiles: Verilator expands every core. One with a bus for all columns, one with two
lint-rtl: ## Verilator's lint of the RTL, every waiver with its reason in hw/rtl/lint.vlt
	$(call lint_top,-GROWS=2 -GCOLS=3)
	$(call lint_top,-GROWS=2 -GCOLS=4 -GGROUP=2)
