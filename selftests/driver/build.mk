# SPDX-License-Identifier: MIT
# Tests of the driver: hw/wse_sqe.h on the host, kselftests in the guest.

DRM_CFLAGS := -I/usr/include/libdrm

$(B)/selftests/sqe_test: selftests/driver/sqe_test.c hw/wse_sqe.h uapi/drm/wse_accel.h hw/regs/gen/wse_regs.h
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(DRM_CFLAGS) $(CFLAGS) $(ASAN) -o $@ $<

# The harness comes from the kernel's sources and has warnings of its own: -isystem.
DRIVER_TESTS := $(patsubst selftests/driver/%.c,$(B)/selftests/%,$(wildcard selftests/driver/test_*.c))
$(DRIVER_TESTS): $(B)/selftests/%: selftests/driver/%.c selftests/driver/wse_test.h uapi/drm/wse_accel.h \
		hw/regs/gen/wse_regs.h
	@mkdir -p $(@D)
	@eval "$$(selftests/vm/fetch source || echo exit 1)"; set -x; \
	$(CC) $(CPPFLAGS) $(DRM_CFLAGS) -isystem "$$KSELFTEST" -D_GNU_SOURCE $(CFLAGS) -o $@ $<

ALL += $(B)/selftests/sqe_test $(DRIVER_TESTS)
SUITES += $(B)/selftests/sqe_test
