// SPDX-License-Identifier: MIT
#include "profile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <wse/wse.h>

#include "base/dirs.h"
#include "base/error.h"
#include "device/device.h"
#include "timeline.h"
#include "train/profile.h"
#include "train/session.h"

#define QUEUES	8
#define SUBMITS 1u /* the thread of that track; queues are behind it */
#define DIR_MAX 3000
#define WORDS	80

static struct {
	const char *to;
	char dir[PATH_MAX]; /* of the benchmark that runs; "": none does */
	uint32_t sessions, submits;
	struct wse_timeline *t; /* NULL: no commands yet */
	uint64_t track[QUEUES + 1];
	uint64_t end; /* cycles of all submits so far */
} profile;

void bench_profile_to(const char *dir)
{
	profile.to = dir;
}

int bench_profiled(void)
{
	return profile.to != NULL;
}

int bench_profile_begin(const char *name)
{
	int ret;

	if (!profile.to)
		return 0;
	if (strlen(profile.to) > DIR_MAX)
		return wse_fail(-ENAMETOOLONG, "profile: the name of its folder is too long");
	snprintf(profile.dir, sizeof(profile.dir), "%.*s/%.100s", DIR_MAX, profile.to, name);
	profile.sessions = 0;
	profile.submits = 0;
	profile.end = 0;
	ret = wse_make_dirs(profile.dir);
	return ret ? wse_fail(ret, "profile %.300s: %s", profile.dir, strerror(-ret)) : 0;
}

int bench_profile_end(void)
{
	int ret = wse_timeline_close(profile.t);

	if (ret)
		wse_fail(ret, "profile %.300s ends early: %s", profile.dir, strerror(-ret));
	profile.t = NULL;
	profile.dir[0] = 0;
	return ret;
}

int bench_profile_opened(struct wse_session *s)
{
	char dir[PATH_MAX + 32];
	int ret;

	if (!profile.dir[0])
		return 0;
	snprintf(dir, sizeof(dir), "%s/session-%u", profile.dir, ++profile.sessions);
	ret = wse_profile_open(s, dir, &s->profile);
	if (ret)
		wse_session_close(s);
	return ret;
}

/* the file, and the tracks of its one process */
static int open_commands(const char *uri)
{
	char path[PATH_MAX + 32], name[24];
	int ret;

	snprintf(path, sizeof(path), "%s/commands.pftrace", profile.dir);
	ret = wse_timeline_create(path, &profile.t);
	if (ret == -EEXIST)
		return wse_fail(ret, "%.300s is there, of an earlier profile: give another folder",
				path);
	if (ret)
		return wse_fail(ret, "profile %.300s: %s", path, strerror(-ret));
	wse_timeline_process(profile.t, 1, uri);
	profile.track[0] = wse_timeline_track(profile.t, 1, SUBMITS, "submits");
	for (uint32_t q = 1; q <= QUEUES; q++) {
		snprintf(name, sizeof(name), "queue %u", q);
		profile.track[q] = wse_timeline_track(profile.t, 1, SUBMITS + q, name);
	}
	return 0;
}

static void name_of(const struct drm_wse_cmd *c, char *name)
{
	const char *op = wse_op_name(c->op);

	if (c->op == WSE_OP_STREAM_IN || c->op == WSE_OP_STREAM_OUT)
		snprintf(name, WORDS, "%s, color %u, %u blocks of %u", op, c->color, c->nline,
			 c->nfeat);
	else if (c->op == WSE_OP_START)
		snprintf(name, WORDS, "%s %#x, %u x %u cores", op, c->sram, c->rows, c->cols);
	else
		snprintf(name, WORDS, "%s, %u bytes a core", op, c->len * c->nline);
}

int bench_profile_submit(struct wse_device *dev, struct wse_fence *fence,
			 const struct drm_wse_cmd *cmds, uint32_t n)
{
	uint32_t begin, end, from, to, i;
	char name[WORDS];
	int ret = 0;

	if (!profile.dir[0] || !dev->ops->command_cycles)
		return 0;
	if (!profile.t)
		ret = open_commands(wse_device_uri(dev));
	ret = ret ? ret : wse_fence_cycles(fence, &begin, &end);
	if (ret)
		return ret;
	snprintf(name, sizeof(name), "submit %u", ++profile.submits);
	wse_timeline_slice(profile.t, profile.track[0], wse_timeline_name(profile.t, name),
			   profile.end, profile.end + (uint32_t)(end - begin));
	for (i = 0; i < n && !ret; i++) {
		ret = dev->ops->command_cycles(fence, i, &from, &to);
		if (ret || cmds[i].queue > QUEUES)
			continue;
		name_of(&cmds[i], name);
		wse_timeline_slice(profile.t, profile.track[cmds[i].queue],
				   wse_timeline_name(profile.t, name),
				   profile.end + (uint32_t)(from - begin),
				   profile.end + (uint32_t)(to - begin));
	}
	profile.end += (uint32_t)(end - begin);
	return ret;
}
