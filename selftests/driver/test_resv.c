// SPDX-License-Identifier: GPL-2.0
/*
 * The fences that a buffer shows to its other users (its reservation object, seen through its
 * dma-buf), and the order in which fences signal.
 */
#include <linux/dma-buf.h>
#include <poll.h>

#include "wse_test.h"
#include "kselftest_harness.h"

FIXTURE(resv)
{
	int fd[2];
	uint32_t ctx;
	uint32_t bo[2];
	int dmabuf[2];
};

static int export(int fd, uint32_t bo)
{
	struct drm_prime_handle out = { .handle = bo, .flags = O_CLOEXEC | O_RDWR };
	int ret = wse_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &out);

	return ret ? ret : out.fd;
}

FIXTURE_SETUP(resv)
{
	int i;

	for (i = 0; i < 2; i++) {
		self->fd[i] = wse_open_nth(i);
		ASSERT_LE(0, self->fd[i]);
	}
	ASSERT_EQ(0, wse_ctx_create(self->fd[0], DRM_WSE_CTX_WAIT, &self->ctx));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, wse_bo_create(self->fd[0], PAGE, &self->bo[i]));
		self->dmabuf[i] = export(self->fd[0], self->bo[i]);
		ASSERT_LE(0, self->dmabuf[i]);
	}
}

FIXTURE_TEARDOWN(resv)
{
	int i;

	for (i = 0; i < 2; i++) {
		close(self->dmabuf[i]);
		if (self->fd[i] >= 0)
			close(self->fd[i]);
	}
}

/* reads bo, until its budget has run out: no core takes the stream */
static struct drm_wse_cmd stuck(uint32_t queue, uint32_t bo, uint64_t budget)
{
	return (struct drm_wse_cmd){
		.op = WSE_OP_STREAM_IN,
		.queue = queue,
		.bo = bo,
		.budget = budget,
		.cols = 1,
		.nline = 1,
		.kcol = 64,
		.nfeat = 1,
		.etype = WSE_ETYPE_RAW32,
	};
}

/* Which of POLLIN (to be read now) and POLLOUT (to be written) hold. */
static int ready(int dmabuf, int timeout)
{
	struct pollfd p = { .fd = dmabuf, .events = POLLIN | POLLOUT };

	return poll(&p, 1, timeout) < 0 ? -errno : p.revents;
}

/* The fences that a reader (a writer, too) must wait for, as a sync_file. */
static int sync_of(int dmabuf, uint32_t flags)
{
	struct dma_buf_export_sync_file sync = { .flags = flags, .fd = -1 };
	int ret = wse_ioctl(dmabuf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &sync);

	return ret ? ret : sync.fd;
}

/* Of a sync_file: 1 active, 0 signalled well, -errno. Closes it. */
static int status(int fd)
{
	struct sync_file_info info = {};
	int ret = fd < 0 ? fd : wse_ioctl(fd, SYNC_IOC_FILE_INFO, &info);

	close(fd);
	if (ret)
		return ret;
	return info.status < 0 ? info.status : !info.status;
}

TEST_F(resv, idle_buffer_is_ready)
{
	EXPECT_EQ(POLLIN | POLLOUT, ready(self->dmabuf[0], 0));
	EXPECT_EQ(0, status(sync_of(self->dmabuf[0], DMA_BUF_SYNC_RW)));
}

/* others may read the buffers that the device reads, but not those that it writes */
TEST_F(resv, readers_and_writers)
{
	struct drm_wse_cmd cmds[2] = {
		stuck(1, self->bo[0], BUDGET * 1000),
		cmd_copy(WSE_OP_COPY_OUT, self->bo[1], 0, 0, 0, 0x1000, 64),
	};
	int file, i;
	uint32_t sync;

	ASSERT_EQ(0, wse_submit(self->fd[0], self->ctx, cmds, 2, &sync));
	EXPECT_EQ(POLLIN, ready(self->dmabuf[0], 0));
	EXPECT_EQ(0, status(sync_of(self->dmabuf[0], DMA_BUF_SYNC_READ)));
	EXPECT_EQ(1, status(sync_of(self->dmabuf[0], DMA_BUF_SYNC_RW)));
	EXPECT_EQ(0, ready(self->dmabuf[1], 100));
	EXPECT_EQ(1, status(sync_of(self->dmabuf[1], DMA_BUF_SYNC_READ)));
	file = sync_of(self->dmabuf[1], DMA_BUF_SYNC_READ);
	/* ends them both */
	close(self->fd[0]);
	self->fd[0] = -1;
	for (i = 0; i < 2; i++)
		EXPECT_EQ(POLLIN | POLLOUT, ready(self->dmabuf[i], 20000));
	EXPECT_EQ(-ECANCELED, status(file));
}

/* poll() that sleeps is woken by the device */
TEST_F(resv, poll_waits_for_the_device)
{
	struct pollfd p = { .fd = self->dmabuf[0], .events = POLLOUT };
	struct drm_wse_cmd cmd = stuck(1, self->bo[0], BUDGET / 10);
	uint32_t sync;

	ASSERT_EQ(0, wse_submit(self->fd[0], self->ctx, &cmd, 1, &sync));
	EXPECT_EQ(1, poll(&p, 1, 25000));
	EXPECT_GE(0, syncobj_status(self->fd[0], sync));
}

/* one job that names a buffer for both, often, and in any order */
TEST_F(resv, writing_counts)
{
	struct drm_wse_cmd cmds[40];
	uint32_t sync, i;

	for (i = 0; i < 40; i++)
		cmds[i] = cmd_copy(i == 23 ? WSE_OP_COPY_OUT : WSE_OP_COPY_IN, self->bo[i & 1], 0,
				   0, 0, 0x1000, 64);
	cmds[0] = stuck(1, self->bo[0], BUDGET * 1000);
	ASSERT_EQ(0, wse_submit(self->fd[0], self->ctx, cmds, 40, &sync));
	EXPECT_EQ(POLLIN, ready(self->dmabuf[0], 0));
	EXPECT_EQ(0, ready(self->dmabuf[1], 0));
	/* and another job that only reads does not take that away */
	ASSERT_EQ(0, wse_submit(self->fd[0], self->ctx, cmds + 1, 1, &sync));
	EXPECT_EQ(0, ready(self->dmabuf[1], 0));
}

/* the mask of a stream is read */
TEST_F(resv, mask)
{
	struct drm_wse_cmd cmds[2] = {
		stuck(1, self->bo[0], BUDGET * 1000),
		stuck(1, self->bo[0], BUDGET),
	};
	uint32_t sync;

	cmds[1].flags = DRM_WSE_CMD_MASKED;
	cmds[1].mask_bo = self->bo[1];
	ASSERT_EQ(0, wse_submit(self->fd[0], self->ctx, cmds, 2, &sync));
	EXPECT_EQ(POLLIN, ready(self->dmabuf[1], 0));
}

/* a refused submit leaves nothing behind */
TEST_F(resv, refused)
{
	struct drm_wse_cmd cmd = cmd_copy(WSE_OP_COPY_OUT, self->bo[0], 0, 0, 0, 0x1000, 64);
	struct drm_wse_sync out = { .handle = 0xdead };

	EXPECT_EQ(-ENOENT, wse_submit_syncs(self->fd[0], self->ctx, &cmd, 1, NULL, 0, &out, 1));
	EXPECT_EQ(POLLIN | POLLOUT, ready(self->dmabuf[0], 0));
	cmd.len = 2 * PAGE;
	EXPECT_EQ(-ERANGE, wse_submit_syncs(self->fd[0], self->ctx, &cmd, 1, NULL, 0, NULL, 0));
	EXPECT_EQ(POLLIN | POLLOUT, ready(self->dmabuf[0], 0));
}

/* the exporter's dma-buf knows of jobs on another device */
TEST_F(resv, import)
{
	struct drm_prime_handle in = { .fd = self->dmabuf[0] };
	struct drm_wse_cmd cmds[2];
	uint32_t ctx, sync;

	ASSERT_EQ(0, wse_ioctl(self->fd[1], DRM_IOCTL_PRIME_FD_TO_HANDLE, &in));
	ASSERT_EQ(0, wse_ctx_create(self->fd[1], DRM_WSE_CTX_WAIT, &ctx));
	cmds[0] = stuck(1, in.handle, BUDGET * 1000);
	cmds[1] = cmd_copy(WSE_OP_COPY_OUT, in.handle, 0, 0, 0, 0x1000, 64);
	ASSERT_EQ(0, wse_submit(self->fd[1], ctx, cmds, 2, &sync));
	EXPECT_EQ(0, ready(self->dmabuf[0], 0));
	close(self->fd[1]);
	self->fd[1] = -1;
	EXPECT_EQ(POLLIN | POLLOUT, ready(self->dmabuf[0], 20000));
}

/* Fences of two syncobjs that do not stand for each other: 1 if they are of one timeline. */
static int timelines(int fd, uint32_t a, uint32_t b)
{
	uint32_t handle[2] = { a, b };
	struct sync_merge_data merge = {};
	struct sync_file_info info = {};
	int file[2], i;

	for (i = 0; i < 2; i++) {
		struct drm_syncobj_handle h = {
			.handle = handle[i],
			.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
		};

		if (wse_ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &h))
			return -1;
		file[i] = h.fd;
	}
	merge.fd2 = file[1];
	if (wse_ioctl(file[0], SYNC_IOC_MERGE, &merge) ||
	    wse_ioctl(merge.fence, SYNC_IOC_FILE_INFO, &info))
		return -1;
	close(file[0]);
	close(file[1]);
	close(merge.fence);
	return info.num_fences;
}

/* jobs on the same queues share one, since they end in order; others do not */
TEST_F(resv, timelines)
{
	struct drm_wse_cmd one[2] = { stuck(1, self->bo[0], BUDGET * 1000), cmd_nop(1) };
	struct drm_wse_cmd two = stuck(2, self->bo[0], BUDGET * 1000);
	struct drm_wse_cmd both[2] = { cmd_nop(1), cmd_nop(2) };
	uint32_t a, b, c, d, e;
	int fd = self->fd[0];

	ASSERT_EQ(0, wse_submit(fd, self->ctx, one, 2, &a));
	ASSERT_EQ(0, wse_submit(fd, self->ctx, &two, 1, &b));
	ASSERT_EQ(0, wse_submit(fd, self->ctx, one + 1, 1, &c));
	ASSERT_EQ(0, wse_submit(fd, self->ctx, both, 2, &d));
	ASSERT_EQ(0, wse_submit(fd, self->ctx, both, 2, &e));
	EXPECT_EQ(1, timelines(fd, a, c));
	EXPECT_EQ(2, timelines(fd, a, b));
	EXPECT_EQ(2, timelines(fd, a, d));
	EXPECT_EQ(2, timelines(fd, b, d));
	EXPECT_EQ(1, timelines(fd, d, e));
}

/* When the fence in a binary syncobj signalled, in ns; 0: it has not. */
static uint64_t signal_time(int fd, uint32_t handle)
{
	struct drm_syncobj_handle h = {
		.handle = handle,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};
	struct sync_fence_info fence = {};
	struct sync_file_info info = { .num_fences = 1, .sync_fence_info = (uintptr_t)&fence };

	if (wse_ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &h))
		return 0;
	if (wse_ioctl(h.fd, SYNC_IOC_FILE_INFO, &info))
		fence.timestamp_ns = 0;
	close(h.fd);
	return fence.timestamp_ns;
}

/*
 * A queue goes on after a command that failed, whose fence waits for the reset. No later fence of
 * the queue may signal before that one.
 */
TEST_F(resv, fences_do_not_overtake_an_error)
{
	struct drm_wse_cmd fails = stuck(1, self->bo[0], 1000), nop = cmd_nop(1);
	uint32_t a, b, i, n = 0;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, wse_submit(self->fd[0], self->ctx, &fails, 1, &a));
		/* it may be over already */
		if (!wse_submit(self->fd[0], self->ctx, &nop, 1, &b)) {
			n++;
			EXPECT_EQ(0, syncobj_wait(self->fd[0], b, 0, SECONDS(20)));
			EXPECT_NE(0, signal_time(self->fd[0], a));
			EXPECT_LE(signal_time(self->fd[0], a), signal_time(self->fd[0], b));
		}
		EXPECT_EQ(0, syncobj_wait(self->fd[0], a, 0, SECONDS(20)));
		ASSERT_EQ(0, wse_ctx_destroy(self->fd[0], self->ctx));
		ASSERT_EQ(0, wse_ctx_create(self->fd[0], DRM_WSE_CTX_WAIT, &self->ctx));
	}
	TH_LOG("%u of 20 were in time", n);
}

TEST_HARNESS_MAIN
