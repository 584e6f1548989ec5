// SPDX-License-Identifier: GPL-2.0
/*
 * Programs on the cores, good and bad: the fence's errno, the fault record, and that the device
 * works afterwards. Needs a device with cores (func, rtl) and the firmware.
 */
#include <signal.h>
#include <sys/wait.h>

#include "wse_test.h"
#include "kselftest_harness.h"

/* Instructions. a0 is the address of the arguments when the firmware calls a task. */
#define DONE	     0x0000700bu /* done zero */
#define DONE_A0	     0x0005700bu /* done a0 */
#define RET	     0x00008067u
#define SPIN	     0x0000006fu /* j . */
#define ILLEGAL	     0x00000000u
#define LI_A0_7	     0x00700513u
#define LW_A1_ARG0   0x00052583u /* lw a1, 0(a0) */
#define AUIPC_A2     0x00000617u /* auipc a2, 0 */
#define SW_A1_64_A2  0x04b62023u /* sw a1, 64(a2) */
#define LW_A1_NULL   0x00002583u /* lw a1, 0(zero) */
#define RECV_A1_ZERO 0x0000658bu /* recv a1, color zero */

#define CODE 0x4000u /* SRAM offset of programs */

FIXTURE(core)
{
	int fd;
	struct drm_wse_info info;
	uint32_t ctx, bo;
	uint32_t *p;
};

FIXTURE_SETUP(core)
{
	self->fd = wse_open_nth(0);
	ASSERT_LE(0, self->fd);
	self->info = wse_info(self->fd);
	ASSERT_EQ(0, wse_ctx_create(self->fd, DRM_WSE_CTX_WAIT, &self->ctx));
	ASSERT_EQ(0, wse_bo_create(self->fd, 16 * PAGE, &self->bo));
	self->p = wse_bo_map(self->fd, self->bo, 16 * PAGE);
	ASSERT_NE(NULL, self->p);
}

FIXTURE_TEARDOWN(core)
{
	close(self->fd);
}

/* Puts six words on every core and starts them there; the errno of the fence. */
static int run(FIXTURE_DATA(core) * self, const uint32_t code[6], uint32_t flags, uint64_t budget)
{
	struct drm_wse_cmd cmds[2] = {
		cmd_copy(WSE_OP_COPY_IN, self->bo, 0, 0, 0, CODE, 24),
		cmd_start(&self->info, CODE, budget),
	};

	memcpy(self->p, code, 24);
	cmds[0].flags = DRM_WSE_CMD_BROADCAST;
	cmds[0].rows = self->info.rows;
	cmds[0].cols = self->info.cols;
	cmds[1].flags = flags;
	cmds[1].arg[0] = 0x12345678;
	return wse_run(self->fd, self->ctx, cmds, 2);
}

/* What core 0,0 has where programs lie, by a submit that a lost context takes, too; its errno. */
static int look(FIXTURE_DATA(core) * self, uint32_t op)
{
	struct drm_wse_cmd cmd = cmd_copy(op, self->bo, 2 * PAGE, 0, 0, CODE, 24);
	struct drm_wse_sync out = { .handle = syncobj_create(self->fd) };
	struct drm_wse_submit submit = {
		.ctx = self->ctx,
		.flags = DRM_WSE_SUBMIT_LOST,
		.cmds = { .ptr = (uintptr_t)&cmd, .count = 1, .stride = sizeof(cmd) },
		.out_syncs = { .ptr = (uintptr_t)&out, .count = 1, .stride = sizeof(out) },
	};
	struct drm_syncobj_destroy destroy = { .handle = out.handle };
	int ret;

	memset(self->p + 2 * PAGE / 4, 0xff, 24);
	ret = wse_ioctl(self->fd, DRM_IOCTL_WSE_SUBMIT, &submit);
	if (!ret)
		ret = syncobj_wait(self->fd, out.handle, 0, SECONDS(25));
	if (!ret)
		ret = syncobj_status(self->fd, out.handle);
	wse_ioctl(self->fd, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy);
	return ret;
}

/* A lost context shows the program of its cores, which stand, and runs nothing. */
static void looks_after(struct __test_metadata *_metadata, FIXTURE_DATA(core) * self)
{
	EXPECT_EQ(-EINVAL, look(self, WSE_OP_COPY_IN));
	EXPECT_EQ(0, look(self, WSE_OP_COPY_OUT));
	EXPECT_EQ(0, memcmp(self->p, self->p + 2 * PAGE / 4, 24));
	EXPECT_EQ(0, look(self, WSE_OP_COPY_OUT));
}

/*
 * A context that was lost is refused; the next one works on the same device, without a reset of it.
 */
static void usable_after(struct __test_metadata *_metadata, FIXTURE_DATA(core) * self)
{
	static const uint32_t good[6] = { DONE, RET }, clean[6];
	struct drm_wse_cmd nop = cmd_nop(1);

	EXPECT_EQ(-EIO, wse_run(self->fd, self->ctx, &nop, 1));
	looks_after(_metadata, self);
	EXPECT_EQ(0, wse_ctx_destroy(self->fd, self->ctx));
	ASSERT_EQ(0, wse_ctx_create(self->fd, 0, &self->ctx));
	EXPECT_EQ(0, look(self, WSE_OP_COPY_OUT));
	EXPECT_EQ(0, memcmp(clean, self->p + 2 * PAGE / 4, 24));
	EXPECT_EQ(0, run(self, good, DRM_WSE_CMD_CLOSED, BUDGET));
	EXPECT_EQ(self->info.resets, wse_info(self->fd).resets);
}

TEST_F(core, arguments_arrive)
{
	static const uint32_t code[6] = { LW_A1_ARG0, AUIPC_A2, SW_A1_64_A2, DONE, RET };
	uint32_t cores = self->info.rows * self->info.cols, i;
	/* it stores 64 bytes behind the auipc, which is the second instruction */
	struct drm_wse_cmd out = cmd_copy(WSE_OP_COPY_OUT, self->bo, PAGE, 0, 0, CODE + 64, 8);

	ASSERT_EQ(0, run(self, code, DRM_WSE_CMD_CLOSED, BUDGET));
	out.rows = self->info.rows;
	out.cols = self->info.cols;
	out.cstride = 8;
	out.rstride = 8 * self->info.cols;
	ASSERT_EQ(0, wse_run(self->fd, self->ctx, &out, 1));
	for (i = 0; i < cores; i++)
		EXPECT_EQ(0x12345678, self->p[PAGE / 4 + 2 * i + 1]);
}

TEST_F(core, boot_flag_runs_from_entry)
{
	static const uint32_t code[6] = { DONE, SPIN };

	EXPECT_EQ(0, run(self, code, DRM_WSE_CMD_BOOT, BUDGET));
}

TEST_F(core, start_again_and_again)
{
	static const uint32_t code[6] = { DONE, RET };
	int i;

	for (i = 0; i < 50; i++)
		ASSERT_EQ(0, run(self, code, DRM_WSE_CMD_CLOSED, BUDGET));
}

TEST_F(core, illegal_instruction)
{
	static const uint32_t code[6] = { ILLEGAL };
	struct drm_wse_fault fault;

	EXPECT_EQ(-EFAULT, run(self, code, DRM_WSE_CMD_CLOSED, BUDGET));
	ASSERT_EQ(0, wse_fault(self->fd, self->ctx, &fault));
	EXPECT_EQ(self->ctx, fault.ctx);
	EXPECT_EQ(WSE_OP_START, fault.cmd_op);
	EXPECT_EQ(WSE_ST_CORE_FAULT, fault.status);
	EXPECT_EQ(WSE_CAUSE_ILLEGAL, fault.cause);
	EXPECT_EQ(WSE_SRAM_BASE + CODE, fault.pc);
	EXPECT_EQ(ILLEGAL, fault.addr);
	EXPECT_EQ(0, fault.row);
	EXPECT_EQ(0, fault.col);
	EXPECT_EQ(1, fault.queue);
	usable_after(_metadata, self);
}

/* a fence that carries an errno has signalled: what waits for it runs */
TEST_F(core, in_sync_with_an_error)
{
	struct drm_wse_sync in = {}, out = { .handle = syncobj_create(self->fd) };
	/* the firmware is the only program there: zeros */
	struct drm_wse_cmd cmd = cmd_start(&self->info, 0x4000, BUDGET);

	cmd.flags = DRM_WSE_CMD_CLOSED;
	ASSERT_EQ(0, wse_submit(self->fd, self->ctx, &cmd, 1, &in.handle));
	ASSERT_EQ(0, syncobj_wait(self->fd, in.handle, 0, SECONDS(20)));
	ASSERT_EQ(-EFAULT, syncobj_status(self->fd, in.handle));
	usable_after(_metadata, self);
	cmd = cmd_nop(1);
	ASSERT_EQ(0, wse_submit_syncs(self->fd, self->ctx, &cmd, 1, &in, 1, &out, 1));
	EXPECT_EQ(0, syncobj_wait(self->fd, out.handle, 0, SECONDS(20)));
	EXPECT_EQ(0, syncobj_status(self->fd, out.handle));
}

TEST_F(core, load_from_null)
{
	static const uint32_t code[6] = { LW_A1_NULL };
	struct drm_wse_fault fault;

	EXPECT_EQ(-EFAULT, run(self, code, DRM_WSE_CMD_CLOSED, BUDGET));
	ASSERT_EQ(0, wse_fault(self->fd, self->ctx, &fault));
	EXPECT_EQ(WSE_CAUSE_LOAD_ACCESS, fault.cause);
	EXPECT_EQ(0, fault.addr);
	usable_after(_metadata, self);
}

TEST_F(core, never_ends)
{
	static const uint32_t code[6] = { SPIN };
	struct drm_wse_fault fault;

	EXPECT_EQ(-ETIME, run(self, code, DRM_WSE_CMD_CLOSED, 20000));
	ASSERT_EQ(0, wse_fault(self->fd, self->ctx, &fault));
	EXPECT_EQ(WSE_ST_TIMEOUT, fault.status);
	usable_after(_metadata, self);
}

/* the task returns without DONE, and nothing happens after that */
TEST_F(core, deadlock_closed)
{
	static const uint32_t code[6] = { RET };
	struct drm_wse_fault fault;

	EXPECT_EQ(-EDEADLK, run(self, code, DRM_WSE_CMD_CLOSED, 1ull << 40));
	ASSERT_EQ(0, wse_fault(self->fd, self->ctx, &fault));
	EXPECT_EQ(WSE_ST_DEADLOCK, fault.status);
	EXPECT_EQ(WSE_CAUSE_WAIT_TASK, fault.cause);
	usable_after(_metadata, self);
}

/* without CLOSED a command might still come, until the budget is used up */
TEST_F(core, deadlock_open)
{
	static const uint32_t code[6] = { RECV_A1_ZERO, DONE, RET };
	struct drm_wse_fault fault;

	EXPECT_EQ(-EDEADLK, run(self, code, 0, 20000));
	ASSERT_EQ(0, wse_fault(self->fd, self->ctx, &fault));
	EXPECT_EQ(WSE_CAUSE_WAIT_RECV, fault.cause);
	EXPECT_EQ(0, fault.color);
	usable_after(_metadata, self);
}

TEST_F(core, done_with_a_value)
{
	static const uint32_t code[6] = { LI_A0_7, DONE_A0, RET };
	struct drm_wse_fault fault;

	EXPECT_EQ(-EREMOTEIO, run(self, code, DRM_WSE_CMD_CLOSED, BUDGET));
	ASSERT_EQ(0, wse_fault(self->fd, self->ctx, &fault));
	EXPECT_EQ(WSE_ST_KERNEL_ERROR, fault.status);
	EXPECT_EQ(7, fault.value);
	usable_after(_metadata, self);
}

/* a stream whose wavelets no core takes, while commands of another queue proceed */
TEST_F(core, stream_nobody_takes)
{
	struct drm_wse_cmd stream = {
		.op = WSE_OP_STREAM_IN,
		.queue = 1,
		.bo = self->bo,
		.budget = 20000,
		.cols = 1,
		.nline = 1,
		.kcol = 64,
		.nfeat = 1,
		.etype = WSE_ETYPE_RAW32,
	};
	struct drm_wse_cmd nop = cmd_nop(2);
	struct drm_wse_fault fault;
	uint32_t sync;

	ASSERT_EQ(0, wse_submit(self->fd, self->ctx, &stream, 1, &sync));
	wse_run(self->fd, self->ctx, &nop, 1);
	ASSERT_EQ(0, syncobj_wait(self->fd, sync, 0, SECONDS(20)));
	EXPECT_EQ(-EDEADLK, syncobj_status(self->fd, sync));
	ASSERT_EQ(0, wse_fault(self->fd, self->ctx, &fault));
	EXPECT_EQ(WSE_OP_STREAM_IN, fault.cmd_op);
	EXPECT_EQ(WSE_CAUSE_WAIT_PORT, fault.cause);
	usable_after(_metadata, self);
}

/* a program that is busy for a while, and a submit that may not begin before it is done */
TEST_F(core, in_sync_holds_back)
{
	/* li a1, 0x200000 (lui); addi a1, a1, -1; bnez a1, -4; done; ret */
	static const uint32_t code[6] = { 0x002005b7, 0xfff58593, 0xfe059ee3, DONE, RET };
	struct drm_wse_cmd cmds[2] = {
		cmd_copy(WSE_OP_COPY_IN, self->bo, 0, 0, 0, CODE, 24),
		cmd_start(&self->info, CODE, BUDGET),
	};
	struct drm_wse_cmd nop = cmd_nop(2);
	struct drm_wse_sync in = {}, out = { .handle = syncobj_create(self->fd) };
	uint32_t behind;

	memcpy(self->p, code, 24);
	cmds[1].rows = 1;
	cmds[1].cols = 1;
	ASSERT_EQ(0, wse_submit(self->fd, self->ctx, cmds, 2, &in.handle));
	ASSERT_EQ(0, wse_submit_syncs(self->fd, self->ctx, &nop, 1, &in, 1, &out, 1));
	ASSERT_EQ(0, wse_submit(self->fd, self->ctx, &nop, 1, &behind));
	/* in this order, since both may end between two looks */
	if (!syncobj_status(self->fd, out.handle))
		EXPECT_EQ(0, syncobj_status(self->fd, in.handle));
	ASSERT_EQ(0, syncobj_wait(self->fd, out.handle, 0, SECONDS(25)));
	EXPECT_EQ(0, syncobj_status(self->fd, in.handle));
	EXPECT_EQ(0, syncobj_status(self->fd, out.handle));
	/* submits begin in the order in which they came */
	EXPECT_EQ(0, syncobj_wait(self->fd, behind, 0, SECONDS(25)));
}

/* only the first error is reported, the rest is swallowed with the context */
TEST_F(core, commands_behind_a_fault)
{
	static const uint32_t code[6] = { ILLEGAL };
	struct drm_wse_cmd cmds[4] = {
		cmd_copy(WSE_OP_COPY_IN, self->bo, 0, 0, 0, CODE, 24),
		cmd_start(&self->info, CODE, BUDGET),
		cmd_fence_cmd(2, 1),
		cmd_nop(2),
	};
	struct drm_wse_fault fault;

	memcpy(self->p, code, 24);
	cmds[1].rows = 1;
	cmds[1].cols = 1;
	EXPECT_EQ(-EFAULT, wse_run(self->fd, self->ctx, cmds, 4));
	ASSERT_EQ(0, wse_fault(self->fd, self->ctx, &fault));
	EXPECT_EQ(WSE_CAUSE_ILLEGAL, fault.cause);
	usable_after(_metadata, self);
}

/* the owner of a program that runs is killed: the next one gets the device at once */
TEST_F(core, killed_while_running)
{
	struct drm_wse_cmd cmds[2] = {
		cmd_copy(WSE_OP_COPY_IN, 0, 0, 0, 0, CODE, 8),
		cmd_start(&self->info, CODE, self->info.max_budget),
	};
	uint32_t bo, sync, ctx;
	int fd, status;
	pid_t pid;

	cmds[1].rows = 1;
	cmds[1].cols = 1;
	ASSERT_EQ(0, wse_ctx_destroy(self->fd, self->ctx));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		fd = wse_open_nth(0);
		wse_bo_create(fd, PAGE, &bo);
		*(uint32_t *)wse_bo_map(fd, bo, PAGE) = SPIN;
		cmds[0].bo = bo;
		if (wse_ctx_create(fd, 0, &ctx) || wse_submit(fd, ctx, cmds, 2, &sync))
			_exit(1);
		syncobj_wait(fd, sync, 0, SECONDS(25));
		_exit(2);
	}
	usleep(1000000);
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	ASSERT_EQ(0, wse_ctx_create(self->fd, DRM_WSE_CTX_WAIT, &self->ctx));
	cmds[0] = cmd_nop(1);
	EXPECT_EQ(0, wse_run(self->fd, self->ctx, cmds, 1));
}

TEST_HARNESS_MAIN
