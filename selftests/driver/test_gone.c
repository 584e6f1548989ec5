// SPDX-License-Identifier: GPL-2.0
/*
 * Surprise removal: the first device's server is killed with work in flight, and everything else
 * continues. Needs the harness's wse-host; the device does not come back, so this is a separate
 * program.
 */
#include <sys/wait.h>

#include "wse_test.h"
#include "kselftest_harness.h"

FIXTURE(gone){};

FIXTURE_SETUP(gone)
{
}

FIXTURE_TEARDOWN(gone)
{
}

TEST_F_TIMEOUT(gone, device_killed, 120)
{
	int fd = wse_open_nth(0), other = wse_open_nth(1);
	struct drm_wse_cmd nops[20], nop = cmd_nop(1);
	uint32_t ctx, second, sync, last = 0, bo, i;
	struct drm_syncobj_handle kept = {.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE};
	struct sync_file_info info = {};
	struct drm_wse_fault fault;
	char address[32];
	uint64_t *p;
	int ret;

	ASSERT_LE(0, fd);
	ASSERT_LE(0, other);
	wse_address(0, address);
	ASSERT_EQ(0, wse_ctx_create(fd, 0, &ctx));
	ASSERT_EQ(0, wse_ctx_create(other, 0, &second));
	ASSERT_EQ(0, wse_bo_create(fd, 1 << 20, &bo));
	p = wse_bo_map(fd, bo, 1 << 20);
	ASSERT_NE(NULL, p);
	for (i = 0; i < 20; i++)
		nops[i] = cmd_nop(1);
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, wse_submit(fd, ctx, nops, 20, &sync));

	ASSERT_EQ(0, system("wse-host kill-emu 0"));
	/* some may have been done before; the first that is not tells */
	while (!(ret = wse_submit(fd, ctx, nops, 20, &sync))) {
		last = sync;
		usleep(50000);
	}
	EXPECT_TRUE(ret == -EIO || ret == -ENODEV);
	ASSERT_NE(0, last);
	EXPECT_EQ(0, syncobj_wait(fd, last, 0, SECONDS(20)));
	EXPECT_EQ(-ENODEV, syncobj_status(fd, last));
	EXPECT_EQ(-ENODEV, wse_run(fd, ctx, &nop, 1));
	EXPECT_EQ(-ENODATA, wse_fault(fd, ctx, &fault));
	EXPECT_EQ(0, wse_ctx_destroy(fd, ctx));
	EXPECT_EQ(-ENODEV, wse_ctx_create(fd, DRM_WSE_CTX_WAIT, &ctx));
	p[0] = 1;

	EXPECT_EQ(0, wse_run(other, second, &nop, 1));
	EXPECT_EQ(0, wse_unbind(address));
	EXPECT_EQ(0, wse_run(other, second, &nop, 1));
	munmap(p, 1 << 20);
	close(fd);
	EXPECT_EQ(-ENODEV, wse_bind(address));
	EXPECT_EQ(0, wse_run(other, second, &nop, 1));
	/* a fence that a process keeps outlives everything: file, device and module */
	ASSERT_EQ(0, wse_submit(other, second, &nop, 1, &kept.handle));
	ASSERT_EQ(0, syncobj_wait(other, kept.handle, 0, SECONDS(20)));
	ASSERT_EQ(0, wse_ioctl(other, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &kept));
	close(other);
	EXPECT_EQ(0, system("rmmod wse"));
	EXPECT_EQ(0, wse_ioctl(kept.fd, SYNC_IOC_FILE_INFO, &info));
	EXPECT_EQ(1, info.status);
	close(kept.fd);
}

TEST_HARNESS_MAIN
