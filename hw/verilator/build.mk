# SPDX-License-Identifier: MIT
# RTL to a model: build/rtl/libwse_rtl.a with the tiles of $(TILES), Verilator's runtime compiled
# once.
# `make tile ROWS=8 COLS=8` builds another tile into the archive, which stays there: what was built
# once is built again when the RTL changes. `rm -r build/rtl/tile-8x8` drops it; TILES says
# otherwise. GROUP=4: each 4 columns have a bus of their own (tile-8x8g4), 0: one for all; without
# GROUP it is what wse_machine_group() says.

BUILT_TILES := $(patsubst $(B)/rtl/tile-%/.done,%,$(sort $(wildcard $(B)/rtl/tile-*x*/.done)))
ifeq ($(origin TILES),undefined)
TILES := 2x2 4x4 2x4g2
TILES += $(filter-out $(TILES),$(BUILT_TILES))
endif
# $(1) tiles: what a sub-make for a job is given, so that it builds these alone beside what there is
job_tiles = TILES="$(if $(filter file,$(origin TILES)),$(sort $(1) $(BUILT_TILES)),$(TILES))"
# of the command line only: environments have been seen with ROWS and COLS of a terminal
ifneq ($(filter command,$(origin ROWS) $(origin COLS)),)
ifneq ($(shell echo 'x$(ROWS) x$(COLS)' | grep -cE '^x[1-9][0-9]{0,2} x[1-9][0-9]{0,2}$$'),1)
$(error a tile needs ROWS and COLS, numbers from 1 to 999, not ROWS=$(ROWS) COLS=$(COLS): make \
	tile ROWS=8 COLS=8)
endif
ifneq ($(shell echo $$(($(ROWS) * $(COLS) > 8191))),0)
$(error ROWS=$(ROWS) COLS=$(COLS) are more than 8191 cores, beyond which counters of the RTL \
	overflow: choose fewer, or the twin, sim:func)
endif
TILE_GROUP := $(if $(filter command,$(origin GROUP)),$(GROUP),$(shell \
	echo $$(($(COLS) >= 16 && $(COLS) % 4 == 0 ? 4 : 0))))
ifneq ($(shell echo 'x$(TILE_GROUP)' | grep -cE '^x(0|[1-9][0-9]{0,2})$$'),1)
$(error GROUP is a number of columns, or 0 for one bus, not $(TILE_GROUP): make tile ROWS=1 \
	COLS=48 GROUP=4)
endif
ifneq ($(TILE_GROUP),0)
ifneq ($(shell echo $$(($(COLS) % $(TILE_GROUP)))),0)
$(error port groups of GROUP=$(TILE_GROUP) columns do not divide COLS=$(COLS): GROUP is a divisor \
	of it, or 0 for one bus)
endif
endif
TILE_ASKED := $(ROWS)x$(COLS)$(if $(filter-out 0,$(TILE_GROUP)),g$(TILE_GROUP))
ifeq ($(TRACE),)
TILES := $(filter-out $(TILE_ASKED),$(TILES)) $(TILE_ASKED)
endif
endif
# TRACE=fst: a tile with waves, a shared object of its own (hw/doc/waves.md); the plain ones stay
WAVE_TILES := $(patsubst $(B)/rtl/wave-%.so,%,$(sort $(wildcard $(B)/rtl/wave-*x*.so)))
ifneq ($(TRACE),)
ifneq ($(TRACE),fst)
$(error TRACE=fst is the one kind of waves, not TRACE=$(TRACE): make tile TRACE=fst ROWS=4 COLS=4)
endif
ifeq ($(TILE_ASKED),)
$(error a tile with waves needs ROWS and COLS: make tile TRACE=fst ROWS=4 COLS=4)
endif
WAVE_TILES := $(filter-out $(TILE_ASKED),$(WAVE_TILES)) $(TILE_ASKED)
endif

# rows, columns and group of tile 1x48g4; 4x4 has none
# $(1) tile
tile_words = $(subst x, ,$(subst g, ,$(1)))$(if $(findstring g,$(1)),, 0)

TILE_DEPS := $(RTL_SRC) $(filter-out %/wave.hpp,$(wildcard hw/verilator/*)) hw/model/machine.h \
	$(REGS)

# of the runtime a cycle calls what is in headers, which the model compiles; the rest starts, ends
# and reports
$(RTL_RUNTIME): hw/verilator/build.mk
	@mkdir -p $(@D)
	$(call short,CXX,$@)for f in verilated verilated_threads verilated_dpi; do \
		echo "#include <$$f.cpp>"; done | \
		$(RTL_CXX) -O0 -w -std=gnu++17 $(RTL_PIC) $(RTL_INC) -x c++ -c -o $@ -

$(B)/rtl/tile-%/.done: $(TILE_DEPS)
	$(call short,RTL,$(@D))CXX=$(RTL_CXX) CXXFLAGS="$(RTL_CXXFLAGS)" hw/verilator/build-tile \
		$(call tile_words,$*) $(@D)
	@touch $@

# the same with assertions, for the tests
$(B)/rtl/assert-%/.done: $(TILE_DEPS)
	$(call short,RTL,$(@D))CXX=$(RTL_CXX) CXXFLAGS=-O0 hw/verilator/build-tile \
		$(call tile_words,$*) $(@D) --assert
	@touch $@

# ---- with waves: Verilator's runtime comes along, with what writes FST ----
# Verilator 5.006 reads its vector of signals that are asked for behind the end of it, where only
# some are (it reserves room, and does not resize): its source is compiled with that line mended
$(B)/rtl/runtime-fst.o: hw/verilator/build.mk
	@mkdir -p $(@D)/fst
	@cp $(VERILATOR_ROOT)/include/verilated_fst_c.cpp $(@D)/fst
	@sed 's/m_sigs_enabledVec\.reserve(/m_sigs_enabledVec.resize(/' \
		$(VERILATOR_ROOT)/include/verilated_trace_imp.h > $(@D)/fst/verilated_trace_imp.h
	$(call short,CXX,$@)for f in verilated verilated_threads verilated_dpi verilated_fst_c; do \
		echo "#include <$$f.cpp>"; done | \
		$(RTL_CXX) -O1 -w -std=gnu++17 -DVM_TRACE=1 -DVM_TRACE_FST=1 $(RTL_PIC) \
		-I$(@D)/fst $(RTL_INC) -x c++ -c -o $@ -

$(B)/rtl/wave-%/.done: $(TILE_DEPS) hw/verilator/wave.hpp
	$(call short,RTL,$(@D))CXX=$(RTL_CXX) CXXFLAGS="-O2 $(RTL_ARCH)" hw/verilator/build-tile \
		$(call tile_words,$*) $(@D) --trace-fst
	@touch $@

$(B)/rtl/wave-%.so: $(B)/rtl/wave-%/.done $(B)/rtl/runtime-fst.o
	$(call short,LINK,$@)$(RTL_CXX) -shared -Wl,-Bsymbolic -Wl,-z,defs -o $@ \
		$(B)/rtl/wave-$*/*.o $(B)/rtl/runtime-fst.o -lz -pthread -latomic

.PRECIOUS: $(B)/rtl/wave-%/.done

# the tests'
ifneq ($(MODELS),func)
ALL += $(B)/rtl/wave-2x2.so
endif
ALL += $(filter-out $(ALL),$(WAVE_TILES:%=$(B)/rtl/wave-%.so))

# written when its content changes, so that another value of TILES rebuilds what depends on it
# $(1) tiles
tiles_inc = @mkdir -p $(@D); for t in $(1); do echo "$$t"; done | \
	sed -E 's/^[0-9]+x[0-9]+$$/&g0/; s/^([0-9]+)x([0-9]+)g([0-9]+)$$/TILE(\1, \2, \3, 0)/' > $@.new; \
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# $(eval $(call rtl_archive,OUT.a,FOLDER,TILES,KIND)): tiles built as KIND-RxC, listed in
# build/FOLDER/tiles.inc
define rtl_archive
$(B)/$(2)/tiles.inc: FORCE
	$$(call tiles_inc,$(3))

$(B)/$(2)/wse_rtl.o: hw/verilator/wse_rtl.cpp hw/verilator/wse_rtl.h hw/model/machine.h \
	$(B)/$(2)/tiles.inc
	$$(call short,CXX,$$@)$(RTL_CXX) -O2 -Wall -Wextra -Werror $(RTL_COMMON) $(RTL_PIC) \
		-I$(B)/$(2) $$(RTL_INC) -c -o $$@ $$<

$(B)/$(1): $(B)/$(2)/wse_rtl.o $(RTL_RUNTIME) $(3:%=$(B)/rtl/$(4)-%/.done)
	@rm -f $$@
	$$(call short,AR,$$@)ar rcs $$@ $$(filter %.o,$$^) \
		$(if $(3),$$$$(ls $(3:%=$(B)/rtl/$(4)-%/*.o)))
endef

$(eval $(call rtl_archive,rtl/libwse_rtl.a,rtl,$(TILES),tile))

ALL += $(B)/rtl/libwse_rtl.a

# ---- tests: small tiles with assertions, judged by the tests of the host contract and by those of
# the twin ----
RTL_TEST_TILES := 1x1 1x3 2x2 2x3 3x1 2x2g2 2x3g1 2x4g2 1x12g4
$(eval $(call rtl_archive,rtl/libwse_rtl_test.a,rtl/test,$(RTL_TEST_TILES),assert))

# Each source is compiled once for one bus, and once for columns with buses of their own (groups/);
# what finds the model once for each kind.
RTL_TEST_LIBS := $(B)/rtl/libwse_rtl_test.a $(TWIN)
RTL_TEST_HDRS := $(wildcard hw/twin/tests/*.h) selftests/tap.h hw/model/machine.h $(REGS)
RTL_SEED := -DRTL_SEED=0x9e3779b97f4a7c15ull
RTL_FIND := $(B)/rtl/tests/find_
# $(1) options
define rtl_test_cc
	@mkdir -p $(@D)
	$(call short,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) -D_GNU_SOURCE -DTEST_RTL $(1) -c -o $@ $<
endef
$(B)/rtl/tests/one/%.o: %.c $(RTL_TEST_HDRS) hw/verilator/build.mk
	$(call rtl_test_cc,)
$(B)/rtl/tests/groups/%.o: %.c $(RTL_TEST_HDRS) hw/verilator/build.mk
	$(call rtl_test_cc,-DRTL_GROUPS)
$(RTL_FIND)%.o: hw/rtl/tests/model_find_rtl.c $(RTL_TEST_HDRS) hw/verilator/build.mk
	$(call rtl_test_cc,$(if $(findstring group,$*),-DRTL_GROUPS) \
		$(if $(findstring seed,$*),$(RTL_SEED)))

# $(1) output, $(2) sources, $(3) kind: test, seed, group or group_seed
define rtl_test
$(B)/rtl/tests/$(1): $(patsubst %.c,$(B)/rtl/tests/$(if $(findstring group,$(3)),groups,one)/%.o, \
		$(2) hw/twin/tests/dev.c) $(RTL_FIND)$(3).o $(RTL_TEST_LIBS)
	$$(call short,LINK,$$@)$(CC) $(CFLAGS) $$(LD_OF_TESTS) -o $$@ $$^ $(RTL_LIBS)
ALL += $(B)/rtl/tests/$(1)
BESIDE += --beside $(B)/rtl/tests/$(1)
endef
$(eval $(call rtl_test,model_host,hw/rtl/tests/model_host.c,test))
$(foreach k,test seed,$(foreach t,queue fabric streams index rounds,$(eval \
	$(call rtl_test,$(k)_$(t),hw/twin/tests/test_$(t).c,$(k)))))
# the same where columns have buses of their own
$(foreach t,queue streams silent,$(eval \
	$(call rtl_test,group_$(t),hw/twin/tests/test_$(t).c,group)))
$(foreach t,queue streams,$(eval \
	$(call rtl_test,group_seed_$(t),hw/twin/tests/test_$(t).c,group_seed)))
$(foreach k,test seed,$(eval \
	$(call rtl_test,$(k)_batch,hw/twin/tests/test_batch.c hw/twin/tests/layer.c,$(k))))
$(B)/rtl/tests/test_batch $(B)/rtl/tests/seed_batch: \
	| $(B)/firmware/wse-fw.bin $(B)/firmware/linear.elf
SUITES += hw/rtl/tests/test-tiles hw/verilator/tests/test-dedup hw/verilator/tests/test-scratch

.PHONY: tile FORCE
tile: $(if $(TRACE),$(TILE_ASKED:%=$(B)/rtl/wave-%.so),$(B)/rtl/libwse_rtl.a) ## build a tile of the RTL: make tile ROWS=8 COLS=8; TRACE=fst: one with waves
