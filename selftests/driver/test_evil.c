// SPDX-License-Identifier: GPL-2.0
/*
 * A device that misbehaves (selftests/driver/evil-device, which lists its modes): each time the
 * fences signal with an error, the guest continues, and a new context works.
 */
#include <signal.h>
#include <sys/wait.h>

#include "wse_test.h"
#include "kselftest_harness.h"

#define EVIL 0x0e110000u

FIXTURE(wse)
{
	int fd;
	struct drm_wse_info info;
	uint32_t ctx;
};

FIXTURE_SETUP(wse)
{
	self->fd = wse_open_nth(0);
	ASSERT_LE(0, self->fd);
	self->info = wse_info(self->fd);
	ASSERT_EQ(0, wse_ctx_create(self->fd, DRM_WSE_CTX_WAIT, &self->ctx));
}

FIXTURE_TEARDOWN(wse)
{
	if (self->fd >= 0)
		close(self->fd);
}

static int evil(FIXTURE_DATA(wse) * self, uint32_t mode)
{
	struct drm_wse_cmd start = cmd_start(&self->info, 0x1000, BUDGET);

	start.arg[0] = EVIL + mode;
	return wse_run(self->fd, self->ctx, &start, 1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static int admin_timeout(const char *seconds)
{
	return wse_sysfs_write("/sys/module/wse/parameters/admin_timeout", seconds);
}

/* A process with a context whose device does that; returns once the device has begun to. */
static pid_t evil_process(FIXTURE_DATA(wse) * self, uint32_t mode)
{
	struct drm_wse_cmd start = cmd_start(&self->info, 0x1000, BUDGET);
	int ready[2];
	pid_t pid;
	char c;

	close(self->fd);
	self->fd = -1;
	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid) {
		setsid();
		self->fd = wse_open_nth(0);
		start.arg[0] = EVIL + mode;
		if (wse_ctx_create(self->fd, DRM_WSE_CTX_WAIT, &self->ctx) ||
		    wse_submit_syncs(self->fd, self->ctx, &start, 1, NULL, 0, NULL, 0))
			_exit(1);
		usleep(200000);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	if (read(ready[0], &c, 1) != 1)
		pid = -1;
	close(ready[0]);
	close(ready[1]);
	return pid;
}

/*
 * The last one that runs, for the harness goes backwards: power-off must not wait for the device.
 */
TEST_F(wse, poweroff_while_it_creeps)
{
	EXPECT_LT(0, evil_process(self, 16));
}

/* an admin command is never answered, and there are too few cycles for its budget to end */
TEST_F(wse, killed_while_it_creeps)
{
	double begin;
	pid_t pid;

	ASSERT_EQ(0, admin_timeout("4"));
	pid = evil_process(self, 16);
	ASSERT_LT(0, pid);
	begin = now();
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_GT(1.0, now() - begin);
	/* the driver's own patience ends later */
	self->fd = wse_open_nth(0);
	EXPECT_EQ(0, wse_ctx_create(self->fd, DRM_WSE_CTX_WAIT, &self->ctx));
	EXPECT_GT(15.0, now() - begin);
	ASSERT_EQ(0, admin_timeout("120"));
}

TEST_F(wse, unbind_while_it_creeps)
{
	char address[32];
	double begin;
	pid_t pid;

	wse_address(0, address);
	pid = evil_process(self, 16);
	ASSERT_LT(0, pid);
	begin = now();
	ASSERT_EQ(0, wse_unbind(address));
	EXPECT_GT(3.0, now() - begin);
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	ASSERT_EQ(0, wse_bind(address));
	self->fd = wse_open_at(address);
	EXPECT_EQ(0, wse_ctx_create(self->fd, 0, &self->ctx));
}

/* work that a device causes during probe must not run after probe has failed */
TEST_F(wse, probe_fails_midway)
{
	char address[32];
	int i;

	wse_address(0, address);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, evil(self, 14));
		ASSERT_EQ(0, wse_unbind(address));
		close(self->fd);
		EXPECT_NE(0, wse_bind(address));
		usleep(50000);
		ASSERT_EQ(0, wse_bind(address));
		self->fd = wse_open_at(address);
		ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &self->ctx));
	}
}

/* a device that was given up completes: no code waits for that any more, and its jobs are gone */
TEST_F(wse, completes_after_it_was_lost)
{
	struct drm_wse_cmd start = cmd_start(&self->info, 0x1000, BUDGET), nop = cmd_nop(1);
	char address[32];
	uint32_t sync, i;

	wse_address(0, address);
	start.arg[0] = EVIL + 15;
	for (i = 0; i < 20; i++) {
		start.queue = 1 + i % 4;
		ASSERT_EQ(0, wse_submit(self->fd, self->ctx, &start, 1, &sync));
	}
	close(self->fd);
	/* memory of the jobs has found another use by then */
	usleep(900000);
	self->fd = wse_open_at(address);
	EXPECT_EQ(-ENODEV, wse_ctx_create(self->fd, 0, &self->ctx));
	close(self->fd);
	ASSERT_EQ(0, wse_unbind(address));
	ASSERT_EQ(0, wse_bind(address));
	self->fd = wse_open_at(address);
	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &self->ctx));
	EXPECT_EQ(0, wse_run(self->fd, self->ctx, &nop, 1));
}

/*
 * The context is lost, the next one works; returns how many device resets there were since setup.
 */
static int lost_and_new(struct __test_metadata *_metadata, FIXTURE_DATA(wse) * self)
{
	struct drm_wse_cmd nop = cmd_nop(1);

	EXPECT_EQ(-EIO, wse_run(self->fd, self->ctx, &nop, 1));
	EXPECT_EQ(0, wse_ctx_destroy(self->fd, self->ctx));
	EXPECT_EQ(0, wse_ctx_create(self->fd, 0, &self->ctx));
	EXPECT_EQ(0, wse_run(self->fd, self->ctx, &nop, 1));
	return wse_info(self->fd).resets - self->info.resets;
}

TEST_F(wse, wrong_command_id)
{
	EXPECT_EQ(-ECANCELED, evil(self, 1));
	EXPECT_EQ(1, lost_and_new(_metadata, self));
}

TEST_F(wse, wrong_submission_head)
{
	EXPECT_EQ(-ECANCELED, evil(self, 2));
	EXPECT_EQ(1, lost_and_new(_metadata, self));
}

TEST_F(wse, unknown_status)
{
	struct drm_wse_fault fault;

	EXPECT_EQ(-EPROTO, evil(self, 3));
	/* there is no record beyond the completion */
	EXPECT_EQ(0, wse_fault(self->fd, self->ctx, &fault));
	EXPECT_EQ(self->ctx, fault.ctx);
	EXPECT_EQ(WSE_OP_START, fault.cmd_op);
	EXPECT_EQ(0x7ff, fault.status);
	EXPECT_EQ(1, fault.queue);
	EXPECT_EQ(0, fault.cause);
	EXPECT_EQ(0xffffffff, fault.color);
	EXPECT_EQ(0, lost_and_new(_metadata, self));
}

TEST_F(wse, fault_record_out_of_range)
{
	struct drm_wse_fault fault;

	EXPECT_EQ(-EFAULT, evil(self, 4));
	EXPECT_EQ(0, wse_fault(self->fd, self->ctx, &fault));
	EXPECT_EQ(WSE_ST_CORE_FAULT, fault.status);
	EXPECT_EQ(0, fault.pc);
	EXPECT_EQ(0, lost_and_new(_metadata, self));
}

TEST_F(wse, fault_record_of_another_queue)
{
	struct drm_wse_fault fault;

	EXPECT_EQ(-EFAULT, evil(self, 5));
	EXPECT_EQ(0, wse_fault(self->fd, self->ctx, &fault));
	EXPECT_EQ(WSE_ST_CORE_FAULT, fault.status);
	EXPECT_EQ(0, fault.pc);
	EXPECT_EQ(0, lost_and_new(_metadata, self));
}

TEST_F(wse, stands_still)
{
	EXPECT_EQ(-ECANCELED, evil(self, 6));
	EXPECT_EQ(1, lost_and_new(_metadata, self));
}

TEST_F(wse, halted)
{
	EXPECT_EQ(-ECANCELED, evil(self, 7));
	EXPECT_EQ(1, lost_and_new(_metadata, self));
}

TEST_F(wse, lost_interrupt)
{
	EXPECT_EQ(0, evil(self, 8));
	EXPECT_EQ(0, evil(self, 0));
	EXPECT_EQ(0, wse_info(self->fd).resets - self->info.resets);
}

TEST_F(wse, nonsense_in_the_ring)
{
	struct drm_wse_cmd nop = cmd_nop(1);
	int i, ret = evil(self, 9);

	/* the first completion may have been overwritten by nonsense or not */
	EXPECT_TRUE(ret <= 0);
	for (i = 0; i < 10; i++)
		wse_run(self->fd, self->ctx, &nop, 1);
	wse_ctx_destroy(self->fd, self->ctx);
	EXPECT_EQ(0, wse_ctx_create(self->fd, 0, &self->ctx));
	EXPECT_EQ(0, wse_run(self->fd, self->ctx, &nop, 1));
}

TEST_F(wse, context_reset_refused)
{
	struct drm_wse_fault fault;
	int status;
	pid_t pid;

	EXPECT_EQ(-EFAULT, evil(self, 10));
	EXPECT_EQ(0, wse_fault(self->fd, self->ctx, &fault));
	EXPECT_EQ(0x80000010, fault.pc);
	EXPECT_EQ(WSE_CAUSE_ILLEGAL, fault.cause);
	EXPECT_EQ(0xdead, fault.addr);
	EXPECT_EQ(1, fault.row);
	/* a bus address is for the administrator alone */
	EXPECT_EQ(0xabcde000, fault.iova);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(setuid(65534) || wse_fault(self->fd, self->ctx, &fault) || fault.iova);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(1, lost_and_new(_metadata, self));
}

TEST_F(wse, context_reset_without_answer)
{
	EXPECT_EQ(-EFAULT, evil(self, 13));
	EXPECT_EQ(1, lost_and_new(_metadata, self));
}

static int stall_timeout(const char *seconds)
{
	return wse_sysfs_write("/sys/module/wse/parameters/stall_timeout", seconds);
}

/* slower than any of the driver's limits, but its cycles advance */
TEST_F(wse, slow_is_not_stuck)
{
	ASSERT_EQ(0, stall_timeout("1"));
	EXPECT_EQ(0, evil(self, 12));
	EXPECT_EQ(0, wse_info(self->fd).resets - self->info.resets);
	ASSERT_EQ(0, stall_timeout("60"));
}

/* tools that ask for time in use see a command that runs, while it runs and on no other queue */
TEST_F(wse, fdinfo_shows_load)
{
	struct drm_wse_cmd start = cmd_start(&self->info, 0x1000, BUDGET);
	long long before, after;
	double begin, passed;
	uint32_t sync;

	start.arg[0] = EVIL + 12;
	ASSERT_EQ(0, wse_submit(self->fd, self->ctx, &start, 1, &sync));
	begin = now();
	before = wse_usage(self->fd, "drm-engine-queue");
	usleep(1000000);
	after = wse_usage(self->fd, "drm-engine-queue");
	passed = now() - begin;
	EXPECT_LE(1000000000, after - before);
	EXPECT_GE(passed * 1e9, after - before);
	EXPECT_EQ(0, syncobj_wait(self->fd, sync, 0, SECONDS(20)));
	before = wse_usage(self->fd, "drm-engine-queue");
	EXPECT_LT(after, before);
	usleep(100000);
	EXPECT_EQ(before, wse_usage(self->fd, "drm-engine-queue"));
}

/* a budget that would not end before the machine does */
TEST_F(wse, creeping_is_stuck)
{
	ASSERT_EQ(0, stall_timeout("2"));
	EXPECT_EQ(-ECANCELED, evil(self, 17));
	EXPECT_EQ(1, lost_and_new(_metadata, self));
	ASSERT_EQ(0, stall_timeout("60"));
}

/* the first failure decides: later commands are cancelled, earlier ones are good */
TEST_F(wse, errors_of_others)
{
	struct drm_wse_cmd cmd = cmd_nop(1);
	uint32_t before, bad, behind, held;
	struct drm_wse_cmd fence[2] = { cmd_fence(2, 1), cmd_nop(2) };

	ASSERT_EQ(0, wse_submit(self->fd, self->ctx, &cmd, 1, &before));
	cmd = cmd_start(&self->info, 0x1000, BUDGET);
	cmd.arg[0] = EVIL + 6;
	ASSERT_EQ(0, wse_submit(self->fd, self->ctx, &cmd, 1, &bad));
	cmd = cmd_nop(1);
	ASSERT_EQ(0, wse_submit(self->fd, self->ctx, &cmd, 1, &behind));
	ASSERT_EQ(0, wse_submit(self->fd, self->ctx, fence, 2, &held));
	EXPECT_EQ(0, syncobj_wait(self->fd, held, 0, SECONDS(20)));
	EXPECT_EQ(0, syncobj_status(self->fd, before));
	EXPECT_EQ(-ECANCELED, syncobj_status(self->fd, bad));
	EXPECT_EQ(-ECANCELED, syncobj_status(self->fd, behind));
	EXPECT_EQ(-ECANCELED, syncobj_status(self->fd, held));
}

/* a submit that waits for a fence of the lost part is cancelled with it */
TEST_F(wse, pending_is_cancelled)
{
	struct drm_wse_cmd cmd = cmd_start(&self->info, 0x1000, BUDGET);
	struct drm_wse_sync in = {}, out = { .handle = syncobj_create(self->fd) };

	cmd.arg[0] = EVIL + 6;
	ASSERT_EQ(0, wse_submit(self->fd, self->ctx, &cmd, 1, &in.handle));
	cmd = cmd_nop(2);
	ASSERT_EQ(0, wse_submit_syncs(self->fd, self->ctx, &cmd, 1, &in, 1, &out, 1));
	EXPECT_EQ(1, syncobj_status(self->fd, out.handle));
	EXPECT_EQ(0, syncobj_wait(self->fd, out.handle, 0, SECONDS(20)));
	EXPECT_EQ(-ECANCELED, syncobj_status(self->fd, out.handle));
	EXPECT_EQ(1, lost_and_new(_metadata, self));
}

/* close does not wait for a long command */
TEST_F(wse, close_aborts)
{
	struct drm_wse_cmd cmd = cmd_start(&self->info, 0x1000, BUDGET);
	struct drm_syncobj_handle h = { .flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE };
	struct sync_file_info info = {};

	cmd.arg[0] = EVIL + 12;
	ASSERT_EQ(0, wse_submit(self->fd, self->ctx, &cmd, 1, &h.handle));
	ASSERT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &h));
	close(self->fd);
	ASSERT_EQ(0, wse_ioctl(h.fd, SYNC_IOC_FILE_INFO, &info));
	EXPECT_EQ(-ECANCELED, info.status);
	close(h.fd);
	self->fd = wse_open_nth(0);
	EXPECT_EQ(0, wse_ctx_create(self->fd, 0, &self->ctx));
}

/* debugfs while commands are in flight and one waits for a fence, and after a fault */
TEST_F(wse, debugfs_tells_what_hangs)
{
	static const char *const rings[] = {
		"error none, lost no, 2 commands in flight, ",
		"\nring 0: ",
		"\nring 1: size 1024 head 0 tail 2",
		" put 2",
		" doorbell rung\nring 2: size 1024 head 0 tail 0 ",
	};
	static const char *const jobs[] = {
		"active: job ", " commands 2 left 2 in_syncs 0 error 0\npending: job ",
		" commands 1 left 1 in_syncs 1 error 0\n",
	};
	struct drm_wse_cmd cmds[2] = { cmd_start(&self->info, 0x1000, BUDGET), cmd_nop(1) };
	struct drm_wse_sync in = {}, out = { .handle = syncobj_create(self->fd) };
	struct drm_wse_cmd nop = cmd_nop(2);
	char text[8192];

	cmds[0].arg[0] = EVIL + 6;
	ASSERT_EQ(0, wse_submit(self->fd, self->ctx, cmds, 2, &in.handle));
	ASSERT_EQ(0, wse_submit_syncs(self->fd, self->ctx, &nop, 1, &in, 1, &out, 1));
	wse_debugfs("rings", text, sizeof(text));
	EXPECT_EQ(NULL, in_order(text, rings, 5)) TH_LOG("%s", text);
	wse_debugfs("jobs", text, sizeof(text));
	EXPECT_EQ(NULL, in_order(text, jobs, 3)) TH_LOG("%s", text);
	EXPECT_EQ(0, syncobj_wait(self->fd, out.handle, 0, SECONDS(20)));
	wse_debugfs("jobs", text, sizeof(text));
	EXPECT_STREQ("", text);
	EXPECT_EQ(1, lost_and_new(_metadata, self));
	EXPECT_EQ(-EFAULT, evil(self, 4));
	EXPECT_EQ(1, lost_and_new(_metadata, self));
	wse_debugfs("fault", text, sizeof(text));
	EXPECT_NE(NULL, strstr(text, " op 0x5 queue 1 status 8 ")) TH_LOG("%s", text);
}

/* a device reset leaves a dump: reason, registers, owner, rings, jobs, the command that hung */
TEST_F(wse, reset_leaves_a_core_dump)
{
	static const char *const want[] = {
		"wse core dump 1\nwhy: the device stands still\n", "\nMAGIC 0x31455357\n",
		"(test_evil) ctx ", "\nring 1: size 1024 head 1 tail 2 ", "\nactive: job ",
		"\nring 1: completion entry 1: ", "\nring 1 completed: cid 0 op 0x0 ",
		"\nring 1 in flight: cid 1 op 0x5 ",
	};
	struct drm_wse_cmd nop = cmd_nop(1);
	char path[128], text[65537];

	ASSERT_TRUE(drop_dumps()); /* of earlier tests */
	ASSERT_EQ(0, wse_run(self->fd, self->ctx, &nop, 1));
	EXPECT_EQ(-ECANCELED, evil(self, 6));
	EXPECT_EQ(1, lost_and_new(_metadata, self));
	ASSERT_TRUE(wait_for_dump(path));
	wse_slurp(path, text, sizeof(text));
	EXPECT_EQ(NULL, in_order(text, want, sizeof(want) / sizeof(*want))) TH_LOG("%s", text);
	/* a fault of a command concerns its owner and resets no device */
	ASSERT_TRUE(drop_dumps());
	EXPECT_EQ(-EFAULT, evil(self, 4));
	EXPECT_EQ(1, lost_and_new(_metadata, self));
	core_dump(path);
	EXPECT_EQ(0, path[0]);
}

TEST_F(wse, unbind_while_it_stands_still)
{
	struct drm_wse_cmd cmd = cmd_start(&self->info, 0x1000, BUDGET);
	char address[32];
	uint32_t sync;

	cmd.arg[0] = EVIL + 6;
	ASSERT_EQ(0, wse_submit(self->fd, self->ctx, &cmd, 1, &sync));
	wse_address(0, address);
	ASSERT_EQ(0, wse_unbind(address));
	close(self->fd);
	ASSERT_EQ(0, wse_bind(address));
	self->fd = wse_open_at(address);
	EXPECT_EQ(0, wse_ctx_create(self->fd, 0, &self->ctx));
}

TEST_HARNESS_MAIN
