# SPDX-License-Identifier: MIT
# One flat make over all layers: each folder lists what it has in its build.mk, scripts/rules.mk
# says how it is built; everything built lands in build/. `make help` explains the targets.

ifneq ($(words $(CURDIR)),1)
$(error the path "$(CURDIR)" contains a space, which make cannot handle: move the checkout)
endif

B := build
.DEFAULT_GOAL := all
# what builds and then runs builds on all processors, unless make was told how many jobs
JOBS = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
CC := gcc
# functions and lines, which backtraces, sanitizers and perf show; for a debugger's variables: make
# clean, make G=-g
G := -g1
WARN := -Wall -Wextra -Werror
# -ffp-contract=off: the numerics contract forbids fused multiply-add everywhere a bit can depend on
# it
CFLAGS := -O2 $(G) -std=gnu11 -ffp-contract=off $(WARN)
# sanitizer flavour of the same objects, used by tests: objects under build/asan/. -O1: compiled in
# half the time of -O2, a third of -O3, and as fast. What is left out asks before an access what
# address sanitizer says of the access itself, and takes a fifth of the compiler's time. Warnings
# are errors where the plain objects are compiled.
ASAN := -O1 -fsanitize=address,undefined -fno-sanitize=null,object-size,pointer-overflow \
	-fno-sanitize-recover=undefined -fno-omit-frame-pointer -Wno-error

# Some of what is built has the path of this tree in it: it depends on this file, which is written
# when the tree has moved. Where there is none yet nothing has moved: it is as old as can be.
$(B)/where: $(if $(filter-out $(file <$(B)/where),$(CURDIR)),FORCE)
	@mkdir -p $(@D) && if [ -e $@ ]; then echo '$(CURDIR)' >$@; \
		else echo '$(CURDIR)' >$@ && touch -d @0 $@; fi

# Filled by the layers:
#   ALL      what `make` builds
#   SUITES   test programs of `make test`: each prints TAP and exits non-zero on failure
#   BESIDE   --beside PROGRAM: one that runs beside those, takes one processor and does not look at
#            the clock; --waits PROGRAM: one that mostly waits
#   LONG     of these the longest: begun first, so that both processors have work to the end
#   BENCHES  objects linked into build/wse-bench
ALL :=
SUITES :=
BESIDE :=
LONG :=
CLEANERS :=

.DELETE_ON_ERROR:
.SUFFIXES:

include scripts/rules.mk
include $(wildcard */build.mk)
# tests, many large programs: gold, where it is, links them in a third of the time
LD_OF_TESTS := $(if $(shell command -v ld.gold),-fuse-ld=gold)
$(filter-out $(B)/tsan/% $(B)/rtl/%,$(filter $(B)/%,$(BESIDE))): private CFLAGS += $(LD_OF_TESTS)
-include $(foreach s,$(C_SRCS:.c=.d),$(B)/$(s) $(B)/asan/$(s))

.PHONY: all setup test help clean
all: $(ALL)

setup: ## install the packages that building and testing need (apt-get, as root)
	scripts/setup

# Where the kernel gives huge pages to who asks, malloc asks: the compiler takes 6 to 10 % less CPU
# time, a plan 20 %
test: export GLIBC_TUNABLES ?= glibc.malloc.hugetlb=1
test: setup-if-missing ## build everything and run every test that fits in CI
	$(MAKE) $(JOBS) all
	selftests/run-suites $(LONG) $(BESIDE) $(SUITES)

.PHONY: setup-if-missing
setup-if-missing:
	scripts/setup --if-missing

clean: ## remove everything built
	rm -rf $(B)

help: ## this text
	@cat $(MAKEFILE_LIST) | sed -E ':a; /\\$$/ { N; s/ *\\\n[ \t]*/ /; ba }' | \
		sed -nE 's/^([a-z][a-zA-Z-]*):.*## /\1\t/p' | expand -t 20

$(B)/%/.d:
	@mkdir -p $(@D) && touch $@
