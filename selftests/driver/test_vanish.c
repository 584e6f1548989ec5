// SPDX-License-Identifier: GPL-2.0
/*
 * The device vanishes at its n-th register access, for every n, in all actions of the driver: no
 * call hangs, every wait gets an error, and a device that returns works. The device is
 * selftests/driver/evil-device, which counts.
 *
 * WSE_VANISH_EVERY=k: only every k-th n, from a random first one, where time is short.
 */
#include <signal.h>
#include <sys/wait.h>

#include "wse_test.h"
#include "kselftest_harness.h"

#define EVIL	   0x0e110000u
#define VANISH	   0xc0
#define COUNT	   0xc4
#define COUNT_ONLY 0xffffffffu

FIXTURE(vanish)
{
	char address[32];
	int config; /* the device's, where it takes orders and counts */
	int fd;
	struct drm_wse_info info;
	uint32_t ctx;
};

static int arm(FIXTURE_DATA(vanish) * self, uint32_t n)
{
	return pwrite(self->config, &n, 4, VANISH) == 4 ? 0 : -errno;
}

static uint32_t accesses(FIXTURE_DATA(vanish) * self)
{
	uint32_t n = 0;

	return pread(self->config, &n, 4, COUNT) == 4 ? n : 0;
}

/* A fresh device, bound, with a file and a context. */
static int begin(FIXTURE_DATA(vanish) * self)
{
	int ret;

	if (self->fd >= 0)
		close(self->fd);
	self->fd = -1;
	wse_unbind(self->address);
	ret = arm(self, 0);
	if (!ret)
		ret = wse_bind(self->address);
	if (ret)
		return ret;
	self->fd = wse_open_at(self->address);
	return self->fd < 0 ? self->fd : wse_ctx_create(self->fd, 0, &self->ctx);
}

FIXTURE_SETUP(vanish)
{
	char path[128];

	wse_address(0, self->address);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.31s/config", self->address);
	self->config = open(path, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->config);
	self->fd = -1;
	ASSERT_EQ(0, begin(self));
	self->info = wse_info(self->fd);
	/* a device that is not there any more: nothing of this waits for cycles or budgets */
	ASSERT_EQ(0, wse_sysfs_write("/sys/module/wse/parameters/admin_timeout", "5"));
}

FIXTURE_TEARDOWN(vanish)
{
	EXPECT_EQ(0, begin(self));
	close(self->fd);
	close(self->config);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

typedef void (*phase_fn)(FIXTURE_DATA(vanish) * self);

/* The phase, with the device vanishing at each access of it that there is. */
static void at_every_access(struct __test_metadata *_metadata, FIXTURE_DATA(vanish) * self,
			    phase_fn prepare, phase_fn phase)
{
	const char *step = getenv("WSE_VANISH_EVERY");
	uint32_t every = step ? strtoul(step, NULL, 0) : 1, total, n;
	double slowest = 0, started;
	struct drm_wse_cmd nop = cmd_nop(1);

	ASSERT_LT(0, every);
	prepare(self);
	ASSERT_EQ(0, arm(self, COUNT_ONLY));
	phase(self);
	usleep(50000);
	total = accesses(self);
	/* a phase that never accesses the device does not test anything */
	ASSERT_LT(0, total);
	ASSERT_GT(1000, total);
	for (n = 1 + time(NULL) % every; n <= total; n += every) {
		ASSERT_EQ(0, begin(self)) TH_LOG("before access %u", n);
		prepare(self);
		ASSERT_EQ(0, arm(self, n));
		started = now();
		phase(self);
		if (now() - started > slowest)
			slowest = now() - started;
		ASSERT_EQ(0, begin(self)) TH_LOG("after it vanished at access %u", n);
		ASSERT_EQ(0, wse_run(self->fd, self->ctx, &nop, 1));
	}
	TH_LOG("%u accesses, %.1f s at most", total, slowest);
	EXPECT_GT(10.0, slowest);
}

static void nothing(FIXTURE_DATA(vanish) * self)
{
	(void)self;
}

static void unbound(FIXTURE_DATA(vanish) * self)
{
	close(self->fd);
	self->fd = -1;
	wse_unbind(self->address);
}

static void no_context(FIXTURE_DATA(vanish) * self)
{
	wse_ctx_destroy(self->fd, self->ctx);
}

static int evil(FIXTURE_DATA(vanish) * self, uint32_t mode, uint32_t *sync)
{
	struct drm_wse_cmd start = cmd_start(&self->info, 0x1000, BUDGET);

	start.arg[0] = EVIL + mode;
	return wse_submit(self->fd, self->ctx, &start, 1, sync);
}

static void in_flight(FIXTURE_DATA(vanish) * self)
{
	uint32_t sync, i;

	for (i = 0; i < 3; i++)
		evil(self, 12, &sync);
}

static void probe(FIXTURE_DATA(vanish) * self)
{
	wse_bind(self->address);
}

static void lease(FIXTURE_DATA(vanish) * self)
{
	wse_ctx_create(self->fd, 0, &self->ctx);
}

/* On all queues, with a copy and a fence; the test checks only that it ends, not its result. */
static void submit(FIXTURE_DATA(vanish) * self)
{
	struct drm_wse_cmd cmds[6];
	uint32_t bo, i;

	if (wse_bo_create(self->fd, PAGE, &bo))
		return;
	for (i = 0; i < 4; i++)
		cmds[i] = cmd_nop(1 + i % self->info.queues);
	cmds[4] = cmd_copy(WSE_OP_COPY_IN, bo, 0, 0, 0, 0x4000, 256);
	cmds[5] = cmd_fence_cmd(2, 4);
	wse_run(self->fd, self->ctx, cmds, 6);
}

static void fault(FIXTURE_DATA(vanish) * self)
{
	uint32_t sync;

	if (!evil(self, 4, &sync))
		syncobj_wait(self->fd, sync, 0, SECONDS(20));
}

static void device_reset(FIXTURE_DATA(vanish) * self)
{
	uint32_t sync;

	if (!evil(self, 1, &sync))
		syncobj_wait(self->fd, sync, 0, SECONDS(20));
}

/* the device stands still: found out, and reset, by the watchdog */
static void hang(FIXTURE_DATA(vanish) * self)
{
	uint32_t sync;

	if (!evil(self, 7, &sync))
		syncobj_wait(self->fd, sync, 0, SECONDS(20));
}

static void destroy(FIXTURE_DATA(vanish) * self)
{
	wse_ctx_destroy(self->fd, self->ctx);
}

static void close_file(FIXTURE_DATA(vanish) * self)
{
	close(self->fd);
	self->fd = -1;
}

static void remove_device(FIXTURE_DATA(vanish) * self)
{
	wse_unbind(self->address);
}

static void pci_reset(FIXTURE_DATA(vanish) * self)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.31s/reset", self->address);
	wse_sysfs_write(path, "1");
}

static void suspend(FIXTURE_DATA(vanish) * self)
{
	(void)self;
	wse_sysfs_write("/sys/power/state", "mem");
}

static void look(FIXTURE_DATA(vanish) * self)
{
	uint64_t values[64];
	struct drm_wse_counters counters = { .ptr = (uintptr_t)values, .count = 64 };
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", self->fd);
	wse_slurp(path, text, sizeof(text));
	wse_ioctl(self->fd, DRM_IOCTL_WSE_COUNTERS, &counters);
}

#define VANISH_TEST(name, prepare, phase) \
	TEST_F_TIMEOUT(vanish, name, 600) \
	{ \
		at_every_access(_metadata, self, prepare, phase); \
	}

VANISH_TEST(in_probe, unbound, probe)
VANISH_TEST(in_the_begin_of_a_lease, no_context, lease)
VANISH_TEST(in_submit_and_completion, nothing, submit)
VANISH_TEST(in_a_context_reset, nothing, fault)
VANISH_TEST(in_a_device_reset, nothing, device_reset)
VANISH_TEST(when_it_has_halted, nothing, hang)
VANISH_TEST(in_the_end_of_a_lease, nothing, destroy)
VANISH_TEST(in_close_with_jobs, in_flight, close_file)
VANISH_TEST(in_remove, nothing, remove_device)
VANISH_TEST(in_remove_with_jobs, in_flight, remove_device)
VANISH_TEST(in_a_reset_by_others, nothing, pci_reset)
VANISH_TEST(in_a_reset_by_others_with_jobs, in_flight, pci_reset)
VANISH_TEST(in_fdinfo_and_counters, nothing, look)

TEST_F_TIMEOUT(vanish, in_suspend_and_resume, 600)
{
	if (wse_sysfs_write("/sys/power/pm_test", "devices"))
		SKIP(return, "the kernel has no /sys/power/pm_test");
	wse_sysfs_write("/sys/module/suspend/parameters/pm_test_delay", "0");
	at_every_access(_metadata, self, nothing, suspend);
}

TEST_HARNESS_MAIN
