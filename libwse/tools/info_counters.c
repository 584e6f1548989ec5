// SPDX-License-Identifier: MIT
/* wse-info --counters: those of the tile, and a table for each scope that counters are kept for. */
#include "info_counters.h"

#include <stdio.h>

#include "device/device.h"

#define MOST 64

static void print_scope(struct wse_device *dev, const struct drm_wse_info *info, uint32_t scope,
			const char *what)
{
	uint32_t objects = wse_counter_objects(info, scope), i, k, n;
	uint64_t v[MOST];

	for (i = 0; i < objects; i++) {
		if (wse_device_counters(dev, scope, i, v, MOST, &n))
			return;
		if (!i && n) {
			printf("  %8s", what);
			for (k = 0; k < n && wse_counter(scope, k); k++)
				printf(" %16s", wse_counter(scope, k)->name);
			putchar('\n');
		}
		if (!n)
			return;
		if (scope == DRM_WSE_SCOPE_QUEUE)
			printf("  %8u", i);
		else if (scope == DRM_WSE_SCOPE_CORE)
			printf("  %4u,%3u", i / info->cols, i % info->cols);
		else
			printf("  %4u,%u %c", i / 4 / info->cols, i / 4 % info->cols,
			       "NESW"[i % 4]);
		for (k = 0; k < n && wse_counter(scope, k); k++)
			printf(" %16llu", (unsigned long long)v[k]);
		putchar('\n');
	}
}

int print_counters(struct wse_device *dev, const struct drm_wse_info *info)
{
	const struct wse_counter *c;
	uint64_t v[MOST];
	uint32_t n, i;
	int ret = wse_device_counters(dev, DRM_WSE_SCOPE_TILE, 0, v, MOST, &n);

	if (ret)
		return ret;
	printf("  counters since the last reset:\n");
	for (i = 0; i < n && (c = wse_counter(DRM_WSE_SCOPE_TILE, i)); i++)
		printf("  %8s %16llu %s (%s)\n", c->name, (unsigned long long)v[i], c->unit,
		       c->what);
	if (n > i)
		printf("  and %u that this release does not know\n", n - i);
	print_scope(dev, info, DRM_WSE_SCOPE_QUEUE, "queue");
	print_scope(dev, info, DRM_WSE_SCOPE_CORE, "core");
	print_scope(dev, info, DRM_WSE_SCOPE_LINK, "link");
	return 0;
}
