// SPDX-License-Identifier: MIT
/* The queue layer of in-process devices against a device that misbehaves on demand. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <wse/wse.h>
#include "mock-model.h"
#include "tap.h"
#include "wse_regs.h"

#define URI	      "sim:func,rows=2,cols=3"
#define MS	      1000000ll
#define OK(cond, ...) ok(cond, __VA_ARGS__)

static struct wse_device *open_dev(const char *uri)
{
	struct wse_device *dev;
	int ret = wse_device_open(uri, &dev);

	if (ret) {
		printf("Bail out! %s: %s\n", uri, wse_error());
		exit(1);
	}
	return dev;
}

static struct wse_context *open_ctx(struct wse_device *dev)
{
	struct wse_context *ctx;

	if (wse_context_create(dev, 0, &ctx)) {
		printf("Bail out! context: %s\n", wse_error());
		exit(1);
	}
	return ctx;
}

static struct drm_wse_cmd mock_start(uint32_t queue, uint32_t what, uint32_t row, uint32_t col,
				     uint32_t cause, uint32_t color)
{
	return wse_cmd_start((struct wse_start){.queue = queue,
						.rows = 2,
						.cols = 3,
						.entry = 0x80000100,
						.budget = 1000,
						.arg = {what, row, col, cause, color}});
}

/* A context works: a pattern makes the round trip. */
static int works(struct wse_device *dev, struct wse_context *ctx)
{
	struct drm_wse_cmd cmds[2];
	struct wse_buffer *buf;
	unsigned char *p;
	int i, ret;

	if (wse_buffer_create(dev, 4096, &buf))
		return 0;
	p = wse_buffer_map(buf);
	for (i = 0; i < 1024; i++)
		p[i] = (unsigned char)(i * 7 + 1);
	cmds[0] = wse_cmd_copy_in((struct wse_copy){.buf = buf,
						    .rows = 2,
						    .cols = 3,
						    .sram = 0x4000,
						    .len = 64,
						    .cstride = 64,
						    .rstride = 192});
	cmds[1] = wse_cmd_copy_out((struct wse_copy){.buf = buf,
						     .off = 2048,
						     .rows = 2,
						     .cols = 3,
						     .sram = 0x4000,
						     .len = 64,
						     .cstride = 64,
						     .rstride = 192});
	ret = wse_submit_wait(ctx, cmds, 2, 5000 * MS);
	ret = !ret && !memcmp(p, p + 2048, 384);
	wse_buffer_destroy(buf);
	return ret;
}

static int says(const char *words)
{
	if (strstr(wse_error(), words))
		return 1;
	printf("# it says \"%s\", not \"%s\"\n", wse_error(), words);
	return 0;
}

static void test_rings(void)
{
	struct wse_device *dev = open_dev(URI ",pages=12");
	struct wse_context *ctx = open_ctx(dev);
	struct drm_wse_cmd cmds[15];
	struct wse_fence *fence[100];
	int i, good = 0;

	for (i = 0; i < 15; i++)
		cmds[i] = wse_cmd_nop(1 + (uint32_t)i % 3);
	for (i = 0; i < 100; i++)
		good += !wse_submit(ctx, cmds, 15, NULL, 0, &fence[i]);
	OK(good == 100, "100 submits of 15 nops on three rings of 16 are accepted");
	for (i = 0; i < 100; i++) {
		good -= !wse_fence_wait(fence[i], 5000 * MS);
		wse_fence_destroy(fence[i]);
	}
	OK(!good, "and complete, round the rings many times");
	OK(wse_submit(ctx, cmds, 16, NULL, 0, NULL) == -EINVAL && says("takes 15"),
	   "16 commands are too many: said so");
	OK(wse_submit(ctx, cmds, 0, NULL, 0, NULL) == -EINVAL, "0 commands are refused");
	OK(works(dev, ctx), "copies through page lists of scattered pages");
	wse_context_destroy(ctx);
	wse_device_close(dev);
}

static void test_status(void)
{
	static const struct {
		unsigned int status, cause, color;
		int err;
		const char *words;
	} c[] = {
		{WSE_ST_TIMEOUT, WSE_CAUSE_WAIT_RECV, 5, -ETIME, "ran out of its budget"},
		{WSE_ST_TIMEOUT, WSE_CAUSE_WAIT_PORT, 0xffffffff, -ETIME,
		 "the host's memory has not answered the ports from column 2 on"},
		{WSE_ST_DEADLOCK, WSE_CAUSE_WAIT_L, 0, -EDEADLK,
		 "core 2,1 waits in its lane engine for a wavelet (color 0)"},
		{WSE_ST_CORE_FAULT, WSE_CAUSE_LOAD_ACCESS, 0xffffffff, -EFAULT,
		 "core 2,1 loaded from outside of its SRAM at pc 0x80000104, address 0x1234"},
		{WSE_ST_CORE_FAULT, WSE_CAUSE_STREAM_INDEX, 3, -EFAULT, "(color 3)"},
		{WSE_ST_KERNEL_ERROR, 0, 0xffffffff, -EREMOTEIO, "said DONE with value 77"},
		{WSE_ST_BAD_FIELD, 0, 0xffffffff, -EPROTO, "refused a command"},
		{WSE_ST_NOT_BOOTED, 0, 0xffffffff, -EPROTO, "nothing was booted"},
		{57, 0, 0xffffffff, -EPROTO, "status 57"},
	};
	struct wse_device *dev = open_dev(URI);
	struct drm_wse_fault f;
	struct drm_wse_cmd cmd;
	size_t i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct wse_context *ctx = open_ctx(dev);
		int ret;

		OK(wse_context_fault(ctx, &f) == -ENODATA, "a fresh context has no fault");
		cmd = mock_start(1, c[i].status, 1, 2, c[i].cause, c[i].color);
		ret = wse_submit_wait(ctx, &cmd, 1, 5000 * MS);
		OK(ret == c[i].err, "status %u becomes errno %d", c[i].status, -c[i].err);
		OK(says(c[i].words), "and a sentence: %s", c[i].words);
		OK(!wse_context_fault(ctx, &f) && f.status == c[i].status && f.row == 1 &&
			   f.col == 2 && f.cause == c[i].cause && f.cmd_op == WSE_OP_START,
		   "and a fault record");
		OK(wse_submit_wait(ctx, &cmd, 1, 0) == -EIO && says(c[i].words),
		   "the context is lost, its sentence stays");
		wse_context_destroy(ctx);
		ctx = open_ctx(dev);
		OK(works(dev, ctx), "another context works");
		wse_context_destroy(ctx);
	}
	wse_device_close(dev);
}

static void test_swallowed(void)
{
	struct wse_device *dev = open_dev(URI);
	struct wse_context *ctx = open_ctx(dev);
	struct drm_wse_cmd cmds[2];
	struct wse_fence *a, *b, *c;

	/* b executes, c waits for b's fence; a fails */
	cmds[0] = mock_start(2, MOCK_HOLD, 0, 0, 0, 0);
	OK(!wse_submit(ctx, cmds, 1, NULL, 0, &b), "a start that does not end");
	OK(wse_fence_poll(b) == -ETIMEDOUT, "polling it says that it runs");
	OK(wse_fence_wait(b, 5 * MS) == -ETIMEDOUT,
	   "waiting for it times out, which is not -ETIME");
	cmds[0] = wse_cmd_nop(1);
	OK(!wse_submit(ctx, cmds, 1, &b, 1, &c), "a nop behind its fence");
	OK(wse_fence_wait(c, 5 * MS) == -ETIMEDOUT, "waits");
	cmds[0] = mock_start(1, WSE_ST_CORE_FAULT, 0, 0, WSE_CAUSE_ILLEGAL, 0);
	OK(!wse_submit(ctx, cmds, 1, NULL, 0, &a), "a start that will fail, behind both");
	OK(wse_fence_wait(a, 5 * MS) == -ETIMEDOUT, "submits start in order");
	cmds[0] = mock_start(3, WSE_ST_OK, 0, 0, 0, 0);
	wse_fence_destroy(c);
	mock_release();
	OK(!wse_fence_wait(b, 5000 * MS), "the first ends");
	OK(wse_fence_wait(a, 5000 * MS) == -EFAULT, "the last fails");
	wse_fence_destroy(a);
	wse_fence_destroy(b);
	wse_context_destroy(ctx);
	wse_device_close(dev);
}

static void test_broken(void)
{
	static const struct {
		enum mock_fault how;
		const char *name, *words;
	} c[] = {
		{MOCK_SILENT, "stands still", "stands still"},
		{MOCK_HALT, "halts", "halted"},
		{MOCK_WRONG_CID, "completes what was not due", "not due"},
		{MOCK_BAD_HEAD, "writes an impossible submission head", "submission head"},
	};
	struct wse_device *dev = open_dev(URI);
	struct drm_wse_info info;
	struct drm_wse_cmd cmd = wse_cmd_nop(1);
	size_t i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct wse_context *ctx = open_ctx(dev);

		mock_set(c[i].how);
		OK(wse_submit_wait(ctx, &cmd, 1, 5000 * MS) == -ECANCELED,
		   "a device that %s: -ECANCELED", c[i].name);
		OK(says(c[i].words), "and a sentence");
		OK(wse_submit_wait(ctx, &cmd, 1, 5000 * MS) == -EIO, "then -EIO");
		wse_context_destroy(ctx);
		wse_device_info(dev, &info);
		OK(info.resets == i + 1, "it was reset");
		ctx = open_ctx(dev);
		OK(works(dev, ctx), "and works again");
		wse_context_destroy(ctx);
	}
	{
		struct wse_context *ctx = open_ctx(dev);
		struct wse_buffer *buf;

		wse_buffer_create(dev, 64, &buf);
		cmd = wse_cmd_copy_in(
			(struct wse_copy){.buf = buf, .rows = 1, .cols = 1, .len = 8});
		mock_set(MOCK_BAD_DMA);
		OK(wse_submit_wait(ctx, &cmd, 1, 5000 * MS) == -EIO,
		   "an access outside of all buffers is a DMA error");
		OK(says("bus address 0x10"), "and its address is said");
		wse_buffer_destroy(buf);
		wse_context_destroy(ctx);
	}
	{
		struct wse_context *ctx = open_ctx(dev), *other;

		cmd = wse_cmd_nop(1);
		mock_set(MOCK_DEAD);
		OK(wse_submit_wait(ctx, &cmd, 1, 5000 * MS) == -ENODEV,
		   "a device that no reset helps: -ENODEV");
		OK(wse_submit_wait(ctx, &cmd, 1, 5000 * MS) == -ENODEV, "and again");
		wse_context_destroy(ctx);
		OK(wse_context_create(dev, WSE_CONTEXT_WAIT, &other) == -ENODEV &&
			   says("is gone: ") && says("a reset does not help"),
		   "no context any more");
		mock_set(MOCK_GOOD);
	}
	wse_device_close(dev);
}

static void test_refused(void)
{
	struct wse_device *dev;

	mock_abi((WSE_ABI_MAJOR + 1) << 16 | 3);
	OK(wse_device_open(URI, &dev) == -EPROTO && strstr(wse_error(), "ABI 2.3"),
	   "another major ABI is refused with both versions: %s", wse_error());
	mock_abi(0);
	OK(wse_device_open("sim:func,rows=9,cols=9", &dev) == -ENOTSUP &&
		   strstr(wse_error(), "9 x 9"),
	   "a shape that was not built: %s", wse_error());
	OK(wse_device_open("sim:rtl,rows=4,cols=4", &dev) == -ENOTSUP && strstr(wse_error(), "rtl"),
	   "a model that is not linked in: %s", wse_error());
	mock_set(MOCK_DEAD);
	OK(wse_device_open(URI, &dev) == -ENODEV && wse_error()[0],
	   "a device that does not start: %s", wse_error());
	mock_set(MOCK_GOOD);
}

struct lease {
	struct wse_device *dev;
	struct wse_context *ctx;
	int ret;
};

static void *take_lease(void *arg)
{
	struct lease *l = arg;

	l->ret = wse_context_create(l->dev, WSE_CONTEXT_WAIT, &l->ctx);
	return NULL;
}

static void test_lease(void)
{
	struct wse_device *dev = open_dev(URI);
	struct wse_context *ctx = open_ctx(dev);
	struct lease l = {.dev = dev};
	pthread_t thread;

	OK(wse_context_create(dev, 0, &l.ctx) == -EBUSY && says("leased"),
	   "a second context: -EBUSY");
	OK(wse_context_create(dev, 2, &l.ctx) == -EINVAL, "unknown flags are refused");
	pthread_create(&thread, NULL, take_lease, &l);
	usleep(10000);
	wse_context_destroy(ctx);
	pthread_join(thread, NULL);
	OK(!l.ret && works(dev, l.ctx), "waiting for the lease gets it");
	wse_device_close(dev);
	OK(wse_context_device(l.ctx) == dev &&
		   !wse_submit_wait(l.ctx, &(struct drm_wse_cmd){.queue = 1}, 1, 60000 * MS),
	   "a context keeps its device alive");
	wse_context_destroy(l.ctx);
}

static void test_share(void)
{
	struct wse_device *a = open_dev(URI), *b = open_dev(URI ",pages=13");
	struct wse_context *ca = open_ctx(a), *cb = open_ctx(b);
	struct wse_buffer *ba, *bb;
	struct wse_fence *fence;
	struct drm_wse_cmd cmd;
	unsigned char *p;

	wse_buffer_create(a, 100000, &ba);
	OK(wse_buffer_size(ba) == 102400, "a buffer is whole pages");
	OK(!wse_buffer_share(b, ba, &bb), "its memory for another device");
	OK(wse_buffer_map(ba) == wse_buffer_map(bb) && wse_buffer_size(bb) == 102400,
	   "is the same memory");
	p = wse_buffer_map(ba);
	memset(p, 0x5a, 64);
	memset(p + 90000, 0xa5, 64);
	/* through the SRAM of a, then, after its fence, through that of b */
	cmd = wse_cmd_copy_in(
		(struct wse_copy){.buf = bb, .off = 90000, .rows = 1, .cols = 1, .len = 64});
	OK(!wse_submit_wait(cb, &cmd, 1, 5000 * MS), "b copies from it");
	wse_buffer_destroy(ba);
	wse_device_close(a);
	cmd = wse_cmd_copy_out((struct wse_copy){.buf = bb, .rows = 1, .cols = 1, .len = 64});
	OK(!wse_submit(cb, &cmd, 1, NULL, 0, &fence), "and to it, when its maker has let go of it");
	wse_buffer_destroy(bb);
	wse_device_close(b);
	OK(!wse_fence_wait(fence, 5000 * MS), "even when the buffer is gone before the fence");
	wse_fence_destroy(fence);
	wse_context_destroy(ca);
	wse_context_destroy(cb);
}

struct worker {
	struct wse_context *ctx;
	uint32_t queue;
	int good;
};

static void *submit_many(void *arg)
{
	struct worker *w = arg;
	struct drm_wse_cmd cmds[3];
	struct wse_fence *last = NULL, *fence;
	int i;

	for (i = 0; i < 300; i++) {
		cmds[0] = wse_cmd_nop(w->queue);
		cmds[1] = wse_cmd_fence(w->queue % 3 + 1, 0);
		cmds[2] = wse_cmd_nop(w->queue % 3 + 1);
		w->good += !wse_submit(w->ctx, cmds, 3, &last, last ? 1 : 0, &fence);
		wse_fence_destroy(last);
		last = fence;
	}
	w->good += !wse_fence_wait(last, 20000 * MS);
	wse_fence_destroy(last);
	return NULL;
}

static void test_threads(void)
{
	struct wse_device *dev = open_dev(URI);
	struct wse_context *ctx = open_ctx(dev);
	struct worker w[3];
	pthread_t thread[3];
	int i, good = 0;

	for (i = 0; i < 3; i++) {
		w[i] = (struct worker){.ctx = ctx, .queue = 1 + (uint32_t)i};
		pthread_create(&thread[i], NULL, submit_many, &w[i]);
	}
	for (i = 0; i < 3; i++) {
		pthread_join(thread[i], NULL);
		good += w[i].good;
	}
	OK(good == 903, "three threads submit chains of fences");
	wse_context_destroy(ctx);
	wse_device_close(dev);
}

int main(void)
{
	alarm(120);
	test_rings();
	test_status();
	test_swallowed();
	test_broken();
	test_refused();
	test_lease();
	test_share();
	test_threads();
	return tap_end();
}
