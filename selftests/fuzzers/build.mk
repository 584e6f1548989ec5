# SPDX-License-Identifier: MIT
# Coverage-guided fuzzers of what reads files and sockets, with clang's libFuzzer: a file each.

FUZZ_CC := clang-19
FUZZERS := $(patsubst selftests/fuzzers/%.c,%,$(wildcard selftests/fuzzers/*.c))
# what a fuzzer goes through; the twin, which none of them is about, is as everywhere else
FUZZ_SRC = $(LIBWSE_SRC) $(GDB_SRCS) hw/model/elf32.c hw/model/lines.c $(wildcard hw/pci/*.c) \
	libwse/tools/wse-top-run.c
FUZZ_FLAGS := -g -std=gnu11 -O1 -ffp-contract=off -w -fvisibility=hidden -pthread -fPIC \
	-fsanitize=address,undefined -fno-sanitize=function,null,object-size,pointer-overflow \
	-fno-sanitize-recover=undefined
# `make` compiles them, so that they do not fall behind
CFLAGS_selftests/fuzzers := -D_GNU_SOURCE
C_SRCS += $(FUZZERS:%=selftests/fuzzers/%.c)
ALL += $(FUZZERS:%=$(B)/selftests/fuzzers/%.o)

$(B)/fuzz/%.o: %.c scripts/rules.mk selftests/fuzzers/build.mk | fuzz-compiler
	@mkdir -p $(@D)
	$(call short,CC,$@)$(FUZZ_CC) $(CPPFLAGS) $(own_flags) $(FUZZ_FLAGS) \
		-fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<
$(FUZZERS:%=$(B)/fuzz/%): $(B)/fuzz/%: $(B)/fuzz/selftests/fuzzers/%.o \
		$(FUZZ_SRC:%.c=$(B)/fuzz/%.o) $(TWIN)
	$(call short,LINK,$@)$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $(filter %.o,$^) \
		$(call pull_models,$^) $(filter %.a,$^) $(LIBWSE_LIBS) -lm
-include $(foreach s,$(FUZZ_SRC:.c=.d) $(FUZZERS:%=selftests/fuzzers/%.d),$(B)/fuzz/$(s))

.PHONY: fuzz fuzz-compiler
fuzz-compiler:
	@[ -e "$$($(FUZZ_CC) -print-resource-dir)/lib/linux/libclang_rt.fuzzer-$$(uname -m).a" ] || { \
		echo "make fuzz: no libFuzzer: apt-get install clang-19 libclang-rt-19-dev" >&2; exit 1; }
fuzz: $(FUZZERS:%=$(B)/fuzz/%) $(B)/wse-train $(FW)/wse-fw.bin $(FW_PROGRAMS) ## what reads files and \
	sockets, with inputs that libFuzzer makes up, SECONDS=60 of each kind
	selftests/fuzzers/run $(or $(SECONDS),60)
