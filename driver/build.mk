# SPDX-License-Identifier: MIT
# wse.ko, against the guest's kernel headers (selftests/vm/fetch) or any other: make driver KDIR=...
#
# Kbuild writes next to its sources, so it gets a tree of links in build/.

KO_SRC := $(wildcard driver/*.c driver/*.h)
KO_DEPS := Kbuild $(KO_SRC) hw/wse_sqe.h hw/regs/gen/wse_regs.h uapi/drm/wse_accel.h driver/build.mk
KO_TREE := $(B)/kmod
ko-fetch = eval "$$($(if $(KDIR),echo KDIR=$(KDIR),selftests/vm/fetch kernel || echo exit 1))"
ko-make = $(MAKE) --no-print-directory -C "$$KDIR" M=$(abspath $(KO_TREE)) W=1 KCFLAGS=-Werror

$(KO_TREE)/.tree: $(KO_DEPS)
	@rm -rf $(KO_TREE) && mkdir -p $(KO_TREE)/driver
	@ln -s $(abspath Kbuild hw uapi) $(KO_TREE)/
	@ln -s $(abspath $(KO_SRC)) $(KO_TREE)/driver/
	@touch $@

$(B)/wse.ko: $(KO_TREE)/.tree
	@$(ko-fetch); $(ko-make) CC=$${KCC:-gcc} modules
	@cp $(KO_TREE)/wse.ko $@

ALL += $(B)/wse.ko

.PHONY: driver lint-driver
driver: $(B)/wse.ko ## the kernel module build/wse.ko

lint-driver: $(KO_TREE)/.tree ## sparse and checkpatch over the driver
	@rm -f $(KO_TREE)/driver/*.o
	@$(ko-fetch); $(ko-make) C=1 CF="-Wsparse-error" modules
	@eval "$$(selftests/vm/fetch source || echo exit 1)"; \
	"$$CHECKPATCH" --strict --no-tree --quiet --terse --max-line-length=100 --show-types \
		--ignore SPDX_LICENSE_TAG,LINUX_VERSION_CODE,CONST_STRUCT -f $(KO_SRC) hw/wse_sqe.h

include selftests/driver/build.mk
