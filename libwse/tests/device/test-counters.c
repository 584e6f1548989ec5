// SPDX-License-Identifier: MIT
/*
 * Counters: what they are called, that those of cores, links and queues add up to those of the
 * tile, that RTL and twin agree on those that are exact, and what is refused.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <wse/wse.h>
#include "linear.h"

#include "tap.h"
#include "wse_regs.h"

#define SIDE 2
#define MANY 64
#define BIG  256

/* one linear layer, all three of its operations, the same on every model */
static int work(struct wse_device *dev, struct wse_context *ctx, uint32_t ins, uint32_t outs)
{
	struct place x, w, y, none = {0};
	struct wse_buffer *buf;
	struct linear lin = {0};
	struct wse_fence *fence;
	int ret = linear_open(&lin, ctx, 32, ins, outs, 0);

	if (ret)
		return ret;
	ret = wse_buffer_create(dev, 24 << 20, &buf);
	if (ret)
		return ret;
	x = (struct place){.buf = buf};
	w = (struct place){.buf = buf, .off = 1 << 20};
	y = (struct place){.buf = buf, .off = 8 << 20};
	for (int i = 0; !ret && i < 3; i++) {
		if (i == 0)
			ret = linear_forward(&lin, x, w, none, y, &fence);
		else if (i == 1)
			ret = linear_backward_data(&lin, x, w, none, y, &fence);
		else
			ret = linear_backward_weight(&lin, x, x, none, y, &fence);
		if (!ret) {
			ret = wse_fence_wait(fence, WSE_FOREVER);
			wse_fence_destroy(fence);
		}
	}
	wse_buffer_destroy(buf);
	linear_close(&lin);
	return ret;
}

/* Cores go on a little after they have said DONE: until nothing but time is counted any more. */
static void settle(struct wse_device *dev)
{
	uint64_t a[MANY], b[MANY];
	uint32_t n;
	int moved = 1;

	for (int i = 0; i < 1000 && moved; i++) {
		wse_device_counters(dev, DRM_WSE_SCOPE_TILE, 0, a, MANY, &n);
		usleep(1000);
		wse_device_counters(dev, DRM_WSE_SCOPE_TILE, 0, b, MANY, &n);
		a[WSE_CNT_CYCLES] = b[WSE_CNT_CYCLES];
		moved = memcmp(a, b, n * sizeof(*a)) != 0;
	}
}

static void sums(struct wse_device *dev, const char *uri)
{
	static const uint32_t objects[] = {1, SIDE * SIDE, 4 * SIDE * SIDE, MANY};
	uint64_t tile[MANY], sum[MANY] = {0}, v[MANY];
	struct drm_wse_info info;
	const struct wse_counter *k;
	uint32_t n, scope, i, j, kept = 0;
	int good = 1;

	wse_device_info(dev, &info);
	settle(dev);
	good &= !wse_device_counters(dev, DRM_WSE_SCOPE_TILE, 0, tile, MANY, &n);
	for (scope = DRM_WSE_SCOPE_CORE; scope <= DRM_WSE_SCOPE_QUEUE; scope++) {
		uint32_t count = scope == DRM_WSE_SCOPE_QUEUE ? info.queues + 1 : objects[scope];

		memset(sum, 0, sizeof(sum));
		for (i = 0; i < count; i++) {
			good &= !wse_device_counters(dev, scope, i, v, MANY, &n);
			for (j = 0; j < n; j++)
				sum[j] += v[j];
		}
		for (j = i = 0; (k = wse_counter(DRM_WSE_SCOPE_TILE, i)); i++) {
			if (k->scope != scope)
				continue;
			good &= k == wse_counter(scope, j);
			if (tile[i] != sum[j])
				printf("# %s: %llu in all, %llu of each\n", k->name,
				       (unsigned long long)tile[i], (unsigned long long)sum[j]);
			good &= tile[i] == sum[j++];
			kept++;
		}
		good &= j == n && !wse_counter(scope, j);
	}
	ok(good && kept >= 6, "%s: cores, links and queues add up to the tile", uri);
	ok(tile[WSE_CNT_MAC] == 3 * 32 * 16 * 24, "%s: %llu multiply-adds", uri,
	   (unsigned long long)tile[WSE_CNT_MAC]);
}

static void refusals(struct wse_device *dev)
{
	uint64_t v[2] = {7, 7};
	uint32_t n = 0;

	ok(wse_device_counters(dev, 4, 0, v, 2, &n) == -EINVAL && strstr(wse_error(), "no scope"),
	   "a scope that does not exist: %s", wse_error());
	ok(wse_device_counters(dev, DRM_WSE_SCOPE_CORE, SIDE * SIDE, v, 2, &n) == -EINVAL &&
		   strstr(wse_error(), "4 cores"),
	   "a core that does not exist: %s", wse_error());
	ok(wse_device_counters(dev, DRM_WSE_SCOPE_TILE, 1, v, 2, &n) == -EINVAL && !n && v[0] == 7,
	   "another tile");
	ok(!wse_device_counters(dev, DRM_WSE_SCOPE_TILE, 0, v, 1, &n) && n == WSE_CNT_COUNT &&
		   v[1] == 7,
	   "no more is written than there is room for");
	ok(!wse_device_counters(dev, DRM_WSE_SCOPE_TILE, 0, NULL, 0, &n) && n == WSE_CNT_COUNT,
	   "and how many there are can be asked alone");
}

/* every core's and link's exact counters, one after the other */
static uint32_t each(struct wse_device *dev, uint64_t *v)
{
	uint32_t n = 0, i, k, have;
	uint64_t one[MANY];

	for (i = 0; i < 4 * SIDE * SIDE; i++) {
		wse_device_counters(dev, DRM_WSE_SCOPE_LINK, i, one, MANY, &have);
		for (k = 0; k < have; k++)
			if (wse_counter(DRM_WSE_SCOPE_LINK, k)->exact)
				v[n++] = one[k];
	}
	for (i = 0; i < SIDE * SIDE; i++) {
		wse_device_counters(dev, DRM_WSE_SCOPE_CORE, i, one, MANY, &have);
		for (k = 0; k < have; k++)
			if (wse_counter(DRM_WSE_SCOPE_CORE, k)->exact)
				v[n++] = one[k];
	}
	return n;
}

/* a tile of several parts, by one thread and by two */
static void threads(void)
{
	uint64_t v[2][MANY];
	uint32_t n = 0;
	int good = 1;

	for (int i = 0; i < 2; i++) {
		struct wse_device *dev;
		struct wse_context *ctx;
		char uri[64];

		snprintf(uri, sizeof(uri), "sim:func,rows=2,cols=%d,threads=%d", BIG, i + 1);
		if (wse_device_open(uri, &dev)) {
			good = 0;
			continue;
		}
		good &= !wse_context_create(dev, 0, &ctx) && !work(dev, ctx, 4 * BIG, 8 * BIG);
		settle(dev);
		wse_device_counters(dev, DRM_WSE_SCOPE_TILE, 0, v[i], MANY, &n);
		wse_context_destroy(ctx);
		wse_device_close(dev);
	}
	for (uint32_t i = 0; i < n; i++)
		good &= v[0][i] == v[1][i] || !wse_counter(DRM_WSE_SCOPE_TILE, i)->exact;
	ok(good && n == WSE_CNT_COUNT, "a row of %d cores: the same by one thread and by two", BIG);
}

/* what a counter of time may say on a tile of 2 x 2: v [WSE_CNT_COUNT]; twin: what it says there */
static bool possible(uint32_t counter, const uint64_t *v, uint64_t twin)
{
	enum { CORES = 4, ENTRY = 64 };

	switch (counter) {
	case WSE_CNT_DMA_RD: /* each command's entry and the images once, little of it again */
		return v[counter] > v[WSE_CNT_CMDS] * ENTRY && v[counter] < 2 * twin &&
		       twin < 2 * v[counter];
	case WSE_CNT_LWAIT:
		return v[counter] && v[counter] < CORES * v[WSE_CNT_CYCLES];
	case WSE_CNT_CYCLES: /* a core retires one instruction a cycle at most */
		return v[counter] >= v[WSE_CNT_INSTRET] / CORES;
	default:
		return false;
	}
}

int main(void)
{
	static uint64_t objects[4][1024];

	static const char *const uris[] = {"sim:func,rows=2,cols=2",
					   "sim:func,rows=2,cols=2,threads=2",
					   "sim:rtl,rows=2,cols=2", "sim:rtl,rows=2,cols=2,seed=5"};
	uint64_t count[4][MANY];
	const struct wse_counter *k;
	uint32_t n, i, m = 0;
	int named = 1;

	for (i = 0; (k = wse_counter(DRM_WSE_SCOPE_TILE, i)); i++)
		named &= k->name[0] && k->unit[0] && k->what[0];
	ok(named && i == WSE_CNT_COUNT, "%u counters with name, unit and meaning", i);
	ok(!wse_counter(9, 0) && !wse_counter(DRM_WSE_SCOPE_TILE, UINT32_MAX), "and no others");
	for (i = 0; i < 4; i++) {
		struct wse_device *dev;
		struct wse_context *ctx;
		int ret = wse_device_open(uris[i], &dev);

		if (ret == -ENOTSUP) {
			ok(1, "%s # SKIP %s", uris[i], wse_error());
			continue;
		}
		ret = ret ? ret : wse_context_create(dev, 0, &ctx);
		ok(!ret && !work(dev, ctx, 16, 24), "%s: a linear layer", uris[i]);
		if (ret)
			continue;
		sums(dev, uris[i]);
		wse_device_counters(dev, DRM_WSE_SCOPE_TILE, 0, count[m++], MANY, &n);
		named = each(dev, objects[i]);
		ok(named > 20 && !memcmp(objects[i], objects[0], sizeof(objects[0])),
		   "%s: %d exact counters of cores and links, as on the twin", uris[i], named);
		if (i == 0)
			refusals(dev);
		wse_context_destroy(ctx);
		wse_device_close(dev);
	}
	threads();
	for (i = 0; m > 1 && (k = wse_counter(DRM_WSE_SCOPE_TILE, i)); i++) {
		int same = 1;

		for (n = 0; n < m; n++)
			same &= k->exact ? count[n][i] == count[0][i]
					 : possible(i, count[n], count[0][i]);
		ok(same, "%s: %llu %s on the twin, %llu on the last%s", k->name,
		   (unsigned long long)count[0][i], k->unit, (unsigned long long)count[m - 1][i],
		   k->exact ? "" : " (timing)");
	}
	return tap_end();
}
