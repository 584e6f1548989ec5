# SPDX-License-Identifier: MIT
# Programs for the cores. One's own: `make kernel SRC=my.c` gives build/firmware/my.elf.

RVCC := riscv64-unknown-elf-gcc
RVFLAGS := -march=rv32im_zicsr -mabi=ilp32 -O2 -g -std=gnu11 -ffreestanding -nostdlib -nostartfiles \
	-msmall-data-limit=0 -fno-tree-loop-distribute-patterns $(WARN) -Ifirmware/include -Ifirmware/lib -Iuapi/wse -Iuapi/wse/gen
RVLINK := -Wl,--build-id=none,-n,--no-warn-rwx-segments
FW := $(B)/firmware
FW_HDRS := $(wildcard firmware/include/*.h firmware/lib/*.h uapi/wse/*.h) uapi/wse/gen/wse_regs.h
FW_PROGRAMS := $(patsubst firmware/programs/%.c,$(FW)/%.elf,$(wildcard firmware/programs/*.c))

$(FW)/wse-fw.elf: firmware/runtime/boot.S firmware/runtime/firmware.ld $(FW_HDRS)
	@mkdir -p $(@D)
	$(RVCC) $(RVFLAGS) -T firmware/runtime/firmware.ld $(RVLINK) -o $@ $<

$(eval $(call c_program,firmware/fw-pack,firmware/runtime/fw-pack.c))

# header and code are two pieces of the address space: cut them out one by one, then join
$(FW)/wse-fw.bin: $(FW)/wse-fw.elf $(FW)/fw-pack
	riscv64-unknown-elf-objcopy -O binary -j .header $< $(FW)/wse-fw.hdr
	riscv64-unknown-elf-objcopy -O binary -j .text $< $(FW)/wse-fw.code
	$(FW)/fw-pack $(FW)/wse-fw.hdr $(FW)/wse-fw.code $@

$(FW)/%.elf: firmware/programs/%.c firmware/runtime/program.ld $(FW_HDRS)
	@mkdir -p $(@D)
	$(RVCC) $(RVFLAGS) -T firmware/runtime/program.ld $(RVLINK) -o $@ $<

.PHONY: kernel
kernel: ## make kernel SRC=file.c: build a kernel program of one's own into build/firmware/
	@test -n "$(SRC)" || { echo "usage: make kernel SRC=path/to/kernel.c" >&2; exit 2; }
	@mkdir -p $(FW)
	$(RVCC) $(RVFLAGS) -T firmware/runtime/program.ld $(RVLINK) -o $(FW)/$(basename $(notdir $(SRC))).elf $(SRC)

ALL += $(FW)/wse-fw.bin $(FW_PROGRAMS)
