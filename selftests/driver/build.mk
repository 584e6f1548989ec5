# SPDX-License-Identifier: MIT
# Tests of the driver: hw/wse_sqe.h on the host, the ioctls in the guest.

DRM_CFLAGS := -I/usr/include/libdrm

$(B)/selftests/sqe_test: selftests/driver/sqe_test.c hw/wse_sqe.h uapi/drm/wse_accel.h hw/regs/gen/wse_regs.h
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(DRM_CFLAGS) $(CFLAGS) $(ASAN) -o $@ $<

ALL += $(B)/selftests/sqe_test
SUITES += $(B)/selftests/sqe_test
