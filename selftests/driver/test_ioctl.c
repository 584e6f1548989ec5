// SPDX-License-Identifier: GPL-2.0
/* Every ioctl: its answers and refusals. */
#include "wse_test.h"
#include "kselftest_harness.h"

FIXTURE(wse)
{
	int fd;
	struct drm_wse_info info;
	uint32_t ctx, bo;
};

FIXTURE_SETUP(wse)
{
	self->fd = wse_open_nth(0);
	ASSERT_LE(0, self->fd);
	self->info = wse_info(self->fd);
	ASSERT_EQ(WSE_ABI_MAJOR, self->info.abi_major);
	ASSERT_EQ(0, wse_ctx_create(self->fd, DRM_WSE_CTX_WAIT, &self->ctx));
	ASSERT_EQ(0, wse_bo_create(self->fd, 4 * PAGE, &self->bo));
}

FIXTURE_TEARDOWN(wse)
{
	close(self->fd);
}

TEST_F(wse, version)
{
	char name[8] = "";
	struct drm_version version = { .name = name, .name_len = sizeof(name) };

	ASSERT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_VERSION, &version));
	EXPECT_STREQ("wse", name);
	EXPECT_EQ(WSE_UAPI_MAJOR, version.version_major);
	EXPECT_EQ(WSE_UAPI_MINOR, version.version_minor);
}

TEST_F(wse, query_tells_the_device)
{
	const struct drm_wse_info *info = &self->info;

	EXPECT_LT(0, info->rows);
	EXPECT_LT(0, info->cols);
	EXPECT_EQ(WSE_SRAM_BYTES, info->sram_kib * 1024);
	EXPECT_EQ(WSE_NCOLORS, info->colors);
	EXPECT_LT(0, info->queues);
	EXPECT_GT(WSE_MAX_QUEUES, info->queues);
	EXPECT_LT(0, info->max_cmds);
	EXPECT_EQ(WSE_UAPI_MINOR >= 1, info->max_budget > 0);
	EXPECT_LT(0, info->fw_end);
	EXPECT_GT(WSE_SRAM_BYTES, info->fw_end);
}

TEST_F(wse, query_fills_what_fits)
{
	struct {
		struct drm_wse_info info;
		uint8_t guard[8];
	} out;
	struct drm_wse_query query = { .ptr = (uintptr_t)&out, .size = 12 };
	unsigned int i;

	memset(&out, 0xcc, sizeof(out));
	ASSERT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_WSE_QUERY, &query));
	EXPECT_EQ(sizeof(out.info), query.size);
	EXPECT_EQ(self->info.rows, out.info.rows);
	EXPECT_EQ(0xcccccccc, out.info.cols);

	query.size = sizeof(out);
	ASSERT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_WSE_QUERY, &query));
	EXPECT_EQ(sizeof(out.info), query.size);
	EXPECT_EQ(self->info.cols, out.info.cols);
	for (i = 0; i < sizeof(out.guard); i++)
		EXPECT_EQ(0xcc, out.guard[i]);
	query.ptr = 0;
	query.size = 0;
	ASSERT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_WSE_QUERY, &query));
	EXPECT_EQ(sizeof(out.info), query.size);
}

TEST_F(wse, query_bad_address)
{
	struct drm_wse_query query = { .ptr = 8, .size = sizeof(struct drm_wse_info) };

	EXPECT_EQ(-EFAULT, wse_ioctl(self->fd, DRM_IOCTL_WSE_QUERY, &query));
}

static int counters(int fd, uint32_t scope, uint32_t object, uint64_t *values, uint32_t *count)
{
	struct drm_wse_counters args = {
		.scope = scope, .object = object, .ptr = (uintptr_t)values, .count = *count
	};
	int ret = wse_ioctl(fd, DRM_IOCTL_WSE_COUNTERS, &args);

	*count = args.count;
	return ret;
}

TEST_F(wse, counters_count)
{
	struct drm_wse_cmd nops[3] = { cmd_nop(1), cmd_nop(1), cmd_nop(1) };
	uint64_t a[64], b[64], one, sum = 0;
	uint32_t n = 64, m = 64, q = 1;
	unsigned int i;

	memset(a, 0xcc, sizeof(a));
	ASSERT_EQ(0, counters(self->fd, DRM_WSE_SCOPE_TILE, 0, a, &n));
	ASSERT_EQ(WSE_CNT_COUNT, n);
	EXPECT_EQ(0xccccccccccccccccull, a[n]);
	ASSERT_EQ(0, counters(self->fd, DRM_WSE_SCOPE_QUEUE, 1, &one, &q));
	ASSERT_EQ(1, q);
	ASSERT_EQ(0, wse_run(self->fd, self->ctx, nops, 3));
	ASSERT_EQ(0, counters(self->fd, DRM_WSE_SCOPE_TILE, 0, b, &m));
	EXPECT_EQ(a[WSE_CNT_CMDS] + 3, b[WSE_CNT_CMDS]);
	EXPECT_LT(a[WSE_CNT_CYCLES], b[WSE_CNT_CYCLES]);
	EXPECT_LE(3 * 128, b[WSE_CNT_DMA_RD] - a[WSE_CNT_DMA_RD]);
	for (i = 0; i <= self->info.queues; i++) {
		uint64_t of_queue = 0;

		ASSERT_EQ(0, counters(self->fd, DRM_WSE_SCOPE_QUEUE, i, &of_queue, &q));
		sum += of_queue;
		if (i == 1)
			EXPECT_EQ(one + 3, of_queue);
	}
	EXPECT_EQ(b[WSE_CNT_CMDS], sum);
}

TEST_F(wse, counters_of_each)
{
	uint32_t cores = self->info.rows * self->info.cols, i, n;
	uint64_t before[64], tile[64], v[64], instret, link;

	/* cores go on a little after a context began */
again:
	n = 64;
	instret = 0;
	link = 0;
	ASSERT_EQ(0, counters(self->fd, DRM_WSE_SCOPE_TILE, 0, before, &n));
	for (i = 0; i < cores; i++) {
		n = 64;
		ASSERT_EQ(0, counters(self->fd, DRM_WSE_SCOPE_CORE, i, v, &n));
		ASSERT_EQ(WSE_CNT_CORE_COUNT, n);
		instret += v[1];
	}
	for (i = 0; i < 4 * cores; i++) {
		n = 1;
		ASSERT_EQ(0, counters(self->fd, DRM_WSE_SCOPE_LINK, i, v, &n));
		link += v[0];
	}
	n = 64;
	ASSERT_EQ(0, counters(self->fd, DRM_WSE_SCOPE_TILE, 0, tile, &n));
	if (before[WSE_CNT_INSTRET] != tile[WSE_CNT_INSTRET])
		goto again;
	EXPECT_EQ(tile[WSE_CNT_INSTRET], instret);
	EXPECT_EQ(tile[WSE_CNT_LINK], link);
}

TEST_F(wse, counters_fill_what_fits)
{
	uint64_t v[2] = { 0, 0xcccccccccccccccc };
	uint32_t n = 1, cores = self->info.rows * self->info.cols;

	ASSERT_EQ(0, counters(self->fd, DRM_WSE_SCOPE_TILE, 0, v, &n));
	EXPECT_EQ(WSE_CNT_COUNT, n);
	EXPECT_EQ(0xcccccccccccccccc, v[1]);
	n = 0;
	EXPECT_EQ(0, counters(self->fd, DRM_WSE_SCOPE_TILE, 0, NULL, &n));
	EXPECT_EQ(WSE_CNT_COUNT, n);
	n = 1;
	EXPECT_EQ(-EFAULT, counters(self->fd, DRM_WSE_SCOPE_TILE, 0, NULL, &n));
	n = 0xffffffff; /* as much as it likes: no more is written than there is */
	EXPECT_EQ(-EFAULT, counters(self->fd, DRM_WSE_SCOPE_TILE, 0, (void *)8, &n));
	n = 1;
	EXPECT_EQ(-EINVAL, counters(self->fd, DRM_WSE_SCOPE_TILE, 1, v, &n));
	EXPECT_EQ(-EINVAL, counters(self->fd, DRM_WSE_SCOPE_CORE, cores, v, &n));
	EXPECT_EQ(-EINVAL, counters(self->fd, DRM_WSE_SCOPE_LINK, 4 * cores, v, &n));
	EXPECT_EQ(-EINVAL, counters(self->fd, DRM_WSE_SCOPE_QUEUE, self->info.queues + 1, v, &n));
	EXPECT_EQ(-EINVAL, counters(self->fd, DRM_WSE_SCOPE_QUEUE + 1, 0, v, &n));
	EXPECT_EQ(-EINVAL, counters(self->fd, 0xffffffff, 0xffffffff, v, &n));
}

TEST_F(wse, pads_refused)
{
	struct drm_wse_query query = { .pad = 1 };
	struct drm_wse_bo_map map = { .handle = self->bo, .pad = 1 };
	struct drm_wse_ctx_destroy destroy = { .ctx = self->ctx, .pad = 1 };
	struct drm_wse_counters counters = { .pad = 1 };
	struct drm_wse_cmd nop = cmd_nop(1);
	struct drm_wse_sync sync = { .handle = syncobj_create(self->fd), .pad = 1 };

	EXPECT_EQ(-EINVAL, wse_ioctl(self->fd, DRM_IOCTL_WSE_QUERY, &query));
	EXPECT_EQ(-EINVAL, wse_ioctl(self->fd, DRM_IOCTL_WSE_BO_MAP, &map));
	EXPECT_EQ(-EINVAL, wse_ioctl(self->fd, DRM_IOCTL_WSE_CTX_DESTROY, &destroy));
	EXPECT_EQ(-EINVAL, wse_ioctl(self->fd, DRM_IOCTL_WSE_COUNTERS, &counters));
	EXPECT_EQ(-EINVAL, wse_submit_syncs(self->fd, self->ctx, &nop, 1, &sync, 1, NULL, 0));
	EXPECT_EQ(-EINVAL, wse_submit_syncs(self->fd, self->ctx, &nop, 1, NULL, 0, &sync, 1));
	nop.pad = 1;
	EXPECT_EQ(-EINVAL, wse_run(self->fd, self->ctx, &nop, 1));
}

TEST_F(wse, flags_refused)
{
	unsigned int bit;

	for (bit = 0; bit < 32; bit++) {
		struct drm_wse_bo_create create = { .size = PAGE, .flags = 1u << bit };
		struct drm_wse_cmd nop = cmd_nop(1);
		struct drm_wse_submit submit = {
			.ctx = self->ctx,
			.flags = 1u << bit,
			.cmds = { .ptr = (uintptr_t)&nop, .count = 1, .stride = sizeof(nop) },
		};
		uint32_t ctx;

		EXPECT_EQ(-EINVAL, wse_ioctl(self->fd, DRM_IOCTL_WSE_BO_CREATE, &create));
		EXPECT_EQ(-EINVAL, wse_ioctl(self->fd, DRM_IOCTL_WSE_SUBMIT, &submit));
		if (1u << bit != DRM_WSE_CTX_WAIT)
			EXPECT_EQ(-EINVAL, wse_ctx_create(self->fd, 1u << bit, &ctx));
		nop.flags = 1u << bit;
		EXPECT_EQ(-EINVAL, wse_run(self->fd, self->ctx, &nop, 1));
	}
}

TEST_F(wse, handles_refused)
{
	struct drm_wse_bo_map map = { .handle = 0xdead };
	struct drm_wse_cmd copy = cmd_copy(WSE_OP_COPY_IN, 0xdead, 0, 0, 0, 0x1000, 8);
	struct drm_wse_cmd nop = cmd_nop(1);
	struct drm_wse_sync sync = { .handle = 0xdead };
	struct drm_wse_fault fault;

	EXPECT_EQ(-ENOENT, wse_ioctl(self->fd, DRM_IOCTL_WSE_BO_MAP, &map));
	EXPECT_EQ(-ENOENT, wse_run(self->fd, self->ctx, &copy, 1));
	EXPECT_EQ(-ENOENT, wse_run(self->fd, self->ctx + 1, &nop, 1));
	EXPECT_EQ(-ENOENT, wse_run(self->fd, 0, &nop, 1));
	EXPECT_EQ(-ENOENT, wse_submit_syncs(self->fd, self->ctx, &nop, 1, &sync, 1, NULL, 0));
	EXPECT_EQ(-ENOENT, wse_submit_syncs(self->fd, self->ctx, &nop, 1, NULL, 0, &sync, 1));
	EXPECT_EQ(-ENOENT, wse_ctx_destroy(self->fd, self->ctx + 1));
	EXPECT_EQ(-ENOENT, wse_fault(self->fd, self->ctx + 1, &fault));
	EXPECT_EQ(0, wse_run(self->fd, self->ctx, &nop, 1));
}

TEST_F(wse, mask_handle_refused)
{
	struct drm_wse_cmd stream = {
		.op = WSE_OP_STREAM_OUT,
		.queue = 1,
		.flags = DRM_WSE_CMD_MASKED,
		.bo = self->bo,
		.mask_bo = 0xdead,
		.budget = BUDGET,
		.cols = 1,
		.nline = 1,
		.kcol = 1,
		.nfeat = 1,
	};

	EXPECT_EQ(-ENOENT, wse_run(self->fd, self->ctx, &stream, 1));
}

TEST_F(wse, bo_sizes)
{
	static const uint64_t bad[] = { 0 }, big[] = { 1ull << 40, ~0ull, 1ull << 63, -4096ull };
	uint32_t handle;
	unsigned int i;

	EXPECT_EQ(-EINVAL, wse_bo_create(self->fd, bad[0], &handle));
	for (i = 0; i < ARRAY_SIZE(big); i++)
		EXPECT_EQ(-ENOMEM, wse_bo_create(self->fd, big[i], &handle));
	ASSERT_EQ(0, wse_bo_create(self->fd, 1, &handle));
	EXPECT_EQ(0, wse_gem_close(self->fd, handle));
	ASSERT_EQ(0, wse_bo_create(self->fd, 32 << 20, &handle));
	EXPECT_EQ(0, wse_gem_close(self->fd, handle));
}

TEST_F(wse, bo_map_is_zero_and_shared)
{
	uint32_t *a = wse_bo_map(self->fd, self->bo, 4 * PAGE),
		 *b = wse_bo_map(self->fd, self->bo, 4 * PAGE);
	unsigned int i;

	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	for (i = 0; i < PAGE; i++)
		ASSERT_EQ(0, a[i]);
	a[PAGE - 1] = 0x12345678;
	EXPECT_EQ(0x12345678, b[PAGE - 1]);
}

TEST_F(wse, bo_map_beyond_end)
{
	struct drm_wse_bo_map map = { .handle = self->bo };

	ASSERT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_WSE_BO_MAP, &map));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 8 * PAGE, PROT_READ, MAP_SHARED, self->fd, map.offset));
}

TEST_F(wse, bo_map_private_refused)
{
	struct drm_wse_bo_map map = { .handle = self->bo };

	ASSERT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_WSE_BO_MAP, &map));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, self->fd, map.offset));
	EXPECT_EQ(EINVAL, errno);
}

/* an offset is no right: it goes with the handle */
TEST_F(wse, bo_map_by_another_file_refused)
{
	struct drm_wse_bo_map map = { .handle = self->bo };
	int other = wse_open_nth(0);

	ASSERT_LE(0, other);
	ASSERT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_WSE_BO_MAP, &map));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, other, map.offset));
	EXPECT_EQ(EACCES, errno);
	close(other);
}

TEST_F(wse, foreign_buffer_refused)
{
	int other = wse_open_nth(0);
	struct drm_wse_cmd copy;
	uint32_t handle;

	ASSERT_LE(0, other);
	/* a handle that only the other file has */
	do {
		ASSERT_EQ(0, wse_bo_create(other, PAGE, &handle));
	} while (handle <= self->bo);
	copy = cmd_copy(WSE_OP_COPY_OUT, handle, 0, 0, 0, 0x1000, 8);
	EXPECT_EQ(-ENOENT, wse_run(self->fd, self->ctx, &copy, 1));
	close(other);
}

TEST_F(wse, foreign_context_refused)
{
	int other = wse_open_nth(0);
	struct drm_wse_cmd nop = cmd_nop(1);

	ASSERT_LE(0, other);
	EXPECT_EQ(-ENOENT, wse_run(other, self->ctx, &nop, 1));
	EXPECT_EQ(-ENOENT, wse_ctx_destroy(other, self->ctx));
	close(other);
}

/* a fence that never signals could be exported to any process */
TEST_F(wse, endless_budget_refused)
{
	struct drm_wse_cmd copy = cmd_copy(WSE_OP_COPY_OUT, self->bo, 0, 0, 0, 0x1000, 8);

	copy.budget = ~0ull;
	EXPECT_EQ(-EINVAL, wse_run(self->fd, self->ctx, &copy, 1));
	copy.budget = self->info.max_budget + 1;
	EXPECT_EQ(-EINVAL, wse_run(self->fd, self->ctx, &copy, 1));
	copy.budget = self->info.max_budget;
	EXPECT_EQ(0, wse_run(self->fd, self->ctx, &copy, 1));
}

/* one of each check; all of them are in cmd_test */
TEST_F(wse, extents_refused)
{
	struct drm_wse_cmd copy = cmd_copy(WSE_OP_COPY_OUT, self->bo, 4 * PAGE - 8, 0, 0, 0x1000,
					   8),
			   c;

	EXPECT_EQ(0, wse_run(self->fd, self->ctx, &copy, 1));
	c = copy;
	c.len = 16;
	EXPECT_EQ(-ERANGE, wse_run(self->fd, self->ctx, &c, 1));
	c = copy;
	c.off = -8ull;
	EXPECT_EQ(-ERANGE, wse_run(self->fd, self->ctx, &c, 1));
	c = copy;
	c.nline = 0xffffffff;
	c.lstride = 0xfffffff8;
	EXPECT_EQ(-ERANGE, wse_run(self->fd, self->ctx, &c, 1));
	c = copy;
	c.row0 = self->info.rows;
	EXPECT_EQ(-ERANGE, wse_run(self->fd, self->ctx, &c, 1));
	c = copy;
	c.sram = WSE_SRAM_BYTES;
	EXPECT_EQ(-ERANGE, wse_run(self->fd, self->ctx, &c, 1));
	c = copy;
	c.queue = self->info.queues + 1;
	EXPECT_EQ(-EINVAL, wse_run(self->fd, self->ctx, &c, 1));
	c = copy;
	c.op = WSE_OP_CTX_RESET;
	EXPECT_EQ(-EINVAL, wse_run(self->fd, self->ctx, &c, 1));
}

TEST_F(wse, submit_is_all_or_nothing)
{
	struct drm_wse_cmd cmds[2] = { cmd_nop(1), cmd_nop(0) };
	uint32_t sync;

	EXPECT_EQ(-EINVAL, wse_submit(self->fd, self->ctx, cmds, 2, &sync));
	/* nothing was put into it: there is no fence to wait for */
	EXPECT_EQ(-EINVAL, syncobj_wait(self->fd, sync, 0, 0));
}

TEST_F(wse, submit_counts)
{
	struct drm_wse_cmd *cmds = calloc(self->info.max_cmds + 1, sizeof(*cmds));
	uint32_t i;

	ASSERT_NE(NULL, cmds);
	for (i = 0; i <= self->info.max_cmds; i++)
		cmds[i] = cmd_nop(1);
	EXPECT_EQ(-EINVAL, wse_run(self->fd, self->ctx, cmds, 0));
	EXPECT_EQ(-EINVAL, wse_run(self->fd, self->ctx, cmds, self->info.max_cmds + 1));
	EXPECT_EQ(-EINVAL, wse_run(self->fd, self->ctx, cmds, 0xffffffff));
	EXPECT_EQ(0, wse_run(self->fd, self->ctx, cmds, self->info.max_cmds));
	free(cmds);
}

TEST_F(wse, submit_strides)
{
	struct {
		struct drm_wse_cmd cmd;
		uint64_t more;
	} cmds[2] = {
		{ cmd_nop(1), 0 },
		{ cmd_nop(1), 0 },
	};
	struct drm_wse_submit submit = {
		.ctx = self->ctx,
		.cmds = { .ptr = (uintptr_t)cmds, .count = 2, .stride = sizeof(cmds[0]) },
	};

	/* of a newer user space that does not use the new members */
	EXPECT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_WSE_SUBMIT, &submit));
	cmds[1].more = 1;
	EXPECT_EQ(-E2BIG, wse_ioctl(self->fd, DRM_IOCTL_WSE_SUBMIT, &submit));
	submit.cmds.stride = sizeof(struct drm_wse_cmd) - 8;
	EXPECT_EQ(-EINVAL, wse_ioctl(self->fd, DRM_IOCTL_WSE_SUBMIT, &submit));
	submit.cmds.stride = sizeof(struct drm_wse_cmd) + 4;
	EXPECT_EQ(-EINVAL, wse_ioctl(self->fd, DRM_IOCTL_WSE_SUBMIT, &submit));
	submit.cmds.stride = 0;
	EXPECT_EQ(-EINVAL, wse_ioctl(self->fd, DRM_IOCTL_WSE_SUBMIT, &submit));
	submit.cmds.stride = 0xfffffff8;
	EXPECT_EQ(-EINVAL, wse_ioctl(self->fd, DRM_IOCTL_WSE_SUBMIT, &submit));
}

TEST_F(wse, submit_bad_addresses)
{
	struct drm_wse_cmd nop = cmd_nop(1);
	struct drm_wse_submit submit = {
		.ctx = self->ctx,
		.cmds = { .ptr = 8, .count = 1, .stride = sizeof(nop) },
	};

	EXPECT_EQ(-EFAULT, wse_ioctl(self->fd, DRM_IOCTL_WSE_SUBMIT, &submit));
	submit.cmds.ptr = (uintptr_t)&nop;
	submit.out_syncs.ptr = 8;
	EXPECT_EQ(0, wse_ioctl(self->fd, DRM_IOCTL_WSE_SUBMIT, &submit));
	submit.out_syncs.count = 1;
	submit.out_syncs.stride = sizeof(struct drm_wse_sync);
	EXPECT_EQ(-EFAULT, wse_ioctl(self->fd, DRM_IOCTL_WSE_SUBMIT, &submit));
	submit.out_syncs.count = 0xffffffff;
	EXPECT_EQ(-EINVAL, wse_ioctl(self->fd, DRM_IOCTL_WSE_SUBMIT, &submit));
}

TEST_F(wse, fence_refused)
{
	struct drm_wse_cmd cmds[2] = { cmd_nop(1), cmd_fence(2, 1) };

	EXPECT_EQ(0, wse_run(self->fd, self->ctx, cmds, 2));
	cmds[1] = cmd_fence(2, 2);
	EXPECT_EQ(-EINVAL, wse_run(self->fd, self->ctx, cmds, 2));
	cmds[1] = cmd_fence(2, self->info.queues + 1);
	EXPECT_EQ(-EINVAL, wse_run(self->fd, self->ctx, cmds, 2));
	cmds[1] = cmd_fence_cmd(2, 1);
	EXPECT_EQ(-EINVAL, wse_run(self->fd, self->ctx, cmds, 2));
	cmds[1] = cmd_fence_cmd(1, 0);
	EXPECT_EQ(-EINVAL, wse_run(self->fd, self->ctx, cmds, 2));
}

TEST_F(wse, unknown_ioctl)
{
	char arg[64] = "";

	EXPECT_EQ(-EINVAL, wse_ioctl(self->fd, DRM_IOWR(DRM_COMMAND_BASE + 0x3f, arg), arg));
}

/* a thousand refusals or failures write no log */
TEST_F(wse, refusals_leave_no_message)
{
	unsigned int before = wse_messages(), i;
	struct drm_wse_cmd cmd = cmd_nop(1);
	struct drm_prime_handle in = { .fd = -1 };
	uint32_t ctx;

	ASSERT_NE(0, before); /* what probe says */
	for (i = 0; i < 1000; i++) {
		EXPECT_EQ(-EBUSY, wse_ctx_create(self->fd, 0, &ctx));
		EXPECT_GT(0, wse_bo_create(self->fd, ~0ull - i, &ctx));
		EXPECT_GT(0, wse_ioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &in));
		cmd.op = i + 7;
		EXPECT_GT(0, wse_run(self->fd, self->ctx, &cmd, 1));
		EXPECT_GT(0, wse_run(self->fd, i, &cmd, 1));
	}
	EXPECT_EQ(before, wse_messages());
}

/* of the core, which would follow a NULL pointer of an accel node's file */
TEST_F(wse, core_ioctls_without_master)
{
	char buf[256] = "";
	struct drm_unique unique = { .unique = buf, .unique_len = sizeof(buf) };
	struct drm_auth auth = {};

	EXPECT_EQ(-EINVAL, wse_ioctl(self->fd, DRM_IOCTL_GET_UNIQUE, &unique));
	EXPECT_EQ(-EINVAL, wse_ioctl(self->fd, DRM_IOCTL_GET_MAGIC, &auth));
	/* the core looks at nothing but the number */
	EXPECT_EQ(-EINVAL, wse_ioctl(self->fd, _IO('w', 0x01), buf));
	EXPECT_EQ(-EINVAL, wse_ioctl(self->fd, _IOWR('d', 0x02, struct drm_wse_cmd), buf));
	EXPECT_EQ(-EACCES, wse_ioctl(self->fd, DRM_IOCTL_AUTH_MAGIC, &auth));
	EXPECT_GT(0, wse_ioctl(self->fd, DRM_IOCTL_SET_MASTER, NULL));
	EXPECT_GT(0, wse_ioctl(self->fd, DRM_IOCTL_DROP_MASTER, NULL));
}

/*
 * the core warns here, from the page allocator: the harness knows that this warning is not the
 * driver's
 */
TEST_F(wse, core_syncobj_count)
{
	uint32_t handle = syncobj_create(self->fd);
	struct drm_syncobj_array array = { .handles = (uintptr_t)&handle,
					   .count_handles = 0xffffffff };

	EXPECT_EQ(-ENOMEM, wse_ioctl(self->fd, DRM_IOCTL_SYNCOBJ_RESET, &array));
}

TEST_F(wse, no_fault_without_fault)
{
	struct drm_wse_fault fault;

	EXPECT_EQ(-ENODATA, wse_fault(self->fd, self->ctx, &fault));
}

/* use by the file, in this context and in earlier ones */
TEST_F(wse, fdinfo_counts)
{
	struct drm_wse_cmd copy = cmd_copy(WSE_OP_COPY_IN, self->bo, 0, 0, 0, 0x1000, 1024);
	long long busy, cycles, total = wse_usage(self->fd, "drm-total-cycles-queue");
	int other = wse_open_nth(0);

	EXPECT_EQ(0, wse_usage(self->fd, "drm-cycles-queue"));
	EXPECT_EQ(0, wse_usage(self->fd, "wse-commands"));
	EXPECT_LT(0, total);
	ASSERT_EQ(0, wse_run(self->fd, self->ctx, &copy, 1));
	cycles = wse_usage(self->fd, "drm-cycles-queue");
	EXPECT_LT(0, cycles);
	EXPECT_GE(wse_usage(self->fd, "drm-total-cycles-queue"), total + cycles);
	EXPECT_EQ(1, wse_usage(self->fd, "wse-commands"));
	busy = wse_usage(self->fd, "drm-engine-queue");
	EXPECT_LT(0, busy);
	EXPECT_EQ(self->info.queues, wse_usage(self->fd, "drm-engine-capacity-queue"));
	EXPECT_EQ(4 * PAGE / 1024, wse_usage(self->fd, "drm-total-memory"));
	EXPECT_EQ(4 * PAGE / 1024, wse_usage(self->fd, "drm-resident-memory"));

	ASSERT_EQ(0, wse_ctx_destroy(self->fd, self->ctx));
	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &self->ctx));
	EXPECT_EQ(cycles, wse_usage(self->fd, "drm-cycles-queue"));
	EXPECT_EQ(busy, wse_usage(self->fd, "drm-engine-queue"));
	ASSERT_EQ(0, wse_run(self->fd, self->ctx, &copy, 1));
	EXPECT_LT(cycles, wse_usage(self->fd, "drm-cycles-queue"));
	EXPECT_EQ(2, wse_usage(self->fd, "wse-commands"));
	/* and nothing of it is another's */
	ASSERT_LE(0, other);
	EXPECT_EQ(0, wse_usage(other, "wse-commands"));
	EXPECT_EQ(0, wse_usage(other, "drm-cycles-queue"));
	EXPECT_EQ(0, wse_usage(other, "drm-engine-queue"));
	close(other);
}

/* the data by which wse-info names the owner of the device */
TEST_F(wse, fdinfo_tells_the_lease)
{
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", self->fd);
	wse_slurp(path, text, sizeof(text));
	EXPECT_NE(NULL, strstr(text, "\nwse-lease:\theld\n"));
	ASSERT_EQ(0, wse_ctx_destroy(self->fd, self->ctx));
	wse_slurp(path, text, sizeof(text));
	EXPECT_NE(NULL, strstr(text, "\nwse-lease:\tnone\n"));
}

TEST_HARNESS_MAIN
