# SPDX-License-Identifier: GPL-2.0
# wse.ko for the guest's kernel, of another flavour (make driver KERNEL=next, see selftests/vm/fetch), or
# for any other kernel: make driver KDIR=/lib/modules/$(uname -r)/build
#
# Kbuild writes next to its sources, so it gets a tree of links in build/.

KERNEL ?= backports
KO_SRC := $(wildcard driver/*.c driver/*.h)
KO_DEPS := Kbuild $(KO_SRC) uapi/wse/wse_cmd.h uapi/wse/wse_ring.h uapi/wse/gen/wse_regs.h uapi/drm/wse_accel.h driver/build.mk
KO_TREE := $(B)/kmod$(if $(KDIR),,$(filter-out -backports,-$(KERNEL)))
KO := $(B)/wse$(if $(KDIR),,$(filter-out -backports,-$(KERNEL))).ko
ko-make = $(if $(KDIR),$(MAKE) -C $(KDIR),selftests/vm/kbuild --kernel $(KERNEL)) \
	M=$(abspath $(KO_TREE)) W=1 --no-print-directory

$(KO_TREE)/.tree: $(KO_DEPS)
	@rm -rf $(KO_TREE) && mkdir -p $(KO_TREE)/driver
	@ln -s $(abspath Kbuild uapi) $(KO_TREE)/
	@ln -s $(abspath $(KO_SRC)) $(KO_TREE)/driver/
	@touch $@

$(KO): $(KO_TREE)/.tree
	+@$(ko-make) KCFLAGS=-Werror modules
	@cp $(KO_TREE)/wse.ko $@

ALL += $(B)/wse.ko

.PHONY: driver lint-driver
driver: $(KO) ## the kernel module build/wse.ko

lint-driver: $(KO_TREE)/.tree ## sparse and checkpatch over the driver
	@rm -f $(KO_TREE)/driver/*.o
	+@$(ko-make) KCFLAGS=-Werror C=1 CF="-Wsparse-error" modules
	@set -e; eval "$$(selftests/vm/fetch source || echo exit 1)"; \
	"$$CHECKPATCH" --strict --no-tree --quiet --terse --max-line-length=100 --show-types \
		--ignore SPDX_LICENSE_TAG -f $(KO_SRC) uapi/wse/wse_cmd.h uapi/wse/wse_ring.h; \
	for p in driver/upstream/*.patch; do "$$CHECKPATCH" --strict --no-tree --quiet --terse --show-types - <$$p; done

include selftests/driver/build.mk
