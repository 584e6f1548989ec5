// SPDX-License-Identifier: MIT
/*
 * Devices, buffers, commands and hand-assembled programs on every in-process model. With WSE_DEVICE
 * and WSE_DEVICE2 set to URIs on those instead.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tasks.h"

static void test_copy(struct wse_device *dev, struct wse_context *ctx,
		      const struct drm_wse_info *info)
{
	uint32_t cores = info->rows * info->cols, i, c, l, good = 1, lines = 3, len = 40;
	struct wse_buffer *in = new_buf(dev, 1 << 20), *out = new_buf(dev, 1 << 20);
	uint8_t *p = wse_buffer_map(in), *q = wse_buffer_map(out);
	struct wse_copy s = {.buf = in,
			     .off = 24,
			     .rows = (uint16_t)info->rows,
			     .cols = (uint16_t)info->cols,
			     .sram = 0x2008,
			     .len = len,
			     .nline = lines,
			     .lstride = 48,
			     .sstride = 56,
			     .cstride = 160,
			     .rstride = 160 * info->cols + 8};
	struct drm_wse_cmd cmds[2];

	for (i = 0; i < 1 << 20; i++) {
		p[i] = (uint8_t)(i * 31 + i / 251);
		q[i] = 0xee;
	}
	cmds[0] = wse_cmd_copy_in(s);
	s.buf = out;
	s.off = 8;
	s.lstride = 40; /* packed on the way out */
	s.cstride = 120;
	s.rstride = 120 * info->cols;
	cmds[1] = wse_cmd_copy_out(s);
	OK(!wse_submit_wait(ctx, cmds, 2, 60000 * MS), "strided copies in and out");
	for (c = 0; c < cores; c++)
		for (l = 0; l < lines; l++)
			good &= !memcmp(q + 8 + c * 120 + l * 40,
					p + 24 + c / info->cols * (160 * info->cols + 8) +
						c % info->cols * 160 + l * 48,
					len);
	OK(good && q[7] == 0xee && q[8 + cores * 120] == 0xee,
	   "bring back every line, and nothing beside them");

	s = (struct wse_copy){.buf = in,
			      .rows = (uint16_t)info->rows,
			      .cols = (uint16_t)info->cols,
			      .sram = 0x3000,
			      .len = 4096,
			      .broadcast = 1};
	cmds[0] = wse_cmd_copy_in(s);
	s.buf = out;
	s.broadcast = 0;
	s.cstride = 4096;
	s.rstride = 4096 * info->cols;
	cmds[1] = wse_cmd_copy_out(s);
	OK(!wse_submit_wait(ctx, cmds, 2, 60000 * MS), "a broadcast");
	for (good = 1, c = 0; c < cores; c++)
		good &= !memcmp(q + 4096 * c, p, 4096);
	OK(good, "reaches every core");
	wse_buffer_destroy(in);
	wse_buffer_destroy(out);
}

/* What a program can do wrong: the errno, what the sentence says, and that the next context works.
 */
static void test_faults(struct wse_device *dev)
{
	static const struct {
		const char *name, *words;
		uint32_t code[8];
		uint64_t budget;
		int closed, err;
	} c[] = {
		{"a load from address 0",
		 "loaded from outside of its SRAM at pc 0x80001000, address 0",
		 {I_LW(A0, 0, 0), I_DONE(0), I_RET},
		 100000,
		 0,
		 -EFAULT},
		{"a misaligned store",
		 "stored to a misaligned address at pc 0x80001000",
		 {I_SW(A1, 2, A0), I_DONE(0), I_RET},
		 100000,
		 0,
		 -EFAULT},
		{"an illegal instruction",
		 "met an illegal instruction at pc 0x80001000, instruction 0xffffffff",
		 {0xffffffff},
		 100000,
		 0,
		 -EFAULT},
		{"ebreak", "executed ebreak", {0x00100073}, 100000, 0, -EFAULT},
		{"DONE with 9",
		 "said DONE with value 9",
		 {I_ADDI(A1, 0, 9), I_DONE(A1), I_RET},
		 100000,
		 0,
		 -EREMOTEIO},
		{"an endless loop",
		 "ran out of its budget while the tile was moving: core 0,0 runs and has not "
		 "said DONE;",
		 {I_SELF},
		 20000,
		 0,
		 -ETIME},
		{"a wait for a wavelet that is never sent",
		 "core 0,0 waits to receive a wavelet (color 9), and ",
		 {I_ADDI(A1, 0, 9), I_RECV(A0, A1), I_DONE(0), I_RET},
		 1000000,
		 1,
		 -EDEADLK},
		{"a wait that the budget ends",
		 "deadlock in start on queue 1",
		 {I_ADDI(A1, 0, 9), I_RECV(A0, A1), I_DONE(0), I_RET},
		 20000,
		 0,
		 -EDEADLK},
	};
	struct wse_buffer *none;
	struct drm_wse_fault f;
	size_t i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct wse_context *ctx = new_ctx(dev);
		int ret = run_code(dev, ctx, c[i].code, 8, c[i].budget, c[i].closed);

		OK(ret == c[i].err, "%s: errno %d (%d)", c[i].name, -c[i].err, -ret);
		OK(says(c[i].words), "%s: %s", c[i].name, c[i].words);
		/* who has to move is known in process alone */
		if (ret == -EDEADLK && !strncmp(wse_device_uri(dev), "sim:", 4))
			OK(says("who has to move: core 0,0: has no route for color 9"),
			   "%s: who has to move", c[i].name);
		OK(!wse_context_fault(ctx, &f) && !f.row && !f.col && f.cmd_op == WSE_OP_START,
		   "%s: a fault record", c[i].name);
		OK(strstr(wse_error(), c[i].words), "%s: this thread is told, too", c[i].name);
		/* another call fails in between: its words are its own */
		OK(wse_buffer_create(dev, 0, &none) == -EINVAL && says("0 bytes"),
		   "%s: and then another call", c[i].name);
		OK(wse_submit_wait(ctx, &(struct drm_wse_cmd){.queue = 1}, 1, 0) == -EIO &&
			   says(c[i].words) && strstr(wse_error(), c[i].words),
		   "%s: the context is lost, and why", c[i].name);
		wse_context_destroy(ctx);
		ctx = new_ctx(dev);
		OK(adder_works(dev, ctx), "%s: the device works in another context", c[i].name);
		wse_context_destroy(ctx);
	}
}

/* A start without CLOSED waits for a stream that the host submits later; meanwhile its budget of
 * device cycles must not run out in no time. */
static void test_late_stream(struct wse_device *dev, struct wse_context *ctx)
{
	enum { COLOR = 9, NORTH_TO_RAMP = 1 << 4 << WSE_ROUTE_TX_SHIFT };
	static const uint32_t code[] = {
		I_ADDI(A1, 0, COLOR),
		I_ADDI(A2, 0, NORTH_TO_RAMP),
		I_ROUTE(A1, A2),
		I_RECV(A0, A1),
		I_DONE(0),
		I_RET,
	};
	struct wse_buffer *buf = new_buf(dev, 4096);
	struct drm_wse_cmd cmds[2], in;
	struct wse_fence *fence = NULL;
	int ret;

	memcpy(wse_buffer_map(buf), code, sizeof(code));
	cmds[0] = wse_cmd_copy_in((struct wse_copy){
		.buf = buf, .rows = 1, .cols = 1, .sram = CODE, .len = sizeof(code)});
	cmds[1] = wse_cmd_start((struct wse_start){
		.rows = 1, .cols = 1, .entry = WSE_SRAM_BASE + CODE, .budget = 2000000000});
	ret = wse_submit(ctx, cmds, 2, NULL, 0, &fence);
	usleep(20000);
	in = wse_cmd_stream_in((struct wse_stream){.buf = buf,
						   .queue = 2,
						   .color = COLOR,
						   .cols = 1,
						   .nblock = 1,
						   .nfeat = 1,
						   .kcol = 1,
						   .lstride = 8,
						   .off = 8});
	ret = ret ? ret : wse_submit_wait(ctx, &in, 1, 60000 * MS);
	OK(!ret, "a stream 20 ms after the start that waits for it%s%s", ret ? ": " : "",
	   ret ? wse_error() : "");
	ret = ret ? ret : wse_fence_wait(fence, 60000 * MS);
	OK(!ret, "the start ends%s%s", ret ? ": " : "", ret ? wse_error() : "");
	wse_fence_destroy(fence);
	wse_buffer_destroy(buf);
}

static void test_refused(struct wse_device *dev, struct wse_context *ctx,
			 const struct drm_wse_info *info)
{
	struct wse_buffer *buf = new_buf(dev, 4096);
	struct drm_wse_cmd good = wse_cmd_copy_in(
				   (struct wse_copy){.buf = buf, .rows = 1, .cols = 1, .len = 64}),
			   c;
	struct drm_wse_cmd stream = wse_cmd_stream_in((struct wse_stream){
		.buf = buf, .cols = 1, .nblock = 1, .nfeat = 2, .kcol = 8, .lstride = 16});

#define REFUSED(base, change, err_, words)                                                        \
	do {                                                                                      \
		c = (base);                                                                       \
		change;                                                                           \
		OK(wse_submit(ctx, &c, 1, NULL, 0, NULL) == (err_) && says(words), "refused: %s", \
		   wse_error());                                                                  \
	} while (0)
	REFUSED(good, c.op = 7, -EINVAL, "no such op");
	REFUSED(good, c.queue = 0, -EINVAL, "no such queue");
	REFUSED(good, c.queue = info->queues + 1, -EINVAL, "no such queue");
	REFUSED(good, c.bo = 0, -EINVAL, "bo is missing");
	REFUSED(good, c.bo = 12345, -ENOENT, "no buffer of handle 12345");
	REFUSED(good, c.budget = 0, -EINVAL, "budget is 0");
	REFUSED(good, c.rows = 0, -EINVAL, "rectangle is empty");
	REFUSED(good, c.row0 = (uint16_t)info->rows, -ERANGE, "leave the tile");
	REFUSED(good, c.col0 = 65535, -ERANGE, "leave the tile");
	REFUSED(good, c.len = 12, -EINVAL, "multiples of 8");
	REFUSED(good, c.sram = 0xbfe0, -ERANGE, "leave the SRAM");
	REFUSED(good, c.off = 4040, -ERANGE, "lead out of the buffer of 4096 bytes");
	REFUSED(good, c.off = UINT64_MAX - 7, -ERANGE, "lead out of the buffer");
	REFUSED(good, (c.flags = DRM_WSE_CMD_BROADCAST, c.cstride = c.rstride = 8), -EINVAL,
		"broadcast");
	REFUSED(good, c.arg[3] = 1, -EINVAL, "is not 0");
	REFUSED(stream, c.nfeat = 3, -EINVAL, "nfeat");
	REFUSED(stream, c.etype = WSE_ETYPE_FP16, -EINVAL, "etype");
	REFUSED(stream, c.color = 24, -EINVAL, "color");
	REFUSED(stream, c.flags = DRM_WSE_CMD_MASKED, -EINVAL, "mask_bo");
	REFUSED(stream, c.kcol = 0, -EINVAL, "kcol");
	REFUSED(stream, c.lstride = 8192, -ERANGE, "lead out");
	if (info->features & WSE_FEATURES_LINEAR_MASK) {
		stream.flags |= DRM_WSE_CMD_LINEAR;
		stream.lstride = 0;
		stream.len = 4096;
		REFUSED(stream, c.len = 0, -EINVAL, "LINEAR run");
		REFUSED(stream, c.len = 4, -EINVAL, "LINEAR run");
		REFUSED(stream, c.len = 8, -EINVAL, "fewer elements");
		REFUSED(stream, c.lstride = 8, -EINVAL, "no lstride");
		REFUSED(stream, c.off = 8192, -ERANGE, "lead out");
		REFUSED(stream, c.flags |= DRM_WSE_CMD_INDEX_ONLY, -EINVAL, "INDEX_ONLY");
	}
	REFUSED(wse_cmd_start((struct wse_start){.rows = 1, .cols = 1, .entry = 0x80000102}),
		(void)0, -EINVAL, "multiple of 4");
	REFUSED(wse_cmd_start((struct wse_start){.rows = 1, .cols = 1, .entry = 0x8000c000}),
		(void)0, -ERANGE, "outside of the SRAM");
	REFUSED(wse_cmd_fence(1, 0), (void)0, -EINVAL, "earlier command");
	REFUSED(wse_cmd_fence_queue(1, 1), (void)0, -EINVAL, "another queue");
	OK(!wse_submit_wait(ctx, &good, 1, 60000 * MS), "after all that a good command is taken");
	wse_buffer_destroy(buf);
	OK(wse_submit(ctx, &good, 1, NULL, 0, NULL) == -ENOENT,
	   "a destroyed buffer's handle is none");
}

static void test_programs(struct wse_context *ctx)
{
	static const char path[] = "build/firmware/linear.elf";
	struct wse_program *prog;
	unsigned char *image;
	uint32_t addr;
	size_t size;
	FILE *f;

	OK(!wse_program_load(ctx, path, &prog), "linear.elf loads");
	OK(!wse_program_symbol(prog, "linear_forward", &addr) && addr >= 0x80000100 &&
		   addr < 0x80002000,
	   "and has linear_forward");
	OK(wse_program_symbol(prog, "no_such_thing", &addr) == -ENOENT &&
		   says("linear.elf has no symbol no_such_thing"),
	   "but not no_such_thing");
	OK(wse_program_end(prog) > 0x100 && wse_program_end(prog) % 16 == 0,
	   "it ends where free SRAM begins");
	wse_program_destroy(prog);

	OK(wse_program_load(ctx, "/nonexistent.elf", &prog) == -ENOENT && says("/nonexistent.elf"),
	   "no file: %s", wse_error());
	OK(wse_program_load(ctx, "Makefile", &prog) == -ENOEXEC && says("no ELF"), "no ELF: %s",
	   wse_error());
	OK(wse_program_load(ctx, "/proc/self/exe", &prog) == -ENOEXEC && says("32-bit"),
	   "of the host: %s", wse_error());
	f = fopen(path, "rb");
	image = malloc(1 << 20);
	size = f ? fread(image, 1, 1 << 20, f) : 0;
	if (f)
		fclose(f);
#define PATCHED(off, type, value, err, words)                                                \
	do {                                                                                 \
		type old_, new_ = (value);                                                   \
		memcpy(&old_, image + (off), sizeof(old_));                                  \
		memcpy(image + (off), &new_, sizeof(new_));                                  \
		OK(wse_program_load_memory(ctx, image, size, &prog) == (err) && says(words), \
		   "patched: %s", wse_error());                                              \
		memcpy(image + (off), &old_, sizeof(old_));                                  \
	} while (0)
	PATCHED(18, uint16_t, 8, -ENOEXEC, "not for RISC-V");
	PATCHED(16, uint16_t, 1, -ENOEXEC, "no executable");
	PATCHED(36, uint32_t, 1, -ENOEXEC, "compressed");
	PATCHED(28, uint32_t, 0x7fffffff, -ENOEXEC, "damaged");
	PATCHED(52 + 12, uint32_t, 0x80000000, -EADDRINUSE, "overlaps the resident firmware");
	PATCHED(52 + 12, uint32_t, 0x10000, -ERANGE, "leaves the SRAM");
	PATCHED(52 + 20, uint32_t, 0xc000, -ERANGE, "leaves the SRAM");
	PATCHED(52 + 4, uint32_t, 0xfffffff0, -ENOEXEC, "damaged");
	{
		size_t cut, n = 0, refused = 0;

		for (cut = 0; cut < size; cut += 97, n++) {
			int ret = wse_program_load_memory(ctx, image, cut, &prog);

			refused += ret == -ENOEXEC;
			if (!ret)
				wse_program_destroy(prog);
		}
		OK(refused == n, "cut off anywhere it is refused");
	}
	free(image);
}

struct submitter {
	struct wse_device *dev;
	struct wse_context *ctx;
	uint32_t queue;
	int good;
};

/* Each thread has its own part of the SRAM of core 0. */
static void *submit_copies(void *arg)
{
	struct submitter *s = arg;
	struct wse_buffer *buf = new_buf(s->dev, 4096);
	uint32_t *p = wse_buffer_map(buf), i, sram = 0x4000 + 0x1000 * s->queue;
	struct drm_wse_cmd cmds[2];

	cmds[0] = wse_cmd_copy_in((struct wse_copy){
		.buf = buf, .queue = s->queue, .rows = 1, .cols = 1, .sram = sram, .len = 64});
	cmds[1] = wse_cmd_copy_out((struct wse_copy){.buf = buf,
						     .off = 2048,
						     .queue = s->queue,
						     .rows = 1,
						     .cols = 1,
						     .sram = sram,
						     .len = 64});
	for (i = 0; i < 50; i++) {
		p[3] = i * 1000 + s->queue;
		s->good += !wse_submit_wait(s->ctx, cmds, 2, 60000 * MS) &&
			   p[512 + 3] == i * 1000 + s->queue;
	}
	wse_buffer_destroy(buf);
	return NULL;
}

static void test_threads(struct wse_device *dev, struct wse_context *ctx)
{
	struct submitter s[2] = {{dev, ctx, 1, 0}, {dev, ctx, 2, 0}};
	pthread_t thread[2];
	int i;

	for (i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, submit_copies, &s[i]);
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	OK(s[0].good == 50 && s[1].good == 50, "two threads submit to one context");
}

static void test_two_devices(const char *uri, const char *uri2)
{
	struct wse_device *a, *b;
	struct wse_context *ca, *cb;
	struct wse_buffer *ba, *bb;
	struct wse_fence *fa, *fb;
	struct drm_wse_cmd cmd;
	uint8_t *p;

	if (wse_device_open(uri, &a) || wse_device_open(uri2, &b)) {
		OK(0, "two devices of one process open");
		return;
	}
	ca = new_ctx(a);
	cb = new_ctx(b);
	ba = new_buf(a, 8192);
	OK(!wse_buffer_share(b, ba, &bb), "two devices share a buffer");
	p = wse_buffer_map(ba);
	memset(p, 0x77, 512);
	/* a writes what b reads, ordered by a fence alone */
	cmd = wse_cmd_copy_in(
		(struct wse_copy){.buf = ba, .rows = 1, .cols = 1, .sram = 0x2000, .len = 512});
	wse_submit_wait(ca, &cmd, 1, 60000 * MS);
	cmd = wse_cmd_copy_out((struct wse_copy){
		.buf = ba, .off = 1024, .rows = 1, .cols = 1, .sram = 0x2000, .len = 512});
	OK(!wse_submit(ca, &cmd, 1, NULL, 0, &fa), "a copies out");
	cmd = wse_cmd_copy_in((struct wse_copy){
		.buf = bb, .off = 1024, .rows = 1, .cols = 1, .sram = 0x3000, .len = 512});
	OK(!wse_submit(cb, &cmd, 1, &fa, 1, &fb), "b waits for its fence and copies that in");
	OK(!wse_fence_wait(fb, 60000 * MS) && !wse_fence_poll(fa), "both end");
	cmd = wse_cmd_copy_out((struct wse_copy){
		.buf = bb, .off = 4096, .rows = 1, .cols = 1, .sram = 0x3000, .len = 512});
	OK(!wse_submit_wait(cb, &cmd, 1, 60000 * MS) && !memcmp(p, p + 4096, 512),
	   "the bytes went through both");
	wse_fence_destroy(fa);
	wse_fence_destroy(fb);
	wse_buffer_destroy(ba);
	wse_buffer_destroy(bb);
	wse_context_destroy(ca);
	wse_context_destroy(cb);
	wse_device_close(a);
	wse_device_close(b);
}

static void test_scrub(struct wse_device *dev)
{
	struct wse_context *ctx = new_ctx(dev);
	struct wse_buffer *buf = new_buf(dev, 8192);
	uint8_t *p = wse_buffer_map(buf);
	struct drm_wse_cmd cmd;
	int i, zero = 1;

	memset(p, 0xab, 8192);
	cmd = wse_cmd_copy_in(
		(struct wse_copy){.buf = buf, .rows = 1, .cols = 1, .sram = 0x8000, .len = 4096});
	OK(!wse_submit_wait(ctx, &cmd, 1, 60000 * MS), "a secret in the SRAM");
	wse_context_destroy(ctx);
	ctx = new_ctx(dev);
	cmd = wse_cmd_copy_out(
		(struct wse_copy){.buf = buf, .rows = 1, .cols = 1, .sram = 0x8000, .len = 4096});
	OK(!wse_submit_wait(ctx, &cmd, 1, 60000 * MS), "the next context looks for it");
	for (i = 0; i < 4096; i++)
		zero &= !p[i];
	OK(zero, "and finds zeros");
	wse_buffer_destroy(buf);
	wse_context_destroy(ctx);
}

static int counters(struct wse_device *dev, uint64_t count[WSE_CNT_COUNT], uint32_t *n)
{
	return wse_device_counters(dev, DRM_WSE_SCOPE_TILE, 0, count, WSE_CNT_COUNT, n);
}

static void test_counters(struct wse_device *dev, struct wse_context *ctx)
{
	uint64_t a[WSE_CNT_COUNT], b[WSE_CNT_COUNT];
	uint32_t n;
	struct wse_buffer *buf = new_buf(dev, 4096);
	struct drm_wse_cmd cmd = wse_cmd_copy_in(
		(struct wse_copy){.buf = buf, .rows = 1, .cols = 1, .sram = 0x2000, .len = 512});
	struct wse_fence *fence;

	OK(!counters(dev, a, &n) && n == WSE_CNT_COUNT, "counters");
	OK(!wse_submit(ctx, &cmd, 1, NULL, 0, &fence) && !wse_fence_wait(fence, 60000 * MS),
	   "a copy of 512 bytes");
	OK(!counters(dev, b, &n) && b[WSE_CNT_DMA_RD] - a[WSE_CNT_DMA_RD] >= 512 &&
		   b[WSE_CNT_CYCLES] > a[WSE_CNT_CYCLES] && b[WSE_CNT_CMDS] == a[WSE_CNT_CMDS] + 1,
	   "is counted");
	wse_fence_destroy(fence);
	wse_buffer_destroy(buf);
}

static void test_registers(struct wse_device *dev, struct wse_context *ctx)
{
	struct drm_wse_cmd cmd = {.queue = 1};
	struct wse_fence *fence;
	uint32_t start, end, v;

	OK(!wse_submit(ctx, &cmd, 1, NULL, 0, &fence) && !wse_fence_wait(fence, 60000 * MS),
	   "a nop");
	OK(!wse_fence_cycles(fence, &start, &end) && end - start < 1000000,
	   "and has a beginning and an end");
	OK(!wse_device_mmio_read(dev, WSE_REG_MAGIC, &v) && v == WSE_MAGIC,
	   "registers can be read");
	OK(wse_device_mmio_read(dev, 2, &v) == -EINVAL &&
		   wse_device_mmio_read(dev, 0x10000, &v) == -EINVAL,
	   "where there are some");
	wse_fence_destroy(fence);
}

static void test_firmware(const char *uri)
{
	static const struct {
		const char *path, *words;
		int err;
	} c[] = {
		{"/nonexistent.bin", "/nonexistent.bin cannot be read", -ENOENT},
		{"Makefile", "no firmware of a wafer", -ENOEXEC},
	};
	struct wse_device *dev;
	struct wse_context *ctx;
	size_t i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		setenv("WSE_FIRMWARE", c[i].path, 1);
		if (!OK(!wse_device_open(uri, &dev), "opens without firmware"))
			continue;
		OK(wse_context_create(dev, 0, &ctx) == c[i].err && says(c[i].words),
		   "but has no context: %s", wse_error());
		unsetenv("WSE_FIRMWARE");
		OK(!wse_context_create(dev, 0, &ctx), "until there is firmware");
		wse_context_destroy(ctx);
		wse_device_close(dev);
	}
}

static void test_uris(void)
{
	static const char *const bad[] = {
		"",
		"sim",
		"sim:",
		"sim:func",
		"sim:func,rows=4",
		"sim:func,rows=4,cols=0",
		"sim:func,rows=4,cols=-1",
		"sim:func,rows=4,cols=4,",
		"sim:func,rows=4,cols=4,what=1",
		"sim:func,rows=4,cols=4,group=3",
		"sim:func,rows=4,cols=4,group=8",
		"sim:func,rows=4,cols=4x",
		"sim:func,rows,cols=4",
		"sim:func,rows=99999999999999999999,cols=1",
		"accel:",
		"accel:x",
		"accel:-1",
		"accel:0,",
		"accel:0,waits",
		"accel:,wait",
		"usb:0",
		"sim:func,rows=4,cols=4,pages=11",
		"sim:func,rows=4,cols=4,exact=2",
		"sim:func,rows=4,cols=4,exact=yes",
		"sim:func,rows=4,cols=4,exact",
	};
	struct wse_device *dev;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		OK(wse_device_open(bad[i], &dev) == -EINVAL && strstr(wse_error(), "accel:0"),
		   "\"%s\" is no device", bad[i]);
	OK(wse_device_open("accel:4711", &dev) == -ENOENT &&
		   strstr(wse_error(), "/dev/accel/accel4711"),
	   "accel:4711: %s", wse_error());
	OK(wse_device_open("accel:/dev/zero,wait", &dev) == -EPROTO, "accel:/dev/zero,wait: %s",
	   wse_error());
	OK(wse_device_open("accel:/dev/null", &dev) == -EPROTO, "accel:/dev/null: %s", wse_error());
	OK(wse_device_open("sim:nope,rows=1,cols=1", &dev) == -ENOTSUP, "sim:nope: %s",
	   wse_error());
	OK(wse_device_open(NULL, &dev) == -EINVAL && strstr(wse_error(), "accel:0"), "NULL: %s",
	   wse_error());
}

/* A fence and a buffer of a node cannot be imported by an in-process device, but they can be used
 * with one. */
static void test_mixed(const char *uri)
{
	struct wse_device *a, *b;
	struct wse_context *ca, *cb;
	struct wse_buffer *ba, *bb, *none;
	struct wse_fence *fa, *fb;
	struct drm_wse_cmd cmd;
	uint8_t *p;

	if (wse_device_open(uri, &a) || wse_device_open("sim:func,rows=2,cols=2", &b)) {
		OK(0, "a node and an in-process device open");
		return;
	}
	ca = new_ctx(a);
	cb = new_ctx(b);
	ba = new_buf(a, 8192);
	OK(!wse_buffer_share(b, ba, &bb), "an in-process device maps memory of a node");
	p = wse_buffer_map(ba);
	memset(p, 0x33, 64);
	cmd = wse_cmd_copy_in(
		(struct wse_copy){.buf = ba, .rows = 1, .cols = 1, .sram = 0x2000, .len = 64});
	wse_submit_wait(ca, &cmd, 1, 60000 * MS);
	cmd = wse_cmd_copy_out((struct wse_copy){
		.buf = ba, .off = 1024, .rows = 1, .cols = 1, .sram = 0x2000, .len = 64});
	OK(!wse_submit(ca, &cmd, 1, NULL, 0, &fa), "the node writes it");
	cmd = wse_cmd_copy_in((struct wse_copy){
		.buf = bb, .off = 1024, .rows = 1, .cols = 1, .sram = 0x2000, .len = 64});
	OK(!wse_submit(cb, &cmd, 1, &fa, 1, &fb) && !wse_fence_wait(fb, 60000 * MS),
	   "the other reads it after the fence");
	wse_fence_destroy(fa);
	cmd = wse_cmd_copy_out((struct wse_copy){
		.buf = bb, .off = 4096, .rows = 1, .cols = 1, .sram = 0x2000, .len = 64});
	OK(!wse_submit_wait(cb, &cmd, 1, 60000 * MS) && !memcmp(p, p + 4096, 64),
	   "the bytes went through both");
	cmd = wse_cmd_nop(1);
	OK(!wse_submit(ca, &cmd, 1, &fb, 1, &fa) && !wse_fence_wait(fa, 60000 * MS),
	   "and fences the other way");
	wse_fence_destroy(fa);
	wse_fence_destroy(fb);
	wse_buffer_destroy(bb);
	bb = new_buf(b, 4096);
	OK(wse_buffer_share(a, bb, &none) == -EXDEV && says("create the buffer on a device node"),
	   "but not memory");
	wse_buffer_destroy(ba);
	wse_buffer_destroy(bb);
	wse_context_destroy(ca);
	wse_context_destroy(cb);
	wse_device_close(a);
	wse_device_close(b);
}

static void test_model(const char *uri, const char *uri2)
{
	struct wse_device *dev;
	struct wse_context *ctx;
	struct drm_wse_info info;
	int ret = wse_device_open(uri, &dev);

	if (ret == -ENOTSUP) {
		OK(1, "%s # SKIP %s", uri, wse_error());
		return;
	}
	if (!OK(!ret, "%s opens %s", uri, ret ? wse_error() : ""))
		return;
	OK(!wse_device_info(dev, &info) && info.abi_major == WSE_ABI_MAJOR && info.sram_kib == 48 &&
		   info.fw_end && info.queues >= 2,
	   "%s says what it is", uri);
	ctx = new_ctx(dev);
	OK(!wse_submit_wait(ctx, &(struct drm_wse_cmd){.queue = 1}, 1, 60000 * MS), "a nop");
	test_copy(dev, ctx, &info);
	OK(adder_works(dev, ctx), "a hand-assembled task on every core");
	test_late_stream(dev, ctx);
	test_refused(dev, ctx, &info);
	test_programs(ctx);
	test_threads(dev, ctx);
	test_counters(dev, ctx);
	if (!strncmp(uri, "sim:", 4))
		test_registers(dev, ctx);
	wse_context_destroy(ctx);
	test_faults(dev);
	test_scrub(dev);
	wse_device_close(dev);
	test_two_devices(uri, uri2);
}

int main(void)
{
	const char *uri = getenv("WSE_DEVICE"), *uri2 = getenv("WSE_DEVICE2");

	alarm(600);
	unsetenv("WSE_FIRMWARE");
	if (uri && uri2) {
		test_model(uri, uri2);
		test_mixed(uri);
		return tap_end();
	}
	test_uris();
	test_model("sim:func,rows=4,cols=4", "sim:func,rows=4,cols=4");
	test_model("sim:func,rows=2,cols=3,pages=12", "sim:func,rows=3,cols=2");
	test_firmware("sim:func,rows=2,cols=2");
	test_model("sim:rtl,rows=2,cols=2", "sim:rtl,rows=2,cols=2");
	return tap_end();
}
