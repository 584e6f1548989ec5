# SPDX-License-Identifier: MIT
# wse-lockstep: random programs on rtl and func, the first difference is named.

$(eval $(call c_program,wse-lockstep,$(wildcard hw/lockstep/*.c),$(MODEL_LIBS),$(MODEL_LINK)))

ALL += $(B)/wse-lockstep
# nine million instructions on 2x2, almost three on 4x4, some where two columns share a bus; on a
# busy machine no longer than so many seconds; and some of which the twin is not traced, so that it
# translates: these must reach its ways of tensor instructions
ifneq ($(shell grep -m1 -o avx2 /proc/cpuinfo),)
LS_REACH := --reach known=50,runs=50,quick=200,grouped=20,again=50
endif
SUITES += hw/lockstep/tests/test_judge "$(B)/wse-lockstep --tap --insns 9000000 --seconds 120" \
	"$(B)/wse-lockstep --tap --seconds 60 --rows 4 --cols 4 --parts --insns 2700000 --seed 7000" \
	"$(B)/wse-lockstep --tap --seconds 60 --rows 2 --cols 4 --group 2 --insns 1500000 --seed 4000" \
	"$(B)/wse-lockstep --tap --events --programs 100 --seed 3000" \
	"$(B)/wse-lockstep --tap --ends --insns 1000000 --seconds 300 --seed 9000 $(LS_REACH)"

.PHONY: lockstep-long
lockstep-long: $(B)/wse-lockstep ## random programs on rtl and func: 10^8 instructions (INSNS, SEED)
	$(B)/wse-lockstep --insns $(or $(INSNS),100000000) --seed $(or $(SEED),1000)

# tiles of 16 columns, of which four share a bus; the RTL of both takes minutes to build. Streams
# and what ends them are a few in a hundred programs, so there are runs of them alone.
LS_WIDE := 1x16 2x16
.PHONY: lockstep-wide
lockstep-wide: ## random programs on rtl and func, tiles of 16 columns (PROGRAMS of each run, SEED)
	$(MAKE) $(call job_tiles,2x2 4x4 2x4g2 $(LS_WIDE:%=%g4)) $(B)/wse-lockstep
	@set -e; for t in $(LS_WIDE); do for o in "" --parts --ends "--ends --parts" "--kind host" \
		"--kind stream" "--kind broken" "--kind mixed" "--kind cut"; do \
		echo "== $$t $$o"; $(B)/wse-lockstep --rows $${t%x*} --cols $${t#*x} $$o \
			--programs $(or $(PROGRAMS),300) --seed $(or $(SEED),1000); done; done

# the same counts on every machine: so many programs of these seeds
.PHONY: lockstep-coverage
lockstep-coverage: $(B)/wse-lockstep ## hw/doc/lockstep.md: what random programs reach, and what they do not
	$< --programs 3000 --seed 1 --coverage $(B)/coverage.md
	cat hw/lockstep/lockstep.md.in $(B)/coverage.md > hw/doc/lockstep.md
