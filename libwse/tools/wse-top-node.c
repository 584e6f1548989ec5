// SPDX-License-Identifier: MIT
/* wse-top: device nodes, by the driver's counters and by the fdinfo of the file with the lease. */
#define _GNU_SOURCE /* versionsort */
#include "wse-top.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <wse/wse.h>

#include "device/device.h"
#include "wse_regs.h"

#define NODES "/dev/accel"

static int is_node(const struct dirent *e)
{
	const char *name = e->d_name;

	return !strncmp(name, "accel", 5) && name[5] >= '0' && name[5] <= '9' && strlen(name) < 20;
}

static void find_node(struct top *t, const char *name)
{
	char path[64];
	uint32_t i;

	snprintf(path, sizeof(path), NODES "/%.20s", name);
	for (i = 0; i < t->nsources && strcmp(t->source[i].name, path); i++)
		;
	if (i < t->nsources || i == TOP_SOURCES)
		return;
	t->source[i] = (struct top_source){.node = 1};
	snprintf(t->source[i].name, sizeof(t->source[i].name), "%s", path);
	t->nsources++;
}

void top_find_nodes(struct top *t)
{
	struct dirent **list = NULL;
	int n = scandir(NODES, &list, is_node, versionsort);

	for (int i = 0; i < n; i++) {
		find_node(t, list[i]->d_name);
		free(list[i]);
	}
	free(list);
}

static int counters(struct wse_device *dev, uint32_t scope, uint32_t object, uint64_t *v)
{
	uint32_t n;

	memset(v, 0, WSE_CNT_MAX * sizeof(*v));
	return wse_device_counters(dev, scope, object, v, WSE_CNT_MAX, &n);
}

/* of an object, by its name among those of the scope */
static uint64_t value(uint32_t scope, const char *name, const uint64_t *v)
{
	const struct wse_counter *c;
	uint32_t i;

	for (i = 0; (c = wse_counter(scope, i)) && strcmp(c->name, name); i++)
		;
	return c ? v[i] : 0;
}

static int ask_cores(struct wse_device *dev, struct top_device *d)
{
	uint32_t cores = d->rows * d->cols;
	uint64_t v[WSE_CNT_MAX];
	int ret = 0;

	for (uint32_t k = 0; k < TOP_MAPS; k++) {
		d->map[k] = calloc(cores, (k == TOP_LINK ? 4 : 1) * sizeof(*d->map[k]));
		if (!d->map[k])
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < cores && !ret; i++) {
		ret = counters(dev, DRM_WSE_SCOPE_CORE, i, v);
		d->map[TOP_MAC][i] = value(DRM_WSE_SCOPE_CORE, "mac", v);
		d->map[TOP_LWAIT][i] = value(DRM_WSE_SCOPE_CORE, "lwait", v);
		d->map[TOP_INSTRET][i] = value(DRM_WSE_SCOPE_CORE, "instret", v);
	}
	for (uint32_t i = 0; i < 4 * cores && !ret; i++) {
		ret = counters(dev, DRM_WSE_SCOPE_LINK, i, v);
		d->map[TOP_LINK][i] = value(DRM_WSE_SCOPE_LINK, "link", v);
	}
	return ret;
}

static int ask_device(struct wse_device *dev, struct top_device *d)
{
	struct drm_wse_info info;
	uint64_t v[WSE_CNT_MAX];
	int ret = wse_device_info(dev, &info);

	ret = ret ? ret : counters(dev, DRM_WSE_SCOPE_TILE, 0, v);
	if (ret)
		return ret;
	d->rows = info.rows;
	d->cols = info.cols;
	d->lanes = info.lanes;
	d->cycles = v[WSE_CNT_CYCLES];
	d->mac = v[WSE_CNT_MAC];
	d->cmds = v[WSE_CNT_CMDS];
	d->rd = v[WSE_CNT_DMA_RD];
	d->wr = v[WSE_CNT_DMA_WR];
	d->nqueues = wse_counter_objects(&info, DRM_WSE_SCOPE_QUEUE);
	d->nqueues = d->nqueues < TOP_QUEUES ? d->nqueues : TOP_QUEUES;
	for (uint32_t q = 0; q < d->nqueues && !ret; q++) {
		ret = counters(dev, DRM_WSE_SCOPE_QUEUE, q, v);
		d->queue[q] = v[0];
	}
	return ret ? ret : ask_cores(dev, d);
}

void top_ask_node(struct top_source *s, struct top_look *l)
{
	struct wse_accel_use use;
	struct top_device *d = &l->device[0];
	struct timespec t;
	char uri[160];
	int ret = 0;

	clock_gettime(CLOCK_MONOTONIC, &t);
	l->time = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
	l->ndevices = 1;
	snprintf(d->name, sizeof(d->name), "%.79s", s->name);
	snprintf(uri, sizeof(uri), "accel:%.127s", s->name);
	if (!s->dev)
		ret = wse_device_open(uri, &s->dev);
	if (ret)
		s->dev = NULL;
	ret = ret ? ret : ask_device(s->dev, d);
	if (ret) { /* it may come back as another one */
		snprintf(d->says, sizeof(d->says), "%s",
			 ret == -ENOMEM ? "no memory" : wse_error());
		wse_device_close(s->dev);
		s->dev = NULL;
		return;
	}
	if (wse_accel_use(s->name, &use))
		return;
	snprintf(d->holder, sizeof(d->holder), "%s", use.who);
	d->busy_ns = use.busy_ns;
}
