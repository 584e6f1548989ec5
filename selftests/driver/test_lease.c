// SPDX-License-Identifier: GPL-2.0
/* The lease: the owner of the device, what the next owner sees, and removal in each state. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "wse_test.h"
#include "kselftest_harness.h"

FIXTURE(wse)
{
	int fd;
	struct drm_wse_info info;
	char address[32];
};

FIXTURE_SETUP(wse)
{
	wse_address(0, self->address);
	self->fd = wse_open_at(self->address);
	ASSERT_LE(0, self->fd);
	self->info = wse_info(self->fd);
}

FIXTURE_TEARDOWN(wse)
{
	if (self->fd >= 0)
		close(self->fd);
}

TEST_F(wse, busy)
{
	int other = wse_open_nth(0);
	uint32_t ctx, second = 0;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
	EXPECT_NE(0, ctx);
	EXPECT_EQ(-EBUSY, wse_ctx_create(other, 0, &second));
	EXPECT_EQ(-EBUSY, wse_ctx_create(self->fd, 0, &second));
	ASSERT_EQ(0, wse_ctx_destroy(self->fd, ctx));
	EXPECT_EQ(-ENOENT, wse_ctx_destroy(self->fd, ctx));
	ASSERT_EQ(0, wse_ctx_create(other, 0, &second));
	EXPECT_NE(ctx, second);
	close(other);
}

TEST_F(wse, close_gives_back)
{
	int other = wse_open_nth(0);
	uint32_t ctx;

	ASSERT_EQ(0, wse_ctx_create(other, 0, &ctx));
	EXPECT_EQ(-EBUSY, wse_ctx_create(self->fd, 0, &ctx));
	close(other);
	EXPECT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
}

/* another process waits until the owner is done */
TEST_F(wse, wait_for_owner)
{
	int status = -1, fd;
	uint32_t ctx;
	pid_t pid;

	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		fd = wse_open_nth(0);
		_exit(wse_ctx_create(fd, DRM_WSE_CTX_WAIT, &ctx) ? 1 : 0);
	}
	usleep(300000);
	EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
	ASSERT_EQ(0, wse_ctx_destroy(self->fd, ctx));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

static void on_alarm(int sig)
{
	(void)sig;
}

TEST_F(wse, wait_is_interruptible)
{
	struct sigaction action = { .sa_handler = on_alarm };
	uint32_t ctx;
	int fd, status;
	pid_t pid;

	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		fd = wse_open_nth(0);
		sigaction(SIGUSR1, &action, NULL);
		_exit(wse_ctx_create(fd, DRM_WSE_CTX_WAIT, &ctx) == -EINTR ? 0 : 1);
	}
	usleep(300000);
	kill(pid, SIGUSR1);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* many processes, one device: all of them get it */
TEST_F(wse, everybody_in_turn)
{
	int status, i, bad = 0;
	uint32_t ctx;

	for (i = 0; i < 6; i++) {
		if (!fork()) {
			struct drm_wse_cmd nop = cmd_nop(1);
			int fd = wse_open_nth(0), round;

			for (round = 0; round < 3; round++) {
				if (wse_ctx_create(fd, DRM_WSE_CTX_WAIT, &ctx) ||
				    wse_run(fd, ctx, &nop, 1) || wse_ctx_destroy(fd, ctx))
					_exit(1);
			}
			_exit(0);
		}
	}
	while (wait(&status) > 0)
		bad += status != 0;
	EXPECT_EQ(0, bad);
}

/*
 * a process that waits once gets it before processes that try again and again: counted in leases,
 * so that a slow machine may be slow
 */
TEST_F(wse, in_the_order_of_arrival)
{
	unsigned int *leases = mmap(NULL, sizeof(*leases), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int before, between, most = 0;
	uint32_t ctx;
	pid_t pid[10];
	int i;

	ASSERT_NE(MAP_FAILED, leases);
	for (i = 0; i < 10; i++) {
		pid[i] = fork();
		ASSERT_LE(0, pid[i]);
		if (!pid[i]) {
			int fd = wse_open_nth(0);

			/* eight that wait and use it, two that only ever try */
			for (;;) {
				if (wse_ctx_create(fd, i < 8 ? DRM_WSE_CTX_WAIT : 0, &ctx))
					continue;
				__atomic_add_fetch(leases, 1, __ATOMIC_RELAXED);
				usleep(20000);
				wse_ctx_destroy(fd, ctx);
			}
		}
	}
	usleep(100000);
	for (i = 0; i < 10; i++) {
		before = __atomic_load_n(leases, __ATOMIC_RELAXED);
		ASSERT_EQ(0, wse_ctx_create(self->fd, DRM_WSE_CTX_WAIT, &ctx));
		between = __atomic_load_n(leases, __ATOMIC_RELAXED) - before;
		ASSERT_EQ(0, wse_ctx_destroy(self->fd, ctx));
		most = between > most ? between : most;
	}
	for (i = 0; i < 10; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	munmap(leases, sizeof(*leases));
	TH_LOG("at most %u others had it between asking and getting", most);
	/*
	 * eight wait before this process, one holds it; others come while this one enters the line
	 */
	EXPECT_GE(16, most);
}

/* the cost of a process in line while others have their turn: it sleeps until its own */
TEST_F(wse, a_hand_over_wakes_one)
{
	enum { LINE = 20 };
	int status, i, bad = 0, go[2];
	struct rusage before, after;
	uint32_t ctx;
	char text[8192];

	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
	for (i = 0; i < LINE; i++) {
		pid_t pid = fork();
		char want[64];

		ASSERT_LE(0, pid);
		if (!pid) {
			int fd = wse_open_nth(0);

			getrusage(RUSAGE_SELF, &before);
			if (wse_ctx_create(fd, DRM_WSE_CTX_WAIT, &ctx))
				_exit(100);
			getrusage(RUSAGE_SELF, &after);
			wse_ctx_destroy(fd, ctx);
			status = after.ru_nvcsw - before.ru_nvcsw;
			_exit(status < 99 ? status : 99);
		}
		/* in this order */
		snprintf(want, sizeof(want), "waiter: pid %d ", pid);
		do {
			usleep(10000);
			wse_debugfs("lease", text, sizeof(text));
		} while (!strstr(text, want) && !strstr(text, "more"));
	}
	ASSERT_EQ(0, wse_ctx_destroy(self->fd, ctx));
	while (wait(&status) > 0) {
		ASSERT_TRUE(WIFEXITED(status));
		ASSERT_NE(100, WEXITSTATUS(status));
		if (WEXITSTATUS(status) > bad)
			bad = WEXITSTATUS(status);
	}
	TH_LOG("at most %d times woken up", bad);
	/* for its turn, for the firmware, and for a lock or two */
	EXPECT_GE(8, bad);
}

struct place {
	int fd, ret;
};

static void *stand_in_line(void *arg)
{
	struct place *place = arg;
	uint32_t ctx;

	place->ret = wse_ctx_create(place->fd, DRM_WSE_CTX_WAIT, &ctx);
	return NULL;
}

/* more threads get a file no further */
TEST_F(wse, one_place_a_file)
{
	struct place place[10];
	pthread_t thread[10];
	int i, busy = 0, other = wse_open_nth(0);
	char text[4096], *at;
	uint32_t ctx;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, wse_ctx_create(other, 0, &ctx));
	for (i = 0; i < 10; i++) {
		place[i] = (struct place){ .fd = self->fd };
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, stand_in_line, &place[i]));
	}
	usleep(500000);
	wse_debugfs("lease", text, sizeof(text));
	at = strstr(text, "waiter");
	EXPECT_NE(NULL, at);
	EXPECT_EQ(NULL, at ? strstr(at + 1, "waiter") : at) TH_LOG("%s", text);
	ASSERT_EQ(0, wse_ctx_destroy(other, ctx));
	if (at && !strstr(at + 1, "waiter")) {
		for (i = 0; i < 10; i++) {
			pthread_join(thread[i], NULL);
			busy += place[i].ret == -EBUSY;
		}
		EXPECT_EQ(9, busy);
	}
	close(other);
}

TEST_F(wse, next_owner_sees_zeros)
{
	uint32_t at = (self->info.fw_end + 4095) & ~4095u, bytes = 16384, bo, ctx, i;
	struct drm_wse_cmd in = cmd_copy(WSE_OP_COPY_IN, 0, 0, 0, 0, at, bytes);
	struct drm_wse_cmd out = cmd_copy(WSE_OP_COPY_OUT, 0, 0, 0, 0, at, bytes);
	uint64_t *p;

	ASSERT_EQ(0, wse_bo_create(self->fd, bytes, &bo));
	p = wse_bo_map(self->fd, bo, bytes);
	ASSERT_NE(NULL, p);
	memset(p, 0x5a, bytes);
	in.bo = bo;
	out.bo = bo;
	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
	ASSERT_EQ(0, wse_run(self->fd, ctx, &in, 1));
	ASSERT_EQ(0, wse_ctx_destroy(self->fd, ctx));
	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
	ASSERT_EQ(0, wse_run(self->fd, ctx, &out, 1));
	for (i = 0; i < bytes / 8; i++)
		ASSERT_EQ(0, p[i]);
}

TEST_F(wse, destroy_waits_for_commands)
{
	struct drm_wse_cmd nops[100];
	uint32_t ctx, sync, i;

	for (i = 0; i < 100; i++)
		nops[i] = cmd_nop(1);
	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, wse_submit(self->fd, ctx, nops, 100, &sync));
	ASSERT_EQ(0, wse_ctx_destroy(self->fd, ctx));
	EXPECT_EQ(0, syncobj_wait(self->fd, sync, 0, 0));
	EXPECT_EQ(0, syncobj_status(self->fd, sync));
}

/* the fences of a file that was closed end too */
TEST_F(wse, close_with_commands)
{
	struct drm_wse_cmd nops[100];
	struct drm_syncobj_handle h = { .flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE };
	struct sync_file_info info = {};
	uint32_t ctx, i;

	for (i = 0; i < 100; i++)
		nops[i] = cmd_nop(1);
	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, wse_submit(self->fd, ctx, nops, 100, &h.handle));
	ASSERT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &h));
	close(self->fd);
	self->fd = -1;
	ASSERT_EQ(0, wse_ioctl(h.fd, SYNC_IOC_FILE_INFO, &info));
	EXPECT_TRUE(info.status == 1 || info.status == -ECANCELED);
	close(h.fd);
}

/* the file, a mapping and a context survive the device and are of no use any more */
TEST_F(wse, unbind_with_open_file)
{
	struct drm_wse_cmd nop = cmd_nop(1);
	struct drm_wse_query query = {};
	uint32_t ctx, bo, handle;
	uint64_t *p;

	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
	ASSERT_EQ(0, wse_bo_create(self->fd, 8 << 20, &bo));
	p = wse_bo_map(self->fd, bo, 8 << 20);
	ASSERT_NE(NULL, p);
	p[0] = 1;
	ASSERT_EQ(0, wse_run(self->fd, ctx, &nop, 1));

	ASSERT_EQ(0, wse_unbind(self->address));
	EXPECT_EQ(-ENODEV, wse_run(self->fd, ctx, &nop, 1));
	EXPECT_EQ(-ENODEV, wse_ioctl(self->fd, DRM_IOCTL_WSE_QUERY, &query));
	EXPECT_EQ(-ENODEV, wse_bo_create(self->fd, PAGE, &handle));
	EXPECT_EQ(-ENODEV, wse_ctx_destroy(self->fd, ctx));
	close(self->fd);
	munmap(p, 8 << 20);

	ASSERT_EQ(0, wse_bind(self->address));
	self->fd = wse_open_at(self->address);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
	EXPECT_EQ(0, wse_run(self->fd, ctx, &nop, 1));
}

TEST_F(wse, unbind_under_load)
{
	int round;

	close(self->fd);
	self->fd = -1;
	for (round = 0; round < 5; round++) {
		int status, ready[2];
		pid_t pid;
		char c;

		ASSERT_EQ(0, pipe(ready));
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			struct drm_wse_cmd nops[20];
			uint32_t ctx, sync, i;
			int fd = wse_open_at(self->address), ret;

			for (i = 0; i < 20; i++)
				nops[i] = cmd_nop(1 + i % self->info.queues);
			if (wse_ctx_create(fd, 0, &ctx) || write(ready[1], "", 1) != 1)
				_exit(1);
			do {
				ret = wse_submit(fd, ctx, nops, 20, &sync);
			} while (!ret);
			_exit(ret == -ENODEV ? 0 : 2);
		}
		/* a machine that is slow has no load after any fixed time */
		close(ready[1]);
		ASSERT_EQ(1, read(ready[0], &c, 1));
		close(ready[0]);
		usleep(50000 + 30000 * round);
		ASSERT_EQ(0, wse_unbind(self->address));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
		ASSERT_EQ(0, wse_bind(self->address));
	}
}

/* a wait for the lease must not hold up the removal */
TEST_F(wse, unbind_with_waiter)
{
	uint32_t ctx;
	int status, fd;
	pid_t pid;

	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		fd = wse_open_nth(0);
		_exit(wse_ctx_create(fd, DRM_WSE_CTX_WAIT, &ctx) == -ENODEV ? 0 : 1);
	}
	usleep(300000);
	ASSERT_EQ(0, wse_unbind(self->address));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	close(self->fd);
	ASSERT_EQ(0, wse_bind(self->address));
	self->fd = wse_open_at(self->address);
	EXPECT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* the seconds that a reset through sysfs took */
static double sysfs_reset(const char *address)
{
	double begin = seconds();

	return wse_reset(address) ? 1e9 : seconds() - begin;
}

TEST_F(wse, reset_while_idle)
{
	struct drm_wse_cmd nop = cmd_nop(1);
	double begin;
	uint32_t ctx;

	EXPECT_GT(2.0, sysfs_reset(self->address));
	begin = seconds();
	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
	EXPECT_GT(1.0, seconds() - begin);
	EXPECT_EQ(0, wse_run(self->fd, ctx, &nop, 1));

	/* with a context, which is lost and keeps its lease */
	EXPECT_GT(2.0, sysfs_reset(self->address));
	EXPECT_EQ(-EIO, wse_run(self->fd, ctx, &nop, 1));
	EXPECT_EQ(0, wse_ctx_destroy(self->fd, ctx));
	begin = seconds();
	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
	EXPECT_GT(1.0, seconds() - begin);
	EXPECT_EQ(0, wse_run(self->fd, ctx, &nop, 1));
	EXPECT_EQ(2, wse_info(self->fd).resets - self->info.resets);
}

TEST_F(wse, reset_under_load)
{
	struct drm_wse_cmd nops[20];
	uint32_t ctx, sync, last = 0, i;
	double begin;
	int ret;
	pid_t pid;

	for (i = 0; i < 20; i++)
		nops[i] = cmd_nop(1 + i % self->info.queues);
	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		usleep(100000);
		_exit(sysfs_reset(self->address) < 2.0 ? 0 : 1);
	}
	for (;;) {
		ret = wse_submit(self->fd, ctx, nops, 20, &sync);
		if (ret)
			break;
		last = sync;
	}
	begin = seconds();
	EXPECT_EQ(-EIO, ret);
	ASSERT_NE(0, last);
	EXPECT_EQ(0, syncobj_wait(self->fd, last, 0, SECONDS(5)));
	EXPECT_EQ(0, wse_ctx_destroy(self->fd, ctx));
	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
	EXPECT_EQ(0, wse_run(self->fd, ctx, nops, 20));
	EXPECT_GT(2.0, seconds() - begin);
	ASSERT_EQ(pid, waitpid(pid, &ret, 0));
	EXPECT_EQ(0, ret);
}

/* as far as the kernel goes without really sleeping: all devices are put to sleep, and woken up */
TEST_F(wse, system_sleep)
{
	struct drm_wse_cmd nop = cmd_nop(1);
	uint32_t ctx;

	/*
	 * virtio-iommu (6.12) answers no request after sleep: a task that unmaps would wait without
	 * end
	 */
	if (!access("/sys/bus/virtio/drivers/virtio_iommu", F_OK))
		SKIP(return, "the kernel's virtio-iommu does not wake up");
	if (wse_sysfs_write("/sys/power/pm_test", "platform"))
		SKIP(return, "the kernel has no /sys/power/pm_test");
	wse_sysfs_write("/sys/module/suspend/parameters/pm_test_delay", "1");
	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
	EXPECT_EQ(0, wse_run(self->fd, ctx, &nop, 1));
	EXPECT_EQ(0, wse_sysfs_write("/sys/power/state", "mem"));
	EXPECT_EQ(1, wse_info(self->fd).resets - self->info.resets);
	EXPECT_EQ(-EIO, wse_run(self->fd, ctx, &nop, 1));
	EXPECT_EQ(0, wse_ctx_destroy(self->fd, ctx));
	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
	EXPECT_EQ(0, wse_run(self->fd, ctx, &nop, 1));
}

/* a context that is made while sysfs resets the device is made all the same */
TEST_F(wse, created_under_resets)
{
	int i, ret, status, failed = 0;
	uint32_t ctx;
	pid_t pid;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		for (i = 0; i < 60; i++) {
			ret = wse_reset(self->address);
			if (ret)
				_exit(1);
			usleep(1000 * (i % 20));
		}
		_exit(0);
	}
	for (i = 0; !waitpid(pid, &status, WNOHANG); i++) {
		ret = wse_ctx_create(self->fd, DRM_WSE_CTX_WAIT, &ctx);
		if (ret) {
			TH_LOG("context %d: %s", i, strerror(-ret));
			failed++;
		} else {
			EXPECT_EQ(0, wse_ctx_destroy(self->fd, ctx));
		}
	}
	EXPECT_EQ(0, status);
	EXPECT_LT(5, i);
	EXPECT_EQ(0, failed);
}

TEST_F(wse, killed_owner)
{
	uint32_t ctx;
	int status;
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid) {
		struct drm_wse_cmd nops[20];
		uint32_t sync, i;
		int fd = wse_open_nth(0);

		for (i = 0; i < 20; i++)
			nops[i] = cmd_nop(1);
		wse_ctx_create(fd, 0, &ctx);
		for (;;)
			wse_submit(fd, ctx, nops, 20, &sync);
	}
	usleep(300000);
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, wse_ctx_create(self->fd, DRM_WSE_CTX_WAIT, &ctx));
}

TEST_F(wse, two_devices_two_leases)
{
	int other = wse_open_nth(1);
	uint32_t a, b;
	struct drm_wse_cmd nop = cmd_nop(1);

	if (other < 0)
		SKIP(return, "there is no second device");
	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &a));
	ASSERT_EQ(0, wse_ctx_create(other, 0, &b));
	EXPECT_EQ(0, wse_run(self->fd, a, &nop, 1));
	EXPECT_EQ(0, wse_run(other, b, &nop, 1));
	close(other);
}

/* debugfs: the owner of the device, and the processes that wait for it */
TEST_F(wse, debugfs_names_holder_and_waiters)
{
	char text[4096], want[64];
	uint32_t ctx;
	pid_t pid;
	int i;

	wse_debugfs("lease", text, sizeof(text));
	EXPECT_STREQ("holder: none\n", text);
	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
	wse_debugfs("lease", text, sizeof(text));
	snprintf(want, sizeof(want), "holder: pid %d (test_lease) ctx %u jobs 0 error 0\n",
		 getpid(), ctx);
	EXPECT_STREQ(want, text);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		int fd = wse_open_at(self->address);

		_exit(wse_ctx_create(fd, DRM_WSE_CTX_WAIT, &ctx) != 0);
	}
	snprintf(want, sizeof(want), "\nwaiter: pid %d (test_lease)\n", pid);
	for (i = 0; i < 100 && !strstr(text, want); i++) {
		usleep(20000);
		wse_debugfs("lease", text, sizeof(text));
	}
	EXPECT_NE(NULL, strstr(text, want));
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	wse_debugfs("lease", text, sizeof(text));
	EXPECT_EQ(NULL, strstr(text, "waiter"));
}

TEST_HARNESS_MAIN
