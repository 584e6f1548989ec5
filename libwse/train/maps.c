// SPDX-License-Identifier: MIT
#include "train/maps.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wse/wse.h>

#include "base/error.h"
#include "heat.h"
#include "swarmx/swarmx.h"

#define TITLE 300

struct wse_maps {
	uint32_t n;
	struct {
		uint32_t rows, cols;
		uint64_t *map[WSE_HEAT_MAPS]; /* of one piece of memory; NULL: none */
	} device[WSE_SWARM_MAX];
};

static const char *const names[WSE_HEAT_MAPS] = {
	[WSE_HEAT_MAC] = "mac",
	[WSE_HEAT_LWAIT] = "lwait",
	[WSE_HEAT_INSTRET] = "instret",
	[WSE_HEAT_LINK] = "link",
};

/* the place of a counter among those of its scope */
static uint32_t place(uint32_t scope, const char *name)
{
	const struct wse_counter *c;
	uint32_t i;

	for (i = 0; (c = wse_counter(scope, i)) && strcmp(c->name, name); i++)
		;
	return i;
}

/* map = the counters - what it has */
static int count(struct wse_device *dev, uint32_t cores, uint64_t *const *map)
{
	uint64_t v[WSE_CNT_MAX];
	uint32_t n, k, i, at[WSE_HEAT_MAPS];
	int ret = 0;

	for (k = 0; k < WSE_HEAT_MAPS; k++)
		at[k] = place(k == WSE_HEAT_LINK ? DRM_WSE_SCOPE_LINK : DRM_WSE_SCOPE_CORE,
			      names[k]);
	for (i = 0; i < cores && !ret; i++) {
		memset(v, 0, sizeof(v));
		ret = wse_device_counters(dev, DRM_WSE_SCOPE_CORE, i, v, WSE_CNT_MAX, &n);
		for (k = 0; k < WSE_HEAT_LINK; k++)
			map[k][i] = v[at[k]] - map[k][i];
	}
	for (i = 0; i < 4 * cores && !ret; i++) {
		memset(v, 0, sizeof(v));
		ret = wse_device_counters(dev, DRM_WSE_SCOPE_LINK, i, v, WSE_CNT_MAX, &n);
		map[WSE_HEAT_LINK][i] = v[at[WSE_HEAT_LINK]] - map[WSE_HEAT_LINK][i];
	}
	return ret;
}

void wse_maps_free(struct wse_maps *maps)
{
	for (uint32_t i = 0; maps && i < maps->n; i++)
		free(maps->device[i].map[0]);
	free(maps);
}

/* a device's, from now on; 0 too where it has none */
static int begin(struct wse_maps *maps, uint32_t i, struct wse_device *dev)
{
	struct wse_failure before;
	struct drm_wse_info info;
	uint64_t *all;
	size_t cores;

	wse_failure_keep(&before, 0);
	if (!dev || wse_device_info(dev, &info)) {
		wse_failure_undo(&before);
		return 0;
	}
	cores = (size_t)info.rows * info.cols;
	all = calloc((WSE_HEAT_LINK + 4) * cores, sizeof(*all));
	if (!all)
		return -ENOMEM;
	maps->device[i].rows = info.rows;
	maps->device[i].cols = info.cols;
	for (uint32_t k = 0; k < WSE_HEAT_MAPS; k++)
		maps->device[i].map[k] = all + k * cores;
	if (!count(dev, (uint32_t)cores, maps->device[i].map))
		return 0;
	wse_failure_undo(&before);
	free(all);
	maps->device[i].map[0] = NULL;
	return 0;
}

int wse_maps_open(struct wse_swarm *swarm, struct wse_maps **out)
{
	struct wse_maps *maps = calloc(1, sizeof(*maps));
	int ret = maps ? 0 : -ENOMEM;

	for (uint32_t i = 0; !ret && i < wse_swarm_size(swarm); i++) {
		maps->n = i + 1;
		ret = begin(maps, i, wse_swarm_device(swarm, i));
	}
	if (ret)
		wse_maps_free(maps);
	else
		*out = maps;
	return ret ? wse_fail(ret, "no memory for heat maps") : 0;
}

/* of XML; a URI may have other than letters */
static void title(char *to, const char *uri)
{
	size_t n = 0;

	for (; *uri && n + 1 < TITLE; uri++)
		to[n++] = strchr("<>&\"'", *uri) || (unsigned char)*uri < ' ' ? '?' : *uri;
	to[n] = 0;
}

int wse_maps_close(struct wse_swarm *swarm, const char *dir, struct wse_maps *maps)
{
	char path[PATH_MAX], words[TITLE];
	struct wse_failure before;
	int ret = 0;

	wse_failure_keep(&before, 0);
	for (uint32_t i = 0; i < maps->n && !ret; i++) {
		struct wse_device *dev = wse_swarm_device(swarm, i);
		uint32_t rows = maps->device[i].rows, cols = maps->device[i].cols;

		if (!maps->device[i].map[0] || !dev ||
		    count(dev, rows * cols, maps->device[i].map)) {
			wse_failure_undo(&before);
			continue; /* it has failed meanwhile */
		}
		title(words, wse_device_uri(dev));
		snprintf(path, sizeof(path), "%.3000s/wafer-%u.svg", dir, i);
		ret = wse_heat_write(path, words, rows, cols, maps->device[i].map);
		if (ret)
			wse_fail(ret, "heat map %.300s: %s", path, strerror(-ret));
	}
	wse_maps_free(maps);
	return ret;
}
