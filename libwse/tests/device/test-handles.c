// SPDX-License-Identifier: MIT
/*
 * Handles that are none: closed ones, those of another kind, NULL and addresses out of nowhere, and
 * objects of another device. Each call says -errno and a sentence; with sanitizers no freed byte is
 * looked at.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <wse/wse.h>

#include "base/handle.h"
#include "tap.h"

#define URI "sim:func,rows=2,cols=2"

/* the errno, and the sentence of this thread has the words */
static int is(int ret, int want, const char *words)
{
	int good = ret == want && strstr(wse_error(), words);

	if (!good)
		printf("# %d, \"%s\"\n", ret, wse_error());
	return good;
}

/* every call with something that is no device */
static int no_device(struct wse_device *dev, const char *words)
{
	struct wse_context *ctx = NULL;
	struct wse_buffer *buf = NULL;
	struct drm_wse_info info;
	uint64_t v[32];
	uint32_t u = 7;
	int good = 1;

	good &= is(wse_device_info(dev, &info), -EBADF, words);
	good &= is(wse_device_mmio_read(dev, 0, &u), -EBADF, words);
	good &= is(wse_device_counters(dev, 0, 0, v, 32, &u), -EBADF, words);
	good &= is(wse_context_create(dev, 0, &ctx), -EBADF, words) && !ctx;
	good &= is(wse_buffer_create(dev, 4096, &buf), -EBADF, words) && !buf && u == 7;
	good &= !wse_device_uri(dev)[0];
	return good;
}

static int no_context(struct wse_context *ctx, const char *words)
{
	struct drm_wse_cmd nop = {.queue = 1};
	struct wse_program *prog = NULL;
	struct wse_fence *fence = NULL;
	struct drm_wse_fault fault;
	int good = 1;

	good &= is(wse_submit(ctx, &nop, 1, NULL, 0, &fence), -EBADF, words) && !fence;
	good &= is(wse_submit_wait(ctx, &nop, 1, 0), -EBADF, words);
	good &= is(wse_context_fault(ctx, &fault), -EBADF, words);
	good &= is(wse_program_load(ctx, "x", &prog), -EBADF, words) && !prog;
	good &= is(wse_program_create(ctx, "x", &prog), -EBADF, words) && !prog;
	good &= is(wse_program_load_memory(ctx, "x", 1, &prog), -EBADF, words) && !prog;
	good &= !wse_context_device(ctx);
	return good;
}

static int no_fence(struct wse_fence *fence, const char *words)
{
	uint32_t a, b;

	return is(wse_fence_wait(fence, 0), -EBADF, words) &&
	       is(wse_fence_poll(fence), -EBADF, words) &&
	       is(wse_fence_cycles(fence, &a, &b), -EBADF, words);
}

static int no_buffer(struct wse_device *dev, struct wse_buffer *buf, const char *words)
{
	struct wse_buffer *shared = NULL;

	return is(wse_buffer_share(dev, buf, &shared), -EBADF, words) && !shared &&
	       !wse_buffer_map(buf) && !wse_buffer_size(buf) && !wse_buffer_handle(buf);
}

static void kinds(struct wse_device *dev)
{
	struct drm_wse_cmd nop = {.queue = 1};
	struct wse_context *ctx;
	struct wse_buffer *buf;
	struct wse_fence *fence;
	int good = !wse_context_create(dev, 0, &ctx) && !wse_buffer_create(dev, 64, &buf) &&
		   !wse_submit(ctx, &nop, 1, NULL, 0, &fence);

	ok(good && no_device((void *)ctx, "it is a context") &&
		   no_device((void *)buf, "it is a buffer"),
	   "a context or buffer is no device: %s", wse_error());
	ok(good && no_context((void *)dev, "it is a device") &&
		   no_context((void *)fence, "it is a fence"),
	   "a device or fence is no context: %s", wse_error());
	ok(good && no_fence((void *)buf, "it is a buffer") &&
		   no_buffer(dev, (void *)fence, "it is a fence"),
	   "a buffer is no fence, a fence no buffer: %s", wse_error());
	ok(good && is(wse_submit(ctx, &nop, 1, (struct wse_fence *[]){fence, (void *)buf}, 2, NULL),
		      -EBADF, "it is a buffer"),
	   "a submit that waits for a buffer: %s", wse_error());
	wse_fence_destroy(fence);
	ok(good && no_fence(fence, "it was destroyed") &&
		   is(wse_submit(ctx, &nop, 1, &fence, 1, NULL), -EBADF, "it was destroyed"),
	   "a fence that was destroyed: %s", wse_error());
	wse_fence_destroy(fence);
	wse_buffer_destroy(buf);
	ok(good && no_buffer(dev, buf, "it was destroyed"), "a buffer that was destroyed");
	wse_buffer_destroy(buf);
	wse_context_destroy(ctx);
	ok(good && no_context(ctx, "it was destroyed"), "a context that was destroyed");
	wse_context_destroy(ctx);
	wse_context_destroy((void *)dev);
	wse_device_close((void *)buf);
	ok(!wse_context_create(dev, 0, &ctx) && !wse_submit_wait(ctx, &nop, 1, WSE_FOREVER),
	   "destroying them once more, or as something else, harms nothing");
	wse_context_destroy(ctx);
}

static void programs(struct wse_device *dev)
{
	struct wse_buffer *other = NULL;
	struct wse_program *prog = NULL;
	struct drm_wse_cmd cmd;
	struct wse_device *dev2;
	struct wse_context *ctx;
	uint32_t addr;
	int good = !wse_context_create(dev, 0, &ctx) &&
		   !wse_program_load(ctx, "linear.elf", &prog) && !wse_device_open(URI, &dev2) &&
		   !wse_buffer_create(dev2, 4096, &other);

	if (!ok(good, "two devices and a program of the library"))
		return;
	cmd = wse_cmd_copy_in((struct wse_copy){.buf = other, .rows = 1, .cols = 1, .len = 8});
	ok(is(wse_submit(ctx, &cmd, 1, NULL, 0, NULL), -ENOENT, "another device do not count"),
	   "a buffer of another device: %s", wse_error());
	ok(wse_submit(ctx, NULL, 1, NULL, 0, NULL) == -EINVAL &&
		   is(wse_submit(ctx, &cmd, 1, NULL, 2, NULL), -EINVAL, "no array of fences"),
	   "arrays that are not there: %s", wse_error());
	ok(is(wse_program_load(ctx, "no-such.elf", &prog), -ENOENT, "no-such.elf cannot be read"),
	   "no program of the library: %s", wse_error());
	ok(wse_program_symbol(prog, NULL, &addr) == -EINVAL &&
		   wse_program_symbol(prog, "x", NULL) == -EINVAL,
	   "a symbol without a name, or a place");
	ok(is(wse_program_symbol((void *)ctx, "x", &addr), -EBADF, "it is a context") &&
		   !wse_program_end((void *)ctx) && !wse_program_copy((void *)ctx, 1).queue,
	   "a context is no program: %s", wse_error());
	wse_program_destroy(prog);
	ok(is(wse_program_symbol(prog, "x", &addr), -EBADF, "it was destroyed") &&
		   !wse_program_end(prog) && !wse_program_copy(prog, 1).queue,
	   "a program that was destroyed: %s", wse_error());
	wse_program_destroy(prog);
	wse_buffer_destroy(other);
	wse_context_destroy(ctx);
	wse_device_close(dev2);
}

/* Objects keep what they stand on alive, though the device is no handle any more. */
static void closed(void)
{
	struct drm_wse_cmd nop = {.queue = 1};
	struct wse_device *dev;
	struct wse_context *ctx;
	struct wse_buffer *buf;
	struct wse_program *prog;
	int good = !wse_device_open(URI, &dev) && !wse_context_create(dev, 0, &ctx) &&
		   !wse_buffer_create(dev, 4096, &buf);

	wse_device_close(dev);
	ok(good && no_device(dev, "it was destroyed"), "a device that was closed: %s", wse_error());
	wse_device_close(dev);
	ok(good && !wse_submit_wait(ctx, &nop, 1, WSE_FOREVER) && wse_buffer_map(buf),
	   "its context and buffers go on");
	ok(good && !wse_program_load(ctx, "linear.elf", &prog), "and can load programs");
	wse_program_destroy(prog);
	wse_context_destroy(ctx);
	wse_buffer_destroy(buf);
	ok(no_device(dev, "it was destroyed") && no_context(ctx, "it was destroyed"),
	   "until they are destroyed, too");
}

/* ---- the table alone ---- */

#define THREADS 4
#define EACH	3000

static void *many(void *arg)
{
	char *base = arg;
	long bad = 0;

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < EACH; i++)
			bad += wse_handle_add(WSE_HANDLE_BUFFER, base + i) != 0;
		for (int i = 0; i < EACH; i++)
			bad += wse_handle_check(WSE_HANDLE_BUFFER, base + i) != 0;
		for (int i = 0; i < EACH; i++) {
			/* in another order than they came */
			char *p = base + (long)i * 7 % EACH;

			bad += wse_handle_remove(WSE_HANDLE_BUFFER, p) != 0;
			bad += wse_handle_check(WSE_HANDLE_BUFFER, p) != -EBADF;
			if (i % 100 == 0 && i + 1 < EACH)
				bad += wse_handle_check(WSE_HANDLE_BUFFER,
							base + (long)(i + 1) * 7 % EACH) != 0;
		}
	}
	return (void *)bad;
}

static void table(void)
{
	char *base = malloc(THREADS * EACH);
	pthread_t t[THREADS];
	void *bad;
	long sum = 0;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, many, base + i * EACH);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &bad);
		sum += (long)bad;
	}
	ok(!sum, "%d handles of %d threads come and go", THREADS * EACH, THREADS);
	free(base);
}

/* A fork has none of the threads behind these handles. */
static void in_fork(struct wse_device *dev, struct wse_context *ctx, struct wse_buffer *buf,
		    struct wse_fence *fence)
{
	static const char words[] = "of which this one is a fork";
	struct drm_wse_cmd nop = {.queue = 1};
	struct wse_device *own;
	struct wse_context *lease;
	int good;

	alarm(60);
	good = no_device(dev, words) && no_context(ctx, words) && no_fence(fence, words) &&
	       no_buffer(dev, buf, words);
	wse_fence_destroy(fence);
	wse_buffer_destroy(buf);
	wse_context_destroy(ctx);
	wse_device_close(dev);
	good = good && !wse_device_open(URI, &own) && !wse_context_create(own, 0, &lease) &&
	       !wse_submit_wait(lease, &nop, 1, WSE_FOREVER);
	_exit(!good);
}

static void forks(void)
{
	struct drm_wse_cmd nop = {.queue = 1};
	struct wse_device *dev;
	struct wse_context *ctx;
	struct wse_buffer *buf;
	struct wse_fence *fence;
	int good = !wse_device_open(URI, &dev) && !wse_context_create(dev, 0, &ctx) &&
		   !wse_buffer_create(dev, 64, &buf) && !wse_submit(ctx, &nop, 1, NULL, 0, &fence);
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = good ? fork() : -1;
	if (!pid)
		in_fork(dev, ctx, buf, fence);
	waitpid(pid, &status, 0);
	ok(good && !status, "a fork is told that they are not its own, and opens another one");
	ok(good && !wse_fence_wait(fence, WSE_FOREVER) &&
		   !wse_submit_wait(ctx, &nop, 1, WSE_FOREVER),
	   "they stay what they were");
	wse_fence_destroy(fence);
	wse_buffer_destroy(buf);
	wse_context_destroy(ctx);
	wse_device_close(dev);
}

int main(void)
{
	struct wse_device *dev;
	char nothing[64] = ""; /* an address that no object has */

	ok(no_device(NULL, "the device is NULL") && no_context(NULL, "the context is NULL") &&
		   no_fence(NULL, "the fence is NULL"),
	   "NULL: %s", wse_error());
	ok(no_device((void *)nothing, "or never was one"), "an address: %s", wse_error());
	if (!ok(!wse_device_open(URI, &dev), "a device"))
		return tap_end();
	ok(no_buffer(dev, NULL, "the buffer is NULL"), "no buffer");
	kinds(dev);
	programs(dev);
	wse_device_close(dev);
	closed();
	forks();
	table();
	return tap_end();
}
