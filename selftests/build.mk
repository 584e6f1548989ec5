# SPDX-License-Identifier: MIT
# The guest: selftests/vm/run boots it, selftests/vm/fetch fills its cache.

SUITES += $(addprefix selftests/,vm/test-vm interfaces layers make-output pages blocks \
	vm/test-train vm/test-gpt)

LONG += --beside selftests/packages --waits selftests/suites

LINT := lint-rtl lint-driver lint-shell lint-spdx lint-format lint-width
LONG += --beside "scripts/lint tap $(LINT)"

.PHONY: lint lint-shell lint-spdx lint-format lint-width format
lint: $(LINT) ## all lint: of the RTL, the driver, the scripts, licence lines, width of lines
lint-shell: ## shellcheck over every script
	scripts/lint shell
lint-spdx: ## every file says its licence
	scripts/lint spdx
lint-format: ## every .c file (the driver's: checkpatch) is as clang-format leaves it
	scripts/lint format
lint-width: ## code within 100 columns, documents within 200
	scripts/lint width
format: ## clang-format over every .c file
	scripts/lint format -i

.PHONY: test-sram
test-sram: all ## cores of 64 KiB, built beside this tree: lockstep, and a GPT's step
	selftests/test-sram

# Two small wafers on the twin; override on the command line, for example
#	make vm VM_DEVICES='--device "rtl 2x2" --iommu intel'
VM_DEVICES ?= --device "func 4x4" --device "func 4x4"
# The module, its firmware, and the programs of the cores where libwse looks for them
VM_ARGS ?= --module $(B)/wse.ko --firmware $(B)/firmware/wse-fw.bin:wse/wse-fw.bin \
	$(foreach p,train forward backward loss mlp linear, \
		--firmware $(B)/firmware/$(p).elf:wse/$(p).elf) \
	$(foreach p,gpt_run mlp_run,--add libwse/configs/$(p).yaml:/root/$(p).yaml) \
	--add hw/doc/registers.md:/root/text

.PHONY: vm
vm: all ## a shell in the guest with wse.ko and two func devices
	selftests/vm/run $(VM_DEVICES) $(VM_ARGS) $$(for p in info run bench train; do \
		if [ -x $(B)/wse-$$p ]; then echo "--add $(B)/wse-$$p"; fi; done) --shell

# the targets of the main job alone
TRAIN_NEEDS = $(B)/wse-train $(B)/firmware/wse-fw.bin $(FW_PROGRAMS)

.PHONY: run train
run: setup-if-missing ## the main job: a GPT learns real text on two RTL wafers behind a stock kernel
	$(MAKE) $(JOBS) $(call job_tiles,4x4) $(TRAIN_NEEDS) $(B)/wse-emu $(B)/wse.ko
	scripts/run $(RUN_ARGS)

# twelve rows hold three sequences, so a weight on its way down a column serves all three
train: setup-if-missing ## nanoGPT's recipe in this process, on the twin
	$(MAKE) $(JOBS) $(call job_tiles,) $(TRAIN_NEEDS)
	$(if $(findstring --checkpoint_path,$(TRAIN_ARGS)),,rm -rf $(B)/train)
	$(B)/wse-train --params libwse/configs/gpt_train.yaml \
		--devices sim:func,rows=12,cols=4 --model_dir $(B)/train --require mean \
		$(TRAIN_ARGS)
include selftests/fuzzers/build.mk
