// SPDX-License-Identifier: MIT
/*
 * The RTL in process: the same program takes the same device cycles, from the first command on,
 * whatever the host's threads do in between. And time does pass for a thread that only asks, or
 * does not wait at all.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <wse/wse.h>
#include "device/device.h"
#include "tap.h"
#include "wave.h"

#define URI  "sim:rtl,rows=2,cols=2"
#define JOBS 6u

static atomic_bool busy;

static void *burn(void *arg)
{
	volatile uint64_t *n = arg;

	while (atomic_load(&busy))
		++*n;
	return NULL;
}

/* Lets the host dawdle a number of microseconds that differs from call to call. */
static void dawdle(unsigned int lazy)
{
	static unsigned int n;

	if (lazy)
		usleep(lazy * (n++ * 7919 % 13));
}

static struct drm_wse_cmd copy(struct wse_buffer *buf, uint32_t i)
{
	struct wse_copy c = {.buf = buf,
			     .queue = 1 + i % 2,
			     .rows = 2,
			     .cols = 2,
			     .sram = 0x2000 + 0x400 * i,
			     .len = 400 + 8 * i,
			     .cstride = 1024,
			     .rstride = 2048};

	return i % 3 ? wse_cmd_copy_in(c) : wse_cmd_copy_out(c);
}

static bool open_all(struct wse_device **dev, struct wse_context **ctx, struct wse_buffer **buf)
{
	return !wse_device_open(URI, dev) && !wse_context_create(*dev, 0, ctx) &&
	       !wse_buffer_create(*dev, 1 << 16, buf);
}

static void close_all(struct wse_device *dev, struct wse_context *ctx, struct wse_buffer *buf)
{
	wse_context_destroy(ctx);
	wse_buffer_destroy(buf);
	wse_device_close(dev);
}

/* Device cycles of some jobs: waited for late, early, or asked for. */
static bool run(unsigned int lazy, uint32_t *cycle)
{
	struct wse_device *dev;
	struct wse_fence *f[JOBS];
	struct wse_context *ctx;
	struct wse_buffer *buf;
	struct drm_wse_cmd c[2];
	uint64_t n[4];
	uint32_t count;
	bool good = true;

	if (!open_all(&dev, &ctx, &buf))
		return false;
	for (uint32_t i = 0; i < JOBS; i++) {
		c[0] = copy(buf, i);
		c[1] = copy(buf, i + 1);
		dawdle(lazy);
		good &= !wse_submit(ctx, c, 2, NULL, 0, &f[i]);
		dawdle(lazy);
		if (i == 2)
			good &= !wse_fence_wait(f[1], WSE_FOREVER);
		if (i == 3)
			good &= wse_fence_poll(f[3]) == -ETIMEDOUT;
		if (i == 4)
			good &= !wse_device_counters(dev, DRM_WSE_SCOPE_TILE, 0, n, 4, &count);
	}
	for (uint32_t i = 0; i < JOBS; i++) {
		dawdle(lazy);
		good &= !wse_fence_wait(f[i], WSE_FOREVER);
		good &= !wse_fence_cycles(f[i], &cycle[2 * i], &cycle[2 * i + 1]);
		wse_fence_destroy(f[i]);
	}
	close_all(dev, ctx, buf);
	return good;
}

static void test_same(void)
{
	static const unsigned int lazy[] = {0, 20, 300, 2000, 0};
	uint32_t first[2 * JOBS], cycle[2 * JOBS];
	uint64_t count = 0;
	pthread_t thread;

	if (!ok(run(0, first) && first[2 * JOBS - 1] > first[0], "jobs on %s", URI))
		return;
	for (unsigned int i = 0; i < 5; i++) {
		bool load = i >= 3;

		atomic_store(&busy, load);
		if (load)
			pthread_create(&thread, NULL, burn, &count);
		ok(run(lazy[i], cycle) && !memcmp(first, cycle, sizeof(first)),
		   "the same cycles, %u us of idling, %s", lazy[i] * 12,
		   load ? "a busy host" : "an idle host");
		atomic_store(&busy, false);
		if (load)
			pthread_join(thread, NULL);
	}
}

/* No thread waits: the device goes on by itself in the end. */
static void test_alone(void)
{
	struct wse_device *dev;
	struct wse_context *ctx;
	struct wse_buffer *buf;
	struct wse_fence *fence;
	struct drm_wse_cmd c;
	volatile uint8_t *p;
	int n = 0;

	if (!ok(open_all(&dev, &ctx, &buf), "another one"))
		return;
	p = wse_buffer_map(buf);
	*p = 0xaa;
	c = copy(buf, 0);
	ok(!wse_submit(ctx, &c, 1, NULL, 0, NULL), "a job without a fence");
	while (*p == 0xaa && n++ < 200)
		usleep(100000);
	ok(*p == 0, "it is done, although no thread waits for it");
	ok(!wse_submit(ctx, &c, 1, NULL, 0, &fence), "a job that is only asked for");
	for (n = 0; n < 100000 && wse_fence_poll(fence) == -ETIMEDOUT; n++)
		;
	ok(!wse_fence_poll(fence) && n < 100, "comes to an end within some asking");
	wse_fence_destroy(fence);
	*p = 0xaa;
	ok(!wse_submit(ctx, &c, 1, NULL, 0, &fence), "a job at the end");
	wse_fence_destroy(fence);
	wse_context_destroy(ctx);
	ok(*p != 0xaa, "destroying the context waits for it");
	wse_buffer_destroy(buf);
	wse_device_close(dev);
}

/* A device that is watched stands still however long the host takes between two submissions. */
static void test_watched(void)
{
	struct wse_watch seen;
	struct wse_device *dev;
	struct wse_context *ctx;
	struct wse_buffer *buf;
	struct wse_fence *fence;
	struct drm_wse_cmd c;
	volatile uint8_t *p;

	if (!ok(open_all(&dev, &ctx, &buf) && !dev->ops->watch(dev, NULL), "one that is watched"))
		return;
	p = wse_buffer_map(buf);
	*p = 0xaa;
	c = copy(buf, 0);
	ok(!wse_submit(ctx, &c, 1, NULL, 0, &fence), "a job that is not waited for");
	sleep(5);
	ok(*p == 0xaa, "no time passes in 5 s");
	ok(!wse_fence_wait(fence, WSE_FOREVER) && *p == 0, "until a thread waits");
	ok(!dev->ops->watch(dev, &seen) && !seen.failed && seen.moved, "and it was seen to move");
	wse_fence_destroy(fence);
	close_all(dev, ctx, buf);
}

int main(void)
{
	struct wse_device *dev;
	int ret = wse_device_open(URI, &dev);

	alarm(600);
	if (ret == -ENOTSUP) {
		ok(1, "%s # SKIP %s", URI, wse_error());
		return tap_end();
	}
	if (!ret)
		wse_device_close(dev);
	test_same();
	test_alone();
	test_watched();
	return tap_end();
}
