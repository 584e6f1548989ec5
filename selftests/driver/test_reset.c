// SPDX-License-Identifier: GPL-2.0
/*
 * Resets that the driver and the PCI core do to the same device at the same time, and limits on
 * time: of a command, of probe, of going to sleep. On selftests/driver/evil-device.
 */
#include <sys/wait.h>

#include "wse_test.h"
#include "kselftest_harness.h"

#define EVIL 0x0e110000u

FIXTURE(wse)
{
	int fd;
	struct drm_wse_info info;
	char address[32];
	uint32_t ctx;
};

FIXTURE_SETUP(wse)
{
	wse_address(0, self->address);
	self->fd = wse_open_at(self->address);
	ASSERT_LE(0, self->fd);
	self->info = wse_info(self->fd);
	ASSERT_EQ(0, wse_ctx_create(self->fd, DRM_WSE_CTX_WAIT, &self->ctx));
}

FIXTURE_TEARDOWN(wse)
{
	if (self->fd >= 0)
		close(self->fd);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int parameter(const char *name, const char *value)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/module/wse/parameters/%s", name);
	return wse_sysfs_write(path, value);
}

/* The device is told to do that in a command of so many cycles. */
static int evil(FIXTURE_DATA(wse) * self, uint32_t mode, uint64_t budget, uint32_t *sync)
{
	struct drm_wse_cmd start = cmd_start(&self->info, 0x1000, budget);

	start.arg[0] = EVIL + mode;
	return wse_submit(self->fd, self->ctx, &start, 1, sync);
}

/* The context is lost; a new one works. How many resets there were since setup. */
static int lost_and_new(struct __test_metadata *_metadata, FIXTURE_DATA(wse) * self)
{
	struct drm_wse_cmd nop = cmd_nop(1);

	EXPECT_EQ(-EIO, wse_run(self->fd, self->ctx, &nop, 1));
	EXPECT_EQ(0, wse_ctx_destroy(self->fd, self->ctx));
	EXPECT_EQ(0, wse_ctx_create(self->fd, 0, &self->ctx));
	EXPECT_EQ(0, wse_run(self->fd, self->ctx, &nop, 1));
	return wse_info(self->fd).resets - self->info.resets;
}

/*
 * the driver's own reset waits for an answer that does not come: a reset through sysfs takes its
 * place, and does not make it fail
 */
TEST_F(wse, during_the_drivers_reset)
{
	uint32_t sync;
	double begin;

	ASSERT_EQ(0, evil(self, 24, BUDGET, &sync));
	usleep(500000);
	begin = now();
	EXPECT_EQ(0, wse_reset(self->address));
	EXPECT_GT(5.0, now() - begin);
	EXPECT_EQ(0, syncobj_wait(self->fd, sync, 0, SECONDS(5)));
	EXPECT_EQ(-ECANCELED, syncobj_status(self->fd, sync));
	EXPECT_EQ(2, lost_and_new(_metadata, self));
}

/* the driver waits for the end of a context: nothing has misbehaved, and one reset is enough */
TEST_F(wse, during_a_context_reset)
{
	unsigned int messages;
	char path[128];
	uint32_t sync;

	ASSERT_TRUE(drop_dumps());
	ASSERT_EQ(0, evil(self, 16, BUDGET, &sync));
	usleep(500000);
	messages = wse_messages();
	EXPECT_EQ(0, wse_reset(self->address));
	EXPECT_EQ(0, syncobj_wait(self->fd, sync, 0, SECONDS(5)));
	EXPECT_EQ(-EFAULT, syncobj_status(self->fd, sync));
	EXPECT_EQ(1, lost_and_new(_metadata, self));
	EXPECT_EQ(1, wse_messages() - messages);
	core_dump(path);
	EXPECT_STREQ("", path);
}

/*
 * slow, and far beyond what its command may take: its own budget counts, not the largest there is
 */
TEST_F(wse, budget_of_the_command)
{
	uint32_t sync;

	ASSERT_EQ(0, parameter("stall_timeout", "2"));
	ASSERT_EQ(0, evil(self, 25, 1000, &sync));
	EXPECT_EQ(0, syncobj_wait(self->fd, sync, 0, SECONDS(20)));
	EXPECT_EQ(-ECANCELED, syncobj_status(self->fd, sync));
	ASSERT_EQ(0, parameter("stall_timeout", "60"));
	EXPECT_EQ(1, lost_and_new(_metadata, self));
}

/*
 * The reset of such a device takes longer than from one look of the watchdog to the next, with a
 * submit that waits for a fence: what it looked at before does not count against the device.
 */
TEST_F(wse, slow_reset_after_the_budget)
{
	struct drm_wse_sync in = {}, out = { .handle = syncobj_create(self->fd) };
	struct drm_wse_cmd nop = cmd_nop(2);

	ASSERT_EQ(0, parameter("stall_timeout", "2"));
	ASSERT_EQ(0, evil(self, 29, 1000, &in.handle));
	ASSERT_EQ(0, wse_submit_syncs(self->fd, self->ctx, &nop, 1, &in, 1, &out, 1));
	EXPECT_EQ(0, syncobj_wait(self->fd, out.handle, 0, SECONDS(25)));
	EXPECT_EQ(-ECANCELED, syncobj_status(self->fd, out.handle));
	ASSERT_EQ(0, parameter("stall_timeout", "60"));
	EXPECT_EQ(1, lost_and_new(_metadata, self));
}

/* it counts, and has budget left: it may continue */
TEST_F(wse, slow_within_its_budget)
{
	uint32_t sync;

	ASSERT_EQ(0, parameter("stall_timeout", "1"));
	ASSERT_EQ(0, evil(self, 25, BUDGET, &sync));
	EXPECT_EQ(-ETIME, syncobj_wait(self->fd, sync, 0, SECONDS(8)));
	ASSERT_EQ(0, parameter("stall_timeout", "60"));
}

/*
 * The host takes the device away, and the processor that asks it for something: it counts as many
 * cycles as before in the time that is left to both.
 */
TEST_F(wse, a_pause_of_the_host)
{
	uint32_t sync;

	ASSERT_EQ(0, parameter("stall_timeout", "2"));
	ASSERT_EQ(0, evil(self, 25, BUDGET, &sync));
	usleep(1200000);
	if (system("wse-host kill-emu 0 PAUSE"))
		SKIP(return, "no host that could do it");
	EXPECT_EQ(-ETIME, syncobj_wait(self->fd, sync, 0, SECONDS(8)));
	ASSERT_EQ(0, parameter("stall_timeout", "60"));
}

/* earlier work does not count against later commands: each is within its budget */
TEST_F(wse, busy_for_longer_than_a_budget)
{
	uint32_t sync[3], i;

	ASSERT_EQ(0, parameter("stall_timeout", "1"));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, evil(self, 12, 7000, &sync[i])); /* 6,000 cycles each, in 3 s */
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, syncobj_wait(self->fd, sync[i], 0, SECONDS(20)));
		EXPECT_EQ(0, syncobj_status(self->fd, sync[i]));
	}
	ASSERT_EQ(0, parameter("stall_timeout", "60"));
}

/* and yet it does not hold a fence without end: that is an hour, unless it is told otherwise */
TEST_F(wse, budget_without_end)
{
	uint32_t sync;

	ASSERT_EQ(0, parameter("fence_timeout", "3"));
	ASSERT_EQ(0, evil(self, 25, self->info.max_budget, &sync));
	EXPECT_EQ(-ETIME, syncobj_wait(self->fd, sync, 0, SECONDS(1)));
	EXPECT_EQ(0, syncobj_wait(self->fd, sync, 0, SECONDS(20)));
	EXPECT_EQ(-ECANCELED, syncobj_status(self->fd, sync));
	ASSERT_EQ(0, parameter("fence_timeout", "3600"));
	EXPECT_EQ(1, lost_and_new(_metadata, self));
}

/* commands that end in time are waited for */
TEST_F(wse, sleep_waits_for_commands)
{
	uint32_t sync;

	if (wse_sysfs_write("/sys/power/pm_test", "devices"))
		SKIP(return, "the kernel has no /sys/power/pm_test");
	wse_sysfs_write("/sys/module/suspend/parameters/pm_test_delay", "1");
	ASSERT_EQ(0, evil(self, 12, BUDGET, &sync));
	EXPECT_EQ(0, wse_sysfs_write("/sys/power/state", "mem"));
	EXPECT_EQ(0, syncobj_wait(self->fd, sync, 0, 0));
	EXPECT_EQ(0, syncobj_status(self->fd, sync));
	EXPECT_EQ(1, lost_and_new(_metadata, self));
}

/* and what would keep the system awake is cut off */
TEST_F(wse, sleep_does_not_wait_for_ever)
{
	uint32_t sync;
	double begin;

	if (wse_sysfs_write("/sys/power/pm_test", "devices"))
		SKIP(return, "the kernel has no /sys/power/pm_test");
	wse_sysfs_write("/sys/module/suspend/parameters/pm_test_delay", "1");
	ASSERT_EQ(0, parameter("stall_timeout", "3"));
	ASSERT_EQ(0, evil(self, 25, self->info.max_budget, &sync));
	begin = now();
	EXPECT_EQ(0, wse_sysfs_write("/sys/power/state", "mem"));
	EXPECT_LT(3.0, now() - begin);
	EXPECT_EQ(0, syncobj_wait(self->fd, sync, 0, 0));
	EXPECT_EQ(-ECANCELED, syncobj_status(self->fd, sync));
	ASSERT_EQ(0, parameter("stall_timeout", "60"));
	EXPECT_EQ(1, lost_and_new(_metadata, self));
}

/* four queues that take two seconds each: together more than a command may */
TEST_F(wse, probe_has_one_deadline)
{
	uint32_t sync;
	double begin;

	ASSERT_EQ(0, evil(self, 26, BUDGET, &sync));
	ASSERT_EQ(0, syncobj_wait(self->fd, sync, 0, SECONDS(5)));
	ASSERT_EQ(0, wse_unbind(self->address));
	close(self->fd);
	self->fd = -1;
	ASSERT_EQ(0, parameter("admin_timeout", "3"));
	begin = now();
	EXPECT_NE(0, wse_bind(self->address));
	EXPECT_GT(6.0, now() - begin);
	ASSERT_EQ(0, parameter("admin_timeout", "120"));
	ASSERT_EQ(0, wse_bind(self->address));
	self->fd = wse_open_at(self->address);
	EXPECT_EQ(0, wse_ctx_create(self->fd, 0, &self->ctx));
}

/* what a reset has left of the cores is no answer, but the record of the fault is kept */
TEST_F(wse, no_look_behind_a_reset)
{
	struct drm_wse_fault first = { .ctx = self->ctx }, again = { .ctx = self->ctx };
	uint32_t bo = 0, sync;
	struct drm_wse_cmd out;
	struct drm_wse_submit look = {
		.ctx = self->ctx,
		.flags = DRM_WSE_SUBMIT_LOST,
		.cmds = { .ptr = (uintptr_t)&out, .count = 1, .stride = sizeof(out) },
	};

	ASSERT_EQ(0, wse_bo_create(self->fd, PAGE, &bo));
	out = cmd_copy(WSE_OP_COPY_OUT, bo, 0, 0, 0, 0x1000, 16);
	ASSERT_EQ(0, evil(self, 10, BUDGET, &sync));
	ASSERT_EQ(0, syncobj_wait(self->fd, sync, 0, SECONDS(5)));
	EXPECT_EQ(-EFAULT, syncobj_status(self->fd, sync));
	EXPECT_EQ(1, wse_info(self->fd).resets - self->info.resets);
	ASSERT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_WSE_FAULT, &first));
	EXPECT_EQ(-EIO, wse_ioctl(self->fd, DRM_IOCTL_WSE_SUBMIT, &look));
	ASSERT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_WSE_FAULT, &again));
	EXPECT_EQ(0, memcmp(&first, &again, sizeof(first)));
	EXPECT_EQ(1, lost_and_new(_metadata, self));
}

/* the device misbehaves before a context is ready, and is reset over it: the context is good */
TEST_F(wse, reset_while_a_context_begins)
{
	struct drm_wse_cmd nop = cmd_nop(1);
	uint32_t sync;

	ASSERT_EQ(0, evil(self, 30, BUDGET, &sync));
	ASSERT_EQ(0, syncobj_wait(self->fd, sync, 0, SECONDS(5)));
	ASSERT_EQ(0, wse_ctx_destroy(self->fd, self->ctx));
	/* after this the driver does not trust the SRAM, and begins with CTX_RESET */
	ASSERT_EQ(0, wse_reset(self->address));
	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &self->ctx));
	EXPECT_EQ(2, wse_info(self->fd).resets - self->info.resets);
	EXPECT_EQ(0, wse_run(self->fd, self->ctx, &nop, 1));
}

/* how many interrupts the driver did not own, of all vectors */
static unsigned int unhandled(void)
{
	char text[8192], path[64], spurious[256], *line, *next;
	unsigned int total = 0, n;

	wse_slurp("/proc/interrupts", text, sizeof(text));
	for (line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (strlen(line) < 4 || strcmp(line + strlen(line) - 4, " wse"))
			continue;
		snprintf(path, sizeof(path), "/proc/irq/%d/spurious", atoi(line));
		wse_slurp(path, spurious, sizeof(spurious));
		line = strstr(spurious, "unhandled ");
		if (line && sscanf(line, "unhandled %u", &n) == 1)
			total += n;
	}
	return total;
}

/* the kernel can only switch off an interrupt that storms if it hears that there was nothing */
TEST_F(wse, interrupts_for_nothing)
{
	unsigned int before = unhandled();
	uint32_t sync;

	ASSERT_EQ(0, evil(self, 27, BUDGET, &sync));
	ASSERT_EQ(0, syncobj_wait(self->fd, sync, 0, SECONDS(5)));
	EXPECT_EQ(0, syncobj_status(self->fd, sync));
	usleep(600000);
	EXPECT_LE(before + 1, unhandled());
}

/* how often the threads of the driver's interrupts were woken up */
static unsigned int irq_threads(void)
{
	unsigned int total = 0, switches;
	char path[64], text[4096], *at;
	struct dirent *e;
	DIR *proc = opendir("/proc");

	while (proc && (e = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%.16s/status", e->d_name);
		wse_slurp(path, text, sizeof(text));
		if (strncmp(text, "Name:\tirq/", 10) || !strstr(text, "-wse\n"))
			continue;
		at = strstr(text, "\nvoluntary_ctxt_switches:");
		if (at && sscanf(at, "\nvoluntary_ctxt_switches: %u", &switches) == 1)
			total += switches;
	}
	if (proc)
		closedir(proc);
	return total;
}

/* a ring full of completions is not walked with interrupts off */
TEST_F(wse, interrupt_for_a_full_ring)
{
	struct drm_wse_cmd cmds[1000] = { cmd_start(&self->info, 0x1000, BUDGET) };
	unsigned int before = irq_threads(), i;

	cmds[0].arg[0] = EVIL + 28;
	for (i = 1; i < 1000; i++)
		cmds[i] = cmd_nop(1);
	/* a check after half a second may come too early */
	for (i = 0; i < 5 && irq_threads() == before; i++)
		ASSERT_EQ(0, wse_run(self->fd, self->ctx, cmds, 1000));
	EXPECT_LT(before, irq_threads());
	/* and a few are */
	before = irq_threads();
	EXPECT_EQ(0, wse_run(self->fd, self->ctx, cmds, 10));
	EXPECT_EQ(before, irq_threads());
}

TEST_HARNESS_MAIN
