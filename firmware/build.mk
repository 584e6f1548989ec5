# SPDX-License-Identifier: MIT
# Programs for the cores. Users' programs: `make kernel SRC=my.c` (for the resident firmware) makes
# build/firmware/my.elf, `make program SRC=my.c` (bare metal, for wse-run) build/programs/my.elf.

RVCC := riscv64-unknown-elf-gcc
# also for users' programs (libwse.pc)
KERNEL_CFLAGS := -march=rv32im_zicsr -mabi=ilp32 -O2 -g -std=gnu11 -ffreestanding -nostdlib \
	-nostartfiles -msmall-data-limit=0 -fno-tree-loop-distribute-patterns
RVFLAGS := $(KERNEL_CFLAGS) $(WARN) -Ifirmware/include -Ifirmware/lib -Iuapi/wse -Iuapi/wse/gen
# of what is installed: the same bytes wherever the tree lies
RVHERE := -fdebug-prefix-map=$(CURDIR)=.
RVLINK := -Wl,--build-id=none,-n,--no-warn-rwx-segments
# the argument words, where the linker scripts' own value is not that of wse.regs
FW_ARGS := $(shell awk '$$1 == "const" && $$2 == "ARGS_OFFSET" { print $$3 }' uapi/wse/wse.regs)
ifneq ($(FW_ARGS),0xbfc0)
RVLINK := $(RVLINK),--defsym=__wse_args=0x80000000+$(FW_ARGS)
endif
# programs of a phase exist because SRAM is short: these flags make them a twentieth smaller, a
# hundredth slower
RVSMALL := -fno-move-loop-invariants -fno-tree-ch -fno-thread-jumps
RVFLAGS_forward := $(RVSMALL)
RVFLAGS_backward := $(RVSMALL)
RVFLAGS_loss := $(RVSMALL)
RVFLAGS_cached := $(RVSMALL)
RVFLAGS_full_cached := $(RVSMALL)
RVFLAGS_full_forward := $(RVSMALL)
RVFLAGS_full_backward := $(RVSMALL)
RVFLAGS_halves_forward := $(RVSMALL)
RVFLAGS_full_halves_forward := $(RVSMALL)
RVFLAGS_halves_backward := $(RVSMALL)
RVFLAGS_full_halves_backward := $(RVSMALL)
RVFLAGS_slopes_cached := $(RVSMALL)
RVFLAGS_slopes_forward := $(RVSMALL)
RVFLAGS_slopes_backward := $(RVSMALL)
RVFLAGS_drop_forward := $(RVSMALL)
RVFLAGS_drop_backward := $(RVSMALL)
# the programs with all kernels of training: of GPT-2's form, and of every form
TRAIN_HDRS := $(filter-out %/attn_past.h %/attn_back_half.h,$(wildcard firmware/lib/*.h))
RVFLAGS_train := $(addprefix -include ,$(sort $(TRAIN_HDRS)))
RVFLAGS_full := -DKERNELS_FULL $(RVFLAGS_train)
RVFLAGS_halves := -DKERNELS_HALVES $(RVFLAGS_train)
RVFLAGS_full_halves := -DKERNELS_HALVES $(RVFLAGS_full)
# the first two: 2 % fewer bytes of a program that leaves models little room
RVFLAGS_halves_both := -fno-tree-ch -fno-thread-jumps -DKERNELS_BACK_HALVES $(RVFLAGS_halves)
RVFLAGS_full_halves_both := -DKERNELS_BACK_HALVES $(RVFLAGS_full_halves)
RVFLAGS_slopes := -DKERNELS_SLOPES $(RVFLAGS_full)
RVFLAGS_drop := -DKERNELS_DROP $(RVFLAGS_slopes)
FW := $(B)/firmware
FW_HDRS := $(wildcard firmware/include/*.h firmware/lib/*.h uapi/wse/*.h) uapi/wse/gen/wse_regs.h
FW_PROGRAMS := $(patsubst firmware/programs/%.c,$(FW)/%.elf,$(wildcard firmware/programs/*.c))

$(FW)/wse-fw.elf: firmware/runtime/boot.S firmware/runtime/firmware.ld $(FW_HDRS) \
		firmware/build.mk
	@mkdir -p $(@D)
	$(call short,RVCC,$@)$(RVCC) $(RVFLAGS) $(RVHERE) -T firmware/runtime/firmware.ld \
		$(RVLINK) -o $@ $<

$(eval $(call c_program,firmware/fw-pack,firmware/runtime/fw-pack.c))

# header and code are two pieces of the address space: cut them out one by one, then join
$(FW)/wse-fw.bin: $(FW)/wse-fw.elf $(FW)/fw-pack
	$(call short,GEN,$@)riscv64-unknown-elf-objcopy -O binary -j .header $< $(FW)/wse-fw.hdr
	@riscv64-unknown-elf-objcopy -O binary -j .text $< $(FW)/wse-fw.code
	@$(FW)/fw-pack $(FW)/wse-fw.hdr $(FW)/wse-fw.code $@

# the checksum beside a program: make rebuilds a program that has changed since
$(FW)/%.elf: firmware/programs/%.c firmware/runtime/program.ld $(FW_HDRS) \
		firmware/build.mk
	@mkdir -p $(@D)
	$(call short,RVCC,$@)$(RVCC) $(RVFLAGS) $(RVFLAGS_$*) $(RVHERE) \
		-T firmware/runtime/program.ld $(RVLINK) -o $@ $<
	@cksum <$@ >$@.sum
FW_BUILT := $(wildcard $(FW_PROGRAMS))
FW_CHANGED := $(if $(FW_BUILT),$(shell cksum $(FW_BUILT) | while read -r sum size f; do \
	{ read -r was <$$f.sum && [ "$$was" = "$$sum $$size" ]; } 2>&- || echo $$f; done))
$(FW_CHANGED): FORCE

OWN = $(basename $(notdir $(firstword $(SRC))))
define own_src
	@test -n "$(SRC)" || { echo "usage: make $@ SRC=path/to/program.c" >&2; exit 2; }
	@for f in $(SRC); do \
		test -f "$$f" || { echo "make $@: there is no file $$f" >&2; exit 2; }; done
endef

.PHONY: kernel program
kernel: ## make kernel SRC=file.c: build a kernel program of one's own into build/firmware/
	$(own_src)
	@test -z "$(filter $(OWN).elf,$(notdir $(FW_PROGRAMS)) wse-fw.elf)" || \
		{ echo "make $@: $(OWN).elf is a program of this tree:" \
			"give $(SRC) another name" >&2; exit 2; }
	@mkdir -p $(FW)
	$(call short,RVCC,$(FW)/$(OWN).elf)$(RVCC) $(RVFLAGS) -T firmware/runtime/program.ld \
		$(RVLINK) -o $(FW)/$(OWN).elf $(SRC)

# 64-bit and floating-point arithmetic, which the compiler has for rv32im under that name alone
RVGCC = $(shell $(RVCC) -march=rv32im -mabi=ilp32 -print-libgcc-file-name)

# bare.S is for sources that have a main and no _start
program: ## make program SRC=file.c: build a bare-metal program (.c, .S) for wse-run into build/programs/
	$(own_src)
	@mkdir -p $(B)/programs
	$(call short,RVCC,$(B)/programs/$(OWN).elf)$(RVCC) $(RVFLAGS) -T firmware/runtime/bare.ld \
		$(RVLINK),--no-relax -o $(B)/programs/$(OWN).elf \
		$(if $(shell grep -lE '^_start:' $(SRC)),,firmware/runtime/bare.S) $(SRC) $(RVGCC)

ALL += $(FW)/wse-fw.bin $(FW_PROGRAMS)
