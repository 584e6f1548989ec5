// SPDX-License-Identifier: GPL-2.0
/*
 * What commands do, their order, and the fences they signal. No programs on the cores.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "wse_test.h"
#include "kselftest_harness.h"

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
	close(self->fd);
}

TEST_F(wse, nop)
{
	struct drm_wse_cmd nop = cmd_nop(1);

	EXPECT_EQ(0, wse_run(self->fd, self->ctx, &nop, 1));
}

TEST_F(wse, nop_without_fence)
{
	struct drm_wse_cmd nop = cmd_nop(1);

	EXPECT_EQ(0, wse_submit_syncs(self->fd, self->ctx, &nop, 1, NULL, 0, NULL, 0));
	EXPECT_EQ(0, wse_ctx_destroy(self->fd, self->ctx));
}

TEST_F(wse, every_queue)
{
	uint32_t q;

	for (q = 1; q <= self->info.queues; q++) {
		struct drm_wse_cmd nop = cmd_nop(q);

		EXPECT_EQ(0, wse_run(self->fd, self->ctx, &nop, 1));
	}
}

/* more than fit into a ring, so it wraps several times and the phase turns */
TEST_F(wse, ring_wraps)
{
	unsigned int i, n = 3 * self->info.max_cmds / 50 + 3, k;
	struct drm_wse_cmd nops[50];
	uint32_t sync = 0;

	for (k = 0; k < 50; k++)
		nops[k] = cmd_nop(1);
	for (i = 0; i < n; i++)
		ASSERT_EQ(0, wse_submit(self->fd, self->ctx, nops, 50, &sync));
	EXPECT_EQ(0, syncobj_wait(self->fd, sync, 0, SECONDS(25)));
	EXPECT_EQ(0, syncobj_status(self->fd, sync));
}

static void fill(uint64_t *p, size_t n, uint64_t seed)
{
	while (n--)
		*p++ = seed = seed * 6364136223846793005ull + 1442695040888963407ull;
}

/* another pattern for each core and back, through one buffer and strides in all directions */
TEST_F(wse, copy_round_trip)
{
	uint32_t rows = self->info.rows, cols = self->info.cols, cores = rows * cols, bo;
	size_t each = 4 * 1024, bytes = (size_t)cores * each;
	struct drm_wse_cmd cmds[2] = {
		cmd_copy(WSE_OP_COPY_IN, 0, 0, 0, 0, 0x2000, 512),
		cmd_copy(WSE_OP_COPY_OUT, 0, 0, 0, 0, 0x2000, 512),
	};
	uint8_t *p;
	uint32_t i;

	ASSERT_EQ(0, wse_bo_create(self->fd, 2 * bytes, &bo));
	p = wse_bo_map(self->fd, bo, 2 * bytes);
	ASSERT_NE(NULL, p);
	fill((uint64_t *)p, bytes / 8, 1);
	for (i = 0; i < 2; i++) {
		cmds[i].bo = bo;
		cmds[i].off = i * bytes;
		cmds[i].rows = rows;
		cmds[i].cols = cols;
		cmds[i].nline = 8;
		cmds[i].lstride = 512;
		cmds[i].sstride = 768;
		cmds[i].cstride = each;
		cmds[i].rstride = cols * each;
	}
	ASSERT_EQ(0, wse_run(self->fd, self->ctx, cmds, 2));
	EXPECT_EQ(0, memcmp(p, p + bytes, bytes));
}

/* a buffer of many pages, which the device reads by page list */
TEST_F(wse, copy_across_pages)
{
	size_t bytes = 24 << 20, at;
	uint32_t bo;
	uint64_t *p;

	ASSERT_EQ(0, wse_bo_create(self->fd, bytes, &bo));
	p = wse_bo_map(self->fd, bo, bytes);
	ASSERT_NE(NULL, p);
	fill(p, bytes / 8, 2);
	for (at = PAGE - 64; at < bytes - 32768; at += (1 << 20) + 3 * PAGE + 8) {
		struct drm_wse_cmd cmds[2] = {
			cmd_copy(WSE_OP_COPY_IN, bo, at, 0, 0, 0x1000, 16384),
			cmd_copy(WSE_OP_COPY_OUT, bo, at + 16384, 0, 0, 0x1000, 16384),
		};

		ASSERT_EQ(0, wse_run(self->fd, self->ctx, cmds, 2));
		ASSERT_EQ(0, memcmp((char *)p + at, (char *)p + at + 16384, 16384));
	}
}

TEST_F(wse, broadcast)
{
	uint32_t rows = self->info.rows, cols = self->info.cols, bo, i;
	struct drm_wse_cmd cmds[2] = {
		cmd_copy(WSE_OP_COPY_IN, 0, 0, 0, 0, 0x3000, 256),
		cmd_copy(WSE_OP_COPY_OUT, 0, PAGE, 0, 0, 0x3000, 256),
	};
	size_t bytes = PAGE + 256ul * rows * cols;
	uint8_t *p;

	ASSERT_EQ(0, wse_bo_create(self->fd, bytes, &bo));
	p = wse_bo_map(self->fd, bo, bytes);
	ASSERT_NE(NULL, p);
	fill((uint64_t *)p, 32, 3);
	for (i = 0; i < 2; i++) {
		cmds[i].bo = bo;
		cmds[i].rows = rows;
		cmds[i].cols = cols;
	}
	cmds[0].flags = DRM_WSE_CMD_BROADCAST;
	cmds[1].cstride = 256;
	cmds[1].rstride = 256 * cols;
	ASSERT_EQ(0, wse_run(self->fd, self->ctx, cmds, 2));
	for (i = 0; i < rows * cols; i++)
		EXPECT_EQ(0, memcmp(p, p + PAGE + 256 * i, 256));

	/* a line for each column, all its rows get it */
	ASSERT_TRUE(self->info.features & WSE_FEATURES_BCAST_DIM_MASK);
	fill((uint64_t *)p, 8 * cols, 4);
	cmds[0].len = cmds[1].len = 64;
	cmds[0].cstride = cmds[1].cstride = 64;
	cmds[1].rstride = 64 * cols;
	ASSERT_EQ(0, wse_run(self->fd, self->ctx, cmds, 2));
	for (i = 0; i < rows; i++)
		EXPECT_EQ(0, memcmp(p, p + PAGE + 64 * cols * i, 64 * cols));
	cmds[0].rstride = 64;
	EXPECT_EQ(-EINVAL, wse_run(self->fd, self->ctx, cmds, 1));
}

/* the second copy must not overtake the first, which is on another queue; then the third again */
TEST_F(wse, fences_order_queues)
{
	struct drm_wse_cmd cmds[5];
	uint32_t bo, round;
	uint64_t *p;

	ASSERT_EQ(0, wse_bo_create(self->fd, 3 * 32768, &bo));
	p = wse_bo_map(self->fd, bo, 3 * 32768);
	ASSERT_NE(NULL, p);
	for (round = 0; round < 50; round++) {
		fill(p, 4096, round);
		cmds[0] = cmd_copy(WSE_OP_COPY_IN, bo, 0, 0, 0, 0x2000, 32768);
		cmds[1] = cmd_fence_cmd(2, 0);
		cmds[2] = cmd_copy(WSE_OP_COPY_OUT, bo, 32768, 0, 0, 0x2000, 32768);
		cmds[2].queue = 2;
		cmds[3] = cmd_fence_cmd(1, 2);
		cmds[4] = cmd_copy(WSE_OP_COPY_IN, bo, 65536, 0, 0, 0x2000, 32768);
		ASSERT_EQ(0, wse_run(self->fd, self->ctx, cmds, 5));
		ASSERT_EQ(0, memcmp(p, p + 4096, 32768));
	}
}

TEST_F(wse, fence_on_earlier_submits)
{
	struct drm_wse_cmd in, out[2];
	uint32_t bo, sync, round;
	uint64_t *p;

	ASSERT_EQ(0, wse_bo_create(self->fd, 2 * 32768, &bo));
	p = wse_bo_map(self->fd, bo, 2 * 32768);
	ASSERT_NE(NULL, p);
	for (round = 0; round < 50; round++) {
		fill(p, 4096, 100 + round);
		in = cmd_copy(WSE_OP_COPY_IN, bo, 0, 0, 0, 0x2000, 32768);
		ASSERT_EQ(0, wse_submit(self->fd, self->ctx, &in, 1, &sync));
		out[0] = cmd_fence(2, 1);
		out[1] = cmd_copy(WSE_OP_COPY_OUT, bo, 32768, 0, 0, 0x2000, 32768);
		out[1].queue = 2;
		ASSERT_EQ(0, wse_run(self->fd, self->ctx, out, 2));
		ASSERT_EQ(0, memcmp(p, p + 4096, 32768));
	}
}

TEST_F(wse, all_queues_at_once)
{
	uint32_t n = self->info.max_cmds, i, round;
	struct drm_wse_cmd *cmds = calloc(n, sizeof(*cmds));

	ASSERT_NE(NULL, cmds);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < n; i++) {
			uint32_t queue = 1 + i % self->info.queues;

			/* every command but the first waits for the one before it */
			cmds[i] = i % 2 && self->info.queues > 1 ? cmd_fence_cmd(queue, i - 1)
								 : cmd_nop(queue);
		}
		EXPECT_EQ(0, wse_run(self->fd, self->ctx, cmds, n));
	}
	free(cmds);
}

/* that one which has not signalled holds a submit back is in test_core and test_evil */
TEST_F(wse, in_sync_signalled_by_user)
{
	struct drm_wse_cmd nop = cmd_nop(1);
	struct drm_wse_sync in = { .handle = syncobj_create(self->fd), .point = 1 };
	struct drm_wse_sync out = { .handle = syncobj_create(self->fd) };
	uint32_t later;

	/* a point without a promised fence cannot be waited for */
	EXPECT_EQ(-EINVAL, wse_submit_syncs(self->fd, self->ctx, &nop, 1, &in, 1, &out, 1));

	ASSERT_EQ(0, syncobj_signal(self->fd, in.handle, 1));
	in.point = 1;
	ASSERT_EQ(0, wse_submit_syncs(self->fd, self->ctx, &nop, 1, &in, 1, &out, 1));
	EXPECT_EQ(0, syncobj_wait(self->fd, out.handle, 0, SECONDS(10)));
	EXPECT_EQ(0, wse_submit(self->fd, self->ctx, &nop, 1, &later));
	EXPECT_EQ(0, syncobj_wait(self->fd, later, 0, SECONDS(10)));
}

TEST_F(wse, chain_of_submits)
{
	struct drm_wse_cmd nop = cmd_nop(1);
	struct drm_wse_sync sync = { .handle = syncobj_create(self->fd) }, in;
	uint32_t i;

	for (i = 1; i <= 200; i++) {
		in = sync;
		in.point = i - 1;
		sync.point = i;
		nop.queue = 1 + i % self->info.queues;
		ASSERT_EQ(0, wse_submit_syncs(self->fd, self->ctx, &nop, 1, &in, i > 1, &sync, 1));
	}
	EXPECT_EQ(0, syncobj_wait(self->fd, sync.handle, 200, SECONDS(20)));
	/* earlier points have signalled with it */
	EXPECT_EQ(0, syncobj_wait(self->fd, sync.handle, 7, 0));
	EXPECT_NE(0, syncobj_wait(self->fd, sync.handle, 201, 0));
}

TEST_F(wse, one_syncobj_in_and_out)
{
	struct drm_wse_cmd nop = cmd_nop(1);
	struct drm_wse_sync sync = { .handle = syncobj_create(self->fd) };
	uint32_t i;

	ASSERT_EQ(0, wse_submit_syncs(self->fd, self->ctx, &nop, 1, NULL, 0, &sync, 1));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, wse_submit_syncs(self->fd, self->ctx, &nop, 1, &sync, 1, &sync, 1));
	EXPECT_EQ(0, syncobj_wait(self->fd, sync.handle, 0, SECONDS(10)));
}

TEST_F(wse, sync_file_polls)
{
	struct drm_wse_cmd nop = cmd_nop(1);
	struct drm_syncobj_handle h = { .flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE };
	struct pollfd p = { .events = POLLIN };

	ASSERT_EQ(0, wse_submit(self->fd, self->ctx, &nop, 1, &h.handle));
	ASSERT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &h));
	p.fd = h.fd;
	EXPECT_EQ(1, poll(&p, 1, 10000));
	close(h.fd);
}

TEST_F(wse, buffer_closed_in_flight)
{
	uint32_t bo, sync, i;
	struct drm_wse_cmd copy;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, wse_bo_create(self->fd, 1 << 20, &bo));
		copy = cmd_copy(WSE_OP_COPY_OUT, bo, 0, 0, 0, 0x1000, 32768);
		ASSERT_EQ(0, wse_submit(self->fd, self->ctx, &copy, 1, &sync));
		ASSERT_EQ(0, wse_gem_close(self->fd, bo));
		ASSERT_EQ(0, syncobj_wait(self->fd, sync, 0, SECONDS(10)));
		ASSERT_EQ(0, syncobj_status(self->fd, sync));
	}
}

TEST_F(wse, prime_self_import)
{
	struct drm_prime_handle prime = { .flags = DRM_RDWR | DRM_CLOEXEC };
	uint32_t bo;

	ASSERT_EQ(0, wse_bo_create(self->fd, PAGE, &bo));
	prime.handle = bo;
	ASSERT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	prime.handle = 0;
	ASSERT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
	EXPECT_EQ(bo, prime.handle);
	close(prime.fd);
}

/* a buffer of one wafer, read by another */
TEST_F(wse, prime_cross_import)
{
	struct drm_prime_handle prime = { .flags = DRM_RDWR | DRM_CLOEXEC };
	struct drm_wse_cmd cmds[2];
	uint32_t bo, ctx;
	uint64_t *p;
	int other = wse_open_nth(1);

	if (other < 0)
		SKIP(return, "there is no second device");
	ASSERT_EQ(0, wse_ctx_create(other, DRM_WSE_CTX_WAIT, &ctx));
	ASSERT_EQ(0, wse_bo_create(self->fd, 4 << 20, &bo));
	p = wse_bo_map(self->fd, bo, 4 << 20);
	ASSERT_NE(NULL, p);
	fill(p, 4096, 9);
	prime.handle = bo;
	ASSERT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	ASSERT_EQ(0, wse_ioctl(other, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
	cmds[0] = cmd_copy(WSE_OP_COPY_IN, prime.handle, 0, 0, 0, 0x1000, 32768);
	cmds[1] = cmd_copy(WSE_OP_COPY_OUT, prime.handle, 3 << 20, 0, 0, 0x1000, 32768);
	ASSERT_EQ(0, wse_run(other, ctx, cmds, 2));
	EXPECT_EQ(0, memcmp(p, (char *)p + (3 << 20), 32768));
	close(prime.fd);
	close(other);
}

TEST_F(wse, fence_of_another_device)
{
	struct drm_syncobj_handle h = {};
	struct drm_wse_cmd nop = cmd_nop(1);
	struct drm_wse_sync in = {}, out = { .handle = syncobj_create(self->fd) };
	int other = wse_open_nth(1);
	uint32_t ctx;

	if (other < 0)
		SKIP(return, "there is no second device");
	ASSERT_EQ(0, wse_ctx_create(other, DRM_WSE_CTX_WAIT, &ctx));
	ASSERT_EQ(0, wse_submit(other, ctx, &nop, 1, &h.handle));
	ASSERT_EQ(0, wse_ioctl(other, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &h));
	h.handle = 0;
	ASSERT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &h));
	in.handle = h.handle;
	ASSERT_EQ(0, wse_submit_syncs(self->fd, self->ctx, &nop, 1, &in, 1, &out, 1));
	EXPECT_EQ(0, syncobj_wait(self->fd, out.handle, 0, SECONDS(10)));
	close(h.fd);
	close(other);
}

/* A submit that waits in the kernel for its command. */
struct held {
	pthread_t thread;
	int fd;
	uint32_t ctx;
	struct drm_wse_cmd *cmd;
};

static void *submit_held(void *arg)
{
	struct held *s = arg;

	wse_submit_syncs(s->fd, s->ctx, s->cmd, 1, NULL, 0, NULL, 0);
	return NULL;
}

/* several threads find one place left, one gets it; the process ends while the others wait */
TEST_F(wse, jobs_are_limited)
{
	enum { JOBS = 1024, N = 4 };
	struct drm_wse_cmd nop = cmd_nop(1), stream = cmd_stuck(BUDGET * 1000);
	int uffd = uffd_open(), i, ended = 0;
	struct held held[N];
	char text[4096], page[PAGE] = {};

	if (uffd < 0)
		SKIP(return, "the kernel has no userfaultfd");
	ASSERT_EQ(0, wse_bo_create(self->fd, PAGE, &stream.bo));
	/* no core takes it */
	ASSERT_EQ(0, wse_submit_syncs(self->fd, self->ctx, &stream, 1, NULL, 0, NULL, 0));
	for (i = 0; i < JOBS - 2; i++)
		ASSERT_EQ(0, wse_submit_syncs(self->fd, self->ctx, &nop, 1, NULL, 0, NULL, 0));
	for (i = 0; i < N; i++) {
		held[i] = (struct held){ .fd = self->fd, .ctx = self->ctx };
		held[i].cmd = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);
		ASSERT_NE(MAP_FAILED, held[i].cmd);
		ASSERT_EQ(0, uffd_hold(uffd, held[i].cmd, PAGE));
		ASSERT_EQ(0, pthread_create(&held[i].thread, NULL, submit_held, &held[i]));
		ASSERT_EQ(0, uffd_wait(uffd));
	}
	memcpy(page, &nop, sizeof(nop));
	for (i = 0; i < N; i++)
		ASSERT_EQ(0, uffd_give(uffd, held[i].cmd, PAGE, page));
	usleep(500000);
	wse_debugfs("lease", text, sizeof(text));
	EXPECT_NE(NULL, strstr(text, " jobs 1024 error 0")) TH_LOG("%s", text);
	/* they have not been refused either */
	for (i = 0; i < N; i++)
		ended += !pthread_tryjoin_np(held[i].thread, NULL);
	EXPECT_EQ(1, ended);
	close(uffd);
}

/*
 * A lost context that only looks at its cores is full of submits that another device holds up: the
 * task that adds one sleeps, so that it can be killed.
 */
TEST_F(wse, looks_are_limited)
{
	enum { JOBS = 1024 };
	struct drm_wse_cmd cmd = cmd_start(&self->info, 0x4000, BUDGET);
	struct drm_wse_cmd stream = cmd_stuck(BUDGET * 1000);
	struct drm_syncobj_handle h = {};
	struct drm_wse_sync in = {};
	struct drm_wse_submit submit = {
		.ctx = self->ctx,
		.flags = DRM_WSE_SUBMIT_LOST,
		.cmds = { .ptr = (uintptr_t)&cmd, .count = 1, .stride = sizeof(cmd) },
		.in_syncs = { .ptr = (uintptr_t)&in, .count = 1, .stride = sizeof(in) },
	};
	int other = wse_open_nth(1), i;
	struct timespec used;
	clockid_t clock;
	uint32_t ctx, bo;
	pid_t pid;

	if (other < 0)
		SKIP(return, "there is no second device");
	/* zeros are no program */
	cmd.flags = DRM_WSE_CMD_CLOSED;
	ASSERT_EQ(-EFAULT, wse_run(self->fd, self->ctx, &cmd, 1));
	ASSERT_EQ(0, wse_ctx_create(other, DRM_WSE_CTX_WAIT, &ctx));
	ASSERT_EQ(0, wse_bo_create(other, PAGE, &stream.bo));
	/* no core takes it */
	ASSERT_EQ(0, wse_submit(other, ctx, &stream, 1, &h.handle));
	ASSERT_EQ(0, wse_ioctl(other, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &h));
	ASSERT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &h));
	in.handle = h.handle;
	ASSERT_EQ(0, wse_bo_create(self->fd, PAGE, &bo));
	cmd = cmd_copy(WSE_OP_COPY_OUT, bo, 0, 0, 0, 0x4000, 8);
	for (i = 0; i < JOBS; i++)
		ASSERT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_WSE_SUBMIT, &submit));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(wse_ioctl(self->fd, DRM_IOCTL_WSE_SUBMIT, &submit) != 0);
	sleep(1);
	ASSERT_EQ(0, clock_getcpuclockid(pid, &clock));
	ASSERT_EQ(0, clock_gettime(clock, &used));
	EXPECT_EQ(0, used.tv_sec);
	EXPECT_GT(500000000, used.tv_nsec);
	kill(pid, SIGKILL);
	for (i = 0; i < 50 && waitpid(pid, NULL, WNOHANG) != pid; i++)
		usleep(100000);
	EXPECT_GT(50, i);
	/* ends what all of them wait for */
	close(other);
	if (i == 50)
		waitpid(pid, NULL, 0);
	close(h.fd);
}

/* a job and its commands have their events, in order */
TEST_F(wse, trace_of_a_submit)
{
	static const char *const want[] = {
		"wse_submit: ", " commands=2 in_syncs=0\n", "wse_issue: ", " commands=2",
		"wse_complete: ", " queue=1", " op=0x0", " status=0", " left=1\n",
		"wse_complete: ", " left=0\n", "wse_reset: ", " context: new owner, inflight=0",
	};
	struct drm_wse_cmd nops[2] = { cmd_nop(1), cmd_nop(1) };
	char text[16384];

	ASSERT_EQ(0, trace_begin());
	EXPECT_EQ(0, wse_run(self->fd, self->ctx, nops, 2));
	EXPECT_EQ(0, wse_ctx_destroy(self->fd, self->ctx));
	trace_end(text, sizeof(text));
	EXPECT_EQ(NULL, in_order(text, want, sizeof(want) / sizeof(*want)))
		TH_LOG("%s is missing in:\n%s",
		       in_order(text, want, sizeof(want) / sizeof(*want)), text);
}

TEST_HARNESS_MAIN
