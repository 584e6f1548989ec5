# SPDX-License-Identifier: MIT
# Tests of the driver: uapi/wse/wse_cmd.h and wse_ring.h on the host, kselftests in the guest.

# with sanitizers alone
$(eval $(call c_program,selftests/driver/cmd_test,selftests/driver/cmd_test.c))
$(eval $(call c_program,selftests/driver/ring_test,selftests/driver/ring_test.c))

# The harness comes from the kernel's sources and has warnings of its own: -isystem.
DRIVER_TESTS := $(patsubst selftests/driver/%.c,$(B)/selftests/%, \
	$(wildcard selftests/driver/test_*.c selftests/driver/bench.c))
DRIVER_HDRS := selftests/driver/wse_test.h uapi/drm/wse_accel.h $(REGS)
$(DRIVER_TESTS): $(B)/selftests/%: selftests/driver/%.c $(DRIVER_HDRS)
	@mkdir -p $(@D)
	$(call short,CC,$@)eval "$$(selftests/vm/fetch source || echo exit 1)"; \
		$(CC) $(CPPFLAGS) -isystem "$$KSELFTEST" -D_GNU_SOURCE $(CFLAGS) -pthread -o $@ $<

# hostile processes; a program of its own, not a kselftest
FUZZ := fuzz fuzz_ops fuzz_sync fuzz_submit fuzz_mem
$(B)/selftests/fuzz: $(FUZZ:%=selftests/driver/%.c) selftests/driver/fuzz.h $(DRIVER_HDRS)
	@mkdir -p $(@D)
	$(call short,CC,$@)$(CC) $(CPPFLAGS) -D_GNU_SOURCE $(CFLAGS) -pthread -o $@ $(filter %.c,$^)

HOST_TESTS := $(B)/asan/selftests/driver/cmd_test $(B)/asan/selftests/driver/ring_test
ALL += $(HOST_TESTS) $(DRIVER_TESTS) $(B)/selftests/fuzz
# what an evil device does is waited out
BESIDE += --waits "selftests/driver/guest evil test_evil" \
	--waits "selftests/driver/guest evil test_reset" \
	--waits "selftests/driver/guest evil test_fw" \
	--waits "selftests/driver/guest --env WSE_VANISH_EVERY=6 evil test_vanish"
# test_gone asks the host for something: not behind test_lease, which puts the guest to sleep, from
# which the virtio-console of Linux 7.3 does not wake up
SUITES += $(HOST_TESTS) selftests/driver/test-versions \
	"selftests/driver/guest --smp 2 func fuzz 2x2 2 --seconds 40 --chaos" \
	"selftests/driver/guest func test_ioctl,test_submit,test_resv,test_lease,test_dma 2x3 2" \
	"selftests/driver/guest --iommu intel func test_submit 2x2 2" \
	"selftests/driver/guest --append slab_nomerge --iommu intel func test_dma 2x2 2" \
	"selftests/driver/guest --iommu virtio func test_lease 2x2 2" \
	"selftests/driver/guest --append swiotlb=force func test_dma 2x2 2" \
	"selftests/driver/guest --smp 2 --append preempt=full func test_syncobj,test_unbind,test_gone 2x2 2" \
	"selftests/driver/guest --hotplug --modprobe aer_inject func test_aer" \
	"selftests/driver/guest func test_core 4x4" \
	"selftests/driver/guest rtl test_submit,test_core 2x2"

.PHONY: bench-driver
bench-driver: $(B)/wse.ko $(B)/wse-emu $(B)/firmware/wse-fw.bin $(B)/selftests/bench ## the driver's figures beside QEMU's nvme, in the guest
	selftests/driver/guest --nvme func bench 4x4

# The kernel is built once, by selftests/vm/fetch; DEBUG_PARTS="kunit suite" runs less, see the
# script.
.PHONY: test-debug-kernel
test-debug-kernel: $(B)/wse-emu $(B)/firmware/wse-fw.bin $(DRIVER_TESTS) $(B)/selftests/fuzz ## the driver on a kernel with KASAN, lockdep, ...: suite, KUnit, hostile processes (hours)
	$(MAKE) driver KERNEL=debug
	selftests/driver/debug-kernel $(DEBUG_PARTS)

KERNELS ?= backports security next
.PHONY: test-kernels
test-kernels: $(DRIVER_TESTS) $(B)/selftests/fuzz $(B)/wse-emu $(B)/firmware/wse-fw.bin ## the driver's suites on every kernel that it knows (about 15 minutes); KERNELS="next"
	$(foreach k,$(KERNELS),$(MAKE) driver KERNEL=$(k) &&) \
		selftests/driver/test-kernels $(KERNELS)
