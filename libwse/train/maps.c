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

/* of one piece of memory; NULL: none */
struct map {
	uint64_t *of[WSE_HEAT_MAPS];
};

struct wse_maps {
	uint32_t n;
	struct {
		uint32_t rows, cols;
		struct map all, phase[WSE_MAP_PHASES];
		int ended[WSE_MAP_PHASES];
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
	for (uint32_t i = 0; maps && i < maps->n; i++) {
		free(maps->device[i].all.of[0]);
		for (uint32_t k = 0; k < WSE_MAP_PHASES; k++)
			free(maps->device[i].phase[k].of[0]);
	}
	free(maps);
}

/* counting begins; 0 too where there are no counters: then m has none */
static int start(struct wse_device *dev, size_t cores, struct map *m)
{
	struct wse_failure before;
	uint64_t *all = calloc((WSE_HEAT_LINK + 4) * cores, sizeof(*all));

	if (!all)
		return -ENOMEM;
	wse_failure_keep(&before, 0);
	for (uint32_t k = 0; k < WSE_HEAT_MAPS; k++)
		m->of[k] = all + k * cores;
	if (!count(dev, (uint32_t)cores, m->of))
		return 0;
	wse_failure_undo(&before);
	free(all);
	m->of[0] = NULL;
	return 0;
}

/* a device's, from now on; 0 too where it has none */
static int begin(struct wse_maps *maps, uint32_t i, struct wse_device *dev)
{
	struct wse_failure before;
	struct drm_wse_info info;

	wse_failure_keep(&before, 0);
	if (!dev || wse_device_info(dev, &info)) {
		wse_failure_undo(&before);
		return 0;
	}
	maps->device[i].rows = info.rows;
	maps->device[i].cols = info.cols;
	return start(dev, (size_t)info.rows * info.cols, &maps->device[i].all);
}

void wse_maps_phase(struct wse_maps *maps, uint32_t i, struct wse_device *dev, uint32_t phase,
		    int begins)
{
	struct map *m = &maps->device[i].phase[phase];
	uint32_t cores = maps->device[i].rows * maps->device[i].cols;
	struct wse_failure before;

	wse_failure_keep(&before, 0);
	if (begins && !m->of[0] && maps->device[i].all.of[0] && dev)
		start(dev, cores, m);
	else if (!begins && m->of[0] && dev && !maps->device[i].ended[phase])
		maps->device[i].ended[phase] = !count(dev, cores, m->of);
	wse_failure_undo(&before);
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

static int write_map(const struct wse_maps *maps, uint32_t i, const char *uri, const char *dir,
		     const char *phase, const struct map *m)
{
	char path[PATH_MAX], words[TITLE], text[TITLE + 80];
	int ret;

	title(words, uri);
	snprintf(text, sizeof(text), "%s%s%s", words, *phase ? ", one micro-batch: " : "", phase);
	snprintf(path, sizeof(path), "%.3000s/wafer-%u%s%s.svg", dir, i, *phase ? "-" : "", phase);
	ret = wse_heat_write(path, text, maps->device[i].rows, maps->device[i].cols, m->of);
	return ret ? wse_fail(ret, "heat map %.300s: %s", path, strerror(-ret)) : 0;
}

int wse_maps_close(struct wse_swarm *swarm, const char *dir, const char *const *phases,
		   struct wse_maps *maps)
{
	struct wse_failure before;
	int ret = 0;

	wse_failure_keep(&before, 0);
	for (uint32_t i = 0; i < maps->n && !ret; i++) {
		struct wse_device *dev = wse_swarm_device(swarm, i);
		uint32_t cores = maps->device[i].rows * maps->device[i].cols;
		const char *uri = dev ? wse_device_uri(dev) : "";

		if (!maps->device[i].all.of[0] || !dev ||
		    count(dev, cores, maps->device[i].all.of)) {
			wse_failure_undo(&before);
			continue; /* it has failed meanwhile */
		}
		ret = write_map(maps, i, uri, dir, "", &maps->device[i].all);
		for (uint32_t k = 0; k < WSE_MAP_PHASES && !ret; k++)
			if (maps->device[i].ended[k])
				ret = write_map(maps, i, uri, dir, phases[k],
						&maps->device[i].phase[k]);
	}
	wse_maps_free(maps);
	return ret;
}
