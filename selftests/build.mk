# SPDX-License-Identifier: MIT
# The guest: selftests/vm/run boots it, selftests/vm/fetch fills its cache.

SUITES += selftests/vm/test-vm

# Two small wafers on the functional model; override on the command line, for example
#	make vm VM='--device "rtl 2x2" --iommu intel'
VM ?= --device "func 4x4" --device "func 4x4"

.PHONY: vm
vm: $(ALL) ## a shell in the guest with wse.ko and two func devices
	selftests/vm/run $(VM) $(if $(wildcard $(B)/wse.ko),--module $(B)/wse.ko) \
		$(foreach p,$(wildcard $(B)/wse-info $(B)/wse-run $(B)/wse-bench),--add $(p)) --shell
