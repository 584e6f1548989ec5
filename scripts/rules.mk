# SPDX-License-Identifier: MIT
# Rules of the build; the build.mk of each folder lists the folder's targets.
#
# Objects: build/<path>.o, and build/asan/<path>.o with sanitizers. A folder's or file's own flags
# are CFLAGS_<folder>, CFLAGS_<file>: CFLAGS_hw/twin := -O3. The compiler finds headers (-MMD).
# Objects do not depend on these flags: touch this file when they change.

# $(call short,CC,$@)COMMAND: a line "  CC  build/..." in place of a long command, nothing with
# make -s; make V=1 shows commands
empty :=
tab := $(empty)	$(empty)
silent = $(findstring s,$(filter-out -%,$(firstword $(MAKEFLAGS))))
short = $(if $(filter 1,$(V)),,@$(if $(silent),,$(info $(empty)  $(1)$(tab)$(2))))

CPPFLAGS := -Iuapi -Iuapi/wse -Iuapi/wse/gen -Ihw -Ihw/model -Ilibwse/include -Ilibwse -Iselftests \
	$(shell pkg-config --cflags libdrm 2>/dev/null)
own_flags = $(CFLAGS_$(firstword $(subst /, ,$<))) $(CFLAGS_$(patsubst %/,%,$(dir $<))) $(CFLAGS_$<)

$(B)/%.o: %.c scripts/rules.mk
	@mkdir -p $(@D)
	$(call short,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) $(own_flags) -MMD -MP -c -o $@ $<
$(B)/asan/%.o: %.c scripts/rules.mk
	@mkdir -p $(@D)
	$(call short,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) $(own_flags) $(ASAN) -MMD -MP -c -o $@ $<

C_SRCS :=
comma := ,

# $(eval $(call c_archive,OUT.a,SOURCES)): build/OUT.a and build/asan/OUT.a
define c_archive
C_SRCS += $(2)
$(B)/$(1): $(2:%.c=$(B)/%.o)
	@rm -f $$@
	$$(call short,AR,$$@)$$(AR) rcs $$@ $$^
$(B)/asan/$(1): $(2:%.c=$(B)/asan/%.o)
	@rm -f $$@
	$$(call short,AR,$$@)$$(AR) rcs $$@ $$^
endef

# $(eval $(call c_program,OUT,SOURCES,ARCHIVES,LIBS,ASAN-ARCHIVES)): build/OUT, and build/asan/OUT
# from ASAN-ARCHIVES. wse_machine_find() refers to models weakly, which alone links none: hence -u.
# $(1): archives
pull_models = $(if $(filter %/libwse_twin.a,$(1)), \
		-Wl$(comma)-u$(comma)wse_machine_find -Wl$(comma)-u$(comma)wse_machine_func) \
	$(if $(filter %/libwse_rtl.a,$(1)),-Wl$(comma)-u$(comma)wse_machine_rtl)
c_link = $(CC) $(CFLAGS) -pthread $(1) -o $@ $(filter %.o,$^) $(call pull_models,$^) \
	$(LDFLAGS_$(@:$(B)/%=%)) $(2)
archives = -Wl$(comma)--start-group $(filter %.a,$^) -Wl$(comma)--end-group
define c_program
C_SRCS += $(2)
$(B)/$(1): $(2:%.c=$(B)/%.o) $(3)
	@mkdir -p $$(@D)
	$$(call short,LINK,$$@)$$(call c_link,,$$(archives) $(4))
$(B)/asan/$(1): $(2:%.c=$(B)/asan/%.o) $(5)
	@mkdir -p $$(@D)
	$$(call short,LINK,$$@)$$(call c_link,$$(ASAN),$$(archives) $(4))
endef

# The same for a test: `make` builds it and `make test` runs it, with and without sanitizers; PATH
# has no .c:
# $(eval $(call c_test,PATH,MORE-SOURCES,ARCHIVES,LIBS,ASAN-ARCHIVES))
define c_test
$(call c_program,$(1),$(1).c $(2),$(3),$(4),$(5))
ALL += $(B)/$(1) $(B)/asan/$(1)
BESIDE += --beside $(B)/$(1) --beside $(B)/asan/$(1)
endef
