# SPDX-License-Identifier: MIT
# One module of hw/rtl with assertions and its bench, hw/rtl/tests/test_MODULE.cpp on block_tb.hpp:
#	make build/rtl/tests/test_wse_bar && build/rtl/tests/test_wse_bar [SEED]

# All C++ of the model is one file: most of a small one's compile time is its headers.
# $(1) module, $(2) options of Verilator, packages among them
BLOCK_INC = -isystem $(B)/rtl/block-$(1) -isystem $(VERILATOR_ROOT)/include -isystem $(VERILATOR_ROOT)/include/vltstd \
	-Ihw/rtl/tests -Ihw -Ihw/regs/gen -Iuapi -isystem /usr/include/libdrm
define build_block
	@mkdir -p $(@D)
	@rm -rf $(B)/rtl/block-$(1)
	verilator --cc --assert -O3 --unroll-count 2 -Wno-fatal -Wno-lint -Werror-UNOPTFLAT --output-split 0 \
		-Ihw/rtl --top-module $(1) -Mdir $(B)/rtl/block-$(1) --prefix V$(1) \
		hw/rtl/wse_regs_pkg.sv $(2) hw/rtl/$(1).sv > $(B)/rtl/block-$(1).log 2>&1 || \
		{ cat $(B)/rtl/block-$(1).log; false; }
	@for f in $(B)/rtl/block-$(1)/*.cpp; do echo "#include \"$${f##*/}\""; done > $(B)/rtl/block-$(1)/all.cc
	$(RTL_CXX) -O1 -w $(RTL_COMMON) $(RTL_INC) -c -o $(B)/rtl/block-$(1)/all.o $(B)/rtl/block-$(1)/all.cc
	$(RTL_CXX) -O1 -Wall -Wextra -Werror $(RTL_COMMON) $(BLOCK_INC) -o $@ hw/rtl/tests/test_$(1).cpp \
		$(B)/rtl/block-$(1)/all.o $(filter %.a,$^) $(RTL_RUNTIME) -pthread -latomic
endef

# $(1) module, $(2) modules that it instantiates, $(3) options of Verilator, $(4) headers and archives of the bench
define block
BLOCKS += $(B)/rtl/tests/test_$(1)
$(B)/rtl/tests/test_$(1): $(addprefix hw/rtl/,wse_regs_pkg.sv $(1).sv $(2:%=%.sv) tests/test_$(1).cpp \
		tests/block_tb.hpp tests/tap.hpp blocks.mk) hw/regs/gen/wse_regs.h $(4) $$(RTL_RUNTIME)
	$$(call build_block,$(1),$(3))
endef

# executors: a command, the host's memory
EXEC_TB := $(addprefix hw/rtl/tests/,exec_tb.hpp host_mem.hpp) hw/wse_sqe.h uapi/drm/wse_accel.h
STREAM_V := wse_stream_cmd wse_stream_mask wse_cmd wse_xlate wse_fp_pkg
STREAM_TB := $(EXEC_TB) hw/rtl/tests/stream_tb.hpp hw/func/fp.h

# One line a block; test_core, test_mesh and test_fp have rules of their own.
$(eval $(call block,wse_bar,,-GROWS=3 -GCOLS=5 -GNQ=3 -GHOSTFP=1))
$(eval $(call block,wse_check,,-GROWS=3 -GCOLS=5,hw/wse_sqe.h uapi/drm/wse_accel.h $(B)/hw/libwse_func.a))
$(eval $(call block,wse_dma))
$(eval $(call block,wse_queue,wse_check,-GROWS=3 -GCOLS=5 -GNQ=5,hw/rtl/tests/queue_tb.hpp))
$(eval $(call block,wse_service,,-GROWS=3 -GCOLS=5))
$(eval $(call block,wse_copy,wse_cmd wse_xlate,-GROWS=3 -GCOLS=4,$(EXEC_TB)))
$(eval $(call block,wse_start,,-GROWS=3 -GCOLS=5,$(EXEC_TB)))
$(eval $(call block,wse_stream_mask,wse_xlate,-GCOLS=3,$(EXEC_TB)))
$(eval $(call block,wse_stream_in,$(STREAM_V),-GCOLS=3 hw/rtl/wse_fp_pkg.sv,$(STREAM_TB)))
$(eval $(call block,wse_stream_out,$(STREAM_V),-GCOLS=3 hw/rtl/wse_fp_pkg.sv,$(STREAM_TB)))
$(eval $(call block,wse_xlate))

# the core's
TENSOR_V := wse_tensor_pkg wse_fp_pkg
TENSOR_OPT := hw/rtl/wse_tensor_pkg.sv hw/rtl/wse_fp_pkg.sv
$(eval $(call block,wse_sram))
$(eval $(call block,wse_dotq))
$(eval $(call block,wse_ramp))
$(eval $(call block,wse_tasks))
$(eval $(call block,wse_rv32,,,hw/rtl/tests/rv32_ref.hpp))
$(eval $(call block,wse_mover,$(TENSOR_V),$(TENSOR_OPT),hw/func/fp.h))
$(eval $(call block,wse_lanes,$(TENSOR_V),$(TENSOR_OPT),$(addprefix hw/rtl/tests/,lanes_tb.hpp lanes_ref.hpp) hw/func/fp.h))
$(eval $(call block,wse_issue,wse_tensor_pkg,hw/rtl/wse_tensor_pkg.sv))

ALL += $(BLOCKS)
SUITES += $(BLOCKS)
