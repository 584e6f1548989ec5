// SPDX-License-Identifier: GPL-2.0
/*
 * An error of the bus: the PCI core resets the link, with which the device forgets its
 * configuration space, and everything goes on with a new context. Needs a device below a root port
 * that reports errors (AER), and the module aer_inject.
 */
#include "wse_test.h"
#include "kselftest_harness.h"

/* what /dev/aer_inject takes */
struct aer_inject {
	uint8_t bus, dev, fn;
	uint32_t uncor_status, cor_status, header_log[4], domain;
};

#define UNCOR_DLP 0x10 /* data link protocol error: fatal, the link is reset */

/* An error of the link that leads to the device at that address; -errno. */
static int break_link(const char *address)
{
	struct aer_inject inject = { .uncor_status = UNCOR_DLP };
	char path[128], target[512] = "", *port, *end;
	unsigned int domain, bus, dev, fn;
	int fd, ret = 0;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.31s", address);
	if (readlink(path, target, sizeof(target) - 1) < 0)
		return -errno;
	/* .../PORT/DEVICE */
	end = strrchr(target, '/');
	if (!end)
		return -ENODEV;
	*end = 0;
	port = strrchr(target, '/');
	if (!port || sscanf(port, "/%x:%x:%x.%x", &domain, &bus, &dev, &fn) != 4)
		return -ENODEV;
	inject.domain = domain;
	inject.bus = bus;
	inject.dev = dev;
	inject.fn = fn;
	fd = open("/dev/aer_inject", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, &inject, sizeof(inject)) != sizeof(inject))
		ret = -errno;
	close(fd);
	return ret;
}

FIXTURE(aer){};

FIXTURE_SETUP(aer)
{
}

FIXTURE_TEARDOWN(aer)
{
}

TEST_F_TIMEOUT(aer, link_is_reset, 120)
{
	struct drm_wse_cmd nop = cmd_nop(1);
	struct drm_wse_info info;
	uint32_t ctx, round, i;
	char address[32];
	int fd, ret;

	wse_address(0, address);
	fd = wse_open_nth(0);
	ASSERT_LE(0, fd);
	info = wse_info(fd);
	/* the saved state is needed more than once */
	for (round = 1; round <= 2; round++) {
		ASSERT_EQ(0, wse_ctx_create(fd, DRM_WSE_CTX_WAIT, &ctx));
		ASSERT_EQ(0, wse_run(fd, ctx, &nop, 1));
		ret = break_link(address);
		if (ret == -ENODEV || ret == -ENOENT || ret == -EPROTONOSUPPORT)
			SKIP(return, "no errors can be injected: --hotplug --modprobe aer_inject");
		ASSERT_EQ(0, ret);
		/* a worker does that */
		for (i = 0; i < 300 && !wse_run(fd, ctx, &nop, 1); i++)
			usleep(100000);
		EXPECT_EQ(-EIO, wse_run(fd, ctx, &nop, 1));
		EXPECT_EQ(0, wse_ctx_destroy(fd, ctx));
		ASSERT_EQ(0, wse_ctx_create(fd, DRM_WSE_CTX_WAIT, &ctx));
		EXPECT_EQ(0, wse_run(fd, ctx, &nop, 1));
		EXPECT_EQ(0, wse_ctx_destroy(fd, ctx));
		EXPECT_EQ(info.resets + round, wse_info(fd).resets);
	}
	close(fd);
}

TEST_HARNESS_MAIN
